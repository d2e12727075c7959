//! Order parameters against reference numbers, against their definitions, and in their symmetries.

use crate::support::*;
use ebbing::Context;
use ebbing::kernels::{KernelKind, WeightPrior};
use ebbing::linalg::{Mat, matmul};
use ebbing::rng::Stream;
use ebbing::theory::order_parameters::{
    Interval, Inverse, OrderParameterSettings, OrderParameters, PairOrderParameters, labelings, order_parameters, pair,
};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::theory::{Inputs, KernelTable};
use ebbing::{Kernel, SingleHead, Task, TaskSequence};
use proptest::prelude::*;

fn all(v: &OrderParameters) -> [f64; 10] {
    [
        v.gamma_feature,
        v.gamma_rf,
        v.gamma_rule,
        v.conflict,
        v.gamma_sim,
        v.cos,
        v.proj,
        v.f21,
        v.f21_at_lambda_zero,
        v.delta_f21,
    ]
}

/// Largest difference between two sets of order parameters.
fn gap(a: &OrderParameters, b: &OrderParameters) -> f64 {
    largest_difference(&all(a), &all(b))
}

#[test]
fn reference_numbers() {
    for case in array(&reference("order_parameters")) {
        let (tasks, depth) = (tasks(&case["tasks"]), whole(&case["depth"]));
        let settings = OrderParameterSettings { architecture: relu(depth), ..Default::default() };
        let v = pair(&tasks[0], &tasks[1], &settings, &Context::default()).unwrap().values;
        let names = ["gamma_feature", "gamma_rf", "gamma_rule", "f21_exact", "cos", "proj", "gamma_sim"];
        let got = [v.gamma_feature, v.gamma_rf, v.gamma_rule, v.f21, v.cos, v.proj, v.gamma_sim];
        for (name, got) in names.into_iter().zip(got) {
            // Both sides solve with kernels of condition numbers below 1e5.
            close(got, number(&case[name]), 1e-8, 0.0, &format!("{name} at depth {depth}"));
        }
    }
}

/// The definitions, straight from the kernels, in the order of [`all`].
fn definition(k11: &Mat<f64>, k12: &Mat<f64>, k22: &Mat<f64>, y1: &Mat<f64>, y2: &Mat<f64>, ridge: f64) -> [f64; 10] {
    let ridged = |k: &Mat<f64>| Mat::from_fn(k.nrows(), k.nrows(), |i, j| k[(i, j)] + if i == j { ridge } else { 0.0 });
    let (k11, k22, k21) = (ridged(k11), ridged(k22), k12.transpose().to_owned());
    let over = |a: &Mat<f64>, b: &Mat<f64>| eliminate(a.as_ref(), b.as_ref());
    let mul = |a: &Mat<f64>, b: &Mat<f64>| matmul(a.as_ref(), b.as_ref());
    let dot = |a: &Mat<f64>, b: &Mat<f64>| {
        (0..a.ncols()).flat_map(|j| (0..a.nrows()).map(move |i| (i, j))).map(|at| a[at] * b[at]).sum::<f64>()
    };
    let (n1, n2) = (y1.norm_l2(), y2.norm_l2());
    let (w1, w2) = ((1.0 / n1) * over(&k11, y1), (1.0 / n2) * over(&k22, y2));
    let (a, c) = (mul(k12, &w2), mul(&k21, &w1));
    let e = mul(&k21, &over(&k11, &a));
    let trace = mul(&over(&k22, &k21), &over(&k11, k12));
    let gamma_feature = (0..trace.nrows()).map(|i| trace[(i, i)]).sum::<f64>() / k12.nrows().min(k12.ncols()) as f64;
    let gamma_rf = 0.5 * (dot(&a, &a) + dot(&e, &e));
    let gamma_rule = 0.5 * (dot(&a, &mul(k12, &over(&k22, &c))) + dot(&e, &c));
    let (v1, v2) = (dot(y1, &w1) / n1, dot(y2, &w2) / n2);
    let cos = dot(&w2, &c) / (v1 * v2).sqrt();
    let proj = dot(&c, &over(&k22, &c)) / v1;
    let rest = y2 - mul(&k21, &over(&k11, y1));
    // f_2(X_1) − Y_1, where the ridge leaves ridge · u_1 of Y_1.
    let left = ridge * n1 * &w1;
    let f21 = (mul(k12, &over(&k22, &rest)) - left).squared_norm_l2() / (n1 * n1);
    let free = (mul(k12, &over(&k22, y2)) - y1).squared_norm_l2() / (n1 * n1);
    let (conflict, gamma_sim) = (gamma_rf - gamma_rule, gamma_feature + cos * cos - proj);
    [gamma_feature, gamma_rf, gamma_rule, conflict, gamma_sim, cos, proj, f21, free, f21 - free]
}

