//! Curves against the load α = P_2/N for two tasks, where in the phase diagram a width lies, and how to leave
//! overfitting.
//!
//! | Item | What it is |
//! |---|---|
//! | [`TwoTasks::curve`], [`phase_curves`] | `F_21`, `G_21`, `G_22` and the readouts at many loads, for one λ or several |
//! | [`TwoTasks::curve_from`], [`LossMaps`] | the same, load after load, from products that are made once |
//! | [`PhaseCurve`], [`PhasePoint`] | the curve and its points, with the [`Regime`] at λ = ∞ |
//! | [`TwoTaskOutputs::curve`], [`OutputsCurve`], [`OutputsLocation`] | the same for heads with several outputs, with their accuracies |
//! | [`CriticalLoad::locate`], [`Location`] | which regime a width is in, and which widths leave it |
//! | [`normalized_labels`] | labels scaled so that the law `α_c = γ_sim^{-2}` applies |
//!
//! The losses are the paper's Eqs. 102–105 in Eq. 3, variance included: it is the variance that diverges in the
//! overfitting regime.

mod outputs;

pub use outputs::{HeadAccuracies, OutputsCurve, OutputsLocation, OutputsLossMaps, OutputsPoint};

use super::multi_head::{
    AloneMap, CriticalLoad, HeadMaps, MultiHeadSettings, Power, Regime, SeveralOutputs, TwoTaskOutputs, TwoTaskPoint,
    TwoTasks,
};
use crate::context::Context;
use crate::error::{Error, Result, refuse};
use crate::linalg::Mat;
use crate::stats::number::{accuracy, significant, within};
use crate::tasks::{Task, TestSet, own_readouts};
use serde::Serialize;

/// One load of a curve: factors, forgetting and generalization.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhasePoint {
    /// The renormalization factors, and the regime at λ = ∞.
    pub factors: TwoTaskPoint,
    /// `F_21`, variance included.
    pub f21: Power,
    /// `G_21`, normalized by learning task 1 alone; only with held-out data.
    pub g21: Option<Power>,
    /// `G_22`, normalized by learning task 2 alone; only with held-out data.
    pub g22: Option<Power>,
    /// Whether α is within 0.1 % of α_c (λ = ∞ only).
    pub near_critical: bool,
}

/// How far below α = 1 its limit from below is taken: a change of that order.
const BELOW: f64 = 1e-12;
/// Losses that are 0 in theory come out as rounding below this.
const MOST_NOISE: f64 = 1e-9;

impl PhasePoint {
    /// The point just below α = 1 as that at α = 1 itself.
    fn at_the_end(mut self, alpha: f64) -> PhasePoint {
        let endless = Power { coefficient: f64::INFINITY, exponent: 0.0 };
        let factors = &mut self.factors;
        factors.width *= factors.alpha / alpha;
        factors.alpha = alpha;
        (factors.u22, factors.u0) = (endless, endless);
        factors.d.coefficient = 0.0;
        PhasePoint { g22: self.g22.map(|_| endless), ..self }
    }
}

/// Two tasks at one λ against the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseCurve {
    /// The penalty λ, possibly ∞.
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// α_c and its estimates (λ = ∞ only).
    pub critical: Option<CriticalLoad>,
    /// One point per load.
    pub points: Vec<PhasePoint>,
}

impl TwoTasks {
    /// Factors, `F_21`, `G_21` and `G_22` at every load, after one decomposition.
    ///
    /// At λ = ∞ and α = 1, where fixed representations end, the readout of task 2 and with it `G_22` are infinite; all else is
    /// its limit from below.
    ///
    /// # Errors
    /// As for [`TwoTasks::point`].
    pub fn curve(&self, alphas: &[f64]) -> Result<PhaseCurve> {
        self.curve_from(&self.loss_maps()?, alphas)
    }

    /// What the losses at every load are made from: products that are made once.
    ///
    /// # Errors
    /// As for [`TwoTasks::critical_load`] and [`TwoTasks::alone`].
    pub fn loss_maps(&self) -> Result<LossMaps> {
        let (x, y) = self.training_set(1);
        let tested = |task: usize| {
            let maps = || {
                let (x, y) = self.test_set(task)?;
                Ok((self.maps(task, x, &y)?, self.alone_map(task)?))
            };
            self.has_test(task).then(maps).transpose()
        };
        let critical = if self.lambda().is_infinite() { Some(self.critical_load()?) } else { None };
        Ok(LossMaps { critical, training: self.maps(1, x, &y)?, tested: [tested(1)?, tested(2)?] })
    }

