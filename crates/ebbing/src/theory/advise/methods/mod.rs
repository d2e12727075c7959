//! Methods that exist, by the accuracy that they end with: what each needs to keep, what supports its number, and which one to take.
//!
//! | Method | Where its number comes from |
//! |---|---|
//! | fine-tuning, replay, gated units | the theory that came closest to measured networks, with their mean error and range |
//! | online EWC, L2 to old weights | fine-tuning, and what was measured of them beside it on the same sequences |
//! | separate heads | the wide limit, corrected by what was measured |
//! | distillation (LwF) | theory alone: outputs of earlier classes stay as they are |
//! | heads in closed form | exact: computed on the user's own data |
//! | joint training | theory alone: all data at one time |
//!
//! A method is recommended only where it gains more than such forecasts are off by ([`Method::sure`]).

mod apart;
mod choose;
mod sentences;
#[cfg(test)]
mod tests;

use super::AdviseSettings;
use super::bench::Bench;
use super::keep::{Goal, KeepCurve, KeepPoint, most_of_a_class};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::stats::number::chosen;
use crate::tasks::TaskSequence;
use crate::theory::Inputs;
use crate::theory::calibration::{self, Data, Training, gains};
use crate::theory::closed_heads::{ClosedHeadKind, ClosedHeadSettings, closed_heads};
use crate::theory::forecast::chance;
use crate::theory::single_head::{Replay, ReplayBudget, Selection, SingleHead, SingleHeadSettings};
use apart::Apart;
use serde::Serialize;

/// Hidden units of the network whose weights are counted where no width is given: as many as measured networks had.
const UNITS: f64 = 200.0;
/// The share of hidden units that a task's mask leaves active.
const SHARE: f64 = 0.2;
/// Heads in the kernel of a wide layer are computed for so many examples at most.
const JOINT_EXAMPLES: usize = 4000;

/// What supports a number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Support {
    /// Computed on the user's own data: the accuracy on so many held-out examples.
    Exact {
        /// How many.
        examples: usize,
    },
    /// Forecasts were held against trained networks.
    Measured {
        /// How many.
        networks: usize,
        /// By how much the final accuracy was missed on average.
        error: f64,
    },
    /// The theory alone.
    Theory,
}

/// One method and what it comes to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Method {
    /// What is done.
    pub kind: MethodKind,
    /// The same in words, with its settings.
    pub method: String,
    /// Mean accuracy over all tasks after the last.
    pub accuracy: f64,
    /// Between what eight in ten measured networks lay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy_interval: Option<[f64; 2]>,
    /// Mean loss of accuracy over all tasks but the last; 0 of what does not forget, none where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<f64>,
    /// What the final accuracy gains over fine-tuning.
    pub accuracy_gain: f64,
    /// By how much such gains are off on average; none where nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast_error: Option<f64>,
    /// What its own number is off by, fine-tuning left aside; none where nothing says.
    #[serde(skip)]
    pub own_error: Option<f64>,
    /// Whether the gain is more than that.
    pub sure: bool,
    /// Examples that are kept, of each class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_class: Option<usize>,
    /// Bytes kept between tasks beside the network.
    pub bytes: u64,
    /// What it needs, in words.
    pub needs: String,
    /// Whether the task must be known at test time.
    pub task_known: bool,
    /// What supports the number.
    pub support: Support,
    /// Whether it reaches what is asked for; none where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaches_goal: Option<bool>,
    /// Whether it keeps within the budget.
    pub within_budget: bool,
}

/// What a method is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodKind {
    /// One task after another, nothing else.
    FineTuning,
    /// Examples of earlier tasks are kept and learned again.
    Replay,
    /// Online elastic weight consolidation.
    Ewc,
    /// A penalty on the distance to the last weights.
    L2,
    /// Learning without forgetting: the old network's outputs are targets too.
    Distillation,
    /// A head in closed form.
    ClosedHead(ClosedHeadKind),
    /// Random masks of the hidden units, one per task.
    Gating,
    /// A head per task.
    SeparateHeads,
    /// The network learns all tasks at one time.
    Joint,
}

/// The final accuracy with the same amount of replay and other examples kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SelectionPoint {
    /// Which examples.
    pub selection: Selection,
    /// Mean accuracy over all tasks after the last.
    pub accuracy: f64,
}

