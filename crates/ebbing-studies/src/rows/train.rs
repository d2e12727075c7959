//! Trained networks as rows, one per learner, time and task.

use crate::cell::Row;
use crate::error::Result;
use ebbing::Context;
use ebbing::Trainer;
use ebbing::data::Sources;
use ebbing::nets::Trained;
use ebbing::request::TrainRequest;

pub(super) fn rows(request: &TrainRequest, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
    let recipe = request.task_fields().recipe()?;
    let tasks = recipe.draw(sources, recipe.seed)?.tasks;
    let mut all = Vec::new();
    for learner in request.rules() {
        let mut trainer = Trainer::new(&tasks, &request.settings(learner, recipe.seed)?, context)?;
        while trainer.done() < trainer.tasks() {
            trainer.learn_next(&mut |_| true)?;
        }
        all.extend(of(&learner.name(), trainer.trained()));
    }
    Ok(all)
}

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
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
    ("converged", "1 where task t ended where it was meant to, not out of steps"),
    ("objective", "levenberg: loss and penalty of task t at the end"),
    ("gradient", "levenberg: norm of their gradient there over that at the start"),
];

fn of(learner: &str, trained: &Trained) -> Vec<Row> {
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
            let row = row
                .with("newest_mse", report.mse)
                .with("newest_learned", usize::from(report.learned))
                .with("steps", report.steps)
                .with("converged", usize::from(report.converged));
            all.push(match report.minimum {
                Some(at) => row.with("objective", at.objective).with("gradient", at.gradient),
                None => row,
            });
        }
    }
    all
}
