//! The panels of figure S7 that theory draws.

use super::claims::critical;
use super::{Averaged, BENCHMARKS, Benchmark, FigS7, LAMBDAS, limits};
use ebbing_show::{Dash, Figure, Line, OKABE_ITO, Panel, Regime, Rgb};
use ebbing_studies::{Frame, Result};

pub(super) fn draw(study: &FigS7, frame: &Frame) -> Result<Figure> {
    let mut panels = Vec::new();
    for benchmark in &BENCHMARKS {
        let [curves, boundary] = benchmark.letters;
        panels.push(curve(benchmark, frame, "f21")?.letter(curves));
        panels.push(curve(benchmark, frame, "g22")?.letter(' '));
        panels.push(shift(benchmark, frame)?.letter(boundary));
    }
    let caption = format!(
        "An intermediate dataset that mixes two tasks in equal parts lowers the critical load: permuted (b, c) and partially \
         split (e, f) tasks of {}, a readout per dataset, one hidden layer, P = {}, λ = 10^{{6}} for ∞, {} draw(s). **b**, \
         **e** Forgetting of task 1 after the last dataset and test loss of task 2 over learning it alone without (S = 0) \
         and with one intermediate dataset (S = 1), at ratio {} and {}; dotted: exact α_{{c}} at S = 0. **c**, **f** Critical \
         load as the mid-height of G_{{22}} over loads from {:.2} to {:.0}, and at S = 0 the exact one and γ_{{sim}}^{{−2}}.",
        study.setup.data_name(),
        study.setup.p,
        study.seeds,
        BENCHMARKS[0].example,
        BENCHMARKS[1].example,
        study.above[0],
        study.above[study.above.len() - 1],
    );
    Ok(Figure::grid(panels, 3).title("Intermediate datasets lower the critical load").caption(&caption))
}

/// Gray without and blue with an intermediate dataset, as in the paper.
const LOOKS: [(Rgb, Dash); 2] = [(Rgb::GRAY, Dash::Dashed), (OKABE_ITO[0], Dash::Solid)];

fn curve(benchmark: &Benchmark, frame: &Frame, name: &str) -> Result<Panel> {
    let y = if name == "f21" { "forgetting of task 1" } else { "test loss G_{22}" };
    let mut panel = Panel::new().x("load α = P/N").y(y).log_x();
    panel = panel.regime(Regime::FixedRepresentations, 0.0, 1.0);
    if name == "g22" {
        panel = panel.log_y();
    }
    for (steps, (color, dash)) in LOOKS.into_iter().enumerate() {
        let curve = Averaged::new(frame, benchmark, benchmark.example, LAMBDAS[0], steps)?;
        let values = if name == "f21" { &curve.f21 } else { &curve.g22 };
        let line = Line::new(&format!("S = {steps}"), &curve.alphas, values);
        panel = panel.line(line.color(color).dash(dash));
    }
    Ok(panel.vertical("exact α_{c}, S = 0", limits(frame, benchmark, benchmark.example)?.0))
}

fn shift(benchmark: &Benchmark, frame: &Frame) -> Result<Panel> {
    let mut panel = Panel::new().x(benchmark.protocol.axis()).y("critical load α_{c}");
    let all = critical(benchmark, frame)?;
    let ratios: Vec<f64> = all.iter().map(|(ratio, _)| *ratio).collect();
    for (steps, (color, dash)) in LOOKS.into_iter().enumerate() {
        let values: Vec<f64> = all.iter().map(|(_, found)| found[steps]).collect();
        panel = panel.line(Line::new(&format!("S = {steps}, mid-height"), &ratios, &values).color(color).dash(dash));
    }
    let found = benchmark.ratios.iter().map(|&ratio| limits(frame, benchmark, ratio)).collect::<Result<Vec<_>>>()?;
    let (exact, law): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
    Ok(panel
        .line(Line::new("S = 0, exact", benchmark.ratios, &exact).color(OKABE_ITO[6]).dash(Dash::Solid))
        .line(Line::new("S = 0, γ_{sim}^{−2}", benchmark.ratios, &law).color(OKABE_ITO[1]).dash(Dash::Dotted)))
}