    /// [`TwoTasks::curve`] from maps that are there: O(P²) for every load.
    ///
    /// # Errors
    /// As for [`TwoTasks::point`].
    pub fn curve_from(&self, maps: &LossMaps, alphas: &[f64]) -> Result<PhaseCurve> {
        let free = self.lambda().is_infinite() && !self.bounded_readouts();
        let end = |alpha: f64| free && alpha == 1.0;
        let points = self.points(&alphas.iter().map(|&a| if end(a) { a - BELOW } else { a }).collect::<Vec<_>>())?;
        let accuracy = accuracy(self.digits()).min(MOST_NOISE);
        let known = |loss: &Power| Power { coefficient: within(loss.coefficient, accuracy), ..*loss };
        let f21: Vec<Power> = self.losses(&maps.training, &points).iter().map(known).collect();
        let tested = |(maps, alone): &(HeadMaps, AloneMap)| over(self.losses(maps, &points), alone.losses(&points)?);
        let [g21, g22] = [0, 1].map(|k| maps.tested[k].as_ref().map(tested).transpose());
        let (g21, g22) = (g21?, g22?);
        let points = points
            .into_iter()
            .enumerate()
            .map(|(i, factors)| PhasePoint {
                near_critical: maps.critical.as_ref().is_some_and(|c| c.regime(factors.alpha).1),
                factors,
                f21: f21[i],
                g21: g21.as_ref().map(|g| g[i]),
                g22: g22.as_ref().map(|g| g[i]),
            })
            .zip(alphas)
            .map(|(point, &alpha)| if end(alpha) { point.at_the_end(alpha) } else { point })
            .collect();
        Ok(PhaseCurve { lambda: self.lambda(), critical: maps.critical.clone(), points })
    }

    /// Losses on the training data of a task over those labels' norm.
    pub(super) fn training_losses(&self, task: usize, points: &[TwoTaskPoint]) -> Result<Vec<Power>> {
        let (x, y) = self.training_set(task);
        Ok(self.losses(&self.maps(task, x, &y)?, points))
    }

    /// `G_2s` of a task with held-out data.
    pub(super) fn normalized_losses(&self, task: usize, points: &[TwoTaskPoint]) -> Result<Vec<Power>> {
        let (x, y) = self.test_set(task)?;
        over(self.losses(&self.maps(task, x, &y)?, points), self.alone(task, points)?)
    }
}

/// Both heads of two tasks on their data, ready for any load.
#[derive(Debug, Clone)]
pub struct LossMaps {
    /// α_c and its estimates (λ = ∞ only).
    pub critical: Option<CriticalLoad>,
    training: HeadMaps,
    tested: [Option<(HeadMaps, AloneMap)>; 2],
}

impl LossMaps {
    /// Whether both tasks have held-out data.
    pub fn tested(&self) -> bool {
        self.tested.iter().all(Option::is_some)
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        let tested = self.tested.iter().flatten().map(|(maps, _)| maps.bytes());
        self.training.bytes() + tested.sum::<usize>()
    }
}

/// Losses over those of learning alone.
fn over(losses: Vec<Power>, alone: Vec<f64>) -> Result<Vec<Power>> {
    let each = |(loss, alone): (&Power, f64)| Power { coefficient: loss.coefficient / alone, ..*loss };
    Ok(losses.iter().zip(alone).map(each).collect())
}

/// [`TwoTasks::curve`] for several λ (∞ included), one decomposition each.
///
/// # Errors
/// As for [`TwoTasks::new`] and [`TwoTasks::curve`].
pub fn phase_curves(
    tasks: &[Task],
    settings: &MultiHeadSettings,
    lambdas: &[f64],
    alphas: &[f64],
    context: &Context,
) -> Result<Vec<PhaseCurve>> {
    lambdas
        .iter()
        .map(|&lambda| TwoTasks::new(tasks, &MultiHeadSettings { lambda, ..settings.clone() }, context)?.curve(alphas))
        .collect()
}

/// One load of a curve of T tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SequencePoint {
    /// The load α = P_T/N.
    pub alpha: f64,
    /// The width N.
    pub width: f64,
    /// The λ of the numbers: the curve's own, or the large one that stands for ∞.
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// `u1(T,T) = ‖a_T‖²/N`; of several outputs the mean over them.
    pub u_tt: Power,
    /// `F_{T,1}`, variance included.
    pub f_t1: Power,
    /// `G_{T,1}`, normalized by learning task 1 alone; only with held-out data.
    pub g_t1: Option<Power>,
    /// `G_{T,T}`, normalized by learning task T alone; only with held-out data.
    pub g_tt: Option<Power>,
    /// The regime, known for two tasks at λ = β = ∞.
    pub regime: Option<Regime>,
    /// How far losses still move when the λ that stands for ∞ grows tenfold, where that is more than 1e-3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsettled: Option<f64>,
}

