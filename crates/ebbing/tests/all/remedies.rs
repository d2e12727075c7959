//! Kernels of gated units and of penalties that differ between layers, against networks of finite width and in their limits.

use crate::support::*;
use ebbing::kernels::{Activation, Architecture, Kernel, KernelKind, WeightPrior};
use ebbing::linalg::{Mat, matmul};
use ebbing::rng::Stream;

const WIDTH: usize = 256;
const NETWORKS: u64 = 120;
const TWO: Architecture = Architecture { activation: Activation::Relu, depth: 2 };

/// Two inputs of squared norms 6 and 9, at an angle.
fn inputs() -> [Vec<f64>; 2] {
    [vec![1.0, 2.0, 0.5, 0.5, 0.7, 0.1], vec![2.0, 1.0, -1.0, 1.5, 0.2, 0.8]]
}

/// A layer of weights, as a column-major matrix.
fn weights(stream: &mut Stream, rows: usize, columns: usize) -> Mat<f64> {
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

fn through(w: &Mat<f64>, x: &[f64]) -> Vec<f64> {
    let scale = 1.0 / (x.len() as f64).sqrt();
    let product = matmul(w.as_ref(), ebbing::linalg::column(x));
    (0..w.nrows()).map(|i| scale * product[(i, 0)]).collect()
}

fn inner(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

/// One pass through two hidden ReLU layers with masks: activities, and the slopes `z φ'(h)/√g`.
struct Pass {
    x: [Vec<f64>; 2],
    slopes: [Vec<f64>; 2],
}

fn pass(w: [&Mat<f64>; 2], masks: [&Vec<f64>; 2], x: &[f64]) -> Pass {
    let layer = |w: &Mat<f64>, mask: &[f64], x: &[f64]| {
        let h = through(w, x);
        let slope: Vec<f64> = h.iter().zip(mask).map(|(h, z)| if *h > 0.0 { *z } else { 0.0 }).collect();
        (h.iter().zip(&slope).map(|(h, s)| h * s).collect::<Vec<f64>>(), slope)
    };
    let (x1, s1) = layer(w[0], masks[0], x);
    let (x2, s2) = layer(w[1], masks[1], &x1);
    Pass { x: [x1, x2], slopes: [s1, s2] }
}

/// `K_GP`, and the parts of the tangent kernel that belong to the weights of each layer, of one finite network whose two tasks
/// see masks of a share g.
fn finite(seed: u64, g: f64) -> [f64; 4] {
    let mut stream = Stream::new(seed, "finite networks", 0);
    let x = inputs();
    let (w0, w1) = (weights(&mut stream, WIDTH, 6), weights(&mut stream, WIDTH, WIDTH));
    let a = weights(&mut stream, WIDTH, 1);
    let mut mask = || (0..WIDTH).map(|_| if stream.chance(g) { 1.0 / g.sqrt() } else { 0.0 }).collect::<Vec<f64>>();
    let masks = [[mask(), mask()], [mask(), mask()]];
    let [p, q] = [0, 1].map(|k| pass([&w0, &w1], [&masks[k][0], &masks[k][1]], &x[k]));
    let n = WIDTH as f64;
    let top = |p: &Pass| (0..WIDTH).map(|i| a[(i, 0)] * p.slopes[1][i] / n.sqrt()).collect::<Vec<f64>>();
    let down = |top: &[f64], p: &Pass| {
        let back = matmul(w1.transpose(), ebbing::linalg::column(top));
        (0..WIDTH).map(|i| back[(i, 0)] / n.sqrt() * p.slopes[0][i]).collect::<Vec<f64>>()
    };
    let (top_p, top_q) = (top(&p), top(&q));
    let readout = inner(&p.x[1], &q.x[1]) / n;
    let second = inner(&top_p, &top_q) * inner(&p.x[0], &q.x[0]) / n;
    let first = inner(&down(&top_p, &p), &down(&top_q, &q)) * inner(&x[0], &x[1]) / 6.0;
    [readout, second, first, readout + second + first]
}

/// Mean and standard error over networks.
fn average(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let (mean, deviation) = mean_and_deviation(&values);
    (mean, deviation / (values.len() as f64).sqrt())
}

/// Four standard errors, and the bias of a finite width: of order 1/N relative, with a factor of a few per layer.
#[track_caller]
fn agrees(values: impl Iterator<Item = f64>, want: f64, what: &str) {
    let (mean, se) = average(values);
    let bias = 4.0 / WIDTH as f64 * want.abs();
    assert!((mean - want).abs() < 4.0 * se + bias, "{what}: {mean} ± {se} for {want}");
    assert!(se < 0.04 * want.abs(), "{what}: {se} is too much to distinguish {want} from anything");
}

#[test]
fn gated_kernels_are_those_of_networks_with_random_masks() {
    let prior = WeightPrior::new(f64::INFINITY, 1.0).unwrap();
    let x = inputs();
    for g in [0.7, 0.5] {
        let drawn: Vec<[f64; 4]> = (0..NETWORKS).map(|seed| finite(seed, g)).collect();
        let want = |kind| Kernel::gated(kind, TWO, prior, (1, 1), g).unwrap().pair(&x[0], &x[1]).unwrap();
        agrees(drawn.iter().map(|d| d[0]), want(KernelKind::Nngp), "K_GP");
        agrees(drawn.iter().map(|d| d[3]), want(KernelKind::Ntk), "K_NTK");
    }
}

#[test]
fn penalties_per_layer_weigh_the_parts_of_the_tangent_kernel() {
    let prior = WeightPrior::new(f64::INFINITY, 1.0).unwrap();
    let x = inputs();
    let drawn: Vec<[f64; 4]> = (0..NETWORKS).map(|seed| finite(seed, 1.0)).collect();
    for mobility in [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.3, 2.0, 0.7]] {
        let kernel = Kernel::per_layer(KernelKind::Ntk, TWO, prior, (1, 1), &mobility).unwrap();
        let want = kernel.pair(&x[0], &x[1]).unwrap();
        let [first, second, readout] = mobility;
        agrees(drawn.iter().map(|d| readout * d[0] + second * d[1] + first * d[2]), want, &format!("{mobility:?}"));
    }
}

#[test]
fn finite_penalties_per_layer_are_the_dynamics_of_each_layer() {
    // λ_l = 2/r_l: 1 for the first layer, 4 for the second, 2 for the readout.
    let mobility = [2.0, 0.5, 1.0];
    let prior = WeightPrior::new(2.0, 1.0).unwrap();
    let layer = |r: f64| WeightPrior::new(2.0 / r, 1.0).unwrap();
    let x = inputs();
    let ones = vec![1.0; WIDTH];
    let one = |seed: u64| {
        let mut stream = Stream::new(seed, "branches", 0);
        let mut both = |rows: usize, columns: usize, r: f64| {
            let (keep, noise) = (layer(r).lambda_tilde(), layer(r).one_minus_lambda_tilde().sqrt());
            let w = weights(&mut stream, rows, columns);
            let mut step = || Mat::from_fn(rows, columns, |i, j| keep * w[(i, j)] + noise * stream.normal());
            let branches = [step(), step()];
            (w, branches)
        };
        let (w0, b0) = both(WIDTH, 6, mobility[0]);
        let (w1, b1) = both(WIDTH, WIDTH, mobility[1]);
        let top = |w: [&Mat<f64>; 2], x: &[f64]| pass(w, [&ones, &ones], x).x[1].clone();
        let (early, late) = (top([&w0, &w1], &x[1]), top([&b0[0], &b1[0]], &x[0]));
        let (same, other) = (top([&b0[0], &b1[0]], &x[1]), top([&b0[1], &b1[1]], &x[1]));
        let n = WIDTH as f64;
        let (k21, k1, k0) = (inner(&late, &early) / n, inner(&late, &same) / n, inner(&late, &other) / n);
        let readout = layer(mobility[2]);
        [k21, k0, readout.m1(2, 2) * k1 - readout.m0(2, 2) * k0]
    };
    let drawn: Vec<[f64; 3]> = (0..NETWORKS).map(one).collect();
    let want = |kind, times| Kernel::per_layer(kind, TWO, prior, times, &mobility).unwrap().pair(&x[0], &x[1]).unwrap();
    agrees(drawn.iter().map(|d| d[0]), want(KernelKind::K1, (2, 1)), "K1 of times 2 and 1");
    agrees(drawn.iter().map(|d| d[1]), want(KernelKind::K0, (2, 2)), "K0");
    agrees(drawn.iter().map(|d| d[2]), want(KernelKind::KTilde, (2, 2)), "K tilde");
}

#[test]
fn limits_of_gating_and_of_penalties_per_layer() {
    let x = inputs();
    for activation in [Activation::Relu, Activation::Linear, Activation::Erf] {
        for depth in [1, 3] {
            let arch = Architecture { activation, depth };
            for lambda in [3.0, f64::INFINITY] {
                let prior = WeightPrior::new(lambda, 1.3).unwrap();
                let pair = |kernel: ebbing::Result<Kernel>| kernel.unwrap().pair(&x[0], &x[1]).unwrap();
                for kind in [KernelKind::Nngp, KernelKind::Ntk, KernelKind::K1, KernelKind::KTilde] {
                    let plain = pair(Kernel::new(kind, arch, prior, 3, 2));
                    // No gating, and one penalty for all layers, to the bit.
                    assert_eq!(pair(Kernel::gated(kind, arch, prior, (3, 2), 1.0)), plain);
                    assert_eq!(pair(Kernel::per_layer(kind, arch, prior, (3, 2), &vec![1.0; depth + 1])), plain);
                    // Disjoint masks share nothing: in these layers without biases no output moves another task's.
                    assert_eq!(pair(Kernel::gated(kind, arch, prior, (3, 2), 0.0)), 0.0);
                }
            }
            let prior = WeightPrior::new(f64::INFINITY, 1.3).unwrap();
            let mut readout = vec![0.0; depth];
            readout.push(1.0);
            let kernel = |mobility: &[f64]| Kernel::per_layer(KernelKind::Ntk, arch, prior, (1, 1), mobility).unwrap();
            let nngp = Kernel::new(KernelKind::Nngp, arch, prior, 1, 1).unwrap().pair(&x[0], &x[1]).unwrap();
            // A few roundings per layer.
            within(kernel(&readout).pair(&x[0], &x[1]).unwrap(), nngp, 1e-14 * nngp.abs(), "only the readout learns");
            let (one, ten) = (kernel(&vec![1.0; depth + 1]), kernel(&vec![10.0; depth + 1]));
            let [one, ten] = [one, ten].map(|k| k.pair(&x[0], &x[1]).unwrap());
            within(ten, 10.0 * one, 1e-14 * ten.abs(), "the tangent kernel is linear in the mobilities");
        }
    }
}

#[test]
fn gating_that_is_none_and_layers_that_cannot_learn_are_named() {
    let prior = WeightPrior::new(f64::INFINITY, 1.0).unwrap();
    let gated = |o: f64| Kernel::gated(KernelKind::Nngp, TWO, prior, (1, 1), o).unwrap_err().to_string();
    assert_eq!(gated(1.5), "overlap is 1.5; must lie in 0 … 1");
    assert!(gated(f64::NAN).starts_with("overlap is NaN"));
    let layers = |r: &[f64]| Kernel::per_layer(KernelKind::Ntk, TWO, prior, (1, 1), r).unwrap_err().to_string();
    assert_eq!(layers(&[1.0, 1.0]), "mobility is 2 numbers; must hold 3, one for each layer of weights");
    assert!(layers(&[0.0; 3]).contains("something has to learn"));
    assert!(layers(&[1.0, -1.0, 1.0]).starts_with("mobility is -1"));
}
