//! Forgetting of the first task over a sequence: every learner, and the theory.

use super::TrainRequest;
use super::runs::{self, Run, RunEnd};
use crate::context::Context;
use crate::error::Result;
use crate::nets::{Heads, Learner, Mlp, TaskReport, TrainSettings, Trained};
use crate::stats::mean_curve;
use crate::tasks::TaskSequence;
use crate::theory::single_head::{SingleHead, SingleHeadSettings};
use std::path::Path;

/// Networks that learned a sequence, and the theory of it.
#[derive(Debug)]
pub struct TrainedTasks {
    /// The first seed.
    pub seed: u64,
    /// The settings of the first learner.
    pub settings: TrainSettings,
    /// The first seed's sequence.
    pub sequence: TaskSequence,
    /// The runs of every learner.
    pub learners: Vec<LearnerRuns>,
    /// The mean loss of task 1 after each task, of every learner with a run that went through.
    pub losses: Vec<LossCurve>,
    /// The same in the theory of one readout for all tasks; none with a readout each.
    pub theory: Option<LossCurve>,
}

/// A learner's runs that went through, and the sentences of those that did not.
#[derive(Debug)]
pub struct LearnerRuns {
    /// How it learns.
    pub learner: Learner,
    /// The runs that went through, one per seed.
    pub done: Vec<Trained>,
    /// The networks of these runs after the last task.
    pub networks: Vec<Mlp>,
    /// What is said of the others.
    pub diverged: Vec<String>,
}

impl LearnerRuns {
    /// How each task of each run was learned.
    pub fn reports(&self) -> Vec<&TaskReport> {
        self.done.iter().flat_map(|t| &t.reports).collect()
    }
}

/// A curve over the tasks with its standard error where there are several seeds.
#[derive(Debug, Clone)]
pub struct LossCurve {
    /// What it is of.
    pub name: String,
    /// The mean after each task.
    pub mean: Vec<f64>,
    /// Its standard errors.
    pub error: Vec<f64>,
}

impl LossCurve {
    /// The mean over runs.
    ///
    /// # Errors
    /// [`crate::Error::Data`] where a value is not finite or lengths differ.
    pub fn of(name: &str, runs: &[Vec<f64>]) -> Result<LossCurve> {
        let points = mean_curve(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let (mean, error) = points.iter().map(|p| (p.value, p.error())).unzip();
        Ok(LossCurve { name: name.into(), mean, error })
    }
}

impl TrainRequest {
    /// Trains every learner on every seed's sequence.
    pub(super) fn over_tasks(
        &self,
        mut sequences: Vec<TaskSequence>,
        first: u64,
        context: &Context,
        checkpoints: Option<&Path>,
    ) -> Result<TrainedTasks> {
        let seeds: Vec<u64> = (0..sequences.len() as u64).map(|k| first.wrapping_add(k)).collect();
        // What the theory refuses is refused before networks are trained for hours.
        let theory = self.theory(&sequences, context)?;
        let mut all = Vec::new();
        for learner in self.rules() {
            for (sequence, &seed) in sequences.iter().zip(&seeds) {
                let settings = self.settings(learner, seed)?;
                let name = format!("{}-seed{seed}", learner.name().replace(['(', ')', ','], "_"));
                all.push(Run { name, tasks: sequence.tasks.clone(), settings });
            }
        }
        let mut ends = runs::all(&all, checkpoints, context)?.into_iter();
        let mut learners = Vec::new();
        for learner in self.rules() {
            let mut of_learner = LearnerRuns { learner, done: vec![], networks: vec![], diverged: vec![] };
            for end in ends.by_ref().take(seeds.len()) {
                match end {
                    RunEnd::Done(run) => {
                        let (trained, network) = *run;
                        of_learner.done.push(trained);
                        of_learner.networks.push(network);
                    }
                    RunEnd::Diverged(sentence) => of_learner.diverged.push(sentence),
                }
            }
            learners.push(of_learner);
        }
        let of_first = |t: &Trained| t.train_loss.iter().map(|row| row[0]).collect::<Vec<_>>();
        let went_through = learners.iter().filter(|runs| !runs.done.is_empty());
        let curve = |runs: &LearnerRuns| {
            LossCurve::of(&runs.learner.name(), &runs.done.iter().map(of_first).collect::<Vec<_>>())
        };
        let losses = went_through.map(curve).collect::<Result<Vec<_>>>()?;
        let (sequence, settings) = (sequences.swap_remove(0), self.settings(self.rules()[0], first)?);
        Ok(TrainedTasks { seed: first, settings, sequence, learners, losses, theory })
    }

    /// The single-head theory's loss of task 1 after each task, over seeds.
    fn theory(&self, sequences: &[TaskSequence], context: &Context) -> Result<Option<LossCurve>> {
        let settings = self.settings(Learner::Gd, 0)?;
        if settings.heads == Heads::Multi {
            return Ok(None);
        }
        let settings = SingleHeadSettings { architecture: settings.architecture, ..SingleHeadSettings::default() };
        let mut curves = Vec::new();
        for sequence in sequences {
            let forgetting = SingleHead::new(sequence, &settings, context)?.forgetting()?;
            curves.push(forgetting.iter().map(|row| row[0]).collect());
        }
        LossCurve::of("theory, random features", &curves).map(Some)
    }
}
