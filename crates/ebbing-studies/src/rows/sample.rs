//! Sampled networks as rows, one per pair of tasks.

use crate::cell::Row;
use crate::error::Result;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::nets::SampledPosterior;
use ebbing::request::SampleRequest;
use ebbing::sample_posterior;
use ebbing::stats::Estimate;

pub(super) fn rows(request: &SampleRequest, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
    let tasks = request.drawn(sources, context)?.tasks;
    Ok(of(&sample_posterior(&tasks, &request.settings()?, context)?))
}

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
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

fn of(sampled: &SampledPosterior) -> Vec<Row> {
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
