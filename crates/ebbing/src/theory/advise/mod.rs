//! What to do against forgetting: every remedy with its forecast forgetting, accuracy and cost, best first.
//!
//! | Item | What it is |
//! |---|---|
//! | [`Advice::of`], [`AdviseSettings`] | tries the remedies on the tasks |
//! | [`Advice`] | the remedies, best first, how many examples must be kept, and sentences |
//! | [`Remedy`], [`RemedyKind`] | one remedy: forgetting, accuracy, backward transfer, cost, gain, whether it applies |
//! | [`ReplayPoint`] | forgetting against the number of examples kept |
//! | [`Methods`] | methods that exist, by the accuracy that they end with |
//! | [`KeepCurve`] | final accuracy of trained networks against the examples of each class that are kept |
//!
//! Remedies are replay, the order of tasks, the penalty λ on all weights or layer by layer, gating of hidden units, context
//! vectors, depth, a readout per task, another limit of learning, training on everything at once (the bound that none can
//! beat), and replay together with the best of the others. Kernels between all inputs are made once and serve all remedies
//! that do not change them.

mod bench;
mod gains;
mod heads;
mod keep;
mod methods;
mod remedies;
mod sentences;

pub use keep::{Goal, KeepCurve, KeepPoint, KeepTarget};
pub use methods::{Method, MethodKind, Methods, SelectionPoint, Support};

use super::calibration::{self, Data, Expected};
use super::forecast::assumes;
use super::single_head::{Mode, Outcome, Replay, SingleHeadSettings};
use crate::context::Context;
use crate::error::{Error, Result, refuse};
use crate::stats::mean_with_error;
use crate::tasks::{TaskSequence, parts_of};
use remedies::Search;
use serde::{Deserialize, Serialize};

/// Examples of all tasks of inputs together that methods are tried on where nothing is asked for: kernels between them take seconds.
const INPUT_EXAMPLES: usize = 5000;
/// The same for the remedies of the theory, some thirty of them.
const THEORY_EXAMPLES: usize = 300;

/// What advice is asked for.
///
/// | name | default | meaning |
/// |---|---|---|
/// | `theory` | [`SingleHeadSettings`] | the network and how it learns when nothing is done |
/// | `keep_accuracy_above` | none | the mean accuracy after the last task that a method is to reach |
/// | `lose_at_most` | none | the mean loss of accuracy that a method is to stay within |
/// | `keep_forgetting_below` | half of doing nothing | the training-loss forgetting that replay is to reach, in theory |
/// | `budget` | all examples | the most examples that may be kept, counted as `replay.budget` says |
/// | `memory_budget` | none | the most bytes that may be kept |
/// | `random_features` | 2000 | random features of the head in closed form that has some; 0 leaves it out |
/// | `ewc` | 100 | the strength of EWC |
/// | `complete` | true | whether the remedies of the theory are tried too, by training-loss forgetting |
/// | `replay` | per task | how kept examples are counted and drawn |
/// | `features` | false | inputs are feature matrices: `K = ΦΦᵀ/N` |
/// | `width` | none | hidden units N: readouts of their own are forecast at this width, not for wide networks |
/// | `widths` | none | more such widths |
/// | `lambdas` | 1, 10, 100, 1000 over σ² | penalties that are tried; each that is given has a row |
/// | `max_p` | 5000 of all tasks together (100 to 1000 each), of features all; 300 for the remedies of the theory | examples per task that are used, training and test |
/// | `order` | false | whether the order of tasks is searched |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdviseSettings {
    /// The network and how it learns when nothing is done.
    pub theory: SingleHeadSettings,
    /// The mean accuracy after the last task that a method is to reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_accuracy_above: Option<f64>,
    /// The mean loss of accuracy over all tasks but the last that a method is to stay within.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lose_at_most: Option<f64>,
    /// The mean final forgetting that replay is to reach; half of that of doing nothing where none is given.
    pub keep_forgetting_below: Option<f64>,
    /// The most examples that may be kept.
    pub budget: Option<usize>,
    /// The most bytes that may be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_budget: Option<u64>,
    /// Random features of the head in closed form that has some; 0 leaves it out.
    pub random_features: usize,
    /// The strength of EWC.
    pub ewc: f64,
    /// Whether the remedies of the theory are tried too, by training-loss forgetting; where accuracies are not known they always are.
    pub complete: bool,
    /// How kept examples are counted and drawn; their number is found.
    pub replay: Replay,
    /// Whether inputs are feature matrices.
    pub features: bool,
    /// Hidden units N of the network, for readouts of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// More widths N for readouts of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub widths: Vec<f64>,
    /// Penalties λ that are tried, all at the β of `theory`; the usual ones, of which the best is reported, where none are given. At a
    /// finite β they are finite.
    #[serde(with = "crate::serde_infinity::list", skip_serializing_if = "Vec::is_empty")]
    pub lambdas: Vec<f64>,
    /// At most this many training and test examples of each task are used; 5000 of all tasks together, of features all, and 300 for the
    /// remedies of the theory where none is given.
    pub max_p: Option<usize>,
    /// Whether the order of tasks is searched: forecasts rank orders only roughly, and every one that is tried costs time.
    pub order: bool,
    /// The seed of what is drawn.
    pub seed: u64,
}

