//! Order parameters of features in d × d, where tasks have more examples than features.
//!
//! ```math
//! \gamma_{\mathrm{feature}} = \frac{\operatorname{Tr} H_1H_2}{\min r_i}, \quad
//! K_{12}K_{22}^{-1}Y_2 = X_1V_2, \quad K_{12}K_{22}^{-1}K_{21}K_{11}^{-1}Y_1 = X_1H_2V_1, \quad
//! F_{21} = \frac{\lvert X_1(V_1+V_2-H_2V_1)-Y_1\rvert^2}{\lvert Y_1\rvert^2}
//! ```
//!
//! with `C = XᵀX/d`, `H = (C+ρ)^{-1}C` and `V = (C+ρ)^{-1}XᵀY/d` of each task: six products of d × d with d × K for both orders of a
//! pair, and nothing that grows with the examples.

use super::{Inverse, OrderParameterSettings, OrderParameters, PairOrderParameters};
use crate::error::Result;
use crate::linalg::{Mat, matmul, par_map};
use crate::plan::{Sizes, pairs_in_feature_space};
use crate::stats::number::accuracy;
use crate::stop;
use crate::theory::blocks::feature_space::{FeatureTask, inner};
use crate::theory::blocks::kernels::{KernelSource, Points};
use crate::theory::blocks::shared::{Shared, TaskInput, check};

/// One task, and the norm of its targets.
struct Task {
    of: FeatureTask,
    norm: f64,
}

