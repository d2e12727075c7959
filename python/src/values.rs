//! Serialized results as Python's own dictionaries, lists and numbers; settings the other way.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

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

/// Settings as JSON, by their names; infinity is a word, and arrays and ranges are lists.
pub fn json_of(settings: &Bound<'_, PyDict>) -> PyResult<Map<String, Value>> {
    let entry = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<(String, Value)> {
        let name: String = name.extract()?;
        let value = json(&name, &value)?;
        Ok((name, value))
    };
    settings.iter().map(entry).collect()
}

fn json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.into());
    }
    if value.is_instance_of::<PyInt>() {
        let whole = value.extract::<u64>().map(Value::from).or_else(|_| value.extract::<i64>().map(Value::from));
        return whole.or_else(|_| Ok(value.str()?.to_string().into()));
    }
    if value.is_instance_of::<PyFloat>() {
        let number: f64 = value.extract()?;
        return match number {
            x if x.is_nan() => Err(PyValueError::new_err(format!("{name} is nan; must be a number"))),
            x if x.is_infinite() => Ok(x.to_string().into()),
            x => Ok(x.into()),
        };
    }
    if value.is_instance_of::<PyString>() {
        return Ok(value.extract::<String>()?.into());
    }
    if let Ok(settings) = value.cast::<PyDict>() {
        return Ok(json_of(settings)?.into());
    }
    // Arrays and numbers of NumPy, and paths.
    for method in ["tolist", "__fspath__"] {
        if value.hasattr(method)? {
            return json(name, &value.call_method0(method)?);
        }
    }
    match value.try_iter() {
        Ok(items) => items.map(|item| json(name, &item?)).collect(),
        Err(_) => {
            let problem = format!("{name} is {}; it must be a number or a word", value.repr()?);
            Err(PyTypeError::new_err(problem))
        }
    }
}

/// Settings of the library from those of Python.
pub fn settings<T: DeserializeOwned>(given: &Bound<'_, PyDict>) -> PyResult<T> {
    let given = json_of(given)?;
    if let Some((name, value)) = given.iter().find(|(_, value)| matches!(value.as_str(), Some("inf" | "-inf"))) {
        return Err(PyValueError::new_err(format!("{name} is {}; must be finite", value.as_str().unwrap_or_default())));
    }
    serde_json::from_value(given.into()).map_err(|e| {
        let text = e.to_string();
        if text.starts_with("invalid type") { PyTypeError::new_err(text) } else { PyValueError::new_err(text) }
    })
}
