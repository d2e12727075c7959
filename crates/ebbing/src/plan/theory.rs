//! What the theory costs.

use super::{Cost, Sizes};

/// Operations of a kernel block relative to its bare product: the univariate function of every entry.
pub(super) const KERNEL: f64 = 1.3;
/// A Cholesky factorization's P³/3 operations run at two thirds of a product's rate.
pub(super) const CHOLESKY: f64 = 0.5;
/// A triangular solve's P³ operations, per right-hand side matrix, at about three quarters.
pub(super) const TRIANGULAR: f64 = 1.3;
/// A symmetric eigendecomposition takes as long as 10 P³ operations of a product.
const EIGEN: f64 = 10.0;

impl Sizes {
    fn tested(&self) -> f64 {
        self.test.iter().map(|&p| p as f64).sum()
    }

    /// Products of all training inputs with each other, shared inputs once.
    fn products(&self) -> f64 {
        let (dim, apart) = (self.dim as f64, self.sum(|p| p * p) + self.pairs(|p, q| 2.0 * p * q));
        let distinct = self.distinct.map_or(f64::INFINITY, |n| n as f64 * n as f64);
        KERNEL * dim * apart.min(distinct)
    }
}

/// The forgetting and generalization matrices of the single-head theory, means only: all kernel blocks once, one Cholesky
/// factor per task, blocks against test inputs; memory P² + P·T.
pub fn forgetting_cost(sizes: &Sizes) -> Cost {
    let (total, tested) = (sizes.sum(|p| p), sizes.tested());
    let columns = sizes.columns as f64;
    let factors = CHOLESKY * sizes.sum(|p| p.powi(3));
    let solves = 2.0 * columns * sizes.sum(|p| p * p) * sizes.train.len() as f64;
    let test = KERNEL * 2.0 * sizes.dim as f64 * tested * total;
    let flops = sizes.products() + factors + solves + test;
    let largest_test = sizes.test.iter().copied().max().unwrap_or(0) as f64;
    let blocks = sizes.largest() * (3.0 * sizes.largest() + largest_test);
    let means = (total + tested) * columns * sizes.train.len() as f64;
    Cost { flops, bytes: sizes.data() + 8.0 * (blocks + means), factored: factors, ..Cost::default() }
}

/// An operation of a product in single precision, in those of one in double precision.
pub(super) const SINGLE: f64 = 0.5;
/// Operations of a kernel block in single precision relative to its bare product.
const SINGLE_KERNEL: f64 = 1.3;
/// A Cholesky factorization in single precision, in P³ operations of a product in double precision.
const SINGLE_CHOLESKY: f64 = 0.35;

/// The accuracies of trained networks in single precision: all kernel blocks once, one factor per task, products with the columns of
/// the tasks learned by then, blocks against test inputs.
pub fn single_cost(sizes: &Sizes) -> Cost {
    let (total, tested, columns) = (sizes.sum(|p| p), sizes.tested(), sizes.columns as f64);
    let dim = sizes.dim as f64;
    // A task adds its own classes: on average half of the columns are not zero.
    let products = SINGLE * 2.0 * 0.5 * columns * (0.5 * total * total + tested * total);
    let kernels = SINGLE * SINGLE_KERNEL * dim * (total * total + 2.0 * tested * total);
    let factors = SINGLE_CHOLESKY * sizes.sum(|p| p.powi(3));
    let refined = 2.0 * 2.0 * columns / sizes.train.len().max(1) as f64 * sizes.sum(|p| p * p);
    // A task's kernel, its factor and what is made of them on the way; inputs and what was learned of them.
    let blocks = 4.0 * (2.3 * sizes.largest() * sizes.largest() + (total + tested) * (dim + 2.0 * columns));
    let outputs = 8.0 * tested * columns * 2.0;
    let flops = products + kernels + factors + refined;
    Cost {
        flops,
        bytes: 2.0 * sizes.data() + blocks + outputs,
        single: products + kernels + factors,
        ..Cost::default()
    }
}

/// Amounts of replay that a curve of kept examples tries.
const AMOUNTS: f64 = 14.0;

