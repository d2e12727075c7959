//! The renormalization factors of T tasks, found one task after another (paper, Eqs. 139–145 for T ≤ 3).

use super::chain::{Basis, Blocks, Chain, Factors};
use super::one_task::OneTask;
use super::saddle::{Saddle, Solution};
use super::settings::{MultiHeadSettings, ReadoutPrior, check_tasks, labels, task_name};
use super::terms::Terms;
use crate::error::{Error, Result};
use crate::kernels::{Architecture, Kernel, KernelKind, WeightPrior};
use crate::linalg::{Mat, MatRef, Pencil, column};
use crate::tasks::Task;

/// The scaled residual of one equation of the renormalization factors.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct EquationResidual {
    /// The step (the number of tasks learned) at which the equation is solved.
    pub step: usize,
    /// The unknown to which the equation belongs ("u1(1,3)").
    pub unknown: String,
    /// The equation's value over the sum of the sizes of its terms.
    pub residual: f64,
}

/// T tasks at finite λ, of which the first `factors.len()` were learned: `u1(t,s)`, `u0(t,s)` and the maps of every head.
///
/// The factors of step T are the stationary point of
/// `H_T = σ^{-2} u1(T,T) − D[1] + (1/N) {D[K] + (Y_T−ḡ)ᵀ K̃_TT^{-1} (Y_T−ḡ)}`, and earlier ones stay untouched.
#[derive(Debug, Clone)]
pub(super) struct Finite {
    pub(super) tasks: Vec<Task>,
    pub(super) prior: WeightPrior,
    pub(super) readout: ReadoutPrior,
    pub(super) architecture: Architecture,
    pub(super) ridge: f64,
    pub(super) width: f64,
    pub(super) chain: Chain,
    pub(super) factors: Vec<Factors>,
    pub(super) residuals: Vec<EquationResidual>,
    pub(super) digits: f64,
}

impl Finite {
    /// Solves for the factors of all tasks at the settings' finite λ.
    ///
    /// # Errors
    /// Those of [`super::MultiHead::new`].
    pub fn new(tasks: &[Task], settings: &MultiHeadSettings) -> Result<Self> {
        Self::learned(tasks, settings, tasks.len())
    }

    /// Learns the first `steps` of the tasks. A first task knows no λ: with one step λ may be ∞.
    ///
    /// # Errors
    /// Those of [`super::MultiHead::new`].
    pub fn learned(tasks: &[Task], settings: &MultiHeadSettings, steps: usize) -> Result<Self> {
        check_tasks(tasks)?;
        let ridge = settings.ridge()?;
        let mut theory = Finite {
            width: settings.network_width(tasks[tasks.len() - 1].x.nrows())?,
            tasks: tasks.to_vec(),
            prior: settings.prior()?,
            readout: settings.readout()?,
            architecture: settings.architecture()?,
            ridge,
            chain: Chain::new(ridge),
            factors: vec![],
            residuals: vec![],
            digits: f64::INFINITY,
        };
        let mut unit = Chain::new(0.0);
        for t in 1..=steps {
            theory.step(t, &mut unit)?;
        }
        Ok(theory)
    }

