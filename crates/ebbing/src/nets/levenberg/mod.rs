//! Levenberg–Marquardt in the space of outputs: the minimum of `c/2 Σ r² + κ/2 |θ − θ_{t−1}|²`, where descent creeps.
//!
//! ```math
//! M v = r + J s, \quad M = \frac1c + \sum_l \frac{J_l J_l^\top}{κ_l + μ}, \quad s = \frac{κ(θ-θ_{t-1})}{κ+μ}, \quad
//! Δθ = \frac{J^\top v}{κ+μ} - s
//! ```
//!
//! A step solves a system of the size of the training outputs, since `J_l J_lᵀ` is (Gram matrix of the activations
//! below) ∘ (Gram matrix of the back-propagated signals). It is kept where the objective falls, and damping μ then falls to
//! a third; else μ is raised fourfold (K. Levenberg 1944; D. Marquardt 1963; in dual form as by R. Cai et al. 2019).
//! All is in double precision but the part of M that kinks make, on which only the way depends; the network that results is
//! rounded to single precision.
//!
//! Where networks with several hidden layers creep along a valley, steps take in all second derivatives ([`newton`]).
//!
//! Two things stand between this and a minimum, and each is taken away in stages that start from the last. Kinks of
//! ReLUs are rounded off ([`rounding`]), within a tenth of a layer's scale at first, a thousandth at last. And a κ below 0.05 is
//! come to from 0.1 by tenths: taken at once it runs into a far minimum. Several κ share the stages that lead to them.

mod coupled;
mod kinks;
mod linearized;
mod newton;
mod problem;
mod rounding;
mod system;
#[cfg(test)]
mod tests;

use super::descent::{Progress, TaskEnd, loss_scale};
use super::learner::TrainSettings;
use super::mlp::{Mlp, to_f64};
use super::posterior::Heads;
use super::train::Examples;
use super::watch::Stop;
use crate::error::{Error, Result};
use crate::kernels::Activation;
use crate::linalg::{Mat, Scale};
use linearized::Linearized;
use newton::Hessian;
use problem::{Point, Problem, Weights};
use rounding::Rounding;
use serde::{Deserialize, Serialize};
use system::StepSystem;

/// What is known of a minimum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Minimum {
    /// `c/2 Σ r² + κ/2 |Θ − Θ_{t−1}|²` (and the readout's own penalty), c as in [`LossScale`](crate::nets::LossScale).
    pub objective: f64,
    /// Its gradient's norm over that at the start, the kinks of ReLUs rounded off within a thousandth of their scale.
    pub gradient: f64,
    /// By which factor the readout was multiplied at the start.
    pub readout_scale: f64,
    /// The lowest and the highest objective among the starts.
    pub objectives: (f64, f64),
}

/// Kinks are rounded off within these shares of their layer's root mean square, one after the other.
const ROUNDINGS: [f64; 3] = [0.1, 0.01, 0.001];
/// The relative gradient at which all stages but the last end.
const STAGE: f64 = 1e-4;
/// A κ below half of this is reached from it in stages, in units of the loss.
const KAPPA: f64 = 0.1;
/// By what damping is multiplied after a step that lowers the objective about as predicted, after one that does not lower it, and after one
/// that lowers it by far less than predicted.
const DAMPING: (f64, f64, f64) = (1.0 / 3.0, 4.0, 2.0);
/// What a step lowers the objective by, over what its quadratic model predicts: less than the first is far less, more than the second
/// about as predicted (K. Madsen, H. B. Nielsen and O. Tingleff 2004). So most steps are accepted at once.
const GAINS: (f64, f64) = (0.25, 0.75);
/// The least and the most damping, in units of the penalty (the tangent kernel's mean eigenvalue where there is none).
const DAMPINGS: (f64, f64) = (1e-9, 1e12);
/// Dampings that a step is tried with, four times as much each time: beyond the most from any.
const TRIES: usize = 100;

/// A gradient counts after a step with less damping than the first, in units of the penalty, or where the objective fell
/// over so many steps by no more than the tolerance of the gradient, relatively: along flat valleys it is small all the way.
const STEADY: (f64, usize) = (1e-4, 20);
/// Steps of a stage after which those of networks with several hidden layers take in all second derivatives.
const CREEPING: usize = 100;
/// The share of a step over which the second derivative along it is taken.
const PROBE: f64 = 0.1;

