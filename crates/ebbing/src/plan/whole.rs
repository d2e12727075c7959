//! What forecasts of sets too large for memory cost: one factor per kernel in single precision, passes
//! over kernels that are made anew in double precision.

use super::theory::KERNEL;
use super::{Cost, Memory, Sizes, forgetting_cost, order_parameter_cost};
use crate::linalg::{PROBES, TiledCholesky};

/// Passes over a kernel until a block of right-hand sides is solved, as measured: the first residual, two steps, and what they
/// leave.
const PASSES: f64 = 4.0;
/// An operation of a factor in single precision, in those of a product in double precision.
const SINGLE: f64 = 0.6;

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
fn step_operations(p: f64, dim: f64, columns: f64) -> f64 {
    pass_operations(p, p, dim, 0.0) / 2.0 + 4.0 * p * p * columns
}

/// Everything that a forecast reports on sets too large for memory. `kernels` is how many kernels of each task are factored: 1
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
    let tile = TiledCholesky::tile_rows(sizes.largest() as usize) as f64;
    let vectors = sizes.rows() * (6.0 * wide + tasks * columns) + 6.0 * sizes.largest() * wide;
    let scratch = 10.0 * tile * tile;
    let bytes = sizes.data() + TiledCholesky::bytes(sizes.largest(), tile) + 8.0 * (vectors + scratch);
    Cost { flops, bytes, ..Cost::default() }
}

/// Bytes of disk that its finished parts take while it runs.
pub fn whole_disk(sizes: &Sizes, kernels: usize) -> f64 {
    let tile = TiledCholesky::tile_rows(sizes.largest() as usize) as f64;
    let factors = kernels as f64 * sizes.sum(|p| TiledCholesky::bytes(p, tile));
    let tasks = sizes.train.len() as f64;
    factors + 8.0 * sizes.rows() * (4.0 * PROBES as f64 + 8.0 * sizes.columns as f64) * tasks
}

/// Whether a forecast of these sizes does not fit into [`Memory::planned`] and is computed in tiles, the same at every moment;
/// never where there is no limit.
pub fn in_tiles(sizes: &Sizes, memory: &Memory) -> bool {
    memory.planned().is_some_and(|most| in_memory(sizes).bytes > most)
}

/// A forecast with its order parameters, in memory where it fits there, and otherwise in tiles; `kernels` as for [`whole_cost`].
pub fn forecast_cost(sizes: &Sizes, kernels: usize, memory: &Memory) -> Cost {
    if in_tiles(sizes, memory) { whole_cost(sizes, kernels) } else { in_memory(sizes) }
}

/// What a forecast in memory takes at least: the tasks as drawn, as their own inputs and on their way there, and blocks of one
/// task while it is learned, or the factors of all and one pair.
fn in_memory(sizes: &Sizes) -> Cost {
    let cost = forgetting_cost(sizes).then(order_parameter_cost(sizes));
    Cost { bytes: cost.bytes + 2.0 * sizes.data(), ..cost }
}

/// Bytes that a forecast in memory may take beyond what it must: half for kernels that are kept between their uses, half for what
/// is done beside them, pairs of tasks at once and the search for an order.
pub(crate) fn spare_bytes(sizes: &Sizes, memory: &Memory) -> f64 {
    memory.planned().map_or(f64::INFINITY, |most| (most - in_memory(sizes).bytes).max(0.0))
}

/// How many pairs of tasks may be looked at side by side: each takes three blocks.
pub(crate) fn pairs_at_once(largest: usize, spare: f64) -> usize {
    let more = 0.5 * spare / (24.0 * (largest * largest).max(1) as f64);
    (1.0 + more).min(4.0 * rayon::current_num_threads() as f64) as usize
}

/// Bytes of outputs while orders of tasks are followed, at most so many columns of each length.
fn following(sizes: &Sizes, at_once: f64) -> f64 {
    let tasks = sizes.train.len();
    let ways = (0..tasks).scan(1.0, |ways, k| {
        *ways *= (tasks - k) as f64;
        Some((*ways * sizes.columns as f64).min(at_once))
    });
    8.0 * sizes.sum(|p| p) * ways.sum::<f64>()
}

/// Bytes of kernels that the search for an order may keep: with their factors, up to a half more. For a hundred examples of a task
/// they are there in any case.
pub(crate) fn search_bytes(sizes: &Sizes, at_once: usize, most: usize, memory: &Memory) -> usize {
    let room = (spare_bytes(sizes, memory) - following(sizes, at_once as f64)) / 3.0;
    let fewest = 4 * (100 * sizes.train.len()).pow(2);
    (room.min(most as f64) as usize).max(fewest.min(most))
}

