//! Equations and Jacobians against differences, and roots against continuation.

use super::dense::Dense;
use super::frame::*;
use super::newton::*;
use super::pair::TwoTaskOutputs;
use super::problem::*;
use super::steps::Finite;
use super::terms::kronecker;
use crate::kernels::{Kernel, KernelKind};
use crate::linalg::{Cholesky, Mat, matmul};
use crate::rng::Stream;
use crate::tasks::Task;
use crate::theory::multi_head::{MultiHead, MultiHeadSettings};

fn random(p: usize, m: usize, n: usize, whole: bool, seed: u64) -> Problem {
    let mut s = Stream::new(seed, "several outputs", 0);
    let values = (0..p).map(|_| 0.02 + 0.5 * s.uniform().powi(2)).collect();
    let y = Mat::from_fn(p, m, |_, j| (1.0 + 0.3 * j as f64) * s.normal());
    let g = Mat::from_fn(p, n, |i, j| 0.6 * s.normal() + if j < m { 0.4 * y[(i, j)] } else { 0.0 });
    let root = Mat::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.2 * s.normal() });
    let shape = matmul(root.as_ref(), root.transpose());
    let unit = Mat::from_fn(n, n, |i, j| -shape[(i, j)]);
    let covariance = if whole {
        Covariance::Whole(Mat::from_fn(p, n * (n + 1) / 2, |_, k| {
            let (mut i, mut at) = (0, k);
            while at > i {
                at -= i + 1;
                i += 1;
            }
            -shape[(i, at)] * (0.3 + 0.4 * s.uniform())
        }))
    } else {
        Covariance::Scaled { scale: (0..p).map(|_| -0.8 * s.uniform()).collect(), shape }
    };
    Problem { s: values, y, g, covariance, unit, width: 1.4 * p as f64, sigma2: 0.9, near: None }
}

fn some_frame(m: usize, seed: u64) -> Frame {
    let mut s = Stream::new(seed, "frame", 0);
    let root = Mat::from_fn(m, m, |i, j| if i == j { 0.8 } else { 0.2 * s.normal() });
    let other = Mat::from_fn(m, m, |i, j| if i == j { 1.1 } else { 0.3 * s.normal() });
    Frame::of(matmul(root.as_ref(), root.transpose()).as_ref(), matmul(other.as_ref(), other.transpose()).as_ref())
        .unwrap()
}

#[test]
fn frames_rebuild_their_factors() {
    let frame = some_frame(4, 1);
    let back = Frame::of(frame.d().as_ref(), frame.u0().as_ref()).unwrap();
    let product = matmul(frame.e.as_ref(), frame.f.as_ref());
    for i in 0..4 {
        for j in 0..4 {
            // A few roundings of well-conditioned 4 × 4 matrices.
            assert!((back.d()[(i, j)] - frame.d()[(i, j)]).abs() < 1e-13);
            assert!((back.u0()[(i, j)] - frame.u0()[(i, j)]).abs() < 1e-13);
            assert!((product[(i, j)] - f64::from(u8::from(i == j))).abs() < 1e-13);
        }
    }
}

#[test]
fn gradient_and_second_derivatives_match_differences() {
    for (m, n, whole) in [(1, 1, false), (3, 2, false), (2, 3, true), (3, 4, true)] {
        let problem = random(9, m, n, whole, 7);
        let frame = some_frame(m, 3);
        let at = problem.at(&frame).unwrap().unwrap();
        let half = m * (m + 1) / 2;
        let moved = |k: usize, h: f64| {
            let mut v = vec![0.0; 2 * half];
            v[k] = h;
            frame.moved(from_coordinates(&v[..half], m).as_ref(), from_coordinates(&v[half..], m).as_ref()).unwrap()
        };
        let value = |frame: &Frame| {
            let at = problem.at(frame).unwrap().unwrap();
            problem.value(frame, matmul(frame.f.as_ref(), at.theta.as_ref()).as_ref()).unwrap()
        };
        let (g, (hessian, _)) = (gradient(&at), problem.jacobian(&at).unwrap());
        for k in 0..2 * half {
            // Central differences of a function with θ at its stationary point: truncation h², rounding 1e-15/h.
            let slope = (value(&moved(k, 1e-5)) - value(&moved(k, -1e-5))) / 2e-5;
            assert!((slope - g[k]).abs() < 1e-8 * (1.0 + slope.abs()), "m {m}: {k}: {slope} {}", g[k]);
            for l in 0..2 * half {
                let both = |a: f64, b: f64| {
                    let mut v = vec![0.0; 2 * half];
                    v[k] += a;
                    v[l] += b;
                    let (x, z) = (from_coordinates(&v[..half], m), from_coordinates(&v[half..], m));
                    value(&frame.moved(x.as_ref(), z.as_ref()).unwrap())
                };
                let h = 1e-3;
                let second = (both(h, h) - both(h, -h) - both(-h, h) + both(-h, -h)) / (4.0 * h * h);
                // Truncation h² times fourth derivatives of order ten, rounding 1e-15/h².
                let got = hessian[(k, l)];
                assert!((second - got).abs() < 1e-4 * (1.0 + got.abs()), "m {m}: ({k}, {l}): {second} {got}");
            }
        }
    }
}

