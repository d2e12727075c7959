//! `A V = B V Λ` of a symmetric matrix and a symmetric positive definite one.

use super::eigen::{PROBES, WORST_RESIDUAL};
use super::{
    Cholesky, Mat, MatRef, SymmetricEigen, checked_norm, matmul, norm1, probed_norm, probes, symmetric_copy,
    symmetric_matmul,
};
use crate::error::{Error, Result};

/// `A V = B V Λ`, `Vᵀ B V = I`, eigenvalues ascending.
#[derive(Debug, Clone)]
pub struct Pencil {
    /// Generalized eigenvalues, ascending.
    pub values: Vec<f64>,
    /// Generalized eigenvectors, one per column, `Vᵀ B V = I`.
    pub vectors: Mat<f64>,
    /// `‖A V − B V Λ‖_F / (n ε (‖A‖₁ ‖V‖₁ + ‖B‖₁ ‖V‖₁ max|Λ|))`, measured on four random vectors: about 1 or less for a
    /// good decomposition.
    pub residual: f64,
    /// The condition number of B, by which small eigenvalues lose accuracy.
    pub condition: f64,
}

impl Pencil {
    /// Decomposes the pencil of symmetric `a` and positive definite `b` (their lower halves are read): with `B = L Lᵀ`,
    /// the eigenvectors W of `L⁻¹ A L⁻ᵀ` give `V = L⁻ᵀ W`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] where `b` is not positive definite; [`Error::NotConverged`] if the scaled residual
    /// is above 1000; [`Error::Data`] if the shapes differ or an entry is not finite.
    pub fn factor(a: MatRef<'_, f64>, b: MatRef<'_, f64>, name: &str) -> Result<Self> {
        let norms = (checked_norm(a, name)?, checked_norm(b, name)?);
        if a.nrows() != b.nrows() {
            let problem = format!("the two matrices of the pencil have {} and {} rows", a.nrows(), b.nrows());
            return Err(Error::data(name, problem));
        }
        let chol = Cholesky::factor(b, name)?;
        let mut half = symmetric_copy(a);
        chol.half_solve_in_place(half.as_mut());
        let mut inner = half.transpose().to_owned();
        drop(half);
        chol.half_solve_in_place(inner.as_mut());
        let SymmetricEigen { values, mut vectors, .. } = SymmetricEigen::factor(inner.as_ref(), name)?;
        drop(inner);
        chol.half_solve_transposed_in_place(vectors.as_mut());
        let residual = residual(a, b, &values, vectors.as_ref(), norms);
        let sound = residual <= WORST_RESIDUAL; // false for a NaN too
        if !sound {
            return Err(Error::NotConverged {
                what: format!("the generalized eigendecomposition of {name}"),
                residual,
                steps: 0,
                trace: vec![],
                advice: format!("the second matrix has condition number {:.1e}; add a ridge to it", chol.condition()),
            });
        }
        Ok(Pencil { values, vectors, residual, condition: chol.condition() })
    }
}

/// The scaled residual of A V − B V Λ.
fn residual(a: MatRef<'_, f64>, b: MatRef<'_, f64>, values: &[f64], v: MatRef<'_, f64>, norms: (f64, f64)) -> f64 {
    let n = values.len();
    let z = probes(n, PROBES);
    let scaled_z = Mat::from_fn(n, PROBES, |i, k| values[i] * z[(i, k)]);
    let left = symmetric_matmul(a, matmul(v, z.as_ref()).as_ref());
    let right = symmetric_matmul(b, matmul(v, scaled_z.as_ref()).as_ref());
    let size = probed_norm((left - right).as_ref());
    let largest = values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    if size == 0.0 { 0.0 } else { size / (n as f64 * f64::EPSILON * norm1(v) * (norms.0 + norms.1 * largest)) }
}
