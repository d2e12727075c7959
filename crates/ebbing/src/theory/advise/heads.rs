//! A readout per task at the user's own width, by the multi-head theory.

use super::remedies::{LAMBDAS, Trial};
use crate::error::{Error, Result};
use crate::linalg::column;
use crate::metrics::accuracy;
use crate::tasks::{Task, TaskSequence, own_readouts};
use crate::theory::multi_head::{MultiHead, MultiHeadSettings};
use crate::theory::single_head::{Outcome, SingleHeadSettings};

/// The best of several penalties, at width N, with readouts as long as they come and of the norm of random ones at most.
///
/// # Errors
/// Where the multi-head theory does not apply: several layers, more than two classes.
pub(super) fn at_width(draws: &[TaskSequence], theory: &SingleHeadSettings, width: f64) -> Result<Vec<Trial>> {
    [None, Some(theory.sigma2)].into_iter().map(|norm| best_penalty(draws, theory, width, norm)).collect()
}

fn best_penalty(
    draws: &[TaskSequence],
    theory: &SingleHeadSettings,
    width: f64,
    readout_norm: Option<f64>,
) -> Result<Trial> {
    let mut best: Option<(f64, Trial)> = None;
    let mut why: Option<Error> = None;
    for lambda in LAMBDAS.map(|lambda| lambda / theory.sigma2) {
        let settings = MultiHeadSettings {
            lambda,
            sigma2: theory.sigma2,
            beta: theory.beta,
            readout_norm,
            width: Some(width),
            activation: theory.architecture.activation,
            depth: theory.architecture.depth,
            ..MultiHeadSettings::default()
        };
        let outcomes = draws.iter().map(|draw| outcome(&draw.tasks, &settings)).collect::<Result<Vec<_>>>();
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(error @ Error::OutsideTheory { .. }) => return Err(error),
            Err(error) => {
                why.get_or_insert(error);
                continue;
            }
        };
        // What counts is what is known in the end; without test data, what is forgotten.
        let value = outcomes.iter().map(|o| o.accuracy.map_or(o.forgetting, |a| 1.0 - a)).sum::<f64>();
        if best.as_ref().is_none_or(|(least, _)| value < *least) {
            let bounded = readout_norm.map_or(String::new(), |norm| format!(", |a|²/N ≤ {norm}"));
            let name = format!("readouts, N = {width}, λ = {lambda}{bounded}");
            best = Some((value, Trial { name, needs: "the task at test time", cost: 1.0, outcomes }));
        }
    }
    match (best, why) {
        (Some((_, trial)), _) => Ok(trial),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::data("the task sequence", "there is no penalty to try")),
    }
}

/// What is left of all tasks after the last: losses and accuracies of networks, not of their mean.
fn outcome(tasks: &[Task], settings: &MultiHeadSettings) -> Result<Outcome> {
    let tasks = &own_readouts(tasks)[..];
    let theory = MultiHead::new(tasks, settings)?;
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
