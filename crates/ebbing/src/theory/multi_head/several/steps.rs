//! The factors of T tasks with several outputs each, found one task after another, and the maps of every head.

use super::frame::Frame;
use super::newton::{Form, Outcome, Solution, failure, newton};
use super::one_task::{OneTaskOutputs, without_labels};
use super::prediction::OutputPrediction;
use super::problem::Problem;
use super::span::Span;
use super::start::follow;
use super::terms::{Blocks, Factors, Parts, combination, kronecker, unit_covariance};
use crate::error::{Error, Result};
use crate::kernels::{Architecture, Kernel, KernelKind, WeightPrior};
use crate::linalg::{Cholesky, Mat, MatRef, Pencil, on_one_thread};
use crate::stats::try_bisect;
use crate::tasks::Task;
use crate::theory::multi_head::chain::{Chain, Lesson};
use crate::theory::multi_head::settings::{MultiHeadSettings, ReadoutPrior, check_several, task_name};
use crate::theory::multi_head::solve::{EquationResidual, checked_pencil};

/// T tasks at finite λ, all learned.
#[derive(Debug, Clone)]
pub(super) struct Finite {
    pub tasks: Vec<Task>,
    pub prior: WeightPrior,
    pub readout: ReadoutPrior,
    pub architecture: Architecture,
    pub ridge: f64,
    pub width: f64,
    pub spans: Vec<Span>,
    chain: Chain,
    factors: Vec<Factors>,
    /// `u1(t,t)` along directions without labels.
    silent: Vec<f64>,
    pub residuals: Vec<EquationResidual>,
    pub digits: f64,
}

impl Finite {
    /// Solves for the factors of all tasks at the settings' λ, which is finite or, for one task, not read.
    ///
    /// # Errors
    /// Those of [`super::SeveralOutputs::new`].
    pub fn new(tasks: &[Task], settings: &MultiHeadSettings) -> Result<Self> {
        check_several(tasks)?;
        let ridge = settings.ridge()?;
        let spans = tasks
            .iter()
            .map(|task| if ridge == 0.0 { Span::of(&task.y) } else { Ok(Span::whole(task.y.ncols())) })
            .collect::<Result<Vec<_>>>()?;
        let mut theory = Finite {
            width: settings.network_width(tasks[tasks.len() - 1].x.nrows())?,
            tasks: tasks.to_vec(),
            prior: settings.prior()?,
            readout: settings.readout()?,
            architecture: settings.architecture()?,
            ridge,
            spans,
            chain: Chain::new(ridge),
            factors: vec![],
            silent: vec![],
            residuals: vec![],
            digits: f64::INFINITY,
        };
        let mut unit = Chain::new(0.0);
        for t in 1..=tasks.len() {
            theory.step(t, &mut unit)?;
        }
        Ok(theory)
    }

