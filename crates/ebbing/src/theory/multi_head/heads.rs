//! All heads of any number of tasks at any λ: which part of the theory serves which λ is decided here.

use super::large_lambda::LambdaEvidence;
use super::limit::Regime;
use super::maps::Prediction;
use super::settings::{MultiHeadSettings, check_tasks};
use super::solve::{EquationResidual, Finite};
use super::two_tasks::{Power, TwoTaskPoint, TwoTasks};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::kernels::{Kernel, KernelKind, WeightPrior};
use crate::linalg::{Mat, MatRef};
use crate::plan::sequence_cost;
use crate::tasks::{Task, own_readouts, sizes_of};

/// Where a large λ stands for ∞, no forgetting changes by more than this when λ grows tenfold.
const TOLERANCE: f64 = 1e-3;

/// `u1(t,s) = <a_t·a_s>/N` and `u0(t,s)`: the multi-head theory of any number of tasks at any λ, ∞ included.
///
/// | λ | tasks | how | numbers |
/// |---|---|---|---|
/// | finite | any | factors one task after another | at that λ |
/// | ∞ | 1 | the same: a first task knows no λ | at any λ |
/// | ∞ | 2, β = ∞ | the exact limit ([`TwoTasks`]) | limits; ∞ where they diverge, their growth in [`limit`](Self::limit) |
/// | ∞ | more, or β finite | a large λ that stands for ∞ | at [`lambda`](Self::lambda), with its [`evidence`](Self::evidence) |
///
/// Heads, tasks and times count from 1.
///
/// ```
/// use ebbing::linalg::Mat;
/// use ebbing::rng::Stream;
/// use ebbing::theory::multi_head::{MultiHeadSettings, Regime};
/// use ebbing::{MultiHead, Task};
/// let mut stream = Stream::new(1, "example", 0);
/// let tasks: Vec<Task> = (0..2)
///     .map(|_| Task {
///         name: String::new(),
///         x: Mat::from_fn(20, 30, |_, _| stream.normal()),
///         y: Mat::from_fn(20, 1, |i, _| if i % 3 == 0 { 1.0 } else { -1.0 }),
///         rows: None,
///         test: None,
///         present: None,
///     })
///     .collect();
/// // λ = ∞ by default: at 1.5 examples per hidden unit the second readout grows without bound.
/// let limit = MultiHead::new(&tasks, &MultiHeadSettings { alpha: Some(1.5), ..Default::default() }, &ebbing::Context::default())?;
/// assert_eq!(limit.regime(), Some(Regime::Overfitting));
/// assert_eq!(limit.u1(2, 2), f64::INFINITY);
/// let soft = MultiHead::new(&tasks, &MultiHeadSettings { alpha: Some(1.5), lambda: 10.0, ..Default::default() }, &ebbing::Context::default())?;
/// assert!(soft.forgetting(2, 1)? > 0.0 && soft.u1(2, 2).is_finite());
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MultiHead {
    /// All tasks at finite λ; in the exact limit the first one learned alone.
    finite: Finite,
    limit: Option<Box<Limit>>,
    /// Empty unless a large λ stands for ∞.
    evidence: Vec<LambdaEvidence>,
}

/// Two tasks at λ = ∞, at one load.
#[derive(Debug, Clone)]
struct Limit {
    two: TwoTasks,
    point: TwoTaskPoint,
}

/// Refuses tasks whose kernels would not fit into memory.
fn fits(tasks: &[Task], context: &Context) -> Result<()> {
    context.plan().check("the theory of a readout per task", &sizes_of(tasks), sequence_cost)
}

impl MultiHead {
    /// Solves for the factors of all tasks at the settings' λ.
    ///
    /// # Errors
    /// [`Error::OutsideTheory`] for several hidden layers or target columns, [`Error::Setting`] and [`Error::Data`] for bad
    /// settings and tasks (α = 1 has no limit λ = ∞), [`Error::NotPositiveDefinite`] or [`Error::LostAccuracy`] for singular
    /// kernels, [`Error::NotConverged`] with its trace where the equations are not solved.
    pub fn new(tasks: &[Task], settings: &MultiHeadSettings, context: &Context) -> Result<Self> {
        context.run(|| Self::solved(&own_readouts(tasks), settings, context))
    }

