//! A forecast as rows, one per pair of a time and a task.

use crate::cell::Row;
use crate::error::Result;
use ebbing::Context;
use ebbing::Forecast;
use ebbing::data::Sources;
use ebbing::request::ForecastRequest;
use ebbing::theory::forecast::PairForecast;
use ebbing::theory::order_parameters::OrderParameters;

pub(super) fn rows(request: &ForecastRequest, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
    let one = ForecastRequest { seeds: Some(1), ..request.clone() };
    let answer = one.run(sources, context, &|_, _| ())?;
    let named = |rows: Vec<Row>, layer: &str| rows.into_iter().map(|row| row.with("layer", layer)).collect::<Vec<_>>();
    Ok(match &request.features[..] {
        [] => of(&answer.forecast),
        [file] => named(of(&answer.forecast), &file.display().to_string()),
        _ => answer.layers.iter().flat_map(|(layer, forecast)| named(of(forecast), layer)).collect(),
    })
}

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("t", "tasks learned"),
    ("s", "the task that is looked at, from 1"),
    ("forgetting", "training loss of task s after task t over the norm of its targets"),
    (
        "trained_accuracy",
        "share of test examples of task s that trained networks can be expected to classify correctly after task t",
    ),
    ("train_accuracy", "share of training examples of task s on the right side after task t"),
    ("test_loss", "test loss of task s after task t over the norm of its targets"),
    ("generalization", "test loss of task s after task t over that of learning it alone"),
    ("test_accuracy", "share of test examples of task s on the right side after task t"),
    ("test_task_accuracy", "the same among the classes of task s alone"),
    ("gamma_feature", "overlap of all features of tasks s and t"),
    ("gamma_feature_error", "its standard error, where it is an estimate: of sets too large for memory"),
    ("gamma_rf", "how much task t drives features that task s uses"),
    ("gamma_rule", "how far the rules of tasks s and t agree on them"),
    ("conflict", "gamma_rf - gamma_rule"),
    ("gamma_sim", "similarity of tasks s and t that have readouts of their own"),
    ("f_pair", "forgetting of task s after task t, these two learned alone, in the mode and at the beta of the row"),
    ("f_max", "fitted plateau of the first task's forgetting"),
    ("tau", "fitted number of tasks over which the first task is forgotten"),
    ("fit_r2", "share of variance that the fit explains"),
    ("digits", "estimated number of correct digits"),
];

fn of(forecast: &Forecast) -> Vec<Row> {
    let count = forecast.tasks.len();
    let mut all = Vec::new();
    for (t, s) in (0..count).flat_map(|t| (0..=t).map(move |s| (t, s))) {
        let mut row = Row::new().with("t", t + 1).with("s", s + 1).with("digits", forecast.digits);
        if let Some(forgetting) = &forecast.forgetting {
            row = row.with("forgetting", forgetting.mean[t][s]);
        }
        if let Some(trained) = &forecast.trained {
            row = row.with("trained_accuracy", trained.accuracy.mean[t][s]);
        }
        if let Some(accuracy) = &forecast.train_accuracy {
            row = row.with("train_accuracy", accuracy.mean[t][s]);
        }
        if let Some(test) = &forecast.test {
            row = row.with("test_loss", test.loss.mean[t][s]).with("generalization", test.generalization.mean[t][s]);
            if let Some(accuracy) = &test.accuracy {
                row = row.with("test_accuracy", accuracy.mean[t][s]);
            }
            if let Some(accuracy) = &test.task_accuracy {
                row = row.with("test_task_accuracy", accuracy.mean[t][s]);
            }
        }
        if let Some(pair) = forecast.pairs.iter().find(|pair| (pair.first, pair.second) == (s + 1, t + 1)) {
            row = with_pair(row, pair);
        }
        if let Some(fit) = &forecast.fit {
            row = row
                .with("f_max", fit.f_max.map_or(f64::NAN, |f| f.value))
                .with("tau", fit.tau.map_or(f64::NAN, |tau| tau.value))
                .with("fit_r2", fit.r2.unwrap_or(f64::NAN));
        }
        all.push(row);
    }
    all
}

/// The order parameters of a pair, with intervals and null where they were asked for.
fn with_pair(row: Row, pair: &PairForecast) -> Row {
    let mut row = with_parameters(row, &pair.values, "");
    if let Some(error) = pair.detail.gamma_feature_error {
        row = row.with("gamma_feature_error", error);
    }
    if let Some(interval) = &pair.detail.interval {
        row = with_parameters(row, &interval.low, "_low");
        row = with_parameters(row, &interval.high, "_high");
    }
    if let Some(null) = &pair.detail.null {
        row = with_parameters(row, &null.mean, "_null_mean");
        row = with_parameters(row, &null.deviation, "_null_sd");
        row = with_parameters(row, &null.p_value, "_p");
    }
    row
}

fn with_parameters(row: Row, p: &OrderParameters, ending: &str) -> Row {
    let all = [
        ("gamma_feature", p.gamma_feature),
        ("gamma_rf", p.gamma_rf),
        ("gamma_rule", p.gamma_rule),
        ("conflict", p.conflict),
        ("gamma_sim", p.gamma_sim),
        ("f_pair", p.f21),
    ];
    all.into_iter().fold(row, |row, (name, value)| row.with(&format!("{name}{ending}"), value))
}
