//! `w_1 ~ N(0,σ²)`, `w_t = λ̃ w_{t−1} + noise`: the prior of one weight over the tasks (paper, Eqs. 13, 47, 48).
//!
//! Eq. 13 prints the penalty with a plus sign and both terms with a factor 1/β; the moments in Eqs. 47 and 48 follow
//! from a minus sign without that factor, as used here.

use crate::error::{Error, Result};

/// Prior dynamics of one weight: `λ̃ = λ/(λ+σ^{-2})`, noise variance `σ²(1−λ̃)`.
///
/// Times count from 1 and every moment is symmetric in its two times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightPrior {
    lambda: f64,
    sigma2: f64,
    bias2: f64,
}

impl WeightPrior {
    /// The prior with penalty `lambda` (0 … ∞ inclusive) and prior variance `sigma2` > 0.
    ///
    /// # Errors
    /// [`Error::Setting`] if either is out of range.
    pub fn new(lambda: f64, sigma2: f64) -> Result<Self> {
        if lambda.is_nan() || lambda < 0.0 {
            return Err(Error::setting("lambda", lambda, "must be at least 0 (inf is allowed)"));
        }
        if !(sigma2.is_finite() && sigma2 > 0.0) {
            return Err(Error::setting("sigma2", sigma2, "must be positive and finite"));
        }
        Ok(WeightPrior { lambda, sigma2, bias2: 0.0 })
    }

    /// The same with a bias of prior variance `bias2` ≥ 0 in every layer, the readout included: each is `σ_b/σ` times a weight
    /// like all others, as in neural-tangents' `Dense(W_std = σ, b_std = σ_b)`.
    ///
    /// # Errors
    /// [`Error::Setting`] if the variance is negative or not finite.
    pub fn with_bias(self, bias2: f64) -> Result<Self> {
        if bias2.is_finite() && bias2 >= 0.0 {
            return Ok(WeightPrior { bias2, ..self });
        }
        Err(Error::setting("bias2", bias2, "must be at least 0 and finite"))
    }

    /// `σ_b²/σ²`: the square of the constant activity that a bias is the weight of.
    pub(crate) fn relative_bias(&self) -> f64 {
        self.bias2 / self.sigma2
    }

    /// The prior variance σ_b² of a bias; 0 without.
    pub fn bias2(&self) -> f64 {
        self.bias2
    }

    /// The penalty λ.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// The prior variance σ².
    pub fn sigma2(&self) -> f64 {
        self.sigma2
    }

    /// `λ̃ = λ/(λ+σ^{-2})`, in [0, 1]: what a weight keeps of itself from one task to the next.
    pub fn lambda_tilde(&self) -> f64 {
        1.0 / (1.0 + 1.0 / (self.lambda * self.sigma2))
    }

    /// `1−λ̃ = σ^{-2}/(λ+σ^{-2})`, without subtraction.
    pub fn one_minus_lambda_tilde(&self) -> f64 {
        1.0 / (1.0 + self.lambda * self.sigma2)
    }

    /// `m1(t,s) = σ²/(1+λ̃) · (λ̃^{t−s} + λ̃^{t+s−1})`, t ≥ s: covariance of a weight at times t and s.
    pub fn m1(&self, t: usize, s: usize) -> f64 {
        let (t, s) = (t.max(s), t.min(s));
        self.sigma2 / (1.0 + self.lambda_tilde()) * (self.power(t - s) + self.power((t + s).saturating_sub(1)))
    }

    /// `m0(t,s) = σ²/(1+λ̃) · (λ̃^{t−s+2} + λ̃^{t+s−1})`, t ≥ s ≥ 2, and `m0(t,1) = 0`: the same covariance between two
    /// branches of the dynamics that separate just before s.
    pub fn m0(&self, t: usize, s: usize) -> f64 {
        let (t, s) = (t.max(s), t.min(s));
        if s < 2 {
            return 0.0;
        }
        self.sigma2 / (1.0 + self.lambda_tilde()) * (self.power(t - s + 2) + self.power(t + s - 1))
    }

    /// `m1(t,s) − m0(t,s) = σ²(1−λ̃) λ̃^{t−s}`, t ≥ s ≥ 2, without subtraction; `m1(t,1)` for s = 1.
    pub fn m1_minus_m0(&self, t: usize, s: usize) -> f64 {
        let (t, s) = (t.max(s), t.min(s));
        if s < 2 { self.m1(t, s) } else { self.sigma2 * self.one_minus_lambda_tilde() * self.power(t - s) }
    }

    /// `1 − c1`, `c1 = m1(t,s)/√(m1(t,t) m1(s,s))`, from `1−c1² = σ²(1−λ̃) Σ_{j<t−s} λ̃^{2j} / m1(t,t)`, t ≥ s.
    pub(crate) fn one_minus_correlation(&self, t: usize, s: usize) -> f64 {
        let (t, s) = (t.max(s), t.min(s));
        let c1 = self.m1(t, s) / (self.m1(t, t) * self.m1(s, s)).sqrt();
        // (1−λ̃) Σ_{j<n} λ̃^{2j} = (1−λ̃^{2n})/(1+λ̃); λ̃ = 0 leaves the single term j = 0.
        let lost = if t == s { 0.0 } else { -f64::exp_m1(2.0 * (t - s) as f64 * self.ln_lambda_tilde()) };
        self.sigma2 * lost / (1.0 + self.lambda_tilde()) / self.m1(t, t) / (1.0 + c1)
    }

