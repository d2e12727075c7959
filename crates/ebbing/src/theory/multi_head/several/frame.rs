//! A frame in which both factors of the newest task are diagonal: `D = F Fᵀ` and `U0 = F diag(ρ) Fᵀ`.
//!
//! In the basis of the pencil (ΔK, K¹), with eigenvalues `s_i`, every block of the renormalized kernel is then diagonal,
//! `D + s_iU0 = F diag(1 + s_iρ) Fᵀ`: several outputs become single ones, which only the frame couples.

use crate::error::Result;
use crate::linalg::{Cholesky, Mat, MatRef, SymmetricEigen, matmul};

/// `F`, `E = F^{-1}` and ρ.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// Its columns are the directions `f_a`.
    pub f: Mat<f64>,
    /// Its rows are the dual vectors `e_a`. Both are carried along by the same steps: nothing is inverted.
    pub e: Mat<f64>,
    /// `ρ_a`.
    pub rho: Vec<f64>,
}

impl Frame {
    /// Orthonormal directions (columns of `axes`) with `D = Σ d_a o_a o_aᵀ` and `U0 = Σ ρ_a d_a o_a o_aᵀ`.
    pub fn along(axes: MatRef<'_, f64>, d: &[f64], rho: Vec<f64>) -> Self {
        let m = d.len();
        Frame {
            f: Mat::from_fn(m, m, |i, a| axes[(i, a)] * d[a].sqrt()),
            e: Mat::from_fn(m, m, |a, i| axes[(i, a)] / d[a].sqrt()),
            rho,
        }
    }

    /// The frame of given factors.
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`] where D is not positive definite.
    pub fn of(d: MatRef<'_, f64>, u0: MatRef<'_, f64>) -> Result<Self> {
        let m = d.nrows();
        let factor = Cholesky::factor(d, "U1 - U0 of the newest task")?;
        let half = factor.half_solve(u0);
        let inner = factor.half_solve(half.transpose());
        let eigen = SymmetricEigen::factor(symmetric(inner.as_ref()).as_ref(), "U0 of the newest task")?;
        let inverse = factor.half_solve(Mat::<f64>::identity(m, m).as_ref());
        Ok(Frame {
            f: matmul(factor.l(), eigen.vectors.as_ref()),
            e: matmul(eigen.vectors.transpose(), inverse.as_ref()),
            rho: eigen.values,
        })
    }

    /// The number m of outputs.
    pub fn size(&self) -> usize {
        self.rho.len()
    }

    /// `D → F e^X Fᵀ`, `U0 → F e^{X/2} (diag ρ + Z) e^{X/2} Fᵀ`: the frame there.
    ///
    /// # Errors
    /// Those of the eigendecomposition of two m × m matrices.
    pub fn moved(&self, x: MatRef<'_, f64>, z: MatRef<'_, f64>) -> Result<Self> {
        let m = self.size();
        let step = SymmetricEigen::factor(x, "a step of D")?;
        let power = |sign: f64| {
            let scaled = Mat::from_fn(m, m, |i, j| step.vectors[(i, j)] * (0.5 * sign * step.values[j]).exp());
            matmul(scaled.as_ref(), step.vectors.transpose())
        };
        let inner = Mat::from_fn(m, m, |i, j| z[(i, j)] + if i == j { self.rho[i] } else { 0.0 });
        let eigen = SymmetricEigen::factor(inner.as_ref(), "a step of U0")?;
        let forth = matmul(self.f.as_ref(), power(1.0).as_ref());
        let back = matmul(power(-1.0).as_ref(), self.e.as_ref());
        Ok(Frame {
            f: matmul(forth.as_ref(), eigen.vectors.as_ref()),
            e: matmul(eigen.vectors.transpose(), back.as_ref()),
            rho: eigen.values,
        })
    }

    /// `F diag(v) Fᵀ`.
    pub fn spread(&self, v: impl Fn(usize) -> f64) -> Mat<f64> {
        let m = self.size();
        let scaled = Mat::from_fn(m, m, |i, a| self.f[(i, a)] * v(a));
        symmetric(matmul(scaled.as_ref(), self.f.transpose()).as_ref())
    }

    /// `D`.
    pub fn d(&self) -> Mat<f64> {
        self.spread(|_| 1.0)
    }

    /// `U0`.
    pub fn u0(&self) -> Mat<f64> {
        self.spread(|a| self.rho[a])
    }

    /// `ln det D`.
    pub fn logdet(&self) -> Result<f64> {
        Ok(Cholesky::factor(self.d().as_ref(), "U1 - U0 of the newest task")?.logdet())
    }
}

/// `(A + Aᵀ)/2`.
pub(super) fn symmetric(a: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.nrows(), |i, j| 0.5 * (a[(i, j)] + a[(j, i)]))
}

/// The index of (a, b) in a packed lower triangle.
pub(super) fn packed(a: usize, b: usize) -> usize {
    let (a, b) = (a.max(b), a.min(b));
    a * (a + 1) / 2 + b
}

/// A symmetric matrix as coordinates in which the sum of squares is that of its entries.
pub(super) fn coordinates(a: MatRef<'_, f64>) -> Vec<f64> {
    let m = a.nrows();
    let weight = |i, j| if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
    (0..m).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| weight(i, j) * a[(i, j)]).collect()
}

/// The inverse of [`coordinates`].
pub(super) fn from_coordinates(v: &[f64], m: usize) -> Mat<f64> {
    let weight = |i, j| if i == j { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
    Mat::from_fn(m, m, |i, j| weight(i, j) * v[packed(i, j)])
}
