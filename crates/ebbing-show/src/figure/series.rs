//! Draws lines, markers, bands, bars, tints, guides and arrows into a frame; what cannot be drawn becomes a note.

use super::canvas::{Anchor, CAP, Canvas, Label, Rect, Role, Shape, Stroke, polygon, polyline, rectangle};
use super::clip::{clip_area, clip_line};
use super::frame::Frame;
use super::layers::{Band, Bars, Direction, Layer, Line, Markers, SeriesStyle};
use super::marks::{arrow, draw_arrows, guide, tag};
use crate::style::{Dash, Marker, Rgb, category, size};
use crate::text::{PathCommand, Rich};

/// Color, dash and marker of a layer once its category is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    pub color: Rgb,
    pub dash: Dash,
    pub marker: Marker,
}

/// The looks of all layers: by default, the k-th line, the k-th markers and the k-th band belong together.
pub(crate) fn looks(layers: &[Layer]) -> Vec<Look> {
    let mut next = [0usize; 3];
    let mut look = |kind: usize, style: &SeriesStyle| {
        let k = style.category.unwrap_or(next[kind]);
        next[kind] = next[kind].max(k) + 1;
        Look {
            color: style.color.unwrap_or_else(|| category(k)),
            dash: style.dash.unwrap_or_else(|| Dash::category(k)),
            marker: style.marker.unwrap_or_else(|| Marker::category(k)),
        }
    };
    let plain = Look { color: Rgb::GRAY, dash: Dash::Solid, marker: Marker::Circle };
    let of = |layer: &Layer| match layer {
        Layer::Line(l) => look(0, &l.style),
        Layer::Markers(m) => look(1, &m.style),
        Layer::Band(b) if b.fill.is_none() => look(2, &b.style),
        _ => plain,
    };
    layers.iter().map(of).collect()
}

/// How strongly the band of a series is colored.
pub(crate) const BAND_OPACITY: f64 = 0.22;

/// Draws the tints that lie behind everything else, and says what could not be drawn.
pub(crate) fn draw_background(canvas: &mut Canvas, frame: &Frame, layer: &Layer) -> Option<String> {
    match layer {
        Layer::Span { from, to, tint, .. } => {
            let r = &frame.rect;
            // An end at infinity, or at or below zero on a log axis, means the end of the axis.
            let a = frame.x_at(*from).unwrap_or(if *from > 0.0 && from.is_finite() { r.x1 } else { r.x0 });
            let b = frame.x_at(*to).unwrap_or(if to.is_finite() { r.x0 } else { r.x1 });
            let (a, b) = (a.clamp(r.x0, r.x1), b.clamp(r.x0, r.x1));
            canvas.cell(Role::Tint, Rect::new(a, r.y0, b, r.y1), *tint);
            None
        }
        Layer::Band(band) => fill_band(canvas, frame, band, band.fill?, 1.0, Role::Tint),
        _ => None,
    }
}

/// Draws a layer and says what could not be drawn.
pub(crate) fn draw_layer(canvas: &mut Canvas, frame: &Frame, layer: &Layer, look: &Look) -> Option<String> {
    match layer {
        Layer::Line(line) => draw_line(canvas, frame, line, look),
        Layer::Markers(markers) => draw_markers(canvas, frame, markers, look),
        Layer::Band(band) if band.fill.is_none() => {
            fill_band(canvas, frame, band, look.color, BAND_OPACITY, Role::Data)
        }
        Layer::Bars(bars) => draw_bars(canvas, frame, bars),
        Layer::Horizontal { y, .. } => {
            let y = frame.y_at(*y)?;
            let (a, b) = ((frame.rect.x0, y), (frame.rect.x1, y));
            guide(canvas, frame, a, b, false)
        }
        Layer::Vertical { x, own, .. } => {
            let x = frame.x_at(*x)?;
            let (a, b) = ((x, frame.rect.y0), (x, frame.rect.y1));
            guide(canvas, frame, a, b, *own)
        }
        Layer::Divergence { x, direction, color, .. } => {
            let x = frame.x_at(*x)?;
            if (frame.rect.x0 - 0.1..=frame.rect.x1 + 0.1).contains(&x) {
                arrow(canvas, frame, x, *direction == Direction::Up, *color);
            }
            None
        }
        Layer::Tag { x, y, text } => {
            tag(canvas, frame, frame.point(*x, *y)?, text);
            None
        }
        Layer::Text { x, y, text } => {
            let (x, y) = frame.point(*x, *y)?;
            let label = Label::new(Rich::parse(text), x, y + CAP * size::SMALL / 2.0, Anchor::Middle, size::SMALL);
            canvas.label(Role::Note, label);
            None
        }
        _ => None,
    }
}