/// All methods on one sequence of tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Methods {
    /// The methods: those that need not know the task first, by accuracy, the highest first.
    pub rows: Vec<Method>,
    /// What guessing gives.
    pub chance: f64,
    /// What is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// The most bytes that may be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_budget: Option<u64>,
    /// The most examples of each class that may be kept, by all budgets.
    pub most_per_class: usize,
    /// The row to take; none where no gain is sure.
    pub recommended: Option<usize>,
    /// The row to take where the task is known at test time, if that gains on the other one for sure.
    pub recommended_known: Option<usize>,
    /// Final accuracy against the examples of each class that are kept.
    pub keep: KeepCurve,
    /// The recommended amount of replay (else the largest) with other examples kept; empty where nothing is kept.
    pub selections: Vec<SelectionPoint>,
    /// The most examples used of a task, and the most there are.
    pub examples_used: [usize; 2],
    /// Methods that were left out, and why.
    pub left_out: Vec<String>,
}

/// A number of one draw, by the name of its row.
struct Value {
    row: usize,
    accuracy: f64,
    lost: Option<f64>,
}

/// Everything that methods are computed from.
struct Desk<'a> {
    settings: &'a AdviseSettings,
    context: &'a Context,
    /// Plain training and replay, by the theory that came closest to them.
    plain: SingleHeadSettings,
    replay: SingleHeadSettings,
    data: Data,
    /// Whether networks like these were measured.
    inside: bool,
    /// Bytes of the weights of a network of one hidden layer, or of a linear head on features.
    weights: u64,
}

impl Methods {
    /// The methods on sequences, one per draw; none without test data of classes. `there` is how many examples the largest task has.
    ///
    /// # Errors
    /// Any error of the theory where nothing is kept; [`Error::Stopped`].
    pub(super) fn of(
        draws: &[TaskSequence],
        settings: &AdviseSettings,
        inside: bool,
        there: usize,
        context: &Context,
    ) -> Result<Option<Methods>> {
        let first = &draws[0];
        let tested = draws.iter().all(|s| s.names_classes() && s.tasks.iter().all(|task| task.test.is_some()));
        if !tested {
            return Ok(None);
        }
        let (plain, replay) = match settings.features {
            true => {
                let theory = |training| calibration::theory_of_linear_head(training, first);
                (theory(Training::Plain), theory(Training::Replay))
            }
            false => (calibration::theory(Training::Plain, first), calibration::theory(Training::Replay, first)),
        };
        let (Some(plain), Some(replay)) = (plain, replay) else { return Ok(None) };
        let replay = calibration::of_all_amounts(replay, Training::Replay, first);
        let data = Data::of(first, settings.features);
        let (d, k) = (first.dim() as f64, first.columns() as f64);
        let units = settings.width.unwrap_or(UNITS);
        let weights = 4.0 * if settings.features { d * k } else { units * (d + k) };
        let desk = Desk { settings, context, plain, replay, data, inside, weights: weights as u64 };
        let goal = settings.goal();
        let Some(mut keep) = KeepCurve::of(first, &replay, settings.features, goal, &context.part(0, 4))? else {
            return Ok(None);
        };
        let most = choose::most_per_class(first, &keep, settings)?;
        let amounts = choose::amounts(&keep, goal, most, desk.error_of("replay"));
        let missing: Vec<usize> =
            amounts.iter().filter(|n| keep.points.iter().all(|point| point.per_class != **n)).copied().collect();
        if !missing.is_empty() {
            let more = KeepCurve::points(first, &replay, settings.features, &missing, context)?.unwrap_or_default();
            keep.points.extend(more);
            keep.points.sort_by_key(|point| point.per_class);
        }
        let mut left_out = vec![];
        let mut rows = desk.rows(first, &keep, &amounts, &mut left_out)?;
        desk.average(&mut rows, draws, &keep, &amounts)?;
        choose::judge(&mut rows, &desk, goal, most);
        let key = |row: &Method| (row.task_known, -row.accuracy);
        rows.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
        let recommended = choose::recommended(&rows, goal);
        let recommended_known = choose::recommended_known(&rows, recommended, goal);
        let selections = desk.selections(first, &rows, recommended)?;
        let used = first.tasks.iter().map(|task| task.y.nrows()).max().unwrap_or(0);
        Ok(Some(Methods {
            chance: chance(first),
            goal,
            memory_budget: settings.memory_budget,
            most_per_class: most,
            recommended,
            recommended_known,
            keep,
            selections,
            examples_used: [used, there],
            left_out,
            rows,
        }))
    }
}

