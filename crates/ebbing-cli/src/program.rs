//! What a program beside `ebbing` stands on: the flags that every command knows, the way to talk to the user, the sentence and
//! exit code of an error, and the cells of a study, computed here, in parts or by Slurm.

pub use crate::cli::Global;
pub use crate::commands::study::{Submission, Wanted, part, print_bill, stated};
pub use crate::console::Console;
pub use crate::failure::Refused;

use crate::failure::Failure;
use std::ffi::OsString;

/// A program: its flags, and what it does with them.
pub trait Program: clap::Parser {
    /// What was typed, with the command that is meant where none was named.
    fn completed(words: Vec<OsString>) -> Vec<OsString> {
        words
    }

    /// The flags that every command knows.
    fn global(&self) -> &Global;

    /// Does what was asked.
    ///
    /// # Errors
    /// What becomes one sentence and an exit code: 2 for bad input, 1 for a fault of the machine.
    fn run(self, console: &Console) -> anyhow::Result<()>;
}

/// Runs a program with what was typed, its own name first, and returns its exit code.
pub fn run<P: Program>(words: Vec<OsString>) -> u8 {
    crate::guard::install();
    let done = crate::cli::typed::<P>(words).map_err(Failure::from_clap).and_then(|program| {
        let console = program.global().check()?;
        Ok(program.run(&console)?)
    });
    done.map_or_else(Failure::report, |()| 0)
}
