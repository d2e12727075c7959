//! Draws every kind of layer with made-up numbers: `cargo run -p ebbing-show --example gallery -- DIRECTORY`.

use std::path::Path;

use ebbing_show::{
    Band, Bars, Dash, Direction, Figure, Legend, Line, Map, Markers, Matrix, Metadata, OKABE_ITO, Panel, Regime, Rgb,
    Screen, Shown, Spread, Table,
};

fn grid(from: f64, to: f64, n: usize) -> Vec<f64> {
    (0..n).map(|k| from + (to - from) * k as f64 / (n - 1) as f64).collect()
}

fn log_grid(from: f64, to: f64, n: usize) -> Vec<f64> {
    grid(from.ln(), to.ln(), n).into_iter().map(f64::exp).collect()
}

fn each(x: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
    x.iter().map(|v| f(*v)).collect()
}

/// A line with a band, markers with error bars, on a log axis.
fn theory_and_experiment() -> Figure {
    let alpha = log_grid(0.1, 10.0, 80);
    let points = log_grid(0.12, 8.0, 9);
    let f = |scale: f64| move |a: f64| scale * a / (1.0 + a);
    let mut panel = Panel::new().x("α = *P*/*N*").y("F_{21}").log_x().grid();
    for (k, (name, scale)) in [("5 % permuted", 0.5), ("100 % permuted", 1.4)].into_iter().enumerate() {
        let mean = each(&alpha, f(scale));
        let wobble = |p: f64| f(scale)(p) * (1.0 + 0.06 * (17.0 * p).sin());
        panel = panel
            .band(Band::new(name, &alpha, &each(&mean, |m| m - 0.05), &each(&mean, |m| m + 0.05)))
            .line(Line::new(name, &alpha, &mean))
            .markers(Markers::new(name, &points, &each(&points, wobble)).errors(&vec![0.06; points.len()]).category(k));
    }
    Figure::single(panel).caption(
        "Forgetting of task 1 against load. Lines: theory; markers: trained networks. Bars and bands: standard deviation of 10 seeds.",
    )
}

/// Heat maps of matrices: signed, magnitudes with blank cells, and a large one.
fn matrices() -> Figure {
    let rows = |n: usize, f: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        (0..n).map(|i| (0..n).map(|j| f(i, j)).collect()).collect()
    };
    let conflict = Matrix::new("conflict", "task", "task", &rows(5, &|i, j| 0.3 * ((i * 3 + j * 5) as f64).sin()));
    let forgetting =
        Matrix::tasks("F_{ts}", &rows(5, &|i, j| if j < i { 0.9 * (1.0 - (-((i - j) as f64)).exp()) } else { 0.0 }))
            .only(|after, on| on <= after);
    let large = Matrix::tasks("F_{ts}", &rows(24, &|i, j| if j < i { 1.0 - 0.7f64.powi((i - j) as i32) } else { 0.0 }));
    let gap =
        Matrix::tasks("G_{ts}", &rows(3, &|i, j| if i == 1 && j == 1 { f64::NAN } else { 2e-4 * (i + j) as f64 }));
    let panels = [&conflict, &forgetting, &large, &gap].map(Panel::matrix).to_vec();
    Figure::grid(panels, 2)
        .caption("Matrices: **a** signed, **b** lower triangle, **c** too large for printed values, **d** with a gap.")
}

/// One matrix of ten tasks in a single figure.
fn ten_tasks() -> Figure {
    let f = |i: usize, j: usize| if j < i { 0.95 * (1.0 - 0.8f64.powi((i - j) as i32)) } else { 0.0 };
    let values: Vec<Vec<f64>> = (0..10).map(|i| (0..10).map(|j| f(i, j)).collect()).collect();
    Figure::single(Panel::matrix(&Matrix::tasks("F_{ts}", &values).only(|t, s| s < t))).caption("Ten tasks.")
}

/// The phase diagram: regimes between their boundaries, the exact boundary and its estimate.
fn phase_diagram() -> Figure {
    let ratio = grid(0.0, 1.0, 100);
    let critical = each(&ratio, |r| 1.0 + 8.0 * r * r + 2.0 * r);
    let level = |a: f64| vec![a; ratio.len()];
    let panel = Panel::new()
        .x("permutation ratio")
        .y("α")
        .log_y()
        .y_range(0.1, 10.0)
        .band(Band::regime(Regime::FixedRepresentations, &ratio, &level(0.1), &level(1.0)))
        .band(Band::regime(Regime::Overfitting, &ratio, &level(1.0), &critical))
        .band(Band::regime(Regime::Generalization, &ratio, &critical, &level(10.0)))
        .line(Line::new("exact α_{c}", &ratio, &critical).color(Rgb::BLACK))
        .line(
            Line::new("γ_{sim}^{−2}", &ratio, &each(&critical, |a| a.powf(1.1))).color(OKABE_ITO[1]).dash(Dash::Dashed),
        );
    Figure::single(panel).caption("Regimes of permuted MNIST.")
}

