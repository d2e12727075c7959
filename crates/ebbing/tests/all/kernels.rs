//! Kernels against reference numbers, sampled networks, limits, symmetries and bad input.

use crate::support::{reference, row, within};
use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Mat, SymmetricEigen, matmul};
use ebbing::rng::Stream;
use ebbing::{Error, Kernel};
use proptest::prelude::*;
use serde::Deserialize;

const KINDS: [KernelKind; 7] = [
    KernelKind::Nngp,
    KernelKind::Ntk,
    KernelKind::K1,
    KernelKind::K0,
    KernelKind::KTilde,
    KernelKind::DeltaK,
    KernelKind::Derivative,
];

fn kernel(activation: Activation, kind: KernelKind, depth: usize, prior: (f64, f64), t: usize, s: usize) -> Kernel {
    let prior = WeightPrior::new(prior.0, prior.1).unwrap();
    Kernel::new(kind, Architecture { activation, depth }, prior, t, s).unwrap()
}

fn relu(kind: KernelKind, depth: usize, lambda: f64, t: usize, s: usize) -> Kernel {
    kernel(Activation::Relu, kind, depth, (lambda, 1.0), t, s)
}

/// Gaussian rows.
fn inputs(rows: usize, features: usize, index: u64) -> Mat<f64> {
    let mut stream = Stream::new(7, "kernel test", index);
    Mat::from_fn(rows, features, |_, _| stream.normal())
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|a| a * a).sum::<f64>().sqrt()
}

/// One pair of inputs with its reference values.
#[derive(Debug, Deserialize)]
struct Case {
    activation: Activation,
    depth: usize,
    lambda: f64,
    sigma2: f64,
    t: usize,
    s: usize,
    x: Vec<f64>,
    #[serde(rename = "xp")]
    x2: Vec<f64>,
    m1: f64,
    m0: f64,
    k1: f64,
    k0: f64,
    k_tilde: f64,
    delta_k: f64,
}

impl Case {
    fn all() -> Vec<Case> {
        let cases: Vec<Case> = serde_json::from_value(reference("kernels")).unwrap();
        assert_eq!(cases.len(), 456);
        cases
    }

    fn kernel(&self, kind: KernelKind) -> Kernel {
        kernel(self.activation, kind, self.depth, (self.lambda, self.sigma2), self.t, self.s)
    }

    fn wants(&self) -> [(KernelKind, f64); 4] {
        [
            (KernelKind::K1, self.k1),
            (KernelKind::K0, self.k0),
            (KernelKind::KTilde, self.k_tilde),
            (KernelKind::DeltaK, self.delta_k),
        ]
    }
}

#[test]
fn single_pairs_match_sixty_digit_references() {
    for case in Case::all() {
        let prior = WeightPrior::new(case.lambda, case.sigma2).unwrap();
        within(prior.m1(case.t, case.s), case.m1, 1e-14 * case.m1, &format!("{case:?}"));
        within(prior.m0(case.t, case.s), case.m0, 1e-14 * case.m0, &format!("{case:?}"));
        // Relative accuracy means nothing at a zero crossing: below 1e-2 of the natural scale it is absolute.
        let natural = prior.m1_minus_m0(case.t, case.s) * norm(&case.x) * norm(&case.x2) / case.x.len() as f64;
        for (kind, want) in case.wants() {
            let bound = match kind {
                // What the kernels promise: 1e-12 relative, 1e-14 absolute below 1e-2.
                KernelKind::K1 | KernelKind::K0 if want.abs() < 1e-2 => 1e-14,
                KernelKind::K1 | KernelKind::K0 => 1e-12 * want.abs(),
                _ => 1e-9 * want.abs().max(1e-2 * natural),
            };
            let got = case.kernel(kind).pair(&case.x, &case.x2).unwrap();
            within(got, want, bound, &format!("{kind:?} of {case:?}"));
        }
    }
}

