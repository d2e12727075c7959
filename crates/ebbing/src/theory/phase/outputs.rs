//! Two tasks with several outputs each, against the load: losses, accuracies of both heads, and a regime for every direction of head 2.

use super::{MOST_NOISE, SequenceCurve, SequencePoint};
use crate::error::{Error, Result, refuse};
use crate::linalg::{Mat, par_map};
use crate::stats::number::{accuracy as rounding, within};
use crate::tasks::Task;
use crate::theory::multi_head::{
    AloneOutputs, DirectionLoads, OutputAccuracy, OutputMaps, Power, Regime, TwoTaskOutputs, TwoTaskOutputsPoint,
};
use serde::Serialize;

/// Draws per example where an accuracy has no closed form: its error over a test set of a few hundred is below 0.2 %.
const DRAWS: usize = 400;
/// Test examples of each task on which accuracies are computed, at most.
const TESTED: usize = 500;
/// A load is called near critical within this relative distance of a direction's critical load.
const NEAR: f64 = 1e-3;

/// Test accuracies of both heads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeadAccuracies {
    /// Of task 1 when it was learned.
    pub learned: OutputAccuracy,
    /// Of task 1 after task 2.
    pub first: OutputAccuracy,
    /// Of task 2 after task 2.
    pub second: OutputAccuracy,
}

/// One load of a curve of two tasks with several outputs each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputsPoint {
    /// The load α = P_2/N.
    pub alpha: f64,
    /// The width N.
    pub width: f64,
    /// The penalty λ, possibly ∞.
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// `U1(1,1)`, row by row.
    pub u11: Vec<Vec<f64>>,
    /// `U1(1,2)`, m_1 × m_2.
    pub u12: Vec<Vec<f64>>,
    /// `U1(2,2)`, in units of `λ^exponent`.
    pub u22: Vec<Vec<f64>>,
    /// `U0(2,2)`, in units of `λ^exponent`.
    pub u0: Vec<Vec<f64>>,
    /// `U1(2,2) − U0(2,2)`.
    pub d: Vec<Vec<f64>>,
    /// 0, or ½ at λ = ∞ where a direction overfits.
    pub exponent: f64,
    /// `ρ_a` of every direction of head 2 that has labels, ascending.
    pub rho: Vec<f64>,
    /// The regime of every such direction, at λ = ∞.
    pub directions: Option<Vec<Regime>>,
    /// The mean of `|a|²/N` over the readouts of head 2.
    pub norm: Power,
    /// `F_21`, covariance included.
    pub f21: Power,
    /// `G_21`, normalized by learning task 1 alone; only with held-out data.
    pub g21: Option<Power>,
    /// `G_22`, normalized by learning task 2 alone; only with held-out data.
    pub g22: Option<Power>,
    /// Accuracies, where they were asked for and both tasks have held-out classes.
    pub accuracy: Option<HeadAccuracies>,
    /// The largest scaled residual of the equations.
    pub residual: f64,
}

/// Two tasks with several outputs each at one λ against the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputsCurve {
    /// The penalty λ, possibly ∞.
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// The critical load of every direction of head 2 (λ = ∞ only).
    pub critical: Option<DirectionLoads>,
    /// One point per load.
    pub points: Vec<OutputsPoint>,
}

/// Both heads of two tasks with several outputs on their data, ready for any load.
#[derive(Debug, Clone)]
pub struct OutputsLossMaps {
    /// The critical load of every direction of head 2 (λ = ∞ only).
    pub critical: Option<DirectionLoads>,
    training: OutputMaps,
    tested: [Option<(OutputMaps, AloneOutputs)>; 2],
}

impl OutputsLossMaps {
    /// Whether both tasks have held-out data.
    pub fn tested(&self) -> bool {
        self.tested.iter().all(Option::is_some)
    }
}

/// A matrix row by row.
fn rows(m: &Mat<f64>) -> Vec<Vec<f64>> {
    (0..m.nrows()).map(|i| (0..m.ncols()).map(|j| m[(i, j)]).collect()).collect()
}

impl TwoTaskOutputs {
    /// What the losses at every load are made from: products that are made once.
    ///
    /// # Errors
    /// As for [`TwoTaskOutputs::critical_loads`] and [`TwoTaskOutputs::maps`].
    pub fn loss_maps(&self) -> Result<OutputsLossMaps> {
        let [first, second] = self.tasks();
        let tested = |task: &Task, head: usize| {
            let maps = |test: &crate::tasks::TestSet| {
                let (x, y) = (test.x.as_ref(), test.y.as_ref());
                Ok((self.maps(head, x, y)?, self.alone_map(head, x, y)?))
            };
            task.test.as_ref().map(maps).transpose()
        };
        Ok(OutputsLossMaps {
            critical: if self.lambda().is_infinite() { Some(self.critical_loads()?) } else { None },
            training: self.maps(1, first.x.as_ref(), first.y.as_ref())?,
            tested: [tested(first, 1)?, tested(second, 2)?],
        })
    }

