//! What remains where a setting tends to its end: λ → ∞, β → ∞, α → 0, and λ = 0.

use super::*;
use ebbing::Context;
use ebbing::Recipe;
use ebbing::data::{Preprocess, Sources};
use ebbing::tasks::{Interpolated, Permuted, PostSteps, Protocol, TaskOrigin};

#[test]
fn wide_networks_learn_every_task_alone() {
    let mut stream = Stream::new(4, "multi-head test", 0);
    let tasks: Vec<Task> = (0..3).map(|_| random_task(&mut stream, 12, 20)).collect();
    let query = random_task(&mut stream, 9, 20).x;
    let settings = MultiHeadSettings { sigma2: 0.7, ..at(3.0, 1e-9) };
    let theory = MultiHead::new(&tasks, &settings, &Context::default()).unwrap();
    let prior = WeightPrior::new(3.0, 0.7).unwrap();
    for head in 1..=3 {
        let kernel = |t, s| Kernel::new(KernelKind::K1, relu(1), prior, t, s).unwrap();
        let x = tasks[head - 1].x.as_ref();
        let gram = Cholesky::factor(kernel(head, head).gram_symmetric(x).unwrap().as_ref(), "kernel").unwrap();
        let k = kernel(3, head).gram(query.as_ref(), x).unwrap();
        let own = kernel(3, 3).diagonal(query.as_ref()).unwrap();
        let got = theory.predict(head, 3, query.as_ref()).unwrap();
        for i in 0..9 {
            let row: Vec<f64> = (0..12).map(|j| k[(i, j)]).collect();
            let mean: f64 = gram.solve_vec(&labels(&tasks[head - 1].y)).iter().zip(&row).map(|(a, b)| a * b).sum();
            let explained: f64 = gram.solve_vec(&row).iter().zip(&row).map(|(a, b)| a * b).sum();
            // Corrections are of order α times norms of a few hundred.
            close(got.mean[i], mean, 1e-6, 1.0, "mean");
            close(got.variance[i], 0.7 * (own[i] - explained), 1e-6, 1.0, "variance");
        }
        close(theory.u1(head, head), 0.7, 1e-6, 0.0, "readout norm");
    }
}

