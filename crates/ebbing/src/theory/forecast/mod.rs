//! Everything a forecast reports on a task sequence, averaged over seeds.
//!
//! | Item | What it is |
//! |---|---|
//! | [`Forecast::of`], [`ForecastSettings`] | computes all of it |
//! | [`Computed`], [`Engine`] | how it was computed |
//! | [`Forecast`] | forgetting, order parameters of all pairs, held-out data, fits, other depths, best order, notes |
//! | [`ForecastOrders`] | the forecast of any order of the tasks, from kernels that are made once |
//! | [`PairForecast`], [`WorstPair`], [`Reading`] | which tasks conflict, and why |
//! | [`TrainedForecast`] | the accuracies of trained networks |
//! | [`TestForecast`] | held-out data |
//! | [`DepthForecast`], [`SweepForecast`] | the same forecast at other depths, penalties and widths |
//! | [`Averaged`] | a matrix with its standard errors |

mod average;
mod bench;
mod cost;
mod orders;
mod reading;
mod sentences;
mod sweeps;
mod trained;

pub use average::Averaged;
pub use orders::ForecastOrders;
pub use reading::{Reading, WorstPair};
pub use sentences::assumes;
pub use sweeps::{DepthForecast, SweepForecast};
pub use trained::TrainedForecast;
pub(crate) use trained::chance;

use super::Inputs;
use super::advise::KeepCurve;
use super::calibration::{self, Expected};
use super::closed_heads::{ClosedHeadSettings, ClosedHeads, closed_heads};
use super::directions::ForgettingDirections;
use super::examples::ExamplesAtRisk;
use super::order_parameters::{OrderParameterSettings, OrderParameters, PairOrderParameters};
use super::single_head::{SingleHeadForecast, SingleHeadSettings, TestAccuracies};
use super::task_order::engine::ORDERS_AT_ONCE;
use super::task_order::{OrderSearchSettings, TaskOrder, best_order_from, best_order_of};
use super::whole::{self, Quality};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::linalg::Mat;
use crate::metrics::{ContinualMetrics, Convention, TaskAccuracies};
use crate::plan::{Sizes, in_tiles, search_bytes, spare_bytes};
use crate::stats::number::significant;
use crate::stats::{ForgettingFit, VarianceExplained};
use crate::tasks::{Task, TaskSequence};
use bench::Bench;
use serde::{Deserialize, Serialize};

/// Operations of a product that take a second or two on a laptop.
const LITTLE: f64 = 1e11;

/// What a forecast computes.
///
/// | name | default | meaning |
/// |---|---|---|
/// | `theory` | [`SingleHeadSettings`] | mode, depth, λ, σ², β of the forecast |
/// | `resamples` | 0 | resamples of the examples for intervals of the order parameters (first seed) |
/// | `shuffles` | 0 | label shuffles for their null (first seed) |
/// | `depths` | none | other depths to set beside the forecast |
/// | `lambdas` | none | penalties λ to set beside it: one readout, all weights learn (mode `gibbs`) |
/// | `widths` | none | widths N to set beside it: a readout per task, at `theory.lambda` or each of `lambdas` |
/// | `order` | false | whether the best order of tasks is searched, of the mean over seeds |
/// | `complete` | false | whether the theory's own quantities are computed whatever they cost |
/// | `examples` | false | whether the fate of every example is computed, and where the forgetting sits |
/// | `convention` | `gem` | names and formulas of the accuracy metrics |
/// | `features` | false | inputs are feature matrices: `K = ΦΦᵀ/N` |
/// | `ridge` | 0 | ridge on every task's own kernel, beside 1/β; features without one have pseudo-inverses |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForecastSettings {
    /// The theory behind the forecast.
    pub theory: SingleHeadSettings,
    /// How often a tenth of the examples is left out for intervals of the order parameters; 0 for none.
    pub resamples: usize,
    /// Shuffles from which their null is made; 0 for none.
    pub shuffles: usize,
    /// Other depths to set beside the forecast.
    pub depths: Vec<usize>,
    /// Penalties λ to set beside the forecast, where all weights learn.
    #[serde(with = "crate::serde_infinity::list", skip_serializing_if = "Vec::is_empty")]
    pub lambdas: Vec<f64>,
    /// Widths N to set beside the forecast, with a readout per task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub widths: Vec<f64>,
    /// Whether the order of tasks with the least forgetting is searched.
    pub order: bool,
    /// Whether the theory's own quantities (training-loss forgetting, order parameters, fits) are computed whatever they cost;
    /// otherwise where nothing else can be reported, where a setting asks for them, and where they cost little.
    pub complete: bool,
    /// Whether the fate of every example is computed, and where the forgetting sits.
    pub examples: bool,
    /// The convention of the accuracy metrics.
    pub convention: Convention,
    /// Whether inputs are feature matrices.
    pub features: bool,
    /// The ridge on every task's own kernel, beside 1/β.
    pub ridge: f64,
}

