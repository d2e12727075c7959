//! How likely each class has the largest output, from the mean and covariance of a head's outputs.
//!
//! Output c wins if all differences `f_c − f_j` are positive, which are Gaussian. One difference (two outputs) and two (three
//! outputs) are done exactly, as are any number whose covariances are all equal (independent outputs, alike classes):
//! `∫ φ(z) Π_j Φ((δ_j + √a z)/√v_j) dz`. All others are sampled by the sequential method of A. Genz (1992), with its standard error.

use super::prediction::OutputPrediction;
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use crate::metrics::{names_classes, normal_cdf, own_columns};
use crate::rng::Stream;
use serde::Serialize;
use std::f64::consts::{FRAC_PI_2, TAU};

/// Differences of outputs count as certain below this part of the largest variance: rounding of variances that vanish.
const CERTAIN: f64 = 1e-12;

/// The probability of every class to have the largest output, one row per input.
#[derive(Debug, Clone)]
pub struct ClassProbabilities {
    /// The probabilities.
    pub probability: Mat<f64>,
    /// Their standard errors, 0 where they are exact.
    pub error: Mat<f64>,
}

/// An average over test examples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OutputAccuracy {
    /// The share of examples whose class has the largest output, averaged over networks.
    pub value: f64,
    /// The standard error of sampling, 0 where nothing was sampled.
    pub error: f64,
}

impl OutputPrediction {
    /// The probability of every output to be the largest; `draws` samples per input and output where there is no closed form. Where
    /// covariances grow with λ it is the limit: there means count only along what does not grow.
    ///
    /// # Errors
    /// [`Error::Stopped`] where the computation was asked to stop.
    pub fn probabilities(&self, draws: usize, seed: u64) -> Result<ClassProbabilities> {
        let (n, m) = (self.mean.nrows(), self.mean.ncols());
        let (mut probability, mut error) = (Mat::zeros(n, m), Mat::zeros(n, m));
        let (all, scale): (Vec<usize>, f64) = ((0..m).collect(), self.scale());
        for i in 0..n {
            crate::stop::check()?;
            for c in 0..m {
                let mut stream = Stream::new(seed, "class probabilities", (i * m + c) as u64);
                let chance = self.chance(i, c, (&all, scale), draws, &mut stream);
                (probability[(i, c)], error[(i, c)]) = (chance.value, chance.error);
            }
        }
        Ok(ClassProbabilities { probability, error })
    }

    /// The share of examples on which the output of the target's class is the largest among the classes that occur in the targets (one
    /// output: on which it has the target's sign), averaged over networks. Rows whose target is no class are left out.
    ///
    /// # Errors
    /// [`Error::Data`] for targets that do not fit or are no classes.
    pub fn accuracy(&self, y: MatRef<'_, f64>, draws: usize, seed: u64) -> Result<OutputAccuracy> {
        let (n, m) = (self.mean.nrows(), self.mean.ncols());
        if (y.nrows(), y.ncols()) != (n, m) {
            let problem = format!("{} × {} of them for {n} × {m} outputs", y.nrows(), y.ncols());
            return Err(Error::data("targets", problem));
        }
        if !(0..m).all(|j| names_classes(y, j)) {
            return Err(Error::data("targets", "they are real numbers, not classes; an accuracy needs classes"));
        }
        let (own, scale) = (own_columns(y), self.scale());
        let (mut sum, mut variance, mut counted) = (0.0, 0.0, 0usize);
        for i in 0..n {
            crate::stop::check()?;
            let chance = if m == 1 {
                if y[(i, 0)] == 0.0 {
                    continue;
                }
                let v = self.covariance[i][(0, 0)].max(0.0) * scale;
                OutputAccuracy { value: positive(y[(i, 0)].signum() * self.mean[(i, 0)], v), error: 0.0 }
            } else {
                let top = (0..m).map(|j| y[(i, j)]).fold(f64::NEG_INFINITY, f64::max);
                let best: Vec<usize> = (0..m).filter(|&j| y[(i, j)] == top).collect();
                let [class] = best[..] else { continue };
                let mut stream = Stream::new(seed, "accuracy of outputs", i as u64);
                self.chance(i, class, (&own, scale), draws, &mut stream)
            };
            sum += chance.value;
            variance += chance.error * chance.error;
            counted += 1;
        }
        if counted == 0 {
            return Err(Error::data("targets", "no row names a class; an accuracy needs labels other than zero"));
        }
        Ok(OutputAccuracy { value: sum / counted as f64, error: variance.sqrt() / counted as f64 })
    }

