//! Single-head learning at infinite width: every statistic of the network after every task.
//!
//! ```math
//! f_T(x) = f^0_T(x) + \sum_{t\le T}\tilde K_{Tt}(x,X_t)\,u_t, \qquad u = \mathcal L^{-1}\bigl(Y - f^0(X)\bigr)
//! ```
//!
//! `f⁰` is a sample of the prior, Gaussian with `Cov(f⁰_t(x), f⁰_s(x')) = m1(t,s) K¹_ts(x,x')`, and 𝓛 is block
//! lower-triangular with blocks `K̃_ts(X_t,X_s)`, s ≤ t. Its mean is the paper's Eqs. 27 and 28 (61–63 in the
//! derivation). Its covariance equals Eqs. 64–67, without their recursions for `<δp δv>`: it is symmetric by
//! construction, and zero on the newest task's data.
//!
//! | Item | What it is |
//! |---|---|
//! | [`SingleHead`] | the network that has learned a sequence: means, variances, covariances, samples |
//! | [`SingleHead::forecast`], [`SingleHeadForecast`] | forgetting and generalization of every task after every task |
//! | [`forgetting_of_first`], [`FirstTask`] | forgetting of the first task alone, of several theories from one set of products |
//! | [`SingleHeadSettings`] | mode, depth, λ, σ², β, and whether losses include the variance |
//! | [`Loss`] | squared error, or cross-entropy as trained networks have it |
//! | [`Precision`] | double precision, or single where that is enough for what is said of trained networks |
//! | [`Mode`] | random features (the paper's single-head figures), tangent kernel, or finite λ |
//! | [`Replay`], [`ReplayBudget`], [`Selection`] | what is stored of earlier tasks and learned again |
//!
//! Features may come with the outputs of the one network they are of ([`Present`](crate::tasks::Present)): f⁰ is then known, and
//! `f_T − f⁰` is what a network learns from targets `Y − f⁰(X)`. Losses and accuracies are those of `f_T`.
//!
//! A finite temperature 1/β is added to every diagonal block of 𝓛 and of the prior covariance.

mod covariance;
mod entropy;
mod feature_curve;
mod feature_space;
mod first_task;
mod forecast;
mod forward;
mod outcome;
mod pairs;
mod replay;
mod replay_curve;
mod sample;
pub(crate) mod score;
pub(crate) mod sequence_kernels;
mod settings;
mod single;
mod system;

pub use crate::theory::blocks::kernels::Mode;
pub(crate) use feature_curve::feature_replay_curve;
pub use first_task::{FirstTask, forgetting_of_first};
pub(crate) use forecast::TestAccuracies;
pub use forecast::{SingleHeadForecast, SingleHeadTest};
pub(crate) use outcome::Outcome;
pub(crate) use pairs::{PairForgetting, pair_forgetting};
pub use replay::{Replay, ReplayBudget, Selection};
#[allow(unused_imports)] // for those who compare amounts
pub(crate) use replay_curve::{replay_curve, replay_outcomes};
pub(crate) use settings::is_none;
pub use settings::{Loss, Precision, SingleHeadSettings};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::linalg::Mat;
use crate::plan::{feature_forgetting_cost, forgetting_cost};
use crate::theory::blocks::kernels::{KernelSource, Kernels};
use crate::theory::blocks::shared::{self, Shared, TaskInput};
use crate::theory::blocks::table;
use crate::theory::{Inputs, Points};
use covariance::Spread;
use forward::Learned;
use std::sync::{Arc, OnceLock};
use system::System;

/// Why there is no spread around it.
const ONE_NETWORK: &str = "present outputs, and features of each output apart, are those of one network";

