//! `F_t = F_max (1 − e^{−(t−1)/τ})` fitted to a forgetting curve, with what the curve does and does not determine.

use super::statistics::{Uncertain, check_pair};
use crate::error::{Error, Result};
use crate::linalg::dot;
use serde::{Deserialize, Serialize};

/// What a curve determines of the two parameters, at 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveShape {
    /// Both the plateau F_max and the time τ.
    Saturating,
    /// The initial slope F_max/τ only: no sign of saturation within the curve.
    Linear,
    /// The plateau only: it is reached at once, τ is too short to tell.
    Step,
    /// Nothing is forgotten: every value is below 1e-20, the square of a rounding error.
    Zero,
    /// Neither: too few points, or too much scatter.
    Undetermined,
}

/// `F_t = F_max (1 − e^{−(t−1)/τ})` by unweighted least squares.
///
/// F_max is eliminated exactly for each τ (variable projection: G. H. Golub, V. Pereyra, SIAM J. Numer. Anal. 10, 413, 1973)
/// and ln τ searched over the whole range that the curve can resolve, so that no starting value is needed. Standard errors are
/// those of the linearised problem, with as many degrees of freedom as points after t = 1 beyond two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForgettingFit {
    /// What the curve determines.
    pub shape: CurveShape,
    /// The plateau F_max, where it is determined.
    pub f_max: Option<Uncertain>,
    /// The time τ, in tasks, where it is determined.
    pub tau: Option<Uncertain>,
    /// The slope per task of a linear curve.
    pub slope: Option<Uncertain>,
    /// The 95 % profile interval of τ; an end is missing where it is unbounded (0 or ∞).
    pub tau_interval: (Option<f64>, Option<f64>),
    /// (F_max, τ) of the least-squares optimum, whether or not the curve determines them; none where it lies at 0 or ∞.
    pub optimum: Option<(f64, f64)>,
    /// `1 − Σ(F − fit)²/Σ(F − F̄)²` of the curve of the stated shape; none for `zero` and `undetermined`.
    pub r2: Option<f64>,
    /// How many points were used, t = 1 included.
    pub points: usize,
    /// True where the curve was not monotonic and what follows its maximum was left out.
    pub cut: bool,
}

impl ForgettingFit {
    /// Fits the curve `values` at `times` (tasks learned, from 1, ascending). A curve that is not monotonic is cut after its maximum.
    ///
    /// # Errors
    /// [`Error::Data`] where lengths differ, a number is not finite, or times do not ascend from 1.
    pub fn new(times: &[f64], values: &[f64]) -> Result<Self> {
        check_pair(times, values, 1)?;
        if times[0] < 1.0 || !times.is_sorted_by(|a, b| a < b) {
            return Err(Error::data("times of the forgetting curve", format!("{times:?}; they must ascend from 1")));
        }
        let monotonic = values.is_sorted();
        let top = (0..values.len()).rev().max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0);
        let points = if monotonic { values.len() } else { top + 1 };
        let curve = Curve::new(&times[..points], &values[..points]);
        Ok(curve.fit(!monotonic))
    }

    /// The fitted curve at time `t`, where the shape is known.
    pub fn at(&self, t: f64) -> Option<f64> {
        match self.shape {
            CurveShape::Saturating => {
                let (f_max, tau) = (self.f_max?, self.tau?);
                Some(-f_max.value * ((1.0 - t) / tau.value).exp_m1())
            }
            CurveShape::Linear => self.slope.map(|s| s.value * (t - 1.0)),
            CurveShape::Step => self.f_max.map(|f| if t > 1.0 { f.value } else { 0.0 }),
            CurveShape::Zero => Some(0.0),
            CurveShape::Undetermined => None,
        }
    }
}

/// A one-parameter family of curves: for each, its best amplitude.
struct Projected {
    amplitude: f64,
    basis: Vec<f64>,
    residual: Vec<f64>,
    rss: f64,
}

