//! `w_1 ~ N(0,σ²)`, `w_t = λ̃ w_{t−1} + noise`: the prior of one weight over the tasks.

use crate::error::{Error, Result};

/// Prior dynamics of one weight: `λ̃ = λ/(λ+σ^{-2})`, noise variance `σ²(1−λ̃)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightPrior {
    lambda: f64,
    sigma2: f64,
}

impl WeightPrior {
    /// The prior with penalty `lambda` (0 … ∞ inclusive) and prior variance `sigma2` > 0.
    ///
    /// # Errors
    /// [`Error::Setting`] where either is out of range.
    pub fn new(lambda: f64, sigma2: f64) -> Result<Self> {
        if lambda.is_nan() || lambda < 0.0 {
            return Err(Error::setting("lambda", lambda, "must be at least 0 (inf is allowed)"));
        }
        if !(sigma2.is_finite() && sigma2 > 0.0) {
            return Err(Error::setting("sigma2", sigma2, "must be positive and finite"));
        }
        Ok(WeightPrior { lambda, sigma2 })
    }

    /// The penalty λ.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// The prior variance σ².
    pub fn sigma2(&self) -> f64 {
        self.sigma2
    }
}
