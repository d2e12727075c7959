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
//! All is in double precision; the network that results is rounded to single precision.
//!
//! Two things stand between this and a minimum, and each is taken away in stages that start from the last. Kinks of
//! ReLUs are rounded off ([`rounding`]), within a tenth of a layer's scale at first, a thousandth at last. And a κ of 1e-3 or
//! less is come to from 0.1 by tenths: taken at once it runs into a far minimum.

mod coupled;
mod kinks;
mod problem;
mod rounding;
mod system;
#[cfg(test)]
mod tests;

use super::descent::{Outcome, Progress};
use super::learner::{LossScale, TrainSettings};
use super::mlp::{Mlp, to_f64};
use super::posterior::Heads;
use super::train::Examples;
use super::watch::Stop;
use crate::error::{Error, Result};
use crate::kernels::Activation;
use crate::linalg::{Mat, Scale};
use problem::{Point, Problem};
use rounding::Rounding;
use serde::{Deserialize, Serialize};
use system::{Linearised, System};

/// What is known of a minimum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Minimum {
    /// `c/2 Σ r² + κ/2 |Θ − Θ_{t−1}|²` (and the readout's own penalty), c as in [`LossScale`].
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
/// A κ up to the second of these is come to from the first, in units of the loss.
const KAPPAS: (f64, f64) = (0.1, 1e-3);
/// What damping falls to after a step that lowers the objective, and what it is raised to after one that does not.
const DAMPING: (f64, f64) = (1.0 / 3.0, 4.0);
/// The least and the most damping, in units of the penalty (the tangent kernel's mean eigenvalue where there is none).
const DAMPINGS: (f64, f64) = (1e-9, 1e12);

/// A gradient counts after a step with less damping than the first, in units of the penalty, or where the objective fell
/// by no more than the last, relatively, over so many steps.
const STEADY: (f64, usize, f64) = (1e-4, 20, 1e-6);
/// The share of a step over which the second derivative along it is taken.
const PROBE: f64 = 0.1;

/// One stage on the way: a penalty, a rounding, and when it ends.
struct Stage {
    kappa: f64,
    rounding: f64,
    tolerance: f64,
}

/// The way to the penalty `kappa` of a loss scaled by `loss`.
fn stages(kappa: f64, loss: f64, relu: bool, tolerance: f64) -> Vec<Stage> {
    let mut all = Vec::new();
    // Without a penalty the errors vanish, and with them the pull of kinks.
    let roundings = if relu && kappa > 0.0 { &ROUNDINGS[..] } else { &ROUNDINGS[2..] };
    if kappa > 0.0 && kappa <= KAPPAS.1 * loss {
        let mut next = KAPPAS.0 * loss;
        while next > 2.0 * kappa {
            all.push(Stage { kappa: next, rounding: roundings[0], tolerance: STAGE });
            next /= 10.0;
        }
    }
    all.extend(roundings.iter().map(|&rounding| Stage { kappa, rounding, tolerance: STAGE }));
    if let Some(last) = all.last_mut() {
        last.tolerance = tolerance;
    }
    all
}

/// One task's way to its minimum.
pub(crate) struct Minimiser<'a> {
    settings: &'a TrainSettings,
    task: usize,
    head: usize,
    data: &'a Examples,
    problem: Problem,
    kappa: f64,
    /// The readout at the start.
    readout: Mat<f64>,
    /// Root mean square of every layer's pre-activations at the start.
    scales: Vec<f64>,
    /// The gradient's norm at the start.
    first: Option<f64>,
    steps: usize,
}

/// Where a stage ended.
struct Ended {
    point: Point,
    steps: usize,
    gradient: f64,
    stop: Stop,
}

impl<'a> Minimiser<'a> {
    /// Prepares `task`, whose hidden weights (and, with one readout for all tasks, readout) `kappa` pulls to where they are.
    pub fn new(
        settings: &'a TrainSettings,
        task: usize,
        head: usize,
        data: &'a Examples,
        kappa: f64,
        net: &Mlp,
    ) -> Self {
        let loss = match settings.loss {
            LossScale::Sum => 1.0,
            LossScale::Mean => 1.0 / data.x.nrows() as f64,
        };
        let readout = to_f64(&net.heads[head]);
        let problem = Problem::new(net, data, settings.readout_only, loss, &readout);
        let start = problem.start(readout.clone());
        let plain = Rounding::new(settings.architecture.activation, 0.0, &vec![1.0; start.hidden.len()]);
        let point = problem.at(start, &plain);
        let rms = |z: &Mat<f64>| (z.squared_norm_l2() / (z.nrows() * z.ncols()) as f64).sqrt();
        let scales = point.z.iter().map(rms).collect();
        Minimiser { settings, task, head, data, problem, kappa, readout, scales, first: None, steps: 0 }
    }

