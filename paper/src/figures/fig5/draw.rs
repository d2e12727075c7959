//! The panels of figure 5.

use super::super::loads::{color, draw_limit};
use super::claims::Boundary;
use super::{AtLoad, EXAMPLES, Fig5, critical_of, of_triple, triple_name};
use ebbing_show::loads::diagram as regimes;
use ebbing_show::{Dash, Direction, Figure, Line, Marker, Markers, OKABE_ITO, Panel, Regime};
use ebbing_studies::{Frame, Result};

pub(super) fn draw(study: &Fig5, frame: &Frame) -> Result<Figure> {
    let [b1, b2, c] = ["f21", "g22", "u22"].map(|name| fixed(frame, name));
    let [d1, d2, e] = ["f21", "g22", "u22"].map(|name| beyond(frame, name));
    let [powers, gap] = [["g22", "u22"], ["d", ""]].map(|names| against_lambda(frame, &names));
    let panels = vec![
        b1?.letter('b'),
        d1?.letter('d'),
        diagram(frame)?.letter('f'),
        b2?.letter(' '),
        d2?.letter(' '),
        powers?.letter(' '),
        c?.letter('c'),
        e?.letter('e'),
        gap?.letter(' '),
    ];
    let caption = format!(
        "Three regimes of two target-distractor tasks with a readout each, one hidden layer, λ → ∞, P = {}, {}; light and \
         dark examples are (ρ_{{target}}, ρ_{{shared}}, ρ_{{flip}}) = {} and {}, one draw each. **b**, **c** Loads below 1: \
         forgetting F_{{21}} of task 1, test loss G_{{22}} of task 2 over learning it alone (training images with noise of \
         standard deviation 0.2), norm of its readout; arrows: divergence as 1/(1 − α). **d**, **e** The same above 1; where \
         a line is interrupted the quantity grows as λ^{{1/2}} (arrows), thin lines are at λ = 10^{{8}}, gray lines at the \
         exact α_{{c}}. Right, below f: against λ at α = √α_{{c}} (overfitting) and 1.5 α_{{c}} (generalization). **f** \
         Regimes by γ_{{sim}}^{{−2}} (black) and, for {} triples, the exact α_{{c}} (standard errors over {} draws) and that \
         of the steepest F_{{21}}.",
        study.setup.p,
        study.setup.data_name(),
        triple_name(EXAMPLES[0]),
        triple_name(EXAMPLES[1]),
        study.triples.len(),
        study.seeds[2],
    );
    Ok(Figure::grid(panels, 3).title("Three regimes of target-distractor tasks with a readout each").caption(&caption))
}

/// The categories of the two examples: light and dark.
const LOOKS: [usize; 2] = [4, 1];

fn axis_name(name: &str) -> &'static str {
    match name {
        "f21" => "forgetting F_{21}",
        "g22" => "test loss G_{22}",
        _ => "|a_{2}|^{2}/N",
    }
}

/// The first draw's rows of the examples.
fn examples(frame: &Frame) -> Result<Vec<Frame>> {
    let curves = frame.only("part", "curve")?.only("seed", 0usize)?.having("alpha", |_| true)?;
    EXAMPLES.into_iter().map(|triple| of_triple(&curves, triple)).collect()
}

/// A quantity at loads below 1.
fn fixed(frame: &Frame, name: &str) -> Result<Panel> {
    let mut panel = Panel::new().x("load α = P/N").y(axis_name(name)).x_range(0.0, 1.02);
    panel = panel.regime(Regime::FixedRepresentations, 0.0, 1.0);
    let rows = examples(frame)?.iter().map(|rows| rows.having("alpha", |a| a < 0.99)).collect::<Result<Vec<_>>>()?;
    if name == "f21" {
        panel = panel.y_range(-0.05, 1.0);
    } else {
        panel = panel.log_y();
        for k in 0..2 {
            panel = panel.diverges("∝ 1/(1 − α)", 1.0 - 0.02 * k as f64, Direction::Up, color(LOOKS[k]));
        }
    }
    with_examples(panel, &rows, name)
}

/// The lines of the two examples.
fn with_examples(panel: Panel, rows: &[Frame], name: &str) -> Result<Panel> {
    let names = EXAMPLES.map(triple_name);
    let curves: Vec<_> = (0..rows.len()).map(|k| (&rows[k], names[k].as_str(), LOOKS[k])).collect();
    draw_limit(panel, &curves, name)
}

