//! How much to keep, which gains are sure, and which method to take.

use super::{Desk, Method, MethodKind, Support};
use crate::error::{Error, Result};
use crate::tasks::TaskSequence;
use crate::theory::Inputs;
use crate::theory::advise::AdviseSettings;
use crate::theory::advise::keep::{Goal, KeepCurve};
use crate::theory::closed_heads::ClosedHeadKind;
use crate::theory::single_head::ReplayBudget;

/// The most examples of each class that budgets in examples and in bytes allow.
pub(super) fn most_per_class(sequence: &TaskSequence, keep: &KeepCurve, settings: &AdviseSettings) -> Result<usize> {
    let Some(last) = keep.points.last() else { return Ok(0) };
    if let Some(budget) = settings.budget {
        let inputs = if settings.features { Inputs::Features(sequence) } else { Inputs::Network(sequence) };
        let (most, of) = settings.replay.most(&inputs.given(0.0)?)?;
        if budget > most {
            return Err(Error::setting("budget", budget, format!("must be at most {most}, the examples of {of}")));
        }
    }
    let (all, earlier) = (last.per_class, sequence.tasks.len() - 1);
    let classes = last.examples as f64 / all.max(1) as f64;
    let per_task = classes / earlier as f64;
    let by_count = settings.budget.map(|budget| match settings.replay.budget {
        ReplayBudget::PerClass => budget as f64,
        ReplayBudget::PerTask => budget as f64 / per_task,
        ReplayBudget::InAll => budget as f64 / classes,
    });
    let each = last.bytes as f64 / last.examples.max(1) as f64;
    let by_bytes = settings.memory_budget.map(|bytes| bytes as f64 / (each * classes));
    let least = by_count.into_iter().chain(by_bytes).fold(all as f64, f64::min);
    if by_count.is_some_and(|n| n < 1.0) {
        let budget = settings.budget.unwrap_or(0);
        let needed = match settings.replay.budget {
            ReplayBudget::InAll => classes,
            _ => per_task,
        };
        return Err(Error::setting(
            "budget",
            budget,
            format!("must be at least {needed:.0}: one example of each class"),
        ));
    }
    // Rounding apart.
    Ok((least + 1e-9) as usize)
}

/// The amounts that stand in the table: what the goal takes; without one what 80 % and 90 % take, and the least that is as good as
/// keeping all, within what such forecasts are off by. None is more than `most`, which stands for what is out of reach.
pub(super) fn amounts(keep: &KeepCurve, goal: Option<Goal>, most: usize, error: f64) -> Vec<usize> {
    let allowed = keep.points.iter().filter(|point| point.per_class <= most);
    let best = allowed.clone().map(|point| point.accuracy).fold(0.0, f64::max);
    let plateau = allowed.clone().find(|point| point.accuracy >= best - error).map(|point| point.per_class);
    let at = |goal: Goal| keep.least(goal).map(|point| point.per_class);
    let mut all: Vec<usize> = match goal {
        Some(goal) => vec![at(goal).filter(|n| *n <= most).unwrap_or(most)],
        None => keep.targets.iter().filter_map(|target| Some(target.point?.per_class)).chain(plateau).collect(),
    };
    all.retain(|n| *n > 0 && *n <= most);
    if all.is_empty() && most > 0 {
        all.push(most);
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Sets gains, their errors, and what reaches the goal and keeps within budgets; the first row is fine-tuning.
pub(super) fn judge(rows: &mut [Method], desk: &Desk<'_>, goal: Option<Goal>, most: usize) {
    let nothing = rows[0].accuracy;
    let plain = desk.error_of("plain");
    for row in rows {
        row.accuracy_gain = row.accuracy - nothing;
        let own = match (row.support, row.kind) {
            // Two standard errors of a share of so many examples.
            (Support::Exact { examples }, _) => {
                Some(2.0 * (row.accuracy * (1.0 - row.accuracy) / examples.max(1) as f64).sqrt())
            }
            (Support::Measured { error, .. }, _) => Some(error),
            // Measured on other data.
            (Support::Theory, MethodKind::Replay) => Some(desk.error_of("replay")),
            (Support::Theory, MethodKind::Gating) => Some(desk.error_of("gating")),
            (Support::Theory, _) => None,
        };
        row.own_error = own;
        row.forecast_error = own.filter(|_| row.kind != MethodKind::FineTuning).map(|own| own.max(plain));
        row.sure = row.forecast_error.is_some_and(|error| row.accuracy_gain > error);
        row.reaches_goal = goal.map(|goal| match (goal, row.lost) {
            (Goal::LoseAtMost(_), None) => false,
            (goal, lost) => goal.met(row.accuracy, lost.unwrap_or(0.0)),
        });
        row.within_budget = row.per_class.is_none_or(|n| n <= most)
            && desk.settings.memory_budget.is_none_or(|budget| row.bytes <= budget);
    }
}

/// Whether a row can be taken: not the bound of all data at one time.
fn takes(row: &Method) -> bool {
    let bound = matches!(row.kind, MethodKind::Joint | MethodKind::ClosedHead(ClosedHeadKind::Joint));
    row.sure && row.within_budget && !bound
}

/// Of several rows the one to take: of those that reach the goal the one that keeps least; without a goal, or where none reaches it, of
/// those that are as accurate as the best within what their own numbers are off by, the one that keeps least.
fn best<'a>(rows: impl Iterator<Item = (usize, &'a Method)>, goal: Option<Goal>) -> Option<usize> {
    let all: Vec<(usize, &Method)> = rows.collect();
    let reached: Vec<(usize, &Method)> =
        all.iter().filter(|(_, row)| row.reaches_goal == Some(true)).copied().collect();
    let high = all.iter().map(|(_, row)| row.accuracy).fold(0.0, f64::max);
    let as_good = |row: &Method| row.accuracy >= high - row.own_error.unwrap_or(0.0);
    let among = match goal {
        Some(_) if !reached.is_empty() => reached,
        _ => all.into_iter().filter(|(_, row)| as_good(row)).collect(),
    };
    let less = |a: &(usize, &Method), b: &(usize, &Method)| {
        a.1.bytes.cmp(&b.1.bytes).then(b.1.accuracy.total_cmp(&a.1.accuracy))
    };
    among.into_iter().min_by(less).map(|(k, _)| k)
}

/// The row to take without knowing the task.
pub(super) fn recommended(rows: &[Method], goal: Option<Goal>) -> Option<usize> {
    // Where fine-tuning reaches the goal nothing need be done.
    let nothing = rows.iter().find(|row| row.kind == MethodKind::FineTuning);
    if nothing.is_some_and(|row| row.reaches_goal == Some(true)) {
        return None;
    }
    best(rows.iter().enumerate().filter(|(_, row)| takes(row) && !row.task_known), goal)
}

/// The row to take where the task is known, if it gains on the other one by more than forecasts are off by.
pub(super) fn recommended_known(rows: &[Method], other: Option<usize>, goal: Option<Goal>) -> Option<usize> {
    let than = other.map_or(0.0, |k| rows[k].accuracy);
    let better = |row: &Method| row.accuracy > than + row.forecast_error.unwrap_or(f64::INFINITY);
    best(rows.iter().enumerate().filter(|(_, row)| takes(row) && row.task_known && better(row)), goal)
}
