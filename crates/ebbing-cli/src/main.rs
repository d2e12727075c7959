//! The `ebbing` program: arguments become checked settings, the library computes, the report shows.

mod cli;
mod commands;
mod console;
mod failure;
mod fetch;
mod files;
mod guard;
mod output;

use std::process::ExitCode;

fn main() -> ExitCode {
    guard::install();
    match cli::Cli::typed().map_err(failure::Failure::from_clap).and_then(cli::Cli::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
