//! The files of a forecast: report.html, forecast.json, tables as CSV and Parquet, figures as SVG and PNG.

use crate::output::{Output, write_json};
use ebbing::theory::forecast::assumes;
use ebbing_show::Metadata;
use ebbing::request::ForecastAnswer;
use ebbing_studies::show::forecast::shown;
use serde_json::{Value, json};

/// Everything the forecast tells, as JSON.
///
/// # Errors
/// Where settings cannot be written as JSON.
pub fn json(told: &ForecastAnswer, output: &Output) -> anyhow::Result<Value> {
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

fn metadata(told: &ForecastAnswer, output: &Output) -> anyhow::Result<Metadata> {
    output.metadata("forecast", Some(told.seed), &told.first.settings, &told.settings)
}

/// Writes all files into the folder, if there is one.
///
/// # Errors
/// Where a file cannot be written.
pub fn write(told: &ForecastAnswer, output: &Output) -> anyhow::Result<()> {
    output.save("forecast", |folder| {
        let metadata = metadata(told, output)?;
        let shown = shown(told, &metadata)?;
        write_json(&folder.join("forecast.json"), &json(told, output)?)?;
        Ok(shown.save(folder, &metadata)?)
    })
}
