//! Products of blocks by callers that divide the work among threads themselves.

use faer::{Accum, MatMut, MatRef, Par};

/// `C = A B` on the calling thread alone.
pub(crate) fn matmul_block(c: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    faer::linalg::matmul::matmul(c, Accum::Replace, a, b, 1.0, Par::Seq);
}

/// Column `j` of a matrix that stores columns contiguously.
pub(crate) fn column_slice(m: MatRef<'_, f64>, j: usize) -> &[f64] {
    m.col(j).try_as_col_major().expect("columns are contiguous").as_slice()
}

/// Column `j` of a matrix that stores columns contiguously, to be written.
pub(crate) fn column_slice_mut(m: MatMut<'_, f64>, j: usize) -> &mut [f64] {
    m.col_mut(j).try_as_col_major_mut().expect("columns are contiguous").as_slice_mut()
}
