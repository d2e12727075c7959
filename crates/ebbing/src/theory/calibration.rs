//! How far trained networks lie from their forecast: `measured − forecast`, by the kind of training.
//!
//! | Item | What it is |
//! |---|---|
//! | [`theory`] | the theory that came closest to measured networks, for a sequence |
//! | [`expected`], [`Expected`] | what networks like these lose and keep, from its forecast and measured ones |
//! | [`place`] | whether tasks are like those that were measured |
//! | [`Data`] | what the inputs of measured networks were |
//! | [`Training`] | what is done while training, as far as the evidence distinguishes it |
//! | [`provenance`] | the command, seed and versions that made the table |
//!
//! Networks were trained on many sequences of tasks with test data (`docs/evidence.md` in the repository): images, a few
//! hundred examples per task, their pixels standardized or, apart, prepared as the program prepares images that it draws
//! (whitened); and heads on features of encoders, centered or as they come ([`Data`]). Elsewhere there are no intervals: a forecast says what of its tasks is unlike those that were measured. The table holds the theory that came closest and quantiles of its
//! errors on two thirds of the sequences, by how much it says is lost; on the last third the intervals held at about the
//! rate that they state, which the same page reports.

pub(crate) mod gains;
mod place;

pub(crate) use place::{not_calibrated, outside};
pub use place::{place, place_of_features};

use super::domain::Domain;
use super::single_head::{Loss, Mode, SingleHeadSettings};
use crate::kernels::{Activation, Architecture};
use crate::stats::number::{between, per_cent, points_between};
use crate::tasks::TaskSequence;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What is done while training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Training {
    /// Fine-tuning on one task after another by Adam or SGD.
    Plain,
    /// The same with examples of earlier tasks.
    Replay,
    /// The same with random masks of hidden units.
    Gating,
}

impl Training {
    fn key(self) -> &'static str {
        match self {
            Training::Plain => "plain",
            Training::Replay => "replay",
            Training::Gating => "gating",
        }
    }
}

/// What the inputs of measured networks were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Pixels, standardized.
    Standardized,
    /// Pixels, whitened.
    Whitened,
    /// Features without their mean, divided by one number or one by one, under hidden layers.
    Centered,
    /// Features as an encoder gives them, or of norm 1, under hidden layers.
    Raw,
    /// Features under a linear head.
    Linear,
}

/// All of them.
const DATA: [Data; 5] = [Data::Standardized, Data::Whitened, Data::Centered, Data::Raw, Data::Linear];

impl Data {
    /// What it is called in the table, where its domain has the same name.
    fn key(self) -> &'static str {
        match self {
            Data::Standardized => "classes",
            Data::Whitened => "whitened",
            Data::Centered => "centered",
            Data::Raw => "raw",
            Data::Linear => "linear",
        }
    }

    /// The same in words.
    fn words(self) -> &'static str {
        match self {
            Data::Standardized => "standardized images",
            Data::Whitened => "whitened images",
            Data::Centered => "centered features",
            Data::Raw => "features as they come",
            Data::Linear => "features, linear heads",
        }
    }

    /// Of a sequence: images that are whitened, and otherwise what it is inside of; standardized images where it is like nothing that
    /// was measured. `linear`: under a linear head.
    pub fn of(sequence: &TaskSequence, linear: bool) -> Data {
        place::data_of(sequence, linear)
    }
}

/// What networks like these are to be expected to lose and keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Expected {
    /// What is done while training.
    pub training: Training,
    /// The share of measured networks that an interval is to hold.
    pub level: f64,
    /// The forecast loss of accuracy: the mean over all tasks but the last of accuracy when learned minus accuracy at the end.
    pub lost: f64,
    /// Between what that lay in measured networks.
    pub lost_interval: [f64; 2],
    /// The forecast mean accuracy over all tasks at the end.
    pub accuracy: f64,
    /// Between what that lay in measured networks.
    pub accuracy_interval: [f64; 2],
    /// Sequences of this kind of training on which the intervals rest.
    pub sequences: usize,
    /// What their inputs were.
    pub data: Data,
    /// The mean error of the loss of accuracy and of the final accuracy over them.
    pub mean_error: [f64; 2],
    /// The theory of the forecast, the one that came closest to them.
    pub theory: Theory,
}

/// A theory of wide networks whose forecasts were held against measured ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Theory {
    /// The mode.
    pub mode: Mode,
    /// Hidden layers.
    pub depth: usize,
    /// The inverse temperature for inputs of mean square 1; for others it is divided by that.
    #[serde(with = "crate::serde_infinity")]
    pub beta: f64,
    /// What training lowers.
    #[serde(default)]
    pub loss: Loss,
}

