//! `A = L Lᵀ` of a symmetric positive definite matrix, with its condition and its residual.

use super::triangle::{solve_lower, solve_upper};
use super::{Mat, MatMut, MatRef, checked_norm, condition, diagnosis, par, symmetric_norm};
use crate::error::{Error, Result};
use crate::stop;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Par, Spec};

/// `A = L Lᵀ`.
///
/// A matrix counts as singular if the square of a pivot is at most `n ε a_jj`: that much of it is rounding error
/// (J. Demmel, LAPACK working note 14, 1989), so that a solution would have no correct digit.
#[derive(Debug, Clone)]
pub struct Cholesky {
    l: Mat<f64>,
    norm: f64,
    name: String,
}

impl Cholesky {
    /// Factors `a` (its lower half is read). `name` names the matrix in error messages.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if the matrix is singular or indefinite: the pivot, an estimate of the smallest
    /// eigenvalue and what to do; [`Error::Data`] if it is not square or not finite.
    pub fn factor(a: MatRef<'_, f64>, name: &str) -> Result<Self> {
        let norm = checked_norm(a, name)?;
        let mut l = Mat::zeros(a.nrows(), a.nrows());
        l.copy_from_triangular_lower(a);
        match factor_in_place(l.as_mut()) {
            Ok(()) => Self::finish(l, norm, name),
            Err(pivot) => {
                Err(stop::check().err().unwrap_or_else(|| diagnosis::not_positive_definite(a, pivot, norm, name)))
            }
        }
    }

    /// The same without a copy: L takes the place of `a`, which must be filled above the diagonal too.
    ///
    /// # Errors
    /// As for [`Cholesky::factor`].
    pub fn factor_owned(mut a: Mat<f64>, name: &str) -> Result<Self> {
        let norm = checked_norm(a.as_ref(), name)?;
        let diagonal_blocks = copy_diagonal_blocks(a.as_ref());
        match factor_in_place(a.as_mut()) {
            Ok(()) => Self::finish(a, norm, name),
            Err(pivot) => {
                stop::check()?;
                // Outside the diagonal blocks, the half above the diagonal still holds the matrix.
                for (k, block) in diagonal_blocks.iter().enumerate() {
                    let (start, size) = (k * BLOCK, block.nrows());
                    a.submatrix_mut(start, start, size, size).copy_from(block);
                }
                Err(diagnosis::not_positive_definite(a.transpose(), pivot, norm, name))
            }
        }
    }

    fn finish(mut l: Mat<f64>, norm: f64, name: &str) -> Result<Self> {
        stop::check()?;
        for j in 1..l.ncols() {
            l.col_as_slice_mut(j)[..j].fill(0.0);
        }
        Ok(Cholesky { l, norm, name: name.to_string() })
    }

    /// The factor L, zero above the diagonal.
    pub fn l(&self) -> MatRef<'_, f64> {
        self.l.as_ref()
    }

    /// The number of rows.
    pub fn size(&self) -> usize {
        self.l.nrows()
    }

    /// `A^{-1} B`.
    ///
    /// # Panics
    /// If `b` does not have as many rows as `A`; the other solves do the same.
    pub fn solve(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let mut x = b.to_owned();
        self.solve_in_place(x.as_mut());
        x
    }

    /// `B ← A^{-1} B`.
    pub fn solve_in_place(&self, mut b: MatMut<'_, f64>) {
        self.half_solve_in_place(b.as_mut());
        self.half_solve_transposed_in_place(b);
    }

    /// `A_nn^{-1} B` of the first n rows and columns of A, n the number of rows of `b`.
    ///
    /// # Panics
    /// If `b` has more rows than `A`.
    pub(crate) fn solve_first(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let (n, par) = (b.nrows(), par(b.ncols()));
        let l = self.l.as_ref().submatrix(0, 0, n, n);
        let mut x = b.to_owned();
        solve_lower(l, x.as_mut(), par);
        solve_upper(l.transpose(), x.as_mut(), par);
        x
    }

    /// `A^{-1} b`.
    pub fn solve_vec(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        self.solve_slice(&mut x);
        x
    }

    /// `L^{-1} B`.
    pub fn half_solve(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let mut x = b.to_owned();
        self.half_solve_in_place(x.as_mut());
        x
    }

    /// `B ← L^{-1} B`.
    pub fn half_solve_in_place(&self, b: MatMut<'_, f64>) {
        let par = par(b.ncols());
        solve_lower(self.l.as_ref(), b, par);
    }

    /// `L^{-T} B`.
    pub fn half_solve_transposed(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let mut x = b.to_owned();
        self.half_solve_transposed_in_place(x.as_mut());
        x
    }

    /// `B ← L^{-T} B`.
    pub fn half_solve_transposed_in_place(&self, b: MatMut<'_, f64>) {
        let par = par(b.ncols());
        solve_upper(self.l.transpose(), b, par);
    }

    /// `ln det A`.
    pub fn logdet(&self) -> f64 {
        (0..self.size()).map(|i| 2.0 * self.l[(i, i)].ln()).sum()
    }

    /// `‖A‖₁ ‖A⁻¹‖₁`, estimated from about ten solves; rarely less than a third of the true value, never more.
    pub fn condition(&self) -> f64 {
        if self.size() == 0 {
            return 1.0;
        }
        self.norm * condition::inverse_norm(self.size(), |x| self.solve_slice(x))
    }

    /// `−log₁₀(ε · condition)`: the decimal digits of a solution that rounding errors leave, at least 0.
    pub fn digits(&self) -> f64 {
        digits(self.condition())
    }

    /// [`Cholesky::digits`], or an error where fewer than four are left.
    ///
    /// # Errors
    /// [`Error::LostAccuracy`] naming `what` was to be computed.
    pub fn require_digits(&self, what: &str) -> Result<f64> {
        const NEEDED: f64 = 4.0;
        let condition = self.condition();
        let digits = digits(condition);
        if digits >= NEEDED {
            return Ok(digits);
        }
        Err(Error::LostAccuracy {
            what: what.to_string(),
            digits,
            condition,
            advice: format!("add a ridge to {}, or remove examples that are nearly equal", self.name),
        })
    }

    /// `‖L Lᵀ − A‖₁ / (n ε ‖A‖₁)` for the matrix `a` that was factored (its lower half is read): about 1 or less for an accurate factor.
    ///
    /// # Panics
    /// If `a` has another size.
    pub fn residual(&self, a: MatRef<'_, f64>) -> f64 {
        let n = self.size();
        let mut difference = Mat::zeros(n, n);
        difference.copy_from_triangular_lower(a);
        let par = par(n);
        triangular::matmul(
            difference.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Add,
            self.l.as_ref(),
            BlockStructure::TriangularLower,
            self.l.transpose(),
            BlockStructure::TriangularUpper,
            -1.0,
            par,
        );
        let size = symmetric_norm(difference.as_ref());
        if size == 0.0 { 0.0 } else { size / (n as f64 * f64::EPSILON * self.norm) }
    }

    fn solve_slice(&self, x: &mut [f64]) {
        let n = x.len();
        self.solve_in_place(MatMut::from_column_major_slice_mut(x, n, 1));
    }
}

