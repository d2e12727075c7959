//! Networks with biases, `K^l → K^l + σ_b²/σ²` in every layer: the kernels against networks that are drawn, and the recursion
//! written out.

use ebbing::Context;
use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Mat, MatRef};
use ebbing::rng::Stream;
use ebbing::theory::single_head::{Mode, SingleHeadSettings};
use ebbing::{Kernel, SingleHead, Task, TaskSequence};

fn relu(depth: usize) -> Architecture {
    Architecture { activation: Activation::Relu, depth }
}

fn prior(lambda: f64, sigma2: f64, bias2: f64) -> WeightPrior {
    WeightPrior::new(lambda, sigma2).unwrap().with_bias(bias2).unwrap()
}

/// `E[max(0,z) max(0,z')]` and `E[1 1']` for variances v, v' and covariance c.
fn arc_cosine(v: f64, v2: f64, c: f64) -> (f64, f64) {
    let n = (v * v2).sqrt();
    let rho = (c / n).clamp(-1.0, 1.0);
    let rest = std::f64::consts::PI - rho.acos();
    let tau = std::f64::consts::TAU;
    (n / tau * ((1.0 - rho * rho).sqrt() + rho * rest), rest / tau)
}

/// `[K¹, K⁰, K̃, ΔK, K̇]` of ReLU networks from the definition, for `[x·x, x'·x', x·x']/N0`.
fn by_hand(depth: usize, prior: &WeightPrior, (t, s): (usize, usize), inputs: [f64; 3]) -> [f64; 5] {
    let b = prior.bias2() / prior.sigma2();
    let [mut kx, mut ky, mut k1] = inputs.map(|k| k + b);
    let (mut k0, mut slope) = (k1, 0.0);
    for _ in 0..depth {
        let (v, v2) = (prior.m1(t, t) * kx, prior.m1(s, s) * ky);
        let next = |c: f64| arc_cosine(v, v2, c);
        ((k1, slope), k0) = (next(prior.m1(t, s) * k1), next(prior.m0(t, s) * k0).0);
        (kx, ky, k1, k0) = (0.5 * v + b, 0.5 * v2 + b, k1 + b, k0 + b);
    }
    [k1, k0, prior.m1(t, s) * k1 - prior.m0(t, s) * k0, k1 - k0, slope]
}