impl ForecastSettings {
    /// How many settings are set beside the forecast: steps of its progress.
    pub fn sweeps(&self) -> usize {
        self.depths.len() + self.lambdas.len() + self.widths.len()
    }

    /// How many parts the forecast of so many sequences of tasks has: steps of its progress.
    pub fn parts(&self, sequences: usize, tasks: usize) -> usize {
        2 * sequences + self.sweeps() + usize::from(self.order && tasks > 1)
    }

    /// Refuses settings that this many tasks cannot be forecast with.
    ///
    /// # Errors
    /// [`Error::Setting`] that names the setting.
    pub fn checked(&self, tasks: usize) -> Result<()> {
        self.theory.checked()?;
        if !(self.ridge >= 0.0 && self.ridge.is_finite()) {
            return Err(Error::setting("ridge", self.ridge, "must be at least 0 and finite"));
        }
        self.of_pairs(true).checked()?;
        sweeps::check(tasks, self)
    }

    /// What is asked of the order parameters of pairs; `detailed`: with intervals and null.
    fn of_pairs(&self, detailed: bool) -> OrderParameterSettings {
        let theory = &self.theory;
        let (resamples, shuffles) = if detailed { (self.resamples, self.shuffles) } else { (0, 0) };
        OrderParameterSettings {
            architecture: theory.architecture,
            sigma2: theory.sigma2,
            bias2: theory.bias2,
            // A temperature is a ridge of 1/β.
            ridge: self.ridge + 1.0 / theory.beta,
            resamples,
            shuffles,
            ..OrderParameterSettings::default()
        }
    }

    /// Whether the theory is another than what is usual.
    fn own_theory(&self) -> bool {
        let usual =
            SingleHeadSettings { keep_bytes: self.theory.keep_bytes, replay: self.theory.replay, ..Default::default() };
        self.theory != usual || self.ridge > 0.0
    }

    /// Whether the theory's own quantities are computed, beside those of trained networks in the theory that came `closest` to them.
    fn asks_for(&self, sequence: &TaskSequence, closest: Option<&SingleHeadSettings>) -> bool {
        // A temperature that is theirs asks for nothing else.
        let same = closest.is_some_and(|closest| {
            let near = (closest.beta / self.theory.beta - 1.0).abs() < 1e-9;
            near && SingleHeadSettings { beta: self.theory.beta, ..*closest } == self.theory && self.ridge == 0.0
        });
        let plain = ForecastSettings { theory: SingleHeadSettings::default(), ..self.clone() };
        (if same { plain.asks_for_theory() } else { self.asks_for_theory() }) || self.costs_little(&sequence.sizes())
    }

    /// `1/β + ridge` is the temperature of everything: a ridge is part of it.
    fn with_one_ridge(&self) -> ForecastSettings {
        let mut settings = self.clone();
        if self.ridge > 0.0 {
            settings.theory.beta = 1.0 / (1.0 / self.theory.beta + self.ridge);
            settings.ridge = 0.0;
        }
        settings
    }
}

impl Default for ForecastSettings {
    fn default() -> Self {
        ForecastSettings {
            theory: SingleHeadSettings::default(),
            resamples: 0,
            shuffles: 0,
            depths: Vec::new(),
            lambdas: Vec::new(),
            widths: Vec::new(),
            order: false,
            complete: false,
            examples: false,
            convention: Convention::Gem,
            features: false,
            ridge: 0.0,
        }
    }
}

