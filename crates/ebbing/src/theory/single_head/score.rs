//! The loss and the accuracy of one network on one set of examples.

use crate::error::Result;
use crate::linalg::{Mat, MatRef};
use crate::metrics::{accuracy, squared_loss, task_accuracy};
use crate::theory::blocks::shared::Start;

/// `Σ (f(x)−y)² / |Y|²`, and the share of examples classified correctly, where targets name classes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Score {
    pub loss: f64,
    pub accuracy: Option<f64>,
    /// The same among the task's own classes.
    pub task_accuracy: Option<f64>,
}

impl Score {
    /// Of outputs `f`, or with `variance` the average over Gaussian outputs around them.
    ///
    /// With `start`, `f` is what was learned beyond the outputs at the start, and `y` what was to be.
    pub fn new(
        f: MatRef<'_, f64>,
        y: MatRef<'_, f64>,
        start: Option<&Start>,
        variance: Option<&[f64]>,
    ) -> Result<Score> {
        if let Some(start) = start {
            let (f, y) = start.outcome(f);
            return Score::new(f.as_ref(), y.as_ref(), None, variance);
        }
        let loss = squared_loss(f, y, variance)?;
        // Shapes and finiteness are checked by now: what can still fail is that no target names a class.
        Ok(Score { loss, accuracy: accuracy(f, y, variance).ok(), task_accuracy: task_accuracy(f, y, variance).ok() })
    }
}

/// Everything that is looked at of a network while it learns: `[t][s]` is after task t + 1 on task s + 1.
#[derive(Debug, Clone)]
pub(crate) struct Scores {
    /// On training data.
    pub train: Vec<Vec<Score>>,
    /// On held-out data, and there of fresh networks that learn one task alone; where every task has some.
    pub test: Option<(Vec<Vec<Score>>, Vec<Score>)>,
    /// `F_21` at λ = 0, where there are two tasks.
    pub free: Option<f64>,
    /// Condition number of each task's kernel.
    pub conditions: Vec<f64>,
    /// Directions of each task's kernel that are inverted.
    pub ranks: Vec<usize>,
}

/// `losses[t][s]`.
pub(super) fn losses(scores: &[Vec<Score>]) -> Vec<Vec<f64>> {
    scores.iter().map(|row| row.iter().map(|score| score.loss).collect()).collect()
}

/// `accuracies[t][s]`, if all are defined.
pub(super) fn accuracies(scores: &[Vec<Score>]) -> Option<Vec<Vec<f64>>> {
    scores.iter().map(|row| row.iter().map(|score| score.accuracy).collect()).collect()
}

/// The same among each task's own classes, where that is anything else.
pub(super) fn task_accuracies(scores: &[Vec<Score>]) -> Option<Vec<Vec<f64>>> {
    let own: Option<Vec<Vec<f64>>> =
        scores.iter().map(|row| row.iter().map(|score| score.task_accuracy).collect()).collect();
    own.filter(|own| accuracies(scores).as_ref() != Some(own))
}

/// Rows of `top`, then rows of `bottom`.
pub(super) fn stacked(top: MatRef<'_, f64>, bottom: MatRef<'_, f64>) -> Mat<f64> {
    let n = top.nrows();
    Mat::from_fn(n + bottom.nrows(), top.ncols(), |i, j| if i < n { top[(i, j)] } else { bottom[(i - n, j)] })
}