/// Counts what an axis cannot show, and words it.
#[derive(Default)]
struct Missing {
    not_finite: usize,
    infinite: usize,
    not_positive: usize,
    error_bars: usize,
}

impl Missing {
    fn count(&mut self, x: f64, y: f64) {
        if y.is_infinite() && x.is_finite() {
            self.infinite += 1;
        } else if !x.is_finite() || !y.is_finite() {
            self.not_finite += 1;
        } else {
            self.not_positive += 1;
        }
    }

    fn note(&self, what: &str) -> Option<String> {
        let kinds = [
            (self.not_finite, "not a number"),
            (self.infinite, "infinite (arrow)"),
            (self.not_positive, "not above 0 (log axis)"),
        ];
        let mut parts: Vec<String> = kinds
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, kind)| format!("{n} {} {kind}", if *n == 1 { "value" } else { "values" }))
            .collect();
        if self.error_bars > 0 {
            let n = self.error_bars;
            parts.push(format!("{n} error {} not a number", if n == 1 { "bar" } else { "bars" }));
        }
        (!parts.is_empty()).then(|| format!("{what}: {} not drawn", parts.join(", ")))
    }
}

fn name_of(label: &str, kind: &str) -> String {
    if label.is_empty() { kind.into() } else { label.into() }
}

/// Splits points at those that cannot be shown; returns the runs and the middles of infinite stretches.
fn runs(frame: &Frame, x: &[f64], y: &[f64], missing: &mut Missing) -> (Vec<Vec<(f64, f64)>>, Vec<(f64, bool)>) {
    let mut runs: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    let mut stretches: Vec<Vec<(f64, bool)>> = vec![Vec::new()];
    for (&a, &b) in x.iter().zip(y) {
        match frame.point(a, b) {
            Some(p) => {
                runs.last_mut().into_iter().for_each(|r| r.push(p));
                stretches.push(Vec::new());
            }
            None => {
                missing.count(a, b);
                runs.push(Vec::new());
                if let (true, Some(px)) = (b.is_infinite(), frame.x_at(a)) {
                    stretches.last_mut().into_iter().for_each(|s| s.push((px, b > 0.0)));
                }
            }
        }
    }
    runs.retain(|r| !r.is_empty());
    let arrows = stretches.iter().filter_map(|s| s.get(s.len() / 2).copied()).collect();
    (runs, arrows)
}

fn draw_line(canvas: &mut Canvas, frame: &Frame, line: &Line, look: &Look) -> Option<String> {
    let mut missing = Missing::default();
    let (runs, mut arrows) = runs(frame, &line.x, &line.y, &mut missing);
    for run in &runs {
        let (pieces, exits) = clip_line(run, &frame.rect);
        for piece in pieces {
            let width = line.width.unwrap_or(size::DATA_LINE);
            if frame.on_map {
                canvas.stroke(Role::Data, polyline(&piece), Rgb::WHITE, width + 1.6, &[]);
            }
            canvas.stroke(Role::Data, polyline(&piece), look.color, width, look.dash.pattern());
        }
        arrows.extend(exits.iter().map(|e| (e.x, e.up)));
    }
    if frame.marks_exits {
        draw_arrows(canvas, frame, arrows, look.color);
    }
    missing.note(&name_of(&line.label, "line"))
}

