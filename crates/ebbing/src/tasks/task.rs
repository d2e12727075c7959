//! A task, its test set, and a sequence of tasks that remembers which rows are the same input.

use super::Provenance;
use crate::data::hex;
use crate::error::{Error, Result, refuse};
use crate::linalg::{Mat, MatRef, not_finite};
use crate::plan::Sizes;
use sha2::{Digest, Sha256};

/// Which input a row is: rows with equal `image` and equal `view` are the same input vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolRow {
    /// The index of the image in the source set.
    pub image: u64,
    /// The transformation applied to it (0: none; permuted tasks use one view per permutation).
    pub view: u32,
}

/// Held-out examples of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TestSet {
    /// Inputs, one per row.
    pub x: Mat<f64>,
    /// Targets, one row per example, as many columns as the task's.
    pub y: Mat<f64>,
}

/// Outputs `f_0` of a network before it learns the first task, where they are not zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Present {
    /// At the training inputs, P × columns.
    pub train: Mat<f64>,
    /// At the held-out inputs, where there are some.
    pub test: Option<Mat<f64>>,
}

/// One task: training inputs and targets, and optionally held-out ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its name in tables.
    pub name: String,
    /// Training inputs, P × N0. Features of each output apart (a tangent kernel with several outputs) are one row for each
    /// output of each example: P·columns rows, row `i·columns + c` for output c of example i.
    pub x: Mat<f64>,
    /// Training targets, P × columns.
    pub y: Mat<f64>,
    /// Which pool input each training row is, where that is known.
    pub rows: Option<Vec<PoolRow>>,
    /// Held-out examples.
    pub test: Option<TestSet>,
    /// What the network answers at the start; `None`: 0.
    pub present: Option<Present>,
}

/// Tasks in the order in which they are learned.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSequence {
    /// The tasks, first learned first.
    pub tasks: Vec<Task>,
    /// Everything that made the sequence, written into every result.
    pub settings: Provenance,
}

/// SHA-256 over the shapes and entries of all tasks.
pub(crate) fn fingerprint(tasks: &[Task]) -> String {
    let mut hash = Sha256::new();
    for task in tasks {
        let parts = [Some((&task.x, &task.y)), task.test.as_ref().map(|t| (&t.x, &t.y))];
        for m in parts.into_iter().flatten().flat_map(|(x, y)| [x, y]) {
            hash.update((m.nrows() as u64).to_le_bytes());
            hash.update((m.ncols() as u64).to_le_bytes());
            for j in 0..m.ncols() {
                let column: Vec<u8> = m.col_as_slice(j).iter().flat_map(|v| v.to_le_bytes()).collect();
                hash.update(&column);
            }
        }
    }
    hex(&hash.finalize())
}

/// The sizes of tasks, with inputs that they may share not counted once.
pub fn sizes_of(tasks: &[Task]) -> Sizes {
    let first = tasks.first();
    Sizes {
        train: tasks.iter().map(|task| task.x.nrows()).collect(),
        test: tasks.iter().map(|task| task.test.as_ref().map_or(0, |test| test.x.nrows())).collect(),
        dim: first.map_or(0, |task| task.x.ncols()),
        columns: first.map_or(0, |task| task.y.ncols()),
        distinct: None,
    }
}

impl TaskSequence {
    /// A sequence from tasks in memory, checked, with equal inputs recognized where `rows` is unknown.
    ///
    /// # Errors
    /// The first of [`TaskSequence::problems`].
    pub fn new(tasks: Vec<Task>) -> Result<Self> {
        TaskSequence { tasks, settings: Provenance::default() }.checked()
    }

    /// The same sequence, checked, with equal inputs recognized where `rows` is unknown.
    ///
    /// # Errors
    /// The first of [`TaskSequence::problems`].
    pub fn checked(mut self) -> Result<Self> {
        self.validate()?;
        self.identify();
        Ok(self)
    }

    /// The input dimension N0 (of the first task).
    pub fn dim(&self) -> usize {
        self.tasks.first().map_or(0, |task| task.x.ncols())
    }

    /// The number of target columns (of the first task).
    pub fn columns(&self) -> usize {
        self.tasks.first().map_or(0, |task| task.y.ncols())
    }

