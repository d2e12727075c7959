//! One cell of a study: its settings, its seed, and the rows that it makes.

use crate::study::Work;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::plan::Cost;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A setting of a cell or an entry of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A real number; infinite and NaN are kept.
    Number(f64),
    /// A word.
    Text(String),
}

/// A value as JSON holds it: JSON has no infinity, so numbers that are not finite are words.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Integer(i64),
    Number(f64),
    Text(String),
}

impl From<Value> for Stored {
    fn from(value: Value) -> Stored {
        match value {
            Value::Integer(n) => Stored::Integer(n),
            Value::Number(x) if x.is_finite() => Stored::Number(x),
            Value::Number(x) if x.is_nan() => Stored::Text("nan".into()),
            Value::Number(x) => Stored::Text(if x > 0.0 { "inf" } else { "-inf" }.into()),
            Value::Text(text) => Stored::Text(text),
        }
    }
}

impl From<Stored> for Value {
    fn from(stored: Stored) -> Value {
        match stored {
            Stored::Integer(n) => Value::Integer(n),
            Stored::Number(x) => Value::Number(x),
            Stored::Text(text) => match text.as_str() {
                "nan" => Value::Number(f64::NAN),
                "inf" => Value::Number(f64::INFINITY),
                "-inf" => Value::Number(f64::NEG_INFINITY),
                _ => Value::Text(text),
            },
        }
    }
}

impl Value {
    /// The number it is; whole numbers count, words do not.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Integer(n) => Some(*n as f64),
            Value::Number(x) => Some(*x),
            Value::Text(_) => None,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Integer(n) => n.fmt(f),
            Value::Number(x) => x.fmt(f),
            Value::Text(text) => text.fmt(f),
        }
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Value {
        Value::Number(x)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Integer(n)
    }
}

impl From<usize> for Value {
    fn from(n: usize) -> Value {
        Value::Integer(n as i64)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

/// The settings of a cell by name.
pub type Settings = BTreeMap<String, Value>;

/// A point of a study's grid with one seed: all that its result depends on, besides the study itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    /// The settings that vary over the grid.
    pub settings: Settings,
    /// The seed of everything that is drawn.
    pub seed: u64,
    /// What is computed there; not stored, since the study makes it from its settings and the cell's.
    #[serde(skip)]
    pub work: Option<Arc<dyn Work>>,
}

impl PartialEq for Cell {
    fn eq(&self, other: &Cell) -> bool {
        (&self.settings, self.seed) == (&other.settings, other.seed)
    }
}

impl Cell {
    /// A cell without settings.
    pub fn new(seed: u64) -> Cell {
        Cell { settings: Settings::new(), seed, work: None }
    }

    /// The rows that it makes.
    ///
    /// # Errors
    /// What the library says.
    pub fn rows(&self, sources: &Sources, context: &Context) -> crate::Result<Vec<Row>> {
        let lost = || crate::Error::data("a cell", "it was read from a folder, which holds no work");
        self.work.as_ref().ok_or_else(lost)?.rows(sources, context)
    }

    /// What they cost, for estimates before anything runs.
    pub fn cost(&self) -> Cost {
        self.work.as_ref().map(|work| work.cost()).unwrap_or_default()
    }

    /// "depth = 2, seed 0".
    pub fn label(&self) -> String {
        let settings = self.settings.iter().map(|(name, value)| format!("{name} = {value}"));
        settings.chain([format!("seed {}", self.seed)]).collect::<Vec<_>>().join(", ")
    }

    /// With a setting.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Cell {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// A setting that is a number.
    ///
    /// # Errors
    /// [`ebbing::Error::Setting`] where it is missing or a word.
    pub fn number(&self, name: &str) -> ebbing::Result<f64> {
        let value = self.settings.get(name);
        value.and_then(Value::number).ok_or_else(|| missing(name, value, "a number is needed"))
    }

    /// A setting that counts something.
    ///
    /// # Errors
    /// [`ebbing::Error::Setting`] where it is missing, negative or not whole.
    pub fn count(&self, name: &str) -> ebbing::Result<usize> {
        match self.settings.get(name) {
            Some(Value::Integer(n)) if *n >= 0 => Ok(*n as usize),
            value => Err(missing(name, value, "a whole number, at least 0, is needed")),
        }
    }

    /// A setting that is a word.
    ///
    /// # Errors
    /// [`ebbing::Error::Setting`] where it is missing or a number.
    pub fn text(&self, name: &str) -> ebbing::Result<&str> {
        match self.settings.get(name) {
            Some(Value::Text(text)) => Ok(text),
            value => Err(missing(name, value, "a word is needed")),
        }
    }
}

fn missing(name: &str, value: Option<&Value>, expected: &str) -> ebbing::Error {
    ebbing::Error::setting(name, value.map_or("missing".into(), Value::to_string), expected)
}

/// One row of a cell's result: named values in order. Settings and seed are added when rows are collected.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Row(pub Vec<(String, Value)>);

impl Row {
    /// A row without values.
    pub fn new() -> Row {
        Row::default()
    }

    /// With a value.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Row {
        self.0.push((name.into(), value.into()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_json() {
        let values = [0.1, f64::INFINITY, f64::NEG_INFINITY, 3.0, 1e-300].map(Value::Number);
        for value in values.into_iter().chain([Value::Integer(3), Value::Text("gd".into())]) {
            let text = serde_json::to_string(&value).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "{text}");
        }
        let nan: Value = serde_json::from_str(&serde_json::to_string(&Value::Number(f64::NAN)).unwrap()).unwrap();
        assert!(nan.number().unwrap().is_nan());
    }

    #[test]
    fn settings_say_what_is_wrong() {
        let cell = Cell::new(1).with("p", 200usize).with("ratio", 0.1).with("data", "mnist");
        assert_eq!((cell.count("p").unwrap(), cell.number("ratio").unwrap()), (200, 0.1));
        assert_eq!(cell.number("p").unwrap(), 200.0);
        let error = cell.count("ratio").unwrap_err().to_string();
        assert_eq!(error, "ratio is 0.1; a whole number, at least 0, is needed");
        assert!(cell.text("seeds").unwrap_err().to_string().contains("missing"));
    }
}
