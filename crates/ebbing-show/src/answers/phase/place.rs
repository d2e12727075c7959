//! Two tasks, a user's own or drawn: where in the diagram a width lies, and how to leave the overfitting regime.

use super::curves::{curve_panels, curve_table};
use super::{DEFINED, in_brackets};
use crate::error::Result;
use crate::figure::{Figure, Line, Panel};
use crate::loads;
use crate::shown::{Part, Show, Shown};
use crate::style::{Dash, significant};
use crate::table::Table;
use crate::text::typeset;
use ebbing::request::{PhasePlace, Representation, SweptCurves};
use ebbing::theory::best_lambda::BestLambda;
use ebbing::theory::phase::{Location, WidthPoint};
use serde_json::{Value, json};

impl Show for PhasePlace {
    fn shown(&self) -> Result<Shown> {
        let sizes: Vec<String> = self.sizes.iter().map(usize::to_string).collect();
        let prepared = in_brackets(&self.prepared);
        let heading = format!("Two tasks of {} examples{prepared}, σ = {}", sizes.join(" and "), self.sigma);
        let mut sentences = answer(self);
        let loads = Table::of("Similarity and critical loads", std::slice::from_ref(&self.critical))
            .number("γ_{sim}", |c| c.gamma_sim)
            .number("exact α_{c}", |c| c.alpha_c)
            .number("γ_{sim}^{−2}", |c| c.alpha_c_gamma_sim)
            .number("α_{c} with u_{11}", |c| c.alpha_c_u11)
            .done();
        let hidden = hidden_layer(self);
        let tables: Vec<Part> = std::iter::once(loads).chain(hidden.clone()).map(Part::from).collect();
        let mut page = tables.clone();
        page.extend(sentences.iter().cloned().map(Part::Words));
        page.extend(self.widths.map(|_| Part::Words(DEFINED.into())));
        let figure = figure(self).finding(&sentences[0]);
        sentences.push(DEFINED.into());
        let curves = SweptCurves { value: f64::NAN, curves: self.curves.clone() };
        let title = super::TITLE.into();
        let shown = Shown { title, heading, sentences, page, tables, ..Shown::default() }
            .figure("phase", figure)
            .file("phase-curves", curve_table(&[curves]));
        Ok(match hidden {
            Some(hidden) => shown.file("phase-representation", hidden),
            None => shown,
        })
    }

    fn json(&self) -> Value {
        json!({
            "critical_load": self.critical, "location": self.location, "best_lambda": self.best, "widths": self.widths,
            "curves": self.curves, "representation": self.representation,
        })
    }
}

/// Where the width lies and what to do (markup).
fn answer(place: &PhasePlace) -> Vec<String> {
    let mut all = match &place.location {
        None => vec!["Give --width N to see in which regime a network of that width is.".to_string()],
        Some(location) => {
            let near =
                if location.near_critical { " This load is within 0.1 % of the boundary: near critical." } else { "" };
            let mut all = vec![format!("Load {}: {}.{near}", significant(location.alpha), typeset(&location.advice))];
            all.extend(place.best.as_ref().map(best_penalty));
            if place.best.is_none() && !place.tested {
                all.push("With test sets in the file, the best penalty is searched too.".into());
            }
            all
        }
    };
    all.extend(place.widths.map(|[own, best]| by_the_numbers(own, best)));
    all.extend(place.critical.notes.iter().map(|note| typeset(&sentence(note))));
    all
}

fn best_penalty(best: &BestLambda) -> String {
    let edge = if best.at_edge { " (an end of the range searched)" } else { "" };
    let [lambda, g21, g22, f21] = [best.best.lambda, best.best.g21, best.best.g22, best.best.f21].map(significant);
    format!(
        "The penalty that serves both tasks best is λ = {lambda}{edge}: G_{{21}} {g21}, G_{{22}} {g22}, F_{{21}} {f21}."
    )
}

/// A note as a sentence.
fn sentence(note: &str) -> String {
    let mut letters = note.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// The best width by what was computed, beside the one asked about (markup).
fn by_the_numbers(own: WidthPoint, best: WidthPoint) -> String {
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

/// What learning does to the hidden layer, one row per penalty and task; none where that was not asked for.
fn hidden_layer(place: &PhasePlace) -> Option<Table> {
    let (all, width) = (&place.representation[..], place.location.as_ref()?.width);
    let title = format!("The hidden layer at N = {width}, on the inputs of each task");
    let table = Table::of(&title, all)
        .chosen("λ", |r| r.lambda)
        .integer("task", |r| r.task)
        .meaning("the task whose inputs are looked at")
        .number("K_{sim} and labels", |r| r.alignment)
        .key("alignment")
        .meaning("centered alignment of the learned part of the hidden kernel with the labels")
        .when(all.iter().any(|r: &Representation| r.change.is_some()), |table| {
            table
                .number("|ΔΦ|^{2}/N", |r| r.change)
                .key("change")
                .meaning("what task 2 changes of the representation, mean over inputs; in the limit of large penalties")
                .number("ΔΦ and labels", |r| r.change_alignment)
                .key("change_alignment")
                .meaning("centered alignment of the change with the labels")
        });
    (!all.is_empty()).then(|| table.done())
}

/// Curves against the load with the regimes and the width, and the search for λ where there was one.
fn figure(place: &PhasePlace) -> Figure {
    let curves = SweptCurves { value: f64::NAN, curves: place.curves.clone() };
    let alphas = place.curves.iter().flat_map(|c| c.points.iter().map(|p| p.factors.alpha));
    let alphas = alphas.chain(place.location.as_ref().map(|l| l.alpha));
    let (low, high) = alphas.fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    let marked = |panel: Panel| match &place.location {
        Some(Location { width, alpha, .. }) => panel.own(&format!("N = {width}"), *alpha),
        None => panel,
    };
    let tinted = |panel: Panel| marked(loads::tints(panel.x_range(low, high), (low, high), place.critical.alpha_c));
    let mut panels: Vec<Panel> = curve_panels("", &[curves], 0).into_iter().map(tinted).collect();
    if let Some(best) = &place.best {
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
        // The penalties asked about that lie on this axis.
        let asked = place.curves.iter().map(|c| c.lambda).filter(|l| (x[0]..=x[x.len() - 1]).contains(l));
        panels.push(asked.fold(panel, |panel, lambda| panel.own(&super::penalty(lambda), lambda)));
    }
    Figure::grid(panels, 2).title("Two tasks with a readout each").caption(
        "Forgetting of task 1, test loss of task 2 over learning it alone, and the norm of its readout against the load; where a \
         curve is interrupted the quantity grows as λ^{1/2} without bound. Where a width was given, test losses of both tasks \
         against the penalty at that width, with the penalty that minimizes the larger one. Black lines mark the width and the \
         penalties that were asked about.",
    )
}
