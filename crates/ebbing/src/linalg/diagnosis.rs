//! Why a matrix is not positive definite: its pivot, its smallest eigenvalue, the rows that coincide, and what to do.

use super::cholesky::{BadPivot, factor_in_place};
use super::{Mat, MatMut, MatRef, SymmetricEigen, dot, matmul, symmetric_copy};
use crate::error::Error;
use crate::rng::Stream;
use faer::Par;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};

/// How many pairs of rows an error message lists.
const LISTED: usize = 5;
/// The suggested ridge, relative to the norm: with it the condition number is about 1e8 at most, and eight digits are left where
/// four are needed.
const RIDGE: f64 = 1e-8;

/// The error for matrix `a` (its lower half is read) whose factorization failed at `pivot`.
pub(super) fn not_positive_definite(a: MatRef<'_, f64>, pivot: BadPivot, norm: f64, name: &str) -> Error {
    let a = symmetric_copy(a);
    let (row, pivot_value) = match pivot.value {
        Some(value) => (pivot.row, value),
        None => pivot_value(a.as_ref(), pivot.row),
    };
    let smallest_eigenvalue = smallest_eigenvalue(a.as_ref(), norm);
    Error::NotPositiveDefinite {
        matrix: name.to_string(),
        pivot: row,
        size: a.nrows(),
        pivot_value,
        smallest_eigenvalue,
        advice: advice(a.as_ref(), smallest_eigenvalue, norm),
    }
}

/// `a_kk − a_kᵀ A_k⁻¹ a_k` with the leading k × k block `A_k`; if that block fails too, the same at its bad row.
fn pivot_value(a: MatRef<'_, f64>, mut k: usize) -> (usize, f64) {
    loop {
        let mut l = a.submatrix(0, 0, k, k).to_owned();
        match factor_in_place(l.as_mut()) {
            Ok(()) => {
                let mut w: Vec<f64> = (0..k).map(|i| a[(k, i)]).collect();
                solve_lower_triangular_in_place(l.as_ref(), one_column(&mut w), Par::Seq);
                return (k, a[(k, k)] - dot(&w, &w));
            }
            Err(BadPivot { row, value: Some(value) }) => return (row, value),
            Err(BadPivot { row, value: None }) => k = row,
        }
    }
}

/// The smallest Ritz value of `A` in the Krylov space of `(A + μI)⁻¹` with twenty dimensions, where μ grows from
/// `n ε ‖A‖` in steps of ten until a Cholesky factor exists: never below the smallest eigenvalue, and close to it.
/// If no shift is large enough (entries near the end of the range of f64), the bound −‖A‖.
fn smallest_eigenvalue(a: MatRef<'_, f64>, norm: f64) -> f64 {
    if norm == 0.0 {
        return 0.0;
    }
    let first = (a.nrows() as f64 * f64::EPSILON * norm).max(f64::MIN_POSITIVE);
    let mut shifts = std::iter::successors(Some(first), |s| Some(10.0 * s)).take_while(|s| *s < 1e2 * norm);
    let Some(l) = shifts.find_map(|shift| shifted_factor(a, shift)) else { return -norm };
    let q = krylov_basis(l.as_ref(), 20);
    let projected = matmul(q.transpose(), matmul(a, q.as_ref()).as_ref());
    SymmetricEigen::factor(projected.as_ref(), "projection").map_or(-norm, |ritz| ritz.values[0])
}

/// Orthonormal columns that span `v, A⁻¹v, A⁻²v, …` for a random v and `A = L Lᵀ`.
fn krylov_basis(l: MatRef<'_, f64>, dimensions: usize) -> Mat<f64> {
    let n = l.nrows();
    let mut start = Stream::new(0, "smallest eigenvalue", n as u64);
    let mut v: Vec<f64> = (0..n).map(|_| start.normal()).collect();
    let mut basis: Vec<Vec<f64>> = vec![];
    for _ in 0..dimensions.min(n) {
        let before = dot(&v, &v);
        for q in basis.iter().chain(&basis) {
            let overlap = dot(q, &v);
            v.iter_mut().zip(q).for_each(|(x, y)| *x -= overlap * y);
        }
        let left = dot(&v, &v);
        if left <= 1e-20 * before {
            break; // the space is exhausted
        }
        v.iter_mut().for_each(|x| *x /= left.sqrt());
        basis.push(v.clone());
        solve_lower_triangular_in_place(l, one_column(&mut v), Par::Seq);
        solve_upper_triangular_in_place(l.transpose(), one_column(&mut v), Par::Seq);
    }
    Mat::from_fn(n, basis.len(), |i, k| basis[k][i])
}