#[test]
fn definitions_for_unequal_sizes_several_columns_shared_inputs_and_ridge() {
    let mut stream = Stream::new(1, "tasks", 0);
    let (x1, mut x2) = (gauss(&mut stream, 12, 20), gauss(&mut stream, 17, 20));
    for shared in [0, 5, 12] {
        // The first inputs of task 1 appear in task 2 in reverse order.
        (0..shared).for_each(|i| (0..20).for_each(|j| x2[(16 - i, j)] = x1[(i, j)]));
        let (y1, y2) = (gauss(&mut stream, 12, 3), gauss(&mut stream, 17, 3));
        let kernel =
            Kernel::new(KernelKind::Nngp, relu(2), WeightPrior::new(f64::INFINITY, 1.0).unwrap(), 1, 1).unwrap();
        let k = |a: &Mat<f64>, b: &Mat<f64>| kernel.gram(a.as_ref(), b.as_ref()).unwrap();
        let (k11, k12, k22) = (k(&x1, &x1), k(&x1, &x2), k(&x2, &x2));
        let (one, two) = (Task::new(x1.clone(), y1.clone()), Task::new(x2.clone(), y2.clone()));
        for ridge in [0.0, 0.3] {
            let settings = OrderParameterSettings { architecture: relu(2), ridge, ..Default::default() };
            let want = definition(&k11, &k12, &k22, &y1, &y2, ridge);
            let data = pair(&one, &two, &settings, &Context::default()).unwrap();
            let kernels = (k11.as_ref(), k12.as_ref(), k22.as_ref());
            let table = KernelTable::two_tasks(kernels, (y1.as_ref(), y2.as_ref())).unwrap();
            let given = order_parameters(&table, &settings, &Context::default()).unwrap().swap_remove(0);
            for got in [&data, &given] {
                // Rounding times a condition number below 1e3.
                assert!(
                    largest_difference(&all(&got.values), &want) < 1e-11,
                    "{shared} {ridge}: {:?} for {want:?}",
                    got.values
                );
            }
            let several = labelings(&table, &settings).unwrap();
            assert_eq!(several.len(), 3);
            for (k, got) in several.iter().enumerate() {
                let column = |y: &Mat<f64>| y.as_ref().subcols(k, 1).to_owned();
                let alone = definition(&k11, &k12, &k22, &column(&y1), &column(&y2), ridge);
                assert!(largest_difference(&all(got), &alone) < 1e-11, "{k}: {got:?} for {alone:?}");
            }
            let fewer = (y1.as_ref(), y2.as_ref().subcols(0, 2));
            assert!(labelings(&KernelTable::two_tasks(kernels, fewer).unwrap(), &settings).is_err());
            assert_eq!(data.ranks, [12, 17]);
            assert_eq!(data.inverse, if ridge > 0.0 { Inverse::Ridge } else { Inverse::Exact });
        }
    }
}

#[test]
fn rf_forecasts_are_the_exact_forgetting() {
    let mut stream = Stream::new(2, "tasks", 0);
    let tasks = sequence(vec![random_task(&mut stream, 15, 20), random_task(&mut stream, 11, 20)]);
    for depth in [1, 4] {
        let settings = OrderParameterSettings { architecture: relu(depth), ..Default::default() };
        let v = pair(&tasks.tasks[0], &tasks.tasks[1], &settings, &Context::default()).unwrap().values;
        let single = SingleHeadSettings { architecture: relu(depth), ..Default::default() };
        let network = SingleHead::new(&tasks, &single, &Context::default()).unwrap().forecast().unwrap();
        // The same number by two ways: rounding times a condition number below 1e3.
        assert!((network.forgetting[1][0] - v.f21).abs() < 1e-11 * v.f21);
        assert!((network.delta_f21.unwrap() - v.delta_f21).abs() < 1e-11);
        let free = network.f21_at_lambda_zero.unwrap();
        assert!((free - v.f21_at_lambda_zero).abs() < 1e-11 * free);
    }
}