    /// Finds the minimum, from every start that is asked for, and writes the lowest to `net`.
    pub fn run(&mut self, net: &mut Mlp, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Outcome> {
        // Without a penalty every solution has the objective 0.
        let scales = if self.kappa > 0.0 { &self.settings.readout_scales[..] } else { &[1.0] };
        let mut best: Option<(Ended, Minimum)> = None;
        for &scale in scales {
            self.steps = 0;
            self.first = None;
            let ended = self.descend(&self.readout * Scale(scale), progress)?;
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
        self.problem.write(&point.weights, self.data, self.head, net);
        let mse = self.problem.mse(&point);
        Ok(Outcome { steps, mse, stop, eta: 0.0, minimum: Some(minimum) })
    }

    /// All stages from one readout; the point at the end is that of the network as it is, kinks and all.
    fn descend(&mut self, readout: Mat<f64>, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Ended> {
        let activation = self.settings.architecture.activation;
        let tolerance = self.settings.gradient_tolerance;
        let mut weights = self.problem.start(readout);
        let mut last = None;
        for stage in stages(self.kappa, self.problem.loss, activation == Activation::Relu, tolerance) {
            self.penalise(stage.kappa);
            let rounding = Rounding::new(activation, stage.rounding, &self.scales);
            let ended = self.stage(&stage, self.problem.at(weights, &rounding), &rounding, progress)?;
            weights = ended.point.weights.clone();
            last = Some(ended);
        }
        let ended = last.expect("there is a last stage");
        let plain = Rounding::new(activation, 0.0, &self.scales);
        Ok(Ended { point: self.problem.at(weights, &plain), ..ended })
    }

    /// Sets the κ of a stage, and what it makes of the readout: `κ/2 |a − a_0|² + ρ/2 |a|²` is
    /// `(κ+ρ)/2 |a − κa_0/(κ+ρ)|²` but for a constant.
    fn penalise(&mut self, kappa: f64) {
        let shared = if self.settings.heads == Heads::Multi { 0.0 } else { kappa };
        // Without a penalty on them, hidden weights would grow without end for the sake of a smaller readout.
        let held = kappa > 0.0 || self.settings.readout_only;
        let pull = shared + if held { self.settings.readout_penalty } else { 0.0 };
        self.problem.kappa = kappa;
        self.problem.pull = pull;
        self.problem.centre = &self.readout * Scale(if pull > 0.0 { shared / pull } else { 0.0 });
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
            let here = Linearised::new(&self.problem, &point, rounding);
            let first = *self.first.get_or_insert(here.gradient);
            let gradient = if first > 0.0 { here.gradient / first } else { 0.0 };
            if !point.objective.is_finite() {
                let suggestion = "scale inputs and targets down".into();
                let (task, step) = (self.task + 1, self.steps);
                return Err(Error::Diverged { task, step, loss: self.problem.mse(&point), eta: 0.0, suggestion });
            }
            let mse = self.problem.mse(&point);
            if !progress(Progress { task: self.task, step: self.steps, mse, eta: 0.0, gradient: Some(gradient) }) {
                return Err(Error::Interrupted { what: format!("training of task {}", self.task + 1) });
            }
            let end = |stop| Ok(Ended { point: point.clone(), steps: self.steps, gradient, stop });
            // Strongly damped steps leave what needs long ones, along which the gradient is small.
            let free = stage.kappa == 0.0 || damping.is_some_and(|mu| mu <= STEADY.0 * stage.kappa);
            let before = passed.len().checked_sub(STEADY.1).map(|k| passed[k]);
            let steady = free || before.is_some_and(|e: f64| e - point.objective <= STEADY.2 * e);
            if gradient <= stage.tolerance && steady || gradient == 0.0 {
                return end(Stop::Converged);
            }
            if self.steps >= self.settings.max_steps {
                return end(Stop::MaxSteps);
            }
            let unit = if stage.kappa > 0.0 { stage.kappa } else { here.scale(&self.problem) };
            let mut mu = damping.unwrap_or(unit);
            let next = loop {
                let next = here.system(&self.problem, &point, mu);
                let next = next.map(|system| self.along(&system, &point, rounding));
                match next {
                    Some(next) if next.objective < point.objective => break Some(next),
                    _ if mu > DAMPINGS.1 * unit => break None,
                    _ => mu *= DAMPING.1,
                }
            };
            let Some(next) = next else { return end(Stop::Stalled) };
            damping = Some((mu * DAMPING.0).max(DAMPINGS.0 * unit));
            passed.push(point.objective);
            point = next;
            self.steps += 1;
        }
    }

    /// Where the step of `system` leads, with the second-order correction `−(cJᵀJ+S)⁻¹ cJᵀ f''(δ,δ)/2` where that is lower:
    /// the geodesic acceleration of M. Transtrum and J. Sethna (2012), with f'' from a difference along δ.
    fn along(&self, system: &System<'_>, point: &Point, rounding: &Rounding) -> Point {
        let (step, first_order) = system.step();
        let plain = self.problem.at(point.weights.moved(&step, 1.0), rounding);
        let near = self.problem.at(point.weights.moved(&step, PROBE), rounding);
        // r = y − f: f(θ + hδ) − f(θ) − hJδ = h²/2 f''(δ,δ).
        let bend = (&point.r - &near.r) - &first_order * Scale(PROBE);
        let correction = system.undo(&(bend * Scale(1.0 / (PROBE * PROBE))));
        let bent = self.problem.at(plain.weights.moved(&correction, 1.0), rounding);
        if bent.objective < plain.objective { bent } else { plain }
    }
}
