//! The panels of figure 6.

use super::super::loads::{color, draw_limit, mean, means_by};
use super::claims::gaps;
use super::{BENCHMARKS, Benchmark, Fig6, critical_rows, percent};
use ebbing_show::loads::diagram as regimes;
use ebbing_show::{Band, Dash, Direction, Figure, Line, Marker, Markers, OKABE_ITO, Panel, Regime};
use ebbing_studies::{Frame, Result};

pub(super) fn draw(study: &Fig6, frame: &Frame) -> Result<Figure> {
    let mut panels = Vec::new();
    for benchmark in &BENCHMARKS {
        let given = critical_rows(frame, benchmark, "given")?;
        panels.push(similarity(benchmark, &given)?.letter(benchmark.letters[0]));
        panels.push(diagram(benchmark, &given)?.letter(benchmark.letters[1]));
        panels.push(gap(benchmark, &given, &critical_rows(frame, benchmark, "scaled")?)?.letter(' '));
        for (name, letter) in [("f21", benchmark.letters[2]), ("g22", ' '), ("u22", ' ')] {
            panels.push(curves(benchmark, frame, name)?.letter(letter));
        }
    }
    let caption = format!(
        "Similarity and regimes of two permuted (a to c) and two partially split (d to f) tasks of {} with a readout each, \
         one hidden layer, λ → ∞, P = {}. **a**, **d** γ_{{sim}} (bands: standard errors over {} draws). **b**, **e** Regimes \
         by the exact α_{{c}}; dashed: its estimate γ_{{sim}}^{{−2}}. Right of them, the estimate over the exact value, for \
         labels ±1 and for labels with YᵀK⁻¹Y/P = 1, which the estimate assumes. **c**, **f** For two ratios (one draw) \
         forgetting F_{{21}} of task 1, test loss G_{{22}} of task 2 over learning it alone and the norm of its readout; \
         arrows where they diverge (as 1/(1 − α) towards load 1, as λ^{{1/2}} above it), gray lines at the exact α_{{c}}.",
        study.setup.data_name(),
        study.setup.p,
        study.seeds,
    );
    Ok(Figure::grid(panels, 3).title("Similarity and phase diagrams of benchmark tasks").caption(&caption))
}

fn similarity(benchmark: &Benchmark, rows: &Frame) -> Result<Panel> {
    let (x, y, errors) = means_by(rows, "ratio", "gamma_sim")?;
    let end = |sign: f64| (0..y.len()).map(|k| y[k] + sign * errors[k]).collect::<Vec<f64>>();
    Ok(Panel::new()
        .x(benchmark.protocol.axis())
        .y("task similarity γ_{sim}")
        .y_range(-0.05, 1.05)
        .band(Band::new("", &x, &end(-1.0), &end(1.0)).category(0))
        .line(Line::new("", &x, &y).category(0)))
}

/// The highest load drawn.
const TOP: f64 = 100.0;

fn diagram(benchmark: &Benchmark, rows: &Frame) -> Result<Panel> {
    let (x, exact, _) = means_by(rows, "ratio", "alpha_c")?;
    let (_, gamma, _) = means_by(rows, "ratio", "gamma_sim")?;
    // A boundary beyond every load is drawn as one far above the frame, which clips it.
    let drawable = |a: f64| if a.is_finite() { a.clamp(1.0, 1e3 * TOP) } else { 1e3 * TOP };
    let exact: Vec<f64> = exact.into_iter().map(drawable).collect();
    let law: Vec<f64> = gamma.iter().map(|g| drawable(if *g > 0.0 { g.powi(-2) } else { f64::INFINITY })).collect();
    let mut panel = regimes(Panel::new().x(benchmark.protocol.axis()).y("load α = P/N"), &x, (0.3, TOP), &exact)
        .line(Line::new("exact α_{c}", &x, &exact).color(OKABE_ITO[6]).dash(Dash::Solid))
        .line(Line::new("γ_{sim}^{−2}", &x, &law).category(1).dash(Dash::Dashed));
    for (k, (ratio, _, _)) in benchmark.examples.into_iter().enumerate() {
        let here = mean(&rows.only("ratio", ratio)?, "alpha_c")?.value;
        panel = panel.markers(Markers::new("", &[ratio], &[here]).color(color(LOOKS[k])).shape(Marker::Circle));
    }
    Ok(panel.aspect(0.72))
}

fn gap(benchmark: &Benchmark, given: &Frame, scaled: &Frame) -> Result<Panel> {
    let mut panel = Panel::new()
        .x(benchmark.protocol.axis())
        .y("γ_{sim}^{−2} / exact α_{c}")
        .log_y()
        .x_range(0.0, 1.0)
        .horizontal("", 1.0);
    // Looks of their own: the boundaries and the examples of the other panels have the first ones.
    for (k, rows, label) in [(2, given, "labels ±1"), (3, scaled, "scaled labels")] {
        // Where a boundary is infinite there is no ratio.
        let shown = gaps(rows)?.into_iter().filter(|(_, gap)| gap.is_finite() && *gap > -1.0);
        let (x, y): (Vec<f64>, Vec<f64>) = shown.map(|(ratio, gap)| (ratio, 1.0 + gap)).unzip();
        panel = panel.line(Line::new(label, &x, &y).category(k));
    }
    Ok(panel)
}

/// The categories of the two examples.
const LOOKS: [usize; 2] = [5, 0];

fn curves(benchmark: &Benchmark, frame: &Frame, name: &str) -> Result<Panel> {
    let axis = match name {
        "f21" => "forgetting F_{21}",
        "g22" => "test loss G_{22}",
        _ => "|a_{2}|^{2}/N",
    };
    let mut panel = Panel::new().x("load α = P/N").y(axis).log_x().x_range(0.1, 10.0);
    panel = panel.regime(Regime::FixedRepresentations, 0.1, 1.0);
    if name != "f21" {
        panel = panel.log_y();
        for k in 0..2 {
            panel = panel.diverges("", 0.98 - 0.05 * k as f64, Direction::Up, color(LOOKS[k]));
        }
    }
    let draw = frame.only("protocol", benchmark.protocol)?.only("part", "curve")?.only("seed", 0usize)?;
    let mut rows = Vec::new();
    for (ratio, _, _) in benchmark.examples {
        let here = draw.only("ratio", ratio)?;
        let exact = mean(&here.only("labels", "given")?, "alpha_c")?.value;
        panel = panel.vertical("exact α_{c} of the ratio", exact);
        rows.push((percent(ratio), here.having("alpha", |_| true)?));
    }
    let curves: Vec<_> = (0..rows.len()).map(|k| (&rows[k].1, rows[k].0.as_str(), LOOKS[k])).collect();
    draw_limit(panel, &curves, name)
}