/// A wide network with one readout that has learned a sequence of tasks:
/// `<f_T(x)> = Σ_{t≤T} K̃_Tt(x,X_t) ū_t`, `ū = 𝓛^{-1} Y`, 𝓛 block lower-triangular with blocks `K̃_ts(X_t,X_s)`.
///
/// Inputs that a task holds more than once are learned, equal ones with different targets as their average where there is no
/// temperature; losses and accuracies are of every example with its own target.
///
/// `𝓛^{-1}` is applied by forward substitution, with one Cholesky factor per task. Memory for means is that of a few
/// kernel blocks: at most [`SingleHeadSettings::keep_bytes`] beside three blocks of one task, plus P·T. Features of which some task
/// has fewer than examples are learned as a linear head, `W_t = W_{t−1} + (C_t + 1/β)^{-1} X_tᵀ(Y_t − X_t W_{t−1})/d` with
/// `C_t = X_tᵀX_t/d`: exactly the same, in d × d.
///
/// ```
/// use ebbing::{Context, SingleHead, Task, TaskSequence};
/// use ebbing::linalg::Mat;
/// use ebbing::rng::Stream;
/// use ebbing::theory::single_head::SingleHeadSettings;
/// let mut stream = Stream::new(1, "example", 0);
/// let mut task = || {
///     let x = Mat::from_fn(20, 30, |_, _| stream.normal());
///     Task::new(x, Mat::from_fn(20, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 }))
/// };
/// let sequence = TaskSequence::new(vec![task(), task()])?;
/// let network = SingleHead::new(&sequence, &SingleHeadSettings::default(), &Context::default())?;
/// let forgetting = network.forgetting()?;
/// assert!(forgetting[1][1] < 1e-20 && forgetting[1][0] > 0.0);
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug)]
pub struct SingleHead {
    settings: SingleHeadSettings,
    kernels: Arc<Kernels>,
    /// What is learned.
    shared: Shared,
    /// What losses are taken on, where that differs: with replay, each task's own data.
    own: Option<Shared>,
    learned: Learned,
    spread: OnceLock<Arc<Spread>>,
}

