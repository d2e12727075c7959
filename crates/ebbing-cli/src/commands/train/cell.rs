//! Training as a cell of a study: every learner on the tasks of one seed, one row per pair of a time and a task.

use super::Args;
use crate::commands::study::InCells;
use ebbing::Trainer;
use ebbing::nets::Trained;
use ebbing::plan::Cost;
use ebbing_studies::{Result, Row, Sources};

/// What the columns mean.
pub const COLUMNS: &[(&str, &str)] = &[
    ("learner", "learning rule"),
    ("t", "tasks learned"),
    ("s", "the task that is looked at, from 1"),
    ("train_loss", "training loss of task s after task t over the norm of its targets"),
    ("test_loss", "test loss of task s after task t over the norm of its targets"),
    ("train_accuracy", "share of training examples of task s on the right side after task t"),
    ("test_accuracy", "share of test examples of task s on the right side after task t"),
    ("newest_mse", "mean squared training error of task t when it was learned"),
    ("newest_learned", "1 where that is below the threshold"),
    ("steps", "steps that task t took"),
];

/// Steps that a task takes as a rule, for estimates: between easy (hundreds) and hard (all that are allowed) ones.
const USUAL_STEPS: usize = 2000;

impl InCells for Args {
    fn check(&mut self) -> ebbing::Result<()> {
        if self.sequence.tasks.is_none() {
            self.sequence.examples.get_or_insert(200);
            self.sequence.test_examples.get_or_insert(200);
        }
        for learner in self.rules() {
            self.settings(learner, self.sequence.seed)?;
        }
        self.sequence.check()
    }

    fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let seed = self.sequence.seed;
        let tasks = self.sequence.origin_from(sources)?.sequence(seed)?.tasks;
        let mut all = Vec::new();
        for learner in self.rules() {
            let mut trainer = Trainer::new(&tasks, &self.settings(learner, seed)?)?;
            while trainer.done() < trainer.tasks() {
                trainer.learn_next(&mut |_| true)?;
            }
            all.extend(rows(&learner.name(), trainer.trained()));
        }
        Ok(all)
    }

    fn cost(&self) -> ebbing::Result<Cost> {
        let sizes = self.sequence.sizes()?;
        let (width, dim) = (self.width as f64, sizes.dim as f64);
        let weights = width * (dim + (self.depth as f64 - 1.0) * width + sizes.columns as f64);
        let steps = USUAL_STEPS.min(self.max_steps) as f64;
        // Forward, backward and the gradient: three products of two operations per weight and example, in single precision,
        // which is twice as fast.
        let per_task = |p: &usize| 3.0 * weights * self.batch.unwrap_or(*p) as f64 * steps;
        let flops = self.rules().len() as f64 * sizes.train.iter().map(per_task).sum::<f64>();
        let rows: usize = sizes.train.iter().chain(&sizes.test).sum();
        let bytes = 12.0 * rows as f64 * (dim + width * self.depth as f64) + 16.0 * weights;
        Ok(Cost { flops, bytes })
    }
}

fn rows(learner: &str, trained: &Trained) -> Vec<Row> {
    let mut all = Vec::new();
    for (t, report) in trained.reports.iter().enumerate() {
        for s in 0..=t {
            let known = [
                ("test_loss", trained.test_loss[t][s]),
                ("train_accuracy", trained.train_accuracy[t][s]),
                ("test_accuracy", trained.test_accuracy[t][s]),
            ];
            let row = Row::new()
                .with("learner", learner)
                .with("t", t + 1)
                .with("s", s + 1)
                .with("train_loss", trained.train_loss[t][s]);
            let row = known.iter().fold(row, |row, (name, value)| value.map_or(row.clone(), |v| row.with(name, v)));
            all.push(
                row.with("newest_mse", report.mse)
                    .with("newest_learned", usize::from(report.learned))
                    .with("steps", report.steps),
            );
        }
    }
    all
}
