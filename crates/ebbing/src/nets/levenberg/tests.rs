//! Steps against dense algebra, minima against descent and closed forms, and the same bits however a run is done.

use super::*;
use crate::kernels::Architecture;
use crate::linalg::{Cholesky, matmul, on_one_thread};
use crate::nets::tests::{random_tasks, run};
use crate::nets::{Learner, Solver, Trainer};
use crate::rng::Stream;
use crate::tasks::Task;

fn solved(learner: Learner, heads: Heads, activation: Activation, depth: usize, width: usize) -> TrainSettings {
    let architecture = Architecture { activation, depth };
    TrainSettings { solver: Solver::Levenberg, learner, heads, architecture, width, ..Default::default() }
}

/// Outputs in double precision, target column after target column, of weights out × in and a readout.
fn outputs(weights: &[Mat<f64>], x: &Mat<f64>, act: &Rounding) -> Vec<f64> {
    let mut h = x.clone();
    for (l, w) in weights.iter().enumerate() {
        let readout = l + 1 == weights.len();
        let z = if readout { matmul(h.as_ref(), w.as_ref()) } else { matmul(h.as_ref(), w.transpose()) };
        let z = z * Scale(1.0 / (h.ncols() as f64).sqrt());
        h = if readout { z } else { act.values(l, &z) };
    }
    (0..h.ncols()).flat_map(|c| h.col_as_slice(c).to_vec()).collect()
}

/// A small problem away from its start, its Jacobian by central differences (a matrix per layer), and its weights.
struct Dense {
    problem: Problem,
    point: Point,
    act: Rounding,
    /// Outputs × entries of each layer, entries column by column.
    jacobian: Vec<Mat<f64>>,
    /// Displacements of hidden weights, out × in.
    moved: Vec<Mat<f64>>,
}

fn dense(activation: Activation, depth: usize, targets: usize, rounding: f64) -> Dense {
    let (p, dim, n) = (9, 7, 5);
    let mut s = Stream::new(depth as u64, "levenberg tests", targets as u64);
    let net = Mlp::new(Architecture { activation, depth }, dim, n, targets, 1.0, &mut s).unwrap();
    let data = Examples {
        x: Mat::from_fn(p, dim, |_, _| s.normal() as f32),
        y: Mat::from_fn(p, targets, |_, _| s.normal() as f32),
    };
    let readout = to_f64(&net.heads[0]);
    let mut problem = Problem::new(&net, &data, false, 0.7, &readout);
    (problem.kappa, problem.pull) = (0.3, 0.2);
    let mut weights = problem.start(readout);
    for w in weights.hidden.iter_mut().chain([&mut weights.readout]) {
        *w = Mat::from_fn(w.nrows(), w.ncols(), |i, j| w[(i, j)] + 0.1 * s.normal());
    }
    let act = Rounding::new(activation, rounding, &vec![1.0; depth]);
    let point = problem.at(weights, &act);
    let x = to_f64(&data.x);
    let mut moved: Vec<Mat<f64>> = point.weights.hidden.iter().map(|w| w.transpose().to_owned()).collect();
    moved[0] = matmul(point.weights.hidden[0].transpose(), x.as_ref()) * Scale(1.0 / (dim as f64).sqrt());
    let mut all: Vec<Mat<f64>> = net.hidden.iter().zip(&moved).map(|(w, m)| to_f64(w) + m).collect();
    all.push(point.weights.readout.clone());
    let mut jacobian = Vec::new();
    for k in 0..all.len() {
        let (rows, size) = (all[k].nrows(), all[k].nrows() * all[k].ncols());
        let h = 1e-6;
        let mut at = |e: usize, step: f64| {
            let entry = (e % rows, e / rows);
            let before = all[k][entry];
            all[k][entry] += step;
            let f = outputs(&all, &x, &act);
            all[k][entry] = before;
            f
        };
        let columns: Vec<Vec<f64>> =
            (0..size).map(|e| at(e, h).iter().zip(at(e, -h)).map(|(a, b)| (a - b) / (2.0 * h)).collect()).collect();
        jacobian.push(Mat::from_fn(p * targets, size, |i, e| columns[e][i]));
    }
    Dense { problem, point, act, jacobian, moved }
}

