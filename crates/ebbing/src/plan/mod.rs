//! What a computation will cost: counts of operations and bytes, and the speed of this machine.
//!
//! | Item | What it is |
//! |---|---|
//! | [`Cost`] | operations and peak memory of a computation |
//! | [`Sizes`] | the sizes of a task sequence, of which a cost is a function |
//! | [`forgetting_cost`], [`order_parameter_cost`], [`phase_cost`] | costs of the theory's parts |
//! | [`Speed`] | how fast this machine multiplies matrices, measured in 20 ms |
//!
//! ```
//! use ebbing::plan::{Sizes, Speed, forgetting_cost};
//! let sizes = Sizes { train: vec![2000; 5], test: vec![0; 5], dim: 784, columns: 1, distinct: None };
//! let speed = Speed { flops_per_second: 50e9 };
//! assert!(forgetting_cost(&sizes).seconds(speed) < 10.0);
//! ```
//!
//! Counts are in operations of a dense product, by far the fastest thing a machine does; what runs at a lower rate is
//! weighted by the ratio of the rates (measured with faer at sizes of 1000 to 4000). Estimates are meant to be right
//! within a factor of about two: enough to tell a second from an hour.

use crate::linalg::{Mat, matmul_into};
use crate::tasks::TaskSequence;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Operations of a kernel block relative to its bare product: the univariate function of every entry.
const KERNEL: f64 = 1.3;
/// A Cholesky factorisation's P³/3 operations run at two thirds of a product's rate.
const CHOLESKY: f64 = 0.5;
/// A triangular solve's P³ operations, per right-hand side matrix, at about three quarters.
const TRIANGULAR: f64 = 1.3;
/// A symmetric eigendecomposition takes as long as 10 P³ operations of a product.
const EIGEN: f64 = 10.0;

/// Operations (in those of a dense product) and peak memory.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Cost {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes in use at the peak, the tasks themselves included.
    pub bytes: f64,
}

impl Cost {
    /// One after the other: operations add up, the larger peak counts.
    pub fn then(self, next: Cost) -> Cost {
        Cost { flops: self.flops + next.flops, bytes: self.bytes.max(next.bytes) }
    }

    /// The same `n` times.
    pub fn times(self, n: usize) -> Cost {
        Cost { flops: self.flops * n as f64, bytes: self.bytes }
    }

    /// The time it takes on a machine of this speed.
    pub fn seconds(self, speed: Speed) -> f64 {
        self.flops / speed.flops_per_second
    }
}

/// How fast this machine multiplies matrices, with the threads of the current pool.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Speed {
    /// Floating-point operations per second in a dense float64 product.
    pub flops_per_second: f64,
}

impl Speed {
    /// Measures it: products of 512 × 512 for about 20 milliseconds (the fastest counts).
    pub fn measure() -> Speed {
        const N: usize = 512;
        let a = Mat::from_fn(N, N, |i, j| ((i * 7 + j * 3) % 11) as f64);
        let mut c = Mat::zeros(N, N);
        let mut best = Duration::MAX;
        let start = Instant::now();
        // The first product also wakes the threads.
        while best == Duration::MAX || start.elapsed() < Duration::from_millis(20) {
            let before = Instant::now();
            matmul_into(c.as_mut(), 0.0, 1.0, a.as_ref(), a.as_ref());
            best = best.min(before.elapsed());
        }
        std::hint::black_box(&c);
        Speed { flops_per_second: 2.0 * (N as f64).powi(3) / best.as_secs_f64().max(1e-9) }
    }
}

/// The sizes of a sequence that its cost depends on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sizes {
    /// Training examples of each task.
    pub train: Vec<usize>,
    /// Test examples of each task.
    pub test: Vec<usize>,
    /// The input dimension N0.
    pub dim: usize,
    /// Target columns.
    pub columns: usize,
    /// How many different training inputs there are, where rows are known.
    pub distinct: Option<usize>,
}

impl Sizes {
    /// The sizes of a sequence.
    pub fn of(sequence: &TaskSequence) -> Sizes {
        let rows = |task: &crate::Task| task.rows.clone();
        let known: Option<Vec<_>> = sequence.tasks.iter().map(rows).collect();
        let distinct = known.map(|known| {
            let mut all = known.concat();
            all.sort_unstable();
            all.dedup();
            all.len()
        });
        let tested = |task: &crate::Task| task.test.as_ref().map_or(0, |test| test.x.nrows());
        Sizes {
            train: sequence.tasks.iter().map(|task| task.x.nrows()).collect(),
            test: sequence.tasks.iter().map(tested).collect(),
            dim: sequence.dim(),
            columns: sequence.columns(),
            distinct,
        }
    }

    /// Σ_t f(P_t).
    fn sum(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.train.iter().map(|&p| f(p as f64)).sum()
    }

    /// Σ f(P_s, P_t) over pairs s < t.
    fn pairs(&self, f: impl Fn(f64, f64) -> f64) -> f64 {
        let p = |t: usize| self.train[t] as f64;
        (0..self.train.len()).flat_map(|t| (0..t).map(move |s| (s, t))).map(|(s, t)| f(p(s), p(t))).sum()
    }

    fn largest(&self) -> f64 {
        self.train.iter().copied().max().unwrap_or(0) as f64
    }

