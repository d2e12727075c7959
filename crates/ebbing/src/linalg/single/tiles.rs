//! A product in tiles: operands are copied once into the order in which the kernel reads them, then every tile of the
//! result is computed from there on its own (K. Goto and R. van de Geijn, ACM TOMS 34 (2008), article 12).

use super::Touch;
use super::kernel::{COLS, ROWS, micro};
use super::pack::{Operand, pack};
use faer::{MatMut, MatRef};
use rayon::prelude::*;
use std::cell::Cell;
use std::slice::from_raw_parts_mut;

/// Terms of a sum that the kernel takes at once: a panel of either operand then lies in the first-level cache.
const DEPTH: usize = 256;
/// Terms of a sum for which operands are copied at once: bounds the space for the copies.
const SPAN: usize = 2048;
/// Largest number of rows and columns of a tile: its part of A then lies in the second-level cache.
const TILE: [usize; 2] = [192, 384];
/// Panels that are copied as one piece of work.
const GROUP: usize = 12;

/// One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    _entries: [f32; 16],
}

thread_local! {
    /// Space for the copies, kept from product to product.
    static SPACE: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// The result's entries, which tiles write in disjoint parts.
struct Target {
    entries: *mut f32,
    stride: usize,
}
// SAFETY: every piece of work touches only the entries of its own tile.
unsafe impl Sync for Target {}

impl Target {
    /// Where entry (i, j) lies.
    fn at(&self, i: usize, j: usize) -> *mut f32 {
        self.entries.wrapping_add(i + j * self.stride)
    }
}

/// Space that pieces of work fill in disjoint parts.
struct Space(*mut f32);
// SAFETY: every piece of work writes only its own panels; none is read before all are written.
unsafe impl Sync for Space {}

impl Space {
    fn start(&self) -> *mut f32 {
        self.0
    }
}

/// `C ← after(before(C) + alpha·A B)`, or without the first C if not `keep`. The kernel must be available.
pub(super) fn multiply(
    c: MatMut<'_, f32>,
    keep: bool,
    alpha: f32,
    a: MatRef<'_, f32>,
    b: MatRef<'_, f32>,
    before: Touch<'_>,
    after: Touch<'_>,
    parallel: bool,
) {
    let (m, n, k) = (c.nrows(), c.ncols(), a.ncols());
    assert!(c.row_stride() == 1 && c.col_stride() >= m as isize, "the columns of a product are contiguous");
    let target = Target { entries: c.as_ptr_mut(), stride: c.col_stride() as usize };
    let (a, b) = (Operand::rows_of(a), Operand::rows_of(b.transpose()));
    let panels = [m.div_ceil(ROWS), n.div_ceil(COLS)];
    let groups = [panels[0].div_ceil(GROUP), panels[1].div_ceil(GROUP)];
    let span = k.div_ceil(k.div_ceil(SPAN));
    let size = [panels[0] * ROWS * span, panels[1] * COLS * span].map(|entries| entries.div_ceil(16));
    let mut space = SPACE.take();
    if space.len() < size[0] + size[1] {
        space.resize(size[0] + size[1], Line { _entries: [0.0; 16] });
    }
    let (for_a, for_b) = space.split_at_mut(size[0]);
    let (copy_a, copy_b) = (Space(for_a.as_mut_ptr().cast()), Space(for_b.as_mut_ptr().cast()));
    let tiles = Tiles::of(m, n);
    for start in (0..k).step_by(span) {
        let terms = start..(start + span).min(k);
        let copy = |g: usize| {
            let part = |g: usize, panels: usize| g * GROUP..((g + 1) * GROUP).min(panels);
            // SAFETY: the spaces hold all panels of `terms`, and each group's panels are its own.
            unsafe {
                match g.checked_sub(groups[0]) {
                    None => pack::<ROWS>(&a, terms.clone(), DEPTH, panels[0], part(g, panels[0]), copy_a.start()),
                    Some(g) => pack::<COLS>(&b, terms.clone(), DEPTH, panels[1], part(g, panels[1]), copy_b.start()),
                }
            }
        };
        each(groups[0] + groups[1], parallel, &copy);
        let compute = |t: usize| {
            let tile = tiles.get(t);
            let touch = |touch: Touch<'_>| {
                for j in tile.cols.clone() {
                    // SAFETY: this tile's part of column j, which nothing else touches.
                    let piece = unsafe { from_raw_parts_mut(target.at(tile.rows.start, j), tile.rows.len()) };
                    touch(tile.rows.start, j, piece);
                }
            };
            if start == 0 && keep {
                touch(before);
            }
            // SAFETY: the copies hold all panels of `terms`; the tile lies in the result.
            unsafe {
                fill(&tile, &target, copy_a.start(), copy_b.start(), panels, terms.len(), alpha, keep || start > 0)
            };
            if terms.end == k {
                touch(after);
            }
        };
        each(tiles.count(), parallel, &compute);
    }
    SPACE.set(space);
}