    fn solved(tasks: &[Task], settings: &MultiHeadSettings, context: &Context) -> Result<Self> {
        check_tasks(tasks)?;
        fits(tasks, context)?;
        if settings.lambda.is_infinite() && tasks.len() > 1 {
            if tasks.len() > 2 || settings.beta.is_finite() {
                return Self::at_large_lambda(tasks, settings, TOLERANCE, context);
            }
            let alpha = settings.load(tasks[1].x.nrows())?;
            let two = TwoTasks::new(tasks, settings, context)?;
            let point = two.point(alpha)?;
            let same = MultiHeadSettings { alpha: None, width: Some(point.width), ..settings.clone() };
            let finite = Finite::learned(tasks, &same, 1)?;
            return Ok(MultiHead { finite, limit: Some(Box::new(Limit { two, point })), evidence: vec![] });
        }
        Ok(MultiHead { finite: Finite::new(tasks, settings)?, limit: None, evidence: vec![] })
    }

    /// The theory at a large λ that stands for ∞, for any number of tasks: λ rises tenfold from 1e4 until no forgetting
    /// `F_{T,h}` changes by more than `tolerance` at ten times that λ. The settings' own λ is not read. Since the approach to
    /// the limit is as slow as λ^(-1/2), up to half the last change again may lie between this λ and ∞.
    ///
    /// # Errors
    /// Those of [`MultiHead::new`].
    pub fn at_large_lambda(
        tasks: &[Task],
        settings: &MultiHeadSettings,
        tolerance: f64,
        context: &Context,
    ) -> Result<Self> {
        let tasks = own_readouts(tasks);
        fits(&tasks, context)?;
        let (finite, evidence) = context.run(|| Finite::at_large_lambda(&tasks, settings, tolerance))?;
        Ok(MultiHead { finite, limit: None, evidence })
    }

    /// How far losses still move when the λ that stands for ∞ grows tenfold, where that is more than 1e-3: next to a transition.
    pub fn unsettled(&self) -> Option<f64> {
        self.evidence.last().map(|last| last.change).filter(|&change| change > TOLERANCE)
    }

    /// The number T of tasks.
    pub fn tasks(&self) -> usize {
        self.finite.tasks()
    }

    /// `u1(t,s) = <a_t·a_s>/N`; ∞ where it diverges with λ.
    pub fn u1(&self, t: usize, s: usize) -> f64 {
        self.factor(t, s, |p| p.u22, |p| if t == s { p.u11 } else { p.u12 }, Finite::u1)
    }

    /// `u0(t,s)`; ∞ where it diverges with λ, and 0 for s = 1.
    pub fn u0(&self, t: usize, s: usize) -> f64 {
        self.factor(t, s, |p| p.u0, |_| 0.0, Finite::u0)
    }

    /// `u1(t,s) − u0(t,s)`, without cancellation; 0 where it vanishes with λ.
    pub fn d(&self, t: usize, s: usize) -> f64 {
        self.factor(t, s, |p| p.d, |p| if t == s { p.u11 } else { p.u12 }, Finite::d)
    }

    /// A factor in the limit, where (2,2) may be a power of λ, or at finite λ.
    fn factor(
        &self,
        t: usize,
        s: usize,
        newest: impl Fn(&TwoTaskPoint) -> Power,
        with_first: impl Fn(&TwoTaskPoint) -> f64,
        finite: impl Fn(&Finite, usize, usize) -> f64,
    ) -> f64 {
        match &self.limit {
            Some(limit) if (t, s) == (2, 2) => newest(&limit.point).limit(),
            Some(limit) => with_first(&limit.point),
            None => finite(&self.finite, t, s),
        }
    }

    /// The exponent of λ in `u1(h,h) = ‖a_h‖²/N` as λ → ∞: exact in the limit of two tasks, elsewhere 0 or ½, whichever is
    /// nearer to the last of the evidence; 0 at finite λ. The variance of a head that was learned last grows alike.
    pub fn readout_exponent(&self, head: usize) -> f64 {
        match (&self.limit, self.evidence.last()) {
            (Some(limit), _) if head == 2 => limit.point.u22.exponent,
            (None, Some(last)) if last.readout_exponents[head - 1] > 0.25 => 0.5,
            _ => 0.0,
        }
    }

    /// The width N.
    pub fn width(&self) -> f64 {
        self.finite.width
    }

    /// The λ of the numbers: the settings' own, or the large one that stands for ∞.
    pub fn lambda(&self) -> f64 {
        self.finite.lambda()
    }

    /// The decimal digits that the worst conditioned kernel leaves, at least 4.
    pub fn digits(&self) -> f64 {
        self.limit.as_ref().map_or(self.finite.digits, |limit| limit.two.digits())
    }

    /// The scaled residual of every equation.
    pub fn residuals(&self) -> &[EquationResidual] {
        self.limit.as_ref().map_or(&self.finite.residuals, |limit| &limit.point.residuals)
    }

    /// The exact limit λ → ∞, factors as powers of λ; only for two tasks at λ = β = ∞.
    pub fn limit(&self) -> Option<&TwoTaskPoint> {
        self.limit.as_ref().map(|limit| &limit.point)
    }

