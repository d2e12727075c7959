//! The forecast in the terminal.

use crate::output::Output;
use ebbing::theory::forecast::assumes;
use ebbing_show::{Screen, escape_markup, typeset};
use ebbing::request::ForecastAnswer;
use ebbing_studies::show::forecast::{matrix, tables};

/// Everything the forecast tells, on one page, and `advice` where there is some.
///
/// # Errors
/// Where a table is not sound.
pub fn page(told: &ForecastAnswer, advice: Option<&str>, output: &Output) -> ebbing_show::Result<String> {
    let forecast = &told.forecast;
    let mut screen = Screen::new(&typeset(&told.heading));
    if !forecast.pairs.is_empty() {
        screen = screen.table(&tables::shown_pairs(forecast, "Order parameters"))?;
        if let Some(intervals) = tables::intervals(forecast, &tables::chosen(forecast).0) {
            screen = screen.table(&intervals)?;
        }
    }
    for (name, layer) in &told.layers {
        screen = screen.table(&tables::shown_pairs(layer, &format!("Order parameters of {}", escape_markup(name))))?;
    }
    let title = "Forecast forgetting F, loss on training data (0: remembered, 1: as bad as answering 0)";
    screen = screen.matrix(&matrix(title, &forecast.forgetting))?;
    if let Some(accuracies) = tables::accuracies(forecast) {
        screen = screen.table(&accuracies)?;
    }
    if !forecast.depths.is_empty() {
        screen = screen.table(&tables::depths(forecast))?;
    }
    for (_, sweep) in tables::sweeps(forecast) {
        screen = screen.table(&sweep)?;
    }
    for sentence in forecast.sentences().iter().map(String::as_str).chain(advice) {
        screen = screen.paragraph(&typeset(sentence));
    }
    screen = screen.paragraph(assumes(told.settings.features));
    screen = match &output.out {
        Some(folder) => screen.next("report", &folder.join("report.html").display().to_string()),
        None => screen
            .next("report with figures", "ebbing forecast --out DIR")
            .next("more", "ebbing forecast --help, ebbing phase, ebbing train"),
    };
    Ok(screen.render_for_stdout())
}
