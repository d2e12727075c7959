//! Orders of tasks in feature space: learning task t is the affine map `W → (1 − H_t) W + V_t` of d × K weights, and what is
//! forgotten in the end a quadratic form of them, so that an order costs no product with rows.
//!
//! ```math
//! \sum_{s} \frac{\lvert X_sW-Y_s\rvert^2}{\lvert Y_s\rvert^2} = d\,\langle W, \bar C W\rangle - 2d\,\langle W,\bar B\rangle + \mathrm{const}, \qquad
//! \bar C = \sum_s \frac{C_s}{\lvert Y_s\rvert^2},\quad \bar B = \sum_s \frac{X_s^{\mathsf T}Y_s}{d\lvert Y_s\rvert^2}
//! ```

use super::{Forecaster, OrderRank, Valued, every_order, say_tried};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use crate::plan::{Sizes, orders_in_feature_space};
use crate::stop;
use crate::theory::blocks::factor::RANK_TOLERANCE;
use crate::theory::blocks::feature_space::{FeatureTask, inner, outputs, products};
use crate::theory::blocks::kernels::{KernelSource, Points};
use crate::theory::blocks::shared::{Shared, Start, TaskInput};
use crate::theory::single_head::SingleHeadSettings;
use crate::theory::single_head::score::Targets;
use std::collections::BTreeMap;

/// Columns of weights that are followed at once.
const COLUMNS: usize = 4096;

/// Everything that orders share: no rows, but those of held-out data where they rank orders.
#[derive(Debug)]
pub(super) struct FeatureEngine {
    tasks: Vec<FeatureTask>,
    /// `XᵀY/d`, `|Y − f_0|²`, and the `|Y|²` that losses are divided by.
    sums: Vec<(Mat<f64>, f64, f64)>,
    rank: OrderRank,
    tests: Vec<(Mat<f64>, Mat<f64>, Option<Start>)>,
}

