//! A readout for every task, one hidden layer, finite width.

use crate::arrays::{Matrix, RawTask, array, owned, sequence};
use crate::errors::python;
use crate::run::run;
use crate::show::Shown;
use crate::values::{activation, object};
use ebbing::Result;
use ebbing::TaskSequence;
use ebbing::request::PhasePlace;
use ebbing::theory::multi_head::{MultiHeadSettings, Power};
use ebbing::theory::phase::{SequenceCurve, sequence_curve};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// The prior variance of readouts and the bound on their norm.
type Readout = (Option<f64>, Option<f64>);

fn settings(
    width: Option<f64>,
    alpha: Option<f64>,
    lambda: f64,
    sigma2: f64,
    beta: f64,
    name: &str,
    (readout_sigma2, readout_norm): Readout,
) -> PyResult<MultiHeadSettings> {
    let activation = activation(name)?;
    Ok(MultiHeadSettings { lambda, sigma2, beta, readout_sigma2, readout_norm, alpha, width, activation, depth: 1 })
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
    #[pyo3(signature = (tasks, width, alpha, lam, sigma2, beta, activation_name, readout))]
    fn new(
        py: Python<'_>,
        tasks: Vec<RawTask<'_>>,
        width: Option<f64>,
        alpha: Option<f64>,
        lam: f64,
        sigma2: f64,
        beta: f64,
        activation_name: &str,
        readout: Readout,
    ) -> PyResult<Self> {
        let settings = settings(width, alpha, lam, sigma2, beta, activation_name, readout)?;
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

/// Any number of tasks against the load, one curve for every λ.
#[pyfunction]
#[pyo3(signature = (tasks, lam, alpha, sigma2, beta, activation_name, readout))]
pub fn phase_curves<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    lam: Vec<f64>,
    alpha: Vec<f64>,
    sigma2: f64,
    beta: f64,
    activation_name: &str,
    readout: Readout,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = settings(None, None, f64::INFINITY, sigma2, beta, activation_name, readout)?;
    let tasks = sequence(&tasks).map_err(python)?.tasks;
    let curves = run(py, None, move |context| {
        let at = |&lambda: &f64| MultiHeadSettings { lambda, ..settings.clone() };
        lam.iter().map(|lambda| sequence_curve(&tasks, &at(lambda), &alpha, context)).collect::<Result<Vec<_>>>()
    })?;
    object(py, &curves)
}

/// Two tasks in the phase diagram: curves at every λ, and where a width lies; with the page of it all, called by its title and
/// recording the settings (JSON) that made it.
#[pyfunction]
#[pyo3(signature = (tasks, width, lam, alpha, sigma, activation_name, readout, page))]
pub fn phase_place<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    width: Option<f64>,
    lam: Vec<f64>,
    alpha: Vec<f64>,
    sigma: f64,
    activation_name: &str,
    readout: Readout,
    page: (String, String),
) -> PyResult<Bound<'py, PyAny>> {
    let theory = settings(None, None, f64::INFINITY, sigma * sigma, f64::INFINITY, activation_name, readout)?;
    let sequence = sequence(&tasks).map_err(python)?;
    let place = run(py, None, move |context| {
        let TaskSequence { tasks, settings } = sequence;
        let two = ebbing::theory::multi_head::TwoTasks::new(&tasks, &theory, context)?;
        let curves = ebbing::theory::phase::phase_curves(&tasks, &theory, &lam, &alpha, context)?;
        let maps = two.loss_maps()?;
        let with_own = |own: f64| {
            let loads: Vec<f64> = std::iter::once(own).chain(alpha.iter().copied()).collect();
            two.curve_from(&maps, &loads)
        };
        let mut place = PhasePlace::of((&two, &maps), width, with_own, curves, (settings, &tasks), sigma)?;
        if place.tested && width.is_some() {
            let settings = MultiHeadSettings { width, ..theory };
            place.best = Some(ebbing::theory::best_lambda::best_lambda(&tasks, &settings, 1e-2, 1e6, context)?);
        }
        Ok(place)
    })?;
    let curves: Vec<SequenceCurve> = place.curves.iter().cloned().map(SequenceCurve::from).collect();
    let found = object(
        py,
        &json!({
            "critical": place.critical, "location": place.location, "best": place.best, "widths": place.widths, "curves": curves,
        }),
    )?;
    let shown = Shown::of_answer(&place, &page.0, &page.1)?;
    found.set_item("answer", shown.sentences())?;
    found.set_item("page", shown)?;
    Ok(found)
}

/// The λ in `low … high` that serves both of two tasks best.
#[pyfunction]
#[pyo3(signature = (tasks, low, high, width, alpha, sigma2, beta, activation_name, readout))]
pub fn best_lambda<'py>(
    py: Python<'py>,
    tasks: Vec<RawTask<'py>>,
    low: f64,
    high: f64,
    width: Option<f64>,
    alpha: Option<f64>,
    sigma2: f64,
    beta: f64,
    activation_name: &str,
    readout: Readout,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = settings(width, alpha, low, sigma2, beta, activation_name, readout)?;
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
    fn new(
        py: Python<'_>,
        tasks: Vec<RawTask<'_>>,
        sigma2: f64,
        activation_name: &str,
        readout: Readout,
    ) -> PyResult<Self> {
        let tasks = sequence(&tasks).map_err(python)?.tasks;
        let settings = settings(None, None, f64::INFINITY, sigma2, f64::INFINITY, activation_name, readout)?;
        let two = run(py, None, move |context| ebbing::theory::multi_head::TwoTasks::new(&tasks, &settings, context))?;
        Ok(TwoTasks { two: Arc::new(two) })
    }

    /// Factors, regime, forgetting and generalization at every load.
    fn curve<'py>(&self, py: Python<'py>, alphas: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
        let two = self.two.clone();
        object(py, &run(py, None, move |_| two.curve(&alphas))?)
    }

    /// Where a width lies in the diagram.
    fn locate<'py>(&self, py: Python<'py>, width: f64) -> PyResult<Bound<'py, PyAny>> {
        let two = self.two.clone();
        object(py, &run(py, None, move |_| two.critical_load()?.locate(two.sizes()[1], width))?)
    }

    /// The critical load and its estimates.
    fn critical_load<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let two = self.two.clone();
        object(py, &run(py, None, move |_| two.critical_load())?)
    }
}