fn flat(m: &Mat<f64>) -> Vec<f64> {
    (0..m.ncols()).flat_map(|j| m.col_as_slice(j).to_vec()).collect()
}

/// `J_l J_lᵀ` as Gram matrices, and the gradient's norm from them, against a Jacobian by differences.
#[test]
fn kernels_and_gradients_are_those_of_the_jacobian() {
    for (activation, depth, targets) in
        [(Activation::Erf, 1, 1), (Activation::Erf, 3, 2), (Activation::Linear, 2, 1), (Activation::Relu, 2, 2)]
    {
        let d = dense(activation, depth, targets, 0.0);
        let here = Linearized::new(&d.problem, &d.point, &d.act);
        let hidden = &d.jacobian[..depth];
        let mut square = 0.0;
        let r = flat(&d.point.r);
        for (k, j) in d.jacobian.iter().enumerate() {
            let (pull, off) = if k < depth {
                (d.problem.kappa, flat(&d.moved[k]))
            } else {
                (d.problem.pull, flat(&(&d.point.weights.readout - &d.problem.center)))
            };
            for e in 0..j.ncols() {
                let along: f64 = j.col_as_slice(e).iter().zip(&r).map(|(j, r)| j * r).sum();
                square += (pull * off[e] - d.problem.loss * along).powi(2);
            }
        }
        // Differences: rounding 1e-16/1e-6 of outputs of order 1, and truncation of order 1e-12.
        assert!((here.gradient / square.sqrt() - 1.0).abs() < 1e-7, "{activation:?} {depth} {targets}");
        let size = r.len();
        for j in 0..size {
            for i in j..size {
                let want: f64 =
                    hidden.iter().map(|jac| (0..jac.ncols()).map(|e| jac[(i, e)] * jac[(j, e)]).sum::<f64>()).sum();
                assert!((here.kernel[(i, j)] - want).abs() < 1e-7 * (1.0 + want.abs()), "{activation:?} ({i}, {j})");
            }
        }
    }
}