/// Two tasks that look alike from either side: shared inputs, related rules, targets ±1.
fn symmetric_pair(seed: u64) -> (Task, Task) {
    let mut stream = Stream::new(seed, "symmetric pair", 0);
    let (p, dim) = (20, 25);
    let (common, teacher) = (gauss(&mut stream, 8, dim), gauss(&mut stream, dim, 1));
    let mut one = || {
        let own = gauss(&mut stream, p - 8, dim);
        let x = Mat::from_fn(p, dim, |i, j| if i < 8 { common[(i, j)] } else { own[(i - 8, j)] });
        let y = matmul(x.as_ref(), teacher.as_ref());
        // Each task has the teacher's labels, one in four flipped at random.
        let y = Mat::from_fn(p, 1, |i, _| if stream.chance(0.25) { -y[(i, 0)].signum() } else { y[(i, 0)].signum() });
        Task::new(x, y)
    };
    (one(), one())
}

#[test]
fn forgetting_is_twice_the_conflict_on_average() {
    let draws: Vec<OrderParameters> = (0..400)
        .map(|seed| {
            let (one, two) = symmetric_pair(seed);
            pair(&one, &two, &OrderParameterSettings::default(), &Context::default()).unwrap().values
        })
        .collect();
    let gaps: Vec<f64> = draws.iter().map(|v| v.f21 - 2.0 * v.conflict).collect();
    let (n, (mean, deviation)) = (gaps.len() as f64, mean_and_deviation(&gaps));
    // Zero on average, to three standard errors; far from zero in single draws.
    assert!(mean.abs() < 3.0 * deviation / n.sqrt(), "{mean} ± {}", deviation / n.sqrt());
    let forgetting = draws.iter().map(|v| v.f21).sum::<f64>() / n;
    assert!(deviation > 0.1 * forgetting, "{deviation} of {forgetting}");
    let (rf, rule) = draws.iter().fold((0.0, 0.0), |sum, v| (sum.0 + v.gamma_rf, sum.1 + v.gamma_rule));
    // The rules are related, so that the check is of γ_rule too and not of γ_RF alone; on average |γ_rule| ≤ γ_RF.
    assert!(rule > 0.0 && rule < rf, "{rule} {rf}");
}

