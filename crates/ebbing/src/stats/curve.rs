//! Least squares of `F = A (1 − e^{−x/τ})` with the amplitude A eliminated, and what the points leave undetermined.

use super::forgetting::{CurveShape, ForgettingFit};
use super::statistics::{Estimate, bisect, student_95};
use crate::linalg::dot;

/// A one-parameter family of curves: for each, its best amplitude.
struct Projected {
    amplitude: f64,
    basis: Vec<f64>,
    residual: Vec<f64>,
    rss: f64,
}

/// The points that are fitted: x = t − 1.
pub(super) struct FittedPoints<'a> {
    x: Vec<f64>,
    f: &'a [f64],
}

/// Where ln τ is searched.
const GRID: usize = 400;

impl<'a> FittedPoints<'a> {
    pub(super) fn new(times: &[f64], f: &'a [f64]) -> Self {
        FittedPoints { x: times.iter().map(|t| t - 1.0).collect(), f }
    }

    pub(super) fn fit(&self, cut: bool) -> ForgettingFit {
        let blank = ForgettingFit {
            shape: CurveShape::Undetermined,
            f_max: None,
            tau: None,
            slope: None,
            tau_interval: (None, None),
            optimum: None,
            r2: None,
            points: self.x.len(),
            cut,
        };
        // Points at t = 1 are zero whatever the parameters.
        match self.x.iter().filter(|x| **x > 0.0).count() {
            0 => blank,
            _ if self.largest() < 1e-20 => {
                let f_max = Some(Estimate { value: 0.0, standard_error: None });
                ForgettingFit { shape: CurveShape::Zero, f_max, ..blank }
            }
            1 => blank,
            informative => self.judge(informative - 2, blank),
        }
    }

    /// Fills in what the points determine, with `freedom` degrees of freedom.
    fn judge(&self, freedom: usize, blank: ForgettingFit) -> ForgettingFit {
        let (step, line) = (self.project(|x| f64::from(u8::from(x > 0.0))), self.project(|x| x));
        let best = self.best_log_tau().map(|log_tau| (log_tau, self.exponential(log_tau)));
        let least = best.as_ref().map_or(f64::INFINITY, |(_, p)| p.rss).min(step.rss).min(line.rss);
        let variance = if freedom > 0 { least / freedom as f64 } else { 0.0 };
        // Residuals below the rounding of the values themselves mean nothing.
        let rounding = self.x.len() as f64 * (8.0 * f64::EPSILON * self.largest()).powi(2);
        // An optimum that a limit meets to rounding lies there.
        let best = best.filter(|(_, p)| p.rss + rounding < step.rss.min(line.rss));
        let limit = least + student_95(freedom).powi(2) * variance + rounding;
        let (open_below, open_above) = (step.rss <= limit, line.rss <= limit);
        let error = |factor: f64| (freedom > 0).then(|| (variance * factor).sqrt());
        let report = ForgettingFit {
            tau_interval: self.profile_interval(best.as_ref().map(|b| b.0), limit, open_below, open_above),
            optimum: best.as_ref().map(|(log_tau, p)| (p.amplitude, log_tau.exp())),
            ..blank
        };
        match (open_below, open_above, &best) {
            (true, false, _) => ForgettingFit {
                shape: CurveShape::Step,
                f_max: Some(step.amplitude_estimate(error)),
                r2: self.r2(best.as_ref().map_or(step.rss, |(_, p)| p.rss)),
                ..report
            },
            (false, true, _) => ForgettingFit {
                shape: CurveShape::Linear,
                slope: Some(line.amplitude_estimate(error)),
                r2: self.r2(best.as_ref().map_or(line.rss, |(_, p)| p.rss)),
                ..report
            },
            (false, false, Some((log_tau, p))) => {
                let (f_max, tau) = self.errors(p, *log_tau, error);
                ForgettingFit {
                    shape: CurveShape::Saturating,
                    f_max: Some(f_max),
                    tau: Some(tau),
                    r2: self.r2(p.rss),
                    ..report
                }
            }
            // Both limits serve as well as the optimum. (Without an optimum one of them is the optimum.)
            (true, true, _) | (false, false, None) => report,
        }
    }

    fn largest(&self) -> f64 {
        self.f.iter().fold(0.0, |m, f| m.max(f.abs()))
    }

    /// The least-squares amplitude of `basis(x)`.
    fn project(&self, basis: impl Fn(f64) -> f64) -> Projected {
        let basis: Vec<f64> = self.x.iter().map(|&x| basis(x)).collect();
        let amplitude = dot(&basis, self.f) / dot(&basis, &basis);
        let residual: Vec<f64> = self.f.iter().zip(&basis).map(|(f, b)| f - amplitude * b).collect();
        let rss = dot(&residual, &residual);
        Projected { amplitude, basis, residual, rss }
    }