/// The table as the command of the evidence writes it.
#[derive(Debug, Deserialize)]
struct Table {
    edges: Vec<f64>,
    levels: Vec<f64>,
    /// Every kind of training, on standardized images.
    classes: BTreeMap<String, Entry>,
    /// The same on whitened ones.
    whitened: BTreeMap<String, Entry>,
    /// Hidden layers on centered features, on features as they come, and linear heads.
    centered: BTreeMap<String, Entry>,
    raw: BTreeMap<String, Entry>,
    linear: BTreeMap<String, Entry>,
    /// What the sequences of each were like.
    domain: BTreeMap<String, Domain>,
    provenance: serde_json::Value,
}

impl Table {
    fn classes(&self, data: Data) -> &BTreeMap<String, Entry> {
        match data {
            Data::Standardized => &self.classes,
            Data::Whitened => &self.whitened,
            Data::Centered => &self.centered,
            Data::Raw => &self.raw,
            Data::Linear => &self.linear,
        }
    }

    fn entry(&self, training: Training, data: Data) -> Option<&Entry> {
        self.classes(data).get(training.key())
    }
}

/// One kind of training, the theory that came closest to it, and how close that came.
#[derive(Debug, Deserialize)]
struct Entry {
    /// None where it is not one of inputs (features of the network itself).
    theory: Option<Theory>,
    runs: usize,
    sequences: usize,
    lost: Errors,
    accuracy: Errors,
}

/// Errors of one quantity.
#[derive(Debug, Deserialize)]
struct Errors {
    error: f64,
    /// By the forecast loss of accuracy, between the edges of the table.
    parts: Vec<Quantiles>,
}

/// Quantiles of the errors by level in per cent.
#[derive(Debug, Deserialize)]
struct Quantiles {
    #[serde(flatten)]
    by_level: BTreeMap<String, serde_json::Value>,
}

impl Quantiles {
    fn at(&self, level: f64) -> Option<[f64; 2]> {
        let found = self.by_level.get(&format!("{:.0}", 100.0 * level))?;
        serde_json::from_value(found.clone()).ok()
    }
}

fn table() -> Option<&'static Table> {
    static TABLE: OnceLock<Option<Table>> = OnceLock::new();
    TABLE.get_or_init(|| serde_json::from_str(include_str!("calibration.json")).ok()).as_ref()
}

/// The command, seed and versions that made the table.
pub fn provenance() -> serde_json::Value {
    table().map_or(serde_json::Value::Null, |table| table.provenance.clone())
}

/// The theory that came closest to networks trained in this way on inputs like these.
pub fn theory(training: Training, tasks: &TaskSequence) -> Option<SingleHeadSettings> {
    settings(training, Data::of(tasks, false), tasks)
}

/// The theory that came closest to linear heads on features: their kernel at a high temperature.
pub(crate) fn theory_of_linear_head(training: Training, tasks: &TaskSequence) -> Option<SingleHeadSettings> {
    settings(training, Data::Linear, tasks)
}

/// [`theory`] with squared error, for what orders of tasks share kernels and factors for.
pub(crate) fn by_squares(
    theory: SingleHeadSettings,
    training: Training,
    tasks: &TaskSequence,
) -> Option<SingleHeadSettings> {
    if theory.loss == Loss::Squared {
        return Some(theory);
    }
    settings(training, if tasks.settings.is_whitened() { Data::Whitened } else { Data::Standardized }, tasks)
}

/// The theory that says how many examples to keep: the closest one, but squared error where cross-entropy would take long for so many
/// amounts.
pub(crate) fn of_all_amounts(
    theory: SingleHeadSettings,
    training: Training,
    tasks: &TaskSequence,
) -> SingleHeadSettings {
    /// Operations of some ten seconds on a laptop.
    const MUCH: f64 = 3e11;
    /// Operations of a step for one entry of the kernel and one class, times steps, times amounts of half of everything.
    const EACH: f64 = 4.0 * 60.0 * 8.0;
    let total: f64 = tasks.tasks.iter().map(|task| task.x.nrows() as f64).sum();
    let columns = tasks.tasks.first().map_or(1, |task| task.y.ncols()) as f64;
    if EACH * total.powi(2) * columns * tasks.tasks.len() as f64 / 3.0 <= MUCH {
        return theory;
    }
    let other = by_squares(theory, training, tasks);
    other.map_or(theory, |other| SingleHeadSettings { replay: theory.replay, keep_bytes: theory.keep_bytes, ..other })
}