#[test]
fn gram_matrices_match_sixty_digit_references() {
    let others = inputs(45, 5, 0);
    for case in Case::all() {
        // Enough rows beside the reference pair for the table to be used; erf wants equal norms for that.
        let beside = |x: &[f64]| {
            Mat::from_fn(46, 5, |i, k| match (i, case.activation) {
                (0, _) => x[k],
                (_, Activation::Erf) => others[(i - 1, k)] * norm(x) / norm(&row(&others, i - 1)),
                _ => others[(i - 1, k)],
            })
        };
        let (x, x2) = (beside(&case.x), beside(&case.x2));
        let kernels = case.wants().map(|(kind, _)| case.kernel(kind));
        let refs: Vec<&Kernel> = kernels.iter().collect();
        let grams = Kernel::gram_many(&refs, x.as_ref(), x2.as_ref()).unwrap();
        for (n, (kind, want)) in case.wants().into_iter().enumerate() {
            let diagonal = kernels[n].pair(&case.x, &case.x).unwrap() * kernels[n].pair(&case.x2, &case.x2).unwrap();
            let scale = want.abs().max(1e-3 * diagonal.abs().sqrt());
            // What Gram matrices promise, with respect to max(|value|, 1e-3 of the diagonal).
            let accuracy = if matches!(kind, KernelKind::K1 | KernelKind::K0) { 1e-12 } else { 1e-9 };
            within(grams[n][(0, 0)], want, accuracy * scale, &format!("{kind:?} of {case:?}"));
        }
    }
}

/// Hidden activations of one layer: `φ(W x / √n)` with ReLU, for several inputs with their own weights.
fn forward(weights: &[f64], x: &[f64], width: usize) -> Vec<f64> {
    let scale = 1.0 / (x.len() as f64).sqrt();
    (0..width).map(|i| ebbing::linalg::dot(&weights[i * x.len()..][..x.len()], x) * scale).map(|z| z.max(0.0)).collect()
}

#[test]
fn wide_random_networks_have_these_kernels() {
    const WIDTH: usize = 200;
    const NETWORKS: usize = 150;
    let (lambda, sigma2, t, s) = (2.0, 1.5, 4, 3);
    let prior = WeightPrior::new(lambda, sigma2).unwrap();
    let (keep, noise) = (prior.lambda_tilde(), (sigma2 * prior.one_minus_lambda_tilde()).sqrt());
    let (x, x2) = ([1.0, -0.4, 0.3, 2.0], [0.5, 0.6, -0.2, 1.0]);
    // Per layer and branch: the samples' sum and sum of squares.
    let mut sums = [[[0.0; 2]; 2]; 2];
    for network in 0..NETWORKS {
        let mut stream = Stream::new(13, "random networks", network as u64);
        let mut step = |w: &[f64]| -> Vec<f64> { w.iter().map(|w| keep * w + noise * stream.normal()).collect() };
        // Activations at time s, and at time t on the same branch and on one that parts just before s.
        let mut at = [x2.to_vec(), x.to_vec(), x.to_vec()];
        for layer in 0..2 {
            let first = vec![0.0; WIDTH * at[0].len()];
            // One step from weights 0 gives variance σ²(1−λ̃); rescaled it is the prior's σ².
            let grow = 1.0 / prior.one_minus_lambda_tilde().sqrt();
            let mut before: Vec<f64> = step(&first).iter().map(|w| w * grow).collect();
            for _ in 2..s {
                before = step(&before);
            }
            let (same, mut other) = (step(&before), step(&before));
            let mut later = same.clone();
            for _ in s..t {
                (later, other) = (step(&later), step(&other));
            }
            let weights = [same, later, other];
            at = std::array::from_fn(|n| forward(&weights[n], &at[n], WIDTH));
            for branch in 0..2 {
                let k = ebbing::linalg::dot(&at[0], &at[1 + branch]) / WIDTH as f64;
                sums[layer][branch][0] += k;
                sums[layer][branch][1] += k * k;
            }
        }
    }
    for layer in 0..2 {
        for (branch, kind) in [KernelKind::K1, KernelKind::K0].into_iter().enumerate() {
            let mean = sums[layer][branch][0] / NETWORKS as f64;
            let variance = sums[layer][branch][1] / NETWORKS as f64 - mean * mean;
            let error = (variance / NETWORKS as f64).sqrt();
            let want = kernel(Activation::Relu, kind, layer + 1, (lambda, sigma2), t, s).pair(&x, &x2).unwrap();
            // Four standard errors (one failure in 16,000), and the O(1/N) bias of a second layer of finite width.
            let bias = if layer == 0 { 0.0 } else { 2.0 * want / WIDTH as f64 };
            within(mean, want, 4.0 * error + bias, &format!("{kind:?} of layer {}", layer + 1));
            assert!(error < 0.03 * want, "the sample must be large enough to decide: {error} beside {want}");
        }
    }
}

