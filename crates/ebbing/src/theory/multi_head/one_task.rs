//! One task learned alone at width N: the stationary point of `H_1` (paper, Eqs. 107, 140), and its loss on held-out
//! data.
//!
//! At β = ∞ that is the positive root of `σ^{-2}u² − (1−α)u − YᵀK^{-1}Y/N = 0`. At finite β there is no closed form,
//! and `H_1` may have several minima: the lowest one counts.

use super::saddle::TOLERANCE;
use super::settings::{MultiHeadSettings, ReadoutPrior, check_tasks, labels, task_name};
use crate::error::{Error, Result};
use crate::kernels::{Kernel, KernelKind};
use crate::linalg::{Cholesky, Mat, MatRef, SymmetricEigen, column, dot, matmul};
use crate::stats::bisect;
use crate::tasks::Task;

/// `H_1(u) = σ^{-2} u − ln u + (1/N) {ln det(u K + β^{-1}) + Yᵀ(u K + β^{-1})^{-1} Y}` of one task.
#[derive(Debug, Clone)]
pub(super) struct OneTask {
    size: usize,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// β = ∞: only `Yᵀ K^{-1} Y` matters.
    Interpolating { quadratic: f64 },
    /// Eigenvalues of K, squared labels in its eigenbasis, and `β^{-1}`.
    Thermal { values: Vec<f64>, labels: Vec<f64>, ridge: f64 },
}

/// The renormalization factor of a task alone and its scaled residual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FirstFactor {
    pub u: f64,
    pub residual: f64,
}

impl OneTask {
    /// From the factor of K at β = ∞.
    pub fn interpolating(factor: &Cholesky, y: &[f64]) -> Self {
        let quadratic = dot(y, &factor.solve_vec(y));
        OneTask { size: y.len(), form: Form::Interpolating { quadratic } }
    }

    /// From K itself, at any β.
    ///
    /// # Errors
    /// Those of the factorization.
    pub fn new(kernel: MatRef<'_, f64>, y: &[f64], ridge: f64, name: &str) -> Result<Self> {
        if ridge == 0.0 {
            return Ok(Self::interpolating(&Cholesky::factor(kernel, name)?, y));
        }
        let eigen = SymmetricEigen::factor(kernel, name)?;
        let rotated = matmul(eigen.vectors.transpose(), column(y));
        let labels = (0..y.len()).map(|i| rotated[(i, 0)] * rotated[(i, 0)]).collect();
        Ok(Self::thermal(eigen.values.iter().map(|v| v.max(0.0)).collect(), labels, ridge))
    }

    /// From the eigenvalues of K and squared labels in its eigenbasis, at finite β.
    pub fn thermal(values: Vec<f64>, labels: Vec<f64>, ridge: f64) -> Self {
        OneTask { size: labels.len(), form: Form::Thermal { values, labels, ridge } }
    }

    /// The renormalization factor u = u1(1,1) at width N.
    ///
    /// # Errors
    /// [`Error::NotConverged`] where no stationary point is found.
    pub fn factor(&self, width: f64, readout: ReadoutPrior) -> Result<FirstFactor> {
        let free = match &self.form {
            Form::Interpolating { quadratic } => {
                quadratic_root(self.size as f64 / width, quadratic / width, readout.sigma2)
            }
            Form::Thermal { values, labels, ridge } => thermal_root(values, labels, *ridge, width, readout.sigma2)?,
        };
        // u grows with σ_a from 0, so that some smaller σ_a has the bound as its root.
        Ok(if free.u > readout.bound { FirstFactor { u: readout.bound, residual: 0.0 } } else { free })
    }
}

/// The positive root of `σ^{-2}u² − (1−α)u − c = 0`, by the form without cancellation.
pub(super) fn quadratic_root(alpha: f64, c: f64, sigma2: f64) -> FirstFactor {
    let b = 1.0 - alpha;
    let root = (b * b + 4.0 * c / sigma2).sqrt();
    let u = if b > 0.0 { 0.5 * sigma2 * (b + root) } else { 2.0 * c / (root - b) };
    let terms = [u * u / sigma2, -b * u, -c];
    let size: f64 = terms.iter().map(|t| t.abs()).sum();
    FirstFactor { u, residual: terms.iter().sum::<f64>().abs() / size }
}

