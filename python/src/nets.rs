//! Networks of finite width: trained, or sampled from the posterior.

use crate::arrays::{GivenTask, sequence};
use crate::errors::python;
use crate::run::run;
use crate::values::{object, settings};
use ebbing::Trainer;
use ebbing::nets::{PosteriorSettings, TrainSettings, Trained};
use pyo3::prelude::*;

/// Trains a network on the tasks, one after another.
#[pyfunction]
pub fn train<'py>(
    py: Python<'py>,
    tasks: Vec<GivenTask<'py>>,
    settings_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let asked: TrainSettings = settings(settings_json)?;
    let tasks = sequence(&tasks).map_err(python)?.tasks;
    let trained = run(py, progress, move |reporter| -> ebbing::Result<Trained> {
        let mut trainer = Trainer::new(&tasks, &asked)?;
        let total = tasks.len();
        while trainer.done() < total {
            let done = trainer.done();
            trainer.learn_next(&mut |at| {
                let steps = (at.step as f64 / asked.max_steps as f64).min(1.0);
                let text = format!("task {} of {total}, step {}, mse {:.2e}", done + 1, at.step, at.mse);
                reporter.step(done as f64 + steps, total as f64, &text);
                true
            })?;
        }
        reporter.step(total as f64, total as f64, "done");
        Ok(trainer.trained().clone())
    })?;
    object(py, &trained)
}

/// Networks drawn from the posterior after all tasks.
#[pyfunction]
pub fn sample_posterior<'py>(
    py: Python<'py>,
    tasks: Vec<GivenTask<'py>>,
    settings_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let asked: PosteriorSettings = settings(settings_json)?;
    let tasks = sequence(&tasks).map_err(python)?.tasks;
    let sampled = run(py, progress, move |reporter| {
        let chains = asked.chains;
        ebbing::sample_posterior(&tasks, &asked, |done| {
            reporter.step(done as f64, chains as f64, &format!("{done} of {chains} chains"));
        })
    })?;
    object(py, &sampled)
}
