//! The forecast beside other depths, other penalties λ and, with a readout per task, other widths N.

use super::{Averaged, ForecastSettings, Parts, final_forgetting, fit};
use super::{average, bench};
use crate::error::{Error, Result};
use crate::stats::ForgettingFit;
use crate::tasks::{Task, TaskSequence};
use crate::theory::multi_head::{MultiHeadSettings, outcome_of_readouts};
use crate::theory::order_parameters::OrderParameters;
use crate::theory::single_head::{Mode, Outcome, SingleHead, SingleHeadSettings};
use serde::Serialize;

/// The forecast at one depth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DepthForecast {
    /// Hidden layers.
    pub depth: usize,
    /// Order parameters, averaged over consecutive pairs and seeds.
    pub order_parameters: OrderParameters,
    /// Mean forgetting `F[T][s]` of all tasks but the last, after the last: mean over seeds.
    pub final_forgetting: f64,
    /// Its standard error, with several seeds.
    pub standard_error: Option<f64>,
    /// `F_21`, mean over seeds.
    pub f21: f64,
    /// The fit of the first task's forgetting curve.
    pub fit: Option<ForgettingFit>,
}

/// What is left of all tasks after the last at one penalty, and one width where every task has a readout of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepForecast {
    /// The penalty λ on the change of the weights (with a readout per task: of the hidden ones).
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// The inverse temperature β, the same at every penalty and width: λ = ∞ is the limit at this β.
    #[serde(with = "crate::serde_infinity")]
    pub beta: f64,
    /// Hidden units N; none for one readout of a wide network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// Mean forgetting `F[T][s]` of all tasks but the last, after the last: mean over seeds.
    pub final_forgetting: Option<f64>,
    /// Its standard error, with several seeds.
    pub standard_error: Option<f64>,
    /// Average accuracy over all tasks after the last, on test data where every task has some: mean over seeds.
    pub accuracy: Option<f64>,
    /// Its standard error, with several seeds.
    pub accuracy_error: Option<f64>,
    /// What earlier tasks gain in accuracy or (below 0) forget.
    pub backward_transfer: Option<f64>,
    /// Why there are no numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl SweepForecast {
    /// The mean over seeds, or why there is none.
    ///
    /// # Errors
    /// What concerns the request and not this point of it alone.
    fn of((lambda, beta): (f64, f64), width: Option<f64>, outcomes: Result<Vec<Outcome>>) -> Result<SweepForecast> {
        let (outcomes, why) = match outcomes {
            Ok(outcomes) => (outcomes, None),
            Err(error @ (Error::OutsideTheory { .. } | Error::Data { .. } | Error::Stopped)) => return Err(error),
            Err(error) => (vec![], Some(error.to_string())),
        };
        let mean = |get: fn(&Outcome) -> Option<f64>| {
            let all: Option<Vec<f64>> = outcomes.iter().map(get).collect();
            all.filter(|all| !all.is_empty()).map_or((None, None), |all| {
                let (mean, error) = average::numbers(&all);
                (Some(mean), error)
            })
        };
        let (final_forgetting, standard_error) = mean(|o| Some(o.forgetting));
        let (accuracy, accuracy_error) = mean(|o| o.accuracy);
        let backward_transfer = mean(|o| o.backward_transfer).0;
        Ok(SweepForecast {
            lambda,
            beta,
            width,
            final_forgetting,
            standard_error,
            accuracy,
            accuracy_error,
            backward_transfer,
            why,
        })
    }
}

