//! What is left of tasks with a readout each after the last one, in a few numbers.

use super::{MultiHeadSettings, SeveralOutputs};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::stats::number::within;
use crate::tasks::Task;
use crate::theory::single_head::Outcome;

/// Draws per example where an accuracy has no closed form: its error over a test set of a few hundred is below 0.2 %.
const DRAWS: usize = 400;

/// What is left of all tasks after the last: losses and accuracies of networks, not of their mean.
pub(in crate::theory) fn outcome_of_readouts(
    tasks: &[Task],
    settings: &MultiHeadSettings,
    context: &Context,
) -> Result<Outcome> {
    let theory = SeveralOutputs::new(tasks, settings, context)?;
    let tasks = theory.learned_tasks();
    let last = tasks.len();
    let forgetting = (1..last).map(|s| theory.forgetting(last, s)).sum::<Result<f64>>()? / (last - 1) as f64;
    let held_out = tasks.iter().all(|task| task.test.is_some());
    let right = |head: usize, time: usize| -> Result<Option<f64>> {
        let task = &tasks[head - 1];
        let (x, y) = match &task.test {
            Some(test) if held_out => (test.x.as_ref(), test.y.as_ref()),
            _ => (task.x.as_ref(), task.y.as_ref()),
        };
        match theory.predict(head, time, x)?.accuracy(y, DRAWS, head as u64) {
            Ok(found) => Ok(Some(found.value)),
            // Targets that are no classes have none.
            Err(Error::Data { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let mean = |all: Vec<Option<f64>>| -> Option<f64> {
        let all: Option<Vec<f64>> = all.into_iter().collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    let finally = (1..=last).map(|s| right(s, last)).collect::<Result<Vec<_>>>()?;
    let learned = (1..last).map(|s| right(s, s)).collect::<Result<Vec<_>>>()?;
    let (before, after) = (mean(learned), mean(finally[..last - 1].to_vec()));
    Ok(Outcome {
        // Losses and differences of accuracies are of order 1: what is below rounding is 0.
        forgetting: within(forgetting, 1e-12),
        accuracy: mean(finally),
        backward_transfer: before.zip(after).map(|(before, after)| within(after - before, 1e-12)),
        learned: tasks.iter().map(|task| task.x.nrows()).sum(),
    })
}
