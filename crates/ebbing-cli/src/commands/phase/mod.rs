//! `ebbing phase`: the three regimes of two tasks with a readout each, against the load P/N.

mod figures;
mod longer;
mod pairs;
mod place;
mod sweep;

use crate::commands::cite::bibtex;
use crate::console::Console;
use crate::output::Output;
use ebbing_report::{Figure, Metadata, Report, Table};
use ebbing_studies::job::PhaseJob;
use std::path::Path;

/// Draw the phase diagram of two tasks with a readout each
///
/// As the penalty lambda grows, networks wider than P keep their representations, narrower ones overfit task 2 up to a
/// critical load alpha_c, and generalise beyond it. One hidden layer.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing phase --out DIR                         permutation ratio against load, embedded data
  ebbing phase --sweep split --seeds 5 --out DIR
  ebbing phase --lambda 1e2,1e4,inf --alpha 0.1:10:100 --out DIR
  ebbing phase --tasks two.npz --width 500       where am I, and how do I get out?
  ebbing phase --tasks five.npz --pairs --width 500
  ebbing phase --protocol split --width 50       the same for two drawn tasks
  ebbing phase --intermediate 1 --ratio 0.15     a dataset between two tasks
  ebbing phase --length 3 --lambda 1e3,inf       three tasks, a readout each")]
pub struct Args {
    #[command(flatten)]
    job: PhaseJob,
    #[command(flatten)]
    output: Output,
}

/// The one-file report of a diagram, beside its figure and tables; heading and sentences are marked.
fn report(
    folder: &Path,
    (heading, sentences): (&str, &[String]),
    figure: &Figure,
    tables: &[&Table],
    metadata: &Metadata,
) -> anyhow::Result<()> {
    let opened = Report::telling("Tasks with a readout each", sentences).about(heading).figure(figure);
    let report = tables.iter().fold(opened, |report, table| report.table(table));
    report.metadata(metadata).bibtex(&bibtex()).save(&folder.join("report.html"))?;
    Ok(())
}

/// What the losses are.
const DEFINED: &str = "F_{21} is the training loss of task 1 after task 2 (0: remembered, 1: as bad as answering 0); G_{21} and G_{22} are \
     test losses of tasks 1 and 2 after task 2, over those of a network that learned the task alone.";

/// What was done to labels, for the end of the first line.
fn done(settings: &serde_json::Value) -> String {
    let words = ebbing::tasks::target_rule(settings).own_words();
    words.map_or(String::new(), |words| format!(" ({})", ebbing_report::escape_markup(&words)))
}

impl Args {
    /// Computes and tells.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let _held = self.output.begin(self.job.clone())?;
        if self.job.pairs {
            self.all_pairs(console)
        } else if self.job.curves_alone() {
            self.longer(console)
        } else {
            match self.job.sweep() {
                Some(sweep) => self.swept(console, sweep),
                None => self.place(console),
            }
        }
    }
}
