//! A readout for every task, with one output or several, one hidden layer, finite width.

use crate::arrays::{Matrix, RawTask, array, owned, sequence};
use crate::errors::python;
use crate::request::asked;
use crate::run::run;
use crate::values::object;
use ebbing::linalg::Mat;
use ebbing::request::PhaseRequest;
use ebbing::theory::multi_head::{MultiHeadSettings, OutputPrediction, Power, SeveralOutputs};
use ebbing::{Error, Result};
use numpy::ndarray::{Array2, Array3};
use numpy::{PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::sync::Arc;

/// What the fields of a phase diagram say of the theory, at their first λ and at their width, or at a load.
pub fn settings(fields: &Bound<'_, PyDict>, alpha: Option<f64>) -> PyResult<MultiHeadSettings> {
    let request: PhaseRequest = asked(fields)?;
    let theory = request.theory().map_err(python)?;
    let lambda = request.lambda.first().copied().unwrap_or(f64::INFINITY);
    Ok(MultiHeadSettings { lambda, alpha, width: request.width, ..theory })
}

/// A network with a readout for every task.
#[pyclass(frozen)]
pub struct MultiHead {
    theory: Arc<SeveralOutputs>,
}

#[pymethods]
impl MultiHead {
    /// Solves for the renormalization factors.
    #[new]
    fn new(py: Python<'_>, tasks: Vec<RawTask<'_>>, fields: &Bound<'_, PyDict>, alpha: Option<f64>) -> PyResult<Self> {
        let settings = settings(fields, alpha)?;
        let tasks = sequence(&tasks).map_err(python)?.tasks;
        let theory = run(py, None, move |context| SeveralOutputs::new(&tasks, &settings, context))?;
        Ok(MultiHead { theory: Arc::new(theory) })
    }

    /// Everything that was solved for, as a dictionary.
    fn factors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let theory = &self.theory;
        let outputs: Vec<usize> = (1..=theory.tasks()).map(|t| theory.outputs(t)).collect();
        let most = outputs.iter().copied().max().unwrap_or(1);
        // Outputs that a head does not have are null.
        let block = |u: Mat<f64>| -> Value {
            if most == 1 {
                return number(u[(0, 0)]);
            }
            let entry =
                |a: usize, b: usize| if a < u.nrows() && b < u.ncols() { number(u[(a, b)]) } else { Value::Null };
            (0..most).map(|a| (0..most).map(|b| entry(a, b)).collect::<Vec<_>>()).collect::<Vec<_>>().into()
        };
        let matrix = |u: &dyn Fn(usize, usize) -> Mat<f64>| -> Vec<Vec<Value>> {
            (1..=theory.tasks()).map(|t| (1..=theory.tasks()).map(|s| block(u(t, s))).collect()).collect()
        };
        let evidence = theory.evidence();
        let directions = theory.two_tasks().and_then(|point| point.directions.as_ref());
        let found = json!({
            "outputs": outputs,
            "directions": directions.map(|found| {
                json!({ "regimes": found.regimes, "axes": rows(&found.axes), "duals": rows(&found.duals) })
            }),
            "exponent": theory.readout_exponent(theory.tasks()),
            "u1": matrix(&|t, s| theory.u1(t, s)),
            "u0": matrix(&|t, s| theory.u0(t, s)),
            "d": matrix(&|t, s| theory.d(t, s)),
            "width": theory.width(), "lam": number(theory.lambda()), "digits": theory.digits(),
            "residuals": theory.residuals(), "limit": theory.one_output().and_then(|one| one.limit()),
            "evidence": (!evidence.is_empty()).then_some(evidence),
        });
        object(py, &found)
    }

    /// Means and covariances of a head's outputs after t tasks.
    fn predict<'py>(&self, py: Python<'py>, x: Matrix<'py>, head: usize, t: usize) -> PyResult<Predicted<'py>> {
        let (theory, x) = (self.theory.clone(), owned(&x));
        Ok(arrays_of(py, &run(py, None, move |_| theory.predict(head, t, x.as_ref()))?))
    }

    /// The probability of every output of a head to be the largest, and its standard error.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        head: usize,
        t: usize,
        draws: usize,
        seed: u64,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>)> {
        let (theory, x) = (self.theory.clone(), owned(&x));
        let found = run(py, None, move |_| theory.predict(head, t, x.as_ref())?.probabilities(draws, seed))?;
        Ok((array(py, found.probability)?, array(py, found.error)?))
    }

    /// The share of a task's test examples on which its head is right after t tasks, and its standard error.
    fn accuracy(&self, py: Python<'_>, head: usize, t: usize, draws: usize, seed: u64) -> PyResult<(f64, f64)> {
        let theory = self.theory.clone();
        let found = run(py, None, move |_| {
            let task = theory.learned_tasks().get(head.wrapping_sub(1)).filter(|task| task.test.is_some());
            let Some(test) = task.and_then(|task| task.test.as_ref()) else {
                return Err(Error::data(format!("task {head}"), "has no test set, which an accuracy needs"));
            };
            theory.predict(head, t, test.x.as_ref())?.accuracy(test.y.as_ref(), draws, seed)
        })?;
        Ok((found.value, found.error))
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
        let part = move || match (one(&theory)?, learned) {
            (theory, true) => theory.learned_kernel(x.as_ref()),
            (theory, false) => theory.hidden_kernel(x.as_ref()),
        };
        array(py, run(py, None, move |_| part())?)
    }

    /// `ΔΦ(x)·ΔΦ(x')` of two tasks at λ = ∞.
    fn representation_change<'py>(&self, py: Python<'py>, x: Matrix<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (theory, x) = (self.theory.clone(), owned(&x));
        array(py, run(py, None, move |_| one(&theory)?.representation_change(x.as_ref()))?)
    }
}

/// Means (inputs × outputs) and covariances (inputs × outputs × outputs).
pub type Predicted<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray3<f64>>);

/// A prediction as arrays, covariances infinite where they diverge with λ.
pub fn arrays_of<'py>(py: Python<'py>, found: &OutputPrediction) -> Predicted<'py> {
    let (n, m, exponent) = (found.mean.nrows(), found.mean.ncols(), found.exponent);
    let mean = Array2::from_shape_fn((n, m), |(i, a)| found.mean[(i, a)]);
    let limit = |coefficient: f64| Power { coefficient, exponent }.limit();
    let covariance = Array3::from_shape_fn((n, m, m), |(i, a, b)| limit(found.covariance[i][(a, b)]));
    (PyArray2::from_owned_array(py, mean), PyArray3::from_owned_array(py, covariance))
}

/// A number, infinity as a word.
pub fn number(v: f64) -> Value {
    if v.is_infinite() { json!("inf") } else { json!(v) }
}

/// A matrix row by row.
pub fn rows(m: &Mat<f64>) -> Vec<Vec<Value>> {
    (0..m.nrows()).map(|i| (0..m.ncols()).map(|j| number(m[(i, j)])).collect()).collect()
}

/// The theory of one output per head.
fn one(theory: &SeveralOutputs) -> Result<&ebbing::MultiHead> {
    let what = "the hidden layer of heads with several outputs";
    theory.one_output().ok_or_else(|| Error::OutsideTheory {
        what: what.into(),
        reason: "its kernel is derived for one output per head".into(),
    })
}

/// A matrix of losses, row t of t + 1 entries.
fn each(theory: &SeveralOutputs, loss: impl Fn(usize, usize) -> Result<f64>) -> Result<Vec<Vec<f64>>> {
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
