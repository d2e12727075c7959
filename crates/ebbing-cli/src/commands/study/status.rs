//! `ebbing study status` and `ebbing study collect`: a folder of results as it is.

use crate::console::Console;
use ebbing_show::{Screen, Table, escape_markup};
use ebbing_studies::{CellState, Store};
use serde_json::json;
use std::path::PathBuf;

/// How many failures are printed in full.
const SHOWN_IN_FULL: usize = 5;

/// Show how many cells are done, running, failed or missing
#[derive(clap::Args)]
#[command(after_help = "Example:
  ebbing study status depths")]
pub struct Args {
    /// The folder of results
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Collect the rows of all cells into one table, CSV and Parquet
#[derive(clap::Args)]
#[command(after_help = "Example:
  ebbing study collect depths")]
pub struct CollectArgs {
    /// The folder of results
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Collect the cells that are done, where others are not
    #[arg(long)]
    partial: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Looks and prints.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let store = Store::open(&self.folder)?;
        let status = store.status()?;
        let names = ["done", "running", "failed", "damaged", "missing"];
        let of = |state: &CellState| match state {
            CellState::Done => 0,
            CellState::Running => 1,
            CellState::Failed(_) => 2,
            CellState::Damaged(_) => 3,
            CellState::Missing => 4,
        };
        let counts: Vec<i64> = (0..names.len()).map(|k| status.count(|state| of(state) == k) as i64).collect();
        let troubles = status.cells.iter().enumerate().filter_map(|(k, state)| match state {
            CellState::Failed(why) | CellState::Damaged(why) => Some((k + 1, why)),
            _ => None,
        });
        let troubles: Vec<(usize, &String)> = troubles.collect();
        let manifest = store.manifest();
        if self.json {
            let counted: serde_json::Map<_, _> =
                names.iter().zip(&counts).map(|(name, n)| (name.to_string(), json!(n))).collect();
            return console.print_json(&json!({
                "study": manifest.name, "version": manifest.version, "cells": store.count(), "counts": counted,
                "troubles": troubles.iter().map(|(k, why)| json!({ "cell": k, "why": why })).collect::<Vec<_>>(),
            }));
        }
        let heading = format!("Study {} in {}", manifest.name, self.folder.display());
        let mut screen = Screen::new(&escape_markup(&heading))
            .table(&Table::new("").text("cells", &names).integer("number", &counts))?;
        for (number, why) in troubles.iter().take(SHOWN_IN_FULL) {
            screen = screen.paragraph(&escape_markup(&format!("Cell {number}: {why}")));
        }
        if troubles.len() > SHOWN_IN_FULL {
            screen = screen.paragraph(&format!("… and {} more.", troubles.len() - SHOWN_IN_FULL));
        }
        if status.done() == store.count() {
            screen = screen.next("more", &format!("ebbing study collect {}", self.folder.display()));
        }
        console.print(&screen.render_for_stdout())
    }
}

impl CollectArgs {
    /// Collects and prints.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let store = Store::open(&self.folder)?;
        let frame = store.frame(self.partial)?;
        let name = store.manifest().name.clone();
        let [csv, parquet] = store.collect(&frame, &name)?;
        let done = store.status()?.done();
        if self.json {
            let files = [csv.display().to_string(), parquet.display().to_string()];
            let answer =
                json!({ "study": name, "cells": store.count(), "done": done, "rows": frame.len(), "files": files });
            return console.print_json(&answer);
        }
        let heading = format!("Study {name}: {} rows of {done} cells", frame.len());
        let screen = Screen::new(&escape_markup(&heading))
            .next("result", &format!("{} and {}", csv.display(), parquet.display()))
            .next("more", &format!("ebbing study plot {} --x COLUMN --y COLUMN", self.folder.display()));
        console.print(&screen.render_for_stdout())
    }
}