impl SingleHead {
    /// Learns the tasks. [`Inputs`] says where the kernels come from: a wide network of the settings' architecture,
    /// features (mode `rf` only), or kernels that are given (modes `rf` and `ntk`).
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range; [`Error::Data`] for tasks that do not fit together or cannot be
    /// learned (one example, targets that are all zero, NaN), for a mode that features or given
    /// kernels do not have, and for kernels that are not square or not symmetric; [`Error::NotPositiveDefinite`] and
    /// [`Error::LostAccuracy`] for kernels that are singular, or nearly so.
    pub fn new<'a>(
        inputs: impl Into<Inputs<'a>>,
        settings: &SingleHeadSettings,
        context: &Context,
    ) -> Result<SingleHead> {
        let inputs = inputs.into();
        let source = inputs.source(settings.architecture, settings.checked()?);
        // A spread takes kernels between all examples.
        let in_features = matches!(inputs, Inputs::Features(_)) && !settings.variance;
        let cost = if in_features { feature_forgetting_cost } else { forgetting_cost };
        inputs.fits("this forecast", cost, context)?;
        let given = inputs.given(settings.bias2)?;
        context.run(|| Self::learn(*settings, source, &given))
    }

    pub(crate) fn learn(
        settings: SingleHeadSettings,
        source: KernelSource,
        given: &[TaskInput<'_>],
    ) -> Result<SingleHead> {
        Self::learn_with(settings, Arc::new(Kernels::new(source, settings.limit()?)?), given)
    }

    /// The same with kernels that may serve others too.
    fn learn_with(settings: SingleHeadSettings, kernels: Arc<Kernels>, given: &[TaskInput<'_>]) -> Result<SingleHead> {
        let numbers = shared::number(given);
        shared::check(given)?;
        if settings.variance && given.iter().any(TaskInput::has_start) {
            return Err(Error::setting("variance", true, format!("must be false: {ONE_NETWORK}")));
        }
        if settings.replay.is_on() {
            let missed = Self::missed(settings, &kernels, given)?;
            let rehearsed = settings.replay.rehearsed(given, &numbers, &kernels, &missed)?;
            let joined = given.iter().zip(&rehearsed);
            let joined = joined.map(|(task, r)| TaskInput {
                points: r.points.points(),
                y: r.y.as_ref(),
                present: [r.present.as_ref().map(|f| f.as_ref()), task.present[1]],
                ..task.clone()
            });
            let shared = Shared::nothing(&joined.collect::<Vec<_>>());
            return Self::with(settings, kernels, shared, Some(Shared::nothing(given)));
        }
        let squared = settings.loss == Loss::Squared;
        let share =
            squared && settings.share && kernels.stationary() && matches!(kernels.source, KernelSource::Network(_));
        let shared = if share { Shared::find(given, &numbers) } else { Shared::nothing(given) };
        Self::with(settings, kernels, shared, None)
    }

    fn with(
        settings: SingleHeadSettings,
        kernels: Arc<Kernels>,
        shared: Shared,
        own: Option<Shared>,
    ) -> Result<SingleHead> {
        let learned = if feature_space::serves(&kernels, &shared) {
            feature_space::learn(&shared, &settings)?
        } else if let Some(learned) = single::learn(&kernels, &shared, &settings)? {
            learned
        } else if kernels.stationary() {
            forward::learn(&kernels, &shared, &settings)?
        } else {
            system::learn(&kernels, &shared, &settings)?
        };
        Ok(SingleHead { settings, kernels, shared, own, learned, spread: OnceLock::new() })
    }

    /// `f_T(X_s) − Y_s` of every task s at the end, without replay, where the selection of examples asks for it.
    fn missed(settings: SingleHeadSettings, kernels: &Arc<Kernels>, given: &[TaskInput<'_>]) -> Result<Vec<Mat<f64>>> {
        if !settings.replay.selection.knows_the_end() {
            return Ok(vec![]);
        }
        let plain = SingleHeadSettings { replay: Replay::default(), ..settings };
        let network = Self::with(plain, kernels.clone(), Shared::nothing(given), None)?;
        let left = given.iter().zip(&network.shared.tasks);
        left.map(|(task, prepared)| Ok(network.mean(task.points, given.len())? - &prepared.y)).collect()
    }

    /// A fresh network that learns one task (from 0) of `tasks` alone.
    fn alone(&self, tasks: &Shared, s: usize) -> Result<SingleHead> {
        Self::with(self.settings, self.kernels.clone(), tasks.alone(s), None)
    }

    /// The tasks as losses are taken on them.
    fn own(&self) -> &Shared {
        self.own.as_ref().unwrap_or(&self.shared)
    }

    /// The number of tasks.
    pub fn tasks(&self) -> usize {
        self.shared.tasks.len()
    }

    /// Whether it was learned in d × d, as a linear head on d features.
    pub(crate) fn in_feature_space(&self) -> bool {
        self.learned.weights.is_some()
    }

    /// The number of target columns.
    pub fn columns(&self) -> usize {
        self.shared.tasks[0].y.ncols()
    }

    /// The settings in force.
    pub fn settings(&self) -> &SingleHeadSettings {
        &self.settings
    }

    /// The estimated number of correct decimal digits of means: `−log₁₀(ε · condition)` of the worst kernel.
    pub fn digits(&self) -> f64 {
        self.learned.inverses.digits
    }

    /// The largest `|Y_t − Σ_s K̃_ts u_s − u_t/β|/|Y_t|` of a task, in double precision at examples drawn at random, where the
    /// sequence was learned in [single precision](Precision::Single); none where it was not.
    pub fn residual(&self) -> Option<f64> {
        self.learned.single.as_ref().map(|single| single.residual)
    }

    /// The number of inputs that every task holds, whose kernels were made once.
    pub fn shared_inputs(&self) -> usize {
        self.shared.common.len()
    }

    /// `<f_t(x)> = Σ_{s≤t} K̃_ts(x,X_s) ū_s` (paper, Eq. 27) after task t (from 1): one row per point, one column per
    /// target. Of a network that starts from outputs of its own, what it has learned beyond them: `f_t(x) − f_0(x)`.
    ///
    /// # Errors
    /// [`Error::Setting`] where there is no task t; [`Error::Data`] for points of another dimension.
    pub fn mean<'a>(&self, x: impl Into<Points<'a>>, t: usize) -> Result<Mat<f64>> {
        let (x, t) = (x.into(), self.index(t)?);
        self.check_points(x)?;
        Ok(self.outputs(x, &[t])?.swap_remove(0))
    }

    /// [`SingleHead::mean`] after every task, from one kernel block per task where the mode allows it.
    ///
    /// # Errors
    /// As for [`SingleHead::mean`].
    pub fn means<'a>(&self, x: impl Into<Points<'a>>) -> Result<Vec<Mat<f64>>> {
        let (x, all): (Points<'a>, Vec<usize>) = (x.into(), (0..self.tasks()).collect());
        self.check_points(x)?;
        self.outputs(x, &all)
    }

    /// The mean after some tasks (from 0).
    fn outputs(&self, x: Points<'_>, times: &[usize]) -> Result<Vec<Mat<f64>>> {
        Ok(self.outputs_and_alone(x, times, None)?.0)
    }

    /// The mean after some tasks (from 0), and that of a fresh network that learned one task alone where it is known.
    fn outputs_and_alone(
        &self,
        x: Points<'_>,
        times: &[usize],
        alone: Option<usize>,
    ) -> Result<(Vec<Mat<f64>>, Option<Mat<f64>>)> {
        let Learned { weights, single, duals, alone: fresh, .. } = &self.learned;
        match (weights, single) {
            (Some(weights), _) => Ok((weights.outputs(x, times)?, None)),
            (_, Some(single)) => single.outputs(x, times, alone),
            _ => {
                let alone = alone.and_then(|s| fresh.get(s).map(|dual| (s, dual)));
                system::outputs(&self.kernels, &self.shared, duals, x, times, alone)
            }
        }
    }

    /// `Var f_t(x) = m1 K¹_tt(x,x) − 2 A c(x) + A C Aᵀ` (paper, Eqs. 64–67) after task t (from 1), the same for every
    /// target column.
    ///
    /// `A = K̃_t·(x,X) 𝓛^{-1}`; c and C are the prior covariances of `f⁰(X)` with `f⁰_t(x)` and with itself.
    ///
    /// The first call makes 𝓛 and C: (ΣP)² numbers, kept for later calls.
    ///
    /// # Errors
    /// As for [`SingleHead::mean`].
    pub fn variance<'a>(&self, x: impl Into<Points<'a>>, t: usize) -> Result<Vec<f64>> {
        let (x, t) = (x.into(), self.index(t)?);
        self.check_points(x)?;
        self.spread()?.variance(&self.kernels, x, t)
    }

    /// `Cov(f_t(x), f_s(x'))` of the network after task t and after task s (both from 1), the same for every target column.
    ///
    /// # Errors
    /// As for [`SingleHead::mean`].
    pub fn covariance<'a, 'b>(
        &self,
        (x, t): (impl Into<Points<'a>>, usize),
        (x2, s): (impl Into<Points<'b>>, usize),
    ) -> Result<Mat<f64>> {
        let (x, x2) = (x.into(), x2.into());
        self.check_points(x)?;
        self.check_points(x2)?;
        let (t, s) = (self.index(t)?, self.index(s)?);
        self.spread()?.covariance(&self.kernels, (x, t), (x2, s))
    }

    /// 𝓛 and C, made at the first call.
    fn spread(&self) -> Result<Arc<Spread>> {
        if let Some(spread) = self.spread.get() {
            return Ok(spread.clone());
        }
        if self.shared.tasks.iter().any(|task| task.start.is_some()) {
            let what = "the spread of networks around their mean".into();
            return Err(Error::OutsideTheory { what, reason: ONE_NETWORK.into() });
        }
        let system = System::new(&self.kernels, &self.shared, &self.settings)?;
        let spread = Arc::new(Spread::new(&self.kernels, system, self.settings.ridge())?);
        crate::stop::check()?;
        Ok(self.spread.get_or_init(|| spread).clone())
    }

    /// Task t of the user's counting, from 0.
    fn index(&self, t: usize) -> Result<usize> {
        if (1..=self.tasks()).contains(&t) {
            return Ok(t - 1);
        }
        Err(Error::setting("the task", t, format!("tasks count from 1 to {}", self.tasks())))
    }

    /// Refuses points that the kernels cannot take.
    fn check_points(&self, x: Points<'_>) -> Result<()> {
        match (x, self.shared.tasks[0].own.points()) {
            (Points::Inputs(x), Points::Inputs(known)) if x.ncols() != known.ncols() => {
                let problem = format!("{} features where the tasks have {}; they must agree", x.ncols(), known.ncols());
                Err(Error::data("points", problem))
            }
            (Points::Rows(rows), Points::Rows(_)) => table::check_rows(rows, self.table_size(), "points"),
            _ => Ok(()),
        }
    }

    fn table_size(&self) -> usize {
        if let KernelSource::Table { nngp, .. } = &self.kernels.source { nngp.points() } else { 0 }
    }
}
