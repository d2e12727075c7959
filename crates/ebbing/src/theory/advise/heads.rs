//! A readout per task at the user's own width, by the multi-head theory.

use super::remedies::{LAMBDAS, Trial};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::stats::number::chosen;
use crate::tasks::TaskSequence;
use crate::theory::multi_head::{MultiHeadSettings, outcome_of_readouts};
use crate::theory::single_head::SingleHeadSettings;

/// The best of several penalties (the usual ones where none are given), at width N, with readouts as long as they come and of the norm of random ones at most.
///
/// # Errors
/// Where the multi-head theory does not apply: several layers, biases.
pub(super) fn at_width(
    draws: &[TaskSequence],
    theory: &SingleHeadSettings,
    width: f64,
    lambdas: &[f64],
    context: &Context,
) -> Result<Vec<Trial>> {
    if theory.bias2 != 0.0 {
        let reason = "the theory of a readout per task is for networks without biases";
        return Err(Error::outside("readouts with biases", reason));
    }
    let best = |norm| best_penalty(draws, theory, width, (lambdas, norm), context);
    [None, Some(theory.sigma2)].into_iter().map(best).collect()
}

fn best_penalty(
    draws: &[TaskSequence],
    theory: &SingleHeadSettings,
    width: f64,
    (lambdas, readout_norm): (&[f64], Option<f64>),
    context: &Context,
) -> Result<Trial> {
    let usual = LAMBDAS.map(|lambda| lambda / theory.sigma2);
    let mut best: Option<(f64, Trial)> = None;
    let mut why: Option<Error> = None;
    for &lambda in if lambdas.is_empty() { &usual[..] } else { lambdas } {
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
        let outcomes =
            draws.iter().map(|draw| outcome_of_readouts(&draw.tasks, &settings, context)).collect::<Result<Vec<_>>>();
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(error @ (Error::OutsideTheory { .. } | Error::Stopped)) => return Err(error),
            Err(error) => {
                why.get_or_insert(error);
                continue;
            }
        };
        // What counts is what is known in the end; without test data, what is forgotten.
        let value = outcomes.iter().map(|o| o.accuracy.map_or(o.forgetting, |a| 1.0 - a)).sum::<f64>();
        if best.as_ref().is_none_or(|(least, _)| value < *least) {
            let bounded = readout_norm.map_or(String::new(), |norm| format!(", |a|²/N ≤ {norm}"));
            let name = format!("readouts, N = {width}, λ = {}{bounded}", chosen(lambda));
            best = Some((value, Trial { name, needs: "the task at test time", cost: 1.0, outcomes }));
        }
    }
    match (best, why) {
        (Some((_, trial)), _) => Ok(trial),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::data("the task sequence", "there is no penalty to try")),
    }
}