/// A quantity at loads above 1.
fn beyond(frame: &Frame, name: &str) -> Result<Panel> {
    let mut panel = Panel::new().x("load α = P/N").y(axis_name(name)).log_x();
    let rows = examples(frame)?.iter().map(|rows| rows.having("alpha", |a| a > 1.0)).collect::<Result<Vec<_>>>()?;
    for (k, triple) in EXAMPLES.into_iter().enumerate() {
        panel = panel.vertical("exact α_{c} of the example", critical_of(frame, triple, 0)?);
        let at = of_triple(&frame.only("part", "power")?, triple)?.only("seed", 0usize)?.only("lambda", 1e8)?;
        let label = if name != "f21" && k == 0 { "λ = 10^{8}" } else { "" };
        let line = Line::new(label, &at.numbers("alpha")?, &at.numbers(name)?);
        panel = panel.line(line.category(LOOKS[k]).dash(Dash::Dotted).width(0.7));
    }
    if name != "f21" {
        panel = panel.log_y();
    }
    with_examples(panel, &rows, name)
}

/// Quantities of the second example against λ, in both regimes.
fn against_lambda(frame: &Frame, names: &[&str; 2]) -> Result<Panel> {
    let mut panel = Panel::new().x("penalty λ").log_x().log_y();
    panel = panel.y(if names[0] == "d" { "u_{1}(2,2) − u_{0}(2,2)" } else { "G_{22}, |a_{2}|^{2}/N" });
    let critical = critical_of(frame, EXAMPLES[1], 0)?;
    for (place, (load, regime)) in [(critical.sqrt(), "OF"), (1.5 * critical, "G")].into_iter().enumerate() {
        let at = AtLoad::new(frame, EXAMPLES[1], 0, load)?;
        for (k, name) in names.iter().filter(|n| !n.is_empty()).enumerate() {
            let what = match *name {
                "g22" => "G_{22}",
                "u22" => "|a_{2}|^{2}/N",
                _ => "u_{1} − u_{0}",
            };
            // Rounded first: a minus before 0.00 says nothing.
            let power = (100.0 * at.power(name)?).round() / 100.0 + 0.0;
            let label = format!("{what}, {regime}: λ^{{{power:.2}}}").replace('-', "−");
            let dash = if k == 0 { Dash::Solid } else { Dash::Dashed };
            let values = at.rows.numbers(name)?;
            panel = panel.line(Line::new(&label, &at.lambdas, &values).color(OKABE_ITO[2 * place]).dash(dash));
        }
    }
    Ok(panel)
}

/// The boundaries against γ_sim.
fn diagram(frame: &Frame) -> Result<Panel> {
    let given = Boundary::all(frame, "given")?;
    let finite = |b: &&Boundary| b.exact.is_finite();
    let highest = given.iter().filter(finite).map(|b| b.exact).fold(10.0, f64::max);
    let top = 10f64.powf(highest.log10().ceil());
    let lowest = given.iter().map(|b| b.gamma_sim).fold(0.0, f64::min);
    let x: Vec<f64> = (0..=200).map(|k| lowest - 0.02 + (1.02 - lowest) * f64::from(k) / 200.0).collect();
    let law: Vec<f64> =
        x.iter().map(|g| if *g > 0.0 { g.powi(-2).clamp(1.0, 10.0 * top) } else { 10.0 * top }).collect();
    let panel = Panel::new().x("task similarity γ_{sim}").y("load α = P/N");
    let mut panel = regimes(panel, &x, (0.3, top), &law).line(Line::new("γ_{sim}^{−2}", &x, &law).color(OKABE_ITO[6]));
    let shown: Vec<&Boundary> = given.iter().filter(finite).collect();
    let column = |get: fn(&Boundary) -> f64| shown.iter().map(|b| get(b)).collect::<Vec<f64>>();
    let exact = Markers::new("exact α_{c}", &column(|b| b.gamma_sim), &column(|b| b.exact));
    panel = panel.markers(exact.errors(&column(|b| b.exact_error)).color(OKABE_ITO[1]).shape(Marker::Circle));
    let (x, y): (Vec<f64>, Vec<f64>) = given.iter().filter_map(|b| Some((b.gamma_sim, b.curve?))).unzip();
    panel = panel.markers(Markers::new("steepest F_{21}", &x, &y).color(OKABE_ITO[0]).shape(Marker::Cross));
    for none in given.iter().filter(|b| b.exact.is_infinite()) {
        panel = panel.diverges("no α_{c} up to 10^{6}", none.gamma_sim, Direction::Up, OKABE_ITO[1]);
    }
    Ok(panel.aspect(0.72))
}
