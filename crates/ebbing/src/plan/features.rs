//! What a linear head on d features costs: in d × d, or by kernels between examples.

use super::theory::{
    CHOLESKY, TRIANGULAR, beginnings, forgetting_cost, order_cost, order_parameter_cost, orders_tried,
};
use super::whole::forecast_peak;
use super::{Cost, Memory, Sizes};

/// Operations that go with one entry of an output: its loss, its accuracy.
const SCORE: f64 = 20.0;

impl Sizes {
    fn features(&self) -> f64 {
        self.dim as f64
    }

    /// Operations of `C` or `XXᵀ/d`, whichever is smaller, and of its factor.
    fn inverses(&self) -> f64 {
        let d = self.features();
        self.sum(|p| p * d * p.min(d) + CHOLESKY * p.min(d).powi(3))
    }
}

/// The forgetting and generalization matrices in feature space: one factor per task, and outputs of every network at all rows.
fn weights_cost(sizes: &Sizes) -> Cost {
    let (d, columns, tasks) = (sizes.features(), sizes.columns as f64, sizes.train.len() as f64);
    let learned = sizes.inverses() + sizes.sum(|p| 8.0 * p * d * columns) + tasks * 4.0 * d * d * columns;
    let outputs = sizes.rows() * tasks * columns * (2.0 * d + SCORE);
    let kept = 3.0 * d * d + 2.0 * tasks * d * columns + 4.0 * sizes.largest() * columns;
    Cost { flops: learned + outputs, bytes: 2.0 * sizes.data() + 8.0 * kept, ..Cost::default() }
}

/// Operations of learning all tasks as a linear head, each in the smaller of its two forms.
pub(crate) fn head_operations(sizes: &Sizes) -> f64 {
    sizes.inverses() + sizes.sum(|p| 4.0 * p * sizes.features() * sizes.columns as f64)
}

/// Operations of learning all tasks with each of several amounts of replay from sums that they share: the products of every row twice,
/// for the task itself and where it is stored, and for every amount a factor of each task and products of d × d with d × K.
pub(crate) fn shared_head_operations(sizes: &Sizes, amounts: usize) -> f64 {
    let (d, columns, tasks) = (sizes.features(), sizes.columns as f64, sizes.train.len() as f64);
    // Columns are learned one task after another: half of them are not zero.
    let each = CHOLESKY * d.powi(3) + 2.0 * d * d * columns + COPIES * d * d;
    2.0 * sizes.sum(|p| p * d * (d + columns)) + amounts as f64 * tasks * each
}

/// Passes over a matrix of d × d for every task and amount, in operations of a product.
const COPIES: f64 = 60.0;

/// The curve of final accuracy against kept examples of a linear head on features.
pub(super) fn feature_keep_cost(sizes: &Sizes, amounts: usize) -> Cost {
    let (d, columns, tasks) = (sizes.features(), sizes.columns as f64, sizes.train.len() as f64);
    let shared = shared_head_operations(sizes, amounts);
    let tested = sizes.rows() - sizes.sum(|p| p);
    let tests = amounts as f64 * 2.0 * tested * columns * (2.0 * d + SCORE);
    let sums = 8.0 * (2.0 * tasks + 4.0) * d * (d + columns);
    // Where features outnumber examples each amount may be learned by itself, at worst with everything kept.
    let all: Vec<usize> = sizes
        .train
        .iter()
        .scan(0, |seen, p| {
            *seen += p;
            Some(*seen)
        })
        .collect();
    let most = Sizes { train: all, distinct: None, ..sizes.clone() };
    let own = Sizes { distinct: None, ..sizes.clone() };
    let apart = (amounts as f64 - 2.0).max(0.0) * head_operations(&own) + 2.0 * head_operations(&most);
    if apart < shared {
        return Cost { flops: apart + tests, bytes: 2.0 * sizes.data() + most.data(), ..Cost::default() };
    }
    Cost { flops: shared + tests, bytes: 2.0 * sizes.data() + sums, ..Cost::default() }
}

/// Whether a linear head on features is learned in feature space: some task has more examples than features, and all of it takes
/// less work than with kernels between examples.
pub(crate) fn in_feature_space(sizes: &Sizes) -> bool {
    more_examples(sizes) && weights_cost(sizes).flops < forgetting_cost(sizes).flops
}

/// [`forgetting_cost`] of a linear head on features, in the form that is chosen for them.
pub fn feature_forgetting_cost(sizes: &Sizes) -> Cost {
    if in_feature_space(sizes) { weights_cost(sizes) } else { forgetting_cost(sizes) }
}

