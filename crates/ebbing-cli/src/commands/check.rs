//! `ebbing check FILE`: what a file of tasks holds, what would be computed with it, what that costs, what is wrong.

use crate::console::Console;
use crate::failure::Refused;
use ebbing::Context;
use ebbing::data::Preprocess;
use ebbing::plan::Memory;
use ebbing::plan::{size, time};
use ebbing::tasks::{Permuted, TargetSummary, TaskCheck, TaskSummary, check_sequence, check_tasks};
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::multi_head::{MultiHeadSettings, TwoTasks};
use ebbing::{Dataset, Forecast, Recipe, Source, TaskSequence};
use ebbing_show::{Style, stdout_takes_styles, wrap};
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
                TwoTasks::new(pair, &MultiHeadSettings::default(), context)
                    .and_then(|two| two.critical_load())
                    .map(|_| ())
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

/// The account in words; `file` is how to name the tasks to the commands that compute with them.
fn account(name: &str, file: &str, check: &TaskCheck, styled: bool) -> String {
    let mut text = wrap(&heading(name, check), "", "  ");
    if !check.tasks.is_empty() {
        text += &format!("\n{}", tasks_table(&check.tasks));
        text += &common_inputs(check);
    }
    if !check.computations.is_empty() {
        text += "\ncommand     time         memory   what\n--------------------------------------------------\n";
    }
    for computation in &check.computations {
        let command = &computation.command;
        match &computation.refused {
            Some(why) => {
                let told = wrap(&format!("no: {why}"), &format!("{command:10}  "), &" ".repeat(12));
                text += &told.replacen("no:", &Style::Bad.on("no:", styled), 1);
            }
            None => {
                let (took, memory) = (time(computation.seconds), size(computation.cost.bytes));
                let first = format!("{command:10}  {took:11}  {memory:>7}  ");
                text += &wrap(&computation.what, &first, &" ".repeat(34));
            }
        }
    }
    // Each thing once: what a command refuses stands in its line.
    let told = |problem: &&String| !check.computations.iter().any(|c| c.refused.as_ref() == Some(problem));
    let problems: Vec<String> = check.problems.iter().filter(told).cloned().collect();
    for (title, lines) in [("notes", &check.notes), ("warnings", &check.warnings), ("problems", &problems)] {
        if !lines.is_empty() {
            let bad = styled && title == "problems";
            text += &format!("\n{}\n", Style::Bad.on(title, bad));
            lines.iter().for_each(|line| text += &wrap(line, "  ", "    "));
        }
    }
    if check.usable() {
        text.push('\n');
        for computation in check.computations.iter().filter(|c| c.refused.is_none()) {
            text += &format!("more: ebbing {}{file}\n", computation.command);
        }
    }
    text
}

/// "my-tasks.npz (npz file): 3 tasks of 784 features, 1 target column".
fn heading(name: &str, check: &TaskCheck) -> String {
    let (count, first) = (check.tasks.len(), check.tasks.first());
    let plural = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
    let mut text = format!("{name} ({}): {}", check.kind, plural(count, "task"));
    if let Some(task) = first {
        text += &format!(" of {}, {}", plural(task.dim, "feature"), plural(task.targets.len(), "target column"));
    }
    text
}

fn tasks_table(tasks: &[TaskSummary]) -> String {
    let label = |(t, task): (usize, &TaskSummary)| {
        let name: String = task.name.chars().take(20).collect();
        if name.is_empty() || name == format!("task {}", t + 1) {
            (t + 1).to_string()
        } else {
            format!("{} {name}", t + 1)
        }
    };
    let labels: Vec<String> = tasks.iter().enumerate().map(label).collect();
    let width = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0).max(4);
    let mut text = format!("{:width$}  examples    test  |x|²/N0  targets\n", "task");
    text += &format!("{}\n", "-".repeat(width + 45));
    for (label, task) in labels.iter().zip(tasks) {
        let first = format!("{label:width$}  {:>8}  {:>6}  {:>7}  ", task.p, task.p_test, norms(task.norm2));
        text += &wrap(&targets(&task.targets), &first, &" ".repeat(width + 29));
    }
    text
}

/// One norm if they are equal to the digits shown, else the mean with a mark.
fn norms([low, mean, high]: [f64; 3]) -> String {
    let mark = if (high - low) < 5e-3 * high { "" } else { "~" };
    format!("{mark}{mean:.3}")
}

fn targets(columns: &[TargetSummary]) -> String {
    let column = |c: &TargetSummary| match c {
        TargetSummary::Range(low, high) => format!("{low} … {high}"),
        TargetSummary::Values(values) => {
            values.iter().map(|(value, n)| format!("{n}× {value}")).collect::<Vec<_>>().join(", ")
        }
    };
    // How many examples name each column, where every row names one.
    let ones = |c: &TargetSummary| match c {
        TargetSummary::Values(values) if values.iter().all(|(v, _)| *v == 0.0 || *v == 1.0) => {
            Some(values.iter().find(|(v, _)| *v == 1.0).map_or(0, |(_, n)| *n))
        }
        _ => None,
    };
    match columns {
        [one] => column(one),
        many if many.iter().all(|c| ones(c).is_some()) => {
            let named = many.iter().enumerate().filter_map(|(k, c)| ones(c).filter(|&n| n > 0).map(|n| (k + 1, n)));
            let counts: Vec<String> = named.map(|(k, n)| format!("{n} in column {k}")).collect();
            format!("{} columns: {}", many.len(), counts.join(", "))
        }
        [first, ..] => format!("{} columns, the first: {}", columns.len(), column(first)),
        [] => "none".into(),
    }
}

/// How many inputs the tasks share, in a sentence.
fn common_inputs(check: &TaskCheck) -> String {
    let total: usize = check.tasks.iter().map(|task| task.p).sum();
    let pairs = |t: usize| (0..t).map(move |s| (t, s));
    let sharing = (0..check.shared.len()).flat_map(pairs).filter(|&(t, s)| check.shared[t][s] > 0).count();
    match sharing {
        0 => String::new(),
        _ => wrap(
            &format!("{} different inputs among {total} examples: {sharing} pairs of tasks share some", check.distinct),
            "\n",
            "",
        ),
    }
}
