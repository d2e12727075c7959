//! The flags that say where results go, and what every file carries.

use crate::console::Console;
use crate::files::OutFolder;
use clap::Args;
use ebbing::Context;
use ebbing::request::{Request, quoted};
use ebbing_show::{Metadata, Show, Shown};
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
    /// Refuses, before any work is done, a request that cannot be answered, one that this machine has not the memory for, and a
    /// folder that cannot be written or that another run is writing. Keep what is returned until the end.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub fn begin(&self, request: impl Into<Request>, context: &Context) -> anyhow::Result<Option<OutFolder>> {
        request.into().check_before(context)?;
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
        tasks: &ebbing::tasks::Provenance,
        settings: &impl Serialize,
    ) -> anyhow::Result<Metadata> {
        let typed: Vec<String> = crate::cli::words().map(|a| quoted(&a.to_string_lossy())).collect();
        let line = if typed.is_empty() { format!("ebbing {command}") } else { format!("ebbing {}", typed.join(" ")) };
        Ok(Metadata::of(&line, command, seed, tasks, settings)?)
    }

    /// Writes the files of an answer, all of them or none, if there is a folder for them, and prints it; `names` are the command
    /// and its JSON file.
    ///
    /// # Errors
    /// If a file cannot be written, or the output is closed.
    pub fn finish(
        &self,
        console: &Console,
        names: (&str, &str),
        metadata: &Metadata,
        answer: &impl Show,
    ) -> anyhow::Result<()> {
        self.finish_with(console, names, metadata, answer, |_| ())
    }

    /// The same, with more on the page.
    ///
    /// # Errors
    /// As for [`Output::finish`].
    pub fn finish_with(
        &self,
        console: &Console,
        (command, file): (&str, &str),
        metadata: &Metadata,
        answer: &impl Show,
        more: impl FnOnce(&mut Shown),
    ) -> anyhow::Result<()> {
        let mut json = answer.json();
        json["metadata"] = serde_json::to_value(metadata)?;
        if self.json && self.out.is_none() {
            return console.print_json(&json);
        }
        let mut shown = answer.shown()?;
        if let Some(folder) = &self.out {
            crate::results::save(folder, command, |folder| {
                shown.save(folder, metadata)?;
                let text = serde_json::to_string_pretty(&json)? + "\n";
                Ok(ebbing::data::write_atomic(&folder.join(format!("{file}.json")), text.as_bytes())?)
            })?;
        }
        if self.json {
            return console.print_json(&json);
        }
        more(&mut shown);
        let screen = match &self.out {
            Some(folder) => shown.screen()?.next("report", &folder.join("report.html").display().to_string()),
            None => shown.next.iter().fold(shown.screen()?, |screen, (what, how)| screen.next(what, how)),
        };
        console.print(&screen.render_for_stdout())
    }
}
