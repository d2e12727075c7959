//! How results are shown: the figures, tables and one-file reports of the commands, whoever asks for them.
//!
//! | Item | What it is |
//! |---|---|
//! | [`Shown`] | figures and tables by the names of their files, and the report |
//! | [`forecast`], [`phase`], [`advise`] | what each of these results is shown as |
//! | [`metadata`], [`bibtex`] | what every file carries, and how to cite it |

pub mod advise;
mod cite;
pub mod forecast;
pub mod phase;

pub use cite::bibtex;

use ebbing::TaskSequence;
use ebbing::tasks::{Provenance, prepared_words};
use ebbing_show::{Figure, Metadata, Report, Result, Table, escape_markup, write_table};
use serde::Serialize;
use std::path::Path;

/// What a result is shown as; figures and the report carry the metadata.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Figures by the names of their files.
    pub figures: Vec<(&'static str, Figure)>,
    /// Tables by the names of their files.
    pub tables: Vec<(String, Table)>,
    /// The one-file report.
    pub report: Report,
}

impl Shown {
    /// Writes `report.html`, figures as SVG and PNG, and tables as CSV and Parquet into a folder.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn save(&self, folder: &Path, metadata: &Metadata) -> Result<()> {
        for (name, figure) in &self.figures {
            figure.save(folder, name)?;
        }
        for (name, table) in &self.tables {
            write_table(folder, name, table, metadata)?;
        }
        self.report.save(&folder.join("report.html"))
    }
}

/// What every file of a result carries: `line` is the command that computes it, `tasks` the settings of its sequence.
///
/// # Errors
/// Where settings cannot be written as JSON.
pub fn metadata(
    line: &str,
    command: &str,
    seed: Option<u64>,
    tasks: &Provenance,
    settings: &impl Serialize,
) -> Result<Metadata> {
    let mut metadata = Metadata::new(env!("CARGO_PKG_VERSION"), line)
        .settings(&serde_json::json!({ "command": command, "tasks": tasks, "settings": settings }))?;
    if let Some(seed) = seed {
        metadata = metadata.seed(seed);
    }
    let (name, hash) = tasks.dataset();
    Ok(metadata.dataset(&name, &hash))
}

/// What was done to inputs and targets, for the first line (markup): with a readout each, the classes of every task are told apart.
pub fn prepared(sequence: &TaskSequence, readout_each: bool) -> String {
    in_brackets(&prepared_words(&sequence.settings, &sequence.tasks, readout_each))
}

/// Plain words as the end of a line (markup).
pub fn in_brackets(words: &str) -> String {
    format!(" ({})", escape_markup(words))
}

/// "1 seed", "3 seeds".
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
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
