//! Data, features and kernels that are given, shared inputs, held-out data: the same numbers by every way.

use super::*;
use ebbing::Context;

#[test]
fn features_and_kernels_say_the_same_as_data() {
    let tasks = random_tasks(&[8, 11, 6], 40, 2, 8);
    let s = settings(Mode::Rf, f64::INFINITY);
    // Linear networks of depth 1 have K = x·x'/N0, which is what features give.
    let linear = Architecture { activation: Activation::Linear, depth: 1 };
    let data = SingleHead::new(&tasks, &SingleHeadSettings { architecture: linear, ..s }, &Context::default()).unwrap();
    let features = SingleHead::new(Inputs::Features(&tasks), &s, &Context::default()).unwrap();
    let stacked: Vec<&Mat<f64>> = tasks.tasks.iter().map(|t| &t.x).collect();
    let all = Mat::from_fn(25, 40, |i, j| match i {
        0..8 => stacked[0][(i, j)],
        8..19 => stacked[1][(i - 8, j)],
        _ => stacked[2][(i - 19, j)],
    });
    let kernel_task = |rows: std::ops::Range<usize>, t: usize| KernelTask {
        name: String::new(),
        rows: rows.collect(),
        y: tasks.tasks[t].y.clone(),
        test: None,
    };
    let rows = [kernel_task(0..8, 0), kernel_task(8..19, 1), kernel_task(19..25, 2)];
    let prior = WeightPrior::new(f64::INFINITY, 1.0).unwrap();
    for (mode, network) in [(Mode::Rf, &data), (Mode::Rf, &features)] {
        let k = Kernel::new(KernelKind::Nngp, linear, prior, 1, 1).unwrap().gram_symmetric(all.as_ref()).unwrap();
        let kernels =
            SingleHead::new(&table(k, None, &rows), &settings(mode, f64::INFINITY), &Context::default()).unwrap();
        let (f, g) = (network.forgetting().unwrap(), kernels.forgetting().unwrap());
        for (t, s) in [(1, 0), (2, 0), (2, 1), (0, 2)] {
            assert!((f[t][s] - g[t][s]).abs() < 1e-11 * g[t][s], "{t} {s}: {} {}", f[t][s], g[t][s]);
        }
        let (a, b) = (network.variance(&tasks.tasks[0].x, 3).unwrap(), kernels.variance(&rows[0].rows[..], 3).unwrap());
        assert!(largest_difference(&a, &b) < 1e-11, "{a:?} {b:?}");
    }
    // Mode ntk from two tables.
    let two = |kind: KernelKind| Kernel::new(kind, relu(2), prior, 1, 1).unwrap().gram_symmetric(all.as_ref()).unwrap();
    let ntk = SingleHeadSettings { architecture: relu(2), ..settings(Mode::Ntk, f64::INFINITY) };
    let kernels =
        SingleHead::new(&table(two(KernelKind::Nngp), Some(two(KernelKind::Ntk)), &rows), &ntk, &Context::default())
            .unwrap();
    let (f, g) = (
        kernels.forgetting().unwrap(),
        SingleHead::new(&tasks, &ntk, &Context::default()).unwrap().forgetting().unwrap(),
    );
    assert!((f[2][0] - g[2][0]).abs() < 1e-11 * g[2][0]);
}

/// Tasks that share inputs: `common` ones by all, in different places.
fn sharing_tasks(common: usize, own: usize, count: usize, seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "sharing tasks", 0);
    let dim = 30;
    let shared = gauss(&mut stream, common, dim);
    let tasks = (0..count).map(|_| {
        let mut rows: Vec<Option<usize>> = (0..common).map(Some).chain((0..own).map(|_| None)).collect();
        stream.shuffle(&mut rows);
        let x = gauss(&mut stream, common + own, dim);
        let x = Mat::from_fn(common + own, dim, |i, j| rows[i].map_or(x[(i, j)], |r| shared[(r, j)]));
        let y = gauss(&mut stream, common + own, 2);
        Task::new(x, y).with_test(gauss(&mut stream, 5, dim), gauss(&mut stream, 5, 2))
    });
    sequence(tasks.collect())
}

#[test]
fn sharing_and_the_budget_change_nothing() {
    for (common, own) in [(12, 6), (14, 0), (0, 14), (1, 10)] {
        let tasks = sharing_tasks(common, own, 4, 11);
        for (mode, lambda) in ALL_MODES {
            for beta in [f64::INFINITY, 10.0] {
                let s = SingleHeadSettings { beta, ..settings(mode, lambda) };
                let apart =
                    SingleHead::new(&tasks, &SingleHeadSettings { share: false, ..s }, &Context::default()).unwrap();
                assert_eq!(apart.shared_inputs(), 0);
                for keep_bytes in [0, 2000, 1 << 30] {
                    let shared =
                        SingleHead::new(&tasks, &SingleHeadSettings { keep_bytes, ..s }, &Context::default()).unwrap();
                    assert_eq!(shared.shared_inputs(), if lambda == 3.0 { 0 } else { common });
                    let (a, b) = (apart.forecast().unwrap(), shared.forecast().unwrap());
                    let gap = largest_difference(&flat(&a), &flat(&b));
                    // Rounding times a condition number below 1e3, in numbers of order one.
                    assert!(gap < 1e-11, "{common} {own} {mode:?} {beta} {keep_bytes}: {gap:e}");
                    let x = &tasks.tasks[1].x;
                    let (a, b) = (apart.variance(x, 4).unwrap(), shared.variance(x, 4).unwrap());
                    assert!(largest_difference(&a, &b) < 1e-11);
                }
            }
        }
    }
}

