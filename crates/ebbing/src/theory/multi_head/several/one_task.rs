//! One task with several outputs learned alone: the stationary point of `H_1`, and its predictions.
//!
//! At β = ∞, `σ^{-2}U² − (1−α)U − YᵀK^{-1}Y/N = 0`: U has the eigenvectors of `YᵀK^{-1}Y`, and each eigenvalue solves the quadratic
//! of a single output. At finite β it is a minimum of
//!
//! ```math
//! \mathcal H_1 = \sigma^{-2}\operatorname{Tr}U - \ln\det U
//!   + \tfrac1N\sum_i\{\ln\det(\kappa_iU+\beta^{-1}) + y_i^\top(\kappa_iU+\beta^{-1})^{-1}y_i\}
//! ```
//!
//! in the eigenbasis of K, found by Newton's method on `U^{1/2} e^X U^{1/2}` from the lowest minima of single outputs.

use super::frame::{coordinates, from_coordinates, packed, symmetric};
use super::prediction::OutputPrediction;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Mat, MatRef, SymmetricEigen, matmul};
use crate::stats::try_bisect;
use crate::theory::multi_head::one_task::{OneTask, quadratic_root};
use crate::theory::multi_head::saddle::TOLERANCE;
use crate::theory::multi_head::settings::ReadoutPrior;
use crate::theory::multi_head::small::solve_small;
use crate::theory::multi_head::solve::digits;

/// One task, ready for any width.
#[derive(Debug, Clone)]
pub(super) struct OneTaskOutputs {
    form: Form,
    outputs: usize,
}

#[derive(Debug, Clone)]
enum Form {
    /// `K = L Lᵀ`, `K^{-1}Y` and what U depends on.
    Interpolating { factor: Cholesky, solved: Mat<f64>, products: Products },
    /// Eigenvalues and vectors of K, labels in its eigenbasis, and `β^{-1}`.
    Thermal { values: Vec<f64>, vectors: Mat<f64>, labels: Mat<f64>, ridge: f64 },
}

/// What `U1(1,1)` depends on at β = ∞.
#[derive(Debug, Clone)]
pub(super) struct Products {
    /// `YᵀK^{-1}Y`.
    pub matrix: Mat<f64>,
    /// The number P of examples.
    pub size: usize,
    /// Directions of the head without labels, which it was reduced by.
    pub silent: usize,
}

/// `U1(1,1)` and the largest scaled residual of its equation.
#[derive(Debug, Clone)]
pub(super) struct FirstFactors {
    pub u: Mat<f64>,
    pub residual: f64,
    /// `U1` in directions without labels.
    pub silent: f64,
}

/// `U1` in a direction without labels at β = ∞: `σ²(1−α)`, and 0 where data leave the readout no freedom.
pub(super) fn without_labels(sigma2: f64, alpha: f64) -> f64 {
    sigma2 * (1.0 - alpha).max(0.0)
}

impl Products {
    /// `U1(1,1)` at width N. A bound holds for `Tr U/m`, the mean of the squared norms of the head's readouts.
    ///
    /// # Errors
    /// [`Error::NotConverged`] where no prior gives a bounded norm.
    pub fn factor(&self, width: f64, readout: ReadoutPrior) -> Result<FirstFactors> {
        let outputs = self.matrix.nrows();
        let norm = |first: &FirstFactors| {
            let (sum, silent) = ((0..outputs).map(|a| first.u[(a, a)]).sum::<f64>(), self.silent as f64);
            (sum + silent * first.silent) / (outputs as f64 + silent)
        };
        let free = self.free(width, readout.sigma2)?;
        if norm(&free) <= readout.bound {
            return Ok(free);
        }
        let (mut low, high) = (readout.sigma2.ln() - 2.0, readout.sigma2.ln());
        while norm(&self.free(width, low.exp())?) > readout.bound {
            low -= 2.0;
            if low < -700.0 {
                return Err(unsolved(f64::INFINITY, 0));
            }
        }
        let ln = try_bisect(low, high, |ln| Ok::<_, Error>(norm(&self.free(width, ln.exp())?) <= readout.bound))?;
        self.free(width, ln.exp())
    }

    /// The same without a bound.
    fn free(&self, width: f64, sigma2: f64) -> Result<FirstFactors> {
        let eigen = SymmetricEigen::factor(self.matrix.as_ref(), "products of labels")?;
        let (m, alpha) = (self.matrix.nrows(), self.size as f64 / width);
        let roots: Vec<_> = eigen.values.iter().map(|v| quadratic_root(alpha, v.max(0.0) / width, sigma2)).collect();
        let scaled = Mat::from_fn(m, m, |i, a| eigen.vectors[(i, a)] * roots[a].u);
        let u = symmetric(matmul(scaled.as_ref(), eigen.vectors.transpose()).as_ref());
        let residual = roots.iter().fold(0.0, |m: f64, r| m.max(r.residual));
        Ok(FirstFactors { u, residual, silent: without_labels(sigma2, alpha) })
    }
}

