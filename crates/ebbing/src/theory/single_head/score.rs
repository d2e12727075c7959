//! The loss and the accuracy of one network on one set of examples.

use crate::error::Result;
use crate::linalg::{Mat, MatRef};
use crate::metrics::{accuracy, names_classes, own_columns, squared_loss, task_accuracy};
use crate::theory::blocks::shared::{Prepared, Start};

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

/// The targets of a set of examples, prepared for the scores of many networks.
#[derive(Debug)]
pub(crate) struct Targets<'a> {
    y: MatRef<'a, f64>,
    start: Option<&'a Start>,
    /// `|Y|²`, and the classes among all columns and among the task's own; none where [`Score::new`] says it all.
    classes: Option<(f64, Classes, Option<Classes>)>,
}

/// The classes that targets of several columns name.
#[derive(Debug)]
struct Classes {
    columns: Vec<usize>,
    /// The column of every row's single largest target.
    of: Vec<Option<usize>>,
}

impl<'a> Targets<'a> {
    pub fn of(task: &'a Prepared) -> Targets<'a> {
        Targets::new(task.y.as_ref(), task.start.as_ref())
    }

    pub fn new(y: MatRef<'a, f64>, start: Option<&'a Start>) -> Targets<'a> {
        let classes = (start.is_none() && y.ncols() > 1).then(|| {
            let (all, own) = ((0..y.ncols()).collect(), own_columns(y));
            let all = Classes::of(y, all)?;
            // As many columns are all of them; one class is always right.
            let own = match own.len() {
                0 => None,
                n if n == y.ncols() => None,
                _ => Some(Classes::of(y, own)?),
            };
            let norm2 = (0..y.ncols()).flat_map(|j| y.col(j).iter()).map(|v| v * v).sum::<f64>();
            (norm2 > 0.0 && norm2.is_finite()).then_some((norm2, all, own))
        });
        Targets { y, start, classes: classes.flatten() }
    }

    /// [`Score::new`] of outputs `f`, without a variance.
    pub fn score(&self, f: MatRef<'_, f64>) -> Result<Score> {
        let Some((norm2, all, own)) = &self.classes else { return Score::new(f, self.y, self.start, None) };
        let same = f.nrows() == self.y.nrows() && f.ncols() == self.y.ncols();
        let squares = |j: usize| f.col(j).iter().zip(self.y.col(j).iter()).map(|(f, y)| (f - y) * (f - y));
        let error: f64 = if same { (0..f.ncols()).flat_map(squares).sum() } else { f64::NAN };
        if !error.is_finite() {
            return Score::new(f, self.y, None, None);
        }
        let accuracy = Some(all.share(f));
        let task_accuracy = Some(own.as_ref().map_or(all.share(f), |own| own.share(f)));
        Ok(Score { loss: error / norm2, accuracy, task_accuracy })
    }
}

impl Classes {
    /// None where targets are no names of classes.
    fn of(y: MatRef<'_, f64>, columns: Vec<usize>) -> Option<Classes> {
        let class = |i: usize| {
            let top = columns.iter().map(|&j| y[(i, j)]).fold(f64::NEG_INFINITY, f64::max);
            let mut best = columns.iter().copied().filter(|&j| y[(i, j)] == top);
            best.next().filter(|_| best.next().is_none())
        };
        let of: Vec<Option<usize>> = (0..y.nrows()).map(class).collect();
        let named = of.iter().any(Option::is_some) && columns.iter().all(|&j| names_classes(y, j));
        named.then_some(Classes { columns, of })
    }

    /// The share of rows whose largest output is that of their class; outputs that tie share it.
    fn share(&self, f: MatRef<'_, f64>) -> f64 {
        let mut top = vec![(f64::NEG_INFINITY, 0.0, false); self.of.len()];
        for &j in &self.columns {
            for ((top, class), &v) in top.iter_mut().zip(&self.of).zip(f.col(j).iter()) {
                if v > top.0 {
                    *top = (v, 1.0, *class == Some(j));
                } else if v == top.0 {
                    top.1 += 1.0;
                    top.2 |= *class == Some(j);
                }
            }
        }
        let counted = self.of.iter().flatten().count();
        let named = top.iter().zip(&self.of).filter(|(_, class)| class.is_some());
        named.map(|(top, _)| if top.2 { 1.0 / top.1 } else { 0.0 }).sum::<f64>() / counted as f64
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
