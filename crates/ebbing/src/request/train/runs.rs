//! Many training runs, in parallel where there are several, each taken up from its checkpoint where there is one.

use crate::context::Context;
use crate::data::remove_unfinished;
use crate::error::{Error, Result};
use crate::linalg::par_map;
use crate::nets::{Mlp, TrainSettings, Trained, Trainer};
use crate::tasks::Task;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// One run to be done.
pub(super) struct Run {
    /// What its checkpoint is called.
    pub name: String,
    /// The tasks it learns.
    pub tasks: Vec<Task>,
    /// How.
    pub settings: TrainSettings,
}

/// What became of a run: a run that diverged is kept apart, and never enters an average.
pub(super) enum RunEnd {
    /// It went through, to this network.
    Done(Box<(Trained, Mlp)>),
    /// It diverged, with the sentence that says where.
    Diverged(String),
}

/// Does all runs, one thread each if there are several.
///
/// # Errors
/// The first error that is no divergence.
pub(super) fn all(runs: &[Run], checkpoints: Option<&Path>, context: &Context) -> Result<Vec<RunEnd>> {
    if let Some(folder) = checkpoints {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        // Where every run is finished nothing is written among them, and what a killed process left would stay.
        remove_unfinished(folder);
    }
    // Steps are what takes the time: the most there can be are counted, and the share jumps where a task ends early.
    let most =
        runs.iter().map(|run| run.tasks.len().saturating_mul(run.settings.max_steps)).fold(0, usize::saturating_add);
    let steps = Steps { context, done: AtomicUsize::new(0), most };
    par_map(runs, |run| do_run(run, checkpoints, &steps)).into_iter().collect()
}

/// The steps of all runs, and what they run within.
struct Steps<'a> {
    context: &'a Context,
    done: AtomicUsize,
    most: usize,
}

impl Steps<'_> {
    /// So many more are done.
    fn advance(&self, by: usize, text: &str) -> Result<()> {
        let done = self.done.fetch_add(by, Ordering::Relaxed).saturating_add(by);
        self.context.say(text, (done as f64 / self.most.max(1) as f64).min(1.0))
    }
}

fn do_run(run: &Run, checkpoints: Option<&Path>, steps: &Steps<'_>) -> Result<RunEnd> {
    let path: Option<PathBuf> = checkpoints.map(|folder| folder.join(format!("{}.safetensors", run.name)));
    let mut trainer = match &path {
        Some(path) if path.exists() => Trainer::resume(path, &run.tasks, &run.settings, steps.context)?,
        _ => Trainer::new(&run.tasks, &run.settings, steps.context)?,
    };
    let (count, most) = (trainer.tasks(), run.settings.max_steps);
    let mut note = "training".to_string();
    steps.advance(trainer.done().saturating_mul(most), &note)?;
    while trainer.done() < count {
        let mut step = 0;
        let learned = trainer.learn_next(&mut |at| {
            let pace = at.gradient.map_or(format!("rate {:.1e}", at.eta), |g| format!("gradient {g:.1e}"));
            note = format!("task {}/{count}, step {}, MSE {:.1e}, {pace}", at.task + 1, at.step, at.mse);
            let goes_on = steps.advance(at.step.saturating_sub(step), &note).is_ok();
            step = step.max(at.step);
            goes_on
        });
        match learned {
            Ok(()) => {}
            Err(error @ Error::Diverged { .. }) => {
                steps.advance((count - trainer.done()).saturating_mul(most).saturating_sub(step), &note)?;
                return Ok(RunEnd::Diverged(format!("{}: {error}", run.name)));
            }
            Err(error) => return Err(error),
        }
        if let Some(path) = &path {
            trainer.save(path, &run.tasks)?;
        }
        steps.advance(most - step.min(most), &note)?;
    }
    Ok(RunEnd::Done(Box::new((trainer.trained().clone(), trainer.net().clone()))))
}
