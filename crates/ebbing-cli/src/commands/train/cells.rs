//! What trained networks do on every task after every task, as files hold it: one row per learner and pair of tasks.

use ebbing::nets::Trained;
use ebbing::stats::mean_with_error;
use ebbing_show::{Spread, Table, escape_markup};

/// A quantity of a run, after task t on task s.
type Quantity = (&'static str, &'static str, fn(&Trained, usize, usize) -> Option<f64>);

const QUANTITIES: [Quantity; 4] = [
    ("train_loss", "training loss of the task over the norm of its targets", |r, t, s| Some(r.train_loss[t][s])),
    ("test_loss", "test loss of the task over the norm of its targets", |r, t, s| r.test_loss[t][s]),
    ("train_accuracy", "share of training examples classified correctly", |r, t, s| r.train_accuracy[t][s]),
    ("test_accuracy", "share of test examples classified correctly", |r, t, s| r.test_accuracy[t][s]),
];

/// Means over the runs of every learner, with standard errors where there are several seeds; runs that diverged are in none.
///
/// # Errors
/// Where a mean cannot be taken.
pub(super) fn table(learners: &[(String, &[Trained])], seeds: usize) -> anyhow::Result<Table> {
    let mut rows: Vec<(&str, &[Trained], usize, usize)> = Vec::new();
    for (name, runs) in learners.iter().filter(|(_, runs)| !runs.is_empty()) {
        // A task is looked at once it was learned.
        let learned = |t: usize| (0..=t).map(move |s| (name.as_str(), *runs, t, s));
        rows.extend((0..runs[0].train_loss.len()).flat_map(learned));
    }
    let number = |get: fn(usize, usize) -> usize| rows.iter().map(|r| get(r.2, r.3) as i64 + 1).collect::<Vec<i64>>();
    let mut table = Table::new("Every task after every task")
        .text("learner", &rows.iter().map(|r| escape_markup(r.0)).collect::<Vec<_>>())
        .integer("t", &number(|t, _| t))
        .meaning("tasks learned")
        .integer("s", &number(|_, s| s))
        .meaning("the task that is looked at, from 1");
    for (name, meaning, get) in QUANTITIES {
        let (mut means, mut errors) = (Vec::new(), Vec::new());
        for (_, runs, t, s) in &rows {
            let values: Option<Vec<f64>> = runs.iter().map(|run| get(run, *t, *s)).collect();
            let mean = values.map(|values| mean_with_error(&values)).transpose()?;
            means.push(mean.map_or(f64::NAN, |m| m.value));
            errors.push(mean.map_or(f64::NAN, |m| m.error()));
        }
        if means.iter().all(|m| m.is_nan()) {
            continue;
        }
        table = match seeds > 1 {
            true => table.estimate(&escape_markup(name), &means, Spread::StandardError, &errors),
            false => table.number(&escape_markup(name), &means),
        };
        table = table.meaning(meaning);
    }
    Ok(table)
}