/// One stage on the way: a penalty, a rounding, and when it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stage {
    kappa: f64,
    rounding: f64,
    tolerance: f64,
}

/// The way to the penalty `kappa` of a loss scaled by `loss`.
fn stages(kappa: f64, loss: f64, relu: bool, tolerance: f64) -> Vec<Stage> {
    let stage = |kappa: f64, rounding: f64| Stage { kappa, rounding, tolerance: STAGE };
    // Without a penalty the errors vanish, and with them the pull of kinks.
    let roundings = if relu && kappa > 0.0 { &ROUNDINGS[..] } else { &ROUNDINGS[2..] };
    let tenths = std::iter::successors(Some(KAPPA * loss), |next| Some(next / 10.0));
    let larger = tenths.take_while(|next| kappa > 0.0 && *next > 2.0 * kappa);
    let mut all: Vec<Stage> = larger.map(|next| stage(next, roundings[0])).collect();
    all.extend(roundings.iter().map(|&rounding| stage(kappa, rounding)));
    if let Some(last) = all.last_mut() {
        last.tolerance = tolerance;
    }
    all
}

/// One task's way to its minimum.
pub(crate) struct Minimizer<'a> {
    settings: &'a TrainSettings,
    task: usize,
    head: usize,
    data: &'a Examples,
    problem: Problem,
    /// The readout at the start.
    readout: Mat<f64>,
    /// Root mean square of every layer's pre-activations at the start.
    scales: Vec<f64>,
    /// The gradient's norm at the start.
    first: Option<f64>,
    steps: usize,
}

/// Where a stage of the way ended.
#[derive(Clone)]
struct Reached {
    weights: Weights,
    /// The gradient's norm at the start of all.
    first: Option<f64>,
    steps: usize,
    /// Stages so far.
    stages: usize,
}

/// Where each way that was gone ended, by the readout's scale and its stages.
#[derive(Default)]
struct Passed(Vec<(f64, Vec<Stage>, Reached)>);

impl Passed {
    /// The end of the longest part of a way that was gone already.
    fn furthest(&self, scale: f64, way: &[Stage]) -> Option<Reached> {
        let on_it = self.0.iter().filter(|(at, stages, _)| *at == scale && way.starts_with(stages));
        on_it.max_by_key(|(_, stages, _)| stages.len()).map(|(_, _, reached)| reached.clone())
    }
}

/// Where a stage ended.
struct Ended {
    point: Point,
    steps: usize,
    gradient: f64,
    stop: Stop,
}

impl<'a> Minimizer<'a> {
    /// Prepares `task`, whose hidden weights (and, with one readout for all tasks, readout) are pulled to where they are.
    pub fn new(settings: &'a TrainSettings, task: usize, head: usize, data: &'a Examples, net: &Mlp) -> Self {
        let loss = loss_scale(settings.loss, data.x.nrows());
        let readout = to_f64(&net.heads[head]);
        let problem = Problem::new(net, data, settings.readout_only, loss, &readout);
        let start = problem.start(readout.clone());
        let plain = Rounding::new(settings.architecture.activation, 0.0, &vec![1.0; start.hidden.len()]);
        let point = problem.at(start, &plain);
        let rms = |z: &Mat<f64>| (z.squared_norm_l2() / (z.nrows() * z.ncols()) as f64).sqrt();
        let scales = point.z.iter().map(rms).collect();
        Minimizer { settings, task, head, data, problem, readout, scales, first: None, steps: 0 }
    }