/// `u dH_1/du` and `H_1` up to a constant; the size of the former's terms.
fn thermal_equation(values: &[f64], labels: &[f64], ridge: f64, width: f64, sigma2: f64, u: f64) -> (f64, f64, f64) {
    let (mut slope, mut energy, mut size) = (u / sigma2 - 1.0, u / sigma2 - u.ln(), u / sigma2 + 1.0);
    for (value, label) in values.iter().zip(labels) {
        let (signal, total) = (u * value, u * value + ridge);
        let (trace, fit) = (signal / total / width, signal * label / (total * total) / width);
        slope += trace - fit;
        size += trace + fit;
        energy += (total.ln() + label / total) / width;
    }
    (slope, energy, size)
}

/// The lowest minimum of `H_1` on a grid of ln u, refined by bisection.
fn thermal_root(values: &[f64], labels: &[f64], ridge: f64, width: f64, sigma2: f64) -> Result<FirstFactor> {
    let at = |x: f64| thermal_equation(values, labels, ridge, width, sigma2, x.exp());
    // Twelve decades either side of σ², ten points per unit of ln u: minima are sign changes from − to +.
    let grid: Vec<f64> = (-280..=280).map(|i| sigma2.ln() + 0.1 * f64::from(i)).collect();
    let slopes: Vec<f64> = grid.iter().map(|&x| at(x).0).collect();
    let mut best: Option<(f64, FirstFactor)> = None;
    for i in 1..grid.len() {
        if !(slopes[i - 1] < 0.0 && slopes[i] >= 0.0) {
            continue;
        }
        let x = bisect(grid[i - 1], grid[i], |x| at(x).0 < 0.0);
        let (slope, energy, size) = at(x);
        if best.as_ref().is_none_or(|(lowest, _)| energy < *lowest) {
            best = Some((energy, FirstFactor { u: x.exp(), residual: slope.abs() / size }));
        }
    }
    match best {
        Some((_, first)) if first.residual < TOLERANCE => Ok(first),
        _ => Err(Error::NotConverged {
            what: "the renormalization factor of a task learned alone".into(),
            residual: best.map_or(f64::INFINITY, |b| b.1.residual),
            steps: grid.len(),
            trace: slopes.iter().zip(&grid).map(|(s, x)| format!("ln u = {x:.1}: slope {s:.3e}")).collect(),
            advice: "check the scale of the labels and beta".into(),
        }),
    }
}

/// What a network that learned one task alone does on held-out inputs: `Σ(mean − y)²`, `Σ variance/u` at β = ∞.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AloneLoss {
    pub squared_error: f64,
    pub unit_variance: f64,
    pub norm2: f64,
}

impl AloneLoss {
    /// From `K = L Lᵀ` and the kernel `k` between held-out and training inputs, with its own diagonal.
    pub fn new(factor: &Cholesky, y: &[f64], k: MatRef<'_, f64>, diagonal: &[f64], target: &[f64]) -> Self {
        let mean = matmul(k, column(&factor.solve_vec(y)));
        let half: Mat<f64> = factor.half_solve(k.transpose());
        let mut loss = AloneLoss { squared_error: 0.0, unit_variance: 0.0, norm2: dot(target, target) };
        for i in 0..target.len() {
            let explained: f64 = (0..half.nrows()).map(|j| half[(j, i)] * half[(j, i)]).sum();
            loss.squared_error += (mean[(i, 0)] - target[i]).powi(2);
            loss.unit_variance += diagonal[i] - explained;
        }
        loss
    }

    /// `G⁰ = (Σ(mean − y)² + u Σ(k − kᵀK^{-1}k)) / |Y|²`.
    pub fn at(&self, u: f64) -> f64 {
        (self.squared_error + u * self.unit_variance) / self.norm2
    }
}

/// `YᵀK_GP^{-1}Y/P` of every task.
///
/// # Errors
/// Those of the tasks' checks and of the factorization.
pub(in crate::theory) fn label_scales(tasks: &[Task], settings: &MultiHeadSettings) -> Result<Vec<f64>> {
    check_tasks(tasks)?;
    let kernel = Kernel::new(KernelKind::Nngp, settings.architecture()?, settings.prior()?, 1, 1)?;
    (0..tasks.len())
        .map(|i| {
            let name = format!("kernel of {}", task_name(tasks, i));
            let factor = Cholesky::factor(kernel.gram_symmetric(tasks[i].x.as_ref())?.as_ref(), &name)?;
            let y = labels(&tasks[i]);
            Ok(dot(&y, &factor.solve_vec(&y)) / y.len() as f64)
        })
        .collect()
}