    /// Learns task t (from 1).
    fn step(&mut self, t: usize, unit: &mut Chain) -> Result<()> {
        let name = format!("renormalized kernel of {}", task_name(&self.tasks, t - 1));
        let blocks = self.blocks(t)?;
        let unit_blocks = Blocks::unit(t);
        let factors = if t == 1 {
            let kernel = format!("kernel of {}", task_name(&self.tasks, 0));
            let one = OneTask::new(blocks.k1[0].as_ref(), &blocks.y, self.ridge, &kernel)?;
            let first = one.factor(self.width, self.readout)?;
            self.note(t, &["u1(1,1)".to_string()], &[first.residual]);
            Factors { d: vec![first.u], u0: vec![0.0] }
        } else {
            let solution = self.newest(t, &blocks, unit)?;
            let mut unknowns = vec![format!("u1({t},1)")];
            for s in 2..t {
                unknowns.extend([format!("u1({t},{s})"), format!("u0({t},{s})")]);
            }
            unknowns.extend([format!("u0({t},{t})"), format!("u1({t},{t})")]);
            self.note(t, &unknowns, &solution.residuals);
            Factors::new(&solution.theta, solution.d, solution.u0)
        };
        self.chain.push(&blocks, &factors, &name)?;
        self.digits = self.digits.min(self.chain.factor(t - 1).require_digits(&name)?);
        unit.push(&unit_blocks, &factors, "renormalized 1×1 kernel")?;
        self.factors.push(factors);
        Ok(())
    }

    /// Solves step t ≥ 2.
    fn newest(&self, t: usize, blocks: &Blocks, unit: &Chain) -> Result<Solution> {
        let what = format!("the renormalization factors of {}", task_name(&self.tasks, t - 1));
        let sigma2 = self.readout.sigma2;
        let unit = unit.terms(&Blocks::unit(t), &Basis::Pencil(unit_pencil()));
        if self.ridge == 0.0 {
            let data = self.chain.terms(blocks, &Basis::Pencil(self.pencil(blocks, 0.0, t)?));
            let saddle = Saddle { data: &data, unit: &unit, width: self.width, sigma2 };
            return saddle.solve_within(self.readout.bound, &what);
        }
        // Three matrices have no common basis: solve with whole matrices, in the basis of a start in which K̃ is diagonal.
        let (mut starts, basis) = self.thermal_start(t, blocks, &unit)?;
        starts.extend(plain_starts(sigma2));
        let data = self.chain.terms(blocks, &Basis::Whole(basis));
        Saddle { data: &data, unit: &unit, width: self.width, sigma2 }.solve(&starts, &what)
    }

    /// Starts of step t at finite temperature: freeze the ratio e = β^{-1}/d, solve that problem in the pencil's basis for
    /// d(e), and find e with e d(e) = β^{-1} by bisection in ln e, to within 10 %. Best start first, with its basis.
    fn thermal_start(&self, t: usize, blocks: &Blocks, unit: &Terms) -> Result<(Vec<(f64, f64)>, Mat<f64>)> {
        let mut starts: Vec<(f64, f64)> = Vec::new();
        let mut basis = Mat::zeros(0, 0);
        let (mut low, mut high): (Option<f64>, Option<f64>) = (None, None);
        let mut x = (self.ridge / self.readout.sigma2).ln();
        for _ in 0..24 {
            let shift = x.exp();
            let pencil = self.pencil(blocks, shift, t)?;
            basis = pencil.vectors.clone();
            let noise = (0..basis.ncols()).map(|i| shift * basis.col(i).squared_norm_l2()).collect();
            let data = self.chain.terms(blocks, &Basis::Pencil(pencil)).with_noise(noise);
            let saddle = Saddle { data: &data, unit, width: self.width, sigma2: self.readout.sigma2 };
            let Some(start) = saddle.start()? else { break };
            starts.insert(0, start);
            let miss = x + start.0.ln() - self.ridge.ln();
            if miss.abs() < 0.1 {
                break;
            }
            *(if miss < 0.0 { &mut low } else { &mut high }) = Some(x);
            x = match (low, high) {
                (Some(low), Some(high)) => 0.5 * (low + high),
                _ => x - miss,
            };
        }
        Ok((starts, basis))
    }

    /// The pencil (ΔK_tt, K¹_tt + `shift`).
    fn pencil(&self, blocks: &Blocks, shift: f64, t: usize) -> Result<Pencil> {
        let name = format!("kernel of {}", task_name(&self.tasks, t - 1));
        let k1 = blocks.k1[t - 1].as_ref();
        let shifted = Mat::from_fn(k1.nrows(), k1.nrows(), |i, j| k1[(i, j)] + if i == j { shift } else { 0.0 });
        checked_pencil(blocks.delta[t - 1].as_ref(), shifted.as_ref(), &name)
    }

