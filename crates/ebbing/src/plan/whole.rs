//! What forecasts of sets too large for memory cost: one factor per kernel in single precision, passes
//! over kernels that are made anew in double precision.

use super::theory::KERNEL;
use super::{Cost, Sizes, forgetting_cost, free_memory, order_parameter_cost};

/// Rows of a tile, at most: tiles for all threads, and of few enough bytes.
const LARGEST_TILE: usize = 1920;
/// Tiles are cut in multiples of the kernels' own.
const TILE_UNIT: usize = 240;
/// Random probes of γ_feature: with P examples its standard error is about `(γ/(16 P))^{1/2}`.
pub(crate) const PROBES: usize = 32;
/// Passes over a kernel until a block of right-hand sides is solved, as measured: the first residual and two steps.
pub(crate) const PASSES: f64 = 3.0;
/// An operation of a factor in single precision, in those of a product in double precision.
const SINGLE: f64 = 0.6;

/// Rows of a tile for tasks of at most so many examples.
pub(crate) fn tile_rows(largest: usize) -> usize {
    largest.div_ceil(8).next_multiple_of(TILE_UNIT).min(LARGEST_TILE)
}

/// Bytes of a factor's tiles.
pub(crate) fn factor_bytes(p: f64, tile: f64) -> f64 {
    2.0 * p * (p + tile)
}

/// Operations of a factor's P³/3 in single precision, and of making its kernel.
pub(crate) fn factor_operations(p: f64, dim: f64) -> f64 {
    SINGLE * p.powi(3) / 3.0 + pass_operations(p, p, dim, 0.0) / 2.0
}

/// Operations of one pass over the kernel between p and q examples that multiplies so many columns; a symmetric one takes
/// half of the kernel's.
pub(crate) fn pass_operations(p: f64, q: f64, dim: f64, columns: f64) -> f64 {
    2.0 * p * q * (KERNEL * dim + columns)
}

/// Operations of a solve with so many right-hand sides.
pub(crate) fn solve_operations(p: f64, dim: f64, columns: f64) -> f64 {
    PASSES * step_operations(p, dim, columns)
}

/// Operations of one step of it: a pass, and a solve with the factor.
pub(crate) fn step_operations(p: f64, dim: f64, columns: f64) -> f64 {
    pass_operations(p, p, dim, 0.0) / 2.0 + 4.0 * p * p * columns
}

/// Everything that a forecast tells about sets too large for memory. `kernels` is how many kernels of each task are factored: 1
/// in mode `rf`, 2 in the others, whose order parameters have another kernel. Memory holds one factor at a time, more where
/// there is room.
pub fn whole_cost(sizes: &Sizes, kernels: usize) -> Cost {
    let (tasks, dim) = (sizes.train.len() as f64, sizes.dim as f64);
    let (columns, others) = (sizes.columns as f64, tasks - 1.0);
    let probes = if tasks > 1.0 { PROBES as f64 } else { 0.0 };
    let factors = kernels as f64 * sizes.sum(|p| factor_operations(p, dim));
    let solves = |wide: f64| sizes.sum(|p| solve_operations(p, dim, wide));
    let second = if tasks > 1.0 { solves(others * (columns + 0.5 * probes)) } else { 0.0 };
    let passes = |wide: f64| sizes.pairs(|p, q| pass_operations(p, q, dim, wide));
    let across = passes(2.0 * (columns + probes)) + passes(2.0 * columns);
    let chained = kernels > 1 || tasks > 2.0;
    let chain = if chained { solves(columns) + 2.0 * passes(columns) } else { 0.0 };
    let tested: f64 = sizes.test.iter().map(|&p| p as f64).sum();
    let tests = pass_operations(tested, sizes.sum(|p| p), dim, columns);
    let flops = factors + solves(columns + probes) + across + second + chain + tests;
    let wide = columns + 2.0 * probes;
    let tile = tile_rows(sizes.largest() as usize) as f64;
    let vectors = sizes.rows() * (6.0 * wide + tasks * columns) + 6.0 * sizes.largest() * wide;
    let scratch = 10.0 * tile * tile;
    let bytes = sizes.data() + factor_bytes(sizes.largest(), tile) + 8.0 * (vectors + scratch);
    Cost { flops, bytes }
}

/// Bytes of disk that its finished parts take while it runs.
pub fn whole_disk(sizes: &Sizes, kernels: usize) -> f64 {
    let tile = tile_rows(sizes.largest() as usize) as f64;
    let factors = kernels as f64 * sizes.sum(|p| factor_bytes(p, tile));
    let tasks = sizes.train.len() as f64;
    factors + 8.0 * sizes.rows() * (4.0 * PROBES as f64 + 8.0 * sizes.columns as f64) * tasks
}

/// Whether a forecast of these sizes does not fit into memory and is computed in tiles; never where there is no limit.
pub fn in_tiles(sizes: &Sizes) -> bool {
    free_memory().is_some_and(|free| in_memory(sizes).bytes > free.bytes)
}

/// A forecast with its order parameters, in memory where it fits there, and otherwise in tiles; `kernels` as for [`whole_cost`].
pub fn forecast_cost(sizes: &Sizes, kernels: usize) -> Cost {
    if in_tiles(sizes) { whole_cost(sizes, kernels) } else { in_memory(sizes) }
}

fn in_memory(sizes: &Sizes) -> Cost {
    forgetting_cost(sizes).then(order_parameter_cost(sizes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(p: usize) -> Sizes {
        Sizes { train: vec![p; 2], test: vec![0; 2], dim: 784, columns: 1, distinct: None }
    }

    #[test]
    fn tiles_fit_the_kernels_tiles() {
        assert_eq!([1, 500, 4000, 10_000, 60_000].map(tile_rows), [240, 240, 720, 1440, 1920]);
    }

    #[test]
    fn whole_mnist_fits_a_machine() {
        let cost = whole_cost(&sizes(60_000), 1);
        // A factor of 7.4 GB, tasks of 0.75 GB, vectors.
        assert!(cost.bytes > 7.4e9 && cost.bytes < 11e9, "{cost:?}");
        let disk = whole_disk(&sizes(60_000), 1);
        assert!(disk > 2.0 * 7.4e9 && disk < 16e9, "{disk}");
        // Cubes: 0.2 P³ twice; passes: 7 half ones twice, two whole ones.
        let p: f64 = 6e4;
        let least = 0.4 * p.powi(3) + 1.3 * 784.0 * p * p * (7.0 * 2.0 + 4.0);
        assert!(cost.flops > least && cost.flops < 1.3 * least, "{cost:?} {least}");
        assert!(whole_cost(&sizes(60_000), 2).flops > 1.5 * cost.flops);
    }

    #[test]
    fn one_task_has_no_pairs() {
        let one = Sizes { train: vec![1000], test: vec![0], ..sizes(0) };
        let step = 1.3 * 784.0 * 1e6 + 4e6;
        assert!((whole_cost(&one, 1).flops - (0.2e9 + 1.3 * 784.0 * 1e6 + 3.0 * step)).abs() < 1.0);
    }
}
