//! `B ← L^{-1} B` with an end within it: halves of a large L one after the other, where faer halves it too.
//!
//! ```math
//! X_1 = L_{11}^{-1} B_1, \qquad X_2 = L_{22}^{-1} (B_2 - L_{21} X_1)
//! ```

use super::{MatMut, MatRef, UNDISTURBED, in_strips};
use crate::stop;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Par};

/// `B ← L^{-1} B`.
pub(super) fn solve_lower(l: MatRef<'_, f64>, b: MatMut<'_, f64>, par: Par) {
    by_halves(l, b, par, UNDISTURBED);
}

/// `B ← U^{-1} B`: the same backwards.
pub(super) fn solve_upper(u: MatRef<'_, f64>, b: MatMut<'_, f64>, par: Par) {
    solve_lower(u.reverse_rows_and_cols(), b.reverse_rows_mut(), par);
}

/// With at most `most` multiplications at a time.
fn by_halves(l: MatRef<'_, f64>, b: MatMut<'_, f64>, par: Par, most: usize) {
    /// faer cuts triangles of at most this size another way.
    const SMALL: usize = 128;
    if stop::requested() {
        return;
    }
    let n = l.nrows();
    if n <= SMALL || n * n / 2 * b.ncols() <= most {
        return solve_lower_triangular_in_place(l, b, par);
    }
    let half = n - (n / 2).next_multiple_of(16);
    let (first, _, below, second) = l.split_at(half, half);
    let (mut top, mut bottom) = b.split_at_row_mut(half);
    by_halves(first, top.as_mut(), par, most);
    in_strips(bottom.as_mut(), Accum::Add, below, top.as_ref(), -1.0, par, most);
    by_halves(second, bottom, par, most);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Mat, SPLITS};
    use crate::rng::Stream;

    /// Cutting work for the sake of its end leaves every bit alone.
    #[test]
    fn pieces_have_the_bits_of_the_whole() {
        let mut stream = Stream::new(5, "triangles", 0);
        for (n, columns) in [(129, 3), (300, 300), (517, 200), (700, 1), (640, 650)] {
            let mut l = Mat::from_fn(n, n, |_, _| stream.normal() / n as f64);
            (0..n).for_each(|i| l[(i, i)] = 1.0 + stream.uniform());
            let b = Mat::from_fn(n, columns, |_, _| stream.normal());
            let par = if columns > 1 { Par::rayon(SPLITS) } else { Par::Seq };
            for turned in [false, true] {
                let solved = |most: usize| {
                    let mut x = b.clone();
                    let l = if turned { l.transpose().reverse_rows_and_cols() } else { l.as_ref() };
                    by_halves(l, x.as_mut(), par, most);
                    x
                };
                assert_eq!(solved(1 << 20), solved(usize::MAX), "{n} {columns} {turned}");
            }
            let product = |most: usize| {
                let mut c = b.clone();
                in_strips(c.as_mut(), Accum::Add, l.as_ref(), b.as_ref(), 0.3, par, most);
                c
            };
            assert_eq!(product(1 << 20), product(usize::MAX), "{n} {columns}");
        }
    }
}