    /// The losses at points that are solved: `F_21`, `G_21` and `G_22`.
    ///
    /// # Errors
    /// Those of learning a task alone.
    pub fn curve_from(&self, maps: &OutputsLossMaps, points: &[TwoTaskOutputsPoint]) -> Result<OutputsCurve> {
        let noise = rounding(self.digits()).min(MOST_NOISE);
        let training = self.losses(&maps.training, points);
        let tested = |(maps, alone): &(OutputMaps, AloneOutputs)| -> Result<Vec<Power>> {
            let over = |(loss, point): (Power, &TwoTaskOutputsPoint)| {
                Ok(Power { coefficient: loss.coefficient / alone.loss(point.width)?, ..loss })
            };
            self.losses(maps, points).into_iter().zip(points).map(over).collect()
        };
        let [g21, g22] = [0, 1].map(|k| maps.tested[k].as_ref().map(tested).transpose());
        let (g21, g22) = (g21?, g22?);
        let point = |(k, p): (usize, &TwoTaskOutputsPoint)| OutputsPoint {
            alpha: p.alpha,
            width: p.width,
            lambda: p.lambda,
            u11: rows(&p.u11),
            u12: rows(&p.u12),
            u22: rows(&p.u22),
            u0: rows(&p.u0),
            d: rows(&p.d),
            exponent: p.exponent,
            rho: p.rho.clone(),
            directions: p.directions.as_ref().map(|found| found.regimes.clone()),
            norm: p.norm(),
            f21: Power { coefficient: within(training[k].coefficient, noise), ..training[k] },
            g21: g21.as_ref().map(|g| g[k]),
            g22: g22.as_ref().map(|g| g[k]),
            accuracy: None,
            residual: p.residuals.iter().fold(0.0, |most, r| r.residual.max(most)),
        };
        let points = points.iter().enumerate().map(point).collect();
        Ok(OutputsCurve { lambda: self.lambda(), critical: maps.critical.clone(), points })
    }

    /// Factors, `F_21`, `G_21` and `G_22` at every load, after one decomposition.
    ///
    /// # Errors
    /// As for [`TwoTaskOutputs::point`].
    pub fn curve(&self, alphas: &[f64]) -> Result<OutputsCurve> {
        self.curve_from(&self.loss_maps()?, &self.points(alphas)?)
    }

    /// Test accuracies of both heads at a point, on up to 500 examples of each test set; `None` where a task has no test set, or one
    /// whose targets are no classes.
    ///
    /// # Errors
    /// Those of [`TwoTaskOutputs::predict`].
    pub fn accuracies(&self, point: &TwoTaskOutputsPoint) -> Result<Option<HeadAccuracies>> {
        let [Some(first), Some(second)] = self.tasks().each_ref().map(|task| task.test.as_ref()) else {
            return Ok(None);
        };
        let part = |m: &Mat<f64>| m.subrows(0, m.nrows().min(TESTED)).to_owned();
        let [(x1, y1), (x2, y2)] = [first, second].map(|test| (part(&test.x), part(&test.y)));
        let named = |found: Result<OutputAccuracy>| match found {
            Err(Error::Data { .. }) => Ok(None),
            other => other.map(Some),
        };
        let head = |head: usize, x: &Mat<f64>, y: &Mat<f64>| {
            named(self.predict(head, point, x.as_ref())?.accuracy(y.as_ref(), DRAWS, head as u64))
        };
        let alone = self.alone(1, point.width, x1.as_ref())?;
        let learned = named(alone.accuracy(y1.as_ref(), DRAWS, 0))?;
        let (Some(learned), Some(first)) = (learned, head(1, &x1, &y1)?) else { return Ok(None) };
        Ok(head(2, &x2, &y2)?.map(|second| HeadAccuracies { learned, first, second }))
    }

    /// Adds accuracies to some points of a curve.
    ///
    /// # Errors
    /// As for [`TwoTaskOutputs::accuracies`].
    pub fn add_accuracies(
        &self,
        curve: &mut OutputsCurve,
        points: &[TwoTaskOutputsPoint],
        chosen: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let places: Vec<usize> = (0..points.len()).filter(|&k| chosen(k)).collect();
        let found: Result<Vec<_>> = par_map(&places, |&k| self.accuracies(&points[k])).into_iter().collect();
        places.into_iter().zip(found?).for_each(|(k, found)| curve.points[k].accuracy = found);
        Ok(())
    }
}

