//! Errors, accuracies, forgetting and generalization of two tasks, learned by random features.

use super::common::{cost_of, first, random_features};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::plan::{Cost, forgetting_cost};
use ebbing::{Recipe, SingleHead};
use ebbing_studies::{Error, Result, Row, Work};
use serde::Serialize;

/// What is learned of two tasks, and what is left of the first.
#[derive(Debug, Clone, Serialize)]
pub(super) struct TwoTasks {
    /// The two tasks.
    pub tasks: Recipe,
    /// Hidden layers.
    pub depth: usize,
}

/// What the columns of a row are.
pub(super) const COLUMNS: [(&str, &str); 9] = [
    ("mse_11", "squared error on test data of task 1 after task 1"),
    ("mse_22", "squared error on test data of task 2 after task 2"),
    ("mse_21", "squared error on test data of task 1 after task 2"),
    ("accuracy_11", "share of right signs on test data of task 1 after task 1"),
    ("accuracy_22", "share of right signs on test data of task 2 after task 2"),
    ("accuracy_21", "share of right signs on test data of task 1 after task 2"),
    ("f_21", "F_{21}: forgetting of the training data of task 1"),
    ("delta_g", "mse\\_21 − mse\\_11: forgetting on test data"),
    ("g_22", "G_{22}: mse\\_22 over that of a fresh network"),
];

impl Work for TwoTasks {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.clone())
    }

    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let sequence = self.tasks.draw(sources, self.tasks.seed)?;
        let forecast = SingleHead::new(&sequence, &random_features(self.depth), context)?.forecast()?;
        let lacking = || Error::data("the forecast", "it has no test losses or no accuracies");
        let test = forecast.test.ok_or_else(lacking)?;
        let accuracy = test.accuracy.ok_or_else(lacking)?;
        let values = [
            test.loss[0][0],
            test.loss[1][1],
            test.loss[1][0],
            accuracy[0][0],
            accuracy[1][1],
            accuracy[1][0],
            forecast.forgetting[1][0],
            test.forgetting[1][0],
            test.generalization[1][1],
        ];
        Ok(vec![COLUMNS.iter().zip(values).fold(Row::new(), |row, ((name, _), value)| row.with(name, value))])
    }

    fn cost(&self) -> Cost {
        // Both tasks, then each alone; once more the second for λ = 0.
        cost_of(&self.tasks, |both| forgetting_cost(&both).then(forgetting_cost(&first(&both, 1)).times(3)))
    }
}
