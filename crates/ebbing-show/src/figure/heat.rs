//! Heat maps: matrices with square cells, maps over uneven axes, and their color bars.

use super::axis::{Axis, MOST, Scale};
use super::canvas::{Anchor, CAP, Canvas, Label, Rect, Role};
use super::frame::Frame;
use super::layers::{Cells, Layer, Map};
use super::layout::{LEADING, wrap};
use super::panel::Panel;
use crate::matrix::Matrix;
use crate::style::{ColorScale, Rgb, size, tint, with_minus};
use crate::text::{Rich, text_width};

/// Largest matrix whose values are printed in the cells.
const PRINTED: usize = 10;
/// Color of a cell without a value.
const NO_VALUE: Rgb = Rgb(200, 200, 200);
/// How far a cell reaches under its later neighbors, pt: more than a pixel of any viewer, so that no seam shows.
const UNDERLAP: f64 = 3.0;

/// From numbers to colors.
#[derive(Clone, Debug)]
pub(crate) struct ColorAxis {
    pub axis: Axis,
    pub scale: ColorScale,
    /// Name at the bar (markup).
    pub name: String,
    /// The name with the power of ten taken out of the tick labels, in as many lines as it needs.
    pub lines: Vec<String>,
}

impl ColorAxis {
    fn new(name: &str, values: impl Iterator<Item = f64>, range: Option<(f64, f64)>, log: bool) -> ColorAxis {
        let usable = |v: &f64| v.is_finite() && (!log || *v > 0.0);
        let seen = values.filter(usable).fold(None, |r: Option<(f64, f64)>, v| {
            let (a, b) = r.unwrap_or((v, v));
            Some((a.min(v), b.max(v)))
        });
        let (low, high) = range.or(seen).unwrap_or((0.0, 1.0));
        let (low, high, scale) = match (log, low < 0.0) {
            (true, _) => (low, high, ColorScale::Magnitude),
            (false, true) => (-high.abs().max(low.abs()), high.abs().max(low.abs()), ColorScale::Signed),
            (false, false) if range.is_some() => (low, high, ColorScale::Magnitude),
            (false, false) => (0.0, if high > 0.0 { high } else { 1.0 }, ColorScale::Magnitude),
        };
        let axis = Axis::new(if log { Scale::Log } else { Scale::Linear }, low, high, !log, MOST);
        let mut colors = ColorAxis { axis, scale, name: name.into(), lines: Vec::new() };
        colors.wrap(f64::INFINITY);
        colors
    }

    /// The color bar that a panel needs.
    pub fn of(panel: &Panel) -> Option<ColorAxis> {
        if let Some(m) = &panel.matrix {
            return Some(ColorAxis::new(&m.name, m.cells().map(|(_, _, v)| v), None, false));
        }
        panel.layers.iter().find_map(|layer| match layer {
            Layer::Map(Map { cells: Cells::Numbers { values, log }, name, range, .. }) => {
                Some(ColorAxis::new(name, values.iter().flatten().copied(), *range, *log))
            }
            _ => None,
        })
    }

    fn color(&self, value: f64) -> Rgb {
        match self.axis.share(value) {
            Some(share) => self.scale.at(share),
            None if value == f64::INFINITY => self.scale.at(1.0),
            None if value == f64::NEG_INFINITY => self.scale.at(0.0),
            None => NO_VALUE,
        }
    }

    /// Breaks its name into lines beside a bar of this height, and says whether their number changed.
    pub fn wrap(&mut self, height: f64) -> bool {
        let before = self.lines.len();
        self.lines = wrap(&with_factor(&self.name, self.axis.factor), size::NORMAL, height);
        self.lines.len() != before
    }

    /// Width of the bar with its labels, pt.
    pub fn room(&self) -> f64 {
        let labels = self.axis.ticks.iter().map(|t| text_width(&Rich::parse(&t.label), size::SMALL, false));
        let further = self.lines.len().saturating_sub(1) as f64 * size::NORMAL * LEADING;
        let name = if self.name.is_empty() { 0.0 } else { 4.0 + size::NORMAL + further };
        7.0 + BAR + size::TICK + 2.0 + labels.fold(0.0, f64::max) + name + 2.0
    }
}

/// Width of a color bar, pt.
const BAR: f64 = 7.0;

/// An axis name with its factor: `F_{21} (10^{−4})`.
pub(crate) fn with_factor(name: &str, factor: Option<i32>) -> String {
    match factor {
        Some(power) => format!("{name} (10^{{{}}})", with_minus(&power.to_string())).trim_start().to_owned(),
        None => name.into(),
    }
}

