//! The words of choices, and values that are written in a way of their own: loads, learning rates.

use super::field::{FieldType, Kind, Value};
use crate::data::{Center, Order};
use crate::error::{Error, Result};
use crate::kernels::Activation;
use crate::metrics::Convention;
use crate::nets::{Fisher, Heads, LossScale, Solver};
use crate::stats::log_grid;
use crate::theory::single_head::{Mode, ReplayBudget, Selection};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A number: one that is too large is not taken for infinity, which has its own word.
pub(super) fn number(text: &str) -> std::result::Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| "must be a number".to_string())?;
    match value {
        x if x.is_nan() => Err("must be a number".into()),
        x if x.is_infinite() && !text.to_lowercase().contains("inf") => {
            Err("is too large; write inf for infinity".into())
        }
        x => Ok(x),
    }
}

/// One of a few words.
pub(super) trait Choice: Serialize + DeserializeOwned {
    /// The words, each with what it means.
    const WORDS: &'static [(&'static str, &'static str)];

    /// What a word stands for.
    fn of(word: &str) -> Option<Self> {
        serde_json::from_value(word.into()).ok()
    }

    /// The word.
    fn word(&self) -> String {
        serde_json::to_value(self).ok().and_then(|word| word.as_str().map(String::from)).unwrap_or_default()
    }
}

macro_rules! choices {
    ($($type:ty { $($word:literal => $help:literal,)+ })+) => {$(
        impl Choice for $type {
            const WORDS: &'static [(&'static str, &'static str)] = &[$(($word, $help)),+];
        }
    )+};
}

/// How tasks are made from a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolKind {
    /// Every task sees the images through its own shuffle of their pixels.
    #[default]
    Permuted,
    /// Every task brings new classes, all into one output.
    ClassIncremental,
    /// Every task has classes of its own.
    Split,
    /// Two tasks on two pairs of classes, mixed in opposite proportions.
    PartialSplit,
    /// Random labels on a few images, with controlled sharing between tasks.
    TargetDistractor,
}

/// A learning rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Gradient descent.
    Gd,
    /// L2 penalty on the distance to the last solution.
    L2,
    /// Online elastic weight consolidation.
    Ewc,
}

/// What is swept across the phase diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseSweep {
    /// Permutation ratio.
    #[default]
    Perm,
    /// Split ratio of a partial split.
    Split,
    /// Target-distractor: share of targets that both tasks share.
    Target,
    /// Target-distractor: share of images that both tasks share.
    Shared,
    /// Target-distractor: chance that a shared label is flipped.
    Flip,
}

/// The factors of heads with several outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeadFactors {
    /// A matrix each.
    #[default]
    Exact,
    /// Two numbers each: classes that are alike.
    Symmetric,
}

choices! {
    Mode {
        "rf" => "Random features, strong penalty: the paper's main single-head theory",
        "ntk" => "All weights learn, strong penalty",
        "lazy" => "All weights learn by plain gradient descent in small steps",
        "gibbs" => "All weights learn at the penalty given by --lambda",
    }
    Activation {
        "relu" => "max(0, z)",
        "linear" => "z",
        "erf" => "erf(z)",
        "gelu" => "z Φ(z), Φ the normal distribution function",
    }
    Convention {
        "gem" => "Lopez-Paz and Ranzato",
        "avalanche" => "as Avalanche reports them",
        "chaudhry" => "Chaudhry and others",
    }
    ReplayBudget {
        "per-task" => "Examples of each earlier task",
        "in-all" => "Examples in all, shared by the tasks seen so far",
        "per-class" => "Examples of each class of each earlier task",
    }
    Selection {
        "random" => "Drawn at random",
        "by-class" => "Drawn at random, as many of every class",
        "greedy" => "Those that take most from the forecast forgetting",
        "at-risk" => "Those with the smallest forecast margins at the end, as many of every class",
    }
    ProtocolKind {
        "permuted" => "Every task sees the images through its own shuffle of their pixels",
        "class-incremental" => "Every task brings new classes, all into one output",
        "split" => "Every task has two groups of classes of its own, labeled 1 and -1",
        "partial-split" => "Two tasks on two pairs of classes, mixed in opposite proportions",
        "target-distractor" => "Random labels on a few images, with controlled sharing between tasks",
    }
    Center {
        "image" => "The image's own mean",
        "pixel" => "The mean of each pixel over the training set",
        "none" => "Nothing",
    }
    Order {
        "standard" => "Centered, whitened with a ridge, scaled to squared norm N0",
        "authors" => "Centered, scaled, whitened without a ridge, scaled: every step, also of own tasks",
    }
    Rule {
        "gd" => "Gradient descent",
        "l2" => "L2 penalty on the distance to the last solution",
        "ewc" => "Online elastic weight consolidation",
    }
    Fisher {
        "paper" => "Squared gradient of the whole loss, the paper's normalization",
        "rms" => "The same with unit rms",
        "empirical" => "Mean squared gradient of single examples",
        "exact" => "Exact for a Gaussian likelihood",
    }
    Solver {
        "descent" => "Gradient descent until a stopping rule holds",
        "levenberg" => "Levenberg-Marquardt to the minimum of loss and penalty; without a penalty, to a nearby interpolating solution",
    }
    LossScale {
        "sum" => "Half the sum of squared errors",
        "mean" => "Half their mean",
    }
    Heads {
        "single" => "One readout for all tasks",
        "multi" => "One for each",
    }
    HeadFactors {
        "exact" => "A matrix for every two heads",
        "symmetric" => "Two numbers: exact for classes that are alike, else an approximation; at finite lambda",
    }
    PhaseSweep {
        "perm" => "Permutation ratio",
        "split" => "Split ratio of a partial split",
        "target" => "Target-distractor: share of targets that both tasks share",
        "shared" => "Target-distractor: share of images that both tasks share",
        "flip" => "Target-distractor: chance that a shared label is flipped",
    }
}

