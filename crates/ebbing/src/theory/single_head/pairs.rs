//! `F_pair`: forgetting of one task after another, these two learned alone, as the theory asked for forecasts it.
//!
//! ```math
//! f_2(X_i) = \tilde K_{21}(X_i,X_i)\,u_i+\tilde K_{22}(X_i,X_j)\,\tilde K_{22}(X_j,X_j)^{-1}\bigl(Y_j-\tilde K_{21}(X_j,X_i)\,u_i\bigr),
//! \qquad u_i = \tilde K_{11}(X_i,X_i)^{-1}Y_i
//! ```
//!
//! with `β^{-1}` on the diagonals that are inverted: two factors per task serve all ordered pairs.

use super::score::Score;
use super::{Replay, SingleHead, SingleHeadSettings};
use crate::error::Result;
use crate::linalg::{Mat, matmul, matmul_into};
use crate::theory::blocks::factor::digits;
use crate::theory::blocks::kernels::{KernelSource, Kernels};
use crate::theory::blocks::shared::{Prepared, Shared, TaskInput};
use std::sync::Arc;

/// What becomes of the first of two tasks that are learned alone; tasks count from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PairForgetting {
    /// The task learned first, and the one after it.
    pub tasks: [usize; 2],
    /// `F_21` of the two.
    pub forgetting: f64,
    /// The same without penalty.
    pub at_lambda_zero: f64,
    /// The estimated number of correct digits.
    pub digits: f64,
}

/// `F_pair` of every ordered pair, (0, 1) first, then (0, 2) … (1, 0) …; none where order parameters say it already: for
/// means of random features without replay.
///
/// # Errors
/// As for [`SingleHead::new`].
pub(crate) fn pair_forgetting(
    settings: &SingleHeadSettings,
    source: KernelSource,
    given: &[TaskInput<'_>],
) -> Result<Option<Vec<PairForgetting>>> {
    let kernels = Kernels::new(source, settings.limit()?)?;
    if settings.variance || settings.replay.is_on() {
        return each_alone(settings, &Arc::new(kernels), given).map(Some);
    }
    if kernels.random_features() {
        return Ok(None);
    }
    let tasks = Shared::nothing(given).tasks;
    let firsts = tasks.iter().map(|task| First::new(&kernels, task, settings.ridge())).collect::<Result<Vec<_>>>()?;
    let mut all = vec![];
    for j in 0..tasks.len() {
        all.extend(before(&kernels, settings.ridge(), &tasks, &firsts, j)?);
    }
    all.sort_by_key(|pair| pair.tasks);
    Ok(Some(all))
}

/// Every pair as a sequence of its own.
fn each_alone(
    settings: &SingleHeadSettings,
    kernels: &Arc<Kernels>,
    given: &[TaskInput<'_>],
) -> Result<Vec<PairForgetting>> {
    let mut all = vec![];
    for (i, j) in (0..given.len()).flat_map(|i| (0..given.len()).map(move |j| (i, j))).filter(|(i, j)| i != j) {
        let two = [given[i].clone(), given[j].clone()];
        let mut theory = *settings;
        if theory.replay.is_on() {
            // Of two tasks there may be fewer examples to keep than of all.
            theory.replay =
                Replay { examples: theory.replay.examples.min(theory.replay.most(&two)?.0), ..theory.replay };
        }
        let learned = SingleHead::learn_with(theory, kernels.clone(), &two)?;
        all.push(PairForgetting {
            tasks: [i, j],
            forgetting: learned.train_scores()?[1][0].loss,
            at_lambda_zero: learned.forgetting_at_lambda_zero(2, 1)?,
            digits: learned.digits(),
        });
    }
    Ok(all)
}

/// A task as the first of two.
struct First {
    /// `u_i`.
    dual: Mat<f64>,
    /// `K̃_21(X_i,X_i) u_i`.
    own: Mat<f64>,
    digits: f64,
}

impl First {
    fn new(kernels: &Kernels, task: &Prepared, ridge: f64) -> Result<First> {
        let x = task.own.points();
        let (factor, condition) = kernels.invert(kernels.tilde(1, 1), x, ridge, &task.name)?;
        let dual = factor.solve(task.y.as_ref());
        let own = matmul(kernels.block(kernels.tilde(2, 1), x, x)?.as_ref(), dual.as_ref());
        Ok(First { dual, own, digits: digits(condition, &task.name)? })
    }
}

/// All pairs whose second task is j.
fn before(
    kernels: &Kernels,
    ridge: f64,
    tasks: &[Prepared],
    firsts: &[First],
    j: usize,
) -> Result<Vec<PairForgetting>> {
    let (second, x_j) = (&tasks[j], tasks[j].own.points());
    let (factor, condition) = kernels.invert(kernels.tilde(2, 2), x_j, ridge, &second.name)?;
    let right = digits(condition, &second.name)?;
    let others = (0..tasks.len()).filter(|&i| i != j);
    let one = |i: usize| {
        let (task, x_i) = (&tasks[i], tasks[i].own.points());
        let mut rest = second.y.clone();
        let to_second = kernels.block(kernels.tilde(2, 1), x_j, x_i)?;
        matmul_into(rest.as_mut(), 1.0, -1.0, to_second.as_ref(), firsts[i].dual.as_ref());
        let back = kernels.blocks(&[kernels.tilde(2, 2), kernels.tilde(1, 1)], x_i, x_j)?;
        let mut f = firsts[i].own.clone();
        matmul_into(f.as_mut(), 1.0, 1.0, back[0].as_ref(), factor.solve(rest.as_ref()).as_ref());
        let fresh = matmul(back[1].as_ref(), firsts[j].dual.as_ref());
        let loss = |f: &Mat<f64>| Ok(Score::new(f.as_ref(), task.y.as_ref(), task.start.as_ref(), None)?.loss);
        Ok(PairForgetting {
            tasks: [i, j],
            forgetting: loss(&f)?,
            at_lambda_zero: loss(&fresh)?,
            digits: right.min(firsts[i].digits).min(firsts[j].digits),
        })
    };
    others.map(one).collect()
}
