//! Which inputs all tasks hold, and each task's rows with those first.

use super::kernels::{PointSet, Points};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use crate::tasks::{Task, number_inputs};
use std::collections::{HashMap, HashSet};

/// Inputs and targets of a task, the inputs that all tasks hold first and apart.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// What messages call the task.
    pub name: String,
    /// Its inputs that not all tasks hold.
    pub own: PointSet,
    /// Its targets: those of the common inputs, then those of its own.
    pub y: Mat<f64>,
    /// The row of the task as given that each row of `y` is.
    pub order: Vec<usize>,
    /// Held-out points and their targets.
    pub test: Option<(PointSet, Mat<f64>)>,
}

/// The tasks of a sequence and the inputs that all of them hold.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub common: PointSet,
    pub tasks: Vec<Prepared>,
}

/// One task as it was given.
#[derive(Debug, Clone)]
pub(crate) struct Given<'a> {
    pub name: String,
    pub points: Points<'a>,
    pub y: MatRef<'a, f64>,
    pub test: Option<(Points<'a>, MatRef<'a, f64>)>,
}

impl<'a> Given<'a> {
    /// Task t (from 0) of a sequence.
    pub fn of_task(t: usize, task: &'a Task) -> Given<'a> {
        Given {
            name: task.label(t),
            points: task.x.as_ref().into(),
            y: task.y.as_ref(),
            test: task.test.as_ref().map(|test| (test.x.as_ref().into(), test.y.as_ref())),
        }
    }
}

impl Shared {
    /// Tasks that are computed with as if they had no input in common.
    pub fn nothing(given: &[Given<'_>]) -> Shared {
        let lists = given.iter().map(|_| vec![]).collect();
        Self::with_common(given, lists)
    }

    /// Finds the inputs that every one of at least two tasks holds once; `numbers` name equal inputs equally.
    pub fn find(given: &[Given<'_>], numbers: &[Vec<usize>]) -> Shared {
        if given.len() < 2 {
            return Self::nothing(given);
        }
        let places: Vec<HashMap<usize, usize>> =
            numbers.iter().map(|task| task.iter().enumerate().map(|(row, &number)| (number, row)).collect()).collect();
        // A number that appears twice in a task (which a ridge allows) stays with the task's own rows.
        let repeated: HashSet<usize> = numbers.iter().flat_map(|task| repeated(task)).collect();
        let everywhere = |n: &&usize| !repeated.contains(n) && places.iter().all(|place| place.contains_key(n));
        let common: Vec<usize> = numbers[0].iter().filter(everywhere).copied().collect();
        let lists = places.iter().map(|place| common.iter().map(|n| place[n]).collect()).collect();
        Self::with_common(given, lists)
    }

    /// `lists[t]` holds the rows of task t that are the common inputs, in one order for all tasks.
    fn with_common(given: &[Given<'_>], lists: Vec<Vec<usize>>) -> Shared {
        let common = given[0].points.select(&lists[0]);
        let tasks = given.iter().zip(lists).map(|(task, mut order)| {
            let shared: HashSet<usize> = order.iter().copied().collect();
            let own: Vec<usize> = (0..task.points.len()).filter(|row| !shared.contains(row)).collect();
            let points = task.points.select(&own);
            order.extend(own);
            Prepared {
                name: task.name.clone(),
                own: points,
                y: Mat::from_fn(order.len(), task.y.ncols(), |i, j| task.y[(order[i], j)]),
                order,
                test: task.test.map(|(points, y)| {
                    let all: Vec<usize> = (0..points.len()).collect();
                    (points.select(&all), y.to_owned())
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
pub(crate) fn number(given: &[Given<'_>]) -> Vec<Vec<usize>> {
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

/// Refuses tasks from which nothing can be learned: one example, constant targets, and where `exact` (no temperature)
/// the same input with different targets.
///
/// # Errors
/// [`Error::Data`] that names the task and the rows.
pub(crate) fn check(given: &[Given<'_>], numbers: &[Vec<usize>], exact: bool) -> Result<()> {
    if given.is_empty() {
        return Err(Error::data("the task sequence", "it holds no task; at least one is needed"));
    }
    for (task, numbers) in given.iter().zip(numbers) {
        let (p, y) = (task.points.len(), task.y);
        if p < 2 {
            return Err(Error::data(&task.name, format!("it has {p} example; at least two are needed")));
        }
        let same = |i: usize, k: usize| (0..y.ncols()).all(|j| y[(i, j)] == y[(k, j)]);
        if (1..p).all(|i| same(i, 0)) {
            let problem = format!("its targets are all {}; at least two different ones are needed", y[(0, 0)]);
            return Err(Error::data(&task.name, problem));
        }
        let mut first: HashMap<usize, usize> = HashMap::new();
        for (row, number) in numbers.iter().enumerate().filter(|_| exact) {
            let earlier = *first.entry(*number).or_insert(row);
            if !same(row, earlier) {
                let problem = format!(
                    "rows {earlier} and {row} are the same input with different targets, which no network can learn; \
                     remove one, or set a temperature (finite beta)"
                );
                return Err(Error::data(&task.name, problem));
            }
        }
    }
    Ok(())
}
