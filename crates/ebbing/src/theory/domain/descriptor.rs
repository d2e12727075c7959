//! A sequence of tasks in a few numbers.

use super::Quantity;
use crate::data::KNOWN_SETS;
use crate::error::Result;
use crate::linalg::{Mat, MatRef, lower_gram_into, par_map};
use crate::tasks::TaskSequence;
use crate::theory::classes::{class_count, classes_of, occurring};
use serde::{Deserialize, Serialize};

/// Rows of a task that its spectrum is taken from, evenly spaced: more would change it little and cost much.
const ROWS: usize = 1000;

/// What inputs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Pixels.
    Images,
    /// Features of an encoder.
    Features,
    /// Nobody said.
    Unknown,
}

impl Kind {
    pub(super) fn words(self) -> &'static str {
        match self {
            Kind::Images => "images",
            Kind::Features => "features of an encoder",
            Kind::Unknown => "inputs of an unknown kind",
        }
    }
}

/// A sequence in numbers. Numbers of single tasks are averages over tasks, except the smallest sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Descriptor {
    /// What inputs are.
    pub kind: Kind,
    /// How many tasks there are.
    pub tasks: usize,
    /// Features of an input.
    pub features: usize,
    /// Training examples of the smallest and the largest task.
    pub examples_per_task: [usize; 2],
    /// Training examples of the smallest and the largest class of any task; none where targets name no classes.
    pub examples_per_class: Option<[usize; 2]>,
    /// Classes of a task, on average; none where targets name no classes.
    pub classes_per_task: Option<f64>,
    /// Classes of the whole sequence.
    pub classes: Option<usize>,
    /// The mean of all entries.
    pub mean: f64,
    /// Their mean square.
    pub mean_square: f64,
    /// Their smallest and their largest.
    pub range: [f64; 2],
    /// Whether they are whole numbers from 0 to 255: pixels as they are stored.
    pub raw_pixels: bool,
    /// The spread of input norms relative to their mean.
    pub norm_spread: f64,
    /// `(Tr C)²/Tr C²` of the second moment C of a task's inputs, over min(P, d), of 1000 of its rows at most.
    pub effective_rank: f64,
    /// The spread of the root mean square of single features relative to its mean.
    pub feature_spread: f64,
    /// The share of features that are the same number for every example of a task.
    pub constant_features: f64,
}

/// One task's part of a descriptor.
struct OfTask {
    sum: f64,
    squares: f64,
    range: [f64; 2],
    whole: bool,
    norm_spread: f64,
    effective_rank: f64,
    feature_spread: f64,
    constant: f64,
}

impl Descriptor {
    /// Of the training examples of a sequence. Without a kind, data sets of images that the library knows and raw pixels are images,
    /// everything else is unknown.
    ///
    /// # Errors
    /// Those of [`TaskSequence::validate`].
    pub fn of(sequence: &TaskSequence, kind: Option<Kind>) -> Result<Descriptor> {
        sequence.validate()?;
        let parts = par_map(&sequence.tasks, |task| of_task(task.x.as_ref()));
        crate::stop::check()?;
        let count = sequence.tasks.len();
        let mean = |f: fn(&OfTask) -> f64| parts.iter().map(f).sum::<f64>() / count as f64;
        let sizes = || sequence.tasks.iter().map(|task| task.y.nrows());
        let entries: usize = sequence.tasks.iter().map(|task| task.x.nrows() * task.x.ncols()).sum();
        let over = |f: fn(&OfTask) -> f64| parts.iter().map(f).sum::<f64>() / entries as f64;
        let range = parts.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], part| {
            [low.min(part.range[0]), high.max(part.range[1])]
        });
        // Ones and zeros are whole numbers too, but no gray levels.
        let raw_pixels = parts.iter().all(|part| part.whole) && range[0] >= 0.0 && (2.0..=255.0).contains(&range[1]);
        let classes = Classes::of(sequence);
        Ok(Descriptor {
            kind: kind.unwrap_or_else(|| guessed(sequence, raw_pixels)),
            tasks: count,
            features: sequence.dim(),
            examples_per_task: [sizes().min().unwrap_or(0), sizes().max().unwrap_or(0)],
            examples_per_class: classes.as_ref().map(|classes| classes.examples),
            classes_per_task: classes.as_ref().map(|classes| classes.per_task),
            classes: classes.as_ref().map(|classes| classes.all),
            mean: over(|part| part.sum),
            mean_square: over(|part| part.squares),
            range,
            raw_pixels,
            norm_spread: mean(|part| part.norm_spread),
            effective_rank: mean(|part| part.effective_rank),
            feature_spread: mean(|part| part.feature_spread),
            constant_features: mean(|part| part.constant),
        })
    }

    /// One of its numbers at its smallest and its largest: of sizes, those of different tasks and classes; none where there is none.
    pub fn ends(&self, quantity: Quantity) -> Option<[f64; 2]> {
        let sizes = |ends: [usize; 2]| ends.map(|size| size as f64);
        match quantity {
            Quantity::ExamplesPerTask => Some(sizes(self.examples_per_task)),
            Quantity::ExamplesPerClass => self.examples_per_class.map(sizes),
            _ => self.value(quantity).map(|value| [value; 2]),
        }
    }

    /// One of its numbers, of sizes the smallest; none where there is none.
    pub fn value(&self, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::Tasks => Some(self.tasks as f64),
            Quantity::Features => Some(self.features as f64),
            Quantity::ExamplesPerTask => Some(self.examples_per_task[0] as f64),
            Quantity::ExamplesPerClass => self.examples_per_class.map(|[least, _]| least as f64),
            Quantity::ClassesPerTask => self.classes_per_task,
            Quantity::Classes => self.classes.map(|count| count as f64),
            Quantity::Mean if self.mean_square > 0.0 => Some(self.mean / self.mean_square.sqrt()),
            Quantity::Mean => Some(0.0),
            Quantity::MeanSquare => Some(self.mean_square),
            Quantity::NormSpread => Some(self.norm_spread),
            Quantity::EffectiveRank => Some(self.effective_rank),
            Quantity::FeatureSpread => Some(self.feature_spread),
        }
    }
}

