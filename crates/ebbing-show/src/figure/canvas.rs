//! A drawing as a list of paths and texts in points, y downwards; SVG and PNG are written from the same list.

use crate::style::Rgb;
use crate::text::{PathCommand, Rich, text_width};

/// A rectangle, from the top left to the bottom right corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub x0: f64,
    pub y0: f64,
    pub x1: f64,
    pub y1: f64,
}

impl Rect {
    pub fn new(x0: f64, y0: f64, x1: f64, y1: f64) -> Rect {
        Rect { x0: x0.min(x1), y0: y0.min(y1), x1: x0.max(x1), y1: y0.max(y1) }
    }

    pub fn width(&self) -> f64 {
        self.x1 - self.x0
    }

    pub fn height(&self) -> f64 {
        self.y1 - self.y0
    }

    pub fn grown(&self, by: f64) -> Rect {
        Rect { x0: self.x0 - by, y0: self.y0 - by, x1: self.x1 + by, y1: self.y1 + by }
    }

    pub fn overlaps(&self, other: &Rect) -> bool {
        self.x0 < other.x1 && other.x0 < self.x1 && self.y0 < other.y1 && other.y0 < self.y1
    }

    pub fn contains(&self, p: (f64, f64)) -> bool {
        (self.x0..=self.x1).contains(&p.0) && (self.y0..=self.y1).contains(&p.1)
    }

    /// The part of the segment from `a` to `b` inside, as shares of its length from 0 to 1 (Liang-Barsky).
    pub fn inside(&self, a: (f64, f64), b: (f64, f64)) -> Option<(f64, f64)> {
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        let sides = [(b.0 - a.0, self.x0 - a.0, self.x1 - a.0), (b.1 - a.1, self.y0 - a.1, self.y1 - a.1)];
        for (step, low, high) in sides {
            if step == 0.0 {
                if low > 0.0 || high < 0.0 {
                    return None;
                }
                continue;
            }
            let (s, t) = (low / step, high / step);
            enter = enter.max(s.min(t));
            leave = leave.min(s.max(t));
        }
        (enter <= leave).then_some((enter, leave))
    }
}

/// A pen of one color, width (pt) and dash pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub color: Rgb,
    pub width: f64,
    pub dash: &'static [f64],
}

/// A filled and/or stroked path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    pub commands: Vec<PathCommand>,
    pub fill: Option<(Rgb, f64)>,
    pub stroke: Option<Stroke>,
    /// Edges on whole pixels, so that neighboring cells show no seam.
    pub crisp: bool,
}

/// Which point of a text its position names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Label {
    pub rich: Rich,
    pub x: f64,
    /// The base line.
    pub y: f64,
    pub anchor: Anchor,
    pub size: f64,
    pub color: Rgb,
    pub bold: bool,
    /// Written upwards, turned by 90° about its position.
    pub upwards: bool,
}

/// Height of capitals and figures above the base line, in units of the size.
pub(crate) const CAP: f64 = 0.73;
/// Depth of descenders below the base line, in units of the size.
pub(crate) const DESCENT: f64 = 0.24;

impl Label {
    pub fn new(rich: Rich, x: f64, y: f64, anchor: Anchor, size: f64) -> Label {
        Label { rich, x, y, anchor, size, color: Rgb::BLACK, bold: false, upwards: false }
    }

    pub fn width(&self) -> f64 {
        text_width(&self.rich, self.size, self.bold)
    }

    /// How far the text starts before its position.
    pub fn lead(&self) -> f64 {
        match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => self.width() / 2.0,
            Anchor::End => self.width(),
        }
    }

    /// The box of capitals and descenders, widened by raised and lowered runs.
    pub fn bounds(&self) -> Rect {
        let (start, width) = (-self.lead(), self.width());
        let (mut up, mut down) = (CAP, DESCENT);
        for run in &self.rich.runs {
            up = up.max(run.rise + CAP * run.scale);
            down = down.max(-run.rise + DESCENT * run.scale);
        }
        let (up, down) = (up * self.size, down * self.size);
        if self.upwards {
            Rect::new(self.x - up, self.y - start - width, self.x + down, self.y - start)
        } else {
            Rect::new(self.x + start, self.y - up, self.x + start + width, self.y + down)
        }
    }
}

