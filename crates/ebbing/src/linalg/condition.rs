//! `‖A⁻¹‖₁` from a few solves, without the inverse.

/// A lower bound of `‖A⁻¹‖₁`, rarely below a third of it, for a symmetric `A` of `n` rows that `solve` inverts in place.
///
/// Hager's ascent over the corners of the unit ball, with Higham's safeguards.
/// W. W. Hager, SIAM J. Sci. Stat. Comput. 5, 311 (1984); N. J. Higham, ACM Trans. Math. Softw. 14, 381 (1988).
pub(super) fn inverse_norm(n: usize, solve: impl Fn(&mut [f64])) -> f64 {
    if n == 0 {
        return 0.0;
    }
    let mut x = vec![1.0 / n as f64; n];
    solve(&mut x);
    let mut estimate = sum_abs(&x);
    let mut signs = signs_of(&x);
    for _ in 0..4 {
        x.copy_from_slice(&signs);
        solve(&mut x);
        let steepest = (0..n).fold(0, |best, i| if x[i].abs() > x[best].abs() { i } else { best });
        x.fill(0.0);
        x[steepest] = 1.0;
        solve(&mut x);
        let (norm, new_signs) = (sum_abs(&x), signs_of(&x));
        if norm <= estimate {
            break;
        }
        estimate = norm;
        if new_signs == signs {
            break;
        }
        signs = new_signs;
    }
    // A vector on which the ascent above is known to be blind to cancellation.
    for i in 0..n {
        let size = 1.0 + i as f64 / (n.max(2) - 1) as f64;
        x[i] = if i % 2 == 0 { size } else { -size };
    }
    solve(&mut x);
    estimate.max(2.0 * sum_abs(&x) / (3.0 * n as f64))
}

fn sum_abs(x: &[f64]) -> f64 {
    x.iter().map(|v| v.abs()).sum()
}

fn signs_of(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&v| if v >= 0.0 { 1.0 } else { -1.0 }).collect()
}
