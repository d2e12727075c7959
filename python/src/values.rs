//! Serialized results as Python's own dictionaries, lists and numbers; settings the other way.

use crate::errors::python;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A result as nested dictionaries and lists.
pub fn object<'py>(py: Python<'py>, result: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(result).map_err(|e| PyValueError::new_err(e.to_string()))?;
    convert(py, &value)
}

fn convert<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(v) => v.into_bound_py_any(py),
        Value::Number(n) => match n.as_i64() {
            Some(integer) => integer.into_bound_py_any(py),
            None => n.as_f64().into_bound_py_any(py),
        },
        // How the library writes infinity.
        Value::String(v) if v == "inf" => f64::INFINITY.into_bound_py_any(py),
        Value::String(v) => v.into_bound_py_any(py),
        Value::Array(v) => {
            let items = v.iter().map(|v| convert(py, v)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map {
                dict.set_item(key, convert(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// Settings from the JSON that the Python half writes.
pub fn settings<T: DeserializeOwned>(json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|e| {
        let text = e.to_string();
        // Where in the JSON it is says nothing to a user.
        let sentence = text.split(" at line ").next().unwrap_or(&text).to_string();
        if text.starts_with("invalid type") { PyTypeError::new_err(sentence) } else { PyValueError::new_err(sentence) }
    })
}

/// One of a few words.
pub fn word<T: DeserializeOwned>(setting: &str, value: &str, choices: &str) -> PyResult<T> {
    serde_json::from_value(Value::String(value.into()))
        .map_err(|_| python(ebbing::Error::setting(setting, value, format!("must be {choices}"))))
}

/// The nonlinearity of this name.
pub fn activation(name: &str) -> PyResult<ebbing::kernels::Activation> {
    word("activation", name, "relu, linear, erf or gelu")
}
