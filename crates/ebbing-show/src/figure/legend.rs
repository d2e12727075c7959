//! Legends: one entry per label, in a corner free of data or outside the frame.

use super::canvas::{Anchor, CAP, Canvas, Ink, Label, Rect, Role, Shape, rectangle};
use super::layers::{Cells, Layer};
use super::marks::arrow_at;
use super::series::{BAND_OPACITY, Look, hatch, marker};
use crate::style::{Dash, Regime, Rgb, category, size, tint};
use crate::text::{PathCommand, Rich, text_width};

/// Width of the sample beside an entry, pt.
const SAMPLE: f64 = 19.0;
/// Gap between sample and label, pt.
const GAP: f64 = 4.0;
/// Distance from one entry to the next, pt.
pub(crate) const LINE: f64 = 9.8;
/// The same where they are many, pt: letters of neighbors just do not touch.
pub(crate) const CLOSE_LINE: f64 = 8.8;
/// Distance between entries side by side, pt.
const BETWEEN: f64 = 10.0;

/// What is drawn beside a label.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Symbol {
    Line(Rgb, Dash, f64),
    Marker(Look),
    Band(Rgb, f64),
    Bar(usize),
    Arrow(Rgb, bool),
}

impl Symbol {
    /// Whether it is the same sample; arrows point, whatever their color.
    fn agrees(&self, other: &Symbol) -> bool {
        match (self, other) {
            (Symbol::Arrow(_, up), Symbol::Arrow(_, too)) => up == too,
            _ => self == other,
        }
    }
}

/// A label and its samples, drawn over each other.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    label: String,
    symbols: Vec<Symbol>,
}

impl Entry {
    /// Whether all its samples are among another's.
    fn within(&self, other: &Entry) -> bool {
        self.symbols.iter().all(|s| other.symbols.iter().any(|t| s.agrees(t)))
    }

    /// Whether another panel's entry says the same: the label, and no sample that contradicts.
    pub fn agrees(&self, other: &Entry) -> bool {
        self.label == other.label && (self.within(other) || other.within(self))
    }

    /// Whether another entry has the same samples under another name: readers cannot tell them apart.
    pub fn is_mistaken_for(&self, other: &Entry) -> bool {
        self.label != other.label && self.within(other) && other.within(self)
    }

    /// Its name, plain text.
    pub fn name(&self) -> String {
        Rich::parse(&self.label).plain()
    }

    /// Takes the samples of an entry that agrees.
    pub fn join(&mut self, other: &Entry) {
        other.symbols.iter().for_each(|symbol| self.add(*symbol));
    }

    /// Adds a sample: bands go behind lines, lines behind markers; arrows of several colors become a black one.
    fn add(&mut self, symbol: Symbol) {
        match (self.symbols.iter_mut().find(|known| known.agrees(&symbol)), symbol) {
            (Some(Symbol::Arrow(color, _)), Symbol::Arrow(other, _)) if *color != other => *color = Rgb::BLACK,
            (Some(_), _) => {}
            (None, _) => self.symbols.push(symbol),
        }
        self.symbols.sort_by_key(|s| match s {
            Symbol::Band(..) => 0,
            Symbol::Line(..) => 1,
            _ => 2,
        });
    }

    fn width(&self) -> f64 {
        SAMPLE + GAP + text_width(&Rich::parse(&self.label), size::SMALL, false)
    }