fn guessed(sequence: &TaskSequence, raw_pixels: bool) -> Kind {
    let known = |name: &str| name == "mnist-sample" || KNOWN_SETS.iter().any(|set| set.name == name);
    let drawn = sequence.settings.data.as_ref().is_some_and(|data| known(&data.dataset));
    if drawn || raw_pixels { Kind::Images } else { Kind::Unknown }
}

/// The classes of a sequence.
struct Classes {
    all: usize,
    per_task: f64,
    examples: [usize; 2],
}

impl Classes {
    /// None where targets of some task name no classes.
    fn of(sequence: &TaskSequence) -> Option<Classes> {
        let count = class_count(sequence.columns());
        let mut seen = vec![];
        let (mut own, mut examples) = (0, [usize::MAX, 0]);
        for task in &sequence.tasks {
            let class = classes_of(task.y.as_ref(), "targets").ok()?;
            for c in occurring(&class, count) {
                let n = class.iter().filter(|k| **k == Some(c)).count();
                examples = [examples[0].min(n), examples[1].max(n)];
                own += 1;
            }
            seen.extend(class);
        }
        let all = occurring(&seen, count).len();
        Some(Classes { all, per_task: own as f64 / sequence.tasks.len() as f64, examples })
    }
}

fn of_task(x: MatRef<'_, f64>) -> OfTask {
    let (p, d) = (x.nrows(), x.ncols());
    let (mut sum, mut whole, mut constant) = (0.0, true, 0);
    let mut range = [f64::INFINITY, f64::NEG_INFINITY];
    let mut norms = vec![0.0; p];
    let mut scales = vec![0.0; d];
    for j in 0..d {
        let (mut low, mut high, mut squares) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        for (norm, &v) in norms.iter_mut().zip(x.col(j).iter()) {
            sum += v;
            squares += v * v;
            *norm += v * v;
            whole &= v.fract() == 0.0;
            (low, high) = (low.min(v), high.max(v));
        }
        scales[j] = (squares / p as f64).sqrt();
        constant += usize::from(low == high);
        range = [range[0].min(low), range[1].max(high)];
    }
    let squares = norms.iter().sum();
    norms.iter_mut().for_each(|norm| *norm = norm.sqrt());
    OfTask {
        sum,
        squares,
        range,
        whole,
        norm_spread: spread(&norms),
        effective_rank: effective_rank(x),
        feature_spread: spread(&scales),
        constant: constant as f64 / d as f64,
    }
}

/// The standard deviation over the mean; 0 where that is 0.
fn spread(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    if mean > 0.0 { variance.sqrt() / mean } else { 0.0 }
}

/// `(Tr C)²/Tr C²` over min(P, d), of [`ROWS`] rows at most; 0 where all inputs are 0.
fn effective_rank(x: MatRef<'_, f64>) -> f64 {
    let (p, d) = (x.nrows(), x.ncols());
    let n = p.min(ROWS);
    let rows: Mat<f64> = Mat::from_fn(n, d, |i, j| x[(i * p / n, j)]);
    let a = if n < d { rows.as_ref() } else { rows.transpose() };
    let mut c = Mat::zeros(a.nrows(), a.nrows());
    lower_gram_into(c.as_mut(), 0.0, 1.0, a);
    let (mut trace, mut squares) = (0.0, 0.0);
    for j in 0..c.ncols() {
        trace += c[(j, j)];
        squares += c[(j, j)].powi(2) + 2.0 * (j + 1..c.nrows()).map(|i| c[(i, j)].powi(2)).sum::<f64>();
    }
    if squares > 0.0 { trace * trace / squares / n.min(d) as f64 } else { 0.0 }
}