    /// The kernels of task t with all tasks up to it.
    pub(super) fn blocks(&self, t: usize) -> Result<Blocks> {
        let x = self.tasks[t - 1].x.as_ref();
        let (k1, delta) = self.kernels_at(t, x)?;
        Ok(Blocks { k1, delta, y: labels(&self.tasks[t - 1]) })
    }

    /// `K¹_ts(x, X_s)` and `ΔK_ts(x, X_s)` (empty for s = 1) for s = 1 … t.
    pub(super) fn kernels_at(&self, t: usize, x: MatRef<'_, f64>) -> Result<(Vec<Mat<f64>>, Vec<Mat<f64>>)> {
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

    fn note(&mut self, step: usize, unknowns: &[String], residuals: &[f64]) {
        for (unknown, &residual) in unknowns.iter().zip(residuals) {
            self.residuals.push(EquationResidual { step, unknown: unknown.clone(), residual });
        }
    }

    /// The number T of tasks.
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// `u1(t,s) = <a_t·a_s>/N`; tasks count from 1.
    pub fn u1(&self, t: usize, s: usize) -> f64 {
        self.factors[t.max(s) - 1].u1(t.min(s) - 1)
    }

    /// `u0(t,s)`; tasks count from 1.
    pub fn u0(&self, t: usize, s: usize) -> f64 {
        self.factors[t.max(s) - 1].u0[t.min(s) - 1]
    }

    /// `u1(t,s) − u0(t,s)`, without cancellation; tasks count from 1.
    pub fn d(&self, t: usize, s: usize) -> f64 {
        self.factors[t.max(s) - 1].d[t.min(s) - 1]
    }

    /// The penalty λ.
    pub fn lambda(&self) -> f64 {
        self.prior.lambda()
    }
}

impl Blocks {
    /// The blocks of 1×1 kernels equal to 1 (so that ΔK = 0), without labels.
    pub(super) fn unit(t: usize) -> Self {
        let one = Mat::from_fn(1, 1, |_, _| 1.0);
        Blocks { k1: vec![one; t], delta: vec![Mat::zeros(1, 1); t], y: vec![0.0] }
    }
}

/// The pencil (ΔK, K¹), refused where K¹ is so ill-conditioned that fewer than four digits are left.
///
/// # Errors
/// Those of [`Pencil::factor`], and [`Error::LostAccuracy`].
pub(super) fn checked_pencil(delta: MatRef<'_, f64>, k1: MatRef<'_, f64>, name: &str) -> Result<Pencil> {
    let pencil = Pencil::factor(delta, k1, name)?;
    let digits = digits(pencil.condition);
    if digits >= 4.0 {
        return Ok(pencil);
    }
    Err(Error::LostAccuracy {
        what: format!("the multi-head theory with the {name}"),
        digits,
        condition: pencil.condition,
        advice: "remove examples that are nearly equal, or use a finite beta".into(),
    })
}

/// The decimal digits that a condition number leaves.
pub(super) fn digits(condition: f64) -> f64 {
    -(f64::EPSILON * condition).log10()
}

/// The pencil of the 1×1 matrices ΔK = 0 and K¹ = 1.
pub(super) fn unit_pencil() -> Pencil {
    Pencil { values: vec![0.0], vectors: column(&[1.0]).to_owned(), residual: 0.0, condition: 1.0 }
}

/// Starts (d, u0) that serve at small λ.
pub(super) fn plain_starts(sigma2: f64) -> Vec<(f64, f64)> {
    [1.0, 0.3, 3.0, 0.1, 10.0].iter().map(|f| (0.5 * f * sigma2, 0.8 * f * sigma2)).collect()
}