impl SequencePoint {
    fn of_two(point: PhasePoint) -> Self {
        let factors = point.factors;
        SequencePoint {
            alpha: factors.alpha,
            width: factors.width,
            lambda: factors.lambda,
            u_tt: factors.u22,
            f_t1: point.f21,
            g_t1: point.g21,
            g_tt: point.g22,
            regime: factors.regime(),
            unsettled: None,
        }
    }

    /// Where a large λ stands for ∞, what grows as the readout's norm is divided by its power of that λ.
    fn of_any(tasks: &[Task], settings: &MultiHeadSettings, alpha: f64, context: &Context) -> Result<Self> {
        let settings = MultiHeadSettings { alpha: Some(alpha), width: None, ..settings.clone() };
        let theory = SeveralOutputs::new(tasks, &settings, context)?;
        let (last, lambda) = (tasks.len(), theory.lambda());
        let power = |value: f64, exponent: f64| {
            let coefficient = if exponent == 0.0 { value } else { value * lambda.powf(-exponent) };
            Power { coefficient, exponent }
        };
        let tested = |head: usize, exponent: f64| {
            let loss = || theory.generalization(last, head).map(|g| power(g, exponent));
            tasks[head - 1].test.as_ref().map(|_| loss()).transpose()
        };
        let growth = theory.readout_exponent(last);
        Ok(SequencePoint {
            alpha,
            width: theory.width(),
            lambda,
            u_tt: power(theory.norm(last), growth),
            f_t1: power(theory.forgetting(last, 1)?, 0.0),
            g_t1: tested(1, 0.0)?,
            g_tt: tested(last, growth)?,
            regime: theory.regime(),
            unsettled: theory.unsettled(),
        })
    }
}

/// Any number of tasks at one λ against the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SequenceCurve {
    /// The penalty λ asked for, possibly ∞.
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// α_c and its estimates (two tasks at λ = β = ∞).
    pub critical: Option<CriticalLoad>,
    /// One point per load.
    pub points: Vec<SequencePoint>,
}

impl SequenceCurve {
    /// Where the limit λ → ∞ is read from a λ at which losses still move, in a sentence.
    pub fn unsettled(&self) -> Option<String> {
        let all: Vec<(f64, f64)> = self.points.iter().filter_map(|p| Some((p.alpha, p.unsettled?))).collect();
        let (from, to) = (all.first()?.0, all.last()?.0);
        let loads = if from == to {
            format!("At load {}", significant(from))
        } else {
            format!("At {} loads from {} to {}", all.len(), significant(from), significant(to))
        };
        Some(format!(
            "{loads}, next to a transition, λ → ∞ is not quite reached: losses still move by up to {} when λ grows tenfold.",
            significant(all.iter().fold(0.0, |most, (_, change)| change.max(most)))
        ))
    }
}

/// `u1(T,T)`, `F_{T,1}`, `G_{T,1}` and `G_{T,T}` of any number of tasks against the load, at the settings' λ (∞ included) and
/// β: with S intermediate data sets between two tasks, T = S + 2. The settings' `alpha` and `width` are not read. Two tasks
/// at β = ∞ are decomposed once; all else is solved load by load.
///
/// # Errors
/// As [`SeveralOutputs::new`].
pub fn sequence_curve(
    tasks: &[Task],
    settings: &MultiHeadSettings,
    alphas: &[f64],
    context: &Context,
) -> Result<SequenceCurve> {
    let tasks = &own_readouts(tasks)[..];
    if tasks.len() == 2 && settings.beta.is_infinite() {
        if tasks.iter().any(|task| task.y.ncols() > 1) {
            return Ok(TwoTaskOutputs::new(tasks, settings, context)?.curve(alphas)?.into());
        }
        return Ok(TwoTasks::new(tasks, settings, context)?.curve(alphas)?.into());
    }
    let points = alphas.iter().map(|&alpha| SequencePoint::of_any(tasks, settings, alpha, context));
    Ok(SequenceCurve { lambda: settings.lambda, critical: None, points: points.collect::<Result<_>>()? })
}

