//! The `ebbing` program.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: ebbing_cli::Allocator = ebbing_cli::Allocator;

fn main() -> ExitCode {
    ExitCode::from(ebbing_cli::run(std::env::args_os().collect()))
}
