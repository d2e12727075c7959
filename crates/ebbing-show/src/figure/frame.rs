//! The frame of a panel: the range of its axes from the data, and where data points fall.

use super::axis::{Axis, Scale};
use super::canvas::Rect;
use super::layers::Layer;
use super::panel::Panel;

/// Axes laid over a rectangle.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub rect: Rect,
    pub x: Axis,
    pub y: Axis,
    /// Lines that leave through the top or bottom get arrows; over a map they are boundaries and need none.
    pub marks_exits: bool,
    /// Lines run over a map and need a white edge.
    pub on_map: bool,
}

impl Frame {
    /// Where a point falls, far outside at most a million frames; `None` where an axis cannot show it.
    pub fn point(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x_at(x)?, self.y_at(y)?))
    }

    pub fn x_at(&self, x: f64) -> Option<f64> {
        Some(self.rect.x0 + self.x.share(x)?.clamp(-1e6, 1e6) * self.rect.width())
    }

    pub fn y_at(&self, y: f64) -> Option<f64> {
        Some(self.rect.y1 - self.y.share(y)?.clamp(-1e6, 1e6) * self.rect.height())
    }
}

/// Calls `x` and `y` with every value that the layer wants on the axes.
fn visit(layer: &Layer, x: &mut dyn FnMut(f64), y: &mut dyn FnMut(f64)) {
    match layer {
        Layer::Line(l) => {
            l.x.iter().for_each(|v| x(*v));
            l.y.iter().for_each(|v| y(*v));
        }
        Layer::Markers(m) => {
            m.x.iter().for_each(|v| x(*v));
            m.y.iter().for_each(|v| y(*v));
            if let Some((low, high)) = &m.bars {
                low.iter().chain(high).for_each(|v| y(*v));
            }
        }
        Layer::Band(b) => {
            b.x.iter().for_each(|v| x(*v));
            b.low.iter().chain(&b.high).for_each(|v| y(*v));
        }
        Layer::Bars(b) => {
            y(0.0);
            for ((_, heights), errors) in b.series.iter().zip(&b.errors) {
                for (k, h) in heights.iter().enumerate() {
                    let e = errors.as_ref().and_then(|e| e.get(k)).copied().unwrap_or(0.0);
                    y(*h);
                    y(h + e.abs().copysign(*h));
                }
            }
        }
        Layer::Map(m) => {
            m.x.iter().for_each(|v| x(*v));
            m.y.iter().for_each(|v| y(*v));
        }
        Layer::Horizontal { y: v, .. } => y(*v),
        Layer::Vertical { x: v, .. } | Layer::Divergence { x: v, .. } => x(*v),
        Layer::Text { x: a, y: b, .. } | Layer::Tag { x: a, y: b, .. } => {
            x(*a);
            y(*b);
        }
        Layer::Span { .. } => {}
    }
}

/// Smallest and largest of what a scale can show.
struct Extent {
    scale: Scale,
    range: Option<(f64, f64)>,
}

impl Extent {
    fn see(&mut self, v: f64) {
        if v.is_finite() && (self.scale != Scale::Log || v > 0.0) {
            let (low, high) = self.range.unwrap_or((v, v));
            self.range = Some((low.min(v), high.max(v)));
        }
    }
}

impl Panel {
    /// The axes of this panel with at most so many ticks.
    pub(crate) fn axes(&self, most_x: usize, most_y: usize) -> (Axis, Axis) {
        if let Some(m) = &self.matrix {
            let mut y = Axis::named(&m.rows);
            std::mem::swap(&mut y.low, &mut y.high);
            return (Axis::named(&m.columns), y);
        }
        let mut x = Extent { scale: self.x_scale, range: None };
        let mut y = Extent { scale: self.y_scale, range: None };
        let filled = self.is_filled();
        for layer in self.layers.iter().filter(|l| !filled || l.fills()) {
            visit(layer, &mut |v| x.see(v), &mut |v| y.see(v));
        }
        let y = axis(&y, self.y_range, filled, most_y);
        let of_bars = self.layers.iter().find_map(|l| if let Layer::Bars(b) = l { Some(&b.names) } else { None });
        match of_bars.or(self.x_names.as_ref()) {
            Some(names) => (Axis::named(names), y),
            None => (axis(&x, self.x_range, filled, most_x), y),
        }
    }
}

/// Positive values within this factor of each other are shown on a linear axis.
const NARROW: f64 = 4.0;

fn axis(extent: &Extent, wanted: Option<(f64, f64)>, filled: bool, most: usize) -> Axis {
    if let Some((low, high)) = wanted {
        return Axis::new(extent.scale, low, high, true, most);
    }
    let (mut low, high) = extent.range.unwrap_or((f64::NAN, f64::NAN));
    // Powers of ten cannot mark values so close together.
    if extent.scale == Scale::Log && !filled && high < NARROW * low {
        // Differences of a few percent are not blown up to the whole height.
        let pad = if high < 1.1 * low { 0.05 * high } else { 0.0 };
        return Axis::new(Scale::Linear, low - pad, high + pad, false, most);
    }
    // Positive data that come near zero start at zero.
    if extent.scale == Scale::Linear && !filled && low > 0.0 && low < 0.3 * high {
        low = 0.0;
    }
    Axis::new(extent.scale, low, high, filled, most)
}