/// [`order_parameter_cost`] of features: in feature space six products of d × d with d × K for every pair, beside C and H of every
/// task.
fn feature_pairs_cost(sizes: &Sizes) -> Cost {
    let (d, columns, tasks) = (sizes.features(), sizes.columns as f64, sizes.train.len() as f64);
    let each = sizes.inverses() + sizes.sum(|p| 6.0 * p * d * columns) + tasks * 2.0 * TRIANGULAR * d.powi(3);
    let pairs = sizes.pairs(|_, _| 12.0 * d * d * columns + 2.0 * d * d);
    let kept = tasks * (2.0 * d * d + 2.0 * d * columns) + 4.0 * d * d;
    Cost { flops: each + pairs, bytes: 2.0 * sizes.data() + 8.0 * kept, ..Cost::default() }
}

/// Whether order parameters of features are computed in feature space.
pub(crate) fn pairs_in_feature_space(sizes: &Sizes) -> bool {
    more_examples(sizes) && feature_pairs_cost(sizes).flops < order_parameter_cost(sizes).flops
}

/// [`order_parameter_cost`] of features, in the form that is chosen for them.
pub fn feature_parameter_cost(sizes: &Sizes) -> Cost {
    if pairs_in_feature_space(sizes) { feature_pairs_cost(sizes) } else { order_parameter_cost(sizes) }
}

/// Whether orders of tasks are searched in feature space: `(T + 1) d²` for every order against `(ΣP)²`.
pub(crate) fn orders_in_feature_space(sizes: &Sizes) -> bool {
    let (d, total) = (sizes.features(), sizes.sum(|p| p));
    (sizes.train.len() as f64 + 1.0) * d * d < total * total
}

/// Whether some task has more examples than features.
fn more_examples(sizes: &Sizes) -> bool {
    sizes.train.iter().any(|&p| p > sizes.dim)
}

/// [`order_cost`] of features, in the form that is chosen for them: in feature space a product of d × d with d × K for every task of
/// an order and one for what it forgets. Of more than seven tasks orders share about half of their beginnings; that, and the number
/// of rounds that moves will take, is a guess.
pub fn feature_order_cost(sizes: &Sizes) -> Cost {
    let (d, columns, tasks) = (sizes.features(), sizes.columns as f64, sizes.train.len() as f64);
    let count = sizes.train.len();
    if count < 2 || !orders_in_feature_space(sizes) {
        return order_cost(sizes, true);
    }
    let orders = orders_tried(count, 7);
    let learned = beginnings(count).unwrap_or(orders * 0.5 * tasks);
    let each = sizes.inverses() + sizes.sum(|p| 6.0 * p * d * columns) + tasks * 2.0 * TRIANGULAR * d.powi(3);
    let kept = tasks * (2.0 * d * d + 3.0 * d * columns) + 4.0 * 4096.0 * d;
    let forecast = feature_forgetting_cost(sizes);
    let flops = each + (orders + learned) * 2.0 * d * d * columns + 2.0 * forecast.flops;
    Cost { flops, bytes: forecast.bytes.max(2.0 * sizes.data() + 8.0 * kept), ..Cost::default() }
}

/// [`forecast_peak`] of features, in the forms that are chosen for them.
pub fn feature_peak(sizes: &Sizes, keep: usize, order: bool, memory: &Memory) -> f64 {
    if in_feature_space(sizes) && pairs_in_feature_space(sizes) && (!order || orders_in_feature_space(sizes)) {
        let searched = if order { feature_order_cost(sizes) } else { Cost::default() };
        return weights_cost(sizes).then(feature_pairs_cost(sizes)).then(searched).bytes;
    }
    forecast_peak(sizes, 0, keep, order, memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_space_serves_where_there_are_more_examples_than_features() {
        let sizes = |p: usize| Sizes { train: vec![p; 10], test: vec![p; 10], dim: 384, columns: 100, distinct: None };
        assert!(
            !in_feature_space(&sizes(300)) && in_feature_space(&sizes(1000)) && pairs_in_feature_space(&sizes(1000))
        );
        let (one, more) = (feature_forgetting_cost(&sizes(1000)), feature_forgetting_cost(&sizes(10_000)));
        // Linear in the examples, but for what does not depend on them.
        assert!(more.flops > 8.0 * one.flops && more.flops < 10.0 * one.flops, "{one:?} {more:?}");
        let rows = 8.0 * 20.0 * 484.0 * 1e4;
        assert!(more.bytes > 2.0 * rows && more.bytes < 2.2 * rows, "{more:?}");
        // Neither do order parameters and orders keep anything of the size of the examples squared.
        let peak = feature_peak(&sizes(10_000), 1 << 30, true, &Memory::default());
        assert!(peak >= more.bytes && peak < 2.5 * rows, "{peak}");
        let fewer = sizes(30);
        assert_eq!(feature_order_cost(&fewer), order_cost(&fewer, true));
    }
}
