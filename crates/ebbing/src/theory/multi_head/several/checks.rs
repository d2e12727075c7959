//! Heads with several outputs as a whole: sampled posteriors, symmetries, limits.

use super::{Classes, KernelsOfTwo, SeveralOutputs, TwoKernelTasks, TwoTaskOutputs};
use crate::Context;
use crate::kernels::Activation;
use crate::kernels::KernelKind;
use crate::linalg::{Mat, matmul};
use crate::rng::Stream;
use crate::tasks::Task;
use crate::theory::multi_head::{MultiHead, MultiHeadSettings, TwoTasks};
use serde_json::Value;

/// A file of numbers that were computed independently.
fn reference(name: &str) -> Value {
    let path = format!("{}/../../tests/reference/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap()
}

fn matrix(v: &Value) -> Mat<f64> {
    let rows: Vec<Vec<f64>> = serde_json::from_value(v.clone()).unwrap();
    Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

fn task(v: &Value) -> Task {
    Task::new(matrix(&v["x"]), matrix(&v["y"]))
}

fn gauss(stream: &mut Stream, rows: usize, columns: usize) -> Mat<f64> {
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

fn at(lambda: f64, alpha: f64) -> MultiHeadSettings {
    MultiHeadSettings { lambda, alpha: Some(alpha), ..MultiHeadSettings::default() }
}

#[track_caller]
fn within(got: f64, want: f64, bound: f64, what: &str) {
    let error = (got - want).abs();
    assert!(error <= bound, "{what}: {got:.12e} against {want:.12e}, off by {error:.1e} > {bound:.1e}");
}

#[track_caller]
fn close(got: f64, want: f64, tolerance: f64, floor: f64, what: &str) {
    within(got, want, tolerance * want.abs().max(floor), what);
}

/// Two related tasks with one output each.
fn pair(p: usize, dim: usize, seed: u64) -> Vec<Task> {
    related(p, dim, [1, 1], seed)
}

fn task_of(stream: &mut Stream, x: &Mat<f64>, outputs: usize, noise: f64) -> Task {
    let x = Mat::from_fn(x.nrows(), x.ncols(), |i, j| (1.0 - noise) * x[(i, j)] + noise * stream.normal());
    Task::new(
        x.clone(),
        Mat::from_fn(x.nrows(), outputs, |i, a| x[(i, a)] * (1.0 + 0.3 * a as f64) + 0.5 * stream.normal()),
    )
}

/// Two related tasks of p examples.
fn related(p: usize, dim: usize, outputs: [usize; 2], seed: u64) -> Vec<Task> {
    let mut stream = Stream::new(seed, "several outputs", 1);
    let x = gauss(&mut stream, p, dim);
    let mut tasks = vec![task_of(&mut stream, &x, outputs[0], 0.0), task_of(&mut stream, &x, outputs[1], 0.5)];
    for task in &mut tasks {
        let x = gauss(&mut stream, 7, dim);
        let outputs = task.y.ncols();
        let y = Mat::from_fn(7, outputs, |i, a| x[(i, a)]);
        *task = Task::new(task.x.clone(), task.y.clone()).with_test(x, y);
    }
    tasks
}

fn differ(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (a - b).norm_max()
}

fn solved(tasks: &[Task], settings: &MultiHeadSettings) -> SeveralOutputs {
    SeveralOutputs::new(tasks, settings, &Context::default()).unwrap()
}

#[test]
fn sampled_posteriors_of_two_outputs() {
    for name in ["0.5_5_40", "1.5_5_40", "1.5_50_40"] {
        let case = reference(&format!("several_outputs_{name}"));
        let tasks = [task(&case["task1"]), task(&case["task2"])];
        let settings = MultiHeadSettings {
            lambda: number(&case["lambda"]),
            sigma2: number(&case["sigma2"]),
            beta: number(&case["beta"]),
            width: Some(number(&case["width"])),
            ..MultiHeadSettings::default()
        };
        let theory = solved(&tasks, &settings);
        assert!(theory.residuals().iter().all(|r| r.residual < 1e-10), "{:?}", theory.residuals());
        for (matrix, (t, s)) in [("U11", (1, 1)), ("U12", (1, 2)), ("U22", (2, 2))] {
            let found = theory.u1(t, s);
            for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let key = format!("{matrix}_{a}{b}");
                if case["theory"][&key].is_null() {
                    continue;
                }
                let got = found[(a, b)];
                // The reference solves its equations to about 1e-10, which its factors follow to about 1e-8.
                close(got, number(&case["theory"][&key]), 1e-6, 0.1, &format!("{name}: {key}"));
                let sampled: [f64; 2] = serde_json::from_value(case["sampled"][&key].clone()).unwrap();
                // Finite width costs up to 5 % of the larger diagonal entries here, beyond three standard errors.
                let size = (found[(0, 0)].abs()).max(found[(1, 1)].abs());
                let allowed = 0.05 * size + 3.0 * sampled[1];
                assert!((got - sampled[0]).abs() < allowed, "{name}: {key} is {got}, sampled {sampled:?}");
            }
        }
    }
}

/// A rotation of a head's outputs rotates its factors, and changes no other head.
#[test]
fn rotations_of_outputs() {
    let tasks = related(16, 25, [2, 3], 1);
    let turn = {
        let (c, s): (f64, f64) = (0.8, 0.6);
        Mat::from_fn(3, 3, |i, j| [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, -1.0]][i][j])
    };
    let mut turned = tasks.clone();
    turned[1].y = matmul(tasks[1].y.as_ref(), turn.as_ref());
    for (lambda, alpha) in [(3.0, 0.6), (1e3, 2.0), (f64::INFINITY, 0.5), (f64::INFINITY, 1.7)] {
        let (a, b) = (solved(&tasks, &at(lambda, alpha)), solved(&turned, &at(lambda, alpha)));
        let (a, b) = (a.two_tasks().unwrap(), b.two_tasks().unwrap());
        let around = |u: &Mat<f64>| matmul(matmul(turn.transpose(), u.as_ref()).as_ref(), turn.as_ref());
        // Two solutions of one system, each to rounding times the kernels' condition.
        let tolerance = 1e-8 * (1.0 + a.u22.norm_max());
        assert!(differ(&around(&a.u22), &b.u22) < tolerance, "lambda {lambda}");
        assert!(differ(&around(&a.u0), &b.u0) < tolerance, "lambda {lambda}");
        assert!(differ(&matmul(a.u12.as_ref(), turn.as_ref()), &b.u12) < tolerance, "lambda {lambda}");
        assert!(differ(&a.u11, &b.u11) < 1e-12);
    }
}

/// Inputs in orthogonal groups, each with labels of its own: the outputs are as many problems of one output.
#[test]
fn orthogonal_outputs_decouple() {
    let groups = 2;
    let (p, dim) = (8, 10);
    let mut stream = Stream::new(2, "decoupled", 0);
    // A linear network's kernels vanish between the groups.
    let mut block = |g: usize, x: &Mat<f64>| {
        let y: Vec<f64> = (0..p).map(|_| stream.normal()).collect();
        (Mat::from_fn(p, groups * dim, |i, j| if j / dim == g { x[(i, j % dim)] } else { 0.0 }), y)
    };
    let mut draws = Stream::new(3, "decoupled", 0);
    let tasks: Vec<Task> = (0..2)
        .map(|_| {
            let parts: Vec<_> = (0..groups).map(|g| block(g, &gauss(&mut draws, p, dim))).collect();
            Task::new(
                Mat::from_fn(groups * p, groups * dim, |i, j| parts[i / p].0[(i % p, j)]),
                Mat::from_fn(groups * p, groups, |i, a| if i / p == a { parts[a].1[i % p] } else { 0.0 }),
            )
        })
        .collect();
    for (lambda, alpha) in [(2.0, 0.6), (100.0, 1.8), (f64::INFINITY, 1.4)] {
        let settings =
            MultiHeadSettings { lambda, alpha: Some(alpha), activation: Activation::Linear, ..Default::default() };
        let both = solved(&tasks, &settings);
        let both = both.two_tasks().unwrap();
        for g in 0..groups {
            let single: Vec<Task> = tasks
                .iter()
                .map(|t| Task::new(t.x.clone(), Mat::from_fn(t.y.nrows(), 1, |i, _| t.y[(i, g)])))
                .collect();
            let one = TwoTasks::new(&single, &settings, &Context::default()).unwrap().point(alpha).unwrap();
            let what = format!("lambda {lambda}, output {g}");
            // Two roots, each to rounding times the kernels' condition.
            close(both.u11[(g, g)], one.u11, 1e-9, 0.0, &what);
            close(both.u12[(g, g)], one.u12, 1e-7, 1e-2, &what);
            // In the limit directions may have different powers of λ; only the leading one is in u22.
            if both.exponent == one.u22.exponent {
                close(both.u22[(g, g)], one.u22.coefficient, 1e-7, 0.0, &what);
            }
        }
        let off = both.u22[(0, 1)].abs().max(both.u12[(0, 1)].abs()).max(both.u12[(1, 0)].abs());
        within(off, 0.0, 1e-9 * both.u22.norm_max(), &format!("lambda {lambda}: overlaps of orthogonal outputs"));
    }
}

/// λ → ∞ by direction against a large finite λ: factors, regimes and losses.
#[test]
fn the_limit_by_direction_is_that_of_large_lambda() {
    for seed in [4, 5] {
        let tasks = related(20, 30, [3, 3], seed);
        let settings = MultiHeadSettings::default();
        let limit = TwoTaskOutputs::new(&tasks, &settings, &Context::default()).unwrap();
        let loads = limit.critical_loads().unwrap().alpha_c;
        assert!(loads.windows(2).all(|w| w[0] <= w[1]) && loads.len() == 3, "{loads:?}");
        let mut alphas = vec![0.4, 0.8];
        alphas.extend((loads[0] > 1.01).then(|| 1.0 + 0.5 * (loads[0].min(3.0) - 1.0)));
        alphas.extend(loads.windows(2).filter(|w| w[1].is_finite()).map(|w| (w[0] * w[1]).sqrt()));
        alphas.extend(loads.iter().filter(|l| l.is_finite()).max_by(|a, b| a.total_cmp(b)).map(|l| 1.5 * l));
        for alpha in alphas {
            let exact = limit.point(alpha).unwrap();
            let directions = exact.directions.clone().unwrap();
            assert_eq!(
                directions.generalizing(),
                loads.iter().filter(|l| **l < alpha).count(),
                "seed {seed}, {alpha}: {loads:?}"
            );
            let gap = |lambda: f64| {
                let near =
                    TwoTaskOutputs::new(&tasks, &MultiHeadSettings { lambda, ..settings.clone() }, &Context::default())
                        .unwrap();
                let point = near.point(alpha).unwrap();
                let scale = lambda.powf(exact.exponent);
                let mut worst = differ(&point.u12, &exact.u12) / (1.0 + exact.u12.norm_max());
                let u22 = Mat::from_fn(3, 3, |a, b| point.u22[(a, b)] / scale);
                worst = worst.max(differ(&u22, &exact.u22) / exact.u22.norm_max());
                for head in [1, 2] {
                    let test = tasks[head - 1].test.as_ref().unwrap();
                    let (x, y) = if head == 1 { (&tasks[0].x, &tasks[0].y) } else { (&test.x, &test.y) };
                    let loss = |two: &TwoTaskOutputs, point| {
                        let maps = two.maps(head, x.as_ref(), y.as_ref()).unwrap();
                        let loss = two.losses(&maps, std::slice::from_ref(point))[0];
                        let own = two.predict(head, point, x.as_ref()).unwrap().loss(y.as_ref());
                        // A small loss is a difference of terms of order one.
                        close(loss.coefficient, own.coefficient, 1e-8, 1e-3, "two routes to one loss");
                        assert_eq!(loss.exponent, own.exponent);
                        loss
                    };
                    let (a, b) = (loss(&near, &point).at(lambda), loss(&limit, &exact).at(lambda));
                    worst = worst.max((a - b).abs() / (1.0 + b.abs()));
                }
                worst
            };
            let (far, near) = (gap(1e4), gap(1e6));
            // The approach is as λ^(-1/2) at the slowest, and slower only next to a transition.
            assert!(
                near < 5e-2 && near < 0.35 * far + 1e-3,
                "seed {seed}, alpha {alpha}, {:?}: {far} {near}, {loads:?}",
                directions.regimes
            );
        }
    }
}

/// Targets that sum to zero over the outputs are one direction less; below α = 1 that is the limit of little.
#[test]
fn directions_without_labels() {
    let tasks = related(14, 24, [3, 3], 7);
    let centered = |size: f64| -> Vec<Task> {
        tasks
            .iter()
            .map(|task| {
                let mean = |i: usize| (0..3).map(|a| task.y[(i, a)]).sum::<f64>() / 3.0;
                Task::new(task.x.clone(), Mat::from_fn(14, 3, |i, a| task.y[(i, a)] + (size - 1.0) * mean(i)))
            })
            .collect()
    };
    for (lambda, alpha) in [(4.0, 0.6), (100.0, 0.8)] {
        let none = solved(&centered(0.0), &at(lambda, alpha));
        let little = solved(&centered(1e-4), &at(lambda, alpha));
        for (t, s) in [(1, 1), (1, 2), (2, 2)] {
            // Labels of 1e-4 enter U by their square, or by their size where it overlaps with others.
            within(
                differ(&none.u1(t, s), &little.u1(t, s)),
                0.0,
                2e-3,
                &format!("lambda {lambda}, alpha {alpha}: U1({t},{s})"),
            );
        }
        let x = tasks[0].test.as_ref().unwrap().x.as_ref();
        for head in [1, 2] {
            let (a, b) = (none.predict(head, 2, x).unwrap(), little.predict(head, 2, x).unwrap());
            within(differ(&a.mean, &b.mean), 0.0, 5e-3, "means");
            for i in 0..7 {
                within(differ(&a.covariance[i], &b.covariance[i]), 0.0, 5e-3, "covariances");
            }
        }
    }
    // Above α = 1 such readouts vanish, and so does the sum over the outputs.
    let none = solved(&centered(0.0), &at(4.0, 1.7));
    let x = tasks[0].test.as_ref().unwrap().x.as_ref();
    for head in [1, 2] {
        let (u, found) = (none.u1(head, head), none.predict(head, 2, x).unwrap());
        let total = |m: &Mat<f64>| (0..3).map(|a| (0..3).map(|b| m[(a, b)]).sum::<f64>()).sum::<f64>();
        within(total(&u), 0.0, 1e-12 * u.norm_max(), "readouts along the sum");
        for i in 0..7 {
            within((0..3).map(|a| found.mean[(i, a)]).sum(), 0.0, 1e-12, "the mean of the sum");
            within(total(&found.covariance[i]), 0.0, 1e-12 * (1.0 + u.norm_max()), "the variance of the sum");
        }
    }
}

#[test]
fn weak_loads_and_the_newest_task() {
    let tasks = related(12, 20, [2, 3], 8);
    // α → 0: U11 → σ², and U12, U0 vanish.
    let light = solved(&tasks, &at(3.0, 1e-6));
    within(differ(&light.u1(1, 1), &Mat::identity(2, 2)), 0.0, 1e-4, "U11 without load");
    within(light.u1(1, 2).norm_max().max(light.u0(2, 2).norm_max()), 0.0, 1e-4, "overlaps without load");
    // The newest task is interpolated, with three tasks and different numbers of outputs.
    let mut stream = Stream::new(9, "third", 0);
    let three = [tasks[0].clone(), tasks[1].clone(), task_of(&mut stream, &tasks[0].x, 1, 0.3)];
    let theory = solved(&three, &at(5.0, 0.8));
    assert!(theory.residuals().iter().all(|r| r.residual < 1e-10));
    within(theory.forgetting(3, 3).unwrap(), 0.0, 1e-9, "the newest task");
    assert!(theory.forgetting(3, 1).unwrap() > 1e-3 && theory.forgetting(3, 2).unwrap() > 1e-3);
    // Flipping an output's sign flips its overlaps.
    let mut flipped = three.to_vec();
    flipped[1].y = Mat::from_fn(12, 3, |i, a| if a == 1 { -three[1].y[(i, a)] } else { three[1].y[(i, a)] });
    let other = solved(&flipped, &at(5.0, 0.8));
    let sign = |a: usize| if a == 1 { -1.0 } else { 1.0 };
    let turned = Mat::from_fn(3, 1, |a, b| sign(a) * theory.u1(2, 3)[(a, b)]);
    within(differ(&turned, &other.u1(2, 3)), 0.0, 1e-8, "a flipped output");
    close(other.forgetting(3, 2).unwrap(), theory.forgetting(3, 2).unwrap(), 1e-8, 0.0, "forgetting");
}

#[test]
fn one_output_each_is_the_theory_of_one_output() {
    let tasks = pair(20, 25, 1);
    for settings in [at(5.0, 0.7), at(f64::INFINITY, 1.5), MultiHeadSettings { beta: 50.0, ..at(5.0, 0.7) }] {
        let (a, b) = (solved(&tasks, &settings), MultiHead::new(&tasks, &settings, &Context::default()).unwrap());
        assert_eq!(a.u1(2, 1)[(0, 0)], b.u1(2, 1));
        assert_eq!(a.forgetting(2, 1).unwrap(), b.forgetting(2, 1).unwrap());
        // And the machinery of several outputs, where it is asked for.
        if settings.beta.is_infinite() {
            let alpha = settings.alpha.unwrap();
            let (several, one) = (
                TwoTaskOutputs::new(&tasks, &settings, &Context::default()).unwrap(),
                TwoTasks::new(&tasks, &settings, &Context::default()).unwrap(),
            );
            let (p, q) = (several.point(alpha).unwrap(), one.point(alpha).unwrap());
            // Two routes to the same roots.
            close(p.u12[(0, 0)], q.u12, 1e-10, 0.1, "u12");
            close(p.u22[(0, 0)], q.u22.coefficient, 1e-10, 0.0, "u22");
            if let Ok(critical) = one.critical_load() {
                close(several.critical_loads().unwrap().alpha_c[0], critical.alpha_c, 1e-9, 0.0, "alpha_c");
            }
            for head in [1, 2] {
                let test = tasks[head - 1].test.as_ref().unwrap();
                let (a, b) = (
                    several.predict(head, &p, test.x.as_ref()).unwrap().loss(test.y.as_ref()),
                    one.predict(head, &q, test.x.as_ref()).unwrap().loss(test.y.as_ref()),
                );
                close(a.coefficient, b.coefficient, 1e-9, 0.0, "loss");
                assert_eq!(a.exponent, b.exponent);
            }
        }
    }
}

/// Cyclic classes: inputs and labels that a permutation of the classes maps to themselves.
fn alike(m: usize, groups: usize, seed: u64) -> Vec<Task> {
    let mut stream = Stream::new(seed, "alike", 0);
    let block = 6;
    let shared = gauss(&mut stream, groups, block);
    (0..2)
        .map(|t| {
            let (own, base) = (gauss(&mut stream, groups, block), gauss(&mut stream, groups, 4));
            // Example (c, g): features of class c in block c, the same for every class, and some that all classes share.
            let x = Mat::from_fn(m * groups, m * block + 4, |i, j| {
                let (c, g) = (i / groups, i % groups);
                match j {
                    j if j >= m * block => base[(g, j - m * block)],
                    j if j / block == c => {
                        shared[(g, j % block)] + if t == 1 { 0.7 * own[(g, j % block)] } else { 0.0 }
                    }
                    _ => 0.0,
                }
            });
            Task::new(x, Mat::from_fn(m * groups, m, |i, a| f64::from(u8::from(i / groups == a))))
        })
        .collect()
}

#[test]
fn alike_classes_have_two_numbers() {
    let tasks = alike(4, 3, 3);
    let linear = |lambda| MultiHeadSettings { lambda, activation: Activation::Relu, ..MultiHeadSettings::default() };
    for (lambda, alpha) in [(3.0, 0.5), (200.0, 1.6)] {
        let two = TwoTaskOutputs::new(&tasks, &linear(lambda), &Context::default()).unwrap();
        let classes = two.alike(Classes::Shared).unwrap();
        // Rounding of products of a few dozen numbers, times the kernels' condition.
        assert!(classes.asymmetry() < 1e-10, "{}", classes.asymmetry());
        let (a, b) = (classes.point(alpha).unwrap(), two.point(alpha).unwrap());
        let size = 1.0 + b.u22.norm_max();
        for (x, y) in [(&a.u11, &b.u11), (&a.u12, &b.u12), (&a.u22, &b.u22), (&a.u0, &b.u0)] {
            within(differ(x, y), 0.0, 1e-8 * size, &format!("lambda {lambda}"));
        }
        assert!(classes.departure(&a).unwrap() < 1e-8);
        let maps = two.maps(1, tasks[0].x.as_ref(), tasks[0].y.as_ref()).unwrap();
        let losses = two.losses(&maps, &[a, b]);
        close(losses[0].coefficient, losses[1].coefficient, 1e-7, 1e-3, "forgetting");
    }
    // Random labels are not alike, which the numbers say.
    let random = related(12, 20, [3, 3], 11);
    let two = TwoTaskOutputs::new(&random, &at(3.0, 0.5), &Context::default()).unwrap();
    let classes = two.alike(Classes::Own).unwrap();
    let point = classes.point(0.5).unwrap();
    assert!(classes.asymmetry() > 0.05 && classes.departure(&point).unwrap() > 1e-3);
    assert!(
        TwoTaskOutputs::new(&random, &at(f64::INFINITY, 0.5), &Context::default())
            .unwrap()
            .alike(Classes::Own)
            .is_err()
    );
}

/// 𝓛 ū = Y, K̃ maps as printed, and the free energy is stationary at the point.
#[test]
fn quantities_of_the_theory() {
    let tasks = related(10, 18, [2, 3], 12);
    let two = TwoTaskOutputs::new(&tasks, &at(4.0, 0.7), &Context::default()).unwrap();
    let point = two.point(0.7).unwrap();
    let (lower, [first, second]) = (two.lower(&point).unwrap(), two.means(&point).unwrap());
    let flat = |a: &Mat<f64>, b: &Mat<f64>| {
        let all: Vec<f64> =
            [a, b].iter().flat_map(|m| (0..m.ncols()).flat_map(|j| m.col_as_slice(j).to_vec())).collect();
        Mat::from_fn(all.len(), 1, |i, _| all[i])
    };
    let back = matmul(lower.as_ref(), flat(&first, &second).as_ref());
    // Solves with kernels of condition numbers below 1e3.
    within(differ(&back, &flat(&tasks[0].y, &tasks[1].y)), 0.0, 1e-9, "the triangular system");
    let at = |which: usize, a: usize, c: usize, h: f64| {
        let mut parts = [point.d.clone(), point.u0.clone(), point.u12.clone()];
        parts[which][(a, c)] += h;
        if which < 2 && a != c {
            parts[which][(c, a)] += h;
        }
        two.free_energy(0.7, parts[0].as_ref(), parts[1].as_ref(), parts[2].as_ref()).unwrap()
    };
    for which in 0..3 {
        for a in 0..if which == 2 { 2 } else { 3 } {
            for c in 0..3 {
                let slope = (at(which, a, c, 1e-5) - at(which, a, c, -1e-5)) / 2e-5;
                // Truncation h², rounding 1e-14/h.
                within(slope, 0.0, 1e-7, &format!("slope {which} ({a}, {c})"));
            }
        }
    }
}

/// A bound on readouts is kept, and one that is not reached changes nothing.
#[test]
fn bounded_and_own_priors() {
    let tasks = related(10, 18, [2, 2], 13);
    let settings = |bound| MultiHeadSettings { readout_norm: bound, lambda: 30.0, ..MultiHeadSettings::default() };
    let two = |bound| TwoTaskOutputs::new(&tasks, &settings(bound), &Context::default()).unwrap();
    let free = two(None).point(1.5).unwrap();
    let norm = free.norm().coefficient;
    let loose = two(Some(10.0 * norm)).point(1.5).unwrap();
    assert_eq!(free.u22, loose.u22);
    let tight = two(Some(0.6 * norm)).point(1.5).unwrap();
    // Bisection ends at rounding of ln σ_a², in which the norm's slope is at most 1.
    close(tight.norm().coefficient, 0.6 * norm, 1e-8, 0.0, "the norm");
    // Labels and readouts of twice the size are the same problem.
    let double: Vec<Task> =
        tasks.iter().map(|t| Task::new(t.x.clone(), Mat::from_fn(10, 2, |i, a| 2.0 * t.y[(i, a)]))).collect();
    let own = |tasks: &[Task], sigma2: f64| {
        let settings = MultiHeadSettings { readout_sigma2: Some(sigma2), lambda: 30.0, ..MultiHeadSettings::default() };
        TwoTaskOutputs::new(tasks, &settings, &Context::default()).unwrap().point(1.5).unwrap().u22
    };
    let scaled = Mat::from_fn(2, 2, |a, b| 4.0 * own(&tasks, 0.3)[(a, b)]);
    within(differ(&scaled, &own(&double, 1.2)), 0.0, 1e-8 * (1.0 + scaled.norm_max()), "scaled labels");
}

/// Kernels of one's own give what the tasks that they belong to give.
#[test]
fn kernels_of_ones_own() {
    let tasks = related(10, 18, [2, 2], 14);
    for (lambda, alpha) in [(6.0, 0.8), (f64::INFINITY, 1.4)] {
        let two = TwoTaskOutputs::new(&tasks, &at(lambda, alpha), &Context::default()).unwrap();
        let gram = |kind, t, s| two.kernel(kind, t, s).unwrap();
        let all = [
            gram(KernelKind::K1, 1, 1),
            gram(KernelKind::K1, 2, 1),
            gram(KernelKind::K1, 2, 2),
            gram(KernelKind::DeltaK, 2, 2),
        ];
        let kernels = KernelsOfTwo {
            first: all[0].as_ref(),
            cross: all[1].as_ref(),
            second: all[2].as_ref(),
            change: all[3].as_ref(),
            first_targets: tasks[0].y.as_ref(),
            second_targets: tasks[1].y.as_ref(),
        };
        let own = TwoKernelTasks::new(kernels, &at(lambda, alpha), &Context::default()).unwrap();
        let (a, b) = (own.point(alpha).unwrap(), two.point(alpha).unwrap());
        // The same matrices up to how they are formed.
        within(differ(&a.u22, &b.u22), 0.0, 1e-8 * (1.0 + b.u22.norm_max()), "U22");
        within(differ(&a.u12, &b.u12), 0.0, 1e-8 * (1.0 + b.u12.norm_max()), "U12");
        let bad = KernelsOfTwo { cross: all[1].as_ref().subcols(0, 9), ..kernels };
        let error = TwoKernelTasks::new(bad, &at(lambda, alpha), &Context::default()).unwrap_err().to_string();
        assert!(error.contains("K21: is 10 × 9"), "{error}");
    }
}
