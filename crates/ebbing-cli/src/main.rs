//! The `ebbing` program: arguments become checked settings, the library computes, the report shows.

use clap::Parser;

#[derive(Parser)]
#[command(name = "ebbing", version, about)]
struct Cli {}

fn main() {
    Cli::parse();
}
