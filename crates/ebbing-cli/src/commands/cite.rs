//! `ebbing cite`: BibTeX of the paper whose theory this is, and of the program.

use crate::console::Console;
use ebbing_show::bibtex;

/// Print BibTeX entries of the theory's paper and of this program
#[derive(clap::Args, Default)]
#[command(after_help = "Example:\n  ebbing cite >> references.bib")]
pub struct Args {}

impl Args {
    /// Prints both entries.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        console.print(&bibtex())
    }
}
