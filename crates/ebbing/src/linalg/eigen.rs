//! `A V = V Λ` of a symmetric matrix.

use super::{Mat, MatRef, checked_norm, matmul, par, probed_norm, probes, symmetric_matmul};
use crate::error::{Error, Result};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Col, Spec};

/// The largest scaled residual with which a decomposition is returned.
pub(super) const WORST_RESIDUAL: f64 = 1e3;

/// How many random vectors measure a residual: its relative error is about `1/√(2·4)`.
pub(super) const PROBES: usize = 4;

/// `A = V Λ Vᵀ`, eigenvalues ascending.
#[derive(Debug, Clone)]
pub struct SymmetricEigen {
    /// Eigenvalues, ascending.
    pub values: Vec<f64>,
    /// Eigenvectors, one per column, orthonormal.
    pub vectors: Mat<f64>,
    /// `‖A − V Λ Vᵀ‖_F / (n ε ‖A‖₁)`, measured on four random vectors: about 1 or less for a good decomposition.
    pub residual: f64,
    /// `‖I − V Vᵀ‖_F / (n ε)`, measured on four random vectors.
    pub orthogonality: f64,
}

impl SymmetricEigen {
    /// Decomposes `a` (its lower half is read). `name` names the matrix in error messages.
    ///
    /// # Errors
    /// [`Error::NotConverged`] where the iteration fails or a scaled residual is above 1000; [`Error::Data`] if `a` is
    /// not square or not finite.
    pub fn factor(a: MatRef<'_, f64>, name: &str) -> Result<Self> {
        let norm = checked_norm(a, name)?;
        let n = a.nrows();
        if n == 0 {
            return Ok(SymmetricEigen { values: vec![], vectors: Mat::new(), residual: 0.0, orthogonality: 0.0 });
        }
        // The iteration stops at absolute sizes of the order of ε: a small matrix is scaled to norm 1, exactly, by a power of two.
        let scale = if norm > 0.0 && norm < 0.5 { 2f64.powi(norm.log2().floor() as i32) } else { 1.0 };
        let scaled = (scale != 1.0).then(|| Mat::from_fn(n, n, |i, j| a[(i, j)] / scale));
        let (mut values, mut vectors) = (Col::zeros(n), Mat::zeros(n, n));
        let (par, params) = (par(n), Spec::default());
        let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, par, params));
        // This call does not look at the stop token. Of its three steps, which faer offers apart, the reduction to a tridiagonal
        // matrix is again one call on all of it. A request that is stopped within comes back when the call ends: after about
        // 4 seconds of processor time at n = 3000, eight times as much at twice the size.
        let outcome = self_adjoint_evd(
            scaled.as_ref().map_or(a, |scaled| scaled.as_ref()),
            values.as_diagonal_mut(),
            Some(vectors.as_mut()),
            par,
            MemStack::new(&mut memory),
            params,
        );
        crate::stop::check()?;
        let values: Vec<f64> = values.iter().map(|value| scale * value).collect();
        let (residual, orthogonality) = residuals(a, &values, vectors.as_ref(), norm);
        let sound = residual <= WORST_RESIDUAL && orthogonality <= WORST_RESIDUAL; // false for a NaN too
        if outcome.is_err() || !sound {
            return Err(Error::NotConverged {
                what: format!("the eigendecomposition of {name}"),
                residual: residual + orthogonality,
                steps: 0,
                trace: vec![],
                advice: "its entries may span too many orders of magnitude; rescale the matrix".into(),
            });
        }
        Ok(SymmetricEigen { values, vectors, residual, orthogonality })
    }
}

/// The scaled residuals of A − VΛVᵀ and I − VVᵀ.
fn residuals(a: MatRef<'_, f64>, values: &[f64], vectors: MatRef<'_, f64>, norm: f64) -> (f64, f64) {
    let n = values.len();
    let z = probes(n, PROBES);
    let mut inner = matmul(vectors.transpose(), z.as_ref());
    let orthogonality = probed_norm((&z - matmul(vectors, inner.as_ref())).as_ref());
    for k in 0..inner.ncols() {
        for i in 0..n {
            inner[(i, k)] *= values[i];
        }
    }
    let residual = probed_norm((symmetric_matmul(a, z.as_ref()) - matmul(vectors, inner.as_ref())).as_ref());
    let unit = n as f64 * f64::EPSILON;
    let scaled = if residual == 0.0 { 0.0 } else { residual / (unit * norm) };
    (scaled, orthogonality / unit)
}
