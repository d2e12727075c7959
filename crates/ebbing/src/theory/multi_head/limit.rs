//! λ → ∞ for two tasks: one scalar equation, three regimes (paper, Eqs. 158–163).
//!
//! With `K = K_GP(X_2,X_2)`, `Δ̂ = lim λΔK`, `ρ = u0/(λd)` and `M = K + ρΔ̂`, so that `K̃ = dM`, everything is a function
//! of ρ; see [`LimitPoint`] for t, den, E, R and S.
//!
//! - α < 1, fixed representations: ρ = 0, `d = σ²(1−α)` (Eq. 160), `u0 = S(0)/(1−α)`. Eqs. 158 and 159 print `u12 = 0`
//!   and `u0 = Y_2ᵀK^{-1}Y_2/(N(1−α))`, which holds for unrelated tasks only.
//! - 1 < α < α_c, overfitting: `t(ρ) = 0` (Eq. 161), `d = √(σ²R/(ρλ))` and `u0 = ρλd`, which grows as √λ (Eq. 162).
//! - α > α_c, generalization: `E(ρ) = 0`, `u0 = S/t`, `d = u0/(ρλ)` (Eq. 163, with Eqs. 141 and 143 to leading order).
//!
//! Readouts of bounded norm, `u22 ≤ c`: where the free one is longer, `u22 = c` takes the place of the equation that σ
//! enters. For α < 1 and `c ≥ S(0)/(1−α)` that leaves ρ = 0 and `d = c − u0`; everywhere else `u0 = c`, `c t(ρ) = S(ρ)` and
//! `d = c/(ρλ)`, the powers of λ of generalization: nothing diverges, and `F_21` does not vanish.
//!
//! In the basis of the pencil (Δ̂, K), `M^{-1}` is the diagonal matrix `1/(1 + ρτ_i)`, and every trace is a sum over P
//! terms.

use super::one_task::FirstFactor;
use super::saddle::TOLERANCE;
use super::solve::EquationResidual;
use super::two_tasks::{Power, TwoTaskPoint, TwoTasks};
use crate::error::{Error, Result, refuse};
use crate::stats::bisect;
use serde::{Deserialize, Serialize};

/// What the network does with its hidden weights at λ → ∞.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// α < 1: hidden weights stay where task 1 left them, and a new readout suffices.
    FixedRepresentations,
    /// 1 < α < α_c: hidden weights change where the first readout does not see it; the second readout and its
    /// generalization error grow as λ^½.
    Overfitting,
    /// α > α_c: hidden weights change for task 2, which generalizes, and task 1 is forgotten.
    Generalization,
}

impl Regime {
    /// The three regimes in order of growing load.
    pub const ALL: [Regime; 3] = [Regime::FixedRepresentations, Regime::Overfitting, Regime::Generalization];
}

impl std::fmt::Display for Regime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Regime::FixedRepresentations => "fixed representations",
            Regime::Overfitting => "overfitting",
            Regime::Generalization => "generalization",
        })
    }
}

/// The functions of `ρ = u0/(λd)` at a solution of the limit.
///
/// `K = K_GP(X_2,X_2)`, `Δ̂ = lim λΔK`, `M = K + ρΔ̂`; `b = K_21K_11^{-1}Y_1` and `G = K_21K_11^{-1}K_12` are what task
/// 1 says of the inputs of task 2; `by = bᵀM^{-1}Y_2/N`, `yy = Y_2ᵀM^{-1}Y_2/N`, `u12 = by/den`, and
/// `y = Y_2 − (u12/u11) b`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitPoint {
    /// The regime.
    pub regime: Regime,
    /// `t(ρ) = 1 − Tr((M^{-1}K)²)/N`.
    pub t: f64,
    /// `den(ρ) = 1 − Tr(GM^{-1})/N + bᵀM^{-1}b/(N u11)`.
    pub den: f64,
    /// `E(ρ) = u11·den·yy − by²`, whose sign at t = 0 decides between overfitting and generalization.
    pub e: f64,
    /// `R(ρ) = E/(u11·den)`.
    pub r: f64,
    /// `S(ρ) = q − (q/N)Tr(GM^{-1}KM^{-1}) + (1/N)yᵀM^{-1}KM^{-1}y`.
    pub s: f64,
    /// `q = u12²/u11`.
    pub q: f64,
}

/// All functions of ρ at one width.
pub(super) struct AtRho {
    pub t: f64,
    pub den: f64,
    pub u12: f64,
    pub q: f64,
    pub e: f64,
    pub r: f64,
    pub s: f64,
    /// `E/yy`, which tends to u11 as ρ → ∞: the sign of E on a scale that does not vanish.
    pub sign: f64,
    /// The sum of the sizes of the four terms of `sign`.
    pub size: f64,
}