/// A step against the dense system of all weights, with the curvature of kinks and of the readout's coupling.
#[test]
fn steps_solve_the_dense_system() {
    // Two target columns: Gauss–Newton. One: with the coupling. Rounded ReLUs: with kinks.
    let mut held = 0;
    for (activation, targets, rounding) in
        [(Activation::Erf, 2, 0.0), (Activation::Erf, 1, 0.0), (Activation::Relu, 1, 0.15), (Activation::Relu, 2, 0.15)]
    {
        let d = dense(activation, 1, targets, rounding);
        let here = Linearized::new(&d.problem, &d.point, &d.act);
        let (c, kappa, pull, mu) = (d.problem.loss, d.problem.kappa, d.problem.pull, 1.5);
        let (w, a) = (d.moved[0].nrows() * d.moved[0].ncols(), d.point.weights.readout.nrows() * targets);
        let (size, n, p) = (w + a, d.moved[0].nrows(), d.problem.y.nrows());
        let jac = |i: usize, e: usize| if e < w { d.jacobian[0][(i, e)] } else { d.jacobian[1][(i, e - w)] };
        let mut h = Mat::from_fn(size, size, |e, f| {
            let product: f64 = (0..p * targets).map(|i| jac(i, e) * jac(i, f)).sum();
            c * product
                + if e != f {
                    0.0
                } else if e < w {
                    kappa + mu
                } else {
                    pull + mu
                }
        });
        // ∂z_mi/∂w_i is what the Jacobian of unit i has beyond a_i φ'/√N.
        let dim = d.moved[0].ncols();
        let slopes = d.act.slopes(0, &d.point.z[0]);
        let root = (n as f64).sqrt();
        let input = |m: usize, i: usize, j: usize| {
            let signal = d.point.weights.readout[(i, 0)] * slopes[(m, i)] / root;
            jac(m, j * n + i) / signal
        };
        for &(_, i, m, t) in here.kinks.iter().filter(|k| k.3 > 0.2 * (kappa + mu)) {
            held += 1;
            for (j, k) in (0..dim).flat_map(|j| (0..dim).map(move |k| (j, k))) {
                h[(j * n + i, k * n + i)] += t * input(m, i, j) * input(m, i, k);
            }
        }
        if targets == 1 {
            for (m, i) in (0..p).flat_map(|m| (0..n).map(move |i| (m, i))).filter(|&(m, i)| slopes[(m, i)] > 0.0) {
                for j in 0..dim {
                    let b = c * d.point.r[(m, 0)] * slopes[(m, i)] / root * input(m, i, j);
                    h[(j * n + i, w + i)] -= b;
                    h[(w + i, j * n + i)] -= b;
                }
            }
        }
        let r = flat(&d.point.r);
        let off = [flat(&d.moved[0]), flat(&(&d.point.weights.readout - &d.problem.center))].concat();
        let gradient: Vec<f64> = (0..size)
            .map(|e| {
                let along: f64 = (0..p * targets).map(|i| jac(i, e) * r[i]).sum();
                -(off[e] * if e < w { kappa } else { pull } - c * along)
            })
            .collect();
        let want = Cholesky::factor(h.as_ref(), "dense").unwrap().solve_vec(&gradient);
        let (step, first_order) = here.system(&d.problem, &d.point, mu).unwrap().step();
        // The Jacobian by differences, 1e-9, and what kinks hold, 6e-8, times a condition number of some ten.
        for (got, want) in flat(&step.readout).iter().zip(&want[w..]) {
            assert!((got - want).abs() < 1e-6 * (1.0 + want.abs()), "{activation:?} {targets}: {got} {want}");
        }
        for (i, got) in flat(&first_order).iter().enumerate() {
            let want: f64 = (0..size).map(|e| jac(i, e) * want[e]).sum();
            assert!((got - want).abs() < 1e-6 * (1.0 + want.abs()), "{activation:?} {targets}: {got} {want}");
        }
        // What the quadratic model of the dense system falls by: −∇E·δ − ½ δᵀ(h − μ)δ.
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let bent: Vec<f64> = (0..size).map(|e| (0..size).map(|k| h[(e, k)] * want[k]).sum()).collect();
        let model = dot(&gradient, &want) - 0.5 * (dot(&want, &bent) - mu * dot(&want, &want));
        let predicted = d.problem.predicted(&d.point, &d.problem.step(step), &first_order, mu);
        assert!((predicted / model - 1.0).abs() < 1e-5, "{activation:?} {targets}: {predicted} {model}");
    }
    assert!(held > 0, "no unit rests on a kink here: the test needs one that does");
}

/// Products with the Hessian against differences of the gradient, and the system of a step as its own inverse.
#[test]
fn products_with_the_hessian_are_those_of_the_gradient() {
    for (activation, depth, targets, rounding) in
        [(Activation::Linear, 2, 1, 0.0), (Activation::Relu, 2, 2, 0.15), (Activation::Relu, 3, 1, 0.15)]
    {
        let Dense { problem, point, act, .. } = dense(activation, depth, targets, rounding);
        let here = Linearized::new(&problem, &point, &act);
        let mut s = Stream::new(5, "directions", depth as u64);
        let mut random = |m: &Mat<f64>| Mat::from_fn(m.nrows(), m.ncols(), |_, _| s.normal());
        let weights = &point.weights;
        let hidden = weights.hidden.iter().map(&mut random).collect();
        let d = problem.step(Weights { hidden, readout: random(&weights.readout) });
        let hessian = Hessian::new(&problem, &point, &here, &act);
        let (product, outputs) = hessian.times(&d);
        let gradient = |share: f64| {
            let there = problem.along(&point, &d, share, &act);
            let here = Linearized::new(&problem, &there, &act);
            (Hessian::new(&problem, &there, &here, &act).gradient(), there.r)
        };
        // Activations are quadratic or linear between the ends of rounded kinks: central differences have truncation of order
        // h² and rounding of order 1e-16/h; a kink's end within the step would show as h.
        let h = 1e-6;
        let ((up, r_up), (down, r_down)) = (gradient(h), gradient(-h));
        let close = |got: &Mat<f64>, up: &Mat<f64>, down: &Mat<f64>, sign: f64, what: &str| {
            for (k, (got, (up, down))) in flat(got).iter().zip(flat(up).iter().zip(flat(down))).enumerate() {
                let want = sign * (up - down) / (2.0 * h);
                assert!(
                    (got - want).abs() < 1e-6 * (1.0 + want.abs()),
                    "{activation:?} {depth} {what} {k}: {got} {want}"
                );
            }
        };
        for l in 0..depth {
            close(&product.hidden[l], &up.hidden[l], &down.hidden[l], 1.0, "layer");
        }
        close(&product.readout, &up.readout, &down.readout, 1.0, "readout");
        close(&outputs, &r_up, &r_down, -1.0, "outputs");
        // r = y − f, and the step of a system is what solves it for −∇E.
        let system = here.system(&problem, &point, 1.5).unwrap();
        let (step, _) = system.step();
        let solved = system.solved(&hessian.gradient());
        // Kinks' part of the matrix is in single precision, the same for both ways; else rounding.
        for (a, b) in
            step.hidden.iter().chain([&step.readout]).zip(solved.weights.hidden.iter().chain([&solved.weights.readout]))
        {
            for (a, b) in flat(a).iter().zip(flat(b)) {
                assert!((a + b).abs() < 1e-9 * (1.0 + a.abs()), "{activation:?} {depth}: {a} {b}");
            }
        }
    }
}

