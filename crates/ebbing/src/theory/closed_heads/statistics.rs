//! What a head in closed form keeps of the examples it has seen: for every class c their number and sum, and for all together
//! one second moment,
//!
//! ```math
//! n_c = \sum_{i\in c} 1, \qquad s_c = \sum_{i\in c} (x_i-o), \qquad S = \sum_i (x_i-o)(x_i-o)^{\mathsf T},
//! ```
//!
//! about a fixed origin o. They add up: two of them added are those of all examples together, in any order.

use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, lower_gram_into};

/// Counts, sums and the second moment of the examples seen so far.
///
/// ```
/// use ebbing::linalg::Mat;
/// use ebbing::theory::closed_heads::{HeadKind, Statistics};
/// let mut seen = Statistics::new(2, 2);
/// // Two tasks, one class each, one after the other.
/// for class in 0..2 {
///     let x = Mat::from_fn(3, 2, |i, j| if j == class { 5.0 + i as f64 } else { 0.1 * i as f64 });
///     seen.add(x.as_ref(), &[Some(class); 3])?;
/// }
/// let head = seen.head(HeadKind::NearestMean, 0.0)?;
/// let x = Mat::from_fn(1, 2, |_, j| [4.0, 1.0][j]);
/// assert_eq!(head.predict(x.as_ref())?, [0]);
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// o.
    pub(super) origin: Vec<f64>,
    /// `n_c`.
    pub(super) counts: Vec<f64>,
    /// `s_c`, one row per class.
    pub(super) sums: Mat<f64>,
    /// S, its lower half.
    pub(super) moment: Mat<f64>,
    /// Features that the mean eigenvalue is taken over: more than d where examples come in coordinates of their span.
    pub(super) features: usize,
}

impl Statistics {
    /// Of no example of d features and so many classes, about the origin 0.
    pub fn new(d: usize, classes: usize) -> Statistics {
        Self::about(vec![0.0; d], classes)
    }

    /// The same about an origin near the examples, which spares digits where their mean is large compared with their spread.
    pub fn about(origin: Vec<f64>, classes: usize) -> Statistics {
        let d = origin.len();
        let (sums, moment) = (Mat::zeros(classes, d), Mat::zeros(d, d));
        Statistics { origin, counts: vec![0.0; classes], sums, moment, features: d }
    }

    /// The number of features.
    pub fn dim(&self) -> usize {
        self.origin.len()
    }

    /// Examples of every class.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// All examples.
    pub fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// The classes that were seen, ascending.
    pub fn classes(&self) -> Vec<usize> {
        (0..self.counts.len()).filter(|&c| self.counts[c] > 0.0).collect()
    }

    /// Learns examples, one per row; those without a class are left out.
    ///
    /// # Errors
    /// [`Error::Data`] for examples of another dimension, another number of classes, or values that are not finite.
    pub fn add(&mut self, x: MatRef<'_, f64>, class: &[Option<usize>]) -> Result<()> {
        let (d, classes) = (self.dim(), self.counts.len());
        if x.ncols() != d || x.nrows() != class.len() {
            let problem = format!("{} × {} inputs for {} classes of {d} features", x.nrows(), x.ncols(), class.len());
            return Err(Error::data("examples", problem));
        }
        if let Some(c) = class.iter().flatten().find(|&&c| c >= classes) {
            return Err(Error::data("examples", format!("class {c} is beyond the {classes} that there are, from 0")));
        }
        let rows: Vec<usize> = (0..class.len()).filter(|&i| class[i].is_some()).collect();
        let of: Vec<usize> = class.iter().flatten().copied().collect();
        self.add_rows(x, &rows, &of)
    }

    /// Learns the chosen rows, of these classes.
    pub(super) fn add_rows(&mut self, x: MatRef<'_, f64>, rows: &[usize], class: &[usize]) -> Result<()> {
        let z = centered(x, rows, &self.origin);
        for j in 0..self.dim() {
            let sums = self.sums.col_as_slice_mut(j);
            for (&c, v) in class.iter().zip(z.col_as_slice(j)) {
                sums[c] += v;
            }
        }
        class.iter().for_each(|&c| self.counts[c] += 1.0);
        lower_gram_into(self.moment.as_mut(), 1.0, 1.0, z.transpose());
        // A product that was interrupted is incomplete.
        crate::stop::check()?;
        let finite = (0..self.dim()).all(|j| self.moment[(j, j)].is_finite());
        if finite { Ok(()) } else { Err(Error::data("examples", "their second moment is not finite; scale them down")) }
    }

    /// Adds those of other examples about the same origin.
    ///
    /// # Errors
    /// [`Error::Data`] where features, classes or origins differ.
    pub fn merge(&mut self, other: &Statistics) -> Result<()> {
        if self.origin != other.origin || self.counts.len() != other.counts.len() {
            return Err(Error::data("statistics", "features, classes and origin must be the same for two to add up"));
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self.sums += &other.sums;
        self.moment += &other.moment;
        Ok(())
    }

    /// `μ_c − o` of the classes that were seen, one column per class.
    pub(super) fn means(&self, classes: &[usize]) -> Mat<f64> {
        Mat::from_fn(self.dim(), classes.len(), |j, k| self.sums[(classes[k], j)] / self.counts[classes[k]])
    }

    /// `Σ_i (x_i − μ_c)(x_i − μ_c)ᵀ / n`, the covariance that all classes share: its lower half.
    pub(super) fn within(&self, classes: &[usize]) -> Mat<f64> {
        let n = self.total();
        let root = |k: usize| self.counts[classes[k]].sqrt();
        let spread = Mat::from_fn(self.dim(), classes.len(), |j, k| self.sums[(classes[k], j)] / root(k));
        let mut s = self.moment.clone();
        lower_gram_into(s.as_mut(), 1.0, -1.0, spread.as_ref());
        for j in 0..s.ncols() {
            s.col_as_slice_mut(j).iter_mut().for_each(|v| *v /= n);
            // A variance that is zero in exact arithmetic may come out slightly negative.
            s[(j, j)] = s[(j, j)].max(0.0);
        }
        s
    }

    /// `Σ_i x_i x_iᵀ / n` about zero: its lower half.
    pub(super) fn second_moment(&self) -> Mat<f64> {
        let (n, d) = (self.total(), self.dim());
        let sum: Vec<f64> = (0..d).map(|j| self.sums.col_as_slice(j).iter().sum()).collect();
        let o = &self.origin;
        let mut c = self.moment.clone();
        for j in 0..d {
            let column = c.col_as_slice_mut(j);
            for i in j..d {
                column[i] = (column[i] + o[i] * sum[j] + sum[i] * o[j] + n * o[i] * o[j]) / n;
            }
        }
        c
    }

    /// `Σ_{i∈c} x_i / n` about zero, one column per class.
    pub(super) fn target_sums(&self, classes: &[usize]) -> Mat<f64> {
        let n = self.total();
        let entry = |j: usize, c: usize| (self.sums[(c, j)] + self.counts[c] * self.origin[j]) / n;
        Mat::from_fn(self.dim(), classes.len(), |j, k| entry(j, classes[k]))
    }
}

/// The chosen rows, less the origin.
pub(super) fn centered(x: MatRef<'_, f64>, rows: &[usize], origin: &[f64]) -> Mat<f64> {
    let mut z = Mat::zeros(rows.len(), x.ncols());
    for (j, &o) in origin.iter().enumerate() {
        let from = x.col(j);
        z.col_as_slice_mut(j).iter_mut().zip(rows).for_each(|(z, &i)| *z = from[i] - o);
    }
    z
}