    /// The same tasks in another order: `order` names every task once, by its number from 1.
    ///
    /// # Errors
    /// [`Error::Setting`] for an order that leaves a task out, names one twice, or names one that is not there.
    pub fn ordered(&self, order: &[usize]) -> Result<TaskSequence> {
        let settings = self.ordered_settings(order)?;
        Ok(TaskSequence { tasks: order.iter().map(|&t| self.tasks[t - 1].clone()).collect(), settings })
    }

    /// Everything that made the sequence in that order, without its examples.
    ///
    /// # Errors
    /// As [`TaskSequence::ordered`].
    pub fn ordered_settings(&self, order: &[usize]) -> Result<Provenance> {
        check_order(order, self.tasks.len())?;
        Ok(Provenance { order: order.to_vec(), ..self.settings.clone() })
    }

    /// Whether the training targets of every task name classes.
    pub fn learns_classes(&self) -> bool {
        self.tasks.iter().all(|task| crate::metrics::accuracy(task.y.as_ref(), task.y.as_ref(), None).is_ok())
    }

    /// Whether tasks have test data, and those of every task name classes (its training data where it has none), and none starts from
    /// outputs of a network's own.
    pub fn names_classes(&self) -> bool {
        let plain = |task: &Task| task.present.is_none() && task.x.nrows() == task.y.nrows();
        let classes = |task: &Task| {
            let y = task.test.as_ref().map_or(&task.y, |test| &test.y);
            crate::metrics::accuracy(y.as_ref(), y.as_ref(), None).is_ok()
        };
        self.tasks.iter().any(|task| task.test.is_some()) && self.tasks.iter().all(|task| plain(task) && classes(task))
    }

    /// The same with its training examples for the test data of every task that has none, where others have some: those keep theirs.
    /// With what there is to say on it; none where nothing is missing.
    pub(crate) fn tested_everywhere(&self) -> Option<(TaskSequence, String)> {
        let missing: Vec<String> = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| task.test.is_none())
            .map(|(t, task)| task.label(t))
            .collect();
        let (one, last) = (missing.len() == 1, missing.split_last()?);
        if missing.len() == self.tasks.len() {
            return None;
        }
        let names = if one { last.0.clone() } else { format!("{} and {}", last.1.join(", "), last.0) };
        let (have, their) = if one { ("has", "its") } else { ("have", "their") };
        let note = format!("{names} {have} no test data: {their} test results are those of {their} training examples");
        let mut filled = self.clone();
        for task in filled.tasks.iter_mut().filter(|task| task.test.is_none()) {
            task.test = Some(TestSet { x: task.x.clone(), y: task.y.clone() });
            if let Some(present) = &mut task.present {
                present.test = Some(present.train.clone());
            }
        }
        Some((filled, note))
    }

    /// "5 tasks of 300 examples", or "2 tasks of 200 to 300 examples" where they differ.
    pub fn described(&self) -> String {
        let sizes = || self.tasks.iter().map(|task| task.x.nrows());
        let examples = match (sizes().min(), sizes().max()) {
            (Some(a), Some(b)) if a == b => format!("{a}"),
            (Some(a), Some(b)) => format!("{a} to {b}"),
            _ => "no".into(),
        };
        let count = if self.tasks.len() == 1 { "1 task".into() } else { format!("{} tasks", self.tasks.len()) };
        format!("{count} of {examples} examples")
    }

    /// The sizes that the cost of computing with it depends on.
    pub fn sizes(&self) -> Sizes {
        let rows: Option<Vec<_>> = self.tasks.iter().map(|task| task.rows.clone()).collect();
        let distinct = rows.map(|rows| {
            let mut all = rows.concat();
            all.sort_unstable();
            all.dedup();
            all.len()
        });
        Sizes { distinct, ..sizes_of(&self.tasks) }
    }

    /// Refuses a sequence that cannot be computed with.
    ///
    /// # Errors
    /// The first of [`TaskSequence::problems`].
    pub fn validate(&self) -> Result<()> {
        self.problems().into_iter().next().map_or(Ok(()), Err)
    }

    /// Everything that makes a sequence unusable: no tasks or rows, dimensions or target columns that
    /// differ between tasks, inputs and targets of different length, values that are NaN or infinite.
    pub fn problems(&self) -> Vec<Error> {
        let mut found = Vec::new();
        if self.tasks.is_empty() {
            found.push(Error::data("the task sequence", "it holds no task; at least one is needed"));
        }
        let (dim, columns) = (self.dim(), self.columns());
        let rows_per_example = self.tasks.first().map_or(1, Task::rows_per_example);
        for (t, task) in self.tasks.iter().enumerate() {
            let what = task.label(t);
            let all = Expected { dim, columns, rows_per_example };
            set_problems(&what, task.x.as_ref(), task.y.as_ref(), all, &mut found);
            if let Some(test) = &task.test {
                set_problems(&format!("{what}, test set"), test.x.as_ref(), test.y.as_ref(), all, &mut found);
            }
            found.extend(task.present_problem().map(|problem| Error::data(&what, problem)));
            if let Some(rows) = task.rows.as_ref().filter(|rows| rows.len() != task.x.nrows()) {
                let problem = format!("{} pool rows are given for {} inputs", rows.len(), task.x.nrows());
                found.push(Error::data(&what, problem));
            }
        }
        found
    }
}