#[test]
fn identical_tasks() {
    let one = random_task(&mut Stream::new(3, "tasks", 0), 20, 30);
    let v = pair(&one, &one, &OrderParameterSettings::default(), &Context::default()).unwrap().values;
    let same = OrderParameters {
        gamma_feature: 1.0,
        gamma_rf: 1.0,
        gamma_rule: 1.0,
        conflict: 0.0,
        gamma_sim: 1.0,
        cos: 1.0,
        proj: 1.0,
        ..Default::default()
    };
    // Rounding times a condition number below 1e3.
    assert!(gap(&v, &same) < 1e-11, "{v:?}");
    let opposite = Task::new(one.x.clone(), -&one.y);
    let v = pair(&one, &opposite, &OrderParameterSettings::default(), &Context::default()).unwrap().values;
    assert!((v.gamma_rule + 1.0).abs() < 1e-11 && (v.gamma_sim - 1.0).abs() < 1e-11 && (v.f21 - 4.0).abs() < 1e-10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn bounds_and_scales(
        seed in any::<u64>(),
        p1 in 2usize..14,
        p2 in 2usize..14,
        shared in 0usize..14,
        scale in prop::sample::select(vec![-3.0, -1.0, 0.2, 50.0]),
    ) {
        let mut stream = Stream::new(seed, "property", 0);
        let (x1, mut x2) = (gauss(&mut stream, p1, 16), gauss(&mut stream, p2, 16));
        (0..shared.min(p1).min(p2)).for_each(|i| (0..16).for_each(|j| x2[(i, j)] = x1[(i, j)]));
        let (one, two) = (Task::new(x1, gauss(&mut stream, p1, 2)), Task::new(x2, gauss(&mut stream, p2, 2)));
        let settings = OrderParameterSettings::default();
        let v = pair(&one, &two, &settings, &Context::default()).unwrap().values;
        // Rounding times a condition number below 1e4.
        let rounding = 1e-10;
        prop_assert!(v.gamma_feature > -rounding && v.gamma_feature < 1.0 + rounding);
        prop_assert!(v.gamma_rf >= 0.0 && v.f21 >= 0.0 && v.cos.abs() < 1.0 + rounding);
        prop_assert!(v.gamma_sim <= v.gamma_feature + rounding);
        prop_assert!(v.proj > -rounding && v.proj < 1.0 + rounding);
        // The scale of task 2's targets is divided out; their sign turns γ_rule and cos.
        let scaled = Task::new(two.x.clone(), scale * &two.y);
        let s = pair(&one, &scaled, &settings, &Context::default()).unwrap().values;
        let turn = f64::signum(scale);
        for (a, b) in [
            (s.gamma_feature, v.gamma_feature),
            (s.gamma_rf, v.gamma_rf),
            (s.gamma_rule, turn * v.gamma_rule),
            (s.cos, turn * v.cos),
            (s.proj, v.proj),
            (s.gamma_sim, v.gamma_sim),
        ] {
            prop_assert!((a - b).abs() < rounding * b.abs().max(1.0), "{} {}", a, b);
        }
        // Both scaled alike: nothing changes at all.
        let both = pair(&Task::new(one.x.clone(), scale * &one.y), &scaled, &settings, &Context::default()).unwrap().values;
        prop_assert!(gap(&both, &v) < rounding * v.f21.max(1.0));
    }
}

#[test]
fn all_pairs_are_the_single_pairs() {
    let mut stream = Stream::new(4, "tasks", 0);
    let common = gauss(&mut stream, 6, 20);
    let tasks: Vec<Task> = [9, 12, 7]
        .iter()
        .map(|&own| {
            let x = gauss(&mut stream, own, 20);
            let x = Mat::from_fn(own + 6, 20, |i, j| if i < own { x[(i, j)] } else { common[(i - own, j)] });
            Task::new(x, gauss(&mut stream, own + 6, 2))
        })
        .collect();
    let settings = OrderParameterSettings { shuffles: 20, resamples: 20, ..Default::default() };
    let pairs = order_parameters(&sequence(tasks.clone()), &settings, &Context::default()).unwrap();
    let order: Vec<(usize, usize)> = pairs.iter().map(|p| (p.first, p.second)).collect();
    assert_eq!(order, [(1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 2)]);
    for pair in &pairs {
        let alone = ebbing::theory::order_parameters::pair(
            &tasks[pair.first - 1],
            &tasks[pair.second - 1],
            &settings,
            &Context::default(),
        )
        .unwrap();
        assert!(gap(&pair.values, &alone.values) < 1e-11, "{pair:?}");
        assert_eq!(pair.ranks, alone.ranks);
        let (interval, null) = (pair.interval.as_ref().unwrap(), pair.null.as_ref().unwrap());
        assert_eq!((interval.samples, null.samples), (20, 20));
        // Targets do not enter γ_feature.
        assert!(
            null.deviation.gamma_feature < 1e-14 && (null.mean.gamma_feature - pair.values.gamma_feature).abs() < 1e-14
        );
        assert!(all(&interval.low).iter().zip(all(&interval.high)).all(|(low, high)| *low <= high));
    }
    let again = order_parameters(&sequence(tasks), &settings, &Context::default()).unwrap();
    assert_eq!(pairs, again);
}

#[test]
fn narrow_features_are_inverted_at_their_rank() {
    let mut stream = Stream::new(5, "features", 0);
    // Six examples of task 1 in three directions, fifteen of task 2 in all eight.
    let phi1 = matmul(gauss(&mut stream, 6, 3).as_ref(), gauss(&mut stream, 3, 8).as_ref());
    let phi2 = gauss(&mut stream, 15, 8);
    let (y1, y2) = (gauss(&mut stream, 6, 1), gauss(&mut stream, 15, 1));
    let features = sequence(vec![Task::new(phi1.clone(), y1.clone()), Task::new(phi2.clone(), y2.clone())]);
    let settings = OrderParameterSettings::default();
    let pair = &order_parameters(Inputs::Features(&features), &settings, &Context::default()).unwrap()[0];
    assert_eq!((pair.inverse, pair.ranks), (Inverse::Pseudo, [3, 8]));
    // All of task 1's directions lie in those of task 2, which are all there are.
    assert!((pair.values.gamma_feature - 1.0).abs() < 1e-11, "{}", pair.values.gamma_feature);
    assert!((pair.values.proj - 1.0).abs() < 1e-11);
    // Least squares for task 2 after least squares for task 1: all that is left of task 1 is what task 2 fits of it.
    let weights = |phi: &Mat<f64>, y: &Mat<f64>| {
        let (normal, right) = (matmul(phi.transpose(), phi.as_ref()), matmul(phi.transpose(), y.as_ref()));
        eliminate(normal.as_ref(), right.as_ref())
    };
    let w2 = weights(&phi2, &y2);
    let free = (matmul(phi1.as_ref(), w2.as_ref()) - &y1).squared_norm_l2() / y1.squared_norm_l2();
    assert!((pair.values.f21_at_lambda_zero - free).abs() < 1e-11 * free);
    // A ridge as small as rounding allows gives the same.
    let ridged = OrderParameterSettings { ridge: 1e-9, ..settings };
    let with_ridge = &order_parameters(Inputs::Features(&features), &ridged, &Context::default()).unwrap()[0];
    assert_eq!((with_ridge.inverse, with_ridge.ranks), (Inverse::Ridge, [6, 8]));
    // First order in the ridge over the smallest eigenvalue, about 1e-1; the ridge counts six directions where three exist.
    assert!((with_ridge.values.gamma_feature - 0.5).abs() < 1e-6, "{}", with_ridge.values.gamma_feature);
    assert!((with_ridge.values.f21_at_lambda_zero - free).abs() < 1e-6 * free);
    // Wide features are inverted as they are.
    let wide = sequence(vec![Task::new(gauss(&mut stream, 6, 40), y1), Task::new(gauss(&mut stream, 15, 40), y2)]);
    let pair = &order_parameters(Inputs::Features(&wide), &settings, &Context::default()).unwrap()[0];
    assert_eq!((pair.inverse, pair.ranks), (Inverse::Exact, [6, 15]));
}

#[test]
fn intervals_measure_the_spread_over_draws() {
    let draw = |seed: u64| symmetric_pair(seed + 10_000);
    let settings = OrderParameterSettings { resamples: 100, ..Default::default() };
    let pairs: Vec<PairOrderParameters> = (0..150)
        .map(|seed| {
            let (one, two) = draw(seed);
            pair(&one, &two, &settings, &Context::default()).unwrap()
        })
        .collect();
    // Labels and inputs are drawn anew; the eight common inputs too.
    for (name, k) in [("gamma_feature", 0), ("gamma_rf", 1), ("gamma_rule", 2), ("f21", 7)] {
        let values: Vec<f64> = pairs.iter().map(|p| all(&p.values)[k]).collect();
        let (_, actual) = mean_and_deviation(&values);
        let errors: Vec<f64> = pairs.iter().map(|p| all(&p.interval.as_ref().unwrap().standard_error)[k]).collect();
        let (claimed, _) = mean_and_deviation(&errors);
        println!("{name}: spread over draws {actual:.4}, claimed {claimed:.4}");
        // Exact to leading order in 1/P only, and the halves have ten examples: within a factor of two.
        assert!((claimed / actual).ln().abs() < 2f64.ln(), "{name}: {claimed} for {actual}");
    }
}

/// Two recordings of `trials` trials by 20 neurons of unequal strength, with labels that both tasks read out in part alike.
fn recordings(trials: usize, seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "recordings", trials as u64);
    let tasks = (0..2).map(|t| {
        let strength = |j: usize| 0.5 + (if t == 0 { 19 - j } else { j }) as f64 / 19.0;
        let x = Mat::from_fn(trials, 20, |_, j| strength(j) * stream.normal());
        let y = Mat::from_fn(trials, 1, |i, _| {
            let signal: f64 = (0..20).map(|j| x[(i, j)] * if j % 3 == 0 { 1.0 } else { -0.5 }).sum();
            if signal + 2.0 * stream.normal() > 0.0 { 1.0 } else { -1.0 }
        });
        Task::new(x, y)
    });
    sequence(tasks.collect())
}

