//! The multi-head theory at any number of tasks and any λ: what ∞ means, and curves against the load.

use super::at;
use ebbing::Context;
use ebbing::linalg::Mat;
use ebbing::rng::Stream;
use ebbing::theory::multi_head::{MultiHeadSettings, Regime, TwoTasks};
use ebbing::theory::phase::{phase_curves, sequence_curve};
use ebbing::{Error, MultiHead, Task};

/// Related tasks: shared inputs with noise, a tenth of the labels flipped, held-out inputs near the training ones.
fn tasks(count: usize) -> Vec<Task> {
    let mut stream = Stream::new(31, "any lambda", 0);
    let (p, n) = (16, 20);
    let base = Mat::from_fn(p, n, |_, _| stream.normal());
    let label: Vec<f64> = (0..p).map(|_| if stream.chance(0.5) { 1.0 } else { -1.0 }).collect();
    let mut task = |_| {
        let x = Mat::from_fn(p, n, |i, j| 0.8 * base[(i, j)] + 0.6 * stream.normal());
        let y = Mat::from_fn(p, 1, |i, _| if stream.chance(0.1) { -label[i] } else { label[i] });
        let near = Mat::from_fn(p, n, |i, j| x[(i, j)] + 0.3 * stream.normal());
        Task::new(x, y.clone()).with_test(near, y)
    };
    (0..count).map(&mut task).collect()
}

fn close(got: f64, want: f64, tolerance: f64, what: &str) {
    assert!((got - want).abs() <= tolerance * want.abs(), "{what}: {got:e} {want:e}");
}

/// A load in each regime of two tasks.
fn loads(tasks: &[Task]) -> [(f64, Regime); 3] {
    let critical =
        TwoTasks::new(tasks, &MultiHeadSettings::default(), &Context::default()).unwrap().critical_load().unwrap();
    let c = critical.alpha_c;
    assert!(c > 1.1 && c.is_finite(), "{c}");
    [(0.5, Regime::FixedRepresentations), (c.sqrt(), Regime::Overfitting), (2.0 * c, Regime::Generalization)]
}

#[test]
fn two_tasks_at_infinity_are_the_limit_of_large_lambda() {
    let tasks = tasks(2);
    let x = tasks[0].x.as_ref();
    for (alpha, regime) in loads(&tasks) {
        let limit = MultiHead::new(&tasks, &at(f64::INFINITY, alpha), &Context::default()).unwrap();
        let near = MultiHead::new(&tasks, &at(1e10, alpha), &Context::default()).unwrap();
        assert_eq!((limit.regime(), near.regime()), (Some(regime), None));
        assert_eq!((limit.lambda(), limit.evidence().len()), (f64::INFINITY, 0));
        assert_eq!(limit.limit().unwrap().alpha, alpha);
        close(limit.width(), near.width(), 1e-15, "width");
        assert_eq!(limit.residuals().len(), limit.limit().unwrap().residuals.len());
        assert!(limit.digits() >= 4.0);
        // λ^(-1/2) = 1e-5 times a factor that grows towards transitions.
        let tolerance = 1e-3;
        let diverges = regime == Regime::Overfitting;
        for (t, s) in [(1, 1), (2, 1), (1, 2), (2, 2)] {
            if diverges && (t, s) == (2, 2) {
                assert_eq!(limit.u1(2, 2), f64::INFINITY);
                assert_eq!(limit.u0(2, 2), f64::INFINITY);
                assert_eq!(limit.d(2, 2), 0.0);
                close(near.u1(2, 2), limit.limit().unwrap().u22.at(1e10), tolerance, "u22 by its power");
                continue;
            }
            close(near.u1(t, s), limit.u1(t, s), tolerance, "u1");
            assert!((near.d(t, s) - limit.d(t, s)).abs() < tolerance, "d({t},{s}): {} {}", near.d(t, s), limit.d(t, s));
        }
        assert_eq!(limit.readout_exponent(2), if diverges { 0.5 } else { 0.0 });
        // Task 1 alone, and the newest task interpolated.
        assert_eq!((limit.forgetting(1, 1).unwrap(), limit.forgetting(2, 2).unwrap()), (0.0, 0.0));
        // F_21 vanishes as λ^(-1/2) below α_c.
        let (f, g) = (limit.forgetting(2, 1).unwrap(), near.forgetting(2, 1).unwrap());
        assert!((f - g).abs() < 1e-3 && (f > 1e-9) == (regime == Regime::Generalization), "{f:e} {g:e}");
        for (t, s) in [(1, 1), (2, 1), (2, 2)] {
            let (got, want) = (near.generalization(t, s).unwrap(), limit.generalization(t, s).unwrap());
            if diverges && (t, s) == (2, 2) {
                assert_eq!(want, f64::INFINITY);
            } else {
                close(got, want, tolerance, "G");
            }
        }
        // Kernels: the prior is added to what was learned, and the two λ agree.
        let (hidden, learned) = (limit.hidden_kernel(x).unwrap(), limit.learned_kernel(x).unwrap());
        let prior = &hidden - &learned;
        let nearby = near.hidden_kernel(x).unwrap();
        for i in 0..x.nrows() {
            // A ReLU's K¹(x,x) = |x|²/(2 N_0) at σ = 1 and times that λ leaves alone.
            let norm = (0..x.ncols()).map(|j| x[(i, j)] * x[(i, j)]).sum::<f64>() / (2.0 * x.ncols() as f64);
            close(prior[(i, i)], norm, 1e-12, "prior");
            close(nearby[(i, i)], hidden[(i, i)], 1e-2, "hidden kernel");
        }
        let change = limit.representation_change(x).unwrap();
        let trace = (0..x.nrows()).map(|i| change[(i, i)]).sum::<f64>();
        assert_eq!(trace.abs() > 1e-9, regime != Regime::FixedRepresentations, "{trace:e}");
        assert!(matches!(near.representation_change(x), Err(Error::OutsideTheory { .. })));
        // A network that learns one task alone is the same at any λ.
        for head in [1, 2] {
            let (a, b) = (limit.alone(head, x).unwrap(), near.alone(head, x).unwrap());
            assert!(a.mean.iter().zip(&b.mean).all(|(a, b)| (a - b).abs() < 1e-9), "head {head} alone");
        }
    }
}