    /// Learns task t (from 1).
    fn step(&mut self, t: usize, unit: &mut Chain) -> Result<()> {
        let name = format!("renormalized kernel of {}", task_name(&self.tasks, t - 1));
        let blocks = self.blocks(t)?;
        let alpha = blocks.y.nrows() as f64 / self.width;
        let factors = if t == 1 {
            let kernel = format!("kernel of {}", task_name(&self.tasks, 0));
            let silent = self.spans[0].silent.ncols();
            let one = OneTaskOutputs::new(blocks.k1[0].as_ref(), &blocks.y, self.ridge, silent, &kernel)?;
            let first = one.factor(self.width, self.readout)?;
            self.digits = one.digits(&first.u)?;
            self.note(t, "U1(1,1)", first.residual);
            self.silent.push(first.silent);
            let zero = Mat::zeros(first.u.nrows(), first.u.nrows());
            Factors { d: vec![first.u], u0: vec![zero] }
        } else {
            let (solution, sigma2) = self.newest(t, &blocks, unit)?;
            let [theta, z, x] = solution.residuals;
            self.note(t, &format!("U1({t},s) and U0({t},s), s < {t}"), theta);
            self.note(t, &format!("U0({t},{t})"), z);
            self.note(t, &format!("U1({t},{t})"), x);
            self.silent.push(if self.ridge == 0.0 { without_labels(sigma2, alpha) } else { 0.0 });
            Factors::new(&solution.theta, &self.outputs(t - 1), solution.frame.d(), solution.frame.u0())
        };
        if self.tasks.len() == 1 {
            // Nothing follows that would need K̃_11 itself.
            self.factors.push(factors);
            return Ok(());
        }
        let lesson = |blocks: &Blocks, name| Lesson {
            tilde: (0..t)
                .map(|s| combination(&factors.d[s], &blocks.k1[s], &factors.u0[s], &blocks.delta[s]))
                .collect(),
            prior: (0..t).map(|s| kronecker(&factors.u1(s), &blocks.k1[s])).collect(),
            y: (0..blocks.y.ncols()).flat_map(|a| blocks.y.col_as_slice(a).to_vec()).collect(),
            name,
        };
        self.chain.learn(lesson(&blocks, &name))?;
        self.digits = self.digits.min(self.chain.factor(t - 1).require_digits(&name)?);
        let one = Mat::from_fn(1, 1, |_, _| 1.0);
        let m = self.spans[t - 1].used.ncols();
        let ones = Blocks { k1: vec![one; t], delta: vec![Mat::zeros(1, 1); t], y: Mat::zeros(1, m) };
        unit.learn(lesson(&ones, "renormalized 1×1 kernel"))?;
        self.factors.push(factors);
        Ok(())
    }

    /// The number of outputs with labels of the first `count` tasks.
    fn outputs(&self, count: usize) -> Vec<usize> {
        self.spans[..count].iter().map(|s| s.used.ncols()).collect()
    }

    /// Solves step t ≥ 2: the solution and the prior variance of readouts that it has.
    fn newest(&self, t: usize, blocks: &Blocks, unit: &Chain) -> Result<(Solution, f64)> {
        let what = format!("the renormalization factors of {}", task_name(&self.tasks, t - 1));
        let (outputs, sigma2) = (self.outputs(t - 1), self.readout.sigma2);
        let covariance = unit_covariance(unit, &outputs);
        if self.ridge == 0.0 {
            let pencil = self.pencil(blocks, 0.0, t)?;
            let parts = Parts::new(&self.chain, blocks, &outputs, pencil.vectors.as_ref());
            let problem = parts.problem(&self.chain, pencil.values, covariance, self.width, sigma2);
            let silent = self.spans[t - 1].silent.ncols();
            return within(&problem, self.readout.bound, silent, &what);
        }
        let (start, basis) = self.thermal_start(t, blocks, &covariance, &outputs)?;
        let parts = Parts::new(&self.chain, blocks, &outputs, basis.as_ref());
        let dense = parts.dense(&self.chain, blocks, (basis.as_ref(), self.ridge), covariance, (self.width, sigma2));
        let (mut trace, mut best) = (Vec::new(), f64::INFINITY);
        for frame in &start {
            match newton(&dense, frame)? {
                Outcome::Solved(solution) => return Ok((*solution, sigma2)),
                Outcome::Failed(why, residual) => {
                    best = best.min(residual);
                    trace.push(format!("from rho = {:.3?}: {why}", frame.rho));
                }
            }
        }
        let m = dense.outputs();
        let origin = Frame::along(Mat::<f64>::identity(m, m).as_ref(), &vec![sigma2; m], vec![0.0; m]);
        let at = |width: f64| super::dense::Dense { width, ..dense.clone() };
        match follow(self.width, blocks.y.nrows() as f64, origin, at)? {
            Some(solution) => Ok((solution, sigma2)),
            None => Err(failure(&what, best, trace)),
        }
    }