    /// `ln λ̃`, accurate at both ends of [0, 1].
    fn ln_lambda_tilde(&self) -> f64 {
        let keep = self.lambda_tilde();
        if keep < 0.5 { keep.ln() } else { f64::ln_1p(-self.one_minus_lambda_tilde()) }
    }

    /// `λ̃^k`, `0^0 = 1`.
    fn power(&self, k: usize) -> f64 {
        if k == 0 { 1.0 } else { (k as f64 * self.ln_lambda_tilde()).exp() }
    }
}

/// The prior of the weights above one layer, and their mobility.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LayerPrior {
    pub prior: WeightPrior,
    /// `r_l`: the penalty on these weights is `λ/r_l`, also as λ → ∞.
    pub mobility: f64,
}

impl LayerPrior {
    /// The same prior for the weights of all layers: above the inputs, and above each of `depth` hidden layers.
    pub fn alike(depth: usize, prior: WeightPrior) -> Vec<LayerPrior> {
        vec![LayerPrior { prior, mobility: 1.0 }; depth + 1]
    }

    /// The same at λ = ∞.
    pub fn held(&self) -> LayerPrior {
        LayerPrior { prior: WeightPrior { lambda: f64::INFINITY, ..self.prior }, ..*self }
    }

    /// Penalties `λ/r_l`, one per layer of weights, the readout's last; `r_l = 0` keeps a layer's weights fixed.
    ///
    /// # Errors
    /// [`Error::Setting`] for an `r_l` that is negative or not finite, and where all are 0.
    pub fn each(prior: WeightPrior, mobility: &[f64]) -> Result<Vec<LayerPrior>> {
        if let Some(wrong) = mobility.iter().find(|r| !(r.is_finite() && **r >= 0.0)) {
            return Err(Error::setting("mobility", wrong, "must be at least 0 and finite, for every layer"));
        }
        if mobility.iter().all(|r| *r == 0.0) {
            return Err(Error::setting(
                "mobility",
                0,
                "must be above 0 for one layer at least: something has to learn",
            ));
        }
        let layer = |&r: &f64| {
            let lambda = if r == 0.0 { f64::INFINITY } else { prior.lambda / r };
            Ok(LayerPrior { prior: WeightPrior { lambda, ..prior }, mobility: r })
        };
        mobility.iter().map(layer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts equality up to a few roundings.
    #[track_caller]
    fn same(got: f64, want: f64) {
        assert!((got - want).abs() <= 8.0 * f64::EPSILON * want.abs(), "{got} {want}");
    }

    #[test]
    fn moments_follow_the_dynamics_step_by_step() {
        for (lambda, sigma2) in [(0.0, 1.0), (0.3, 2.0), (4.0, 0.5), (1e5, 1.0), (f64::INFINITY, 1.7)] {
            let prior = WeightPrior::new(lambda, sigma2).unwrap();
            let (keep, noise) = (prior.lambda_tilde(), sigma2 * prior.one_minus_lambda_tilde());
            let mut variance = sigma2;
            for s in 1..8 {
                same(prior.m1(s, s), variance);
                let mut covariance = variance;
                for t in s..12 {
                    same(prior.m1(t, s), covariance);
                    same(prior.m1(s, t), covariance);
                    covariance *= keep;
                }
                if s >= 2 {
                    // Two branches share the weight of time s−1.
                    same(prior.m0(s, s), keep * keep * prior.m1(s - 1, s - 1));
                    same(prior.m0(s + 3, s), keep.powi(5) * prior.m1(s - 1, s - 1));
                    same(prior.m1_minus_m0(s, s), noise);
                }
                variance = keep * keep * variance + noise;
            }
            assert_eq!(prior.m0(5, 1), 0.0);
            assert_eq!(prior.m1_minus_m0(5, 1), prior.m1(5, 1));
        }
    }

    #[test]
    fn small_differences_keep_their_digits() {
        let prior = WeightPrior::new(1e15, 1.0).unwrap();
        // To first order in 1/λ: m1 − m0 = 1/λ, and one step of noise leaves 1 − c1 = 1/(2λ).
        let near = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-14, "{got} {want}");
        near(prior.m1_minus_m0(3, 2), 1e-15);
        near(prior.one_minus_correlation(3, 2), 0.5e-15);
        near(prior.one_minus_correlation(2, 5), 1.5e-15);
        let prior = WeightPrior::new(2.0, 1.0).unwrap();
        for (t, s) in [(1, 1), (2, 1), (6, 3)] {
            let c1 = prior.m1(t, s) / (prior.m1(t, t) * prior.m1(s, s)).sqrt();
            // A difference of numbers of order one.
            assert!((prior.one_minus_correlation(t, s) - (1.0 - c1)).abs() < 4.0 * f64::EPSILON);
        }
    }
}
