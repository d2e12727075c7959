//! Two tasks with several outputs each: the regime of every direction of the second head, accuracies, and curves against the load.

use super::{DEFINED, in_brackets, penalty};
use crate::error::Result;
use crate::figure::{Figure, Line, Panel};
use crate::loads::{self, LoadCurve, LoadPoint};
use crate::shown::{Part, Show, Shown};
use crate::style::{Dash, Regime, significant};
use crate::table::Table;
use crate::text::typeset;
use ebbing::request::PhaseOutputs;
use ebbing::stats::number::chosen;
use ebbing::theory::multi_head::{OutputAccuracy, Power};
use ebbing::theory::phase::{OutputsCurve, OutputsPoint};
use serde_json::{Value, json};

/// "overfitting", "6 overfitting, 3 generalization".
pub(super) fn regimes(directions: &[Regime]) -> String {
    let counts = Regime::ALL.map(|regime| (directions.iter().filter(|r| **r == regime).count(), regime));
    let present: Vec<_> = counts.into_iter().filter(|(count, _)| *count > 0).collect();
    match &present[..] {
        [(_, only)] => only.to_string(),
        all => all.iter().map(|(count, regime)| format!("{count} {regime}")).collect::<Vec<_>>().join(", "),
    }
}

impl Show for PhaseOutputs {
    fn shown(&self) -> Result<Shown> {
        let ([p1, p2], [m1, m2]) = (self.sizes, self.outputs);
        let prepared = in_brackets(&self.prepared);
        let heading = format!(
            "Two tasks of {p1} and {p2} examples{prepared}, heads of {m1} and {m2} outputs, σ = {}",
            self.sigma
        );
        let mut sentences = answer(self);
        let mut tables: Vec<Part> = vec![directions(self).into()];
        tables.extend(at_width(self).map(Part::from));
        let mut page = tables.clone();
        page.extend(sentences.iter().cloned().map(Part::Words));
        page.push(Part::Words(DEFINED.into()));
        let figure = figure(self).finding(&sentences[0]);
        sentences.push(DEFINED.into());
        Ok(Shown { title: super::TITLE.into(), heading, sentences, page, tables, ..Shown::default() }
            .figure("phase", figure)
            .file("phase-curves", curve_table(&self.curves)))
    }

    fn json(&self) -> Value {
        json!({
            "sizes": self.sizes, "outputs": self.outputs, "direction_loads": self.critical, "place": self.location,
            "best_lambda": self.best, "at_width": self.at_width, "output_curves": self.curves, "symmetric": self.symmetric,
        })
    }
}

/// Where the width lies and what to do (markup).
fn answer(place: &PhaseOutputs) -> Vec<String> {
    let mut all = Vec::new();
    match &place.location {
        None => all.push("Give --width N to see in which regime a network of that width is.".to_string()),
        Some(location) => {
            let near =
                if location.near_critical { " This load is within 0.1 % of a boundary: near critical." } else { "" };
            all.push(format!("Load {}: {}.{near}", significant(location.alpha), typeset(&location.advice)));
        }
    }
    if let (Some(best), Some(at)) = (&place.best, place.at_width.last()) {
        let edge = if best.at_edge { " (an end of the range searched)" } else { "" };
        let known = at.accuracy.as_ref().map_or(String::new(), |found| {
            let [learned, first, second] =
                [found.learned, found.first, found.second].map(|a| format!("{:.0} %", 100.0 * a.value));
            format!(": task 1 {learned} when learned and {first} after task 2, task 2 {second}")
        });
        all.push(format!(
            "The penalty that serves both tasks best is λ = {}{edge}{known}.",
            significant(best.best.lambda)
        ));
    } else if place.location.is_some() && !place.tested {
        all.push("With test sets in the file, the best penalty and accuracies are computed too.".into());
    }
    if let Some(symmetric) = &place.symmetric {
        let shared =
            if symmetric.shared { "the same classes in both tasks" } else { "classes of their own in each task" };
        let departure = symmetric.departure.map_or(String::new(), |d| {
            format!(", and the exact equations are off by up to {} of their terms", significant(d))
        });
        all.push(format!(
            "Factors are of two numbers, for classes that are alike ({shared}): labels are {} from alike{departure}.",
            significant(symmetric.asymmetry)
        ));
    }
    all
}