    fn exponential(&self, log_tau: f64) -> Projected {
        let rate = (-log_tau).exp();
        self.project(|x| -(-x * rate).exp_m1())
    }

    /// Half of `−∂RSS/∂ln τ`: residual times the derivative of the curve, the amplitude being optimal.
    fn descent(&self, log_tau: f64) -> f64 {
        let p = self.exponential(log_tau);
        p.amplitude * dot(&p.residual, &self.log_tau_derivative(log_tau, &p.basis).0)
    }

    /// `∂(1 − e^{−x/τ})/∂ln τ = −(x/τ) e^{−x/τ}`, split: the part that another amplitude cannot mimic, and the
    /// multiple of the curve itself that it can.
    fn log_tau_derivative(&self, log_tau: f64, basis: &[f64]) -> (Vec<f64>, f64) {
        let rate = (-log_tau).exp();
        let mut own: Vec<f64> = self.x.iter().map(|x| -x * rate * (-x * rate).exp()).collect();
        let overlap = dot(&own, basis) / dot(basis, basis);
        own.iter_mut().zip(basis).for_each(|(d, b)| *d -= overlap * b);
        (own, overlap)
    }

    /// From where `1 − e^{−x/τ}` is 1 to the last bit to where it is a straight line to 1e-4.
    fn grid(&self) -> Vec<f64> {
        let first = self.x.iter().copied().filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
        let last = self.x.last().copied().unwrap_or(first);
        let (low, high) = ((first / 40.0).ln(), (1e4 * last).ln());
        (0..=GRID).map(|k| low + (high - low) * k as f64 / GRID as f64).collect()
    }

    /// ln τ of the least residual, where it is not at an end of the grid.
    fn best_log_tau(&self) -> Option<f64> {
        let grid = self.grid();
        let rss: Vec<f64> = grid.iter().map(|&g| self.exponential(g).rss).collect();
        let k = (0..=GRID).min_by(|&a, &b| rss[a].total_cmp(&rss[b]))?;
        if k == 0 || k == GRID {
            return None;
        }
        let refined = bisect(grid[k - 1], grid[k + 1], |log_tau| self.descent(log_tau) > 0.0);
        Some(if self.exponential(refined).rss <= rss[k] { refined } else { grid[k] })
    }

    /// The τ around the optimum at which the residual reaches `limit`.
    fn profile_interval(
        &self,
        best: Option<f64>,
        limit: f64,
        open_below: bool,
        open_above: bool,
    ) -> (Option<f64>, Option<f64>) {
        let grid = self.grid();
        let inside = |log_tau: f64| self.exponential(log_tau).rss <= limit;
        let center = best.unwrap_or(if open_below { grid[0] } else { grid[GRID] });
        let below = (!open_below).then(|| {
            let outside = grid.iter().rev().copied().find(|&g| g < center && !inside(g)).unwrap_or(grid[0]);
            bisect(outside, center, |g| !inside(g)).exp()
        });
        let above = (!open_above).then(|| {
            let outside = grid.iter().copied().find(|&g| g > center && !inside(g)).unwrap_or(grid[GRID]);
            bisect(center, outside, inside).exp()
        });
        (below, above)
    }

    /// F_max and τ with the errors `s²(JᵀJ)^{-1}`, by orthogonalization.
    fn errors(&self, p: &Projected, log_tau: f64, error: impl Fn(f64) -> Option<f64>) -> (Estimate, Estimate) {
        let tau = log_tau.exp();
        let (own, overlap) = self.log_tau_derivative(log_tau, &p.basis);
        let along = dot(&p.basis, &p.basis);
        // In units of ln τ: Var ln τ = s²/(F_max² |own|²), and F_max moves by −F_max · overlap with it.
        let log_variance = 1.0 / (p.amplitude * p.amplitude * dot(&own, &own));
        let f_max_variance = 1.0 / along + (p.amplitude * overlap).powi(2) * log_variance;
        let f_max = Estimate { value: p.amplitude, standard_error: error(f_max_variance) };
        (f_max, Estimate { value: tau, standard_error: error(tau * tau * log_variance) })
    }

    fn r2(&self, rss: f64) -> Option<f64> {
        let mean = self.f.iter().sum::<f64>() / self.f.len() as f64;
        let total: f64 = self.f.iter().map(|f| (f - mean).powi(2)).sum();
        (total > 0.0).then(|| 1.0 - rss / total)
    }
}

impl Projected {
    fn amplitude_estimate(&self, error: impl Fn(f64) -> Option<f64>) -> Estimate {
        Estimate { value: self.amplitude, standard_error: error(1.0 / dot(&self.basis, &self.basis)) }
    }
}