#[test]
fn first_task_and_infinite_lambda_give_the_kernel_of_a_fresh_network() {
    let (x, x2) = ([0.3, -1.0, 2.0], [1.0, 0.5, 0.7]);
    for activation in [Activation::Relu, Activation::Linear, Activation::Erf] {
        let value = |kind, lambda, t, s| kernel(activation, kind, 3, (lambda, 0.8), t, s).pair(&x, &x2).unwrap();
        let fresh = value(KernelKind::Nngp, 5.0, 1, 1);
        let tangent = value(KernelKind::Ntk, 5.0, 1, 1);
        // The same numbers in another order: a few roundings.
        let same = |got: f64, want: f64| within(got, want, 1e-14 * want.abs(), &format!("{activation:?}"));
        same(value(KernelKind::K1, 5.0, 1, 1), fresh);
        for (t, s) in [(2, 2), (4, 2), (2, 4)] {
            same(value(KernelKind::K1, f64::INFINITY, t, s), fresh);
            same(value(KernelKind::K0, f64::INFINITY, t, s), fresh);
            same(value(KernelKind::KTilde, f64::INFINITY, t, s), tangent);
        }
        same(value(KernelKind::K1, f64::INFINITY, 3, 1), fresh);
        same(value(KernelKind::KTilde, f64::INFINITY, 3, 1), 0.8 * fresh);
        let limit = value(KernelKind::DeltaK, f64::INFINITY, 2, 2);
        // λK̃ = λ(m1−m0) K¹ + m0 λΔK with λ(m1−m0) → 1 and m0 → σ².
        same(fresh + 0.8 * limit, tangent);
    }
}

#[test]
fn large_lambda_approaches_the_limit() {
    let (x, x2) = ([0.3, -1.0, 2.0], [1.0, 0.5, 0.7]);
    for depth in [1, 4] {
        for (t, s) in [(2, 2), (5, 3)] {
            for kind in [KernelKind::KTilde, KernelKind::DeltaK] {
                let limit = relu(kind, depth, f64::INFINITY, t, s).pair(&x, &x2).unwrap();
                for lambda in [1e6, 1e8, 1e10] {
                    let got = lambda * relu(kind, depth, lambda, t, s).pair(&x, &x2).unwrap();
                    // Away from the diagonal's kink the approach is O(1/λ), with a constant that grows with t, s and L.
                    within(got, limit, 100.0 / lambda * limit, &format!("{kind:?} {depth} λ {lambda:e}"));
                }
                // On the kink it is O(λ^{-1/2}).
                let limit = relu(kind, depth, f64::INFINITY, t, s).pair(&x, &x).unwrap();
                let off =
                    |lambda: f64| (lambda * relu(kind, depth, lambda, t, s).pair(&x, &x).unwrap() - limit) / limit;
                let ratio = off(1e8) / off(1e10);
                assert!((ratio - 10.0).abs() < 0.2, "{kind:?} depth {depth}: {ratio}");
            }
        }
    }
}