    /// Draws the entry with its left end at `x` and its middle at `y`.
    fn draw(&self, canvas: &mut Canvas, x: f64, y: f64) {
        for symbol in &self.symbols {
            match symbol {
                Symbol::Line(color, dash, width) => {
                    let path = super::canvas::polyline(&[(x, y), (x + SAMPLE, y)]);
                    canvas.stroke(Role::Legend, path, *color, *width, dash.pattern());
                }
                Symbol::Marker(look) => marker(canvas, Role::Legend, (x + SAMPLE / 2.0, y), look),
                Symbol::Band(color, opacity) => {
                    let r = Rect::new(x, y - 3.0, x + SAMPLE, y + 3.0);
                    canvas.fill(Role::Legend, rectangle(&r), *color, *opacity);
                }
                Symbol::Bar(series) => {
                    let r = Rect::new(x + SAMPLE / 2.0 - 4.0, y - 3.2, x + SAMPLE / 2.0 + 4.0, y + 3.2);
                    canvas.fill(Role::Legend, rectangle(&r), category(*series), 1.0);
                    hatch(canvas, &r, *series);
                }
                Symbol::Arrow(color, up) => {
                    let tip = if *up { y - 4.5 } else { y + 4.5 };
                    arrow_at(canvas, Role::Legend, (x + SAMPLE / 2.0, tip), *up, *color);
                }
            }
        }
        let at = (x + SAMPLE + GAP, y + CAP * size::SMALL / 2.0);
        canvas.label(Role::Legend, Label::new(Rich::parse(&self.label), at.0, at.1, Anchor::Start, size::SMALL));
    }
}

/// The entries of a panel: layers with the same label share one.
pub(crate) fn entries(layers: &[Layer], looks: &[Look]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut add = |label: &str, symbol: Symbol| {
        if label.is_empty() {
            return;
        }
        match entries.iter_mut().find(|e| e.label == label) {
            Some(entry) => entry.add(symbol),
            None => entries.push(Entry { label: label.into(), symbols: vec![symbol] }),
        }
    };
    for (layer, look) in layers.iter().zip(looks) {
        match layer {
            Layer::Line(l) if !l.listed => {}
            Layer::Line(l) => add(&l.label, Symbol::Line(look.color, look.dash, l.width.unwrap_or(size::DATA_LINE))),
            Layer::Markers(m) => add(&m.label, Symbol::Marker(*look)),
            Layer::Band(b) => match b.fill {
                Some(tint) => add(&b.label, Symbol::Band(tint, 1.0)),
                None => add(&b.label, Symbol::Band(look.color, BAND_OPACITY)),
            },
            Layer::Bars(b) if b.series.len() > 1 => {
                b.series.iter().enumerate().for_each(|(s, (label, _))| add(label, Symbol::Bar(s)));
            }
            Layer::Map(m) => {
                if let Cells::Regimes(regimes) = &m.cells {
                    for regime in Regime::ALL.into_iter().filter(|r| regimes.iter().flatten().any(|s| s == r)) {
                        add(&regime.to_string(), Symbol::Band(tint(regime), 1.0));
                    }
                }
            }
            Layer::Span { label, tint, .. } => add(label, Symbol::Band(*tint, 1.0)),
            Layer::Horizontal { label, .. } | Layer::Vertical { label, own: false, .. } => {
                add(label, Symbol::Line(Rgb::GRAY, Dash::ShortDash, size::THIN_LINE));
            }
            Layer::Vertical { label, own: true, .. } => {
                add(label, Symbol::Line(Rgb::BLACK, Dash::Solid, size::OWN_LINE));
            }
            Layer::Divergence { label, direction, color, .. } => {
                add(label, Symbol::Arrow(*color, *direction == super::layers::Direction::Up));
            }
            _ => {}
        }
    }
    entries
}

/// Width and height of the entries one below the other.
pub(crate) fn column_size(entries: &[Entry]) -> (f64, f64) {
    (entries.iter().map(Entry::width).fold(0.0, f64::max), entries.len() as f64 * LINE)
}

/// Draws the entries one below the other from a top left corner.
pub(crate) fn draw_column(canvas: &mut Canvas, entries: &[Entry], x: f64, y: f64) {
    draw_steps(canvas, entries, (x, y), LINE);
}

/// Draws the entries one below the other, closer together where a height asks for that.
pub(crate) fn draw_column_within(canvas: &mut Canvas, entries: &[Entry], at: (f64, f64), height: f64) {
    draw_steps(canvas, entries, at, LINE.min(height / entries.len() as f64));
}

