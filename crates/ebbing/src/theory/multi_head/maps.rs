//! Mean and variance of every head at every time (paper, Eqs. 133, 134), and the losses F and G (Eq. 3).

use super::one_task::OneTask;
use super::settings::{held_out, labels, task_name};
use super::solve::Finite;
use super::two_tasks::Power;
use crate::error::{Result, refuse};
use crate::kernels::{Kernel, KernelKind};
use crate::linalg::{Cholesky, Mat, MatRef, column, matmul};

/// What a head says about some inputs: the average over the posterior and its variance, one number per input.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// `<f(x)>`.
    pub mean: Vec<f64>,
    /// `<δf(x)²>`, in units of `λ^variance_exponent`.
    pub variance: Vec<f64>,
    /// The power of λ in front of the variance: 0, or ½ for the second head in the overfitting regime at λ = ∞.
    pub variance_exponent: f64,
}

impl Prediction {
    /// `Σ((<f> − y)² + <δf²>) / |y|²`, or its leading power of λ.
    pub fn loss(&self, y: MatRef<'_, f64>) -> Power {
        let (mut error, mut variance, mut norm) = (0.0, 0.0, 0.0);
        for i in 0..self.mean.len() {
            error += (self.mean[i] - y[(i, 0)]).powi(2);
            variance += self.variance[i];
            norm += y[(i, 0)].powi(2);
        }
        if self.variance_exponent > 0.0 {
            return Power { coefficient: variance / norm, exponent: self.variance_exponent };
        }
        Power::finite((error + variance) / norm)
    }
}

impl Finite {
    /// Head `head` after `time` tasks (`head ≤ time ≤ T`, counted from 1) on any inputs:
    /// `f(x) = f⁰(x) + Σ_t κ_t(x) u_t` (paper, Eq. 133) with `κ_t = u1(h,t)k¹ − u0(h,t)k⁰` for t ≤ h and `u1(h,t)Δk`
    /// for t > h.
    ///
    /// # Errors
    /// Those of [`super::MultiHead::predict`].
    pub fn predict(&self, head: usize, time: usize, x: MatRef<'_, f64>) -> Result<Prediction> {
        self.check(head, time)?;
        let (k1, delta) = self.kernels_at(time, x)?;
        let (mut kappa, mut c) = (Vec::new(), Vec::new());
        for t in 1..=time {
            let (k1, delta) = (&k1[t - 1], &delta[t - 1]);
            let (n, p) = (k1.nrows(), k1.ncols());
            let (d, u0, u1) = (self.d(head, t), self.u0(head, t), self.u1(head, t));
            c.push(Mat::from_fn(n, p, |i, j| u1 * k1[(i, j)]));
            kappa.push(match (t, t <= head) {
                (1, _) => c[0].clone(),
                (_, true) => Mat::from_fn(n, p, |i, j| d * k1[(i, j)] + u0 * delta[(i, j)]),
                (_, false) => Mat::from_fn(n, p, |i, j| u1 * delta[(i, j)]),
            });
        }
        let own = Kernel::new(KernelKind::K1, self.architecture, self.prior, time, time)?;
        let scale = self.u1(head, head);
        let prior: Vec<f64> = own.diagonal(x)?.iter().map(|k| scale * k).collect();
        let (mean, variance) = self.chain.predict(&kappa, &c, &prior);
        Ok(Prediction { mean, variance, variance_exponent: 0.0 })
    }

    /// `F_{time,head}`: the loss of a head on its own training data, variance included.
    ///
    /// # Errors
    /// Those of [`super::MultiHead::forgetting`].
    pub fn forgetting(&self, time: usize, head: usize) -> Result<f64> {
        let task = self.task(head)?;
        Ok(self.predict(head, time, task.x.as_ref())?.loss(task.y.as_ref()).coefficient)
    }

    /// `G_{time,head}`: the loss of a head on its task's held-out data, variance included, over that of a network of the
    /// same width and σ that learned this task alone.
    ///
    /// # Errors
    /// Those of [`super::MultiHead::generalization`].
    pub fn generalization(&self, time: usize, head: usize) -> Result<f64> {
        self.task(head)?;
        let test = held_out(&self.tasks, head)?;
        let loss = self.predict(head, time, test.x.as_ref())?.loss(test.y.as_ref());
        let alone = self.alone(head, test.x.as_ref())?.loss(test.y.as_ref());
        Ok(loss.coefficient / alone.coefficient)
    }

    /// A network of the same width and σ that learned task `head` alone, on any inputs.
    ///
    /// # Errors
    /// Those of [`super::MultiHead::alone`].
    pub fn alone(&self, head: usize, x: MatRef<'_, f64>) -> Result<Prediction> {
        let task = self.task(head)?;
        let name = format!("kernel of {}", task_name(&self.tasks, head - 1));
        let kernel = Kernel::new(KernelKind::K1, self.architecture, self.prior, 1, 1)?;
        let gram = kernel.gram_symmetric(task.x.as_ref())?;
        let y = labels(task);
        let u = OneTask::new(gram.as_ref(), &y, self.ridge, &name)?.factor(self.width, self.readout)?.u;
        let p = y.len();
        let full = Mat::from_fn(p, p, |i, j| u * gram[(i, j)] + if i == j { self.ridge } else { 0.0 });
        let factor = Cholesky::factor(full.as_ref(), &name)?;
        let k = kernel.gram(x, task.x.as_ref())?;
        let k = Mat::from_fn(k.nrows(), p, |i, j| u * k[(i, j)]);
        let mean = matmul(k.as_ref(), column(&factor.solve_vec(&y)));
        let half = factor.half_solve(k.transpose());
        let diagonal = kernel.diagonal(x)?;
        let variance = (0..x.nrows())
            .map(|i| u * diagonal[i] - (0..p).map(|j| half[(j, i)] * half[(j, i)]).sum::<f64>())
            .collect();
        Ok(Prediction { mean: (0..x.nrows()).map(|i| mean[(i, 0)]).collect(), variance, variance_exponent: 0.0 })
    }

    /// Refuses a time that is not in 1 … T, and a head that does not exist then.
    pub fn check(&self, head: usize, time: usize) -> Result<()> {
        refuse(time == 0 || time > self.tasks(), "t", time, format!("must be in 1 … {}", self.tasks()))?;
        refuse(head == 0 || head > time, "head", head, format!("must be in 1 … {time}: later heads do not exist yet"))?;
        Ok(())
    }

    fn task(&self, head: usize) -> Result<&crate::tasks::Task> {
        refuse(head == 0 || head > self.tasks(), "head", head, format!("must be in 1 … {}", self.tasks()))?;
        Ok(&self.tasks[head - 1])
    }
}
