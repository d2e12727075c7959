//! Order parameters of pairs of tasks: how similar their features and their rules are, and what follows for
//! forgetting.
//!
//! ```math
//! \gamma_{\mathrm{RF}} = \tfrac12\bigl(|a|^2+|K_{21}K_{11}^{-1}a|^2\bigr), \qquad
//! \gamma_{\mathrm{rule}} = \tfrac12\bigl(a\cdot K_{12}K_{22}^{-1}c + (K_{21}K_{11}^{-1}a)\cdot c\bigr), \qquad
//! F_{21} \simeq 2(\gamma_{\mathrm{RF}}-\gamma_{\mathrm{rule}})
//! ```
//!
//! with `K_ij = K_GP(X_i,X_j)`, `w_i = K_ii^{-1} Y_i/|Y_i|`, `a = K_12 w_2`, `c = K_21 w_1`. These are the paper's
//! Eqs. 4–9 in terms of kernels, which also exist at infinite width; the symmetric form of γ_rule is the main text's.
//!
//! | Quantity | Formula | Equation |
//! |---|---|---|
//! | γ_feature | `Tr(K_22^{-1} K_21 K_11^{-1} K_12)/P`, the overlap of the features | `Tr(P_1P_2)/P` in 169 |
//! | γ_RF, γ_rule | as above | 5, 6, 30 |
//! | F_21 | `‖K_12 K_22^{-1}(Y_2 − K_21 K_11^{-1} Y_1)‖²/‖Y_1‖²`, exactly; with what a ridge or a pseudo-inverse leaves of Y_1 | 29 |
//! | γ_sim | `γ_feature + cos² − proj`, the similarity for tasks with readouts of their own | 11, 108 |
//!
//! The relation `F_21 = 2(γ_RF − γ_rule)` (Eq. 4) and the bound `|γ_rule| ≤ γ_RF` (Eq. 31) hold for statistically
//! equal tasks on average over draws, not for each draw. The main text prints `cos` where `cos²` belongs (Eq. 11):
//! flipping all labels of task 2 flips the sign of its own readout and nothing else, so a similarity must not notice.
//!
//! | Item | What it is |
//! |---|---|
//! | [`order_parameters()`] | all ordered pairs of a sequence |
//! | [`pair()`] | one pair |
//! | [`labelings`] | many labelings of the same inputs |
//! | [`OrderParameters`], [`PairOrderParameters`] | the numbers, and how well they are known |
//! | [`values`], [`Side`] | the order parameters of a pair from what was solved for |
//! | [`Interval`], [`Null`] | intervals over the choice of examples, and what shuffled labels give |

mod feature_space;
mod pair;
mod probes;
mod resample;
mod sequence;

pub(crate) use probes::probed_gamma_feature;
pub(crate) use sequence::all_pairs;

pub use pair::{Side, values};
pub use resample::{Interval, Null};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::kernels::{Activation, Architecture, WeightPrior};
use crate::plan::{feature_parameter_cost, order_parameter_cost, spare_bytes};
use crate::stats::number::within;
use crate::tasks::{Task, TaskSequence};
use crate::theory::Inputs;
use crate::theory::blocks::factor::RANK_TOLERANCE;
use crate::theory::single_head::is_none;
use serde::{Deserialize, Serialize};

/// More draws than anybody waits for.
const MOST_DRAWS: usize = 1_000_000_000;

/// Settings of [`order_parameters()`], [`pair()`] and [`labelings`].
///
/// | name | default | range |
/// |---|---|---|
/// | `architecture` | ReLU, depth 1 | depth ≥ 1 |
/// | `sigma2` | 1 | > 0 |
/// | `bias2` | 0 | ≥ 0 |
/// | `ridge` | 0 | ≥ 0 |
/// | `rank_tolerance` | 1e-10 | [0, 1) |
/// | `resamples` | 0 | 0, or 20 to 1e9 |
/// | `shuffles` | 0 | 0, or 20 to 1e9 |
/// | `confidence` | 0.95 | (0, 1) |
/// | `seed` | 0 | |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrderParameterSettings {
    /// Hidden layers of the network (of no effect where features or kernels are given).
    pub architecture: Architecture,
    /// Prior variance σ² of a weight.
    pub sigma2: f64,
    /// Prior variance σ_b² of a bias in every layer, the readout included; 0 for networks without.
    #[serde(skip_serializing_if = "is_none")]
    pub bias2: f64,
    /// What is added to the diagonal of `K_11` and `K_22` before they are inverted.
    pub ridge: f64,
    /// Where features or kernels are singular: eigenvalues below this fraction of the largest count as zero.
    pub rank_tolerance: f64,
    /// How often a tenth of the examples is left out for intervals; 0 for none.
    pub resamples: usize,
    /// Shuffles of the targets from which the null is made; 0 for none.
    pub shuffles: usize,
    /// The share of the distribution that an interval covers.
    pub confidence: f64,
    /// Seed of resamples and shuffles.
    pub seed: u64,
}

