//! Order parameters of pairs of tasks.

use crate::arrays::{Matrix, RawTask, owned, sequence};
use crate::errors::python;
use crate::request::asked;
use crate::run::run;
use crate::values::object;
use ebbing::request::{ForecastRequest, TaskFields};
use ebbing::theory::order_parameters::{OrderParameterSettings, Side, values};
use ebbing::theory::{Inputs, KernelTable};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What the fields of a forecast say of order parameters.
fn settings(fields: &Bound<'_, PyDict>, features: bool) -> PyResult<OrderParameterSettings> {
    let request: ForecastRequest = asked(fields)?;
    let forecast = request.settings_of(features).map_err(python)?;
    let ForecastRequest { tasks: TaskFields { seed, .. }, .. } = request;
    Ok(OrderParameterSettings {
        architecture: forecast.theory.architecture,
        sigma2: forecast.theory.sigma2,
        bias2: forecast.theory.bias2,
        ridge: forecast.ridge,
        resamples: forecast.resamples,
        shuffles: forecast.shuffles,
        seed: seed.unwrap_or(0),
        ..OrderParameterSettings::default()
    })
}

/// Two tasks, in the kernel of a wide network or in that of given features.
#[pyfunction]
pub fn order_parameters<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    features: bool,
    fields: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = settings(fields, features)?;
    let sequence = sequence(&tasks).map_err(python)?;
    let mut pairs = run(py, None, move |context| {
        let inputs = if features { Inputs::Features(&sequence) } else { Inputs::Network(&sequence) };
        ebbing::order_parameters(inputs, &settings, context)
    })?;
    object(py, &pairs.swap_remove(0))
}

/// Two tasks whose kernels are given.
#[pyfunction]
pub fn order_parameters_of_kernels<'py>(
    py: Python<'py>,
    k11: Matrix<'py>,
    k12: Matrix<'py>,
    k22: Matrix<'py>,
    y1: Matrix<'py>,
    y2: Matrix<'py>,
    fields: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = settings(fields, true)?;
    let [k11, k12, k22, y1, y2] = [&k11, &k12, &k22, &y1, &y2].map(owned);
    let pair = run(py, None, move |context| {
        let kernels = (k11.as_ref(), k12.as_ref(), k22.as_ref());
        let table = KernelTable::two_tasks(kernels, (y1.as_ref(), y2.as_ref()))?;
        Ok(ebbing::order_parameters(&table, &settings, context)?.swap_remove(0))
    })?;
    object(py, &pair)
}

/// What becomes of one task's targets in another: `Y`, `K_ii⁻¹ Y`, `K_ji` of that, `K_jj⁻¹` of that, and back at its own inputs.
type RawSide<'py> = (Matrix<'py>, Matrix<'py>, Matrix<'py>, Matrix<'py>, Matrix<'py>);

/// The order parameters of task `one` learned before `two`, from what becomes of their targets where every inverse has a ridge.
#[pyfunction]
pub fn order_parameters_of_sides<'py>(
    py: Python<'py>,
    one: RawSide<'py>,
    two: RawSide<'py>,
    gamma_feature: f64,
    ridge: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let side = |(y, u, out, solved, back): &RawSide<'_>| {
        let [y, u, out, solved, back] = [y, u, out, solved, back].map(owned);
        let (left, norm) = ((ridge > 0.0).then(|| ridge * &u), y.norm_l2());
        Side { y, u, out, back, solved, left, norm }
    };
    object(py, &values(&side(&one), &side(&two), gamma_feature))
}
