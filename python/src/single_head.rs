//! One readout for all tasks, at infinite width.

use crate::arrays::{Matrix, RawTask, array, owned, sequence};
use crate::errors::python;
use crate::request::asked;
use crate::run::run;
use crate::values::object;
use ebbing::linalg::Mat;
use ebbing::request::ForecastRequest;
use ebbing::rng::Stream;
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::theory::{Inputs, KernelTable, KernelTask, Points};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A wide network that has learned a sequence of tasks.
#[pyclass(frozen)]
pub struct SingleHead {
    theory: Arc<ebbing::SingleHead>,
}

/// Points at which a network is looked at: inputs, or rows of the kernel that was given.
enum Where {
    Inputs(Mat<f64>),
    Rows(Vec<usize>),
}

impl Where {
    fn points(&self) -> Points<'_> {
        match self {
            Where::Inputs(x) => x.into(),
            Where::Rows(rows) => rows.as_slice().into(),
        }
    }
}

fn points(x: &Bound<'_, PyAny>) -> PyResult<Where> {
    if let Ok(x) = x.extract::<Matrix<'_>>() {
        return Ok(Where::Inputs(owned(&x)));
    }
    let rows = x.extract::<Vec<usize>>();
    rows.map(Where::Rows)
        .map_err(|_| PyTypeError::new_err("points must be a matrix of inputs or a list of row numbers"))
}

#[pymethods]
impl SingleHead {
    /// Learns the tasks with the network that the fields of a forecast describe, or with a readout of given features.
    #[new]
    fn new(
        py: Python<'_>,
        tasks: Vec<RawTask<'_>>,
        features: bool,
        fields: &Bound<'_, PyDict>,
        variance: bool,
    ) -> PyResult<Self> {
        let settings = settings(fields, features, variance)?;
        let sequence = sequence(&tasks).map_err(python)?;
        let theory = run(py, None, move |context| {
            let inputs = if features { Inputs::Features(&sequence) } else { Inputs::Network(&sequence) };
            ebbing::SingleHead::new(inputs, &settings, context)
        })?;
        Ok(SingleHead { theory: Arc::new(theory) })
    }

    /// Learns tasks whose points are rows of given kernels: (rows, targets, held-out rows, held-out targets, name).
    #[staticmethod]
    fn from_kernels(
        py: Python<'_>,
        nngp: Matrix<'_>,
        ntk: Option<Matrix<'_>>,
        tasks: Vec<(Vec<usize>, Matrix<'_>, Option<Vec<usize>>, Option<Matrix<'_>>, String)>,
        fields: &Bound<'_, PyDict>,
        variance: bool,
    ) -> PyResult<Self> {
        let settings = settings(fields, false, variance)?;
        let tasks: Vec<KernelTask> = tasks
            .into_iter()
            .map(|(rows, y, test_rows, test_y, name)| KernelTask {
                name,
                rows,
                y: owned(&y),
                test: test_rows.zip(test_y.map(|y| owned(&y))),
            })
            .collect();
        let (nngp, ntk) = (Arc::new(owned(&nngp)), ntk.as_ref().map(|ntk| Arc::new(owned(ntk))));
        let table = KernelTable { nngp, ntk, tasks };
        let theory = run(py, None, move |context| ebbing::SingleHead::new(&table, &settings, context))?;
        Ok(SingleHead { theory: Arc::new(theory) })
    }

    /// The estimated number of correct decimal digits.
    #[getter]
    fn digits(&self) -> f64 {
        self.theory.digits()
    }

    /// The number of target columns.
    #[getter]
    fn columns(&self) -> usize {
        self.theory.columns()
    }

    /// `<f_t(x)>`.
    fn mean<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, t: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (theory, x) = (self.theory.clone(), points(x)?);
        array(py, run(py, None, move |_| theory.mean(x.points(), t))?)
    }

    /// `Var f_t(x)`.
    fn variance<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>, t: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (theory, x) = (self.theory.clone(), points(x)?);
        Ok(PyArray1::from_vec(py, run(py, None, move |_| theory.variance(x.points(), t))?))
    }

    /// `Cov(f_t(x), f_s(x'))`.
    fn covariance<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        t: usize,
        x2: &Bound<'py, PyAny>,
        s: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (theory, x, x2) = (self.theory.clone(), points(x)?, points(x2)?);
        array(py, run(py, None, move |_| theory.covariance((x.points(), t), (x2.points(), s)))?)
    }

    /// `n` networks drawn from the theory, after every task: `[network][task]` arrays.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        n: usize,
        seed: u64,
    ) -> PyResult<Vec<Vec<Bound<'py, PyArray2<f64>>>>> {
        let (theory, x) = (self.theory.clone(), points(x)?);
        let drawn = run(py, None, move |_| theory.sample(x.points(), n, &mut Stream::new(seed, "python: sample", 0)))?;
        drawn.into_iter().map(|network| network.into_iter().map(|f| array(py, f)).collect()).collect()
    }

    /// Losses and accuracies of every task after every task.
    fn forecast<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let theory = self.theory.clone();
        object(py, &run(py, None, move |_| theory.forecast())?)
    }
}

/// What the fields of a forecast say of the theory.
fn settings(fields: &Bound<'_, PyDict>, features: bool, variance: bool) -> PyResult<SingleHeadSettings> {
    let request: ForecastRequest = asked(fields)?;
    Ok(SingleHeadSettings { variance, ..request.settings_of(features).map_err(python)?.theory })
}