impl Task {
    /// A task of inputs `x` (one per row) and targets `y`, without a name and without held-out examples.
    pub fn new(x: Mat<f64>, y: Mat<f64>) -> Task {
        Task { name: String::new(), x, y, rows: None, test: None, present: None }
    }

    /// The same with a name.
    pub fn named(self, name: impl Into<String>) -> Task {
        Task { name: name.into(), ..self }
    }

    /// The same with held-out examples.
    pub fn with_test(self, x: Mat<f64>, y: Mat<f64>) -> Task {
        Task { test: Some(TestSet { x, y }), ..self }
    }

    /// The same learned by a network that answers `train` (and `test` at the held-out inputs) before it learns anything.
    pub fn with_present(self, train: Mat<f64>, test: Option<Mat<f64>>) -> Task {
        Task { present: Some(Present { train, test }), ..self }
    }

    /// Rows of `x` for one example: 1, or the number of target columns where each output has features of its own.
    pub fn rows_per_example(&self) -> usize {
        let (p, columns) = (self.y.nrows(), self.y.ncols());
        if columns > 1 && p > 0 && self.x.nrows() == p * columns { columns } else { 1 }
    }

    /// What is wrong with the outputs at the start.
    fn present_problem(&self) -> Option<String> {
        let present = self.present.as_ref()?;
        let test = self.test.as_ref().map(|test| &test.y);
        for (set, f, y) in [("training", Some(&present.train), Some(&self.y)), ("test", present.test.as_ref(), test)] {
            let (f, y) = match (f, y) {
                (Some(f), Some(y)) => (f.as_ref(), y.as_ref()),
                (None, None) => continue,
                (f, _) => {
                    let (is, not) = if f.is_some() { ("outputs", "examples") } else { ("examples", "present outputs") };
                    return Some(format!("it has {set} {is} but no {set} {not}; present outputs belong to both sets"));
                }
            };
            if (f.nrows(), f.ncols()) != (y.nrows(), y.ncols()) {
                let (found, wanted) = ((f.nrows(), f.ncols()), (y.nrows(), y.ncols()));
                return Some(format!(
                    "its present outputs on {set} data are {} × {}; its targets are {} × {}, and they must agree",
                    found.0, found.1, wanted.0, wanted.1
                ));
            }
            if let Some((i, j)) = not_finite(f) {
                let (row, column, value) = (i + 1, j + 1, f[(i, j)]);
                return Some(format!(
                    "present output row {row}, column {column} is {value}; every value must be finite"
                ));
            }
        }
        None
    }

    /// The task's name in messages, at place `t` (from 0): its number, and its own name where that says more.
    pub(crate) fn label(&self, t: usize) -> String {
        let number = format!("task {}", t + 1);
        if self.name == number || self.name.is_empty() { number } else { format!("{number} ({})", self.name) }
    }
}

/// Refuses tasks that only features can have: outputs of a network at the start, or rows for each output.
///
/// # Errors
/// [`Error::Data`] that names the task.
pub(crate) fn inputs_only(tasks: &[Task]) -> Result<()> {
    for (t, task) in tasks.iter().enumerate() {
        if task.present.is_some() {
            let problem =
                "it has present outputs of a model, which belong to features of that model: take them as features";
            return Err(Error::data(task.label(t), problem));
        }
        if task.rows_per_example() > 1 {
            let (rows, p) = (task.x.nrows(), task.y.nrows());
            let problem = format!("{rows} inputs but {p} targets; only features have one row for each output");
            return Err(Error::data(task.label(t), problem));
        }
    }
    Ok(())
}