#[test]
fn without_a_penalty_tasks_have_nothing_in_common() {
    let (x, x2) = ([0.3, -1.0, 2.0], [1.0, 0.5, 0.7]);
    for activation in [Activation::Relu, Activation::Linear, Activation::Erf] {
        for (t, s) in [(2, 1), (3, 2), (2, 5)] {
            let k = kernel(activation, KernelKind::KTilde, 2, (0.0, 1.1), t, s);
            assert_eq!(k.pair(&x, &x2).unwrap(), 0.0);
        }
        let (first, later) = (
            kernel(activation, KernelKind::KTilde, 2, (0.0, 1.1), 1, 1).pair(&x, &x2).unwrap(),
            kernel(activation, KernelKind::KTilde, 2, (0.0, 1.1), 4, 4).pair(&x, &x2).unwrap(),
        );
        assert_eq!(first, later);
    }
}

#[test]
fn linear_networks_have_a_tangent_kernel_of_depth_plus_one_products() {
    let (x, x2) = (inputs(50, 6, 1), inputs(60, 6, 2));
    let product = matmul(x.as_ref(), x2.as_ref().transpose());
    for depth in [1, 2, 7] {
        let k = kernel(Activation::Linear, KernelKind::KTilde, depth, (f64::INFINITY, 1.0), 3, 2);
        let gram = k.gram(x.as_ref(), x2.as_ref()).unwrap();
        for j in 0..60 {
            for i in 0..50 {
                let scale = (depth + 1) as f64 / 6.0;
                let natural = scale * norm(&row(&x, i)) * norm(&row(&x2, j));
                // Rounding of the cosine and of the table, relative to |x||x'|.
                within(gram[(i, j)], scale * product[(i, j)], 4e-15 * natural, &format!("depth {depth}"));
            }
        }
    }
}

#[test]
fn equal_nearly_equal_and_opposite_rows_are_as_accurate_in_a_gram_matrix_as_alone() {
    let x = inputs(80, 30, 3);
    // Rows equal, scaled, nearly equal at distances 1e-1 … 1e-9, and their negatives.
    let mut noise = Stream::new(7, "perturbation", 0);
    let x2 = Mat::from_fn(80, 30, |i, k| {
        let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
        let size = if i < 8 { 0.0 } else { 10f64.powi(-1 - (i as i32 - 8) / 8) };
        let scale = if i < 4 { 1.0 } else { 1.7 };
        scale * sign * (x[(i, k)] + size * noise.normal())
    });
    for activation in [Activation::Relu, Activation::Erf] {
        for kind in [KernelKind::Ntk, KernelKind::KTilde, KernelKind::DeltaK, KernelKind::K1, KernelKind::Derivative] {
            let k = kernel(activation, kind, 3, (1e9, 1.0), 3, 2);
            let gram = k.gram(x.as_ref(), x2.as_ref()).unwrap();
            for i in 0..80 {
                let want = k.pair(&row(&x, i), &row(&x2, i)).unwrap();
                let diagonal = k.pair(&row(&x, i), &row(&x, i)).unwrap();
                // The cosine's rounding, 1e-15, over the smallest angle taken from it, 1.4e-3, times a slope of order L.
                within(gram[(i, i)], want, 1e-11 * want.abs().max(1e-3 * diagonal), &format!("{kind:?} row {i}"));
                if i < 4 && i % 2 == 0 {
                    assert_eq!(gram[(i, i)], diagonal, "equal rows give the diagonal's value");
                }
            }
        }
    }
}