/// Two hidden layers of linear units: the step with all second derivatives solves its damped system to the accuracy that is
/// asked for, and lowers the quadratic model of the objective as predicted.
#[test]
fn steps_with_all_second_derivatives_solve_their_system() {
    let Dense { problem, point, act, .. } = dense(Activation::Linear, 2, 1, 0.0);
    let here = Linearized::new(&problem, &point, &act);
    let hessian = Hessian::new(&problem, &point, &here, &act);
    // Damping that makes H + μ positive, so that the iterations end by their accuracy.
    let system = here.system(&problem, &point, 5.0).unwrap();
    let (step, outputs) = hessian.step(&system);
    let left = {
        let (product, again) = hessian.times(&step);
        assert!(flat(&outputs).iter().zip(flat(&again)).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs())));
        let negative = hessian.gradient().moved(&product.moved(&step.weights, 5.0), 1.0);
        system.solved(&negative).along(&negative)
    };
    let start = system.solved(&hessian.gradient()).along(&hessian.gradient());
    // Iterations end where the residual is 0.3 of the gradient in the norm of the inverse system.
    assert!(left <= 0.09 * start * (1.0 + 1e-9), "{left} {start}");
    // Galerkin: ½(μ|δ|² − ∇E·δ) is what the undamped model falls by.
    let (product, _) = hessian.times(&step);
    let model = -step.along(&hessian.gradient()) - 0.5 * step.along(&product);
    let predicted = problem.predicted(&point, &step, &outputs, 5.0);
    assert!((predicted / model - 1.0).abs() < 1e-9, "{predicted} {model}");
}

/// A linear network, the readout free: given a, the minimum over W is a ridge regression in closed form, and the
/// objective that it leaves has no slope along a.
#[test]
fn linear_networks_end_at_the_closed_solution() {
    let (p, dim, n, kappa) = (14, 20, 6, 0.05);
    let tasks = random_tasks(2, p, dim, 1, 21);
    let settings = solved(Learner::L2 { kappa }, Heads::Multi, Activation::Linear, 1, n);
    let mut trainer = Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap();
    trainer.learn_next(&mut |_| true).unwrap();
    let before = to_f64(&trainer.net().hidden()[0]);
    trainer.learn_next(&mut |_| true).unwrap();
    let report = &trainer.trained().reports[1];
    assert!(report.converged, "{report:?}");
    let x = Mat::from_fn(p, dim, |i, j| f64::from(tasks[1].x[(i, j)] as f32));
    let gram = matmul(x.as_ref(), x.transpose()) * Scale(1.0 / dim as f64);
    let z = matmul(x.as_ref(), before.transpose()) * Scale(1.0 / (dim as f64).sqrt());
    // min_W = κ/2 (y − Za/√N)ᵀ (|a|²/N G + κ)⁻¹ (y − Za/√N).
    let left = |a: &[f64]| {
        let square = a.iter().map(|a| a * a).sum::<f64>() / n as f64;
        let m = Mat::from_fn(p, p, |i, j| square * gram[(i, j)] + if i == j { kappa } else { 0.0 });
        let f = crate::linalg::matvec(z.as_ref(), a);
        let miss: Vec<f64> = (0..p).map(|i| f64::from(tasks[1].y[(i, 0)] as f32) - f[i] / (n as f64).sqrt()).collect();
        let v = Cholesky::factor(m.as_ref(), "ridge").unwrap().solve_vec(&miss);
        0.5 * kappa * crate::linalg::dot(&miss, &v)
    };
    let a: Vec<f64> = to_f64(&trainer.net().readouts()[1]).col_as_slice(0).to_vec();
    let objective = report.minimum.unwrap().objective;
    // The gradient is below 1e-6 of its start, so the objective is off by its square over the curvature; weights are rounded
    // to single precision, 6e-8, at a minimum.
    assert!((left(&a) / objective - 1.0).abs() < 1e-6, "{} {objective}", left(&a));
    for i in 0..n {
        let at = |h: f64| {
            let mut a = a.clone();
            a[i] += h;
            left(&a)
        };
        let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
        // 1e-6 of a first gradient of order 10, rounding of a to single precision times a curvature of order 1.
        assert!(slope.abs() < 1e-5 * (1.0 + objective), "{i}: {slope}");
    }
}