/// Refuses training targets that are all zero: every theory has losses relative to their norm. Targets that are all alike are
/// learned, as those of a task of one class are.
///
/// # Errors
/// [`Error::Data`] that names the task.
pub(crate) fn some_target(label: &str, y: MatRef<'_, f64>) -> Result<()> {
    if (0..y.ncols()).any(|j| y.col(j).iter().any(|y| *y != 0.0)) {
        return Ok(());
    }
    Err(Error::data(
        label,
        "its targets are all zero; losses are relative to their size, so at least one must be another number",
    ))
}

/// What all sets of a sequence agree in.
#[derive(Clone, Copy)]
struct Expected {
    dim: usize,
    columns: usize,
    rows_per_example: usize,
}

/// What is wrong with one set of inputs and targets.
fn set_problems(what: &str, x: MatRef<'_, f64>, y: MatRef<'_, f64>, all: Expected, found: &mut Vec<Error>) {
    let Expected { dim, columns, rows_per_example } = all;
    let mut add = |problem: String| found.push(Error::data(what, problem));
    if x.nrows() == 0 || x.ncols() == 0 {
        add(format!("its inputs are {} × {}; at least one example of one feature is needed", x.nrows(), x.ncols()));
    }
    if y.ncols() == 0 {
        add("it has no target column; at least one is needed".into());
    }
    if x.nrows() != rows_per_example * y.nrows() {
        let several = rows_per_example > 1;
        let each =
            if several { "each target needs one input, as in task 1" } else { "each input needs one row of targets" };
        let turned = " (is x transposed? Examples are rows, features columns)";
        let turned = if x.ncols() == y.nrows() { turned } else { "" };
        add(format!("{} inputs but {} targets; {each}{turned}", x.nrows(), y.nrows()));
    }
    if x.ncols() != dim {
        add(format!("its inputs have {} features where those of task 1 have {dim}; all must agree", x.ncols()));
    }
    if y.ncols() != columns {
        add(format!("{} target columns where task 1 has {columns}; all must agree", y.ncols()));
    }
    for (name, m) in [("input", x), ("target", y)] {
        if let Some((i, j)) = not_finite(m) {
            add(format!("{name} row {}, column {} is {}; every value must be finite", i + 1, j + 1, m[(i, j)]));
        }
    }
}

/// Refuses an order that does not name each of `count` tasks once, from 1.
///
/// # Errors
/// [`Error::Setting`] that says what would be right.
pub(crate) fn check_order(order: &[usize], count: usize) -> Result<()> {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    let given: Vec<String> = order.iter().map(usize::to_string).collect();
    let expected = format!("must name each of the {count} tasks once, from 1, such as {}", words(count));
    refuse(!sorted.iter().copied().eq(1..=count), "order", given.join(","), expected)
}

/// Task t (from 1) as it is spoken of: its place, and the name that it was given. A name that is another place's number says that the
/// tasks were put into another order: "1 (given as task 3)".
pub(crate) fn called(t: usize, name: &str) -> String {
    match name.strip_prefix("task ").map(str::parse::<usize>) {
        Some(Ok(given)) if given == t => t.to_string(),
        Some(Ok(_)) => format!("{t} (given as {name})"),
        _ if name.is_empty() => t.to_string(),
        _ => format!("{t} ({name})"),
    }
}

/// Tasks (from 1) in an order, each as it is spoken of: "2 1", or "2 (cats), 1 (dogs)".
pub(crate) fn in_order(order: &[usize], names: &[impl AsRef<str>]) -> String {
    let all: Vec<String> = order.iter().map(|&t| called(t, names[t - 1].as_ref())).collect();
    all.join(if all.iter().any(|one| one.contains(' ')) { ", " } else { " " })
}

/// "2,1,3": the first two tasks swapped.
fn words(count: usize) -> String {
    let mut order: Vec<usize> = (1..=count).collect();
    if count > 1 {
        order.swap(0, 1);
    }
    order.iter().take(10).map(usize::to_string).collect::<Vec<_>>().join(",")
}