/// Draws the bar to the right of the frame.
pub(crate) fn draw_bar(canvas: &mut Canvas, frame: &Rect, colors: &ColorAxis) {
    // Neighboring steps differ by less than an eye sees.
    const STEPS: usize = 64;
    let (x0, x1) = (frame.x1 + 7.0, frame.x1 + 7.0 + BAR);
    for k in 0..STEPS {
        let edge = |k: usize| frame.y0 + frame.height() * k as f64 / STEPS as f64;
        let color = colors.scale.at(1.0 - (k as f64 + 0.5) / STEPS as f64);
        canvas.cell(Role::Data, Rect::new(x0, edge(k), x1, (edge(k + 1) + UNDERLAP).min(frame.y1)), color);
    }
    for y in colors.axis.minor.iter().filter_map(|v| colors.axis.share(*v)).map(|s| frame.y1 - s * frame.height()) {
        canvas.segment(Role::Frame, (x1, y), (x1 + size::TICK / 2.0, y), Rgb::BLACK, size::THIN_LINE);
    }
    let mut widest = 0.0f64;
    for tick in &colors.axis.ticks {
        let Some(share) = colors.axis.share(tick.value) else { continue };
        let y = frame.y1 - share * frame.height();
        canvas.segment(Role::Frame, (x1, y), (x1 + size::TICK, y), Rgb::BLACK, size::THIN_LINE);
        let at = (x1 + size::TICK + 2.0, y + CAP * size::SMALL / 2.0);
        let label = Label::new(Rich::parse(&tick.label), at.0, at.1, Anchor::Start, size::SMALL);
        widest = widest.max(label.width());
        canvas.label(Role::TickY, label);
    }
    let x = x1 + size::TICK + 2.0 + widest + 4.0 + CAP * size::NORMAL;
    for (k, line) in colors.lines.iter().enumerate() {
        let at = (x + k as f64 * size::NORMAL * LEADING, (frame.y0 + frame.y1) / 2.0);
        let name = Label::new(Rich::parse(line), at.0, at.1, Anchor::Middle, size::NORMAL);
        canvas.label(Role::Name, Label { upwards: true, ..name });
    }
}

/// Edges of the cells around grid points: halfway between neighbors (on the axis' own scale), cut at the ends.
fn edges(points: &[f64], at: impl Fn(f64) -> Option<f64>) -> Option<Vec<f64>> {
    let places: Option<Vec<f64>> = points.iter().map(|p| at(*p)).collect();
    let places = places?;
    let mut edges = vec![places[0]];
    edges.extend(places.windows(2).map(|w| (w[0] + w[1]) / 2.0));
    edges.push(places[places.len() - 1]);
    Some(edges)
}

/// Draws a map row by row; neighbors of one color become one rectangle. Says what has no color of its own.
pub(crate) fn draw_map(canvas: &mut Canvas, frame: &Frame, map: &Map, colors: Option<&ColorAxis>) -> Option<String> {
    let (Some(xs), Some(ys)) = (edges(&map.x, |v| frame.x_at(v)), edges(&map.y, |v| frame.y_at(v))) else {
        return Some(format!("map {}: an axis value is not above 0 on a log axis; nothing drawn", map.name));
    };
    let color = |j: usize, i: usize| match &map.cells {
        Cells::Regimes(regimes) => tint(regimes[j][i]),
        Cells::Numbers { values, .. } => colors.map_or(NO_VALUE, |c| c.color(values[j][i])),
    };
    let (rows, columns) = (map.y.len(), map.x.len());
    let inside = |r: Rect| {
        let f = &frame.rect;
        let clamp = |x: f64, a: f64, b: f64| x.clamp(a, b);
        let (y0, y1) = (clamp(r.y0, f.y0, f.y1), clamp(r.y1, f.y0, f.y1));
        Rect::new(clamp(r.x0, f.x0, f.x1), y0, clamp(r.x1, f.x0, f.x1), y1)
    };
    // From the top, so that each row reaches under the next.
    for j in (0..rows).rev() {
        let mut start = 0;
        while start < columns {
            let c = color(j, start);
            let end = (start..columns).take_while(|i| color(j, *i) == c).count() + start;
            let right = if end < columns { UNDERLAP } else { 0.0 };
            let below = if j > 0 { UNDERLAP } else { 0.0 };
            let cell = inside(Rect::new(xs[start], ys[j + 1], xs[end] + right, ys[j] + below));
            if cell.width() > 0.0 && cell.height() > 0.0 {
                canvas.cell(Role::Data, cell, c);
            }
            start = end;
        }
    }
    note_of_map(map, colors)
}

