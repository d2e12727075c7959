//! What a task file holds, what can be computed with it, what that costs, and what is wrong with it.

use super::load::{Loaded, read};
use super::pool::{number_inputs, repeats};
use super::{ByClass, Provenance, Task, TaskSequence};
use crate::linalg::{Mat, MatRef};
use crate::plan::Cost;
use serde::Serialize;
use std::path::Path;

/// Target columns with more different values than this are summarized by their range.
const FEW_VALUES: usize = 10;

/// Everything that is known about a task file before anything is computed.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TaskCheck {
    /// "npz file", "folder", "recipe" or "unknown".
    pub kind: String,
    /// The tasks, as far as they could be read.
    pub tasks: Vec<TaskSummary>,
    /// How many inputs tasks t and s have in common, `shared[t][s]` (on the diagonal: different inputs of task t).
    pub shared: Vec<Vec<usize>>,
    /// How many different training inputs there are in all.
    pub distinct: usize,
    /// What made the sequence, where there is one.
    pub settings: Option<Provenance>,
    /// What can be computed, and what that costs here; filled by [`CheckRequest`](crate::request::CheckRequest).
    pub computations: Vec<Computation>,
    /// What makes the file unusable, one sentence each.
    pub problems: Vec<String>,
    /// What labels became, and whether real targets look like labels.
    pub notes: Vec<String>,
    /// What to know about a file that can be used.
    pub warnings: Vec<String>,
}

/// What one task holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskSummary {
    /// Its name.
    pub name: String,
    /// Training examples P.
    pub p: usize,
    /// Test examples.
    pub p_test: usize,
    /// Features N0.
    pub dim: usize,
    /// What each target column holds.
    pub targets: Vec<TargetSummary>,
    /// The smallest, mean and largest squared norm of training inputs, divided by N0.
    pub norm2: [f64; 3],
    /// Training rows that repeat an earlier row.
    pub duplicates: usize,
    /// Of these, how many have other targets than the row they repeat.
    pub conflicts: usize,
    /// Test rows that are also training rows of this task.
    pub test_in_train: usize,
}

/// What a column of training targets holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetSummary {
    /// Each value with its count, in increasing order.
    Values(Vec<(f64, usize)>),
    /// Smallest and largest of many values.
    Range(f64, f64),
}

/// A command that takes the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Computation {
    /// The command.
    pub command: String,
    /// What it would compute.
    pub what: String,
    /// Why it would refuse, if it would.
    pub refused: Option<String>,
    /// Operations and memory.
    pub cost: Cost,
    /// Estimated seconds on this machine.
    pub seconds: f64,
}

/// Checks a task file: an `.npz` file, a folder of them, or a recipe.
///
/// Never fails: whatever is wrong, a missing file included, is among the problems.
pub fn check_tasks(path: impl AsRef<Path>) -> TaskCheck {
    check_file(path.as_ref(), None, 0).0
}

/// [`check_tasks`], and the tasks as far as they could be read, or as they are made of one set by class.
pub(crate) fn check_file(path: &Path, by_class: Option<ByClass>, seed: u64) -> (TaskCheck, Option<TaskSequence>) {
    let Loaded { kind, mut sequence, mut problems } = read(path);
    if let (Some(step), Some(whole), true) = (by_class, &sequence, problems.is_empty()) {
        match step.apply(whole.clone(), seed) {
            Ok(made) => sequence = Some(made),
            Err(e) => problems.push(e),
        }
    }
    let mut report = match &sequence {
        Some(sequence) => check_sequence(sequence),
        None => TaskCheck::default(),
    };
    report.kind = kind.into();
    report.problems = problems.iter().map(ToString::to_string).collect();
    let one_set = sequence.as_ref().and_then(TaskSequence::one_set).filter(|_| problems.is_empty());
    report.problems.extend(one_set.map(|problem| format!("{}: {problem}", path.display())));
    (report, sequence)
}

/// The same checks for a sequence in memory.
pub fn check_sequence(sequence: &TaskSequence) -> TaskCheck {
    let mut report = TaskCheck { kind: "sequence".into(), ..TaskCheck::default() };
    report.problems = sequence.problems().iter().map(ToString::to_string).collect();
    report.settings = Some(sequence.settings.clone());
    report.notes = sequence.target_notes();
    report.notes.extend(sequence.repeat_note());
    let sets: Vec<MatRef<'_, f64>> = sequence.tasks.iter().map(|task| task.x.as_ref()).collect();
    let numbers = number_inputs(&sets);
    report.distinct = numbers.iter().flatten().max().map_or(0, |largest| largest + 1);
    report.shared = shared(&numbers, report.distinct);
    for (t, (task, numbers)) in sequence.tasks.iter().zip(&numbers).enumerate() {
        let summary = summarize(task, numbers);
        report.warnings.extend(warnings(&task.label(t), task, &summary));
        report.tasks.push(summary);
    }
    report.warnings.extend(uneven_norms(&report.tasks));
    let with_test = sequence.tasks.iter().filter(|task| task.test.is_some()).count();
    if with_test > 0 && with_test < sequence.tasks.len() {
        let all = sequence.tasks.len();
        report.warnings.push(format!(
            "{with_test} of {all} tasks have test sets: the others are judged on their training examples"
        ));
    }
    report
}