/// Order parameters of an ordered pair of tasks, averaged over seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairForecast {
    /// The task learned first (from 1).
    pub first: usize,
    /// The task learned second (from 1).
    pub second: usize,
    /// Means over seeds.
    pub values: OrderParameters,
    /// Their standard errors, with several seeds.
    pub standard_error: Option<OrderParameters>,
    /// The first seed in full: ranks, digits, intervals and null where asked for.
    pub detail: PairOrderParameters,
}

/// Held-out data after every task, averaged over seeds; `[t][s]` is after task t + 1 on task s + 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestForecast {
    /// `Σ(f−y)²/|Y|²`.
    pub loss: Averaged,
    /// The same over that of learning task s alone.
    pub generalization: Averaged,
    /// Share classified correctly, where targets name classes.
    pub accuracy: Option<Averaged>,
    /// Share classified correctly among the task's own classes (task-incremental: the task is known), where that is anything
    /// else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_accuracy: Option<Averaged>,
    /// Metrics of the accuracies by their usual names (of the mean matrix).
    pub metrics: Option<ContinualMetrics>,
}

/// How a forecast was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Kernels between examples, in memory.
    Memory,
    /// Kernels between examples in tiles that are made when they are needed, factors on disk.
    Tiles,
    /// A linear head on d features, in d × d.
    FeatureSpace,
}

/// What was decided before a forecast was computed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Computed {
    /// How it was computed.
    pub engine: Engine,
    /// Bytes of memory that it was planned to take at least.
    pub bytes: f64,
    /// Where the accuracies of trained networks come from single precision: the largest relative residual of a task, in double
    /// precision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual: Option<f64>,
}

impl Computed {
    fn of(engine: Engine, sizes: &Sizes, settings: &ForecastSettings, context: &Context) -> Computed {
        Computed { engine, bytes: settings.least(sizes, true, context.plan()).bytes, residual: None }
    }
}

/// Why nothing can be said of the accuracy of networks trained on a sequence; none where the settings are the reason.
fn without_accuracy(sequence: &TaskSequence) -> Option<String> {
    if !sequence.learns_classes() {
        return Some("targets name no classes".into());
    }
    let without: Vec<String> =
        (1..).zip(&sequence.tasks).filter(|(_, task)| task.test.is_none()).map(|(t, _)| t.to_string()).collect();
    match (&without[..], sequence.tasks.len()) {
        ([], _) => None,
        (all, count) if all.len() == count => Some("there are no test data (x_1_test, y_1_test, …)".into()),
        ([one], _) => Some(format!("task {one} has no test data (x_{one}_test, y_{one}_test)")),
        (some, _) => Some(format!("tasks {} have no test data (x_{}_test, …)", some.join(", "), some[0])),
    }
}

