//! What a computation will cost: counts of operations and bytes, and the speed of this machine.
//!
//! | Item | What it is |
//! |---|---|
//! | [`Cost`] | operations and peak memory of a computation |
//! | [`Sizes`] | the sizes of a task sequence, of which a cost is a function |
//! | [`forgetting_cost`], [`first_task_cost`], [`order_parameter_cost`], [`phase_cost`] | costs of the theory's parts |
//! | [`feature_forgetting_cost`], [`feature_parameter_cost`], [`feature_order_cost`] | the same of a linear head on features |
//! | [`whole_cost`], [`whole_disk`], [`forecast_cost`] | the same where kernels do not fit into memory |
//! | [`Memory`], [`MemoryLimit`] | the memory that a computation plans with: whether it fits, and what would |
//! | [`Threads`] | how many threads compute where a number was asked for |
//! | [`Speed`] | how fast this machine multiplies and factors matrices, in double and in single precision, measured in a tenth of a second |
//!
//! ```
//! use ebbing::plan::{Sizes, Speed, forgetting_cost};
//! let sizes = Sizes { train: vec![2000; 5], test: vec![0; 5], dim: 784, columns: 1, distinct: None };
//! let speed = Speed::of_products(50e9);
//! assert!(forgetting_cost(&sizes).seconds(speed) < 10.0);
//! ```
//!
//! Counts are in operations of a dense product, by far the fastest thing a machine does; what runs at a lower rate is
//! weighted by a usual ratio of the rates, so that what is chosen by cost is the same everywhere. Times take the ratios that
//! [`Speed`] measures. Estimates are meant to be right within a factor of 1.5 in time and 1.2 in memory, and
//! `benches/estimates.py` fails where they are not.

mod features;
mod memory;
mod nets;
mod theory;
mod threads;
mod whole;
mod words;

pub use features::{feature_forgetting_cost, feature_order_cost, feature_parameter_cost, feature_peak};
pub(crate) use features::{
    head_operations, in_feature_space, orders_in_feature_space, pairs_in_feature_space, shared_head_operations,
};
pub use memory::{FreeMemory, Memory, MemoryLimit};
pub use nets::{gram_train_cost, levenberg_cost, sample_cost, train_cost};
pub use theory::{
    closed_head_cost, critical_load_cost, first_task_cost, forgetting_cost, keep_cost, order_cost,
    order_parameter_cost, outputs_cost, phase_cost, sequence_cost, single_cost,
};
pub use threads::Threads;
pub use whole::{KEEP_BYTES, forecast_cost, forecast_peak, in_tiles, whole_cost, whole_disk};
pub(crate) use whole::{
    factor_operations, pairs_at_once, pass_operations, search_bytes, solve_operations, spare_bytes,
};
pub use words::{about, size, time};

use crate::linalg::{Cholesky, Mat, matmul_into, tall_product_f32};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Operations (in those of a dense product) and peak memory.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Cost {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes in use at the peak, the tasks themselves included.
    pub bytes: f64,
    /// How many of the operations are of factors and of solves with them, in double precision.
    #[serde(skip)]
    pub factored: f64,
    /// How many are of products in single precision.
    #[serde(skip)]
    pub single: f64,
}

/// Bytes of the program itself: its code, threads, and what products copy their operands to.
pub const PROCESS_BYTES: f64 = 36e6;

impl Cost {
    /// One after the other: operations add up, the larger peak counts.
    pub fn then(self, next: Cost) -> Cost {
        Cost {
            flops: self.flops + next.flops,
            bytes: self.bytes.max(next.bytes),
            factored: self.factored + next.factored,
            single: self.single + next.single,
        }
    }

    /// The same `n` times.
    pub fn times(self, n: usize) -> Cost {
        let n = n as f64;
        Cost { flops: self.flops * n, factored: self.factored * n, single: self.single * n, ..self }
    }

    /// The time it takes on a machine of this speed.
    pub fn seconds(self, speed: Speed) -> f64 {
        let slower = (speed.factor - 1.0) * self.factored + (speed.single - 1.0) * self.single;
        (self.flops + slower) / speed.flops_per_second
    }
}

/// How fast this machine multiplies and factors matrices, with the threads of the current pool.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Speed {
    /// Floating-point operations per second in a dense float64 product.
    pub flops_per_second: f64,
    /// The time of a factor over what it usually takes beside a product.
    pub factor: f64,
    /// The time of a product in single precision over what it usually takes beside one in double precision.
    pub single: f64,
}

impl Speed {
    /// A machine with this rate of products, and the usual rates of everything else beside it.
    pub fn of_products(flops_per_second: f64) -> Speed {
        Speed { flops_per_second, factor: 1.0, single: 1.0 }
    }