#[test]
fn several_kernels_at_once_equal_each_alone() {
    let (x, x2) = (inputs(100, 9, 4), inputs(70, 9, 5));
    let kernels: Vec<Kernel> = KINDS.iter().map(|&kind| relu(kind, 2, 3.0, 3, 2)).collect();
    let refs: Vec<&Kernel> = kernels.iter().collect();
    let together = Kernel::gram_many(&refs, x.as_ref(), x2.as_ref()).unwrap();
    let halves = Kernel::gram_many_symmetric(&refs, x.as_ref()).unwrap();
    for (n, k) in kernels.iter().enumerate() {
        assert_eq!(together[n], k.gram(x.as_ref(), x2.as_ref()).unwrap());
        assert_eq!(halves[n], k.gram_symmetric(x.as_ref()).unwrap());
    }
    assert!(Kernel::gram_many(&[], x.as_ref(), x2.as_ref()).unwrap().is_empty());
}

#[test]
fn bad_settings_and_inputs_are_refused_by_name() {
    let arch = |depth| Architecture { activation: Activation::Relu, depth };
    let prior = WeightPrior::new(1.0, 1.0).unwrap();
    let message = |e: Error| e.to_string();
    let refused = |kind, depth, lambda, t, s| {
        message(Kernel::new(kind, arch(depth), WeightPrior::new(lambda, 1.0).unwrap(), t, s).unwrap_err())
    };
    assert!(refused(KernelKind::K1, 0, 1.0, 1, 1).contains("depth is 0"));
    assert!(refused(KernelKind::K1, 1, 1.0, 0, 1).contains("time t is 0"));
    assert!(refused(KernelKind::K1, 1, 1.0, 1, 0).contains("time s is 0"));
    assert!(refused(KernelKind::DeltaK, 1, f64::INFINITY, 2, 1).contains("no limit"));
    for bad in [f64::NAN, -1.0] {
        assert!(message(WeightPrior::new(bad, 1.0).unwrap_err()).starts_with("lambda is"));
    }
    for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
        assert!(message(WeightPrior::new(1.0, bad).unwrap_err()).starts_with("sigma2 is"));
    }

    let k = Kernel::new(KernelKind::K1, arch(2), prior, 1, 1).unwrap();
    let good = inputs(20, 4, 6);
    let broken = |value: f64| Mat::from_fn(20, 4, |i, k| if i == 17 { value } else { good[(i, k)] });
    for value in [0.0, f64::NAN, f64::INFINITY, 1e200, 1e-170] {
        let bad = broken(value);
        let said = if value.abs() < 1e-160 { "it is zero, or too small to have a norm" } else { "its norm is" };
        let expected = format!("inputs, row 18: {said}");
        assert!(message(k.gram_symmetric(bad.as_ref()).unwrap_err()).starts_with(&expected));
        assert!(message(k.diagonal(bad.as_ref()).unwrap_err()).starts_with("inputs, row 18"));
        assert!(message(k.gram(good.as_ref(), bad.as_ref()).unwrap_err()).starts_with("second inputs, row 18"));
        assert!(message(k.gram(bad.as_ref(), good.as_ref()).unwrap_err()).starts_with("first inputs, row 18"));
        assert!(message(k.pair(&[value; 4], &[1.0; 4]).unwrap_err()).starts_with("first input"));
    }
    let narrow = inputs(20, 3, 6);
    assert!(message(k.gram(good.as_ref(), narrow.as_ref()).unwrap_err()).contains("4 and 3 features"));
    assert!(message(k.pair(&[1.0; 4], &[1.0; 3]).unwrap_err()).contains("4 and 3 features"));
}

#[test]
fn empty_sets_give_empty_matrices() {
    let k = relu(KernelKind::Ntk, 2, 1.0, 1, 1);
    let (none, some) = (Mat::zeros(0, 4), inputs(3, 4, 0));
    assert_eq!(k.gram(none.as_ref(), some.as_ref()).unwrap().shape(), (0, 3));
    assert_eq!(k.gram(some.as_ref(), none.as_ref()).unwrap().shape(), (3, 0));
    assert_eq!(k.gram_symmetric(none.as_ref()).unwrap().shape(), (0, 0));
    assert!(k.diagonal(none.as_ref()).unwrap().is_empty());
}

