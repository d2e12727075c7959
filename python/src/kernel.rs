//! Kernel matrices.

use crate::arrays::{Matrix, array, owned, view};
use crate::errors::python;
use crate::request::asked;
use crate::run::{run, run_here};
use ebbing::kernels::{Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Mat, MatRef};
use ebbing::request::{Fields, ForecastRequest};
use ebbing::{Error, Kernel};
use numpy::{PyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Kernels of more entries, or more multiplications, take longer than a fraction of a second, and are computed on copies so that
/// Ctrl-C need not wait.
const LARGE: [usize; 2] = [5_000_000, 5_000_000_000];

/// `K_ij = k_ts(x_i, x'_j)` of the network that the fields of a forecast describe.
#[pyfunction]
pub fn kernel<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    x2: Option<Matrix<'py>>,
    kind: &str,
    t: usize,
    s: usize,
    network: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let network: ForecastRequest = asked(network)?;
    network.check_fields().map_err(python)?;
    let arch = Architecture { activation: network.activation, depth: network.depth };
    let kind = kind_named(kind).map_err(python)?;
    let prior = WeightPrior::new(network.lambda, network.sigma.powi(2));
    let prior = prior.and_then(|prior| prior.with_bias(network.bias.powi(2))).map_err(python)?;
    let kernel = Kernel::new(kind, arch, prior, t, s).map_err(python)?;
    let columns = x2.as_ref().map_or(x.shape()[0], |x2| x2.shape()[0]);
    let entries = x.shape()[0].saturating_mul(columns);
    let result = if entries > LARGE[0] || entries.saturating_mul(x.shape()[1]) > LARGE[1] {
        let (x, x2) = (owned(&x), x2.as_ref().map(owned));
        run(py, None, move |_| gram(&kernel, x.as_ref(), x2.as_ref().map(|x2| x2.as_ref())))?
    } else {
        let (copy, copy2) = (strided(&x), x2.as_ref().and_then(strided));
        let a = copy.as_ref().map(|c| c.as_ref()).or_else(|| view(&x));
        let b = copy2.as_ref().map(|c| c.as_ref()).or_else(|| x2.as_ref().and_then(view));
        let a = a.ok_or_else(|| PyRuntimeError::new_err("an array is neither contiguous nor was it copied"))?;
        run_here(py, || gram(&kernel, a, b))?
    };
    array(py, result)
}

/// A copy of an array that is neither in C nor in Fortran order.
fn strided(x: &Matrix<'_>) -> Option<Mat<f64>> {
    view(x).is_none().then(|| owned(x))
}

fn gram(kernel: &Kernel, x: MatRef<'_, f64>, x2: Option<MatRef<'_, f64>>) -> ebbing::Result<Mat<f64>> {
    match x2 {
        Some(x2) => kernel.gram(x, x2),
        None => kernel.gram_symmetric(x),
    }
}

/// A kind of kernel by its word.
pub fn kind_named(name: &str) -> ebbing::Result<KernelKind> {
    Ok(match name {
        "nngp" => KernelKind::Nngp,
        "ntk" => KernelKind::Ntk,
        "k1" => KernelKind::K1,
        "k0" => KernelKind::K0,
        "ktilde" => KernelKind::KTilde,
        "delta" => KernelKind::DeltaK,
        "derivative" => KernelKind::Derivative,
        _ => return Err(Error::setting("kind", name, "must be nngp, ntk, k1, k0, ktilde, delta or derivative")),
    })
}
