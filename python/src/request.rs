//! Requests by their fields, which the library declares: what can be asked, and tasks by what makes them.

use crate::data::{SequenceArrays, sequence_arrays};
use crate::errors::python;
use crate::run::run;
use crate::values::settings;
use ebbing::data::Sources;
use ebbing::plan::drawing_cost;
use ebbing::request::{Door, Fields, Request, TaskFields, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value as Json};

/// The fields of a command, or of `tasks`, as JSON: name, help, kind, words, default and range of each.
#[pyfunction]
pub fn fields(command: &str) -> PyResult<String> {
    let all = match command {
        "tasks" => TaskFields::fields(),
        other => Request::of(other).map_err(python)?.fields(),
    };
    let described: Vec<Json> = all.iter().map(|field| field.describe(Door::Python)).collect();
    serde_json::to_string(&described).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// What was asked for, of a JSON object of fields.
pub fn asked<R: Fields>(fields_json: &str) -> PyResult<R> {
    let mut request = R::default();
    let fields: Map<String, Json> = settings(fields_json)?;
    fields.iter().try_for_each(|(key, value)| request.set(key, &Value::from(value))).map_err(python)?;
    Ok(request)
}

/// Tasks by the fields that make them.
#[pyfunction]
pub fn draw_tasks<'py>(py: Python<'py>, fields_json: &str) -> PyResult<SequenceArrays<'py>> {
    let fields: TaskFields = asked(fields_json)?;
    let drawn = run(py, None, move |context| {
        let recipe = fields.recipe()?;
        if recipe.varies() {
            context.plan().check("drawing these tasks", &recipe.sizes()?, drawing_cost)?;
        }
        recipe.draw(&Sources::new(), recipe.seed)
    })?;
    sequence_arrays(py, drawn)
}
