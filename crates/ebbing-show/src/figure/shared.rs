//! Legends that several panels share: what stands in one panel only stays there, what several share goes above the first row that
//! shows it; a free cell of the grid takes them all if they fit.

use super::canvas::{Canvas, Rect};
use super::layout::{GUTTER, Place, Slot};
use super::legend::{self, Entry};
use super::panel::Legend;
use std::collections::BTreeSet;

/// Room between a legend and the panels below it, pt.
const BELOW: f64 = 4.0;

/// The legends of several panels.
pub(crate) struct Shared {
    /// What stands above each row.
    above: Vec<Vec<Entry>>,
    /// What stands in the free cell.
    free: Vec<Entry>,
    columns: usize,
    width: f64,
}

/// What leaves the panels: entries that several of them have, and what else those panels name, so that they need no second
/// legend; only what could be taken for something else there stays.
fn chosen(found: Vec<(Entry, Vec<usize>)>, slots: &[Slot]) -> Vec<(Entry, Vec<usize>)> {
    let sharing: BTreeSet<usize> = found.iter().filter(|(_, p)| p.len() > 1).flat_map(|(_, p)| p.clone()).collect();
    let joins = |(entry, panels): &&(Entry, Vec<usize>)| {
        let auto = |k: &usize| sharing.contains(k) && slots[*k].panel.legend == Legend::Auto;
        let alike = |(other, _): &(Entry, Vec<usize>)| other.is_mistaken_for(entry);
        panels.len() > 1 || (panels.iter().all(auto) && !found.iter().any(alike))
    };
    found.iter().filter(joins).cloned().collect()
}

impl Shared {
    /// Takes from the panels what several of them would say.
    pub fn take(slots: &mut [Slot], columns: usize, width: f64) -> Shared {
        let rows = slots.len().div_ceil(columns);
        let mut found: Vec<(Entry, Vec<usize>)> = Vec::new();
        for (k, slot) in slots.iter().enumerate() {
            for entry in &slot.entries {
                match found.iter_mut().find(|(known, _)| known.agrees(entry)) {
                    Some((known, panels)) => {
                        known.join(entry);
                        panels.push(k);
                    }
                    None => found.push((entry.clone(), vec![k])),
                }
            }
        }
        let mut above: Vec<Vec<Entry>> = vec![Vec::new(); rows];
        for (entry, panels) in chosen(found, slots) {
            for &k in &panels {
                slots[k].entries.retain(|own| !entry.agrees(own));
            }
            above[panels[0] / columns].push(entry);
        }
        for slot in slots.iter_mut().filter(|slot| slot.entries.is_empty()) {
            slot.place = Place::Nowhere;
        }
        Shared { above, free: Vec::new(), columns, width }
    }

    /// Legends with entries that look the same though they mean different things, as pairs of names.
    pub fn mistakable(&self, slots: &[Slot]) -> Vec<[String; 2]> {
        let mut pairs = Vec::new();
        for legend in slots.iter().map(|slot| &slot.entries).chain(&self.above).chain(std::iter::once(&self.free)) {
            for (k, entry) in legend.iter().enumerate() {
                let alike = legend[..k].iter().filter(|other| other.is_mistaken_for(entry));
                pairs.extend(alike.map(|other| [other.name(), entry.name()]));
            }
        }
        pairs
    }

    /// Moves everything that stands above panels, and below them, into the free cell at the end of the grid if there is one
    /// and it fits; says whether the panels must be placed again.
    pub fn fill_free_cell(&mut self, slots: &mut [Slot]) -> bool {
        let Some(room) = self.free_cell(slots) else { return false };
        let mut taken: Vec<Entry> = self.above.iter().flatten().cloned().collect();
        let below = |slot: &&mut Slot| slot.place == Place::Below && !slot.entries.is_empty();
        let lower: Vec<Entry> = slots.iter_mut().filter(below).flat_map(|slot| slot.entries.clone()).collect();
        let all = [taken.clone(), lower].concat();
        let fits = |entries: &[Entry]| {
            let (width, _) = legend::column_size(entries);
            let height = entries.len() as f64 * legend::CLOSE_LINE;
            !entries.is_empty() && width <= room.width() && height <= room.height()
        };
        if fits(&all) {
            taken = all;
            for slot in slots.iter_mut().filter(|slot| slot.place == Place::Below) {
                slot.entries.clear();
                slot.place = Place::Nowhere;
            }
        } else if !fits(&taken) {
            return false;
        }
        self.free = taken;
        self.above.iter_mut().for_each(Vec::clear);
        true
    }

    /// The cells at the end of the last row that no panel takes.
    fn free_cell(&self, slots: &[Slot]) -> Option<Rect> {
        let last = slots.last().filter(|_| !slots.len().is_multiple_of(self.columns))?;
        Some(Rect::new(last.cell.x1 + GUTTER, last.frame.rect.y0, self.width, last.cell.y1))
    }

    /// The room that the legend above a row takes.
    pub fn height_above(&self, row: usize) -> f64 {
        match self.above.get(row) {
            Some(entries) if !entries.is_empty() => legend::flow_height(entries, self.width) + BELOW,
            _ => 0.0,
        }
    }

    /// Draws the legends.
    pub fn draw(&self, canvas: &mut Canvas, slots: &[Slot]) {
        for (row, entries) in self.above.iter().enumerate().filter(|(_, entries)| !entries.is_empty()) {
            let top = slots[row * self.columns].cell.y0 - self.height_above(row);
            legend::draw_flow(canvas, entries, 0.0, top, self.width);
        }
        if let Some(room) = self.free_cell(slots).filter(|_| !self.free.is_empty()) {
            legend::draw_column_within(canvas, &self.free, (room.x0, room.y0), room.height());
        }
    }
}
