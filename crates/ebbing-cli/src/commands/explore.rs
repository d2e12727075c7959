//! `ebbing explore`: a page on this machine where one can play with one's tasks.

use crate::console::Console;
use ebbing_explore::{Explorer, Options};
use std::path::PathBuf;

/// Open a page on this machine where tasks, order, width and penalty can be moved
///
/// Everything is computed here: the server answers on 127.0.0.1 only, and nothing leaves the machine. Ctrl-C ends it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing explore                                 the embedded MNIST images
  ebbing explore --tasks my-tasks.npz
  ebbing explore --features layer.npz --classes-per-task 10
  ebbing explore --port 0 --no-browser           any free port; prints the address")]
pub struct Args {
    /// Your own tasks: FILE.npz, a folder of such files, or a FILE.toml recipe (see ebbing check --help)
    #[arg(long, value_name = "PATH")]
    tasks: Option<PathBuf>,
    /// Feature matrices instead of inputs, in such a file
    #[arg(long, value_name = "FILE", conflicts_with = "tasks")]
    features: Option<PathBuf>,
    /// Make tasks of K classes each out of one set of features and labels [default: five or ten tasks]
    #[arg(long, value_name = "K")]
    classes_per_task: Option<usize>,
    /// The port; 0 for any that is free [default: 8738, or any that is free]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Print the address and open no browser
    #[arg(long)]
    no_browser: bool,
}

impl Args {
    /// Serves until Ctrl-C.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let Args { tasks, features, classes_per_task, port, no_browser } = self;
        let options = Options { tasks, features, classes_per_task, port, browser: !no_browser, ..Options::default() };
        let explorer = Explorer::new(options)?;
        console.print(&format!("{}\n", explorer.url()))?;
        console.remark("Ctrl-C ends it.");
        Ok(explorer.run(&|sentence| console.remark(sentence))?)
    }
}