/// The curve of final accuracy against kept examples: kernels and the factor of the largest amount once, products for every amount.
pub fn keep_cost(sizes: &Sizes, features: bool) -> Cost {
    if features {
        return super::features::feature_keep_cost(sizes, AMOUNTS as usize);
    }
    let (total, tested, columns) = (sizes.sum(|p| p), sizes.tested(), sizes.columns as f64);
    // With everything kept a task learns all earlier ones again.
    let (mut learned, mut factors) = (0.0, 0.0);
    let mut all = Cost::default();
    for &p in &sizes.train {
        learned += p as f64;
        factors += CHOLESKY * learned.powi(3);
        all.flops += AMOUNTS * 3.0 * columns * learned * learned;
    }
    all.flops += factors + sizes.products() + KERNEL * 2.0 * sizes.dim as f64 * tested * total;
    all.flops += 2.0 * AMOUNTS * columns * sizes.train.len() as f64 * total * tested;
    let table = 8.0 * total * (total + tested);
    // Kernels, the factor of everything and what it is made of, and the coefficients of all amounts, twice.
    let bytes = 2.0 * sizes.data() + table + 16.0 * total * total + 16.0 * AMOUNTS * total * columns;
    Cost { flops: all.flops, bytes, factored: factors, ..Cost::default() }
}

/// Heads in closed form: second moments of all inputs, and a factor for every strength that is tried.
pub fn closed_head_cost(sizes: &Sizes) -> Cost {
    /// Factors of the grid of strengths, those on all examples among them.
    const FACTORS: f64 = 20.0;
    let (rows, d) = (sizes.sum(|p| p), sizes.dim as f64);
    let inner = d.min(rows);
    let factored = CHOLESKY * FACTORS * inner.powi(3);
    let flops = 2.0 * rows * d * inner + factored + 4.0 * rows * d * sizes.columns as f64;
    Cost { flops, bytes: sizes.data() + 8.0 * 4.0 * inner * inner, factored, ..Cost::default() }
}

/// Orders that the search tries: all of up to so many tasks; of more, pairs and insertions, then rounds of all moves and swaps.
pub(super) fn orders_tried(count: usize, exhaustive_up_to: usize) -> f64 {
    /// Rounds of moves from each of the two orders that the search begins with: a guess.
    const ROUNDS: f64 = 4.0;
    let n = count as f64;
    if count <= exhaustive_up_to {
        return (1..=count).map(|k| k as f64).product();
    }
    1.5 * n * n + 2.0 * ROUNDS * 1.5 * n * n
}

/// Where every order is tried, each beginning of one is followed once: n!/0! + n!/1! + … + n!/(n−1)!.
pub(super) fn beginnings(count: usize) -> Option<f64> {
    let ways = (0..count).scan(1.0, |ways, k| {
        *ways *= (count - k) as f64;
        Some(*ways)
    });
    (count <= 7).then(|| ways.sum())
}

/// The search for the best order of the tasks, beside their forecast. Where all orders share their kernels (`shared`: every mode
/// but `gibbs` at a finite λ) each task of an order that is tried costs products of kernels with vectors; else each order is a
/// forecast. The number of rounds that moves of tasks will take is a guess.
pub fn order_cost(sizes: &Sizes, shared: bool) -> Cost {
    let (count, total) = (sizes.train.len(), sizes.sum(|p| p));
    let forecast = forgetting_cost(sizes);
    if count < 2 {
        return Cost::default();
    }
    let n = count as f64;
    if !shared {
        let orders = orders_tried(count, 4);
        return Cost { flops: orders * forecast.flops, bytes: forecast.bytes, ..Cost::default() };
    }
    let learned = beginnings(count).unwrap_or_else(|| orders_tried(count, 7) * n);
    // No more is used of tasks whose kernels would take more than a GiB.
    let used = (2f64.powi(28).sqrt() / total).min(1.0);
    let products = 2.0 * sizes.columns as f64 * (used * total).powi(2) / n;
    let bytes = forecast.bytes + 8.0 * (used * total).powi(2);
    Cost { flops: learned * products + 2.0 * forecast.flops, bytes, ..Cost::default() }
}

/// Forgetting of the first task in several theories at once: products of all inputs once, then kernels, factors and solves of each
/// theory; memory: some blocks of each theory.
pub fn first_task_cost(sizes: &Sizes, theories: usize) -> Cost {
    let (columns, theories) = (sizes.columns as f64, theories as f64);
    let bare = sizes.products() / KERNEL;
    let functions = theories * (KERNEL - 1.0) * bare;
    let factors = theories * CHOLESKY * sizes.sum(|p| p.powi(3));
    // A block serves the tasks after it once, and the first task's twice.
    let solves = theories * 2.0 * columns * (sizes.sum(|p| 3.0 * p * p) + sizes.pairs(|p, q| p * q));
    let blocks = 4.0 * theories * sizes.largest().powi(2);
    let means = 2.0 * theories * columns * sizes.sum(|p| p);
    Cost { flops: bare + functions + factors + solves, bytes: sizes.data() + 8.0 * (blocks + means), ..Cost::default() }
}

