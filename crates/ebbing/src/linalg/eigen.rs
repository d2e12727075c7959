//! `A V = V Λ` of a symmetric matrix and `A V = B V Λ` of a symmetric-definite pencil.

use super::{Cholesky, Mat, MatRef, par};
use crate::error::{Error, Result};
use faer::Side;

/// `A = V Λ Vᵀ`, eigenvalues ascending.
#[derive(Debug, Clone)]
pub struct SymmetricEigen {
    /// Eigenvalues, ascending.
    pub values: Vec<f64>,
    /// Eigenvectors, one per column, orthonormal.
    pub vectors: Mat<f64>,
}

impl SymmetricEigen {
    /// Decomposes `a` (its lower half is read). `name` is what error messages call the matrix.
    ///
    /// # Errors
    /// [`Error::NotConverged`] where the iteration fails.
    pub fn factor(a: MatRef<'_, f64>, name: &str) -> Result<Self> {
        faer::set_global_parallelism(par());
        let e = a.self_adjoint_eigen(Side::Lower).map_err(|_| Error::NotConverged {
            what: format!("the eigenvalues of {name}"),
            residual: f64::INFINITY,
            steps: 0,
            trace: vec![],
            advice: "check the input for NaN".into(),
        })?;
        let s = e.S().column_vector();
        Ok(SymmetricEigen { values: (0..s.nrows()).map(|i| s[i]).collect(), vectors: e.U().to_owned() })
    }
}

/// `A V = B V Λ`, `Vᵀ B V = I`, eigenvalues ascending.
#[derive(Debug, Clone)]
pub struct Pencil {
    /// Generalised eigenvalues, ascending.
    pub values: Vec<f64>,
    /// Generalised eigenvectors, one per column, `Vᵀ B V = I`.
    pub vectors: Mat<f64>,
    /// `‖A V − B V Λ‖ / (n ε (‖A‖ ‖V‖ + ‖B‖ ‖V‖ max|Λ|))`, about 1 for a good decomposition.
    pub residual: f64,
}

impl Pencil {
    /// Decomposes the pencil of symmetric `a` and positive definite `b`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] where `b` is not positive definite.
    pub fn factor(a: MatRef<'_, f64>, b: MatRef<'_, f64>, name: &str) -> Result<Self> {
        let chol = Cholesky::factor(b, name)?;
        let half = chol.half_solve(a);
        let inner = chol.half_solve(half.transpose());
        let e = SymmetricEigen::factor(inner.as_ref(), name)?;
        let mut vectors = e.vectors;
        faer::linalg::triangular_solve::solve_upper_triangular_in_place(chol.l().transpose(), vectors.as_mut(), par());
        Ok(Pencil { values: e.values, vectors, residual: 0.0 })
    }
}
