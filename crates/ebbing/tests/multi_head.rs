//! The multi-head theory against reference numbers computed independently, and against itself in limits.

use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Cholesky, Mat};
use ebbing::rng::Stream;
use ebbing::tasks::TestSet;
use ebbing::theory::alpha_c::{CurveFeature, alpha_c_from_curve, sequence_curve};
use ebbing::theory::best_lambda::best_lambda;
use ebbing::theory::multi_head::{LargeLambda, MultiHeadSettings, Regime, TwoTasks, centred_alignment};
use ebbing::theory::order_parameters::OrderParameterSettings;
use ebbing::theory::phase::{normalised_labels, phase_curves};
use ebbing::{Error, Kernel, MultiHead, Task};
use serde_json::Value;

fn reference(name: &str) -> Value {
    let path = format!("{}/../../tests/reference/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("not a number: {v}"))
}

fn vector(v: &Value) -> Vec<f64> {
    v.as_array().expect("an array").iter().map(number).collect()
}

fn matrix(v: &Value) -> Mat<f64> {
    let rows: Vec<Vec<f64>> = v.as_array().expect("an array").iter().map(vector).collect();
    Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

fn column_matrix(y: &[f64]) -> Mat<f64> {
    Mat::from_fn(y.len(), 1, |i, _| y[i])
}

fn task(v: &Value) -> Task {
    Task { name: String::new(), x: matrix(&v["x"]), y: column_matrix(&vector(&v["y"])), rows: None, test: None }
}

fn tasks(v: &Value) -> Vec<Task> {
    v.as_array().expect("tasks").iter().map(task).collect()
}

/// Relative to the larger of the reference and `floor`.
fn close(got: f64, want: f64, tolerance: f64, floor: f64, what: &str) {
    let error = (got - want).abs() / want.abs().max(floor);
    assert!(error <= tolerance, "{what}: {got:.12e}, reference {want:.12e}, relative error {error:.1e}");
}

/// Inputs with unit-variance entries and ±1 labels, sharing a fraction of the inputs' direction with `like`.
fn random_task(size: usize, inputs: usize, stream: &mut Stream) -> Task {
    let x = Mat::from_fn(size, inputs, |_, _| stream.normal());
    let y = Mat::from_fn(size, 1, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 });
    Task { name: String::new(), x, y, rows: None, test: None }
}

/// A task whose inputs and labels are those of `task` with noise of the given strength and flipped labels.
fn variant(task: &Task, noise: f64, flips: f64, stream: &mut Stream) -> Task {
    let (rest, x) = ((1.0 - noise * noise).sqrt(), &task.x);
    let x = Mat::from_fn(x.nrows(), x.ncols(), |i, j| rest * x[(i, j)] + noise * stream.normal());
    let y = Mat::from_fn(task.y.nrows(), 1, |i, _| if stream.chance(flips) { -task.y[(i, 0)] } else { task.y[(i, 0)] });
    Task { name: String::new(), x, y, rows: None, test: None }
}

/// Noisy copies of the training inputs with their labels as held-out data.
fn with_test(mut task: Task, size: usize, stream: &mut Stream) -> Task {
    let (x, y) = (&task.x, &task.y);
    let rows: Vec<usize> = (0..size).map(|_| stream.below(x.nrows())).collect();
    task.test = Some(TestSet {
        x: Mat::from_fn(size, x.ncols(), |i, j| x[(rows[i], j)] + 0.3 * stream.normal()),
        y: Mat::from_fn(size, 1, |i, _| y[(rows[i], 0)]),
    });
    task
}

/// Two related tasks with held-out data.
fn pair(size: usize, inputs: usize, seed: u64) -> Vec<Task> {
    let mut stream = Stream::new(seed, "multi-head test", 0);
    let first = random_task(size, inputs, &mut stream);
    let second = variant(&first, 0.5, 0.1, &mut stream);
    vec![with_test(first, 15, &mut stream), with_test(second, 12, &mut stream)]
}

fn at(lambda: f64, alpha: f64) -> MultiHeadSettings {
    MultiHeadSettings { lambda, alpha: Some(alpha), ..MultiHeadSettings::default() }
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

#[test]
fn factors_maps_and_hidden_kernels_of_the_reference() {
    for (i, case) in reference("multi_head").as_array().unwrap().iter().enumerate() {
        let tasks = tasks(&case["tasks"]);
        let settings = MultiHeadSettings {
            lambda: number(&case["lambda"]),
            sigma2: number(&case["sigma2"]),
            beta: case["beta"].as_f64().unwrap_or(f64::INFINITY),
            width: Some(number(&case["width"])),
            ..MultiHeadSettings::default()
        };
        let theory = MultiHead::solve(&tasks, &settings).unwrap();
        assert_eq!(theory.residuals().len(), tasks.len() * tasks.len());
        assert!(theory.residuals().iter().all(|r| r.residual < 1e-10));
        let (u1, u0) = (matrix(&case["u1"]), matrix(&case["u0"]));
        // The reference solves its equations to about 1e-10, which its factors follow to about 1e-8.
        for t in 1..=tasks.len() {
            for s in 1..=tasks.len() {
                close(theory.u1(t, s), u1[(t - 1, s - 1)], 1e-6, 1e-3, &format!("case {i}: u1({t},{s})"));
                close(theory.u0(t, s), u0[(t - 1, s - 1)], 1e-6, 1e-3, &format!("case {i}: u0({t},{s})"));
            }
        }
        let query = matrix(&case["query"]);
        for head in case["heads"].as_array().unwrap() {
            let h = head["head"].as_u64().unwrap() as usize;
            let what = format!("case {i}, head {h}");
            let got = theory.predict(h, tasks.len(), query.as_ref()).unwrap();
            for (got, want) in got.mean.iter().zip(vector(&head["mean"])) {
                close(*got, want, 1e-6, 1.0, &what);
            }
            for (got, want) in got.variance.iter().zip(vector(&head["variance"])) {
                close(*got, want, 1e-6, 1.0, &what);
            }
            // Forgetting of the newest task at β = ∞ is zero up to rounding.
            close(theory.forgetting(tasks.len(), h).unwrap(), number(&head["forgetting"]), 1e-6, 1e-6, &what);
        }
        if let Some(kernels) = case["hidden_kernel_learned"].as_array() {
            for (task, want) in tasks.iter().zip(kernels) {
                let (got, want) = (theory.learned_kernel(task.x.as_ref()).unwrap(), matrix(want));
                for r in 0..want.nrows() {
                    for c in 0..want.ncols() {
                        close(got[(r, c)], want[(r, c)], 1e-6, 0.1, &format!("case {i}: learned kernel ({r}, {c})"));
                    }
                }
            }
        }
    }
}

#[test]
fn limit_of_the_reference() {
    for (i, case) in reference("two_task_limit").as_array().unwrap().iter().enumerate() {
        let two = TwoTasks::new(&tasks(&case["tasks"]), &MultiHeadSettings::default()).unwrap();
        let critical = two.critical_load().unwrap();
        let (exact, gamma) = (number(&case["alpha_c_exact"]), number(&case["gamma_sim"]));
        // Root finding to rounding on both sides: condition numbers of these kernels cost a few digits.
        close(critical.exact, exact, 1e-9, 1.0, &format!("case {i}: alpha_c"));
        close(critical.gamma_sim, gamma, 1e-9, 1.0, &format!("case {i}: gamma_sim"));
        close(critical.from_gamma_sim, number(&case["alpha_c_gamma_sim"]), 1e-9, 1.0, &format!("case {i}: estimate"));
        for point in case["points"].as_array().unwrap() {
            let alpha = number(&point["alpha"]);
            let got = two.point(alpha).unwrap();
            let limit = got.limit.clone().unwrap();
            let what = |name: &str| format!("case {i}, alpha {alpha}: {name}");
            if (alpha / exact - 1.0).abs() > 1e-6 {
                let regime = match point["regime"].as_str().unwrap() {
                    "FR" => Regime::FixedRepresentations,
                    "OF" => Regime::Overfitting,
                    _ => Regime::Generalisation,
                };
                assert_eq!(limit.regime, regime, "{}", what("regime"));
                assert_eq!(critical.regime(alpha), (regime, false), "{}", what("regime from alpha_c"));
            }
            for (name, got) in [
                ("rho", got.rho),
                ("u11", got.u11),
                ("u12", got.u12),
                ("q", limit.q),
                ("t", limit.t),
                ("den", limit.den),
                ("E", limit.e),
                ("F", limit.r),
                ("SK", limit.s),
            ] {
                // ρ of the overfitting regime near α = 1 is a root with slope 1/ρ; E vanishes in the generalisation regime.
                close(got, number(&point[name]), 1e-9, 1e-3, &what(name));
            }
            let powers: &[(&str, f64, f64)] = match limit.regime {
                Regime::FixedRepresentations => &[("d", got.d.at(1.0), 0.0), ("u220", got.u0.at(1.0), 0.0)],
                Regime::Overfitting => &[
                    ("d_sqrtlam", got.d.coefficient, 0.5 + got.d.exponent),
                    ("u220_over_sqrtlam", got.u0.coefficient, got.u0.exponent - 0.5),
                ],
                Regime::Generalisation => {
                    &[("d_lam", got.d.coefficient, 1.0 + got.d.exponent), ("u220", got.u0.coefficient, got.u0.exponent)]
                }
            };
            for (name, coefficient, power) in powers {
                assert_eq!(*power, 0.0, "{}", what(name));
                close(*coefficient, number(&point[*name]), 1e-9, 1e-3, &what(name));
            }
        }
    }
}

#[test]
fn sampled_posteriors() {
    for name in ["0.5_5_40", "1.5_5_40", "1.5_50_40", "1.5_5_80", "1.5_50_80"] {
        let case = reference(&format!("posterior_{name}"));
        let mut tasks = vec![task(&case["task1"]), task(&case["task2"])];
        let query = task(&case["query"]);
        tasks[1].test = Some(TestSet { x: query.x.clone(), y: query.y.clone() });
        let settings = MultiHeadSettings {
            lambda: number(&case["lambda"]),
            sigma2: number(&case["sigma2"]),
            beta: number(&case["beta"]),
            width: Some(number(&case["width"])),
            ..MultiHeadSettings::default()
        };
        let theory = MultiHead::solve(&tasks, &settings).unwrap();
        let loss2 = theory.predict(2, 2, query.x.as_ref()).unwrap().loss(query.y.as_ref()).coefficient;
        let along = |k: usize| {
            let (x, y, p) = (tasks[k].x.as_ref(), &tasks[k].y, tasks[k].x.nrows());
            let learned = theory.learned_kernel(x).unwrap();
            let mut sum = 0.0;
            for i in 0..p {
                for j in 0..p {
                    sum += y[(i, 0)] * learned[(i, j)] * y[(j, 0)];
                }
            }
            sum / (p * p) as f64
        };
        let got = [
            ("u11", theory.u1(1, 1), 0.12),
            ("u12", theory.u1(1, 2), 0.12),
            ("u22", theory.u1(2, 2), 0.12),
            ("F21", theory.forgetting(2, 1).unwrap(), 0.25),
            ("loss2_query", loss2, 0.25),
        ];
        for (key, got, tolerance) in got {
            // The reference's own solution of the same equations.
            close(got, number(&case["theory"][key]), 1e-6, 0.1, &format!("{name}: {key}"));
            // Finite width costs up to 12 % in factors and 25 % in losses, beyond two standard errors of the sampler.
            let sampled = vector(&case["sampled"][key]);
            let allowed = tolerance * sampled[0].abs() + 2.0 * sampled[1];
            assert!((got - sampled[0]).abs() < allowed, "{name}: {key} is {got}, sampled {sampled:?}");
        }
        for (k, key, prior) in [(0, "y1_Ksim_y1", "prior_y1_K_y1"), (1, "y2_Ksim_y2", "prior_y2_K_y2")] {
            let got = along(k) + number(&case[prior]);
            let sampled = vector(&case["sampled"][key]);
            // The Gaussian treatment of activations gives the learned part along the labels to about 25 %.
            let allowed = 0.25 * (sampled[0] - number(&case[prior])) + 2.0 * sampled[1];
            assert!((got - sampled[0]).abs() < allowed, "{name}: {key} is {got}, sampled {sampled:?}");
        }
    }
}

#[test]
fn two_tasks_agree_with_the_general_chain() {
    let tasks = pair(24, 30, 1);
    for (lambda, alpha) in [(0.0, 0.7), (0.5, 2.0), (20.0, 0.4), (20.0, 1.7), (1e4, 3.0), (1e6, 6.0)] {
        let chain = MultiHead::solve(&tasks, &at(lambda, alpha)).unwrap();
        let two = TwoTasks::new(&tasks, &at(lambda, alpha)).unwrap();
        let point = two.point(alpha).unwrap();
        let what = format!("lambda {lambda}, alpha {alpha}");
        // Two routes to the same equations, each to rounding times the kernels' condition (below 1e4).
        let tolerance = 1e-9;
        close(point.u11, chain.u1(1, 1), tolerance, 0.0, &what);
        close(point.u12, chain.u1(1, 2), tolerance, 1e-3, &what);
        close(point.u22.coefficient, chain.u1(2, 2), tolerance, 0.0, &what);
        close(point.d.coefficient, chain.d(2, 2), tolerance, 0.0, &what);
        for head in [1, 2] {
            let test = tasks[head - 1].test.as_ref().unwrap();
            let a = chain.predict(head, 2, test.x.as_ref()).unwrap();
            let b = two.predict(head, &point, test.x.as_ref()).unwrap();
            assert!(largest_difference(&a.mean, &b.mean) < 1e-9, "{what}");
            assert!(largest_difference(&a.variance, &b.variance) < 1e-9 * point.u22.coefficient, "{what}");
            let y: Vec<f64> = (0..test.y.nrows()).map(|i| test.y[(i, 0)]).collect();
            let maps = two.maps(head, test.x.as_ref(), &y).unwrap();
            let loss = two.losses(&maps, &[point.clone(), two.point(alpha * 1.1).unwrap()])[0];
            close(loss.coefficient, a.loss(test.y.as_ref()).coefficient, 1e-9, 0.0, &what);
            let alone = two.alone(head, std::slice::from_ref(&point)).unwrap()[0];
            close(loss.coefficient / alone, chain.generalisation(2, head).unwrap(), 1e-9, 0.0, &what);
            let (a, b) =
                (chain.learned_kernel(test.x.as_ref()).unwrap(), two.learned_kernel(&point, test.x.as_ref()).unwrap());
            let size = (0..a.nrows()).fold(0.0, |m: f64, i| m.max(a[(i, i)].abs()));
            for i in 0..a.nrows() {
                for j in 0..a.nrows() {
                    close(b[(i, j)], a[(i, j)], 1e-8, size, &what);
                }
            }
        }
    }
}

/// Loads below and above 1 with room around α_c.
fn limit(tasks: &[Task]) -> TwoTasks {
    TwoTasks::new(tasks, &MultiHeadSettings::default()).unwrap()
}

fn labels(task: &Task) -> Vec<f64> {
    (0..task.y.nrows()).map(|i| task.y[(i, 0)]).collect()
}

#[test]
fn identical_tasks() {
    let mut tasks = pair(20, 30, 2);
    tasks[1] = tasks[0].clone();
    let two = limit(&tasks);
    let critical = two.critical_load().unwrap();
    assert_eq!(critical.exact, 1.0);
    assert!(critical.notes.iter().any(|n| n.contains("no overfitting regime")), "{:?}", critical.notes);
    // A cosine of 1 up to rounding times the kernel's condition (about 1e2).
    close(critical.gamma_sim, 1.0, 1e-11, 0.0, "gamma_sim");
    for alpha in [0.3, 0.9, 1.2, 3.0] {
        let point = two.point(alpha).unwrap();
        let want = if alpha < 1.0 { point.u11 - (1.0 - alpha) } else { point.u11 };
        close(point.u12, want, 1e-10, 0.0, "u12");
        close(point.u0.at(1.0), want, 1e-10, 0.0, "u0");
        close(point.u22.at(1.0), point.u11, 1e-10, 0.0, "u22");
        let f21 = two.losses(&two.maps(1, tasks[0].x.as_ref(), &labels(&tasks[0])).unwrap(), &[point])[0];
        assert_eq!(f21.exponent, 0.0);
        // Rounding of an exact zero: squares of 1e-10 and variances of 1e-12.
        assert!(f21.coefficient.abs() < 1e-11, "alpha {alpha}: {f21:?}");
    }
}

#[test]
fn flipping_the_second_labels_flips_only_the_overlap() {
    let tasks = pair(18, 25, 3);
    let mut flipped = tasks.clone();
    flipped[1].y = Mat::from_fn(18, 1, |i, _| -tasks[1].y[(i, 0)]);
    for lambda in [0.0, 7.0, f64::INFINITY] {
        let settings = at(lambda, 1.0);
        let (a, b) = (TwoTasks::new(&tasks, &settings).unwrap(), TwoTasks::new(&flipped, &settings).unwrap());
        for alpha in [0.5, 1.6, 30.0] {
            let (p, q) = (a.point(alpha).unwrap(), b.point(alpha).unwrap());
            // The same arithmetic with other signs.
            for (x, y) in [(p.u12, -q.u12), (p.d.coefficient, q.d.coefficient), (p.u0.coefficient, q.u0.coefficient)] {
                close(x, y, 1e-12, 1e-12, &format!("lambda {lambda}, alpha {alpha}"));
            }
            assert_eq!(p.regime(), q.regime());
        }
        if lambda.is_infinite() {
            let (p, q) = (a.critical_load().unwrap(), b.critical_load().unwrap());
            close(p.exact, q.exact, 1e-12, 0.0, "alpha_c");
            close(p.gamma_sim, q.gamma_sim, 1e-12, 0.0, "gamma_sim");
        }
    }
}

#[test]
fn wide_networks_learn_every_task_alone() {
    let mut stream = Stream::new(4, "multi-head test", 0);
    let tasks: Vec<Task> = (0..3).map(|_| random_task(12, 20, &mut stream)).collect();
    let query = random_task(9, 20, &mut stream).x;
    let settings = MultiHeadSettings { sigma2: 0.7, ..at(3.0, 1e-9) };
    let theory = MultiHead::solve(&tasks, &settings).unwrap();
    let prior = WeightPrior::new(3.0, 0.7).unwrap();
    let architecture = Architecture { activation: Activation::Relu, depth: 1 };
    for head in 1..=3 {
        let kernel = |t, s| Kernel::new(KernelKind::K1, architecture, prior, t, s).unwrap();
        let x = tasks[head - 1].x.as_ref();
        let gram = Cholesky::factor(kernel(head, head).gram_symmetric(x).unwrap().as_ref(), "kernel").unwrap();
        let k = kernel(3, head).gram(query.as_ref(), x).unwrap();
        let own = kernel(3, 3).diagonal(query.as_ref()).unwrap();
        let got = theory.predict(head, 3, query.as_ref()).unwrap();
        for i in 0..9 {
            let row: Vec<f64> = (0..12).map(|j| k[(i, j)]).collect();
            let mean: f64 = gram.solve_vec(&labels(&tasks[head - 1])).iter().zip(&row).map(|(a, b)| a * b).sum();
            let explained: f64 = gram.solve_vec(&row).iter().zip(&row).map(|(a, b)| a * b).sum();
            // Corrections are of order α times norms of a few hundred.
            close(got.mean[i], mean, 1e-6, 1.0, "mean");
            close(got.variance[i], 0.7 * (own[i] - explained), 1e-6, 1.0, "variance");
        }
        close(theory.readout_norm(head), 0.7, 1e-6, 0.0, "readout norm");
    }
}

#[test]
fn critical_load_of_linear_networks_is_the_closed_form() {
    for seed in [5, 6, 7] {
        // As many inputs as twice the examples: a linear kernel of 15 examples has full rank.
        let tasks = pair(15, 30, seed);
        let settings =
            MultiHeadSettings { activation: Activation::Linear, sigma2: 0.8, ..MultiHeadSettings::default() };
        let critical = TwoTasks::new(&tasks, &settings).unwrap().critical_load().unwrap();
        // Both are roots to rounding.
        close(critical.from_u11, critical.exact, 1e-9, 0.0, "with the general closed form");
        let settings = MultiHeadSettings { sigma2: 1.0, ..settings };
        let scaled = normalised_labels(&tasks, &settings).unwrap();
        let critical = TwoTasks::new(&scaled, &settings).unwrap().critical_load().unwrap();
        assert!(critical.label_scale.iter().all(|s| (s - 1.0).abs() < 1e-12), "{:?}", critical.label_scale);
        close(critical.from_gamma_sim, critical.exact, 1e-9, 0.0, "with gamma_sim");
    }
}

#[test]
fn labels_scaled_after_the_decomposition_are_scaled_labels() {
    let tasks: Vec<Task> = pair(20, 30, 8)
        .into_iter()
        .map(|t| Task { test: Some(TestSet { x: t.x.subrows(0, 5).to_owned(), y: t.y.subrows(0, 5).to_owned() }), ..t })
        .collect();
    let settings = MultiHeadSettings { sigma2: 0.8, ..MultiHeadSettings::default() };
    let before = TwoTasks::new(&normalised_labels(&tasks, &settings).unwrap(), &settings).unwrap();
    let after = TwoTasks::new(&tasks, &settings).unwrap().with_normalised_labels().unwrap();
    // Rounding, through kernels of condition numbers below 1e4.
    close(after.critical_load().unwrap().exact, before.critical_load().unwrap().exact, 1e-10, 0.0, "alpha_c");
    let (a, b) = (after.curve(&[0.4, 1.3, 9.0]).unwrap(), before.curve(&[0.4, 1.3, 9.0]).unwrap());
    for (a, b) in a.points.iter().zip(&b.points) {
        close(a.factors.u11, b.factors.u11, 1e-10, 0.0, "u11");
        close(a.factors.u22.coefficient, b.factors.u22.coefficient, 1e-10, 0.0, "u22");
        close(a.f21.coefficient, b.f21.coefficient, 1e-10, 1.0, "F_21");
        close(a.g22.unwrap().coefficient, b.g22.unwrap().coefficient, 1e-10, 1.0, "G_22");
    }
    let finite = TwoTasks::new(&tasks, &MultiHeadSettings { lambda: 3.0, ..settings }).unwrap();
    assert!(finite.with_normalised_labels().unwrap_err().to_string().contains("lambda is 3"));
}

#[test]
fn gamma_sim_of_the_reference() {
    for (i, case) in reference("order_parameters").as_array().unwrap().iter().enumerate() {
        if number(&case["depth"]) != 1.0 || case["tasks"][0]["y"][0].is_array() {
            continue;
        }
        let critical = limit(&tasks(&case["tasks"])).critical_load().unwrap();
        for (name, got) in
            [("gamma_sim", critical.gamma_sim), ("gamma_feature", critical.gamma_feature), ("proj", critical.proj)]
        {
            // Inverses of kernels with condition numbers below 1e5.
            close(got, number(&case[name]), 1e-9, 1.0, &format!("case {i}: {name}"));
        }
        close(critical.cos.abs(), number(&case["cos"]).abs(), 1e-9, 1.0, &format!("case {i}: cos"));
    }
}

#[test]
fn similarity_is_that_of_the_order_parameters() {
    let mut tasks = pair(24, 30, 20);
    tasks[0].x = tasks[0].x.subrows(0, 17).to_owned();
    tasks[0].y = tasks[0].y.subrows(0, 17).to_owned();
    let critical = limit(&tasks).critical_load().unwrap();
    let want = ebbing::theory::order_parameters::pair(&tasks[0], &tasks[1], &OrderParameterSettings::default())
        .unwrap()
        .values;
    // The pencil's basis against Cholesky factors: rounding times condition numbers below 1e3.
    close(critical.gamma_sim, want.gamma_sim, 1e-11, 1.0, "gamma_sim");
    close(critical.gamma_feature, want.gamma_feature, 1e-11, 1.0, "gamma_feature");
    close(critical.cos, want.cos, 1e-11, 1.0, "cos");
    close(critical.proj, want.proj, 1e-11, 1.0, "proj");
}

#[test]
fn the_same_bits_at_any_number_of_threads() {
    // Large enough that products and factorisations are divided among threads.
    let tasks = pair(160, 40, 21);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let alphas = [0.4, 0.9, 1.3, 2.2, 7.0];
            let curves = phase_curves(&tasks, &MultiHeadSettings::default(), &[f64::INFINITY, 50.0], &alphas).unwrap();
            let chain = MultiHead::solve(&tasks, &MultiHeadSettings { beta: 100.0, ..at(50.0, 1.3) }).unwrap();
            (curves, chain.u1(2, 2), chain.forgetting(2, 1).unwrap(), chain.generalisation(2, 2).unwrap())
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}

#[test]
fn powers_of_lambda() {
    let tasks = pair(30, 25, 8);
    let infinite = limit(&tasks);
    let exact = infinite.critical_load().unwrap().exact;
    assert!(exact > 1.2 && exact < 100.0, "{exact}");
    let lambdas = [1e8, 1e9, 1e10];
    let finite: Vec<TwoTasks> = lambdas.iter().map(|&l| TwoTasks::new(&tasks, &at(l, 1.0)).unwrap()).collect();
    let slope = |values: &[f64]| (values[2] / values[0]).log10() / 2.0;
    for (alpha, regime, u0, d) in [
        (0.5, Regime::FixedRepresentations, 0.0, 0.0),
        (1.0 + 0.5 * (exact - 1.0), Regime::Overfitting, 0.5, -0.5),
        (2.0 * exact, Regime::Generalisation, 0.0, -1.0),
    ] {
        let want = infinite.point(alpha).unwrap();
        assert_eq!(want.regime(), Some(regime));
        assert_eq!((want.u0.exponent, want.d.exponent), (u0, d));
        let points: Vec<_> = finite.iter().map(|t| t.point(alpha).unwrap()).collect();
        let fitted_u0 = slope(&points.iter().map(|p| p.u0.coefficient).collect::<Vec<_>>());
        let fitted_d = slope(&points.iter().map(|p| p.d.coefficient).collect::<Vec<_>>());
        // Corrections are of order λ^(-1/2) ≤ 1e-4, divided by ln 100.
        assert!((fitted_u0 - u0).abs() < 1e-3 && (fitted_d - d).abs() < 1e-3, "{regime}: {fitted_u0} {fitted_d}");
        close(points[2].u0.coefficient, want.u0.at(1e10), 1e-3, 0.0, "u0");
        close(points[2].d.coefficient, want.d.at(1e10), 1e-3, 0.0, "d");
        close(points[2].u12, want.u12, 1e-3, 0.0, "u12");

        let test = tasks[1].test.as_ref().unwrap();
        let loss = |two: &TwoTasks, head: usize, point: &ebbing::theory::multi_head::TwoTaskPoint| {
            let maps = if head == 1 {
                two.maps(1, tasks[0].x.as_ref(), &labels(&tasks[0]))
            } else {
                two.maps(2, test.x.as_ref(), &(0..test.y.nrows()).map(|i| test.y[(i, 0)]).collect::<Vec<_>>())
            };
            two.losses(&maps.unwrap(), std::slice::from_ref(point))[0]
        };
        let second: Vec<f64> = (0..3).map(|k| loss(&finite[k], 2, &points[k]).coefficient).collect();
        let limit_second = loss(&infinite, 2, &want);
        assert_eq!(limit_second.exponent, u0.max(0.0));
        close(second[2], limit_second.at(1e10), 1e-3, 0.0, "loss of head 2");
        let first: Vec<f64> = (0..3).map(|k| loss(&finite[k], 1, &points[k]).coefficient).collect();
        let limit_first = loss(&infinite, 1, &want);
        assert_eq!(limit_first.exponent, 0.0);
        match regime {
            Regime::Generalisation => close(first[2], limit_first.coefficient, 1e-3, 0.0, "F21"),
            // F21 vanishes as λ^(-1/2) here.
            Regime::Overfitting => assert!((slope(&first) + 0.5).abs() < 1e-2, "{first:?}"),
            Regime::FixedRepresentations => assert!(first[2].abs() < 1e-4),
        }
        if regime != Regime::Generalisation {
            // An exact zero: rounding of squares and variances.
            assert!(limit_first.coefficient.abs() < 1e-11, "{limit_first:?}");
        }
        // Predictions and learned kernels approach their limits.
        let (a, b) = (
            finite[2].predict(2, &points[2], test.x.as_ref()).unwrap(),
            infinite.predict(2, &want, test.x.as_ref()).unwrap(),
        );
        assert!(largest_difference(&a.mean, &b.mean) < 1e-3);
        let scale = 1e10f64.powf(b.variance_power);
        for (a, b) in a.variance.iter().zip(&b.variance) {
            close(*a, b * scale, 2e-3, 0.1 * scale, "variance");
        }
        let (a, b) = (
            finite[2].learned_kernel(&points[2], tasks[1].x.as_ref()).unwrap(),
            infinite.learned_kernel(&want, tasks[1].x.as_ref()).unwrap(),
        );
        for i in 0..30 {
            for j in 0..30 {
                close(a[(i, j)], b[(i, j)], 1e-3, 0.1, "learned kernel");
            }
        }
    }
}

#[test]
fn up_to_six_tasks() {
    let mut stream = Stream::new(9, "multi-head test", 0);
    let base = random_task(16, 24, &mut stream);
    let mut tasks = vec![base.clone()];
    for size in [16, 10, 16, 12, 14] {
        let mut next = variant(&base, 0.6, 0.2, &mut stream);
        next.x = next.x.subrows(0, size).to_owned();
        next.y = next.y.subrows(0, size).to_owned();
        tasks.push(next);
    }
    for (lambda, width) in [(0.0, 20.0), (2.0, 40.0), (2.0, 8.0), (300.0, 10.0), (1e6, 12.0)] {
        for beta in [f64::INFINITY, 200.0] {
            let settings = MultiHeadSettings { lambda, beta, width: Some(width), ..MultiHeadSettings::default() };
            let all = MultiHead::solve(&tasks, &settings).unwrap();
            assert!(all.residuals().iter().all(|r| r.residual < 1e-10));
            assert_eq!(all.residuals().len(), 36);
            for t in 1..=6 {
                // Learning a later task leaves earlier factors untouched.
                let part = MultiHead::solve(&tasks[..t], &settings).unwrap();
                for s in 1..=t {
                    assert_eq!(part.u1(t, s), all.u1(t, s));
                }
                let own = &tasks[t - 1];
                let newest = all.predict(t, t, own.x.as_ref()).unwrap();
                if beta.is_infinite() {
                    // Interpolation: rounding times condition numbers (below 1e3) and the size of u1.
                    let scale = all.u1(t, t).max(1.0);
                    assert!(largest_difference(&newest.mean, &labels(own)) < 1e-11 * scale);
                    assert!(newest.variance.iter().all(|v| v.abs() < 1e-11 * scale), "{:?}", newest.variance);
                } else {
                    assert!(newest.variance.iter().all(|v| *v > 0.0 && *v < 1.0), "{:?}", newest.variance);
                }
            }
            for head in 1..=6 {
                let f = all.forgetting(6, head).unwrap();
                assert!(f.is_finite() && f > -1e-11, "lambda {lambda}, head {head}: {f}");
            }
        }
    }
}

#[test]
fn odd_activations_decouple_without_penalty() {
    let mut stream = Stream::new(22, "multi-head test", 0);
    let tasks: Vec<Task> = (0..3).map(|_| random_task(10, 16, &mut stream)).collect();
    for activation in [Activation::Linear, Activation::Erf] {
        for beta in [f64::INFINITY, 50.0] {
            for alpha in [0.5, 3.0] {
                let settings = MultiHeadSettings { activation, beta, ..at(0.0, alpha) };
                let all = MultiHead::solve(&tasks, &settings).unwrap();
                for t in 1..=3 {
                    let alone = MultiHead::solve(&tasks[t - 1..t], &settings).unwrap();
                    // At λ = 0 weights are drawn afresh, and without a mean activation nothing is shared.
                    close(all.u1(t, t), alone.u1(1, 1), 1e-9, 0.0, &format!("{activation:?}, {beta}, {alpha}: u1"));
                    for s in 1..t {
                        assert!(all.u1(t, s).abs() < 1e-6, "{activation:?}, {beta}, {alpha}: {}", all.u1(t, s));
                    }
                }
            }
        }
    }
}

#[test]
fn temperature_tends_to_zero() {
    let tasks = pair(14, 20, 10);
    let cold = MultiHead::solve(&tasks, &at(5.0, 1.4)).unwrap();
    let mut last = f64::INFINITY;
    for beta in [1e4, 1e6, 1e8] {
        let warm = MultiHead::solve(&tasks, &MultiHeadSettings { beta, ..at(5.0, 1.4) }).unwrap();
        let error = (warm.u1(2, 2) - cold.u1(2, 2)).abs() + (warm.u1(1, 2) - cold.u1(1, 2)).abs();
        // The correction is proportional to 1/β.
        assert!(error < 0.02 * last, "beta {beta}: {error}, before {last}");
        last = error;
    }
    // A kernel of fewer inputs than examples is singular, and temperature is what makes it usable.
    let narrow = pair(14, 5, 11);
    let linear = MultiHeadSettings { activation: Activation::Linear, ..at(5.0, 1.4) };
    assert!(matches!(MultiHead::solve(&narrow, &linear), Err(Error::NotPositiveDefinite { .. })));
    let warm = MultiHead::solve(&narrow, &MultiHeadSettings { beta: 20.0, ..linear }).unwrap();
    assert!(warm.residuals().iter().all(|r| r.residual < 1e-10));
}

#[test]
fn representations_in_the_three_regimes() {
    let tasks = pair(30, 25, 8);
    let two = limit(&tasks);
    let exact = two.critical_load().unwrap().exact;
    let x = tasks[1].x.as_ref();
    let change = |tasks: &[Task], alpha: f64| {
        let two = limit(tasks);
        let point = two.point(alpha).unwrap();
        (point.regime().unwrap(), two.representation_change(&point, x).unwrap())
    };
    let differs = |a: &Mat<f64>, b: &Mat<f64>| {
        let (mut largest, mut size) = (0.0_f64, 0.0_f64);
        for i in 0..30 {
            for j in 0..30 {
                largest = largest.max((a[(i, j)] - b[(i, j)]).abs());
                size = size.max(a[(i, j)].abs());
            }
        }
        largest / size
    };
    let mut stream = Stream::new(12, "shuffle", 0);
    let shuffled = |k: usize, stream: &mut Stream| {
        let mut tasks = tasks.clone();
        let mut y = labels(&tasks[k]);
        stream.shuffle(&mut y);
        tasks[k].y = column_matrix(&y);
        tasks
    };
    let (first, second) = (shuffled(0, &mut stream), shuffled(1, &mut stream));

    let (regime, fixed) = change(&tasks, 0.7);
    assert_eq!(regime, Regime::FixedRepresentations);
    assert!((0..30).all(|i| (0..30).all(|j| fixed[(i, j)] == 0.0)));

    let alpha = 1.0 + 0.3 * (exact - 1.0);
    let (regime, overfit) = change(&tasks, alpha);
    assert_eq!(regime, Regime::Overfitting);
    assert!((0..30).all(|i| overfit[(i, i)] > 0.0));
    let (regime, other) = change(&second, alpha);
    assert_eq!(regime, Regime::Overfitting);
    // No label enters: the same arithmetic.
    assert!(differs(&overfit, &other) < 1e-13);

    let alpha = 3.0 * exact;
    let (regime, general) = change(&tasks, alpha);
    assert_eq!(regime, Regime::Generalisation);
    let (_, with_first) = change(&first, alpha);
    let (_, with_second) = change(&second, alpha);
    assert!(differs(&general, &with_first) > 1e-3 && differs(&general, &with_second) > 1e-3);
    // Beyond α_c what is learned follows the labels of task 2, within overfitting it does not.
    let aligned = |alpha: f64| {
        let point = two.point(alpha).unwrap();
        centred_alignment(two.learned_kernel(&point, x).unwrap().as_ref(), &labels(&tasks[1])).unwrap()
    };
    assert!(aligned(3.0 * exact) > aligned(1.0 + 0.3 * (exact - 1.0)), "{} {}", aligned(3.0 * exact), aligned(1.2));
    let finite = TwoTasks::new(&tasks, &at(10.0, 1.0)).unwrap();
    let point = finite.point(2.0).unwrap();
    assert!(matches!(finite.representation_change(&point, x), Err(Error::Setting { .. })));
}

#[test]
fn alignment_with_labels() {
    let y = [1.0, -1.0, 1.0, 1.0, -1.0];
    let mean = 0.2;
    let rank_one = Mat::from_fn(5, 5, |i, j| (y[i] - mean) * (y[j] - mean) + 3.0);
    close(centred_alignment(rank_one.as_ref(), &y).unwrap(), 1.0, 1e-14, 0.0, "alignment");
    let negative = Mat::from_fn(5, 5, |i, j| -2.0 * y[i] * y[j]);
    close(centred_alignment(negative.as_ref(), &y).unwrap(), -1.0, 1e-14, 0.0, "alignment");
    assert!(centred_alignment(rank_one.as_ref(), &[1.0; 5]).is_err());
    assert!(centred_alignment(rank_one.as_ref(), &y[..4]).is_err());
}

#[test]
fn a_lambda_that_stands_for_infinity() {
    let tasks = pair(16, 20, 13);
    let exact = limit(&tasks).critical_load().unwrap().exact;
    for alpha in [0.6, 1.0 + 0.5 * (exact - 1.0), 3.0 * exact] {
        let settings = at(1.0, alpha);
        let large = LargeLambda::solve(&tasks, &settings, 1e-3).unwrap();
        let two = limit(&tasks);
        let point = two.point(alpha).unwrap();
        let maps = two.maps(1, tasks[0].x.as_ref(), &labels(&tasks[0])).unwrap();
        let f21 = two.losses(&maps, std::slice::from_ref(&point))[0].coefficient;
        // λ^(-1/2): the rest of the way to ∞ is at most half as long as the last step of a factor of ten.
        let last = large.evidence.last().unwrap();
        assert!(last.change <= 1e-3 && last.lambda == large.lambda());
        assert!((large.theory.forgetting(2, 1).unwrap() - f21).abs() < 1.5e-3, "alpha {alpha}");
        close(last.readout_exponents[1], point.u22.exponent, 0.05, 1.0, "exponent");
    }
    let mut stream = Stream::new(14, "multi-head test", 0);
    let mut three = tasks.clone();
    three.push(variant(&tasks[0], 0.7, 0.2, &mut stream));
    let large = LargeLambda::solve(&three, &at(1.0, 0.7), 1e-3).unwrap();
    assert!(large.evidence.iter().all(|e| e.readout_exponents.len() == 3));
    assert!(matches!(MultiHead::solve(&three, &at(f64::INFINITY, 0.7)), Err(Error::Setting { .. })));
}

#[test]
fn curves_searches_and_ways_out() {
    let tasks = pair(24, 20, 15);
    let alphas: Vec<f64> = (0..60).map(|i| (0.12 * f64::from(i) - 2.0).exp()).collect();
    let curves = phase_curves(&tasks, &MultiHeadSettings::default(), &[f64::INFINITY, 1e8], &alphas).unwrap();
    let critical = curves[0].critical.clone().unwrap();
    assert!(critical.exact > 1.3 && critical.exact < 50.0, "{}", critical.exact);
    assert!(curves[1].critical.is_none());
    for point in &curves[0].points {
        let regime = point.factors.regime().unwrap();
        assert_eq!(regime, critical.regime(point.factors.alpha).0);
        let exponent = if regime == Regime::Overfitting { 0.5 } else { 0.0 };
        assert_eq!(point.g22.unwrap().exponent, exponent);
        assert_eq!(point.f21.coefficient.abs() > 1e-9, regime == Regime::Generalisation);
        assert_eq!(point.near_critical, (point.factors.alpha / critical.exact - 1.0).abs() < 1e-3);
    }
    // The general theory gives the same curve, point by point.
    let few = [alphas[10], alphas[30], alphas[50]];
    let chain = sequence_curve(&tasks, &at(1e8, 1.0), &few).unwrap();
    for (k, i) in [10, 30, 50].into_iter().enumerate() {
        let point = &curves[1].points[i];
        // Rounding times √λ = 1e4 in overfitting.
        close(point.f21.coefficient, chain.forgetting[k], 1e-6, 1e-6, "F21");
        close(point.g22.unwrap().coefficient, chain.generalisation.as_ref().unwrap()[k], 1e-6, 0.0, "G22");
    }
    // α_c read off the curves at large λ: within the grid's spacing of 0.12.
    let f21: Vec<f64> = curves[1].points.iter().map(|p| p.f21.coefficient).collect();
    let g22: Vec<f64> = curves[1].points.iter().map(|p| p.g22.unwrap().coefficient).collect();
    let steep = alpha_c_from_curve(&alphas, &f21, CurveFeature::Steepest).unwrap().unwrap();
    let middle = alpha_c_from_curve(&alphas, &g22, CurveFeature::MidHeight).unwrap().unwrap();
    assert!((steep.alpha_c / critical.exact).ln().abs() < 0.25, "{steep:?} {}", critical.exact);
    assert!((middle.alpha_c / critical.exact).ln().abs() < 0.5, "{middle:?} {}", critical.exact);

    let inside = critical.locate(24, 24.0 / (1.0 + 0.5 * (critical.exact - 1.0))).unwrap();
    assert_eq!(inside.regime, Regime::Overfitting);
    assert!(inside.advice.contains("more than 24") && inside.advice.contains("fewer than"), "{}", inside.advice);
    let out = inside.generalises_below.unwrap();
    assert_eq!(critical.locate(24, 0.999 * out).unwrap().regime, Regime::Generalisation);
    assert_eq!(critical.locate(24, 1.001 * inside.fixed_above).unwrap().regime, Regime::FixedRepresentations);
    assert!(critical.locate(24, out * 1.0005).unwrap().near_critical);
    assert!(critical.locate(24, 0.0).is_err() && critical.locate(24, 24.0).is_err());

    let settings = at(1.0, 1.0 + 0.5 * (critical.exact - 1.0));
    let best = best_lambda(&tasks, &settings, 1e-2, 1e6).unwrap();
    assert!(!best.at_edge, "{best:?}");
    assert!(best.curve.windows(2).all(|w| w[0].lambda < w[1].lambda));
    assert!(best.curve.iter().all(|p| p.worst() >= best.best.worst()));
    let ends = [best.curve[0], best.curve[best.curve.len() - 1]];
    assert!(ends.iter().all(|p| p.worst() > 1.01 * best.best.worst()), "{ends:?} {:?}", best.best);
    let warm = best_lambda(&tasks, &MultiHeadSettings { beta: 1e9, ..settings }, 1e-2, 1e6).unwrap();
    // β = 1e9 stands for ∞ up to 1e-9 times the kernel's condition.
    close(warm.best.worst(), best.best.worst(), 1e-5, 0.0, "best at finite temperature");
}

#[test]
fn intermediate_data_sets_move_the_critical_load() {
    let tasks = pair(16, 20, 16);
    // One data set between the two, half of its examples from either task.
    let mixed = Task {
        x: Mat::from_fn(16, 20, |i, j| tasks[i % 2].x[(i, j)]),
        y: Mat::from_fn(16, 1, |i, _| tasks[i % 2].y[(i, 0)]),
        test: None,
        ..tasks[0].clone()
    };
    let three = vec![tasks[0].clone(), mixed, tasks[1].clone()];
    let alphas: Vec<f64> = (1..=24).map(|i| (0.15 * f64::from(i)).exp()).collect();
    let settings = at(1e6, 1.0);
    let (direct, smooth) =
        (sequence_curve(&tasks, &settings, &alphas).unwrap(), sequence_curve(&three, &settings, &alphas).unwrap());
    let read = |g: &Option<Vec<f64>>| {
        alpha_c_from_curve(&alphas, g.as_ref().unwrap(), CurveFeature::MidHeight).unwrap().unwrap().alpha_c
    };
    let (direct, smooth) = (read(&direct.generalisation), read(&smooth.generalisation));
    assert!(smooth < direct, "{smooth} {direct}");
}

#[test]
fn unequal_sizes_and_erf_reach_the_limit() {
    let mut tasks = pair(24, 30, 17);
    tasks[0].x = tasks[0].x.subrows(0, 16).to_owned();
    tasks[0].y = tasks[0].y.subrows(0, 16).to_owned();
    for activation in [Activation::Relu, Activation::Erf] {
        let settings = MultiHeadSettings { activation, ..MultiHeadSettings::default() };
        let infinite = TwoTasks::new(&tasks, &settings).unwrap();
        let finite = TwoTasks::new(&tasks, &MultiHeadSettings { lambda: 1e10, ..settings }).unwrap();
        let exact = infinite.critical_load().unwrap().exact;
        for alpha in [0.5, 1.0 + 0.5 * (exact.min(20.0) - 1.0), 2.0 * exact.min(1e3)] {
            let (a, b) = (infinite.point(alpha).unwrap(), finite.point(alpha).unwrap());
            // λ^(-1/2) = 1e-5 times a factor that grows towards transitions.
            close(b.u12, a.u12, 1e-3, 0.1, "u12");
            close(b.u22.coefficient, a.u22.at(1e10), 1e-3, 0.0, "u22");
            close(b.d.coefficient, a.d.at(1e10), 1e-3, 0.0, "d");
        }
    }
}

/// The error's sentence, which must name what is wrong.
fn refused<T>(result: ebbing::Result<T>, words: &[&str]) {
    let Err(error) = result else { panic!("accepted, expected an error about {words:?}") };
    let text = error.to_string();
    assert!(words.iter().all(|w| text.contains(w)), "{text:?} does not speak of {words:?}");
}

#[test]
fn bad_input_is_refused_with_its_reason() {
    let tasks = pair(10, 12, 18);
    let solve = |s: MultiHeadSettings| MultiHead::solve(&tasks, &s);
    let plain = MultiHeadSettings { lambda: 1.0, ..MultiHeadSettings::default() };
    refused(solve(plain.clone()), &["alpha", "exactly one"]);
    refused(
        solve(MultiHeadSettings { alpha: Some(1.5), width: Some(9.0), ..plain.clone() }),
        &["width", "alpha = 1.5"],
    );
    refused(solve(MultiHeadSettings { alpha: Some(0.0), ..plain.clone() }), &["alpha is 0", "positive"]);
    refused(solve(MultiHeadSettings { alpha: Some(-2.0), ..plain.clone() }), &["alpha is -2"]);
    refused(solve(MultiHeadSettings { alpha: Some(f64::NAN), ..plain.clone() }), &["alpha", "positive"]);
    refused(solve(MultiHeadSettings { width: Some(0.0), ..plain.clone() }), &["width is 0", "positive"]);
    refused(solve(MultiHeadSettings { lambda: -1.0, ..at(1.0, 1.5) }), &["lambda", "-1"]);
    refused(solve(MultiHeadSettings { sigma2: 0.0, ..at(1.0, 1.5) }), &["sigma2"]);
    refused(solve(MultiHeadSettings { beta: 0.0, ..at(1.0, 1.5) }), &["beta", "positive"]);
    refused(solve(MultiHeadSettings { depth: 2, ..at(1.0, 1.5) }), &["outside the theory", "one hidden layer"]);
    refused(solve(MultiHeadSettings { depth: 0, ..at(1.0, 1.5) }), &["depth"]);
    refused(MultiHead::solve(&[], &at(1.0, 1.5)), &["empty"]);

    let changed = |f: &dyn Fn(&mut Task)| {
        let mut tasks = tasks.clone();
        f(&mut tasks[1]);
        MultiHead::solve(&tasks, &at(1.0, 1.5))
    };
    refused(changed(&|t| t.y = Mat::zeros(10, 2)), &["task 2", "2 target columns", "one target column"]);
    refused(changed(&|t| t.y = Mat::zeros(10, 1)), &["task 2", "labels are all zero"]);
    refused(changed(&|t| t.y = Mat::zeros(9, 1)), &["task 2", "10 training inputs and 9"]);
    refused(changed(&|t| t.x[(3, 2)] = f64::NAN), &["task 2", "row 3, column 2"]);
    refused(changed(&|t| t.x = Mat::from_fn(10, 11, |i, j| (i + j) as f64)), &["task 2", "11 features"]);
    refused(
        changed(&|t| {
            t.x = t.x.subrows(0, 1).to_owned();
            t.y = t.y.subrows(0, 1).to_owned();
        }),
        &["task 2", "1 training example"],
    );
    refused(
        changed(&|t| t.x = Mat::from_fn(10, 12, |i, j| t.x[(i.max(1), j)])),
        &["task 2", "not positive definite", "rows 0 and 1"],
    );
    let mut stream = Stream::new(19, "near copies", 0);
    let mut near = tasks.clone();
    for j in 0..12 {
        near[1].x[(0, j)] = near[1].x[(1, j)] + 1e-7 * stream.normal();
    }
    refused(MultiHead::solve(&near, &at(1.0, 1.5)), &["kernel of task 2", "correct digits"]);
    refused(TwoTasks::new(&near, &at(1.0, 1.5)), &["kernel of task 2", "correct digits"]);

    refused(TwoTasks::new(&tasks[..1], &at(1.0, 1.5)), &["1 tasks", "two"]);
    refused(TwoTasks::new(&tasks, &MultiHeadSettings { beta: 10.0, ..at(1.0, 1.5) }), &["beta"]);
    let two = limit(&tasks);
    refused(two.point(1.0), &["alpha is 1", "fixed representations"]);
    refused(two.point(0.0), &["alpha is 0"]);
    refused(two.maps(3, tasks[0].x.as_ref(), &labels(&tasks[0])), &["head is 3"]);
    refused(TwoTasks::new(&tasks, &at(5.0, 1.0)).unwrap().critical_load(), &["lambda", "inf"]);
    let theory = MultiHead::solve(&tasks, &at(1.0, 1.5)).unwrap();
    refused(theory.predict(2, 1, tasks[0].x.as_ref()), &["head is 2"]);
    refused(theory.predict(1, 3, tasks[0].x.as_ref()), &["time is 3"]);
    let mut untested = tasks.clone();
    untested[0].test = None;
    refused(MultiHead::solve(&untested, &at(1.0, 1.5)).unwrap().generalisation(2, 1), &["task 1", "no test set"]);
    refused(best_lambda(&untested, &at(1.0, 1.5), 0.1, 10.0), &["test set"]);
    refused(best_lambda(&tasks, &at(1.0, 1.5), 10.0, 0.1), &["lambda range"]);
}

#[test]
fn a_negative_gamma_sim_is_said_beside_the_exact_answer() {
    // Inputs of task 2 close to those of task 1, labels unrelated: γ_feature near 0 with a large projection.
    for seed in 0..200 {
        let mut stream = Stream::new(seed, "negative gamma", 0);
        let first = random_task(6, 60, &mut stream);
        let mut second = random_task(6, 60, &mut stream);
        for j in 0..60 {
            second.x[(0, j)] = first.x[(0, j)] + 0.05 * stream.normal();
        }
        let mut first = first;
        first.y = column_matrix(&[5.0, 0.1, -0.1, 0.1, -0.1, 0.1]);
        second.y = column_matrix(&[0.01, 1.0, -1.0, 1.0, -1.0, 1.0]);
        let critical = limit(&[first, second]).critical_load().unwrap();
        if critical.gamma_sim <= 0.0 {
            assert_eq!(critical.from_gamma_sim, f64::INFINITY);
            assert!(critical.notes.iter().any(|n| n.contains("gamma_sim law gives no generalisation regime")));
            assert!(critical.exact > 1.0);
            return;
        }
    }
    panic!("no draw with a negative gamma_sim");
}
