//! A readout for every task, one hidden layer, finite width.

use crate::arrays::{Matrix, RawTask, array, owned, sequence};
use crate::errors::python;
use crate::request::asked;
use crate::run::run;
use crate::values::object;
use ebbing::request::PhaseRequest;
use ebbing::theory::multi_head::{MultiHeadSettings, Power};
use ebbing::{Error, Result};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::sync::Arc;

/// What the fields of a phase diagram say of the theory, at their first λ and at their width, or at a load.
fn settings(fields: &Bound<'_, PyDict>, alpha: Option<f64>) -> PyResult<MultiHeadSettings> {
    let request: PhaseRequest = asked(fields)?;
    let theory = request.theory().map_err(python)?;
    let lambda = request.lambda.first().copied().unwrap_or(f64::INFINITY);
    Ok(MultiHeadSettings { lambda, alpha, width: request.width, ..theory })
}

/// A network with a readout for every task.
#[pyclass(frozen)]
pub struct MultiHead {
    theory: Arc<ebbing::MultiHead>,
}

#[pymethods]
impl MultiHead {
    /// Solves for the renormalization factors.
    #[new]
    fn new(py: Python<'_>, tasks: Vec<RawTask<'_>>, fields: &Bound<'_, PyDict>, alpha: Option<f64>) -> PyResult<Self> {
        let settings = settings(fields, alpha)?;
        let tasks = sequence(&tasks).map_err(python)?.tasks;
        let theory = run(py, None, move |context| ebbing::MultiHead::new(&tasks, &settings, context))?;
        Ok(MultiHead { theory: Arc::new(theory) })
    }

    /// Everything that was solved for, as a dictionary.
    fn factors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let theory = &self.theory;
        let number = |v: f64| if v.is_infinite() { json!("inf") } else { json!(v) };
        let matrix = |u: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<Value>> {
            (1..=theory.tasks()).map(|t| (1..=theory.tasks()).map(|s| number(u(t, s))).collect()).collect()
        };
        let evidence = theory.evidence();
        let found = json!({
            "u1": matrix(&|t, s| theory.u1(t, s)),
            "u0": matrix(&|t, s| theory.u0(t, s)),
            "d": matrix(&|t, s| theory.d(t, s)),
            "width": theory.width(), "lam": number(theory.lambda()), "digits": theory.digits(),
            "residuals": theory.residuals(), "limit": theory.limit(),
            "evidence": (!evidence.is_empty()).then_some(evidence),
        });
        object(py, &found)
    }

    /// Mean and variance of a head after t tasks.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        head: usize,
        t: usize,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let (theory, x) = (self.theory.clone(), owned(&x));
        let prediction = run(py, None, move |_| theory.predict(head, t, x.as_ref()))?;
        let exponent = prediction.variance_exponent;
        let variance = prediction.variance.iter().map(|&coefficient| Power { coefficient, exponent }.limit()).collect();
        Ok((PyArray1::from_vec(py, prediction.mean), PyArray1::from_vec(py, variance)))
    }

    /// `F[t][s]`, row t of t + 1 entries.
    fn forgetting(&self, py: Python<'_>) -> PyResult<Vec<Vec<f64>>> {
        let theory = self.theory.clone();
        run(py, None, move |_| each(&theory, |t, s| theory.forgetting(t, s)))
    }

    /// `G[t][s]`, row t of t + 1 entries.
    fn generalization(&self, py: Python<'_>) -> PyResult<Vec<Vec<f64>>> {
        let theory = self.theory.clone();
        run(py, None, move |_| each(&theory, |t, s| theory.generalization(t, s)))
    }

    /// `<Φ(x)·Φ(x')>/N` after two tasks, or only what learning added to it.
    fn hidden_kernel<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        learned: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (theory, x) = (self.theory.clone(), owned(&x));
        let part = move || if learned { theory.learned_kernel(x.as_ref()) } else { theory.hidden_kernel(x.as_ref()) };
        array(py, run(py, None, move |_| part())?)
    }

    /// `ΔΦ(x)·ΔΦ(x')` of two tasks at λ = ∞.
    fn representation_change<'py>(&self, py: Python<'py>, x: Matrix<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (theory, x) = (self.theory.clone(), owned(&x));
        array(py, run(py, None, move |_| theory.representation_change(x.as_ref()))?)
    }
}

/// A matrix of losses, row t of t + 1 entries.
fn each(theory: &ebbing::MultiHead, loss: impl Fn(usize, usize) -> Result<f64>) -> Result<Vec<Vec<f64>>> {
    (1..=theory.tasks()).map(|t| (1..=t).map(|s| loss(t, s)).collect()).collect()
}

/// The λ in `low … high` that serves both of two tasks best.
#[pyfunction]
pub fn best_lambda<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    low: f64,
    high: f64,
    fields: &Bound<'py, PyDict>,
    alpha: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = MultiHeadSettings { lambda: low, ..settings(fields, alpha)? };
    let tasks = sequence(&tasks).map_err(python)?.tasks;
    let best =
        run(py, None, move |context| ebbing::theory::best_lambda::best_lambda(&tasks, &settings, low, high, context))?;
    object(py, &best)
}

/// Two tasks at λ = ∞, decomposed once for any load.
#[pyclass(frozen)]
pub struct TwoTasks {
    two: Arc<ebbing::theory::multi_head::TwoTasks>,
}

#[pymethods]
impl TwoTasks {
    /// Decomposes the kernels of two tasks.
    #[new]
    fn new(py: Python<'_>, tasks: Vec<RawTask<'_>>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let settings = settings(fields, None)?;
        let tasks = sequence(&tasks).map_err(python)?.tasks;
        let two = run(py, None, move |context| {
            ebbing::theory::multi_head::TwoTasks::new(&tasks, &settings, context).map_err(Error::without_temperature)
        })?;
        Ok(TwoTasks { two: Arc::new(two) })
    }

    /// Factors, regime, forgetting and generalization at every load.
    fn curve<'py>(&self, py: Python<'py>, alphas: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
        let two = self.two.clone();
        object(py, &run(py, None, move |_| two.curve(&alphas).map_err(Error::without_temperature))?)
    }

    /// The critical load and its estimates.
    fn critical_load<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let two = self.two.clone();
        object(py, &run(py, None, move |_| two.critical_load().map_err(Error::without_temperature))?)
    }
}
