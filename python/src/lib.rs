//! The compiled half of the Python package: converts, lets go of the interpreter, calls the library, converts back.

mod arrays;
mod data;
mod errors;
mod kernel;
mod multi_head;
mod operator;
mod order;
mod request;
mod run;
mod show;
mod single_head;
mod statistics;
mod two_heads;
mod values;

use pyo3::prelude::*;

/// What the package `ebbing` calls; users should import that.
#[pymodule]
mod _ebbing {
    #[pymodule_export]
    use super::data::{
        Source, by_class, interpolated, load_tasks, prepared, save_tasks, target_columns, whole_targets, with_context,
    };
    #[pymodule_export]
    use super::errors::NumericalError;
    #[pymodule_export]
    use super::kernel::kernel;
    #[pymodule_export]
    use super::multi_head::{MultiHead, TwoTasks, best_lambda};
    #[pymodule_export]
    use super::operator::learn;
    #[pymodule_export]
    use super::order::{order_parameters, order_parameters_of_kernels, order_parameters_of_sides};
    #[pymodule_export]
    use super::request::{ask, checked, draw_tasks, fields};
    #[pymodule_export]
    use super::show::{Shown, Table, chosen, literal, written};
    #[pymodule_export]
    use super::single_head::SingleHead;
    #[pymodule_export]
    use super::statistics::{fit_forgetting, metrics, scored, variance_explained};
    #[pymodule_export]
    use super::two_heads::TwoHeads;

    use super::*;

    /// How many bytes of memory computations may plan with: `None` for what the machine has, infinite for any amount.
    #[pyfunction]
    #[pyo3(signature = (bytes=None))]
    fn memory_limit(bytes: Option<f64>) -> PyResult<()> {
        use ebbing::plan::MemoryLimit;
        super::run::set_memory(match bytes {
            None => MemoryLimit::Machine,
            Some(n) if n == f64::INFINITY => MemoryLimit::None,
            Some(n) if n >= 1.0 => MemoryLimit::Bytes(n as u64),
            Some(n) => {
                let problem = format!("bytes is {n}; must be a positive number, inf for any amount, or None");
                return Err(pyo3::exceptions::PyValueError::new_err(problem));
            }
        });
        Ok(())
    }

    /// Runs the program `ebbing` with what was typed, its own name first; returns its exit code.
    #[pyfunction]
    fn program(py: Python<'_>, words: Vec<std::ffi::OsString>) -> u8 {
        py.detach(|| ebbing_cli::run(words))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        use ebbing_show::{phase, plain_text};
        module.add("DEFINED", plain_text(phase::DEFINED))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
