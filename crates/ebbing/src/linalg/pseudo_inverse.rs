//! `A⁺ = V Λ⁺ Vᵀ` of a symmetric positive semi-definite matrix, at a stated rank.

use super::{Mat, MatRef, SymmetricEigen, column, matmul};
use crate::error::{Error, Result};

/// `A⁺ = Σ_{λ_i > tolerance} v_i v_iᵀ / λ_i`.
#[derive(Debug, Clone)]
pub struct PseudoInverse {
    values: Vec<f64>,
    vectors: Mat<f64>,
    tolerance: f64,
    largest_dropped: Option<f64>,
}

impl PseudoInverse {
    /// Decomposes `a` (its lower half is read) and keeps the eigenvalues above `relative_tolerance` of the largest; `n ε` where none is given.
    ///
    /// # Errors
    /// As for [`SymmetricEigen::factor`] and [`PseudoInverse::from_eigen`].
    pub fn factor(a: MatRef<'_, f64>, relative_tolerance: Option<f64>, name: &str) -> Result<Self> {
        let rounding = a.nrows() as f64 * f64::EPSILON;
        let eigen = SymmetricEigen::factor(a, name)?;
        Self::from_eigen(&eigen, relative_tolerance.unwrap_or(rounding), name)
    }

    /// The same from a given decomposition.
    ///
    /// # Errors
    /// [`Error::Setting`] where the tolerance is outside [0, 1); [`Error::Data`] if an eigenvalue is negative beyond it.
    pub fn from_eigen(eigen: &SymmetricEigen, relative_tolerance: f64, name: &str) -> Result<Self> {
        if !(0.0..1.0).contains(&relative_tolerance) {
            return Err(Error::setting("the tolerance of the rank", relative_tolerance, "must lie in [0, 1)"));
        }
        let n = eigen.values.len();
        let (smallest, largest) = (eigen.values.first().copied(), eigen.values.last().copied().unwrap_or(0.0));
        let scale = smallest.map_or(0.0, |s| s.abs().max(largest.abs()));
        let tolerance = relative_tolerance.max(f64::EPSILON) * scale;
        if let Some(negative) = smallest.filter(|&s| s < -tolerance) {
            let problem =
                format!("eigenvalue {negative:.3e} is below zero by more than {tolerance:.1e}; a kernel has none");
            return Err(Error::data(name, problem));
        }
        let dropped = eigen.values.partition_point(|&v| v <= tolerance);
        Ok(PseudoInverse {
            values: eigen.values[dropped..].to_vec(),
            vectors: eigen.vectors.submatrix(0, dropped, n, n - dropped).to_owned(),
            tolerance,
            largest_dropped: dropped.checked_sub(1).map(|last| eigen.values[last]),
        })
    }

    /// The number of eigenvalues kept.
    pub fn rank(&self) -> usize {
        self.values.len()
    }

    /// Eigenvalues above this were kept.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// The smallest eigenvalue kept, where there is one.
    pub fn smallest_kept(&self) -> Option<f64> {
        self.values.first().copied()
    }

    /// The largest eigenvalue dropped, where there is one: the rank is clear if this is far below [`PseudoInverse::smallest_kept`].
    pub fn largest_dropped(&self) -> Option<f64> {
        self.largest_dropped
    }

    /// `A⁺ B`.
    ///
    /// # Panics
    /// If `b` does not have as many rows as `A`; the other solves do the same.
    pub fn solve(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let mut inner = matmul(self.vectors.transpose(), b);
        self.scale_rows(&mut inner, |value| 1.0 / value);
        matmul(self.vectors.as_ref(), inner.as_ref())
    }

    /// `A⁺ b`.
    pub fn solve_vec(&self, b: &[f64]) -> Vec<f64> {
        self.solve(column(b)).col_as_slice(0).to_vec()
    }

    /// `V Vᵀ B`: the part of B within the directions that are kept.
    pub fn project(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        matmul(self.vectors.as_ref(), matmul(self.vectors.transpose(), b).as_ref())
    }

    /// `Λ^{-1/2} Vᵀ B`, with as many rows as the rank: what `L⁻¹ B` is to a Cholesky factor.
    pub fn half_solve(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let mut inner = matmul(self.vectors.transpose(), b);
        self.scale_rows(&mut inner, |value| 1.0 / value.sqrt());
        inner
    }

    fn scale_rows(&self, b: &mut Mat<f64>, factor: impl Fn(f64) -> f64) {
        for k in 0..b.ncols() {
            for (x, &value) in b.col_as_slice_mut(k).iter_mut().zip(&self.values) {
                *x *= factor(value);
            }
        }
    }
}
