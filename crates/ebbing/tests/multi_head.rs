//! The multi-head theory against reference numbers computed independently, and against itself in limits.

use ebbing::{
    Activation, Error, Mat, MultiHead, MultiHeadSettings, Prediction, Regime, Stream, Task, TestSet, TwoTasks,
    centred_alignment,
};
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
                Regime::Overfitting => {
                    &[("d_sqrtlam", got.d.coefficient, 0.5 + got.d.exponent), ("u220_over_sqrtlam", got.u0.coefficient, got.u0.exponent - 0.5)]
                }
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
            eprintln!("{name} {key} {got} {sampled:?} prior {}", case[prior]);
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
            let (a, b) = (
                chain.learned_kernel(test.x.as_ref()).unwrap(),
                two.learned_kernel(&point, test.x.as_ref()).unwrap(),
            );
            let size = (0..a.nrows()).fold(0.0, |m: f64, i| m.max(a[(i, i)].abs()));
            for i in 0..a.nrows() {
                for j in 0..a.nrows() {
                    close(b[(i, j)], a[(i, j)], 1e-8, size, &what);
                }
            }
        }
    }
}
