//! `ebbing advise`: what to do against forgetting.

use crate::console::Console;
use crate::flags::Flags;
use crate::output::Output;
use ebbing::data::Sources;
use ebbing::request::AdviseRequest;

/// Show what helps against forgetting: methods by the accuracy they end with, their memory, and which to take
///
/// Replay, heads in closed form, penalties, distillation, gating and separate heads beside fine-tuning and training on everything at once,
/// each with what supports its number.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing advise                                  five tasks of two digits each, embedded data
  ebbing advise --keep-accuracy-above 0.8        the least memory that ends at 80 %
  ebbing advise --tasks my-tasks.npz --memory-budget 2MB --out report
  ebbing advise --tasks my-tasks.npz --budget 20 --replay-budget per-class
  ebbing advise --features layer.npz --classes-per-task 10
  ebbing advise --theory --keep-forgetting-below 0.1 --seeds 5")]
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