/// Adds a span of terms to one tile, or starts it with them if not `add`.
///
/// # Safety
/// The kernel must be available, the copies hold `terms` terms of all panels, and nothing else touches the tile.
unsafe fn fill(
    tile: &Tile,
    target: &Target,
    a: *const f32,
    b: *const f32,
    panels: [usize; 2],
    terms: usize,
    alpha: f32,
    add: bool,
) {
    for from in (0..terms).step_by(DEPTH) {
        let depth = DEPTH.min(terms - from);
        let add = add || from > 0;
        for j in tile.cols.clone().step_by(COLS) {
            let cols = COLS.min(tile.cols.end - j);
            for i in tile.rows.clone().step_by(ROWS) {
                let rows = ROWS.min(tile.rows.end - i);
                // SAFETY: panels of `depth` terms lie one after the other; tiles start at whole panels.
                unsafe {
                    let panel_a = a.add(panels[0] * ROWS * from + i * depth);
                    let panel_b = b.add(panels[1] * COLS * from + j * depth);
                    let entries = target.at(i, j);
                    if rows == ROWS && cols == COLS {
                        micro(depth, panel_a, panel_b, alpha, entries, target.stride, add);
                        continue;
                    }
                    let mut whole = [0f32; ROWS * COLS];
                    micro(depth, panel_a, panel_b, alpha, whole.as_mut_ptr(), ROWS, false);
                    for q in 0..cols {
                        let piece = from_raw_parts_mut(target.at(i, j + q), rows);
                        let sums = &whole[q * ROWS..q * ROWS + rows];
                        piece.iter_mut().zip(sums).for_each(|(c, s)| *c = if add { *c + s } else { *s });
                    }
                }
            }
        }
    }
}

/// Does pieces of work 0..count, in parallel if asked.
fn each(count: usize, parallel: bool, work: &(dyn Fn(usize) + Sync)) {
    if parallel {
        (0..count).into_par_iter().with_max_len(1).for_each(work);
    } else {
        (0..count).for_each(work);
    }
}

/// How a result is cut, by its size alone.
struct Tiles {
    size: [usize; 2],
    step: [usize; 2],
}

struct Tile {
    rows: std::ops::Range<usize>,
    cols: std::ops::Range<usize>,
}

impl Tiles {
    fn of(m: usize, n: usize) -> Self {
        let even = |size: usize, most: usize, panel: usize| size.div_ceil(size.div_ceil(most)).next_multiple_of(panel);
        Tiles { size: [m, n], step: [even(m, TILE[0], ROWS), even(n, TILE[1], COLS)] }
    }

    fn count(&self) -> usize {
        self.size[0].div_ceil(self.step[0]) * self.size[1].div_ceil(self.step[1])
    }

    fn get(&self, index: usize) -> Tile {
        let down = self.size[0].div_ceil(self.step[0]);
        let part = |at: usize, d: usize| at * self.step[d]..((at + 1) * self.step[d]).min(self.size[d]);
        Tile { rows: part(index % down, 0), cols: part(index / down, 1) }
    }
}
