//! `A = L Lᵀ` in single precision, and residuals in double: for iterative refinement.
//!
//! ```math
//! R = B - (A + \rho)\,U, \qquad U \leftarrow U + (L L^{\mathsf T})^{-1} R
//! ```

use super::{Mat, MatMut, MatRef, SPLITS, par, threads};
use crate::stop;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, Par, Spec};
use rayon::prelude::*;

/// Rows that are factored at a time.
const BLOCK: usize = 256;
/// Columns of a kernel that are turned into double precision at a time.
const STRIP: usize = 96;

/// `A = L Lᵀ` in single precision.
#[derive(Debug, Clone)]
pub(crate) struct SingleCholesky {
    l: Mat<f32>,
}

impl SingleCholesky {
    /// Factors `a` (its lower half is read) in its place; none where a pivot is not positive, and where a stop is requested.
    pub fn factor(mut a: Mat<f32>) -> Option<SingleCholesky> {
        let n = a.nrows();
        let par = par(n);
        for first in (0..n).step_by(BLOCK) {
            if stop::requested() {
                return None;
            }
            let size = BLOCK.min(n - first);
            let rest = a.as_mut().submatrix_mut(first, first, n - first, n - first);
            let (mut own, _, mut below, mut left) = rest.split_at_mut(size, size);
            let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f32>(size, par, Spec::default()));
            let stack = MemStack::new(&mut memory);
            cholesky_in_place(own.as_mut(), Default::default(), par, stack, Spec::default()).ok()?;
            solve_lower_triangular_in_place(own.as_ref(), below.as_mut().transpose_mut(), par);
            let (below, lower, whole) = (below.as_ref(), BlockStructure::TriangularLower, BlockStructure::Rectangular);
            triangular::matmul(left.as_mut(), lower, Accum::Add, below, whole, below.transpose(), whole, -1.0f32, par);
        }
        (0..n).all(|j| a[(j, j)].is_finite()).then_some(SingleCholesky { l: a })
    }

    /// `(L Lᵀ)^{-1} B`.
    pub fn solve(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let mut x = Mat::from_fn(b.nrows(), b.ncols(), |i, j| b[(i, j)] as f32);
        let par = par(b.ncols());
        if !stop::requested() {
            solve_lower_triangular_in_place(self.l.as_ref(), x.as_mut(), par);
        }
        if !stop::requested() {
            solve_upper_triangular_in_place(self.l.transpose(), x.as_mut(), par);
        }
        Mat::from_fn(b.nrows(), b.ncols(), |i, j| f64::from(x[(i, j)]))
    }
}

/// `B − (A + ρ) U` for a symmetric A in single precision, summed in double.
pub(crate) fn residual_f64(b: &Mat<f64>, a: MatRef<'_, f32>, ridge: f64, u: &Mat<f64>) -> Mat<f64> {
    let mut r = b - ridge * u;
    let n = a.nrows();
    let rows = n.div_ceil(SPLITS).max(STRIP);
    let work = |(part, mut r): (usize, MatMut<'_, f64>)| {
        let mut strip = Mat::<f64>::zeros(n, STRIP);
        for first in (0..r.nrows()).step_by(STRIP).take_while(|_| !stop::requested()) {
            // Rows of a symmetric matrix are its columns, which are contiguous.
            let size = STRIP.min(r.nrows() - first);
            for j in 0..size {
                let from = a.col(part * rows + first + j);
                strip.col_as_slice_mut(j).iter_mut().zip(from.iter()).for_each(|(to, v)| *to = f64::from(*v));
            }
            let own = strip.as_ref().subcols(0, size);
            matmul(r.as_mut().subrows_mut(first, size), Accum::Add, own.transpose(), u, -1.0, Par::Seq);
        }
    };
    by_rows(r.as_mut(), rows, work);
    r
}

