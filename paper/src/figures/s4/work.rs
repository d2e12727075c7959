//! What the cells of figure S4 compute.

use super::super::drawn::Drawn;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::nets::{self, Learner, TrainSettings};
use ebbing::plan::{Cost, forgetting_cost, levenberg_cost, train_cost};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Recipe, SingleHead, Task, Trainer};
use ebbing_studies::{Error, Result, Row, Work};
use serde::{Deserialize, Serialize};

/// A network trained on one task after the other.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Trained {
    pub tasks: Drawn,
    pub settings: TrainSettings,
}

impl Work for Trained {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let Some(trained) = learn(&self.tasks.sequence(sources)?.tasks, &self.settings, context)? else {
            return Ok(vec![Row::new().with("diverged", 1usize)]);
        };
        let known = |a: Option<f64>| a.unwrap_or(f64::NAN);
        let row = |t: usize| {
            let report = &trained.reports[t];
            Row::new()
                .with("diverged", 0usize)
                .with("t", t + 1)
                .with("train_accuracy", known(trained.train_accuracy[t][0]))
                .with("test_accuracy", known(trained.test_accuracy[t][0]))
                .with("current_train_accuracy", known(trained.train_accuracy[t][t]))
                .with("current_accuracy", known(trained.test_accuracy[t][t]))
                .with("train_loss", trained.train_loss[t][0])
                .with("mse", report.mse)
                .with("learned", usize::from(report.mse < self.settings.threshold))
                .with("converged", usize::from(report.converged))
                .with("steps", report.steps)
        };
        Ok((0..trained.reports.len()).map(row).collect())
    }

    fn cost(&self) -> Cost {
        let (sizes, settings) = (self.tasks.sizes(), &self.settings);
        let (tasks, depth) = (sizes.train.len(), settings.architecture.depth);
        match settings.learner {
            Learner::L2 { .. } => levenberg_cost(&sizes, settings.width, depth, &vec![STEPS.1; tasks]),
            Learner::Gd => train_cost(&sizes, settings.width, depth, None, &vec![STEPS.0; tasks]),
            Learner::Ewc { .. } => train_cost(&sizes, settings.width, depth, None, &vec![settings.max_steps; tasks]),
        }
    }
}

/// Steps that a task takes about: of descent without a penalty, and of bare products whose time the minimum with one takes (some 180
/// steps; trials that are refused, and all that is no product, take twice as long as the products).
const STEPS: (usize, usize) = (1550, 540);

/// Learns all tasks; `None` where training diverged.
fn learn(tasks: &[Task], settings: &TrainSettings, context: &Context) -> Result<Option<nets::Trained>> {
    let mut trainer = Trainer::new(tasks, settings, context)?;
    while trainer.done() < trainer.tasks() {
        match trainer.learn_next(&mut |_| true) {
            Ok(()) => {}
            Err(ebbing::Error::Diverged { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(trainer.trained().clone()))
}

/// The theory of the same.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Theory {
    pub tasks: Drawn,
    pub settings: SingleHeadSettings,
}

impl Work for Theory {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let forecast = SingleHead::new(&self.tasks.sequence(sources)?, &self.settings, context)?.forecast()?;
        let loss = &forecast.forgetting;
        let (train, test) = (forecast.train_accuracy, forecast.test.and_then(|test| test.accuracy));
        let (Some(train), Some(test)) = (train, test) else {
            return Err(Error::data("the permuted sequence", "has targets without a sign"));
        };
        let row = |t: usize| {
            Row::new()
                .with("t", t + 1)
                .with("train_accuracy", train[t][0])
                .with("test_accuracy", test[t][0])
                .with("current_train_accuracy", train[t][t])
                .with("current_accuracy", test[t][t])
                .with("train_loss", loss[t][0])
        };
        Ok((0..train.len()).map(row).collect())
    }

    fn cost(&self) -> Cost {
        forgetting_cost(&self.tasks.sizes())
    }
}
