//! `ebbing phase`: the three regimes of two tasks with a readout each, against the load P/N.

mod longer;
mod pairs;
mod place;
mod sweep;

use crate::console::Console;
use crate::output::Output;
use ebbing_show::{Figure, Metadata, Table};
use ebbing_studies::job::PhaseJob;
use ebbing_studies::show::phase as show;
use std::path::Path;

/// Draw the phase diagram of two tasks with a readout each
///
/// As the penalty lambda grows, networks wider than P keep their representations, narrower ones overfit task 2 up to a
/// critical load alpha_c, and generalize beyond it. One hidden layer.
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

/// Writes the one-file report of a diagram; heading and sentences are marked.
fn report(
    folder: &Path,
    told: (&str, &[String]),
    figure: &Figure,
    tables: &[&Table],
    metadata: &Metadata,
) -> anyhow::Result<()> {
    Ok(show::report(told, figure, tables, metadata).save(&folder.join("report.html"))?)
}

impl Args {
    /// Computes and tells.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let _held = self.output.begin(self.job.clone(), &console.context())?;
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
