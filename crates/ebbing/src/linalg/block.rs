//! Products of blocks by callers that divide the work among threads themselves.

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};

/// `C = A B` on the calling thread alone.
pub(crate) fn matmul_block(c: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    faer::linalg::matmul::matmul(c, Accum::Replace, a, b, 1.0, Par::Seq);
}

/// The upper half of `C = A B` on the calling thread alone.
pub(crate) fn upper_block(c: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let whole = BlockStructure::Rectangular;
    let upper = BlockStructure::TriangularUpper;
    triangular::matmul(c, upper, Accum::Replace, a, whole, b, whole, 1.0, Par::Seq);
}

/// [`matmul_block`] in single precision.
pub(crate) fn matmul_block_f32(c: MatMut<'_, f32>, a: MatRef<'_, f32>, b: MatRef<'_, f32>) {
    faer::linalg::matmul::matmul(c, Accum::Replace, a, b, 1.0f32, Par::Seq);
}

/// Column `j` of a matrix that stores columns contiguously.
pub(crate) fn column_slice(m: MatRef<'_, f64>, j: usize) -> &[f64] {
    m.col(j).try_as_col_major().expect("columns are contiguous").as_slice()
}

/// Column `j` of a matrix that stores columns contiguously, to be written.
pub(crate) fn column_slice_mut(m: MatMut<'_, f64>, j: usize) -> &mut [f64] {
    m.col_mut(j).try_as_col_major_mut().expect("columns are contiguous").as_slice_mut()
}
