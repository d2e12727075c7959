//! The covariance of a set, summed in blocks, and the whitening map that follows from it.

use super::preprocess::Center;
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, SymmetricEigen, matmul, matmul_into};

/// Examples per block while a covariance is summed: a block of 784 pixels takes 6 MB.
const BLOCK: usize = 1024;

/// Examples that can be read in blocks, whatever form they are stored in.
pub(super) struct Rows<'a> {
    /// What error messages call the set.
    pub name: &'a str,
    pub count: usize,
    pub dim: usize,
    /// Rows `from .. from + n` as a matrix.
    pub block: &'a dyn Fn(usize, usize) -> Mat<f64>,
}

/// Subtracts each row's own mean, or the given mean of each column.
pub(super) fn center(x: &mut Mat<f64>, center: Center, means: Option<&[f64]>) {
    let (rows, dim) = (x.nrows(), x.ncols());
    if center == Center::Image {
        let mut own = vec![0.0; rows];
        for j in 0..dim {
            own.iter_mut().zip(x.col_as_slice(j)).for_each(|(sum, value)| *sum += value);
        }
        own.iter_mut().for_each(|sum| *sum /= dim as f64);
        for j in 0..dim {
            x.col_as_slice_mut(j).iter_mut().zip(&own).for_each(|(value, mean)| *value -= mean);
        }
    }
    for (j, mean) in means.unwrap_or(&[]).iter().enumerate() {
        x.col_as_slice_mut(j).iter_mut().for_each(|value| *value -= mean);
    }
}

/// The blocks of a set, examples prepared.
pub(super) fn blocks<'a>(set: &'a Rows<'_>, prepare: &'a dyn Fn(&mut Mat<f64>)) -> impl Iterator<Item = Mat<f64>> + 'a {
    (0..set.count).step_by(BLOCK).map(move |from| {
        let mut x = (set.block)(from, BLOCK.min(set.count - from));
        prepare(&mut x);
        x
    })
}

/// The mean of every feature over some blocks of `count` examples in all.
pub(super) fn means(blocks: impl Iterator<Item = Mat<f64>>, count: usize, set: &Rows<'_>) -> Result<Vec<f64>> {
    let mut sums = vec![0.0; set.dim];
    blocks.for_each(|x| add_columns(&mut sums, &x));
    finite_means(sums, count, set)
}

fn add_columns(sums: &mut [f64], x: &Mat<f64>) {
    for (j, sum) in sums.iter_mut().enumerate() {
        *sum += x.col_as_slice(j).iter().sum::<f64>();
    }
}

fn finite_means(mut sums: Vec<f64>, count: usize, set: &Rows<'_>) -> Result<Vec<f64>> {
    sums.iter_mut().for_each(|sum| *sum /= count as f64);
    match sums.iter().position(|mean| !mean.is_finite()) {
        Some(j) => {
            let problem = format!("the mean of feature {j} is {}; every value must be finite", sums[j]);
            Err(Error::data(set.name, problem))
        }
        None => Ok(sums),
    }
}

/// The lower half of `C = Σ_i (x_i − x̄)(x_i − x̄)ᵀ / P` over a set, its examples prepared.
///
/// One pass: with `s` the mean of the first block and `d = x̄ − s`, `C = Σ_i (x_i − s)(x_i − s)ᵀ / P − d dᵀ`; `d` is
/// small beside the spread of the examples, so that the difference loses nothing.
pub(super) fn covariance(set: &Rows<'_>, prepare: &dyn Fn(&mut Mat<f64>)) -> Result<Mat<f64>> {
    let shift = means(blocks(set, prepare).take(1), BLOCK.min(set.count), set)?;
    let (mut c, mut sums) = (Mat::zeros(set.dim, set.dim), vec![0.0; set.dim]);
    for mut x in blocks(set, prepare) {
        center(&mut x, Center::None, Some(&shift));
        add_columns(&mut sums, &x);
        add_lower_gram(&mut c, x.as_ref(), 1.0 / set.count as f64);
    }
    let d = finite_means(sums, set.count, set)?;
    for j in 0..set.dim {
        for i in j..set.dim {
            c[(i, j)] -= d[i] * d[j];
        }
    }
    Ok(c)
}