fn draw_markers(canvas: &mut Canvas, frame: &Frame, markers: &Markers, look: &Look) -> Option<String> {
    let mut missing = Missing::default();
    let mut arrows = Vec::new();
    for (k, (&x, &y)) in markers.x.iter().zip(&markers.y).enumerate() {
        if let (Some((low, high)), Some(px)) = (&markers.bars, frame.x_at(x)) {
            error_bar(canvas, frame, px, low[k], high[k], look.color);
            missing.error_bars += usize::from(!y.is_nan() && (low[k].is_nan() || high[k].is_nan()));
        }
        match frame.point(x, y) {
            None => {
                missing.count(x, y);
                if let (true, Some(px)) = (y.is_infinite(), frame.x_at(x)) {
                    arrows.push((px, y > 0.0));
                }
            }
            Some(p) if frame.rect.grown(0.1).contains(p) => marker(canvas, Role::Data, p, look),
            Some((px, py)) => {
                if (frame.rect.x0 - 0.1..=frame.rect.x1 + 0.1).contains(&px) {
                    arrows.push((px, py < frame.rect.y0));
                }
            }
        }
    }
    draw_arrows(canvas, frame, arrows, look.color);
    missing.note(&name_of(&markers.label, "markers"))
}

/// A bar from `low` to `high`; an end that cannot be shown (such as below zero on a log axis) reaches the frame.
fn error_bar(canvas: &mut Canvas, frame: &Frame, x: f64, low: f64, high: f64, color: Rgb) {
    if low.is_nan() || high.is_nan() || !(frame.rect.x0 - 0.1..=frame.rect.x1 + 0.1).contains(&x) {
        return;
    }
    let r = &frame.rect;
    let bottom = frame.y_at(low).unwrap_or(r.y1);
    let top = frame.y_at(high).unwrap_or(if high > 0.0 { r.y0 } else { r.y1 });
    let (a, b) = (top.clamp(r.y0, r.y1), bottom.clamp(r.y0, r.y1));
    canvas.segment(Role::Data, (x, a), (x, b), color, size::THIN_LINE * 1.3);
    let cap = 1.6;
    for (end, true_end) in [(a, top), (b, bottom)] {
        if end == true_end {
            canvas.segment(Role::Data, (x - cap, end), (x + cap, end), color, size::THIN_LINE * 1.3);
        }
    }
}

/// The outline of a marker of radius `r`; plus and cross are strokes, the others areas.
pub(crate) fn marker(canvas: &mut Canvas, role: Role, (x, y): (f64, f64), look: &Look) {
    let r = size::MARKER;
    let at = |points: &[(f64, f64)]| points.iter().map(|(a, b)| (x + r * a, y + r * b)).collect::<Vec<_>>();
    let outline = match look.marker {
        Marker::Circle => circle(x, y, r),
        Marker::Square => polygon(&at(&[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)])),
        Marker::Up => polygon(&at(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)])),
        Marker::Down => polygon(&at(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)])),
        Marker::Diamond => polygon(&at(&[(0.0, -1.25), (1.05, 0.0), (0.0, 1.25), (-1.05, 0.0)])),
        Marker::Plus | Marker::Cross => {
            let d = if look.marker == Marker::Plus { [(1.1, 0.0), (0.0, 1.1)] } else { [(0.85, 0.85), (0.85, -0.85)] };
            for (a, b) in d {
                let ends = at(&[(-a, -b), (a, b)]);
                canvas.segment(role, ends[0], ends[1], look.color, 1.1);
            }
            return;
        }
    };
    canvas.fill(role, outline.clone(), look.color, 1.0);
    canvas.stroke(role, outline, Rgb::WHITE, 0.4, &[]);
}

/// A circle of four Bézier arcs.
fn circle(x: f64, y: f64, r: f64) -> Vec<PathCommand> {
    let k = 0.5522847498 * r;
    vec![
        PathCommand::Move(x + r, y),
        PathCommand::Cubic(x + r, y + k, x + k, y + r, x, y + r),
        PathCommand::Cubic(x - k, y + r, x - r, y + k, x - r, y),
        PathCommand::Cubic(x - r, y - k, x - k, y - r, x, y - r),
        PathCommand::Cubic(x + k, y - r, x + r, y - k, x + r, y),
        PathCommand::Close,
    ]
}

