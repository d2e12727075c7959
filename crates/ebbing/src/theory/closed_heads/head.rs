//! Scores `f_c(x) = w_c·x + b_c` of a head in closed form, from statistics that add up:
//!
//! ```math
//! \text{nearest mean:}\quad w_c=\mu_c,\qquad \text{discriminant:}\quad w_c=\bigl(\Sigma+\varepsilon\,\tfrac{\operatorname{Tr}\Sigma}{d}\bigr)^{-1}\mu_c,
//! \qquad b_c=-\tfrac12\,\mu_c\cdot w_c
//! ```
//! ```math
//! \text{ridge:}\quad W=\bigl(C+\varepsilon\,\tfrac{\operatorname{Tr}C}{d}\bigr)^{-1} X^{\mathsf T}Y/n, \qquad C=X^{\mathsf T}X/n, \qquad b_c=0
//! ```
//!
//! The class with the largest score is the answer. Every class counts alike in the discriminant: that is the Bayes rule for Gaussian
//! classes of one covariance that are equally frequent.

use super::statistics::{Statistics, centered};
use crate::error::{Error, Result, not_negative};
use crate::linalg::{Cholesky, Mat, MatRef, dot, matmul, symmetric_matmul};
use serde::{Deserialize, Serialize};

/// Which head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadKind {
    /// The class whose mean is nearest.
    NearestMean,
    /// The discriminant with a covariance that all classes share (streaming linear discriminant).
    Discriminant,
    /// Ridge regression on one-hot targets (the recursive or "analytic" head).
    Ridge,
}

/// A linear classifier of features.
#[derive(Debug, Clone)]
pub struct Head {
    /// The class that each score is of, ascending.
    pub classes: Vec<usize>,
    /// Condition number of what was solved; 1 where nothing was.
    pub condition: f64,
    /// `‖AW − B‖_F / (d ε ‖A‖ ‖W‖_F)` of that, about 1 or less where it was solved accurately.
    pub residual: f64,
    /// What is subtracted from features.
    origin: Vec<f64>,
    /// W, one column per class.
    weights: Mat<f64>,
    /// `b_c`.
    offsets: Vec<f64>,
}

/// `A W = B` without its ridge, of any strength.
#[derive(Debug)]
pub(super) struct System {
    kind: HeadKind,
    classes: Vec<usize>,
    origin: Vec<f64>,
    /// A, its lower half; none for the nearest mean.
    matrix: Option<Mat<f64>>,
    /// The mean eigenvalue of A, in units of which a strength is given.
    mean: f64,
    /// B.
    right: Mat<f64>,
}

impl Statistics {
    /// The head of this kind, with a ridge of `strength` mean eigenvalues of what is solved (the nearest mean has none).
    ///
    /// # Errors
    /// [`Error::Data`] where no example was seen; [`Error::Setting`] for a strength below 0; [`Error::NotPositiveDefinite`] where it is
    /// too small for fewer examples than features.
    pub fn head(&self, kind: HeadKind, strength: f64) -> Result<Head> {
        self.system(kind)?.head(strength)
    }

    /// What heads of all strengths share.
    pub(super) fn system(&self, kind: HeadKind) -> Result<System> {
        let classes = self.classes();
        if classes.is_empty() {
            return Err(Error::data("the head", "no example was seen; at least one with a class is needed"));
        }
        let (matrix, right, origin) = match kind {
            HeadKind::NearestMean => (None, self.means(&classes), self.origin.clone()),
            HeadKind::Discriminant => (Some(self.within(&classes)), self.means(&classes), self.origin.clone()),
            HeadKind::Ridge => (Some(self.second_moment()), self.target_sums(&classes), vec![0.0; self.dim()]),
        };
        let trace = matrix.as_ref().map_or(0.0, |a| (0..a.nrows()).map(|i| a[(i, i)]).sum());
        let mean = trace / self.features.max(1) as f64;
        // Examples that equal their class's mean to rounding leave nothing to weigh directions by.
        let total = (0..self.dim()).map(|i| self.moment[(i, i)]).sum::<f64>() / self.total();
        let nothing = kind == HeadKind::Discriminant && trace <= 1e-12 * total;
        Ok(System { kind, classes, origin, matrix: matrix.filter(|_| !nothing), mean, right })
    }
}