/// `C ← C + alpha·Xᵀ X` in the lower half, by tiles: 10 of 16 tiles are computed.
fn add_lower_gram(c: &mut Mat<f64>, x: MatRef<'_, f64>, alpha: f64) {
    let (rows, dim) = (x.nrows(), x.ncols());
    let side = dim.div_ceil(4);
    for left in (0..dim).step_by(side) {
        let width = side.min(dim - left);
        for top in (left..dim).step_by(side) {
            let height = side.min(dim - top);
            let (a, b) = (x.submatrix(0, top, rows, height), x.submatrix(0, left, rows, width));
            matmul_into(c.as_mut().submatrix_mut(top, left, height, width), 1.0, alpha, a.transpose(), b);
        }
    }
}

/// `W = V (Λ + ridge·λ_max I)^{-1/2} Vᵀ`, with λ_max and the number of eigenvalues above `ridge·λ_max`. Directions without
/// variance are an error without a ridge, or are left out.
pub(super) fn zca(
    covariance: MatRef<'_, f64>,
    ridge: f64,
    leave_out: bool,
    name: &str,
) -> Result<(Mat<f64>, (f64, usize))> {
    let n = covariance.nrows();
    let what = format!("the covariance of {name}");
    let eigen = SymmetricEigen::factor(covariance, &what)?;
    let largest = eigen.values.last().copied().unwrap_or(0.0);
    if !(largest > 0.0 && largest.is_finite()) {
        let problem = format!("the covariance has largest eigenvalue {largest}; whitening needs examples that differ");
        return Err(Error::data(name, problem));
    }
    let floor = ridge * largest;
    // Eigenvalues are known to about n·ε·λ_max; below that, 1/√ of them would be noise.
    let noise = n as f64 * f64::EPSILON * largest;
    if !leave_out && eigen.values[0].max(0.0) + floor < noise {
        let expected = format!("the covariance of {name} is singular: give a ridge of at least 1e-12");
        return Err(Error::setting("whiten.ridge", ridge, expected));
    }
    let above = eigen.values.iter().filter(|&&v| v > floor).count();
    let root = |v: f64| if leave_out && v + floor < noise { 0.0 } else { 1.0 / (v.max(0.0) + floor).sqrt().sqrt() };
    // W = B Bᵀ with B = V (Λ + floor)^{-1/4}, which is symmetric whatever the rounding.
    let b = Mat::from_fn(n, n, |i, j| eigen.vectors[(i, j)] * root(eigen.values[j]));
    Ok((matmul(b.as_ref(), b.transpose()), (largest, above)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::preprocess::tests::gaussian;

    #[test]
    fn blocks_and_a_large_offset_do_not_spoil_the_covariance() {
        let mut x = gaussian(2 * BLOCK + 300, 5);
        (0..5).for_each(|j| x.col_as_slice_mut(j).iter_mut().for_each(|v| *v += 1e6));
        let block = |from: usize, n: usize| x.subrows(from, n).to_owned();
        let set = Rows { name: "x", count: x.nrows(), dim: 5, block: &block };
        let c = covariance(&set, &|_| {}).unwrap();
        // The same, summed without blocks after the means are known.
        let rows = x.nrows() as f64;
        let means: Vec<f64> = (0..5).map(|j| x.col_as_slice(j).iter().sum::<f64>() / rows).collect();
        let centered = Mat::from_fn(x.nrows(), 5, |i, j| x[(i, j)] - means[j]);
        let direct = matmul(centered.transpose(), centered.as_ref());
        for j in 0..5 {
            for i in j..5 {
                // Means of 2348 numbers near 1e6 are known to about 1e-9; entries are of the order of 10.
                assert!((c[(i, j)] - direct[(i, j)] / rows).abs() < 1e-8);
            }
        }
    }
}