impl Default for OrderParameterSettings {
    fn default() -> Self {
        OrderParameterSettings {
            architecture: Architecture { activation: Activation::Relu, depth: 1 },
            sigma2: 1.0,
            bias2: 0.0,
            ridge: 0.0,
            rank_tolerance: RANK_TOLERANCE,
            resamples: 0,
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
    /// `γ_RF − γ_rule`: half of the forgetting that statistically equal tasks show on average (paper, Eq. 4).
    pub conflict: f64,
    /// `γ_feature + cos² − proj`: similarity of tasks with readouts of their own.
    pub gamma_sim: f64,
    /// `w_2·K_21 w_1/√(v_1 v_2)`, `v_i = Y_i·w_i/|Y_i|`: cosine of the two readouts.
    pub cos: f64,
    /// `c·K_22^{-1} c/v_1`: part of the first readout that lies in the features of the second task.
    pub proj: f64,
    /// `F_pair = |K_11 u_1 − Y_1 + K_12 K_22^{-1}(Y_2 − K_21 u_1)|²/|Y_1|²`, `u_1 = K_11^{-1} Y_1`: forgetting of the first task after
    /// the second, these two learned alone. In a [`Forecast`](crate::Forecast) in its mode and at its temperature; NaN in what is
    /// resampled there, where that is another theory than random features.
    pub f21: f64,
    /// `|K_12 K_22^{-1} Y_2 − Y_1|²/|Y_1|²`: the same without penalty (λ = 0).
    pub f21_at_lambda_zero: f64,
    /// `F_21 − F_21(λ = 0)`: below zero where the penalty helps.
    pub delta_f21: f64,
}

impl OrderParameters {
    /// All of them, from those that are computed: γ_RF and γ_rule, cos and proj, F_21 with and without penalty.
    fn of(
        gamma_feature: f64,
        [gamma_rf, gamma_rule]: [f64; 2],
        [cos, proj]: [f64; 2],
        [f21, f21_at_lambda_zero]: [f64; 2],
    ) -> OrderParameters {
        OrderParameters {
            gamma_feature,
            gamma_rf,
            gamma_rule,
            conflict: gamma_rf - gamma_rule,
            gamma_sim: gamma_feature + cos * cos - proj,
            cos,
            proj,
            f21,
            f21_at_lambda_zero,
            delta_f21: f21 - f21_at_lambda_zero,
        }
    }

    /// The same without what is said of forgetting: of another theory than that of random features it is not known.
    pub(crate) fn without_forgetting(&self) -> OrderParameters {
        OrderParameters { f21: f64::NAN, f21_at_lambda_zero: f64::NAN, delta_f21: f64::NAN, ..*self }
    }

    /// Whether all of them are numbers.
    pub(crate) fn is_finite(&self) -> bool {
        let own =
            [self.gamma_feature, self.gamma_rf, self.gamma_rule, self.conflict, self.gamma_sim, self.cos, self.proj];
        own.into_iter().chain([self.f21, self.f21_at_lambda_zero, self.delta_f21]).all(f64::is_finite)
    }

    /// The same, 0 where they are zero within an accuracy; what is a sum of squares is as good as its square.
    pub(crate) fn within(&self, accuracy: f64) -> OrderParameters {
        let (plain, square) = (|v: f64| within(v, accuracy), |v: f64| within(v, accuracy * accuracy));
        OrderParameters {
            gamma_feature: plain(self.gamma_feature),
            gamma_rf: square(self.gamma_rf),
            gamma_rule: plain(self.gamma_rule),
            conflict: plain(self.conflict),
            gamma_sim: plain(self.gamma_sim),
            cos: plain(self.cos),
            proj: square(self.proj),
            f21: square(self.f21),
            f21_at_lambda_zero: square(self.f21_at_lambda_zero),
            delta_f21: plain(self.delta_f21),
        }
    }
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
    /// Intervals over the choice of examples.
    pub interval: Option<Interval>,
    /// What shuffled targets give.
    pub null: Option<Null>,
    /// The standard error of γ_feature, and so of γ_sim, where it was estimated: for sets too large for memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma_feature_error: Option<f64>,
}

/// Order parameters of all ordered pairs of tasks, pair (1, 2) first, then (1, 3) … (2, 1) …
///
/// Each kernel between two tasks is made once and serves both orders; each task's kernel is factored once, and that of the
/// inputs which all tasks hold once for all. Memory: the factors of all tasks and one kernel.
///
/// # Errors
/// [`Error::Setting`] and [`Error::Data`] for what is out of range or does not fit together;
/// [`Error::NotPositiveDefinite`] and [`Error::LostAccuracy`] for kernels that are singular, or nearly so.
pub fn order_parameters<'a>(
    inputs: impl Into<Inputs<'a>>,
    settings: &OrderParameterSettings,
    context: &Context,
) -> Result<Vec<PairOrderParameters>> {
    let (inputs, prior) = (inputs.into(), settings.checked()?);
    if let Inputs::Features(features) = inputs {
        same_neurons(features)?;
    }
    let resampled = settings.resamples.max(settings.shuffles) > 0;
    let in_features = matches!(inputs, Inputs::Features(_)) && !resampled;
    let cost = if in_features { feature_parameter_cost } else { order_parameter_cost };
    inputs.fits("the order parameters of these tasks", cost, context)?;
    let spare = match inputs {
        Inputs::Network(sequence) | Inputs::Features(sequence) => spare_bytes(&sequence.sizes(), context.plan()),
        Inputs::Kernels(_) => f64::INFINITY,
    };
    let given = inputs.given(settings.bias2)?;
    let source = inputs.source(settings.architecture, prior);
    context.run(|| sequence::all_pairs(settings, source, &given, spare))
}

/// [`order_parameters`] of two tasks, the first learned before the second, in the kernel of a wide network.
///
/// ```
/// use ebbing::{Context, Task};
/// use ebbing::linalg::Mat;
/// use ebbing::rng::Stream;
/// use ebbing::theory::order_parameters::{OrderParameterSettings, pair};
/// let mut stream = Stream::new(1, "example", 0);
/// let x = Mat::from_fn(20, 30, |_, _| stream.normal());
/// let y = Mat::from_fn(20, 1, |i, _| if i % 3 == 0 { 1.0 } else { -1.0 });
/// let task = Task::new(x, y);
/// let same = pair(&task, &task, &OrderParameterSettings::default(), &Context::default())?;
/// assert!((same.values.gamma_feature - 1.0).abs() < 1e-9 && same.values.f21 < 1e-9);
/// # Ok::<(), ebbing::Error>(())
/// ```
///
/// # Errors
/// As for [`order_parameters`].
pub fn pair(
    first: &Task,
    second: &Task,
    settings: &OrderParameterSettings,
    context: &Context,
) -> Result<PairOrderParameters> {
    let sequence = TaskSequence { tasks: vec![first.clone(), second.clone()], settings: Default::default() };
    Ok(order_parameters(&sequence, settings, context)?.swap_remove(0))
}

/// Order parameters of the first task before the second for each target column alone: column k is the k-th labeling of the
/// same inputs. The kernels are factored once.
///
/// # Errors
/// As for [`order_parameters`].
pub fn labelings<'a>(inputs: impl Into<Inputs<'a>>, settings: &OrderParameterSettings) -> Result<Vec<OrderParameters>> {
    let (inputs, prior) = (inputs.into(), settings.checked()?);
    sequence::labelings(settings, inputs.source(settings.architecture, prior), &inputs.given(settings.bias2)?)
}

