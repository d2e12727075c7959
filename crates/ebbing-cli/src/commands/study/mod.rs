//! `ebbing study`: a grid of settings and seeds, resumable, in parts, and on a cluster.

mod plot;
mod run;
mod running;
mod slurm;
mod status;

pub use running::{Wanted, part, print_bill, stated};
pub use slurm::Submission;

use crate::console::Console;
use clap::Subcommand;

/// Compute a grid of settings and seeds: resumable, in parts, on a cluster
///
/// A study is a TOML file: a command (forecast, phase, train or sample), its settings by the names of its flags, lists of
/// settings that vary, and seeds. Every finished cell is on disk at once; a second start does only what is missing.
#[derive(clap::Args)]
#[command(after_help = "Example, in depths.toml:
  command = \"forecast\"
  seeds = 5
  [settings]
  data = \"mnist\"
  examples = 600
  [grid]
  depth = [1, 3, 5]
  ratio = { linspace = [0.1, 1.0, 10] }
Then:
  ebbing study run depths.toml
  ebbing study plot depths --x ratio --y forgetting --by depth \\
      --where t=2 --where s=1")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Status(status::Args),
    Collect(status::CollectArgs),
    Plot(plot::Args),
    Submit(run::SubmitArgs),
}

impl Args {
    /// Does what was asked.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        match self.command {
            Command::Run(args) => args.run(console),
            Command::Status(args) => args.run(console),
            Command::Collect(args) => args.run(console),
            Command::Plot(args) => args.run(console),
            Command::Submit(args) => args.run(console),
        }
    }
}
