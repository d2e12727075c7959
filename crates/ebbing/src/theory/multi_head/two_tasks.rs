//! Two tasks at one λ (paper, Eqs. 139–143): one pencil, then O(P) for the factors at every load.

use super::chain::Factors;
use super::limit::{LimitPoint, Regime};
use super::one_task::{AloneLoss, OneTask};
use super::saddle::Saddle;
use super::settings::{MultiHeadSettings, ReadoutPrior, check_tasks, checked_load, held_out, labels, task_name};
use super::solve::{EquationResidual, checked_pencil, digits};
use super::terms::Terms;
use crate::context::Context;
use crate::error::{Error, Result, refuse};
use crate::kernels::{Architecture, Kernel, KernelKind, WeightPrior};
use crate::linalg::{Cholesky, Mat, MatRef, Pencil, column, dot, matmul};
use crate::plan::critical_load_cost;
use crate::stats::number::chosen;
use crate::tasks::{Task, own_readouts, sizes_of};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::OnceLock;

/// `coefficient · λ^exponent`, the leading behavior for λ → ∞; at finite λ the exponent is 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Power {
    /// The factor in front; infinite where there is no limit at all.
    #[serde(with = "crate::serde_infinity")]
    pub coefficient: f64,
    /// The power of λ.
    pub exponent: f64,
}

impl Power {
    /// A number that has a limit.
    pub(super) fn finite(value: f64) -> Self {
        Power { coefficient: value, exponent: 0.0 }
    }

    /// `coefficient · λ^exponent`.
    pub fn at(&self, lambda: f64) -> f64 {
        if self.exponent == 0.0 { self.coefficient } else { self.coefficient * lambda.powf(self.exponent) }
    }

    /// `lim_{λ→∞} coefficient · λ^exponent`: infinite where it diverges, 0 where it vanishes.
    pub fn limit(&self) -> f64 {
        match self.exponent {
            e if e > 0.0 && self.coefficient != 0.0 => self.coefficient * f64::INFINITY,
            e if e != 0.0 => 0.0,
            _ => self.coefficient,
        }
    }
}

/// The renormalization factors of two tasks at one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TwoTaskPoint {
    /// The load α = P_2/N.
    pub alpha: f64,
    /// The width N.
    pub width: f64,
    /// The penalty λ, possibly ∞.
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// `u1(1,1) = ‖a_1‖²/N`.
    pub u11: f64,
    /// `u1(1,2) = a_1·a_2/N`.
    pub u12: f64,
    /// `u1(2,2) = ‖a_2‖²/N`.
    pub u22: Power,
    /// `u0(2,2)`.
    pub u0: Power,
    /// `u1(2,2) − u0(2,2)`.
    pub d: Power,
    /// `u0/d`, or `u0/(λd)` at λ = ∞.
    pub rho: f64,
    /// What only the limit has.
    pub limit: Option<LimitPoint>,
    /// The scaled residual of every equation.
    pub residuals: Vec<EquationResidual>,
}

impl TwoTaskPoint {
    /// The regime, which is defined at λ = ∞.
    pub fn regime(&self) -> Option<Regime> {
        self.limit.as_ref().map(|l| l.regime)
    }

    /// `q = u12²/u11`.
    pub(super) fn q(&self) -> f64 {
        self.u12 * self.u12 / self.u11
    }

    /// `1/d`, or the limit of `1/(λd)` at λ = ∞.
    pub(super) fn inverse_d(&self) -> f64 {
        let vanishes = self.lambda.is_infinite() && self.d.exponent > -1.0;
        if vanishes { 0.0 } else { 1.0 / self.d.coefficient }
    }

    /// 1 at finite λ and 0 at λ = ∞: the weight of terms that vanish as 1/λ.
    pub(super) fn finite_size(&self) -> f64 {
        if self.lambda.is_finite() { 1.0 } else { 0.0 }
    }
}