/// Newton's method from single outputs ends where continuation from α → 0 does.
#[test]
fn starts_agree_with_continuation() {
    let mut stream = Stream::new(5, "cases", 0);
    for case in 0..40 {
        let m = 1 + case % 4;
        let mut problem = random(20, m, m, case % 2 == 0, 100 + case as u64);
        problem.width = 20.0 / 10f64.powf(1.6 * stream.uniform() - 0.8);
        let scale = 10f64.powf(-5.0 * stream.uniform());
        problem.s.iter_mut().for_each(|s| *s *= scale);
        let direct = problem.solve("test").unwrap();
        let far = problem.continued(|width| Problem { width, ..problem.clone() }).unwrap().unwrap();
        let size = far.frame.u0().norm_l2() + far.frame.d().norm_l2();
        for (a, b) in [(direct.frame.d(), far.frame.d()), (direct.frame.u0(), far.frame.u0())] {
            // Residuals of 1e-10 through a Jacobian of condition below 1e4.
            assert!((&a - &b).norm_l2() < 1e-6 * size, "case {case}: {a:?} {b:?}");
        }
    }
}

/// Related tasks with the given numbers of examples and outputs.
fn tasks(sizes: &[(usize, usize)], inputs: usize, seed: u64) -> Vec<Task> {
    let mut s = Stream::new(seed, "tasks of several outputs", 0);
    let largest = sizes.iter().map(|s| s.0).max().unwrap();
    let (x, y) = (Mat::from_fn(largest, inputs, |_, _| s.normal()), Mat::from_fn(largest, 8, |_, _| s.normal()));
    sizes
        .iter()
        .map(|&(p, m)| {
            let x = Mat::from_fn(p, inputs, |i, j| 0.8 * x[(i, j)] + 0.6 * s.normal());
            let y = Mat::from_fn(p, m, |i, a| (1.0 + 0.4 * a as f64) * (0.8 * y[(i, a)] + 0.6 * s.normal()));
            Task::new(x, y)
        })
        .collect()
}

fn differ(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (a - b).norm_max()
}