/// The order parameters of all pairs of tasks: kernel blocks, one factor per task, two triangular solves of a P × P block per
/// pair for γ_feature.
pub fn order_parameter_cost(sizes: &Sizes) -> Cost {
    let factors = CHOLESKY * sizes.sum(|p| p.powi(3));
    let solves = TRIANGULAR * sizes.pairs(|p, q| p * p * q + q * q * p);
    let kept = sizes.sum(|p| p * p) + 3.0 * sizes.largest().powi(2);
    let flops = sizes.products() + factors + solves;
    Cost { flops, bytes: sizes.data() + 8.0 * kept, factored: factors + solves, ..Cost::default() }
}

/// α_c of two tasks: kernel blocks and one pencil decomposition (a Cholesky factor, three triangular solves and an
/// eigendecomposition of P × P); every equation of the search is then O(P).
pub fn critical_load_cost(sizes: &Sizes) -> Cost {
    let p = sizes.largest();
    let tested = sizes.tested();
    let pencil = (CHOLESKY + 3.0 * TRIANGULAR + EIGEN) * p.powi(3);
    let kernels = 2.0 * sizes.products() + 2.0 * KERNEL * 2.0 * sizes.dim as f64 * tested * p;
    let kept = 21.0 * p * p + 4.0 * p * tested;
    Cost { flops: kernels + pencil, bytes: sizes.data() + 8.0 * kept, ..Cost::default() }
}

/// The multi-head theory of a sequence at one load: all kernels between all examples (three of them at the peak), their
/// factor and some fifty solves of the equations.
pub fn sequence_cost(sizes: &Sizes) -> Cost {
    let total = sizes.sum(|p| p);
    let flops = sizes.products() + (CHOLESKY + 50.0 * TRIANGULAR) * sizes.sum(|p| p.powi(3));
    Cost { flops, bytes: sizes.data() + 24.0 * total * total, ..Cost::default() }
}

/// The two-task multi-head theory at one λ and `alphas` loads: that of [`critical_load_cost`], the products that turn sums
/// over data points into O(P²) forms (8 P³ + 8 P²·P_test), then 40 P² per load.
pub fn phase_cost(sizes: &Sizes, alphas: usize) -> Cost {
    let (p, tested) = (sizes.largest(), sizes.tested());
    let forms = 8.0 * p.powi(3) + 8.0 * p * p * tested;
    let loads = alphas as f64 * 40.0 * p * p;
    let base = critical_load_cost(sizes);
    Cost { flops: base.flops + forms + loads, ..base }
}

/// Operations of Newton's method for the factors of two tasks at one load, per example and cube of the number of outputs.
const NEWTON: f64 = 600.0;
/// Loads of a curve at which accuracies are computed.
const WITH_ACCURACY: f64 = 12.0;

/// [`phase_cost`] for heads with several outputs: Newton steps of O(P m³) and forms of O(P² m) at every load, and predictions of every
/// output on test data at a few.
pub fn outputs_cost(sizes: &Sizes, outputs: usize, alphas: usize) -> Cost {
    let (p, tested, m) = (sizes.largest(), sizes.tested(), outputs as f64);
    let loads = alphas as f64 * (NEWTON * p * m.powi(3) + 20.0 * p * p * m);
    let accuracies = WITH_ACCURACY.min(alphas as f64) * 4.0 * tested.min(1000.0) * p * p * m;
    let base = phase_cost(sizes, alphas);
    Cost { flops: base.flops + loads + accuracies, ..base }
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
        for cost in [forgetting_cost, order_parameter_cost, critical_load_cost, |s: &Sizes| phase_cost(s, 1)] {
            let ratio = cost(&sizes(2, 200_000, None)).flops / cost(&sizes(2, 100_000, None)).flops;
            assert!(ratio > 7.0 && ratio < 8.0, "{ratio}");
            assert_eq!(cost(&sizes(0, 0, Some(0))), Cost::default());
        }
    }
}
