//! Readouts with a prior of their own, and of bounded norm.

use super::*;
use ebbing::Context;

fn own(tasks: &[Task], lambda: f64, readout_sigma2: f64) -> TwoTasks {
    let settings = MultiHeadSettings { lambda, readout_sigma2: Some(readout_sigma2), ..Default::default() };
    TwoTasks::new(tasks, &settings, &Context::default()).unwrap()
}

fn bounded(tasks: &[Task], lambda: f64, norm: f64) -> TwoTasks {
    TwoTasks::new(
        tasks,
        &MultiHeadSettings { lambda, readout_norm: Some(norm), ..Default::default() },
        &Context::default(),
    )
    .unwrap()
}

/// Outputs are linear in readouts: labels and readouts of twice the size are the same problem.
#[test]
fn labels_and_readouts_scale_together() {
    let tasks = pair(20, 25, 1);
    let double = |y: &Mat<f64>| Mat::from_fn(y.nrows(), 1, |i, _| 2.0 * y[(i, 0)]);
    let doubled: Vec<Task> = tasks
        .iter()
        .map(|task| {
            let test = task.test.as_ref().unwrap();
            Task::new(task.x.clone(), double(&task.y)).with_test(test.x.clone(), double(&test.y))
        })
        .collect();
    for lambda in [3.0, 1e5, f64::INFINITY] {
        for alpha in [0.4, 1.6, 6.0] {
            let small = own(&tasks, lambda, 0.3).curve(&[alpha]).unwrap().points.remove(0);
            let large = own(&doubled, lambda, 1.2).curve(&[alpha]).unwrap().points.remove(0);
            let same = |a: f64, b: f64| (a - b).abs() <= 1e-8 * b.abs() + 1e-9;
            let what = format!("lambda {lambda}, alpha {alpha}");
            assert!(same(4.0 * small.factors.u22.coefficient, large.factors.u22.coefficient), "{what}");
            assert!(same(small.f21.coefficient, large.f21.coefficient), "{what}");
            assert!(same(small.g22.unwrap().coefficient, large.g22.unwrap().coefficient), "{what}");
        }
        let plain =
            TwoTasks::new(&tasks, &MultiHeadSettings { lambda, ..Default::default() }, &Context::default()).unwrap();
        assert_eq!(plain.point(1.6).unwrap(), own(&tasks, lambda, 1.0).point(1.6).unwrap());
    }
}

/// A bound holds for both readouts, and one that is not reached changes nothing.
#[test]
fn a_bound_is_kept() {
    let tasks = pair(20, 25, 2);
    let free = TwoTasks::new(&tasks, &at(100.0, 1.0), &Context::default()).unwrap();
    for alpha in [0.5, 1.5, 4.0] {
        let norm = free.point(alpha).unwrap().u22.coefficient;
        let first = free.point(alpha).unwrap().u11;
        assert_eq!(bounded(&tasks, 100.0, 1.01 * norm.max(first)).point(alpha).unwrap(), free.point(alpha).unwrap());
        let prior = own(&tasks, 100.0, 0.2).point(alpha).unwrap();
        let norm = prior.u22.coefficient;
        let point = bounded(&tasks, 100.0, norm).point(alpha).unwrap();
        // Bisection ends at rounding of ln σ_a², in which the norm's slope is at most 1.
        assert!(point.u22.coefficient <= norm * (1.0 + 1e-9) && point.u11 <= norm * (1.0 + 1e-9), "{point:?}");
        assert!(point.residuals.iter().all(|r| r.residual < 1e-10), "{point:?}");
    }
}