#[test]
fn whole_matrices_agree_with_the_basis_and_with_differences() {
    let (p, m, n) = (7, 3, 2);
    let problem = random(p, m, n, true, 11);
    let Covariance::Whole(all) = &problem.covariance else { unreachable!() };
    let diagonal = |v: &dyn Fn(usize) -> f64| Mat::from_fn(p, p, |i, j| if i == j { v(i) } else { 0.0 });
    let cold = Dense {
        k1: Mat::identity(p, p),
        delta: diagonal(&|i| problem.s[i]),
        ridge: Mat::zeros(p, p),
        y: problem.y.clone(),
        g: problem.g.clone(),
        covariance: (0..n * (n + 1) / 2).map(|k| diagonal(&|i| all[(i, k)])).collect(),
        unit: problem.unit.clone(),
        width: problem.width,
        sigma2: problem.sigma2,
    };
    let frame = some_frame(m, 5);
    let (a, b) = (problem.at(&frame).unwrap().unwrap(), cold.at(&frame).unwrap().unwrap());
    let (ha, hb) = (problem.jacobian(&a).unwrap(), cold.jacobian(&b).unwrap());
    // Sums of about twenty terms in another order.
    for (x, y) in [(&a.gx, &b.gx), (&a.gz, &b.gz), (&a.theta, &b.theta), (&ha.0, &hb.0)] {
        assert!(differ(x, y) < 1e-11 * (1.0 + x.norm_max()), "{x:?} {y:?}");
    }
    assert_eq!(ha.1, hb.1);
    // At a temperature, with matrices that share no basis.
    let mut s = Stream::new(12, "whole", 0);
    let mut some = |size: f64| {
        let root = Mat::from_fn(p, p, |i, j| if i == j { 1.0 } else { 0.2 * s.normal() });
        let full = matmul(root.as_ref(), root.transpose());
        Mat::from_fn(p, p, |i, j| size * full[(i, j)])
    };
    let mut warm = cold;
    (warm.k1, warm.delta, warm.ridge) = (some(1.0), some(0.1), some(0.3));
    for (k, spread) in warm.covariance.iter_mut().enumerate() {
        // Entries (k, k) are symmetric, others need not be.
        let skew = if k == 1 { 0.1 } else { 0.0 };
        *spread = Mat::from_fn(p, p, |i, j| spread[(i, j)] + skew * (i as f64 - 0.5 * j as f64) / p as f64);
    }
    let at = warm.at(&frame).unwrap().unwrap();
    let half = m * (m + 1) / 2;
    let value = |v: &[f64]| {
        let (x, z) = (from_coordinates(&v[..half], m), from_coordinates(&v[half..], m));
        let frame = frame.moved(x.as_ref(), z.as_ref()).unwrap();
        let at = warm.at(&frame).unwrap().unwrap();
        warm.value(&frame, matmul(frame.f.as_ref(), at.theta.as_ref()).as_ref()).unwrap()
    };
    let step = |k: usize, h: f64, l: usize, g: f64| {
        let mut v = vec![0.0; 2 * half];
        v[k] += h;
        v[l] += g;
        value(&v)
    };
    let (g, (hessian, _)) = (gradient(&at), warm.jacobian(&at).unwrap());
    for k in 0..2 * half {
        // Truncation h², rounding 1e-14/h.
        let slope = (step(k, 1e-5, 0, 0.0) - step(k, -1e-5, 0, 0.0)) / 2e-5;
        assert!((slope - g[k]).abs() < 1e-7 * (1.0 + slope.abs()), "{k}: {slope} {}", g[k]);
        for l in 0..2 * half {
            let h = 1e-3;
            let second =
                (step(k, h, l, h) - step(k, h, l, -h) - step(k, -h, l, h) + step(k, -h, l, -h)) / (4.0 * h * h);
            let got = hessian[(k, l)];
            // Truncation h² times fourth derivatives of order ten, rounding 1e-14/h².
            assert!((second - got).abs() < 1e-4 * (1.0 + got.abs()), "({k}, {l}): {second} {got}");
        }
    }
}

/// The machinery of several outputs with one output each is the theory of one output.
#[test]
fn one_output_is_the_theory_of_one_output() {
    for (beta, lambda) in
        [(f64::INFINITY, 0.0), (f64::INFINITY, 3.0), (f64::INFINITY, 1e4), (50.0, 3.0), (2000.0, 100.0)]
    {
        let settings = MultiHeadSettings { lambda, beta, width: Some(12.0), sigma2: 0.9, ..Default::default() };
        let tasks = tasks(&[(9, 1), (14, 1), (11, 1)], 20, 3);
        let (several, one) = (
            Finite::new(&tasks, &settings).unwrap(),
            MultiHead::new(&tasks, &settings, &crate::Context::default()).unwrap(),
        );
        for t in 1..=3 {
            for s in 1..=t {
                // Both solve their equations to rounding.
                let pairs = [(several.u1(t, s), one.u1(t, s)), (several.u0(t, s), one.u0(t, s))];
                for (a, b) in pairs {
                    assert!(
                        (a[(0, 0)] - b).abs() < 1e-10 * (1.0 + b.abs()),
                        "beta {beta}, lambda {lambda}, ({t}, {s}): {a:?} {b}"
                    );
                }
            }
            for head in 1..=t {
                let x = tasks[head - 1].x.as_ref();
                let (a, b) = (several.predict(head, t, x).unwrap(), one.predict(head, t, x).unwrap());
                for i in 0..x.nrows() {
                    assert!((a.mean[(i, 0)] - b.mean[i]).abs() < 1e-9, "{lambda} {beta}");
                    assert!(
                        (a.covariance[i][(0, 0)] - b.variance[i]).abs() < 1e-9 * (1.0 + one.u1(t, t)),
                        "{lambda} {beta}"
                    );
                }
            }
            let (a, b) = (several.alone(t, tasks[0].x.as_ref()).unwrap(), one.alone(t, tasks[0].x.as_ref()).unwrap());
            assert!((0..9).all(|i| (a.covariance[i][(0, 0)] - b.variance[i]).abs() < 1e-10));
        }
    }
}

