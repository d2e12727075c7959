//! `ebbing forecast`, the main job: what a network forgets of a task sequence, from the data alone.

use crate::console::Console;
use crate::flags::Flags;
use crate::guard::give_back;
use crate::output::Output;
use ebbing::data::Sources;
use ebbing::plan::{MemoryLimit, PROCESS_BYTES, Speed, about, size};
use ebbing::request::{Bytes, ForecastRequest};
use ebbing::theory::forecast::ForecastSettings;
use ebbing::{Context, TaskSequence};

/// Forecast what a network forgets of a task sequence, before anything is trained
///
/// Without arguments: tasks made of the embedded MNIST images.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing forecast                                five tasks of two digits each, embedded data
  ebbing forecast --at-risk --out report         which examples will be lost
  ebbing forecast --tasks my-tasks.npz --out report
  ebbing forecast --data mnist --protocol split --depth 3 --seeds 5
  ebbing forecast --depths 1,3,5,7,9             what depth would change
  ebbing forecast --lambdas 0,1,10,100,inf       what a penalty would change
  ebbing forecast -p 200 --widths 50,200         a readout per task, at these widths
  ebbing forecast --features layer.npz           order parameters of a layer or of recordings")]
pub struct Args {
    #[command(flatten)]
    request: Flags<ForecastRequest>,
    #[command(flatten)]
    output: Output,
    /// Plan with this much memory, such as 20GiB [default: most of this machine's]; what needs more is computed in tiles
    #[arg(long, value_name = "SIZE", conflicts_with = "force")]
    memory: Option<Bytes>,
}

/// Work above this many estimated seconds is announced before it starts.
const LONG: f64 = 2.0;

impl Args {
    /// What plain `ebbing` does: the forecast with no arguments.
    pub fn plain() -> Self {
        Args { request: Flags::default(), output: Output::default(), memory: None }
    }

    /// Computes and prints.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        give_back();
        let mut context = console.watched("forecast");
        if let Some(Bytes(bytes)) = self.memory {
            context = context.memory(MemoryLimit::Bytes(bytes));
        }
        let request = &self.request.0;
        let _held = self.output.begin(request.clone(), &context)?;
        if let Some(folder) = &self.output.out {
            context = context.scratch(folder.join("unfinished"));
        }
        let before = |sequences: &[TaskSequence], settings: &ForecastSettings| {
            announce(request, console, sequences, settings, &context);
        };
        let answer = request.run(&Sources::new(), &context, &before)?;
        drop(context);
        let tasks = &answer.first.settings;
        let metadata = self.output.metadata("forecast", Some(answer.seed), tasks, &answer.settings)?;
        self.output.finish(console, ("forecast", "forecast"), &metadata, &answer)
    }
}

/// Says how long it will take and how much memory and disk, where that is worth saying.
fn announce(
    request: &ForecastRequest,
    console: &Console,
    sequences: &[TaskSequence],
    settings: &ForecastSettings,
    context: &Context,
) {
    let (sizes, speed) = (sequences[0].sizes(), Speed::measure());
    if let Some(disk) = request.disk_of(&sizes, context.plan()) {
        let cost = request.cost_of(&sizes, context.plan()).times(sequences.len());
        console.remark(&format!(
            "the kernels do not fit into memory: in tiles, {}, {} of memory (and up to all that may be planned with), and {} of disk in {} until it is done",
            about(cost.seconds(speed)),
            size(cost.bytes + PROCESS_BYTES),
            size(disk),
            context.scratch_folder().display()
        ));
        return;
    }
    let cost = settings.cost(&sizes, true, context.plan()).times(sequences.len());
    let seconds = cost.seconds(speed);
    if seconds > LONG {
        console.remark(&format!("{} and {} of memory", about(seconds), size(cost.bytes + PROCESS_BYTES)));
    }
}
