//! Draws placed panels: data, axes, names, letters, legends and notes.

use super::canvas::{Anchor, CAP, Canvas, Ink, Label, Rect, Role, polyline, rectangle};
use super::heat::{draw_bar, draw_map, draw_matrix};
use super::layers::Layer;
use super::layout::{LEADING, Place, Slot, inset, wrap};
use super::legend;
use super::series::{draw_background, draw_layer};
use crate::style::{Rgb, size};
use crate::text::Rich;

/// Bands lie under bars and guides, lines over them, markers over lines, arrows and texts on top.
fn depth(layer: &Layer) -> usize {
    match layer {
        Layer::Map(_) | Layer::Span { .. } => 0,
        Layer::Band(_) => 1,
        Layer::Bars(_) => 2,
        Layer::Horizontal { .. } | Layer::Vertical { .. } => 3,
        Layer::Line(_) => 4,
        Layer::Markers(_) => 5,
        Layer::Divergence { .. } | Layer::Text { .. } => 6,
        Layer::Tag { .. } => 7,
    }
}

/// Draws the axes and everything inside the frame, and says what could not be drawn.
pub(crate) fn draw_data(canvas: &mut Canvas, slot: &Slot) -> Vec<String> {
    let mut notes = Vec::new();
    let (panel, frame) = (slot.panel, &slot.frame);
    for layer in &panel.layers {
        notes.extend(draw_background(canvas, frame, layer));
        if let Layer::Map(map) = layer {
            notes.extend(draw_map(canvas, frame, map, slot.colors.as_ref()));
        }
    }
    if let (Some(matrix), Some(colors)) = (&panel.matrix, &slot.colors) {
        notes.extend(draw_matrix(canvas, frame, matrix, colors));
    }
    if panel.grid {
        draw_grid(canvas, slot);
    }
    // Data lie over the axes, so that a line along zero is seen.
    draw_axes(canvas, slot);
    let mut order: Vec<usize> = (0..panel.layers.len()).collect();
    order.sort_by_key(|k| depth(&panel.layers[*k]));
    for k in order {
        notes.extend(draw_layer(canvas, frame, &panel.layers[k], &slot.looks[k]));
    }
    notes
}

fn draw_grid(canvas: &mut Canvas, slot: &Slot) {
    let r = slot.frame.rect;
    // Bars need no lines between them.
    let along = slot.frame.x.ticks.iter().filter(|_| !slot.frame.x.named);
    for x in along.filter_map(|t| slot.frame.x_at(t.value)) {
        canvas.segment(Role::Grid, (x, r.y0), (x, r.y1), Rgb::LIGHT_GRAY, size::THIN_LINE);
    }
    for y in slot.frame.y.ticks.iter().filter_map(|t| slot.frame.y_at(t.value)) {
        canvas.segment(Role::Grid, (r.x0, y), (r.x1, y), Rgb::LIGHT_GRAY, size::THIN_LINE);
    }
}

/// Axis lines at the left and at the bottom, ticks and their labels.
fn draw_axes(canvas: &mut Canvas, slot: &Slot) {
    let r = slot.frame.rect;
    let is_matrix = slot.panel.matrix.is_some();
    // Bars stand on a line of their own; the cells of a matrix have edges enough.
    let corners = [(r.x0, r.y0), (r.x0, r.y1), (r.x1, r.y1)];
    let on_bars = slot.panel.has_bars();
    let lines = match (is_matrix, on_bars) {
        (true, _) => 0,
        (false, true) => 2,
        (false, false) => 3,
    };
    canvas.stroke(Role::Frame, polyline(&corners[..lines]), Rgb::BLACK, size::THIN_LINE, &[]);
    for tick in &slot.frame.x.ticks {
        let Some(x) = slot.frame.x_at(tick.value) else { continue };
        if !is_matrix && !on_bars {
            canvas.segment(Role::Frame, (x, r.y1), (x, r.y1 + size::TICK), Rgb::BLACK, size::THIN_LINE);
        }
        let rich = Rich::parse(&tick.label);
        let top = r.y1 + size::TICK + 2.0;
        let label = if slot.upright {
            let middle = x + CAP * size::SMALL / 2.0;
            Label { upwards: true, ..Label::new(rich, middle, top, Anchor::End, size::SMALL) }
        } else {
            Label::new(rich, x, top + CAP * size::SMALL, Anchor::Middle, size::SMALL)
        };
        canvas.label(Role::TickX, label);
    }
    let minor = size::TICK / 2.0;
    for x in slot.frame.x.minor.iter().filter_map(|v| slot.frame.x_at(*v)) {
        canvas.segment(Role::Frame, (x, r.y1), (x, r.y1 + minor), Rgb::BLACK, size::THIN_LINE);
    }
    for y in slot.frame.y.minor.iter().filter_map(|v| slot.frame.y_at(*v)) {
        canvas.segment(Role::Frame, (r.x0 - minor, y), (r.x0, y), Rgb::BLACK, size::THIN_LINE);
    }
    for tick in &slot.frame.y.ticks {
        let Some(y) = slot.frame.y_at(tick.value) else { continue };
        if !slot.frame.y.named {
            canvas.segment(Role::Frame, (r.x0 - size::TICK, y), (r.x0, y), Rgb::BLACK, size::THIN_LINE);
        }
        let at = (r.x0 - size::TICK - 2.0, y + CAP * size::SMALL / 2.0);
        canvas.label(Role::TickY, Label::new(Rich::parse(&tick.label), at.0, at.1, Anchor::End, size::SMALL));
    }
}