#[test]
fn heads_and_times_that_do_not_exist_are_refused_at_any_lambda() {
    let mut tasks = tasks(2);
    tasks[1].test = None;
    for lambda in [3.0, f64::INFINITY] {
        let theory = MultiHead::new(&tasks, &at(lambda, 0.5), &Context::default()).unwrap();
        let x = tasks[0].x.as_ref();
        for (head, time, word) in [(1, 0, "t is 0"), (1, 3, "t is 3"), (0, 2, "head is 0"), (2, 1, "head is 2")] {
            let answer = [
                theory.predict(head, time, x).unwrap_err(),
                theory.forgetting(time, head).unwrap_err(),
                theory.generalization(time, head).unwrap_err(),
            ];
            assert!(answer.iter().all(|e| e.to_string().contains(word)), "{answer:?}");
        }
        assert!(theory.generalization(2, 2).unwrap_err().to_string().contains("no test set"));
        assert!(theory.generalization(1, 1).is_ok());
    }
    for settings in [at(f64::INFINITY, 1.0), MultiHeadSettings::default()] {
        assert!(matches!(MultiHead::new(&tasks, &settings, &Context::default()), Err(Error::Setting { .. })));
    }
}

#[test]
fn one_task_knows_no_lambda() {
    let tasks = tasks(1);
    let (x, finite) = (tasks[0].x.as_ref(), MultiHead::new(&tasks, &at(2.0, 1.3), &Context::default()).unwrap());
    let infinite = MultiHead::new(&tasks, &at(f64::INFINITY, 1.3), &Context::default()).unwrap();
    assert_eq!(infinite.regime(), None);
    // m1(1,1) = σ² up to rounding.
    close(infinite.u1(1, 1), finite.u1(1, 1), 1e-12, "u1");
    close(infinite.generalization(1, 1).unwrap(), 1.0, 1e-10, "G");
    let (a, b) = (infinite.predict(1, 1, x).unwrap(), finite.predict(1, 1, x).unwrap());
    assert!(a.mean.iter().zip(&b.mean).all(|(a, b)| (a - b).abs() < 1e-10));
}

