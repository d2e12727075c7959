//! Dense linear algebra: the only place that names faer.
//!
//! Work is always cut into the same [`SPLITS`] parts, whatever the number of threads that execute them, so that
//! every result has the same bits at any thread count. Threads are those of the current rayon pool.

mod cholesky;
mod eigen;
mod single;

pub use cholesky::Cholesky;
pub use eigen::{Pencil, SymmetricEigen};
pub use faer::{Mat, MatMut, MatRef};
pub(crate) use single::{column_f32, column_f32_mut, matmul_f32};

use faer::{Accum, Par};

/// Into how many parts a parallel algorithm is cut, independent of the machine.
pub const SPLITS: usize = 8;

/// faer's parallelism setting for every call in this crate.
pub(crate) fn par() -> Par {
    Par::rayon(SPLITS)
}

/// `C = A B`.
pub fn matmul(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.nrows(), b.ncols());
    matmul_into(c.as_mut(), 0.0, 1.0, a, b);
    c
}

/// `C ← beta·C + alpha·A B`, with beta 0 or 1.
pub fn matmul_into(mut c: MatMut<'_, f64>, beta: f64, alpha: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    // A product with a single column is summed in an order that depends on the split: do it in sequence.
    let par = if c.ncols() == 1 || c.nrows() == 1 { Par::Seq } else { par() };
    let accum = if beta == 0.0 { Accum::Replace } else { Accum::Add };
    debug_assert!(beta == 0.0 || beta == 1.0);
    faer::linalg::matmul::matmul(c.as_mut(), accum, a, b, alpha, par);
}

/// `A x`.
pub fn matvec(a: MatRef<'_, f64>, x: &[f64]) -> Vec<f64> {
    let y = matmul(a, column(x));
    (0..y.nrows()).map(|i| y[(i, 0)]).collect()
}

/// A slice seen as a matrix of one column.
pub fn column(x: &[f64]) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(x, x.len(), 1)
}

/// `xᵀ y`.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    debug_assert_eq!(x.len(), y.len());
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}