impl Default for AdviseSettings {
    fn default() -> Self {
        AdviseSettings {
            theory: SingleHeadSettings::default(),
            keep_accuracy_above: None,
            lose_at_most: None,
            keep_forgetting_below: None,
            budget: None,
            memory_budget: None,
            random_features: 2000,
            ewc: 100.0,
            complete: true,
            replay: Replay::default(),
            features: false,
            width: None,
            widths: vec![],
            lambdas: vec![],
            max_p: None,
            order: false,
            seed: 0,
        }
    }
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemedyKind {
    /// Nothing.
    Nothing,
    /// Examples of earlier tasks are kept and learned again.
    Replay,
    /// The tasks come in another order.
    Order,
    /// A penalty λ on the change of all weights.
    Penalty,
    /// Penalties that differ between layers.
    LayerPenalty,
    /// Random masks of the hidden units, one per task.
    Gating,
    /// A context vector per task is appended to its inputs.
    Context,
    /// Another number of hidden layers.
    Depth,
    /// A readout per task.
    Readouts,
    /// Another limit of learning.
    Regime,
    /// All tasks are learned at once.
    Joint,
    /// Two remedies together.
    Combination,
}

/// One remedy and what it would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remedy {
    /// What is done.
    pub kind: RemedyKind,
    /// Of two remedies together, the one beside replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<RemedyKind>,
    /// The same in words.
    pub remedy: String,
    /// Mean final forgetting `Σ_{s<T} F[T][s]/(T−1)` on training data: mean over draws.
    pub forgetting: Option<f64>,
    /// Its standard error, with several draws.
    pub standard_error: Option<f64>,
    /// Average accuracy over all tasks after the last, on test data where every task has some.
    pub accuracy: Option<f64>,
    /// `mean_{s<T} R[T][s] − R[s][s]` of these accuracies: what earlier tasks gain or (below 0) forget.
    pub backward_transfer: Option<f64>,
    /// Work of training relative to doing nothing.
    pub cost: Option<f64>,
    /// What it needs.
    pub needs: String,
    /// What forgetting it spares against doing nothing.
    pub gain: Option<f64>,
    /// What average accuracy it gains against doing nothing: of trained networks, where those are forecast for both.
    pub accuracy_gain: Option<f64>,
    /// By how much forecasts like these two were off on average, or twice the standard error over draws if that is more: a gain
    /// of accuracy that is not larger is none to be sure of.
    pub forecast_error: Option<f64>,
    /// Whether the gain exceeds twice its standard error over draws; none for one draw.
    pub beyond_noise: Option<bool>,
    /// What trained networks are to be expected to lose, by the theory that came closest to measured ones; none for tasks unlike
    /// those that were measured.
    pub expected: Option<Expected>,
    /// The loss of accuracy and the final accuracy that the same theory forecasts, wherever the tasks lie.
    #[serde(skip)]
    trained: Option<[f64; 2]>,
    /// Whether it needs to know the task at test time.
    pub task_known: bool,
    /// Whether it applies to these tasks.
    pub applies: bool,
    /// Why it does not.
    pub why: Option<String>,
}

