//! What is left of tasks with a readout each after the last one, in a few numbers.

use super::{MultiHead, MultiHeadSettings};
use crate::context::Context;
use crate::error::Result;
use crate::linalg::column;
use crate::metrics::accuracy;
use crate::tasks::{Task, own_readouts};
use crate::theory::single_head::Outcome;

/// What is left of all tasks after the last: losses and accuracies of networks, not of their mean.
pub(in crate::theory) fn outcome_of_readouts(
    tasks: &[Task],
    settings: &MultiHeadSettings,
    context: &Context,
) -> Result<Outcome> {
    let tasks = &own_readouts(tasks)[..];
    let theory = MultiHead::new(tasks, settings, context)?;
    let last = tasks.len();
    let forgetting = (1..last).map(|s| theory.forgetting(last, s)).sum::<Result<f64>>()? / (last - 1) as f64;
    let held_out = tasks.iter().all(|task| task.test.is_some());
    let right = |head: usize, time: usize| -> Result<Option<f64>> {
        let task = &tasks[head - 1];
        let (x, y) = match &task.test {
            Some(test) if held_out => (test.x.as_ref(), test.y.as_ref()),
            _ => (task.x.as_ref(), task.y.as_ref()),
        };
        let found = theory.predict(head, time, x)?;
        // Rounding may leave the variance of an interpolated point below 0.
        let variance: Vec<f64> = found.variance.iter().map(|v| v.max(0.0)).collect();
        Ok(accuracy(column(&found.mean), y, Some(&variance)).ok())
    };
    let mean = |all: Vec<Option<f64>>| -> Option<f64> {
        let all: Option<Vec<f64>> = all.into_iter().collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    let finally = (1..=last).map(|s| right(s, last)).collect::<Result<Vec<_>>>()?;
    let learned = (1..last).map(|s| right(s, s)).collect::<Result<Vec<_>>>()?;
    let (before, after) = (mean(learned), mean(finally[..last - 1].to_vec()));
    Ok(Outcome {
        forgetting,
        accuracy: mean(finally),
        backward_transfer: before.zip(after).map(|(before, after)| after - before),
        learned: tasks.iter().map(|task| task.x.nrows()).sum(),
    })
}