fn unsolved(residual: f64, steps: usize) -> Error {
    Error::NotConverged {
        what: "the renormalization factors of a task learned alone".into(),
        residual,
        steps,
        trace: vec![],
        advice: "check the scale of the labels and beta".into(),
    }
}

impl OneTaskOutputs {
    /// From the kernel and the labels; `silent` directions of the head have none and were left out (β = ∞).
    ///
    /// # Errors
    /// Those of the factorization, and [`Error::LostAccuracy`] for an ill-conditioned kernel at β = ∞.
    pub fn new(kernel: MatRef<'_, f64>, y: &Mat<f64>, ridge: f64, silent: usize, name: &str) -> Result<Self> {
        let outputs = y.ncols();
        if ridge == 0.0 {
            let factor = Cholesky::factor(kernel, name)?;
            factor.require_digits(&format!("the multi-head theory with the {name}"))?;
            let solved = factor.solve(y.as_ref());
            let matrix = symmetric(matmul(y.transpose(), solved.as_ref()).as_ref());
            let products = Products { matrix, size: y.nrows(), silent };
            return Ok(OneTaskOutputs { form: Form::Interpolating { factor, solved, products }, outputs });
        }
        let eigen = SymmetricEigen::factor(kernel, name)?;
        let labels = matmul(eigen.vectors.transpose(), y.as_ref());
        let values = eigen.values.iter().map(|v| v.max(0.0)).collect();
        Ok(OneTaskOutputs { form: Form::Thermal { values, vectors: eigen.vectors, labels, ridge }, outputs })
    }

    /// `U1(1,1)` at width N.
    ///
    /// # Errors
    /// [`Error::NotConverged`] where no stationary point is found.
    pub fn factor(&self, width: f64, readout: ReadoutPrior) -> Result<FirstFactors> {
        match &self.form {
            Form::Interpolating { products, .. } => products.factor(width, readout),
            Form::Thermal { values, labels, ridge, .. } => {
                let energy = Thermal { values, labels, ridge: *ridge, width, sigma2: readout.sigma2 };
                energy.minimum().map_err(|(residual, steps)| unsolved(residual, steps))?
            }
        }
    }

    /// The decimal digits that the condition of the renormalized kernel leaves.
    ///
    /// # Errors
    /// Those of an eigendecomposition of U.
    pub fn digits(&self, u: &Mat<f64>) -> Result<f64> {
        match &self.form {
            Form::Interpolating { factor, .. } => Ok(factor.digits()),
            Form::Thermal { values, ridge, .. } => {
                let eigen = SymmetricEigen::factor(u.as_ref(), "U1 of a task learned alone")?;
                let ends = |v: &[f64]| (v.first().copied().unwrap_or(0.0), v.last().copied().unwrap_or(0.0));
                let ((low, high), (least, most)) = (ends(values), ends(&eigen.values));
                Ok(digits((high * most + ridge) / (low * least + ridge)))
            }
        }
    }

    /// Mean and covariance on inputs, from the kernel `k` between them and the training inputs and its own diagonal.
    ///
    /// # Errors
    /// Those of an eigendecomposition of U.
    pub fn predict(&self, u: &Mat<f64>, k: MatRef<'_, f64>, diagonal: &[f64]) -> Result<OutputPrediction> {
        let (n, m) = (k.nrows(), self.outputs);
        match &self.form {
            Form::Interpolating { factor, solved, .. } => {
                let half = factor.half_solve(k.transpose());
                let free = |i: usize| diagonal[i] - half.col_as_slice(i).iter().map(|h| h * h).sum::<f64>();
                let covariance = (0..n).map(|i| Mat::from_fn(m, m, |a, b| u[(a, b)] * free(i))).collect();
                Ok(OutputPrediction { mean: matmul(k, solved.as_ref()), covariance, exponent: 0.0 })
            }
            Form::Thermal { values, vectors, labels, ridge } => {
                let eigen = SymmetricEigen::factor(u.as_ref(), "U1 of a task learned alone")?;
                let (rows, rotated) = (matmul(k, vectors.as_ref()), matmul(labels.as_ref(), eigen.vectors.as_ref()));
                let p = values.len();
                let gain = Mat::from_fn(p, m, |i, a| eigen.values[a] / (values[i] * eigen.values[a] + ridge));
                let weighted = Mat::from_fn(p, m, |i, a| gain[(i, a)] * rotated[(i, a)]);
                let mean = matmul(matmul(rows.as_ref(), weighted.as_ref()).as_ref(), eigen.vectors.transpose());
                let covariance = (0..n)
                    .map(|i| {
                        let free: Vec<f64> = (0..m)
                            .map(|a| {
                                let explained: f64 = (0..p).map(|j| gain[(j, a)] * rows[(i, j)].powi(2)).sum();
                                eigen.values[a] * (diagonal[i] - explained)
                            })
                            .collect();
                        let scaled = Mat::from_fn(m, m, |c, a| eigen.vectors[(c, a)] * free[a]);
                        symmetric(matmul(scaled.as_ref(), eigen.vectors.transpose()).as_ref())
                    })
                    .collect();
                Ok(OutputPrediction { mean, covariance, exponent: 0.0 })
            }
        }
    }
}

