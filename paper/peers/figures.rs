//! The figures of `docs/benchmarks.md`, from what the comparison measured.

use crate::{Done, Fallible};
use ebbing_show::{Bars, Dash, Figure, Line, Marker, Markers, Panel, Rgb};
use serde_json::{Value, from_value, json};
use std::path::Path;

/// Writes the figures `benchmarks` and `growth` to a folder.
pub fn draw(request: &Value) -> Fallible<Done> {
    let folder: String = from_value(request["folder"].clone())?;
    let growth: Vec<Growth> = from_value(request["growth"].clone())?;
    ratios(from_value(request["rows"].clone())?).save(Path::new(&folder), "benchmarks")?;
    Figure::grid(growth.iter().map(growth_panel).collect(), 2)
        .title("Growth of cost")
        .caption(
            "How the time of four works grows, on one thread and on two. Thin lines: the slopes that are expected for small \
             sizes (dashed, through the first time on one thread) and for large ones (solid, through the last).",
        )
        .save(Path::new(&folder), "growth")?;
    Ok((0.0, vec![], json!({})))
}

/// Ratios as bars, with the targets.
fn ratios(rows: Vec<(String, f64, f64)>) -> Figure {
    let names: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
    let (ratios, targets): (Vec<f64>, Vec<f64>) = rows.iter().map(|row| (row.1, row.2)).unzip();
    let places: Vec<f64> = (0..rows.len()).map(|k| k as f64).collect();
    let high = ratios.iter().chain(&targets).fold(10.0, |a: f64, b| a.max(*b));
    let panel = Panel::new()
        .y("times as fast as the peer")
        .log_y()
        .y_range(0.1, 10f64.powf(high.log10().ceil()))
        .grid()
        .aspect(0.4)
        .bars(Bars::new(&names).series("measured", &ratios))
        .markers(Markers::new("target", &places, &targets).color(Rgb::BLACK).shape(Marker::Diamond))
        .horizontal("", 1.0);
    Figure::wide(panel)
        .title("Ebbing's speed beside its peers'")
        .caption("The peer's time over ebbing's for every work of the table, and what it must be at least (diamonds).")
}

/// What, by what, sizes, seconds by the number of threads, expected slopes at small sizes and at large ones.
type Growth = (String, String, Vec<f64>, [(String, Vec<f64>); 2], [f64; 2]);

fn growth_panel((name, axis, sizes, seconds, [first, last]): &Growth) -> Panel {
    let mut panel = Panel::new().title(name).x(axis).y("time (s)").log_x().log_y();
    for (label, seconds) in seconds {
        panel = panel.markers(Markers::new(label, sizes, seconds));
    }
    // The slope at large sizes through the last time on one thread, that at small ones through the first.
    for (slope, anchor, dash) in [(last, sizes.len() - 1, Dash::Solid), (first, 0, Dash::Dashed)] {
        if dash == Dash::Solid || first != last {
            let at = |x: &f64| seconds[0].1[anchor] * (x / sizes[anchor]).powf(*slope);
            let line = Line::new(&format!("slope {slope}"), sizes, &sizes.iter().map(at).collect::<Vec<_>>());
            panel = panel.line(line.color(Rgb::GRAY).width(0.5).dash(dash));
        }
    }
    panel
}
