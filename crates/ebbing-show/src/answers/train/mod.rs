//! Trained networks: over a sequence of tasks, and at several loads.

mod loads;
mod tasks;

use crate::shown::{Part, Shown};
use crate::style::significant;
use crate::table::Table;
use ebbing::nets::{LossScale, TaskReport, TrainSettings};

/// The page of trained networks: what stands on it, and the figure with its table in files under one name.
fn page(heading: &str, sentences: Vec<String>, table: Table, file: &'static str, in_files: Table) -> Shown {
    let tables = vec![Part::Table(table)];
    Shown::new("What trained networks forget", heading, sentences, vec![], tables)
        .file(file, in_files)
        .next(&[("report with a figure", "ebbing train --out DIR")])
}

/// The loss that descent minimizes, in words.
fn loss_words(loss: LossScale) -> &'static str {
    match loss {
        LossScale::Sum => "squared loss summed over examples",
        LossScale::Mean => "squared loss averaged over examples",
    }
}

/// What to know where a training error rose on the way, with the setting that helps.
fn overshot(name: &str, reports: &[&TaskReport], settings: &TrainSettings) -> Option<String> {
    let overshot: Vec<f64> = reports.iter().filter(|r| r.overshot).map(|r| r.rose).collect();
    let most = overshot.iter().copied().reduce(f64::max)?;
    let advice = match settings.eta {
        Some(eta) => format!("--eta {} takes smaller steps", 0.5 * eta),
        None => format!("--eta-factor {} takes smaller steps", 0.5 * settings.eta_factor),
    };
    Some(format!(
        "The training error of {name} rose on {} of its {} tasks, to {} times its lowest: steps overshot, and such networks may end far \
         from where they began. {advice}.",
        overshot.len(),
        reports.len(),
        significant(most)
    ))
}

/// How many tasks ended at their minimum, and how far starts ended from each other, where minima were sought.
fn minima(reports: &[&TaskReport]) -> Option<String> {
    let gradient = largest_gradient(reports)?;
    let sought: Vec<&&TaskReport> = reports.iter().filter(|r| r.minimum.is_some()).collect();
    let several = |(low, high): (f64, f64)| {
        let (low, high) = (significant(low), significant(high));
        format!(" Of several starts the lowest objective was kept: they differ most where they are {low} to {high}.")
    };
    Some(format!(
        "{} of {} tasks ended at their minimum; the gradient's norm is at most {} of that at the start.{}",
        sought.iter().filter(|r| r.converged).count(),
        sought.len(),
        significant(gradient),
        objectives(reports).filter(|(low, high)| low < high).map_or(String::new(), several)
    ))
}

/// The largest gradient that was left, relative to the start; none where no minimum was sought.
fn largest_gradient(reports: &[&TaskReport]) -> Option<f64> {
    reports.iter().filter_map(|r| r.minimum).map(|m| m.gradient).reduce(f64::max)
}

/// The lowest and the highest objective among the starts of the task where they are furthest apart; none where no minimum was sought.
fn objectives(reports: &[&TaskReport]) -> Option<(f64, f64)> {
    let minima = reports.iter().filter_map(|r| r.minimum).map(|m| m.objectives);
    minima.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)))
}
