//! Curves of two tasks against the load, as panels and as a table.

use super::penalty;
use crate::figure::{Line, Panel};
use crate::loads::{self, LoadCurve};
use crate::style::{Dash, OKABE_ITO, Rgb};
use crate::table::Table;
use ebbing::request::SweptCurves;
use ebbing::stats::number::within;
use ebbing::theory::multi_head::Power;
use ebbing::theory::phase::PhasePoint;

/// F_21, G_22 and ‖a_2‖²/N against the load; the first curve has the category `base`.
pub(super) fn curve_panels(axis: &str, curves: &[SweptCurves], base: usize) -> Vec<Panel> {
    // Losses are of order 1: what is below rounding is 0.
    let forgetting = |p: &PhasePoint| Some(Power { coefficient: within(p.f21.coefficient, 1e-12), ..p.f21 });
    let mut panels = vec![
        quantity(axis, curves, ("forgetting F_{21}", base), false, &forgetting),
        quantity(axis, curves, ("|a_{2}|^{2}/N", base), true, &|p| Some(p.factors.u22)),
    ];
    if curves.iter().flat_map(|c| &c.curves).all(|c| c.points.iter().all(|p| p.g22.is_some())) {
        panels.insert(1, quantity(axis, curves, ("normalized test loss G_{22}", base), true, &|p| p.g22));
    }
    panels
}

fn quantity(
    axis: &str,
    curves: &[SweptCurves],
    (name, base): (&str, usize),
    log: bool,
    get: &dyn Fn(&PhasePoint) -> Option<Power>,
) -> Panel {
    let mut panel = Panel::new().x("load α = P/N").y(name).log_x();
    if log {
        panel = panel.log_y();
    }
    let penalties = curves.iter().map(|c| c.curves.len()).max().unwrap_or_default();
    let mut drawn = Vec::new();
    if curves.len() > 1 && penalties > 1 && curves.len().max(penalties) <= OKABE_ITO.len() {
        // Colors stand for the values, dashes for the penalties, each with samples of its own.
        for (k, c) in curves.iter().enumerate() {
            let color = OKABE_ITO[(base + k) % OKABE_ITO.len()];
            panel = panel.line(Line::sample(&valued(axis, c.value)).color(color).dash(Dash::Solid));
            for (j, curve) in c.curves.iter().enumerate() {
                let label = format!("{}, {}", valued(axis, c.value), penalty(curve.lambda));
                drawn.push(LoadCurve::new(&label, base + k, &curve.points, get).dashed(Dash::category(j)));
            }
        }
        for (j, curve) in curves[0].curves.iter().enumerate() {
            panel = panel.line(Line::sample(&penalty(curve.lambda)).color(Rgb::GRAY).dash(Dash::category(j)));
        }
    } else {
        let all = curves.iter().flat_map(|c| c.curves.iter().map(move |curve| (c.value, curve)));
        for (k, (value, curve)) in all.enumerate() {
            let label = match (penalties > 1, value.is_nan()) {
                (false, false) => valued(axis, value),
                (_, true) => penalty(curve.lambda),
                (true, false) => format!("{}, {}", valued(axis, value), penalty(curve.lambda)),
            };
            drawn.push(LoadCurve::new(&label, base + k, &curve.points, get));
        }
    }
    loads::curves(panel, &drawn)
}

fn valued(axis: &str, value: f64) -> String {
    format!("{axis} {value}")
}

/// The curves as a table: coefficient and exponent of λ of every quantity.
pub(super) fn curve_table(curves: &[SweptCurves]) -> Table {
    let rows: Vec<(f64, f64, &PhasePoint)> = curves
        .iter()
        .flat_map(|c| c.curves.iter().map(move |curve| (c.value, curve)))
        .flat_map(|(value, curve)| curve.points.iter().map(move |p| (value, curve.lambda, p)))
        .collect();
    let mut table = Table::of("Curves against the load", &rows)
        .number("value", |r| r.0)
        .meaning("value of the swept setting")
        .number("lambda", |r| r.1)
        .number("alpha", |r| r.2.factors.alpha)
        .meaning("load P/N")
        .number("u11", |r| r.2.factors.u11)
        .number("u12", |r| r.2.factors.u12);
    let quantities: [(&str, fn(&PhasePoint) -> Option<Power>); 6] = [
        ("f21", |p| Some(p.f21)),
        ("g21", |p| p.g21),
        ("g22", |p| p.g22),
        ("u22", |p| Some(p.factors.u22)),
        ("u0", |p| Some(p.factors.u0)),
        ("d", |p| Some(p.factors.d)),
    ];
    for (name, get) in quantities {
        table = table.number(name, |r| get(r.2).map(|p| p.coefficient)).meaning("coefficient of its power of lambda");
        table = table.number(&format!("{name}_exponent"), |r| get(r.2).map(|p| p.exponent));
    }
    table.done()
}
