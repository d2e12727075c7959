//! Marks beside the data: guide lines, the names of points, and arrows at the frame.

use super::canvas::{Anchor, CAP, Canvas, Ink, Label, Role, polygon, polyline};
use super::clip::clip_line;
use super::frame::Frame;
use super::legend::meets;
use crate::style::{Dash, Rgb, size};
use crate::text::Rich;

/// A thin line across the frame: dashed and gray, or black and solid where it marks the reader's own case.
pub(crate) fn guide(canvas: &mut Canvas, frame: &Frame, a: (f64, f64), b: (f64, f64), own: bool) -> Option<String> {
    let (color, width, dash) = match own {
        true => (Rgb::BLACK, size::OWN_LINE, Dash::Solid),
        false => (Rgb::GRAY, size::THIN_LINE, Dash::ShortDash),
    };
    for piece in clip_line(&[a, b], &frame.rect).0 {
        canvas.stroke(Role::Guide, polyline(&piece), color, width, dash.pattern());
    }
    None
}

/// A short name beside a point, on a side of it that is free of data, guides and other names.
pub(crate) fn tag(canvas: &mut Canvas, frame: &Frame, (x, y): (f64, f64), text: &str) {
    const NEAR: f64 = 5.0;
    let (middle, rich) = (CAP * size::SMALL / 2.0, Rich::parse(text));
    let label = |dx: f64, dy: f64| {
        let anchor = if dx > 0.0 {
            Anchor::Start
        } else if dx < 0.0 {
            Anchor::End
        } else {
            Anchor::Middle
        };
        Label::new(rich.clone(), x + dx, y + middle + dy, anchor, size::SMALL)
    };
    let free = |label: &Label| {
        let place = label.bounds().grown(0.8);
        let inside = frame.rect.contains((place.x0, place.y0)) && frame.rect.contains((place.x1, place.y1));
        inside
            && canvas.items.iter().filter(|item| item.panel == canvas.panel).all(|item| match (&item.ink, item.role) {
                (_, Role::Tint | Role::Grid) => true,
                (Ink::Label(other), _) => !other.bounds().overlaps(&place),
                (Ink::Shape(shape), _) => !meets(shape, &place),
            })
    };
    let near = [(NEAR, 0.0), (-NEAR, 0.0), (NEAR, -NEAR), (-NEAR, -NEAR), (NEAR, NEAR), (-NEAR, NEAR)];
    let far = [(0.0, -8.0), (0.0, 8.0), (2.0 * NEAR, -NEAR), (-2.0 * NEAR, -NEAR), (0.0, -14.0)];
    let chosen = near.iter().chain(&far).map(|(dx, dy)| label(*dx, *dy)).find(free);
    canvas.label(Role::Note, chosen.unwrap_or_else(|| label(NEAR, -NEAR)));
}

/// Arrows at the frame, those of one series at least a few points apart.
pub(crate) fn draw_arrows(canvas: &mut Canvas, frame: &Frame, mut arrows: Vec<(f64, bool)>, color: Rgb) {
    arrows.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
    arrows.dedup_by(|b, a| a.1 == b.1 && b.0 - a.0 < 6.0);
    for (x, up) in arrows {
        arrow(canvas, frame, x, up, color);
    }
}

/// An arrow whose tip just crosses the top or the bottom of the frame.
pub(crate) fn arrow(canvas: &mut Canvas, frame: &Frame, x: f64, up: bool, color: Rgb) {
    let tip = if up { frame.rect.y0 - 4.0 } else { frame.rect.y1 + 4.0 };
    arrow_at(canvas, Role::Data, (x, tip), up, color);
}

/// An arrow of 9 pt with its tip at a point.
pub(crate) fn arrow_at(canvas: &mut Canvas, role: Role, (x, tip): (f64, f64), up: bool, color: Rgb) {
    let s = if up { 1.0 } else { -1.0 };
    canvas.segment(role, (x, tip + 9.0 * s), (x, tip + 3.5 * s), color, size::DATA_LINE);
    canvas.fill(role, polygon(&[(x, tip), (x + 2.3, tip + 4.5 * s), (x - 2.3, tip + 4.5 * s)]), color, 1.0);
}
