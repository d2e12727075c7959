//! Two tasks with a head each, for theorists: factors at any load, the matrices behind them, and kernels of one's own.

use crate::arrays::{Matrix, RawTask, array, owned, sequence};
use crate::kernel::kind_named;
use crate::multi_head::{Predicted, arrays_of, number, rows, settings};
use crate::run::run;
use crate::values::object;
use ebbing::kernels::WeightPrior;
use ebbing::tasks::own_readouts;
use ebbing::theory::multi_head::{DirectionLoads, KernelsOfTwo, TwoKernelTasks, TwoTaskOutputs, TwoTaskOutputsPoint};
use ebbing::{Error, Result};
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::sync::Arc;

enum Inner {
    Tasks(TwoTaskOutputs),
    Kernels(TwoKernelTasks),
}

impl Inner {
    fn point(&self, alpha: f64) -> Result<TwoTaskOutputsPoint> {
        match self {
            Inner::Tasks(two) => two.point(alpha),
            Inner::Kernels(two) => two.point(alpha),
        }
    }

    fn critical_loads(&self) -> Result<DirectionLoads> {
        match self {
            Inner::Tasks(two) => two.critical_loads(),
            Inner::Kernels(two) => two.critical_loads(),
        }
    }

    fn pencil_values(&self) -> &[f64] {
        match self {
            Inner::Tasks(two) => two.pencil_values(),
            Inner::Kernels(two) => two.pencil_values(),
        }
    }

    /// What only tasks with inputs have.
    fn tasks(&self) -> Result<&TwoTaskOutputs> {
        match self {
            Inner::Tasks(two) => Ok(two),
            Inner::Kernels(_) => Err(Error::OutsideTheory {
                what: "tasks that are known by their kernels alone".into(),
                reason: "this needs their inputs".into(),
            }),
        }
    }
}

/// Two tasks at one λ, decomposed once for any load.
#[pyclass(frozen)]
pub struct TwoHeads {
    inner: Arc<Inner>,
    prior: WeightPrior,
}

#[pymethods]
impl TwoHeads {
    /// Decomposes the kernels of two tasks.
    #[new]
    fn new(py: Python<'_>, tasks: Vec<RawTask<'_>>, fields: &Bound<'_, PyDict>) -> PyResult<Self> {
        let settings = settings(fields, None)?;
        let tasks = sequence(&tasks).map_err(crate::errors::python)?.tasks;
        let prior = WeightPrior::new(settings.lambda, settings.sigma2).map_err(crate::errors::python)?;
        let two = run(py, None, move |context| TwoTaskOutputs::new(&own_readouts(&tasks), &settings, context))?;
        Ok(TwoHeads { inner: Arc::new(Inner::Tasks(two)), prior })
    }