fn of_recordings(trials: usize, seed: u64, settings: &OrderParameterSettings) -> PairOrderParameters {
    order_parameters(Inputs::Features(&recordings(trials, seed)), settings, &Context::default()).unwrap().swap_remove(0)
}

/// Half of forty trials are as many as there are neurons: halves of them are singular, nine tenths are not.
#[test]
fn intervals_cover_at_the_rate_that_they_state() {
    const DRAWS: u64 = 100;
    let settings = OrderParameterSettings { resamples: 60, ..Default::default() };
    // From twice as many trials as neurons on intervals are at least as wide as they should be; with fewer trials than neurons
    // values have a long upper tail and the average over draws is above most of them (docs/theory.md).
    for (trials, nominal, widest) in [(40, 0.95, 4.0), (60, 0.95, 2.5), (10, 0.8, 2.5)] {
        let truth: Vec<OrderParameters> =
            (0..600).map(|k| of_recordings(trials, 1000 + k, &Default::default()).values).collect();
        let pairs: Vec<PairOrderParameters> = (0..DRAWS).map(|k| of_recordings(trials, k, &settings)).collect();
        for (name, k) in [("gamma_rf", 1), ("gamma_rule", 2), ("conflict", 3), ("f21", 7)] {
            let (expected, spread) = mean_and_deviation(&truth.iter().map(|v| all(v)[k]).collect::<Vec<_>>());
            let covers = |p: &&PairOrderParameters| {
                let interval = p.interval.as_ref().unwrap();
                (all(&interval.low)[k]..=all(&interval.high)[k]).contains(&expected)
            };
            let rate = pairs.iter().filter(covers).count() as f64 / DRAWS as f64;
            // Three binomial standard errors.
            let allowed = 3.0 * (nominal * (1.0 - nominal) / DRAWS as f64).sqrt();
            assert!(rate >= nominal - allowed, "{trials} {name}: {rate}");
            let mut errors: Vec<f64> =
                pairs.iter().map(|p| all(&p.interval.as_ref().unwrap().standard_error)[k]).collect();
            errors.sort_by(f64::total_cmp);
            let claimed = errors[errors.len() / 2];
            println!("{trials} {name}: covers {rate}, {:.2} of the spread", claimed / spread);
            assert!(claimed < widest * spread, "{trials} {name}: {claimed} for {spread}");
        }
    }
}