impl Desk<'_> {
    /// Networks of a kind that were measured, where these tasks are like theirs.
    fn support(&self, what: &str) -> Support {
        match calibration::networks(what, self.data).filter(|_| self.inside) {
            Some((networks, error)) => Support::Measured { networks, error },
            None => Support::Theory,
        }
    }

    /// By how much forecasts of the final accuracy of such networks are off on average; of data that were not measured the most that
    /// those of any kind were.
    fn error_of(&self, what: &str) -> f64 {
        match self.support(what) {
            Support::Measured { error, .. } => error,
            _ => calibration::largest_error(),
        }
    }

    /// All rows of a sequence.
    fn rows(
        &self,
        first: &TaskSequence,
        keep: &KeepCurve,
        amounts: &[usize],
        left_out: &mut Vec<String>,
    ) -> Result<Vec<Method>> {
        let mut rows = vec![];
        let nothing = &keep.points[0];
        let at = |n: &usize| keep.points.iter().find(|point| point.per_class == *n);
        rows.push(self.kept(nothing, "fine-tuning".into(), MethodKind::FineTuning, "plain"));
        for point in amounts.iter().filter(|n| **n > 0).filter_map(at) {
            let name = format!("replay, {} of each class", point.per_class);
            rows.push(self.kept(point, name, MethodKind::Replay, "replay"));
        }
        self.penalties(&mut rows, nothing, left_out);
        self.heads(&mut rows, first, left_out)?;
        self.context.say("heads of each task", 0.5)?;
        self.apart(&mut rows, first, left_out)?;
        self.gating(&mut rows, first, left_out)?;
        if let Some(last) = keep.points.last() {
            let name = "joint training of the network".to_string();
            let bytes =
                last.bytes / last.examples.max(1) as u64 * first.tasks.iter().map(|t| t.y.nrows() as u64).sum::<u64>();
            let row = self.kept(last, name, MethodKind::Joint, "joint");
            rows.push(Method {
                bytes,
                lost: None,
                accuracy_interval: None,
                support: Support::Theory,
                needs: "all data at one time".into(),
                per_class: None,
                ..row
            });
        }
        Ok(rows)
    }

    /// A row of the curve of examples kept.
    fn kept(&self, point: &KeepPoint, method: String, kind: MethodKind, what: &str) -> Method {
        let stored = point.per_class > 0;
        Method {
            accuracy_interval: point.accuracy_interval,
            lost: Some(point.lost),
            per_class: stored.then_some(point.per_class),
            bytes: point.bytes,
            needs: if stored { "examples of earlier tasks".into() } else { String::new() },
            support: self.support(what),
            ..Method::new(kind, method, point.accuracy)
        }
    }

    /// EWC and L2: what was measured of them beside plain training.
    fn penalties(&self, rows: &mut Vec<Method>, nothing: &KeepPoint, left_out: &mut Vec<String>) {
        if self.settings.features {
            left_out
                .push("EWC and L2 penalties: measured for networks, not for a linear head on given features".into());
            return;
        }
        let strength = self.settings.ewc;
        let asked = chosen(strength);
        let ewc = gains::ewc(strength).map(|gain| (MethodKind::Ewc, format!("EWC, strength {asked}"), gain));
        if ewc.is_none() {
            left_out.push(format!("EWC at strength {asked}: strengths from 10 to 1000 were measured"));
        }
        let l2 = gains::l2().map(|(gain, tried)| {
            let name = format!("L2 to old weights (best of {tried})");
            (MethodKind::L2, name, gain)
        });
        for (kind, name, gain) in ewc.into_iter().chain(l2) {
            // Gains were measured on standardized images alone.
            let measured = self.inside && self.data == Data::Standardized;
            let share = |gain: f64| (nothing.accuracy + gain).clamp(0.0, 1.0);
            rows.push(Method {
                accuracy_interval: measured.then(|| gain.range.map(share)),
                support: match measured {
                    true => Support::Measured { networks: gain.networks, error: gain.error },
                    false => Support::Theory,
                },
                needs: if kind == MethodKind::Ewc { "two copies of the weights" } else { "a copy of the weights" }
                    .into(),
                bytes: self.weights * if kind == MethodKind::Ewc { 2 } else { 1 },
                ..Method::new(kind, name, share(gain.gain))
            });
        }
    }

    /// Heads in closed form on these inputs.
    fn heads(&self, rows: &mut Vec<Method>, first: &TaskSequence, left_out: &mut Vec<String>) -> Result<()> {
        let asked = ClosedHeadSettings {
            random_features: self.settings.random_features,
            joint_examples: JOINT_EXAMPLES,
            ..ClosedHeadSettings::default()
        };
        let found = match closed_heads(first, &asked, &self.context.part(1, 4)) {
            Ok(found) => found,
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(error) => {
                left_out.push(format!("heads in closed form: {error}"));
                return Ok(());
            }
        };
        let examples = first.tasks.iter().filter_map(|task| task.test.as_ref()).map(|test| test.y.nrows()).sum();
        for head in found.heads {
            let joint = head.kind == ClosedHeadKind::Joint;
            let name = match head.kind {
                ClosedHeadKind::RandomRidge => format!("ridge, {} random features", self.settings.random_features),
                ClosedHeadKind::Joint => "ridge in the ReLU kernel".into(),
                ClosedHeadKind::Ridge => "ridge regression".into(),
                kind => kind.title().into(),
            };
            rows.push(Method {
                lost: Some(0.0),
                bytes: head.bytes,
                needs: if joint { "all data at one time".into() } else { "sums over examples".into() },
                support: Support::Exact { examples },
                ..Method::new(MethodKind::ClosedHead(head.kind), name, head.mean_accuracy)
            });
        }
        Ok(())
    }

    /// Distillation, and separate heads.
    fn apart(&self, rows: &mut Vec<Method>, first: &TaskSequence, left_out: &mut Vec<String>) -> Result<()> {
        let alone = match Apart::of(first, &self.plain, self.settings.features, self.context) {
            Ok(alone) => alone,
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(error) => {
                left_out.push(format!("distillation and separate heads: {error}"));
                return Ok(());
            }
        };
        match alone.distilled() {
            Some(accuracy) => rows.push(Method {
                needs: "a copy of the weights".into(),
                bytes: self.weights,
                ..Method::new(MethodKind::Distillation, "distillation (LwF)".into(), accuracy)
            }),
            None => left_out.push(
                "distillation (LwF): tasks share outputs, where neither theory nor evidence says how old outputs and new labels compromise"
                    .into(),
            ),
        }
        let wide = alone.own();
        let gain = gains::heads().filter(|_| !self.settings.features);
        let share = |gain: f64| (wide + gain).clamp(0.0, 1.0);
        let measured = gain.filter(|_| self.inside);
        rows.push(Method {
            accuracy_interval: measured.map(|gain| gain.range.map(share)),
            support: measured
                .map_or(Support::Theory, |gain| Support::Measured { networks: gain.networks, error: gain.error }),
            needs: "the task at test time".into(),
            task_known: true,
            ..Method::new(
                MethodKind::SeparateHeads,
                "separate heads".into(),
                gain.map_or(wide, |gain| share(gain.gain)),
            )
        });
        Ok(())
    }

    /// Masks of the hidden units.
    fn gating(&self, rows: &mut Vec<Method>, first: &TaskSequence, left_out: &mut Vec<String>) -> Result<()> {
        if self.settings.features {
            return Ok(());
        }
        self.context.say("gated units", 0.75)?;
        let squared = || calibration::by_squares(self.plain, Training::Plain, first).unwrap_or(self.plain);
        let theory = calibration::theory(Training::Gating, first).unwrap_or_else(squared);
        let order: Vec<usize> = (0..first.tasks.len()).collect();
        let found = Bench::gated(first, &theory, SHARE).and_then(|bench| bench.outcome(theory, &order));
        match found {
            Ok(found) => {
                let Some((accuracy, lost)) = found.accuracy.zip(found.backward_transfer.map(|b| -b)) else {
                    return Ok(());
                };
                let range = calibration::expected_of(Training::Gating, self.data, lost, accuracy);
                rows.push(Method {
                    accuracy_interval: range.filter(|_| self.inside).map(|found| found.accuracy_interval),
                    lost: Some(lost),
                    needs: "the task at test time".into(),
                    task_known: true,
                    support: self.support("gating"),
                    ..Method::new(MethodKind::Gating, format!("gating, {} % of units", 100.0 * SHARE), accuracy)
                });
            }
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(error) => left_out.push(format!("gating: {error}")),
        }
        Ok(())
    }

    /// Makes accuracies the means over draws, with the amounts and strengths that were found on the first.
    fn average(&self, rows: &mut [Method], draws: &[TaskSequence], keep: &KeepCurve, amounts: &[usize]) -> Result<()> {
        let mut values: Vec<Vec<Value>> = vec![];
        let every: Vec<usize> =
            [0].iter().chain(amounts).chain(keep.points.last().map(|p| &p.per_class)).copied().collect();
        for draw in &draws[1..] {
            // A draw whose classes are smaller keeps what they have.
            let Some(most) = most_of_a_class(draw, self.settings.features)? else { continue };
            let mut there: Vec<usize> = every.iter().map(|n| *n.min(&most)).collect();
            there.sort_unstable();
            there.dedup();
            let points = KeepCurve::points(draw, &self.replay, self.settings.features, &there, self.context)?;
            let Some(points) = points else { continue };
            let mut found = KeepCurve { points, targets: vec![] };
            found.points.sort_by_key(|point| point.per_class);
            let own = self.rows(draw, &found, amounts, &mut vec![])?;
            let row =
                |method: &Method| rows.iter().position(|row| row.kind == method.kind && row.method == method.method);
            let value =
                |method: &Method| Some(Value { row: row(method)?, accuracy: method.accuracy, lost: method.lost });
            values.push(own.iter().filter_map(value).collect());
        }
        for (k, row) in rows.iter_mut().enumerate() {
            let others: Vec<&Value> = values.iter().flatten().filter(|value| value.row == k).collect();
            let count = (1 + others.len()) as f64;
            let mean = (row.accuracy + others.iter().map(|value| value.accuracy).sum::<f64>()) / count;
            let lost = row.lost.map(|lost| (lost + others.iter().filter_map(|value| value.lost).sum::<f64>()) / count);
            // A range is as wide around the mean as around the first draw.
            let moved = mean - row.accuracy;
            row.accuracy_interval = row.accuracy_interval.map(|ends| ends.map(|end| (end + moved).clamp(0.0, 1.0)));
            (row.accuracy, row.lost) = (mean, lost);
        }
        Ok(())
    }

    /// The recommended amount of replay with other examples kept.
    fn selections(
        &self,
        first: &TaskSequence,
        rows: &[Method],
        recommended: Option<usize>,
    ) -> Result<Vec<SelectionPoint>> {
        let chosen = recommended.map(|k| &rows[k]).and_then(|row| row.per_class);
        let Some(examples) = chosen.or_else(|| rows.iter().filter_map(|row| row.per_class).max()) else {
            return Ok(vec![]);
        };
        let inputs = if self.settings.features { Inputs::Features(first) } else { Inputs::Network(first) };
        let mut all = vec![];
        for selection in [Selection::Random, Selection::Greedy, Selection::AtRisk] {
            let replay = Replay { examples, budget: ReplayBudget::PerClass, selection, ..Replay::default() };
            let theory = SingleHeadSettings { replay, ..self.replay };
            let found = SingleHead::new(inputs, &theory, self.context)?.test_accuracies()?;
            let last = found.and_then(|found| found.all.last().cloned());
            all.extend(
                last.map(|last| SelectionPoint { selection, accuracy: last.iter().sum::<f64>() / last.len() as f64 }),
            );
        }
        Ok(all)
    }
}

impl Method {
    fn new(kind: MethodKind, method: String, accuracy: f64) -> Method {
        Method {
            kind,
            method,
            accuracy,
            accuracy_interval: None,
            lost: None,
            accuracy_gain: 0.0,
            forecast_error: None,
            own_error: None,
            sure: false,
            per_class: None,
            bytes: 0,
            needs: String::new(),
            task_known: false,
            support: Support::Theory,
            reaches_goal: None,
            within_budget: true,
        }
    }
}

impl AdviseSettings {
    /// What accuracy is asked for, where one is.
    pub fn goal(&self) -> Option<Goal> {
        let above = self.keep_accuracy_above.map(Goal::KeepAccuracyAbove);
        above.or(self.lose_at_most.map(Goal::LoseAtMost))
    }
}
