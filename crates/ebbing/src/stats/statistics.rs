//! Means with standard errors, the share of variance that each predictor explains, and the grids and roots that curves are
//! read with.

use super::number::{significant, with_error};
use crate::error::{Error, Result};
use crate::linalg::{MatRef, dot};
use serde::{Deserialize, Serialize};

/// A number and its standard error, where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its standard error; none where there are too few observations.
    pub standard_error: Option<f64>,
}

/// `x̄ ± s/√n`, with `s² = Σ(x − x̄)²/(n − 1)`.
///
/// # Errors
/// [`Error::Data`] where there is no value or one is not finite.
pub fn mean_with_error(values: &[f64]) -> Result<Estimate> {
    check_finite(values, "values to average", 1)?;
    Ok(Estimate::over(values))
}

/// The mean of curves of one length over seeds, place by place.
///
/// # Errors
/// [`Error::Data`] where there is no curve, their lengths differ, or a value is not finite.
pub fn mean_curve(curves: &[&[f64]]) -> Result<Vec<Estimate>> {
    let length = curves.first().map_or(0, |curve| curve.len());
    if let Some(other) = curves.iter().find(|curve| curve.len() != length) {
        let problem = format!("one has {length} points, another {}; an average needs as many", other.len());
        return Err(Error::data("curves to average", problem));
    }
    (0..length).map(|t| mean_with_error(&curves.iter().map(|curve| curve[t]).collect::<Vec<_>>())).collect()
}

impl Estimate {
    /// The mean of independent values and its standard error, `x̄ ± s/√n`; NaN where a value is or there is none, infinite
    /// and without an error where one is infinite.
    pub fn over(values: &[f64]) -> Estimate {
        let n = values.len() as f64;
        let (value, centered) = center(values);
        let standard_error =
            (values.len() > 1 && !value.is_infinite()).then(|| (dot(&centered, &centered) / (n - 1.0) / n).sqrt());
        Estimate { value, standard_error }
    }

    /// A number that is known exactly.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, standard_error: None }
    }

    /// The standard error; 0 where there is none.
    pub fn error(&self) -> f64 {
        self.standard_error.unwrap_or(0.0)
    }
}

impl std::fmt::Display for Estimate {
    /// `0.812 ± 0.006`, or `0.812` where no error is known.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.standard_error.map_or_else(|| significant(self.value), |e| with_error(self.value, e)))
    }
}

/// `x_k = from · (to/from)^{k/(count − 1)}`, k = 0 … count − 1: evenly spaced in ln x, from positive `from` to `to`.
pub fn log_grid(from: f64, to: f64, count: usize) -> Vec<f64> {
    (0..count).map(|k| from * (to / from).powf(k as f64 / (count - 1) as f64)).collect()
}

/// Where `left(x)` turns from true to false between `low` and `high`, to rounding, by bisection.
pub fn bisect(low: f64, high: f64, left: impl Fn(f64) -> bool) -> f64 {
    match try_bisect::<std::convert::Infallible>(low, high, |x| Ok(left(x))) {
        Ok(x) => x,
        Err(never) => match never {},
    }
}

/// The same of a question that may have no answer.
///
/// # Errors
/// The first that `left` returns.
pub fn try_bisect<E>(mut low: f64, mut high: f64, left: impl Fn(f64) -> Result<bool, E>) -> Result<f64, E> {
    // Enough to come down from the largest number to the smallest.
    for _ in 0..2200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if left(middle)? { low = middle } else { high = middle }
    }
    Ok(0.5 * (low + high))
}

/// How much of the variance of y each predictor explains: `PVE_j = (R² − R²_without j) / R²`.
///
/// K. E. O'Grady, Measures of explained variance, Psychological Bulletin 92, 766 (1982).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VarianceExplained {
    /// R² of the regression on all predictors and a constant.
    pub r2: f64,
    /// `PVE_j` of each predictor, in the order of the columns.
    pub pve: Vec<f64>,
    /// The same, scaled to sum 1.
    pub share: Vec<f64>,
}

impl VarianceExplained {
    /// Regresses `y` on the columns of `x` (one observation per row) and a constant, and again with each column left out.
    ///
    /// # Errors
    /// [`Error::Data`] where there are no more rows than coefficients, y is constant, columns are linearly dependent (a constant
    /// column is), R² is zero, or a number is not finite.
    pub fn new(x: MatRef<'_, f64>, y: &[f64]) -> Result<Self> {
        Self::weighted(x, y, &vec![1.0; y.len()])
    }

