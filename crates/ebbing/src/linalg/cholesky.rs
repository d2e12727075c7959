//! `A = L Lᵀ` of a symmetric positive definite matrix, with its condition and its residual.

use super::{Mat, MatRef, par};
use crate::error::{Error, Result};
use faer::Side;
use faer::linalg::solvers::{Llt, Solve};

/// `A = L Lᵀ`.
#[derive(Debug, Clone)]
pub struct Cholesky {
    llt: Llt<f64>,
}

impl Cholesky {
    /// Factors `a` (its lower half is read). `name` is what error messages call the matrix.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] where a pivot is not positive.
    pub fn factor(a: MatRef<'_, f64>, name: &str) -> Result<Self> {
        faer::set_global_parallelism(par());
        let llt = Llt::new(a, Side::Lower).map_err(|_| Error::NotPositiveDefinite {
            matrix: name.to_string(),
            pivot: 0,
            size: a.nrows(),
            pivot_value: 0.0,
            smallest_eigenvalue: 0.0,
            advice: String::new(),
        })?;
        Ok(Cholesky { llt })
    }

    /// The factor L.
    pub fn l(&self) -> MatRef<'_, f64> {
        self.llt.L()
    }

    /// `A^{-1} B`.
    pub fn solve(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        self.llt.solve(b)
    }

    /// `L^{-1} B`.
    pub fn half_solve(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let mut x = b.to_owned();
        faer::linalg::triangular_solve::solve_lower_triangular_in_place(self.l(), x.as_mut(), par());
        x
    }

    /// `A^{-1} b`.
    pub fn solve_vec(&self, b: &[f64]) -> Vec<f64> {
        let x = self.solve(super::column(b));
        (0..x.nrows()).map(|i| x[(i, 0)]).collect()
    }

    /// `ln det A`.
    pub fn logdet(&self) -> f64 {
        (0..self.l().nrows()).map(|i| 2.0 * self.l()[(i, i)].ln()).sum()
    }
}
