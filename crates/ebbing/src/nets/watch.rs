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

/// The losses that show divergence, overshooting and standstill.
#[derive(Default)]
pub(crate) struct Watch {
    first: Option<f64>,
    lowest: Option<f64>,
    rose: f64,
    last: Option<(f64, f64)>,
}

/// Losses below this share of the first may ripple: what they do moves the weights little.
const RIPPLES: f64 = 0.01;

impl Watch {
    /// Whether the loss runs away: a million times the first is no transient of a stable step.
    pub fn runs_away(&mut self, mse: f64) -> bool {
        let (first, lowest) = (*self.first.get_or_insert(mse), *self.lowest.get_or_insert(mse));
        if lowest > RIPPLES * first {
            self.rose = self.rose.max(mse / lowest);
        }
        self.lowest = Some(lowest.min(mse));
        !mse.is_finite() || mse > 1e6 * (first + 1.0)
    }

    /// The largest loss over the lowest before it, where that is no ripple: 1 where it only fell.
    pub fn rose(&self) -> f64 {
        self.rose.max(1.0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_that_rises_is_remembered_unless_it_ripples() {
        let rose = |losses: &[f64]| {
            let mut watch = Watch::default();
            losses.iter().for_each(|loss| assert!(!watch.runs_away(*loss)));
            watch.rose()
        };
        assert_eq!(rose(&[]), 1.0);
        assert_eq!(rose(&[1.0, 0.6, 0.3]), 1.0);
        assert_eq!(rose(&[1.0, 0.5, 0.75, 1.0, 0.1]), 2.0);
        // From a hundredth of the first loss on.
        assert_eq!(rose(&[1.0, 0.009, 0.5]), 1.0);
        // Nothing to divide by.
        assert_eq!(rose(&[0.0, 0.0, 1.0]), 1.0);
    }
}
