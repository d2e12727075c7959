//! Two tasks in the phase diagram as a figure, a table and a report.

mod figures;

pub use figures::{curve_panels, curve_table, diagram};

use super::{Shown, bibtex, in_brackets};
use crate::draw;
use ebbing::request::{PhaseRequest, PhasePlace, Representation, SweptCurves};
use ebbing::theory::best_lambda::BestLambda;
use ebbing::theory::phase::{Location, WidthPoint};
use ebbing_show::{Dash, Figure, Line, Metadata, Panel, Report, Table, json_number, significant, typeset};

/// Two tasks in words (markup): the line that opens, and sentences.
pub fn told(place: &PhasePlace, sigma: f64) -> (String, Vec<String>) {
    let sizes: Vec<String> = place.sizes.iter().map(usize::to_string).collect();
    let heading = format!("Two tasks of {} examples{}, σ = {sigma}", sizes.join(" and "), in_brackets(&place.prepared));
    let mut sentences = answer(place.location.as_ref(), place.best.as_ref(), place.tested);
    sentences.extend(place.widths.map(|[own, best]| by_the_numbers(own, best)));
    sentences.extend(place.critical.notes.iter().map(|note| typeset(&sentence(note))));
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
pub fn shown(place: &PhasePlace, job: &PhaseRequest, metadata: &Metadata) -> Shown {
    let (heading, mut sentences) = told(place, job.sigma);
    let critical = place.critical.alpha_c;
    let marks = Marks { location: place.location.as_ref(), lambda: &job.lambda, critical };
    let figure = figure(&place.curves, &marks, place.best.as_ref()).finding(&sentences[0]).metadata(metadata);
    sentences.push(DEFINED.into());
    let (loads, hidden) = (loads(place), hidden_layer(place, job));
    let in_report: Vec<&Table> = std::iter::once(&loads).chain(&hidden).collect();
    let report = report((&heading, &sentences), &figure, &in_report, metadata);
    let mut tables = vec![("phase-curves".to_string(), curve_table(std::slice::from_ref(&place.curves)))];
    tables.extend(hidden.map(|table| ("phase-representation".to_string(), table)));
    Shown { figures: vec![("phase", figure)], tables, report }
}

/// The one-file report of a diagram; heading and sentences are marked.
pub fn report(
    (heading, sentences): (&str, &[String]),
    figure: &Figure,
    tables: &[&Table],
    metadata: &Metadata,
) -> Report {
    let opened = Report::telling("Tasks with a readout each", sentences).about(heading).figure(figure);
    let report = tables.iter().fold(opened, |report, table| report.table(table));
    report.metadata(metadata).bibtex(&bibtex())
}

/// What the losses are.
pub const DEFINED: &str = "F_{21} is the training loss of task 1 after task 2 (0: remembered, 1: as bad as answering 0); G_{21} and G_{22} are \
     test losses of tasks 1 and 2 after task 2, over those of a network that learned the task alone.";

/// What the losses of longer sequences are.
pub const DEFINED_FOR_MORE: &str = "F_{T1} is the training loss of task 1 after the last (0: remembered, 1: as bad as answering 0); G_{T1} and \
     G_{TT} are test losses of the first and the last task then, over those of a network that learned the task alone.";

/// The settings that files record: those of the theory, and what was asked of it.
///
/// # Errors
/// [`ebbing::Error::Setting`] for a setting out of its range.
pub fn settings(job: &PhaseRequest, prepared: &str) -> ebbing::Result<serde_json::Value> {
    let mut all = serde_json::to_value(job.theory()?).unwrap_or_default();
    let lambdas: Vec<serde_json::Value> = job.lambda.iter().map(|l| json_number(*l)).collect();
    let rest = serde_json::json!({
        "width": job.width, "pair": job.pair, "pairs": job.pairs, "sweep": job.sweep(), "values": job.values, "curves": job.curves,
        "alpha": job.alpha, "lambdas": lambdas, "rescale_labels": job.rescale_labels, "seeds": job.seeds,
        "representation": job.representation, "prepared": prepared,
    });
    if let (Some(all), Some(rest)) = (all.as_object_mut(), rest.as_object()) {
        // What was not given is not recorded.
        let given =
            |value: &serde_json::Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
        all.extend(rest.iter().filter(|(_, value)| given(value)).map(|(name, value)| (name.clone(), value.clone())));
    }
    Ok(all)
}

/// What learning does to the hidden layer, one row per penalty and task; none where that was not asked for.
pub fn hidden_layer(place: &PhasePlace, job: &PhaseRequest) -> Option<Table> {
    let (all, width) = (&place.representation, job.width.filter(|_| job.representation)?);
    let column =
        |get: fn(&Representation) -> Option<f64>| all.iter().map(|r| get(r).unwrap_or(f64::NAN)).collect::<Vec<f64>>();
    let mut table = Table::new(&format!("The hidden layer at N = {width}, on the inputs of each task"))
        .number("λ", &column(|r| Some(r.lambda)))
        .integer("task", &all.iter().map(|r| r.task as i64).collect::<Vec<_>>())
        .meaning("the task whose inputs are looked at")
        .number("K_{sim} and labels", &column(|r| r.alignment))
        .key("alignment")
        .meaning("centered alignment of the learned part of the hidden kernel with the labels");
    if all.iter().any(|r| r.change.is_some()) {
        table = table
            .number("|ΔΦ|^{2}/N", &column(|r| r.change))
            .key("change")
            .meaning("what task 2 changes of the representation, mean over inputs; in the limit of large penalties")
            .number("ΔΦ and labels", &column(|r| r.change_alignment))
            .key("change_alignment")
            .meaning("centered alignment of the change with the labels");
    }
    Some(table)
}

/// A note as a sentence.
pub fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// Where the width lies and what to do (markup).
pub fn answer(location: Option<&Location>, best: Option<&BestLambda>, tested: bool) -> Vec<String> {
    let Some(location) = location else {
        return vec!["Give --width N to be told in which regime a network of that width is.".into()];
    };
    let near = if location.near_critical { " This load is within 0.1 % of the boundary: near critical." } else { "" };
    let mut told = vec![format!("Load {}: {}.{near}", significant(location.alpha), typeset(&location.advice))];
    match best {
        Some(best) => {
            let edge = if best.at_edge { " (an end of the range searched)" } else { "" };
            told.push(format!(
                "The penalty that serves both tasks best is λ = {}{edge}: G_{{21}} {}, G_{{22}} {}, F_{{21}} {}.",
                significant(best.best.lambda),
                significant(best.best.g21),
                significant(best.best.g22),
                significant(best.best.f21)
            ));
        }
        None if !tested => told.push("With test sets in the file, the best penalty is searched too.".into()),
        None => {}
    }
    told
}

/// The best width by what was computed, beside the one asked about (markup).
pub fn by_the_numbers(own: WidthPoint, best: WidthPoint) -> String {
    let losses =
        |point: &WidthPoint| format!("G_{{21}} {}, G_{{22}} {}", significant(point.g21), significant(point.g22));
    if best.width == own.width {
        return format!("As λ grows no width computed does better than N = {}: {}.", own.width, losses(&own));
    }
    format!(
        "As λ grows N = {} has {}; the best of the widths computed is N = {:.0} with {}.",
        own.width,
        losses(&own),
        best.width,
        losses(&best)
    )
}

/// What is marked in the figure: the width, the penalties and the regimes.
struct Marks<'a> {
    location: Option<&'a Location>,
    lambda: &'a [f64],
    critical: f64,
}

