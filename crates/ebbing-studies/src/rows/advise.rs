//! Advice as rows.

use crate::cell::Row;
use crate::error::Result;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::request::AdviseRequest;
use ebbing::theory::advise::{Method, Remedy, ReplayPoint};

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("kind", "what is done; methods by accuracy are called method"),
    ("remedy", "the same with its settings, in words"),
    ("forgetting", "mean training loss of earlier tasks after the last"),
    ("gain", "forgetting spared against doing nothing"),
    ("accuracy", "average over all tasks after the last, on test data where every task has some"),
    ("backward_transfer", "what earlier tasks gain in accuracy, or (below 0) forget"),
    ("cost", "work of training relative to doing nothing"),
    ("task_known", "1 where the task must be known at test time"),
    ("applies", "1 where the remedy applies"),
    ("examples", "examples kept (rows of the sweep of replay)"),
    ("lost", "mean loss of accuracy over all tasks but the last (methods)"),
    ("accuracy_gain", "final accuracy gained over fine-tuning (methods)"),
    ("sure", "1 where that is more than such forecasts are off by (methods)"),
    ("bytes", "what is kept between tasks (methods)"),
];

/// One row per method, one per remedy of the theory, then one per number of examples kept.
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
    let method = |m: &Method| {
        let row = Row::new()
            .with("kind", "method")
            .with("remedy", m.method.as_str())
            .with("accuracy", m.accuracy)
            .with("task_known", usize::from(m.task_known))
            .with("applies", 1usize)
            .with("accuracy_gain", m.accuracy_gain)
            .with("sure", usize::from(m.sure))
            .with("bytes", m.bytes as f64);
        m.lost.map_or(row.clone(), |lost| row.with("lost", lost))
    };
    let methods = advice.methods.iter().flat_map(|methods| methods.rows.iter().map(method));
    let kept = |p: &ReplayPoint| {
        let row = Row::new().with("kind", "replay-sweep").with("remedy", format!("replay of {}", p.examples));
        row.with("examples", p.examples).with("forgetting", p.forgetting).with("cost", p.cost)
    };
    Ok(methods.chain(advice.remedies.iter().map(remedy)).chain(advice.replay.iter().map(kept)).collect())
}