impl TaskCheck {
    /// Whether the file can be used.
    pub fn usable(&self) -> bool {
        self.problems.is_empty() && !self.tasks.is_empty()
    }

    /// The same tasks with features for inputs, of any lengths.
    pub fn of_features(&mut self) {
        let uneven = uneven_norms(&self.tasks);
        self.warnings.retain(|warning| Some(warning) != uneven.as_ref());
    }
}

/// `shared[t][s]`: how many different inputs tasks t and s have in common.
fn shared(numbers: &[Vec<usize>], distinct: usize) -> Vec<Vec<usize>> {
    let holds = |rows: &Vec<usize>| {
        let mut held = vec![false; distinct];
        rows.iter().for_each(|&i| held[i] = true);
        held
    };
    let held: Vec<Vec<bool>> = numbers.iter().map(holds).collect();
    let common = |a: &[bool], b: &[bool]| a.iter().zip(b).filter(|(a, b)| **a && **b).count();
    held.iter().map(|a| held.iter().map(|b| common(a, b)).collect()).collect()
}

fn summarize(task: &Task, numbers: &[usize]) -> TaskSummary {
    let (p, dim) = (task.x.nrows(), task.x.ncols());
    let [duplicates, conflicts] = repeats(numbers, task.y.as_ref());
    let norm2: Vec<f64> =
        (0..p).map(|i| (0..dim).map(|j| task.x[(i, j)].powi(2)).sum::<f64>() / dim.max(1) as f64).collect();
    let test = task.test.as_ref();
    TaskSummary {
        name: task.name.clone(),
        p: p / task.rows_per_example(),
        p_test: test.map_or(0, |test| test.x.nrows() / task.rows_per_example()),
        dim,
        targets: (0..task.y.ncols()).map(|c| target_summary(&task.y, c)).collect(),
        norm2: [
            norm2.iter().copied().fold(f64::INFINITY, f64::min),
            norm2.iter().sum::<f64>() / p.max(1) as f64,
            norm2.iter().copied().fold(0.0, f64::max),
        ],
        duplicates,
        conflicts,
        test_in_train: test.map_or(0, |test| overlap(task.x.as_ref(), test.x.as_ref())),
    }
}

fn target_summary(y: &Mat<f64>, column: usize) -> TargetSummary {
    let mut values: Vec<f64> = (0..y.nrows()).map(|i| y[(i, column)]).collect();
    values.sort_by(f64::total_cmp);
    let mut counts: Vec<(f64, usize)> = Vec::new();
    for value in &values {
        match counts.last_mut() {
            Some((last, count)) if last == value => *count += 1,
            _ => counts.push((*value, 1)),
        }
    }
    match (values.first(), values.last()) {
        (Some(low), Some(high)) if counts.len() > FEW_VALUES => TargetSummary::Range(*low, *high),
        _ => TargetSummary::Values(counts),
    }
}

/// How many rows of `b` are rows of `a`.
fn overlap(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> usize {
    let numbers = number_inputs(&[a, b]);
    let known = numbers[0].iter().max().map_or(0, |largest| largest + 1);
    numbers[1].iter().filter(|&&number| number < known).count()
}

/// What to know about a task.
fn warnings(label: &str, task: &Task, summary: &TaskSummary) -> Vec<String> {
    let mut found = Vec::new();
    let constant = |target: &TargetSummary| matches!(target, TargetSummary::Values(values) if values.len() == 1);
    // One class of several is what tasks by class may have.
    if summary.p > 1 && summary.targets.len() == 1 && summary.targets.iter().all(constant) {
        found.push(format!("{label}: its targets are constant: there is nothing to distinguish"));
    }
    if (0..task.y.ncols()).all(|c| (0..task.y.nrows()).all(|i| task.y[(i, c)] == 0.0)) {
        found.push(format!("{label}: its targets are all zero: losses relative to them do not exist"));
    }
    if summary.p == 1 {
        found.push(format!("{label}: it has a single example"));
    }
    if summary.norm2[0] == 0.0 {
        found.push(format!(
            "{label}: an input is all zero: without a bias its kernel is singular; drop it, or give --bias"
        ));
    }
    if summary.test_in_train > 0 {
        let (n, all) = (summary.test_in_train, summary.p_test);
        found.push(format!("{label}: {n} of {all} test inputs are training inputs too"));
    }
    found
}

/// That inputs differ in length, in one sentence for all tasks.
fn uneven_norms(tasks: &[TaskSummary]) -> Option<String> {
    let [low, high] = tasks
        .iter()
        .fold([f64::INFINITY, 0.0], |[low, high]: [f64; 2], task| [low.min(task.norm2[0]), high.max(task.norm2[2])]);
    (low > 0.0 && high - low > 1e-6 * high).then(|| {
        format!(
            "inputs: squared norms per feature run from {low:.3} to {high:.3}; the theory takes them as they are, \
             --norm would make them equal"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_summarized_by_values_or_range() {
        let few = Mat::from_fn(5, 1, |i, _| [1.0, -1.0, 0.0, 1.0, 1.0][i]);
        assert_eq!(target_summary(&few, 0), TargetSummary::Values(vec![(-1.0, 1), (0.0, 1), (1.0, 3)]));
        let many = Mat::from_fn(50, 2, |i, j| i as f64 - j as f64);
        assert_eq!(target_summary(&many, 1), TargetSummary::Range(-1.0, 48.0));
    }
}
