//! The critical load α_c of two tasks at λ → ∞: exact, and two closed-form estimates beside it.
//!
//! The exact α_c solves `E(ρ*(α); α) = 0`, where `t(ρ*) = 0` (see [`LimitPoint`](super::LimitPoint)). Where
//! `Δ̂ ∝ K_22`, as in linear networks, that becomes the paper's Eq. 169, `α^{-1/2} = γ_feature + (by²/yy − bb)/u11(α)`,
//! with
//!
//! - `b = K_21 K_11^{-1} Y_1`, what task 1's solution says at the inputs of task 2;
//! - `yy = Y_2ᵀK_22^{-1}Y_2/P_2`, `by = bᵀK_22^{-1}Y_2/P_2`, `bb = bᵀK_22^{-1}b/P_2`.
//!
//! Eq. 169 multiplies `by²` by yy where it must divide (and Eq. 106 takes task 1's norm for task 2's). For σ = 1 and
//! labels with `Y_iᵀK_ii^{-1}Y_i/P = 1`, u11 and yy are 1 and it is `α_c = γ_sim^{-2}` (Eqs. 108, 170).

use super::limit::Regime;
use super::two_tasks::TwoTasks;
use crate::error::{Result, refuse};
use crate::stats::bisect;
use crate::stats::number::{accuracy, within};
use serde::Serialize;

/// Loads are searched for α_c up to this value.
pub(super) const BOUND: f64 = 1e6;

/// A load is called near critical within this relative distance of α_c.
const NEAR: f64 = 1e-3;

/// α_c, where overfitting ends and generalization begins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CriticalLoad {
    /// The root of `E(ρ*(α); α) = 0`, with [`LimitPoint`](super::LimitPoint)'s E and `t(ρ*) = 0`; 1 where there is no
    /// overfitting regime, ∞ where there is no root up to `bound`.
    #[serde(with = "crate::serde_infinity")]
    pub alpha_c: f64,
    /// The largest load that was searched.
    pub bound: f64,
    /// `γ_sim^{-2}`, or ∞ for γ_sim ≤ 0: exact for linear networks, σ = 1 and labels with `YᵀK^{-1}Y/P = 1`.
    #[serde(with = "crate::serde_infinity")]
    pub alpha_c_gamma_sim: f64,
    /// The root of `α^{-1/2} = Tr(K_22^{-1}G)/P_2 + (by²/yy − bb)/u11(α)`, or ∞: exact for linear networks. Here
    /// `b = K_21K_11^{-1}Y_1`, `G = K_21K_11^{-1}K_12`, and yy, by, bb are the products of Y_2 and b in
    /// `K_22^{-1}/P_2`.
    #[serde(with = "crate::serde_infinity")]
    pub alpha_c_u11: f64,
    /// `γ_sim = γ_feature + cos² − proj`.
    pub gamma_sim: f64,
    /// `γ_feature = Tr(K_22^{-1}K_21K_11^{-1}K_12)/min(P_1,P_2)`.
    pub gamma_feature: f64,
    /// The cosine of the two readouts that learn the tasks alone.
    pub cos: f64,
    /// The squared part of the first such readout within the features of task 2.
    pub proj: f64,
    /// `Y_iᵀK_ii^{-1}Y_i/P_i`: the γ_sim law assumes 1.
    pub label_scale: [f64; 2],
    /// Remarks on the numbers, in whole sentences.
    pub notes: Vec<String>,
}

impl CriticalLoad {
    /// The regime at load α ≠ 1, and whether it is within 0.1 % of the boundary.
    pub fn regime(&self, alpha: f64) -> (Regime, bool) {
        let regime = if alpha < 1.0 {
            Regime::FixedRepresentations
        } else if alpha < self.alpha_c {
            Regime::Overfitting
        } else {
            Regime::Generalization
        };
        (regime, (alpha / self.alpha_c - 1.0).abs() < NEAR)
    }
}

