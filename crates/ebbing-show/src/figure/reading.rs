//! What a pointer over a figure can read off: where each panel's frame lies, its axes, its series and its cells.

use super::axis::{Axis, Scale};
use super::layers::Layer;
use super::layout::Slot;
use crate::text::Rich;
use serde::Serialize;

/// One panel of a drawing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PanelReading {
    /// Left, top, right and bottom of the frame in the units of the drawing's view box.
    pub frame: [f64; 4],
    /// The axis along x.
    pub x: AxisReading,
    /// The axis along y; its low end is at the bottom, but for the rows of a matrix.
    pub y: AxisReading,
    /// Lines and markers.
    pub series: Vec<SeriesReading>,
    /// The cells of a matrix.
    pub cells: Option<CellsReading>,
}

/// One axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisReading {
    /// Its name, plain text.
    pub name: String,
    /// The value at its low end.
    pub low: f64,
    /// The value at its high end.
    pub high: f64,
    /// Whether it is logarithmic.
    pub log: bool,
}

/// A line or markers. What is not finite is null in JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesReading {
    /// Its name, plain text.
    pub label: String,
    /// Where its values are.
    pub x: Vec<f64>,
    /// Its values.
    pub y: Vec<f64>,
}

/// The cells of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellsReading {
    /// What the numbers are.
    pub name: String,
    /// Names of the rows, the first at the top.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The values; none where a cell is left out.
    pub values: Vec<Vec<Option<f64>>>,
}

fn plain(markup: &str) -> String {
    Rich::parse(markup).plain()
}

impl AxisReading {
    fn of(axis: &Axis, name: &str) -> AxisReading {
        AxisReading { name: plain(name), low: axis.low, high: axis.high, log: axis.scale == Scale::Log }
    }
}

impl PanelReading {
    /// Of a panel that has its place, in a drawing that will be shifted by `margin`.
    pub(super) fn of(slot: &Slot, margin: f64) -> PanelReading {
        let (panel, r) = (slot.panel, slot.frame.rect);
        let series = |layer: &Layer| {
            let (label, x, y) = match layer {
                Layer::Line(line) => (&line.label, &line.x, &line.y),
                Layer::Markers(markers) => (&markers.label, &markers.x, &markers.y),
                _ => return None,
            };
            // A sample in the legend has no points.
            (!x.is_empty()).then(|| SeriesReading { label: plain(label), x: x.clone(), y: y.clone() })
        };
        let cells = panel.matrix.as_ref().map(|m| {
            let shown = |(row, values): (usize, &Vec<f64>)| {
                values.iter().enumerate().map(|(c, v)| m.shown[row][c].then_some(*v)).collect()
            };
            CellsReading {
                name: plain(&m.name),
                rows: m.rows.iter().map(|n| plain(n)).collect(),
                columns: m.columns.iter().map(|n| plain(n)).collect(),
                values: m.values.iter().enumerate().map(shown).collect(),
            }
        });
        PanelReading {
            frame: [r.x0 + margin, r.y0 + margin, r.x1 + margin, r.y1 + margin],
            x: AxisReading::of(&slot.frame.x, &panel.x_name),
            y: AxisReading::of(&slot.frame.y, &panel.y_name),
            series: panel.layers.iter().filter_map(series).collect(),
            cells,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::figure::{Figure, Line, Panel};
    use crate::{Matrix, Rgb};

    #[test]
    fn a_point_lies_where_the_axes_say() {
        let (x, y) = ([0.1, 1.0, 10.0], [0.2, 0.4, 0.9]);
        let curve = Panel::new().x("α").y("F_{21}").log_x().line(Line::new("theory", &x, &y).color(Rgb::BLACK));
        let matrix = Panel::matrix(&Matrix::tasks("F", &[vec![0.0, 1.0], vec![0.5, 0.0]]).only(|t, s| s <= t));
        let figure = Figure::grid(vec![matrix, curve], 2);
        let (svg, readings) = figure.to_svg_with_readings().unwrap();
        assert_eq!(readings, figure.readings().unwrap());
        let [cells, line] = &readings[..] else { panic!("two panels") };
        assert_eq!(cells.cells.as_ref().unwrap().values, [vec![Some(0.0), None], vec![Some(0.5), Some(0.0)]]);
        assert!(line.x.log && !line.y.log && line.y.name == "F₂₁" && line.series[0].label == "theory");
        // The line's middle point, x = 1 being the middle of 0.1 … 10, is drawn where the reading puts it.
        let [left, top, right, bottom] = line.frame;
        let (px, py) =
            ((left + right) / 2.0, bottom - (0.4 - line.y.low) / (line.y.high - line.y.low) * (bottom - top));
        let drawn = svg
            .lines()
            .any(|l| l.contains(&super::super::svg::coordinate(px)) && l.contains(&super::super::svg::coordinate(py)));
        assert!(drawn, "{px} {py}");
    }

    #[test]
    fn a_narrow_figure_has_its_panels_below_each_other() {
        let panel = || Panel::new().x("t").y("F").line(Line::new("", &[0.0, 1.0], &[0.0, 1.0]));
        let wide = Figure::grid(vec![panel(), panel()], 2);
        let [a, b] = [wide.clone(), wide.narrow()].map(|f| f.readings().unwrap());
        assert!(a[0].frame[2] < a[1].frame[0] && b[0].frame[3] < b[1].frame[1]);
        assert!(b[1].frame[2] < a[1].frame[2]);
    }
}
