//! `Cov(f_t(x), f_s(x')) = [1, −A_t(x)] C [1, −A_s(x')]ᵀ`: the spread of networks around their mean (paper, Eqs.
//! 64–67).
//!
//! `A_t(x) = K̃_t·(x,X) 𝓛^{-1}` and C is the prior covariance of all outputs involved, since
//! `f_t(x) − <f_t(x)> = f⁰_t(x) − A_t(x) f⁰(X)`. This is what the paper's recursions for `<δv δv>` and `<δp δv>` (Eqs.
//! 65, 66) add up to. Memory: (ΣP)² numbers for 𝓛 and C together, and three times the number of points times ΣP while
//! they are looked at.

use super::system::System;
use crate::error::Result;
use crate::linalg::{Mat, MatRef, matmul_into};
use crate::theory::blocks::kernels::{Kernels, Points};

/// 𝓛 and the prior covariance of the training outputs.
#[derive(Debug)]
pub(super) struct Spread {
    pub system: System,
    /// `prior[t][s] = Cov(f⁰_t(X_t), f⁰_s(X_s))`, s ≤ t.
    prior: Vec<Vec<Mat<f64>>>,
    /// `β^{-1}`, which `C_tt` has on its diagonal beside that.
    ridge: f64,
}

/// Points at one time, seen from the training data.
struct View {
    /// `A_t(x)`, one block per task learned by then.
    weights: Vec<Mat<f64>>,
    /// `Cov(f⁰_t(x), f⁰_s(X_s))`, one block per task of the sequence.
    prior: Vec<Mat<f64>>,
}

impl Spread {
    pub fn new(kernels: &Kernels, system: System, ridge: f64) -> Result<Spread> {
        let mut prior: Vec<Vec<Mat<f64>>> = vec![];
        for t in 0..system.points.len() {
            let x = system.points[t].points();
            let mut row = (0..t)
                .map(|s| kernels.block(kernels.covariance(t + 1, s + 1), x, system.points[s].points()))
                .collect::<Result<Vec<_>>>()?;
            row.push(kernels.symmetric(kernels.covariance(t + 1, t + 1), x)?);
            prior.push(row);
        }
        Ok(Spread { system, prior, ridge })
    }

    /// `Cov(f⁰_t(X_t), f⁰_s(X_s))`, any order of times.
    fn prior(&self, t: usize, s: usize) -> MatRef<'_, f64> {
        if t >= s { self.prior[t][s].as_ref() } else { self.prior[s][t].transpose() }
    }

    fn view(&self, kernels: &Kernels, x: Points<'_>, t: usize) -> Result<View> {
        let each = |s: usize| self.system.points[s].points();
        let kappa = (0..=t).map(|s| kernels.block(kernels.tilde(t + 1, s + 1), x, each(s))).collect::<Result<_>>()?;
        let prior = (0..self.prior.len())
            .map(|s| kernels.block(kernels.covariance(t + 1, s + 1), x, each(s)))
            .collect::<Result<_>>()?;
        Ok(View { weights: self.system.weights(kappa), prior })
    }

    /// `Cov(δ_t(x), f⁰_s(X_s)) = c_s − Σ_r A_r C_rs`, with `δ_t(x) = f⁰_t(x) − A_t f⁰(X)`.
    fn residual(&self, view: &View, s: usize) -> Mat<f64> {
        let mut e = view.prior[s].clone();
        for (r, a) in view.weights.iter().enumerate() {
            matmul_into(e.as_mut(), 1.0, -1.0, a.as_ref(), self.prior(r, s));
        }
        // C_ss has 1/β on its diagonal beside the prior, for tasks that have been learned.
        if let (Some(a), true) = (view.weights.get(s), self.ridge > 0.0) {
            e -= self.ridge * a;
        }
        e
    }

    /// `Var f_t(x)` of every point (t from 0).
    pub fn variance(&self, kernels: &Kernels, x: Points<'_>, t: usize) -> Result<Vec<f64>> {
        let view = self.view(kernels, x, t)?;
        let mut variance = kernels.diagonal(kernels.covariance(t + 1, t + 1), x)?;
        for (s, a) in view.weights.iter().enumerate() {
            // Var f⁰ − 2 A c + A C Aᵀ = Var f⁰ − A c − A (c − C Aᵀ), block by block.
            let e = self.residual(&view, s);
            for j in 0..a.ncols() {
                for (i, v) in variance.iter_mut().enumerate() {
                    *v -= a[(i, j)] * (view.prior[s][(i, j)] + e[(i, j)]);
                }
            }
        }
        Ok(variance)
    }

    /// `Cov(f_t(x), f_s(x'))` of every pair of points (t, s from 0).
    pub fn covariance(
        &self,
        kernels: &Kernels,
        (x, t): (Points<'_>, usize),
        (x2, s): (Points<'_>, usize),
    ) -> Result<Mat<f64>> {
        let (one, other) = (self.view(kernels, x, t)?, self.view(kernels, x2, s)?);
        let mut covariance = kernels.block(kernels.covariance(t + 1, s + 1), x, x2)?;
        for (r, a) in one.weights.iter().enumerate() {
            matmul_into(covariance.as_mut(), 1.0, -1.0, a.as_ref(), other.prior[r].transpose());
        }
        for (r, b) in other.weights.iter().enumerate() {
            let e = self.residual(&one, r);
            matmul_into(covariance.as_mut(), 1.0, -1.0, e.as_ref(), b.transpose());
        }
        Ok(covariance)
    }

    /// The prior covariance of all training outputs, each at its own time, and of points at the times given, those last
    /// (its lower half).
    pub fn joint_prior(&self, kernels: &Kernels, x: Points<'_>, times: &[usize]) -> Result<Mat<f64>> {
        let trained: usize = self.system.points.iter().map(|p| p.len()).sum();
        let mut joint = Mat::zeros(trained + times.len() * x.len(), trained + times.len() * x.len());
        let mut place = |i: usize, j: usize, block: MatRef<'_, f64>| {
            joint.as_mut().submatrix_mut(i, j, block.nrows(), block.ncols()).copy_from(block);
        };
        let mut row = 0;
        for t in 0..self.prior.len() {
            let mut column = 0;
            for s in 0..=t {
                place(row, column, self.prior(t, s));
                column += self.prior[t][s].ncols();
            }
            row += self.prior[t][t].nrows();
        }
        for (k, &t) in times.iter().enumerate() {
            let mut column = 0;
            for s in 0..self.prior.len() {
                let points = self.system.points[s].points();
                place(row, column, kernels.block(kernels.covariance(t + 1, s + 1), x, points)?.as_ref());
                column += points.len();
            }
            for &s in &times[..=k] {
                place(row, column, kernels.block(kernels.covariance(t + 1, s + 1), x, x)?.as_ref());
                column += x.len();
            }
            row += x.len();
        }
        Ok(joint)
    }
}
