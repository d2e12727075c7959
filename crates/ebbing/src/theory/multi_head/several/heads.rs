//! All heads of any number of tasks with any numbers of outputs: which part of the theory serves which case is decided here.

use super::pair::{TwoTaskOutputs, TwoTaskOutputsPoint};
use super::prediction::OutputPrediction;
use super::steps::Finite;
use crate::context::Context;
use crate::error::{Result, refuse};
use crate::kernels::{Kernel, KernelKind};
use crate::linalg::{Mat, MatRef};
use crate::plan::{Sizes, sequence_cost};
use crate::tasks::{Task, own_readouts};
use crate::theory::multi_head::large_lambda::{AtLambda, LambdaEvidence, rise};
use crate::theory::multi_head::settings::{MultiHeadSettings, check_several, held_out, task_name};
use crate::theory::multi_head::solve::EquationResidual;
use crate::theory::multi_head::{MultiHead, Prediction, Regime};

/// Where a large λ stands for ∞, no forgetting changes by more than this when λ grows tenfold.
const TOLERANCE: f64 = 1e-3;

/// `U1(t,s) = <A_tᵀA_s>/N` and `U0(t,s)` of heads with several outputs: the multi-head theory of any number of tasks, with any number
/// of outputs each, at any λ and any β.
///
/// | outputs | λ | tasks | how |
/// |---|---|---|---|
/// | one per head | any | any | [`MultiHead`] itself |
/// | several | any | 2, β = ∞ | [`TwoTaskOutputs`] at one load |
/// | several | finite | any | factors one task after another |
/// | several | ∞ | more than 2, or β finite | a large λ that stands for ∞, with its [`evidence`](Self::evidence) |
///
/// Targets that are classes become those of [`crate::tasks::own_readouts`]: every head has an output for each of its own classes, and one
/// output for two of them. Others are taken as they are, one column per output. Heads, tasks and times count
/// from 1.
///
/// ```
/// use ebbing::linalg::Mat;
/// use ebbing::rng::Stream;
/// use ebbing::theory::multi_head::{MultiHeadSettings, SeveralOutputs};
/// use ebbing::Task;
/// let mut stream = Stream::new(1, "example", 0);
/// let tasks: Vec<Task> = [2, 3, 1]
///     .iter()
///     .map(|&outputs| {
///         let x = Mat::from_fn(12, 20, |_, _| stream.normal());
///         Task::new(x, Mat::from_fn(12, outputs, |_, _| stream.normal()))
///     })
///     .collect();
/// let settings = MultiHeadSettings { alpha: Some(0.5), lambda: 3.0, ..Default::default() };
/// let theory = SeveralOutputs::new(&tasks, &settings, &ebbing::Context::default())?;
/// assert_eq!((theory.u1(1, 2).nrows(), theory.u1(1, 2).ncols()), (2, 3));
/// assert!(theory.forgetting(3, 1)? > 0.0);
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SeveralOutputs {
    inner: Inner,
    evidence: Vec<LambdaEvidence>,
}

#[derive(Debug, Clone)]
enum Inner {
    One { theory: Box<MultiHead>, tasks: Vec<Task> },
    Two { two: Box<TwoTaskOutputs>, point: Box<TwoTaskOutputsPoint> },
    Any(Box<Finite>),
}

impl AtLambda for Finite {
    fn lambda(&self) -> f64 {
        self.prior.lambda()
    }

    fn tasks(&self) -> usize {
        Finite::tasks(self)
    }

    fn last_forgetting(&self, head: usize) -> Result<f64> {
        let task = &self.tasks[head - 1];
        Ok(self.predict(head, Finite::tasks(self), task.x.as_ref())?.loss(task.y.as_ref()).coefficient)
    }

    fn norm(&self, head: usize) -> f64 {
        let u = self.u1(head, head);
        (0..u.nrows()).map(|a| u[(a, a)]).sum::<f64>() / u.nrows() as f64
    }

    fn hidden_share(&self) -> Result<f64> {
        let mut most: f64 = 0.0;
        for t in (2..=Finite::tasks(self)).filter(|_| self.ridge > 0.0) {
            let kernel = Kernel::new(KernelKind::DeltaK, self.architecture, self.prior, t, t)?;
            most = most.max(self.share(t, &kernel.gram_symmetric(self.tasks[t - 1].x.as_ref())?));
        }
        Ok(most)
    }
}

