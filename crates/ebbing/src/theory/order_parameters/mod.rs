//! Order parameters of pairs of tasks: how similar their features and their rules are, and what follows for forgetting.
//!
//! With `K_ij = K_GP(X_i,X_j)`, `w_i = K_ii^{-1} Y_i/|Y_i|`, `a = K_12 w_2`, `c = K_21 w_1`:
//! `γ_feature = Tr(K_22^{-1} K_21 K_11^{-1} K_12)/P`, `γ_RF = ½(|a|² + |K_21 K_11^{-1} a|²)`,
//! `γ_rule = ½(a·K_12 K_22^{-1} c + (K_21 K_11^{-1} a)·c)`, `γ_sim = γ_feature + cos² − proj`.

mod pair;
mod resample;
mod sequence;

pub use resample::{Interval, Null};

use super::single_head::factor::RANK_TOLERANCE;
use super::single_head::shared::Given;
use super::single_head::source::Source;
use crate::error::{Error, Result};
use crate::kernels::{Activation, Architecture, WeightPrior};
use crate::linalg::{Mat, MatRef};
use crate::tasks::{Task, TaskSequence};
use serde::{Deserialize, Serialize};

/// Settings of [`order_parameters`] and its kin.
///
/// | name | default | range |
/// |---|---|---|
/// | `architecture` | ReLU, depth 1 | depth ≥ 1 |
/// | `sigma2` | 1 | > 0 |
/// | `ridge` | 0 | ≥ 0 |
/// | `rank_tolerance` | 1e-10 | [0, 1) |
/// | `half_samples` | 0 | 0, or at least 20 |
/// | `shuffles` | 0 | 0, or at least 20 |
/// | `confidence` | 0.95 | (0, 1) |
/// | `seed` | 0 | |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrderParameterSettings {
    /// Hidden layers of the network (of no effect where features or kernels are given).
    pub architecture: Architecture,
    /// Prior variance σ² of a weight.
    pub sigma2: f64,
    /// What is added to the diagonal of `K_11` and `K_22` before they are inverted.
    pub ridge: f64,
    /// Where features or kernels are singular: eigenvalues below this fraction of the largest count as zero.
    pub rank_tolerance: f64,
    /// Half samples from which intervals are made; 0 for none.
    pub half_samples: usize,
    /// Shuffles of the targets from which the null is made; 0 for none.
    pub shuffles: usize,
    /// How much of the distribution intervals hold.
    pub confidence: f64,
    /// Seed of half samples and shuffles.
    pub seed: u64,
}

impl Default for OrderParameterSettings {
    fn default() -> Self {
        OrderParameterSettings {
            architecture: Architecture { activation: Activation::Relu, depth: 1 },
            sigma2: 1.0,
            ridge: 0.0,
            rank_tolerance: RANK_TOLERANCE,
            half_samples: 0,
            shuffles: 0,
            confidence: 0.95,
            seed: 0,
        }
    }
}

/// Order parameters of two tasks, learned one after the other; Frobenius norms and products for several target columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct OrderParameters {
    /// `Tr(K_22^{-1} K_21 K_11^{-1} K_12)/P`, P the smaller size (or rank): overlap of the features, in [0, 1].
    pub gamma_feature: f64,
    /// `½(|K_12 w_2|² + |K_21 K_11^{-1} K_12 w_2|²)`: similarity of the features that matter, at least 0.
    pub gamma_rf: f64,
    /// `½(a·K_12 K_22^{-1} c + (K_21 K_11^{-1} a)·c)`: similarity of the rules on those features.
    pub gamma_rule: f64,
    /// `γ_RF − γ_rule`: half of the expected forgetting.
    pub conflict: f64,
    /// `γ_feature + cos² − proj`: similarity of tasks with readouts of their own.
    pub gamma_sim: f64,
    /// `w_2·K_21 w_1/√(v_1 v_2)`, `v_i = Y_i·w_i/|Y_i|`: cosine of the two readouts.
    pub cos: f64,
    /// `c·K_22^{-1} c/v_1`: part of the first readout that lies in the features of the second task.
    pub proj: f64,
    /// `|K_12 K_22^{-1}(Y_2 − K_21 K_11^{-1} Y_1)|²/|Y_1|²`: forgetting of the first task after the second, exactly.
    pub f21: f64,
    /// `|K_12 K_22^{-1} Y_2 − Y_1|²/|Y_1|²`: the same without penalty (λ = 0).
    pub f21_at_lambda_zero: f64,
    /// `F_21 − F_21(λ = 0)`: below zero where the penalty helps.
    pub delta_f21: f64,
}