/// Forgetting where `examples` are kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReplayPoint {
    /// Examples kept, counted as the settings say.
    pub examples: usize,
    /// Mean final forgetting.
    pub forgetting: f64,
    /// Average accuracy over all tasks after the last, on test data where every task has some.
    pub accuracy: Option<f64>,
    /// Work of training relative to doing nothing.
    pub cost: f64,
}

/// What can be done against forgetting, best first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Methods that exist, by accuracy; none without test data of classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Methods>,
    /// Every remedy of the theory where they were tried, the least forgetting first; those that do not apply last.
    pub remedies: Vec<Remedy>,
    /// Forgetting against the number of examples kept, ascending.
    pub replay: Vec<ReplayPoint>,
    /// The training-loss forgetting that replay was to reach in theory.
    pub target: Option<f64>,
    /// How many examples must be kept to reach it, counted as the settings say; none where all do not suffice.
    pub examples_needed: Option<usize>,
    /// The most examples that could be kept.
    pub examples_most: Option<usize>,
    /// The best order found (tasks from 1), where one was searched.
    pub order: Option<Vec<usize>>,
    /// How much the order of tasks can change, where it was searched.
    pub orders: Option<OrderRange>,
    /// How many sequences were averaged.
    pub draws: usize,
    /// The most examples used of a task, and the most there are.
    pub examples_used: [usize; 2],
    /// Whether accuracies are those on test data.
    pub held_out: bool,
    /// Whether inputs were features.
    pub features: bool,
    /// Why nothing is expected with a range: how these tasks are unlike those whose networks were measured.
    pub outside: Option<String>,
    /// The inverse temperature of trained heads, where it was taken because none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

/// How much the order of tasks can change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OrderRange {
    /// Orders tried.
    pub tried: usize,
    /// Mean final forgetting of the best and of the worst of them.
    pub forgetting: [f64; 2],
    /// Average test accuracy of the best and of the worst of them by that, with test data.
    pub accuracy: Option<[f64; 2]>,
    /// Whether the best of as many orders without any difference would gain as much by chance; none for one draw.
    pub within_noise: Option<bool>,
}

impl Advice {
    /// Tries every remedy on the sequences (one per draw, of the same tasks and sizes) and averages.
    ///
    /// # Errors
    /// [`Error::Setting`] for settings out of their range; [`Error::Data`] for no sequence or fewer than two tasks; any
    /// error of the theory where nothing is done. A remedy that fails is a row that says why.
    pub fn of(sequences: &[TaskSequence], settings: &AdviseSettings, context: &Context) -> Result<Self> {
        context.run(|| Self::found(sequences, settings, context))
    }

    fn found(sequences: &[TaskSequence], settings: &AdviseSettings, context: &Context) -> Result<Self> {
        check(sequences, settings)?;
        let filled: Vec<_> = sequences.iter().filter_map(TaskSequence::tested_everywhere).collect();
        if filled.len() == sequences.len() {
            let filled: Vec<TaskSequence> = filled.into_iter().map(|(sequence, _)| sequence).collect();
            return Self::found(&filled, settings, context);
        }
        let used = |s: &TaskSequence| s.tasks.iter().map(|task| task.x.nrows()).max().unwrap_or(0);
        let all = used(&sequences[0]);
        let methods = Self::methods(sequences, settings, all, context)?;
        if methods.is_some() && !settings.complete && !settings.order {
            return Self::without_theory(sequences, settings, methods, all);
        }
        let parts = parts_of(sequences, settings.max_p.unwrap_or(THEORY_EXAMPLES))?;
        let examples_used = [used(&parts[0]), all];
        let held_out = parts.iter().all(|s| s.tasks.iter().all(|task| task.test.is_some()));
        let second = if methods.is_some() { context.part(1, 2) } else { context.part(0, 1) };
        let mut search = Search::new(&parts, settings, &second)?;
        search.only_order = methods.is_some() && !settings.complete;
        search.run()?;
        let outside = search.outside.take();
        let (mut remedies, nothing) = (search.remedies, search.nothing);
        gains::of_accuracy(&mut remedies, Data::of(&sequences[0], settings.features));
        for remedy in &mut remedies {
            let gains: Vec<f64> = remedy.1.iter().zip(&nothing).map(|(o, n)| n.forgetting - o.forgetting).collect();
            if let Ok(gain) = mean_with_error(&gains) {
                remedy.0.gain = Some(gain.value);
                remedy.0.beyond_noise = gain.standard_error.map(|error| gain.value.abs() > 2.0 * error);
                // An order is the best of many: chance alone lets the luckiest gain.
                if let (RemedyKind::Order, Some(range)) = (remedy.0.kind, &search.orders) {
                    remedy.0.beyond_noise = range.within_noise.map(|within| !within);
                }
            }
        }
        let mut remedies: Vec<Remedy> = remedies.into_iter().map(|(remedy, _)| remedy).collect();
        let key = |r: &Remedy| (!r.applies, r.forgetting.unwrap_or(f64::INFINITY));
        remedies.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
        let used_by_methods = methods.as_ref().map(|methods| methods.examples_used);
        Ok(Advice {
            methods,
            remedies,
            replay: search.points,
            target: Some(search.target),
            examples_needed: search.needed,
            examples_most: Some(search.most),
            order: search.order.map(|order| order.iter().map(|t| t + 1).collect()),
            orders: search.orders,
            draws: sequences.len(),
            examples_used: used_by_methods.unwrap_or(examples_used),
            held_out,
            features: settings.features,
            outside,
            temperature: search.temperature,
        })
    }

