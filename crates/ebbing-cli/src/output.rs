//! The flags that say where results go, and what every file carries.

use crate::files::OutFolder;
use clap::Args;
use ebbing_report::Metadata;
use ebbing_studies::Job;
use serde::Serialize;
use std::path::PathBuf;

/// Where results go.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Write figures, tables and settings into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl Output {
    /// Refuses, before any work is done, a job that cannot be done, one that this machine has not the memory for, and a
    /// folder that cannot be written or that another run is writing. Keep what is returned until the end.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub fn begin(&self, job: impl Into<Job>) -> anyhow::Result<Option<OutFolder>> {
        let job = job.into();
        job.check()?;
        job.check_memory()?;
        self.out.as_deref().map(OutFolder::take).transpose()
    }

    /// What every file of this run carries.
    ///
    /// # Errors
    /// Where settings cannot be written as JSON.
    pub fn metadata(
        &self,
        command: &str,
        seed: Option<u64>,
        tasks: &serde_json::Value,
        settings: &impl Serialize,
    ) -> anyhow::Result<Metadata> {
        let typed: Vec<String> = crate::cli::words().map(|a| quoted(&a.to_string_lossy())).collect();
        let line = if typed.is_empty() { format!("ebbing {command}") } else { format!("ebbing {}", typed.join(" ")) };
        let mut metadata = Metadata::new(env!("CARGO_PKG_VERSION"), &line)
            .settings(&serde_json::json!({ "command": command, "tasks": tasks, "settings": settings }))?;
        if let Some(seed) = seed {
            metadata = metadata.seed(seed);
        }
        let (name, hash) = dataset(tasks);
        Ok(metadata.dataset(&name, &hash))
    }

    /// Writes a JSON file into the folder, if there is one.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        if let Some(folder) = &self.out {
            let mut text = serde_json::to_string_pretty(value)?;
            text.push('\n');
            ebbing::data::write_atomic(&folder.join(name), text.as_bytes())?;
        }
        Ok(())
    }
}

/// The name and hash of the data behind a sequence, as its settings tell them: those of the data set, or of the files.
fn dataset(tasks: &serde_json::Value) -> (String, String) {
    let text = |value: Option<&serde_json::Value>| value.and_then(|v| v.as_str()).unwrap_or_default().to_string();
    if let Some(data) = tasks.get("data") {
        return (text(data.get("dataset")), text(data.get("sha256")));
    }
    let files = tasks.get("files").and_then(|f| f.as_array()).map(Vec::as_slice).unwrap_or_default();
    let all = |key: &str| files.iter().map(|file| text(file.get(key))).collect::<Vec<_>>().join(", ");
    (all("file"), all("sha256"))
}

/// An argument as it can be typed again in a shell.
pub fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_string()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}
