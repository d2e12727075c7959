//! Fits of forgetting curves, what explains a variance, and metrics of accuracies.

use crate::arrays::{Matrix, owned};
use crate::errors::python;
use crate::values::object;
use ebbing::metrics::{ContinualMetrics, TaskAccuracies, accuracy, squared_loss, task_accuracy};
use ebbing::stats::{ForgettingFit, VarianceExplained};
use pyo3::prelude::*;

/// `F_t = F_max (1 − e^{−(t−1)/τ})` fitted to a curve, or to what of it rises.
#[pyfunction]
pub fn fit_forgetting<'py>(
    py: Python<'py>,
    times: Vec<f64>,
    values: Vec<f64>,
    rising: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let fit = if rising { ForgettingFit::rising } else { ForgettingFit::new };
    object(py, &fit(&times, &values).map_err(python)?)
}

/// How much of the variance of y each column of x explains.
#[pyfunction]
pub fn variance_explained<'py>(py: Python<'py>, x: Matrix<'py>, y: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
    object(py, &VarianceExplained::new(owned(&x).as_ref(), &y).map_err(python)?)
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

/// `Σ (f − y)²/|Y|²` of outputs, and the shares of rows that are right among all classes and among those of the targets, where
/// targets name classes.
#[pyfunction]
pub fn scored(f: Matrix<'_>, y: Matrix<'_>) -> PyResult<(f64, Option<f64>, Option<f64>)> {
    let (f, y) = (owned(&f), owned(&y));
    let (f, y) = (f.as_ref(), y.as_ref());
    let loss = squared_loss(f, y, None).map_err(python)?;
    Ok((loss, accuracy(f, y, None).ok(), task_accuracy(f, y, None).ok()))
}
