//! The files of a forecast: report.html, forecast.json, tables as CSV and Parquet, figures as SVG and PNG.

use super::{figures, tables, words};
use crate::commands::cite::bibtex;
use crate::output::Output;
use ebbing::theory::forecast::assumes;
use ebbing_report::{Metadata, Report, escape_markup, write_table};
use ebbing_studies::job::ForecastResult;
use serde_json::{Value, json};

/// Everything the forecast tells, as JSON.
///
/// # Errors
/// Where settings cannot be written as JSON.
pub fn json(told: &ForecastResult, output: &Output) -> anyhow::Result<Value> {
    let layers: Vec<Value> =
        told.layers.iter().map(|(name, forecast)| json!({ "file": name, "forecast": forecast })).collect();
    Ok(json!({
        "metadata": metadata(told, output)?,
        "forecast": told.forecast,
        "layers": layers,
        "answer": told.forecast.sentences(),
        "assumes": assumes(told.settings.features),
    }))
}

fn metadata(told: &ForecastResult, output: &Output) -> anyhow::Result<Metadata> {
    output.metadata("forecast", Some(told.seed), &told.first.settings, &told.settings)
}

/// Writes all files into the folder.
///
/// # Errors
/// Where a file cannot be written.
pub fn write(told: &ForecastResult, output: &Output) -> anyhow::Result<()> {
    let Some(folder) = &output.out else { return Ok(()) };
    crate::files::make_folder(folder)?;
    let metadata = metadata(told, output)?;
    let forecast = &told.forecast;
    let forgetting = words::matrix("forgetting", &forecast.forgetting);
    let sentences: Vec<String> = told.forecast.sentences().iter().map(|s| escape_markup(s)).collect();
    let mut report = Report::telling("What the network will forget", &sentences)
        .about(&escape_markup(&told.heading))
        .note(assumes(told.settings.features));
    for (name, figure) in figures::all(told) {
        let figure = figure.metadata(&metadata);
        figure.save(folder, name)?;
        report = report.figure(&figure);
    }
    report = report.matrix(&forgetting);
    write_table(folder, "forgetting", &forgetting.to_table()?, &metadata)?;
    if let Some(test) = &forecast.test {
        let loss = words::matrix("test loss", &test.loss);
        write_table(folder, "test_loss", &loss.to_table()?, &metadata)?;
        report = report.matrix(&loss);
        if let Some(accuracy) = &test.accuracy {
            let accuracy = words::matrix("test accuracy", accuracy);
            write_table(folder, "test_accuracy", &accuracy.to_table()?, &metadata)?;
            report = report.matrix(&accuracy);
        }
    }
    if !forecast.pairs.is_empty() {
        let pairs = tables::all_pairs(forecast);
        write_table(folder, "order_parameters", &pairs, &metadata)?;
        report = report.table(&tables::values(forecast));
        if let Some(intervals) = tables::intervals(forecast, &tables::chosen(forecast).0) {
            report = report.table(&intervals);
        }
    }
    if !forecast.depths.is_empty() {
        let depths = tables::depths(forecast);
        write_table(folder, "depths", &depths, &metadata)?;
        report = report.table(&depths);
    }
    for (name, sweep) in tables::sweeps(forecast) {
        write_table(folder, name, &sweep, &metadata)?;
        report = report.table(&sweep);
    }
    for (k, (name, layer)) in told.layers.iter().enumerate() {
        let pairs = tables::all_pairs(layer);
        write_table(folder, &format!("layer_{}_order_parameters", k + 1), &pairs, &metadata)?;
        report = report.note(&escape_markup(&format!("Order parameters of {name}:"))).table(&pairs);
    }
    output.write_json("forecast.json", &json(told, output)?)?;
    report.metadata(&metadata).bibtex(&bibtex()).save(&folder.join("report.html"))?;
    Ok(())
}
