//! Linear systems of a few unknowns.

/// `A x = b` by elimination with row pivoting; not finite where A is singular.
pub(super) fn solve_small(a: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut rows: Vec<Vec<f64>> = a.iter().zip(b).map(|(row, b)| row.iter().copied().chain([*b]).collect()).collect();
    eliminate(&mut rows);
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| rows[i][j] * x[j]).sum();
        x[i] = (rows[i][n] - known) / rows[i][i];
    }
    x
}

/// Whether det A > 0; true for an empty matrix.
pub(super) fn determinant_is_positive(a: &[Vec<f64>]) -> bool {
    let mut rows = a.to_vec();
    let even = eliminate(&mut rows);
    let negative = (0..rows.len()).filter(|&i| rows[i][i] < 0.0).count();
    (negative % 2 == 0) == even
}

/// Turns the rows into upper triangular form; whether an even number of rows was swapped.
fn eliminate(rows: &mut [Vec<f64>]) -> bool {
    let mut even = true;
    for k in 0..rows.len() {
        let pivot = (k..rows.len()).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs())).unwrap_or(k);
        even ^= pivot != k;
        rows.swap(k, pivot);
        for i in k + 1..rows.len() {
            let factor = rows[i][k] / rows[k][k];
            for j in k..rows[i].len() {
                rows[i][j] -= factor * rows[k][j];
            }
        }
    }
    even
}

#[cfg(test)]
mod tests {
    use super::{determinant_is_positive, solve_small};

    #[test]
    fn a_system_that_needs_pivoting() {
        let a = vec![vec![0.0, 2.0, 1.0], vec![1.0, 0.0, -1.0], vec![3.0, 1.0, 0.5]];
        let x = [0.5, -2.0, 3.0];
        let b: Vec<f64> = a.iter().map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
        for (got, want) in solve_small(&a, &b).iter().zip(&x) {
            // Well-conditioned 3 × 3: a few rounding errors.
            assert!((got - want).abs() < 1e-14, "{got} {want}");
        }
        // det = 0·1 − 2·(0.5 + 3) + 1·1 = −6.
        assert!(!determinant_is_positive(&a));
        assert!(determinant_is_positive(&[vec![0.0, -1.0], vec![1.0, 0.0]]));
    }

    #[test]
    fn no_unknowns() {
        assert!(solve_small(&[], &[]).is_empty());
        assert!(determinant_is_positive(&[]));
    }
}
