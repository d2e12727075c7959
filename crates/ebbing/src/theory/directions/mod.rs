//! Where forgetting sits: the change of the outputs on a task's examples by the tasks learned after it,
//!
//! ```math
//! \Delta_s = f_T(X_s) - f_s(X_s) = \sum_k \sigma_k\, u_k v_k^{\mathsf T} \in \mathbb R^{P_s\times K}.
//! ```
//!
//! `σ_k²` is the part of the squared change that lies along one direction: a pattern `u_k` over examples times a pattern `v_k` over
//! classes. Few large ones mean that forgetting is a few patterns, many that it is spread out. Between tasks learned by transformers
//! 1 to 6 directions were reported (arXiv:2606.18024); [`CLAIMED`] is that range and [`Directions::as_claimed`] compares with it. It is no
//! law: forecasts without replay (mode `rf`, β = 30, centered features of two encoders) have 3 to 4 directions for images in tasks of two
//! classes, but 15 to 16 for intents in tasks of fifteen, since every class of a task loses its output on its own.
//!
//! Singular values are square roots of eigenvalues of the smaller of `ΔᵀΔ` and `ΔΔᵀ`: those below 10⁻⁸ of the largest are rounding,
//! and count as zero.
//!
//! | Item | What it is |
//! |---|---|
//! | [`ForgettingDirections::of`] | of a forecast with one head: every task but the last |
//! | [`Directions::new`] | of two matrices of outputs from anywhere |
//! | [`Directions::in_features`] | the direction of features that carries a pattern over examples |

mod sequence;
#[cfg(test)]
mod tests;

pub use sequence::{ForgettingDirections, TaskDirections};

use crate::error::{Error, Result, within};
use crate::linalg::{Mat, MatRef, SymmetricEigen, lower_gram_into, matmul, matvec, not_finite};
use serde::Serialize;

/// How many directions were reported to carry forgetting elsewhere.
pub const CLAIMED: [usize; 2] = [1, 6];

/// The share of the squared change that the leading directions carry.
pub const CARRIED: f64 = 0.9;

/// How many examples and classes a direction lists.
pub const LISTED: usize = 10;

/// No more directions than this are described by their examples and classes.
const DESCRIBED: usize = 6;

/// Singular values below this of the largest are rounding: their squares are known to 10⁻¹⁶ of the largest one's.
const NEGLIGIBLE: f64 = 1e-8;

/// The weight of an example or a class in a direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Loading {
    /// The row of the example, or the class, from 0.
    pub index: usize,
    /// Its entry of the unit vector.
    pub weight: f64,
}

/// One direction of the change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Direction {
    /// Its singular value.
    pub size: f64,
    /// Its share of the squared change.
    pub share: f64,
    /// The examples with the largest entries of `u`, largest first.
    pub examples: Vec<Loading>,
    /// The classes with the largest entries of `v`, largest first. The largest is positive: outputs of that class grow where an
    /// example's entry is positive.
    pub classes: Vec<Loading>,
}

/// The change of outputs, by directions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Directions {
    /// All singular values, largest first: as many as the smaller side has.
    pub singular_values: Vec<f64>,
    /// `|Δ|²`.
    pub squared_change: f64,
    /// `|Δ|²/|f_s|²`: the squared change relative to the outputs before it; none where those are zero.
    pub relative_change: Option<f64>,
    /// How many directions carry [`CARRIED`] of the squared change; 0 where nothing changed.
    pub carrying: usize,
    /// `(Σσ²)²/Σσ⁴`: how many directions of equal size would be spread like these; 0 where nothing changed.
    pub effective: f64,
    /// Whether the number of carrying directions lies within [`CLAIMED`]; none where nothing changed, and where there are no more columns
    /// than one, of which nothing else could come out.
    pub as_claimed: Option<bool>,
    /// The leading directions that carry it, six at most.
    pub leading: Vec<Direction>,
    /// The unit vectors of the leading directions over examples, one column each.
    #[serde(skip)]
    pub over_examples: Mat<f64>,
    /// The same over classes.
    #[serde(skip)]
    pub over_classes: Mat<f64>,
}

impl Directions {
    /// Of the outputs on some examples before and after later tasks; `what` names them in messages.
    ///
    /// ```
    /// use ebbing::linalg::Mat;
    /// use ebbing::theory::directions::Directions;
    /// let before = Mat::zeros(4, 3);
    /// // Examples 1 and 2 lose class 0 to class 2: one direction.
    /// let after = Mat::from_fn(4, 3, |i, j| if i % 3 == 0 { 0.0 } else { [-1.0, 0.0, 1.0][j] });
    /// let found = Directions::new(before.as_ref(), after.as_ref(), "task 1")?;
    /// assert_eq!((found.carrying, found.leading[0].examples[0].index), (1, 1));
    /// # Ok::<(), ebbing::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Data`] for matrices of different shapes or with values that are not finite; [`Error::NotConverged`] where the
    /// decomposition fails.
    pub fn new(before: MatRef<'_, f64>, after: MatRef<'_, f64>, what: &str) -> Result<Directions> {
        let shape = (before.nrows(), before.ncols());
        if shape != (after.nrows(), after.ncols()) || shape.0 == 0 || shape.1 == 0 {
            let (rows, columns) = shape;
            let other = format!("{} × {}", after.nrows(), after.ncols());
            let problem =
                format!("outputs are {rows} × {columns} before and {other} after; they must agree, and hold some");
            return Err(Error::data(what, problem));
        }
        for f in [before, after] {
            if let Some((i, j)) = not_finite(f) {
                let problem = format!("output row {}, column {} is {}; it must be finite", i + 1, j + 1, f[(i, j)]);
                return Err(Error::data(what, problem));
            }
        }
        let change = after - before;
        let (values, u, v) = singular(&change, what)?;
        let squares: Vec<f64> = values.iter().map(|s| s * s).collect();
        let total: f64 = squares.iter().sum();
        let carrying = carrying(&squares, CARRIED)?;
        let described = carrying.min(DESCRIBED);
        let fourth: f64 = squares.iter().map(|s| s * s).sum();
        let norm = before.squared_norm_l2();
        let (u, v) = (u.as_ref().subcols(0, described).to_owned(), v.as_ref().subcols(0, described).to_owned());
        let direction = |k: usize| Direction {
            size: values[k],
            share: squares[k] / total,
            examples: largest(u.col_as_slice(k)),
            classes: largest(v.col_as_slice(k)),
        };
        let claimed = (CLAIMED[0]..=CLAIMED[1]).contains(&carrying);
        Ok(Directions {
            squared_change: total,
            relative_change: (norm > 0.0).then(|| total / norm),
            carrying,
            effective: if fourth > 0.0 { total * total / fourth } else { 0.0 },
            as_claimed: (carrying > 0 && shape.1 > 1).then_some(claimed),
            leading: (0..described).map(direction).collect(),
            singular_values: values,
            over_examples: u,
            over_classes: v,
        })
    }

