//! Tasks whose points are rows of kernels that are given, and their checks.

use super::shared::Given;
use super::source::Points;
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};

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

/// The tasks, once they and the kernels have been checked.
pub(crate) fn given<'a>(nngp: &Mat<f64>, ntk: Option<&Mat<f64>>, tasks: &'a [KernelTask]) -> Result<Vec<Given<'a>>> {
    check_kernel(nngp.as_ref(), nngp.nrows(), "the kernel")?;
    if let Some(ntk) = ntk {
        check_kernel(ntk.as_ref(), nngp.nrows(), "the tangent kernel")?;
    }
    let given: Vec<Given<'a>> = tasks.iter().enumerate().map(|(t, task)| from_kernel_task(t, task)).collect();
    check_tasks(&given, nngp.nrows())?;
    Ok(given)
}

fn from_kernel_task(t: usize, task: &KernelTask) -> Given<'_> {
    let number = format!("task {}", t + 1);
    Given {
        name: if task.name.is_empty() { number } else { format!("{number} ({})", task.name) },
        points: task.rows.as_slice().into(),
        y: task.y.as_ref(),
        test: task.test.as_ref().map(|(rows, y)| (rows.as_slice().into(), y.as_ref())),
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

fn check_tasks(given: &[Given<'_>], size: usize) -> Result<()> {
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

pub(super) fn check_rows(rows: &[usize], size: usize, what: &str) -> Result<()> {
    match rows.iter().find(|&&row| row >= size) {
        Some(row) => Err(Error::data(what, format!("row {row} of a kernel that has {size} rows; rows count from 0"))),
        None => Ok(()),
    }
}
