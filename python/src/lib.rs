//! The compiled half of the Python package: converts, lets go of the interpreter, calls the library, converts back.

mod arrays;
mod data;
mod errors;
mod kernel;
mod multi_head;
mod nets;
mod order;
mod outlook;
mod run;
mod single_head;
mod values;

use pyo3::prelude::*;

/// What the package `ebbing` calls; users should import that.
#[pymodule]
mod _ebbing {
    #[pymodule_export]
    use super::data::{Source, interpolated, load_tasks, prepared, save_tasks, with_context};
    #[pymodule_export]
    use super::errors::NumericalError;
    #[pymodule_export]
    use super::kernel::kernel;
    #[pymodule_export]
    use super::multi_head::{MultiHead, TwoTasks, best_lambda, phase_curves};
    #[pymodule_export]
    use super::nets::{sample_posterior, train};
    #[pymodule_export]
    use super::order::{order_parameters, order_parameters_of_kernels};
    #[pymodule_export]
    use super::outlook::{advise, fit_forgetting, forecast, metrics, variance_explained};
    #[pymodule_export]
    use super::single_head::SingleHead;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
