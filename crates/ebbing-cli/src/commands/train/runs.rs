//! Many training runs, in parallel where there are several, each taken up from its checkpoint where there is one.

use crate::console::{Console, Progress};
use ebbing::Context;
use ebbing::nets::{TrainSettings, Trained};
use ebbing::{Error, Result, Task, Trainer};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// One run to be done.
pub struct Run {
    /// What its checkpoint is called.
    pub name: String,
    /// The tasks it learns.
    pub tasks: Vec<Task>,
    /// How.
    pub settings: TrainSettings,
}

/// What became of a run: a run that diverged is kept apart, and never enters an average.
pub enum RunEnd {
    /// It went through.
    Done(Box<Trained>),
    /// It diverged, with the sentence that says where.
    Diverged(String),
}

impl RunEnd {
    /// What is said of a run that diverged.
    pub fn sentence(&self) -> Option<&str> {
        match self {
            RunEnd::Done(_) => None,
            RunEnd::Diverged(sentence) => Some(sentence),
        }
    }
}

/// Does all runs, one thread each if there are several.
///
/// # Errors
/// The first error that is no divergence.
pub fn all(runs: &[Run], folder: Option<&Path>, console: &Console) -> anyhow::Result<Vec<RunEnd>> {
    let checkpoints = folder.map(|f| f.join("checkpoints"));
    if let Some(folder) = &checkpoints {
        crate::files::make_folder(folder)?;
        // Where every run is finished nothing is written among them, and what a killed process left would stay.
        ebbing::data::remove_unfinished(folder);
    }
    // Steps are what takes the time: the bar counts the most there can be, and jumps where a task ends early.
    let total: usize =
        runs.iter().map(|run| run.tasks.len().saturating_mul(run.settings.max_steps)).fold(0, usize::saturating_add);
    let bar = Mutex::new(Bar { shown: console.steps("training, steps at most", total as u64), done: 0 });
    let context = console.context();
    let outcomes = ebbing::linalg::par_map(runs, |run| do_run(run, checkpoints.as_deref(), &context, &bar));
    Ok(outcomes.into_iter().collect::<Result<Vec<_>>>()?)
}

/// The bar that all runs share.
struct Bar {
    shown: Progress,
    done: u64,
}

impl Bar {
    fn advance(bar: &Mutex<Bar>, by: usize, note: Option<&str>) {
        if let Ok(mut bar) = bar.lock() {
            bar.done += by as u64;
            let done = bar.done;
            bar.shown.set(done);
            if let Some(note) = note {
                bar.shown.note(note);
            }
        }
    }
}

fn do_run(run: &Run, checkpoints: Option<&Path>, context: &Context, bar: &Mutex<Bar>) -> Result<RunEnd> {
    let path: Option<PathBuf> = checkpoints.map(|folder| folder.join(format!("{}.safetensors", run.name)));
    let mut trainer = match &path {
        Some(path) if path.exists() => Trainer::resume(path, &run.tasks, &run.settings, context)?,
        _ => Trainer::new(&run.tasks, &run.settings, context)?,
    };
    let (count, most) = (trainer.tasks(), run.settings.max_steps);
    Bar::advance(bar, trainer.done() * most, None);
    while trainer.done() < count {
        let mut step = 0;
        let learned = trainer.learn_next(&mut |at| {
            let task = at.task + 1;
            let pace = at.gradient.map_or(format!("rate {:.1e}", at.eta), |g| format!("gradient {g:.1e}"));
            let note = format!("task {task}/{count}, step {}, MSE {:.1e}, {pace}", at.step, at.mse);
            Bar::advance(bar, at.step.saturating_sub(step), Some(&note));
            step = step.max(at.step);
            true
        });
        match learned {
            Ok(()) => {}
            Err(error @ Error::Diverged { .. }) => {
                Bar::advance(bar, ((count - trainer.done()) * most).saturating_sub(step), None);
                return Ok(RunEnd::Diverged(format!("{}: {error}", run.name)));
            }
            Err(error) => return Err(error),
        }
        if let Some(path) = &path {
            trainer.save(path, &run.tasks)?;
        }
        Bar::advance(bar, most - step.min(most), None);
    }
    Ok(RunEnd::Done(Box::new(trainer.trained().clone())))
}
