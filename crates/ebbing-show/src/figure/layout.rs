//! Places panels in a grid: room for labels, aligned frames, legends where no data are.

use super::axis::{Axis, FEWEST, MOST};
use super::canvas::{Canvas, Rect, Role, rectangle};
use super::draw::draw_data;
use super::frame::Frame;
use super::heat::{ColorAxis, cell_for_text, with_factor};
use super::legend::{self, Entry};
use super::panel::{Legend, Panel};
use super::series::{Look, looks};
use super::shared::Shared;
use crate::style::{Rgb, size};
use crate::text::{Rich, text_width};

/// Distance between panels side by side, pt.
pub(crate) const GUTTER: f64 = 12.0;
/// Distance between rows of panels, pt.
const ROW_GAP: f64 = 8.0;
/// Distance from one line of text to the next, in units of its size.
pub(crate) const LEADING: f64 = 1.25;
/// Largest side of a matrix cell, pt.
const LARGEST_CELL: f64 = 34.0;
/// Largest side of a matrix cell beside panels of another kind, which it grows to match, pt.
const LARGEST_BESIDE: f64 = 60.0;
/// Width and height of an inset, labels included, as a share of the frame's.
const INSET: f64 = 0.42;
/// Panels at least this wide have outside legends at their right, pt.
const WIDE_PANEL: f64 = 330.0;

/// Where the legend of a panel is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    Nowhere,
    Inside(f64, f64),
    Right,
    Below,
}

/// A panel with everything about it that depends on where it is.
pub(crate) struct Slot<'a> {
    pub panel: &'a Panel,
    pub frame: Frame,
    /// The whole room of the panel.
    pub cell: Rect,
    pub colors: Option<ColorAxis>,
    pub looks: Vec<Look>,
    pub entries: Vec<Entry>,
    pub place: Place,
    pub title: Vec<String>,
    pub x_name: Vec<String>,
    pub y_name: Vec<String>,
    /// Names along x are written upwards because they do not fit side by side.
    pub upright: bool,
    /// Room below the frame before the legend.
    pub below: f64,
    lettered: bool,
}

