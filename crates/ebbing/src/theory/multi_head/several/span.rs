//! The directions of a head in which a task has labels.
//!
//! At β = ∞ a direction without labels (targets that sum to zero over classes, a class that does not occur) is a problem of its own
//! by the symmetry of its sign: `U1 = σ²(1−α)` there, 0 above α = 1, and no overlap with anything else. The equations of the rest
//! would be singular with it, so it is taken out and put back. Above α = 1 this is not the limit of small labels: at β = ∞ even the
//! smallest are learned exactly, which hidden weights have to serve.

use super::frame::symmetric;
use crate::error::Result;
use crate::linalg::{Mat, MatRef, SymmetricEigen, matmul};

/// Orthonormal directions of a head.
#[derive(Debug, Clone)]
pub(super) struct Span {
    /// With labels, m × m'.
    pub used: Mat<f64>,
    /// Without, m × (m − m').
    pub silent: Mat<f64>,
}

impl Span {
    /// All directions, as they are.
    pub fn whole(m: usize) -> Self {
        Span { used: Mat::identity(m, m), silent: Mat::zeros(m, 0) }
    }

    /// The directions of labels. Labels count as zero below 1e-7 of the largest: squares, of which 1e-14 is rounding.
    ///
    /// # Errors
    /// Those of an eigendecomposition of an m × m matrix.
    pub fn of(y: &Mat<f64>) -> Result<Self> {
        let m = y.ncols();
        let products = symmetric(matmul(y.transpose(), y.as_ref()).as_ref());
        let eigen = SymmetricEigen::factor(products.as_ref(), "products of labels")?;
        let largest = eigen.values.last().copied().unwrap_or(0.0);
        let silent = eigen.values.iter().filter(|v| **v <= 1e-14 * largest).count();
        if silent == 0 {
            return Ok(Self::whole(m));
        }
        let columns = |first: usize, count: usize| Mat::from_fn(m, count, |i, a| eigen.vectors[(i, first + a)]);
        Ok(Span { used: columns(silent, m - silent), silent: columns(0, silent) })
    }

    /// Labels along the directions that have them.
    pub fn reduced(&self, y: MatRef<'_, f64>) -> Mat<f64> {
        if self.silent.ncols() == 0 { y.to_owned() } else { matmul(y, self.used.as_ref()) }
    }

    /// `O U Pᵀ`: factors between two heads in all their outputs.
    pub fn expanded(&self, u: MatRef<'_, f64>, other: &Span) -> Mat<f64> {
        match self.silent.ncols() + other.silent.ncols() {
            0 => u.to_owned(),
            _ => matmul(matmul(self.used.as_ref(), u).as_ref(), other.used.transpose()),
        }
    }

    /// The same of a head with itself, with `silent` along directions without labels.
    pub fn own(&self, u: MatRef<'_, f64>, silent: f64) -> Mat<f64> {
        let mut all = self.expanded(u, self);
        for k in 0..self.silent.ncols() {
            let axis = self.silent.col_as_slice(k);
            for a in 0..all.nrows() {
                for b in 0..all.nrows() {
                    all[(a, b)] += silent * axis[a] * axis[b];
                }
            }
        }
        all
    }
}
