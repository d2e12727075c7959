//! What trained networks can be expected to classify correctly, task by task:
//!
//! ```math
//! \text{lost} = \frac{1}{T-1}\sum_{s<T}\bigl(A_{ss} - A_{Ts}\bigr), \qquad \text{final} = \frac{1}{T}\sum_{s\le T} A_{Ts}
//! ```
//!
//! with `A_ts` the share of test examples of task s classified correctly after task t, by the theory that came closest to measured
//! networks ([`crate::theory::calibration`]).

use super::Averaged;
use crate::error::Result;
use crate::tasks::TaskSequence;
use crate::theory::calibration::Theory;
use crate::theory::single_head::{SingleHeadSettings, TestAccuracies};
use serde::Serialize;

/// What trained networks can be expected to classify correctly, averaged over seeds; `[t][s]` is after task t + 1 on task s + 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrainedForecast {
    /// Share of test examples classified correctly among all classes.
    pub accuracy: Averaged,
    /// The same among each task's own classes (the task is known), where that is anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_accuracy: Option<Averaged>,
    /// Mean over all tasks but the last of the accuracy when learned minus the accuracy after the last task; none of one task.
    pub lost: Option<f64>,
    /// Mean accuracy over all tasks after the last.
    pub final_accuracy: f64,
    /// What guessing gives: one over the number of classes.
    pub chance: f64,
    /// The theory, with the temperature at the scale of these inputs.
    pub theory: Theory,
}

impl TrainedForecast {
    /// The mean over seeds; none where some seed has no test data of classes.
    pub(super) fn of(
        found: &[Option<TestAccuracies>],
        theory: &SingleHeadSettings,
        chance: f64,
    ) -> Result<Option<TrainedForecast>> {
        let Some(tests) = found.iter().map(Option::as_ref).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let Some(accuracy) = Averaged::of_some(tests.iter().map(|test| Some(&test.all)))? else { return Ok(None) };
        let (after, last) = (&accuracy.mean, accuracy.mean.len() - 1);
        let lost = (last > 0).then(|| (0..last).map(|s| after[s][s] - after[last][s]).sum::<f64>() / last as f64);
        Ok(Some(TrainedForecast {
            lost,
            final_accuracy: after[last].iter().sum::<f64>() / (last + 1) as f64,
            chance,
            theory: Theory {
                mode: theory.mode,
                depth: theory.architecture.depth,
                beta: theory.beta,
                loss: theory.loss,
            },
            task_accuracy: Averaged::of_some(tests.iter().map(|test| test.own.as_ref()))?,
            accuracy,
        }))
    }

    /// What task s (from 0) loses until the end.
    pub fn lost_of(&self, s: usize) -> f64 {
        let last = self.accuracy.mean.len() - 1;
        self.accuracy.mean[s][s] - self.accuracy.mean[last][s]
    }

    /// The largest drop of a task's accuracy while another one is learned, as (task that drops, task that is learned, drop), both
    /// from 0; none where nothing drops.
    pub fn largest_drop(&self) -> Option<(usize, usize, f64)> {
        let after = &self.accuracy.mean;
        let drops = (1..after.len()).flat_map(|t| (0..t).map(move |s| (s, t, after[t - 1][s] - after[t][s])));
        drops.filter(|(_, _, drop)| *drop > 0.0).max_by(|a, b| a.2.total_cmp(&b.2).then((b.0, b.1).cmp(&(a.0, a.1))))
    }
}

/// One over the number of classes: of the columns that name them, or of two signs.
pub(crate) fn chance(sequence: &TaskSequence) -> f64 {
    1.0 / sequence.tasks.first().map_or(2, |task| task.y.ncols()).max(2) as f64
}