/// A learning rate: a number, or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rate(pub Option<f64>);

impl FieldType for Rate {
    fn kind() -> Kind {
        Kind::Text
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        match value.to_string().as_str() {
            "auto" => Ok(Rate(None)),
            word => number(word).map(|eta| Rate(Some(eta))).map_err(|_| "must be a positive number or auto".into()),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(self.0.map_or("auto".into(), Value::Number))
    }
}

/// A number of bytes, with or without a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl std::str::FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Bytes, String> {
        const UNITS: [(&str, f64); 9] = [
            ("KiB", 1024.0),
            ("MiB", 1048576.0),
            ("GiB", 1073741824.0),
            ("TiB", 1099511627776.0),
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("TB", 1e12),
            ("B", 1.0),
        ];
        let text = text.trim();
        let ends = |unit: &str| text.to_ascii_lowercase().ends_with(&unit.to_ascii_lowercase());
        let (digits, unit) = match UNITS.iter().find(|(unit, _)| ends(unit)) {
            Some((unit, size)) => (&text[..text.len() - unit.len()], *size),
            None => (text, 1.0),
        };
        match digits.trim().parse::<f64>() {
            Ok(number) if number.is_finite() && number * unit >= 1.0 => Ok(Bytes((number * unit) as u64)),
            _ => Err("must be a positive number of bytes such as 20GiB, 500MB or 8e9".into()),
        }
    }
}

impl FieldType for Bytes {
    fn kind() -> Kind {
        Kind::Text
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        value.to_string().parse()
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Whole(self.0))
    }
}

/// The order in which tasks are learned: as they are given, every task once by its number, or as given with the best one searched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LearningOrder {
    /// As the tasks are given.
    #[default]
    Given,
    /// As the tasks are given, and the order with the least forgetting is searched for.
    Best,
    /// Every task once, by its number from 1.
    Numbers(Vec<usize>),
}

impl LearningOrder {
    /// The numbers of the tasks; none where they come as they are given.
    pub fn numbers(&self) -> &[usize] {
        match self {
            LearningOrder::Numbers(numbers) => numbers,
            _ => &[],
        }
    }
}

impl From<Vec<usize>> for LearningOrder {
    fn from(numbers: Vec<usize>) -> LearningOrder {
        if numbers.is_empty() { LearningOrder::Given } else { LearningOrder::Numbers(numbers) }
    }
}

impl FieldType for LearningOrder {
    fn kind() -> Kind {
        Kind::Text
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        match value {
            Value::Word(word) if word.trim() == "best" => Ok(LearningOrder::Best),
            other => Vec::<usize>::read(other)
                .map(LearningOrder::from)
                .map_err(|_| "must be best or the numbers of all tasks, such as 3,1,2".into()),
        }
    }