/// Two tasks at one λ (finite or ∞) and β = ∞, in the basis of the pencil (ΔK_22, K¹_22).
///
/// ```
/// use ebbing::Task;
/// use ebbing::linalg::Mat;
/// use ebbing::rng::Stream;
/// use ebbing::theory::multi_head::{MultiHeadSettings, Regime, TwoTasks};
/// let mut stream = Stream::new(1, "example", 0);
/// let mut task = || {
///     let x = Mat::from_fn(20, 30, |_, _| stream.normal());
///     Task::new(x, Mat::from_fn(20, 1, |i, _| if i % 3 == 0 { 1.0 } else { -1.0 }))
/// };
/// let tasks = [task(), task()];
/// // λ = ∞ by default: which regime holds at 1.5 examples per hidden unit?
/// let two = TwoTasks::new(&tasks, &MultiHeadSettings::default(), &ebbing::Context::default())?;
/// assert!(two.critical_load()?.alpha_c > 1.5);
/// assert_eq!(two.point(1.5)?.regime(), Some(Regime::Overfitting));
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TwoTasks {
    pub(super) tasks: Vec<Task>,
    pub(super) prior: WeightPrior,
    pub(super) readout: ReadoutPrior,
    pub(super) architecture: Architecture,
    pub(super) basis: Pencil,
    /// `Vᵀ Y_2`.
    pub(super) y: Vec<f64>,
    /// `Vᵀ K_21 K_11^{-1} Y_1`.
    pub(super) b: Vec<f64>,
    /// `Vᵀ G V`, `G = K_21 K_11^{-1} K_12`, once it was needed.
    g: OnceLock<Mat<f64>>,
    /// Its diagonal.
    pub(super) g_diagonal: Vec<f64>,
    /// `L^{-1} K_12 V`, `K_11 = L Lᵀ`.
    pub(super) half: Mat<f64>,
    /// The factor of `K¹_11`.
    pub(super) first: Cholesky,
    /// `K_11^{-1} Y_1`.
    pub(super) w: Vec<f64>,
    /// `Y_1ᵀ K_11^{-1} Y_1`.
    pub(super) quadratic: f64,
    pub(super) alone: OneTask,
}

impl TwoTasks {
    /// Decomposes the kernels of two tasks; `alpha` and `width` of the settings are not read.
    ///
    /// # Errors
    /// [`Error::Data`] for any other number of tasks or bad ones, [`Error::OutsideTheory`] for a finite β (no basis
    /// diagonalizes three matrices; use [`super::MultiHead`]), several layers or target columns,
    /// [`Error::NotPositiveDefinite`] or [`Error::LostAccuracy`] for a singular kernel.
    pub fn new(tasks: &[Task], settings: &MultiHeadSettings, context: &Context) -> Result<Self> {
        context.run(|| Self::decomposed(tasks, settings, context))
    }

    fn decomposed(tasks: &[Task], settings: &MultiHeadSettings, context: &Context) -> Result<Self> {
        if tasks.len() != 2 {
            return Err(Error::data("task sequence", format!("has {} tasks; expected two", tasks.len())));
        }
        let tasks = &own_readouts(tasks)[..];
        check_tasks(tasks)?;
        context.plan().check("the theory of two tasks", &sizes_of(tasks), critical_load_cost)?;
        let (prior, architecture) = (settings.prior()?, settings.architecture()?);
        if settings.ridge()? != 0.0 {
            let reason = "its shortcut is for beta = inf; solve every load by itself";
            return Err(Error::outside(format!("a sweep of two tasks at beta = {}", settings.beta), reason));
        }
        let (x1, x2) = (tasks[0].x.as_ref(), tasks[1].x.as_ref());
        let kernel = |kind, t, s| Kernel::new(kind, architecture, prior, t, s);
        let first = || kernel(KernelKind::K1, 1, 1)?.gram_symmetric(x1);
        let second = || -> Result<(Mat<f64>, Mat<f64>)> {
            let (k1, delta) = (kernel(KernelKind::K1, 2, 2)?, kernel(KernelKind::DeltaK, 2, 2)?);
            let mut both = Kernel::gram_many_symmetric(&[&k1, &delta], x2)?;
            let delta = both.remove(1);
            Ok((both.remove(0), delta))
        };
        let cross = || kernel(KernelKind::K1, 2, 1)?.gram(x2, x1);
        Self::of_kernels(tasks, (prior, architecture, settings.readout()?), first, second, cross)
    }