/// `ln det K̃ + Tr K̃^{-1}Σ + (Y−ḡ)ᵀK̃^{-1}(Y−ḡ)` of the last task from whole Kronecker matrices, or of 1×1 kernels without labels.
fn direct(
    tasks: &[Task],
    settings: &MultiHeadSettings,
    u1: &dyn Fn(usize, usize) -> Mat<f64>,
    u0: &dyn Fn(usize, usize) -> Mat<f64>,
    unit: bool,
) -> f64 {
    let count = tasks.len();
    let kernel = |kind, t: usize, s: usize| {
        if unit {
            return Mat::from_fn(1, 1, |_, _| 1.0);
        }
        let kernel = Kernel::new(kind, settings.architecture().unwrap(), settings.prior().unwrap(), t, s).unwrap();
        kernel.gram(tasks[t - 1].x.as_ref(), tasks[s - 1].x.as_ref()).unwrap()
    };
    let ridge = if unit { 0.0 } else { 1.0 / settings.beta };
    let k1 = |t, s| kernel(KernelKind::K1, t, s);
    let k0 = |t, s| kernel(KernelKind::K0, t, s);
    let warm = |m: Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)] + if i == j { ridge } else { 0.0 });
    let tilde = |t: usize, s: usize| {
        let all = kronecker(&u1(t, s), &k1(t, s));
        let all = if s == 1 { all } else { all - kronecker(&u0(t, s), &k0(t, s)) };
        if t == s { warm(all) } else { all }
    };
    let prior = |t: usize, s: usize| {
        let all = kronecker(&u1(t, s), &k1(t, s));
        if t == s { warm(all) } else { all }
    };
    // A sample of errors is linear in f⁰ and Y: rows of the map per task, as matrices over the tasks before.
    let y = |t: usize| {
        let flat: Vec<f64> =
            (0..tasks[t - 1].y.ncols()).flat_map(|a| tasks[t - 1].y.col_as_slice(a).to_vec()).collect();
        if unit { Mat::zeros(tasks[t - 1].y.ncols(), 1) } else { Mat::from_fn(flat.len(), 1, |i, _| flat[i]) }
    };
    // A_Ts from u = 𝓛^{-1}: back substitution block by block.
    let mut a: Vec<Mat<f64>> = Vec::new();
    for s in (1..count).rev() {
        let mut right = tilde(count, s);
        for (k, later) in a.iter().enumerate() {
            right -= matmul(later.as_ref(), tilde(count - 1 - k, s).as_ref());
        }
        let factor = Cholesky::factor(tilde(s, s).as_ref(), "test").unwrap();
        a.push(factor.solve(right.transpose()).transpose().to_owned());
    }
    a.reverse();
    let own = tilde(count, count);
    let mut sigma = kronecker(&u0(count, count), &k0(count, count));
    let mut miss = y(count);
    for s in 1..count {
        let cross = matmul(a[s - 1].as_ref(), prior(count, s).transpose());
        sigma -= &cross + cross.transpose();
        miss -= matmul(a[s - 1].as_ref(), y(s).as_ref());
        for r in 1..count {
            let c = if s >= r { prior(s, r) } else { prior(r, s).transpose().to_owned() };
            sigma += matmul(matmul(a[s - 1].as_ref(), c.as_ref()).as_ref(), a[r - 1].transpose());
        }
    }
    let factor = Cholesky::factor(own.as_ref(), "test").unwrap();
    let solved = factor.solve(sigma.as_ref());
    let trace: f64 = (0..own.nrows()).map(|i| solved[(i, i)]).sum();
    factor.logdet() + trace + matmul(miss.transpose(), factor.solve(miss.as_ref()).as_ref())[(0, 0)]
}