impl TwoTasks {
    /// All functions of ρ (see [`LimitPoint`]) at width N and u11.
    pub(super) fn at_rho(&self, rho: f64, width: f64, u11: f64) -> AtRho {
        self.with_u12(rho, width, u11, |den, by, _| by / den)
    }

    /// The same where E(ρ) = 0, so that `u12 = by/den = u11·yy/by`: at large loads den is a small difference of large terms, and
    /// by/den has few of the digits that the other form has.
    fn at_root(&self, rho: f64, width: f64, u11: f64) -> AtRho {
        self.with_u12(rho, width, u11, |_, by, yy| u11 * yy / by)
    }

    /// All functions of ρ with u12 from den, by and yy.
    fn with_u12(&self, rho: f64, width: f64, u11: f64, u12: impl Fn(f64, f64, f64) -> f64) -> AtRho {
        // Sums over the basis, not yet divided by N; a 2 at the end of a name marks M^{-1}KM^{-1} in place of M^{-1}.
        let (mut by, mut yy, mut bb, mut tr_g, mut tr_k) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let (mut by2, mut yy2, mut bb2, mut tr_g2) = (0.0, 0.0, 0.0, 0.0);
        for (i, tau) in self.basis.values.iter().enumerate() {
            let m = 1.0 / (1.0 + rho * tau);
            let (b, y, g) = (self.b[i], self.y[i], self.g_diagonal[i]);
            by += m * b * y;
            yy += m * y * y;
            bb += m * b * b;
            tr_g += m * g;
            tr_k += m * m;
            by2 += m * m * b * y;
            yy2 += m * m * y * y;
            bb2 += m * m * b * b;
            tr_g2 += m * m * g;
        }
        let n = width;
        let den = 1.0 - tr_g / n + bb / (n * u11);
        let u12 = u12(den, by / n, yy / n);
        let (q, ratio) = (u12 * u12 / u11, u12 / u11);
        let e = u11 * den * yy / n - (by / n).powi(2);
        AtRho {
            t: 1.0 - tr_k / n,
            den,
            u12,
            q,
            e,
            r: e / (u11 * den),
            s: q - q * tr_g2 / n + (yy2 - 2.0 * ratio * by2 + ratio * ratio * bb2) / n,
            sign: u11 * den - by * by / (n * yy),
            size: u11 + u11 * tr_g.abs() / n + bb / n + by * by / (n * yy),
        }
    }

    /// The factors at λ = ∞.
    pub(super) fn limit_point(&self, alpha: f64) -> Result<TwoTaskPoint> {
        let bound = self.readout.bound;
        let expected = "must not be 1 at lambda = inf: fixed representations end there, and only smaller and larger loads have a \
                        solution";
        refuse(alpha == 1.0 && bound.is_infinite(), "alpha", 1, expected)?;
        let width = self.y.len() as f64 / alpha;
        let sigma2 = self.readout.sigma2;
        let first = self.alone.factor(width, self.readout)?;
        let (regime, rho) = if alpha < 1.0 {
            (Regime::FixedRepresentations, 0.0)
        } else {
            let star = self.rho_star(alpha)?;
            if self.at_rho(star, width, first.u).sign > 0.0 {
                (Regime::Overfitting, star)
            } else {
                (Regime::Generalization, self.rho_generalization(star, width, first.u)?)
            }
        };
        let at = match regime {
            Regime::Generalization => self.at_root(rho, width, first.u),
            _ => self.at_rho(rho, width, first.u),
        };
        let power = |coefficient, exponent| Power { coefficient, exponent };
        // d and u0 by their leading powers of λ; u22 = d + u0, in which d counts only where both are finite.
        let (d, u0) = match regime {
            Regime::FixedRepresentations => {
                (Power::finite(sigma2 * (1.0 - alpha)), Power::finite(at.s / (1.0 - alpha)))
            }
            Regime::Overfitting => {
                let d = (sigma2 * at.r / rho).sqrt();
                (power(d, -0.5), power(rho * d, 0.5))
            }
            Regime::Generalization => (power(at.s / at.t / rho, -1.0), Power::finite(at.s / at.t)),
        };
        let u22 = match regime {
            Regime::FixedRepresentations => Power::finite(u0.coefficient + d.coefficient),
            _ => u0,
        };
        // At α = 1 itself a free readout would be infinite.
        if alpha == 1.0 || u22.limit() > bound {
            return self.bounded(alpha, first, regime);
        }
        let (equation, residual) = match regime {
            Regime::FixedRepresentations => ("rho = 0", 0.0),
            Regime::Overfitting => ("t(rho) = 0", at.t.abs()),
            Regime::Generalization => ("E(rho) = 0", at.sign.abs() / at.size),
        };
        self.limit_of(alpha, first, (regime, rho, &at), [u22, u0, d], (equation, residual))
    }

