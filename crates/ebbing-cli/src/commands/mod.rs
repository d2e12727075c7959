//! The subcommands, one file each. A new one is a file with its `Args` and `run`, and one line in each list below.

mod check;
mod cite;
mod completions;
mod data;

use crate::console::Console;
use clap::Subcommand;

/// What the program can be asked to do.
#[derive(Subcommand)]
pub enum Command {
    Check(check::Args),
    Data(data::Args),
    Cite(cite::Args),
    Completions(completions::Args),
}

impl Default for Command {
    /// What plain `ebbing` does.
    fn default() -> Self {
        Command::Check(check::Args::default())
    }
}

impl Command {
    /// Does what was asked.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        match self {
            Command::Check(args) => args.run(console),
            Command::Data(args) => args.run(console),
            Command::Cite(args) => args.run(console),
            Command::Completions(args) => args.run(console),
        }
    }
}
