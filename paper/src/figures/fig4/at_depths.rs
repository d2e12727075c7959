//! One sequence at several depths.

use crate::figures::common::{cost_of, first, random_features, relu};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::kernels::{KernelKind, WeightPrior};
use ebbing::plan::{Cost, first_task_cost, order_parameter_cost};
use ebbing::theory::KernelTable;
use ebbing::theory::order_parameters::{OrderParameterSettings, OrderParameters, order_parameters};
use ebbing::theory::single_head::{SingleHeadSettings, forgetting_of_first};
use ebbing::{Kernel, Recipe, TaskSequence};
use ebbing_studies::{Result, Row, Work};
use serde::Serialize;

/// Order parameters of tasks 1 and 2 and forgetting of task 1, by random features.
#[derive(Debug, Clone, Serialize)]
pub(super) struct AtDepths {
    pub tasks: Recipe,
    pub depths: Vec<usize>,
}

impl Work for AtDepths {
    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let sequence = self.tasks.draw(sources, self.tasks.seed)?;
        let pairs = self.pairs(&sequence)?;
        let theories: Vec<SingleHeadSettings> = self.depths.iter().map(|&depth| random_features(depth)).collect();
        let curves = forgetting_of_first(&sequence, &theories, context)?;
        let mut rows = vec![];
        for ((depth, pair), curves) in self.depths.iter().zip(&pairs).zip(&curves) {
            let row = |(t, f): (usize, &f64)| {
                Row::new()
                    .with("depth", *depth)
                    .with("t", t + 1)
                    .with("f", *f)
                    .with("gamma_rf", pair.gamma_rf)
                    .with("gamma_rule", pair.gamma_rule)
            };
            rows.extend(curves.forgetting[0].iter().enumerate().skip(1).map(row));
        }
        Ok(rows)
    }

    fn cost(&self) -> Cost {
        cost_of(&self.tasks, |sizes| {
            let pair = order_parameter_cost(&first(&sizes, 2)).times(self.depths.len());
            pair.then(first_task_cost(&sizes, self.depths.len()))
        })
    }
}

impl AtDepths {
    /// Order parameters of tasks 1 and 2 at every depth, the products of their inputs made once.
    fn pairs(&self, sequence: &TaskSequence) -> Result<Vec<OrderParameters>> {
        let prior = WeightPrior::new(f64::INFINITY, 1.0)?;
        let kernel = |&depth: &usize| Ok(Kernel::new(KernelKind::Nngp, relu(depth), prior, 1, 1)?);
        let kernels = self.depths.iter().map(kernel).collect::<Result<Vec<_>>>()?;
        let kernels: Vec<&Kernel> = kernels.iter().collect();
        let [one, two] = [0, 1].map(|t| sequence.tasks[t].x.as_ref());
        let (k11, k12) = (Kernel::gram_many_symmetric(&kernels, one)?, Kernel::gram_many(&kernels, one, two)?);
        let k22 = Kernel::gram_many_symmetric(&kernels, two)?;
        let targets = (sequence.tasks[0].y.as_ref(), sequence.tasks[1].y.as_ref());
        let each = self.depths.iter().zip(k11).zip(k12.into_iter().zip(k22));
        let values = each.map(|((&depth, k11), (k12, k22))| {
            let settings = OrderParameterSettings { architecture: relu(depth), ..Default::default() };
            let table = KernelTable::two_tasks((k11.as_ref(), k12.as_ref(), k22.as_ref()), targets)?;
            Ok(order_parameters(&table, &settings, &Context::default())?.swap_remove(0).values)
        });
        values.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebbing::SingleHead;
    use ebbing::tasks::{Permuted, Protocol};
    use ebbing::theory::order_parameters::pair;

    #[test]
    fn all_depths_at_once_give_what_each_gives_alone() {
        let protocol = Permuted { tasks: 3, p: 30, p_test: 0, ratio: 0.4, ..Default::default() };
        let tasks = Recipe::drawn("mnist-sample", Protocol::Permuted(protocol));
        let work = AtDepths { tasks: tasks.clone(), depths: vec![1, 4] };
        let rows = work.rows(&Sources::new(), &Context::default()).unwrap();
        let sequence = tasks.draw(&Sources::new(), tasks.seed).unwrap();
        for (k, depth) in [1, 4].into_iter().enumerate() {
            let forgetting =
                SingleHead::new(&sequence, &random_features(depth), &Context::default()).unwrap().forgetting().unwrap();
            let settings = OrderParameterSettings { architecture: relu(depth), ..Default::default() };
            let alone = pair(&sequence.tasks[0], &sequence.tasks[1], &settings, &Context::default()).unwrap().values;
            for t in 2..=3 {
                let row = &rows[2 * k + t - 2].0;
                let value = |name: &str| row.iter().find(|(n, _)| n == name).unwrap().1.number().unwrap();
                assert_eq!((value("depth"), value("t")), (depth as f64, t as f64));
                let pairs =
                    [("f", forgetting[t - 1][0]), ("gamma_rf", alone.gamma_rf), ("gamma_rule", alone.gamma_rule)];
                for (name, expected) in pairs {
                    // Rounding, magnified by condition numbers of about 1e3.
                    assert!((value(name) - expected).abs() < 1e-10, "{name} at depth {depth}, t = {t}");
                }
            }
        }
    }
}
