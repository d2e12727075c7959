//! JSON with the settings beside the data.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::metadata::Metadata;
use crate::table::{FileValues, Table};
use crate::text::Rich;

/// A number for JSON, which has no infinity: `"inf"`, `"-inf"` and `"nan"` are texts.
pub fn json_number(value: f64) -> Value {
    match value {
        v if v.is_finite() => json!(v),
        v if v.is_nan() => json!("nan"),
        v if v > 0.0 => json!("inf"),
        _ => json!("-inf"),
    }
}

/// Numbers for JSON, as [`json_number`].
pub fn json_numbers(values: &[f64]) -> Value {
    values.iter().map(|v| json_number(*v)).collect()
}

/// Writes `{"metadata": …, "data": …}`. JSON turns a bare NaN or infinity into null: data that may hold one must use
/// [`json_number`].
///
/// # Errors
/// When the data do not serialize or the file cannot be written.
pub fn write_json(path: &Path, data: &impl Serialize, metadata: &Metadata) -> Result<()> {
    let data = serde_json::to_value(data).map_err(|e| Error::format(path, e))?;
    let metadata = serde_json::to_value(metadata).map_err(|e| Error::format(path, e))?;
    let mut text = serde_json::to_string_pretty(&json!({"metadata": metadata, "data": data}))
        .map_err(|e| Error::format(path, e))?;
    text.push('\n');
    Ok(ebbing::data::write_atomic(path, text.as_bytes())?)
}

impl Table {
    /// The table as JSON: title and columns with name, unit, meaning and values.
    ///
    /// # Errors
    /// When columns differ in length or have the same name.
    pub fn to_json(&self) -> Result<Value> {
        let columns = self.file_columns()?.into_iter().map(|c| {
            let values = match c.values {
                FileValues::Numbers(v) => json_numbers(v),
                FileValues::Integers(v) => json!(v),
                FileValues::Texts(v) => v.iter().map(|t| json!(Rich::parse(t).plain())).collect(),
            };
            json!({"name": c.key, "unit": c.unit, "meaning": c.meaning, "values": values})
        });
        Ok(json!({"title": Rich::parse(&self.title).plain(), "columns": columns.collect::<Value>()}))
    }
}