/// The memory that kernels of several outputs take: P m rows where they are kept whole.
fn fits(tasks: &[Task], whole: bool, context: &Context) -> Result<()> {
    let rows = |task: &Task| task.x.nrows() * if whole { task.y.ncols() } else { 1 };
    let sizes = Sizes {
        train: tasks.iter().map(rows).collect(),
        test: tasks.iter().map(|task| task.test.as_ref().map_or(0, |test| test.x.nrows())).collect(),
        dim: tasks.first().map_or(0, |task| task.x.ncols()),
        columns: 1,
        distinct: None,
    };
    context.plan().check("the theory of a readout per task", &sizes, sequence_cost)
}

impl SeveralOutputs {
    /// Solves for the factors of all tasks at the settings' λ.
    ///
    /// # Errors
    /// [`crate::Error::OutsideTheory`] for several hidden layers, or a bound on readouts of several outputs at λ = ∞ with β = ∞;
    /// [`crate::Error::Setting`] and [`crate::Error::Data`] for bad settings and tasks, [`crate::Error::NotPositiveDefinite`] or
    /// [`crate::Error::LostAccuracy`] for singular kernels, [`crate::Error::NotConverged`] with its trace where the equations are not solved.
    pub fn new(tasks: &[Task], settings: &MultiHeadSettings, context: &Context) -> Result<Self> {
        let tasks = &own_readouts(tasks)[..];
        check_several(tasks)?;
        if tasks.iter().all(|task| task.y.ncols() == 1) {
            let theory = Box::new(MultiHead::new(tasks, settings, context)?);
            return Ok(SeveralOutputs { inner: Inner::One { theory, tasks: tasks.to_vec() }, evidence: vec![] });
        }
        if tasks.len() == 2 && settings.ridge()? == 0.0 {
            let two = Box::new(TwoTaskOutputs::new(tasks, settings, context)?);
            let alpha = settings.load(tasks[1].x.nrows())?;
            let point = Box::new(context.run(|| two.point(alpha))?);
            return Ok(SeveralOutputs { inner: Inner::Two { two, point }, evidence: vec![] });
        }
        fits(tasks, tasks.len() > 1, context)?;
        if settings.lambda.is_infinite() && tasks.len() > 1 {
            let at = |lambda: f64| Finite::new(tasks, &MultiHeadSettings { lambda, ..settings.clone() });
            let (theory, evidence) = context.run(|| rise(at, settings.beta, TOLERANCE))?;
            return Ok(SeveralOutputs { inner: Inner::Any(Box::new(theory)), evidence });
        }
        let theory = context.run(|| Finite::new(tasks, settings))?;
        Ok(SeveralOutputs { inner: Inner::Any(Box::new(theory)), evidence: vec![] })
    }

    fn all_tasks(&self) -> &[Task] {
        match &self.inner {
            Inner::One { tasks, .. } => tasks,
            Inner::Two { two, .. } => &two.tasks,
            Inner::Any(theory) => &theory.tasks,
        }
    }

    /// The number T of tasks.
    pub fn tasks(&self) -> usize {
        self.all_tasks().len()
    }

    /// The number of outputs of a head.
    pub fn outputs(&self, head: usize) -> usize {
        self.all_tasks()[head - 1].y.ncols()
    }

    /// The width N.
    pub fn width(&self) -> f64 {
        match &self.inner {
            Inner::One { theory, .. } => theory.width(),
            Inner::Two { point, .. } => point.width,
            Inner::Any(theory) => theory.width,
        }
    }

    /// The λ of the numbers: the settings' own, or the large one that stands for ∞.
    pub fn lambda(&self) -> f64 {
        match &self.inner {
            Inner::One { theory, .. } => theory.lambda(),
            Inner::Two { two, .. } => two.lambda(),
            Inner::Any(theory) => theory.prior.lambda(),
        }
    }

    /// The decimal digits that the worst conditioned kernel leaves, at least 4.
    pub fn digits(&self) -> f64 {
        match &self.inner {
            Inner::One { theory, .. } => theory.digits(),
            Inner::Two { two, .. } => two.digits(),
            Inner::Any(theory) => theory.digits,
        }
    }

    /// The scaled residual of every equation; for matrices the largest of their entries.
    pub fn residuals(&self) -> &[EquationResidual] {
        match &self.inner {
            Inner::One { theory, .. } => theory.residuals(),
            Inner::Two { point, .. } => &point.residuals,
            Inner::Any(theory) => &theory.residuals,
        }
    }