    /// From kernels: `K¹_11`, `K¹_21`, `K¹_22`, `ΔK_22` (at λ = ∞ its limit times λ) and targets.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn of_kernels(
        py: Python<'_>,
        first: Matrix<'_>,
        cross: Matrix<'_>,
        second: Matrix<'_>,
        change: Matrix<'_>,
        y1: Matrix<'_>,
        y2: Matrix<'_>,
        fields: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let settings = settings(fields, None)?;
        let prior = WeightPrior::new(settings.lambda, settings.sigma2).map_err(crate::errors::python)?;
        let all = [&first, &cross, &second, &change, &y1, &y2].map(owned);
        let two = run(py, None, move |context| {
            let [first, cross, second, change, first_targets, second_targets] = all.each_ref().map(|m| m.as_ref());
            let kernels = KernelsOfTwo { first, cross, second, change, first_targets, second_targets };
            TwoKernelTasks::new(kernels, &settings, context)
        })?;
        Ok(TwoHeads { inner: Arc::new(Inner::Kernels(two)), prior })
    }

    /// The factors at a load, as a dictionary.
    fn point<'py>(&self, py: Python<'py>, alpha: f64) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.inner.clone();
        let point = run(py, None, move |_| inner.point(alpha))?;
        object(py, &described(&point))
    }

    /// The critical loads of the directions of head 2.
    fn critical_loads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let inner = self.inner.clone();
        object(py, &run(py, None, move |_| inner.critical_loads())?)
    }

    /// The eigenvalues of the pencil (ΔK_22, K¹_22).
    fn pencil_values(&self) -> Vec<f64> {
        self.inner.pencil_values().to_vec()
    }

    /// The eigenvalues of `K¹_tt`.
    fn kernel_spectrum(&self, py: Python<'_>, t: usize) -> PyResult<Vec<f64>> {
        let inner = self.inner.clone();
        run(py, None, move |_| inner.tasks()?.kernel_spectrum(t))
    }

    /// A kernel between the training inputs of two tasks.
    fn kernel<'py>(&self, py: Python<'py>, kind: &str, t: usize, s: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (inner, kind) = (self.inner.clone(), kind_named(kind).map_err(crate::errors::python)?);
        array(py, run(py, None, move |_| inner.tasks()?.kernel(kind, t, s))?)
    }

    /// `K̃_ts` at a load.
    fn renormalized_kernel<'py>(
        &self,
        py: Python<'py>,
        alpha: f64,
        t: usize,
        s: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = self.inner.clone();
        array(py, run(py, None, move |_| inner.tasks()?.renormalized_kernel(&inner.point(alpha)?, t, s))?)
    }

    /// 𝓛 at a load.
    fn lower<'py>(&self, py: Python<'py>, alpha: f64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let inner = self.inner.clone();
        array(py, run(py, None, move |_| inner.tasks()?.lower(&inner.point(alpha)?))?)
    }

    /// `ū = 𝓛^{-1}Y` of both tasks at a load.
    fn means<'py>(
        &self,
        py: Python<'py>,
        alpha: f64,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>)> {
        let inner = self.inner.clone();
        let [first, second] = run(py, None, move |_| inner.tasks()?.means(&inner.point(alpha)?))?;
        Ok((array(py, first)?, array(py, second)?))
    }

    /// `H_2` at a load and any factors.
    fn free_energy(&self, py: Python<'_>, alpha: f64, d: Matrix<'_>, u0: Matrix<'_>, u12: Matrix<'_>) -> PyResult<f64> {
        let (inner, [d, u0, u12]) = (self.inner.clone(), [&d, &u0, &u12].map(owned));
        run(py, None, move |_| inner.tasks()?.free_energy(alpha, d.as_ref(), u0.as_ref(), u12.as_ref()))
    }

    /// Means and covariances of a head's outputs after both tasks at a load.
    fn predict<'py>(&self, py: Python<'py>, alpha: f64, head: usize, x: Matrix<'py>) -> PyResult<Predicted<'py>> {
        let (inner, x) = (self.inner.clone(), owned(&x));
        let found = run(py, None, move |_| inner.tasks()?.predict(head, &inner.point(alpha)?, x.as_ref()))?;
        Ok(arrays_of(py, &found))
    }

    /// `m1(t,s)`, `m0(t,s)` and their difference without cancellation.
    fn overlaps(&self, t: usize, s: usize) -> PyResult<(f64, f64, f64)> {
        if t == 0 || s == 0 {
            return Err(crate::errors::python(Error::setting("t", t.min(s), "times count from 1")));
        }
        let (t, s) = (t.max(s), t.min(s));
        Ok((self.prior.m1(t, s), self.prior.m0(t, s), self.prior.m1_minus_m0(t, s)))
    }
}

/// Factors as nested lists.
fn described(point: &TwoTaskOutputsPoint) -> Value {
    json!({
        "alpha": point.alpha, "width": point.width, "lam": number(point.lambda), "exponent": point.exponent, "rho": point.rho,
        "u11": rows(&point.u11), "u12": rows(&point.u12), "u22": rows(&point.u22), "u0": rows(&point.u0), "d": rows(&point.d),
        "residuals": point.residuals,
        "directions": point.directions.as_ref().map(|found| {
            json!({ "regimes": found.regimes, "axes": rows(&found.axes), "duals": rows(&found.duals) })
        }),
    })
}
