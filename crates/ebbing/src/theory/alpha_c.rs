//! α_c read off curves against the load: the steepest change of `F_21`, or the middle of the fall of `G_22`.
//!
//! The supplement estimates α_c of its figures like this, from curves at a large λ. [`sequence_curve`](super::phase::sequence_curve) computes such a
//! curve for any number of tasks, [`alpha_c_from_curve`] reads α_c off by a [`CurveFeature`]. The exact α_c of two
//! tasks at λ = ∞ is [`CriticalLoad::alpha_c`](super::multi_head::CriticalLoad::alpha_c).

use crate::error::{Error, Result};
use serde::Serialize;

/// How α_c is read off a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveFeature {
    /// The steepest change against ln α (for `F_21`).
    Steepest,
    /// The last fall through half the height between minimum and maximum at α > 1 (for `G_22`).
    MidHeight,
}

/// α_c read off a curve, with the grid that limits it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurveCritical {
    /// The load read off.
    pub alpha_c: f64,
    /// The spacing of ln α there: the resolution of the answer.
    pub spacing: f64,
    /// How it was read.
    pub feature: CurveFeature,
}

/// α_c from a curve over ascending loads; `None` where the curve does not show the feature.
///
/// # Errors
/// [`Error::Data`] for fewer than three loads, loads that do not ascend, or values that are not finite.
pub fn alpha_c_from_curve(alphas: &[f64], values: &[f64], feature: CurveFeature) -> Result<Option<CurveCritical>> {
    if alphas.len() != values.len() || alphas.len() < 3 {
        let problem =
            format!("{} loads and {} values; expected as many values, at least three", alphas.len(), values.len());
        return Err(Error::data("curve", problem));
    }
    if !(alphas[0] > 0.0 && alphas.windows(2).all(|w| w[0] < w[1])) || values.iter().any(|v| !v.is_finite()) {
        return Err(Error::data("curve", "loads must be positive and ascending and values finite"));
    }
    let ln: Vec<f64> = alphas.iter().map(|a| a.ln()).collect();
    let found = match feature {
        CurveFeature::Steepest => steepest(&ln, values),
        CurveFeature::MidHeight => mid_height(&ln, values),
    };
    Ok(found.map(|(x, i)| CurveCritical { alpha_c: x.exp(), spacing: ln[i + 1] - ln[i], feature }))
}

/// The middle of the steepest interval and its index.
fn steepest(ln: &[f64], values: &[f64]) -> Option<(f64, usize)> {
    let slope = |i: usize| ((values[i + 1] - values[i]) / (ln[i + 1] - ln[i])).abs();
    let i = (0..ln.len() - 1).max_by(|&i, &j| slope(i).total_cmp(&slope(j)))?;
    (slope(i) > 0.0).then(|| (0.5 * (ln[i] + ln[i + 1]), i))
}

/// Where values at α > 1 last fall through the middle of their range, by linear interpolation, and its interval.
fn mid_height(ln: &[f64], values: &[f64]) -> Option<(f64, usize)> {
    let start = ln.iter().position(|x| *x > 0.0)?;
    let above = &values[start..];
    let (low, high) = above.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let half = 0.5 * (low + high);
    let i = (start..ln.len() - 1).rev().find(|&i| values[i] > half && values[i + 1] <= half)?;
    let part = (values[i] - half) / (values[i] - values[i + 1]);
    Some((ln[i] + part * (ln[i + 1] - ln[i]), i))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(n: usize) -> Vec<f64> {
        (0..n).map(|i| (0.01 * i as f64 - 0.5).exp()).collect()
    }

    #[test]
    fn features_of_a_step() {
        let alphas = grid(200);
        let center = 0.7_f64;
        let rise: Vec<f64> = alphas.iter().map(|a| ((a.ln() - center) / 0.02).tanh()).collect();
        let fall: Vec<f64> = rise.iter().map(|v| 3.0 - v).collect();
        let steepest = alpha_c_from_curve(&alphas, &rise, CurveFeature::Steepest).unwrap().unwrap();
        let middle = alpha_c_from_curve(&alphas, &fall, CurveFeature::MidHeight).unwrap().unwrap();
        for found in [steepest, middle] {
            // The steepest interval contains the center; linear interpolation is better than that.
            assert!((found.alpha_c.ln() - center).abs() < 0.0101, "{found:?}");
            assert!((found.spacing - 0.01).abs() < 1e-12);
        }
    }

    #[test]
    fn curves_without_the_feature() {
        let alphas = grid(200);
        assert_eq!(alpha_c_from_curve(&alphas, &[1.0; 200], CurveFeature::Steepest).unwrap(), None);
        let rise: Vec<f64> = alphas.clone();
        assert_eq!(alpha_c_from_curve(&alphas, &rise, CurveFeature::MidHeight).unwrap(), None);
        assert!(alpha_c_from_curve(&alphas[..2], &rise[..2], CurveFeature::Steepest).is_err());
        assert!(alpha_c_from_curve(&alphas, &[f64::NAN; 200], CurveFeature::Steepest).is_err());
    }
}
