//! The `ebbing` program: arguments become checked settings, the library computes, the report shows. The binary and the Python
//! package both start it with [`run`].

mod cli;
mod commands;
mod console;
mod failure;
mod fetch;
mod files;
mod guard;
mod output;
mod results;

pub use guard::Allocator;

use std::ffi::OsString;

/// Runs the program with what was typed, its own name first, and returns its exit code.
pub fn run(words: Vec<OsString>) -> u8 {
    guard::install();
    match cli::Cli::typed(words).map_err(failure::Failure::from_clap).and_then(cli::Cli::run) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}
