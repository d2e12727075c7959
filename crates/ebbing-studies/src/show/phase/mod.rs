//! Two tasks in the phase diagram as a figure, a table and a report.

mod figures;

pub use figures::{curve_panels, curve_table, diagram};

use super::{Shown, bibtex};
use crate::job::{PhasePlace, SweptCurves};
use ebbing::theory::best_lambda::BestLambda;
use ebbing::theory::phase::{Location, WidthPoint};
use ebbing_report::{Figure, Line, Metadata, Panel, Report, Table, significant};

/// Two tasks in words: the line that opens, and sentences.
pub fn told(place: &PhasePlace, sigma: f64) -> (String, Vec<String>) {
    let sizes: Vec<String> = place.sizes.iter().map(usize::to_string).collect();
    let (examples, done) = (sizes.join(" and "), done(&place.settings));
    let heading = format!("Two tasks of {examples} examples{done}, σ = {sigma}");
    let mut sentences = vec![answer(place.location.as_ref(), place.best.as_ref(), place.tested)];
    sentences.extend(place.widths.map(|[own, best]| by_the_numbers(own, best)));
    sentences.extend(place.critical.notes.iter().map(|note| sentence(note)));
    (heading, sentences)
}

/// Similarity and critical loads, in one row.
pub fn loads(place: &PhasePlace) -> Table {
    let critical = &place.critical;
    Table::new("Similarity and critical loads")
        .number("γ_{sim}", &[critical.gamma_sim])
        .number("exact α_{c}", &[critical.alpha_c])
        .number("γ_{sim}^{−2}", &[critical.alpha_c_gamma_sim])
        .number("α_{c} with u_{11}", &[critical.alpha_c_u11])
}

/// Everything that is told of two tasks in the diagram.
pub fn shown(place: &PhasePlace, sigma: f64, metadata: &Metadata) -> Shown {
    let (heading, mut sentences) = told(place, sigma);
    sentences.push(DEFINED.into());
    let figure = figure(&place.curves, place.location.as_ref(), place.best.as_ref()).metadata(metadata);
    let report = report((&heading, &sentences), &figure, &[&loads(place)], metadata);
    let curves = curve_table(std::slice::from_ref(&place.curves));
    Shown { figures: vec![("phase", figure)], tables: vec![("phase-curves".into(), curves)], report }
}

/// The one-file report of a diagram.
pub fn report(
    (heading, sentences): (&str, &[String]),
    figure: &Figure,
    tables: &[&Table],
    metadata: &Metadata,
) -> Report {
    let opened = Report::telling("Tasks with a readout each", sentences).note(heading).figure(figure);
    let report = tables.iter().fold(opened, |report, table| report.table(table));
    report.metadata(metadata).bibtex(&bibtex())
}

/// What the losses are.
pub const DEFINED: &str = "F21 is the training loss of task 1 after task 2 (0: remembered, 1: as bad as answering 0); G21 and G22 are \
                       test losses of tasks 1 and 2 after task 2, over those of a network that learned the task alone.";

/// What was done to labels, for the end of the first line.
pub fn done(settings: &serde_json::Value) -> String {
    let words = ebbing::tasks::target_rule(settings).own_words();
    words.map_or(String::new(), |words| format!(" ({})", ebbing_report::escape_markup(&words)))
}

/// A note as a sentence.
pub fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// Where the width lies and what to do.
pub fn answer(location: Option<&Location>, best: Option<&BestLambda>, tested: bool) -> String {
    let Some(location) = location else {
        return "Give --width N to be told in which regime a network of that width is.".into();
    };
    let near = if location.near_critical { " This load is within 0.1 % of the boundary: near critical." } else { "" };
    let mut text = format!("Load {}: {}.{near}", significant(location.alpha), location.advice);
    match best {
        Some(best) => {
            let edge = if best.at_edge { " (an end of the range searched)" } else { "" };
            text += &format!(
                " The penalty that serves both tasks best is λ = {}{edge}: G21 {}, G22 {}, F21 {}.",
                significant(best.best.lambda),
                significant(best.best.g21),
                significant(best.best.g22),
                significant(best.best.f21)
            );
        }
        None if !tested => text += " With test sets in the file, the best penalty is searched too.",
        None => {}
    }
    text
}

/// The best width by what was computed, beside the one asked about.
pub fn by_the_numbers(own: WidthPoint, best: WidthPoint) -> String {
    let losses = |point: &WidthPoint| format!("G21 {}, G22 {}", significant(point.g21), significant(point.g22));
    if best.width == own.width {
        return format!("As lambda grows no width computed does better than N = {}: {}.", own.width, losses(&own));
    }
    format!(
        "As lambda grows N = {} has {}; the best of the widths computed is N = {:.0} with {}.",
        own.width,
        losses(&own),
        best.width,
        losses(&best)
    )
}

/// Curves against the load, and the search for λ where there was one.
pub fn figure(curves: &SweptCurves, location: Option<&Location>, best: Option<&BestLambda>) -> Figure {
    let own = |panel: Panel| match location {
        Some(location) => panel.vertical(&format!("N = {}", location.width), location.alpha),
        None => panel,
    };
    let panels = curve_panels("", std::slice::from_ref(curves));
    let mut panels: Vec<Panel> = panels.into_iter().map(own).collect();
    if let Some(best) = best {
        let x: Vec<f64> = best.curve.iter().map(|p| p.lambda).collect();
        let g21: Vec<f64> = best.curve.iter().map(|p| p.g21).collect();
        let g22: Vec<f64> = best.curve.iter().map(|p| p.g22).collect();
        panels.push(
            Panel::new()
                .x("penalty λ")
                .y("normalised test loss")
                .log_x()
                .log_y()
                .line(Line::new("G_{21}", &x, &g21).category(0))
                .line(Line::new("G_{22}", &x, &g22).category(1))
                .vertical("best λ", best.best.lambda),
        );
    }
    Figure::grid(panels, 2).title("Two tasks with a readout each").caption(
        "Forgetting of task 1, test loss of task 2 over learning it alone, and the norm of its readout against the load; where a \
         curve is interrupted the quantity grows as λ^{1/2} without bound. Where a width was given, test losses of both tasks \
         against the penalty at that width, with the penalty that minimises the larger one.",
    )
}