/// Everything a forecast reports on a task sequence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// How matrices are to be read.
    pub orientation: String,
    /// The names of the tasks.
    pub tasks: Vec<String>,
    /// How many sequences were averaged.
    pub seeds: usize,
    /// Whether tasks were drawn from a data set, so that other seeds give others.
    pub drawn: bool,
    /// All ordered pairs of tasks.
    pub pairs: Vec<PairForecast>,
    /// The pair that conflicts most, where one conflicts by 0.02 at least.
    pub worst: Option<WorstPair>,
    /// What trained networks can be expected to classify correctly, with test data of classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trained: Option<TrainedForecast>,
    /// `F[t][s]` on training data; for t < s the loss before the task is learned. Like everything that is the theory's own, none
    /// where it was left out ([`ForecastSettings::complete`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgetting: Option<Averaged>,
    /// Share of training examples classified correctly.
    pub train_accuracy: Option<Averaged>,
    /// Held-out data, where every task has some.
    pub test: Option<TestForecast>,
    /// The fit of the first task's forgetting curve `F[t][1]`.
    pub fit: Option<ForgettingFit>,
    /// `F_21` without penalty.
    pub f21_at_lambda_zero: Option<f64>,
    /// `F_21 − F_21(λ = 0)`.
    pub delta_f21: Option<f64>,
    /// The forecast at other depths.
    pub depths: Vec<DepthForecast>,
    /// One readout for all tasks at other penalties, where asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lambdas: Vec<SweepForecast>,
    /// A readout per task at other widths, where asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub widths: Vec<SweepForecast>,
    /// How much of the variance of `F_21` over all pairs (in the order learned) and seeds γ_RF and γ_rule explain, with several
    /// seeds and ten pairs at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained: Option<VarianceExplained>,
    /// The order with the least forgetting, of the mean over seeds.
    pub order: Option<TaskOrder>,
    /// What trained networks are to be expected to lose, by the theory that came closest to measured ones.
    pub expected: Option<Expected>,
    /// Final accuracy of trained networks against the examples of each class that are kept (of the first draw), where that costs
    /// little or is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<KeepCurve>,
    /// Heads in closed form on these inputs, which do not forget (of the first draw), where they cost little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<ClosedHeads>,
    /// What becomes of every example (of the first draw), where that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examples: Option<ExamplesAtRisk>,
    /// Where the forgetting of every task sits (of the first draw), where that or the theory is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directions: Option<ForgettingDirections>,
    /// Why `expected` has no range: how these tasks are unlike those whose networks were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// Why nothing is said of the accuracy of trained networks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_accuracy: Option<String>,
    /// The smallest estimated number of correct digits.
    pub digits: f64,
    /// How it was computed.
    pub computed: Computed,
    /// What a reader should know: of the data, then of the theory's own quantities (ranks of singular kernels, lost digits).
    pub notes: Vec<String>,
    /// How many of the notes are about the data.
    #[serde(skip)]
    pub data_notes: usize,
}

impl Forecast {
    /// Forecasts every sequence (one per seed, of the same tasks and sizes) and averages.
    ///
    /// A forecast without room for its kernels ([`crate::plan::in_tiles`]) is of means, without intervals, replay, other depths,
    /// penalties or widths; the best order is not searched. Finished parts are kept on disk ([`Context::scratch`]), and a run
    /// that was stopped goes on from them. Where some tasks have test data, those that have none are judged on their training
    /// examples, and a note says so.
    ///
    /// # Errors
    /// Any error of the theory for these data and settings; [`Error::Setting`] for what needs kernels in memory, [`Error::Io`]
    /// where the disk is full, [`Error::Stopped`] where the context asks for the end.
    pub fn of(sequences: &[TaskSequence], settings: &ForecastSettings, context: &Context) -> Result<Self> {
        let first = sequences.first().ok_or_else(|| Error::data("the task sequence", "there is none to forecast"))?;
        check(sequences, settings)?;
        let filled: Vec<_> = sequences.iter().filter_map(TaskSequence::tested_everywhere).collect();
        if let (Some((_, note)), true) = (filled.first(), filled.len() == sequences.len()) {
            let note = note.clone();
            let filled: Vec<TaskSequence> = filled.into_iter().map(|(sequence, _)| sequence).collect();
            let mut found = Self::of(&filled, settings, context)?;
            found.notes.insert(0, note);
            found.data_notes += 1;
            return Ok(found);
        }
        let mut settings = settings.with_one_ridge();
        let tiles = !settings.features && sequences.iter().any(|s| in_tiles(&s.sizes(), context.plan()));
        if tiles && settings.sweeps() > 0 {
            let list = format!("a list of {}", settings.sweeps());
            return Err(whole::needs_kernels("depths, lambdas or widths", &list, "none"));
        }
        let spare = spare_bytes(&first.sizes(), context.plan());
        settings.theory.keep_bytes = settings.theory.keep_bytes.min((0.5 * spare) as usize);
        context.run(|| Self::computed(first, sequences, &settings, tiles, context))
    }

