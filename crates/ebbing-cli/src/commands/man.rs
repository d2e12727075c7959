//! `ebbing man`: manual pages.

use crate::cli::Cli;
use crate::console::Console;
use clap::{Command, CommandFactory};
use ebbing::data::write_atomic;
use ebbing_show::Screen;
use std::path::PathBuf;

/// Print the manual page, or write one for every command
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  ebbing man | man -l -
  ebbing man ~/.local/share/man/man1")]
pub struct Args {
    /// The folder for all pages: ebbing.1, ebbing-forecast.1, …
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Args {
    /// Prints or writes.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let mut program = Cli::command();
        // Full names of all subcommands.
        program.build();
        let Some(folder) = &self.folder else {
            return console.print(&String::from_utf8(page(&program)?)?);
        };
        crate::files::make_folder(folder)?;
        let mut names = Vec::new();
        write(&program, folder, &mut names)?;
        let heading = format!("{} manual pages", names.len());
        let first = folder.join("ebbing.1").display().to_string();
        console.print(&Screen::new(&heading).next("read", &format!("man {first}")).render_for_stdout())
    }
}

/// The page of a command and those of its subcommands.
fn write(command: &Command, folder: &std::path::Path, names: &mut Vec<String>) -> anyhow::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
    write_atomic(&folder.join(format!("{name}.1")), &page(command)?)?;
    names.push(name);
    command.get_subcommands().filter(|c| !c.is_hide_set()).try_for_each(|c| write(c, folder, names))
}

fn page(command: &Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
