//! Tasks whose points are rows of kernels that are given, and their checks.

use super::kernels::Points;
use super::shared::TaskInput;
use crate::error::{Error, Result};
use crate::kernels::{Architecture, Kernel, KernelKind, WeightPrior, check_inputs};
use crate::linalg::{Mat, MatRef};
use crate::tasks::{TaskSequence, inputs_only, number_inputs};
use std::collections::HashMap;
use std::sync::Arc;

/// A task whose points are rows of kernels that are given.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelTask {
    /// What tables call it.
    pub name: String,
    /// Rows of the kernel that are its training points.
    pub rows: Vec<usize>,
    /// Training targets, one row per training point.
    pub y: Mat<f64>,
    /// Rows of the kernel that are held out, and their targets.
    pub test: Option<(Vec<usize>, Mat<f64>)>,
}

/// Kernels over all points, training and held-out, and the tasks whose points are rows of them.
#[derive(Debug, Clone)]
pub struct KernelTable {
    /// `K_GP` over all points.
    pub nngp: Arc<Mat<f64>>,
    /// The tangent kernel over all points, for mode `ntk`.
    pub ntk: Option<Arc<Mat<f64>>>,
    /// The tasks.
    pub tasks: Vec<KernelTask>,
}

/// All inputs of a sequence, training and held-out, one row each, and the tasks as rows of them.
pub(crate) struct Pool {
    /// The inputs.
    pub x: Mat<f64>,
    /// The tasks.
    pub tasks: Vec<KernelTask>,
}

impl Pool {
    /// The inputs of all tasks; with `merge` an input that several tasks train on is one row.
    pub fn of(sequence: &TaskSequence, merge: bool) -> Result<Pool> {
        sequence.validate()?;
        inputs_only(&sequence.tasks)?;
        let inputs: Vec<MatRef<'_, f64>> = sequence.tasks.iter().map(|task| task.x.as_ref()).collect();
        let numbers = if merge { number_inputs(&inputs) } else { vec![] };
        let (mut parts, mut known, mut next) = (vec![], HashMap::new(), 0);
        let mut tasks = vec![];
        for (t, task) in sequence.tasks.iter().enumerate() {
            let mut place = |part: MatRef<'_, f64>, i: usize, number: Option<usize>| {
                let row = number.and_then(|n| known.get(&n)).copied().unwrap_or(next);
                if row == next {
                    parts.push(part.row(i).iter().copied().collect::<Vec<f64>>());
                    next += 1;
                }
                if let Some(n) = number {
                    known.insert(n, row);
                }
                row
            };
            let number = |i: usize| numbers.get(t).map(|task| task[i]);
            let rows = (0..task.x.nrows()).map(|i| place(task.x.as_ref(), i, number(i))).collect();
            let held_out = task.test.as_ref().map(|test| {
                let rows = (0..test.x.nrows()).map(|i| place(test.x.as_ref(), i, None)).collect();
                (rows, test.y.clone())
            });
            tasks.push(KernelTask { name: task.name.clone(), rows, y: task.y.clone(), test: held_out });
        }
        Ok(Pool { x: Mat::from_fn(parts.len(), sequence.dim(), |i, j| parts[i][j]), tasks })
    }
}

impl KernelTable {
    /// `K_GP` of a wide network, and with `tangent` its tangent kernel, over all inputs of a sequence: each pair of inputs
    /// once, whatever is computed from it. Memory: the square of the number of inputs, training and held-out, per kernel. The prior's λ has no part in these kernels.
    ///
    /// # Errors
    /// [`Error::Data`] for a sequence that is not sound; [`Error::Setting`] for a depth of 0.
    pub fn of_network(
        sequence: &TaskSequence,
        network: Architecture,
        prior: WeightPrior,
        tangent: bool,
    ) -> Result<Self> {
        let pool = Pool::of(sequence, true)?;
        check_inputs(&sequence.tasks, prior.bias2() > 0.0)?;
        let kernel = |kind: KernelKind| Kernel::new(kind, network, prior, 1, 1);
        let mut kernels = vec![kernel(KernelKind::Nngp)?];
        if tangent {
            kernels.push(kernel(KernelKind::Ntk)?);
        }
        let mut made = Kernel::gram_many_symmetric(&kernels.iter().collect::<Vec<_>>(), pool.x.as_ref())?;
        let ntk = if tangent { made.pop().map(Arc::new) } else { None };
        Ok(KernelTable { nngp: Arc::new(made.swap_remove(0)), ntk, tasks: pool.tasks })
    }

