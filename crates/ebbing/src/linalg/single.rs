//! Single-precision products for training networks.

use super::par;
use faer::{Accum, MatMut, MatRef};

/// `C ← beta·C + alpha·A B` in single precision, with beta 0 or 1.
pub(crate) fn matmul_f32(mut c: MatMut<'_, f32>, beta: f32, alpha: f32, a: MatRef<'_, f32>, b: MatRef<'_, f32>) {
    let par = par(c.nrows().min(c.ncols()));
    let accum = if beta == 0.0 { Accum::Replace } else { Accum::Add };
    debug_assert!(beta == 0.0 || beta == 1.0);
    faer::linalg::matmul::matmul(c.as_mut(), accum, a, b, alpha, par);
}

/// Column `j` of a matrix that stores columns contiguously.
pub(crate) fn column_f32<'a>(m: MatRef<'a, f32>, j: usize) -> &'a [f32] {
    m.col(j).try_as_col_major().expect("columns of an owned matrix are contiguous").as_slice()
}

/// Column `j` of a matrix that stores columns contiguously, to be written.
pub(crate) fn column_f32_mut<'a>(m: MatMut<'a, f32>, j: usize) -> &'a mut [f32] {
    m.col_mut(j).try_as_col_major_mut().expect("columns of an owned matrix are contiguous").as_slice_mut()
}
