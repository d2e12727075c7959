//! The subcommands, one file each. A new one is a file with its `Args` and `run`, and one line in each list below.

mod advise;
mod check;
mod cite;
mod completions;
mod data;
#[cfg(feature = "explore")]
mod explore;
mod forecast;
mod man;
mod phase;
mod sample;
pub mod study;
mod train;

use crate::console::Console;
use clap::Subcommand;

/// What the program can be asked to do.
#[derive(Subcommand)]
pub enum Command {
    Forecast(Box<forecast::Args>),
    Advise(Box<advise::Args>),
    Phase(Box<phase::Args>),
    Train(Box<train::Args>),
    Sample(Box<sample::Args>),
    Study(study::Args),
    Check(check::Args),
    Data(data::Args),
    #[cfg(feature = "explore")]
    Explore(explore::Args),
    Cite(cite::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Default for Command {
    /// What plain `ebbing` does.
    fn default() -> Self {
        Command::Forecast(Box::new(forecast::Args::plain()))
    }
}

impl Command {
    /// Does what was asked.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        match self {
            Command::Forecast(args) => args.run(console),
            Command::Advise(args) => args.run(console),
            Command::Phase(args) => args.run(console),
            Command::Train(args) => args.run(console),
            Command::Sample(args) => args.run(console),
            Command::Study(args) => args.run(console),
            Command::Check(args) => args.run(console),
            Command::Data(args) => args.run(console),
            #[cfg(feature = "explore")]
            Command::Explore(args) => args.run(console),
            Command::Cite(args) => args.run(console),
            Command::Completions(args) => args.run(console),
            Command::Man(args) => args.run(console),
        }
    }
}
