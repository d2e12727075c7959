//! Inputs in the space that they span, where that has fewer dimensions than they have.

use crate::error::Result;
use crate::linalg::{Mat, MatRef, SymmetricEigen, matmul};
use crate::tasks::Task;

/// The same networks on fewer input coordinates, where there are fewer examples than dimensions.
///
/// Gaussian weights see inputs only through their inner products: with `X Xᵀ = R Rᵀ` over all examples, training and
/// test, networks on the rows of R (scaled to keep `x·x'/N0`) have the same outputs in distribution.
pub(super) fn in_their_span(tasks: &[Task]) -> Result<Vec<Task>> {
    let dim = tasks[0].x.ncols();
    let mut sets: Vec<MatRef<'_, f64>> = tasks.iter().map(|t| t.x.as_ref()).collect();
    sets.extend(tasks.iter().filter_map(|t| t.test.as_ref()).map(|t| t.x.as_ref()));
    let rows: usize = sets.iter().map(|x| x.nrows()).sum();
    if rows >= dim {
        return Ok(tasks.to_vec());
    }
    let mut all = Mat::zeros(rows, dim);
    let mut at = 0;
    for x in &sets {
        all.as_mut().subrows_mut(at, x.nrows()).copy_from(x);
        at += x.nrows();
    }
    let gram = matmul(all.as_ref(), all.as_ref().transpose());
    let eigen = SymmetricEigen::factor(gram.as_ref(), "the inner products of the inputs")?;
    // Directions below rounding of the largest carry nothing.
    let floor = eigen.values.last().copied().unwrap_or(0.0) * rows as f64 * f64::EPSILON;
    let kept: Vec<usize> = (0..rows).filter(|&k| eigen.values[k] > floor).collect();
    let scale = (kept.len() as f64 / dim as f64).sqrt();
    let coordinate = |i: usize, k: usize| scale * eigen.values[kept[k]].sqrt() * eigen.vectors[(i, kept[k])];
    let mut at = 0;
    let mut next = |x: &Mat<f64>| {
        let start = at;
        at += x.nrows();
        Mat::from_fn(x.nrows(), kept.len(), |i, k| coordinate(start + i, k))
    };
    let mut reduced = tasks.to_vec();
    reduced.iter_mut().for_each(|task| task.x = next(&task.x));
    reduced.iter_mut().filter_map(|t| t.test.as_mut()).for_each(|test| test.x = next(&test.x));
    Ok(reduced)
}