/// Rows that are factored at a time: faer's own number, so that it makes no difference to the bits. Within diagonal blocks of
/// this size faer uses the half above the diagonal as scratch.
const BLOCK: usize = 128;

fn copy_diagonal_blocks(a: MatRef<'_, f64>) -> Vec<Mat<f64>> {
    let starts = (0..a.nrows()).step_by(BLOCK);
    starts.map(|s| (s, BLOCK.min(a.nrows() - s))).map(|(s, size)| a.submatrix(s, s, size, size).to_owned()).collect()
}

/// Where a factorization failed: the row, and the pivot if it is known.
pub(super) struct BadPivot {
    pub row: usize,
    pub value: Option<f64>,
}

/// Overwrites the lower half of `a` by L, a few rows at a time, as faer does, but so that it can be stopped in between.
pub(super) fn factor_in_place(mut a: MatMut<'_, f64>) -> Result<(), BadPivot> {
    let n = a.nrows();
    let diagonal: Vec<f64> = (0..n).map(|i| a[(i, i)]).collect();
    let par = par(n);
    for first in (0..n).step_by(BLOCK) {
        if stop::requested() {
            return Err(BadPivot { row: 0, value: None });
        }
        let size = BLOCK.min(n - first);
        let rest = a.as_mut().submatrix_mut(first, first, n - first, n - first);
        let (mut own, _, mut below, mut left) = rest.split_at_mut(size, size);
        factor_block(own.as_mut(), par).map_err(|row| BadPivot { row: first + row, value: None })?;
        solve_lower_triangular_in_place(own.as_ref(), below.as_mut().transpose_mut(), par);
        let (below, lower, whole) = (below.as_ref(), BlockStructure::TriangularLower, BlockStructure::Rectangular);
        triangular::matmul(left.as_mut(), lower, Accum::Add, below, whole, below.transpose(), whole, -1.0, par);
    }
    for j in 0..n {
        let pivot = a[(j, j)] * a[(j, j)];
        let sound = pivot > n as f64 * f64::EPSILON * diagonal[j]; // false for a NaN too
        if !sound {
            return Err(BadPivot { row: j, value: Some(pivot) });
        }
    }
    Ok(())
}

/// Overwrites the lower half of a diagonal block by its factor, or returns the row where it fails.
fn factor_block(mut a: MatMut<'_, f64>, par: Par) -> Result<(), usize> {
    let params = Spec::default();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(a.nrows(), par, params));
    let outcome = cholesky_in_place(a.as_mut(), Default::default(), par, MemStack::new(&mut memory), params);
    outcome.map(|_| ()).map_err(|LltError::NonPositivePivot { index }| index)
}

fn digits(condition: f64) -> f64 {
    (-(condition * f64::EPSILON).log10()).max(0.0)
}