/// With frozen hidden layers the minimum is ridge regression around the readout before, found in a few steps.
#[test]
fn a_readout_alone_is_ridge_regression() {
    let tasks = random_tasks(2, 15, 12, 2, 1);
    let kappa = 0.05;
    let base = solved(Learner::L2 { kappa }, Heads::Single, Activation::Relu, 1, 60);
    let settings = TrainSettings { readout_only: true, ..base };
    let mut trainer = Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap();
    trainer.learn_next(&mut |_| true).unwrap();
    let before = to_f64(&trainer.net().readouts()[0]);
    trainer.learn_next(&mut |_| true).unwrap();
    let after = to_f64(&trainer.net().readouts()[0]);
    let x = crate::nets::mlp::to_f32(tasks[1].x.as_ref());
    let phi = to_f64(&trainer.net().features(x.as_ref())) * Scale(1.0 / 60f64.sqrt());
    // κ(a − a_0) = Φᵀ(y − Φa).
    let y = Mat::from_fn(15, 2, |i, j| f64::from(tasks[1].y[(i, j)] as f32));
    let miss = &y - matmul(phi.as_ref(), after.as_ref());
    let want = matmul(phi.transpose(), miss.as_ref());
    let first = matmul(phi.transpose(), (&y - matmul(phi.as_ref(), before.as_ref())).as_ref());
    let off = (&want - (&after - &before) * Scale(kappa)).norm_l2();
    // 1e-6 of the first gradient, and the rounding of features and weights to single precision.
    assert!(off < 3e-6 * first.norm_l2(), "{off} {}", first.norm_l2());
}

/// Small networks: the same objective as descent that is given very many steps.
///
/// Minima are not unique in general, and these cases only say that both ways lead from these starts to the same one. ReLU
/// networks with a readout per task at a load P/N of 2 have several: P = 200 Gaussian examples, κ = 0.1, rounded off in other
/// stages, ended at objectives 0.2 % apart with gradients of 1e-6 each.
#[test]
fn long_descent_ends_at_the_same_minimum() {
    let cases = [
        (Activation::Erf, Heads::Single, 1, 24),
        (Activation::Erf, Heads::Single, 2, 16),
        (Activation::Relu, Heads::Single, 1, 24),
        (Activation::Erf, Heads::Multi, 1, 10),
    ];
    for (activation, heads, depth, width) in cases {
        let tasks = random_tasks(2, 14, 10, 1, 31);
        let settings = solved(Learner::L2 { kappa: 0.3 }, heads, activation, depth, width);
        // The first task is learned by the same solver, so that both start from the same weights.
        let one = run(&tasks[..1], &settings);
        let solved = run(&tasks, &settings);
        let minimum = solved.trained().reports[1].minimum.unwrap();
        let long = TrainSettings {
            solver: Solver::Descent,
            tolerance: 1e-7,
            threshold: 1e-9,
            patience: 2000,
            max_steps: 300_000,
            ..settings.clone()
        };
        let mut descent = Trainer::new(&tasks, &long, &crate::Context::default()).unwrap();
        descent.net = one.net().clone();
        descent.trained = one.trained().clone();
        descent.learn_next(&mut |_| true).unwrap();
        let report = &descent.trained().reports[1];
        let distance: f64 = (0..descent.net().hidden().len())
            .map(|l| crate::nets::mlp::squared_error(&descent.net().hidden()[l], &one.net().hidden()[l]))
            .sum();
        let readout = match heads {
            Heads::Single => crate::nets::mlp::squared_error(&descent.net().readouts()[0], &one.net().readouts()[0]),
            Heads::Multi => 0.0,
        };
        let objective = 0.5 * (report.mse * 14.0 + 0.3 * (distance + readout));
        // Descent in single precision stops within a relative 1e-3 of its own end; it cannot be below the minimum by more than
        // the rounding of its ReLUs, a thousandth.
        let gap = objective / minimum.objective - 1.0;
        assert!((-1e-4..5e-3).contains(&gap), "{activation:?} {heads:?} {depth}: {gap} {minimum:?} {report:?}");
        assert!(minimum.gradient <= 1e-6 && solved.trained().reports[1].converged);
    }
}

