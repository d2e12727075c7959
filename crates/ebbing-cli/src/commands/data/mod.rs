//! `ebbing data …`: what data sets there are, and how they come here.

mod get;
mod import;
mod list;
mod verify;

use crate::console::Console;
use ebbing::data::{KnownSet, Targets, Verification};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// List, fetch, import and verify data sets
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  ebbing data list
  ebbing data get mnist
  ebbing data import my-images.npz --name mine
  ebbing data verify")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    List(list::Args),
    Get(get::Args),
    Import(import::Args),
    Verify(verify::Args),
}

impl Args {
    /// Does what was asked.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        match self.action {
            Action::List(args) => args.run(console),
            Action::Get(args) => args.run(console),
            Action::Import(args) => args.run(console),
            Action::Verify(args) => args.run(console),
        }
    }
}

/// "10 classes" or "2 target columns".
fn kind_of(targets: &Targets) -> String {
    match targets {
        Targets::Classes(classes) => format!("{} classes", classes.iter().collect::<BTreeSet<_>>().len()),
        Targets::Real(m) if m.ncols() == 1 => "real targets".into(),
        Targets::Real(m) => format!("{} target columns", m.ncols()),
    }
}

/// A verified copy, in words.
fn describe(verified: &Verification) -> String {
    let ((train, test), found) = (verified.rows, &verified.found);
    let mut text = format!("{} ({}): {train} training and {test} test examples\n", found.name, found.place);
    text += &format!("  content {}\n", verified.sha256);
    if verified.differences.is_empty() && KnownSet::named(&found.name).is_some() {
        text += "  agrees with the official set in size, shape and classes\n";
    }
    for difference in &verified.differences {
        text += &format!("  not the official set: {difference}\n");
    }
    for file in &verified.files {
        text += &format!("  {}\n    sha256 {}\n", file.path.display(), file.sha256);
        if let Some(source) = file.published {
            text += &format!("    as published in {source}\n");
        }
    }
    text
}

/// A verified copy, for machines.
fn to_json(verified: &Verification) -> Value {
    let file = |f: &ebbing::data::FileCheck| json!({ "path": f.path, "sha256": f.sha256, "published": f.published });
    json!({
        "name": verified.found.name,
        "place": verified.found.place,
        "train": verified.rows.0,
        "test": verified.rows.1,
        "sha256": verified.sha256,
        "files": verified.files.iter().map(file).collect::<Vec<_>>(),
        "differences": verified.differences,
    })
}