    /// The same where row i counts `weights[i]` times: of points of a mesh, the part of the range that each stands for, so that shares do
    /// not depend on where the mesh is close.
    ///
    /// # Errors
    /// As [`VarianceExplained::new`], and where there are not as many weights as rows or one is not positive.
    pub fn weighted(x: MatRef<'_, f64>, y: &[f64], weights: &[f64]) -> Result<Self> {
        let (n, predictors) = (x.nrows(), x.ncols());
        if y.len() != n || n < predictors + 2 || predictors == 0 {
            let problem = format!("{predictors} predictors with {n} rows and {} values of y; ", y.len());
            let problem = problem + "one row per value, and at least two more than predictors";
            return Err(Error::data("regression", problem));
        }
        if weights.len() != n || weights.iter().any(|w| !(*w > 0.0 && w.is_finite())) {
            let problem = format!("{} weights for {n} rows; give a positive one for each", weights.len());
            return Err(Error::data("weights of the regression", problem));
        }
        let columns: Vec<Vec<f64>> = x.col_iter().map(|c| c.iter().copied().collect()).collect();
        columns.iter().try_for_each(|c| check_finite(c, "predictors of the regression", 1))?;
        check_finite(y, "y of the regression", 1)?;
        let all: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let r2 = r_squared(&all, y, weights)?;
        let mut pve = vec![];
        for j in 0..predictors {
            let others: Vec<&[f64]> = (0..predictors).filter(|&k| k != j).map(|k| all[k]).collect();
            pve.push((r2 - r_squared(&others, y, weights)?) / r2);
        }
        let total: f64 = pve.iter().sum();
        if r2 <= 0.0 || total <= 0.0 {
            return Err(Error::data("regression", "the predictors explain nothing of y; shares are undefined"));
        }
        let share = pve.iter().map(|p| p / total).collect();
        Ok(VarianceExplained { r2, pve, share })
    }
}

/// R² of y on the columns and a constant: the part of the centered y in the span of the centered columns (Gram-Schmidt, twice), each row
/// times the root of its weight.
fn r_squared(columns: &[&[f64]], y: &[f64], weights: &[f64]) -> Result<f64> {
    let all: f64 = weights.iter().sum();
    let center = |values: &[f64]| -> Vec<f64> {
        let mean = values.iter().zip(weights).map(|(v, w)| v * w).sum::<f64>() / all;
        values.iter().zip(weights).map(|(v, w)| (v - mean) * w.sqrt()).collect()
    };
    let mut rest = center(y);
    let total = dot(&rest, &rest);
    if total == 0.0 {
        return Err(Error::data("y of the regression", "it is constant; there is no variance to explain"));
    }
    let mut basis: Vec<Vec<f64>> = vec![];
    for (j, column) in columns.iter().enumerate() {
        let scale: f64 = column.iter().zip(weights).map(|(v, w)| v * v * w).sum();
        let mut q = center(column);
        for b in basis.iter().chain(&basis) {
            let overlap = dot(b, &q);
            subtract(&mut q, overlap, b);
        }
        let left = dot(&q, &q);
        if left <= 1e-20 * scale {
            let problem = "is constant or a linear combination of the columns before it; leave it out";
            return Err(Error::data("predictors of the regression", format!("column {j} {problem}")));
        }
        q.iter_mut().for_each(|v| *v /= left.sqrt());
        let overlap = dot(&q, &rest);
        subtract(&mut rest, overlap, &q);
        basis.push(q);
    }
    Ok(1.0 - dot(&rest, &rest) / total)
}

