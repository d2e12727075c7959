//! The `ebbing` program: arguments become checked settings, the library computes, the report shows. The binary and the Python
//! package both start it with [`run`]; a program beside it stands on the same ground, [`program`].

mod cli;
mod commands;
mod console;
mod failure;
mod fetch;
mod files;
mod flags;
mod guard;
mod output;
pub mod program;
mod results;

pub use guard::Allocator;

use std::ffi::OsString;

/// Runs the program with what was typed, its own name first, and returns its exit code.
pub fn run(words: Vec<OsString>) -> u8 {
    program::run::<cli::Cli>(words)
}