/// Critical loads, as many rows as there are different ones.
fn directions(place: &PhaseOutputs) -> Table {
    let loads = &place.critical.alpha_c;
    let rows: Vec<(usize, f64)> = loads.iter().enumerate().map(|(k, &c)| (k + 1, c)).collect();
    let p2 = place.sizes[1] as f64;
    Table::of("Directions of head 2 that generalize as λ grows", &rows)
        .integer("directions", |r| r.0)
        .meaning("how many directions of the second head generalize above this load")
        .number("load P/N above", |r| r.1)
        .key("alpha_c")
        .number("width N below", |r| if r.1.is_finite() { Some(p2 / r.1) } else { None })
        .key("width")
        .done()
}

fn in_percent(found: Option<OutputAccuracy>) -> Option<f64> {
    found.map(|a| 100.0 * a.value)
}

/// That width at every penalty, and at the best one.
fn at_width(place: &PhaseOutputs) -> Option<Table> {
    let (rows, width) = (&place.at_width[..], place.location.as_ref()?.width);
    let named = rows.iter().any(|p| p.accuracy.is_some());
    let title = format!("At N = {width}");
    let table = Table::of(&title, rows)
        .text("λ", |p| if p.lambda.is_infinite() { "∞".to_string() } else { significant(p.lambda) })
        .key("lambda")
        .when(named, |table| {
            table
                .number("task 1, learned", |p| in_percent(p.accuracy.map(|a| a.learned)))
                .key("learned")
                .unit("%")
                .meaning("test accuracy of task 1 when it was learned")
                .number("after task 2", |p| in_percent(p.accuracy.map(|a| a.first)))
                .key("first")
                .unit("%")
                .meaning("test accuracy of task 1 after task 2")
                .number("task 2", |p| in_percent(p.accuracy.map(|a| a.second)))
                .key("second")
                .unit("%")
                .meaning("test accuracy of task 2; as λ grows without bound near chance where it overfits")
        })
        .number("F_{21}", |p| p.f21.limit())
        .key("f21");
    let table = table.when(place.tested, |table| {
        table
            .number("G_{21}", |p| p.g21.map(|g| g.limit()))
            .key("g21")
            .number("G_{22}", |p| p.g22.map(|g| g.limit()))
            .key("g22")
    });
    Some(table.done())
}

/// Coefficients and exponents of λ of every quantity at every load, with accuracies where they are known.
fn curve_table(curves: &[OutputsCurve]) -> Table {
    let rows: Vec<(f64, &OutputsPoint)> =
        curves.iter().flat_map(|c| c.points.iter().map(move |p| (c.lambda, p))).collect();
    let mut table = Table::of("Curves against the load", &rows)
        .number("lambda", |r| r.0)
        .number("alpha", |r| r.1.alpha)
        .meaning("load P/N")
        .number("generalizing", |r| {
            let count = |all: &Vec<Regime>| all.iter().filter(|r| **r == Regime::Generalization).count() as f64;
            r.1.directions.as_ref().map(count)
        })
        .meaning("directions of head 2 that generalize, at infinite lambda");
    let quantities: [(&str, fn(&OutputsPoint) -> Option<Power>); 4] =
        [("f21", |p| Some(p.f21)), ("g21", |p| p.g21), ("g22", |p| p.g22), ("norm", |p| Some(p.norm))];
    for (name, get) in quantities {
        table = table.number(name, |r| get(r.1).map(|p| p.coefficient)).meaning("coefficient of its power of lambda");
        table = table.number(&format!("{name}_exponent"), |r| get(r.1).map(|p| p.exponent));
    }
    let accuracies: [(&str, fn(&OutputsPoint) -> Option<OutputAccuracy>); 3] = [
        ("learned", |p| p.accuracy.map(|a| a.learned)),
        ("first", |p| p.accuracy.map(|a| a.first)),
        ("second", |p| p.accuracy.map(|a| a.second)),
    ];
    for (name, get) in accuracies {
        table = table.number(&format!("accuracy_{name}"), |r| get(r.1).map(|a| a.value));
        table = table.number(&format!("accuracy_{name}_error"), |r| get(r.1).map(|a| a.error));
    }
    table.done()
}

