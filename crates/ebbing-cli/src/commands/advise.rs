//! `ebbing advise`: what to do against forgetting.

use crate::console::Console;
use crate::flags::Flags;
use crate::output::Output;
use ebbing::data::Sources;
use ebbing::request::AdviseRequest;

/// Show what each remedy would do against forgetting, and what it costs
///
/// Replay, the order of tasks, penalties, gating, context, depth and a readout per task, each at its best, beside doing
/// nothing and beside training on everything at once.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing advise                                  five permuted tasks, embedded data
  ebbing advise --tasks my-tasks.npz --keep-forgetting-below 0.1 --out report
  ebbing advise --tasks my-tasks.npz --budget 20 --replay-budget per-class
  ebbing advise --data mnist --protocol split --seeds 5 --mode ntk")]
pub struct Args {
    #[command(flatten)]
    request: Flags<AdviseRequest>,
    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Computes and prints.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let request = self.request.0;
        let context = console.watched("advise");
        let _held = self.output.begin(request.clone(), &context)?;
        let advice = request.run(&Sources::new(), &context)?;
        drop(context);
        let metadata = self.output.metadata("advise", Some(advice.seed), &advice.tasks, &advice.settings)?;
        self.output.finish(console, ("advise", "advice"), &metadata, &advice)
    }
}