    /// What covariances are multiplied by: 1, or a number that stands for the power of λ with which they grow.
    fn scale(&self) -> f64 {
        let m = self.mean.ncols();
        let variances = self.covariance.iter().flat_map(|s| (0..m).map(|a| s[(a, a)]));
        let largest = variances.fold(0.0, f64::max);
        if self.exponent == 0.0 || largest == 0.0 {
            return 1.0;
        }
        // Means shift probabilities by 1e-10.
        1e20 * self.mean.norm_max().max(1.0).powi(2) / largest
    }

    /// The probability that output `class` is the largest of `among` on input i.
    fn chance(
        &self,
        i: usize,
        class: usize,
        (among, scale): (&[usize], f64),
        draws: usize,
        stream: &mut Stream,
    ) -> OutputAccuracy {
        let others: Vec<usize> = among.iter().copied().filter(|&j| j != class).collect();
        let (mean, s) = (|j: usize| self.mean[(i, j)], &self.covariance[i]);
        let delta: Vec<f64> = others.iter().map(|&j| mean(class) - mean(j)).collect();
        let k = others.len();
        let covariance = Mat::from_fn(k, k, |a, b| {
            let (a, b) = (others[a], others[b]);
            scale * (s[(class, class)] - s[(class, b)] - s[(a, class)] + s[(a, b)])
        });
        orthant(&delta, &covariance, draws, stream)
    }
}

/// `P(g > 0)` of one Gaussian number; a certain zero counts half.
fn positive(mean: f64, variance: f64) -> f64 {
    match (variance > 0.0, mean) {
        (true, _) => normal_cdf(mean / variance.sqrt()),
        (false, 0.0) => 0.5,
        (false, _) => f64::from(u8::from(mean > 0.0)),
    }
}

/// `P(all g_j > 0)` of Gaussian numbers.
fn orthant(mean: &[f64], covariance: &Mat<f64>, draws: usize, stream: &mut Stream) -> OutputAccuracy {
    let exact = |value: f64| OutputAccuracy { value, error: 0.0 };
    let k = mean.len();
    let size = (0..k).fold(0.0, |m: f64, j| m.max(covariance[(j, j)]));
    let floor = CERTAIN * size;
    match k {
        0 => return exact(1.0),
        1 => return exact(positive(mean[0], covariance[(0, 0)].max(0.0))),
        _ => {}
    }
    if (0..k).all(|j| covariance[(j, j)] <= floor) {
        return exact((0..k).map(|j| positive(mean[j], 0.0)).product());
    }
    if k == 2 && (0..2).all(|j| covariance[(j, j)] > floor) {
        return exact(both_positive(mean, covariance));
    }
    if let Some(value) = equally_correlated(mean, covariance, floor) {
        return exact(value);
    }
    sampled(mean, covariance, floor, draws.max(2), stream)
}