/// Any activation, depth, penalty, variance and pair of times.
fn settings() -> impl Strategy<Value = (Activation, usize, f64, f64, usize, usize)> {
    let activation = prop_oneof![Just(Activation::Relu), Just(Activation::Linear), Just(Activation::Erf)];
    let lambda = prop_oneof![Just(0.0), Just(f64::INFINITY), (-4f64..13.0).prop_map(|e| 10f64.powf(e))];
    (activation, 1usize..12, lambda, 0.3f64..3.0, 1usize..7, 1usize..7)
}

/// Kinds that exist at these settings.
fn kinds(lambda: f64, t: usize, s: usize) -> Vec<KernelKind> {
    KINDS.into_iter().filter(|&k| !(k == KernelKind::DeltaK && lambda.is_infinite() && t.min(s) == 1)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exchanging_inputs_and_times_transposes(
        (activation, depth, lambda, sigma2, t, s) in settings(), seed in 0u64..1000
    ) {
        let (x, x2) = (inputs(50, 5, seed), inputs(45, 5, seed + 1000));
        for kind in kinds(lambda, t, s) {
            let forth = kernel(activation, kind, depth, (lambda, sigma2), t, s);
            let back = kernel(activation, kind, depth, (lambda, sigma2), s, t);
            let (a, b) = (forth.gram(x.as_ref(), x2.as_ref()).unwrap(), back.gram(x2.as_ref(), x.as_ref()).unwrap());
            let scale = (0..45).flat_map(|j| (0..50).map(move |i| (i, j))).fold(0f64, |m, p| m.max(a[p].abs()));
            for j in 0..45 {
                for i in 0..50 {
                    // The product is summed in the same order; its scaling and the table are rounded.
                    prop_assert!((a[(i, j)] - b[(j, i)]).abs() <= 1e-13 * scale, "{kind:?} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn gram_entries_equal_single_pairs((activation, depth, lambda, sigma2, t, s) in settings(), seed in 0u64..1000) {
        let (x, x2) = (inputs(48, 3, seed), inputs(49, 3, seed + 1000));
        for kind in kinds(lambda, t, s) {
            let k = kernel(activation, kind, depth, (lambda, sigma2), t, s);
            let gram = k.gram(x.as_ref(), x2.as_ref()).unwrap();
            let diagonal = |x: &Mat<f64>, i| k.pair(&row(x, i), &row(x, i)).unwrap().abs();
            for (i, j) in [(0, 0), (7, 31), (47, 48), (20, 3)] {
                let want = k.pair(&row(&x, i), &row(&x2, j)).unwrap();
                let scale = want.abs().max(1e-3 * (diagonal(&x, i) * diagonal(&x2, j)).sqrt());
                // The accuracy promised for K¹ and K⁰; the rest does as well at these moderate angles.
                prop_assert!((gram[(i, j)] - want).abs() <= 1e-12 * scale, "{kind:?} {} {want}", gram[(i, j)]);
            }
        }
    }

    #[test]
    fn kernels_of_one_time_are_positive_semi_definite(
        (activation, depth, lambda, sigma2, t, _) in settings(), seed in 0u64..1000
    ) {
        let x = inputs(50, 6, seed);
        for kind in kinds(lambda, t, t) {
            if kind == KernelKind::DeltaK {
                continue; // a difference, not a covariance
            }
            let k = kernel(activation, kind, depth, (lambda, sigma2), t, t);
            let gram = k.gram_symmetric(x.as_ref()).unwrap();
            let eigen = SymmetricEigen::factor(gram.as_ref(), "kernel").unwrap();
            let (low, high) = (eigen.values[0], eigen.values[49]);
            // Entries and eigenvalues are rounded: n ε of the largest eigenvalue, with room for the entries' 1e-15.
            prop_assert!(low >= -1e-13 * high, "{kind:?}: {low:e} beside {high:e}");
        }
    }

    #[test]
    fn rotations_of_inputs_and_permutations_of_rows_change_nothing(
        (activation, depth, lambda, sigma2, t, s) in settings(), seed in 0u64..1000
    ) {
        let (x, x2) = (inputs(50, 6, seed), inputs(46, 6, seed + 1000));
        // A reflection I − 2 v vᵀ and a permutation of coordinates: together any orthogonal map in kind.
        let v = row(&inputs(1, 6, seed + 2000), 0);
        let square = norm(&v).powi(2);
        let turn = |x: &Mat<f64>| Mat::from_fn(x.nrows(), 6, |i, k| {
            let inner: f64 = (0..6).map(|l| v[l] * x[(i, l)]).sum();
            let l = (k + 2) % 6;
            x[(i, l)] - 2.0 * inner / square * v[l]
        });
        let order = Stream::new(seed, "row order", 0).choose(50, 50);
        let shuffled = Mat::from_fn(50, 6, |i, k| turn(&x)[(order[i], k)]);
        for kind in kinds(lambda, t, s) {
            let k = kernel(activation, kind, depth, (lambda, sigma2), t, s);
            let plain = k.gram(x.as_ref(), x2.as_ref()).unwrap();
            let turned = k.gram(shuffled.as_ref(), turn(&x2).as_ref()).unwrap();
            let scale = (0..46).flat_map(|j| (0..50).map(move |i| (i, j))).fold(0f64, |m, p| m.max(plain[p].abs()));
            for j in 0..46 {
                for i in 0..50 {
                    let error = (turned[(i, j)] - plain[(order[i], j)]).abs();
                    // Rounded inputs: 1e-15 in the cosine, times a slope of at most about 10 L.
                    prop_assert!(error <= 1e-12 * scale, "{kind:?} {i} {j}: {error:e} of {scale:e}");
                }
            }
        }
    }
}

#[test]
fn with_a_bias_an_input_may_be_zero() {
    let x = |size: f64| {
        Mat::from_fn(60, 4, |i, k| if i % 20 == 2 { size * (k + 1) as f64 } else { ((i * 5 + k * 3) % 7) as f64 - 2.5 })
    };
    let (zero, tiny) = (x(0.0), x(1e-9));
    let prior = WeightPrior::new(f64::INFINITY, 1.3).unwrap().with_bias(0.4).unwrap();
    for activation in [Activation::Relu, Activation::Linear, Activation::Erf, Activation::Gelu] {
        for kind in [KernelKind::Nngp, KernelKind::Ntk] {
            let k = Kernel::new(kind, Architecture { activation, depth: 2 }, prior, 1, 1).unwrap();
            // 3600 entries are many enough for a table, 9 are not.
            for rows in [60, 3] {
                let [a, b] = [&zero, &tiny].map(|x| k.gram_symmetric(x.submatrix(0, 0, rows, 4)).unwrap());
                let [c, d] = [&zero, &tiny].map(|x| k.diagonal(x.submatrix(0, 0, rows, 4)).unwrap());
                for i in 0..rows {
                    // Kernels are of order 1 to 10 here and their slope in an input too: 1e-9 of it is below 1e-7.
                    assert!((0..rows).all(|j| (a[(i, j)] - b[(i, j)]).abs() < 1e-7), "{activation:?} {kind:?} row {i}");
                    assert!((c[i] - d[i]).abs() < 1e-7 && (a[(i, i)] - c[i]).abs() < 1e-12 * c[i]);
                }
            }
            let own = k.pair(&[0.0; 4], &[0.5; 4]).unwrap();
            assert!((own - k.pair(&[1e-9; 4], &[0.5; 4]).unwrap()).abs() < 1e-7);
        }
    }
}