/// Whether a theory lowers what the one that came closest to networks on such data does.
pub(crate) fn is_of(data: Data, theory: &SingleHeadSettings) -> bool {
    let closest = table().and_then(|table| table.entry(Training::Replay, data)?.theory);
    closest.is_some_and(|closest| closest.loss == theory.loss)
}

fn settings(training: Training, data: Data, tasks: &TaskSequence) -> Option<SingleHeadSettings> {
    let Theory { mode, depth, beta, loss } = table()?.entry(training, data)?.theory?;
    let usual = SingleHeadSettings::default();
    // A linear head has the kernel of its features, whatever the depth.
    let architecture = Architecture { depth: depth.max(1), ..usual.architecture };
    Some(SingleHeadSettings { mode, architecture, beta: beta / mean_square(tasks)?, loss, ..usual })
}

/// By how much forecasts of the final accuracy were off on average, by what is done while training as the table calls it; where
/// such networks were not measured, those of plain training.
pub(crate) fn accuracy_error(what: &str, data: Data) -> f64 {
    let error = |table: &Table| {
        let (own, images) = (table.classes(data), &table.classes);
        let entry = own.get(what).or_else(|| images.get(what)).or_else(|| table.whitened.get(what));
        let entry = entry.or_else(|| own.get(Training::Plain.key()));
        entry.map(|entry| entry.accuracy.error)
    };
    // Without a table nothing is sure.
    table().and_then(error).unwrap_or(f64::INFINITY)
}

/// Networks of a kind that forecasts were held against, as the table calls it, with the mean error of their final accuracy; none where
/// none were measured.
pub(crate) fn networks(what: &str, data: Data) -> Option<(usize, f64)> {
    table()?.classes(data).get(what).map(|entry| (entry.runs, entry.accuracy.error))
}

/// The largest mean error of the final accuracy over all kinds of networks: what forecasts may be off by where none were measured.
pub(crate) fn largest_error() -> f64 {
    let of = |table: &'static Table| DATA.iter().flat_map(|data| table.classes(*data).values());
    let all = table().into_iter().flat_map(of);
    all.map(|entry| entry.accuracy.error).fold(0.0, f64::max)
}

/// Whether networks of this kind were measured: with ReLUs, and without the biases of a theory that has them.
pub(crate) fn measured(asked: &SingleHeadSettings) -> bool {
    asked.architecture.activation == Activation::Relu && asked.bias2 == 0.0
}

/// The mean square of an input; none where it is 0.
fn mean_square(tasks: &TaskSequence) -> Option<f64> {
    let sum: f64 = tasks.tasks.iter().map(|task| task.x.squared_norm_l2()).sum();
    let count: usize = tasks.tasks.iter().map(|task| task.x.nrows() * task.x.ncols()).sum();
    Some(sum / count as f64).filter(|mean| mean.is_finite() && *mean > 0.0)
}

/// What networks like these lose and keep, for a loss of accuracy and final accuracy on test data that [`theory`] forecasts; none
/// where no such networks were measured, or not on tasks like these ([`place`]).
pub fn expected(training: Training, tasks: &TaskSequence, lost: f64, accuracy: f64) -> Option<Expected> {
    place(tasks).ok().filter(|found| found.inside)?;
    expected_of(training, Data::of(tasks, false), lost, accuracy)
}

/// [`expected`] for data that are like those that were measured.
pub(crate) fn expected_of(training: Training, data: Data, lost: f64, accuracy: f64) -> Option<Expected> {
    let table = table()?;
    let entry = table.entry(training, data)?;
    let level = *table.levels.first()?;
    let part = table.edges.iter().take_while(|edge| lost >= **edge).count();
    let interval = |errors: &Errors, value: f64, least: f64| {
        let [low, high] = errors.parts.get(part)?.at(level)?;
        Some([(value + low).max(least), (value + high).min(1.0)])
    };
    Some(Expected {
        training,
        level,
        lost,
        lost_interval: interval(&entry.lost, lost, -1.0)?,
        accuracy,
        accuracy_interval: interval(&entry.accuracy, accuracy, 0.0)?,
        sequences: entry.sequences,
        data,
        mean_error: [entry.lost.error, entry.accuracy.error],
        theory: entry.theory?,
    })
}

impl Expected {
    /// What to expect, in a sentence or two.
    pub fn sentence(&self) -> String {
        format!(
            "{} ({}). Average accuracy at the end: {} ({}).",
            headline(self.lost),
            points_between(self.lost_interval),
            per_cent(self.accuracy),
            between(self.accuracy_interval)
        )
    }