/// The points that are fitted: x = t − 1.
struct Curve<'a> {
    x: Vec<f64>,
    f: &'a [f64],
}

/// Where ln τ is searched.
const GRID: usize = 400;

impl<'a> Curve<'a> {
    fn new(times: &[f64], f: &'a [f64]) -> Self {
        Curve { x: times.iter().map(|t| t - 1.0).collect(), f }
    }

    fn fit(&self, cut: bool) -> ForgettingFit {
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
        let informative = self.x.iter().filter(|x| **x > 0.0).count();
        let largest = self.f.iter().fold(0.0_f64, |m, f| m.max(f.abs()));
        if informative >= 1 && largest < 1e-20 {
            let f_max = Some(Uncertain { value: 0.0, standard_error: None });
            return ForgettingFit { shape: CurveShape::Zero, f_max, ..blank };
        }
        if informative < 2 {
            return blank;
        }
        let freedom = informative - 2;
        let (step, line) = (self.project(|x| f64::from(u8::from(x > 0.0))), self.project(|x| x));
        let best = self.best_log_tau();
        let found = best.map(|log_tau| self.exponential(log_tau));
        let least = found.as_ref().map_or(f64::INFINITY, |p| p.rss).min(step.rss).min(line.rss);
        // Residuals below the rounding of the values themselves tell nothing.
        let rounding = self.x.len() as f64 * (8.0 * f64::EPSILON * largest).powi(2);
        let variance = if freedom > 0 { least / freedom as f64 } else { 0.0 };
        let limit = least + student_95(freedom).powi(2) * variance + rounding;
        let error = |factor: f64| (freedom > 0).then(|| (variance * factor).sqrt());

        let optimum = best.zip(found.as_ref()).map(|(log_tau, p)| (p.amplitude, log_tau.exp()));
        let interval = self.profile_interval(best, limit, step.rss <= limit, line.rss <= limit);
        let report = ForgettingFit { tau_interval: interval, optimum, ..blank };
        match (step.rss <= limit, line.rss <= limit) {
            (true, true) => report,
            (true, false) => ForgettingFit {
                shape: CurveShape::Step,
                f_max: Some(step.amplitude_estimate(error)),
                r2: self.r2(step.rss),
                ..report
            },
            (false, true) => ForgettingFit {
                shape: CurveShape::Linear,
                slope: Some(line.amplitude_estimate(error)),
                r2: self.r2(line.rss),
                ..report
            },
            (false, false) => {
                // Neither limit is as good as the optimum, so that the optimum lies between them.
                let (Some(log_tau), Some(p)) = (best, found) else { return report };
                let (f_max, tau) = self.errors(&p, log_tau, error);
                ForgettingFit {
                    shape: CurveShape::Saturating,
                    f_max: Some(f_max),
                    tau: Some(tau),
                    r2: self.r2(p.rss),
                    ..report
                }
            }
        }
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
        let centre = best.unwrap_or(if open_below { grid[0] } else { grid[GRID] });
        let below = (!open_below).then(|| {
            let outside = grid.iter().rev().copied().find(|&g| g < centre && !inside(g)).unwrap_or(grid[0]);
            bisect(outside, centre, |g| !inside(g)).exp()
        });
        let above = (!open_above).then(|| {
            let outside = grid.iter().copied().find(|&g| g > centre && !inside(g)).unwrap_or(grid[GRID]);
            bisect(centre, outside, inside).exp()
        });
        (below, above)
    }

