//! `ebbing phase`: the three regimes of two tasks with a readout each, against the load P/N.

use crate::console::Console;
use crate::flags::Flags;
use crate::output::Output;
use ebbing::data::Sources;
use ebbing::request::{PhaseAnswer, PhaseRequest};
use ebbing_show::Show;

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
  ebbing phase --tasks classes.npz --lambda 10,inf --width 300   heads with an output per class
  ebbing phase --protocol split --width 50       the same for two drawn tasks
  ebbing phase --intermediate 1 --ratio 0.15     a dataset between two tasks
  ebbing phase --length 3 --lambda 1e3,inf       three tasks, a readout each")]
pub struct Args {
    #[command(flatten)]
    request: Flags<PhaseRequest>,
    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Computes and prints.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let context = console.watched("phase");
        let _held = self.output.begin(self.request.0.clone(), &context)?;
        let answer = self.request.0.run(&Sources::new(), &context)?;
        drop(context);
        match &answer {
            PhaseAnswer::Swept(swept) => {
                self.finish(console, &swept.settings, &swept.settings.preparation_words(), swept.as_ref())
            }
            PhaseAnswer::Pairs(pairs) => self.finish(console, &pairs.settings, &pairs.prepared, pairs.as_ref()),
            PhaseAnswer::Sequence(curves) => self.finish(console, &curves.settings, &curves.prepared, curves.as_ref()),
            PhaseAnswer::Outputs(place) => self.finish(console, &place.settings, &place.prepared, place.as_ref()),
            PhaseAnswer::Place(place) => self.finish(console, &place.settings, &place.prepared, place.as_ref()),
        }
    }

    fn finish(
        &self,
        console: &Console,
        tasks: &ebbing::tasks::Provenance,
        prepared: &str,
        answer: &impl Show,
    ) -> anyhow::Result<()> {
        let request = &self.request.0;
        let metadata = self.output.metadata("phase", Some(request.seed()?), tasks, &request.recorded(prepared)?)?;
        self.output.finish(console, ("phase", "phase"), &metadata, answer)
    }
}