impl Marks<'_> {
    /// Regimes as tints, and the load of the width asked about.
    fn on_loads(&self, panel: Panel, ends: (f64, f64)) -> Panel {
        let panel = draw::tints(panel, ends, self.critical);
        match self.location {
            Some(location) => panel.own(&format!("N = {}", location.width), location.alpha),
            None => panel,
        }
    }

    /// The penalties asked about that lie on the axis of penalties.
    fn on_penalties(&self, panel: Panel, (low, high): (f64, f64)) -> Panel {
        let asked = self.lambda.iter().filter(|l| (low..=high).contains(*l));
        asked.fold(panel, |panel, lambda| panel.own(&format!("λ = {}", significant(*lambda)), *lambda))
    }
}

/// Curves against the load, and the search for λ where there was one.
fn figure(curves: &SweptCurves, marks: &Marks, best: Option<&BestLambda>) -> Figure {
    let loads: Vec<f64> = curves.curves.iter().flat_map(|c| c.points.iter().map(|p| p.factors.alpha)).collect();
    let alphas = loads.iter().copied().chain(marks.location.map(|l| l.alpha));
    let (low, high) = alphas.fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    let panels = curve_panels("", std::slice::from_ref(curves), 0);
    let tinted = panels.into_iter().map(|panel| marks.on_loads(panel.x_range(low, high), (low, high)));
    let mut panels: Vec<Panel> = tinted.collect();
    if let Some(best) = best {
        let x: Vec<f64> = best.curve.iter().map(|p| p.lambda).collect();
        let g21: Vec<f64> = best.curve.iter().map(|p| p.g21).collect();
        let g22: Vec<f64> = best.curve.iter().map(|p| p.g22).collect();
        let panel = Panel::new()
            .x("penalty λ")
            .y("normalized test loss")
            .log_x()
            .log_y()
            .line(Line::new("G_{21}", &x, &g21).category(4).dash(Dash::Solid))
            .line(Line::new("G_{22}", &x, &g22).category(3).dash(Dash::Dashed))
            .vertical("best λ", best.best.lambda);
        panels.push(marks.on_penalties(panel, (x[0], x[x.len() - 1])));
    }
    Figure::grid(panels, 2).title("Two tasks with a readout each").caption(
        "Forgetting of task 1, test loss of task 2 over learning it alone, and the norm of its readout against the load; where a \
         curve is interrupted the quantity grows as λ^{1/2} without bound. Where a width was given, test losses of both tasks \
         against the penalty at that width, with the penalty that minimizes the larger one. Black lines mark the width and the \
         penalties that were asked about.",
    )
}
