//! The parts of `H_T` added up: data over N minus the 1×1 kernels `D[1]`, as a quadratic form of the cross unknowns.
//!
//! `D[1]` is what the paper writes as `ln det U` (Eq. 136 for T = 2): the entropy of the readouts. As D of the 1×1
//! kernel 1 it needs no formula of its own, for any T.

use super::small::{negative_eigenvalues, solve_small};
use super::terms::{Jet, Moments};

/// `|a|/b`, zero where both vanish.
pub(super) fn ratio(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a.abs() / b }
}

/// The parts of `H_T` with their derivatives in d and u0.
pub(super) struct Combined {
    /// Everything that does not depend on θ or the labels.
    pub entropy: Jet,
    /// `entropy[1] − entropy[2]`, without the common part of both.
    pub trace_difference: f64,
    labels: Jet,
    mixed: Vec<Jet>,
    cross: Vec<Jet>,
    /// Sizes of the two contributions to `cross`, for scaling.
    cross_size: Vec<Jet>,
    /// `Tr(M noise M K⁰)` of data at a frozen temperature.
    pub noise_trace: f64,
    /// The part of `cross` that comes from the 1×1 kernels, negated.
    unit_cross: Vec<f64>,
}

impl Combined {
    pub fn new(data: &Moments, unit: &Moments, u0: f64, width: f64) -> Self {
        let minus = |a: &Jet, b: &Jet| std::array::from_fn(|i| a[i] / width - b[i]);
        let plus = |a: &Jet, b: &Jet| std::array::from_fn(|i| (a[i] / width).abs() + b[i].abs());
        let pairs = |f: &dyn Fn(&Jet, &Jet) -> Jet| data.cross.iter().zip(&unit.cross).map(|(a, b)| f(a, b)).collect();
        Combined {
            entropy: minus(&data.entropy(u0), &unit.entropy(u0)),
            trace_difference: u0 * ((data.k0[1] - data.k0[2]) / width - (unit.k0[1] - unit.k0[2])),
            labels: minus(&data.labels, &unit.labels),
            mixed: data.mixed.iter().zip(&unit.mixed).map(|(a, b)| minus(a, b)).collect(),
            cross: pairs(&minus),
            cross_size: pairs(&plus),
            noise_trace: data.k0[0] - data.k0[1],
            unit_cross: unit.cross.iter().map(|c| c[0]).collect(),
        }
    }

    /// The symmetric matrix of the cross unknowns' linear system.
    pub fn cross_matrix(&self) -> Vec<Vec<f64>> {
        square(self.mixed.len(), |k, l| self.cross[packed(k, l)][0])
    }

    /// How many of its eigenvalues are negative: the number changes where θ has a pole.
    pub fn branch(&self) -> usize {
        negative_eigenvalues(&self.cross_matrix())
    }

    /// The same without data.
    pub fn unit_branch(&self) -> usize {
        negative_eigenvalues(&square(self.mixed.len(), |k, l| -self.unit_cross[packed(k, l)]))
    }

    /// `Σ_kl θ_k θ_l` times the 1×1 kernels' part.
    pub fn unit_quadratic(&self, theta: &[f64]) -> f64 {
        let n = theta.len();
        (0..n).map(|k| (0..n).map(|l| self.unit_cross[packed(k, l)] * theta[k] * theta[l]).sum::<f64>()).sum()
    }

    /// `θ`: the stationary point over the cross unknowns.
    pub fn cross_solution(&self) -> Vec<f64> {
        let right: Vec<f64> = self.mixed.iter().map(|m| m[0]).collect();
        solve_small(&self.cross_matrix(), &right)
    }

    /// Half the gradient over θ over `Σ_l |cross_kl| max|θ| + |mixed_k|`, the scale of a backward error.
    pub fn cross_residuals(&self, theta: &[f64]) -> Vec<f64> {
        let n = theta.len();
        let largest = theta.iter().fold(0.0, |m: f64, t| m.max(t.abs()));
        (0..n)
            .map(|k| {
                let entry = |l: usize| self.cross[packed(k, l)][0];
                let size = (0..n).map(|l| entry(l).abs()).sum::<f64>() * largest + self.mixed[k][0].abs();
                ratio((0..n).map(|l| entry(l) * theta[l]).sum::<f64>() - self.mixed[k][0], size)
            })
            .collect()
    }

    /// `∂_θk` of derivative `j` of H.
    pub fn cross_gradient(&self, theta: &[f64], j: usize) -> Vec<f64> {
        let n = theta.len();
        (0..n)
            .map(|k| 2.0 * ((0..n).map(|l| self.cross[packed(k, l)][j] * theta[l]).sum::<f64>() - self.mixed[k][j]))
            .collect()
    }

    /// `θᵀ cross θ − 2 mixedᵀ θ + labels` and the sum of the sizes of its terms.
    pub fn quadratic(&self, theta: &[f64]) -> (Jet, Jet) {
        let (mut value, mut size): (Jet, Jet) = (self.labels, std::array::from_fn(|i| self.labels[i].abs()));
        for k in 0..theta.len() {
            for i in 0..6 {
                value[i] -= 2.0 * self.mixed[k][i] * theta[k];
                size[i] += 2.0 * (self.mixed[k][i] * theta[k]).abs();
            }
            for l in 0..theta.len() {
                for i in 0..6 {
                    value[i] += self.cross[packed(k, l)][i] * theta[k] * theta[l];
                    size[i] += self.cross_size[packed(k, l)][i] * (theta[k] * theta[l]).abs();
                }
            }
        }
        (value, size)
    }
}

/// A square matrix of n rows.
fn square(n: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
    (0..n).map(|k| (0..n).map(|l| entry(k, l)).collect()).collect()
}

/// The index of (k, l) in a packed lower triangle.
pub(super) fn packed(k: usize, l: usize) -> usize {
    let (k, l) = (k.max(l), k.min(l));
    k * (k + 1) / 2 + l
}