/// The gradient at the end, with kinks, readouts that no penalty holds, several layers and columns; and what it reports.
#[test]
fn gradients_vanish_at_the_end() {
    for (heads, depth, targets, kappa) in [
        (Heads::Multi, 1, 1, 0.1),
        (Heads::Single, 1, 2, 0.1),
        (Heads::Single, 2, 1, 0.01),
        (Heads::Multi, 2, 1, 0.1),
        (Heads::Multi, 1, 1, 1e-3),
    ] {
        let tasks = random_tasks(2, 30, 40, targets, 7);
        let settings = solved(Learner::L2 { kappa }, heads, Activation::Relu, depth, 20);
        let trained = run(&tasks, &settings);
        for report in &trained.trained().reports {
            let minimum = report.minimum.unwrap();
            assert!(report.converged && minimum.gradient <= 1e-6, "{heads:?} {depth} {targets}: {report:?}");
            assert!(minimum.objective.is_finite(), "{report:?}");
        }
        // Task 1 is learned without a penalty: it is interpolated.
        assert!(trained.trained().reports[0].mse < 1e-9);
    }
}

/// Without a penalty the solution is an interpolating one, about as near as the nearest: that of a vanishing penalty.
#[test]
fn unpenalized_tasks_end_near_where_they_began() {
    let tasks = random_tasks(2, 20, 30, 1, 5);
    let moved = |learner| {
        let trained = run(&tasks, &solved(learner, Heads::Single, Activation::Relu, 1, 60));
        assert!(trained.trained().reports.iter().all(|r| r.learned && r.converged));
        trained.trained().reports[1].moved
    };
    let (gd, nearest) = (moved(Learner::Gd), moved(Learner::L2 { kappa: 1e-5 }));
    // A penalty of 1e-5 leaves errors of that order; the path of damped steps ends about a tenth beyond the nearest.
    assert!((1.0 - 1e-3..1.2).contains(&(gd / nearest)), "{gd} {nearest}");
}

/// The first task may be learned by descent, bit for bit as descent does; the others are at their minimum all the same.
#[test]
fn the_first_task_may_have_a_solver_of_its_own() {
    let tasks = random_tasks(3, 12, 8, 1, 9);
    let l2 = solved(Learner::L2 { kappa: 0.1 }, Heads::Single, Activation::Relu, 2, 16);
    // Momentum is descent's, and used where descent has a task.
    let mixed = TrainSettings { first_solver: Some(Solver::Descent), momentum: 0.9, ..l2.clone() };
    let descent = TrainSettings { solver: Solver::Descent, first_solver: None, ..mixed.clone() };
    let (mixed, descent) = (run(&tasks, &mixed), run(&tasks, &descent));
    let (mixed, descent) = (mixed.trained(), descent.trained());
    assert_eq!((&mixed.reports[0], mixed.train_loss[0][0]), (&descent.reports[0], descent.train_loss[0][0]));
    for report in &mixed.reports[1..] {
        assert!(report.minimum.as_ref().is_some_and(|m| m.gradient <= 1e-6), "{report:?}");
    }
    let first = TrainSettings { solver: Solver::Descent, first_solver: Some(Solver::Levenberg), ..l2 };
    let first = run(&tasks, &first);
    let solvers: Vec<bool> = first.trained().reports.iter().map(|r| r.minimum.is_some()).collect();
    assert_eq!(solvers, [true, false, false]);
}