    /// From kernels, each made when it is needed: K¹_11, (K¹_22, ΔK_22) and K¹_21. Inputs of the tasks are not read.
    pub(super) fn of_kernels(
        tasks: &[Task],
        (prior, architecture, readout): (WeightPrior, Architecture, ReadoutPrior),
        first: impl FnOnce() -> Result<Mat<f64>>,
        second: impl FnOnce() -> Result<(Mat<f64>, Mat<f64>)>,
        cross: impl FnOnce() -> Result<Mat<f64>>,
    ) -> Result<Self> {
        let first = Cholesky::factor(first()?.as_ref(), &format!("kernel of {}", task_name(tasks, 0)))?;
        let basis = {
            let (k1, delta) = second()?;
            checked_pencil(delta.as_ref(), k1.as_ref(), &format!("kernel of {}", task_name(tasks, 1)))?
        };
        first.require_digits(&format!("the multi-head theory with the kernel of {}", task_name(tasks, 0)))?;
        let (y1, y2) = (labels(&tasks[0]), labels(&tasks[1]));
        let w = first.solve_vec(&y1);
        let mut half = matmul(cross()?.transpose(), basis.vectors.as_ref());
        let b = rotate(half.as_ref(), &w);
        first.half_solve_in_place(half.as_mut());
        let quadratic = dot(&y1, &w);
        Ok(TwoTasks {
            y: rotate(basis.vectors.as_ref(), &y2),
            b,
            g_diagonal: (0..half.ncols()).map(|i| dot(half.col_as_slice(i), half.col_as_slice(i))).collect(),
            g: OnceLock::new(),
            half,
            alone: OneTask::interpolating(&first, &y1),
            first,
            w,
            quadratic,
            basis,
            tasks: tasks.to_vec(),
            prior,
            readout,
            architecture,
        })
    }

    /// `Vᵀ G V`, which the factors do without and the maps need.
    pub(super) fn g(&self) -> Result<&Mat<f64>> {
        if let Some(g) = self.g.get() {
            return Ok(g);
        }
        // Made outside the lock: a thread that waits in the product may take up work that wants it too.
        let g = matmul(self.half.transpose(), self.half.as_ref());
        crate::stop::check()?;
        Ok(self.g.get_or_init(|| g))
    }

    /// The penalty λ.
    pub fn lambda(&self) -> f64 {
        self.prior.lambda()
    }

    /// Whether the norm of readouts is bounded.
    pub(in crate::theory) fn bounded_readouts(&self) -> bool {
        self.readout.bound.is_finite()
    }

    /// The number of training examples of the two tasks.
    pub fn sizes(&self) -> [usize; 2] {
        [self.tasks[0].x.nrows(), self.tasks[1].x.nrows()]
    }

    /// Bytes that the examples and their decomposition take.
    pub fn bytes(&self) -> usize {
        let of = |m: &Mat<f64>| m.nrows() * m.ncols();
        let test = |task: &Task| task.test.as_ref().map_or(0, |test| of(&test.x) + of(&test.y));
        let tasks: usize = self.tasks.iter().map(|task| of(&task.x) + of(&task.y) + test(task)).sum();
        let [first, _] = self.sizes();
        let kept = first * first + of(&self.basis.vectors) + of(&self.half) + self.g.get().map_or(0, of);
        (tasks + kept) * size_of::<f64>()
    }