/// Forgetting, test loss, readouts, directions that generalize, and accuracies against the load.
fn figure(place: &PhaseOutputs) -> Figure {
    let alphas = place.curves.iter().flat_map(|c| c.points.iter().map(|p| p.alpha));
    let alphas = alphas.chain(place.location.as_ref().map(|l| l.alpha));
    let (low, high) = alphas.fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    let first = place.critical.alpha_c.first().copied().unwrap_or(f64::INFINITY);
    let marked = |panel: Panel| {
        let panel = loads::tints(panel.x_range(low, high), (low, high), first);
        match &place.location {
            Some(l) => panel.own(&format!("N = {}", l.width), l.alpha),
            None => panel,
        }
    };
    let quantity = |name: &str, log: bool, get: &dyn Fn(&OutputsPoint) -> Option<Power>| {
        let panel = Panel::new().x("load α = P/N").y(name).log_x();
        let curve = |(k, c): (usize, &OutputsCurve)| {
            let same = |p: &OutputsPoint| p.directions.as_ref().and_then(|d| d.first().copied());
            let point = |p: &OutputsPoint| Some(LoadPoint { alpha: p.alpha, value: get(p)?, regime: same(p) });
            let points = c.points.iter().filter_map(point).collect();
            LoadCurve { label: penalty(c.lambda), category: k, dash: None, points }
        };
        let curves: Vec<LoadCurve> = place.curves.iter().enumerate().map(curve).collect();
        marked(loads::curves(if log { panel.log_y() } else { panel }, &curves))
    };
    let mut panels = vec![quantity("forgetting F_{21}", false, &|p| Some(p.f21))];
    if place.tested {
        panels.push(quantity("normalized test loss G_{22}", true, &|p| p.g22));
    }
    panels.push(quantity("mean |a_{2}|^{2}/N", true, &|p| Some(p.norm)));
    let accurate = place.curves.iter().any(|c| c.points.iter().any(|p| p.accuracy.is_some()));
    if accurate {
        let mut panel = Panel::new().x("load α = P/N").y("test accuracy in %").log_x().y_range(0.0, 100.0);
        for (k, curve) in place.curves.iter().enumerate() {
            let known: Vec<(f64, _)> = curve.points.iter().filter_map(|p| Some((p.alpha, p.accuracy?))).collect();
            let x: Vec<f64> = known.iter().map(|(alpha, _)| *alpha).collect();
            let of = |get: fn(&ebbing::theory::phase::HeadAccuracies) -> OutputAccuracy| -> Vec<f64> {
                known.iter().map(|(_, a)| 100.0 * get(a).value).collect()
            };
            let label = penalty(curve.lambda);
            let line = |task: usize, y: &[f64], dash| {
                Line::new(&format!("task {task}, {label}"), &x, y).category(2 * k + task).dash(dash)
            };
            panel = panel.line(line(1, &of(|a| a.first), Dash::Solid)).line(line(2, &of(|a| a.second), Dash::Dashed));
        }
        panels.push(marked(panel));
    }
    let edges: Vec<f64> = place.critical.alpha_c.iter().copied().filter(|c| c.is_finite() && *c < high).collect();
    let note = match edges.len() {
        0 => String::new(),
        n => format!(
            " Below the highest load drawn {n} of {} directions of head 2 cross over.",
            place.critical.alpha_c.len()
        ),
    };
    Figure::grid(panels, 2).title("Two tasks with several outputs each").caption(&format!(
        "Forgetting of task 1, test loss of task 2 over learning it alone, the norm of its readouts, and test accuracies of both heads after \
         task 2 against the load; where a curve is interrupted the quantity grows as λ^{{1/2}} without bound. Tints: fixed representations, \
         overfitting in all directions of head 2, and loads at which some directions generalize, the first of them above {}.{note}",
        chosen(first)
    ))
}
