//! Several learners on a sequence of tasks, beside the theory.

use super::Args;
use super::runs::{self, Run, RunEnd};
use crate::console::Console;
use ebbing::answer::{LearnerRuns, TrainResult};
use ebbing::data::Sources;
use ebbing::nets::{Heads, Learner};
use ebbing::stats::{Estimate, mean_curve};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Context, SingleHead, TaskSequence};

impl Args {
    /// Trains every learner on every seed's sequence.
    pub(super) fn over_tasks(&self, console: &Console) -> anyhow::Result<TrainResult> {
        let (recipe, sources) = (self.job.task_keys().recipe()?, Sources::new());
        let numbers: Vec<u64> = (0..self.job.seeds as u64).map(|k| recipe.seed.wrapping_add(k)).collect();
        let draw = |&seed: &u64| recipe.draw(&sources, seed);
        let mut sequences = numbers.iter().map(draw).collect::<ebbing::Result<Vec<_>>>()?;
        let rules = self.job.rules();
        let mut jobs = Vec::new();
        for learner in &rules {
            for (sequence, &seed) in sequences.iter().zip(&numbers) {
                let settings = self.job.settings(*learner, seed)?;
                let name = format!("{}-seed{seed}", learner.name().replace(['(', ')', ','], "_"));
                jobs.push(Run { name, tasks: sequence.tasks.clone(), settings });
            }
        }
        let mut ends = runs::all(&jobs, self.output.out.as_deref(), console)?.into_iter();
        let mut learners = Vec::new();
        for learner in rules {
            let settings = self.job.settings(learner, recipe.seed)?;
            let mut group = LearnerRuns { learner, settings, runs: vec![], diverged: vec![] };
            for end in ends.by_ref().take(numbers.len()) {
                match end {
                    RunEnd::Done(trained) => group.runs.push(*trained),
                    RunEnd::Diverged(sentence) => group.diverged.push(sentence),
                }
            }
            learners.push(group);
        }
        let theory = self.theory(&sequences, &console.context())?;
        Ok(TrainResult { first: sequences.swap_remove(0), seeds: self.job.seeds, learners, theory })
    }

    /// The single-head theory's loss of task 1 after each task, over seeds.
    fn theory(&self, sequences: &[TaskSequence], context: &Context) -> anyhow::Result<Option<(String, Vec<Estimate>)>> {
        let settings = self.job.settings(Learner::Gd, 0)?;
        if settings.heads == Heads::Multi {
            return Ok(None);
        }
        let settings = SingleHeadSettings { architecture: settings.architecture, ..SingleHeadSettings::default() };
        let mut curves: Vec<Vec<f64>> = Vec::new();
        for sequence in sequences {
            let forgetting = SingleHead::new(sequence, &settings, context)?.forgetting()?;
            curves.push(forgetting.iter().map(|row| row[0]).collect());
        }
        let mean = mean_curve(&curves.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        Ok(Some(("theory, random features".into(), mean)))
    }
}
