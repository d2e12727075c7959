//! Dense linear algebra: the only place that names faer.
//!
//! | Item | What it is |
//! |---|---|
//! | [`Mat`], [`MatRef`], [`MatMut`] | faer's matrices, column by column |
//! | [`Cholesky`] | `A = L Lᵀ`, with solves, `ln det`, a condition number, and errors that say which rows coincide |
//! | [`SymmetricEigen`] | `A = V Λ Vᵀ` |
//! | [`Pencil`] | `A V = B V Λ` with `Vᵀ B V = I`: one basis for two symmetric matrices |
//! | [`PseudoInverse`] | `A⁺` at a stated rank |
//! | [`matmul`], [`matvec`], [`dot`] | products |
//! | [`on_one_thread`], [`par_map`] | who works in parallel: the algebra or its caller |
//!
//! Work is always divided into the same [`SPLITS`] parts, whatever the number of threads, so every result has the
//! same bits at any number of threads. Threads are those of the current rayon pool.
//!
//! Where an end is asked for ([`crate::context::Stop`]) products and solves are left undone within a second. A decomposition by
//! eigenvectors cannot be interrupted: it comes to its end first.
//!
//! ```
//! use ebbing::linalg::{Cholesky, Mat, matmul};
//! let a = Mat::from_fn(3, 3, |i, j| if i == j { 2.0 } else { 1.0 });
//! let x = Cholesky::factor(a.as_ref(), "an example")?.solve_vec(&[4.0, 4.0, 4.0]);
//! assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-14));
//! assert_eq!(matmul(a.as_ref(), a.as_ref())[(0, 0)], 6.0);
//! # Ok::<(), ebbing::Error>(())
//! ```

mod block;
mod cholesky;
mod cholesky_f32;
mod condition;
mod diagnosis;
mod eigen;
mod pencil;
mod pseudo_inverse;
mod single;
mod threads;
mod tiled;
mod triangle;

pub(crate) use block::{column_slice, column_slice_mut, matmul_block, matmul_block_f32, upper_block};
pub use cholesky::Cholesky;
pub(crate) use cholesky_f32::{SingleCholesky, residual_f64, tall_product_f32};
pub(crate) use diagnosis::{dependent_rows, singular};
pub use eigen::SymmetricEigen;
pub(crate) use faer::Scale;
pub use faer::{Mat, MatMut, MatRef};
pub use pencil::Pencil;
pub use pseudo_inverse::PseudoInverse;
/// The first entry, row by row, that is NaN or infinite.
pub(crate) fn not_finite(m: MatRef<'_, f64>) -> Option<(usize, usize)> {
    (0..m.ncols()).flat_map(|j| (0..m.nrows()).map(move |i| (i, j))).filter(|&(i, j)| !m[(i, j)].is_finite()).min()
}

pub(crate) use single::{LEAVE, column_f32, column_f32_mut, for_columns, matmul_f32, matmul_f32_with};
pub(crate) use threads::within_pool;
pub use threads::{on_one_thread, par_map};
pub(crate) use tiled::{PROBES, TiledCholesky};

use crate::error::{Error, Result};
use crate::rng::Stream;
use crate::stop;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Par};

/// The number of parts that parallel work is cut into, on every machine.
pub const SPLITS: usize = 8;

/// Multiplications after which work checks whether a stop is requested: a fraction of a second on one core.
const UNDISTURBED: usize = 10_000_000_000;

/// faer's parallelism for a result of `columns` columns.
///
/// A single column is bound by memory, not by arithmetic, and faer sums it in an order that depends on the split.
fn par(columns: usize) -> Par {
    if columns <= 1 || threads::alone() { Par::Seq } else { Par::rayon(SPLITS) }
}

/// `C = A B`.
///
/// # Panics
/// If the inner dimensions differ.
pub fn matmul(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.nrows(), b.ncols());
    matmul_into(c.as_mut(), 0.0, 1.0, a, b);
    c
}

/// `C ← beta·C + alpha·A B`, with beta 0 or 1.
///
/// # Panics
/// If dimensions differ.
pub fn matmul_into(c: MatMut<'_, f64>, beta: f64, alpha: f64, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    debug_assert!(beta == 0.0 || beta == 1.0);
    let accum = if beta == 0.0 { Accum::Replace } else { Accum::Add };
    let par = par(c.nrows().min(c.ncols()));
    in_strips(c, accum, a, b, alpha, par, UNDISTURBED);
}

/// The product of [`matmul_into`], by some columns after the other: with at most `most` multiplications in each strip, and the
/// same bits however many there are.
fn in_strips(
    mut c: MatMut<'_, f64>,
    accum: Accum,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    alpha: f64,
    par: Par,
    most: usize,
) {
    /// Narrower ones would be slower.
    const NARROWEST: usize = 192;
    let width = most / (a.nrows() * a.ncols()).max(1) / NARROWEST * NARROWEST;
    let width = width.max(NARROWEST).min(b.ncols().max(1));
    for first in (0..b.ncols()).step_by(width) {
        if stop::requested() {
            return;
        }
        let columns = width.min(b.ncols() - first);
        let (c, b) = (c.as_mut().subcols_mut(first, columns), b.subcols(first, columns));
        faer::linalg::matmul::matmul(c, accum, a, b, alpha, par);
    }
}

/// `A x`.
///
/// # Panics
/// If `x` does not have one element per column of `a`.
pub fn matvec(a: MatRef<'_, f64>, x: &[f64]) -> Vec<f64> {
    matmul(a, column(x)).col_as_slice(0).to_vec()
}