    fn write(&self) -> Option<Value> {
        match self {
            LearningOrder::Given => None,
            LearningOrder::Best => Some("best".into()),
            LearningOrder::Numbers(numbers) => numbers.write(),
        }
    }
}

/// Loads α = P/N: `from:to:count`, evenly in ln α, or a list with commas. 1 itself, where the theory has a boundary, is left
/// out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Loads(String);

impl std::fmt::Display for Loads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl From<&str> for Loads {
    fn from(text: &str) -> Loads {
        Loads(text.into())
    }
}

impl FieldType for Loads {
    fn kind() -> Kind {
        Kind::Text
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        Ok(Loads(value.to_string()))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Word(self.0.clone()))
    }
}

impl Loads {
    /// The loads, ascending.
    ///
    /// # Errors
    /// [`Error::Setting`] for text that is no grid.
    pub fn grid(&self) -> Result<Vec<f64>> {
        let text = &self.0;
        let expected = "must be from:to:count with 0 < from < to and count of at least 2, or a list of positive loads";
        let wrong = || Error::setting("--alpha", text, expected);
        let number = |word: &str| word.trim().parse::<f64>().map_err(|_| wrong());
        let loads: Vec<f64> = match text.split(':').collect::<Vec<_>>()[..] {
            [from, to, count] => {
                let (from, to) = (number(from)?, number(to)?);
                let count: usize = count.trim().parse().map_err(|_| wrong())?;
                if !(from > 0.0 && to > from && to.is_finite() && (2..=100_000).contains(&count)) {
                    return Err(wrong());
                }
                log_grid(from, to, count)
            }
            [list] => list.split(',').map(number).collect::<Result<_>>()?,
            _ => return Err(wrong()),
        };
        if loads.iter().any(|a| !(a.is_finite() && *a > 0.0)) {
            return Err(wrong());
        }
        let mut kept: Vec<f64> = loads.into_iter().filter(|a| (a - 1.0).abs() > 1e-9).collect();
        kept.sort_by(f64::total_cmp);
        kept.dedup();
        if kept.is_empty() {
            let expected = "holds only 1, the boundary itself, where the theory has no value";
            return Err(Error::setting("--alpha", text, expected));
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let bytes = |text: &str| text.parse::<Bytes>().map(|bytes| bytes.0);
        assert_eq!(
            ["20GiB", "500 MB", "8e9", "1.5kb", "7B"].map(|t| bytes(t).unwrap()),
            [20 << 30, 500_000_000, 8_000_000_000, 1500, 7]
        );
        assert!(
            ["", "GiB", "-1GB", "0", "nan", "inf", "20 elephants", "1e400"].iter().all(|text| bytes(text).is_err())
        );
    }

    #[test]
    fn numbers_are_numbers() {
        assert_eq!(
            ["-0.5", "1e3", "inf", "-inf"].map(|t| number(t).unwrap()),
            [-0.5, 1e3, f64::INFINITY, f64::NEG_INFINITY]
        );
        assert!(["1e400", "-1e400", "nan", "", "1,5", "0x10"].iter().all(|text| number(text).is_err()));
    }

    #[test]
    fn every_word_stands_for_a_value() {
        fn check<T: Choice>() {
            for (word, _) in T::WORDS {
                assert_eq!(T::of(word).map(|choice| choice.word()).as_deref(), Some(*word));
            }
        }
        check::<Mode>();
        check::<Activation>();
        check::<Convention>();
        check::<ReplayBudget>();
        check::<Selection>();
        check::<ProtocolKind>();
        check::<Center>();
        check::<Order>();
        check::<Rule>();
        check::<Fisher>();
        check::<Solver>();
        check::<LossScale>();
        check::<Heads>();
        check::<PhaseSweep>();
    }

    #[test]
    fn grids_are_read() {
        let grid = |text: &str| Loads::from(text).grid();
        assert_eq!(grid("0.5,2,2").unwrap(), [0.5, 2.0]);
        let three = grid("0.1:10:3").unwrap();
        assert_eq!(three.len(), 2, "1 itself is left out: {three:?}");
        for bad in ["", "a", "0:1:5", "2:1:5", "1:2", "1:2:1", "-1", "1", "nan", "0.1:inf:4"] {
            let message = grid(bad).unwrap_err().to_string();
            assert!(message.starts_with("--alpha is"), "{message}");
        }
    }
}