    fn computed(
        first: &TaskSequence,
        sequences: &[TaskSequence],
        settings: &ForecastSettings,
        tiles: bool,
        context: &Context,
    ) -> Result<Self> {
        let count = sequences.len();
        let closest = bench::closest(first, settings);
        // Sums of examples that stand for them are no examples of a class.
        let examples = closest.is_some() && first.learns_classes();
        let keeps = examples && !tiles && settings.compares_replay(&first.sizes());
        let heads = examples && settings.compares_heads(&first.sizes());
        let single = (settings.examples || settings.complete) && first.learns_classes() && !tiles;
        let more = usize::from(keeps) + usize::from(heads) + usize::from(single);
        let all = more + if tiles { count } else { settings.parts(count, first.tasks.len()) };
        let mut parts = Parts { context, done: 0, all };
        let mut forecasts = Vec::new();
        let mut pairs: Vec<Vec<PairOrderParameters>> = Vec::new();
        let mut trained: Vec<Option<TestAccuracies>> = Vec::new();
        let mut residual = None;
        let theory = tiles || closest.is_none() || settings.asks_for(first, closest.as_ref());
        let mut order = None;
        let search = OrderSearchSettings { theory: settings.theory, ..Default::default() };
        let keep_bytes = search_bytes(&first.sizes(), ORDERS_AT_ONCE, search.keep_bytes, context.plan());
        let search = OrderSearchSettings { keep_bytes, ..search };
        let ordered = settings.order && first.tasks.len() > 1 && !tiles;
        let (mut engine, mut quality, mut missing) = (Engine::Memory, Quality::default(), vec![]);
        for (k, sequence) in sequences.iter().enumerate() {
            let part = parts.next(&format!("forgetting, sequence {} of {count}", k + 1))?;
            let bench = match tiles {
                true => Bench::in_tiles(sequence, settings, context, &part)?,
                false => Bench::new(sequence, settings, theory || ordered, context)?,
            };
            let own = if theory { Some(bench.forecast()?) } else { None };
            let (networks, way, left) = bench.trained(own.as_ref(), closest.as_ref())?;
            engine = own.as_ref().map_or(way, |(_, way)| *way);
            if let Some((known, unknown)) = bench.tiled(closest.is_some() && networks.is_none()) {
                quality = quality.worse(known);
                missing.extend(unknown);
            }
            residual = left
                .into_iter()
                .chain(residual)
                .fold(None, |worst: Option<f64>, r| Some(worst.map_or(r, |w| w.max(r))));
            trained.push(networks);
            if !tiles {
                parts.next(&format!("order parameters, sequence {} of {count}", k + 1))?;
            }
            if theory {
                pairs.push(bench.pairs(k == 0)?);
            }
            forecasts.extend(own.map(|(forecast, _)| forecast));
            if let (Some(made), true, 1) = (&bench.made, ordered, count) {
                order = Some(best_order_from(made, &search, &parts.next("order of tasks")?)?);
            }
        }
        let mut beside = Beside {
            depths: sweeps::depths(sequences, settings, &mut parts)?,
            lambdas: sweeps::lambdas(sequences, settings, &mut parts)?,
            widths: sweeps::widths(sequences, settings, &mut parts)?,
            order,
            ..Beside::default()
        };
        if ordered && beside.order.is_none() {
            let draws: Vec<Inputs<'_>> = sequences.iter().map(|s| inputs(s, settings.features)).collect();
            beside.order = Some(best_order_of(&draws, &search, &parts.next("order of tasks")?)?);
        }
        let keep = match &closest {
            Some(theory) if keeps => {
                let theory = calibration::of_all_amounts(*theory, bench::training(&settings.theory), first);
                KeepCurve::of(first, &theory, settings.features, None, &parts.next("examples to keep")?)?
            }
            _ => None,
        };
        beside.keep = keep;
        let mut about = About::of(first, count, settings, closest.is_some())?;
        if heads {
            let (found, note) = heads_beside(first, &parts.next("heads in closed form")?)?;
            beside.heads = found;
            about.notes.extend(note);
        }
        if single {
            parts.next("every example")?.say("every example", 0.0)?;
            let (examples, directions) = bench::every_example(first, closest.as_ref(), settings, context)?;
            beside.examples = examples.filter(|_| settings.examples);
            beside.directions = directions;
        }
        about.notes.extend(near_interpolation(first, settings).filter(|_| theory));
        if engine == Engine::Tiles {
            about.notes.extend(quality.notes());
            missing.sort_unstable();
            missing.dedup();
        }
        if !missing.is_empty() {
            about.notes.push(format!("not reported, since it needs kernels in memory: {}", missing.join(", ")));
        }
        let computed = Computed { residual, ..Computed::of(engine, &first.sizes(), settings, context) };
        let networks =
            closest.map(|theory| TrainedForecast::of(&trained, &theory, trained::chance(first))).transpose()?.flatten();
        about.forecast(settings, (&forecasts, networks), pairs, beside, computed)
    }
}