    /// Two tasks whose kernels are given: `k11` and `k22` of each with itself, `k12` between them (rows: the first).
    ///
    /// # Errors
    /// [`Error::Data`] where the kernels do not fit together.
    pub fn two_tasks(
        (k11, k12, k22): (MatRef<'_, f64>, MatRef<'_, f64>, MatRef<'_, f64>),
        (y1, y2): (MatRef<'_, f64>, MatRef<'_, f64>),
    ) -> Result<Self> {
        let (p1, p2) = (k11.nrows(), k22.nrows());
        if k12.nrows() != p1 || k12.ncols() != p2 {
            let found = format!("it is {} × {}", k12.nrows(), k12.ncols());
            return Err(Error::data("the kernel between the tasks", format!("{found}; it must be {p1} × {p2}")));
        }
        let nngp = Mat::from_fn(p1 + p2, p1 + p2, |i, j| match (i < p1, j < p1) {
            (true, true) => k11[(i, j)],
            (true, false) => k12[(i, j - p1)],
            (false, true) => k12[(j, i - p1)],
            (false, false) => k22[(i - p1, j - p1)],
        });
        let task = |name: &str, rows: std::ops::Range<usize>, y: MatRef<'_, f64>| KernelTask {
            name: name.into(),
            rows: rows.collect(),
            y: y.to_owned(),
            test: None,
        };
        let tasks = vec![task("first", 0..p1, y1), task("second", p1..p1 + p2, y2)];
        Ok(KernelTable { nngp: Arc::new(nngp), ntk: None, tasks })
    }
}

/// The tasks, once they and the kernels have been checked.
pub(crate) fn given(KernelTable { nngp, ntk, tasks }: &KernelTable) -> Result<Vec<TaskInput<'_>>> {
    check_kernel(nngp.as_ref().as_ref(), nngp.nrows(), "the kernel")?;
    if let Some(ntk) = ntk {
        check_kernel(ntk.as_ref().as_ref(), nngp.nrows(), "the tangent kernel")?;
    }
    let given: Vec<TaskInput<'_>> = tasks.iter().enumerate().map(|(t, task)| from_kernel_task(t, task)).collect();
    check_tasks(&given, nngp.nrows())?;
    Ok(given)
}

pub(crate) fn from_kernel_task(t: usize, task: &KernelTask) -> TaskInput<'_> {
    let number = format!("task {}", t + 1);
    TaskInput {
        name: if task.name.is_empty() || task.name == number { number } else { format!("{number} ({})", task.name) },
        points: task.rows.as_slice().into(),
        y: task.y.as_ref(),
        test: task.test.as_ref().map(|(rows, y)| (rows.as_slice().into(), y.as_ref())),
        present: [None, None],
    }
}

/// Refuses a kernel that is not square, finite and symmetric to rounding.
fn check_kernel(kernel: MatRef<'_, f64>, size: usize, name: &str) -> Result<()> {
    let (n, m) = (kernel.nrows(), kernel.ncols());
    if n != size || m != size {
        return Err(Error::data(name, format!("it is {n} × {m}; it must be {size} × {size}, one row per point")));
    }
    for j in 0..n {
        for i in 0..=j {
            let (a, b) = (kernel[(i, j)], kernel[(j, i)]);
            if !(a.is_finite() && b.is_finite()) {
                return Err(Error::data(name, format!("entry ({i}, {j}) is {a}; it must be finite")));
            }
            if (a - b).abs() > 1e-10 * (kernel[(i, i)].abs().max(kernel[(j, j)].abs())) {
                return Err(Error::data(
                    name,
                    format!("entries ({i}, {j}) and ({j}, {i}) are {a} and {b}; they must be equal"),
                ));
            }
        }
    }
    Ok(())
}

fn check_tasks(given: &[TaskInput<'_>], size: usize) -> Result<()> {
    let columns = given.first().map_or(0, |task| task.y.ncols());
    for task in given {
        let sets = [Some((task.points, task.y)), task.test];
        for (points, y) in sets.into_iter().flatten() {
            if let Points::Rows(rows) = points {
                check_rows(rows, size, &task.name)?;
            }
            if y.nrows() != points.len() || y.ncols() != columns || columns == 0 {
                let (p, found) = (points.len(), format!("{} × {}", y.nrows(), y.ncols()));
                return Err(Error::data(
                    &task.name,
                    format!("its targets are {found}; {p} × {} are needed", columns.max(1)),
                ));
            }
            if let Some(bad) = (0..y.nrows()).find(|&i| y.row(i).iter().any(|v| !v.is_finite())) {
                return Err(Error::data(&task.name, format!("target row {bad} is not finite; every value must be")));
            }
        }
    }
    Ok(())
}

pub(crate) fn check_rows(rows: &[usize], size: usize, what: &str) -> Result<()> {
    match rows.iter().find(|&&row| row >= size) {
        Some(row) => Err(Error::data(what, format!("row {row} of a kernel that has {size} rows; rows count from 0"))),
        None => Ok(()),
    }
}