/// Maps over uneven grids: regimes and numbers.
fn maps() -> Figure {
    let ratio: Vec<f64> = [0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0].into();
    let alpha = log_grid(0.1, 10.0, 60);
    let critical = |r: f64| (1.0 + 8.0 * r * r + 2.0 * r).min(1e3);
    let regime = |r: f64, a: f64| match a {
        a if a < 1.0 => Regime::FixedRepresentations,
        a if a < critical(r) => Regime::Overfitting,
        _ => Regime::Generalization,
    };
    let cells: Vec<Vec<Regime>> = alpha.iter().map(|a| ratio.iter().map(|r| regime(*r, *a)).collect()).collect();
    let fine = grid(0.0, 1.0, 100);
    let diagram = Panel::new()
        .x("permutation ratio")
        .y("α")
        .log_y()
        .map(Map::regimes(&ratio, &alpha, &cells))
        .line(Line::new("exact α_{c}", &fine, &each(&fine, critical)).color(Rgb::BLACK))
        .line(
            Line::new("γ_{sim}^{−2}", &fine, &each(&fine, |r| critical(r) * (1.0 + 0.5 * r)))
                .color(OKABE_ITO[1])
                .dash(Dash::Dashed),
        );
    let value = |r: f64, a: f64| a.powf(1.5) * (0.05 + r);
    let numbers: Vec<Vec<f64>> = alpha.iter().map(|a| fine.iter().map(|r| value(*r, *a)).collect()).collect();
    let map = Panel::new()
        .x("permutation ratio")
        .y("α")
        .log_y()
        .map(Map::new("G_{22}", &fine, &alpha, &numbers).log())
        .line(Line::new("exact α_{c}", &fine, &each(&fine, critical)).color(Rgb::BLACK));
    Figure::grid(vec![diagram, map], 2).caption("Phase diagram of permuted MNIST.")
}

/// Regimes as tints behind a curve that diverges, on log axes; an infinite stretch, a gap.
fn divergence() -> Figure {
    let alpha = log_grid(0.1, 10.0, 200);
    let g = |a: f64| if a < 1.0 { 0.3 + a } else { (1.0 + 4.0 / (a - 3.0).abs().max(1e-9)).min(1e9) };
    let regimes = |p: Panel| {
        p.regime(Regime::FixedRepresentations, 0.0, 1.0).regime(Regime::Overfitting, 1.0, 3.0).regime(
            Regime::Generalization,
            3.0,
            f64::INFINITY,
        )
    };
    let a = regimes(Panel::new().x("α").y("G_{22}").log_x().y_range(0.0, 8.0))
        .line(Line::new("λ = 10^{4}", &alpha, &each(&alpha, g)))
        .diverges("∝ λ^{1/2}", 1.6, Direction::Up, OKABE_ITO[1]);
    let infinite = each(&alpha, |x| if (1.0..3.0).contains(&x) { f64::INFINITY } else { g(x) });
    let b = regimes(Panel::new().x("α").y("‖a_{2}‖^{2}/*N*").log_x().log_y())
        .line(Line::new("λ = ∞", &alpha, &infinite))
        .horizontal("", 1.0);
    let missing = each(&alpha, |x| if (0.5..0.7).contains(&x) { f64::NAN } else { -0.2 + x });
    let c = Panel::new().x("α").y("u_{11} − λ\u{303}").log_x().log_y().line(Line::new("with a gap", &alpha, &missing));
    Figure::grid(vec![a, b, c], 3).caption("Divergences.")
}

