//! A prepared kernel: kind, architecture, prior and times, ready to be evaluated on inputs.

use super::layers::{Angle, Layers, Values};
use super::{Architecture, KernelKind, WeightPrior};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};

/// `k_ts(x,x')` of one [`KernelKind`]: x belongs to time t, x' to time s.
#[derive(Debug, Clone)]
pub struct Kernel {
    kind: KernelKind,
    layers: Layers,
}

impl Kernel {
    /// Prepares a kernel; times count from 1.
    ///
    /// # Errors
    /// [`Error::Setting`] for a depth or a time of 0; [`Error::OutsideTheory`] for `DeltaK` at λ = ∞ with t or s = 1,
    /// where λΔK has no limit.
    pub fn new(kind: KernelKind, arch: Architecture, prior: WeightPrior, t: usize, s: usize) -> Result<Kernel> {
        if arch.depth == 0 {
            return Err(Error::setting("depth", 0, "must be at least 1 hidden layer"));
        }
        for (name, time) in [("time t", t), ("time s", s)] {
            if time == 0 {
                return Err(Error::setting(name, time, "times count from 1"));
            }
        }
        if kind == KernelKind::DeltaK && prior.lambda().is_infinite() && t.min(s) == 1 {
            return Err(Error::OutsideTheory {
                what: format!("lambda·DeltaK at lambda = inf and times ({t}, {s})"),
                reason:
                    "K1 and K0 differ at finite size when one of the times is 1, so that lambda·DeltaK has no limit"
                        .into(),
            });
        }
        let layers = match kind {
            KernelKind::Nngp | KernelKind::Ntk => {
                Layers::new(arch, &WeightPrior::new(f64::INFINITY, prior.sigma2())?, 2, 2)
            }
            _ => Layers::new(arch, &prior, t, s),
        };
        Ok(Kernel { kind, layers })
    }

    /// `k(x,x')` of a single pair, without cancellation: relative accuracy near 1e-14 also for equal, nearly equal and
    /// opposite inputs.
    ///
    /// # Errors
    /// [`Error::Data`] where the lengths differ or an input has no usable norm.
    pub fn pair(&self, x: &[f64], x2: &[f64]) -> Result<f64> {
        if x.len() != x2.len() {
            return Err(Error::data(
                "inputs of a kernel",
                format!("{} and {} features; both must have the same number", x.len(), x2.len()),
            ));
        }
        let (n, n2) = (norm(x, "first input")?, norm(x2, "second input")?);
        let (mut minus, mut plus) = (0.0, 0.0);
        for (a, b) in x.iter().zip(x2) {
            let (a, b) = (a / n, b / n2);
            minus += (a - b) * (a - b);
            plus += (a + b) * (a + b);
        }
        let size = x.len() as f64;
        let angle = Angle { minus: 0.5 * minus, plus: 0.5 * plus };
        Ok(self.pick(self.layers.evaluate(angle, n * n / size, n2 * n2 / size)))
    }

    /// `k(x_i,x_i)` for every row.
    ///
    /// # Errors
    /// [`Error::Data`] that names a row without a usable norm.
    pub fn diagonal(&self, x: MatRef<'_, f64>) -> Result<Vec<f64>> {
        (0..x.nrows())
            .map(|i| {
                let n = norm(&row(x, i), &format!("row {i}"))?;
                let v = n * n / x.ncols() as f64;
                Ok(self.pick(self.layers.evaluate(Angle::ZERO, v, v)))
            })
            .collect()
    }

    /// `K_ij = k(x_i, x'_j)`: rows of `x` at time t, rows of `x2` at time s.
    ///
    /// # Errors
    /// [`Error::Data`] where the numbers of columns differ or a row has no usable norm.
    pub fn gram(&self, x: MatRef<'_, f64>, x2: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let mut k = Mat::zeros(x.nrows(), x2.nrows());
        for j in 0..x2.nrows() {
            let b = row(x2, j);
            for i in 0..x.nrows() {
                k[(i, j)] = self.pair(&row(x, i), &b)?;
            }
        }
        Ok(k)
    }

    /// `K_ij = k(x_i, x_j)` of one set with itself.
    ///
    /// # Errors
    /// [`Error::Data`] that names a row without a usable norm.
    pub fn gram_symmetric(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        self.gram(x, x)
    }

    /// [`Kernel::gram`] of several kernels from one matrix product.
    ///
    /// # Errors
    /// As [`Kernel::gram`].
    pub fn gram_many(kernels: &[&Kernel], x: MatRef<'_, f64>, x2: MatRef<'_, f64>) -> Result<Vec<Mat<f64>>> {
        kernels.iter().map(|k| k.gram(x, x2)).collect()
    }

    /// [`Kernel::gram_symmetric`] of several kernels from one matrix product.
    ///
    /// # Errors
    /// As [`Kernel::gram_symmetric`].
    pub fn gram_many_symmetric(kernels: &[&Kernel], x: MatRef<'_, f64>) -> Result<Vec<Mat<f64>>> {
        kernels.iter().map(|k| k.gram_symmetric(x)).collect()
    }

    /// The value this kernel stands for.
    fn pick(&self, v: Values) -> f64 {
        match self.kind {
            KernelKind::Nngp | KernelKind::K1 => v.k1,
            KernelKind::K0 => v.k0,
            KernelKind::Ntk | KernelKind::KTilde => v.tilde,
            KernelKind::DeltaK => v.delta,
            KernelKind::Derivative => v.derivative,
        }
    }
}

/// The Euclidean norm, or why there is none.
fn norm(x: &[f64], what: &str) -> Result<f64> {
    let n = x.iter().map(|a| a * a).sum::<f64>().sqrt();
    if n > 1e-140 && n < 1e140 {
        return Ok(n);
    }
    Err(Error::data(what, format!("its norm is {n}; kernels need a norm that is neither 0 nor NaN nor beyond 1e±140")))
}

/// A row as a vector.
fn row(x: MatRef<'_, f64>, i: usize) -> Vec<f64> {
    (0..x.ncols()).map(|k| x[(i, k)]).collect()
}