    /// F_max and τ with the errors `s²(JᵀJ)^{-1}`, by orthogonalisation.
    fn errors(&self, p: &Projected, log_tau: f64, error: impl Fn(f64) -> Option<f64>) -> (Uncertain, Uncertain) {
        let tau = log_tau.exp();
        let (own, overlap) = self.log_tau_derivative(log_tau, &p.basis);
        let along = dot(&p.basis, &p.basis);
        // In units of ln τ: Var ln τ = s²/(F_max² |own|²), and F_max moves by −F_max · overlap with it.
        let log_variance = 1.0 / (p.amplitude * p.amplitude * dot(&own, &own));
        let f_max_variance = 1.0 / along + (p.amplitude * overlap).powi(2) * log_variance;
        let f_max = Uncertain { value: p.amplitude, standard_error: error(f_max_variance) };
        (f_max, Uncertain { value: tau, standard_error: error(tau * tau * log_variance) })
    }

    fn r2(&self, rss: f64) -> Option<f64> {
        let mean = self.f.iter().sum::<f64>() / self.f.len() as f64;
        let total: f64 = self.f.iter().map(|f| (f - mean).powi(2)).sum();
        (total > 0.0).then(|| 1.0 - rss / total)
    }
}

impl Projected {
    fn amplitude_estimate(&self, error: impl Fn(f64) -> Option<f64>) -> Uncertain {
        Uncertain { value: self.amplitude, standard_error: error(1.0 / dot(&self.basis, &self.basis)) }
    }
}

/// Where `left` changes from true to false between `a` and `b`, to the last bit.
fn bisect(mut a: f64, mut b: f64, left: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (a + b);
        if middle <= a || middle >= b {
            break;
        }
        if left(middle) { a = middle } else { b = middle }
    }
    0.5 * (a + b)
}