/// Bytes of kernel blocks that a forecast keeps unless it is asked otherwise.
pub const KEEP_BYTES: usize = 512 << 20;

/// Bytes that a forecast in memory comes to where it may keep up to `keep` bytes of kernels: `tables` of all tasks where they fit
/// (2 in modes `ntk` and `lazy`, 1 in mode `rf`, none otherwise), with the search for an order or without.
pub fn forecast_peak(sizes: &Sizes, tables: usize, keep: usize, order: bool, memory: &Memory) -> f64 {
    let (total, tested, largest) = (sizes.sum(|p| p), sizes.rows() - sizes.sum(|p| p), sizes.largest());
    let spare = spare_bytes(sizes, memory);
    let keep = (keep as f64).min(0.5 * spare);
    let table = Some(8.0 * tables as f64 * total * (total + tested)).filter(|bytes| *bytes <= keep).unwrap_or(0.0);
    let (block, pairs) = (8.0 * largest * largest, sizes.train.len() * sizes.train.len().saturating_sub(1) / 2);
    let side_by_side = pairs_at_once(largest as usize, spare).min(rayon::current_num_threads()).min(pairs);
    let learning = 3.0 * block + keep.min(block * sizes.train.len().saturating_sub(1) as f64);
    let comparing = 8.0 * sizes.sum(|p| p * p) + 3.0 * block * side_by_side as f64;
    let searching = if order && pairs > 0 {
        let all = 4.0 * total * total;
        let part = (search_bytes(sizes, 512, 1 << 30, memory) as f64 / all).min(1.0);
        part * (all + 4.0 * sizes.sum(|p| p * p)) + 2.0 * block + following(sizes, 512.0)
    } else {
        0.0
    };
    3.0 * sizes.data() + table + learning.max(comparing).max(searching)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(p: usize) -> Sizes {
        Sizes { train: vec![p; 2], test: vec![0; 2], dim: 784, columns: 1, distinct: None }
    }

    #[test]
    fn whole_mnist_fits_a_machine() {
        let cost = whole_cost(&sizes(60_000), 1);
        // A factor of 7.4 GB, tasks of 0.75 GB, vectors.
        assert!(cost.bytes > 7.4e9 && cost.bytes < 11e9, "{cost:?}");
        let disk = whole_disk(&sizes(60_000), 1);
        assert!(disk > 2.0 * 7.4e9 && disk < 16e9, "{disk}");
        // Cubes: 0.2 P³ twice; passes: 9 half ones twice, two whole ones.
        let p: f64 = 6e4;
        let least = 0.4 * p.powi(3) + 1.3 * 784.0 * p * p * (9.0 * 2.0 + 4.0);
        assert!(cost.flops > least && cost.flops < 1.3 * least, "{cost:?} {least}");
        assert!(whole_cost(&sizes(60_000), 2).flops > 1.5 * cost.flops);
    }

    /// With any amount of memory (`--force`) nothing is held back; the peak that is announced counts everything that is kept.
    #[test]
    fn what_is_kept_is_planned() {
        let most = 4 * rayon::current_num_threads();
        assert_eq!(
            [pairs_at_once(1000, f64::INFINITY), pairs_at_once(0, 1e9), pairs_at_once(1000, 0.0)],
            [most, most, 1]
        );
        let two = sizes(1000);
        let machine = Memory::default();
        let peak = |tables, keep, order| forecast_peak(&two, tables, keep, order, &machine);
        // Inputs three times, factors of both tasks and three blocks.
        let data = 3.0 * 8.0 * 2000.0 * 785.0;
        assert_eq!(peak(0, 0, false), data + 8.0 * 5e6);
        // A kernel of 32 MB of all inputs; kernels of the search are two factors and a block.
        assert_eq!(peak(1, 512 << 20, false), data + 8.0 * 9e6);
        assert!(peak(1, 512 << 20, true) >= peak(1, 512 << 20, false));
        assert!(forecast_cost(&two, 1, &machine).bytes <= peak(0, 0, false));
    }

    #[test]
    fn one_task_has_no_pairs() {
        let one = Sizes { train: vec![1000], test: vec![0], ..sizes(0) };
        let step = 1.3 * 784.0 * 1e6 + 4e6;
        assert!((whole_cost(&one, 1).flops - (0.2e9 + 1.3 * 784.0 * 1e6 + 4.0 * step)).abs() < 1.0);
    }
}
