//! Copies of an operand in the order in which the kernel reads it.

use super::kernel::{COLS, turn};
use faer::MatRef;
use std::ops::Range;

/// A matrix of which rows are gathered into panels, wherever its entries lie.
pub(super) struct Operand {
    entries: *const f32,
    rows: usize,
    row_stride: usize,
    term_stride: usize,
}
// SAFETY: it is only read.
unsafe impl Sync for Operand {}

impl Operand {
    /// The rows of `m`; its columns are the terms of the sums.
    ///
    /// # Panics
    /// If neither rows nor columns of `m` are contiguous.
    pub fn rows_of(m: MatRef<'_, f32>) -> Self {
        let strides = [m.row_stride(), m.col_stride()].map(|s| usize::try_from(s).expect("strides count upwards"));
        assert!(strides.contains(&1), "an operand has contiguous rows or columns");
        Operand { entries: m.as_ptr(), rows: m.nrows(), row_stride: strides[0], term_stride: strides[1] }
    }
}

/// Copies `part` of the `panels` panels of R rows: blocks of at most `depth` terms, in each all panels, in each all terms,
/// in each R entries. Rows beyond the last are zero.
///
/// # Safety
/// The kernel must be available, `to` have space for all panels, and nothing else touch those of `part`.
pub(super) unsafe fn pack<const R: usize>(
    of: &Operand,
    terms: Range<usize>,
    depth: usize,
    panels: usize,
    part: Range<usize>,
    to: *mut f32,
) {
    for from in (0..terms.len()).step_by(depth) {
        let depth = depth.min(terms.len() - from);
        // SAFETY: the space of this block of terms; the operand has `terms` columns.
        unsafe {
            let block = to.add(panels * R * from);
            let source = of.entries.add((terms.start + from) * of.term_stride);
            if of.row_stride == 1 {
                copy_rows::<R>(of, source, depth, part.clone(), block);
            } else {
                for panel in part.clone() {
                    turn_rows::<R>(of, source, depth, panel, block.add(panel * R * depth));
                }
            }
        }
    }
}

/// The same where the R entries of a term are contiguous: several terms at once, so that whole cache lines are read.
///
/// # Safety
/// As for [`pack`], with `source` at the first term of the block and `block` its space.
unsafe fn copy_rows<const R: usize>(
    of: &Operand,
    source: *const f32,
    depth: usize,
    part: Range<usize>,
    block: *mut f32,
) {
    const TERMS: usize = 8;
    for from in (0..depth).step_by(TERMS) {
        for panel in part.clone() {
            let rows = R.min(of.rows - panel * R);
            for k in from..(from + TERMS).min(depth) {
                // SAFETY: rows panel·R .. panel·R + rows of term k, and their place in the panel.
                unsafe {
                    let entries = source.add(panel * R + k * of.term_stride);
                    let to = block.add(panel * R * depth + k * R);
                    if rows == R {
                        to.cast::<[f32; R]>().write_unaligned(entries.cast::<[f32; R]>().read_unaligned());
                    } else {
                        (0..R).for_each(|i| to.add(i).write(if i < rows { *entries.add(i) } else { 0.0 }));
                    }
                }
            }
        }
    }
}

/// The same where the terms of a row are contiguous: eight terms of several rows at once.
///
/// # Safety
/// As for [`copy_rows`], with `to` at the panel's space; the kernel must be available.
unsafe fn turn_rows<const R: usize>(of: &Operand, source: *const f32, depth: usize, panel: usize, to: *mut f32) {
    const TERMS: usize = 8;
    let rows = R.min(of.rows - panel * R);
    let whole = if rows == R { depth - depth % TERMS } else { 0 };
    // SAFETY: rows panel·R .. panel·R + rows, terms 0 .. depth, and their places in the panel.
    unsafe {
        let first = source.add(panel * R * of.row_stride);
        for k in (0..whole).step_by(TERMS) {
            let (from, to) = (first.add(k), to.add(k * R));
            if R == COLS {
                turn::<COLS>(from, of.row_stride, to, R);
            } else {
                (0..R).step_by(8).for_each(|i| turn::<8>(from.add(i * of.row_stride), of.row_stride, to.add(i), R));
            }
        }
        for k in whole..depth {
            let entry = |i: usize| if i < rows { *first.add(i * of.row_stride + k) } else { 0.0 };
            (0..R).for_each(|i| to.add(k * R + i).write(entry(i)));
        }
    }
}
