//! A readout for every task, one hidden layer, finite width.

use crate::arrays::{Given, GivenTask, array, owned, sequence};
use crate::errors::python;
use crate::run::run;
use crate::values::{activation, object};
use ebbing::kernels::{Architecture, KernelKind, WeightPrior};
use ebbing::linalg::Mat;
use ebbing::theory::multi_head::{LargeLambda, MultiHeadSettings, Power, Prediction, TwoTaskPoint};
use ebbing::{Kernel, Result};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// Where more than two tasks are learned at λ = ∞, no forgetting changes by more than this when λ grows tenfold.
const TOLERANCE: f64 = 1e-3;

/// The theory that serves the number of tasks and λ.
enum Theory {
    /// Finite λ.
    Finite(ebbing::MultiHead),
    /// Two tasks at λ = ∞, with the first one alone.
    Limit { two: Box<ebbing::theory::multi_head::TwoTasks>, point: Box<TwoTaskPoint>, first: ebbing::MultiHead },
    /// A large λ that stands for ∞.
    Large(LargeLambda),
}

/// A network with a readout for every task.
#[pyclass(frozen)]
pub struct MultiHead {
    theory: Arc<Theory>,
    settings: MultiHeadSettings,
    tasks: usize,
}

#[pymethods]
impl MultiHead {
    /// Solves for the renormalisation factors.
    #[new]
    #[pyo3(signature = (tasks, width, alpha, lam, sigma2, beta, activation_name))]
    fn new(
        py: Python<'_>,
        tasks: Vec<GivenTask<'_>>,
        width: Option<f64>,
        alpha: Option<f64>,
        lam: f64,
        sigma2: f64,
        beta: f64,
        activation_name: &str,
    ) -> PyResult<Self> {
        let activation = activation(activation_name)?;
        let settings = MultiHeadSettings { lambda: lam, sigma2, beta, alpha, width, activation, depth: 1 };
        let tasks = sequence(&tasks).map_err(python)?.tasks;
        let (asked, count) = (settings.clone(), tasks.len());
        let theory = run(py, None, move |_| Theory::new(&tasks, &asked))?;
        Ok(MultiHead { theory: Arc::new(theory), settings, tasks: count })
    }

    /// Everything that was solved for, as a dictionary.
    fn factors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &self.theory.factors(self.tasks))
    }

    /// Mean and variance of a head after t tasks.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: Given<'py>,
        head: usize,
        t: usize,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let (theory, x) = (self.theory.clone(), owned(&x));
        let prediction = run(py, None, move |_| theory.predict(head, t, &x))?;
        let power = prediction.variance_power;
        let variance = prediction.variance.iter().map(|v| at_infinity(*v, power)).collect();
        Ok((PyArray1::from_vec(py, prediction.mean), PyArray1::from_vec(py, variance)))
    }

    /// `F[t][s]`, row t of t + 1 entries.
    fn forgetting(&self, py: Python<'_>) -> PyResult<Vec<Vec<f64>>> {
        let (theory, tasks) = (self.theory.clone(), self.tasks);
        run(py, None, move |_| each(tasks, |t, s| theory.forgetting(t, s)))
    }

    /// `G[t][s]`, row t of t + 1 entries.
    fn generalization(&self, py: Python<'_>) -> PyResult<Vec<Vec<f64>>> {
        let (theory, tasks) = (self.theory.clone(), self.tasks);
        run(py, None, move |_| each(tasks, |t, s| theory.generalisation(t, s)))
    }

    /// `<Φ(x)·Φ(x')>/N` after two tasks, or only what learning added to it.
    fn hidden_kernel<'py>(&self, py: Python<'py>, x: Given<'py>, learned: bool) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (theory, settings, x) = (self.theory.clone(), self.settings.clone(), owned(&x));
        let kernel = run(py, None, move |_| {
            let part = theory.learned_kernel(&x)?;
            if learned {
                return Ok(part);
            }
            let prior = WeightPrior::new(settings.lambda, settings.sigma2)?;
            let network = Architecture { activation: settings.activation, depth: 1 };
            Ok(Kernel::new(KernelKind::K1, network, prior, 2, 2)?.gram_symmetric(x.as_ref())? + part)
        })?;
        array(py, kernel)
    }
}

/// A matrix of losses, row t of t + 1 entries.
fn each(tasks: usize, loss: impl Fn(usize, usize) -> Result<f64>) -> Result<Vec<Vec<f64>>> {
    (1..=tasks).map(|t| (1..=t).map(|s| loss(t, s)).collect()).collect()
}

/// The limit of `coefficient·λ^exponent`.
fn at_infinity(coefficient: f64, exponent: f64) -> f64 {
    match exponent {
        e if e > 0.0 && coefficient != 0.0 => coefficient.signum() * f64::INFINITY,
        e if e < 0.0 => 0.0,
        _ => coefficient,
    }
}

fn limit(power: Power) -> f64 {
    at_infinity(power.coefficient, power.exponent)
}

impl Theory {
    fn new(tasks: &[ebbing::Task], settings: &MultiHeadSettings) -> Result<Self> {
        if settings.lambda.is_finite() || tasks.len() == 1 {
            // A first task knows no λ.
            let lambda = if settings.lambda.is_finite() { settings.lambda } else { 1.0 };
            let settings = MultiHeadSettings { lambda, ..settings.clone() };
            return ebbing::MultiHead::solve(tasks, &settings).map(Theory::Finite);
        }
        if tasks.len() > 2 || settings.beta.is_finite() {
            return LargeLambda::solve(tasks, settings, TOLERANCE).map(Theory::Large);
        }
        let alpha = load(tasks, settings)?;
        let two = Box::new(ebbing::theory::multi_head::TwoTasks::new(tasks, settings)?);
        let point = Box::new(two.point(alpha)?);
        let alone = MultiHeadSettings { lambda: 1.0, alpha: None, width: Some(point.width), ..settings.clone() };
        let first = ebbing::MultiHead::solve(&tasks[..1], &alone)?;
        Ok(Theory::Limit { two, point, first })
    }