impl From<OutputsCurve> for SequenceCurve {
    fn from(curve: OutputsCurve) -> SequenceCurve {
        let point = |p: OutputsPoint| SequencePoint {
            alpha: p.alpha,
            width: p.width,
            lambda: p.lambda,
            u_tt: p.norm,
            f_t1: p.f21,
            g_t1: p.g21,
            g_tt: p.g22,
            // One word for all directions, where they agree.
            regime: p.directions.and_then(|all| all.windows(2).all(|w| w[0] == w[1]).then(|| all.first().copied())?),
            unsettled: None,
        };
        SequenceCurve { lambda: curve.lambda, critical: None, points: curve.points.into_iter().map(point).collect() }
    }
}

/// Where a width lies in the phase diagram of λ → ∞ of two tasks with several outputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutputsLocation {
    /// The width N asked about.
    pub width: f64,
    /// Its load P_2/N.
    pub alpha: f64,
    /// The regime of every direction of head 2 that has labels.
    pub directions: Vec<Regime>,
    /// Whether α is within 0.1 % of a direction's critical load.
    pub near_critical: bool,
    /// Widths above this have fixed representations: N = P_2.
    pub fixed_above: f64,
    /// Widths below the k-th let k + 1 directions generalize: `P_2/α_c`; `None` where there is no such load up to the bound.
    pub generalizes_below: Vec<Option<f64>>,
    /// The answer in one sentence.
    pub advice: String,
}

/// "1 direction", "9 directions".
fn directions(count: usize) -> String {
    if count == 1 { "1 direction".into() } else { format!("{count} directions") }
}

impl DirectionLoads {
    /// The regime of every direction at load α ≠ 1, and whether it is within 0.1 % of a boundary.
    pub fn regimes(&self, alpha: f64) -> (Vec<Regime>, bool) {
        let regime = |critical: &f64| match alpha {
            a if a < 1.0 => Regime::FixedRepresentations,
            a if a < *critical => Regime::Overfitting,
            _ => Regime::Generalization,
        };
        let near = |edge: f64| (alpha / edge - 1.0).abs() < NEAR;
        // Ascending ρ, as the directions of a point: those that generalize come last.
        let regimes = self.alpha_c.iter().rev().map(regime).collect();
        (regimes, near(1.0) || self.alpha_c.iter().any(|&c| near(c)))
    }

    /// Where width N lies for a second task of `size` examples.
    ///
    /// # Errors
    /// [`Error::Setting`] for a width that is not positive, or equal to `size` (α = 1).
    pub fn locate(&self, size: usize, width: f64) -> Result<OutputsLocation> {
        refuse(!(width.is_finite() && width > 0.0), "width", width, "must be positive and finite")?;
        let p = size as f64;
        let alpha = p / width;
        let expected = "equals the number of examples: alpha = 1 is the boundary of fixed representations, where the theory has no \
                        value; take another width";
        refuse(alpha == 1.0, "width", width, expected)?;
        let (regimes, near_critical) = self.regimes(alpha);
        let generalizes_below: Vec<Option<f64>> = self.alpha_c.iter().map(|c| c.is_finite().then(|| p / c)).collect();
        let general = regimes.iter().filter(|r| **r == Regime::Generalization).count();
        let over = regimes.iter().filter(|r| **r == Regime::Overfitting).count();
        let all = directions(regimes.len());
        let advice = if alpha < 1.0 {
            format!(
                "at N = {width} the network is in the regime of fixed representations in all {all} of head 2 as λ grows"
            )
        } else if over == 0 {
            format!("at N = {width} all {all} of head 2 generalize as λ grows, at the cost of task 1")
        } else {
            let part = match general {
                0 => format!("overfits task 2 in all {all} of its head"),
                k => format!(
                    "overfits task 2 in {over} of {all} of its head, while {k} generalize at the cost of task 1,"
                ),
            };
            // A boundary below one unit is none that a network can have.
            let below = match generalizes_below.last().copied().flatten() {
                Some(below) if below >= 1.5 => format!(", below {below:.0} all directions generalize"),
                _ => String::new(),
            };
            format!(
                "at N = {width} the network {part} as λ grows; above {size} hidden units representations stay fixed{below}, and at any \
                 width a smaller λ helps"
            )
        };
        Ok(OutputsLocation {
            width,
            alpha,
            directions: regimes,
            near_critical,
            fixed_above: p,
            generalizes_below,
            advice,
        })
    }
}