/// λ → ∞ with a bound: the scalar equation is the limit of the whole system, and nothing diverges.
#[test]
fn bounded_readouts_have_a_finite_limit() {
    let tasks = pair(24, 30, 3);
    let free = limit(&tasks);
    let alphas = [0.3, 0.8, 1.0, 1.3, 2.5, 8.0];
    assert_eq!(free.point(1.3).unwrap().regime(), Some(Regime::Overfitting));
    for norm in [0.05, 0.7, 5.0] {
        let exact = bounded(&tasks, f64::INFINITY, norm).curve(&alphas).unwrap();
        let gap = |lambda: f64| -> Vec<f64> {
            let near = bounded(&tasks, lambda, norm).curve(&alphas).unwrap();
            let distance = |(a, b): (&ebbing::theory::phase::PhasePoint, &ebbing::theory::phase::PhasePoint)| {
                let relative = |a: f64, b: f64| (a - b).abs() / (1.0 + b.abs());
                assert!(b.factors.u22.exponent == 0.0 && b.g22.unwrap().exponent == 0.0, "{b:?}");
                relative(a.f21.coefficient, b.f21.coefficient)
                    .max(relative(a.g22.unwrap().coefficient, b.g22.unwrap().coefficient))
                    .max(relative(a.g21.unwrap().coefficient, b.g21.unwrap().coefficient))
                    .max(relative(a.factors.u12, b.factors.u12))
            };
            near.points.iter().zip(&exact.points).map(distance).collect()
        };
        let (far, near) = (gap(1e4), gap(1e6));
        for (k, alpha) in alphas.iter().enumerate() {
            // The approach is as λ^(-1/2) at the slowest: 1e-3 of numbers of order one at λ = 1e6, with a constant of ten.
            assert!(
                near[k] < 1e-2 && near[k] <= 0.3 * far[k] + 1e-6,
                "norm {norm}, alpha {alpha}: {} {}",
                far[k],
                near[k]
            );
        }
    }
    // Overfitting goes, at the price of forgetting.
    let tame = bounded(&tasks, f64::INFINITY, 1.0).curve(&[1.3]).unwrap().points.remove(0);
    let wild = free.curve(&[1.3]).unwrap().points.remove(0);
    assert!(wild.g22.unwrap().limit().is_infinite() && tame.g22.unwrap().limit() < 10.0);
    assert!(wild.f21.limit() < 1e-9 && tame.f21.limit() > 1e-3, "{tame:?}");
}

#[test]
fn longer_sequences_and_bad_values() {
    let mut stream = Stream::new(5, "readouts", 0);
    let tasks: Vec<Task> = (0..3).map(|_| random_task(&mut stream, 12, 15)).collect();
    let settings = MultiHeadSettings { readout_norm: Some(0.5), ..at(50.0, 2.0) };
    let theory = MultiHead::new(&tasks, &settings, &Context::default()).unwrap();
    let free = MultiHead::new(&tasks, &at(50.0, 2.0), &Context::default()).unwrap();
    for t in 1..=3 {
        let norm = theory.u1(t, t);
        assert!(norm <= 0.5 * (1.0 + 1e-9) && (norm > 0.5 * (1.0 - 1e-9) || free.u1(t, t) < 0.6), "{t}: {norm}");
    }
    for (settings, said) in [
        (MultiHeadSettings { readout_norm: Some(0.0), ..at(5.0, 2.0) }, "readout_norm is 0"),
        (MultiHeadSettings { readout_norm: Some(f64::NAN), ..at(5.0, 2.0) }, "readout_norm is NaN"),
        (MultiHeadSettings { readout_sigma2: Some(-1.0), ..at(5.0, 2.0) }, "readout_sigma2 is -1"),
        (MultiHeadSettings { readout_norm: Some(1.0), beta: 10.0, ..at(5.0, 2.0) }, "beta = 10"),
    ] {
        let error = MultiHead::new(&tasks, &settings, &Context::default()).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    // At a temperature a prior of their own is allowed.
    let warm = MultiHeadSettings { readout_sigma2: Some(0.2), beta: 50.0, ..at(5.0, 2.0) };
    let plain = MultiHeadSettings { beta: 50.0, ..at(5.0, 2.0) };
    let norm = |s: &MultiHeadSettings| MultiHead::new(&tasks, s, &Context::default()).unwrap().u1(3, 3);
    assert!(norm(&warm) < norm(&plain));
}
