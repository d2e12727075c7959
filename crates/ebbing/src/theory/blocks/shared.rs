//! Which inputs all tasks hold, and each task's rows with those first.

use super::kernels::{PointSet, Points};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use crate::tasks::{Task, number_inputs, rows_of, some_target};
use std::collections::{HashMap, HashSet};

/// Inputs and targets of a task, the inputs that all tasks hold first and apart.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// What messages call the task.
    pub name: String,
    /// Its inputs that not all tasks hold.
    pub own: PointSet,
    /// What is to be learned, `Y − f_0`: at the common inputs, then at its own.
    pub y: Mat<f64>,
    /// Where that is not Y itself, how outputs and targets come of it.
    pub start: Option<Start>,
    /// The row of the task as given that each row of `y` is.
    pub order: Vec<usize>,
    /// Held-out points, what would be right there beyond `f_0`, and how outputs and targets come of it.
    pub test: Option<(PointSet, Mat<f64>, Option<Start>)>,
}

impl Prepared {
    /// `|Y|²`.
    pub fn norm2(&self) -> f64 {
        self.start.as_ref().map_or(&self.y, |start| &start.targets).squared_norm_l2()
    }
}

/// A network that does not start from zero, or whose outputs have a row each: `f = f_0 + what is learned`.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// `f_0`.
    pub outputs: Mat<f64>,
    /// Y.
    pub targets: Mat<f64>,
    /// Target columns: where the matrices above have one column, so many of their rows are one example.
    columns: usize,
}

impl Start {
    /// Outputs and targets, one row per example, of what was learned.
    pub fn outcome(&self, learned: MatRef<'_, f64>) -> (Mat<f64>, Mat<f64>) {
        (self.by_example(&(learned + &self.outputs)), self.by_example(&self.targets))
    }

    fn by_example(&self, m: &Mat<f64>) -> Mat<f64> {
        let (columns, each) = (self.columns, self.columns / m.ncols());
        Mat::from_fn(m.nrows() / each, columns, |i, c| if each > 1 { m[(i * each + c, 0)] } else { m[(i, c)] })
    }

    /// The chosen rows.
    pub fn select(&self, rows: &[usize]) -> Start {
        let chosen = |m: &Mat<f64>| Mat::from_fn(rows.len(), m.ncols(), |i, j| m[(rows[i], j)]);
        Start { outputs: chosen(&self.outputs), targets: chosen(&self.targets), columns: self.columns }
    }
}

/// `Y − f_0` with one row per point, and the start where there is one; `order` are the points.
fn to_learn(y: MatRef<'_, f64>, present: Option<MatRef<'_, f64>>, order: &[usize]) -> (Mat<f64>, Option<Start>) {
    let columns = y.ncols();
    let each = if order.len() == y.nrows() { 1 } else { columns };
    let by_point = |m: MatRef<'_, f64>| {
        Mat::from_fn(order.len(), columns / each, |i, j| {
            m[(order[i] / each, if each > 1 { order[i] % each } else { j })]
        })
    };
    let targets = by_point(y);
    if present.is_none() && each == 1 {
        return (targets, None);
    }
    let outputs = present.map_or_else(|| Mat::zeros(targets.nrows(), targets.ncols()), by_point);
    (&targets - &outputs, Some(Start { outputs, targets, columns }))
}

/// The tasks of a sequence and the inputs that all of them hold.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub common: PointSet,
    pub tasks: Vec<Prepared>,
}

/// One task as it was given.
#[derive(Debug, Clone)]
pub(crate) struct TaskInput<'a> {
    pub name: String,
    pub points: Points<'a>,
    pub y: MatRef<'a, f64>,
    pub test: Option<(Points<'a>, MatRef<'a, f64>)>,
    /// What the network answers at the start on training and on held-out data; `None`: 0.
    pub present: [Option<MatRef<'a, f64>>; 2],
}

