//! What every answer looks like: one module per question.

mod advise;
mod charts;
pub mod check;
pub mod closed_heads;
pub mod directions;
pub mod examples;
mod forecast;
pub mod phase;
mod sample;
mod train;

use crate::error::Result;
use crate::shown::{Show, Shown};
use crate::text::escape_markup;
use ebbing::TaskSequence;
use ebbing::request::{Answer, PhaseAnswer, TrainAnswer};
use ebbing::tasks::prepared_words;

impl Show for Answer {
    fn shown(&self) -> Result<Shown> {
        own(self).shown()
    }

    fn json(&self) -> serde_json::Value {
        own(self).json()
    }
}

/// The answer to what was asked.
fn own(answer: &Answer) -> &dyn Show {
    match answer {
        Answer::Forecast(forecast) => &**forecast,
        Answer::Advise(advice) => &**advice,
        Answer::Sample(sampled) => &**sampled,
        Answer::Phase(PhaseAnswer::Swept(swept)) => &**swept,
        Answer::Phase(PhaseAnswer::Pairs(pairs)) => &**pairs,
        Answer::Phase(PhaseAnswer::Sequence(curves)) => &**curves,
        Answer::Phase(PhaseAnswer::Place(place)) => &**place,
        Answer::Phase(PhaseAnswer::Outputs(outputs)) => &**outputs,
        Answer::Train(TrainAnswer::Tasks(trained)) => &**trained,
        Answer::Train(TrainAnswer::Loads(loads)) => &**loads,
    }
}

/// What was done to inputs and targets, for the first line (markup): with a readout each, the classes of every task stand apart.
fn prepared(sequence: &TaskSequence, readout_each: bool) -> String {
    in_brackets(&prepared_words(&sequence.settings, &sequence.tasks, readout_each))
}

/// Plain words as the end of a line (markup).
fn in_brackets(words: &str) -> String {
    format!(" ({})", escape_markup(words))
}

/// What bars are, where there are several seeds; a sentence that follows others.
fn bars(seeds: usize) -> String {
    if seeds > 1 { format!(" Bars: standard errors over {seeds} seeds.") } else { String::new() }
}

/// Names of tasks (markup), where every one has one of its own.
fn names_of(tasks: &[String]) -> Option<Vec<String>> {
    let numbered = (1..).zip(tasks).all(|(t, name)| name.is_empty() || *name == format!("task {t}"));
    let different = tasks.iter().collect::<std::collections::BTreeSet<_>>().len() == tasks.len();
    (!numbered && different).then(|| tasks.iter().map(|name| escape_markup(name)).collect())
}
