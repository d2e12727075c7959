//! Order parameters of pairs of tasks.

use crate::arrays::{Matrix, RawTask, owned, sequence};
use crate::errors::python;
use crate::run::run;
use crate::values::{activation, object};
use ebbing::kernels::Architecture;
use ebbing::theory::order_parameters::OrderParameterSettings;
use ebbing::theory::{Inputs, KernelTable};
use pyo3::prelude::*;

/// All ordered pairs of the tasks, in the kernel of a wide network or in that of given features.
#[pyfunction]
#[pyo3(signature = (tasks, features, depth, sigma2, bias2, activation_name, ridge, bootstrap, shuffles, seed))]
pub fn order_parameters<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    features: bool,
    depth: usize,
    sigma2: f64,
    bias2: f64,
    activation_name: &str,
    ridge: f64,
    bootstrap: usize,
    shuffles: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = OrderParameterSettings {
        architecture: Architecture { activation: activation(activation_name)?, depth },
        sigma2,
        bias2,
        ridge,
        resamples: bootstrap,
        shuffles,
        seed,
        ..OrderParameterSettings::default()
    };
    let sequence = sequence(&tasks).map_err(python)?;
    let pairs = run(py, None, move |context| {
        let inputs = if features { Inputs::Features(&sequence) } else { Inputs::Network(&sequence) };
        ebbing::order_parameters(inputs, &settings, context)
    })?;
    object(py, &pairs)
}

/// Two tasks whose kernels are given.
#[pyfunction]
#[pyo3(signature = (k11, k12, k22, y1, y2, ridge, bootstrap, shuffles, seed))]
pub fn order_parameters_of_kernels<'py>(
    py: Python<'py>,
    k11: Matrix<'py>,
    k12: Matrix<'py>,
    k22: Matrix<'py>,
    y1: Matrix<'py>,
    y2: Matrix<'py>,
    ridge: f64,
    bootstrap: usize,
    shuffles: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let settings =
        OrderParameterSettings { ridge, resamples: bootstrap, shuffles, seed, ..OrderParameterSettings::default() };
    let [k11, k12, k22, y1, y2] = [&k11, &k12, &k22, &y1, &y2].map(owned);
    let pair = run(py, None, move |context| {
        let kernels = (k11.as_ref(), k12.as_ref(), k22.as_ref());
        let table = KernelTable::two_tasks(kernels, (y1.as_ref(), y2.as_ref()))?;
        Ok(ebbing::order_parameters(&table, &settings, context)?.swap_remove(0))
    })?;
    object(py, &pair)
}
