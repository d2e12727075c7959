//! The λ that minimizes `max(G_21, G_22)` of two tasks with a readout each.
//!
//! A weak penalty forgets task 1, a strong one keeps task 2 from being learned: this finds the balance (the paper's
//! section "Balancing Memorization and New Learning with Finite λ"). [`best_lambda()`] searches, [`BestLambda`] holds
//! the best [`LambdaPoint`] and every one that was tried.

use super::multi_head::{MultiHeadSettings, SeveralOutputs, TwoTaskOutputs, TwoTasks};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::tasks::{Task, own_readouts};
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

/// The λ that minimizes `max(G_21, G_22)`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestLambda {
    /// The best point found.
    pub best: LambdaPoint,
    /// Whether it is an end of the range searched, so that the minimum may lie beyond.
    pub at_edge: bool,
    /// Every λ tried, ascending.
    pub curve: Vec<LambdaPoint>,
}

/// Searches `low … high` for the λ that minimizes `max(G_21, G_22)` at the settings' α or width: a grid of two points per
/// decade, then golden sections around its lowest point until neighbors are within 2 %.
///
/// # Errors
/// [`Error::Setting`] for an empty range or a range that is not positive and finite, [`Error::Data`] for tasks without
/// held-out data, and those of [`TwoTasks::new`].
pub fn best_lambda(
    tasks: &[Task],
    settings: &MultiHeadSettings,
    low: f64,
    high: f64,
    context: &Context,
) -> Result<BestLambda> {
    if !(low > 0.0 && high > low && high.is_finite()) {
        return Err(Error::setting("lambda range", format!("{low} … {high}"), "must be 0 < low < high < inf"));
    }
    let tasks = &own_readouts(tasks)[..];
    let evaluate = |x: f64| lambda_point(tasks, settings, x.exp(), context);
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

fn lambda_point(tasks: &[Task], settings: &MultiHeadSettings, lambda: f64, context: &Context) -> Result<LambdaPoint> {
    let settings = MultiHeadSettings { lambda, ..settings.clone() };
    if settings.beta.is_finite() {
        let theory = SeveralOutputs::new(tasks, &settings, context)?;
        let (f21, g21, g22) = (theory.forgetting(2, 1)?, theory.generalization(2, 1)?, theory.generalization(2, 2)?);
        return Ok(LambdaPoint { lambda, f21, g21, g22 });
    }
    let load = [settings.load(tasks.last().map_or(0, |task| task.x.nrows()))?];
    let (f21, g21, g22) = if tasks.iter().any(|task| task.y.ncols() > 1) {
        let curve = TwoTaskOutputs::new(tasks, &settings, context)?.curve(&load)?;
        (curve.points[0].f21, curve.points[0].g21, curve.points[0].g22)
    } else {
        let curve = TwoTasks::new(tasks, &settings, context)?.curve(&load)?;
        (curve.points[0].f21, curve.points[0].g21, curve.points[0].g22)
    };
    match (g21, g22) {
        (Some(g21), Some(g22)) => {
            Ok(LambdaPoint { lambda, f21: f21.coefficient, g21: g21.coefficient, g22: g22.coefficient })
        }
        _ => Err(Error::data("tasks", "both need a test set for the search for the best lambda")),
    }
}