/// The parts of a forecast, which take equal shares of its progress.
struct Parts<'a> {
    context: &'a Context,
    done: usize,
    all: usize,
}

impl Parts<'_> {
    /// Begins the next part, which is reported within its own share.
    fn next(&mut self, text: &str) -> Result<Context> {
        let part = self.context.part(self.done, self.all);
        part.say(text, 0.0)?;
        self.done += 1;
        Ok(part)
    }
}

/// What is set beside a forecast.
#[derive(Debug, Default)]
struct Beside {
    depths: Vec<DepthForecast>,
    lambdas: Vec<SweepForecast>,
    widths: Vec<SweepForecast>,
    order: Option<TaskOrder>,
    keep: Option<KeepCurve>,
    heads: Option<ClosedHeads>,
    examples: Option<ExamplesAtRisk>,
    directions: Option<ForgettingDirections>,
}

/// What a forecast reports on the tasks themselves.
#[derive(Debug, Clone)]
struct About {
    names: Vec<String>,
    seeds: usize,
    drawn: bool,
    data: calibration::Data,
    outside: Option<String>,
    without_accuracy: Option<String>,
    notes: Vec<String>,
}

impl About {
    /// `trained`: whether something is said on trained networks.
    fn of(sequence: &TaskSequence, seeds: usize, settings: &ForecastSettings, trained: bool) -> Result<About> {
        let repeats = sequence.repeat_note().filter(|_| settings.theory.beta.is_infinite());
        let outside = match trained && sequence.tasks.len() > 1 {
            true => calibration::outside(sequence, settings.features)?,
            false => None,
        };
        Ok(About {
            without_accuracy: if trained { None } else { without_accuracy(sequence) },
            seeds,
            names: sequence.tasks.iter().map(|t| t.name.clone()).collect(),
            drawn: sequence.settings.protocol.is_some() || sequence.settings.by_class.is_some(),
            data: calibration::Data::of(sequence, settings.features),
            outside,
            notes: sequence.target_notes().into_iter().chain(repeats).collect(),
        })
    }

    /// The forecast of one or more sequences, from its parts.
    fn forecast(
        self,
        settings: &ForecastSettings,
        (forecasts, trained): (&[SingleHeadForecast], Option<TrainedForecast>),
        pairs: Vec<Vec<PairOrderParameters>>,
        beside: Beside,
        computed: Computed,
    ) -> Result<Forecast> {
        let left_out = forecasts.is_empty();
        let forgetting = if left_out { None } else { Some(Averaged::of(forecasts.iter().map(|f| &f.forgetting))?) };
        let explained = explained(&pairs);
        let pairs = average_pairs(pairs);
        let digits = forecasts.iter().map(|f| f.digits).chain(pairs.iter().map(|p| p.detail.digits));
        let mean = |get: fn(&SingleHeadForecast) -> Option<f64>| {
            let all: Option<Vec<f64>> = forecasts.iter().map(get).collect();
            all.filter(|v| !v.is_empty()).map(|v| v.iter().sum::<f64>() / v.len() as f64)
        };
        let test = test_forecast(forecasts, settings.convention)?;
        Ok(Forecast {
            orientation: "[t][s]: after task t + 1 (rows), on task s + 1 (columns)".into(),
            tasks: self.names,
            seeds: self.seeds,
            drawn: self.drawn,
            worst: reading::worst(&pairs),
            fit: forgetting.as_ref().map(fit).transpose()?.flatten(),
            train_accuracy: Averaged::of_some(forecasts.iter().map(|f| f.train_accuracy.as_ref()))?,
            expected: trained
                .as_ref()
                .filter(|_| self.outside.is_none())
                .and_then(|found| bench::expectation(found, settings, self.data)),
            outside: self.outside,
            trained,
            test,
            f21_at_lambda_zero: mean(|f| f.f21_at_lambda_zero),
            delta_f21: mean(|f| f.delta_f21),
            without_accuracy: self.without_accuracy,
            digits: digits.fold(f64::INFINITY, f64::min),
            computed,
            data_notes: self.notes.len(),
            notes: self.notes.into_iter().chain(notes(forecasts, &pairs, computed.engine)).collect(),
            order: beside.order,
            keep: beside.keep,
            heads: beside.heads,
            examples: beside.examples,
            directions: beside.directions,
            forgetting,
            pairs,
            explained,
            depths: beside.depths,
            lambdas: beside.lambdas,
            widths: beside.widths,
        })
    }
}