#[test]
fn intervals_hold_their_values_and_what_is_possible() {
    let settings = OrderParameterSettings { resamples: 20, ..Default::default() };
    let narrow = [8, 12, 27, 30, 40, 60].map(|trials| of_recordings(trials, trials as u64, &settings));
    let wide = (0..10).map(|seed| {
        let (one, two) = symmetric_pair(seed);
        pair(&one, &two, &settings, &Context::default()).unwrap()
    });
    for pair in narrow.into_iter().chain(wide) {
        let Interval { low, high, .. } = pair.interval.as_ref().unwrap();
        for ((low, value), high) in all(low).iter().zip(all(&pair.values)).zip(all(high)) {
            assert!(*low <= value && value <= high, "{pair:?}");
        }
        let within = |low: f64, high: f64, least: f64, largest: f64| {
            // Values of γ_feature are right to rounding.
            assert!(low >= least - 1e-12 && high <= largest + 1e-12, "{pair:?}");
        };
        within(low.gamma_feature, high.gamma_feature, 0.0, 1.0);
        within(low.cos, high.cos, -1.0, 1.0);
        within(low.proj, high.proj, 0.0, 1.0);
        within(low.gamma_sim, high.gamma_sim, -1.0, 2.0);
        for (low, high) in [(low.gamma_rf, high.gamma_rf), (low.f21, high.f21)] {
            within(low, high, 0.0, f64::INFINITY);
        }
    }
}

