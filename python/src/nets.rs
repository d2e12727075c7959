//! Networks of finite width: trained, or sampled from the posterior.

use crate::arrays::{RawTask, sequence};
use crate::errors::python;
use crate::run::run;
use crate::values::{object, settings};
use ebbing::Trainer;
use ebbing::linalg::MatRef;
use ebbing::nets::{Mlp, PosteriorSettings, TrainSettings, Trained};
use numpy::PyArray2;
use numpy::ndarray::Array2;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Trains a network on the tasks, one after another.
#[pyfunction]
pub fn train<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    settings_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let asked: TrainSettings = settings(settings_json)?;
    let tasks = sequence(&tasks).map_err(python)?.tasks;
    let progress = progress.map(|listener| (listener, tasks.len() as f64));
    let (trained, net) = run(py, progress, move |context| -> ebbing::Result<(Trained, Mlp)> {
        let mut trainer = Trainer::new(&tasks, &asked, context)?;
        let total = tasks.len();
        while trainer.done() < total {
            let done = trainer.done();
            trainer.learn_next(&mut |at| {
                let steps = (at.step as f64 / asked.max_steps as f64).min(1.0);
                let text = format!("task {} of {total}, step {}, mse {:.2e}", done + 1, at.step, at.mse);
                context.say(&text, (done as f64 + steps) / total as f64).is_ok()
            })?;
        }
        context.say("done", 1.0)?;
        Ok((trainer.trained().clone(), trainer.net().clone()))
    })?;
    let found = object(py, &trained)?;
    // Every matrix out × in, as PyTorch has them.
    let matrices = net.hidden().iter().map(|w| w.as_ref()).chain(net.readouts().iter().map(|a| a.transpose()));
    found.set_item("weights", PyList::new(py, matrices.map(|m| single(py, m)))?)?;
    Ok(found)
}

/// A matrix in single precision as an array, row by row.
fn single<'py>(py: Python<'py>, m: MatRef<'_, f32>) -> Bound<'py, PyArray2<f32>> {
    PyArray2::from_owned_array(py, Array2::from_shape_fn((m.nrows(), m.ncols()), |(i, j)| m[(i, j)]))
}

/// Networks drawn from the posterior after all tasks.
#[pyfunction]
pub fn sample_posterior<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    settings_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let asked: PosteriorSettings = settings(settings_json)?;
    let tasks = sequence(&tasks).map_err(python)?.tasks;
    let progress = progress.map(|listener| (listener, asked.chains as f64));
    let sampled = run(py, progress, move |context| ebbing::sample_posterior(&tasks, &asked, context))?;
    object(py, &sampled)
}