    /// The regime, which is known for two tasks at λ = β = ∞.
    pub fn regime(&self) -> Option<Regime> {
        self.limit().and_then(TwoTaskPoint::regime)
    }

    /// What changed from each λ tried to the next, the last within the tolerance; empty unless a large λ stands for ∞.
    pub fn evidence(&self) -> &[LambdaEvidence] {
        &self.evidence
    }

    /// Head `head` after `time` tasks (`head ≤ time ≤ T`) on any inputs:
    /// `f(x) = f⁰(x) + Σ_t κ_t(x) u_t` with `κ_t = u1(h,t)k¹ − u0(h,t)k⁰` for t ≤ h and `u1(h,t)Δk` for t > h.
    ///
    /// # Errors
    /// [`Error::Setting`] for a head or time that does not exist, [`Error::Data`] for inputs that do not fit.
    pub fn predict(&self, head: usize, time: usize, x: MatRef<'_, f64>) -> Result<Prediction> {
        self.finite.check(head, time)?;
        match &self.limit {
            Some(limit) if time == 2 => limit.two.predict(head, &limit.point, x),
            _ => self.finite.predict(head, time, x),
        }
    }

    /// `F_{time,head}`: the loss of a head on its own training data, variance included; it has a limit λ → ∞.
    ///
    /// # Errors
    /// As [`MultiHead::predict`].
    pub fn forgetting(&self, time: usize, head: usize) -> Result<f64> {
        self.finite.check(head, time)?;
        match &self.limit {
            Some(limit) if head < time => {
                Ok(limit.two.training_losses(head, std::slice::from_ref(&limit.point))?[0].limit())
            }
            // The newest task is interpolated: β = ∞.
            Some(_) => Ok(0.0),
            None => self.finite.forgetting(time, head),
        }
    }

    /// `G_{time,head}`: the loss of a head on its task's held-out data, variance included, over that of a network of the
    /// same width and σ that learned this task alone; ∞ where it diverges with λ.
    ///
    /// # Errors
    /// As [`MultiHead::predict`]; [`Error::Data`] for a task without held-out data.
    pub fn generalization(&self, time: usize, head: usize) -> Result<f64> {
        self.finite.check(head, time)?;
        match &self.limit {
            Some(limit) if time == 2 => {
                Ok(limit.two.normalized_losses(head, std::slice::from_ref(&limit.point))?[0].limit())
            }
            _ => self.finite.generalization(time, head),
        }
    }

    /// A network of the same width and σ that learned task `head` alone, on any inputs.
    ///
    /// # Errors
    /// As [`MultiHead::predict`].
    pub fn alone(&self, head: usize, x: MatRef<'_, f64>) -> Result<Prediction> {
        self.finite.alone(head, x)
    }

    /// The learned part of `K_sim = <Φ(x)·Φ(x')>/N` on any inputs after two tasks.
    ///
    /// # Errors
    /// [`Error::OutsideTheory`] for any other number of tasks; [`Error::Data`] for inputs that do not fit.
    pub fn learned_kernel(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        match &self.limit {
            Some(limit) => limit.two.learned_kernel(&limit.point, x),
            None => self.finite.learned_kernel(x),
        }
    }

    /// `K_sim = <Φ(x)·Φ(x')>/N` of the hidden layer after two tasks: the prior `K¹_22` and what was learned.
    ///
    /// # Errors
    /// As [`MultiHead::learned_kernel`].
    pub fn hidden_kernel(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let learned = self.learned_kernel(x)?;
        // The prior needs no large λ to stand for ∞.
        let lambda = if self.evidence.is_empty() { self.lambda() } else { f64::INFINITY };
        let prior = WeightPrior::new(lambda, self.finite.prior.sigma2())?;
        Ok(Kernel::new(KernelKind::K1, self.finite.architecture, prior, 2, 2)?.gram_symmetric(x)? + learned)
    }

    /// `ΔΦ(x)·ΔΦ(x') = −u0 Δk<v_2v_2>Δk` (not divided by N): how far task 2 moved the hidden layer on any inputs.
    ///
    /// # Errors
    /// [`Error::OutsideTheory`] but for two tasks at λ = β = ∞, where it is derived; [`Error::Data`] for inputs that do not
    /// fit.
    pub fn representation_change(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let limit = self.limit.as_ref().ok_or_else(|| {
            Error::outside(
                format!("the change of representations by {} tasks at lambda = {}", self.tasks(), self.lambda()),
                "it is derived for two tasks at lambda = beta = inf",
            )
        })?;
        limit.two.representation_change(&limit.point, x)
    }
}
