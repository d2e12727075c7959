//! Task 1 after task 2: squared error and share of right signs, computed and drawn.

use super::common::{cost_of, means_along, plain};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::metrics::{accuracy, squared_loss};
use ebbing::plan::{Cost, Sizes, forgetting_cost};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Recipe, SingleHead};
use ebbing_show::{Band, Line, Panel};
use ebbing_studies::{Error, Frame, Result, Row, Work};
use serde::Serialize;

/// What becomes of task 1 after task 2, by the mean over networks.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TaskOne {
    /// The two tasks.
    pub tasks: Recipe,
    pub theory: SingleHeadSettings,
}

/// What the columns of a row are.
pub(super) const COLUMNS: [(&str, &str); 4] = [
    ("train_mse", "F_{21}: squared error on training data of task 1 after task 2"),
    ("train_accuracy", "share of signs that are right there"),
    ("test_mse", "squared error on test data of task 1 after task 2"),
    ("test_accuracy", "share of signs that are right there"),
];

impl Work for TaskOne {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.clone())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let sequence = self.tasks.draw(sources, self.tasks.seed)?;
        let network = SingleHead::new(&sequence, &self.theory, context)?;
        let task = &sequence.tasks[0];
        let test = task.test.as_ref().ok_or_else(|| Error::data("task 1", "it has no test set"))?;
        let mut row = Row::new();
        for (part, x, y) in [("train", &task.x, &task.y), ("test", &test.x, &test.y)] {
            let mean = network.mean(x.as_ref(), 2)?;
            row = row
                .with(&format!("{part}_mse"), squared_loss(mean.as_ref(), y.as_ref(), None)?)
                .with(&format!("{part}_accuracy"), accuracy(mean.as_ref(), y.as_ref(), None)?);
        }
        Ok(vec![row])
    }

    fn cost(&self) -> Cost {
        // Both parts of task 1 are tested, and nothing of task 2.
        cost_of(&self.tasks, |sizes| forgetting_cost(&Sizes { test: vec![sizes.train[0] + sizes.test[0], 0], ..sizes }))
    }
}

/// Adds errors and accuracies along a setting (its name, its values, and where they stand on the axis), with bands of
/// standard deviations over seeds. `training` is what the error on training data is called.
pub(super) fn lines(
    panel: Panel,
    rows: &Frame,
    (by, values, at): (&str, &[f64], &[f64]),
    training: &str,
) -> Result<Panel> {
    let mut panel = panel.y("MSE, accuracy");
    let labels = [training, "MSE, test", "accuracy, training", "accuracy, test"];
    for (k, of) in ["train_mse", "test_mse", "train_accuracy", "test_accuracy"].into_iter().enumerate() {
        let means = plain(&means_along(rows, by, values, of)?);
        let deviations = values.iter().map(|&v| rows.only(by, v)?.deviation(of)).collect::<Result<Vec<f64>>>()?;
        let end = |sign: f64| means.iter().zip(&deviations).map(|(m, d)| m + sign * d).collect::<Vec<f64>>();
        let band = Band::new(labels[k], at, &end(-1.0), &end(1.0)).category(k);
        panel = panel.band(band).line(Line::new(labels[k], at, &means).category(k));
    }
    Ok(panel)
}