fn draw_steps(canvas: &mut Canvas, entries: &[Entry], (x, y): (f64, f64), step: f64) {
    for (k, entry) in entries.iter().enumerate() {
        entry.draw(canvas, x, y + (k as f64 + 0.5) * step);
    }
}

/// Entries side by side in as many lines as a width needs, in columns of equal width.
fn columns_within(entries: &[Entry], width: f64) -> (usize, f64) {
    let widest = column_size(entries).0;
    let columns = ((width + BETWEEN) / (widest + BETWEEN)).floor().max(1.0) as usize;
    (columns.min(entries.len().max(1)), widest + BETWEEN)
}

/// Height of the entries laid out within a width.
pub(crate) fn flow_height(entries: &[Entry], width: f64) -> f64 {
    entries.len().div_ceil(columns_within(entries, width).0) as f64 * LINE
}

/// Draws the entries side by side within a width from a top left corner, down each column first.
pub(crate) fn draw_flow(canvas: &mut Canvas, entries: &[Entry], x: f64, y: f64, width: f64) {
    let (columns, step) = columns_within(entries, width);
    let lines = entries.len().div_ceil(columns);
    for (k, entry) in entries.iter().enumerate() {
        let (column, line) = (k / lines, k % lines);
        entry.draw(canvas, x + column as f64 * step, y + (line as f64 + 0.5) * LINE);
    }
}

/// The top left corner of a free place for a legend of a size inside the frame, corners first.
pub(crate) fn free_place(data: &Canvas, frame: &Rect, (width, height): (f64, f64)) -> Option<(f64, f64)> {
    let inset = 5.0;
    let (left, right) = (frame.x0 + inset + 1.0, frame.x1 - width - inset);
    let (top, bottom) = (frame.y0 + inset, frame.y1 - height - inset);
    if right < left || bottom < top {
        return None;
    }
    let (center, middle) = ((left + right) / 2.0, (top + bottom) / 2.0);
    let places = [
        (right, top),
        (left, top),
        (right, bottom),
        (left, bottom),
        (right, middle),
        (left, middle),
        (center, top),
        (center, bottom),
    ];
    places.into_iter().find(|(x, y)| {
        let place = Rect::new(*x, *y, x + width, y + height).grown(2.5);
        data.items.iter().all(|item| match (&item.ink, item.role) {
            (_, Role::Tint | Role::Grid | Role::Frame) => true,
            (Ink::Label(label), _) => !label.bounds().overlaps(&place),
            (Ink::Shape(shape), _) => !meets(shape, &place),
        })
    })
}

/// Whether a drawn path runs through a place, or an area covers it.
pub(crate) fn meets(shape: &Shape, place: &Rect) -> bool {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut hit = false;
    for command in &shape.commands {
        let to = match *command {
            PathCommand::Move(x, y) => {
                points.push((x, y));
                hit |= place.contains((x, y));
                continue;
            }
            PathCommand::Line(x, y) | PathCommand::Quad(_, _, x, y) | PathCommand::Cubic(_, _, _, _, x, y) => (x, y),
            PathCommand::Close => continue,
        };
        hit |= points.last().is_some_and(|from| place.inside(*from, to).is_some());
        points.push(to);
    }
    hit || (shape.fill.is_some() && covers(&points, ((place.x0 + place.x1) / 2.0, (place.y0 + place.y1) / 2.0)))
}

/// Whether a point lies inside a closed outline (crossing number).
fn covers(outline: &[(f64, f64)], p: (f64, f64)) -> bool {
    let mut inside = false;
    for k in 0..outline.len() {
        let (a, b) = (outline[k], outline[(k + 1) % outline.len()]);
        if (a.1 > p.1) != (b.1 > p.1) && p.0 < a.0 + (p.1 - a.1) / (b.1 - a.1) * (b.0 - a.0) {
            inside = !inside;
        }
    }
    inside
}