fn cells_have(n: usize) -> String {
    if n == 1 { "1 cell has".into() } else { format!("{n} cells have") }
}

fn note_of_map(map: &Map, colors: Option<&ColorAxis>) -> Option<String> {
    let (Cells::Numbers { values, log }, Some(colors)) = (&map.cells, colors) else { return None };
    let (low, high) = (colors.axis.low, colors.axis.high);
    let slack = 1e-9 * low.abs().max(high.abs());
    let no_value = |v: f64| v.is_nan() || (*log && v <= 0.0);
    let all = || values.iter().flatten().copied();
    let gray = all().filter(|v| no_value(*v)).count();
    let beyond = all().filter(|v| !no_value(*v) && (*v > high + slack || *v < low - slack)).count();
    let mut parts = Vec::new();
    if gray > 0 {
        parts.push(format!("{} no value{} (gray)", cells_have(gray), if *log { " above 0" } else { "" }));
    }
    if beyond > 0 {
        parts.push(format!("{} a value beyond the color bar, shown in the color of its end", cells_have(beyond)));
    }
    (!parts.is_empty())
        .then(|| format!("{}: {}", if map.name.is_empty() { "map" } else { &map.name }, parts.join("; ")))
}

/// Texts of the cells with a common power of ten, if the matrix is small enough and they fit a cell of this width.
struct CellTexts {
    decimals: usize,
    short: bool,
    factor: Option<i32>,
}

impl CellTexts {
    /// The most digits that fit.
    fn fitting(matrix: &Matrix, cell: f64) -> Option<CellTexts> {
        CellTexts::choices(matrix).find(|t| t.widest(matrix) <= cell - 2.0)
    }

    fn choices(matrix: &Matrix) -> impl Iterator<Item = CellTexts> {
        let small = matrix.rows.len() <= PRINTED && matrix.columns.len() <= PRINTED;
        let largest = matrix.cells().filter(|(_, _, v)| v.is_finite()).fold(0.0f64, |m, (_, _, v)| m.max(v.abs()));
        let power = if largest > 0.0 { (largest * (1.0 + 1e-12)).log10().floor() as i32 } else { 0 };
        // Numbers as the color bar has them, down to thousandths; beyond that a power of ten is taken out.
        let factor = (!(-3..=3).contains(&power)).then_some(power);
        let (decimals, fewest) = match power {
            _ if factor.is_some() => (2, 1),
            -3..=-2 => (1 - power, -power),
            _ => ((2 - power.max(0)).max(0), (2 - power.max(0)).clamp(0, 1)),
        };
        let (decimals, fewest) = (decimals as usize, fewest as usize);
        let options = (fewest..=decimals).rev().flat_map(|d| [(d, false), (d, true)]);
        options.filter(move |_| small).map(move |(decimals, short)| CellTexts { decimals, short, factor })
    }

    fn text(&self, value: f64) -> String {
        if !value.is_finite() {
            return if value.is_nan() { "nan".into() } else { with_minus(if value > 0.0 { "∞" } else { "-∞" }) };
        }
        let places = self.decimals;
        let text = format!("{:.places$}", value / 10f64.powi(self.factor.unwrap_or(0)));
        if !text.contains(|c: char| ('1'..='9').contains(&c)) {
            return "0".into();
        }
        let text = with_minus(&text);
        if self.short { text.replacen("0.", ".", usize::from(value.abs() < 1.0)) } else { text }
    }

    fn widest(&self, matrix: &Matrix) -> f64 {
        let width = |v: f64| text_width(&Rich::parse(&self.text(v)), size::SMALL, false);
        matrix.cells().fold(0.0, |w, (_, _, v)| w.max(width(v)))
    }
}

/// The width of a cell that its printed value needs, pt; 0 where values are not printed.
pub(crate) fn cell_for_text(matrix: &Matrix) -> f64 {
    CellTexts::choices(matrix).last().map_or(0.0, |t| t.widest(matrix) + 2.0)
}