    /// Where the range comes from, in a sentence.
    pub fn about(&self) -> String {
        let how = match self.training {
            Training::Plain => "",
            Training::Replay => " with replay",
            Training::Gating => " with gated units",
        };
        let inputs = self.data.words();
        let share = format!("{:.0}", 10.0 * self.level);
        let share = if share == "8" { "Eight".to_string() } else { share };
        format!("{share} in ten measured networks{how} ({} sequences of {inputs}) fell inside.", self.sequences)
    }
}

/// "Expect to lose 11 points of accuracy", without a full stop.
pub fn headline(lost: f64) -> String {
    match (100.0 * lost).round() {
        p if p >= 2.0 => format!("Expect to lose {p:.0} points of accuracy"),
        1.0 => "Expect to lose 1 point of accuracy".into(),
        p if p <= -1.0 => format!("Expect to lose nothing: earlier tasks gain {:.0} points of accuracy", -p),
        _ => "Expect to lose less than 1 point of accuracy".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;
    use crate::linalg::Mat;
    use crate::tasks::Provenance;

    /// Two tasks whose inputs have this mean square.
    fn tasks(mean_square: f64, settings: Provenance) -> TaskSequence {
        let x = |_| Mat::from_fn(4, 3, |i, j| if (i + j) % 2 == 0 { mean_square.sqrt() } else { -mean_square.sqrt() });
        let task = |k| Task::new(x(k), Mat::from_fn(4, 1, |i, _| if i < 2 { 1.0 } else { -1.0 }));
        TaskSequence { tasks: vec![task(0), task(1)], settings }
    }

    #[test]
    fn the_table_is_read_and_says_what_made_it() {
        let table: Table = serde_json::from_str(include_str!("calibration.json")).unwrap();
        assert!(table.provenance["command"].as_str().unwrap().contains("evidence"));
        for entry in DATA.iter().flat_map(|data| table.classes(*data).values()) {
            for errors in [&entry.lost, &entry.accuracy] {
                assert_eq!(errors.parts.len(), table.edges.len() + 1);
                for part in &errors.parts {
                    let ends: Vec<[f64; 2]> = table.levels.iter().map(|level| part.at(*level).unwrap()).collect();
                    // Wider for a higher level.
                    assert!(ends.windows(2).all(|w| w[0][0] >= w[1][0] && w[0][1] <= w[1][1]), "{ends:?}");
                    assert!(ends.iter().all(|[low, high]| low <= high));
                }
            }
        }
    }

    #[test]
    fn the_temperature_follows_the_scale_of_inputs() {
        let theory = |mean_square| theory(Training::Plain, &tasks(mean_square, Provenance::default())).unwrap();
        let (one, four) = (theory(1.0), theory(4.0));
        // The kernel grows with the mean square of inputs, and so does its ridge.
        assert!((one.beta / four.beta - 4.0).abs() < 1e-12, "{} {}", one.beta, four.beta);
        assert_eq!(super::theory(Training::Plain, &tasks(0.0, Provenance::default())), None);
    }

    #[test]
    fn every_kind_of_data_has_its_domain_and_both_ways_of_training() {
        let table: Table = serde_json::from_str(include_str!("calibration.json")).unwrap();
        for data in DATA {
            assert!(table.domain.contains_key(data.key()), "{data:?}");
            for training in [Training::Plain, Training::Replay] {
                assert!(
                    table.entry(training, data).is_some_and(|entry| entry.theory.is_some()),
                    "{data:?} {training:?}"
                );
            }
        }
        let about = expected_of(Training::Replay, Data::Linear, 0.1, 0.8).unwrap().about();
        assert!(about.contains("measured networks with replay") && about.contains("linear heads"), "{about}");
    }

    #[test]
    fn what_is_expected_depends_on_how_images_were_prepared() {
        let stored = tasks(1.0, Provenance::default());
        let white = tasks(1.0, serde_json::from_str(r#"{ "preprocess": { "whiten": { "ridge": 1e-7 } } }"#).unwrap());
        let of = |tasks: &TaskSequence| expected_of(Training::Plain, Data::of(tasks, false), 0.4, 0.6).unwrap();
        let [found, other] = [&stored, &white].map(of);
        // Four examples of three features are like nothing that was measured.
        assert!([&stored, &white].iter().all(|tasks| expected(Training::Plain, tasks, 0.4, 0.6).is_none()));
        assert!(found.data == Data::Standardized && other.data == Data::Whitened && found.sequences != other.sequences);
        for Expected { lost_interval: [low, high], accuracy_interval: [a, b], mean_error, .. } in [found, other] {
            assert!(low < 0.4 + mean_error[0] && high > 0.4 - mean_error[0] && low < high);
            assert!(a < b && (0.0..=1.0).contains(&a) && b <= 1.0);
        }
        assert!(found.about().contains("of standardized images") && other.about().contains("of whitened images"));
    }
}
