//! One sequence at several depths.

use crate::cell::Row;
use crate::error::Result;
use crate::figures::common::{cost_of, first, random_features, relu};
use crate::study::Work;
use ebbing::data::Sources;
use ebbing::plan::{Cost, forgetting_cost, order_parameter_cost};
use ebbing::theory::order_parameters::{self, OrderParameterSettings};
use ebbing::{Recipe, SingleHead, TaskSequence};
use serde::Serialize;

/// Order parameters of tasks 1 and 2 and forgetting of task 1, by random features.
#[derive(Debug, Clone, Serialize)]
pub(super) struct AtDepths {
    pub tasks: Recipe,
    pub depths: Vec<usize>,
}

impl Work for AtDepths {
    fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let sequence = self.tasks.draw(sources, self.tasks.seed)?;
        let rows = self.depths.iter().map(|&depth| at_depth(&sequence, depth)).collect::<Result<Vec<_>>>()?;
        Ok(rows.concat())
    }

    fn cost(&self) -> Cost {
        cost_of(&self.tasks, |sizes| {
            let pair = order_parameter_cost(&first(&sizes, 2));
            let all = if sizes.train.len() > 2 { pair.then(forgetting_cost(&sizes)) } else { pair };
            all.times(self.depths.len())
        })
    }
}

fn at_depth(sequence: &TaskSequence, depth: usize) -> Result<Vec<Row>> {
    let settings = OrderParameterSettings { architecture: relu(depth), ..Default::default() };
    let pair = order_parameters::pair(&sequence.tasks[0], &sequence.tasks[1], &settings)?.values;
    let forgetting = match sequence.tasks.len() {
        2 => vec![vec![0.0], vec![pair.f21]],
        _ => SingleHead::new(sequence, &random_features(depth))?.forgetting()?,
    };
    let row = |(t, f): (usize, &Vec<f64>)| {
        Row::new()
            .with("depth", depth)
            .with("t", t + 1)
            .with("f", f[0])
            .with("gamma_rf", pair.gamma_rf)
            .with("gamma_rule", pair.gamma_rule)
    };
    Ok(forgetting.iter().enumerate().skip(1).map(row).collect())
}
