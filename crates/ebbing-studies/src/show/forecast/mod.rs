//! A forecast as figures, tables and a report.

mod figures;
pub mod tables;

use super::{Shown, bibtex};
use ebbing::request::ForecastAnswer;
use ebbing::theory::forecast::{Averaged, assumes};
use ebbing_show::{Matrix, Metadata, Report, Result, Spread, escape_markup, typeset};

/// Everything the forecast tells.
///
/// # Errors
/// Where a table is not sound.
pub fn shown(told: &ForecastAnswer, metadata: &Metadata) -> Result<Shown> {
    let forecast = &told.forecast;
    let sentences: Vec<String> = told.forecast.sentences().iter().map(|s| typeset(s)).collect();
    let title = match told.settings.features {
        true => "What a readout of these features will forget",
        false => "What the network will forget",
    };
    let mut report =
        Report::telling(title, &sentences).about(&typeset(&told.heading)).note(assumes(told.settings.features));
    let figures: Vec<_> = figures::all(told).into_iter().map(|(name, f)| (name, f.metadata(metadata))).collect();
    for (_, figure) in &figures {
        report = report.figure(figure);
    }
    let mut tables = Vec::new();
    let mut matrices = vec![("forgetting", matrix("forgetting", &forecast.forgetting))];
    if let Some(test) = &forecast.test {
        matrices.push(("test_loss", matrix("test loss", &test.loss)));
        let of = if test.task_accuracy.is_some() {
            "test accuracy among all classes (class-incremental)"
        } else {
            "test accuracy"
        };
        matrices.extend(test.accuracy.as_ref().map(|accuracy| ("test_accuracy", matrix(of, accuracy))));
        let own = "test accuracy among the task's own classes (task-incremental)";
        matrices.extend(test.task_accuracy.as_ref().map(|accuracy| ("test_task_accuracy", matrix(own, accuracy))));
    } else if let Some(accuracy) = &forecast.train_accuracy {
        matrices.push(("train_accuracy", matrix("training accuracy (there are no test data)", accuracy)));
    }
    for (name, matrix) in &matrices {
        tables.push((name.to_string(), matrix.to_table()?));
        report = report.matrix(matrix);
    }
    if !forecast.pairs.is_empty() {
        tables.push(("order_parameters".into(), tables::all_pairs(forecast)));
        report = report.table(&tables::values(forecast));
        if let Some(intervals) = tables::intervals(forecast, &tables::chosen(forecast).0) {
            report = report.table(&intervals);
        }
    }
    if !forecast.depths.is_empty() {
        tables.push(("depths".into(), tables::depths(forecast)));
        report = report.table(&tables::depths(forecast));
    }
    for (name, sweep) in tables::sweeps(forecast) {
        report = report.table(&sweep);
        tables.push((name.into(), sweep));
    }
    for (k, (name, layer)) in told.layers.iter().enumerate() {
        let pairs = tables::all_pairs(layer);
        report = report.note(&escape_markup(&format!("Order parameters of {name}:"))).table(&pairs);
        tables.push((format!("layer_{}_order_parameters", k + 1), pairs));
    }
    Ok(Shown { figures, tables, report: report.metadata(metadata).bibtex(&bibtex()) })
}

/// A task matrix; before a task is learned there is nothing to forget.
pub fn matrix(name: &str, values: &Averaged) -> Matrix {
    let matrix = Matrix::tasks(name, &values.mean).only(|t, s| s <= t);
    match &values.standard_error {
        Some(errors) => matrix.errors(Spread::StandardError, errors),
        None => matrix,
    }
}