    /// The bytes of inputs and targets.
    fn data(&self) -> f64 {
        let rows = self.train.iter().chain(&self.test).sum::<usize>() as f64;
        8.0 * rows * (self.dim + self.columns) as f64
    }

    /// Products of all training inputs with each other, shared inputs once.
    fn products(&self) -> f64 {
        let (dim, apart) = (self.dim as f64, self.sum(|p| p * p) + self.pairs(|p, q| 2.0 * p * q));
        let distinct = self.distinct.map_or(f64::INFINITY, |n| n as f64 * n as f64);
        KERNEL * dim * apart.min(distinct)
    }
}

/// The forgetting and generalisation matrices of the single-head theory, means only: all kernel blocks once, one Cholesky
/// factor per task, blocks against test inputs; memory P² + P·T.
pub fn forgetting_cost(sizes: &Sizes) -> Cost {
    let (total, tested) = (sizes.sum(|p| p), sizes.test.iter().sum::<usize>() as f64);
    let columns = sizes.columns as f64;
    let factors = CHOLESKY * sizes.sum(|p| p.powi(3));
    let solves = 2.0 * columns * sizes.sum(|p| p * p) * sizes.train.len() as f64;
    let test = KERNEL * 2.0 * sizes.dim as f64 * tested * total;
    let flops = sizes.products() + factors + solves + test;
    let largest_test = sizes.test.iter().copied().max().unwrap_or(0) as f64;
    let blocks = sizes.largest() * (3.0 * sizes.largest() + largest_test);
    let means = (total + tested) * columns * sizes.train.len() as f64;
    Cost { flops, bytes: sizes.data() + 8.0 * (blocks + means) }
}

/// The order parameters of all pairs of tasks: kernel blocks, one factor per task, two triangular solves of a P × P block per
/// pair for γ_feature.
pub fn order_parameter_cost(sizes: &Sizes) -> Cost {
    let factors = CHOLESKY * sizes.sum(|p| p.powi(3));
    let solves = TRIANGULAR * sizes.pairs(|p, q| p * p * q + q * q * p);
    let kept = sizes.sum(|p| p * p) + 2.0 * sizes.largest().powi(2);
    Cost { flops: sizes.products() + factors + solves, bytes: sizes.data() + 8.0 * kept }
}

/// The two-task multi-head theory at one λ and `alphas` loads: kernel blocks, one pencil decomposition, the products that
/// turn sums over data points into O(P²) forms, then O(P²) per load.
pub fn phase_cost(sizes: &Sizes, alphas: usize) -> Cost {
    let p = sizes.largest();
    let tested = sizes.test.iter().sum::<usize>() as f64;
    let pencil = (CHOLESKY + 3.0 * TRIANGULAR + EIGEN) * p.powi(3);
    let kernels = 2.0 * sizes.products() + 2.0 * KERNEL * 2.0 * sizes.dim as f64 * tested * p;
    let forms = 8.0 * p.powi(3) + 8.0 * p * p * tested;
    let loads = alphas as f64 * 40.0 * p * p;
    let kept = 12.0 * p * p + 4.0 * p * tested;
    Cost { flops: kernels + pencil + forms + loads, bytes: sizes.data() + 8.0 * kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(tasks: usize, p: usize, distinct: Option<usize>) -> Sizes {
        Sizes { train: vec![p; tasks], test: vec![0; tasks], dim: 784, columns: 1, distinct }
    }

    #[test]
    fn costs_count_products_and_factors() {
        let one = forgetting_cost(&sizes(1, 1000, None));
        // One symmetric block (half of 2·P²·N0), one factor, and the solves.
        assert_eq!(one.flops, 1.3 * 784e6 + 0.5e9 + 2e6);
        let two = forgetting_cost(&sizes(2, 1000, None));
        assert_eq!(two.flops, 1.3 * 784e6 * 4.0 + 2.0 * 0.5e9 + 2.0 * 4e6);
        assert_eq!(two.bytes, 8.0 * (2000.0 * 785.0 + 3e6 + 4000.0));
        let shared = forgetting_cost(&sizes(2, 1000, Some(1200)));
        assert_eq!(two.flops - shared.flops, 1.3 * 784.0 * (4e6 - 1.44e6));
    }

    #[test]
    fn cubes_dominate_large_problems() {
        for cost in [forgetting_cost, order_parameter_cost, |s: &Sizes| phase_cost(s, 1)] {
            let ratio = cost(&sizes(2, 200_000, None)).flops / cost(&sizes(2, 100_000, None)).flops;
            assert!(ratio > 7.0 && ratio < 8.0, "{ratio}");
            assert_eq!(cost(&sizes(0, 0, Some(0))), Cost::default());
        }
    }

    #[test]
    fn measured_speed_is_of_this_world() {
        let speed = Speed::measure();
        // A float64 product runs at 0.01 (a loaded, tiny machine) to 100 000 GFLOP/s (a large node).
        assert!(speed.flops_per_second > 1e7 && speed.flops_per_second < 1e14, "{speed:?}");
    }

    #[test]
    fn costs_add_up() {
        // Powers of two, so that the arithmetic is exact.
        let (speed, cost) = (Speed { flops_per_second: 1024.0 }, Cost { flops: 1024.0, bytes: 1.0 });
        let other = Cost { flops: 0.0, bytes: 5.0 };
        assert_eq!(cost.times(3).then(other).seconds(speed), 3.0);
        assert_eq!(cost.then(other).bytes, 5.0);
    }
}