impl System {
    /// The head with a ridge of so many mean eigenvalues.
    pub fn head(&self, strength: f64) -> Result<Head> {
        not_negative("the strength", strength)?;
        let (weights, condition, residual) = match &self.matrix {
            None => (self.right.clone(), 1.0, 0.0),
            Some(matrix) => self.solve(matrix, strength)?,
        };
        let offsets = match self.kind {
            HeadKind::Ridge => vec![0.0; self.classes.len()],
            _ => {
                let half = |k: usize| -0.5 * dot(self.right.col_as_slice(k), weights.col_as_slice(k));
                (0..self.classes.len()).map(half).collect()
            }
        };
        let sound = weights.col_iter().all(|c| c.iter().all(|v| v.is_finite()));
        if !sound {
            return Err(Error::data(
                "the head",
                "its weights are not finite; scale the features, or raise the strength",
            ));
        }
        let (classes, origin) = (self.classes.clone(), self.origin.clone());
        Ok(Head { classes, condition, residual, origin, weights, offsets })
    }

    fn solve(&self, matrix: &Mat<f64>, strength: f64) -> Result<(Mat<f64>, f64, f64)> {
        let d = matrix.nrows();
        let mut a = matrix.clone();
        (0..d).for_each(|i| a[(i, i)] += strength * self.mean);
        let name = match self.kind {
            HeadKind::Ridge => "the second moment of the features",
            _ => "the covariance that the classes share",
        };
        let factor = Cholesky::factor(a.as_ref(), name)?;
        let weights = factor.solve(self.right.as_ref());
        let rest = symmetric_matmul(a.as_ref(), weights.as_ref()) - &self.right;
        crate::stop::check()?;
        // The trace bounds the norm from above within a factor of d; the largest diagonal entry bounds it from below.
        let norm = (0..d).map(|i| a[(i, i)]).fold(0.0, f64::max);
        let unit = d as f64 * f64::EPSILON * norm * weights.norm_l2();
        let residual = if rest.norm_l2() == 0.0 { 0.0 } else { rest.norm_l2() / unit };
        Ok((weights, factor.condition(), residual))
    }
}

impl Head {
    /// One row per example, one column per class of [`Head::classes`].
    ///
    /// # Errors
    /// [`Error::Data`] for examples of another dimension.
    pub fn scores(&self, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        if x.ncols() != self.origin.len() {
            let problem = format!("{} features where the head has {}; they must agree", x.ncols(), self.origin.len());
            return Err(Error::data("examples", problem));
        }
        let mut f = if self.origin.iter().all(|&o| o == 0.0) {
            matmul(x, self.weights.as_ref())
        } else {
            let all: Vec<usize> = (0..x.nrows()).collect();
            matmul(centered(x, &all, &self.origin).as_ref(), self.weights.as_ref())
        };
        crate::stop::check()?;
        for (k, b) in self.offsets.iter().enumerate() {
            f.col_as_slice_mut(k).iter_mut().for_each(|v| *v += b);
        }
        Ok(f)
    }

    /// The class of every example: of several with one score the first.
    ///
    /// # Errors
    /// As for [`Head::scores`].
    pub fn predict(&self, x: MatRef<'_, f64>) -> Result<Vec<usize>> {
        let f = self.scores(x)?;
        let best = |i: usize| (0..f.ncols()).fold(0, |best, k| if f[(i, k)] > f[(i, best)] { k } else { best });
        Ok((0..f.nrows()).map(|i| self.classes[best(i)]).collect())
    }
}

/// The share of examples whose own class has the largest score among the `allowed` classes; scores that tie share it, and examples of
/// a class that was never seen are wrong. None where no example has a class.
pub(crate) fn share_right(
    f: MatRef<'_, f64>,
    classes: &[usize],
    allowed: &[usize],
    truth: &[Option<usize>],
) -> Option<f64> {
    // The best score of each row, how many have it, and whether the true class is among them.
    let mut top = vec![(f64::NEG_INFINITY, 0.0, false); truth.len()];
    for (k, class) in classes.iter().enumerate().filter(|(_, class)| allowed.contains(class)) {
        for ((top, own), &v) in top.iter_mut().zip(truth).zip(f.col(k).iter()) {
            let right = *own == Some(*class);
            if v > top.0 {
                *top = (v, 1.0, right);
            } else if v == top.0 {
                *top = (v, top.1 + 1.0, top.2 || right);
            }
        }
    }
    let counted = truth.iter().flatten().count();
    let right: f64 =
        top.iter().zip(truth).filter(|(top, own)| top.2 && own.is_some()).map(|(top, _)| 1.0 / top.1).sum();
    (counted > 0).then(|| right / counted as f64)
}