#[test]
fn about_as_many_trials_as_neurons_have_no_intervals() {
    let settings = OrderParameterSettings { resamples: 20, ..Default::default() };
    let of = |trials: usize, settings: &OrderParameterSettings| {
        order_parameters(Inputs::Features(&recordings(trials, 1)), settings, &Context::default())
    };
    for trials in [15, 18, 20, 21, 26] {
        refused(
            of(trials, &settings),
            &["task 1 has", &format!("{trials} trials of 20 neurons"), "at most 14 or at least 27"],
        );
        of(trials, &Default::default()).unwrap();
    }
    // What is advised works.
    let said = of(20, &settings).unwrap_err().to_string();
    let ridge: f64 = said.split("a ridge of ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    of(20, &OrderParameterSettings { ridge, ..settings }).unwrap();
    assert!(of(14, &settings).is_ok() && of(27, &settings).is_ok());
}

#[test]
fn shuffled_targets_have_no_rule() {
    let (one, two) = symmetric_pair(77);
    let settings = OrderParameterSettings { shuffles: 1000, ..Default::default() };
    let pair = pair(&one, &two, &settings, &Context::default()).unwrap();
    let null = pair.null.unwrap();
    // Four standard errors of a Monte Carlo average; targets of mean m keep m²/P of their rule.
    let bias = [&one, &two].map(|t| (0..20).map(|i| t.y[(i, 0)]).sum::<f64>() / 20.0);
    let allowed = 4.0 * null.deviation.gamma_rule / 1000f64.sqrt() + (bias[0] * bias[1]).abs();
    assert!(null.mean.gamma_rule.abs() < allowed, "{} {allowed}", null.mean.gamma_rule);
    assert!(null.low.gamma_rule < 0.0 && null.high.gamma_rule > 0.0);
    assert!(null.mean.gamma_rf > 0.0 && null.deviation.gamma_rf > 0.0);
}

#[test]
fn the_same_bits_at_any_number_of_threads() {
    let mut stream = Stream::new(6, "tasks", 0);
    let tasks = sequence((0..3).map(|_| random_task(&mut stream, 150, 40)).collect());
    let settings = OrderParameterSettings { shuffles: 20, resamples: 20, ..Default::default() };
    let run =
        |threads: usize| on_threads(threads, || order_parameters(&tasks, &settings, &Context::default()).unwrap());
    let one = run(1);
    assert!(one == run(2) && one == run(5));
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let mut stream = Stream::new(7, "tasks", 0);
    let sound = random_task(&mut stream, 6, 10);
    let settings = OrderParameterSettings::default();
    let refuse = |settings: &OrderParameterSettings, second: Task, part: &str| {
        refused(pair(&sound, &second, settings, &Context::default()), &[part]);
    };
    refuse(&settings, random_task(&mut Stream::new(8, "tasks", 0), 6, 9), "task 2");
    refuse(&settings, Task::new(sound.x.clone(), Mat::zeros(6, 1)), "targets are all zero");
    refuse(&settings, Task::new(Mat::from_fn(1, 10, |_, j| j as f64), Mat::from_fn(1, 1, |_, _| 1.0)), "1 example");
    refuse(&settings, Task::new(sound.x.clone(), Mat::zeros(6, 2)), "2 target columns");
    refuse(&settings, Task::new(sound.x.clone(), Mat::from_fn(6, 1, |i, _| (i as f64 - 2.0).sqrt())), "NaN");
    let mut twins = random_task(&mut Stream::new(9, "tasks", 0), 6, 10);
    (0..10).for_each(|j| twins.x[(5, j)] = twins.x[(1, j)]);
    (twins.y[(1, 0)], twins.y[(5, 0)], twins.y[(0, 0)]) = (1.0, -1.0, 1.0);
    assert_eq!(pair(&sound, &twins, &settings, &Context::default()).unwrap().ranks, [6, 5]);
    (0..10).for_each(|j| twins.x[(5, j)] *= 2.0);
    refuse(&settings, twins, "rows 2 and 6 are proportional");
    let fine = || random_task(&mut Stream::new(10, "tasks", 0), 6, 10);
    refuse(&OrderParameterSettings { ridge: -1.0, ..settings }, fine(), "ridge");
    refuse(&OrderParameterSettings { sigma2: 0.0, ..settings }, fine(), "sigma2");
    refuse(&OrderParameterSettings { shuffles: 3, ..settings }, fine(), "shuffles");
    refuse(&OrderParameterSettings { confidence: 1.0, ..settings }, fine(), "confidence");
    refuse(&OrderParameterSettings { architecture: relu(0), ..settings }, fine(), "depth");
    let neurons = sequence(vec![sound.clone(), random_task(&mut stream, 6, 12)]);
    refused(order_parameters(Inputs::Features(&neurons), &settings, &Context::default()), &["task 2", "12 neurons"]);
    let square = Mat::<f64>::identity(6, 6);
    let kernels = (square.as_ref(), square.submatrix(0, 0, 5, 6), square.as_ref());
    refused(KernelTable::two_tasks(kernels, (sound.y.as_ref(), sound.y.as_ref())), &["5 × 6"]);
}
