//! Sampled networks as a cell of a study: one row per pair of tasks.

use super::Args;
use crate::commands::study::InCells;
use ebbing::nets::SampledPosterior;
use ebbing::plan::Cost;
use ebbing::sample_posterior;
use ebbing::stats::Estimate;
use ebbing_studies::{Result, Row, Sources};

/// What the columns mean.
pub const COLUMNS: &[(&str, &str)] = &[
    ("t", "a task, from 1"),
    ("s", "a task up to t, from 1"),
    ("u1", "overlap of the readouts of tasks t and s over the width"),
    ("u1_se", "its standard error over chains"),
    ("train_loss", "training loss of task s after the last task (rows with t the last)"),
    ("train_loss_se", "its standard error over chains"),
    ("test_loss", "test loss of task s after the last task (rows with t the last)"),
    ("test_loss_se", "its standard error over chains"),
    ("label_kernel", "kernel of task s along its labels after the last task (rows with t the last)"),
    ("label_kernel_se", "its standard error over chains"),
    ("r_hat", "convergence of the chains in task t; 1 is converged"),
    ("acceptance", "acceptance rate in task t"),
];

impl InCells for Args {
    fn check(&mut self) -> ebbing::Result<()> {
        self.fill_defaults();
        self.sequence.check()
    }

    fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let tasks = self.sequence.origin_from(sources)?.sequence(self.sequence.seed)?.tasks;
        Ok(rows(&sample_posterior(&tasks, &self.settings(), |_| ())?))
    }

    fn cost(&self) -> ebbing::Result<Cost> {
        let sizes = self.sequence.sizes()?;
        let settings = self.settings();
        let (width, total) = (self.width as f64, sizes.train.iter().sum::<usize>() as f64);
        // Inputs are taken within their own span; a step has a forward and a backward pass and a solve with the kernel.
        let dim = (sizes.dim as f64).min(total);
        let weights = width * (dim + (self.depth as f64 - 1.0) * width);
        let step = |p: &usize| 6.0 * *p as f64 * weights + 4.0 * (*p as f64).powi(2) * width + (*p as f64).powi(3);
        let moves = (self.warmup + self.draws) as f64 * 0.5 * settings.leapfrog as f64;
        let flops = self.chains as f64 * moves * sizes.train.iter().map(step).sum::<f64>();
        Ok(Cost { flops, bytes: 8.0 * (total * (sizes.dim as f64 + 6.0 * width) + 8.0 * weights) })
    }
}

fn rows(sampled: &SampledPosterior) -> Vec<Row> {
    let last = sampled.u1.len();
    let estimate = |row: Row, name: &str, e: Estimate| row.with(name, e.value).with(&format!("{name}_se"), e.error());
    let mut all = Vec::new();
    for (t, overlaps) in sampled.u1.iter().enumerate() {
        for (s, &u1) in overlaps.iter().enumerate() {
            let mut row = estimate(Row::new().with("t", t + 1).with("s", s + 1), "u1", u1);
            if t + 1 == last {
                row = estimate(row, "train_loss", sampled.forgetting[s]);
                row = sampled.test_loss[s].map_or(row.clone(), |loss| estimate(row, "test_loss", loss));
                row = estimate(row, "label_kernel", sampled.label_kernel[s]);
            }
            all.push(row.with("r_hat", sampled.convergence[t].r_hat).with("acceptance", sampled.acceptance[t]));
        }
    }
    all
}
