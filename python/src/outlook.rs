//! Everything a forecast tells, fits of forgetting curves, and metrics of accuracies.

use crate::arrays::{GivenTask, sequence};
use crate::errors::python;
use crate::run::run;
use crate::values::{object, settings};
use ebbing::metrics::{ContinualMetrics, TaskAccuracies};
use ebbing::stats::ForgettingFit;
use ebbing::theory::forecast::ForecastSettings;
use ebbing::{Forecast, TaskSequence};
use pyo3::prelude::*;

/// The outlook of one sequence per seed.
#[pyfunction]
pub fn forecast<'py>(
    py: Python<'py>,
    sequences: Vec<Vec<GivenTask<'py>>>,
    settings_json: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let asked: ForecastSettings = settings(settings_json)?;
    let sequences: Vec<TaskSequence> =
        sequences.iter().map(|tasks| sequence(tasks)).collect::<ebbing::Result<_>>().map_err(python)?;
    let order = asked.order && sequences.first().is_some_and(|s| s.tasks.len() > 1);
    let steps = (2 * sequences.len() + asked.depths.len() + usize::from(order)) as f64;
    let outlook = run(py, progress, move |reporter| {
        let mut done = 0.0;
        let outlook = Forecast::of(&sequences, &asked, &mut |next| {
            reporter.step(done, steps, next);
            done += 1.0;
        })?;
        reporter.step(steps, steps, "done");
        Ok(outlook)
    })?;
    let words = outlook.worst.as_ref().map(|worst| worst.reading.words());
    let told = object(py, &outlook)?;
    if let (Some(words), Ok(worst)) = (words, told.get_item("worst")) {
        worst.set_item("words", words)?;
    }
    Ok(told)
}

/// `F_t = F_max (1 − e^{−(t−1)/τ})` fitted to a curve.
#[pyfunction]
pub fn fit_forgetting<'py>(py: Python<'py>, times: Vec<f64>, values: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
    object(py, &ForgettingFit::new(&times, &values).map_err(python)?)
}

/// Continual-learning metrics of accuracies by a named convention.
#[pyfunction]
pub fn metrics<'py>(
    py: Python<'py>,
    after: Vec<Vec<f64>>,
    convention: &str,
    untrained: Option<Vec<f64>>,
    reference: Option<Vec<f64>>,
    test_sizes: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyAny>> {
    let accuracies = TaskAccuracies { after, untrained, reference, test_sizes };
    let result = convention.parse().and_then(|convention| ContinualMetrics::new(&accuracies, convention));
    object(py, &result.map_err(python)?)
}