impl From<PhaseCurve> for SequenceCurve {
    fn from(PhaseCurve { lambda, critical, points }: PhaseCurve) -> SequenceCurve {
        SequenceCurve { lambda, critical, points: points.into_iter().map(SequencePoint::of_two).collect() }
    }
}

/// `G_21` and `G_22` of a width at λ → ∞.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WidthPoint {
    /// The width N.
    pub width: f64,
    /// `G_21`; infinite where it diverges.
    #[serde(with = "crate::serde_infinity")]
    pub g21: f64,
    /// `G_22`; infinite where it diverges.
    #[serde(with = "crate::serde_infinity")]
    pub g22: f64,
}

impl WidthPoint {
    /// `max(G_21, G_22)`.
    pub fn worst(&self) -> f64 {
        self.g21.max(self.g22)
    }
}

impl PhaseCurve {
    /// What every load of the curve means for the two tasks, as widths; none without held-out data of both.
    pub fn widths(&self) -> Option<Vec<WidthPoint>> {
        let point =
            |p: &PhasePoint| Some(WidthPoint { width: p.factors.width, g21: p.g21?.limit(), g22: p.g22?.limit() });
        self.points.iter().map(point).collect()
    }

    /// The width of the curve with the least `max(G_21, G_22)`.
    pub fn best_width(&self) -> Option<WidthPoint> {
        self.widths()?.into_iter().min_by(|a, b| a.worst().total_cmp(&b.worst()))
    }
}

/// Where a width lies in the phase diagram of λ → ∞, and which widths lie elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Location {
    /// The width N asked about.
    pub width: f64,
    /// Its load P_2/N.
    pub alpha: f64,
    /// The regime there.
    pub regime: Regime,
    /// Whether α is within 0.1 % of α_c.
    pub near_critical: bool,
    /// Widths above this have fixed representations: N = P_2.
    pub fixed_above: f64,
    /// Widths below this generalize: N = P_2/α_c; `None` where there is no α_c up to the bound.
    pub generalizes_below: Option<f64>,
    /// The answer in one sentence.
    pub advice: String,
}

impl CriticalLoad {
    /// Where width N lies for a second task of `size` examples.
    ///
    /// # Errors
    /// [`Error::Setting`] for a width that is not positive, or equal to `size` (α = 1).
    pub fn locate(&self, size: usize, width: f64) -> Result<Location> {
        refuse(!(width.is_finite() && width > 0.0), "width", width, "must be positive and finite")?;
        let p = size as f64;
        let alpha = p / width;
        if alpha == 1.0 {
            let expected = "equals the number of examples: alpha = 1 is the boundary of fixed representations, where the theory \
                            has no value; take another width";
            return Err(Error::setting("width", width, expected));
        }
        let (regime, near_critical) = self.regime(alpha);
        let generalizes_below = self.alpha_c.is_finite().then(|| p / self.alpha_c);
        let advice = match (regime, generalizes_below) {
            // A boundary below one unit is none that a network can have.
            (Regime::Overfitting, Some(below)) if below >= 1.5 => format!(
                "at N = {width} the network overfits task 2 as λ grows; above {size} hidden units representations stay \
                 fixed, below {below:.0} task 2 is learned at the cost of task 1, and at any width a smaller λ helps"
            ),
            (Regime::Overfitting, _) => format!(
                "at N = {width} the network overfits task 2 as λ grows; above {size} hidden units representations stay \
                 fixed, and at any width a smaller λ helps (no smaller width generalizes)"
            ),
            (regime, _) => format!("at N = {width} the network is in the regime of {regime} as λ grows"),
        };
        Ok(Location { width, alpha, regime, near_critical, fixed_above: p, generalizes_below, advice })
    }
}

/// The tasks with labels (training and held-out) scaled so that `YᵀK_GP^{-1}Y/P = 1`, what the γ_sim law assumes.
///
/// # Errors
/// As for [`TwoTasks::new`].
pub fn normalized_labels(tasks: &[Task], settings: &MultiHeadSettings) -> Result<Vec<Task>> {
    let tasks = &own_readouts(tasks)[..];
    let scales = super::multi_head::label_scales(tasks, settings)?;
    let scaled = |y: &Mat<f64>, scale: f64| Mat::from_fn(y.nrows(), y.ncols(), |i, j| y[(i, j)] / scale.sqrt());
    Ok(tasks
        .iter()
        .zip(scales)
        .map(|(task, scale)| Task {
            y: scaled(&task.y, scale),
            test: task.test.as_ref().map(|t| TestSet { x: t.x.clone(), y: scaled(&t.y, scale) }),
            ..task.clone()
        })
        .collect())
}
