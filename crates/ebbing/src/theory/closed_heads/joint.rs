//! Ridge regression on all examples at once in the kernel of a wide ReLU layer,
//!
//! ```math
//! f(x) = K(x,X)\,\bigl(K(X,X) + \varepsilon\,\tfrac{\operatorname{Tr}K}{P}\bigr)^{-1} Y, \qquad K(x,x') = \lim_{M\to\infty}\phi(x)\cdot\phi(x'):
//! ```
//!
//! what ridge regression on M random ReLU features tends to.

use super::choose::{RIDGES, best_of};
use super::head::share_right;
use super::run::{Classified, with_accuracies};
use super::statistics::centered;
use super::{ClosedHead, ClosedHeadKind, Strength};
use crate::error::Result;
use crate::kernels::{Activation, Architecture, Kernel, KernelKind, WeightPrior};
use crate::linalg::{Cholesky, Mat, MatRef, matmul, symmetric_matmul};
use crate::plan::Cost;
use crate::theory::classes::occurring;

/// Operations and bytes for P examples.
pub(super) fn cost(p: f64, test: f64, d: f64, classes: f64) -> Cost {
    let flops = p * (p + test) * (2.0 * d + 20.0) + 3.0 * p.powi(3) + 18.0 * p * p * classes;
    Cost { flops, bytes: 8.0 * (6.0 * p * p + p * (d + 4.0 * classes) + test * (p + classes)), ..Cost::default() }
}

/// A solution `(K + ridge)^{-1} Y`.
struct Solution {
    duals: Mat<f64>,
    condition: f64,
    residual: f64,
}

/// The joint head; none where an input is zero, for which the kernel has no angle.
///
/// # Errors
/// [`Error::NotPositiveDefinite`](crate::Error::NotPositiveDefinite) where the kernel can be solved at no strength.
pub(super) fn joint(tasks: &[Classified<'_>]) -> Result<Option<ClosedHead>> {
    let (x, class, held) = all_examples(tasks);
    let zero = |x: MatRef<'_, f64>| (0..x.nrows()).any(|i| (0..x.ncols()).all(|j| x[(i, j)] == 0.0));
    if zero(x.as_ref()) || tasks.iter().any(|task| zero(task.test.0)) {
        return Ok(None);
    }
    let classes =
        occurring(&class.iter().map(|&c| Some(c)).collect::<Vec<_>>(), class.iter().max().map_or(0, |c| c + 1));
    let kernel = Kernel::new(
        KernelKind::Nngp,
        Architecture { activation: Activation::Relu, depth: 1 },
        WeightPrior::new(f64::INFINITY, 1.0)?,
        1,
        1,
    )?;
    let k = kernel.gram_symmetric(x.as_ref())?;
    let strength = strength(&k, (&class, &held), &classes)?;
    let rows: Vec<usize> = (0..class.len()).collect();
    let Solution { duals, condition, residual } = solve(&k, &rows, &class, &classes, strength.relative)?;
    let outputs = |task: &Classified<'_>| -> Result<Mat<f64>> {
        Ok(matmul(kernel.gram(task.test.0, x.as_ref())?.as_ref(), duals.as_ref()))
    };
    let outputs = tasks.iter().map(outputs).collect::<Result<Vec<_>>>()?;
    crate::stop::check()?;
    let solved = (Some(strength), Some((condition, residual)));
    Ok(Some(with_accuracies(ClosedHeadKind::Joint, (&outputs, &classes), solved, tasks)))
}

/// All training examples that have a class, those classes, and whether each is held out.
fn all_examples(tasks: &[Classified<'_>]) -> (Mat<f64>, Vec<usize>, Vec<bool>) {
    let (mut parts, mut class, mut held) = (vec![], vec![], vec![]);
    for task in tasks {
        let rows: Vec<usize> = (0..task.class.len()).filter(|&row| task.class[row].is_some()).collect();
        class.extend(task.class.iter().flatten());
        held.extend(rows.iter().map(|row| task.parts.held.binary_search(row).is_ok()));
        parts.push(centered(task.x, &rows, &vec![0.0; task.x.ncols()]));
    }
    let mut x = Mat::zeros(class.len(), parts.first().map_or(0, Mat::ncols));
    let mut start = 0;
    for part in &parts {
        x.as_mut().subrows_mut(start, part.nrows()).copy_from(part);
        start += part.nrows();
    }
    (x, class, held)
}

/// The strength with the best accuracy on what is held out.
fn strength(k: &Mat<f64>, (class, held): (&[usize], &[bool]), classes: &[usize]) -> Result<Strength> {
    let rows = |which: bool| (0..held.len()).filter(|&row| held[row] == which).collect::<Vec<_>>();
    let (fit, held) = (rows(false), rows(true));
    let across = Mat::from_fn(held.len(), fit.len(), |i, j| k[(held[i], fit[j])]);
    let truth: Vec<Option<usize>> = held.iter().map(|&row| Some(class[row])).collect();
    let learned: Vec<usize> = fit.iter().map(|&row| class[row]).collect();
    best_of(&RIDGES, held.len(), |strength| {
        let solution = solve(k, &fit, &learned, classes, strength)?;
        let f = matmul(across.as_ref(), solution.duals.as_ref());
        Ok(share_right(f.as_ref(), classes, classes, &truth).unwrap_or(0.0))
    })
}

fn solve(k: &Mat<f64>, rows: &[usize], class: &[usize], classes: &[usize], strength: f64) -> Result<Solution> {
    let p = rows.len();
    let mut a = Mat::from_fn(p, p, |i, j| k[(rows[i], rows[j])]);
    let mean = (0..p).map(|i| a[(i, i)]).sum::<f64>() / p.max(1) as f64;
    (0..p).for_each(|i| a[(i, i)] += strength * mean);
    let y = Mat::from_fn(p, classes.len(), |i, c| f64::from(u8::from(class[i] == classes[c])));
    let factor = Cholesky::factor(a.as_ref(), "the kernel of all examples")?;
    let duals = factor.solve(y.as_ref());
    let rest = symmetric_matmul(a.as_ref(), duals.as_ref()) - &y;
    crate::stop::check()?;
    let norm = (0..p).map(|i| a[(i, i)]).fold(0.0, f64::max);
    let unit = p as f64 * f64::EPSILON * norm * duals.norm_l2();
    let residual = if rest.norm_l2() == 0.0 { 0.0 } else { rest.norm_l2() / unit };
    Ok(Solution { duals, condition: factor.condition(), residual })
}