/// How `K_11` and `K_22` were inverted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inverse {
    /// As they are.
    Exact,
    /// With the ridge of the settings on the diagonal.
    Ridge,
    /// At least one is singular: pseudo-inverse at the ranks given, and γ_feature divided by the smaller one.
    Pseudo,
}

/// Order parameters of an ordered pair of tasks, and how well they are known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairOrderParameters {
    /// The task learned first (from 1).
    pub first: usize,
    /// The task learned second (from 1).
    pub second: usize,
    /// The order parameters.
    pub values: OrderParameters,
    /// How the kernels were inverted.
    pub inverse: Inverse,
    /// Ranks of the two kernels: the numbers of examples, unless there are fewer features.
    pub ranks: [usize; 2],
    /// The estimated number of correct decimal digits.
    pub digits: f64,
    /// Intervals from half samples of the examples.
    pub interval: Option<Interval>,
    /// What shuffled targets give.
    pub null: Option<Null>,
}

/// Order parameters of two tasks, in the kernel of a wide network.
///
/// ```
/// use ebbing::{Mat, OrderParameterSettings, Stream, Task, order_parameters};
/// let mut stream = Stream::new(1, "example", 0);
/// let x = Mat::from_fn(20, 30, |_, _| stream.normal());
/// let y = Mat::from_fn(20, 1, |i, _| if i % 3 == 0 { 1.0 } else { -1.0 });
/// let task = Task { name: "itself".into(), x, y, rows: None, test: None };
/// let same = order_parameters(&OrderParameterSettings::default(), &task, &task)?;
/// assert!((same.values.gamma_feature - 1.0).abs() < 1e-9 && same.values.f21 < 1e-9);
/// # Ok::<(), ebbing::Error>(())
/// ```
///
/// # Errors
/// [`Error::Setting`] and [`Error::Data`] for what is out of range or does not fit together;
/// [`Error::NotPositiveDefinite`] and [`Error::LostAccuracy`] for kernels that are singular, or nearly so.
pub fn order_parameters(settings: &OrderParameterSettings, first: &Task, second: &Task) -> Result<PairOrderParameters> {
    let tasks = vec![first.clone(), second.clone()];
    let sequence = TaskSequence { tasks, settings: serde_json::Value::Null };
    Ok(order_parameters_of_sequence(settings, &sequence)?.swap_remove(0))
}

/// Order parameters of all ordered pairs of tasks, pair (1, 2) first, then (1, 3) … (2, 1) …
///
/// Each kernel between two tasks is made once and serves both orders; each task's kernel is factored once, and that of the
/// inputs which all tasks hold once for all. Memory: the factors of all tasks and one kernel.
///
/// # Errors
/// As [`order_parameters`].
pub fn order_parameters_of_sequence(
    settings: &OrderParameterSettings,
    sequence: &TaskSequence,
) -> Result<Vec<PairOrderParameters>> {
    let prior = settings.checked()?;
    let source = Source::network(settings.architecture, prior);
    sequence.validate()?;
    sequence::all_pairs(settings, source, &given(sequence))
}

/// Order parameters of all ordered pairs of tasks from features: the inputs of each task are its `Φ ∈ R^{P×N}`
/// (activities of a layer, recordings of neurons), `K = ΦΦᵀ/N`. All tasks must have the same neurons.
///
/// # Errors
/// As [`order_parameters`].
pub fn order_parameters_of_features(
    settings: &OrderParameterSettings,
    features: &TaskSequence,
) -> Result<Vec<PairOrderParameters>> {
    settings.checked()?;
    let neurons = features.dim();
    if let Some((t, task)) = features.tasks.iter().enumerate().find(|(_, task)| task.x.ncols() != neurons) {
        let problem = format!(
            "its features are of {} neurons where those of task 1 are of {neurons}; only the same neurons can be compared",
            task.x.ncols()
        );
        return Err(Error::data(task.label(t), problem));
    }
    features.validate()?;
    sequence::all_pairs(settings, Source::Features { neurons }, &given(features))
}

/// [`order_parameters_of_features`] layer by layer.
///
/// # Errors
/// As [`order_parameters`].
pub fn order_parameters_of_layers(
    settings: &OrderParameterSettings,
    layers: &[TaskSequence],
) -> Result<Vec<Vec<PairOrderParameters>>> {
    layers.iter().map(|features| order_parameters_of_features(settings, features)).collect()
}