    /// Finds the minimum at each of the penalties `kappas`, from every start that is asked for: `net` at the lowest.
    pub fn run(
        &mut self,
        kappas: &[f64],
        net: &Mlp,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Vec<(Mlp, TaskEnd)>> {
        let mut passed = Passed::default();
        kappas.iter().map(|&kappa| self.lowest(kappa, net, &mut passed, progress)).collect()
    }

    fn lowest(
        &mut self,
        kappa: f64,
        net: &Mlp,
        passed: &mut Passed,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<(Mlp, TaskEnd)> {
        // Without a penalty every solution has the objective 0.
        let scales = if kappa > 0.0 { &self.settings.readout_scales[..] } else { &[1.0] };
        let mut best: Option<(Ended, Minimum)> = None;
        for &scale in scales {
            let ended = self.descend(scale, kappa, passed, progress)?;
            let objective = ended.point.objective;
            let (low, high) = best.as_ref().map_or((objective, objective), |(_, m)| m.objectives);
            let objectives = (low.min(objective), high.max(objective));
            let minimum = Minimum { objective, gradient: ended.gradient, readout_scale: scale, objectives };
            best = Some(match best {
                Some((ended, minimum)) if minimum.objective <= objective => (ended, Minimum { objectives, ..minimum }),
                _ => (ended, minimum),
            });
        }
        let Some((Ended { point, steps, stop, .. }, minimum)) = best else {
            return Err(Error::setting("readout_scales", "empty", "must name at least one scale"));
        };
        let mut net = net.clone();
        self.problem.write(&point.weights, self.data, self.head, &mut net);
        let mse = self.problem.mse(&point);
        Ok((net, TaskEnd { steps, mse, stop, eta: 0.0, rose: 1.0, minimum: Some(minimum) }))
    }

    /// All stages from the readout times `scale`, but for those that were `passed` on the way to another κ; the point at the end
    /// is that of the network as it is, kinks and all.
    fn descend(
        &mut self,
        scale: f64,
        kappa: f64,
        passed: &mut Passed,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Ended> {
        let activation = self.settings.architecture.activation;
        let tolerance = self.settings.gradient_tolerance;
        let way = stages(kappa, self.problem.loss, activation == Activation::Relu, tolerance);
        let mut reached = passed.furthest(scale, &way).unwrap_or_else(|| Reached {
            weights: self.problem.start(&self.readout * Scale(scale)),
            first: None,
            steps: 0,
            stages: 0,
        });
        let mut last = None;
        for (k, stage) in way.iter().enumerate().skip(reached.stages) {
            self.penalize(stage.kappa);
            (self.first, self.steps) = (reached.first, reached.steps);
            let rounding = Rounding::new(activation, stage.rounding, &self.scales);
            let ended = self.stage(stage, self.problem.at(reached.weights, &rounding), &rounding, progress)?;
            let weights = ended.point.weights.clone();
            reached = Reached { weights, first: self.first, steps: ended.steps, stages: k + 1 };
            passed.0.push((scale, way[..=k].to_vec(), reached.clone()));
            last = Some(ended);
        }
        let ended = last.expect("no two penalties have the same last stage");
        let plain = Rounding::new(activation, 0.0, &self.scales);
        Ok(Ended { point: self.problem.at(reached.weights, &plain), ..ended })
    }

    /// Sets the κ of a stage, and what it makes of the readout: `κ/2 |a − a_0|² + ρ/2 |a|²` is
    /// `(κ+ρ)/2 |a − κa_0/(κ+ρ)|²` but for a constant.
    fn penalize(&mut self, kappa: f64) {
        let shared = if self.settings.heads == Heads::Multi { 0.0 } else { kappa };
        // Without a penalty on them, hidden weights would grow without end for the sake of a smaller readout.
        let held = kappa > 0.0 || self.settings.readout_only;
        let pull = shared + if held { self.settings.readout_penalty } else { 0.0 };
        self.problem.kappa = kappa;
        self.problem.pull = pull;
        self.problem.center = &self.readout * Scale(if pull > 0.0 { shared / pull } else { 0.0 });
    }

    fn stage(
        &mut self,
        stage: &Stage,
        mut point: Point,
        rounding: &Rounding,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Ended> {
        let (mut damping, mut passed) = (None, Vec::new());
        loop {
            crate::stop::check()?;
            let creeping = passed.len() >= CREEPING && self.coupled_layers();
            let here = Linearized::new(&self.problem, &point, rounding);
            let first = *self.first.get_or_insert(here.gradient);
            let gradient = if first > 0.0 { here.gradient / first } else { 0.0 };
            if !point.objective.is_finite() {
                let suggestion = "scale inputs and targets down".into();
                let (task, step) = (self.task + 1, self.steps);
                return Err(Error::Diverged { task, step, loss: self.problem.mse(&point), eta: 0.0, suggestion });
            }
            let mse = self.problem.mse(&point);
            if !progress(Progress { task: self.task, step: self.steps, mse, eta: 0.0, gradient: Some(gradient) }) {
                return Err(Error::Stopped);
            }
            let end = |stop| Ok(Ended { point: point.clone(), steps: self.steps, gradient, stop });
            // Strongly damped steps leave what needs long ones, along which the gradient is small.
            let free = stage.kappa == 0.0 || damping.is_some_and(|mu| mu <= STEADY.0 * stage.kappa);
            let before = passed.len().checked_sub(STEADY.1).map(|k| passed[k]);
            let steady = free || before.is_some_and(|e: f64| e - point.objective <= stage.tolerance * e);
            if gradient <= stage.tolerance && steady || gradient == 0.0 {
                return end(Stop::Converged);
            }
            if self.steps >= self.settings.max_steps {
                return end(Stop::MaxSteps);
            }
            let unit = if stage.kappa > 0.0 { stage.kappa } else { here.scale(&self.problem, &point) };
            let mut mu = damping.unwrap_or(unit);
            let hessian = creeping.then(|| Hessian::new(&self.problem, &point, &here, rounding));
            let mut next = None;
            for _ in 0..TRIES {
                let system = here.system(&self.problem, &point, mu);
                next = system.map(|system| self.along(&system, hessian.as_ref(), &point, rounding));
                next = next.filter(|(next, _)| next.objective < point.objective);
                if next.is_some() || mu > DAMPINGS.1 * unit {
                    break;
                }
                mu *= DAMPING.1;
            }
            let Some((next, predicted)) = next else {
                // Rounding errors end a stage too: at a minimum, if the gradient says so.
                return end(if gradient <= stage.tolerance { Stop::Converged } else { Stop::Stalled });
            };
            let gain = (point.objective - next.objective) / predicted;
            let factor = match gain {
                gain if gain > GAINS.1 => DAMPING.0,
                gain if gain < GAINS.0 => DAMPING.2,
                _ => 1.0,
            };
            damping = Some((mu * factor).max(DAMPINGS.0 * unit));
            passed.push(point.objective);
            point = next;
            self.steps += 1;
        }
    }

    /// Whether second derivatives couple hidden layers to each other, of which the system of a step knows nothing. (Those of smooth
    /// activations are not taken.)
    fn coupled_layers(&self) -> bool {
        let bent = matches!(self.settings.architecture.activation, Activation::Relu | Activation::Linear);
        bent && !self.settings.readout_only && self.scales.len() > 1
    }

    /// Where the step of `system` leads, with all second derivatives if `hessian` has them, and by how much that was predicted to
    /// lower the objective; with the second-order correction `−(cJᵀJ+S)⁻¹ cJᵀ f''(δ,δ)/2` where that is lower: the geodesic
    /// acceleration of M. Transtrum and J. Sethna (2012), with f'' from a difference along δ.
    fn along(
        &self,
        system: &StepSystem<'_>,
        hessian: Option<&Hessian<'_>>,
        point: &Point,
        rounding: &Rounding,
    ) -> (Point, f64) {
        let (step, first_order) = hessian.map_or_else(
            || {
                let (step, first_order) = system.step();
                (self.problem.step(step), first_order)
            },
            |hessian| hessian.step(system),
        );
        let predicted = self.problem.predicted(point, &step, &first_order, system.damping());
        let plain = self.problem.along(point, &step, 1.0, rounding);
        let near = self.problem.along(point, &step, PROBE, rounding);
        // r = y − f: f(θ + hδ) − f(θ) − hJδ = h²/2 f''(δ,δ).
        let bend = (&point.r - &near.r) - &first_order * Scale(PROBE);
        let correction = self.problem.step(system.undo(&(bend * Scale(1.0 / (PROBE * PROBE)))));
        let bent = self.problem.along(&plain, &correction, 1.0, rounding);
        (if bent.objective < plain.objective { bent } else { plain }, predicted)
    }
}