/// All losses of a forecast.
fn flat(forecast: &ebbing::theory::single_head::SingleHeadForecast) -> Vec<f64> {
    let test = forecast.test.as_ref().unwrap();
    let all = [&forecast.forgetting, &test.loss, &test.generalization, &test.forgetting];
    all.into_iter().flatten().flatten().copied().chain(forecast.f21_at_lambda_zero).collect()
}

#[test]
fn held_out_data() {
    let mut tasks = sharing_tasks(0, 12, 3, 12);
    // Only classes have accuracies.
    for set in tasks.tasks.iter_mut().filter_map(|task| task.test.as_mut()) {
        set.y = Mat::from_fn(set.y.nrows(), set.y.ncols(), |i, j| set.y[(i, j)].signum());
    }
    for (mode, lambda) in ALL_MODES {
        for variance in [false, true] {
            let s = SingleHeadSettings { variance, ..settings(mode, lambda) };
            let network = SingleHead::new(&tasks, &s, &Context::default()).unwrap();
            let forecast = network.forecast().unwrap();
            let test = forecast.test.unwrap();
            for t in 0..3 {
                for r in 0..3 {
                    let set = tasks.tasks[r].test.as_ref().unwrap();
                    let mean = network.mean(&set.x, t + 1).unwrap();
                    let spread = network.variance(&set.x, t + 1).unwrap();
                    let spread = variance.then_some(&spread[..]);
                    let want = ebbing::metrics::squared_loss(mean.as_ref(), set.y.as_ref(), spread).unwrap();
                    assert!((test.loss[t][r] - want).abs() < 1e-13 * want);
                    assert_eq!(test.generalization[t][r], test.loss[t][r] / test.alone[r]);
                    if r <= t {
                        assert_eq!(test.forgetting[t][r], test.loss[t][r] - test.loss[r][r]);
                    }
                    let hits = ebbing::metrics::accuracy(mean.as_ref(), set.y.as_ref(), spread).unwrap();
                    assert!((test.accuracy.as_ref().unwrap()[t][r] - hits).abs() < 1e-13);
                }
            }
            // The first task is learned by a fresh network.
            assert!((test.generalization[0][0] - 1.0).abs() < 1e-12, "{}", test.generalization[0][0]);
        }
    }
}

#[test]
fn the_same_bits_at_any_number_of_threads() {
    let tasks = sharing_tasks(90, 60, 3, 14);
    let query = Mat::from_fn(4, 30, |i, j| ((3 + i * 30 + j) as f64 * 0.3).sin());
    let run = |threads: usize, mode: Mode, lambda: f64| {
        let s = SingleHeadSettings { variance: true, ..settings(mode, lambda) };
        on_threads(threads, || {
            let network = SingleHead::new(&tasks, &s, &Context::default()).unwrap();
            let draws = network.sample(&query, 2, &mut Stream::new(1, "threads", 0)).unwrap();
            let bits: Vec<u64> = flat(&network.forecast().unwrap()).iter().map(|v| v.to_bits()).collect();
            (bits, draws)
        })
    };
    for (mode, lambda) in ALL_MODES {
        let one = run(1, mode, lambda);
        assert!(one == run(2, mode, lambda) && one == run(5, mode, lambda), "{mode:?}");
    }
}

#[test]
fn narrow_features_use_the_pseudo_inverse_at_a_reported_rank() {
    // Ten neurons and 16 examples: least squares by the smallest change of the readout, written out.
    let tasks = random_tasks(&[16, 16], 10, 1, 15);
    let network =
        SingleHead::new(Inputs::Features(&tasks), &settings(Mode::Rf, f64::INFINITY), &Context::default()).unwrap();
    let forecast = network.forecast().unwrap();
    assert_eq!(forecast.ranks, [10, 10]);
    let mut readout = Mat::<f64>::zeros(10, 1);
    for task in &tasks.tasks {
        let rest = &task.y - matmul(task.x.as_ref(), readout.as_ref());
        let normal = matmul(task.x.transpose(), task.x.as_ref());
        let right = matmul(task.x.transpose(), rest.as_ref());
        readout += Cholesky::factor(normal.as_ref(), "normal equations").unwrap().solve(right.as_ref());
    }
    let first = &tasks.tasks[0];
    let f = matmul(first.x.as_ref(), readout.as_ref());
    let gap = distance(network.mean(&first.x, 2).unwrap().as_ref(), f.as_ref());
    // Rounding times the condition number (below 1e2) of the normal equations.
    assert!(gap < 1e-11, "{gap:e}");
}

/// Kernels and tasks as the theory takes them.
fn table(nngp: Mat<f64>, ntk: Option<Mat<f64>>, tasks: &[KernelTask]) -> KernelTable {
    KernelTable { nngp: nngp.into(), ntk: ntk.map(Into::into), tasks: tasks.to_vec() }
}