    /// The decimal digits that the worse conditioned kernel leaves, at least 4.
    pub fn digits(&self) -> f64 {
        self.first.digits().min(digits(self.basis.condition))
    }

    /// The factors at load α.
    ///
    /// # Errors
    /// [`Error::Setting`] for α ≤ 0, and for α = 1 at λ = ∞; [`Error::NotConverged`] where the equations are not solved.
    pub fn point(&self, alpha: f64) -> Result<TwoTaskPoint> {
        crate::stop::check()?;
        let alpha = checked_load(alpha)?;
        if self.lambda().is_infinite() {
            return self.limit_point(alpha);
        }
        let width = self.y.len() as f64 / alpha;
        let first = self.alone.factor(width, self.readout)?;
        let u11 = first.u;
        let (data, unit) = self.terms(u11);
        let saddle = Saddle { data: &data, unit: &unit, width, sigma2: self.readout.sigma2 };
        let what =
            format!("the renormalization factors of two tasks at alpha = {alpha}, lambda = {}", chosen(self.lambda()));
        let solution = saddle.solve_within(self.readout.bound, &what)?;
        let factors = Factors::new(&solution.theta, solution.d, solution.u0);
        let names = [(1, "u1(1,1)"), (2, "u1(2,1)"), (2, "u0(2,2)"), (2, "u1(2,2)")];
        let values = std::iter::once(first.residual).chain(solution.residuals.iter().copied());
        Ok(TwoTaskPoint {
            alpha,
            width,
            lambda: self.lambda(),
            u11,
            u12: factors.u1(0),
            u22: Power::finite(factors.u1(1)),
            u0: Power::finite(factors.u0[1]),
            d: Power::finite(factors.d[1]),
            rho: factors.u0[1] / factors.d[1],
            limit: None,
            residuals: (names.into_iter().zip(values))
                .map(|((step, unknown), residual)| EquationResidual { step, unknown: unknown.into(), residual })
                .collect(),
        })
    }

    /// The terms of `H_2` (paper, Eq. 139) and of its 1×1 twin, θ = u12: only the powers of u11 change with the load.
    fn terms(&self, u11: f64) -> (Terms, Terms) {
        let array = |f: &dyn Fn(usize) -> f64| (0..self.y.len()).map(f).collect::<Vec<f64>>();
        let data = Terms::diagonal(
            &self.basis.values,
            array(&|i| self.y[i] * self.y[i]),
            vec![array(&|i| self.b[i] / u11 * self.y[i])],
            vec![array(&|i| (self.b[i] / u11).powi(2) - self.g_diagonal[i] / u11)],
        );
        (data, Terms::diagonal(&[0.0], vec![0.0], vec![vec![0.0]], vec![vec![-1.0 / u11]]))
    }

    /// The factors at every load.
    ///
    /// # Errors
    /// As for [`TwoTasks::point`].
    pub fn points(&self, alphas: &[f64]) -> Result<Vec<TwoTaskPoint>> {
        // Collected before it is searched for errors, so that the first one is reported at any number of threads.
        let all: Vec<Result<TwoTaskPoint>> = alphas.par_iter().map(|&alpha| self.point(alpha)).collect();
        all.into_iter().collect()
    }