#[test]
fn powers_of_lambda() {
    let tasks = pair(30, 25, 8);
    let infinite = limit(&tasks);
    let exact = infinite.critical_load().unwrap().alpha_c;
    assert!(exact > 1.2 && exact < 100.0, "{exact}");
    let lambdas = [1e8, 1e9, 1e10];
    let finite: Vec<TwoTasks> =
        lambdas.iter().map(|&l| TwoTasks::new(&tasks, &at(l, 1.0), &Context::default()).unwrap()).collect();
    let slope = |values: &[f64]| (values[2] / values[0]).log10() / 2.0;
    for (alpha, regime, u0, d) in [
        (0.5, Regime::FixedRepresentations, 0.0, 0.0),
        (1.0 + 0.5 * (exact - 1.0), Regime::Overfitting, 0.5, -0.5),
        (2.0 * exact, Regime::Generalization, 0.0, -1.0),
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
        let loss = |two: &TwoTasks, head: usize, point: &TwoTaskPoint| {
            let maps = if head == 1 {
                two.maps(1, tasks[0].x.as_ref(), &labels(&tasks[0].y))
            } else {
                two.maps(2, test.x.as_ref(), &labels(&test.y))
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
            Regime::Generalization => close(first[2], limit_first.coefficient, 1e-3, 0.0, "F21"),
            // F21 vanishes as λ^(-1/2) here.
            Regime::Overfitting => assert!((slope(&first) + 0.5).abs() < 1e-2, "{first:?}"),
            Regime::FixedRepresentations => assert!(first[2].abs() < 1e-4),
        }
        if regime != Regime::Generalization {
            // An exact zero: rounding of squares and variances.
            assert!(limit_first.coefficient.abs() < 1e-11, "{limit_first:?}");
        }
        // Predictions and learned kernels approach their limits.
        let (a, b) = (
            finite[2].predict(2, &points[2], test.x.as_ref()).unwrap(),
            infinite.predict(2, &want, test.x.as_ref()).unwrap(),
        );
        assert!(largest_difference(&a.mean, &b.mean) < 1e-3);
        let scale = 1e10f64.powf(b.variance_exponent);
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
fn odd_activations_decouple_without_penalty() {
    let mut stream = Stream::new(22, "multi-head test", 0);
    let tasks: Vec<Task> = (0..3).map(|_| random_task(&mut stream, 10, 16)).collect();
    for activation in [Activation::Linear, Activation::Erf] {
        for beta in [f64::INFINITY, 50.0] {
            for alpha in [0.5, 3.0] {
                let settings = MultiHeadSettings { activation, beta, ..at(0.0, alpha) };
                let all = MultiHead::new(&tasks, &settings, &Context::default()).unwrap();
                for t in 1..=3 {
                    let alone = MultiHead::new(&tasks[t - 1..t], &settings, &Context::default()).unwrap();
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
    let cold = MultiHead::new(&tasks, &at(5.0, 1.4), &Context::default()).unwrap();
    let mut last = f64::INFINITY;
    for beta in [1e4, 1e6, 1e8] {
        let warm = MultiHead::new(&tasks, &MultiHeadSettings { beta, ..at(5.0, 1.4) }, &Context::default()).unwrap();
        let error = (warm.u1(2, 2) - cold.u1(2, 2)).abs() + (warm.u1(1, 2) - cold.u1(1, 2)).abs();
        // The correction is proportional to 1/β.
        assert!(error < 0.02 * last, "beta {beta}: {error}, before {last}");
        last = error;
    }
    // A kernel of fewer inputs than examples is singular, and temperature is what makes it usable.
    let narrow = pair(14, 5, 11);
    let linear = MultiHeadSettings { activation: Activation::Linear, ..at(5.0, 1.4) };
    assert!(matches!(MultiHead::new(&narrow, &linear, &Context::default()), Err(Error::NotPositiveDefinite { .. })));
    let warm = MultiHead::new(&narrow, &MultiHeadSettings { beta: 20.0, ..linear }, &Context::default()).unwrap();
    assert!(warm.residuals().iter().all(|r| r.residual < 1e-10));
}

/// λ → ∞ at a temperature that is held fixed: hidden weights stay, and task 1 is as it was when it was learned.
#[test]
fn at_a_temperature_a_strong_penalty_keeps_hidden_weights() {
    let tasks = pair(16, 20, 13);
    for beta in [5.0, 50.0] {
        for alpha in [0.6, 3.0] {
            let of = |lambda: f64| MultiHeadSettings { beta, ..at(lambda, alpha) };
            let limit = MultiHead::new(&tasks, &of(f64::INFINITY), &Context::default()).unwrap();
            let alone = MultiHeadSettings { alpha: None, width: Some(limit.width()), ..of(f64::INFINITY) };
            let learned = MultiHead::new(&tasks[..1], &alone, &Context::default()).unwrap().forgetting(1, 1).unwrap();
            // The tolerance of the λ that stands for ∞, and half of the last change again.
            within(limit.forgetting(2, 1).unwrap(), learned, 1.5e-3, "task 1 after task 2");
            let gaps = [1e8, 1e9, 1e10].map(|lambda| {
                (MultiHead::new(&tasks, &of(lambda), &Context::default()).unwrap().forgetting(2, 1).unwrap() - learned)
                    .abs()
            });
            // 1/λ, as what hidden weights learn; below 1e-11 is rounding.
            assert!(gaps[1] < 0.2 * gaps[0] + 1e-11 && gaps[2] < 0.2 * gaps[1] + 1e-11, "{beta} {alpha}: {gaps:?}");
        }
    }
}

#[test]
fn a_temperature_too_low_for_the_limit_is_refused() {
    // At 1/β = 1e-9 no λ that can be computed is strong beside it: losses rest at the limit of β = ∞, another quantity.
    let tasks = pair(16, 20, 13);
    let exact = limit(&tasks).critical_load().unwrap().alpha_c;
    let settings = MultiHeadSettings { beta: 1e9, ..at(f64::INFINITY, 3.0 * exact) };
    refused(
        MultiHead::new(&tasks, &settings, &Context::default()),
        &["lambda = inf at beta = 1e9", "finite lambda", "beta = inf"],
    );
}

#[test]
fn limits_at_large_loads_are_solved_or_refused() {
    for seed in 0..40 {
        let tasks = pair(30, 25, seed);
        for alpha in [20.0, 100.0, 1000.0] {
            match limit(&tasks).point(alpha) {
                Ok(point) => {
                    assert!(point.residuals.iter().all(|r| r.residual < 1e-10), "{seed} {alpha}: {:?}", point.residuals)
                }
                Err(error) => assert!(matches!(error, Error::NotConverged { .. }), "{error}"),
            }
        }
    }
}

/// A sentence writes a penalty with the digits that it was given with: this one has 300 zeros.
#[test]
fn a_large_penalty_is_refused_in_a_short_sentence() {
    let theory = TwoTasks::new(&pair(30, 25, 1), &at(1e300, 100.0), &Context::default()).unwrap();
    let said = theory.point(100.0).unwrap_err().to_string();
    assert!(said.contains("lambda = 1e300 ") && said.len() < 300, "{said}");
}

/// Identical tasks, theory of λ → ∞: `u12 = u0 = u11` and nothing is forgotten, however large the load.
#[test]
fn identical_tasks_keep_their_digits_at_large_loads() {
    for seed in 0..10 {
        let tasks = pair(30, 25, seed);
        let twice = [tasks[0].clone(), tasks[0].clone()];
        for alpha in [2.0, 100.0, 1e4] {
            let point = limit(&twice).point(alpha).unwrap();
            let [u12, u0] = [point.u12, point.u0.limit()].map(|u| (u / point.u11 - 1.0).abs());
            // Rounding of sums over 30 examples, times a condition number of the kernel below 1e3.
            assert!(u12 < 1e-11 && u0 < 1e-11, "{seed} {alpha}: {u12:e} {u0:e}");
        }
    }
}

#[test]
fn a_lambda_that_stands_for_infinity() {
    let tasks = pair(16, 20, 13);
    let exact = limit(&tasks).critical_load().unwrap().alpha_c;
    for alpha in [0.6, 1.0 + 0.5 * (exact - 1.0), 3.0 * exact] {
        let settings = at(1.0, alpha);
        let large = MultiHead::at_large_lambda(&tasks, &settings, 1e-3, &Context::default()).unwrap();
        let two = limit(&tasks);
        let point = two.point(alpha).unwrap();
        let maps = two.maps(1, tasks[0].x.as_ref(), &labels(&tasks[0].y)).unwrap();
        let f21 = two.losses(&maps, std::slice::from_ref(&point))[0].coefficient;
        // λ^(-1/2): the rest of the way to ∞ is at most half as long as the last step of a factor of ten.
        let last = large.evidence().last().unwrap();
        assert!(last.change <= 1e-3 && last.lambda == large.lambda());
        assert!((large.forgetting(2, 1).unwrap() - f21).abs() < 1.5e-3, "alpha {alpha}");
        close(last.readout_exponents[1], point.u22.exponent, 0.05, 1.0, "exponent");
    }
    let mut stream = Stream::new(14, "multi-head test", 0);
    let mut three = tasks.clone();
    three.push(variant(&tasks[0], 0.7, 0.2, &mut stream));
    let large = MultiHead::at_large_lambda(&three, &at(1.0, 0.7), 1e-3, &Context::default()).unwrap();
    assert!(large.evidence().iter().all(|e| e.readout_exponents.len() == 3));
}

#[test]
fn a_task_in_the_middle_may_be_forgotten_without_bound() {
    // The last readout overfits; at this load what the one in the middle computes grows with its norm, as √λ: it has no limit.
    let protocol = Permuted { tasks: 2, p: 30, p_test: 20, ratio: 0.15, permute_first: false, ..Permuted::default() };
    let recipe = Recipe {
        origin: TaskOrigin::Drawn { data: "mnist-sample".into(), protocol: Protocol::Permuted(protocol) },
        preprocess: Some(Preprocess::default()),
        post: PostSteps { interpolate: Some(Interpolated { steps: 1 }), ..PostSteps::default() },
        seed: 0,
    };
    let three = recipe.draw(&Sources::new(), 0).unwrap().tasks;
    let large = MultiHead::at_large_lambda(&three, &at(1.0, 1.5), 1e-3, &Context::default()).unwrap();
    let last = large.evidence().last().unwrap();
    assert!(last.change <= 1e-3, "{last:?}");
    // The approach to the exponent is that to the limit, a few per cent where the search ends.
    close(last.forgetting_exponents[1], 0.5, 0.05, 1.0, "exponent of the forgetting");
    close(last.readout_exponents[1], 0.5, 0.05, 1.0, "exponent of the readout");
    assert!(large.forgetting(3, 2).unwrap() > 10.0 * large.forgetting(3, 1).unwrap());
}

#[test]
fn unequal_sizes_and_erf_reach_the_limit() {
    let mut tasks = pair(24, 30, 17);
    shorten(&mut tasks[0], 16);
    for activation in [Activation::Relu, Activation::Erf] {
        let settings = MultiHeadSettings { activation, ..MultiHeadSettings::default() };
        let infinite = TwoTasks::new(&tasks, &settings, &Context::default()).unwrap();
        let finite =
            TwoTasks::new(&tasks, &MultiHeadSettings { lambda: 1e10, ..settings }, &Context::default()).unwrap();
        let exact = infinite.critical_load().unwrap().alpha_c;
        for alpha in [0.5, 1.0 + 0.5 * (exact.min(20.0) - 1.0), 2.0 * exact.min(1e3)] {
            let (a, b) = (infinite.point(alpha).unwrap(), finite.point(alpha).unwrap());
            // λ^(-1/2) = 1e-5 times a factor that grows towards transitions.
            close(b.u12, a.u12, 1e-3, 0.1, "u12");
            close(b.u22.coefficient, a.u22.at(1e10), 1e-3, 0.0, "u22");
            close(b.d.coefficient, a.d.at(1e10), 1e-3, 0.0, "d");
        }
    }
}
