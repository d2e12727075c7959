//! `F_t = F_max (1 − e^{−(t−1)/τ})` fitted to a forgetting curve, with what the curve does and does not determine.

use super::curve::FittedPoints;
use super::statistics::{Estimate, check_pair};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a curve determines of the two parameters, at 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveShape {
    /// Both the plateau F_max and the time τ.
    Saturating,
    /// The initial slope F_max/τ only: no sign of saturation within the curve.
    Linear,
    /// The plateau only: it is reached at once, τ is too short to be determined.
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
/// those of the linearized problem, with as many degrees of freedom as points after t = 1 beyond two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForgettingFit {
    /// What the curve determines.
    pub shape: CurveShape,
    /// The plateau F_max, where it is determined.
    pub f_max: Option<Estimate>,
    /// The time τ, in tasks, where it is determined.
    pub tau: Option<Estimate>,
    /// The slope per task of a linear curve.
    pub slope: Option<Estimate>,
    /// The 95 % profile interval of τ; an end is missing where it is unbounded (0 or ∞).
    pub tau_interval: (Option<f64>, Option<f64>),
    /// (F_max, τ) of the least-squares optimum, whether or not the curve determines them; none where it lies at 0 or ∞.
    pub optimum: Option<(f64, f64)>,
    /// `1 − Σ(F − fit)²/Σ(F − F̄)²` of the curve that fits best ([`ForgettingFit::at`]); none for `zero` and `undetermined`.
    pub r2: Option<f64>,
    /// How many points were used, t = 1 included.
    pub points: usize,
    /// True where the curve was not monotonic and what follows its maximum was left out.
    pub cut: bool,
}

impl ForgettingFit {
    /// Fits the whole curve `values` at `times` (tasks learned, from 1, ascending), whether it is monotonic or not.
    ///
    /// # Errors
    /// [`Error::Data`] where lengths differ, a number is not finite, or times do not ascend from 1.
    pub fn new(times: &[f64], values: &[f64]) -> Result<Self> {
        Self::to_points(times, values, values.len())
    }

    /// Fits what rises: a curve that is not monotonic is cut after its maximum. So does the paper where at most 10 % of the
    /// pixels are permuted, since those curves fall again; elsewhere it would take scatter about a plateau for its height.
    ///
    /// # Errors
    /// As [`ForgettingFit::new`].
    pub fn rising(times: &[f64], values: &[f64]) -> Result<Self> {
        let monotonic = values.is_sorted();
        let top = (0..values.len()).rev().max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0);
        Self::to_points(times, values, if monotonic { values.len() } else { top + 1 })
    }

    fn to_points(times: &[f64], values: &[f64], points: usize) -> Result<Self> {
        check_pair(times, values, 1)?;
        if times[0] < 1.0 || !times.is_sorted_by(|a, b| a < b) {
            return Err(Error::data("times of the forgetting curve", format!("{times:?}; they must ascend from 1")));
        }
        Ok(FittedPoints::new(&times[..points], &values[..points]).fit(points < values.len()))
    }

    /// (F_max, τ) of the saturating curve that fits best; none where a straight line, a plateau or nothing does.
    pub fn saturating(&self) -> Option<(f64, f64)> {
        self.optimum.filter(|_| !matches!(self.shape, CurveShape::Zero | CurveShape::Undetermined))
    }

    /// The curve that fits best at time `t`, where the shape is known.
    pub fn at(&self, t: f64) -> Option<f64> {
        if let Some((f_max, tau)) = self.saturating() {
            return Some(-f_max * ((1.0 - t) / tau).exp_m1());
        }
        match self.shape {
            CurveShape::Linear => self.slope.map(|s| s.value * (t - 1.0)),
            CurveShape::Step => self.f_max.map(|f| if t > 1.0 { f.value } else { 0.0 }),
            CurveShape::Zero => Some(0.0),
            CurveShape::Saturating | CurveShape::Undetermined => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::student_95;
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
            // τ follows from the curvature, a part T/(2τ) of values that are right to ε: so is it to ε τ/T, and a
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
    fn a_curve_that_bends_is_drawn_bent_even_where_its_plateau_is_not_determined() {
        let bent = [0.0, 0.25, 0.46, 0.66, 0.68];
        let fit = ForgettingFit::new(&times(5), &bent).unwrap();
        assert_eq!((fit.shape, fit.tau), (CurveShape::Linear, None));
        let (f_max, tau) = fit.saturating().unwrap();
        assert!(fit.tau_interval.0.unwrap() < tau && fit.tau_interval.1.is_none());
        let off = |at: &dyn Fn(f64) -> f64| (1..=5).map(|t| (at(t as f64) - bent[t - 1]).powi(2)).sum::<f64>();
        let line = fit.slope.unwrap().value;
        assert!(off(&|t| fit.at(t).unwrap()) < off(&|t| line * (t - 1.0)) && f_max > 0.68);
        let straight = ForgettingFit::new(&times(4), &[0.0, 0.1, 0.2, 0.3]).unwrap();
        assert_eq!(straight.saturating(), None);
        assert_eq!(ForgettingFit::new(&times(4), &[0.0, 0.4, 0.4, 0.4]).unwrap().saturating(), None, "a plateau");
        assert!((straight.at(4.0).unwrap() - 0.3).abs() < 1e-12, "to rounding");
    }

    #[test]
    fn standard_errors_are_calibrated() {
        // Noise far below the last step of the curve: the linearization holds.
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
        // linearization exact to about their square.
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
    fn curves_that_show_nothing_say_so() {
        let zero = ForgettingFit::new(&times(10), &[0.0; 10]).unwrap();
        assert_eq!((zero.shape, zero.tau, zero.r2), (CurveShape::Zero, None, None));
        assert_eq!(zero.at(7.0), Some(0.0));
        let rounding = ForgettingFit::new(&times(3), &[0.0, 1e-28, 3e-27]).unwrap();
        assert_eq!(rounding.shape, CurveShape::Zero);
        for short in [&[0.0][..], &[0.0, 0.3]] {
            let fit = ForgettingFit::new(&times(short.len()), short).unwrap();
            assert_eq!((fit.shape, fit.f_max, fit.tau), (CurveShape::Undetermined, None, None));
        }
        // Two points beyond the first cannot separate scatter from shape: an exact fit without errors.
        let exact = ForgettingFit::new(&times(3), &exponential(3, 1.0, 1.5)).unwrap();
        assert_eq!(exact.tau.unwrap().standard_error, None);
    }

    #[test]
    fn only_what_rises_is_fitted_where_that_is_asked_for() {
        let mut values = exponential(10, 0.5, 2.0);
        let n = values.len();
        values.extend([0.3, 0.2, 0.45]);
        let fit = ForgettingFit::rising(&times(13), &values).unwrap();
        assert!(fit.cut && fit.points == n);
        assert!((fit.tau.unwrap().value - 2.0).abs() < 1e-12); // the rest is noiseless
        let whole = ForgettingFit::new(&times(13), &values).unwrap();
        assert!(!whole.cut && whole.points == 13);
        // Of equal maxima the first counts.
        let fit = ForgettingFit::rising(&times(6), &[0.0, 0.3, 0.5, 0.4, 0.5, 0.1]).unwrap();
        assert_eq!(fit.points, 3);
        // A plateau is monotonic: nothing is cut.
        assert!(!ForgettingFit::rising(&times(4), &[0.0, 0.4, 0.5, 0.5]).unwrap().cut);
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
}
