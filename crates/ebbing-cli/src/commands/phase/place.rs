//! Two tasks, a user's own or drawn: where in the diagram a width lies, and how to leave the overfitting regime.

use super::{Args, figures};
use crate::console::Console;
use ebbing::data::Sources;
use ebbing::theory::best_lambda::BestLambda;
use ebbing::theory::phase::{Location, WidthPoint};
use ebbing_report::{Figure, Line, Panel, Screen, Table, escape_markup, significant, write_table};
use ebbing_studies::job::{PhasePlace, Representation, SweptCurves};
use serde_json::json;

impl Args {
    /// Places the tasks in the diagram.
    pub(super) fn place(&self, console: &Console) -> anyhow::Result<()> {
        let PhasePlace { settings, sizes, critical, location, best, widths, tested, curves, representation } =
            self.job.place(&Sources::new())?;
        let metadata = self.output.metadata("phase", Some(self.job.seed()?), &settings, &self.job.theory()?)?;
        let result = json!({
            "metadata": metadata, "critical_load": critical, "location": location, "best_lambda": best, "widths": widths,
            "curves": curves.curves, "representation": representation,
        });
        let hidden = self.job.width.filter(|_| self.job.representation).map(|n| hidden_layer(&representation, n));
        let table = Table::new("Similarity and critical loads")
            .number("γ_{sim}", &[critical.gamma_sim])
            .number("exact α_{c}", &[critical.alpha_c])
            .number("γ_{sim}^{−2}", &[critical.alpha_c_gamma_sim])
            .number("α_{c} with u_{11}", &[critical.alpha_c_u11]);
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let (examples, done) = (sizes.join(" and "), super::done(&settings));
        let heading = format!("Two tasks of {examples} examples{done}, σ = {}", self.job.sigma);
        let mut sentences = vec![answer(location.as_ref(), best.as_ref(), tested)];
        sentences.extend(widths.map(|[own, best]| by_the_numbers(own, best)));
        sentences.extend(critical.notes.iter().map(|note| sentence(note)));
        if let Some(folder) = &self.output.out {
            crate::files::make_folder(folder)?;
            let figure = figure(&curves, location.as_ref(), best.as_ref()).metadata(&metadata);
            figure.save(folder, "phase")?;
            self.output.write_json("phase.json", &result)?;
            let against_load = figures::curve_table(std::slice::from_ref(&curves));
            write_table(folder, "phase-curves", &against_load, &metadata)?;
            let sentences = [sentences.clone(), vec![super::DEFINED.into()]].concat();
            if let Some(hidden) = &hidden {
                write_table(folder, "phase-representation", hidden, &metadata)?;
            }
            let tables: Vec<&Table> = std::iter::once(&table).chain(&hidden).collect();
            super::report(folder, (&heading, &sentences), &figure, &tables, &metadata)?;
        }
        if self.output.json {
            return console.print_json(&result);
        }
        let mut screen = Screen::new(&heading).table(&table)?;
        if let Some(hidden) = &hidden {
            screen = screen.table(hidden)?;
        }
        for sentence in &sentences {
            screen = screen.paragraph(&escape_markup(sentence));
        }
        if widths.is_some() {
            screen = screen.paragraph(super::DEFINED);
        }
        if let Some(folder) = &self.output.out {
            screen = screen.next("report", &folder.join("report.html").display().to_string());
        }
        console.print(&screen.render_for_stdout())
    }
}

/// What learning does to the hidden layer, one row per penalty and task.
fn hidden_layer(all: &[Representation], width: f64) -> Table {
    let column =
        |get: fn(&Representation) -> Option<f64>| all.iter().map(|r| get(r).unwrap_or(f64::NAN)).collect::<Vec<f64>>();
    let mut table = Table::new(&format!("The hidden layer at N = {width}, on the inputs of each task"))
        .number("λ", &column(|r| Some(r.lambda)))
        .integer("task", &all.iter().map(|r| r.task as i64).collect::<Vec<_>>())
        .meaning("the task whose inputs are looked at")
        .number("K_{sim} and labels", &column(|r| r.alignment))
        .key("alignment")
        .meaning("centred alignment of the learned part of the hidden kernel with the labels");
    if all.iter().any(|r| r.change.is_some()) {
        table = table
            .number("|ΔΦ|^{2}/N", &column(|r| r.change))
            .key("change")
            .meaning("what task 2 changes of the representation, mean over inputs; in the limit of large penalties")
            .number("ΔΦ and labels", &column(|r| r.change_alignment))
            .key("change_alignment")
            .meaning("centred alignment of the change with the labels");
    }
    table
}

/// A note as a sentence.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// Where the width lies and what to do.
fn answer(location: Option<&Location>, best: Option<&BestLambda>, tested: bool) -> String {
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
fn by_the_numbers(own: WidthPoint, best: WidthPoint) -> String {
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
fn figure(curves: &SweptCurves, location: Option<&Location>, best: Option<&BestLambda>) -> Figure {
    let own = |panel: Panel| match location {
        Some(location) => panel.vertical(&format!("N = {}", location.width), location.alpha),
        None => panel,
    };
    let panels = figures::curve_panels("", std::slice::from_ref(curves));
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
