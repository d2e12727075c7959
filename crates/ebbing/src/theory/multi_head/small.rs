//! Linear systems of a few unknowns.

/// `A x = b` by elimination with row pivoting; not finite where A is singular.
pub(super) fn solve_small(a: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut rows: Vec<Vec<f64>> = a.iter().zip(b).map(|(row, b)| row.iter().copied().chain([*b]).collect()).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs())).unwrap_or(k);
        rows.swap(k, pivot);
        for i in k + 1..n {
            let factor = rows[i][k] / rows[k][k];
            for j in k..=n {
                rows[i][j] -= factor * rows[k][j];
            }
        }
    }
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| rows[i][j] * x[j]).sum();
        x[i] = (rows[i][n] - known) / rows[i][i];
    }
    x
}

/// The number of negative eigenvalues of a symmetric matrix, by Jacobi rotations.
pub(super) fn negative_eigenvalues(a: &[Vec<f64>]) -> usize {
    let n = a.len();
    let mut a = a.to_vec();
    for _ in 0..60 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j].powi(2)).sum();
        let diagonal: f64 = (0..n).map(|i| a[i][i].powi(2)).sum();
        if off <= 1e-30 * diagonal {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, p, q);
            }
        }
    }
    (0..n).filter(|&i| a[i][i] < 0.0).count()
}

/// The rotation that makes entry (p, q) zero.
fn rotate(a: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let ratio = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = ratio.signum() / (ratio.abs() + (ratio * ratio + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for k in 0..a.len() {
        let (x, y) = (a[k][p], a[k][q]);
        (a[k][p], a[k][q]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..a.len() {
        let (x, y) = (a[p][k], a[q][k]);
        (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
    }
}

#[cfg(test)]
mod tests {
    use super::{negative_eigenvalues, solve_small};

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
        assert_eq!(negative_eigenvalues(&[]), 0);
    }

    #[test]
    fn inertia() {
        // Eigenvalues 1 ± 2 and 5, then −1, −2 and 3 in a rotated basis.
        assert_eq!(negative_eigenvalues(&[vec![1.0, 2.0, 0.0], vec![2.0, 1.0, 0.0], vec![0.0, 0.0, 5.0]]), 1);
        let (c, s) = (0.6, 0.8);
        let a =
            vec![vec![-c * c - 2.0 * s * s, c * s, 0.0], vec![c * s, -s * s - 2.0 * c * c, 0.0], vec![0.0, 0.0, 3.0]];
        assert_eq!(negative_eigenvalues(&a), 2);
    }
}