    /// The same tasks with labels (training and held-out) scaled so that `YᵀK_GP^{-1}Y/P = 1`, as by
    /// [`normalized_labels`](crate::theory::phase::normalized_labels), without another decomposition.
    ///
    /// # Errors
    /// [`Error::Setting`] at finite λ, where the kernel of the pencil is not `K_GP`.
    pub fn with_normalized_labels(mut self) -> Result<Self> {
        let expected = "must be inf to scale labels after the decomposition";
        refuse(self.lambda().is_finite(), "lambda", self.lambda(), expected)?;
        let [p1, p2] = self.sizes().map(|p| p as f64);
        let factors = [(p1 / self.quadratic).sqrt(), (p2 / dot(&self.y, &self.y)).sqrt()];
        for (task, factor) in self.tasks.iter_mut().zip(factors) {
            let scaled = |y: &Mat<f64>| Mat::from_fn(y.nrows(), 1, |i, _| factor * y[(i, 0)]);
            task.y = scaled(&task.y);
            task.test.iter_mut().for_each(|test| test.y = scaled(&test.y));
        }
        self.y.iter_mut().for_each(|y| *y *= factors[1]);
        self.b.iter_mut().chain(&mut self.w).for_each(|x| *x *= factors[0]);
        self.quadratic *= factors[0] * factors[0];
        self.alone = OneTask::interpolating(&self.first, &labels(&self.tasks[0]));
        Ok(self)
    }

    /// `G⁰_s`: the loss on task s's held-out data of a network that learned s alone, at every point's width.
    ///
    /// # Errors
    /// [`Error::Data`] for a task without held-out data; [`Error::NotPositiveDefinite`] for a singular kernel.
    pub fn alone(&self, task: usize, points: &[TwoTaskPoint]) -> Result<Vec<f64>> {
        self.alone_map(task)?.losses(points)
    }

    /// What [`TwoTasks::alone`] is made from, whatever the load.
    pub(in crate::theory) fn alone_map(&self, task: usize) -> Result<AloneMap> {
        let (x, y) = self.test_set(task)?;
        let kernel = Kernel::new(KernelKind::K1, self.architecture, self.prior, 1, 1)?;
        let own = self.tasks[task - 1].x.as_ref();
        let labels = labels(&self.tasks[task - 1]);
        let second;
        let factor = if task == 1 {
            &self.first
        } else {
            let name = format!("kernel of {} alone", task_name(&self.tasks, 1));
            second = Cholesky::factor(kernel.gram_symmetric(own)?.as_ref(), &name)?;
            &second
        };
        let loss = AloneLoss::new(factor, &labels, kernel.gram(x, own)?.as_ref(), &kernel.diagonal(x)?, &y);
        Ok(AloneMap { loss, one: OneTask::interpolating(factor, &labels), readout: self.readout })
    }

    /// The training inputs and labels of a task (from 1).
    pub(in crate::theory) fn training_set(&self, task: usize) -> (MatRef<'_, f64>, Vec<f64>) {
        (self.tasks[task - 1].x.as_ref(), labels(&self.tasks[task - 1]))
    }

    /// Whether a task (from 1) has held-out data.
    pub(in crate::theory) fn has_test(&self, task: usize) -> bool {
        self.tasks[task - 1].test.is_some()
    }

    /// The held-out inputs and labels of a task (from 1).
    pub(in crate::theory) fn test_set(&self, task: usize) -> Result<(MatRef<'_, f64>, Vec<f64>)> {
        let test = held_out(&self.tasks, task)?;
        Ok((test.x.as_ref(), (0..test.y.nrows()).map(|i| test.y[(i, 0)]).collect()))
    }
}

/// A network that learned one task alone on its held-out data, ready for any width.
#[derive(Debug, Clone)]
pub(in crate::theory) struct AloneMap {
    loss: AloneLoss,
    one: OneTask,
    readout: ReadoutPrior,
}

impl AloneMap {
    /// The loss at every point's width.
    pub fn losses(&self, points: &[TwoTaskPoint]) -> Result<Vec<f64>> {
        points.iter().map(|p| Ok(self.loss.at(self.one.factor(p.width, self.readout)?.u))).collect()
    }
}

/// `Vᵀ x`.
pub(super) fn rotate(v: MatRef<'_, f64>, x: &[f64]) -> Vec<f64> {
    let y = matmul(v.transpose(), column(x));
    (0..y.nrows()).map(|i| y[(i, 0)]).collect()
}
