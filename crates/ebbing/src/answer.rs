//! What requests are answered with: plain data for whoever shows or stores it.

use crate::nets::{Learner, MeanInterference, PosteriorSettings, SampledPosterior, TaskReport, TrainSettings, Trained};
use crate::stats::Estimate;
use crate::tasks::{Provenance, prepared_words};
use crate::theory::advise::{Advice, AdviseSettings};
use crate::theory::best_lambda::BestLambda;
use crate::theory::forecast::ForecastSettings;
use crate::theory::multi_head::{CriticalLoad, Regime, TwoTasks};
use crate::theory::phase::{Location, LossMaps, PhaseCurve, SequenceCurve, WidthPoint};
use crate::{Forecast, Result, Task, TaskSequence};
use serde::Serialize;

/// A forecast and what it is of.
#[derive(Debug, Clone)]
pub struct ForecastResult {
    /// What was computed on what, in one line.
    pub heading: String,
    /// The forecast: of the last layer, where several feature files were given.
    pub forecast: Forecast,
    /// The settings of the theory.
    pub settings: ForecastSettings,
    /// The first seed.
    pub seed: u64,
    /// The first sequence, and what it was drawn from.
    pub first: TaskSequence,
    /// Every layer by the name of its file, where several were given.
    pub layers: Vec<(String, Forecast)>,
}

/// Advice and what it is on.
#[derive(Debug, Clone)]
pub struct AdviseResult {
    /// What was computed on what, in one line.
    pub heading: String,
    /// The advice.
    pub advice: Advice,
    /// The settings of the library.
    pub settings: AdviseSettings,
    /// The first seed.
    pub seed: u64,
    /// The first sequence's settings.
    pub tasks: Provenance,
}

/// Two tasks in the diagram.
#[derive(Debug, Clone)]
pub struct PhasePlace {
    /// Everything that made the tasks.
    pub settings: Provenance,
    /// What was done to inputs and targets, in words.
    pub prepared: String,
    /// Prior standard deviation of a weight.
    pub sigma: f64,
    /// Examples of either task.
    pub sizes: Vec<usize>,
    /// The critical load.
    pub critical: CriticalLoad,
    /// Where the width lies.
    pub location: Option<Location>,
    /// The penalty that serves both tasks best at that width, where both have test sets.
    pub best: Option<BestLambda>,
    /// At λ → ∞ and where both have test sets: that width, and the best of all widths of the curves.
    pub widths: Option<[WidthPoint; 2]>,
    /// Whether both have test sets.
    pub tested: bool,
    /// Curves against the load, one per λ.
    pub curves: Vec<PhaseCurve>,
    /// What they do to the hidden layer, where that was asked for.
    pub representation: Vec<Representation>,
}

impl PhasePlace {
    /// Two tasks in the diagram, from their decomposition at λ → ∞ and the maps of their losses; `with_own` makes the curve at
    /// λ → ∞ whose first point is the load given, and `curves` are those to be drawn. The best penalty is not searched, and the
    /// hidden layer not looked at.
    ///
    /// # Errors
    /// As for [`CriticalLoad::locate`] and [`TwoTasks::curve_from`].
    pub fn of(
        (two, maps): (&TwoTasks, &LossMaps),
        width: Option<f64>,
        with_own: impl FnOnce(f64) -> Result<PhaseCurve>,
        curves: Vec<PhaseCurve>,
        (settings, tasks): (Provenance, &[Task]),
        sigma: f64,
    ) -> Result<PhasePlace> {
        let sizes = two.sizes();
        let critical = maps.critical.clone().map_or_else(|| two.critical_load(), Ok)?;
        let location = width.map(|n| critical.locate(sizes[1], n)).transpose()?;
        let widths = match &location {
            Some(location) => {
                let curve = with_own(location.alpha)?;
                curve.widths().zip(curve.best_width()).map(|(all, best)| [all[0], best])
            }
            None => None,
        };
        let (sizes, tested) = (sizes.to_vec(), maps.tested());
        let (prepared, representation) = (prepared_words(&settings, tasks, true), vec![]);
        let best = None;
        Ok(PhasePlace {
            settings,
            prepared,
            sigma,
            sizes,
            critical,
            location,
            best,
            widths,
            tested,
            curves,
            representation,
        })
    }
}

/// What learning two tasks does to the hidden layer, on the inputs of one of them.
#[derive(Debug, Clone, Serialize)]
pub struct Representation {
    /// The penalty λ.
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// The task whose inputs are looked at, from 1.
    pub task: usize,
    /// Centered alignment of the learned part of `K_sim = Φ·Φ/N` with the task's labels.
    pub alignment: Option<f64>,
    /// Mean over inputs of `|ΔΦ(x)|²/N`, ΔΦ what task 2 changes; at λ = ∞ alone.
    pub change: Option<f64>,
    /// Centered alignment of `ΔΦ·ΔΦ` with the task's labels, where there is a change.
    pub change_alignment: Option<f64>,
}

/// One pair of a sequence, with a readout each.
#[derive(Debug, Clone, Serialize)]
pub struct PhasePair {
    /// The task learned first, from 1.
    pub first: usize,
    /// The task learned second, from 1.
    pub second: usize,
    /// Their critical load.
    pub critical_load: CriticalLoad,
    /// Where the width lies that was asked about.
    pub location: Option<Location>,
}