impl TwoTasks {
    /// α_c and its estimates.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] at finite λ, where the transition is smooth.
    pub fn critical_load(&self) -> Result<CriticalLoad> {
        let expected = "must be inf for a critical load; at finite lambda the change is smooth";
        refuse(self.lambda().is_finite(), "lambda", self.lambda(), expected)?;
        let [p1, p2] = self.sizes().map(|p| p as f64);
        let sum = |f: &dyn Fn(usize) -> f64| (0..self.y.len()).map(f).sum::<f64>();
        let trace = sum(&|i| self.g_diagonal[i]);
        // In the pencil's basis K_22 is the identity: these are Y_2ᵀK_22^{-1}Y_2 and its kin, not yet divided by P_2.
        let (yy, by, bb) =
            (sum(&|i| self.y[i] * self.y[i]), sum(&|i| self.b[i] * self.y[i]), sum(&|i| self.b[i] * self.b[i]));
        let (gamma_feature, cos, proj) = (trace / p1.min(p2), by / (yy * self.quadratic).sqrt(), bb / self.quadratic);
        let gamma_sim = within(gamma_feature + cos * cos - proj, accuracy(self.digits()));
        let mut critical = CriticalLoad {
            alpha_c: self.exact_critical_load()?,
            bound: BOUND,
            alpha_c_gamma_sim: if gamma_sim > 0.0 { gamma_sim.powi(-2) } else { f64::INFINITY },
            alpha_c_u11: self.closed_form(trace / p2, by * by / (p2 * yy), bb / p2)?,
            gamma_sim,
            gamma_feature,
            cos,
            proj,
            label_scale: [self.quadratic / p1, yy / p2],
            notes: vec![],
        };
        critical.add_notes();
        Ok(critical)
    }

    /// The root of `α^{-1/2} = feature + (overlap − projection)/u11(α)`
    /// (paper, Eq. 169, its product with yy a quotient): `feature = Tr(K_22^{-1}G)/P_2`, `overlap = by²/yy`,
    /// `projection = bb`.
    fn closed_form(&self, feature: f64, overlap: f64, projection: f64) -> Result<f64> {
        let p2 = self.y.len() as f64;
        let excess = |alpha: f64| -> Result<f64> {
            let u11 = self.alone.factor(p2 / alpha, self.readout)?.u;
            Ok(feature + (overlap - projection) / u11 - alpha.powf(-0.5))
        };
        let grid = load_grid();
        if excess(grid[0])? > 0.0 {
            return Ok(1.0);
        }
        for pair in grid.windows(2) {
            if excess(pair[1])? > 0.0 {
                return Ok(bisect(pair[0], pair[1], |alpha| excess(alpha).is_ok_and(|e| e <= 0.0)));
            }
        }
        Ok(f64::INFINITY)
    }

    /// The first load at which `E(ρ*(α); α)` turns negative. ρ is the variable: α(ρ) is explicit.
    fn exact_critical_load(&self) -> Result<f64> {
        let sign = |rho: f64| -> Result<f64> {
            let width = self.y.len() as f64 / self.load_at(rho);
            Ok(self.at_rho(rho, width, self.alone.factor(width, self.readout)?.u).sign)
        };
        // From 1/α = mean of (1 + ρτ)^{-2}, α − 1 = 2ρ mean τ for small ρ; ten points per decade from α − 1 ≈ 1e-6.
        let mut rho = 5e-7 * self.rho_scale();
        if sign(rho)? <= 0.0 {
            return Ok(1.0);
        }
        let step = 10f64.powf(0.1);
        while self.load_at(rho) < BOUND {
            let next = rho * step;
            if sign(next)? <= 0.0 {
                let root = bisect(rho, next, |rho| sign(rho).is_ok_and(|s| s > 0.0));
                return Ok(self.load_at(root));
            }
            rho = next;
        }
        Ok(f64::INFINITY)
    }
}

impl CriticalLoad {
    fn add_notes(&mut self) {
        let mut note = |holds: bool, text: String| self.notes.extend(holds.then_some(text));
        let (gamma, [first, second]) = (self.gamma_sim, self.label_scale);
        let none =
            "alpha_c = 1: there is no overfitting regime (as for identical tasks); every load above 1 generalizes";
        note(self.alpha_c == 1.0, none.into());
        let all = format!("no α_c up to {BOUND:.0e}: every load between 1 and there is in the overfitting regime");
        note(self.alpha_c.is_infinite(), all);
        let never = "is not positive: the γ_sim law gives no generalization regime at any load";
        note(gamma <= 0.0, format!("γ_sim = {gamma:.3} {never}"));
        let scale =
            format!("the γ_sim law assumes labels with YᵀK⁻¹Y/P = 1; here they have {first:.3} and {second:.3}");
        note(self.label_scale.iter().any(|s| (s - 1.0).abs() > 0.1), scale);
    }
}

/// Loads above 1 in steps of a tenth of a decade of α − 1, from 1e-6 to the bound.
fn load_grid() -> Vec<f64> {
    (-60..=60).map(|i| 1.0 + 10f64.powf(f64::from(i) / 10.0)).collect()
}
