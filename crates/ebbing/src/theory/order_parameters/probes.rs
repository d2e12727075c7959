//! γ_feature by random probes, where its exact value would take longer than everything else: `P² m` operations for m probes instead of
//! `P³`.
//!
//! ```math
//! \mathrm{Tr}\bigl(K_{22}^{-1}K_{21}K_{11}^{-1}K_{12}\bigr) = \|A\|_F^2 = E\,|A^{\mathsf T}z|^2,
//! \qquad A = L_2^{-1}K_{21}L_1^{-\mathsf T}, \quad z_i = \pm 1
//! ```
//!
//! (M. F. Hutchinson, Commun. Stat. Simul. Comput. 18 (1989), page 1059.)

use crate::linalg::{Mat, MatRef};
use crate::rng::Stream;
use crate::theory::blocks::factor::Factor;

/// A mean over probes, and its standard error: 0 where it is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Probed {
    pub mean: f64,
    pub standard_error: f64,
}

/// γ_feature of two tasks from the factors of their kernels and the kernel `k21` between their own inputs (rows: the second task's),
/// divided by `rank`; what [`Factor::overlap`] gives exactly. At least two probes are drawn.
pub(crate) fn probed_gamma_feature(
    [one, two]: [&Factor; 2],
    k21: MatRef<'_, f64>,
    rank: usize,
    probes: usize,
    stream: &mut Stream,
) -> Probed {
    let probes = probes.max(2);
    let z = Mat::from_fn(k21.nrows(), probes, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 });
    let rank = rank as f64;
    let Some((shared, whitened)) = two.whitened(one, k21, z.as_ref()) else {
        return Probed { mean: two.overlap(one, k21.to_owned()) / rank, standard_error: 0.0 };
    };
    let squares: Vec<f64> = (0..probes).map(|k| shared as f64 + whitened.col(k).squared_norm_l2()).collect();
    let n = probes as f64;
    let mean = squares.iter().sum::<f64>() / n;
    let variance = squares.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    Probed { mean: mean / rank, standard_error: (variance / n).sqrt() / rank }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Cholesky, matmul};
    use std::sync::Arc;

    /// Two tasks with kernels `k` of which the first rows are common to both.
    fn factors(common: usize) -> ([Factor; 2], Mat<f64>, usize) {
        let (p, d) = (60, 90);
        let mut stream = Stream::new(common as u64, "probes test", 0);
        let all = Mat::from_fn(common + 2 * (p - common), d, |_, _| stream.normal());
        let k = matmul(all.as_ref(), all.transpose());
        let own = p - common;
        let of = |task: usize| {
            let start = common + task * own;
            if common == 0 {
                return Factor::plain(k.as_ref().submatrix(start, start, own, own), 0.5, "test").unwrap();
            }
            let with_ridge = Mat::from_fn(common, common, |i, j| k[(i, j)] + if i == j { 0.5 } else { 0.0 });
            let first = Arc::new(Cholesky::factor_owned(with_ridge, "test").unwrap());
            let k = k.as_ref();
            Factor::extend(&first, k.submatrix(start, 0, own, common), k.submatrix(start, start, own, own), 0.5, "test")
                .unwrap()
        };
        let k21 = k.as_ref().submatrix(common + own, common, own, own).to_owned();
        ([of(0), of(1)], k21, p)
    }

    #[test]
    fn probes_find_the_trace_within_their_standard_error() {
        for common in [0, 25] {
            let ([one, two], k21, p) = factors(common);
            let exact = two.overlap(&one, k21.clone()) / p as f64;
            let mut far = 0;
            for seed in 0..40 {
                let mut stream = Stream::new(seed, "probes", 0);
                let found = probed_gamma_feature([&one, &two], k21.as_ref(), p, 64, &mut stream);
                assert!(found.standard_error > 0.0 && found.standard_error < 0.1 * exact, "{found:?} {exact}");
                far += usize::from((found.mean - exact).abs() > 2.0 * found.standard_error);
            }
            // One in twenty lies outside two standard errors: more than 8 of 40 do with a probability below 1e-3.
            assert!(far <= 8, "{far}");
        }
    }

    #[test]
    fn a_pseudo_inverse_is_exact() {
        let mut stream = Stream::new(1, "probes test", 1);
        let x = Mat::from_fn(40, 10, |_, _| stream.normal());
        let k = matmul(x.as_ref(), x.transpose());
        let part = |i: usize, j: usize| k.as_ref().submatrix(i, j, 20, 20);
        let of = |start: usize| Factor::pseudo(part(start, start), 1e-10, "test").unwrap();
        let found = probed_gamma_feature([&of(0), &of(20)], part(20, 0), 10, 8, &mut stream);
        // Both span all ten features: rounding times condition numbers below 1e3.
        assert!(found.standard_error == 0.0 && (found.mean - 1.0).abs() < 1e-10, "{found:?}");
    }
}
