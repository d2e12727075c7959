//! `ebbing check FILE`: what a file of tasks holds, what would be computed with it, what that costs, what is wrong.

use crate::console::Console;
use crate::failure::Refused;
use crate::flags::Flags;
use ebbing::request::{CheckAnswer, CheckRequest};
use ebbing_show::check::account;
use ebbing_show::stdout_takes_styles;

/// Say what a task file holds and costs, and what is wrong with it
#[derive(clap::Args)]
#[command(after_help = "\
FILE is an .npz file with x_1, y_1, x_2, y_2, … (and x_1_test, y_1_test, …), a
folder of such files, or a .toml file that names a data set and a protocol. An
.npz file, .npy files or a .mat file may also hold one set of features and labels
(x_train, y_train, x_test, y_test): --classes-per-task makes tasks of it.
Without it the embedded sample is checked: five permuted tasks of MNIST.

Examples:
  ebbing check my-tasks.npz
  ebbing check recordings.npz --features         x_1, … are features, as forecast
                                                 --features takes them
  ebbing check clinc.npz --features --classes-per-task 15
                                                 one set of features and labels
  ebbing check recipe.toml --json")]
pub struct Args {
    #[command(flatten)]
    request: Flags<CheckRequest>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the account; a file that cannot be used ends the run with its first problem.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let CheckRequest { file, features, classes_per_task, seed } = &self.request.0;
        let CheckAnswer { name, check } = self.request.0.run(&console.context())?;
        if self.json {
            console.print_json(&check)?;
        } else {
            let flag = if *features { "--features" } else { "--tasks" };
            let mut file = file.as_ref().map(|path| format!(" {flag} {}", path.display())).unwrap_or_default();
            file += &classes_per_task.map(|classes| format!(" --classes-per-task {classes}")).unwrap_or_default();
            file += &if *seed > 0 { format!(" --seed {seed}") } else { String::new() };
            console.print(&account(&name, &file, &check, stdout_takes_styles()))?;
        }
        match check.problems.split_first() {
            None if check.usable() => Ok(()),
            None => Err(Refused(format!("{name}: it holds no tasks")).into()),
            Some((first, [])) => Err(Refused(first.clone()).into()),
            Some((first, others)) => Err(Refused(format!("{first} (and {} more problems)", others.len())).into()),
        }
    }
}
