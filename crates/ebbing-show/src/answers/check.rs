//! The account of a file of tasks: what it holds, what would be computed with it, what that costs, what is wrong.

use crate::shown::counted;
use crate::terminal::{Style, wrap};
use ebbing::plan::{size, time};
use ebbing::tasks::{TargetSummary, TaskCheck, TaskSummary};

/// Of more columns than this the counts are not listed one by one.
const FEW_COLUMNS: usize = 8;

/// The account in words; `file` is how to name the tasks to the commands that compute with them.
pub fn account(name: &str, file: &str, check: &TaskCheck, styled: bool) -> String {
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
                let line = wrap(&format!("no: {why}"), &format!("{command:10}  "), &" ".repeat(12));
                text += &line.replacen("no:", &Style::Bad.on("no:", styled), 1);
            }
            None => {
                let (took, memory) = (time(computation.seconds), size(computation.cost.bytes));
                let first = format!("{command:10}  {took:11}  {memory:>7}  ");
                text += &wrap(&computation.what, &first, &" ".repeat(34));
            }
        }
    }
    // Each thing once: what a command refuses stands in its line.
    let unsaid = |problem: &&String| !check.computations.iter().any(|c| c.refused.as_ref() == Some(problem));
    let problems: Vec<String> = check.problems.iter().filter(unsaid).cloned().collect();
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
    let mut text = format!("{name} ({}): {}", check.kind, counted(count, "task"));
    if let Some(task) = first {
        text += &format!(" of {}, {}", counted(task.dim, "feature"), counted(task.targets.len(), "target column"));
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
            let named: Vec<(usize, usize)> = named.collect();
            let counts = || named.iter().map(|(_, n)| *n);
            match (named.len() > FEW_COLUMNS, counts().min(), counts().max()) {
                (true, Some(low), Some(high)) if low == high => {
                    format!("{} columns: {low} in each of {}", many.len(), named.len())
                }
                (true, Some(low), Some(high)) => {
                    format!("{} columns: {low} to {high} in each of {}", many.len(), named.len())
                }
                _ => {
                    let each: Vec<String> = named.iter().map(|(k, n)| format!("{n} in column {k}")).collect();
                    format!("{} columns: {}", many.len(), each.join(", "))
                }
            }
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