/// At the solution of every step H, formed from whole Kronecker matrices, is stationary in every entry of the newest factors.
#[test]
fn solutions_are_stationary_points_of_the_printed_free_energy() {
    for beta in [f64::INFINITY, 40.0] {
        let settings = MultiHeadSettings { lambda: 3.0, beta, width: Some(9.0), sigma2: 0.9, ..Default::default() };
        let all = tasks(&[(6, 2), (8, 3), (7, 2)], 12, 4);
        for count in 2..=3 {
            let tasks = &all[..count];
            let theory = Finite::new(tasks, &settings).unwrap();
            assert!(theory.residuals.iter().all(|r| r.residual < 1e-10), "{:?}", theory.residuals);
            let energy = |moved: &dyn Fn(usize, bool) -> Option<Mat<f64>>| {
                let get = |t: usize, s: usize, first: bool| {
                    let plain = if first { theory.u1(t, s) } else { theory.u0(t, s) };
                    match moved(s, first) {
                        Some(step) if t == count => plain + step,
                        _ => plain,
                    }
                };
                let (u1, u0) = (|t: usize, s: usize| get(t, s, true), |t: usize, s: usize| get(t, s, false));
                let own = u1(count, count);
                let norm: f64 = (0..own.nrows()).map(|a| own[(a, a)]).sum();
                norm / 0.9 - direct(tasks, &settings, &u1, &u0, true) + direct(tasks, &settings, &u1, &u0, false) / 9.0
            };
            for s in 1..=count {
                for first in [true, false] {
                    if s == 1 && !first {
                        continue;
                    }
                    let shape = theory.u1(count, s);
                    for a in 0..shape.nrows() {
                        for c in 0..shape.ncols() {
                            let step = |h: f64| {
                                let mut m = Mat::zeros(shape.nrows(), shape.ncols());
                                m[(a, c)] += h;
                                if s == count {
                                    m[(c, a)] += h;
                                }
                                move |r: usize, f: bool| (r == s && f == first).then(|| m.clone())
                            };
                            let slope = (energy(&step(1e-5)) - energy(&step(-1e-5))) / 2e-5;
                            // Truncation h² and rounding 1e-14/h, times inverse factors of order ten.
                            assert!(
                                slope.abs() < 2e-7,
                                "beta {beta}, step {count}, ({s}, {first}) [{a}, {c}]: {slope}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// One pencil for all loads gives what whole Kronecker matrices give, before and after rotations of the outputs.
#[test]
fn two_routes_to_two_tasks() {
    let all = tasks(&[(10, 2), (12, 3)], 18, 5);
    for (lambda, alpha) in [(0.0, 0.5), (2.0, 0.7), (50.0, 2.0), (1e4, 4.0)] {
        let settings = MultiHeadSettings { lambda, alpha: Some(alpha), ..Default::default() };
        let whole = Finite::new(&all, &settings).unwrap();
        let pair = TwoTaskOutputs::new(&all, &settings, &crate::Context::default()).unwrap();
        let point = pair.point(alpha).unwrap();
        let size = 1.0 + point.u22.norm_max();
        // Both solve their equations to rounding; kernels have condition numbers below 1e4.
        let tolerance = 1e-8 * size;
        assert!(differ(&point.u11, &whole.u1(1, 1)) < tolerance);
        assert!(differ(&point.u12, &whole.u1(1, 2)) < tolerance);
        assert!(differ(&point.u22, &whole.u1(2, 2)) < tolerance);
        assert!(differ(&point.u0, &whole.u0(2, 2)) < tolerance);
        let mut s = Stream::new(6, "queries", 0);
        let x = Mat::from_fn(5, 18, |_, _| s.normal());
        for head in [1, 2] {
            let outputs = all[head - 1].y.ncols();
            let y = Mat::from_fn(5, outputs, |_, _| s.normal());
            let (a, b) = (pair.predict(head, &point, x.as_ref()).unwrap(), whole.predict(head, 2, x.as_ref()).unwrap());
            assert!(differ(&a.mean, &b.mean) < tolerance, "lambda {lambda}, head {head}");
            for i in 0..5 {
                assert!(
                    differ(&a.covariance[i], &b.covariance[i]) < tolerance,
                    "lambda {lambda}, head {head}: {:?} {:?}",
                    a.covariance[i],
                    b.covariance[i]
                );
            }
            let maps = pair.maps(head, x.as_ref(), y.as_ref()).unwrap();
            let losses = pair.losses(&maps, &[point.clone(), point.clone()]);
            let want = b.loss(y.as_ref()).coefficient;
            assert!((losses[1].coefficient - want).abs() < 1e-8 * want, "{losses:?} {want}");
        }
    }
}
