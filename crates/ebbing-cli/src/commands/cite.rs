//! `ebbing cite`: BibTeX of the paper whose theory this is, and of the program.

use crate::console::Console;

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

/// Both entries.
pub fn bibtex() -> String {
    format!(
        "\
@misc{{shan2024order,
  author        = {{Shan, Haozhe and Li, Qianyi and Sompolinsky, Haim}},
  title         = {{Order parameters and phase transitions of continual learning
                   in deep neural networks}},
  year          = {{2024}},
  eprint        = {{2407.10315}},
  archivePrefix = {{arXiv}},
}}

@software{{ebbing,
  author  = {{{{{authors}}}}},
  title   = {{ebbing: forecasts of what a neural network forgets}},
  version = {{{version}}},
  year    = {{2026}},
  url     = {{{url}}},
}}
",
        authors = env!("CARGO_PKG_AUTHORS"),
        version = env!("CARGO_PKG_VERSION"),
        url = env!("CARGO_PKG_REPOSITORY"),
    )
}