fn fill_band(canvas: &mut Canvas, frame: &Frame, band: &Band, color: Rgb, opacity: f64, role: Role) -> Option<String> {
    let mut missing = Missing::default();
    let mut stretch: (Vec<(f64, f64)>, Vec<(f64, f64)>) = Default::default();
    let mut flush = |stretch: &mut (Vec<(f64, f64)>, Vec<(f64, f64)>)| {
        let outline: Vec<_> = stretch.0.iter().copied().chain(stretch.1.iter().rev().copied()).collect();
        let visible = clip_area(&outline, &frame.rect);
        if visible.len() > 2 {
            // The rim of an opaque area reaches under its neighbor, so that no seam shows between regimes.
            let rim = Stroke { color, width: 0.8, dash: &[] };
            let stroke = (opacity == 1.0).then_some(rim);
            canvas
                .shape(role, Shape { commands: polygon(&visible), fill: Some((color, opacity)), stroke, crisp: false });
        }
        *stretch = Default::default();
    };
    for ((&x, &low), &high) in band.x.iter().zip(&band.low).zip(&band.high) {
        // A regime whose lower boundary lies above its upper one does not exist there.
        let high = if band.fill.is_some() && high < low { low } else { high };
        // An end that is infinite, or below zero on a log axis, reaches beyond the frame.
        let far = 1e3 * frame.rect.height();
        let bottom = frame.y_at(low).or((!low.is_nan() && low <= 0.0).then_some(frame.rect.y1 + far));
        let top = frame.y_at(high).or((high == f64::INFINITY).then_some(frame.rect.y0 - far));
        match (frame.x_at(x), bottom, top) {
            (Some(px), Some(b), Some(t)) => {
                stretch.0.push((px, b));
                stretch.1.push((px, t));
            }
            _ => {
                missing.count(x, f64::NAN);
                flush(&mut stretch);
            }
        }
    }
    flush(&mut stretch);
    missing.note(&name_of(&band.label, "band"))
}

/// Where bar `s` of `n` in the group at `k` begins and ends along x.
fn bar_sides(k: usize, s: usize, n: usize) -> (f64, f64) {
    let group = 0.76;
    let width = group / n as f64;
    let left = k as f64 - group / 2.0 + s as f64 * width;
    (left + 0.02, left + width - 0.02)
}

fn draw_bars(canvas: &mut Canvas, frame: &Frame, bars: &Bars) -> Option<String> {
    let mut missing = Missing::default();
    let n = bars.series.len();
    let floor = frame.y_at(0.0).unwrap_or(frame.rect.y1).clamp(frame.rect.y0, frame.rect.y1);
    let mut arrows = Vec::new();
    for (s, (_, heights)) in bars.series.iter().enumerate() {
        for (k, &h) in heights.iter().enumerate() {
            let (left, right) = bar_sides(k, s, n);
            let (Some(a), Some(b)) = (frame.x_at(left), frame.x_at(right)) else { continue };
            let middle = (a + b) / 2.0;
            let Some(y) = frame.y_at(h) else {
                missing.count(0.0, h);
                if h.is_infinite() {
                    arrows.push((middle, h > 0.0));
                }
                continue;
            };
            let end = y.clamp(frame.rect.y0, frame.rect.y1);
            if y != end {
                arrows.push((middle, y < end));
            }
            let rect = Rect::new(a, floor, b, end);
            canvas.fill(Role::Data, rectangle(&rect), category(s), 1.0);
            hatch(canvas, &rect, s);
            if let Some(e) = bars.errors[s].as_ref().map(|e| e[k]) {
                error_bar(canvas, frame, middle, h - e, h + e, Rgb::BLACK);
                missing.error_bars += usize::from(e.is_nan());
            }
        }
    }
    canvas.segment(Role::Frame, (frame.rect.x0, floor), (frame.rect.x1, floor), Rgb::BLACK, size::THIN_LINE);
    draw_arrows(canvas, frame, arrows, Rgb::BLACK);
    missing.note("bars")
}

/// White lines across the bars of all series but the first, so that they differ without color too.
pub(crate) fn hatch(canvas: &mut Canvas, rect: &Rect, series: usize) {
    let slope: &[f64] = match series % 4 {
        0 => &[],
        1 => &[1.0],
        2 => &[-1.0],
        _ => &[1.0, -1.0],
    };
    for m in slope {
        let mut offset = -rect.height();
        while offset < rect.width() {
            let (a, b) = if *m > 0.0 { (rect.y1, rect.y0) } else { (rect.y0, rect.y1) };
            let line = [(rect.x0 + offset, a), (rect.x0 + offset + rect.height(), b)];
            for piece in clip_line(&line, rect).0 {
                canvas.stroke(Role::Tint, polyline(&piece), Rgb::WHITE, 0.7, &[]);
            }
            offset += 3.4;
        }
    }
}
