//! Requests by their fields, which the library declares: what can be asked, and tasks by what makes them.

use crate::arrays::{RawTask, sequence_with};
use crate::data::{SequenceArrays, sequence_arrays};
use crate::errors::python;
use crate::run::run;
use crate::show::Shown;
use crate::values::{json_of, object, settings};
use ebbing::data::Sources;
use ebbing::linalg::MatRef;
use ebbing::nets::Mlp;
use ebbing::plan::drawing_cost;
use ebbing::request::{Answer, Door, Fields, ForecastRequest, PhaseAnswer, Request, TaskFields, TrainAnswer, Value};
use ebbing::theory::phase::SequenceCurve;
use ebbing_show::Show;
use numpy::PyArray2;
use numpy::ndarray::Array2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Value as Json, json};

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

/// The fields that were given, by the library's names; those that are None are left as they are.
fn given(fields: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Value)>> {
    let key = |name: String| if name == Door::Python.name("lambda") { "lambda".into() } else { name };
    let all = json_of(fields)?.into_iter().filter(|(_, value)| !value.is_null());
    Ok(all.map(|(name, value)| (key(name), Value::from(&value))).collect())
}

/// What was asked for.
pub fn asked<R: Fields>(fields: &Bound<'_, PyDict>) -> PyResult<R> {
    let mut request = R::default();
    given(fields)?.iter().try_for_each(|(key, value)| request.set(key, value)).map_err(python)?;
    Ok(request)
}

/// The settings of the theory that the fields of a forecast make, checked.
#[pyfunction]
pub fn checked<'py>(py: Python<'py>, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let request: ForecastRequest = asked(fields)?;
    object(py, &request.settings().map_err(python)?.theory)
}

/// Tasks by the fields that make them.
#[pyfunction]
pub fn draw_tasks<'py>(py: Python<'py>, fields: &Bound<'py, PyDict>) -> PyResult<SequenceArrays<'py>> {
    let fields: TaskFields = asked(fields)?;
    let drawn = run(py, None, move |context| {
        let recipe = fields.recipe()?;
        if recipe.varies() {
            context.plan().check("drawing these tasks", &recipe.sizes()?, drawing_cost)?;
        }
        recipe.draw(&Sources::new(), recipe.seed)
    })?;
    sequence_arrays(py, drawn)
}

/// Answers a command on sequences of tasks that are there, one per draw, each with what made it: everything about the answer, its
/// sentences, and its page, which records the settings.
#[pyfunction]
pub fn ask<'py>(
    py: Python<'py>,
    command: &str,
    sequences: Vec<(Vec<RawTask<'py>>, Bound<'py, PyDict>)>,
    fields: &Bound<'py, PyDict>,
    features: bool,
    recorded: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut request = Request::of(command).map_err(python)?;
    given(fields)?.iter().try_for_each(|(key, value)| request.set(key, value)).map_err(python)?;
    let sequence =
        |(tasks, made): &(Vec<RawTask<'py>>, Bound<'py, PyDict>)| sequence_with(tasks, settings(made)?).map_err(python);
    let sequences = sequences.iter().map(sequence).collect::<PyResult<Vec<_>>>()?;
    let answer = run(py, progress, move |context| {
        let answer = request.run_on(sequences, features, context)?;
        context.say("done", 1.0)?;
        Ok(answer)
    })?;
    let found = object(py, &everything(&answer))?;
    if let Answer::Train(TrainAnswer::Tasks(trained)) = &answer {
        let of_learner =
            |networks: &[Mlp]| networks.iter().map(|network| weights(py, network)).collect::<PyResult<Vec<_>>>();
        let networks = trained.learners.iter().map(|runs| of_learner(&runs.networks)).collect::<PyResult<Vec<_>>>()?;
        found.set_item("networks", networks)?;
    }
    let page = Shown::of_answer(&answer, json_of(recorded)?)?;
    found.set_item("answer", page.sentences())?;
    found.set_item("page", page)?;
    Ok(found)
}

/// Everything about an answer that its page is made of.
fn everything(answer: &Answer) -> Json {
    let mut found = answer.json();
    match answer {
        Answer::Forecast(forecast) => {
            if let Some(worst) = &forecast.forecast.worst {
                found["forecast"]["worst"]["words"] = json!(worst.words());
            }
        }
        Answer::Phase(PhaseAnswer::Place(place)) => {
            let curves: Vec<SequenceCurve> = place.curves.iter().cloned().map(SequenceCurve::from).collect();
            found["curves"] = json!(curves);
        }
        Answer::Phase(PhaseAnswer::Outputs(place)) => {
            let curves: Vec<SequenceCurve> = place.curves.iter().cloned().map(SequenceCurve::from).collect();
            found["curves"] = json!(curves);
        }
        _ => {}
    }
    found
}

/// The matrices of a network, every one out × in, as PyTorch has them: hidden layers, then readouts.
fn weights<'py>(py: Python<'py>, network: &Mlp) -> PyResult<Bound<'py, PyList>> {
    let readouts = network.readouts().iter().map(|a| a.transpose());
    let matrices = network.hidden().iter().map(|w| w.as_ref()).chain(readouts);
    PyList::new(py, matrices.map(|m| single(py, m)))
}

/// A matrix in single precision as an array, row by row.
fn single<'py>(py: Python<'py>, m: MatRef<'_, f32>) -> Bound<'py, PyArray2<f32>> {
    PyArray2::from_owned_array(py, Array2::from_shape_fn((m.nrows(), m.ncols()), |(i, j)| m[(i, j)]))
}
