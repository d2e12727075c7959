//! The subcommands, one file each. A new one is a file with its `Args` and `run`, and one line in each list below.

mod cite;
mod completions;
mod data;

use crate::console::Console;
use clap::Subcommand;

/// What the program can be asked to do.
#[derive(Subcommand)]
pub enum Command {
    Data(data::Args),
    Cite(cite::Args),
    Completions(completions::Args),
}

impl Default for Command {
    /// What plain `ebbing` does.
    fn default() -> Self {
        Command::Cite(cite::Args::default())
    }
}

impl Command {
    /// Does what was asked.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        match self {
            Command::Data(args) => args.run(console),
            Command::Cite(args) => args.run(console),
            Command::Completions(args) => args.run(console),
        }
    }
}
