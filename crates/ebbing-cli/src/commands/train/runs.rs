//! Many training runs, in parallel where there are several, each taken up from its checkpoint where there is one.

use crate::console::{Console, Progress};
use ebbing::{Error, Result, Task, TrainSettings, Trained, Trainer};
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
pub enum Outcome {
    /// It went through.
    Done(Box<Trained>),
    /// It diverged, with the sentence that says where.
    Diverged(String),
}

/// Does all runs, one thread each if there are several.
///
/// # Errors
/// The first error that is no divergence.
pub fn all(runs: &[Run], folder: Option<&Path>, console: &Console) -> anyhow::Result<Vec<Outcome>> {
    let checkpoints = folder.map(|f| f.join("checkpoints"));
    if let Some(folder) = &checkpoints {
        crate::files::make_folder(folder)?;
    }
    let total: usize = runs.iter().map(|run| run.tasks.len()).sum();
    let bar = Mutex::new((console.steps("training tasks", total as u64), 0u64));
    let outcomes = ebbing::side_by_side(runs, |run| do_run(run, checkpoints.as_deref(), &bar));
    Ok(outcomes.into_iter().collect::<Result<Vec<_>>>()?)
}

fn do_run(run: &Run, checkpoints: Option<&Path>, bar: &Mutex<(Progress, u64)>) -> Result<Outcome> {
    let path: Option<PathBuf> = checkpoints.map(|folder| folder.join(format!("{}.ckpt", run.name)));
    let mut trainer = match &path {
        Some(path) if path.exists() => Trainer::resume(path, &run.tasks, &run.settings)?,
        _ => Trainer::new(&run.tasks, &run.settings)?,
    };
    advance(bar, trainer.done() as u64);
    while trainer.done() < trainer.tasks() {
        let count = trainer.tasks();
        let learned = trainer.learn_next(&mut |at| {
            if let Ok(bar) = bar.lock() {
                bar.0.note(&format!(
                    "task {}/{count}, step {}, error {:.1e}, rate {:.1e}",
                    at.task + 1,
                    at.step,
                    at.mse,
                    at.eta
                ));
            }
            true
        });
        match learned {
            Ok(()) => {}
            Err(error @ Error::Diverged { .. }) => return Ok(Outcome::Diverged(format!("{}: {error}", run.name))),
            Err(error) => return Err(error),
        }
        if let Some(path) = &path {
            trainer.save(path, &run.tasks)?;
        }
        advance(bar, 1);
    }
    Ok(Outcome::Done(Box::new(trainer.trained().clone())))
}

fn advance(bar: &Mutex<(Progress, u64)>, by: u64) {
    if let Ok(mut bar) = bar.lock() {
        bar.1 += by;
        let done = bar.1;
        bar.0.set(done);
    }
}
