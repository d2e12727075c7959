//! Where a result comes from: carried by every file that is written.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// Program, command, seed, data and settings behind a result; the same in every format.
///
/// No time and no machine name: the same run gives the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Name of the program.
    pub program: String,
    /// Its version.
    pub version: String,
    /// The command, as it can be typed again.
    pub command: String,
    /// Seed of the random streams, where any were used.
    pub seed: Option<u64>,
    /// The data set or task file.
    pub dataset: String,
    /// SHA-256 of the data, in hexadecimal.
    pub dataset_sha256: String,
    /// All settings, including those left at their defaults.
    pub settings: Value,
}

impl Metadata {
    /// Metadata of one run of the program.
    pub fn new(version: &str, command: &str) -> Metadata {
        Metadata {
            program: "ebbing".into(),
            version: version.into(),
            command: command.into(),
            seed: None,
            dataset: String::new(),
            dataset_sha256: String::new(),
            settings: Value::Null,
        }
    }

    /// Metadata of an answer: `line` is what computes it, `tasks` the settings of its sequence, which name its data.
    ///
    /// # Errors
    /// Where settings cannot be written as JSON.
    pub fn of(
        line: &str,
        command: &str,
        seed: Option<u64>,
        tasks: &ebbing::tasks::Provenance,
        settings: &impl Serialize,
    ) -> Result<Metadata> {
        let settings = json!({ "command": command, "tasks": tasks, "settings": settings });
        let (dataset, dataset_sha256) = tasks.dataset();
        let metadata = Metadata::new(env!("CARGO_PKG_VERSION"), line).settings(&settings)?;
        Ok(Metadata { seed, dataset, dataset_sha256, ..metadata })
    }

    /// With the seed of the random streams.
    pub fn seed(mut self, seed: u64) -> Metadata {
        self.seed = Some(seed);
        self
    }

    /// With the name and hash of the data.
    pub fn dataset(mut self, name: &str, sha256: &str) -> Metadata {
        self.dataset = name.into();
        self.dataset_sha256 = sha256.into();
        self
    }

    /// With the settings. JSON has no infinity: a setting that can be infinite must serialize it as text.
    ///
    /// # Errors
    /// When the settings do not serialize as JSON.
    pub fn settings(mut self, settings: &impl Serialize) -> Result<Metadata> {
        self.settings = serde_json::to_value(settings)
            .map_err(|e| Error::shape("settings", format!("cannot be written as JSON: {e}")))?;
        Ok(self)
    }

    /// As one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{}".into())
    }

    /// As names and one-line values, in a fixed order; what is not known is left out.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries = vec![
            ("program", self.program.clone()),
            ("version", self.version.clone()),
            ("command", self.command.clone()),
        ];
        if let Some(seed) = self.seed {
            entries.push(("seed", seed.to_string()));
        }
        if !self.dataset.is_empty() {
            entries.push(("dataset", self.dataset.clone()));
        }
        if !self.dataset_sha256.is_empty() {
            entries.push(("dataset_sha256", self.dataset_sha256.clone()));
        }
        if !self.settings.is_null() {
            entries.push(("settings", self.settings.to_string()));
        }
        entries
    }
}
