//! What is left of all tasks after the last one, in a few numbers.

use super::SingleHead;
use super::score::{Score, accuracies, losses};
use crate::error::Result;
use crate::metrics::{ContinualMetrics, Convention, TaskAccuracies};

/// What is left of all tasks after the last one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outcome {
    /// Mean of `F[T][s]` on training data over all tasks but the last.
    pub forgetting: f64,
    /// Mean of `R[T][s]` over all tasks: on test data, or on training data where a task has none.
    pub accuracy: Option<f64>,
    /// `mean_{s<T} R[T][s] − R[s][s]`.
    pub backward_transfer: Option<f64>,
    /// Examples learned over all tasks, stored ones every time they are.
    pub learned: usize,
}

impl Outcome {
    /// What scores `[t][s]` on training and held-out data show, of so many examples learned.
    pub(crate) fn of(train: &[Vec<Score>], held_out: Option<&[Vec<Score>]>, learned: usize) -> Result<Outcome> {
        let last = train.len() - 1;
        let forgetting = losses(train)[last][..last].iter().sum::<f64>() / last.max(1) as f64;
        let after = accuracies(held_out.unwrap_or(train));
        let metrics =
            after.map(|after| ContinualMetrics::new(&TaskAccuracies { after, ..Default::default() }, Convention::Gem));
        let metrics = metrics.transpose()?;
        Ok(Outcome {
            forgetting,
            accuracy: metrics.as_ref().map(|m| m.average_accuracy),
            backward_transfer: metrics.as_ref().and_then(|m| m.backward_transfer),
            learned,
        })
    }
}

impl SingleHead {
    /// The outcome of the sequence.
    pub(crate) fn outcome(&self) -> Result<Outcome> {
        let learned = self.shared.tasks.iter().map(|task| task.y.nrows()).sum();
        Outcome::of(&self.train_scores()?, self.test_scores()?.as_deref(), learned)
    }
}
