//! The forecast of sets whose kernels do not fit into memory.

use super::bench::closest;
use super::{Beside, Computed, Engine, Forecast, ForecastSettings, Told};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::plan::{in_tiles, whole_cost};
use crate::tasks::TaskSequence;
use crate::theory::single_head::Mode;
use crate::theory::whole::{self, Cut, Quality};

/// Whether kernels of these sequences do not fit into memory, and can be done without: those of a network.
pub(super) fn needed(sequences: &[TaskSequence], settings: &ForecastSettings, context: &Context) -> bool {
    !settings.features && sequences.iter().any(|sequence| in_tiles(&sequence.sizes(), context.plan()))
}

/// Refuses what needs whole kernels.
fn check(settings: &ForecastSettings) -> Result<()> {
    let refused = |name: &str, value: &dyn std::fmt::Display, none: &str| {
        let expected = format!(
            "must be {none}: the kernels of these tasks do not fit into memory, and this needs them; take fewer examples"
        );
        Err(Error::setting(name, value, expected))
    };
    let theory = &settings.theory;
    match settings {
        _ if theory.variance => refused("variance", &true, "false"),
        _ if theory.replay.is_on() => refused("replay", &theory.replay, "none"),
        s if s.resamples > 0 => refused("resamples", &s.resamples, "0"),
        s if s.shuffles > 0 => refused("shuffles", &s.shuffles, "0"),
        s if s.sweeps() > 0 => refused("depths, lambdas or widths", &format!("a list of {}", s.sweeps()), "none"),
        _ => Ok(()),
    }
}

/// Forecasts every sequence and averages.
pub(super) fn forecast(sequences: &[TaskSequence], settings: &ForecastSettings, context: &Context) -> Result<Forecast> {
    check(settings)?;
    let theory = &settings.theory;
    let (mut forecasts, mut pairs, mut trained) = (vec![], vec![], vec![]);
    let mut quality = Quality::default();
    let mut untold = vec![];
    for (k, sequence) in sequences.iter().enumerate() {
        let kernels = whole::kernels(theory);
        context.plan().check("this forecast", &sequence.sizes(), |sizes| whole_cost(sizes, kernels))?;
        let cut = Cut::of(sequence, theory, context);
        let found = whole::forecast(sequence, theory, &cut, &context.part(k, sequences.len()))?;
        let tested = found.forecast.test.as_ref().is_some_and(|test| test.accuracy.is_some());
        let trained_as = closest(sequence, settings).filter(|_| tested);
        let same = trained_as.is_some_and(|other| other.same_kernels(theory) && other.beta == theory.beta);
        trained.push(same.then_some(found.outcome));
        if trained_as.is_some() && !same {
            untold.push("what networks that people train lose");
        }
        if theory.mode != Mode::Rf && sequence.tasks.len() > 1 {
            untold.push("F_pair in this mode");
        }
        quality = quality.worse(found.quality);
        forecasts.push(found.forecast);
        pairs.push(found.pairs);
    }
    if settings.order && sequences[0].tasks.len() > 1 {
        untold.push("the best order of tasks");
    }
    untold.sort_unstable();
    untold.dedup();
    let mut told = Told::of(&sequences[0]);
    told.notes.extend(quality.notes());
    if !untold.is_empty() {
        told.notes.push(format!("not told, since it needs kernels in memory: {}", untold.join(", ")));
    }
    let computed = Computed::of(Engine::Tiles, &sequences[0].sizes(), settings, context);
    told.forecast(settings, (&forecasts, &trained), pairs, Beside::default(), computed)
}
