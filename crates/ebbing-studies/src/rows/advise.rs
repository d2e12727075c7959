//! Advice as rows.

use crate::cell::Row;
use crate::error::Result;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::request::AdviseRequest;
use ebbing::theory::advise::{Remedy, ReplayPoint};

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("kind", "what is done"),
    ("remedy", "the same at its best setting, in words"),
    ("forgetting", "mean training loss of earlier tasks after the last"),
    ("gain", "forgetting spared against doing nothing"),
    ("accuracy", "average over all tasks after the last, on test data where every task has some"),
    ("backward_transfer", "what earlier tasks gain in accuracy, or (below 0) forget"),
    ("cost", "work of training relative to doing nothing"),
    ("task_known", "1 where the task must be known at test time"),
    ("applies", "1 where the remedy applies"),
    ("examples", "examples kept (rows of the sweep of replay)"),
];

/// One row per remedy, then one per number of examples kept.
pub(super) fn rows(request: &AdviseRequest, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
    let advice = AdviseRequest { seeds: 1, ..request.clone() }.run(sources, context)?.advice;
    let remedy = |r: &Remedy| {
        let kind = serde_json::to_value(r.kind).ok().and_then(|kind| kind.as_str().map(String::from));
        let row = Row::new()
            .with("kind", kind.unwrap_or_default())
            .with("remedy", r.remedy.as_str())
            .with("task_known", usize::from(r.task_known))
            .with("applies", usize::from(r.applies));
        let numbers = [
            ("forgetting", r.forgetting),
            ("gain", r.gain),
            ("accuracy", r.accuracy),
            ("backward_transfer", r.backward_transfer),
            ("cost", r.cost),
        ];
        numbers.into_iter().fold(row, |row, (name, value)| match value {
            Some(value) => row.with(name, value),
            None => row,
        })
    };
    let kept = |p: &ReplayPoint| {
        let row = Row::new().with("kind", "replay-sweep").with("remedy", format!("replay of {}", p.examples));
        row.with("examples", p.examples).with("forgetting", p.forgetting).with("cost", p.cost)
    };
    Ok(advice.remedies.iter().map(remedy).chain(advice.replay.iter().map(kept)).collect())
}