/// The 97.5 % quantile of Student's t: exact for one and two degrees of freedom, then Cornish and Fisher's expansion
/// (Abramowitz & Stegun 26.7.5), good to 0.2 % at three and better beyond; 0 where there is no freedom.
pub(super) fn student_95(freedom: usize) -> f64 {
    let z = 1.959_963_984_540_054_f64;
    // The polynomials of the expansion at z, in falling odd powers from z⁹.
    let polynomial = |c: [f64; 5]| c.iter().fold(0.0, |sum, c| sum * z * z + c) * z;
    let terms = [
        polynomial([0.0, 0.0, 0.0, 0.0, 1.0]),
        polynomial([0.0, 0.0, 0.0, 1.0, 1.0]) / 4.0,
        polynomial([0.0, 0.0, 5.0, 16.0, 3.0]) / 96.0,
        polynomial([0.0, 3.0, 19.0, 17.0, -15.0]) / 384.0,
        polynomial([79.0, 776.0, 1482.0, -1920.0, -945.0]) / 92160.0,
    ];
    match freedom {
        0 => 0.0,
        1 => 12.706_204_736_432_1,
        2 => 4.302_652_729_911_28,
        v => terms.iter().rev().fold(0.0, |sum, term| sum / v as f64 + term),
    }
}

/// `x ← x − a y`.
fn subtract(x: &mut [f64], a: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x -= a * y);
}

/// The mean, and the values without it.
fn center(values: &[f64]) -> (f64, Vec<f64>) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|v| v - mean).collect())
}

pub(super) fn check_pair(x: &[f64], y: &[f64], at_least: usize) -> Result<()> {
    if x.len() != y.len() {
        return Err(Error::data("x and y", format!("{} and {} values; give as many of both", x.len(), y.len())));
    }
    check_finite(x, "x", at_least)?;
    check_finite(y, "y", at_least)
}

