//! What a result folder is of: name, version, settings, data and the list of cells, with a checksum over them.

use super::digest;
use crate::cell::Cell;
use crate::error::{Error, Result};
use crate::study::Study;
use ebbing::Dataset;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A column of the result, as `study.json` holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredColumn {
    /// Its name.
    pub name: String,
    /// Its unit; empty if dimensionless.
    pub unit: String,
    /// What it means.
    pub meaning: String,
}

/// Everything that decides the results in a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The study's name.
    pub name: String,
    /// The version of the program that makes the results.
    pub version: String,
    /// The study's settings.
    pub settings: Value,
    /// SHA-256 of every data set that cells draw from.
    pub data: BTreeMap<String, String>,
    /// What the columns of the result are.
    pub columns: Vec<StoredColumn>,
    /// All cells, in the order in which they are collected.
    pub cells: Vec<Cell>,
}

/// The file `study.json`.
#[derive(Serialize, Deserialize)]
struct Stored {
    sha256: String,
    study: Value,
}

impl Manifest {
    /// What a study's folder holds; reads its data sets for their checksums.
    ///
    /// # Errors
    /// Where the settings make no grid, or a data set cannot be read.
    pub fn of(study: &Study) -> Result<Manifest> {
        let mut data = BTreeMap::new();
        for name in &study.data {
            let origin = Dataset::load(name)?.origin;
            data.insert(name.clone(), origin.sha256);
        }
        let column =
            |c: &crate::Column| StoredColumn { name: c.name.into(), unit: c.unit.into(), meaning: c.meaning.into() };
        Ok(Manifest {
            name: study.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            settings: study.settings.clone(),
            data,
            columns: study.columns.iter().map(column).collect(),
            cells: study.cells.clone(),
        })
    }

    /// As JSON, by which manifests are compared: what JSON cannot tell apart (a word `inf` and the number) is the same.
    fn json(&self) -> Result<Value> {
        serde_json::to_value(self).map_err(|e| Error::data("the study's settings", e.to_string()))
    }

    /// The checksum of what decides the result of every cell besides its own settings and the data that they name.
    pub(super) fn shared(&self) -> Result<String> {
        let mut shared = self.json()?;
        for key in ["cells", "columns", "data"] {
            shared.as_object_mut().and_then(|manifest| manifest.remove(key));
        }
        shared["settings"].as_object_mut().and_then(|settings| settings.remove("files"));
        Ok(digest(shared.to_string().as_bytes()))
    }

    /// The checksums of all data sets and task files, by what they are called.
    pub(super) fn contents(&self) -> BTreeMap<String, String> {
        let files = self.settings["files"].as_object().into_iter().flatten();
        let files = files.filter_map(|(path, sha256)| Some((format!("file {path}"), sha256.as_str()?.to_string())));
        let sets = self.data.iter().map(|(name, sha256)| (format!("data set {name}"), sha256.clone()));
        sets.chain(files).collect()
    }

    /// Whether every data set and task file of this one is the same in the other, which may have more.
    fn data_is_in(&self, other: &Manifest) -> bool {
        let theirs = other.contents();
        self.contents().iter().all(|(name, sha256)| theirs.get(name) == Some(sha256))
    }

    /// The content of `study.json`.
    pub(super) fn to_file(&self) -> Result<Vec<u8>> {
        let study = self.json()?;
        let stored = Stored { sha256: digest(study.to_string().as_bytes()), study };
        let mut text = serde_json::to_string_pretty(&stored).map_err(|e| Error::data("study.json", e.to_string()))?;
        text.push('\n');
        Ok(text.into_bytes())
    }

    /// Reads and verifies `study.json`.
    pub(super) fn read(path: &Path) -> Result<Manifest> {
        let bytes = std::fs::read(path).map_err(|e| ebbing::Error::io(path, e))?;
        let damaged = |what: String| -> Error {
            let expected = "restore it, or choose another folder for the results (--out)";
            ebbing::Error::file(path, "the content", what, expected).into()
        };
        let stored: Stored = serde_json::from_slice(&bytes).map_err(|e| damaged(format!("damaged ({e})")))?;
        let sha256 = digest(stored.study.to_string().as_bytes());
        if sha256 != stored.sha256 {
            return Err(damaged("damaged (the checksum differs)".into()));
        }
        serde_json::from_value(stored.study).map_err(|e| damaged(format!("of another version ({e})")))
    }

    /// Whether the folder holds just what is wanted, or (`false`) a part of its cells. Refuses a folder of another version,
    /// other settings, other data or other cells: nothing is mixed.
    pub(super) fn check_same(&self, wanted: &Manifest, path: &Path) -> Result<bool> {
        if self.shared()? == wanted.shared()? && self.columns == wanted.columns && self.data_is_in(wanted) {
            let keys = |manifest: &Manifest| manifest.cells.iter().map(super::cells::key).collect::<Result<Vec<_>>>();
            let (here, wanted) = (keys(self)?, keys(wanted)?);
            let every: std::collections::BTreeSet<&String> = wanted.iter().collect();
            if here == wanted || here.iter().all(|key| every.contains(key)) {
                return Ok(here == wanted);
            }
        }
        let (here, wanted) = (self.json()?, wanted.json()?);
        for key in ["version", "name", "settings", "data", "cells", "columns"] {
            if let Some((at, found, other)) = difference(key, &here[key], &wanted[key]) {
                let expected = format!(
                    "this study has {other}: choose another folder for it (--out), or take up the one that this folder \
                     belongs to"
                );
                return Err(ebbing::Error::file(path, at, found, expected).into());
            }
        }
        Ok(true)
    }
}

/// The first place where two values differ, and what stands there.
fn difference(at: &str, a: &Value, b: &Value) -> Option<(String, String, String)> {
    let short = |v: &Value| match v {
        Value::Null => "nothing".to_string(),
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(_) => "a table".to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let keys: std::collections::BTreeSet<&String> = x.keys().chain(y.keys()).collect();
            let of = |map: &serde_json::Map<String, Value>, key: &str| map.get(key).cloned().unwrap_or(Value::Null);
            keys.into_iter().find_map(|key| difference(&format!("{at}.{key}"), &of(x, key), &of(y, key)))
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            let pairs = x.iter().zip(y).enumerate();
            pairs.into_iter().find_map(|(k, (p, q))| difference(&format!("{at}[{}]", k + 1), p, q))
        }
        _ if a == b => None,
        _ => Some((at.to_string(), short(a), short(b))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_named() {
        let a = json!({ "p": 200, "grid": [1, { "ratio": 0.1 }] });
        assert_eq!(difference("settings", &a, &a.clone()), None);
        let b = json!({ "p": 200, "grid": [1, { "ratio": 0.2 }] });
        let found = difference("settings", &a, &b).unwrap();
        assert_eq!(found, ("settings.grid[2].ratio".into(), "0.1".into(), "0.2".into()));
        let c = json!({ "p": 200, "grid": [1] });
        assert_eq!(difference("settings", &a, &c).unwrap().1, "a list of 2");
        assert_eq!(difference("settings", &a, &json!({ "p": 200 })).unwrap().2, "nothing");
    }
}