fn check(sequences: &[TaskSequence], settings: &ForecastSettings) -> Result<()> {
    let count = sequences[0].tasks.len();
    if let Some(other) = sequences.iter().find(|s| s.tasks.len() != count) {
        let problem = format!("one has {count} tasks, another {}; averages need as many", other.tasks.len());
        return Err(Error::data("the sequences", problem));
    }
    settings.checked(count)
}

fn inputs(sequence: &TaskSequence, features: bool) -> Inputs<'_> {
    if features { Inputs::Features(sequence) } else { Inputs::Network(sequence) }
}

/// The variance of `F_21` that γ_RF and γ_rule explain over all pairs and seeds; none where there are too few, or where one of
/// them does not vary.
fn explained(seeds: &[Vec<PairOrderParameters>]) -> Option<VarianceExplained> {
    const FEWEST: usize = 10;
    let all: Vec<&OrderParameters> =
        seeds.iter().flatten().filter(|pair| pair.first < pair.second).map(|pair| &pair.values).collect();
    if seeds.len() < 2 || all.len() < FEWEST {
        return None;
    }
    let predictors = Mat::from_fn(all.len(), 2, |i, j| if j == 0 { all[i].gamma_rf } else { all[i].gamma_rule });
    VarianceExplained::new(predictors.as_ref(), &all.iter().map(|p| p.f21).collect::<Vec<f64>>()).ok()
}

/// Averages over seeds, pair by pair.
fn average_pairs(mut seeds: Vec<Vec<PairOrderParameters>>) -> Vec<PairForecast> {
    if seeds.is_empty() {
        return Vec::new();
    }
    let all: Vec<Vec<OrderParameters>> = seeds.iter().map(|s| s.iter().map(|p| p.values).collect()).collect();
    seeds
        .swap_remove(0)
        .into_iter()
        .enumerate()
        .map(|(k, detail)| {
            let (values, standard_error) = average::order_parameters(&all.iter().map(|s| s[k]).collect::<Vec<_>>());
            PairForecast { first: detail.first, second: detail.second, values, standard_error, detail }
        })
        .collect()
}

/// The fit of the first task's curve, where there are enough points for one.
fn fit(forgetting: &Averaged) -> Result<Option<ForgettingFit>> {
    let curve: Vec<f64> = forgetting.mean.iter().map(|row| row[0]).collect();
    if curve.len() < 3 {
        return Ok(None);
    }
    let times: Vec<f64> = (1..=curve.len()).map(|t| t as f64).collect();
    ForgettingFit::new(&times, &curve).map(Some)
}

fn test_forecast(forecasts: &[SingleHeadForecast], convention: Convention) -> Result<Option<TestForecast>> {
    if forecasts.is_empty() {
        return Ok(None);
    }
    let Some(tests) = forecasts.iter().map(|f| f.test.as_ref()).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let accuracy = Averaged::of_some(tests.iter().map(|t| t.accuracy.as_ref()))?;
    let alone: Option<Vec<&Vec<f64>>> = tests.iter().map(|t| t.alone_accuracy.as_ref()).collect();
    let metrics = accuracy.as_ref().map(|a| {
        let mean_alone = alone.map(|all| {
            (0..a.mean.len()).map(|s| all.iter().map(|v| v[s]).sum::<f64>() / all.len() as f64).collect::<Vec<f64>>()
        });
        let matrix = TaskAccuracies { after: a.mean.clone(), reference: mean_alone, ..Default::default() };
        ContinualMetrics::new(&matrix, convention)
    });
    Ok(Some(TestForecast {
        loss: Averaged::of(tests.iter().map(|t| &t.loss))?,
        generalization: Averaged::of(tests.iter().map(|t| &t.generalization))?,
        metrics: metrics.transpose()?,
        // Where seeds differ in whether it is anything else, it is reported for none.
        task_accuracy: Averaged::of_some(tests.iter().map(|t| t.task_accuracy.as_ref()))?,
        accuracy,
    }))
}