/// Two numbers: `Φ(h)Φ(k) + ∫_0^{asin r} exp(−(h²+k²−2hk sin t)/(2cos²t)) dt/2π` (R. L. Plackett, 1954).
fn both_positive(mean: &[f64], s: &Mat<f64>) -> f64 {
    let (a, b) = (s[(0, 0)].sqrt(), s[(1, 1)].sqrt());
    let (h, k, r) = (mean[0] / a, mean[1] / b, (s[(0, 1)] / (a * b)).clamp(-1.0, 1.0));
    let end = r.asin();
    // The double-exponential rule: layers at the ends cost nothing; steps of 1/16 leave less than 1e-12.
    const STEP: f64 = 1.0 / 16.0;
    let sum: f64 = (-56..=56)
        .map(|i| {
            let t = STEP * f64::from(i);
            let u = FRAC_PI_2 * t.sinh();
            let weight = FRAC_PI_2 * t.cosh() / u.cosh().powi(2);
            let angle = 0.5 * end * (1.0 + u.tanh());
            let (sin, cos2) = (angle.sin(), angle.cos().powi(2));
            let exponent = if cos2 > 0.0 { -(h * h + k * k - 2.0 * h * k * sin) / (2.0 * cos2) } else { -800.0 };
            weight * exponent.exp()
        })
        .sum();
    (normal_cdf(h) * normal_cdf(k) + 0.5 * end * STEP * sum / TAU).clamp(0.0, 1.0)
}

/// Any number with equal covariances a ≥ 0: one integral. `None` where they are not.
fn equally_correlated(mean: &[f64], s: &Mat<f64>, floor: f64) -> Option<f64> {
    let k = mean.len();
    let a = s[(1, 0)];
    let size = (0..k).fold(0.0, |m: f64, j| m.max(s[(j, j)]));
    let equal = (0..k).all(|i| (0..i).all(|j| (s[(i, j)] - a).abs() <= 1e-10 * size));
    let own: Vec<f64> = (0..k).map(|j| s[(j, j)] - a).collect();
    let least = own.iter().fold(f64::INFINITY, |m: f64, v| m.min(*v));
    if !(equal && a >= 0.0 && least > floor.max(1e-6 * a)) {
        return None;
    }
    // The trapezoidal rule converges like exp(−2π²v/(a h²)): h is as small as the sharpest factor asks for.
    let step = (0.5 * (least / a.max(1e-300)).sqrt()).min(1.0 / 16.0);
    let count = (8.5 / step).ceil() as i64;
    let sum: f64 = (-count..=count)
        .map(|i| {
            let z = step * i as f64;
            let wins: f64 = (0..k).map(|j| normal_cdf((mean[j] + a.sqrt() * z) / own[j].sqrt())).product();
            wins * libm::exp(-0.5 * z * z)
        })
        .sum();
    Some(sum * step / TAU.sqrt())
}