/// `H_1` at finite β and one width.
struct Thermal<'a> {
    values: &'a [f64],
    labels: &'a Mat<f64>,
    ridge: f64,
    width: f64,
    sigma2: f64,
}

/// `H_1` at one U, given by its eigenvalues and labels in its eigenbasis.
struct ThermalPoint {
    value: f64,
    gradient: Mat<f64>,
    scale: Vec<f64>,
    hessian: Mat<f64>,
}

impl Thermal<'_> {
    fn point(&self, u: &[f64], y: &Mat<f64>) -> ThermalPoint {
        let (m, n) = (u.len(), self.width);
        let mut gradient = Mat::zeros(m, m);
        let mut scale = vec![0.0; m];
        let mut value = 0.0;
        for a in 0..m {
            value += u[a] / self.sigma2 - u[a].ln();
            gradient[(a, a)] = u[a] / self.sigma2 - 1.0;
            scale[a] = u[a] / self.sigma2 + 1.0;
        }
        // J_b[a, c] of Σ_b Σ_ac X_ab X_cb J_b[a, c], and the weights of X_ab².
        let mut shared = vec![Mat::<f64>::zeros(m, m); m];
        let mut own = Mat::from_fn(m, m, |_, _| 0.5);
        for (i, kappa) in self.values.iter().enumerate() {
            let weight: Vec<f64> = u.iter().map(|u| 1.0 / (kappa * u + self.ridge)).collect();
            let z: Vec<f64> = (0..m).map(|a| y[(i, a)] * weight[a] * u[a].sqrt()).collect();
            for a in 0..m {
                value += (y[(i, a)].powi(2) * weight[a] - weight[a].ln()) / n;
                let trace = kappa * u[a] * weight[a] / n;
                gradient[(a, a)] += trace;
                scale[a] += trace + kappa * z[a] * z[a] / n;
                for c in 0..m {
                    gradient[(a, c)] -= kappa * z[a] * z[c] / n;
                    own[(a, c)] -= 0.5 * kappa * kappa * weight[a] * weight[c] * u[a] * u[c] / n;
                    for (b, shared) in shared.iter_mut().enumerate() {
                        shared[(a, c)] += kappa * kappa * u[b] * weight[b] * z[a] * z[c] / n;
                    }
                }
            }
        }
        let half = m * (m + 1) / 2;
        let factor = |i: usize, j: usize| if i == j { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
        let mut hessian = Mat::zeros(half, half);
        for b in 0..m {
            for a in 0..m {
                for c in 0..m {
                    let entry = 0.5 * gradient[(a, c)] + shared[b][(a, c)];
                    hessian[(packed(a, b), packed(c, b))] += 2.0 * factor(a, b) * factor(c, b) * entry;
                }
            }
            for c in 0..=b {
                hessian[(packed(b, c), packed(b, c))] += 2.0 * own[(b, c)];
            }
        }
        ThermalPoint { value, gradient, scale, hessian }
    }

    /// The lowest of the minima that two starts lead to.
    #[allow(clippy::type_complexity)]
    fn minimum(&self) -> std::result::Result<Result<FirstFactors>, (f64, usize)> {
        let m = self.labels.ncols();
        let weighted = Mat::from_fn(self.labels.nrows(), m, |i, a| {
            self.labels[(i, a)] * self.values[i] / (self.values[i] * self.sigma2 + self.ridge).powi(2)
        });
        let products = symmetric(matmul(self.labels.transpose(), weighted.as_ref()).as_ref());
        let eigen = match SymmetricEigen::factor(products.as_ref(), "products of labels") {
            Ok(eigen) => eigen,
            Err(e) => return Ok(Err(e)),
        };
        let rotated = matmul(self.labels.as_ref(), eigen.vectors.as_ref());
        let readout = ReadoutPrior { sigma2: self.sigma2, bound: f64::INFINITY };
        let single = |a: usize| {
            let squares = (0..rotated.nrows()).map(|i| rotated[(i, a)].powi(2)).collect();
            OneTask::thermal(self.values.to_vec(), squares, self.ridge).factor(self.width, readout)
        };
        let singles: Vec<f64> = match (0..m).map(|a| Ok(single(a)?.u)).collect::<Result<_>>() {
            Ok(singles) => singles,
            Err(e) => return Ok(Err(e)),
        };
        let mut best: Option<(f64, FirstFactors)> = None;
        let mut worst = (f64::INFINITY, 0);
        for start in [singles, vec![self.sigma2; m]] {
            match self.descend(start, eigen.vectors.clone()) {
                Err(e) => return Ok(Err(e)),
                Ok((value, first, steps)) => {
                    worst = (worst.0.min(first.residual), steps);
                    if first.residual < TOLERANCE && best.as_ref().is_none_or(|(lowest, _)| value < *lowest) {
                        best = Some((value, first));
                    }
                }
            }
        }
        best.map(|(_, first)| Ok(first)).ok_or(worst)
    }

    /// Newton's method downhill, from eigenvalues u in the basis `axes`.
    fn descend(&self, mut u: Vec<f64>, mut axes: Mat<f64>) -> Result<(f64, FirstFactors, usize)> {
        let m = u.len();
        let mut y = matmul(self.labels.as_ref(), axes.as_ref());
        let mut at = self.point(&u, &y);
        let mut steps = 0;
        'steps: while steps < 100 {
            steps += 1;
            crate::stop::check()?;
            let half = m * (m + 1) / 2;
            let g = coordinates(at.gradient.as_ref());
            let rows: Vec<Vec<f64>> = (0..half).map(|i| (0..half).map(|j| at.hessian[(i, j)]).collect()).collect();
            let mut step: Vec<f64> = solve_small(&rows, &g).iter().map(|s| -s).collect();
            let along: f64 = step.iter().zip(&g).map(|(s, g)| s * g).sum();
            // Where the second derivatives are not positive: downhill.
            let downhill = along < 0.0;
            if !downhill {
                step = g.iter().map(|g| -g).collect();
            }
            let norm = step.iter().map(|s| s * s).sum::<f64>().sqrt();
            let long = (norm / 2.0).max(1.0);
            let mut part = 1.0;
            for _ in 0..40 {
                let x: Vec<f64> = step.iter().map(|s| s * part / long).collect();
                let (next, turn) = exponential(&u, from_coordinates(&x, m).as_ref())?;
                let (moved_axes, moved) = (matmul(axes.as_ref(), turn.as_ref()), matmul(y.as_ref(), turn.as_ref()));
                let point = self.point(&next, &moved);
                if point.value < at.value || (norm < 1e-6 && scaled(&point) < scaled(&at)) {
                    (u, axes, y, at) = (next, moved_axes, moved, point);
                    if norm < 1e-14 {
                        break 'steps;
                    }
                    continue 'steps;
                }
                part *= 0.5;
            }
            break;
        }
        let spread = Mat::from_fn(m, m, |i, a| axes[(i, a)] * u[a]);
        let full = symmetric(matmul(spread.as_ref(), axes.transpose()).as_ref());
        Ok((at.value, FirstFactors { u: full, residual: scaled(&at), silent: 0.0 }, steps))
    }
}

/// The largest entry of the gradient over the sizes of its terms.
fn scaled(point: &ThermalPoint) -> f64 {
    let m = point.scale.len();
    let entry = |a: usize, c: usize| point.gradient[(a, c)].abs() / (point.scale[a] * point.scale[c]).sqrt();
    (0..m).flat_map(|a| (0..m).map(move |c| (a, c))).fold(0.0, |most: f64, (a, c)| {
        let entry = entry(a, c);
        if entry > most || entry.is_nan() { entry } else { most }
    })
}

/// Eigenvalues and vectors of `u^{1/2} e^X u^{1/2}` for a diagonal u.
fn exponential(u: &[f64], x: MatRef<'_, f64>) -> Result<(Vec<f64>, Mat<f64>)> {
    let m = u.len();
    let step = SymmetricEigen::factor(x, "a step of U1")?;
    let root = Mat::from_fn(m, m, |i, j| u[i].sqrt() * step.vectors[(i, j)] * (0.5 * step.values[j]).exp());
    let inner = symmetric(matmul(root.as_ref(), root.transpose()).as_ref());
    let eigen = SymmetricEigen::factor(inner.as_ref(), "U1 after a step")?;
    Ok((eigen.values, eigen.vectors))
}