    /// The theory at a finite λ, if that is what there is.
    fn finite(&self) -> Option<&ebbing::MultiHead> {
        match self {
            Theory::Finite(theory) => Some(theory),
            Theory::Large(large) => Some(&large.theory),
            Theory::Limit { .. } => None,
        }
    }

    fn factors(&self, tasks: usize) -> Value {
        if let Theory::Limit { two, point, .. } = self {
            let number = |v: f64| if v.is_infinite() { json!("inf") } else { json!(v) };
            return json!({
                "u1": [[number(point.u11), number(point.u12)], [number(point.u12), number(limit(point.u22))]],
                "u0": [[0.0, 0.0], [0.0, number(limit(point.u0))]],
                "width": point.width, "alpha": point.alpha, "digits": two.digits(), "residuals": point.residuals,
                "limit": point, "evidence": Value::Null, "lam": "inf",
            });
        }
        let Some(theory) = self.finite() else { unreachable!("the limit was served above") };
        let matrix = |u: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
            (1..=tasks).map(|t| (1..=tasks).map(|s| u(t, s)).collect()).collect()
        };
        let evidence = if let Theory::Large(large) = self { json!(large.evidence) } else { Value::Null };
        json!({
            "u1": matrix(&|t, s| theory.u1(t, s)), "u0": matrix(&|t, s| theory.u0(t, s)),
            "width": theory.width(), "digits": theory.digits(), "residuals": theory.residuals(),
            "limit": Value::Null, "evidence": evidence, "lam": theory.lambda(),
        })
    }

    fn predict(&self, head: usize, t: usize, x: &Mat<f64>) -> Result<Prediction> {
        match self {
            Theory::Limit { two, point, .. } if t == 2 => two.predict(head, point, x.as_ref()),
            Theory::Limit { first, .. } if t == 1 => first.predict(head, t, x.as_ref()),
            Theory::Limit { .. } => Err(ebbing::Error::setting("t", t, "must be 1 or 2: there are two tasks")),
            Theory::Finite(theory) => theory.predict(head, t, x.as_ref()),
            Theory::Large(large) => large.theory.predict(head, t, x.as_ref()),
        }
    }

    fn forgetting(&self, t: usize, s: usize) -> Result<f64> {
        match self {
            Theory::Limit { two, point, .. } if (t, s) == (2, 1) => {
                Ok(limit(two.curve(&[point.alpha])?.points.swap_remove(0).f21))
            }
            // The newest task is interpolated: β = ∞.
            Theory::Limit { .. } => Ok(0.0),
            Theory::Finite(theory) => theory.forgetting(t, s),
            Theory::Large(large) => large.theory.forgetting(t, s),
        }
    }

    fn generalisation(&self, t: usize, s: usize) -> Result<f64> {
        match self {
            Theory::Limit { two, point, first } => {
                if t == 1 {
                    return first.generalisation(1, 1);
                }
                let at = two.curve(&[point.alpha])?.points.swap_remove(0);
                let missing =
                    || ebbing::Error::data(format!("task {s}"), "has no test set, which generalisation needs");
                (if s == 1 { at.g21 } else { at.g22 }).map(limit).ok_or_else(missing)
            }
            Theory::Finite(theory) => theory.generalisation(t, s),
            Theory::Large(large) => large.theory.generalisation(t, s),
        }
    }

    fn learned_kernel(&self, x: &Mat<f64>) -> Result<Mat<f64>> {
        match self {
            Theory::Limit { two, point, .. } => two.learned_kernel(point, x.as_ref()),
            Theory::Finite(theory) => theory.learned_kernel(x.as_ref()),
            Theory::Large(large) => large.theory.learned_kernel(x.as_ref()),
        }
    }
}

/// The load α of the newest task, from α or from the width.
fn load(tasks: &[ebbing::Task], settings: &MultiHeadSettings) -> Result<f64> {
    let size = tasks[tasks.len() - 1].x.nrows() as f64;
    match (settings.alpha, settings.width) {
        (Some(alpha), None) => Ok(alpha),
        (None, Some(width)) if width.is_finite() && width > 0.0 => Ok(size / width),
        (None, Some(width)) => Err(ebbing::Error::setting("width", width, "must be positive and finite")),
        (Some(alpha), Some(width)) => {
            let both = format!("is given together with alpha = {alpha}; give one of them, since alpha = P/width");
            Err(ebbing::Error::setting("width", width, both))
        }
        (None, None) => Err(ebbing::Error::setting("alpha", "missing", "give alpha or width, exactly one of them")),
    }
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
    fn new(py: Python<'_>, tasks: Vec<GivenTask<'_>>, sigma2: f64) -> PyResult<Self> {
        let tasks = sequence(&tasks).map_err(python)?.tasks;
        let settings = MultiHeadSettings { sigma2, ..MultiHeadSettings::default() };
        let two = run(py, None, move |_| ebbing::theory::multi_head::TwoTasks::new(&tasks, &settings))?;
        Ok(TwoTasks { two: Arc::new(two) })
    }

    /// Factors, regime, forgetting and generalisation at every load.
    fn curve<'py>(&self, py: Python<'py>, alphas: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
        let two = self.two.clone();
        object(py, &run(py, None, move |_| two.curve(&alphas))?)
    }

    /// The critical load and its estimates.
    fn critical_load<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let two = self.two.clone();
        object(py, &run(py, None, move |_| two.critical_load())?)
    }
}