/// Seven categories of lines and markers, bars with errors, an annotation, names that do not fit.
fn categories() -> Figure {
    let x = grid(0.0, 1.0, 30);
    let points = grid(0.05, 0.95, 6);
    let mut lines = Panel::new().x("ρ_{shared}").y("γ_{RF}");
    let mut markers = Panel::new().x("ρ_{flip}").y("γ_{rule}").title("all markers").legend(Legend::Below);
    for k in 0..7 {
        let curve = |v: f64| (0.3 + 0.1 * k as f64) * (1.0 - v * v) + 0.02 * k as f64;
        lines = lines.line(Line::new(&format!("L = {}", 2 * k + 1), &x, &each(&x, curve)));
        markers = markers.markers(Markers::new(&format!("L = {}", 2 * k + 1), &points, &each(&points, curve)));
    }
    let bars = Panel::new().y("variance explained (%)").bars(
        Bars::new(&["γ_{feature}", "γ_{RF}", "γ_{rule}"])
            .series("τ_{F}", &[12.0, 71.0, 9.0])
            .errors(&[2.0, 4.0, 2.0])
            .series("F_{max}", &[5.0, 22.0, 60.0])
            .errors(&[1.0, 3.0, 5.0])
            .series("ΔF_{21}", &[3.0, 12.0, -8.0]),
    );
    let tasks: Vec<f64> = (1..=15).map(f64::from).collect();
    let curve = each(&tasks, |t| 0.8 * (1.0 - (-(t - 1.0) / 4.0).exp()));
    let fit = Panel::new()
        .x("tasks learned, *t*")
        .y("F_{t1}")
        .integer_x()
        .line(Line::new("fit", &tasks, &curve))
        .markers(
            Markers::new("forecast", &tasks, &each(&curve, |c| c + 0.01))
                .interval(&each(&curve, |c| c - 0.05), &each(&curve, |c| c + 0.06)),
        )
        .horizontal("F_{max}", 0.8);
    Figure::grid(vec![lines, markers, bars, fit], 2).caption("Categories.")
}

/// Large and small numbers, long names, hostile names.
fn extremes() -> Figure {
    let x = grid(0.0, 5e5, 6);
    let a = Panel::new()
        .x("steps of gradient descent")
        .y("loss on the training set of the first task")
        .line(Line::new("", &x, &each(&x, |v| 3e-7 * (1.0 - v / 6e5))));
    let hostile = ebbing_show::escape_markup("<b>& \"my_{data}*\" 漢");
    let b = Panel::new().x(&hostile).y("1/λ").log_y().title(&hostile).line(Line::new(
        &hostile,
        &log_grid(1.0, 2.0, 5),
        &log_grid(1e-12, 1e9, 5),
    ));
    let c = Panel::new()
        .x("x")
        .y("negative")
        .line(Line::new("small", &[0.0, 1.0], &[-0.031, -0.012]))
        .text(0.5, -0.03, "a note");
    Figure::grid(vec![a, b, c], 3).caption("Extremes.")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "gallery".into());
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    let figures = [
        ("line", theory_and_experiment()),
        ("matrices", matrices()),
        ("ten_tasks", ten_tasks()),
        ("phase", phase_diagram()),
        ("maps", maps()),
        ("divergence", divergence()),
        ("categories", categories()),
        ("extremes", extremes()),
    ];
    let metadata = Metadata::new("0.1.0", "gallery").seed(1).dataset("made up", "0000").settings(&[("depth", 3)])?;
    let values: Vec<Vec<f64>> = (0..12).map(|i| (0..12).map(|j| 0.1 * (i - j) as f64).collect()).collect();
    let matrix = Matrix::tasks("Forgetting F_{ts}", &values).only(|t, s| s <= t);
    let table = Table::new("Order parameters of consecutive tasks")
        .text("pair", &["1 → 2", "2 → 3"])
        .estimate("γ_{RF}", &[0.812, 0.56], Spread::StandardError, &[0.006, 0.03])
        .number("conflict", &[4.1e-7, -0.031])
        .number("time", &[1.53, 12.0])
        .unit("s");
    let sentences = vec![
        "Tasks 2 and 4 conflict most: similar features, different rules. Forecast forgetting of task 1 after five tasks is 0.31 ± 0.02.".into(),
    ];
    let notes = vec!["Assumes a wide network of ReLU units trained to zero squared loss.".into()];
    let tables = vec![table.clone().into(), matrix.clone().into()];
    let mut shown =
        Shown::new("Forecast for five permuted tasks", "", sentences, notes, tables).file("table", table.clone());
    for (name, figure) in figures {
        shown = shown.figure(name, figure);
    }
    shown.save(directory, &metadata)?;
    let screen = Screen::new("Forecast of forgetting for made-up tasks (P = 2000, depth 3, mode rf)");
    let screen =
        screen.table(&table)?.matrix(&matrix)?.next("report", &directory.join("report.html").display().to_string());
    print!("{}", screen.next("more", "ebbing phase --help").render_for_stdout());
    Ok(())
}