/// Heads in closed form, or why there are none; what does not fit into memory is left out, as where it takes long.
fn heads_beside(sequence: &TaskSequence, context: &Context) -> Result<(Option<ClosedHeads>, Option<String>)> {
    let plain = ClosedHeadSettings { random_features: 0, joint_examples: 0, ..Default::default() };
    match closed_heads(sequence, &plain, context) {
        Ok(found) => Ok((Some(found), None)),
        Err(Error::Stopped) => Err(Error::Stopped),
        Err(Error::Memory { .. }) => Ok((None, None)),
        Err(error) => Ok((None, Some(format!("no heads in closed form: {error}")))),
    }
}

/// That least squares blow up where a task has about as many examples as features.
fn near_interpolation(sequence: &TaskSequence, settings: &ForecastSettings) -> Option<String> {
    /// Between these ratios of examples to features the variance of least squares is several times what it is far from them.
    const NEAR: std::ops::Range<f64> = 0.75..1.33;
    let exact = settings.features && settings.theory.beta.is_infinite() && settings.ridge == 0.0;
    let near = |task: &&Task| NEAR.contains(&(task.y.nrows() as f64 / task.x.ncols() as f64));
    let task = sequence.tasks.iter().find(near).filter(|_| exact)?;
    Some(format!(
        "{} has {} examples of {} features: without a temperature (--beta) its training data are just interpolated, and losses on \
         other data blow up",
        task.name,
        task.y.nrows(),
        task.x.ncols()
    ))
}

/// The mean of the last row without its last entry.
fn final_forgetting(matrix: &[Vec<f64>]) -> f64 {
    let last = matrix.len() - 1;
    matrix[last][..last].iter().sum::<f64>() / last.max(1) as f64
}

fn notes(forecasts: &[SingleHeadForecast], pairs: &[PairForecast], engine: Engine) -> Vec<String> {
    let mut notes = Vec::new();
    let digits = forecasts.iter().map(|f| f.digits).fold(f64::INFINITY, f64::min);
    if digits < 8.0 {
        notes.push(format!("ill-conditioned kernels: about {digits:.0} digits of the forgetting matrix are right"));
    }
    let pseudo = pairs.iter().find(|p| p.detail.inverse == super::order_parameters::Inverse::Pseudo);
    if let Some(pair) = pseudo {
        notes.push(format!(
            "fewer features than examples: pseudo-inverses at ranks {} and {}, γ_feature divided by the smaller",
            pair.detail.ranks[0], pair.detail.ranks[1]
        ));
    }
    let unknown = |p: &PairForecast| {
        p.detail.interval.as_ref().is_some_and(|i| i.low.f21.is_nan())
            || p.detail.null.as_ref().is_some_and(|n| n.mean.f21.is_nan())
    };
    let off = pairs.iter().filter_map(|p| p.detail.gamma_feature_error).fold(0.0, f64::max);
    if off > 0.0 && engine != Engine::Tiles {
        notes.push(format!(
            "γ_feature, and γ_sim with it, is an estimate from random probes with a standard error of {} at most",
            significant(off)
        ));
    }
    if pairs.iter().any(unknown) {
        notes.push(
            "F_pair has no interval and no null: resampling is of random features, and it is forecast otherwise".into(),
        );
    }
    if let Some(pair) = pairs.iter().find(|p| p.detail.spans_all()) {
        notes.push(format!(
            "γ_feature is 1 wherever both tasks span the same {} features: it says nothing of their rules",
            pair.detail.ranks[0]
        ));
    }
    notes
}