/// Features of one neuron can only be compared with those of the same neuron.
fn same_neurons(features: &TaskSequence) -> Result<()> {
    let neurons = features.dim();
    let Some((t, task)) = features.tasks.iter().enumerate().find(|(_, task)| task.x.ncols() != neurons) else {
        return Ok(());
    };
    let problem = format!(
        "its features are of {} neurons where those of task 1 are of {neurons}; only the same neurons can be compared",
        task.x.ncols()
    );
    Err(Error::data(task.label(t), problem))
}

impl PairOrderParameters {
    /// Whether the kernels are singular and the features of one task are all within those of the other, so that γ_feature is 1.
    pub fn spans_all(&self) -> bool {
        self.inverse == Inverse::Pseudo && self.ranks[0] == self.ranks[1] && self.values.gamma_feature > 1.0 - 1e-9
    }
}

impl OrderParameterSettings {
    /// The prior of a weight, after every setting has been checked.
    pub(crate) fn checked(&self) -> Result<WeightPrior> {
        let range = |name: &str, value: f64, sound: bool, expected: &str| {
            if sound { Ok(()) } else { Err(Error::setting(name, value, expected)) }
        };
        self.architecture.check()?;
        range("ridge", self.ridge, self.ridge >= 0.0 && self.ridge.is_finite(), "must be at least 0 and finite")?;
        let tolerance = self.rank_tolerance;
        range("rank_tolerance", tolerance, (0.0..1.0).contains(&tolerance), "must lie in [0, 1)")?;
        let confidence = self.confidence;
        range("confidence", confidence, confidence > 0.0 && confidence < 1.0, "must lie between 0 and 1")?;
        for (name, count) in [("resamples", self.resamples), ("shuffles", self.shuffles)] {
            let sound = count == 0 || (20..=MOST_DRAWS).contains(&count);
            range(name, count as f64, sound, "must be 0 (none), or from 20 to 1e9")?;
        }
        WeightPrior::new(f64::INFINITY, self.sigma2)?.with_bias(self.bias2)
    }
}
