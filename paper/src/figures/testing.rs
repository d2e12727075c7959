//! Helpers of the figures' tests: run a small study in memory, and spoil its rows.

use super::Reproduction;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing_studies::{Cell, Frame, Row, Value, compute_cells};

/// All cells of a study, collected.
pub(super) fn run(figure: &dyn Reproduction) -> Frame {
    let study = figure.study().unwrap();
    let cells = &study.cells;
    let mut rows: Vec<Vec<Row>> = vec![vec![]; cells.len()];
    let mut done = |at: usize, result: ebbing_studies::Result<Vec<Row>>| {
        rows[at] = result?;
        Ok(())
    };
    compute_cells(cells, &Sources::new(), 2, &Context::default(), &mut done).unwrap();
    let known: Vec<&str> = study.columns.iter().map(|c| c.name).collect();
    for name in rows.iter().flatten().flat_map(|row| &row.0).map(|(name, _)| name) {
        assert!(known.contains(&name.as_str()), "column {name} has no meaning");
    }
    assert!(cells.iter().all(|cell| cell.cost().flops > 0.0 && cell.cost().bytes > 0.0));
    let results: Vec<(&Cell, &[Row])> = cells.iter().zip(rows.iter().map(Vec::as_slice)).collect();
    Frame::collect(results)
}

/// Draws the first figure of a study, and counts its panels by their letters.
pub(super) fn svg_panels(study: &dyn Reproduction, frame: &Frame) -> usize {
    let (_, figure) = study.draw(frame).unwrap().swap_remove(0);
    assert!(!figure.caption_markup().is_empty());
    let svg = figure.to_svg().unwrap();
    svg.matches("font-weight=\"bold\"").count()
}

/// The same rows with the values of one column, where there are any, in the opposite order.
pub(super) fn reversed(frame: &Frame, name: &str) -> Frame {
    let values = frame.numbers(name).unwrap();
    let mut known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    let spoilt = values.iter().map(|v| if v.is_nan() { *v } else { known.pop().unwrap_or(f64::NAN) });
    frame.replaced(name, spoilt.map(Value::Number).collect()).unwrap()
}