/// The 97.5 % quantile of Student's t: exact for one and two degrees of freedom, then Cornish and Fisher's expansion
/// (Abramowitz & Stegun 26.7.5), good to 0.2 % at three and better beyond; 0 where there is no freedom.
fn student_95(freedom: usize) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn times(n: usize) -> Vec<f64> {
        (1..=n).map(|t| t as f64).collect()
    }

    fn exponential(n: usize, f_max: f64, tau: f64) -> Vec<f64> {
        times(n).iter().map(|t| -f_max * ((1.0 - t) / tau).exp_m1()).collect()
    }

    #[test]
    fn noiseless_curves_give_their_parameters_back() {
        for (n, f_max, tau) in [(10, 0.5, 3.0), (25, 1.4, 12.0), (4, 0.01, 1.0), (3, 0.3, 2.0), (10, 2.0, 400.0)] {
            let fit = ForgettingFit::new(&times(n), &exponential(n, f_max, tau)).unwrap();
            let case = format!("n = {n}, F_max = {f_max}, tau = {tau}: {fit:?}");
            assert_eq!(fit.shape, CurveShape::Saturating, "{case}");
            // τ is told by the curvature, a part T/(2τ) of values that are right to ε: so is it to ε τ/T, and a
            // hundred allows for the sums in between.
            let tolerance = 100.0 * f64::EPSILON * (1.0 + tau / n as f64);
            assert!((fit.tau.unwrap().value / tau - 1.0).abs() < tolerance, "{case}");
            assert!((fit.f_max.unwrap().value / f_max - 1.0).abs() < tolerance, "{case}");
            assert!(fit.r2.unwrap() > 1.0 - 1e-14 && !fit.cut && fit.points == n, "{case}");
            let (low, high) = fit.tau_interval;
            assert!(low.unwrap() <= tau * (1.0 + tolerance) && high.unwrap() >= tau * (1.0 - tolerance), "{case}");
        }
    }

    #[test]
    fn standard_errors_are_calibrated() {
        // Noise far below the last step of the curve, so that it stays monotonic and is never cut.
        let (n, f_max, tau, noise) = (15, 0.4, 10.0, 0.001);
        let clean = exponential(n, f_max, tau);
        let mut stream = Stream::new(11, "forgetting curves", 0);
        let draws = 3000;
        let (mut covered, mut inside) = ([0, 0], 0);
        for _ in 0..draws {
            let mut noisy: Vec<f64> = clean.iter().map(|f| f + noise * stream.normal()).collect();
            noisy[0] = 0.0; // the newest task is learned exactly
            let fit = ForgettingFit::new(&times(n), &noisy).unwrap();
            assert_eq!((fit.shape, fit.cut), (CurveShape::Saturating, false));
            for (k, (found, truth)) in [(fit.f_max, f_max), (fit.tau, tau)].into_iter().enumerate() {
                let found = found.unwrap();
                let error = found.standard_error.unwrap();
                covered[k] += usize::from((found.value - truth).abs() < student_95(n - 3) * error);
            }
            let (low, high) = fit.tau_interval;
            inside += usize::from(low.unwrap() < tau && tau < high.unwrap());
        }
        // Binomial standard error of a coverage of 0.95: 0.0040; four of them. Relative errors of 3 % leave the
        // linearisation exact to about their square.
        for hits in [covered[0], covered[1], inside] {
            assert!((hits as f64 / f64::from(draws) - 0.95).abs() < 0.016, "{covered:?} {inside}");
        }
    }

    #[test]
    fn standard_errors_by_hand() {
        // Three points after t = 1 and one degree of freedom; (JᵀJ)^{-1} written out.
        let values = [0.0, 0.4, 0.61, 0.7];
        let fit = ForgettingFit::new(&times(4), &values).unwrap();
        let (f_max, tau) = (fit.f_max.unwrap(), fit.tau.unwrap());
        let (mut aa, mut ab, mut bb, mut rss) = (0.0, 0.0, 0.0, 0.0);
        for (k, value) in values.iter().enumerate() {
            let x = k as f64;
            let decay = (-x / tau.value).exp();
            let (a, b) = (1.0 - decay, -f_max.value * x / tau.value.powi(2) * decay);
            (aa, ab, bb) = (aa + a * a, ab + a * b, bb + b * b);
            rss += (value - f_max.value * a).powi(2);
        }
        let determinant = aa * bb - ab * ab;
        // Rounding only.
        assert!((f_max.standard_error.unwrap() / (rss * bb / determinant).sqrt() - 1.0).abs() < 1e-10);
        assert!((tau.standard_error.unwrap() / (rss * aa / determinant).sqrt() - 1.0).abs() < 1e-10);
        // And it is the optimum: any other parameters leave more.
        for (df, dt) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)] {
            let other = |x: f64| (f_max.value + df) * (1.0 - (-x / (tau.value + dt)).exp());
            let more: f64 = values.iter().enumerate().map(|(k, v)| (v - other(k as f64)).powi(2)).sum();
            assert!(more > rss);
        }
    }

    #[test]
    fn a_straight_line_has_a_slope_and_no_plateau() {
        let line: Vec<f64> = times(12).iter().map(|t| 0.02 * (t - 1.0)).collect();
        let fit = ForgettingFit::new(&times(12), &line).unwrap();
        assert_eq!((fit.shape, fit.f_max, fit.tau, fit.tau_interval.1), (CurveShape::Linear, None, None, None));
        assert!((fit.slope.unwrap().value - 0.02).abs() < 1e-16);
        assert!(fit.r2.unwrap() > 1.0 - 1e-14 && fit.at(5.0).is_some_and(|f| (f - 0.08).abs() < 1e-15));
        // Scatter that hides the curvature of a slow exponential does too, and bounds τ from below only.
        let mut stream = Stream::new(2, "line", 0);
        let slow: Vec<f64> = exponential(12, 1.0, 100.0).iter().map(|f| f + 0.0015 * stream.normal()).collect();
        let fit = ForgettingFit::new(&times(12), &slow).unwrap();
        assert_eq!(fit.shape, CurveShape::Linear, "{fit:?}");
        assert!(fit.tau_interval.0.unwrap() < 100.0 && fit.tau_interval.1.is_none(), "{fit:?}");
        // A curve that bends upwards is no better than a line, and says so.
        let convex: Vec<f64> = times(12).iter().map(|t| (t - 1.0).powi(3)).collect();
        let fit = ForgettingFit::new(&times(12), &convex).unwrap();
        assert_eq!((fit.shape, fit.optimum), (CurveShape::Linear, None));
        assert!(fit.r2.unwrap() < 0.9);
    }

    #[test]
    fn a_step_has_a_plateau_and_no_time() {
        let step: Vec<f64> = times(8).iter().map(|t| if *t > 1.0 { 0.7 } else { 0.0 }).collect();
        let fit = ForgettingFit::new(&times(8), &step).unwrap();
        assert_eq!((fit.shape, fit.tau, fit.tau_interval.0), (CurveShape::Step, None, None));
        assert!((fit.f_max.unwrap().value - 0.7).abs() < 1e-15 && fit.r2 == Some(1.0));
        assert!(fit.tau_interval.1.unwrap() < 0.1, "{fit:?}");
    }

    #[test]
    fn curves_that_tell_nothing_say_so() {
        let zero = ForgettingFit::new(&times(10), &[0.0; 10]).unwrap();
        assert_eq!((zero.shape, zero.tau, zero.r2), (CurveShape::Zero, None, None));
        assert_eq!(zero.at(7.0), Some(0.0));
        let rounding = ForgettingFit::new(&times(3), &[0.0, 1e-28, 3e-27]).unwrap();
        assert_eq!(rounding.shape, CurveShape::Zero);
        for short in [&[0.0][..], &[0.0, 0.3]] {
            let fit = ForgettingFit::new(&times(short.len()), short).unwrap();
            assert_eq!((fit.shape, fit.f_max, fit.tau), (CurveShape::Undetermined, None, None));
        }
        // Two points beyond the first cannot tell scatter from shape: an exact fit without errors.
        let exact = ForgettingFit::new(&times(3), &exponential(3, 1.0, 1.5)).unwrap();
        assert_eq!(exact.tau.unwrap().standard_error, None);
    }

    #[test]
    fn a_curve_that_falls_is_cut_after_its_maximum() {
        let mut values = exponential(10, 0.5, 2.0);
        let n = values.len();
        values.extend([0.3, 0.2, 0.45]);
        let fit = ForgettingFit::new(&times(13), &values).unwrap();
        assert!(fit.cut && fit.points == n);
        assert!((fit.tau.unwrap().value - 2.0).abs() < 1e-12); // the rest is noiseless
        // Of equal maxima the first counts.
        let fit = ForgettingFit::new(&times(6), &[0.0, 0.3, 0.5, 0.4, 0.5, 0.1]).unwrap();
        assert_eq!(fit.points, 3);
        // A plateau is monotonic: nothing is cut.
        assert!(!ForgettingFit::new(&times(4), &[0.0, 0.4, 0.5, 0.5]).unwrap().cut);
    }

    #[test]
    fn times_need_not_be_consecutive_but_must_ascend_from_one() {
        let t = [1.0, 2.0, 5.0, 10.0, 30.0];
        let values: Vec<f64> = t.map(|t: f64| 0.8 * (1.0 - ((1.0 - t) / 6.0).exp())).to_vec();
        let fit = ForgettingFit::new(&t, &values).unwrap();
        assert!((fit.tau.unwrap().value - 6.0).abs() < 1e-12 && (fit.at(5.0).unwrap() - values[2]).abs() < 1e-13);
        assert!(ForgettingFit::new(&[0.0, 1.0, 2.0], &[0.0, 1.0, 2.0]).is_err());
        assert!(ForgettingFit::new(&[1.0, 3.0, 2.0], &[0.0, 1.0, 2.0]).is_err());
        assert!(ForgettingFit::new(&[1.0, 2.0], &[0.0]).is_err());
        assert!(ForgettingFit::new(&[1.0, 2.0], &[0.0, f64::NAN]).is_err());
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