/// The Cholesky factor of `A + μI`, if there is one.
fn shifted_factor(a: MatRef<'_, f64>, shift: f64) -> Option<Mat<f64>> {
    let mut l = a.to_owned();
    for i in 0..a.nrows() {
        l[(i, i)] += shift;
    }
    factor_in_place(l.as_mut()).ok().map(|()| l)
}

fn one_column(x: &mut [f64]) -> MatMut<'_, f64> {
    let n = x.len();
    MatMut::from_column_major_slice_mut(x, n, 1)
}

/// What the user can do about it, as the end of a sentence.
fn advice(a: MatRef<'_, f64>, smallest: f64, norm: f64) -> String {
    let n = a.nrows();
    let ridge = (RIDGE * norm).max(4.0 * -smallest);
    let beta = 1.0 / ridge;
    let zero: Vec<String> = (0..n).filter(|&i| a[(i, i)] == 0.0).map(|i| (i + 1).to_string()).collect();
    if !zero.is_empty() {
        return format!(
            "the diagonal is zero at row {}: remove the examples that are zero, or set beta to {beta:.1e} (a ridge of {ridge:.1e})",
            list(&zero)
        );
    }
    if smallest < -(n as f64) * f64::EPSILON * norm {
        return format!(
            "it is indefinite by more than rounding, which no kernel is: check how it was made, or set beta to {beta:.1e} (a ridge of {ridge:.1e})"
        );
    }
    let diagonal: Vec<f64> = (0..n).map(|i| a[(i, i)]).collect();
    let mut pairs = vec![];
    dependent_rows(&diagonal, (0, 0), a, &mut pairs);
    dependence(&pairs, ridge)
}

/// What a user can do about rows that depend on each other, these pairs among them.
fn dependence(pairs: &[DependentRows], ridge: f64) -> String {
    let beta = 1.0 / ridge;
    if pairs.is_empty() {
        return format!(
            "no two rows are multiples of each other, but the rows are linearly dependent to rounding (more examples than \
             features?): remove examples, or set beta to {beta:.1e} (a ridge of {ridge:.1e})"
        );
    }
    let words = |DependentRows { rows: [i, j], relation }: &DependentRows| {
        format!("rows {} and {} are {relation}", i + 1, j + 1)
    };
    format!(
        "{}: remove one of each pair, or set beta to {beta:.1e} (a ridge of {ridge:.1e})",
        list(&pairs.iter().map(words).collect::<Vec<_>>())
    )
}

/// The error for a matrix that is singular to rounding and does not fit into memory: its diagonal and one-norm, its smallest eigenvalue to
/// within a small factor, and the pairs of rows that [`dependent_rows`] found.
pub(crate) fn singular(
    name: &str,
    diagonal: &[f64],
    norm: f64,
    smallest_eigenvalue: f64,
    pairs: &[DependentRows],
) -> Error {
    Error::NotPositiveDefinite {
        matrix: name.to_string(),
        pivot: pairs.first().map_or(diagonal.len().saturating_sub(1), |pair| pair.rows[1]),
        size: diagonal.len(),
        pivot_value: smallest_eigenvalue,
        smallest_eigenvalue,
        advice: dependence(pairs, RIDGE * norm),
    }
}

/// Two rows, the first one first, and how they are related.
pub(crate) struct DependentRows {
    pub rows: [usize; 2],
    relation: &'static str,
}

/// Finds every pair of rows that is one direction in feature space, `a_ij² = a_ii a_jj` to rounding, in a part of the lower half
/// of a matrix whose first row and column are given.
pub(crate) fn dependent_rows(
    diagonal: &[f64],
    (first_row, first_column): (usize, usize),
    part: MatRef<'_, f64>,
    pairs: &mut Vec<DependentRows>,
) {
    let tolerance = 4.0 * (diagonal.len() as f64).max(16.0) * f64::EPSILON;
    for c in 0..part.ncols() {
        let i = first_column + c;
        for r in (i + 1).saturating_sub(first_row)..part.nrows() {
            let j = first_row + r;
            let (own, other, shared) = (diagonal[i], diagonal[j], part[(r, c)]);
            let dependent = ((shared / own) * (shared / other) - 1.0).abs() <= tolerance; // false for a NaN too
            if !dependent {
                continue;
            }
            let relation = if (own - other).abs() > tolerance * own {
                "proportional"
            } else if shared > 0.0 {
                "equal"
            } else {
                "opposite"
            };
            pairs.push(DependentRows { rows: [i, j], relation });
        }
    }
}

/// The first few of `items`, and how many more there are.
fn list(items: &[String]) -> String {
    let mut text = items[..items.len().min(LISTED)].join(", ");
    if items.len() > LISTED {
        text += &format!(" and {} more", items.len() - LISTED);
    }
    text
}