/// Whether orders of these tasks are searched in feature space.
pub(super) fn serves(source: &KernelSource, given: &[TaskInput<'_>]) -> bool {
    let KernelSource::Features { neurons, by_examples: false } = source else { return false };
    let train = given.iter().map(|task| task.points.len()).collect();
    orders_in_feature_space(&Sizes { train, dim: *neurons, ..Sizes::default() })
}

impl FeatureEngine {
    /// Factors of all tasks.
    pub fn new(
        theory: &SingleHeadSettings,
        given: &[TaskInput<'_>],
        rank: OrderRank,
        context: &Context,
    ) -> Result<FeatureEngine> {
        let shared = Shared::nothing(given);
        let mut engine = FeatureEngine { tasks: vec![], sums: vec![], rank, tests: vec![] };
        for task in shared.tasks {
            context.say(&format!("factors of {}", task.name), 0.0)?;
            let x = features(task.own.points())?;
            let of = FeatureTask::new(x, &task.y, theory.ridge(), RANK_TOLERANCE, &task.name)?;
            engine.sums.push((of.target_sums(), task.y.squared_norm_l2(), task.norm2()));
            engine.tasks.push(of);
            if let (OrderRank::Accuracy, Some((points, y, start))) = (rank, task.test) {
                engine.tests.push((features(points.points())?.to_owned(), y, start));
            }
        }
        Ok(engine)
    }

    /// The weights after each of some sorted orders; those that begin alike share their beginning.
    fn follow(&self, orders: &[&[usize]]) -> Vec<Mat<f64>> {
        let (mut states, mut place): (Vec<Mat<f64>>, Vec<usize>) = (vec![], vec![0; orders.len()]);
        let mut done: Vec<Mat<f64>> = orders.iter().map(|_| Mat::zeros(0, 0)).collect();
        for step in 0..orders.iter().map(|order| order.len()).max().unwrap_or(0) {
            let mut ways: Vec<(usize, usize)> = vec![];
            let going: Vec<usize> = (0..orders.len()).filter(|&n| orders[n].len() > step).collect();
            for (k, &n) in going.iter().enumerate() {
                let alike = k > 0 && orders[going[k - 1]][..=step] == orders[n][..=step];
                if !alike {
                    ways.push((place[n], orders[n][step]));
                }
                place[n] = ways.len() - 1;
            }
            states = self.advance(&states, &ways);
            for &n in going.iter().filter(|&&n| orders[n].len() == step + 1) {
                done[n] = states[place[n]].clone();
            }
        }
        done
    }

    /// The weights after one more task; each way is a state and a task. Without states networks begin at 0.
    fn advance(&self, states: &[Mat<f64>], ways: &[(usize, usize)]) -> Vec<Mat<f64>> {
        let mut next: Vec<Mat<f64>> = ways.iter().map(|&(_, task)| self.tasks[task].alone.clone()).collect();
        for (j, task) in self.tasks.iter().enumerate().filter(|_| !states.is_empty()) {
            let some: Vec<usize> = (0..ways.len()).filter(|&n| ways[n].1 == j).collect();
            let before: Vec<&Mat<f64>> = some.iter().map(|&n| &states[ways[n].0]).collect();
            for ((&n, before), seen) in some.iter().zip(&before).zip(task.project_all(&before)) {
                next[n] += *before - seen;
            }
        }
        next
    }

    /// Mean forgetting of all tasks of each order but its last.
    fn forgetting(&self, orders: &[&[usize]], weights: &[Mat<f64>]) -> Vec<f64> {
        let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for (n, order) in orders.iter().enumerate() {
            let mut earlier = order[..order.len() - 1].to_vec();
            earlier.sort_unstable();
            groups.entry(earlier).or_default().push(n);
        }
        let mut values = vec![0.0; orders.len()];
        for (earlier, some) in groups.iter().filter(|(earlier, _)| !earlier.is_empty()) {
            let (d, k) = (self.tasks[0].c.nrows(), self.sums[0].0.ncols());
            let (mut c, mut b, mut whole) = (Mat::<f64>::zeros(d, d), Mat::<f64>::zeros(d, k), 0.0);
            for &s in earlier {
                let (sums, size, norm2) = &self.sums[s];
                add(&mut c, &self.tasks[s].c, 1.0 / norm2);
                add(&mut b, sums, 1.0 / norm2);
                whole += size / norm2;
            }
            let of: Vec<&Mat<f64>> = some.iter().map(|&n| &weights[n]).collect();
            for ((&n, w), moved) in some.iter().zip(&of).zip(products(c.as_ref(), &of)) {
                let loss = whole + d as f64 * (inner(w, &moved) - 2.0 * inner(w, &b));
                values[n] = loss / earlier.len() as f64;
            }
        }
        values
    }

    /// The average accuracy on the held-out data of an order's tasks.
    fn accuracy(&self, targets: &[Targets<'_>], order: &[usize], weights: &Mat<f64>) -> Result<Option<f64>> {
        let score = |&s: &usize| targets[s].score(outputs(self.tests[s].0.as_ref(), weights.as_ref()).as_ref());
        let each = order.iter().map(score).collect::<Result<Vec<_>>>()?;
        let all: Option<Vec<f64>> = each.iter().map(|score| score.accuracy).collect();
        Ok(all.map(|all| all.iter().sum::<f64>() / all.len() as f64))
    }
}

impl Forecaster for FeatureEngine {
    fn of(&self, orders: &[Vec<usize>], context: &Context) -> Result<Vec<f64>> {
        let targets: Vec<Targets<'_>> =
            self.tests.iter().map(|(_, y, start)| Targets::new(y.as_ref(), start.as_ref())).collect();
        let mut sorted: Vec<usize> = (0..orders.len()).collect();
        sorted.sort_by_key(|&n| &orders[n]);
        let (mut values, mut tried) = (vec![0.0; orders.len()], 0);
        let columns = self.sums.first().map_or(1, |(b, ..)| b.ncols());
        for some in sorted.chunks((COLUMNS / columns).max(1)) {
            stop::check()?;
            let chosen: Vec<&[usize]> = some.iter().map(|&n| orders[n].as_slice()).collect();
            let weights = self.follow(&chosen);
            for (k, forgetting) in self.forgetting(&chosen, &weights).into_iter().enumerate() {
                let accuracy = match self.rank {
                    OrderRank::Forgetting => None,
                    OrderRank::Accuracy => self.accuracy(&targets, chosen[k], &weights[k])?,
                };
                values[some[k]] = self.rank.value(forgetting, accuracy);
            }
            tried += some.len();
            say_tried(tried, orders.len(), context)?;
        }
        Ok(values)
    }

    fn exhaust(&self, count: usize, context: &Context) -> Result<(Vec<usize>, usize, Valued)> {
        let orders = every_order(count);
        let tried = orders.len();
        let (order, _, worst) = super::least(orders, self, context)?;
        Ok((order, tried, worst))
    }
}

fn features(points: Points<'_>) -> Result<MatRef<'_, f64>> {
    match points {
        Points::Inputs(x) => Ok(x),
        Points::Rows(_) => Err(Error::data("points", "orders of features take features, not rows of kernels")),
    }
}

/// `a ← a + factor·b`.
fn add(a: &mut Mat<f64>, b: &Mat<f64>, factor: f64) {
    for j in 0..a.ncols() {
        a.col_as_slice_mut(j).iter_mut().zip(b.col_as_slice(j)).for_each(|(a, b)| *a += factor * b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::TaskSequence;
    use crate::theory::Inputs;
    use crate::theory::blocks::feature_space::shapes::{close, tasks};
    use crate::theory::single_head::SingleHead;
    use crate::theory::task_order::{Draw, OrderSearchSettings, TaskOrder, best_order, searched};

    /// The same by kernels between examples.
    fn by_examples(sequence: &TaskSequence, settings: &OrderSearchSettings) -> TaskOrder {
        let (given, context) = (Inputs::Features(sequence).given(0.0).unwrap(), crate::Context::default());
        let source = || KernelSource::Features { neurons: sequence.dim(), by_examples: true };
        let draw = Draw::with(given, Box::new(source), settings, &context).unwrap();
        searched(vec![draw], settings, &context).unwrap()
    }

    #[test]
    fn orders_in_feature_space_are_those_of_kernels_between_examples() {
        for (sizes, dims, columns) in [
            (vec![40, 60, 30, 50, 45], (20, 20), 5),
            (vec![15, 60, 30, 50], (20, 12), 1),
            (vec![18, 16, 19, 17], (20, 20), 3),
        ] {
            let sequence = tasks(&sizes, dims, columns, 7);
            for beta in [f64::INFINITY, 5.0] {
                for (rank, exhaustive_up_to) in
                    [(OrderRank::Forgetting, 7), (OrderRank::Forgetting, 2), (OrderRank::Accuracy, 7)]
                {
                    let theory = SingleHeadSettings { beta, ..Default::default() };
                    let settings = OrderSearchSettings { theory, rank, exhaustive_up_to, ..Default::default() };
                    let context = crate::Context::default();
                    let found = best_order(Inputs::Features(&sequence), &settings, &context).unwrap();
                    let known = by_examples(&sequence, &settings);
                    if beta.is_finite() {
                        assert_eq!((found.order, found.tried), (known.order, known.tried));
                    } else if exhaustive_up_to < sizes.len() {
                        // Least squares forget all but the last task: orders tie, and rounding takes the moves.
                        continue;
                    }
                    assert_eq!(found.method, known.method);
                    close("the worst order", found.worst, known.worst);
                    close("the best order", found.forgetting, known.forgetting);
                    assert_eq!(found.accuracy, known.accuracy);
                    if rank == OrderRank::Forgetting && exhaustive_up_to == 7 && sizes.len() <= 4 {
                        let each = |order: Vec<usize>| {
                            let named: Vec<usize> = order.iter().map(|t| t + 1).collect();
                            let tasks = sequence.ordered(&named).unwrap();
                            let network =
                                SingleHead::new(Inputs::Features(&tasks), &theory, &crate::Context::default()).unwrap();
                            network.outcome().unwrap().forgetting
                        };
                        let all: Vec<f64> = every_order(sizes.len()).into_iter().map(each).collect();
                        let most = all.iter().copied().fold(0.0, f64::max);
                        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
                        close("the worst of all orders", found.worst, most);
                        close("the best of all orders", found.forgetting, least);
                    }
                }
            }
        }
    }
}
