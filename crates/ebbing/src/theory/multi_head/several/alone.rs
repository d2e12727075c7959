//! One task with several outputs learned alone at β = ∞, on inputs with targets, at any width.
//!
//! The mean `k K^{-1}Y` knows no width, and the covariance is `U (k(x,x) − k K^{-1}kᵀ)`.

use super::maps::check_head;
use super::one_task::Products;
use super::pair::TwoTaskOutputs;
use super::span::Span;
use crate::error::Result;
use crate::kernels::{Kernel, KernelKind};
use crate::linalg::{Cholesky, MatRef, matmul};
use crate::theory::multi_head::settings::{ReadoutPrior, task_name};

/// A network that learned one of two tasks alone, on inputs with targets.
#[derive(Debug, Clone)]
pub struct AloneOutputs {
    squared_error: f64,
    /// `Σ_x (k(x,x) − k K^{-1}kᵀ)`.
    unexplained: f64,
    norm: f64,
    products: Products,
    readout: ReadoutPrior,
}

impl AloneOutputs {
    /// `Σ(|<f> − y|² + Tr Cov f)/|y|²` at width N.
    ///
    /// # Errors
    /// [`crate::Error::NotConverged`] where no prior gives a bounded norm.
    pub fn loss(&self, width: f64) -> Result<f64> {
        let first = self.products.factor(width, self.readout)?;
        let trace: f64 = (0..first.u.nrows()).map(|a| first.u[(a, a)]).sum();
        let all = trace + self.products.silent as f64 * first.silent;
        Ok((self.squared_error + all * self.unexplained) / self.norm)
    }
}

impl TwoTaskOutputs {
    /// Prepares a network that learned task `head` (1 or 2) alone on inputs `x` with targets, one column per output.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for another head; those of the kernel's factorization.
    pub fn alone_map(&self, head: usize, x: MatRef<'_, f64>, target: MatRef<'_, f64>) -> Result<AloneOutputs> {
        check_head(head)?;
        let (task, span) = (&self.tasks[head - 1], Span::of(&self.tasks[head - 1].y)?);
        let kernel = Kernel::new(KernelKind::K1, self.pair.architecture, self.pair.prior, 1, 1)?;
        let name = format!("kernel of {} alone", task_name(&self.tasks, head - 1));
        let factor = Cholesky::factor(kernel.gram_symmetric(task.x.as_ref())?.as_ref(), &name)?;
        let half_labels = factor.half_solve(span.reduced(task.y.as_ref()).as_ref());
        let half = factor.half_solve(kernel.gram(x, task.x.as_ref())?.transpose());
        let mean = matmul(matmul(half.transpose(), half_labels.as_ref()).as_ref(), span.used.transpose());
        Ok(AloneOutputs {
            squared_error: (&mean - target).squared_norm_l2(),
            unexplained: kernel.diagonal(x)?.iter().sum::<f64>() - half.squared_norm_l2(),
            norm: target.squared_norm_l2(),
            products: Products {
                matrix: super::frame::symmetric(matmul(half_labels.transpose(), half_labels.as_ref()).as_ref()),
                size: task.y.nrows(),
                silent: span.silent.ncols(),
            },
            readout: self.readout,
        })
    }
}