#[test]
fn more_tasks_or_a_temperature_take_a_large_lambda() {
    let three = tasks(3);
    let theory = MultiHead::new(&three, &at(f64::INFINITY, 0.6), &Context::default()).unwrap();
    let asked = MultiHead::at_large_lambda(&three, &at(1.0, 0.6), 1e-3, &Context::default()).unwrap();
    assert_eq!(theory.evidence(), asked.evidence());
    assert_eq!(theory.lambda(), theory.evidence().last().unwrap().lambda);
    assert_eq!((theory.regime(), theory.limit(), theory.readout_exponent(3)), (None, None, 0.0));
    let same = MultiHead::new(&three, &at(theory.lambda(), 0.6), &Context::default()).unwrap();
    assert_eq!(theory.forgetting(3, 1).unwrap(), same.forgetting(3, 1).unwrap());
    assert!(matches!(theory.hidden_kernel(three[0].x.as_ref()), Err(Error::OutsideTheory { .. })));

    let two = &three[..2];
    let warm =
        MultiHead::new(two, &MultiHeadSettings { beta: 1e8, ..at(f64::INFINITY, 0.6) }, &Context::default()).unwrap();
    let cold = MultiHead::new(two, &at(f64::INFINITY, 0.6), &Context::default()).unwrap();
    assert!(!warm.evidence().is_empty() && cold.evidence().is_empty());
    // β = 1e8 stands for ∞ up to 1e-8 times the kernel's condition, a large λ up to 1.5 times the tolerance.
    assert!((warm.forgetting(2, 1).unwrap() - cold.forgetting(2, 1).unwrap()).abs() < 2e-3);
    let (x, y) = (two[0].x.as_ref(), &two[0].y);
    let along = |m: &MultiHead| {
        let k = m.hidden_kernel(x).unwrap();
        (0..16).map(|i| (0..16).map(|j| y[(i, 0)] * k[(i, j)] * y[(j, 0)]).sum::<f64>()).sum::<f64>()
    };
    // 1/√λ = 1 % at λ = 1e4.
    close(along(&warm), along(&cold), 2e-2, "hidden kernel along the labels");
}

#[test]
fn curves_of_any_number_of_tasks() {
    let three = tasks(3);
    let two = &three[..2];
    let alphas = loads(two).map(|l| l.0);
    for lambda in [5.0, f64::INFINITY] {
        let curve = sequence_curve(two, &at(lambda, 9.0), &alphas, &Context::default()).unwrap();
        let want = phase_curves(two, &MultiHeadSettings::default(), &[lambda], &alphas, &Context::default())
            .unwrap()
            .remove(0);
        assert_eq!((curve.lambda, &curve.critical), (lambda, &want.critical));
        for (got, want) in curve.points.iter().zip(&want.points) {
            assert_eq!((got.u_tt, got.f_t1, got.g_t1, got.g_tt), (want.factors.u22, want.f21, want.g21, want.g22));
            assert_eq!((got.regime, got.lambda), (want.factors.regime(), lambda));
        }
    }
    // A finite temperature is solved load by load and tends to the shortcut.
    let warm =
        sequence_curve(two, &MultiHeadSettings { beta: 1e9, ..at(5.0, 9.0) }, &alphas, &Context::default()).unwrap();
    let cold = sequence_curve(two, &at(5.0, 9.0), &alphas, &Context::default()).unwrap();
    for (warm, cold) in warm.points.iter().zip(&cold.points) {
        // 1e-9 times the kernels' condition, below 1e4.
        close(warm.g_tt.unwrap().coefficient, cold.g_tt.unwrap().coefficient, 1e-5, "G_22 at beta = 1e9");
    }
    // Three tasks: every point is the theory at its load.
    for (lambda, alpha) in [(5.0, 1.4), (f64::INFINITY, 0.5), (f64::INFINITY, 1.4)] {
        let point = sequence_curve(&three, &at(lambda, 9.0), &[alpha], &Context::default()).unwrap().points.remove(0);
        let theory = MultiHead::new(&three, &at(lambda, alpha), &Context::default()).unwrap();
        assert_eq!((point.lambda, point.width, point.regime), (theory.lambda(), theory.width(), None));
        assert_eq!(point.f_t1.limit(), theory.forgetting(3, 1).unwrap());
        assert_eq!(point.g_t1.unwrap().limit(), theory.generalization(3, 1).unwrap());
        // Rounding of λ^e λ^-e.
        close(point.u_tt.at(point.lambda), theory.u1(3, 3), 1e-14, "u1(3,3)");
        close(point.g_tt.unwrap().at(point.lambda), theory.generalization(3, 3).unwrap(), 1e-14, "G_33");
        let exponent = if lambda.is_infinite() && alpha > 1.0 { 0.5 } else { 0.0 };
        assert_eq!((point.u_tt.exponent, point.g_tt.unwrap().exponent), (exponent, exponent));
    }
}
