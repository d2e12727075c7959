//! The three regimes by trained networks: two tasks, a readout each, at several loads α = P/N.

use super::TrainRequest;
use super::runs::{self, Run, RunEnd};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::nets::{Heads, Learner, MeanInterference, TaskReport, TrainSettings};
use crate::stats::{Estimate, log_grid};
use crate::tasks::TaskSequence;
use crate::theory::multi_head::{MultiHeadSettings, Regime, TwoTasks};
use crate::theory::phase::PhaseCurve;
use std::path::Path;

/// Networks that learned two tasks with a readout each, at several loads, and the theory of them.
#[derive(Debug)]
pub struct TrainedLoads {
    /// The first seed.
    pub seed: u64,
    /// How the networks learned, but for their widths.
    pub settings: TrainSettings,
    /// The tasks.
    pub sequence: TaskSequence,
    /// What was measured, load by load.
    pub points: Vec<MeasuredLoad>,
    /// The exact critical load.
    pub critical: f64,
    /// The theory at λ → ∞, up to the largest of the loads and a little beyond.
    pub curve: PhaseCurve,
}

/// What was measured at one load.
#[derive(Debug)]
pub struct MeasuredLoad {
    /// The load P/N.
    pub alpha: f64,
    /// The width N.
    pub width: usize,
    /// `F_21`: mean and standard error over seeds; none where no run went through.
    pub f21: Option<(f64, f64)>,
    /// `G_22`, likewise.
    pub g22: Option<(f64, f64)>,
    /// Mean squared training error of task 2.
    pub newest: f64,
    /// How many runs learned task 2.
    pub learned: usize,
    /// How many runs there were.
    pub runs: usize,
    /// How many runs ended task 2 where they were meant to, not out of steps.
    pub settled: usize,
    /// Mean number of steps on task 2.
    pub steps: f64,
    /// How each task of each run that went through was learned, and task 2 alone.
    pub reports: Vec<TaskReport>,
    /// The sentences of runs that diverged: these enter no average.
    pub diverged: Vec<String>,
    /// The regime of the load in the theory.
    pub regime: Regime,
}

impl TrainRequest {
    /// Trains two tasks with a readout each at every load, and task 2 alone for comparison.
    pub(super) fn over_loads(
        &self,
        sequence: TaskSequence,
        seed: u64,
        context: &Context,
        checkpoints: Option<&Path>,
    ) -> Result<TrainedLoads> {
        let [learner] = self.rules()[..] else {
            return Err(Error::setting("--learners", "several", "must be one learner (l2) with --loads"));
        };
        if self.heads != Heads::Multi {
            return Err(Error::setting("--heads", "single", "must be multi with --loads"));
        }
        check_two(&sequence)?;
        let p = sequence.tasks[1].x.nrows();
        let widths = self.widths(p);
        let settings = self.settings(learner, seed)?;
        let ends = runs::all(&self.runs(learner, seed, &sequence, &widths)?, checkpoints, context)?;
        let of_theory = MultiHeadSettings {
            sigma2: settings.sigma0.powi(2),
            activation: settings.architecture.activation,
            ..Default::default()
        };
        let theory = TwoTasks::new(&sequence.tasks, &of_theory, context)?;
        let critical = theory.critical_load()?;
        let mut points = Vec::new();
        for (&width, ends) in widths.iter().zip(ends.chunks(2 * self.seeds)) {
            let alpha = p as f64 / width as f64;
            points.push(MeasuredLoad::of(alpha, width, ends, critical.regime(alpha).0)?);
        }
        let curve = theory.curve(&loads_of_curve(&points))?;
        Ok(TrainedLoads { seed, settings, sequence, points, critical: critical.alpha_c, curve })
    }

    /// At every width and for every seed task 2 alone, then both tasks.
    fn runs(&self, learner: Learner, first: u64, sequence: &TaskSequence, widths: &[usize]) -> Result<Vec<Run>> {
        let mut all = Vec::new();
        for &width in widths {
            for k in 0..self.seeds as u64 {
                let settings = TrainSettings { width, ..self.settings(learner, first.wrapping_add(k))? };
                let name = format!("width{width}-seed{}", settings.seed);
                let alone = vec![sequence.tasks[1].clone()];
                all.push(Run { name: format!("{name}-alone"), tasks: alone, settings: settings.clone() });
                all.push(Run { name, tasks: sequence.tasks.clone(), settings });
            }
        }
        Ok(all)
    }
}

/// The loads at which the theory stands beside the networks.
fn loads_of_curve(points: &[MeasuredLoad]) -> Vec<f64> {
    let first = points.iter().map(|q| q.alpha).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|q| q.alpha).fold(0.0, f64::max) * 1.05;
    let mut alphas = log_grid(0.5 * first.min(0.2), high, 121);
    // The theory has no value at α = 1 itself.
    alphas.retain(|a| (a - 1.0).abs() > 1e-3);
    alphas
}

fn check_two(sequence: &TaskSequence) -> Result<()> {
    if sequence.tasks.len() != 2 {
        return Err(Error::setting("--length", sequence.tasks.len(), "must be 2 with --loads"));
    }
    if sequence.tasks[1].test.is_none() {
        return Err(Error::data("task 2", "has no test set; --loads compares its test loss with learning it alone"));
    }
    Ok(())
}

impl MeasuredLoad {
    /// Averages the runs of one load; `ends` holds, per seed, the run alone and the run of both tasks.
    fn of(alpha: f64, width: usize, ends: &[RunEnd], regime: Regime) -> Result<MeasuredLoad> {
        let (mut runs, mut diverged) = (vec![], vec![]);
        for pair in ends.chunks(2) {
            match pair {
                [RunEnd::Done(alone), RunEnd::Done(both)] => runs.push((&both.0, &alone.0)),
                _ => diverged.extend(pair.iter().filter_map(|end| match end {
                    RunEnd::Done(_) => None,
                    RunEnd::Diverged(sentence) => Some(sentence.clone()),
                })),
            }
        }
        let mean = MeanInterference::of(&runs)?;
        let with_error = |e: Estimate| (e.value, e.error());
        let reports = runs.iter().flat_map(|(both, alone)| both.reports.iter().chain(&alone.reports)).cloned();
        Ok(MeasuredLoad {
            alpha,
            width,
            f21: mean.f21.map(with_error),
            g22: mean.g22.map(with_error),
            newest: mean.mse,
            learned: mean.learned,
            runs: ends.len() / 2,
            settled: mean.settled,
            steps: mean.steps,
            reports: reports.collect(),
            diverged,
            regime,
        })
    }
}