    /// How many directions carry this share of the squared change.
    ///
    /// # Errors
    /// [`Error::Setting`] for a share outside 0 to 1.
    pub fn carrying(&self, share: f64) -> Result<usize> {
        carrying(&self.singular_values.iter().map(|s| s * s).collect::<Vec<_>>(), share)
    }

    /// `Xᵀu_k/|Xᵀu_k|` for every leading direction, one column each: the direction of the features along which the outputs of its
    /// examples moved together; zero where examples cancel.
    ///
    /// # Errors
    /// [`Error::Data`] where x does not have one row per example.
    pub fn in_features(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        if x.nrows() != self.over_examples.nrows() {
            let problem = format!("{} of them for {} examples", x.nrows(), self.over_examples.nrows());
            return Err(Error::data("features", problem));
        }
        let mut w = matmul(x.transpose(), self.over_examples.as_ref());
        for k in 0..w.ncols() {
            let norm = w.col(k).norm_l2();
            if norm > 0.0 {
                w.col_as_slice_mut(k).iter_mut().for_each(|v| *v /= norm);
            }
        }
        Ok(w)
    }
}

/// The smallest number of the leading squares that carry this share of their sum.
fn carrying(squares: &[f64], share: f64) -> Result<usize> {
    within("share", share, 0.0, 1.0)?;
    let total: f64 = squares.iter().sum();
    let mut left = share * total;
    let mut count = 0;
    for square in squares.iter().take_while(|square| **square > 0.0) {
        // What rounding leaves of a whole is no direction.
        if left <= 1e-12 * total {
            break;
        }
        left -= square;
        count += 1;
    }
    Ok(count)
}

/// The largest entries by size, largest first.
fn largest(vector: &[f64]) -> Vec<Loading> {
    let mut all: Vec<usize> = (0..vector.len()).collect();
    // Patterns of a few entries come with zeros, which are rounding to 10⁻⁸ at best.
    all.retain(|&i| vector[i].abs() > NEGLIGIBLE);
    all.sort_by(|a, b| vector[*b].abs().total_cmp(&vector[*a].abs()).then(a.cmp(b)));
    all.into_iter().take(LISTED).map(|index| Loading { index, weight: vector[index] }).collect()
}

/// Singular values, largest first, with unit vectors over rows and over columns; those of values that are zero are zero.
fn singular(change: &Mat<f64>, what: &str) -> Result<(Vec<f64>, Mat<f64>, Mat<f64>)> {
    let wide = change.ncols() > change.nrows();
    let side = if wide { change.as_ref() } else { change.transpose() };
    let mut gram = Mat::zeros(side.nrows(), side.nrows());
    lower_gram_into(gram.as_mut(), 0.0, 1.0, side);
    let eigen = SymmetricEigen::factor(gram.as_ref(), &format!("the change of outputs of {what}"))?;
    let n = side.nrows();
    let largest = eigen.values.last().copied().unwrap_or(0.0).max(0.0).sqrt();
    let value = |k: usize| Some(eigen.values[n - 1 - k].max(0.0).sqrt()).filter(|s| *s > NEGLIGIBLE * largest);
    let values: Vec<f64> = (0..n).map(|k| value(k).unwrap_or(0.0)).collect();
    let (mut near, mut far) = (Mat::zeros(n, n), Mat::zeros(side.ncols(), n));
    for k in (0..n).take_while(|&k| values[k] > 0.0) {
        let own = eigen.vectors.col_as_slice(n - 1 - k);
        let other = matvec(side.transpose(), own);
        let classes = if wide { &other[..] } else { own };
        let top = classes.iter().fold(0.0f64, |top, v| if v.abs() > top.abs() { *v } else { top });
        let sign = if top < 0.0 { -1.0 } else { 1.0 };
        near.col_as_slice_mut(k).iter_mut().zip(own).for_each(|(to, v)| *to = sign * v);
        far.col_as_slice_mut(k).iter_mut().zip(&other).for_each(|(to, v)| *to = sign * v / values[k]);
    }
    crate::stop::check()?;
    Ok(if wide { (values, near, far) } else { (values, far, near) })
}