impl<'a> TaskInput<'a> {
    /// Task t (from 0) of a sequence.
    pub fn of_task(t: usize, task: &'a Task) -> TaskInput<'a> {
        TaskInput {
            name: task.label(t),
            points: task.x.as_ref().into(),
            y: task.y.as_ref(),
            test: task.test.as_ref().map(|test| (test.x.as_ref().into(), test.y.as_ref())),
            present: task
                .present
                .as_ref()
                .map_or([None, None], |f| [Some(f.train.as_ref()), f.test.as_ref().map(|test| test.as_ref())]),
        }
    }

    /// The number of examples.
    pub fn examples(&self) -> usize {
        self.y.nrows()
    }

    /// Points for one example: 1, or one for each output.
    pub fn points_per_example(&self) -> usize {
        self.points.len() / self.y.nrows().max(1)
    }

    /// Whether losses and accuracies are not simply those of what is learned.
    pub fn has_start(&self) -> bool {
        self.present[0].is_some() || self.points_per_example() > 1
    }

    /// The points of some examples.
    pub fn select(&self, examples: &[usize]) -> PointSet {
        self.points.select(&rows_of(examples, self.points_per_example()))
    }
}

impl Shared {
    /// Tasks that are computed with as if they had no input in common.
    pub fn nothing(given: &[TaskInput<'_>]) -> Shared {
        let lists = given.iter().map(|_| vec![]).collect();
        Self::with_common(given, lists)
    }

    /// Finds the inputs that every one of at least two tasks holds once; `numbers` name equal inputs equally.
    pub fn find(given: &[TaskInput<'_>], numbers: &[Vec<usize>]) -> Shared {
        if given.len() < 2 {
            return Self::nothing(given);
        }
        let places: Vec<HashMap<usize, usize>> =
            numbers.iter().map(|task| task.iter().enumerate().map(|(row, &number)| (number, row)).collect()).collect();
        // A number that appears twice in a task stays with the task's own rows.
        let repeated: HashSet<usize> = numbers.iter().flat_map(|task| repeated(task)).collect();
        let everywhere = |n: &&usize| !repeated.contains(n) && places.iter().all(|place| place.contains_key(n));
        let common: Vec<usize> = numbers[0].iter().filter(everywhere).copied().collect();
        let lists = places.iter().map(|place| common.iter().map(|n| place[n]).collect()).collect();
        Self::with_common(given, lists)
    }

    /// `lists[t]` holds the rows of task t that are the common inputs, in one order for all tasks.
    fn with_common(given: &[TaskInput<'_>], lists: Vec<Vec<usize>>) -> Shared {
        let common = given[0].points.select(&lists[0]);
        let tasks = given.iter().zip(lists).map(|(task, mut order)| {
            let shared: HashSet<usize> = order.iter().copied().collect();
            let own: Vec<usize> = (0..task.points.len()).filter(|row| !shared.contains(row)).collect();
            let points = task.points.select(&own);
            order.extend(own);
            let (y, start) = to_learn(task.y, task.present[0], &order);
            Prepared {
                name: task.name.clone(),
                own: points,
                y,
                start,
                order,
                test: task.test.map(|(points, y)| {
                    let all: Vec<usize> = (0..points.len()).collect();
                    let (y, start) = to_learn(y, task.present[1], &all);
                    (points.select(&all), y, start)
                }),
            }
        });
        Shared { tasks: tasks.collect(), common }
    }

    /// All inputs of task t, the common ones first.
    pub fn whole(&self, t: usize) -> PointSet {
        self.common.points().followed_by(self.tasks[t].own.points())
    }

    /// Task t by itself.
    pub fn alone(&self, t: usize) -> Shared {
        let task = &self.tasks[t];
        let nothing = self.common.points().select(&[]);
        Shared { common: nothing, tasks: vec![Prepared { own: self.whole(t), ..task.clone() }] }
    }
}

/// Numbers that appear more than once.
fn repeated(numbers: &[usize]) -> Vec<usize> {
    let mut seen = HashSet::new();
    numbers.iter().filter(|n| !seen.insert(**n)).copied().collect()
}

/// Equal inputs get equal numbers, over all tasks.
pub(crate) fn number(given: &[TaskInput<'_>]) -> Vec<Vec<usize>> {
    let inputs: Option<Vec<MatRef<'_, f64>>> = given
        .iter()
        .map(|task| match task.points {
            Points::Inputs(x) => Some(x),
            Points::Rows(_) => None,
        })
        .collect();
    match inputs {
        Some(inputs) => number_inputs(&inputs),
        None => given
            .iter()
            .map(|task| match task.points {
                Points::Rows(rows) => rows.to_vec(),
                Points::Inputs(_) => vec![],
            })
            .collect(),
    }
}

/// Refuses tasks from which nothing can be learned: one example, targets that are all zero.
///
/// # Errors
/// [`Error::Data`] that names the task.
pub(crate) fn check(given: &[TaskInput<'_>]) -> Result<()> {
    if given.is_empty() {
        return Err(Error::data("the task sequence", "it holds no task; at least one is needed"));
    }
    for task in given {
        let p = task.examples();
        if p < 2 {
            return Err(Error::data(&task.name, format!("it has {p} example; at least two are needed")));
        }
        some_target(&task.name, task.y)?;
    }
    Ok(())
}