/// What an item is for; tests look for overlaps between these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Frame,
    Grid,
    /// Color behind the data.
    Tint,
    Guide,
    Data,
    TickX,
    TickY,
    Name,
    Letter,
    Legend,
    Note,
    Cell,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ink {
    Shape(Shape),
    Label(Label),
}

/// One path or text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub ink: Ink,
    pub role: Role,
    /// The panel it belongs to.
    pub panel: usize,
}

/// The drawing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Canvas {
    pub width: f64,
    pub height: f64,
    pub items: Vec<Item>,
    /// Set while drawing; copied to each item.
    pub panel: usize,
}

impl Canvas {
    pub fn shape(&mut self, role: Role, shape: Shape) {
        if !shape.commands.is_empty() {
            self.items.push(Item { ink: Ink::Shape(shape), role, panel: self.panel });
        }
    }

    pub fn label(&mut self, role: Role, label: Label) {
        if !label.rich.is_empty() {
            self.items.push(Item { ink: Ink::Label(label), role, panel: self.panel });
        }
    }

    pub fn stroke(&mut self, role: Role, commands: Vec<PathCommand>, color: Rgb, width: f64, dash: &'static [f64]) {
        let stroke = Some(Stroke { color, width, dash });
        self.shape(role, Shape { commands, fill: None, stroke, crisp: false });
    }

    pub fn segment(&mut self, role: Role, a: (f64, f64), b: (f64, f64), color: Rgb, width: f64) {
        self.stroke(role, polyline(&[a, b]), color, width, &[]);
    }

    pub fn fill(&mut self, role: Role, commands: Vec<PathCommand>, color: Rgb, opacity: f64) {
        self.shape(role, Shape { commands, fill: Some((color, opacity)), stroke: None, crisp: false });
    }

    /// Moves everything to the right and down.
    pub fn shift(&mut self, dx: f64, dy: f64) {
        for item in &mut self.items {
            match &mut item.ink {
                Ink::Label(label) => {
                    label.x += dx;
                    label.y += dy;
                }
                Ink::Shape(shape) => shape.commands.iter_mut().for_each(|c| *c = c.shifted(dx, dy)),
            }
        }
    }

    /// A rectangle whose edges fall on whole pixels.
    pub fn cell(&mut self, role: Role, rect: Rect, color: Rgb) {
        let shape = Shape { commands: rectangle(&rect), fill: Some((color, 1.0)), stroke: None, crisp: true };
        self.shape(role, shape);
    }
}

pub(crate) fn polyline(points: &[(f64, f64)]) -> Vec<PathCommand> {
    let step = |(k, &(x, y)): (usize, &(f64, f64))| {
        if k == 0 { PathCommand::Move(x, y) } else { PathCommand::Line(x, y) }
    };
    points.iter().enumerate().map(step).collect()
}

pub(crate) fn polygon(points: &[(f64, f64)]) -> Vec<PathCommand> {
    let mut commands = polyline(points);
    commands.push(PathCommand::Close);
    commands
}

pub(crate) fn rectangle(r: &Rect) -> Vec<PathCommand> {
    polygon(&[(r.x0, r.y0), (r.x1, r.y0), (r.x1, r.y1), (r.x0, r.y1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_meet_boxes() {
        let r = Rect::new(1.0, 1.0, 3.0, 2.0);
        assert_eq!(r.inside((2.0, 0.0), (2.0, 4.0)), Some((0.25, 0.5)));
        assert_eq!(r.inside((1.5, 1.5), (1.6, 1.6)), Some((0.0, 1.0)));
        assert!(r.inside((0.0, 0.0), (4.0, 3.0)).is_some());
        assert_eq!(r.inside((0.0, 0.0), (4.0, 0.5)), None);
        assert_eq!(r.inside((0.0, 1.5), (0.9, 1.5)), None);
        assert_eq!(r.inside((0.0, 2.5), (0.5, 5.0)), None);
    }

    #[test]
    fn a_label_written_upwards_is_tall() {
        let mut label = Label::new(Rich::parse("forgetting"), 10.0, 50.0, Anchor::Middle, 8.0);
        let flat = label.bounds();
        label.upwards = true;
        let tall = label.bounds();
        assert!((flat.width() - tall.height()).abs() < 1e-9 && (flat.height() - tall.width()).abs() < 1e-9);
        assert!((tall.y0 + tall.y1 - 100.0).abs() < 1e-9);
    }
}
