//! The flags that every subcommand knows, and the step from raw flags to checked settings.

use crate::commands::Command;
use crate::console::Console;
use crate::failure::Failure;
use clap::{Args, Parser};
use ebbing::Error;

/// Forecast what a neural network forgets when it learns tasks one after another, from the data alone.
#[derive(Parser)]
#[command(name = "ebbing", version, max_term_width = 80, disable_help_subcommand = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  ebbing                      what a plain run does, on embedded MNIST images
  ebbing check my-tasks.npz   what a task file holds and what it would cost
  ebbing data get mnist       fetch a whole data set
  ebbing COMMAND --help       options and an example for each command";

/// Flags that every subcommand knows.
#[derive(Args)]
struct Global {
    /// Threads to compute with [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", global = true, display_order = 900)]
    threads: Option<usize>,
    /// Print results and errors only: no remarks, no progress
    #[arg(long, short, global = true, display_order = 901)]
    quiet: bool,
}

/// The most threads that `--threads` takes.
const MOST_THREADS: usize = 1024;

impl Global {
    /// Checks the flags, starts the threads, and returns the way to talk to the user.
    fn check(&self) -> ebbing::Result<Console> {
        if let Some(n) = self.threads {
            if !(1..=MOST_THREADS).contains(&n) {
                return Err(Error::setting("--threads", n, format!("must lie in 1 … {MOST_THREADS}")));
            }
            rayon::ThreadPoolBuilder::new()
                .num_threads(n)
                .build_global()
                .map_err(|e| Error::setting("--threads", n, format!("the threads did not start ({e})")))?;
        }
        Ok(Console::new(self.quiet))
    }
}

impl Cli {
    /// Runs the subcommand that was asked for, or the one that stands for none.
    pub fn run(self) -> Result<(), Failure> {
        let console = self.global.check()?;
        self.command.unwrap_or_default().run(&console).map_err(Failure::from)
    }
}