    /// The methods on as many examples as are used.
    fn methods(
        sequences: &[TaskSequence],
        settings: &AdviseSettings,
        there: usize,
        context: &Context,
    ) -> Result<Option<Methods>> {
        let inside = calibration::outside(&sequences[0], settings.features).is_ok_and(|outside| outside.is_none());
        let usual = if settings.features { usize::MAX } else { Self::usual_examples(sequences[0].tasks.len()) };
        let most = settings.max_p.unwrap_or(usual);
        let fits = sequences.iter().all(|s| s.tasks.iter().all(|task| task.y.nrows() <= most));
        let parts = if fits { None } else { Some(parts_of(sequences, most)?) };
        let context = if settings.complete { context.part(0, 2) } else { context.part(0, 1) };
        Methods::of(parts.as_deref().unwrap_or(sequences), settings, inside, there, &context)
    }

    /// Examples of each of so many tasks of inputs that methods are tried on where nothing is asked for.
    pub fn usual_examples(tasks: usize) -> usize {
        (INPUT_EXAMPLES / tasks.max(1)).clamp(100, 1000)
    }

    /// The answer with methods alone.
    fn without_theory(
        sequences: &[TaskSequence],
        settings: &AdviseSettings,
        methods: Option<Methods>,
        there: usize,
    ) -> Result<Self> {
        let outside = calibration::outside(&sequences[0], settings.features)?;
        Ok(Advice {
            remedies: vec![],
            replay: vec![],
            target: None,
            examples_needed: None,
            examples_most: None,
            order: None,
            orders: None,
            draws: sequences.len(),
            examples_used: methods.as_ref().map_or([there; 2], |methods| methods.examples_used),
            held_out: true,
            features: settings.features,
            outside,
            temperature: None,
            methods,
        })
    }

    /// What every number here assumes.
    pub fn assumes(&self) -> &'static str {
        assumes(self.features)
    }
}

