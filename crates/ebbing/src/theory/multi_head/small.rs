//! Linear systems of a few unknowns.

/// `A x = b` by elimination with row pivoting; not finite where A is singular.
pub(super) fn solve_small(a: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut a: Vec<Vec<f64>> = a.iter().zip(b).map(|(row, b)| row.iter().copied().chain([*b]).collect()).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap_or(k);
        a.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..=n {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| a[i][j] * x[j]).sum();
        x[i] = (a[i][n] - known) / a[i][i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::solve_small;

    #[test]
    fn a_system_that_needs_pivoting() {
        let a = vec![vec![0.0, 2.0, 1.0], vec![1.0, 0.0, -1.0], vec![3.0, 1.0, 0.5]];
        let x = [0.5, -2.0, 3.0];
        let b: Vec<f64> = a.iter().map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
        for (got, want) in solve_small(&a, &b).iter().zip(&x) {
            // Well-conditioned 3 × 3: a few rounding errors.
            assert!((got - want).abs() < 1e-14, "{got} {want}");
        }
    }

    #[test]
    fn no_unknowns() {
        assert!(solve_small(&[], &[]).is_empty());
    }
}