/// A small κ is reached in stages, kinks are sharpened at the last of them.
#[test]
fn stages_lead_to_small_penalties() {
    let of = |kappa: f64| -> Vec<(f64, f64)> {
        stages(kappa, 1.0, true, 1e-6).iter().map(|s| (s.kappa, s.rounding)).collect()
    };
    assert_eq!(of(0.1), [(0.1, 0.1), (0.1, 0.01), (0.1, 0.001)]);
    assert_eq!(of(0.05).len(), 3);
    let small = of(1e-3);
    assert_eq!(small.len(), 5);
    assert_eq!((small[0], small[1], small[4]), ((0.1, 0.1), (0.01, 0.1), (1e-3, 0.001)));
    assert_eq!(of(0.0), [(0.0, 0.001)]);
    assert_eq!(stages(0.1, 1.0, false, 1e-6).len(), 1);
}

/// Several penalties at once give what each gives alone, bit for bit, in any order, and with several starts.
#[test]
fn several_penalties_share_their_way() {
    let tasks = random_tasks(2, 24, 30, 1, 18);
    for (activation, scales) in [(Activation::Relu, vec![1.0, 3.0]), (Activation::Erf, vec![1.0])] {
        let base = TrainSettings {
            readout_scales: scales,
            ..solved(Learner::L2 { kappa: 0.1 }, Heads::Multi, activation, 1, 12)
        };
        let mut first = Trainer::new(&tasks, &base, &crate::Context::default()).unwrap();
        first.learn_next(&mut |_| true).unwrap();
        let kappas = [0.01, 0.1, 0.001];
        let all = first.learn_next_at(&kappas, &mut |_| true).unwrap();
        for (kappa, shared) in kappas.into_iter().zip(&all) {
            let alone = run(&tasks, &TrainSettings { learner: Learner::L2 { kappa }, ..base.clone() });
            assert_eq!((alone.net(), alone.trained()), (shared.net(), shared.trained()), "{activation:?} {kappa}");
            assert_eq!(alone.settings(), shared.settings());
        }
    }
    let settings = solved(Learner::L2 { kappa: 0.1 }, Heads::Multi, Activation::Relu, 1, 12);
    let start = Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap();
    // The first task has no penalty: one solution serves all.
    let first = start.learn_next_at(&[0.1, 0.01], &mut |_| true).unwrap();
    assert_eq!(first[0].net(), first[1].net());
    for bad in [vec![0.1, 0.1], vec![0.0], vec![f64::NAN]] {
        let said = start.learn_next_at(&bad, &mut |_| true).err().unwrap().to_string();
        assert!(said.contains("kappas"), "{said}");
    }
    let descent =
        Trainer::new(&tasks, &TrainSettings { solver: Solver::Descent, ..settings }, &crate::Context::default())
            .unwrap();
    assert!(descent.learn_next_at(&[0.1], &mut |_| true).is_err());
}

/// Several starts: the lowest objective is kept, and the range is reported. The readout's own penalty holds its norm.
#[test]
fn readouts_have_starts_and_a_penalty_of_their_own() {
    let tasks = random_tasks(2, 24, 30, 1, 8);
    let base = solved(Learner::L2 { kappa: 0.1 }, Heads::Multi, Activation::Relu, 1, 12);
    let norm = |trainer: &Trainer| to_f64(&trainer.net().readouts()[1]).squared_norm_l2();
    let one = run(&tasks, &base);
    let scales = vec![0.3, 1.0, 30.0];
    let three = run(&tasks, &TrainSettings { readout_scales: scales, ..base.clone() });
    let (a, b) = (one.trained().reports[1].minimum.unwrap(), three.trained().reports[1].minimum.unwrap());
    assert_eq!(b.objective, b.objectives.0);
    assert!(b.objectives.0 <= a.objective && a.objective <= b.objectives.1);
    let held = run(&tasks, &TrainSettings { readout_penalty: 0.1, ..base });
    let minimum = held.trained().reports[1].minimum.unwrap();
    assert!(held.trained().reports[1].converged && minimum.objective > a.objective);
    assert!(norm(&held) < norm(&one), "{} {}", norm(&held), norm(&one));
}