    /// Starts at finite temperature, the best one first, with a basis in which K̃ is nearly diagonal: with `β^{-1}/d` at the typical
    /// size d of D in place of β^{-1}, part of K¹ as it were, one basis serves for all; d by a few repetitions.
    fn thermal_start(
        &self,
        t: usize,
        blocks: &Blocks,
        unit: &Mat<f64>,
        outputs: &[usize],
    ) -> Result<(Vec<Frame>, Mat<f64>)> {
        let mut starts: Vec<Frame> = Vec::new();
        let mut basis = Mat::zeros(0, 0);
        let mut shift = self.ridge / self.readout.sigma2;
        for _ in 0..6 {
            let pencil = self.pencil(blocks, shift, t)?;
            basis = pencil.vectors.clone();
            let parts = Parts::new(&self.chain, blocks, outputs, basis.as_ref());
            let problem = parts.problem(&self.chain, pencil.values, unit.clone(), self.width, self.readout.sigma2);
            let Some(frame) = problem.starts(&problem.grid())?.into_iter().next() else { break };
            let m = frame.size();
            let size = frame.logdet()? / m as f64;
            let next = (self.ridge.ln() - size).exp();
            starts.insert(0, frame);
            let settled = (next / shift).ln().abs() < 0.2;
            // Half of the way in the logarithm, where the whole would overshoot.
            shift = (next * shift).sqrt();
            if settled {
                break;
            }
        }
        Ok((starts, basis))
    }

    /// The pencil (ΔK_tt, K¹_tt + `shift`).
    fn pencil(&self, blocks: &Blocks, shift: f64, t: usize) -> Result<Pencil> {
        let name = format!("kernel of {}", task_name(&self.tasks, t - 1));
        let k1 = &blocks.k1[t - 1];
        let shifted = Mat::from_fn(k1.nrows(), k1.nrows(), |i, j| k1[(i, j)] + if i == j { shift } else { 0.0 });
        checked_pencil(blocks.delta[t - 1].as_ref(), shifted.as_ref(), &name)
    }

    /// The kernels of task t with all tasks up to it, and its labels along the directions that have them.
    fn blocks(&self, t: usize) -> Result<Blocks> {
        let (k1, delta) = self.kernels_at(t, self.tasks[t - 1].x.as_ref())?;
        Ok(Blocks { k1, delta, y: self.spans[t - 1].reduced(self.tasks[t - 1].y.as_ref()) })
    }

    /// `K¹_ts(x, X_s)` and `ΔK_ts(x, X_s)` (empty for s = 1) for s = 1 … t.
    fn kernels_at(&self, t: usize, x: MatRef<'_, f64>) -> Result<(Vec<Mat<f64>>, Vec<Mat<f64>>)> {
        let (mut k1, mut delta) = (Vec::new(), Vec::new());
        for s in 1..=t {
            let one = Kernel::new(KernelKind::K1, self.architecture, self.prior, t, s)?;
            let x_s = self.tasks[s - 1].x.as_ref();
            if s == 1 {
                k1.push(one.gram(x, x_s)?);
                delta.push(Mat::zeros(0, 0));
                continue;
            }
            let difference = Kernel::new(KernelKind::DeltaK, self.architecture, self.prior, t, s)?;
            let mut both = Kernel::gram_many(&[&one, &difference], x, x_s)?;
            delta.push(both.remove(1));
            k1.push(both.remove(0));
        }
        Ok((k1, delta))
    }

    fn note(&mut self, step: usize, unknown: &str, residual: f64) {
        self.residuals.push(EquationResidual { step, unknown: unknown.into(), residual });
    }

    /// The number T of tasks.
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// A factor of two tasks along the directions with labels, rows for t and columns for s.
    fn reduced(&self, t: usize, s: usize, get: impl Fn(&Factors, usize) -> Mat<f64>) -> Mat<f64> {
        let found = get(&self.factors[t.max(s) - 1], t.min(s) - 1);
        if t >= s { found } else { found.transpose().to_owned() }
    }

