//! One permuted sequence learned in every order: how much the order matters.

use crate::claim::Claim;
use crate::figures::common::{cost_of, random_features, relu};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::kernels::{KernelKind, WeightPrior};
use ebbing::linalg::Mat;
use ebbing::plan::{Cost, Sizes, forgetting_cost};
use ebbing::stats::mean_with_error;
use ebbing::theory::{KernelTable, KernelTask};
use ebbing::{Kernel, Recipe, SingleHead, Task};
use ebbing_studies::{Frame, Result, Row, Work};
use serde::Serialize;
use std::sync::Arc;

/// Mean final forgetting of each order of a sequence of tasks of one size, by random features.
#[derive(Debug, Clone, Serialize)]
pub(super) struct EveryOrder {
    pub tasks: Recipe,
    /// Hidden layers.
    pub depth: usize,
}

impl Work for EveryOrder {
    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let sequence = self.tasks.draw(sources, self.tasks.seed)?;
        let (tasks, p) = (sequence.tasks.len(), sequence.tasks[0].x.nrows());
        let x = Mat::from_fn(tasks * p, sequence.dim(), |i, j| sequence.tasks[i / p].x[(i % p, j)]);
        let prior = WeightPrior::new(f64::INFINITY, 1.0)?;
        let kernel = Kernel::new(KernelKind::Nngp, relu(self.depth), prior, 1, 1)?;
        let k = Arc::new(kernel.gram_symmetric(x.as_ref())?);
        let known = |(t, task): (usize, &Task)| {
            let rows = (t * p..(t + 1) * p).collect();
            KernelTask { name: task.name.clone(), rows, y: task.y.clone(), test: None }
        };
        let known: Vec<KernelTask> = sequence.tasks.iter().enumerate().map(known).collect();
        let mut rows = vec![];
        for (number, order) in permutations(tasks).iter().enumerate() {
            let tasks = order.iter().map(|&t| known[t].clone()).collect();
            let table = KernelTable { nngp: k.clone(), ntk: None, tasks };
            let f = SingleHead::new(&table, &random_features(self.depth), context)?.forgetting()?;
            let last = &f[order.len() - 1][..order.len() - 1];
            let mean = last.iter().sum::<f64>() / last.len() as f64;
            rows.push(Row::new().with("order", number + 1).with("mean_forgetting", mean));
        }
        Ok(rows)
    }

    fn cost(&self) -> Cost {
        cost_of(&self.tasks, |sizes| {
            let orders = (1..=sizes.train.len()).product();
            // The kernel once, then factors and solves for each order.
            forgetting_cost(&sizes).then(forgetting_cost(&Sizes { dim: 0, ..sizes }).times(orders))
        })
    }
}

/// Spread over orders, averaged over sequences.
pub(super) fn claims(frame: &Frame) -> Result<Vec<Claim>> {
    let (mut ranges, mut deviations) = (vec![], vec![]);
    for (_, orders) in frame.groups(&["seed"])? {
        let values = orders.numbers("mean_forgetting")?;
        let mean = orders.mean("mean_forgetting")?.value;
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &v| (a.min(v), b.max(v)));
        ranges.push((high - low) / mean);
        deviations.push(orders.deviation("mean_forgetting")? / mean);
    }
    let (value, range) = (mean_with_error(&deviations)?, mean_with_error(&ranges)?.value);
    let statement = "standard deviation of the mean forgetting over all orders of a permuted sequence, over its mean";
    let note = format!("largest minus smallest over all orders, over the mean: {range:.3}");
    Ok(vec![Claim::below("text", statement, value.value, 0.1).error(value.standard_error).note(note)])
}

/// All orders of 0..n.
fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let shorter = permutations(n - 1);
    let insert = |order: &Vec<usize>, at: usize| {
        let mut longer = order.clone();
        longer.insert(at, n - 1);
        longer
    };
    shorter.iter().flat_map(|order| (0..n).map(|at| insert(order, at)).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_once() {
        let mut all = permutations(4);
        assert_eq!(all.len(), 24);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 24);
        assert!(all.iter().all(|order| order.iter().sum::<usize>() == 6));
    }
}
