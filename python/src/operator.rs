//! The recursion over tasks on an operator whose four methods are those of a Python object.

use crate::errors::python;
use ebbing::Error;
use ebbing::theory::operator::{self, Operator};
use pyo3::prelude::*;

/// A Python object with the methods `tasks`, `rest`, `solve` and `carry`.
struct Object<'py> {
    object: Bound<'py, PyAny>,
    tasks: usize,
    /// What one of the methods raised.
    raised: Option<PyErr>,
}

impl<'py> Object<'py> {
    /// What a call returns; what it raises is kept, and ends the recursion.
    fn heard<T>(&mut self, result: PyResult<T>) -> ebbing::Result<T> {
        result.map_err(|raised| {
            self.raised = Some(raised);
            Error::Stopped
        })
    }
}

impl<'py> Operator for Object<'py> {
    type Vector = Bound<'py, PyAny>;

    fn tasks(&self) -> usize {
        self.tasks
    }

    fn rest(&mut self, t: usize) -> ebbing::Result<Self::Vector> {
        let rest = self.object.call_method1("rest", (t,));
        self.heard(rest)
    }

    fn solve(&mut self, t: usize, rest: Self::Vector) -> ebbing::Result<Self::Vector> {
        let dual = self.object.call_method1("solve", (t, rest));
        self.heard(dual)
    }

    fn carry(&mut self, t: usize, dual: Self::Vector) -> ebbing::Result<()> {
        let carried = self.object.call_method1("carry", (t, dual)).map(|_| ());
        self.heard(carried)
    }
}

/// Learns the tasks of an operator one after another: `rest(t)`, `solve(t, rest)` and `carry(t, dual)` for each t from 0. What they
/// raise is raised.
#[pyfunction]
pub fn learn(operator: Bound<'_, PyAny>) -> PyResult<()> {
    let tasks = operator.call_method0("tasks")?.extract()?;
    let mut object = Object { object: operator, tasks, raised: None };
    let learned = operator::learn(&mut object);
    match object.raised {
        Some(raised) => Err(raised),
        None => learned.map_err(python),
    }
}
