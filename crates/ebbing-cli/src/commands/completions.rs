//! `ebbing completions SHELL`: what a shell needs to complete the program's flags.

use crate::cli::Cli;
use crate::console::Console;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  ebbing completions bash > ~/.local/share/bash-completion/completions/ebbing
  ebbing completions zsh  > ~/.zfunc/_ebbing
  ebbing completions fish > ~/.config/fish/completions/ebbing.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

impl Args {
    /// Prints the script.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "ebbing", &mut script);
        console.print(&String::from_utf8(script)?)
    }
}
