//! The λ that serves both tasks best, and α_c of longer sequences read off their curves.

use super::multi_head::{MultiHead, MultiHeadSettings, TwoTasks};
use crate::error::{Error, Result};
use crate::tasks::Task;
use serde::Serialize;

/// `G_21` and `G_22` at one λ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LambdaPoint {
    /// The penalty λ.
    pub lambda: f64,
    /// `F_21`.
    pub f21: f64,
    /// `G_21`.
    pub g21: f64,
    /// `G_22`.
    pub g22: f64,
}

impl LambdaPoint {
    /// `max(G_21, G_22)`.
    pub fn worst(&self) -> f64 {
        self.g21.max(self.g22)
    }
}

/// The λ that minimises `max(G_21, G_22)`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestLambda {
    /// The best point found.
    pub best: LambdaPoint,
    /// Whether it is an end of the range searched, so that the minimum may lie beyond.
    pub at_edge: bool,
    /// Every λ tried, ascending.
    pub curve: Vec<LambdaPoint>,
}

/// Searches `low … high` for the λ that minimises `max(G_21, G_22)` at the settings' α or width: a grid of two points per
/// decade, then golden sections around its lowest point until neighbours are within 2 %.
///
/// # Errors
/// [`Error::Setting`] for an empty range or a range that is not positive and finite, [`Error::Data`] for tasks without
/// held-out data, and those of [`TwoTasks::new`].
pub fn best_lambda(tasks: &[Task], settings: &MultiHeadSettings, low: f64, high: f64) -> Result<BestLambda> {
    if !(low > 0.0 && high > low && high.is_finite()) {
        return Err(Error::setting("lambda range", format!("{low} … {high}"), "must be 0 < low < high < inf"));
    }
    let evaluate = |x: f64| lambda_point(tasks, settings, x.exp());
    let (a, b) = (low.ln(), high.ln());
    let steps = ((2.0 * (b - a) / std::f64::consts::LN_10).ceil() as usize).max(4);
    let grid: Vec<f64> = (0..=steps).map(|i| a + (b - a) * i as f64 / steps as f64).collect();
    let mut curve = grid.iter().map(|&x| evaluate(x)).collect::<Result<Vec<_>>>()?;
    let lowest = (0..curve.len()).min_by(|&i, &j| curve[i].worst().total_cmp(&curve[j].worst())).unwrap_or(0);
    let (mut left, mut right) = (grid[lowest.saturating_sub(1)], grid[(lowest + 1).min(steps)]);
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let mut inner = [right - golden * (right - left), left + golden * (right - left)];
    let mut values = [evaluate(inner[0])?, evaluate(inner[1])?];
    curve.extend(values);
    while right - left > 0.02 {
        if values[0].worst() <= values[1].worst() {
            right = inner[1];
            (inner[1], values[1]) = (inner[0], values[0]);
            inner[0] = right - golden * (right - left);
            values[0] = evaluate(inner[0])?;
            curve.push(values[0]);
        } else {
            left = inner[0];
            (inner[0], values[0]) = (inner[1], values[1]);
            inner[1] = left + golden * (right - left);
            values[1] = evaluate(inner[1])?;
            curve.push(values[1]);
        }
    }
    curve.sort_by(|a, b| a.lambda.total_cmp(&b.lambda));
    let best = (0..curve.len()).min_by(|&i, &j| curve[i].worst().total_cmp(&curve[j].worst())).unwrap_or(0);
    Ok(BestLambda { best: curve[best], at_edge: best == 0 || best + 1 == curve.len(), curve })
}

fn lambda_point(tasks: &[Task], settings: &MultiHeadSettings, lambda: f64) -> Result<LambdaPoint> {
    let settings = MultiHeadSettings { lambda, ..settings.clone() };
    if settings.beta.is_finite() {
        let theory = MultiHead::solve(tasks, &settings)?;
        let (f21, g21, g22) = (theory.forgetting(2, 1)?, theory.generalisation(2, 1)?, theory.generalisation(2, 2)?);
        return Ok(LambdaPoint { lambda, f21, g21, g22 });
    }
    let two = TwoTasks::new(tasks, &settings)?;
    let size = two.sizes()[1];
    let curve = two.curve(&[size as f64 / settings.network_width(size)?])?;
    let point = &curve.points[0];
    match (point.g21, point.g22) {
        (Some(g21), Some(g22)) => {
            Ok(LambdaPoint { lambda, f21: point.f21.coefficient, g21: g21.coefficient, g22: g22.coefficient })
        }
        _ => Err(Error::data("tasks", "both need a test set for the search for the best lambda")),
    }
}

/// First task's forgetting and last task's generalisation of a sequence against the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SequenceCurve {
    /// The λ at which the curve was computed.
    pub lambda: f64,
    /// Loads α = P_T/N.
    pub alphas: Vec<f64>,
    /// `F_{T,1}`.
    pub forgetting: Vec<f64>,
    /// `G_{T,T}`; only with held-out data of the last task.
    pub generalisation: Option<Vec<f64>>,
}

/// `F_{T,1}` and `G_{T,T}` of any number of tasks against the load at the settings' finite λ: with S intermediate data
/// sets between two tasks, T = S + 2. The settings' `alpha` and `width` are not read.
///
/// # Errors
/// As [`MultiHead::solve`].
pub fn sequence_curve(tasks: &[Task], settings: &MultiHeadSettings, alphas: &[f64]) -> Result<SequenceCurve> {
    let last = tasks.len();
    let tested = tasks.last().is_some_and(|t| t.test.is_some());
    let mut curve =
        SequenceCurve { lambda: settings.lambda, alphas: alphas.to_vec(), forgetting: vec![], generalisation: None };
    let mut generalisation = Vec::new();
    for &alpha in alphas {
        let here = MultiHeadSettings { alpha: Some(alpha), width: None, ..settings.clone() };
        let theory = MultiHead::solve(tasks, &here)?;
        curve.forgetting.push(theory.forgetting(last, 1)?);
        if tested {
            generalisation.push(theory.generalisation(last, last)?);
        }
    }
    if tested {
        curve.generalisation = Some(generalisation);
    }
    Ok(curve)
}

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
        let centre = 0.7_f64;
        let rise: Vec<f64> = alphas.iter().map(|a| ((a.ln() - centre) / 0.02).tanh()).collect();
        let fall: Vec<f64> = rise.iter().map(|v| 3.0 - v).collect();
        let steepest = alpha_c_from_curve(&alphas, &rise, CurveFeature::Steepest).unwrap().unwrap();
        let middle = alpha_c_from_curve(&alphas, &fall, CurveFeature::MidHeight).unwrap().unwrap();
        for found in [steepest, middle] {
            // The steepest interval contains the centre; linear interpolation is better than that.
            assert!((found.alpha_c.ln() - centre).abs() < 0.0101, "{found:?}");
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