    fn factor(&self, t: usize, s: usize, silent: bool, get: impl Fn(&Factors, usize) -> Mat<f64>) -> Mat<f64> {
        let found = self.reduced(t, s, get);
        let (row, column) = (&self.spans[t - 1], &self.spans[s - 1]);
        if t == s {
            return row.own(found.as_ref(), if silent { self.silent[t - 1] } else { 0.0 });
        }
        row.expanded(found.as_ref(), column)
    }

    /// `U1(t,s)`; tasks count from 1.
    pub fn u1(&self, t: usize, s: usize) -> Mat<f64> {
        self.factor(t, s, true, Factors::u1)
    }

    /// `U0(t,s)`.
    pub fn u0(&self, t: usize, s: usize) -> Mat<f64> {
        self.factor(t, s, false, |f, s| f.u0[s].clone())
    }

    /// `U1(t,s) − U0(t,s)`.
    pub fn d(&self, t: usize, s: usize) -> Mat<f64> {
        self.factor(t, s, true, |f, s| f.d[s].clone())
    }

    /// Head `head` after `time` tasks on any inputs.
    ///
    /// # Errors
    /// Those of [`super::SeveralOutputs::predict`].
    pub fn predict(&self, head: usize, time: usize, x: MatRef<'_, f64>) -> Result<OutputPrediction> {
        if time == 1 {
            return self.alone(head, x);
        }
        let (k1, delta) = self.kernels_at(time, x)?;
        let (mut kappa, mut c) = (Vec::new(), Vec::new());
        for t in 1..=time {
            let u1 = self.reduced(head, t, Factors::u1);
            let prior = kronecker(&u1, &k1[t - 1]);
            kappa.push(match (t, t <= head) {
                (1, _) => prior.clone(),
                (_, true) => {
                    let (d, u0) =
                        (self.reduced(head, t, |f, s| f.d[s].clone()), self.reduced(head, t, |f, s| f.u0[s].clone()));
                    combination(&d, &k1[t - 1], &u0, &delta[t - 1])
                }
                (_, false) => kronecker(&u1, &delta[t - 1]),
            });
            c.push(prior);
        }
        let own = Kernel::new(KernelKind::K1, self.architecture, self.prior, time, time)?;
        let (diagonal, scale) = (own.diagonal(x)?, self.reduced(head, head, Factors::u1));
        let scaled = |i: usize| Mat::from_fn(scale.nrows(), scale.nrows(), |a, b| scale[(a, b)] * diagonal[i]);
        let (mean, covariance) = self.chain.predict_outputs(&kappa, &c, x.nrows(), scaled);
        let span = &self.spans[head - 1];
        let free = if span.silent.ncols() > 0 && self.silent[head - 1] > 0.0 {
            self.unexplained(head, &k1[head - 1], &diagonal)?
        } else {
            vec![0.0; x.nrows()]
        };
        let found = OutputPrediction { mean, covariance, exponent: 0.0 };
        Ok(found.expanded(span, |i| self.silent[head - 1] * free[i]))
    }

    /// `k(x,x) − k K_hh^{-1} kᵀ` of every input.
    fn unexplained(&self, head: usize, k: &Mat<f64>, diagonal: &[f64]) -> Result<Vec<f64>> {
        let kernel = Kernel::new(KernelKind::K1, self.architecture, self.prior, head, head)?;
        let gram = kernel.gram_symmetric(self.tasks[head - 1].x.as_ref())?;
        let factor = Cholesky::factor(gram.as_ref(), &format!("kernel of {}", task_name(&self.tasks, head - 1)))?;
        let half = factor.half_solve(k.transpose());
        Ok((0..k.nrows()).map(|i| diagonal[i] - half.col_as_slice(i).iter().map(|h| h * h).sum::<f64>()).collect())
    }

    /// A network of the same width and priors that learned task `head` alone.
    ///
    /// # Errors
    /// Those of [`super::SeveralOutputs::alone`].
    pub fn alone(&self, head: usize, x: MatRef<'_, f64>) -> Result<OutputPrediction> {
        alone(&self.tasks, head, x, self.architecture, self.prior, (self.ridge, self.width, self.readout))
    }

