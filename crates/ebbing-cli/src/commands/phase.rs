//! `ebbing phase`: the three regimes of two tasks with a readout each, against the load P/N.

use crate::console::Console;
use crate::output::Output;
use ebbing::data::Sources;
use ebbing_show::Show;
use ebbing_studies::job::PhaseJob;

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

impl Args {
    /// Computes and prints.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let _held = self.output.begin(self.job.clone(), &console.context())?;
        let sources = Sources::new();
        if self.job.pairs {
            let pairs = self.job.all_pairs(&sources, &console.watched("pairs of tasks"))?;
            self.finish(console, &pairs.settings, &pairs.prepared, &pairs)
        } else if self.job.curves_alone() {
            let curves = self.job.sequence(&sources, &console.watched("curves against the load"))?;
            self.finish(console, &curves.settings, &curves.prepared, &curves)
        } else if self.job.sweep().is_some() {
            let diagram = self.job.swept(&sources, &console.watched("phase diagram"))?;
            self.finish(console, &diagram.settings, &diagram.settings.preparation_words(), &diagram)
        } else {
            let place = self.job.place(&sources, &console.context())?;
            self.finish(console, &place.settings, &place.prepared, &place)
        }
    }

    fn finish(
        &self,
        console: &Console,
        tasks: &ebbing::tasks::Provenance,
        prepared: &str,
        answer: &impl Show,
    ) -> anyhow::Result<()> {
        let settings = self.job.recorded(prepared)?;
        let metadata = self.output.metadata("phase", Some(self.job.seed()?), tasks, &settings)?;
        self.output.finish(console, ("phase", "phase"), &metadata, answer)
    }
}
