//! The phase diagram and the curves against the load.

use crate::draw::{self, LoadCurve};
use ebbing::request::{SweptCurves, SweptLoads};
use ebbing::stats::number::within;
use ebbing::theory::multi_head::{CriticalLoad, Power};
use ebbing::theory::phase::PhasePoint;
use ebbing_show::{Dash, Figure, Line, Markers, OKABE_ITO, Panel, Rgb, Table, significant};

/// γ_sim, the diagram with its boundaries, and the curves of the chosen values.
pub fn diagram(axis: &str, swept: &[SweptLoads], curves: &[SweptCurves], alphas: &[f64], seeds: usize) -> Figure {
    let x: Vec<f64> = swept.iter().map(|s| s.value).collect();
    let (low, high) = (alphas[0], alphas[alphas.len() - 1]);
    let mean = |get: fn(&CriticalLoad) -> f64| swept.iter().map(|s| s.mean(get).value).collect::<Vec<f64>>();
    let error: Vec<f64> = swept.iter().map(|s| s.mean(|c| c.gamma_sim).standard_error.unwrap_or(0.0)).collect();
    let gamma = mean(|c| c.gamma_sim);
    let markers = Markers::new("", &x, &gamma).category(0);
    let similarity = Panel::new()
        .x(axis)
        .y("task similarity γ_{sim}")
        .line(Line::new("", &x, &gamma).category(0))
        .markers(if seeds > 1 { markers.errors(&error) } else { markers });
    // A boundary beyond every load is drawn as one far above the frame, which clips it.
    let drawable =
        |v: Vec<f64>| v.into_iter().map(|a| if a.is_finite() { a } else { 1e6 * high }).collect::<Vec<f64>>();
    let exact = drawable(mean(|c| c.alpha_c));
    let map = draw::diagram(Panel::new().x(axis).y("load α = P/N"), &x, (low, high), &exact)
        .line(Line::new("exact α_{c}", &x, &exact).color(OKABE_ITO[6]))
        .line(Line::new("γ_{sim}^{−2}", &x, &drawable(mean(|c| c.alpha_c_gamma_sim))).category(1).dash(Dash::Dashed));
    let mut panels = vec![similarity, map];
    // The boundaries have the first two categories.
    panels.extend(curve_panels(axis, curves, 2));
    let bars = if seeds > 1 { format!(" Bars: standard errors over {seeds} seeds.") } else { String::new() };
    Figure::grid(panels, 3).title("Regimes of two tasks with a readout each").caption(&format!(
        "Regimes at λ → ∞ of two tasks with a readout each. **a** Similarity of the tasks. **b** The phase diagram: the exact \
         boundary α_{{c}} and the estimate γ_{{sim}}^{{−2}}. Then, against the load, forgetting of task 1, test loss of task 2 over \
         learning it alone, and the norm of its readout for chosen values of the {axis}; where a curve is interrupted the quantity \
         grows as λ^{{1/2}} without bound (arrows).{bars}"
    ))
}

/// F_21, G_22 and ‖a_2‖²/N against the load; the first curve has the category `base`.
pub fn curve_panels(axis: &str, curves: &[SweptCurves], base: usize) -> Vec<Panel> {
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
        // Colors tell the values, dashes the penalties, each with samples of its own.
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
    draw::curves(panel, &drawn)
}

fn valued(axis: &str, value: f64) -> String {
    format!("{axis} {value}")
}

fn penalty(lambda: f64) -> String {
    if lambda.is_infinite() { "λ → ∞".into() } else { format!("λ = {}", significant(lambda)) }
}

/// The curves as a table: coefficient and exponent of λ of every quantity.
pub fn curve_table(curves: &[SweptCurves]) -> Table {
    let rows: Vec<(f64, f64, &PhasePoint)> = curves
        .iter()
        .flat_map(|c| c.curves.iter().map(move |curve| (c.value, curve)))
        .flat_map(|(value, curve)| curve.points.iter().map(move |p| (value, curve.lambda, p)))
        .collect();
    let column = |get: &dyn Fn(&(f64, f64, &PhasePoint)) -> f64| rows.iter().map(get).collect::<Vec<f64>>();
    let mut table = Table::new("Curves against the load")
        .number("value", &column(&|r| r.0))
        .meaning("value of the swept setting")
        .number("lambda", &column(&|r| r.1))
        .number("alpha", &column(&|r| r.2.factors.alpha))
        .meaning("load P/N")
        .number("u11", &column(&|r| r.2.factors.u11))
        .number("u12", &column(&|r| r.2.factors.u12));
    let quantities: [(&str, fn(&PhasePoint) -> Option<Power>); 6] = [
        ("f21", |p| Some(p.f21)),
        ("g21", |p| p.g21),
        ("g22", |p| p.g22),
        ("u22", |p| Some(p.factors.u22)),
        ("u0", |p| Some(p.factors.u0)),
        ("d", |p| Some(p.factors.d)),
    ];
    for (name, get) in quantities {
        table = table.number(name, &column(&|r| get(r.2).map_or(f64::NAN, |p| p.coefficient)));
        table = table.meaning("coefficient of its power of lambda");
        table = table.number(&format!("{name}_exponent"), &column(&|r| get(r.2).map_or(f64::NAN, |p| p.exponent)));
    }
    table
}
