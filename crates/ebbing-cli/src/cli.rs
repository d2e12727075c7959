//! The flags that every subcommand knows, and the step from raw flags to checked settings.

use crate::commands::Command as Subcommand;
use crate::console::Console;
use crate::guard::output_is_closed;
use crate::program::Program;
use clap::{Args, Command, Parser};
use ebbing::Error;
use ebbing::plan::{MemoryLimit, Threads};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

/// Forecast what a neural network forgets when it learns tasks one after another, from the data alone.
#[derive(Parser)]
#[command(name = "ebbing", version, max_term_width = 80, disable_help_subcommand = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Subcommand>,
}

const EXAMPLES: &str = "\
Examples:
  ebbing                      what a plain run does, on embedded MNIST images
  ebbing --protocol permuted  the same of another kind of tasks
  ebbing check my-tasks.npz   what a task file holds and what it would cost
  ebbing data get mnist       fetch a whole data set
  ebbing COMMAND --help       options and an example for each command";

/// Flags that every subcommand knows.
#[derive(Debug, Args)]
pub struct Global {
    /// Threads to compute with [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", global = true, display_order = 900)]
    threads: Option<usize>,
    /// Print results and errors only: no remarks, no progress
    #[arg(long, short, global = true, display_order = 901)]
    quiet: bool,
    /// Start even where the estimate says that memory will not do
    #[arg(long, global = true, display_order = 902)]
    force: bool,
}

impl Global {
    /// Checks the flags, starts the threads, and returns the way to talk to the user.
    pub(crate) fn check(&self) -> anyhow::Result<Console> {
        if output_is_closed() {
            anyhow::bail!("standard output is closed, and results would be lost: send it somewhere");
        }
        let memory = if self.force { MemoryLimit::None } else { MemoryLimit::Machine };
        let console = Console::new(self.quiet, memory);
        if std::io::stdout().is_terminal()
            && let Some((_, columns)) = ::console::Term::stdout().size_checked()
        {
            ebbing_show::set_terminal_columns(usize::from(columns).min(200));
        }
        if self.threads == Some(0) {
            return Err(Error::setting("--threads", 0, "must be at least 1").into());
        }
        if let Some(threads) = Threads::asked(self.threads.map(|n| ("--threads", n))) {
            if let Some(sentence) = &threads.fewer {
                console.remark(sentence);
            }
            let started = rayon::ThreadPoolBuilder::new().num_threads(threads.used).build_global();
            started
                .map_err(|e| Error::setting(threads.by, threads.asked, format!("the threads did not start ({e})")))?;
        }
        Ok(console)
    }
}

/// The program's name, and what was typed, which begins with a name too.
static TYPED: OnceLock<(String, Vec<OsString>)> = OnceLock::new();

/// What the program is called in its sentences.
pub fn name() -> &'static str {
    TYPED.get().map_or("ebbing", |(name, _)| name)
}

/// What was typed after the program's name.
pub fn words() -> impl Iterator<Item = &'static OsString> {
    TYPED.get().into_iter().flat_map(|(_, words)| words).skip(1)
}

/// Every flag that takes a value takes a negative number, so that it is refused for its value and not as an unknown flag.
fn with_negative_numbers(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let takes = arg.get_action().takes_values() && !arg.is_positional();
        if takes { arg.allow_negative_numbers(true) } else { arg }
    });
    command.mut_subcommands(with_negative_numbers)
}

/// The program's flags from what was typed.
///
/// # Errors
/// What clap refuses.
pub fn typed<P: Program>(words: Vec<OsString>) -> Result<P, clap::Error> {
    let (_, words) = TYPED.get_or_init(|| (P::command().get_name().into(), P::completed(words)));
    let matches = with_negative_numbers(P::command()).try_get_matches_from(words)?;
    P::from_arg_matches(&matches)
}

/// Flags without a command are those of a forecast: `ebbing --protocol permuted`.
fn with_forecast(mut words: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        match word {
            "--threads" => at += 2,
            "--quiet" | "-q" | "--force" => at += 1,
            _ if word.starts_with("--threads=") => at += 1,
            "-h" | "--help" | "-V" | "--version" => return words,
            _ if word.starts_with('-') => {
                words.insert(at, "forecast".into());
                return words;
            }
            _ => return words,
        }
    }
    words
}

impl Program for Cli {
    fn completed(words: Vec<OsString>) -> Vec<OsString> {
        with_forecast(words)
    }

    fn global(&self) -> &Global {
        &self.global
    }

    fn run(self, console: &Console) -> anyhow::Result<()> {
        self.command.unwrap_or_default().run(console)
    }
}