/// A slice seen as a matrix of one column.
pub fn column(x: &[f64]) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(x, x.len(), 1)
}

/// `xᵀ y`, summed in eight interleaved parts that are combined in pairs.
///
/// # Panics
/// If the lengths differ.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len(), "dot needs vectors of one length");
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let tail: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(a, b)| a * b).sum();
    let mut s = [0.0; 8];
    for (a, b) in xs.zip(ys) {
        for k in 0..8 {
            s[k] += a[k] * b[k];
        }
    }
    ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])) + tail
}

/// The lower half of `C ← beta·C + alpha·A Aᵀ`, with beta 0 or 1.
pub(crate) fn lower_gram_into(c: MatMut<'_, f64>, beta: f64, alpha: f64, a: MatRef<'_, f64>) {
    debug_assert!(beta == 0.0 || beta == 1.0);
    if stop::requested() {
        return;
    }
    let accum = if beta == 0.0 { Accum::Replace } else { Accum::Add };
    let (par, whole) = (par(c.ncols()), BlockStructure::Rectangular);
    triangular::matmul(c, BlockStructure::TriangularLower, accum, a, whole, a.transpose(), whole, alpha, par);
}

/// The lower half of `C ← C − A Aᵀ` with A in single precision: for a matrix that need not be exact.
pub(crate) fn subtract_lower_gram_f32(mut c: MatMut<'_, f64>, a: MatRef<'_, f32>) {
    if stop::requested() {
        return;
    }
    let mut product = Mat::<f32>::zeros(a.nrows(), a.nrows());
    let (par, whole) = (par(c.ncols()), BlockStructure::Rectangular);
    let (to, lower) = (product.as_mut(), BlockStructure::TriangularLower);
    triangular::matmul(to, lower, Accum::Replace, a, whole, a.transpose(), whole, 1.0f32, par);
    for j in 0..product.ncols() {
        for i in j..product.nrows() {
            c[(i, j)] -= f64::from(product[(i, j)]);
        }
    }
}

/// `A B` for a symmetric `A` of which the lower half is read.
pub(crate) fn symmetric_matmul(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut c = Mat::zeros(a.nrows(), b.ncols());
    let halves = [
        (a, BlockStructure::TriangularLower, Accum::Replace),
        (a.transpose(), BlockStructure::StrictTriangularUpper, Accum::Add),
    ];
    for (half, shape, accum) in halves {
        if stop::requested() {
            break;
        }
        let par = par(b.ncols());
        triangular::matmul(
            c.as_mut(),
            BlockStructure::Rectangular,
            accum,
            half,
            shape,
            b,
            BlockStructure::Rectangular,
            1.0,
            par,
        );
    }
    c
}

/// A copy of the lower half of `a` with its mirror image above the diagonal.
pub(crate) fn symmetric_copy(a: MatRef<'_, f64>) -> Mat<f64> {
    const BLOCK: usize = 32; // two blocks of 32 × 32 numbers stay in the first-level cache
    let n = a.nrows();
    let mut full = Mat::zeros(n, n);
    full.copy_from_triangular_lower(a);
    for block in (0..n).step_by(BLOCK) {
        for j in 0..n {
            let rows = block.max(j + 1)..(block + BLOCK).min(n);
            for i in rows {
                full[(j, i)] = full[(i, j)];
            }
        }
    }
    full
}

/// `max_j Σ_i |a_ij|` of a symmetric matrix of which the lower half is read; NaN or ∞ where an entry is.
fn symmetric_norm(a: MatRef<'_, f64>) -> f64 {
    let n = a.nrows();
    let mut sums = vec![0.0; n];
    for j in 0..n {
        let mut below = 0.0;
        for i in j + 1..n {
            let entry = a[(i, j)].abs();
            below += entry;
            sums[i] += entry;
        }
        sums[j] += below + a[(j, j)].abs();
    }
    // f64::max would drop a NaN.
    sums.into_iter().fold(0.0, |m, s| if s > m || s.is_nan() { s } else { m })
}

/// `max_j Σ_i |a_ij|`.
fn norm1(a: MatRef<'_, f64>) -> f64 {
    a.col_iter()
        .map(|c| c.iter().map(|v| v.abs()).sum::<f64>())
        .fold(0.0, |m, s| if s > m || s.is_nan() { s } else { m })
}

/// The one-norm of a symmetric matrix, after checks that it is square and that its lower half is finite.
fn checked_norm(a: MatRef<'_, f64>, name: &str) -> Result<f64> {
    // An interrupted product is incomplete and must not be factored.
    stop::check()?;
    let (n, m) = (a.nrows(), a.ncols());
    if n != m {
        return Err(Error::data(name, format!("it has {n} rows and {m} columns; it must be square")));
    }
    let norm = symmetric_norm(a);
    if norm.is_finite() {
        return Ok(norm);
    }
    for j in 0..n {
        for i in j..n {
            if !a[(i, j)].is_finite() {
                return Err(Error::data(name, format!("entry ({i}, {j}) is {}; it must be finite", a[(i, j)])));
            }
        }
    }
    Err(Error::data(name, "its norm is beyond the range of f64; scale it down"))
}

/// Signs ±1, one column per probe: `E|R z|² = ‖R‖_F²`, so that a residual R is measured without forming it.
fn probes(n: usize, count: usize) -> Mat<f64> {
    let mut stream = Stream::new(0, "residual probes", n as u64);
    Mat::from_fn(n, count, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 })
}

/// `‖R‖_F` from the products of R with probes.
fn probed_norm(products: MatRef<'_, f64>) -> f64 {
    products.squared_norm_l2().sqrt() / (products.ncols() as f64).sqrt()
}