    /// `Tr (U0_tt ⊗ ΔK) K̃_tt^{-1}/m`: how much of what is learned of task t hidden weights learn.
    pub fn share(&self, t: usize, delta: &Mat<f64>) -> f64 {
        let change = kronecker(&self.factors[t - 1].u0[t - 1], delta);
        let part = self.chain.factor(t - 1).solve(change.as_ref());
        let trace: f64 = (0..part.nrows()).map(|i| part[(i, i)]).sum();
        trace.abs() / self.spans[t - 1].used.ncols() as f64
    }
}

/// A network that learned task `head` (from 1) of several outputs alone, on any inputs.
///
/// # Errors
/// Those of the kernels and their factorization.
pub(super) fn alone(
    tasks: &[Task],
    head: usize,
    x: MatRef<'_, f64>,
    architecture: Architecture,
    prior: WeightPrior,
    (ridge, width, readout): (f64, f64, ReadoutPrior),
) -> Result<OutputPrediction> {
    let task = &tasks[head - 1];
    let span = if ridge == 0.0 { Span::of(&task.y)? } else { Span::whole(task.y.ncols()) };
    let name = format!("kernel of {}", task_name(tasks, head - 1));
    let kernel = Kernel::new(KernelKind::K1, architecture, prior, 1, 1)?;
    let gram = kernel.gram_symmetric(task.x.as_ref())?;
    let y = span.reduced(task.y.as_ref());
    let one = OneTaskOutputs::new(gram.as_ref(), &y, ridge, span.silent.ncols(), &name)?;
    let first = one.factor(width, readout)?;
    let (k, diagonal) = (kernel.gram(x, task.x.as_ref())?, kernel.diagonal(x)?);
    let found = one.predict(&first.u, k.as_ref(), &diagonal)?;
    let free = if span.silent.ncols() > 0 && first.silent > 0.0 {
        let half = Cholesky::factor(gram.as_ref(), &name)?.half_solve(k.transpose());
        (0..k.nrows()).map(|i| diagonal[i] - half.col_as_slice(i).iter().map(|h| h * h).sum::<f64>()).collect()
    } else {
        vec![0.0; x.nrows()]
    };
    Ok(found.expanded(&span, |i| first.silent * free[i]))
}

/// The solution of a step with `Tr U1(T,T)/m ≤ bound`, `silent` directions without labels included: where the readouts would be
/// longer, that of the smaller prior variance whose readouts have this norm. With it, that variance.
///
/// # Errors
/// Those of [`Problem::solve`] at any prior variance that is tried.
pub(super) fn within(problem: &Problem, bound: f64, silent: usize, what: &str) -> Result<(Solution, f64)> {
    let at = |ln: f64| on_one_thread(|| Problem { sigma2: ln.exp(), ..problem.clone() }.solve(what));
    let norm = |solution: &Solution, ln: f64| {
        let (m, frame) = (solution.frame.size(), &solution.frame);
        let sum: f64 =
            (0..m).map(|a| (1.0 + frame.rho[a]) * (0..m).map(|i| frame.f[(i, a)].powi(2)).sum::<f64>()).sum();
        (sum + silent as f64 * without_labels(ln.exp(), problem.alpha())) / (m + silent) as f64
    };
    let high = problem.sigma2.ln();
    let free = at(high)?;
    if norm(&free, high) <= bound {
        return Ok((free, problem.sigma2));
    }
    let mut low = high - 2.0;
    while norm(&at(low)?, low) > bound {
        low -= 2.0;
        if low < -700.0 {
            return Err(failure(&format!("a prior of readouts of norm {bound} for {what}"), f64::INFINITY, vec![]));
        }
    }
    let ln = try_bisect(low, high, |ln| Ok::<_, Error>(norm(&at(ln)?, ln) <= bound))?;
    Ok((at(ln)?, ln.exp()))
}