/// Names of the axes, the title and the bold letter.
fn draw_names(canvas: &mut Canvas, slot: &Slot, letter: Option<char>) {
    let r = slot.frame.rect;
    let line = size::NORMAL * LEADING;
    let bottom = r.y1 + slot.below - 2.0;
    for (k, text) in slot.x_name.iter().rev().enumerate() {
        let y = bottom - k as f64 * line - 0.24 * size::NORMAL;
        let at = ((r.x0 + r.x1) / 2.0, y);
        canvas.label(Role::Name, Label::new(Rich::parse(text), at.0, at.1, Anchor::Middle, size::NORMAL));
    }
    let widest = canvas
        .items
        .iter()
        .filter(|i| i.role == Role::TickY && i.panel == canvas.panel)
        .filter_map(|i| if let Ink::Label(l) = &i.ink { Some(l.bounds().x0) } else { None })
        .fold(r.x0, f64::min);
    for (k, text) in slot.y_name.iter().rev().enumerate() {
        let x = widest - 4.0 - k as f64 * line - 0.1 * size::NORMAL;
        let name = Label::new(Rich::parse(text), x, (r.y0 + r.y1) / 2.0, Anchor::Middle, size::NORMAL);
        canvas.label(Role::Name, Label { upwards: true, ..name });
    }
    let base = slot.cell.y0 + 1.0 + CAP * size::LETTER;
    let mut title_x = r.x0;
    if let Some(letter) = letter {
        let label = Label::new(Rich::parse(&letter.to_string()), slot.cell.x0, base, Anchor::Start, size::LETTER);
        canvas.label(Role::Letter, Label { bold: true, ..label });
        title_x = title_x.max(slot.cell.x0 + 14.0);
    }
    for (k, text) in slot.title.iter().enumerate() {
        let label = Label::new(Rich::parse(text), title_x, base + k as f64 * line, Anchor::Start, size::NORMAL);
        // A title longer than the frame starts further left.
        let over = (title_x + label.width() - slot.cell.x1).max(0.0);
        canvas.label(Role::Name, Label { x: label.x - over, ..label });
    }
}

/// Draws a whole panel; returns its notes.
pub(crate) fn draw_panel(canvas: &mut Canvas, slot: &Slot, letter: Option<char>) -> Vec<String> {
    let mut notes = draw_data(canvas, slot);
    draw_names(canvas, slot, letter);
    if let Some(colors) = &slot.colors {
        draw_bar(canvas, &slot.frame.rect, colors);
    }
    if let Some(inner) = inset(slot) {
        canvas.panel += 1;
        notes.extend(draw_data(canvas, &inner));
        draw_names(canvas, &inner, None);
        canvas.panel -= 1;
    }
    let r = slot.frame.rect;
    match slot.place {
        Place::Nowhere => {}
        Place::Inside(x, y) => {
            let (width, height) = legend::column_size(&slot.entries);
            if slot.panel.grid {
                let ground = Rect::new(x, y, x + width, y + height).grown(2.0);
                canvas.fill(Role::Grid, rectangle(&ground), Rgb::WHITE, 1.0);
            }
            legend::draw_column(canvas, &slot.entries, x, y);
        }
        Place::Right => {
            let x = slot.cell.x1 - legend::column_size(&slot.entries).0;
            legend::draw_column(canvas, &slot.entries, x, r.y0);
        }
        Place::Below => {
            let (x, y) = (slot.cell.x0, r.y1 + slot.below + 3.0);
            legend::draw_flow(canvas, &slot.entries, x, y, slot.cell.width());
        }
    }
    notes
}

/// Writes notes at the foot of the figure and returns the height they take.
pub(crate) fn draw_notes(canvas: &mut Canvas, notes: &[String], top: f64, width: f64) -> f64 {
    let lines: Vec<String> = notes.iter().flat_map(|n| wrap(n, size::SMALL, width)).collect();
    let step = size::SMALL * LEADING;
    for (k, text) in lines.iter().enumerate() {
        let y = top + 4.0 + k as f64 * step + CAP * size::SMALL;
        let label = Label::new(Rich::parse(text), 0.0, y, Anchor::Start, size::SMALL);
        canvas.label(Role::Note, Label { color: Rgb::GRAY, ..label });
    }
    if lines.is_empty() { 0.0 } else { 4.0 + lines.len() as f64 * step }
}
