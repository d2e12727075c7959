//! `ebbing check FILE`: what a file of tasks holds, what would be computed with it, what that costs, what is wrong.

use crate::console::Console;
use crate::failure::Refused;
use ebbing::Context;
use ebbing::data::Preprocess;
use ebbing::plan::Memory;
use ebbing::tasks::{Permuted, TaskCheck, check_sequence, check_tasks};
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing::{Dataset, Forecast, Recipe, Source, TaskSequence};
use ebbing_show::check::account;
use ebbing_show::stdout_takes_styles;
use std::path::{Path, PathBuf};

/// Say what a task file holds and costs, and what is wrong with it
#[derive(clap::Args, Default)]
#[command(after_help = "\
FILE is an .npz file with x_1, y_1, x_2, y_2, … (and x_1_test, y_1_test, …), a
folder of such files, or a .toml file that names a data set and a protocol.
Without it the embedded sample is checked: five permuted tasks of MNIST.

Examples:
  ebbing check my-tasks.npz
  ebbing check recordings.npz --features         x_1, … are features, as forecast
                                                 --features takes them
  ebbing check recipe.toml --json")]
pub struct Args {
    /// The file or folder
    file: Option<PathBuf>,
    /// Inputs are features (of a network's layer, of neurons): kernels are their products
    #[arg(long, requires = "file")]
    features: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the account; a file that cannot be used ends the run with its first problem.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let context = console.context();
        let (name, mut check) = match &self.file {
            Some(path) => (path.display().to_string(), check_tasks(path, context.plan())),
            None => ("embedded sample of MNIST".into(), check_sample(context.plan())?),
        };
        if self.features {
            check.of_features();
        }
        if let Some(path) = self.file.as_ref().filter(|_| check.usable()) {
            try_out(path, self.features, &mut check, &context);
        }
        if self.json {
            console.print_json(&check)?;
        } else {
            let flag = if self.features { "--features" } else { "--tasks" };
            let file = self.file.as_ref().map(|path| format!(" {flag} {}", path.display())).unwrap_or_default();
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

/// Trials that would take longer are left out.
const LONGEST_TRIAL: f64 = 20.0;

/// Computes what the commands would, and keeps what they refuse: a kernel that is singular shows only then.
fn try_out(path: &Path, features: bool, check: &mut TaskCheck, context: &Context) {
    let recipe = path.extension().is_some_and(|ending| ending == "toml");
    let read = if recipe { Recipe::read(path).and_then(|r| r.sequence()) } else { TaskSequence::load(path) };
    // What cannot be read is among the problems already.
    let Ok(sequence) = read else { return };
    let settings = ForecastSettings { order: false, features, ..ForecastSettings::default() };
    for computation in check.computations.iter_mut().filter(|c| c.refused.is_none()) {
        if computation.seconds - computation.order_seconds > LONGEST_TRIAL {
            let untried = format!("ebbing {} was not tried out: it would take too long here", computation.command);
            check.warnings.push(untried);
            continue;
        }
        let tried = match computation.command.as_str() {
            "forecast" => Forecast::of(std::slice::from_ref(&sequence), &settings, context).map(|_| ()),
            // Of more than two tasks every two that follow each other: each kernel is seen.
            _ => sequence.tasks.windows(2).try_for_each(|pair| {
                let two = TwoTasks::new(pair, &MultiHeadSettings::default(), context)?;
                two.critical_load().map(|_| ())
            }),
        };
        computation.refused = tried.err().map(|error| error.to_string());
    }
    let forecast = check.computations.iter().find(|c| c.command == "forecast");
    check.problems.extend(forecast.and_then(|c| c.refused.clone()));
}

/// The sequence that stands for none: five permuted tasks of the embedded sample.
fn check_sample(memory: &Memory) -> ebbing::Result<TaskCheck> {
    let source = Source::new(Dataset::sample()?, &Preprocess::default())?;
    Ok(check_sequence(&Permuted::default().generate(&source, 1)?, memory))
}