#[test]
fn kernels_follow_the_recursion_at_any_norms() {
    let (x, x2) = ([1.3, -0.2, 0.4], [0.1, 0.7, -0.5]);
    let dot = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / 3.0;
    let kinds = [KernelKind::K1, KernelKind::K0, KernelKind::KTilde, KernelKind::DeltaK, KernelKind::Derivative];
    for depth in [1, 2, 4] {
        for (lambda, sigma2, bias2) in [(0.7, 1.0, 0.3), (4.0, 1.6, 2.0), (12.0, 0.5, 0.01)] {
            for times in [(1, 1), (2, 2), (3, 2), (2, 4)] {
                let prior = prior(lambda, sigma2, bias2);
                let want = by_hand(depth, &prior, times, [dot(&x, &x), dot(&x2, &x2), dot(&x, &x2)]);
                for (kind, want) in kinds.into_iter().zip(want) {
                    let got = Kernel::new(kind, relu(depth), prior, times.0, times.1).unwrap().pair(&x, &x2).unwrap();
                    // The recursion by hand subtracts numbers of order one.
                    assert!(
                        (got - want).abs() < 1e-14 * (1.0 + want.abs()) * 8.0,
                        "{kind:?} {depth} {times:?}: {got} {want}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_tangent_kernel_has_a_term_for_every_bias() {
    // Q⁰ = K⁰ + b and Q^{l+1} = K^{l+1} + b + σ² K̇ Q^l, by hand for two layers.
    let (sigma2, bias2) = (1.3, 0.4);
    let b = bias2 / sigma2;
    let (x, x2) = ([1.0, 0.5], [-0.3, 0.9]);
    let [mut kx, mut ky, mut k] = [1.25, 0.9, 0.15].map(|k| k / 2.0 + b);
    let mut q = k;
    for _ in 0..2 {
        let (up, slope) = arc_cosine(sigma2 * kx, sigma2 * ky, sigma2 * k);
        (kx, ky, k) = (0.5 * sigma2 * kx + b, 0.5 * sigma2 * ky + b, up + b);
        q = k + sigma2 * slope * q;
    }
    let got = Kernel::new(KernelKind::Ntk, relu(2), prior(f64::INFINITY, sigma2, bias2), 1, 1).unwrap();
    let got = got.pair(&x, &x2).unwrap();
    // Rounding of a dozen operations.
    assert!((got - q).abs() < 1e-14, "{got} {q}");
}

#[test]
fn no_bias_is_the_limit_of_small_ones() {
    let (x, x2) = ([1.3, -0.2, 0.4], [0.1, 0.7, -0.5]);
    for kind in [KernelKind::Nngp, KernelKind::Ntk, KernelKind::KTilde, KernelKind::DeltaK] {
        for activation in [Activation::Relu, Activation::Linear, Activation::Erf, Activation::Gelu] {
            let architecture = Architecture { activation, depth: 3 };
            let at = |bias2: f64| {
                Kernel::new(kind, architecture, prior(5.0, 1.2, bias2), 3, 2).unwrap().pair(&x, &x2).unwrap()
            };
            let (none, small, smaller) = (at(0.0), at(1e-5), at(1e-6));
            // Linear in σ_b²: ten times closer at a tenth of it, and there is something to come close to.
            assert!(
                small != none && ((small - none) / (smaller - none) - 10.0).abs() < 0.01,
                "{kind:?} {activation:?}"
            );
        }
    }
}

/// Layers of weights and biases of one network after every task, `w_t = λ̃ w_{t−1} + noise`, on two branches that part just before
/// `part`.
struct Walk {
    now: Vec<f64>,
}

impl Walk {
    fn start(count: usize, sigma: f64, stream: &mut Stream) -> Walk {
        Walk { now: (0..count).map(|_| sigma * stream.normal()).collect() }
    }

    fn step(&self, prior: &WeightPrior, stream: &mut Stream) -> Walk {
        let noise = (prior.sigma2() * prior.one_minus_lambda_tilde()).sqrt();
        Walk { now: self.now.iter().map(|w| prior.lambda_tilde() * w + noise * stream.normal()).collect() }
    }
}

/// `φ(W x/√dim + (σ_b/σ) b)` of a layer whose weights and then biases are `all`.
fn layer(all: &[f64], x: &[f64], width: usize, unit: f64, phi: fn(f64) -> f64) -> Vec<f64> {
    let dim = x.len();
    let one = |i: usize| {
        let sum: f64 = x.iter().zip(&all[i * dim..]).map(|(x, w)| x * w).sum();
        phi(sum / (dim as f64).sqrt() + unit * all[width * dim + i])
    };
    (0..width).map(one).collect()
}

#[test]
fn drawn_networks_with_biases_have_these_kernels() {
    const WIDTH: usize = 220;
    const NETWORKS: u64 = 60;
    let (x, x2) = (vec![1.3, -0.2, 0.4], vec![0.1, 0.7, -0.5]);
    let gelu: fn(f64) -> f64 = |z| 0.5 * z * (1.0 + libm::erf(z / f64::sqrt(2.0)));
    let relu: fn(f64) -> f64 = |z| z.max(0.0);
    for (activation, phi) in [(Activation::Relu, relu), (Activation::Gelu, gelu)] {
        let prior = prior(1.5, 1.4, 0.8);
        let unit = (prior.bias2() / prior.sigma2()).sqrt();
        let mut found: [Vec<f64>; 2] = Default::default();
        for n in 0..NETWORKS {
            let mut stream = Stream::new(5, "networks with biases", n);
            let weights = (3 + 1) * WIDTH + (WIDTH + 1) * WIDTH;
            // Weights after tasks 1, 2 and 3, and another time 2 of the branch that parts just before it.
            let first = Walk::start(weights, prior.sigma2().sqrt(), &mut stream);
            let (second, other) = (first.step(&prior, &mut stream), first.step(&prior, &mut stream));
            let third = second.step(&prior, &mut stream);
            let features = |walk: &Walk, x: &[f64]| {
                let below = layer(&walk.now, x, WIDTH, unit, phi);
                layer(&walk.now[4 * WIDTH..], &below, WIDTH, unit, phi)
            };
            let at_three = features(&third, &x);
            for (found, walk) in found.iter_mut().zip([&second, &other]) {
                let k: f64 = features(walk, &x2).iter().zip(&at_three).map(|(a, b)| a * b).sum::<f64>() / WIDTH as f64;
                found.push(k + unit * unit);
            }
        }
        for (kind, found) in [KernelKind::K1, KernelKind::K0].into_iter().zip(found) {
            let n = found.len() as f64;
            let mean = found.iter().sum::<f64>() / n;
            let error = (found.iter().map(|k| (k - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
            let architecture = Architecture { activation, depth: 2 };
            let want = Kernel::new(kind, architecture, prior, 3, 2).unwrap().pair(&x, &x2).unwrap();
            // Three standard errors; those are small enough to distinguish the kernel from that without biases.
            assert!((mean - want).abs() < 3.0 * error, "{activation:?} {kind:?}: {mean} ± {error}, {want}");
            let bare = Kernel::new(kind, architecture, WeightPrior::new(1.5, 1.4).unwrap(), 3, 2).unwrap();
            assert!((bare.pair(&x, &x2).unwrap() - want).abs() > 10.0 * error, "{activation:?} {kind:?}: {error}");
        }
    }
}

fn inputs(rows: usize, norm: Option<f64>, index: u64) -> Mat<f64> {
    let mut stream = Stream::new(7, "inputs of networks with biases", index);
    let x = Mat::from_fn(rows, 9, |_, _| stream.normal());
    let size = |i: usize| norm.map_or(1.0, |n| n / x.row(i).norm_l2());
    Mat::from_fn(rows, 9, |i, j| x[(i, j)] * size(i))
}

fn row(x: MatRef<'_, f64>, i: usize) -> Vec<f64> {
    x.row(i).iter().copied().collect()
}

#[test]
fn matrices_hold_the_kernels_of_pairs() {
    for (norm, activation) in [
        (Some(3.0), Activation::Relu),
        (None, Activation::Relu),
        (Some(2.0), Activation::Gelu),
        (None, Activation::Gelu),
    ] {
        let (x, x2) = (inputs(70, norm, 0), inputs(60, norm, 1));
        for (kind, t, s) in [(KernelKind::Nngp, 1, 1), (KernelKind::KTilde, 3, 2), (KernelKind::Ntk, 1, 1)] {
            let architecture = Architecture { activation, depth: 2 };
            let kernel = Kernel::new(kind, architecture, prior(6.0, 1.1, 0.5), t, s).unwrap();
            let (all, own) =
                (kernel.gram(x.as_ref(), x2.as_ref()).unwrap(), kernel.gram_symmetric(x.as_ref()).unwrap());
            for (i, j) in [(0, 0), (3, 17), (69, 59), (20, 41)] {
                // Rounding of a cosine, through a slope of order one.
                let close =
                    |got: f64, want: f64| assert!((got - want).abs() < 1e-13 * want.abs().max(1.0), "{got} {want}");
                close(all[(i, j)], kernel.pair(&row(x.as_ref(), i), &row(x2.as_ref(), j)).unwrap());
                close(own[(i, j)], kernel.pair(&row(x.as_ref(), i), &row(x.as_ref(), j)).unwrap());
            }
        }
    }
}

#[test]
fn one_readout_learns_its_bias() {
    // Targets that are nearly alike: with a large bias the readout needs nothing else, and later inputs find it learned.
    let task = |index| Task::new(inputs(12, Some(3.0), index), Mat::from_fn(12, 1, |i, _| 1.0 + 1e-4 * i as f64));
    let tasks = TaskSequence { tasks: vec![task(2), task(3)], settings: Default::default() };
    for mode in [Mode::Rf, Mode::Ntk, Mode::Lazy, Mode::Gibbs] {
        let lambda = if mode == Mode::Gibbs { 50.0 } else { f64::INFINITY };
        let loss = |bias2: f64| {
            let settings = SingleHeadSettings { mode, lambda, bias2, ..SingleHeadSettings::default() };
            let new = inputs(30, Some(3.0), 4);
            let network = SingleHead::new(&tasks, &settings, &Context::default()).unwrap();
            network.mean(&new, 1).unwrap().col(0).iter().map(|f| (f - 1.0).powi(2)).sum::<f64>() / 30.0
        };
        let (none, small, large) = (loss(0.0), loss(1.0), loss(1e4));
        assert!(none > small && small > large && large < 1e-4, "{mode:?}: {none} {small} {large}");
    }
}
