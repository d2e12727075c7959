//! Two tasks, a user's own or drawn: where in the diagram a width lies, and how to leave the overfitting regime.

use super::{Args, figures};
use crate::console::Console;
use ebbing::data::Sources;
use ebbing::theory::best_lambda::BestLambda;
use ebbing::theory::phase::{Location, WidthPoint};
use ebbing_report::{Figure, Line, Panel, Screen, Table, escape_markup, significant, write_table};
use ebbing_studies::draw;
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
        let mut sentences = answer(location.as_ref(), best.as_ref(), tested);
        sentences.extend(widths.map(|[own, best]| by_the_numbers(own, best)));
        sentences.extend(critical.notes.iter().map(|note| escape_markup(&sentence(note))));
        if let Some(folder) = &self.output.out {
            crate::files::make_folder(folder)?;
            let marks = Marks { location: location.as_ref(), lambda: &self.job.lambda, critical: critical.alpha_c };
            let figure = figure(&curves, &marks, best.as_ref()).finding(&sentences[0]).metadata(&metadata);
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
            screen = screen.paragraph(sentence);
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

/// Where the width lies and what to do (markup).
fn answer(location: Option<&Location>, best: Option<&BestLambda>, tested: bool) -> Vec<String> {
    let Some(location) = location else {
        return vec!["Give --width N to be told in which regime a network of that width is.".into()];
    };
    let near = if location.near_critical { " This load is within 0.1 % of the boundary: near critical." } else { "" };
    let mut told = vec![format!("Load {}: {}.{near}", significant(location.alpha), escape_markup(&location.advice))];
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
fn by_the_numbers(own: WidthPoint, best: WidthPoint) -> String {
    let losses =
        |point: &WidthPoint| format!("G_{{21}} {}, G_{{22}} {}", significant(point.g21), significant(point.g22));
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
    let panels = figures::curve_panels("", std::slice::from_ref(curves));
    let tinted = panels.into_iter().map(|panel| marks.on_loads(panel.x_range(low, high), (low, high)));
    let mut panels: Vec<Panel> = tinted.collect();
    if let Some(best) = best {
        let x: Vec<f64> = best.curve.iter().map(|p| p.lambda).collect();
        let g21: Vec<f64> = best.curve.iter().map(|p| p.g21).collect();
        let g22: Vec<f64> = best.curve.iter().map(|p| p.g22).collect();
        let panel = Panel::new()
            .x("penalty λ")
            .y("normalised test loss")
            .log_x()
            .log_y()
            .line(Line::new("G_{21}", &x, &g21).category(2))
            .line(Line::new("G_{22}", &x, &g22).category(3))
            .vertical("best λ", best.best.lambda);
        panels.push(marks.on_penalties(panel, (x[0], x[x.len() - 1])));
    }
    Figure::grid(panels, 2).title("Two tasks with a readout each").caption(
        "Forgetting of task 1, test loss of task 2 over learning it alone, and the norm of its readout against the load; where a \
         curve is interrupted the quantity grows as λ^{1/2} without bound. Where a width was given, test losses of both tasks \
         against the penalty at that width, with the penalty that minimises the larger one. Black lines mark the width and the \
         penalties that were asked about.",
    )
}