/// `work` on parts of so many rows, several at a time where the caller does not.
fn by_rows<T: faer::traits::ComplexField + Send + Sync>(
    m: MatMut<'_, T>,
    rows: usize,
    work: impl Fn((usize, MatMut<'_, T>)) + Sync + Send,
) {
    if !threads::alone() {
        return m.par_row_chunks_mut(rows).enumerate().for_each(work);
    }
    let (mut left, mut part) = (m, 0);
    while left.nrows() > 0 {
        let size = rows.min(left.nrows());
        let (now, rest) = left.split_at_row_mut(size);
        work((part, now));
        (left, part) = (rest, part + 1);
    }
}

/// `A B` in single precision for an A of many rows, which are divided among threads.
pub(crate) fn tall_product_f32(a: MatRef<'_, f32>, b: MatRef<'_, f32>) -> Mat<f32> {
    let mut c = Mat::<f32>::zeros(a.nrows(), b.ncols());
    let rows = a.nrows().div_ceil(SPLITS).max(STRIP);
    let work = |(part, c): (usize, MatMut<'_, f32>)| {
        if !stop::requested() {
            let own = a.subrows(part * rows, c.nrows());
            matmul(c, Accum::Replace, own, b, 1.0f32, Par::Seq);
        }
    };
    by_rows(c.as_mut(), rows, work);
    c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn refinement_reaches_double_precision() {
        for n in [1, 2, 50, 300, 700] {
            let mut s = Stream::new(n as u64, "single cholesky", 0);
            let x = Mat::from_fn(n, n / 2 + 1, |_, _| s.normal() as f32);
            let a = tall_product_f32(x.as_ref(), x.transpose());
            let a = Mat::from_fn(n, n, |i, j| 0.5 * (a[(i, j)] + a[(j, i)]));
            let (ridge, b) = (n as f64 / 50.0, Mat::from_fn(n, 3, |_, _| s.normal()));
            let with_ridge = Mat::from_fn(n, n, |i, j| if i == j { a[(i, j)] + ridge as f32 } else { a[(i, j)] });
            let factor = SingleCholesky::factor(with_ridge).unwrap();
            let mut u = factor.solve(b.as_ref());
            for _ in 0..4 {
                u += factor.solve(residual_f64(&b, a.as_ref(), ridge, &u).as_ref());
            }
            // Every step multiplies the error by single precision times a condition number below 1e3.
            let left = residual_f64(&b, a.as_ref(), ridge, &u).norm_l2() / b.norm_l2();
            assert!(left < 1e-11, "{n}: {left:e}");
            let direct = &b - ridge * &u - Mat::from_fn(n, n, |i, j| f64::from(a[(i, j)])) * &u;
            // Rounding of sums of up to 700 terms.
            assert!((direct - residual_f64(&b, a.as_ref(), ridge, &u)).norm_max() < 1e-11);
        }
    }

    #[test]
    fn matrices_that_are_not_positive_have_no_factor() {
        assert!(SingleCholesky::factor(Mat::from_fn(3, 3, |i, j| if i == j { -1.0 } else { 0.0 })).is_none());
        assert!(SingleCholesky::factor(Mat::from_fn(300, 300, |_, _| 1.0)).is_none());
        assert!(SingleCholesky::factor(Mat::from_fn(2, 2, |_, _| f32::NAN)).is_none());
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let mut s = Stream::new(1, "single cholesky threads", 0);
        let a = Mat::from_fn(400, 400, |_, _| s.normal() as f32);
        let u = Mat::from_fn(400, 7, |_, _| s.normal());
        let b = Mat::from_fn(400, 50, |_, _| s.normal() as f32);
        let spd = tall_product_f32(a.as_ref(), a.transpose());
        let spd = Mat::from_fn(400, 400, |i, j| spd[(i.max(j), i.min(j))] + if i == j { 9.0 } else { 0.0 });
        let run = || {
            let solved = SingleCholesky::factor(spd.clone()).unwrap().solve(u.as_ref());
            (tall_product_f32(a.as_ref(), b.as_ref()), residual_f64(&u, spd.as_ref(), 0.1, &u), solved)
        };
        let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        assert_eq!(pool(1).install(run), pool(3).install(run));
    }
}
