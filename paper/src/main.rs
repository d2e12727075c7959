//! `ebbing-paper`: the figures of the paper, each a study with its pictures, tidy data and claims.

mod claim;
mod commands;
mod figures;
mod statistics;

use clap::{Parser, Subcommand};
use commands::{figure, list};
use ebbing_cli::program::{Console, Global, Program, run};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: ebbing_cli::Allocator = ebbing_cli::Allocator;

/// The figures of the paper: pictures, data and claims.
#[derive(Parser)]
#[command(name = "ebbing-paper", version, max_term_width = 80, disable_help_subcommand = true, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ebbing-paper list
  ebbing-paper figure 6 --scale quick
Without installing it: cargo run --release -p ebbing-paper -- figure 6";

#[derive(Subcommand)]
enum Command {
    Figure(Box<figure::Args>),
    List(list::Args),
}

impl Program for Cli {
    fn global(&self) -> &Global {
        &self.global
    }

    fn run(self, console: &Console) -> anyhow::Result<()> {
        match self.command {
            Command::Figure(args) => args.run(console),
            Command::List(args) => args.run(console),
        }
    }
}

fn main() -> ExitCode {
    ExitCode::from(run::<Cli>(std::env::args_os().collect()))
}
