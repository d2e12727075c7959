//! `ebbing train`: networks of finite width learn the tasks by gradient descent, beside what the theory says.

use crate::console::Console;
use crate::flags::Flags;
use crate::output::Output;
use ebbing::data::Sources;
use ebbing::request::{TrainAnswer, TrainRequest};

/// Train networks on a task sequence, with learners and the theory in one figure
///
/// Losses are sum((f-y)^2)/|Y|^2; [t][s] is after task t on task s. Not forgetting counts only where the newest task was
/// learned: its mean squared training error stands beside every forgetting number.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing train --seeds 5 --out DIR                 gradient descent against the theory
  ebbing train --learners gd,l2,ewc --kappa 0.1    three learners side by side
  ebbing train --heads multi --learners l2 --kappa 0.03 --momentum 0.9 --ratio 0.1 \\
      --loads 0.3,0.6,0.9,1.1,1.3,1.6,2,3,4,6 --seeds 5 --max-steps 30000 \\
      --tolerance 1e-4 --out DIR                   the three regimes by descent
  ebbing train --solver levenberg --heads multi --learners l2 --ratio 0.15 \\
      --loads 0.6,1.3,2,3.2,5 --out DIR            the same at the penalized minimum itself
An interrupted run with --out goes on where it was, to the same numbers.")]
pub struct Args {
    #[command(flatten)]
    request: Flags<TrainRequest>,
    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Trains and compares.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let request = &self.request.0;
        let context = console.watched("train");
        let _held = self.output.begin(request.clone(), &context)?;
        let checkpoints = self.output.out.as_ref().map(|folder| folder.join("checkpoints"));
        let answer = request.run(&Sources::new(), &context, checkpoints.as_deref())?;
        drop(context);
        match &answer {
            TrainAnswer::Tasks(trained) => {
                let (tasks, settings) = (&trained.sequence.settings, &trained.settings);
                let metadata = self.output.metadata("train", Some(trained.seed), tasks, settings)?;
                self.output.finish(console, ("train", "train"), &metadata, trained.as_ref())
            }
            TrainAnswer::Loads(trained) => {
                let (tasks, settings) = (&trained.sequence.settings, &trained.settings);
                let metadata = self.output.metadata("train", Some(trained.seed), tasks, settings)?;
                self.output.finish(console, ("train", "train-loads"), &metadata, trained.as_ref())
            }
        }
    }
}
