//! The flags for where results go, and the metadata of every file.

use crate::files::OutFolder;
use clap::Args;
use ebbing::Context;
use ebbing_show::Metadata;
use ebbing_studies::Job;
use ebbing_studies::show::{self, quoted};
use serde::Serialize;
use std::path::{Path, PathBuf};

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
    /// Refuses, before any work is done, a job with wrong settings, one that does not fit into memory, and a
    /// folder that cannot be written or that another run is using. Keep the returned lock until the end.
    ///
    /// # Errors
    /// One sentence on what is wrong.
    pub fn begin(&self, job: impl Into<Job>, context: &Context) -> anyhow::Result<Option<OutFolder>> {
        let job = job.into();
        job.check()?;
        job.check_memory(context)?;
        self.out.as_deref().map(OutFolder::take).transpose()
    }

    /// The metadata of every file of this run.
    ///
    /// # Errors
    /// If settings cannot be written as JSON.
    pub fn metadata(
        &self,
        command: &str,
        seed: Option<u64>,
        tasks: &ebbing::tasks::Provenance,
        settings: &impl Serialize,
    ) -> anyhow::Result<Metadata> {
        let typed: Vec<String> = crate::cli::words().map(|a| quoted(&a.to_string_lossy())).collect();
        let line = if typed.is_empty() { format!("ebbing {command}") } else { format!("ebbing {}", typed.join(" ")) };
        Ok(show::metadata(&line, command, seed, tasks, settings)?)
    }

    /// Writes the files of a command's result, if there is a folder for them: all of them or none. `write` fills the folder that it
    /// is passed.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn save(&self, command: &str, write: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.out.as_deref().map_or(Ok(()), |folder| crate::results::save(folder, command, write))
    }
}

/// Writes a JSON file.
///
/// # Errors
/// Where it cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(ebbing::data::write_atomic(path, text.as_bytes())?)
}
