//! What networks of finite width cost: training by descent, and sampling from the posterior.

use super::{Cost, Sizes};

/// The hidden weights `N(N0 + (L−1)N)` of L layers of N units.
fn hidden_weights(dim: f64, width: usize, depth: usize) -> f64 {
    let width = width as f64;
    width * (dim + (depth as f64 - 1.0) * width)
}

/// Training with `steps[t]` steps on task t: forward, backward and gradient are three products of two operations per weight
/// and example, in single precision, which is twice as fast. 3 W B operations per step of a batch of B examples (all of
/// them where none is given), with W = N(N0 + (L−1)N + columns) weights.
pub fn train_cost(sizes: &Sizes, width: usize, depth: usize, batch: Option<usize>, steps: &[usize]) -> Cost {
    let weights = hidden_weights(sizes.dim as f64, width, depth) + width as f64 * sizes.columns as f64;
    let per_task = |(&p, &steps): (&usize, &usize)| 3.0 * weights * batch.unwrap_or(p) as f64 * steps as f64;
    let units = width as f64 * depth as f64;
    let bytes = 12.0 * sizes.rows() * (sizes.dim as f64 + units) + 16.0 * weights;
    Cost { flops: sizes.train.iter().zip(steps).map(per_task).sum(), bytes, ..Cost::default() }
}

/// The same for full batches whose first layer is carried by its coefficients on the examples, as it is under an even
/// penalty where P < 2 N0: 2 P²N + 3 P N²(L−1) operations per step.
pub fn gram_train_cost(sizes: &Sizes, width: usize, depth: usize, steps: &[usize]) -> Cost {
    let n = width as f64;
    let step = |p: f64| 2.0 * p * p * n + 3.0 * p * n * n * (depth as f64 - 1.0);
    let flops = sizes.train.iter().zip(steps).map(|(&p, &steps)| step(p as f64) * steps as f64).sum();
    Cost { flops, bytes: sizes.sum(|p| 8.0 * p * (p + sizes.dim as f64 + 8.0 * n)), ..Cost::default() }
}

/// The minimum itself by Levenberg–Marquardt, in `steps[t]` steps on task t, in double precision: with M = P outputs per
/// target column, 2 P²N + 8 P N²(L−1) operations for the network, P²N(L+2) for Gram matrices per pair of columns, and
/// M³/3 + P²N for the solve.
pub fn levenberg_cost(sizes: &Sizes, width: usize, depth: usize, steps: &[usize]) -> Cost {
    let (n, layers, columns) = (width as f64, depth as f64, sizes.columns as f64);
    let step = |p: f64| {
        let outputs = p * columns;
        let network = 2.0 * p * p * n + 8.0 * p * n * n * (layers - 1.0);
        network + columns * columns * p * p * n * (layers + 2.0) + outputs.powi(3) / 3.0 + p * p * n
    };
    let flops = sizes.train.iter().zip(steps).map(|(&p, &steps)| step(p as f64) * steps as f64).sum();
    // Four matrices of the outputs, and about ten of every layer's units.
    let bytes = |&p: &usize| {
        let p = p as f64;
        8.0 * (4.0 * (p * columns).powi(2) + p * n * layers * (10.0 + columns) + 6.0 * n * n * (layers - 1.0))
    };
    let largest = sizes.train.iter().map(bytes).fold(0.0, f64::max);
    Cost { flops, bytes: largest + sizes.sum(|p| 4.0 * p * sizes.dim as f64), ..Cost::default() }
}

/// Sampling with `chains` chains that take `leaps` leapfrog steps in every task. Inputs are taken within their own span, of
/// dimension D = min(N0, Σ P). A step is a forward and a backward pass and a solve with the kernel: 6 P W + 4 P²N + P³
/// operations, with W = N(D + (L−1)N) weights.
pub fn sample_cost(sizes: &Sizes, width: usize, depth: usize, chains: usize, leaps: f64) -> Cost {
    let (n, total) = (width as f64, sizes.sum(|p| p));
    let weights = hidden_weights((sizes.dim as f64).min(total), width, depth);
    let step = |p: f64| 6.0 * p * weights + 4.0 * p * p * n + p.powi(3);
    let flops = chains as f64 * leaps * sizes.sum(step);
    Cost { flops, bytes: 8.0 * (total * (sizes.dim as f64 + 6.0 * n) + 8.0 * weights), ..Cost::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_cost_their_weights_times_their_examples() {
        let sizes = Sizes { train: vec![100, 50], test: vec![0, 50], dim: 20, columns: 2, distinct: None };
        // 10 units of 20 inputs, 10 more units above them, two readouts: 320 weights.
        let full = train_cost(&sizes, 10, 2, None, &[7, 11]);
        assert_eq!(full.flops, 3.0 * 320.0 * (100.0 * 7.0 + 50.0 * 11.0));
        assert_eq!(full.bytes, 12.0 * 200.0 * 40.0 + 16.0 * 320.0);
        assert_eq!(train_cost(&sizes, 10, 2, Some(4), &[7, 11]).flops, 3.0 * 320.0 * 4.0 * 18.0);
        let gram = gram_train_cost(&sizes, 10, 2, &[7, 0]);
        assert_eq!(gram.flops, 7.0 * (2.0 * 1e4 * 10.0 + 3.0 * 100.0 * 100.0));
        let solved = levenberg_cost(&sizes, 10, 1, &[3, 0]);
        // P = 100: 2 P²N, 3 P²N for each of 4 pairs of two columns, 200³/3, P²N.
        assert_eq!(solved.flops, 3.0 * (2e5 + 12.0 * 1e5 + 8e6 / 3.0 + 1e5));
        let sampled = sample_cost(&sizes, 10, 1, 3, 2.0);
        let step = |p: f64| 6.0 * p * 200.0 + 40.0 * p * p + p * p * p;
        assert_eq!(sampled.flops, 6.0 * (step(100.0) + step(50.0)));
    }
}