/// All pairs of a sequence in the order learned.
#[derive(Debug, Clone)]
pub struct PhasePairs {
    /// Everything that made the tasks.
    pub settings: Provenance,
    /// What was done to inputs and targets, in words.
    pub prepared: String,
    /// Examples of each task.
    pub sizes: Vec<usize>,
    /// The pairs.
    pub pairs: Vec<PhasePair>,
}

/// Curves against the load of any number of tasks with a readout each.
#[derive(Debug, Clone)]
pub struct PhaseSequence {
    /// Everything that made the tasks.
    pub settings: Provenance,
    /// What was done to inputs and targets, in words.
    pub prepared: String,
    /// Examples of each task.
    pub sizes: Vec<usize>,
    /// One per λ.
    pub curves: Vec<SequenceCurve>,
    /// The load of the width that was asked about, and that width.
    pub at_width: Option<(f64, f64)>,
}

/// The diagram of two tasks over a setting of their protocol.
#[derive(Debug, Clone)]
pub struct PhaseDiagram {
    /// Everything that made the first tasks.
    pub settings: Provenance,
    /// The name of the setting on axes (markup).
    pub axis: &'static str,
    /// The data set or source of the tasks.
    pub data: String,
    /// Examples of each task.
    pub examples: usize,
    /// Prior standard deviation of a weight.
    pub sigma: f64,
    /// The bound on `|a|²/N` of every readout, where there is one.
    pub readout_norm: Option<f64>,
    /// Whether labels were scaled to `YᵀK⁻¹Y/P = 1`.
    pub rescaled: bool,
    /// How many seeds were averaged.
    pub seeds: usize,
    /// The smallest and the largest load.
    pub loads: (f64, f64),
    /// The critical loads of every value.
    pub values: Vec<SweptLoads>,
    /// The curves of some values.
    pub curves: Vec<SweptCurves>,
}

/// One value of a sweep: its critical loads over seeds.
#[derive(Debug, Clone)]
pub struct SweptLoads {
    /// The value.
    pub value: f64,
    /// One per seed.
    pub loads: Vec<CriticalLoad>,
}

impl SweptLoads {
    /// Mean and standard error of a number over seeds; a number that is infinite for any seed is infinite.
    pub fn mean(&self, get: fn(&CriticalLoad) -> f64) -> Estimate {
        Estimate::over(&self.loads.iter().map(get).collect::<Vec<f64>>())
    }
}

/// The curves of one value of a sweep (first seed), one per λ.
#[derive(Debug, Clone)]
pub struct SweptCurves {
    /// The value.
    pub value: f64,
    /// One per λ.
    pub curves: Vec<PhaseCurve>,
}

/// Networks of several learners, trained on one sequence or on one for each seed.
#[derive(Debug, Clone)]
pub struct TrainResult {
    /// The sequence of the first seed.
    pub first: TaskSequence,
    /// How many seeds were averaged.
    pub seeds: usize,
    /// The learners.
    pub learners: Vec<LearnerRuns>,
    /// The theory's loss of task 1 after each task, with its name, where one readout serves all tasks.
    pub theory: Option<(String, Vec<Estimate>)>,
}

/// What became of the runs of a learner.
#[derive(Debug, Clone)]
pub struct LearnerRuns {
    /// The rule.
    pub learner: Learner,
    /// All settings of the run of the first seed.
    pub settings: TrainSettings,
    /// Runs that went through.
    pub runs: Vec<Trained>,
    /// What to say of each of the others: these enter no average.
    pub diverged: Vec<String>,
}

/// Two tasks with a readout each, learned by trained networks at several loads α = P/N.
#[derive(Debug, Clone)]
pub struct LoadsResult {
    /// The two tasks.
    pub sequence: TaskSequence,
    /// The settings of the run of the first seed.
    pub settings: TrainSettings,
    /// How many seeds were averaged.
    pub seeds: usize,
    /// What was measured.
    pub points: Vec<MeasuredLoad>,
    /// The exact critical load.
    pub critical: f64,
    /// The theory at λ → ∞, against the load.
    pub theory: PhaseCurve,
}

/// What was measured at one load.
#[derive(Debug, Clone)]
pub struct MeasuredLoad {
    /// The load P/N.
    pub alpha: f64,
    /// The width N.
    pub width: usize,
    /// Losses and training errors over the runs that went through.
    pub mean: MeanInterference,
    /// How many runs there were.
    pub runs: usize,
    /// How each task of each run that went through was learned, and task 2 alone.
    pub reports: Vec<TaskReport>,
    /// What to say of each run that diverged: these enter no average.
    pub diverged: Vec<String>,
    /// The regime by the theory.
    pub regime: Regime,
}

/// Sampled networks and the theory of them.
#[derive(Debug, Clone)]
pub struct SampleResult {
    /// The tasks.
    pub sequence: TaskSequence,
    /// How networks were sampled.
    pub settings: PosteriorSettings,
    /// What they do.
    pub sampled: SampledPosterior,
    /// The same for fresh networks that learn the last task alone, from other random numbers: what G is measured against.
    pub alone: Option<SampledPosterior>,
    /// Sampled numbers with the theory's beside them.
    pub comparison: Vec<Comparison>,
}

/// One number of the comparison.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What it is.
    pub name: String,
    /// In sampled networks.
    pub sampled: Estimate,
    /// In the theory, where there is one for it.
    pub theory: Option<f64>,
}