/// Order parameters of two tasks whose kernels are given: `k11` and `k22` of each with itself, `k12` between them (rows: the first).
///
/// # Errors
/// As [`order_parameters`].
pub fn order_parameters_of_kernels(
    settings: &OrderParameterSettings,
    kernels: (MatRef<'_, f64>, MatRef<'_, f64>, MatRef<'_, f64>),
    (y1, y2): (MatRef<'_, f64>, MatRef<'_, f64>),
) -> Result<PairOrderParameters> {
    let joint = joint(settings, kernels)?;
    let tasks = two_tasks(kernels, y1, y2);
    let given = super::single_head::table::given(&joint, None, &tasks)?;
    let source = Source::Table { nngp: joint, ntk: None };
    Ok(sequence::all_pairs(settings, source, &given)?.swap_remove(0))
}

/// [`order_parameters_of_kernels`] for several labellings of the same inputs: column k of `y1` and of `y2` is the k-th.
/// The kernels are factored once.
///
/// # Errors
/// As [`order_parameters`]; [`Error::Data`] where `y1` and `y2` have different numbers of columns.
pub fn order_parameters_of_labellings(
    settings: &OrderParameterSettings,
    kernels: (MatRef<'_, f64>, MatRef<'_, f64>, MatRef<'_, f64>),
    (y1, y2): (MatRef<'_, f64>, MatRef<'_, f64>),
) -> Result<Vec<OrderParameters>> {
    let joint = joint(settings, kernels)?;
    if y1.ncols() != y2.ncols() {
        let found = format!("{} for the first task, {} for the second", y1.ncols(), y2.ncols());
        return Err(Error::data("labellings", format!("{found}; there must be as many")));
    }
    let tasks = two_tasks(kernels, y1, y2);
    let given = super::single_head::table::given(&joint, None, &tasks)?;
    sequence::labellings(settings, Source::Table { nngp: joint, ntk: None }, &given)
}

/// The kernel of the inputs of both tasks.
fn joint(
    settings: &OrderParameterSettings,
    (k11, k12, k22): (MatRef<'_, f64>, MatRef<'_, f64>, MatRef<'_, f64>),
) -> Result<Mat<f64>> {
    settings.checked()?;
    let (p1, p2) = (k11.nrows(), k22.nrows());
    if k12.nrows() != p1 || k12.ncols() != p2 {
        let found = format!("it is {} × {}", k12.nrows(), k12.ncols());
        return Err(Error::data("the kernel between the tasks", format!("{found}; it must be {p1} × {p2}")));
    }
    Ok(Mat::from_fn(p1 + p2, p1 + p2, |i, j| match (i < p1, j < p1) {
        (true, true) => k11[(i, j)],
        (true, false) => k12[(i, j - p1)],
        (false, true) => k12[(j, i - p1)],
        (false, false) => k22[(i - p1, j - p1)],
    }))
}

/// Two tasks as rows of their joint kernel.
fn two_tasks(
    (k11, _, k22): (MatRef<'_, f64>, MatRef<'_, f64>, MatRef<'_, f64>),
    y1: MatRef<'_, f64>,
    y2: MatRef<'_, f64>,
) -> [crate::theory::KernelTask; 2] {
    let (p1, p2) = (k11.nrows(), k22.nrows());
    let task = |name: &str, rows: std::ops::Range<usize>, y: MatRef<'_, f64>| crate::theory::KernelTask {
        name: name.into(),
        rows: rows.collect(),
        y: y.to_owned(),
        test: None,
    };
    [task("first", 0..p1, y1), task("second", p1..p1 + p2, y2)]
}

fn given(sequence: &TaskSequence) -> Vec<Given<'_>> {
    sequence.tasks.iter().enumerate().map(|(t, task)| Given::of_task(t, task)).collect()
}

impl OrderParameterSettings {
    /// The prior of a weight, after every setting has been checked.
    fn checked(&self) -> Result<WeightPrior> {
        let range = |name: &str, value: f64, sound: bool, expected: &str| {
            if sound { Ok(()) } else { Err(Error::setting(name, value, expected)) }
        };
        if self.architecture.depth == 0 {
            return Err(Error::setting("depth", 0, "must be at least 1 hidden layer"));
        }
        range("ridge", self.ridge, self.ridge >= 0.0 && self.ridge.is_finite(), "must be at least 0 and finite")?;
        let tolerance = self.rank_tolerance;
        range("rank_tolerance", tolerance, (0.0..1.0).contains(&tolerance), "must lie in [0, 1)")?;
        let confidence = self.confidence;
        range("confidence", confidence, confidence > 0.0 && confidence < 1.0, "must lie between 0 and 1")?;
        for (name, count) in [("half_samples", self.half_samples), ("shuffles", self.shuffles)] {
            range(name, count as f64, count == 0 || count >= 20, "must be 0 (none) or at least 20")?;
        }
        WeightPrior::new(f64::INFINITY, self.sigma2)
    }
}
