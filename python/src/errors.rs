//! The library's errors as Python's: ValueError for what was asked, NumericalError for what cannot be computed.

use ebbing::Error;
use ebbing::request::Door;
use pyo3::exceptions::{PyArithmeticError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(
    ebbing,
    NumericalError,
    PyArithmeticError,
    "A kernel is singular, too few digits are left, or an iteration does not converge; the message says what to do."
);

/// The Python exception for an error, with the library's sentence.
pub fn python(error: Error) -> PyErr {
    match error {
        Error::Io { ref source, .. } => match source.raw_os_error() {
            Some(code) => PyOSError::new_err((code, error.to_string())),
            None => PyOSError::new_err(error.to_string()),
        },
        Error::Memory { .. } => {
            PyMemoryError::new_err(error.to_string().replace("or force it", "or lift ebbing.memory_limit"))
        }
        Error::Stopped => PyKeyboardInterrupt::new_err(error.to_string()),
        Error::NotPositiveDefinite { .. }
        | Error::LostAccuracy { .. }
        | Error::NotConverged { .. }
        | Error::Diverged { .. } => NumericalError::new_err(error.to_string()),
        setting @ Error::Setting { .. } => PyValueError::new_err(Door::Python.say(setting).to_string()),
        other => PyValueError::new_err(other.to_string()),
    }
}
