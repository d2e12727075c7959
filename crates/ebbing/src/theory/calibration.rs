//! How far trained networks lie from their forecast: `measured − forecast`, by the kind of training.
//!
//! | Item | What it is |
//! |---|---|
//! | [`theory`] | the theory that came closest to measured networks, for a sequence |
//! | [`expected`], [`Expected`] | what networks like these lose and keep, from its forecast and measured ones |
//! | [`place`] | whether tasks are like those that were measured |
//! | [`Training`] | what is done while training, as far as the evidence distinguishes it |
//! | [`provenance`] | the command, seed and versions that made the table |
//!
//! Networks were trained on many sequences of tasks with test data (`docs/evidence.md` in the repository): images, a few
//! hundred examples per task, their pixels standardized or, apart, prepared as the program prepares images that it draws
//! (whitened). Elsewhere there are no intervals: a forecast says what of its tasks is unlike those that were measured. The table holds the theory that came closest and quantiles of its
//! errors on two thirds of the sequences, by how much it says is lost; on the last third the intervals held at about the
//! rate that they state, which the same page reports.

pub(crate) mod gains;
mod place;

pub use place::place;
pub(crate) use place::{LINEAR_HEAD, not_calibrated, outside};

use super::domain::Domain;
use super::single_head::{Mode, SingleHeadSettings};
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
    /// Whether their images were whitened, as these are.
    pub whitened: bool,
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
    /// What the sequences of both were like.
    domain: BTreeMap<String, Domain>,
    provenance: serde_json::Value,
}

impl Table {
    fn entry(&self, training: Training, whitened: bool) -> Option<&Entry> {
        let classes = if whitened { &self.whitened } else { &self.classes };
        classes.get(training.key())
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

/// The theory that came closest to networks trained in this way on images prepared like these.
pub fn theory(training: Training, tasks: &TaskSequence) -> Option<SingleHeadSettings> {
    let Theory { mode, depth, beta } = table()?.entry(training, tasks.settings.is_whitened())?.theory?;
    let usual = SingleHeadSettings::default();
    let architecture = Architecture { depth, ..usual.architecture };
    Some(SingleHeadSettings { mode, architecture, beta: beta / mean_square(tasks)?, ..usual })
}

/// The theory of a linear head on features that is trained for some epochs: their kernel at a high temperature. The one value of β
/// (for features of mean square 1) comes from a single set of features; heads that are trained for longer, or on more examples,
/// lie at another, so that no interval goes with it.
pub(crate) fn theory_of_linear_head(tasks: &TaskSequence) -> Option<SingleHeadSettings> {
    const BETA: f64 = 0.4;
    Some(SingleHeadSettings { beta: BETA / mean_square(tasks)?, ..SingleHeadSettings::default() })
}

/// By how much forecasts of the final accuracy were off on average, by what is done while training as the table calls it; where
/// such networks were not measured, those of plain training.
pub(crate) fn accuracy_error(what: &str, whitened: bool) -> f64 {
    let error = |table: &Table| {
        let [own, other] = if whitened { [&table.whitened, &table.classes] } else { [&table.classes, &table.whitened] };
        let entry = own.get(what).or_else(|| other.get(what)).or_else(|| own.get(Training::Plain.key()));
        entry.map(|entry| entry.accuracy.error)
    };
    // Without a table nothing is sure.
    table().and_then(error).unwrap_or(f64::INFINITY)
}

/// Networks of a kind that forecasts were held against, as the table calls it, with the mean error of their final accuracy; none where
/// none were measured.
pub(crate) fn networks(what: &str, whitened: bool) -> Option<(usize, f64)> {
    let table = table()?;
    let classes = if whitened { &table.whitened } else { &table.classes };
    classes.get(what).map(|entry| (entry.runs, entry.accuracy.error))
}

/// The largest mean error of the final accuracy over all kinds of networks: what forecasts may be off by where none were measured.
pub(crate) fn largest_error() -> f64 {
    let all = table().into_iter().flat_map(|table| table.classes.values().chain(table.whitened.values()));
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
    expected_of(training, tasks.settings.is_whitened(), lost, accuracy)
}

/// [`expected`] for images that were whitened, or not, and are like those that were measured.
pub(crate) fn expected_of(training: Training, whitened: bool, lost: f64, accuracy: f64) -> Option<Expected> {
    let table = table()?;
    let entry = table.entry(training, whitened)?;
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
        whitened,
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
        let images = if self.whitened { "whitened images" } else { "standardized images" };
        let share = format!("{:.0}", 10.0 * self.level);
        let share = if share == "8" { "Eight".to_string() } else { share };
        format!("{share} in ten measured networks{how} ({} sequences of {images}) fell inside.", self.sequences)
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
        for entry in table.classes.values().chain(table.whitened.values()) {
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
    fn what_is_expected_depends_on_how_images_were_prepared() {
        let stored = tasks(1.0, Provenance::default());
        let white = tasks(1.0, serde_json::from_str(r#"{ "preprocess": { "whiten": { "ridge": 1e-7 } } }"#).unwrap());
        let of = |tasks: &TaskSequence| expected_of(Training::Plain, tasks.settings.is_whitened(), 0.4, 0.6).unwrap();
        let [found, other] = [&stored, &white].map(of);
        // Four examples of three features are like nothing that was measured.
        assert!([&stored, &white].iter().all(|tasks| expected(Training::Plain, tasks, 0.4, 0.6).is_none()));
        assert!(!found.whitened && other.whitened && found.sequences != other.sequences);
        for Expected { lost_interval: [low, high], accuracy_interval: [a, b], mean_error, .. } in [found, other] {
            assert!(low < 0.4 + mean_error[0] && high > 0.4 - mean_error[0] && low < high);
            assert!(a < b && (0.0..=1.0).contains(&a) && b <= 1.0);
        }
        assert!(found.about().contains("of standardized images") && other.about().contains("of whitened images"));
    }
}