    /// What changed from each λ tried to the next; empty unless a large λ stands for ∞.
    pub fn evidence(&self) -> &[LambdaEvidence] {
        match &self.inner {
            Inner::One { theory, .. } => theory.evidence(),
            _ => &self.evidence,
        }
    }

    /// How far losses still move when the λ that stands for ∞ grows tenfold, where that is more than 1e-3: next to a transition.
    pub fn unsettled(&self) -> Option<f64> {
        self.evidence().last().map(|last| last.change).filter(|&change| change > TOLERANCE)
    }

    /// The exponent of λ in `U1(h,h)` as λ → ∞: exact for two tasks at β = ∞, elsewhere 0 or ½, whichever is nearer to the last of the
    /// evidence; 0 at finite λ.
    pub fn readout_exponent(&self, head: usize) -> f64 {
        match &self.inner {
            Inner::One { theory, .. } => theory.readout_exponent(head),
            Inner::Two { point, .. } if head == 2 => point.exponent,
            _ => {
                self.evidence.last().map_or(0.0, |last| if last.readout_exponents[head - 1] > 0.25 { 0.5 } else { 0.0 })
            }
        }
    }

    /// The mean over outputs of `|a|²/N` of a head's readouts; infinite where it diverges with λ.
    pub fn norm(&self, head: usize) -> f64 {
        let u = self.u1(head, head);
        (0..u.nrows()).map(|a| u[(a, a)]).sum::<f64>() / u.nrows() as f64
    }

    /// The regime, which heads of one output have for two tasks at λ = β = ∞; [`SeveralOutputs::two_tasks`] has those of directions.
    pub fn regime(&self) -> Option<Regime> {
        match &self.inner {
            Inner::One { theory, .. } => theory.regime(),
            _ => None,
        }
    }

    /// The tasks, with the targets that were learned.
    pub fn learned_tasks(&self) -> &[Task] {
        self.all_tasks()
    }

    /// The theory of one output per head, where every head has one.
    pub fn one_output(&self) -> Option<&MultiHead> {
        match &self.inner {
            Inner::One { theory, .. } => Some(theory),
            _ => None,
        }
    }

    /// The factors of two tasks with several outputs at β = ∞, regimes by direction at λ = ∞.
    pub fn two_tasks(&self) -> Option<&TwoTaskOutputsPoint> {
        match &self.inner {
            Inner::Two { point, .. } => Some(point),
            _ => None,
        }
    }

    /// `U1(t,s) = <A_tᵀA_s>/N`, m_t × m_s; infinite entries where it diverges with λ.
    pub fn u1(&self, t: usize, s: usize) -> Mat<f64> {
        self.factor(
            t,
            s,
            |p| &p.u22,
            MultiHead::u1,
            |p| Some(if t == 1 && s == 1 { p.u11.clone() } else { p.u12.clone() }),
            Finite::u1,
        )
    }

    /// `U0(t,s)`, the same between networks that part before the earlier of the two tasks; 0 for the first task.
    pub fn u0(&self, t: usize, s: usize) -> Mat<f64> {
        self.factor(t, s, |p| &p.u0, MultiHead::u0, |_| None, Finite::u0)
    }

    /// `U1(t,s) − U0(t,s)`, without cancellation.
    pub fn d(&self, t: usize, s: usize) -> Mat<f64> {
        self.factor(
            t,
            s,
            |p| &p.d,
            MultiHead::d,
            |p| Some(if t == 1 && s == 1 { p.u11.clone() } else { p.u12.clone() }),
            Finite::d,
        )
    }

    fn factor(
        &self,
        t: usize,
        s: usize,
        newest: impl Fn(&TwoTaskOutputsPoint) -> &Mat<f64>,
        one: impl Fn(&MultiHead, usize, usize) -> f64,
        with_first: impl Fn(&TwoTaskOutputsPoint) -> Option<Mat<f64>>,
        any: impl Fn(&Finite, usize, usize) -> Mat<f64>,
    ) -> Mat<f64> {
        match &self.inner {
            Inner::One { theory, .. } => Mat::from_fn(1, 1, |_, _| one(theory, t, s)),
            Inner::Any(theory) => any(theory, t, s),
            Inner::Two { point, .. } if (t, s) == (2, 2) => {
                let found = newest(point);
                // D has a limit everywhere; the others have the point's power of λ.
                let diverges = point.exponent > 0.0 && !std::ptr::eq(found, &point.d);
                let limit = |x: f64| if diverges && x != 0.0 { x * f64::INFINITY } else { x };
                Mat::from_fn(found.nrows(), found.ncols(), |a, b| limit(found[(a, b)]))
            }
            Inner::Two { point, .. } => {
                let found =
                    with_first(point).unwrap_or_else(|| Mat::zeros(self.outputs(t.min(s)), self.outputs(t.max(s))));
                if t > s { found.transpose().to_owned() } else { found }
            }
        }
    }