    /// The factors where the readout of task 2 has the norm of its bound.
    fn bounded(&self, alpha: f64, first: FirstFactor, free: Regime) -> Result<TwoTaskPoint> {
        let (width, bound) = (self.y.len() as f64 / alpha, self.readout.bound);
        let norm = Power::finite(bound);
        let at = self.at_rho(0.0, width, first.u);
        if alpha < 1.0 && bound * (1.0 - alpha) > at.s {
            let u0 = at.s / (1.0 - alpha);
            let factors = [norm, Power::finite(u0), Power::finite(bound - u0)];
            return self.limit_of(alpha, first, (free, 0.0, &at), factors, ("rho = 0", 0.0));
        }
        let start = if alpha > 1.0 { self.rho_star(alpha)? } else { 0.0 };
        let rho = self.root_above(start, width, "c t(rho) = S(rho)", |rho| {
            let at = self.at_rho(rho, width, first.u);
            bound * at.t <= at.s
        })?;
        let at = self.at_rho(rho, width, first.u);
        let residual = (bound * at.t - at.s).abs() / (bound * at.t.abs() + at.s.abs());
        // Where a free readout would do with fixed representations, a bounded one must learn.
        let regime = if alpha > 1.0 { free } else { Regime::Generalization };
        let d = Power { coefficient: bound / rho, exponent: -1.0 };
        self.limit_of(alpha, first, (regime, rho, &at), [norm, norm, d], ("c t(rho) = S(rho)", residual))
    }

    /// A point of the limit from its factors u22, u0 and d.
    fn limit_of(
        &self,
        alpha: f64,
        first: FirstFactor,
        (regime, rho, at): (Regime, f64, &AtRho),
        [u22, u0, d]: [Power; 3],
        (equation, residual): (&str, f64),
    ) -> Result<TwoTaskPoint> {
        if residual.is_nan() || residual >= TOLERANCE {
            return Err(self.unsolved(equation, alpha, (residual, 0)));
        }
        let note = |step, unknown: &str, residual| EquationResidual { step, unknown: unknown.into(), residual };
        Ok(TwoTaskPoint {
            alpha,
            width: self.y.len() as f64 / alpha,
            lambda: f64::INFINITY,
            u11: first.u,
            u12: at.u12,
            u22,
            u0,
            d,
            rho,
            limit: Some(LimitPoint { regime, t: at.t, den: at.den, e: at.e, r: at.r, s: at.s, q: at.q }),
            residuals: vec![note(1, "u1(1,1)", first.residual), note(2, equation, residual)],
        })
    }

    /// The load at which t(ρ) = 0: `1/α = mean of (1 + ρτ_i)^{-2}`.
    pub(super) fn load_at(&self, rho: f64) -> f64 {
        let sum: f64 = self.basis.values.iter().map(|tau| (1.0 + rho * tau).powi(-2)).sum();
        self.y.len() as f64 / sum
    }

    /// The typical size of 1/τ, the scale of ρ.
    pub(super) fn rho_scale(&self) -> f64 {
        self.basis.values.len() as f64 / self.basis.values.iter().sum::<f64>()
    }

    /// ρ* with t(ρ*) = 0 at load α > 1.
    pub(super) fn rho_star(&self, alpha: f64) -> Result<f64> {
        let mut high = self.rho_scale() * alpha.sqrt();
        let mut steps = 0;
        while self.load_at(high) < alpha {
            high *= 2.0;
            steps += 1;
            if steps > 200 || !high.is_finite() {
                return Err(self.unsolved("t(rho) = 0", alpha, (f64::INFINITY, steps)));
            }
        }
        Ok(bisect(0.0, high, |rho| self.load_at(rho) < alpha))
    }

    /// ρ_g > ρ* with E(ρ_g) = 0: E is negative at ρ* here, and E/yy tends to u11 > 0 as ρ → ∞, so there is a root.
    fn rho_generalization(&self, star: f64, width: f64, u11: f64) -> Result<f64> {
        self.root_above(star, width, "E(rho) = 0", |rho| self.at_rho(rho, width, u11).sign <= 0.0)
    }

    /// The first ρ above `star` where `negative` ends, which it does for large ρ.
    fn root_above(&self, star: f64, width: f64, what: &str, negative: impl Fn(f64) -> bool) -> Result<f64> {
        let (mut low, mut high) = (star, star.max(1e-12 * self.rho_scale()) * 1.1);
        let mut steps = 0;
        while negative(high) {
            low = high;
            high *= 1.3;
            steps += 1;
            if steps > 1000 || !high.is_finite() {
                return Err(self.unsolved(what, self.y.len() as f64 / width, (f64::INFINITY, steps)));
            }
        }
        Ok(bisect(low, high, negative))
    }

    fn unsolved(&self, equation: &str, alpha: f64, (residual, steps): (f64, usize)) -> Error {
        Error::NotConverged {
            what: format!("{equation} of the two-task limit at alpha = {alpha}"),
            residual,
            steps,
            trace: vec![],
            advice: "the change kernel of task 2 may be singular; remove repeated inputs".into(),
        }
    }
}