/// Refuses sweeps that the number of tasks or the settings do not allow.
pub(super) fn check(tasks: usize, settings: &ForecastSettings) -> Result<()> {
    if settings.depths.contains(&0) {
        return Err(Error::setting("depths", 0, "must be at least 1 hidden layer"));
    }
    let out = |name: &str, why: &str| Err(Error::setting(name, "given", format!("must be left out {why}")));
    let (depths, lambdas, widths) =
        (!settings.depths.is_empty(), !settings.lambdas.is_empty(), !settings.widths.is_empty());
    for (name, asked) in [("depths", depths), ("lambdas", lambdas), ("widths", widths)] {
        if asked && settings.features {
            return out(name, "with features: they are the network's last layer, there is no network to change");
        }
        if asked && name != "depths" && tasks < 2 {
            return out(name, "with one task: nothing is forgotten of it");
        }
    }
    if let Some(wrong) = settings.lambdas.iter().find(|l| l.is_nan() || **l < 0.0) {
        return Err(Error::setting("lambdas", wrong, "every penalty must be at least 0 (inf is allowed)"));
    }
    if let Some(wrong) = settings.widths.iter().find(|n| !(n.is_finite() && **n >= 1.0)) {
        return Err(Error::setting("widths", wrong, "every width must be a number of units, at least 1"));
    }
    if widths && settings.theory.replay.is_on() {
        return out("widths", "with replay: a readout per task has no theory of it");
    }
    if widths && settings.theory.bias2 != 0.0 {
        return out("widths", "with biases: a readout per task has no theory of them");
    }
    Ok(())
}

/// One readout for all tasks at every penalty, the temperature held fixed: all weights learn.
pub(super) fn lambdas(
    sequences: &[TaskSequence],
    settings: &ForecastSettings,
    parts: &mut Parts<'_>,
) -> Result<Vec<SweepForecast>> {
    let mut all = Vec::new();
    for &lambda in &settings.lambdas {
        let context = &parts.next(&format!("lambda {lambda}"))?;
        let theory = SingleHeadSettings { mode: Mode::Gibbs, lambda, ..settings.theory };
        let outcomes = sequences.iter().map(|s| SingleHead::new(s, &theory, context)?.outcome()).collect();
        all.push(SweepForecast::of((lambda, theory.beta), None, outcomes)?);
    }
    Ok(all)
}

/// A readout per task at every width, and every penalty where several are asked for.
pub(super) fn widths(
    sequences: &[TaskSequence],
    settings: &ForecastSettings,
    parts: &mut Parts<'_>,
) -> Result<Vec<SweepForecast>> {
    let theory = &settings.theory;
    let own = [theory.lambda];
    let lambdas = if settings.lambdas.is_empty() { &own[..] } else { &settings.lambdas };
    let mut all = Vec::new();
    for &width in &settings.widths {
        let context = &parts.next(&format!("width {width}"))?;
        for &lambda in lambdas {
            let asked = MultiHeadSettings {
                lambda,
                sigma2: theory.sigma2,
                beta: theory.beta,
                width: Some(width),
                activation: theory.architecture.activation,
                depth: theory.architecture.depth,
                ..MultiHeadSettings::default()
            };
            let outcomes = sequences.iter().map(|s| outcome_of_readouts(&s.tasks, &asked, context)).collect();
            all.push(SweepForecast::of((lambda, theory.beta), Some(width), outcomes)?);
        }
    }
    Ok(all)
}

/// Other depths: forgetting and the order parameters of consecutive pairs.
pub(super) fn depths(
    sequences: &[TaskSequence],
    settings: &ForecastSettings,
    parts: &mut Parts<'_>,
) -> Result<Vec<DepthForecast>> {
    let mut all = Vec::new();
    for &depth in &settings.depths {
        let context = &parts.next(&format!("depth {depth}"))?;
        let mut asked = settings.clone();
        asked.theory.architecture.depth = depth;
        let (mut matrices, mut parameters) = (Vec::new(), Vec::new());
        for sequence in sequences {
            matrices.push(SingleHead::new(sequence, &asked.theory, context)?.forgetting()?);
            for tasks in sequence.tasks.windows(2) {
                let tasks = tasks.iter().map(|task| Task { test: None, ..task.clone() }).collect();
                let two = TaskSequence { tasks, settings: Default::default() };
                parameters.push(bench::pairs(&two, &asked, false, context)?.swap_remove(0).values);
            }
        }
        let forgetting = Averaged::of(matrices.iter())?;
        let last: Vec<f64> = matrices.iter().map(|m| final_forgetting(m)).collect();
        let (mean, standard_error) = average::numbers(&last);
        all.push(DepthForecast {
            depth,
            order_parameters: average::order_parameters(&parameters).0,
            final_forgetting: mean,
            standard_error,
            f21: forgetting.mean.get(1).map_or(f64::NAN, |row| row[0]),
            fit: fit(&forgetting)?,
        });
    }
    Ok(all)
}