impl AdviseSettings {
    /// Refuses settings out of their range.
    ///
    /// # Errors
    /// [`Error::Setting`] that names the setting.
    pub fn checked(&self) -> Result<()> {
        self.theory.checked()?;
        refuse(self.theory.replay.is_on(), "replay", self.theory.replay.examples, "must be 0: advice finds it")?;
        if self.theory.mode == Mode::Gibbs {
            let expected = "must be rf, ntk or lazy: advice sweeps the penalty itself";
            return Err(Error::setting("mode", "gibbs", expected));
        }
        if self.theory.beta.is_finite() && self.lambdas.contains(&f64::INFINITY) {
            let expected = "must be finite at a finite beta: held fixed, it leaves nothing learned after the first task at lambda = inf \
                            (mode ntk is the limit at a fixed beta/lambda)";
            return Err(Error::setting("lambdas", "inf", expected));
        }
        if let Some(x) = self.keep_forgetting_below.filter(|x| !(x.is_finite() && *x > 0.0)) {
            return Err(Error::setting("keep_forgetting_below", x, "must be positive and finite"));
        }
        if let Some(x) = self.keep_accuracy_above.filter(|x| !(*x > 0.0 && *x <= 1.0)) {
            return Err(Error::setting(
                "keep_accuracy_above",
                x,
                "must be a share above 0 and at most 1, such as 0.8 for 80 %",
            ));
        }
        if let Some(x) = self.lose_at_most.filter(|x| !(*x >= 0.0 && *x < 1.0)) {
            return Err(Error::setting(
                "lose_at_most",
                x,
                "must be a share from 0 to below 1, such as 0.05 for 5 points",
            ));
        }
        if let (Some(_), Some(x)) = (self.keep_accuracy_above, self.lose_at_most) {
            return Err(Error::setting("lose_at_most", x, "does not go with keep_accuracy_above: one goal at a time"));
        }
        refuse(!(self.ewc > 0.0 && self.ewc.is_finite()), "ewc", self.ewc, "must be positive and finite")?;
        refuse(self.memory_budget == Some(0), "memory_budget", 0, "must be at least 1 byte")?;
        refuse(self.budget == Some(0), "budget", 0, "must be at least 1 example")?;
        let widths = self.width.iter().map(|n| ("width", n)).chain(self.widths.iter().map(|n| ("widths", n)));
        if let Some((name, width)) = widths.clone().find(|(_, n)| !(n.is_finite() && **n >= 1.0)) {
            return Err(Error::setting(name, width, "must be a number of units, at least 1"));
        }
        if let Some(wrong) = self.lambdas.iter().find(|l| l.is_nan() || **l < 0.0) {
            return Err(Error::setting("lambdas", wrong, "every penalty must be at least 0 (inf is allowed)"));
        }
        let mut swept = widths.chain(self.lambdas.iter().map(|l| ("lambdas", l)));
        if let Some((name, value)) = swept.next().filter(|_| self.features) {
            let expected = "belongs to inputs of a network; features are given as they are";
            return Err(Error::setting(name, value, expected));
        }
        if let Some(p) = self.max_p.filter(|p| *p < 2) {
            return Err(Error::setting("max_p", p, "must be at least 2 examples"));
        }
        Ok(())
    }
}

fn check(sequences: &[TaskSequence], settings: &AdviseSettings) -> Result<()> {
    settings.checked()?;
    let first = sequences.first().ok_or_else(|| Error::data("the task sequence", "there is none to advise on"))?;
    if first.tasks.len() < 2 {
        let problem = "it holds 1 task; with nothing learned after it nothing is forgotten, advice needs two";
        return Err(Error::data("the task sequence", problem));
    }
    Ok(())
}

impl Remedy {
    /// A remedy with its outcomes, one per draw.
    fn new(kind: RemedyKind, remedy: String, needs: &str, cost: f64, outcomes: &[Outcome]) -> Remedy {
        let mean = |get: fn(&Outcome) -> Option<f64>| {
            let all: Option<Vec<f64>> = outcomes.iter().map(get).collect();
            all.and_then(|all| mean_with_error(&all).ok())
        };
        let forgetting = mean(|o| Some(o.forgetting));
        Remedy {
            kind,
            beside: None,
            remedy,
            forgetting: forgetting.map(|f| f.value),
            standard_error: forgetting.and_then(|f| f.standard_error),
            accuracy: mean(|o| o.accuracy).map(|a| a.value),
            backward_transfer: mean(|o| o.backward_transfer).map(|b| b.value),
            cost: Some(cost),
            needs: needs.into(),
            gain: None,
            accuracy_gain: None,
            forecast_error: None,
            beyond_noise: None,
            expected: None,
            trained: None,
            task_known: matches!(kind, RemedyKind::Gating | RemedyKind::Context | RemedyKind::Readouts),
            applies: true,
            why: None,
        }
    }

    /// A remedy that does not apply.
    fn out(kind: RemedyKind, remedy: &str, why: String) -> Remedy {
        let mut row = Remedy::new(kind, remedy.into(), "", 0.0, &[]);
        (row.cost, row.applies, row.why) = (None, false, Some(why));
        row
    }
}