fn check_finite(values: &[f64], what: &str, at_least: usize) -> Result<()> {
    if values.len() < at_least {
        return Err(Error::data(what, format!("{} values; at least {at_least} are needed", values.len())));
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(Error::data(what, format!("value {i} is {}; it must be finite", values[i]))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Mat;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-14 // a few roundings of numbers of order 1
    }

    #[test]
    fn a_question_without_an_answer_ends_a_bisection() {
        assert_eq!(try_bisect(0.0, 1.0, |x| if x < 0.4 { Err("unknown") } else { Ok(x < 0.3) }), Err("unknown"));
        assert_eq!(try_bisect(0.0, 1.0, |x| Ok::<_, ()>(x < 0.3)), Ok(bisect(0.0, 1.0, |x| x < 0.3)));
    }

    #[test]
    fn grids_and_roots_by_hand() {
        let grid = log_grid(0.1, 10.0, 5);
        assert_eq!((grid.len(), grid[0]), (5, 0.1));
        // A few roundings.
        assert!(close(grid[2], 1.0) && (grid[4] - 10.0).abs() < 1e-13, "{grid:?}");
        assert_eq!(bisect(0.0, f64::MAX, |x| x < 2.0), 2.0);
        assert!(bisect(-1.0, 1.0, |x| x < 0.0).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn mean_by_hand() {
        let m = mean_with_error(&[1.0, 2.0, 3.0, 6.0]).unwrap();
        // Σ(x − 3)² = 4 + 1 + 0 + 9 = 14; √(14/3/4)
        assert!(close(m.value, 3.0) && close(m.standard_error.unwrap(), (14.0_f64 / 12.0).sqrt()));
        assert_eq!(mean_with_error(&[5.0]).unwrap(), Estimate { value: 5.0, standard_error: None });
        assert!(mean_with_error(&[]).is_err());
        assert_eq!(Estimate::over(&[1.0, f64::INFINITY]), Estimate::exact(f64::INFINITY));
        assert_eq!((m.to_string(), Estimate::exact(0.25).to_string()), ("3.0 ± 1.1".into(), "0.250".into()));
        let curve = mean_curve(&[&[1.0, 5.0], &[3.0, 5.0]]).unwrap();
        assert_eq!(curve.iter().map(|e| (e.value, e.error())).collect::<Vec<_>>(), [(2.0, 1.0), (5.0, 0.0)]);
        assert!(mean_curve(&[&[1.0], &[1.0, 2.0]]).is_err());
        assert_eq!(
            mean_with_error(&[1.0, f64::NAN]).unwrap_err().to_string(),
            "values to average: value 1 is NaN; it must be finite"
        );
    }

    #[test]
    fn shares_of_variance_by_hand() {
        // Orthogonal predictors ±1 with coefficients 2 and 1 and a residual orthogonal to both of size 0.5:
        // centered |y|² = 4·(4 + 1 + 0.25), so R² = 5/5.25 and dropping one loses 4/5.25 or 1/5.25.
        let (a, b) = ([1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]);
        let y: Vec<f64> = (0..4).map(|i| 7.0 + 2.0 * a[i] + b[i] + 0.5 * a[i] * b[i]).collect();
        let v = VarianceExplained::new(Mat::from_fn(4, 2, |i, j| [a, b][j][i]).as_ref(), &y).unwrap();
        assert!(close(v.r2, 5.0 / 5.25));
        assert!(close(v.pve[0], 0.8) && close(v.pve[1], 0.2));
        assert!(close(v.share[0], 0.8) && close(v.share[1], 0.2));
        // Correlated predictors share variance that neither loses: x2 = (x1 + e)/√2 with y = x1 alone leaves nothing to x2,
        // and dropping x1 leaves R² = 1/2.
        let mixed = |i: usize, j: usize| if j == 0 { a[i] } else { (a[i] + b[i]) / 2.0_f64.sqrt() };
        let v = VarianceExplained::new(Mat::from_fn(4, 2, mixed).as_ref(), &a).unwrap();
        assert!(close(v.r2, 1.0) && close(v.pve[0], 0.5) && close(v.pve[1], 0.0) && close(v.share[0], 1.0));
    }

    #[test]
    fn rows_count_as_often_as_their_weights_say() {
        let (a, b) = ([0.1, 0.7, -1.0, 0.4, 2.0], [1.0, -1.0, 0.3, 0.2, -0.5]);
        let y = [0.3, 1.0, -0.7, 0.1, 1.1];
        let rows = [0, 1, 1, 2, 3, 3, 3, 4];
        let x = |rows: &[usize]| Mat::from_fn(rows.len(), 2, |i, j| [a, b][j][rows[i]]);
        let repeated: Vec<f64> = rows.iter().map(|i| y[*i]).collect();
        let wanted = VarianceExplained::new(x(&rows).as_ref(), &repeated).unwrap();
        let once = x(&[0, 1, 2, 3, 4]);
        let weighted = |w: &[f64]| VarianceExplained::weighted(once.as_ref(), &y, w);
        // In any unit.
        let found = weighted(&[1.0, 2.0, 1.0, 3.0, 1.0].map(|w| 0.3 * w)).unwrap();
        assert!(
            close(found.r2, wanted.r2) && close(found.share[0], wanted.share[0]) && close(found.pve[1], wanted.pve[1])
        );
        assert!(!close(found.r2, weighted(&[1.0; 5]).unwrap().r2));
        for wrong in [&[1.0; 4][..], &[1.0, 1.0, 0.0, 1.0, 1.0], &[1.0, 1.0, f64::NAN, 1.0, 1.0]] {
            assert!(weighted(wrong).unwrap_err().to_string().contains("weights of the regression"));
        }
    }

    #[test]
    fn degenerate_regressions_are_refused() {
        let y = [1.0, 2.0, 4.0, 3.0, 5.0];
        let message = |columns: &[[f64; 5]], y: &[f64]| {
            let x = Mat::from_fn(5, columns.len(), |i, j| columns[j][i]);
            VarianceExplained::new(x.as_ref(), y).unwrap_err().to_string()
        };
        let up = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert!(message(&[up, up.map(|v| 3.0 - 2.0 * v)], &y).contains("column 1 is constant or a linear combination"));
        assert!(message(&[[0.3; 5]], &y).contains("column 0 is constant"));
        assert!(message(&[up], &[2.0; 5]).contains("constant"));
        assert!(message(&[up], &y[..4]).contains("one row per value"));
        assert!(message(&[up; 4], &y).contains("at least two more"));
        assert!(message(&[[1.0, 2.0, f64::INFINITY, 0.0, 1.0]], &y).contains("inf"));
    }

    #[test]
    fn student_quantiles() {
        // Abramowitz & Stegun, table 26.10, three decimals; at three degrees of freedom the expansion's own error.
        for (freedom, exact, error) in
            [(1, 12.706, 1e-3), (2, 4.303, 1e-3), (3, 3.182, 5e-3), (5, 2.571, 1e-3), (30, 2.042, 1e-3)]
        {
            assert!((student_95(freedom) - exact).abs() < error, "{freedom}: {}", student_95(freedom));
        }
    }
}