/// A thin line around the cells, so that white ones at the border do not look blank.
fn outline(canvas: &mut Canvas, frame: &Frame, matrix: &Matrix) {
    let r = &frame.rect;
    let (w, h) = (r.width() / matrix.columns.len() as f64, r.height() / matrix.rows.len() as f64);
    let shown = |i: isize, j: isize| {
        let row = usize::try_from(i).ok().and_then(|i| matrix.shown.get(i));
        usize::try_from(j).ok().and_then(|j| row?.get(j).copied()).unwrap_or(false)
    };
    for (i, j, _) in matrix.cells() {
        let (x, y) = (r.x0 + j as f64 * w, r.y0 + i as f64 * h);
        let (i, j) = (i as isize, j as isize);
        let sides = [
            (shown(i - 1, j), (x, y), (x + w, y)),
            (shown(i + 1, j), (x, y + h), (x + w, y + h)),
            (shown(i, j - 1), (x, y), (x, y + h)),
            (shown(i, j + 1), (x + w, y), (x + w, y + h)),
        ];
        for (_, a, b) in sides.iter().filter(|s| !s.0) {
            canvas.segment(Role::Frame, *a, *b, NO_VALUE, size::THIN_LINE);
        }
    }
}

/// Draws the cells of a matrix; a NaN is a gray cell, a cell without meaning stays blank. Says what must be noted.
pub(crate) fn draw_matrix(canvas: &mut Canvas, frame: &Frame, matrix: &Matrix, colors: &ColorAxis) -> Vec<String> {
    let (rows, columns) = (matrix.rows.len(), matrix.columns.len());
    let r = &frame.rect;
    let (w, h) = (r.width() / columns as f64, r.height() / rows as f64);
    let shown = |i: usize, j: usize| i < rows && j < columns && matrix.shown[i][j];
    for (i, j, v) in matrix.cells() {
        let right = if shown(i, j + 1) { UNDERLAP.min(w) } else { 0.0 };
        let below = if shown(i + 1, j) { UNDERLAP.min(h) } else { 0.0 };
        let (x, y) = (r.x0 + j as f64 * w, r.y0 + i as f64 * h);
        // The corner under the diagonal neighbor must not stick out where that one is blank.
        let corner = if below > 0.0 && shown(i + 1, j + 1) { right } else { 0.0 };
        canvas.cell(Role::Data, Rect::new(x, y, x + w + corner, y + h + below), colors.color(v));
        if right > corner {
            canvas.cell(Role::Data, Rect::new(x, y, x + w + right, y + h), colors.color(v));
        }
    }
    if colors.scale == ColorScale::Signed {
        outline(canvas, frame, matrix);
    }
    let mut notes = Vec::new();
    if let Some(texts) = CellTexts::fitting(matrix, w) {
        for (i, j, v) in matrix.cells() {
            let (x, y) = (r.x0 + (j as f64 + 0.5) * w, r.y0 + (i as f64 + 0.5) * h + CAP * size::SMALL / 2.0);
            let mut label = Label::new(Rich::parse(&texts.text(v)), x, y, Anchor::Middle, size::SMALL);
            label.color = colors.color(v).ink();
            canvas.label(Role::Cell, label);
        }
        if let Some(power) = texts.factor.filter(|p| colors.axis.factor != Some(*p)) {
            let power = with_minus(&power.to_string());
            notes.push(format!("{}: values in cells in units of 10^{{{power}}}", matrix.name));
        }
    }
    let nan = matrix.cells().filter(|(_, _, v)| v.is_nan()).count();
    if nan > 0 {
        notes.push(format!("{}: {} no value (gray)", matrix.name, cells_have(nan)));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_values_have_white_at_zero() {
        let c = ColorAxis::new("F", [-0.2, 0.7].into_iter(), None, false);
        assert_eq!(c.color(0.0), Rgb::WHITE);
        assert_eq!(c.color(0.7), ColorScale::Signed.at(1.0));
        assert_eq!(c.color(f64::NAN), NO_VALUE);
    }

    #[test]
    fn magnitudes_start_at_zero() {
        let c = ColorAxis::new("F", [0.3, 0.6].into_iter(), None, false);
        assert_eq!(c.color(0.0), ColorScale::Magnitude.at(0.0));
        assert_eq!(c.color(0.6), ColorScale::Magnitude.at(1.0));
        assert_eq!(c.color(f64::INFINITY), ColorScale::Magnitude.at(1.0));
    }

    #[test]
    fn cell_texts_shorten_to_fit() {
        let m = Matrix::tasks("F", &[vec![0.812, -0.05], vec![0.0, 0.5]]);
        let wide = CellTexts::fitting(&m, 40.0).unwrap();
        assert_eq!(wide.text(0.812), "0.81");
        let narrow = CellTexts::fitting(&m, cell_for_text(&m)).unwrap();
        assert!(narrow.text(0.812).starts_with('.'));
        assert!(CellTexts::fitting(&m, cell_for_text(&m) - 1.0).is_none());
        let large = Matrix::tasks("F", &vec![vec![0.5; 11]; 11]);
        assert!(CellTexts::fitting(&large, 1e3).is_none(), "values are printed up to 10 × 10");
    }
}
