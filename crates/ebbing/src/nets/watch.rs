//! When training ends: learned, settled, out of steps, or diverged.

use super::learner::TrainSettings;
use serde::{Deserialize, Serialize};

/// Why training of a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The mean squared error fell below the threshold.
    Threshold,
    /// Loss and distance to the previous weights stopped changing.
    Settled,
    /// The gradient fell below the tolerance.
    Converged,
    /// No step lowered the objective any more.
    Stalled,
    /// The largest number of steps was reached first.
    MaxSteps,
}

/// Keeps the losses that tell divergence and standstill.
#[derive(Default)]
pub(crate) struct Watch {
    first: Option<f64>,
    last: Option<(f64, f64)>,
}

impl Watch {
    /// Whether the loss runs away: a million times the first is no transient of a stable step.
    pub fn runs_away(&mut self, mse: f64) -> bool {
        let first = *self.first.get_or_insert(mse);
        !mse.is_finite() || mse > 1e6 * (first + 1.0)
    }

    /// Whether neither the loss nor the distance to the previous weights changed by more than the tolerance, relatively,
    /// since the last call. Losses below the threshold count as the threshold: what they still do does not matter.
    pub fn settled(&mut self, mse: f64, distance: f64, settings: &TrainSettings) -> bool {
        let same = |a: f64, b: f64, floor: f64| (a - b).abs() <= settings.tolerance * a.max(b).max(floor);
        let settled = self.last.is_some_and(|(m, d)| same(m, mse, settings.threshold) && same(d, distance, 0.0));
        self.last = Some((mse, distance));
        settled
    }
}