    /// Refuses a time that is not in 1 … T, and a head that does not exist then.
    fn check(&self, head: usize, time: usize) -> Result<()> {
        let tasks = self.tasks();
        refuse(time == 0 || time > tasks, "t", time, format!("must be in 1 … {tasks}"))?;
        refuse(head == 0 || head > time, "head", head, format!("must be in 1 … {time}: later heads do not exist yet"))
    }

    /// Head `head` after `time` tasks (`head ≤ time ≤ T`) on any inputs.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for a head or time that does not exist, [`crate::Error::Data`] for inputs that do not fit.
    pub fn predict(&self, head: usize, time: usize, x: MatRef<'_, f64>) -> Result<OutputPrediction> {
        self.check(head, time)?;
        match &self.inner {
            Inner::One { theory, .. } => Ok(single(theory.predict(head, time, x)?)),
            Inner::Two { two, point, .. } if time == 2 => two.predict(head, point, x),
            // Head 1 before task 2.
            Inner::Two { two, point } => two.alone(head, point.width, x),
            Inner::Any(theory) => theory.predict(head, time, x),
        }
    }

    /// A network of the same width and priors that learned task `head` alone, on any inputs.
    ///
    /// # Errors
    /// As [`SeveralOutputs::predict`].
    pub fn alone(&self, head: usize, x: MatRef<'_, f64>) -> Result<OutputPrediction> {
        let tasks = self.tasks();
        refuse(head == 0 || head > tasks, "head", head, format!("must be in 1 … {tasks}"))?;
        match &self.inner {
            Inner::One { theory, .. } => Ok(single(theory.alone(head, x)?)),
            Inner::Two { two, point, .. } => two.alone(head, point.width, x),
            Inner::Any(theory) => theory.alone(head, x),
        }
    }

    /// `F_{time,head}`: the loss of a head on its own training data, covariance included; it has a limit λ → ∞.
    ///
    /// # Errors
    /// As [`SeveralOutputs::predict`].
    pub fn forgetting(&self, time: usize, head: usize) -> Result<f64> {
        self.check(head, time)?;
        if let Inner::One { theory, .. } = &self.inner {
            return theory.forgetting(time, head);
        }
        if let (Inner::Two { point, .. }, 2, 2) = (&self.inner, time, head)
            && point.lambda.is_infinite()
        {
            // The newest task is interpolated: β = ∞.
            return Ok(0.0);
        }
        let task = &self.all_tasks()[head - 1];
        Ok(self.predict(head, time, task.x.as_ref())?.loss(task.y.as_ref()).limit())
    }

    /// `G_{time,head}`: the loss of a head on its task's held-out data, covariance included, over that of a network of the same width
    /// and priors that learned this task alone; ∞ where it diverges with λ.
    ///
    /// # Errors
    /// As [`SeveralOutputs::predict`]; [`crate::Error::Data`] for a task without held-out data.
    pub fn generalization(&self, time: usize, head: usize) -> Result<f64> {
        self.check(head, time)?;
        if let Inner::One { theory, .. } = &self.inner {
            return theory.generalization(time, head);
        }
        let test = held_out(self.all_tasks(), head)?;
        let loss = self.predict(head, time, test.x.as_ref())?.loss(test.y.as_ref());
        let alone = self.alone(head, test.x.as_ref())?.loss(test.y.as_ref());
        Ok(loss.limit() / alone.coefficient)
    }

    /// The name of a task, as errors call it.
    pub fn task_name(&self, task: usize) -> String {
        task_name(self.all_tasks(), task - 1)
    }
}

/// A prediction of one output.
fn single(found: Prediction) -> OutputPrediction {
    OutputPrediction {
        mean: Mat::from_fn(found.mean.len(), 1, |i, _| found.mean[i]),
        covariance: found.variance.iter().map(|v| Mat::from_fn(1, 1, |_, _| *v)).collect(),
        exponent: found.variance_exponent,
    }
}
