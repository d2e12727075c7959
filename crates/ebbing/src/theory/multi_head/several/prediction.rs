//! What a head of several outputs says about inputs: means, covariances, losses.

use super::span::Span;
use crate::linalg::{Mat, MatRef, matmul};
use crate::theory::multi_head::two_tasks::Power;

/// Means and covariances of all outputs of a head, one covariance matrix per input.
#[derive(Debug, Clone)]
pub struct OutputPrediction {
    /// `<f_a(x)>`, one row per input and one column per output.
    pub mean: Mat<f64>,
    /// `<δf_a(x) δf_b(x)>`, in units of `λ^exponent`.
    pub covariance: Vec<Mat<f64>>,
    /// The power of λ in front of the covariance: 0, or ½ for the second head at λ = ∞ where a direction overfits.
    pub exponent: f64,
}

impl OutputPrediction {
    /// The same in all outputs of a head, with a variance per input along directions without labels.
    pub(super) fn expanded(self, span: &Span, silent: impl Fn(usize) -> f64) -> Self {
        if span.silent.ncols() == 0 {
            return self;
        }
        let mean = matmul(self.mean.as_ref(), span.used.transpose());
        let covariance = self.covariance.iter().enumerate().map(|(i, c)| span.own(c.as_ref(), silent(i))).collect();
        OutputPrediction { mean, covariance, exponent: self.exponent }
    }

    /// `Σ(|<f> − y|² + Tr Cov f) / |y|²`, or its leading power of λ.
    pub fn loss(&self, y: MatRef<'_, f64>) -> Power {
        let (mut error, mut variance, mut norm) = (0.0, 0.0, 0.0);
        for (i, covariance) in self.covariance.iter().enumerate() {
            for a in 0..y.ncols() {
                error += (self.mean[(i, a)] - y[(i, a)]).powi(2);
                variance += covariance[(a, a)];
                norm += y[(i, a)].powi(2);
            }
        }
        if self.exponent > 0.0 {
            return Power { coefficient: variance / norm, exponent: self.exponent };
        }
        Power::finite((error + variance) / norm)
    }
}