/// Whether this is the form for these tasks: features, some task with more examples, and no resampling, which needs rows.
pub(super) fn serves(settings: &OrderParameterSettings, source: &KernelSource, given: &[TaskInput<'_>]) -> bool {
    let (KernelSource::Features { neurons, by_examples: false }, 0) =
        (source, settings.resamples.max(settings.shuffles))
    else {
        return false;
    };
    let train = given.iter().map(|task| task.points.len()).collect();
    let columns = given.first().map_or(0, |task| task.y.ncols());
    pairs_in_feature_space(&Sizes { train, test: vec![], dim: *neurons, columns, distinct: None })
}

/// All ordered pairs.
pub(super) fn all_pairs(
    settings: &OrderParameterSettings,
    given: &[TaskInput<'_>],
) -> Result<Vec<PairOrderParameters>> {
    check(given)?;
    let trained: Vec<TaskInput<'_>> = given.iter().map(|task| TaskInput { test: None, ..task.clone() }).collect();
    let shared = Shared::nothing(&trained);
    let mut tasks = vec![];
    for task in &shared.tasks {
        let Points::Inputs(x) = task.own.points() else { continue };
        let ridge = if lost(settings.ridge, task.own.points()) { 0.0 } else { settings.ridge };
        let of = FeatureTask::new(x, &task.y, ridge, settings.rank_tolerance, &task.name)?;
        tasks.push(Task { of, norm: task.norm2().sqrt() });
    }
    let places: Vec<_> = (0..tasks.len()).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
    let both = par_map(&places, |&(i, j)| pair(settings, &tasks, i, j));
    stop::check()?;
    let mut pairs: Vec<PairOrderParameters> = both.into_iter().flatten().collect();
    pairs.sort_by_key(|pair| (pair.first, pair.second));
    Ok(pairs)
}

/// Whether a ridge on the kernel of the examples, which is singular, is lost in its rounding.
fn lost(ridge: f64, points: Points<'_>) -> bool {
    let Points::Inputs(x) = points else { return false };
    let largest = (0..x.nrows()).map(|i| x.row(i).squared_norm_l2() / x.ncols() as f64).fold(0.0, f64::max);
    x.nrows() > x.ncols() && ridge <= x.nrows() as f64 * f64::EPSILON * largest
}

/// Both orders of one pair.
fn pair(settings: &OrderParameterSettings, tasks: &[Task], i: usize, j: usize) -> [PairOrderParameters; 2] {
    let (one, two) = (&tasks[i].of, &tasks[j].of);
    let gamma_feature = one.overlap(two) / one.rank.min(two.rank) as f64;
    // H_2 V_1 and H_1 V_2.
    let seen = [two.project(&one.alone), one.project(&two.alone)];
    let values = [
        values(&tasks[i], &tasks[j], (&seen[0], &seen[1]), gamma_feature),
        values(&tasks[j], &tasks[i], (&seen[1], &seen[0]), gamma_feature),
    ];
    let inverse = match (settings.ridge > 0.0, one.pseudo || two.pseudo) {
        (true, _) => Inverse::Ridge,
        (false, true) => Inverse::Pseudo,
        (false, false) => Inverse::Exact,
    };
    let digits = one.digits.min(two.digits);
    let order = |first: usize, second: usize, way: usize| PairOrderParameters {
        first: first + 1,
        second: second + 1,
        values: values[way].within(accuracy(digits)),
        inverse,
        ranks: [tasks[first].of.rank, tasks[second].of.rank],
        digits,
        interval: None,
        null: None,
        gamma_feature_error: None,
    };
    [order(i, j, 0), order(j, i, 1)]
}

/// The order parameters of `one` learned before `two`; `h2v1 = H_2 V_1`, `h1v2 = H_1 V_2`.
fn values(one: &Task, two: &Task, (h2v1, h1v2): (&Mat<f64>, &Mat<f64>), gamma_feature: f64) -> OrderParameters {
    let ((n1, n2), d) = ((one.norm, two.norm), one.of.c.nrows() as f64);
    let (v1, v2) = (&one.of.alone, &two.of.alone);
    let (c1, c2) = (one.of.c.as_ref(), two.of.c.as_ref());
    // a = X_1 V_2 and back = X_1 H_2 V_1 at the first task, e = X_2 H_1 V_2 and c = X_2 V_1 at the second.
    let [c1_v2, c1_back] = [v2, h2v1].map(|w| matmul(c1, w.as_ref()));
    let [c2_e, c2_v1] = [h1v2, v1].map(|w| matmul(c2, w.as_ref()));
    let gamma_rf = 0.5 * d * (inner(v2, &c1_v2) + inner(h1v2, &c2_e)) / (n2 * n2);
    let gamma_rule = 0.5 * d * (inner(v2, &c1_back) + inner(h1v2, &c2_v1)) / (n1 * n2);
    // Y·(XXᵀ/d + ρ)^{-1} Y.
    let fitted = |task: &Task| {
        let noise = if task.of.ridge > 0.0 { task.of.left / task.of.ridge } else { 0.0 };
        (d * task.of.alone.squared_norm_l2() + noise) / (task.norm * task.norm)
    };
    // A task of which nothing is left to learn has no readout, and nothing in common with another.
    let over = |a: f64, b: f64| if b == 0.0 { 0.0 } else { a / b };
    let cos = over(d * inner(v2, v1) / (n1 * n2), (fitted(one) * fitted(two)).sqrt());
    let proj = over(d * inner(v1, h2v1) / (n1 * n1), fitted(one));
    // What the second task changes in the weights of the first, beside what the first had left of its targets; and V_2 alone.
    let f21 = one.of.squared_error(&(v2 - h2v1), &(&c1_v2 - &c1_back)) / (n1 * n1);
    let change = v2 - v1;
    let f21_at_lambda_zero = one.of.squared_error(&change, &matmul(c1, change.as_ref())) / (n1 * n1);
    OrderParameters::of(gamma_feature, [gamma_rf, gamma_rule], [cos, proj], [f21, f21_at_lambda_zero])
}

#[cfg(test)]
mod tests {
    use crate::theory::Inputs;
    use crate::theory::blocks::feature_space::shapes::{all, close};
    use crate::theory::blocks::kernels::KernelSource;
    use crate::theory::order_parameters::{OrderParameterSettings, OrderParameters, all_pairs, order_parameters};

    #[test]
    fn feature_space_agrees_with_kernels_between_examples() {
        for (k, sequence) in all().iter().enumerate() {
            for ridge in [0.0, 0.01, 3.0] {
                let settings = OrderParameterSettings { ridge, ..Default::default() };
                let inputs = Inputs::Features(sequence);
                let found = order_parameters(inputs, &settings, &crate::Context::default()).unwrap();
                let source = KernelSource::Features { neurons: sequence.dim(), by_examples: true };
                let known = all_pairs(&settings, source, &inputs.given(0.0).unwrap(), f64::INFINITY).unwrap();
                assert_eq!(found.len(), known.len());
                for (a, b) in found.iter().zip(&known) {
                    assert_eq!((a.first, a.second, a.ranks, a.inverse), (b.first, b.second, b.ranks, b.inverse));
                    let numbers = |v: &OrderParameters| {
                        let all = serde_json::to_value(v).unwrap();
                        all.as_object()
                            .unwrap()
                            .iter()
                            .map(|(k, v)| (k.clone(), v.as_f64().unwrap()))
                            .collect::<Vec<_>>()
                    };
                    for ((name, a), (_, b)) in numbers(&a.values).iter().zip(numbers(&b.values)) {
                        close(&format!("{name} of sequence {k}, ridge {ridge}"), *a, b);
                    }
                }
            }
        }
    }
}