    /// Measures it in about a tenth of a second: products of 512 × 512, a factor and a product in single precision of some more rows
    /// (the fastest of each counts).
    pub fn measure() -> Speed {
        let rate = Self::products();
        let fastest = |work: &dyn Fn()| {
            let time = |_| {
                let before = Instant::now();
                work();
                before.elapsed().as_secs_f64()
            };
            (0..3).map(time).fold(f64::INFINITY, f64::min)
        };
        const P: usize = 768;
        let matrix = Mat::from_fn(P, P, |i, j| if i == j { P as f64 } else { 1.0 / (1 + i.abs_diff(j)) as f64 });
        let factor = fastest(&|| drop(std::hint::black_box(Cholesky::factor(matrix.as_ref(), "a measurement"))));
        let few = Mat::from_fn(P, P, |i, j| matrix[(i, j)] as f32);
        let single = fastest(&|| drop(std::hint::black_box(tall_product_f32(few.as_ref(), few.as_ref()))));
        // What is interrupted by other programs is no property of the machine.
        let ratio = |seconds: f64, usual: f64| (seconds * rate / usual).clamp(0.5, 4.0);
        Speed {
            flops_per_second: rate,
            factor: ratio(factor, theory::CHOLESKY * (P as f64).powi(3)),
            single: ratio(single, theory::SINGLE * 2.0 * (P as f64).powi(3)),
        }
    }

    /// Operations per second of products of 512 × 512, for about 20 milliseconds (the fastest counts).
    fn products() -> f64 {
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
        2.0 * (N as f64).powi(3) / best.as_secs_f64().max(1e-9)
    }
}

/// The sizes of a sequence that its cost depends on.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
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
    /// Σ_t f(P_t).
    pub(crate) fn sum(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.train.iter().map(|&p| f(p as f64)).sum()
    }

    /// Σ f(P_s, P_t) over pairs s < t.
    fn pairs(&self, f: impl Fn(f64, f64) -> f64) -> f64 {
        let p = |t: usize| self.train[t] as f64;
        (0..self.train.len()).flat_map(|t| (0..t).map(move |s| (s, t))).map(|(s, t)| f(p(s), p(t))).sum()
    }

    pub(crate) fn largest(&self) -> f64 {
        self.train.iter().copied().max().unwrap_or(0) as f64
    }

    /// All examples, for training and testing; in floating point, so that no size overflows.
    pub(crate) fn rows(&self) -> f64 {
        self.train.iter().chain(&self.test).map(|&p| p as f64).sum()
    }

    /// The bytes of inputs and targets.
    fn data(&self) -> f64 {
        8.0 * self.rows() * (self.dim as f64 + self.columns as f64)
    }
}

/// A sequence of tasks as it is drawn: its inputs and targets, and the images that they are made of.
pub fn drawing_cost(sizes: &Sizes) -> Cost {
    Cost { flops: 0.0, bytes: 2.0 * sizes.data(), ..Cost::default() }
}

/// A product of m × k with k × n numbers: 2mkn operations; both factors and the result in memory.
pub fn product_cost(m: usize, k: usize, n: usize) -> Cost {
    let [m, k, n] = [m, k, n].map(|size| size as f64);
    Cost { flops: 2.0 * m * k * n, bytes: 8.0 * (m * k + k * n + m * n), ..Cost::default() }
}

/// Whitening images of `dim` pixels: one product with a square matrix, 2 n N0² operations; the images as read, centered and
/// whitened in memory.
pub fn whitening_cost(images: usize, dim: usize) -> Cost {
    Cost { bytes: 24.0 * images as f64 * dim as f64, ..product_cost(images, dim, dim) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_speed_is_of_this_world() {
        let speed = Speed::measure();
        // A float64 product runs at 0.01 (a loaded, tiny machine) to 100 000 GFLOP/s (a large node).
        assert!(speed.flops_per_second > 1e7 && speed.flops_per_second < 1e14, "{speed:?}");
        assert!(speed.factor >= 0.5 && speed.factor <= 4.0 && speed.single >= 0.5 && speed.single <= 4.0, "{speed:?}");
    }

    #[test]
    fn costs_add_up() {
        // Powers of two, so that the arithmetic is exact.
        let (speed, cost) = (Speed::of_products(1024.0), Cost { flops: 1024.0, bytes: 1.0, ..Cost::default() });
        let other = Cost { flops: 0.0, bytes: 5.0, ..Cost::default() };
        assert_eq!(cost.times(3).then(other).seconds(speed), 3.0);
        assert_eq!(cost.then(other).bytes, 5.0);
        // A machine that factors at half of the usual rate, and multiplies in single precision at twice of it.
        let uneven = Speed { factor: 2.0, single: 0.5, ..speed };
        let mixed = Cost { flops: 4096.0, factored: 1024.0, single: 2048.0, ..cost };
        assert_eq!(mixed.times(2).seconds(uneven), 2.0 * (1.0 + 2.0 + 1.0));
        assert_eq!(product_cost(2, 3, 5), Cost { flops: 60.0, bytes: 8.0 * 31.0, ..Cost::default() });
        assert_eq!(whitening_cost(10, 4), Cost { flops: 320.0, bytes: 960.0, ..Cost::default() });
    }
}