/// Genz's method: one number after another is drawn positive, given those before, and the probabilities of that multiply.
fn sampled(mean: &[f64], s: &Mat<f64>, floor: f64, draws: usize, stream: &mut Stream) -> OutputAccuracy {
    let k = mean.len();
    // A Cholesky factor in which what is certain given the rest has a zero pivot.
    let mut l = Mat::<f64>::zeros(k, k);
    for j in 0..k {
        let left: f64 = s[(j, j)] - (0..j).map(|i| l[(j, i)].powi(2)).sum::<f64>();
        l[(j, j)] = if left > floor { left.sqrt() } else { 0.0 };
        for i in j + 1..k {
            let cross = s[(i, j)] - (0..j).map(|h| l[(i, h)] * l[(j, h)]).sum::<f64>();
            l[(i, j)] = if l[(j, j)] > 0.0 { cross / l[(j, j)] } else { 0.0 };
        }
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut z = vec![0.0; k];
    for _ in 0..draws {
        let mut product = 1.0;
        for j in 0..k {
            let known = mean[j] + (0..j).map(|i| l[(j, i)] * z[i]).sum::<f64>();
            if l[(j, j)] == 0.0 {
                product *= positive(known, 0.0);
                continue;
            }
            // z > −known/l: its probability, and a draw by the inverse distribution function.
            let chance = normal_cdf(known / l[(j, j)]);
            product *= chance;
            if product == 0.0 {
                break;
            }
            z[j] = -normal_quantile(chance * stream.uniform());
        }
        sum += product;
        squares += product * product;
    }
    let n = draws as f64;
    let value = sum / n;
    OutputAccuracy { value, error: ((squares / n - value * value).max(0.0) / (n - 1.0)).sqrt() }
}

/// `Φ^{-1}(p)`: a rational start, then Halley's steps on `Φ(x) = p`; clamped where p leaves the range of f64.
fn normal_quantile(p: f64) -> f64 {
    let p = p.clamp(1e-300, 1.0 - 1e-16);
    let q = p.min(1.0 - p);
    // Abramowitz and Stegun 26.2.23: within 4.5e-4.
    let t = (-2.0 * q.ln()).sqrt();
    let tail =
        t - (2.515_517 + t * (0.802_853 + t * 0.010_328)) / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    let mut x = -tail;
    for _ in 0..2 {
        let density = libm::exp(-0.5 * x * x) / TAU.sqrt();
        let off = (normal_cdf(x) - q) / density;
        x -= off / (1.0 + 0.5 * x * off);
    }
    if p <= 0.5 { x } else { -x }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(mean: &[f64], covariance: Mat<f64>) -> OutputPrediction {
        let mean = Mat::from_fn(1, mean.len(), |_, j| mean[j]);
        OutputPrediction { mean, covariance: vec![covariance], exponent: 0.0 }
    }

    fn random(m: usize, seed: u64) -> OutputPrediction {
        let mut s = Stream::new(seed, "covariance", 0);
        let root = Mat::from_fn(m, m, |_, _| s.normal());
        let mean: Vec<f64> = (0..m).map(|_| 0.8 * s.normal()).collect();
        prediction(&mean, &root * root.transpose())
    }

    #[test]
    fn quantiles_invert_the_distribution_function() {
        for p in [1e-200, 1e-20, 1e-5, 0.1, 0.5, 0.7, 0.999] {
            let back = normal_cdf(normal_quantile(p));
            // Two steps of third order from 4.5e-4.
            assert!((back / p - 1.0).abs() < 1e-9, "{p} {back}");
        }
    }

    /// Probabilities of all outputs add up to 1, and agree with plain draws.
    #[test]
    fn probabilities_add_up_and_agree_with_draws() {
        for m in [2, 3, 5] {
            let found = random(m, m as u64);
            let all = found.probabilities(4000, 3).unwrap();
            let (sum, error) = (0..m).fold((0.0, 0.0), |(sum, error): (f64, f64), c| {
                (sum + all.probability[(0, c)], error.hypot(all.error[(0, c)]))
            });
            assert_eq!(error == 0.0, m <= 3);
            // Exact up to quadrature, or four standard errors.
            assert!((sum - 1.0).abs() < 1e-9 + 4.0 * error, "m {m}: {sum} ± {error}");
            let factor = crate::linalg::Cholesky::factor(found.covariance[0].as_ref(), "test").unwrap();
            let mut s = Stream::new(9, "draws", m as u64);
            let draws = 100_000;
            let mut wins = vec![0.0; m];
            for _ in 0..draws {
                let z: Vec<f64> = (0..m).map(|_| s.normal()).collect();
                let f: Vec<f64> = (0..m)
                    .map(|i| found.mean[(0, i)] + (0..=i).map(|j| factor.l()[(i, j)] * z[j]).sum::<f64>())
                    .collect();
                let best = (0..m).max_by(|&a, &b| f[a].total_cmp(&f[b])).unwrap();
                wins[best] += 1.0 / f64::from(draws);
            }
            for c in 0..m {
                let p: f64 = all.probability[(0, c)];
                let allowed = 5.0 * (p * (1.0 - p) / f64::from(draws)).sqrt().hypot(all.error[(0, c)]);
                assert!((p - wins[c]).abs() < allowed, "m {m}, class {c}: {p} {}", wins[c]);
            }
        }
    }

    /// Covariances `a + b 11ᵀ` and independent outputs are one integral, which the general method confirms.
    #[test]
    fn one_integral_for_alike_and_independent_outputs() {
        let mean = [0.3, -0.2, 0.5, 0.1];
        for variances in [[0.7; 4], [0.2, 0.9, 0.5, 1.4]] {
            let covariance = Mat::from_fn(4, 4, |i, j| 0.4 + if i == j { variances[i] } else { 0.0 });
            let found = prediction(&mean, covariance.clone());
            let all = found.probabilities(10, 1).unwrap();
            assert!((0..4).all(|c| all.error[(0, c)] == 0.0));
            let sum: f64 = (0..4).map(|c| all.probability[(0, c)]).sum();
            // The trapezoidal rule of an analytic function.
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
            // Differences to class 2 share the variance of that class.
            let delta: Vec<f64> = [0, 1, 3].iter().map(|&j| mean[2] - mean[j]).collect();
            let s = Mat::from_fn(3, 3, |a, b| variances[2] + if a == b { variances[[0, 1, 3][a]] } else { 0.0 });
            let drawn = sampled(&delta, &s, 0.0, 40_000, &mut Stream::new(2, "test", 0));
            assert!((drawn.value - all.probability[(0, 2)]).abs() < 4.0 * drawn.error, "{drawn:?}");
        }
    }

    #[test]
    fn two_outputs_by_hand_and_accuracies() {
        // f_0 − f_1 has mean 0.5 and variance 1 + 0.5 − 2·0.25 = 1: Φ(0.5) = 0.691462461274013 (Abramowitz & Stegun, table 26.1).
        let covariance = Mat::from_fn(2, 2, |i, j| [[1.0, 0.25], [0.25, 0.5]][i][j]);
        let found = prediction(&[0.2, -0.3], covariance);
        let all = found.probabilities(10, 0).unwrap();
        assert!((all.probability[(0, 0)] - 0.691_462_461_274_013).abs() < 1e-14 && all.error[(0, 0)] == 0.0);
        // A row of each class: right with that probability, and wrong with it.
        let twice = OutputPrediction {
            mean: Mat::from_fn(2, 2, |_, j| found.mean[(0, j)]),
            covariance: vec![found.covariance[0].clone(); 2],
            exponent: 0.0,
        };
        let y = Mat::from_fn(2, 2, |i, j| f64::from(u8::from(i == j)));
        let right = twice.accuracy(y.as_ref(), 10, 0).unwrap();
        assert!((right.value - 0.5).abs() < 1e-14 && right.error == 0.0);
        // Certain outputs.
        let certain = prediction(&[0.2, -0.3, 0.1], Mat::zeros(3, 3));
        let y = Mat::from_fn(1, 3, |_, j| [1.0, 0.0, 0.0][j]);
        assert_eq!(certain.accuracy(y.as_ref(), 10, 0).unwrap().value, 1.0);
        let real = Mat::from_fn(3, 3, |i, j| (i + 2 * j) as f64);
        let three = OutputPrediction { mean: Mat::zeros(3, 3), covariance: vec![Mat::zeros(3, 3); 3], exponent: 0.0 };
        assert!(three.accuracy(real.as_ref(), 10, 0).unwrap_err().to_string().contains("real numbers"));
        // Nothing of these grows.
        let diverging = OutputPrediction { exponent: 0.5, ..certain };
        assert_eq!(diverging.accuracy(y.as_ref(), 10, 0).unwrap().value, 1.0);
        // A difference that grows without bound is of either sign, whatever its mean.
        let grown = OutputPrediction { exponent: 0.5, ..found };
        assert!((grown.probabilities(10, 0).unwrap().probability[(0, 0)] - 0.5).abs() < 1e-9);
    }
}