impl<'a> Slot<'a> {
    pub fn new(panel: &'a Panel, lettered: bool) -> Slot<'a> {
        let (x, y) = panel.axes(MOST, MOST);
        let looks = looks(&panel.layers);
        let entries = match panel.legend {
            Legend::Hidden => Vec::new(),
            _ => legend::entries(&panel.layers, &looks),
        };
        let outside = panel.is_filled() && !entries.is_empty();
        let place = match panel.legend {
            Legend::Hidden => Place::Nowhere,
            Legend::Right => Place::Right,
            Legend::Below => Place::Below,
            Legend::Auto if outside => Place::Below,
            Legend::Auto => Place::Nowhere,
        };
        let empty = Rect::new(0.0, 0.0, 0.0, 0.0);
        let y_name = wrap(&with_factor(&panel.y_name, y.factor), size::NORMAL, f64::INFINITY);
        Slot {
            panel,
            frame: Frame { rect: empty, x, y, marks_exits: !panel.is_filled(), on_map: panel.has_map() },
            cell: empty,
            colors: ColorAxis::of(panel),
            looks,
            entries,
            place,
            title: Vec::new(),
            x_name: Vec::new(),
            y_name,
            upright: false,
            below: 0.0,
            lettered,
        }
    }

    fn left(&self) -> f64 {
        let names = if self.y_name.is_empty() { 0.0 } else { lines_height(&self.y_name, size::NORMAL) + 2.0 };
        names + 2.0 + size::TICK + widest(&self.frame.y)
    }

    fn right(&self) -> f64 {
        let last =
            self.frame.x.ticks.last().map_or(0.0, |t| text_width(&Rich::parse(&t.label), size::SMALL, false) / 2.0);
        let overhang = if self.frame.x.named { 3.0 } else { last.max(4.0) };
        let bar = self.colors.as_ref().map_or(overhang, ColorAxis::room);
        let legend = if self.place == Place::Right { legend::column_size(&self.entries).0 + 10.0 } else { 0.0 };
        bar + legend
    }

    fn top(&self) -> f64 {
        if self.title.is_empty() && !self.lettered {
            8.0
        } else {
            lines_height(&self.title, size::NORMAL).max(10.0) + 5.0
        }
    }

    /// Room below the frame for ticks and name.
    fn labels_below(&self) -> f64 {
        let ticks = if self.upright { widest(&self.frame.x) } else { size::SMALL };
        let name = if self.x_name.is_empty() { 0.0 } else { lines_height(&self.x_name, size::NORMAL) + 3.0 };
        size::TICK + 2.0 + ticks + name + 2.0
    }

    fn legend_below(&self) -> f64 {
        match self.place {
            Place::Below => 3.0 + legend::flow_height(&self.entries, self.cell.width()),
            _ => 0.0,
        }
    }

    /// The height that the frame would like at a width, a matrix with cells up to a size.
    fn height(&self, width: f64, largest_cell: f64) -> f64 {
        match &self.panel.matrix {
            Some(m) => matrix_cell(width, m.columns.len(), largest_cell) * m.rows.len() as f64,
            None => width * self.panel.aspect.unwrap_or(if self.panel.is_filled() { 0.85 } else { 0.72 }),
        }
    }

    /// Chooses as many ticks along x as have room, and how names are written.
    fn fit_x(&mut self, width: f64) {
        for most in (FEWEST..=MOST).rev() {
            self.frame.x = self.panel.axes(most, MOST).0;
            if !crowded(&self.frame.x, width) {
                break;
            }
        }
        let step = width / self.frame.x.ticks.len().max(1) as f64;
        let numbers = self.frame.x.ticks.iter().all(|t| t.label.parse::<u32>().is_ok());
        self.upright = self.frame.x.named && !numbers && widest(&self.frame.x) > step - 3.0;
        // So many names that they would touch even upright are thinned out.
        let crowd = self.upright && step < size::SMALL + 1.0;
        self.upright &= !crowd;
        if numbers || crowd || !self.frame.x.named {
            thin(&mut self.frame.x, width, |label| text_width(&Rich::parse(label), size::SMALL, false) + 3.0);
        }
    }
}

fn matrix_cell(width: f64, columns: usize, largest: f64) -> f64 {
    (width / columns as f64).min(largest)
}

pub(crate) fn lines_height(lines: &[String], size: f64) -> f64 {
    lines.len() as f64 * size * LEADING
}

fn widest(axis: &Axis) -> f64 {
    axis.ticks.iter().map(|t| text_width(&Rich::parse(&t.label), size::SMALL, false)).fold(0.0, f64::max)
}

/// Whether neighboring labels along an axis of this length touch.
fn crowded(axis: &Axis, length: f64) -> bool {
    let ends = axis.ticks.iter().filter(|t| !t.label.is_empty()).filter_map(|t| {
        let half = text_width(&Rich::parse(&t.label), size::SMALL, false) / 2.0;
        let at = axis.share(t.value)? * length;
        Some((at - half, at + half))
    });
    let ends: Vec<(f64, f64)> = ends.collect();
    ends.windows(2).any(|w| w[1].0 - w[0].1 < 3.0)
}

/// Blanks labels at equal steps until they have room; of numbered names those divisible by the step stay.
fn thin(axis: &mut Axis, length: f64, room: impl Fn(&str) -> f64) {
    let spacing = length / axis.ticks.len().max(2) as f64;
    let needed = axis.ticks.iter().map(|t| room(&t.label)).fold(0.0, f64::max);
    let gap = match (axis.named, axis.ticks.len()) {
        (true, _) => spacing,
        (false, n) => length / (n.max(2) - 1) as f64,
    };
    // Up to ten cells are all numbered, as their values are printed; of more, at most six.
    let most = if axis.named && axis.ticks.len() > 10 { MOST } else { usize::MAX };
    let fits = |s: &usize| gap * *s as f64 >= needed && axis.ticks.len() / s <= most;
    let stride = [1usize, 2, 5, 10, 20, 50, 100].into_iter().find(fits).unwrap_or(100);
    if stride == 1 || (!axis.named && !crowded(axis, length)) {
        return;
    }
    for (k, tick) in axis.ticks.iter_mut().enumerate() {
        let number = if axis.named { tick.label.parse().unwrap_or(k) } else { k };
        if number % stride != 0 {
            tick.label.clear();
        }
    }
}

/// Breaks markup into lines of at most a width, between words.
pub(crate) fn wrap(markup: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in markup.split(' ').filter(|w| !w.is_empty()) {
        match lines.last_mut() {
            Some(line) if text_width(&Rich::parse(&format!("{line} {word}")), size, false) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// The number of columns: fewer than asked for where the values in matrix cells would not fit.
pub(crate) fn columns(slots: &[Slot], wanted: usize, width: f64) -> usize {
    let fits = |columns: usize| {
        let cell = (width - GUTTER * (columns - 1) as f64) / columns as f64;
        slots.iter().all(|s| {
            let Some(m) = &s.panel.matrix else { return true };
            matrix_cell(cell - s.left() - s.right(), m.columns.len(), LARGEST_CELL) >= cell_for_text(m)
        })
    };
    (1..=wanted.clamp(1, slots.len().max(1))).rev().find(|c| fits(*c)).unwrap_or(1)
}

/// Places all panels in a figure of a width, below the legends that they share, and returns its height.
pub(crate) fn arrange(slots: &mut [Slot], columns: usize, width: f64, shared: &Shared) -> f64 {
    let cell_width = (width - GUTTER * (columns - 1) as f64) / columns as f64;
    for column in 0..columns {
        let members = || (column..slots.len()).step_by(columns);
        let left = members().map(|k| slots[k].left()).fold(0.0, f64::max);
        let right = members().map(|k| slots[k].right()).fold(0.0, f64::max);
        let x0 = column as f64 * (cell_width + GUTTER);
        for k in members().collect::<Vec<_>>() {
            let slot = &mut slots[k];
            slot.cell.x0 = x0;
            slot.cell.x1 = x0 + cell_width;
            slot.frame.rect.x0 = x0 + left;
            slot.frame.rect.x1 = (x0 + cell_width - right).max(x0 + left + 20.0);
            slot.fit_x(slot.frame.rect.width());
            let letter = if slot.lettered { 14.0 } else { 0.0 };
            slot.title = wrap(&slot.panel.title, size::NORMAL, cell_width - letter);
            let name = with_factor(&slot.panel.x_name, slot.frame.x.factor);
            slot.x_name = wrap(&name, size::NORMAL, slot.frame.rect.width() + left.min(right));
        }
    }
    let mut y = 0.0;
    for (k, row) in slots.chunks_mut(columns).enumerate() {
        y = arrange_row(row, y + shared.height_above(k)) + ROW_GAP;
    }
    y - ROW_GAP
}

/// The height of the panels of a row, and the largest cell that its matrices may have: a matrix beside panels of another kind
/// grows to their height as far as it can, and they take its height unless that is much less than theirs.
fn row_height(row: &[Slot]) -> (f64, f64) {
    let of = |slot: &Slot, largest: f64| slot.height(slot.frame.rect.width(), largest);
    let others = row.iter().filter(|s| s.panel.matrix.is_none()).map(|s| of(s, 0.0)).reduce(f64::max);
    let lines = row.iter().filter_map(|s| s.panel.matrix.as_ref()).map(|m| m.rows.len()).max();
    let (Some(others), Some(lines)) = (others, lines) else {
        // Matrices side by side have cells of one size.
        let cell = |s: &Slot| s.panel.matrix.as_ref().map(|m| s.frame.rect.width() / m.columns.len() as f64);
        let largest = row.iter().filter_map(cell).fold(LARGEST_CELL, f64::min);
        return (row.iter().map(|s| of(s, largest)).fold(0.0, f64::max), largest);
    };
    let largest = (others / lines as f64).clamp(LARGEST_CELL, LARGEST_BESIDE);
    let matrices = row.iter().filter(|s| s.panel.matrix.is_some()).map(|s| of(s, largest)).fold(0.0, f64::max);
    (if matrices >= 0.6 * others { matrices } else { others }, largest)
}

/// Places the panels of a row below `y0` and returns its lower end.
fn arrange_row(row: &mut [Slot], y0: f64) -> f64 {
    let top = row.iter().map(Slot::top).fold(0.0, f64::max);
    let (height, largest) = row_height(row);
    for slot in row.iter_mut() {
        let mut own = height;
        if let Some(m) = &slot.panel.matrix {
            let cell = matrix_cell(slot.frame.rect.width(), m.columns.len(), largest);
            own = cell * m.rows.len() as f64;
            slot.frame.rect.x1 = slot.frame.rect.x0 + cell * m.columns.len() as f64;
            slot.fit_x(slot.frame.rect.width());
            slot.frame.y = slot.panel.axes(MOST, MOST).1;
            if slot.frame.y.ticks.iter().all(|t| t.label.parse::<u32>().is_ok()) {
                thin(&mut slot.frame.y, own, |_| size::SMALL + 1.5);
            }
        }
        (slot.frame.rect.y0, slot.frame.rect.y1) = (y0 + top, y0 + top + own);
        slot.below = slot.labels_below();
    }
    let labels = row.iter().map(|slot| slot.below).fold(0.0, f64::max);
    let legends = row.iter().map(Slot::legend_below).fold(0.0, f64::max);
    let end = y0 + top + height + labels + legends;
    for slot in row {
        (slot.cell.y0, slot.cell.y1) = (y0, end);
    }
    end
}

/// The inset of a panel, in a corner free of data if there is one.
pub(crate) fn inset<'a>(slot: &Slot<'a>) -> Option<Slot<'a>> {
    let panel = slot.panel.inset.as_deref()?;
    let mut inner = Slot { place: Place::Nowhere, ..Slot::new(panel, false) };
    let r = slot.frame.rect;
    let (width, height) = (INSET * r.width(), INSET * r.height());
    let mut data = Canvas::default();
    draw_data(&mut data, slot);
    let corner = legend::free_place(&data, &r, (width, height));
    let (x, y) = corner.unwrap_or((r.x1 - width - 5.0, r.y0 + 5.0));
    inner.cell = Rect::new(x, y, x + width, y + height);
    (inner.frame.x, inner.frame.y) = panel.axes(FEWEST, FEWEST);
    inner.x_name = vec![with_factor(&panel.x_name, inner.frame.x.factor)];
    inner.y_name = vec![with_factor(&panel.y_name, inner.frame.y.factor)];
    let (left, right) = (x + inner.left(), x + width - inner.right());
    inner.below = inner.labels_below();
    inner.frame.rect = Rect::new(left, y + 2.0, right, y + height - inner.below);
    thin(&mut inner.frame.x, right - left, |label| text_width(&Rich::parse(label), size::SMALL, false) + 3.0);
    Some(inner)
}

/// Finds places for legends and breaks long names; says whether the panels must be placed again.
pub(crate) fn improve(slots: &mut [Slot]) -> bool {
    let mut again = false;
    for slot in slots.iter_mut() {
        let name = with_factor(&slot.panel.y_name, slot.frame.y.factor);
        let lines = wrap(&name, size::NORMAL, slot.frame.rect.height() + 6.0);
        again |= lines.len() != slot.y_name.len();
        slot.y_name = lines;
        let height = slot.frame.rect.height() + 6.0;
        again |= slot.colors.as_mut().is_some_and(|colors| colors.wrap(height));
        let outside = matches!(slot.place, Place::Right | Place::Below);
        if slot.panel.legend != Legend::Auto || outside || slot.entries.is_empty() {
            continue;
        }
        let mut data = Canvas::default();
        draw_data(&mut data, slot);
        if let Some(inner) = inset(slot) {
            data.fill(Role::Data, rectangle(&inner.cell), Rgb::WHITE, 1.0);
        }
        slot.place = match legend::free_place(&data, &slot.frame.rect, legend::column_size(&slot.entries)) {
            Some((x, y)) => Place::Inside(x, y),
            None if slot.cell.width() >= WIDE_PANEL => Place::Right,
            None => Place::Below,
        };
        again |= !matches!(slot.place, Place::Inside(..));
    }
    again
}
