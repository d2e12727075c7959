//! How far networks that people train lie from their forecast: `measured − forecast`, by the kind of training.
//!
//! | Item | What it is |
//! |---|---|
//! | [`expected`], [`Expected`] | what networks like these lost and kept, from measured ones, for one forecast |
//! | [`Training`] | what is done while training, as far as the evidence tells it apart |
//! | [`provenance`] | the command, seed and versions that made the table |
//!
//! Networks were trained on many sequences of tasks with test data (`docs/evidence.md` in the repository): images of standardised
//! pixels, not whitened, a few hundred examples per task. Elsewhere the intervals are an extrapolation. The table holds
//! quantiles of the errors on two thirds of them, by how much the forecast says is lost; on the last third the intervals held at
//! about the rate that they state, which the same page tells. An interval is given for the mode, depth and temperature whose
//! forecasts were compared, and for no other.

use super::single_head::{Mode, SingleHeadSettings};
use crate::kernels::Activation;
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

/// What networks like these lost and kept.
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
    /// The mean error of the loss of accuracy and of the final accuracy over them.
    pub mean_error: [f64; 2],
    /// The theory that came closest to such networks, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closer: Option<Closer>,
}

/// A theory that came closer to measured networks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Closer {
    /// The mode.
    pub mode: Mode,
    /// Hidden layers of the theory; none for those of the network.
    pub depth: Option<usize>,
    /// The inverse temperature, for inputs of mean square 1.
    #[serde(with = "crate::serde_infinity")]
    pub beta: f64,
    /// The mean error of the loss of accuracy and of the final accuracy.
    pub mean_error: [f64; 2],
}

/// The table as the command of the evidence writes it.
#[derive(Debug, Deserialize)]
struct Table {
    edges: Vec<f64>,
    levels: Vec<f64>,
    /// Of every kind of training the theories that were compared, the best first.
    classes: BTreeMap<String, Vec<Entry>>,
    provenance: serde_json::Value,
}

/// One kind of training and one theory.
#[derive(Debug, Deserialize)]
struct Entry {
    mode: String,
    depth: Option<Depth>,
    beta: Option<f64>,
    sequences: usize,
    lost: Errors,
    accuracy: Errors,
}

impl Entry {
    /// Whether it is of this theory.
    fn is(&self, theory: &SingleHeadSettings) -> bool {
        let depth = match self.depth {
            Some(Depth::Layers(depth)) => depth == theory.architecture.depth,
            _ => true,
        };
        let network = theory.architecture.activation == Activation::Relu && theory.bias2 == 0.0;
        self.mode == word(theory.mode) && network && depth && self.beta.unwrap_or(f64::INFINITY) == theory.beta
    }

    fn mean_error(&self) -> [f64; 2] {
        [self.lost.error, self.accuracy.error]
    }

    /// As a theory to take instead; none where it is not one of inputs.
    fn closer(&self) -> Option<Closer> {
        let mode = serde_json::from_value(serde_json::Value::from(self.mode.as_str())).ok()?;
        let depth = match self.depth {
            Some(Depth::Layers(depth)) => Some(depth),
            _ => None,
        };
        Some(Closer { mode, depth, beta: self.beta.unwrap_or(f64::INFINITY), mean_error: self.mean_error() })
    }
}

/// A depth, or the word "own": that of the network.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Depth {
    Layers(usize),
    Own(#[allow(dead_code)] String),
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

/// The mode as it is asked for.
fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::Rf => "rf",
        Mode::Ntk => "ntk",
        Mode::Lazy => "lazy",
        Mode::Gibbs => "gibbs",
    }
}

/// The command, seed and versions that made the table.
pub fn provenance() -> serde_json::Value {
    table().map_or(serde_json::Value::Null, |table| table.provenance.clone())
}

/// What networks like these lost and kept, for a forecast loss of accuracy and final accuracy on test data; none where this
/// theory was not compared with such networks.
pub fn expected(training: Training, theory: &SingleHeadSettings, lost: f64, accuracy: f64) -> Option<Expected> {
    let table = table()?;
    let entries = table.classes.get(training.key())?;
    let entry = entries.iter().find(|entry| entry.is(theory))?;
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
        mean_error: entry.mean_error(),
        closer: entries.first().filter(|best| !best.is(theory)).and_then(Entry::closer),
    })
}

impl Expected {
    /// From accuracies `after[t][s]` on test data.
    pub(crate) fn of(training: Training, theory: &SingleHeadSettings, after: &[Vec<f64>]) -> Option<Expected> {
        let last = after.len().checked_sub(1).filter(|last| *last > 0)?;
        let lost = (0..last).map(|s| after[s][s] - after[last][s]).sum::<f64>() / last as f64;
        let accuracy = after[last].iter().sum::<f64>() / (last + 1) as f64;
        expected(training, theory, lost, accuracy)
    }

    /// The intervals in a sentence.
    pub fn sentence(&self) -> String {
        let how = match self.training {
            Training::Plain => "Adam or SGD, one task after another",
            Training::Replay => "Adam or SGD with replay",
            Training::Gating => "Adam or SGD with gated units",
        };
        let [lost, kept] = [self.lost_interval, self.accuracy_interval].map(|[a, b]| format!("{a:.2} and {b:.2}"));
        let closer = self.closer.map_or(String::new(), |closer| {
            let depth = closer.depth.map_or("the network's own depth".into(), |depth| format!("depth {depth}"));
            let beta = if closer.beta.is_finite() { format!(", beta {}", closer.beta) } else { String::new() };
            let [new, old] = [closer.mean_error[0], self.mean_error[0]];
            format!(
                " Forecasts in mode {} at {depth}{beta} came closer (mean error {new:.3}, here {old:.3}).",
                word(closer.mode)
            )
        });
        format!(
            "Networks that people train ({how}; {} sequences of images, standardised and not whitened) with such a forecast lost between {lost} of accuracy and ended with an \
             average accuracy between {kept}, {:.0} % of them.{closer}",
            self.sequences,
            100.0 * self.level
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_says_what_made_it() {
        let table: Table = serde_json::from_str(include_str!("calibration.json")).unwrap();
        assert!(table.provenance["command"].as_str().unwrap().contains("evidence"));
        for entry in table.classes.values().flatten() {
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
    fn intervals_belong_to_the_theory_that_was_compared() {
        let default = SingleHeadSettings::default();
        let found = expected(Training::Plain, &default, 0.4, 0.6).unwrap();
        let ([low, high], [a, b]) = (found.lost_interval, found.accuracy_interval);
        assert!(low < 0.4 + found.mean_error[0] && high > 0.4 - found.mean_error[0] && low < high);
        assert!(a < b && (0.0..=1.0).contains(&a) && b <= 1.0 && found.sequences > 10);
        // Accuracies after two tasks: .9 when learned, .5 at the end; .7 of the second.
        let same = Expected::of(Training::Plain, &default, &[vec![0.9, 0.5], vec![0.5, 0.7]]).unwrap();
        assert!((same.lost - 0.4).abs() < 1e-12 && (same.accuracy - 0.6).abs() < 1e-12);
        assert_eq!(Expected::of(Training::Plain, &default, &[vec![0.9]]), None);
        let warm = SingleHeadSettings { beta: 7.0, ..default };
        assert_eq!(expected(Training::Plain, &warm, 0.4, 0.6), None);
        assert!(found.sentence().contains("sequences"));
    }
}