/// The same bits on one, two and four threads, and from a run that was left after each task.
#[test]
fn bits_depend_on_nothing_else() {
    let tasks = random_tasks(2, 120, 100, 2, 10);
    for (depth, heads) in [(1, Heads::Multi), (2, Heads::Single)] {
        let base = solved(Learner::L2 { kappa: 0.1 }, heads, Activation::Relu, depth, 70);
        let settings = TrainSettings { max_steps: 6, ..base };
        for tasks in [tasks.clone(), one_column(&tasks)] {
            let one = on_one_thread(|| run(&tasks, &settings));
            for threads in [2, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let several = pool.install(|| run(&tasks, &settings));
                assert_eq!((one.net(), one.trained()), (several.net(), several.trained()));
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run.safetensors");
            let mut part = Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap();
            while part.done() < part.tasks() {
                part.learn_next(&mut |_| true).unwrap();
                part.save(&path, &tasks).unwrap();
                part = Trainer::resume(&path, &tasks, &settings, &crate::Context::default()).unwrap();
            }
            assert_eq!((one.net(), one.trained()), (part.net(), part.trained()));
        }
    }
}

fn one_column(tasks: &[Task]) -> Vec<Task> {
    let first = |y: &Mat<f64>| Mat::from_fn(y.nrows(), 1, |i, _| y[(i, 0)]);
    tasks.iter().map(|t| Task::new(t.x.clone(), first(&t.y))).collect()
}

/// Ending a run from `progress` leaves the trainer as it was; what descent alone knows is refused.
#[test]
fn runs_can_be_ended_and_settings_refused() {
    let tasks = random_tasks(2, 12, 8, 1, 9);
    let settings = solved(Learner::L2 { kappa: 0.1 }, Heads::Single, Activation::Relu, 1, 16);
    let mut trainer = Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap();
    let error = trainer.learn_next(&mut |at| at.step < 2).unwrap_err();
    assert!(matches!(error, Error::Stopped), "{error}");
    assert_eq!(trainer.done(), 0);
    let ewc = Learner::Ewc {
        kappa: 0.1,
        gamma: 1.0,
        fisher: crate::nets::Fisher::Rms,
        indexing: crate::nets::Indexing::Past,
    };
    for (bad, word) in [
        (TrainSettings { learner: ewc, ..settings.clone() }, "EWC"),
        (TrainSettings { batch: Some(4), ..settings.clone() }, "batch"),
        (TrainSettings { momentum: 0.9, ..settings.clone() }, "momentum"),
        (TrainSettings { eta: Some(0.1), ..settings.clone() }, "eta"),
        (TrainSettings { readout_scales: vec![], ..settings.clone() }, "readout_scales"),
        (TrainSettings { readout_penalty: -1.0, ..settings.clone() }, "readout_penalty"),
        (TrainSettings { solver: Solver::Descent, readout_penalty: 1.0, ..settings.clone() }, "levenberg"),
    ] {
        let said = Trainer::new(&tasks, &bad, &crate::Context::default()).err().expect(word).to_string();
        assert!(said.contains(word), "{said}");
    }
}

/// Two hidden layers with a readout that is held creep along a valley: there steps take in all second derivatives, end at the
/// minimum, and have the same bits on one thread.
#[test]
fn creeping_steps_of_two_layers_end_at_the_minimum() {
    let tasks = random_tasks(2, 80, 30, 1, 4);
    let learner = Learner::L2 { kappa: 0.1 };
    let settings = TrainSettings { readout_penalty: 1e-5, ..solved(learner, Heads::Multi, Activation::Relu, 2, 30) };
    let (trained, alone) = (run(&tasks, &settings), on_one_thread(|| run(&tasks, &settings)));
    let report = &trained.trained().reports[1];
    // With so many steps one of the stages, of which there is one for each rounding, has crept.
    assert!(report.steps > ROUNDINGS.len() * CREEPING, "{report:?}");
    assert!(report.converged && report.minimum.unwrap().gradient <= 1e-6, "{report:?}");
    for (a, b) in trained.net().hidden().iter().zip(alone.net().hidden()) {
        assert!(a == b, "other bits on one thread");
    }
}
