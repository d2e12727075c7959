//! The three regimes by trained networks: two tasks, a readout each, at several loads α = P/N.

use super::Args;
use super::runs::{self, Run, RunEnd};
use crate::console::Console;
use ebbing::answer::{LoadsResult, MeasuredLoad};
use ebbing::data::Sources;
use ebbing::nets::{Heads, MeanInterference};
use ebbing::theory::multi_head::{MultiHeadSettings, Regime, TwoTasks};
use ebbing::{Error, TaskSequence};

impl Args {
    /// Trains two tasks with a readout each at every load, and task 2 alone for comparison.
    pub(super) fn over_loads(&self, console: &Console) -> anyhow::Result<LoadsResult> {
        let [learner] = self.job.rules()[..] else {
            return Err(Error::setting("--learners", "several", "must be one learner (l2) with --loads").into());
        };
        let recipe = self.job.task_keys().recipe()?;
        let base = self.job.settings(learner, recipe.seed)?;
        if base.heads != Heads::Multi {
            return Err(Error::setting("--heads", "single", "must be multi with --loads").into());
        }
        let sequence = recipe.draw(&Sources::new(), recipe.seed)?;
        check_two(&sequence)?;
        let p = sequence.tasks[1].x.nrows();
        let widths = self.job.widths(p)?;
        let mut jobs = Vec::new();
        for &width in &widths {
            for k in 0..self.job.seeds as u64 {
                let mut settings = self.job.settings(learner, recipe.seed.wrapping_add(k))?;
                settings.width = width;
                let name = format!("width{width}-seed{}", settings.seed);
                let alone = vec![sequence.tasks[1].clone()];
                jobs.push(Run { name: format!("{name}-alone"), tasks: alone, settings: settings.clone() });
                jobs.push(Run { name, tasks: sequence.tasks.clone(), settings });
            }
        }
        let ends = runs::all(&jobs, self.output.out.as_deref(), console)?;
        let settings = MultiHeadSettings { sigma2: base.sigma0.powi(2), ..Default::default() };
        let two = TwoTasks::new(&sequence.tasks, &settings, &console.context())?;
        let critical = two.critical_load()?;
        let mut points = Vec::new();
        for (k, &width) in widths.iter().enumerate() {
            let ends = &ends[2 * k * self.job.seeds..2 * (k + 1) * self.job.seeds];
            let alpha = p as f64 / width as f64;
            points.push(point(alpha, width, ends, critical.regime(alpha).0)?);
        }
        let first = points.iter().map(|q| q.alpha).fold(f64::INFINITY, f64::min);
        let high = points.iter().map(|q| q.alpha).fold(0.0, f64::max) * 1.05;
        let mut alphas = ebbing::stats::log_grid(0.5 * first.min(0.2), high, 121);
        // The theory has no value at α = 1 itself.
        alphas.retain(|a| (a - 1.0).abs() > 1e-3);
        let (theory, critical) = (two.curve(&alphas)?, critical.alpha_c);
        Ok(LoadsResult { sequence, settings: base, seeds: self.job.seeds, points, critical, theory })
    }
}

fn check_two(sequence: &TaskSequence) -> ebbing::Result<()> {
    if sequence.tasks.len() != 2 {
        return Err(Error::setting("--length", sequence.tasks.len(), "must be 2 with --loads"));
    }
    if sequence.tasks[1].test.is_none() {
        return Err(Error::data("task 2", "has no test set; --loads compares its test loss with learning it alone"));
    }
    Ok(())
}

/// Averages the runs of one load; `ends` holds, per seed, the run alone and the run of both tasks.
fn point(alpha: f64, width: usize, ends: &[RunEnd], regime: Regime) -> ebbing::Result<MeasuredLoad> {
    let (mut runs, mut diverged) = (vec![], vec![]);
    for pair in ends.chunks(2) {
        match pair {
            [RunEnd::Done(alone), RunEnd::Done(both)] => runs.push((both.as_ref(), alone.as_ref())),
            _ => diverged.extend(pair.iter().filter_map(RunEnd::sentence).map(String::from)),
        }
    }
    let mean = MeanInterference::of(&runs)?;
    let reports = runs.iter().flat_map(|(both, alone)| both.reports.iter().chain(&alone.reports)).cloned().collect();
    Ok(MeasuredLoad { alpha, width, mean, runs: ends.len() / 2, reports, diverged, regime })
}
