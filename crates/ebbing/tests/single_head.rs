//! The single-head theory against reference numbers, against its own sample-path form, and in its limits.

use ebbing::{
    Activation, Architecture, Cholesky, Error, Kernel, KernelKind, KernelTask, Mat, MatRef, Mode, SingleHead,
    SingleHeadSettings, Stream, Task, TaskSequence, TestSet, WeightPrior, matmul,
};
use serde_json::Value;

fn relu(depth: usize) -> Architecture {
    Architecture { activation: Activation::Relu, depth }
}

fn settings(mode: Mode, lambda: f64) -> SingleHeadSettings {
    SingleHeadSettings { mode, lambda, ..Default::default() }
}

fn sequence(tasks: Vec<Task>) -> TaskSequence {
    TaskSequence { tasks, settings: Value::Null }
}

fn task(x: Mat<f64>, y: Mat<f64>) -> Task {
    Task { name: String::new(), x, y, rows: None, test: None }
}

/// Tasks of Gaussian inputs and targets with the given sizes.
fn random_tasks(sizes: &[usize], dim: usize, columns: usize, seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "test tasks", 0);
    let mut gauss = |rows: usize, columns: usize| Mat::from_fn(rows, columns, |_, _| stream.normal());
    sequence(sizes.iter().map(|&p| task(gauss(p, dim), gauss(p, columns))).collect())
}

fn matrix(value: &Value) -> Mat<f64> {
    let rows: Vec<Vec<f64>> = match value[0].as_array() {
        Some(_) => serde_json::from_value(value.clone()).unwrap(),
        None => serde_json::from_value::<Vec<f64>>(value.clone()).unwrap().into_iter().map(|v| vec![v]).collect(),
    };
    Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

fn reference(name: &str) -> Value {
    let path = format!("{}/../../tests/reference/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn distance(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    (a - b).norm_max()
}

/// `got` within 1e-8 relative of `want`; values that are zero in exact arithmetic are compared absolutely.
fn assert_close(got: f64, want: f64, what: &str) {
    let tolerance = if want.abs() < 1e-20 { 1e-20 } else { 1e-8 * want.abs() };
    assert!((got - want).abs() <= tolerance, "{what}: {got:e} for {want:e}");
}

const ALL_MODES: [(Mode, f64); 4] =
    [(Mode::Rf, f64::INFINITY), (Mode::Ntk, f64::INFINITY), (Mode::Gibbs, 3.0), (Mode::Gibbs, f64::INFINITY)];

#[test]
fn reference_numbers() {
    for case in reference("single_head").as_array().unwrap() {
        let tasks = case["tasks"].as_array().unwrap();
        let tasks = sequence(tasks.iter().map(|t| task(matrix(&t["x"]), matrix(&t["y"]))).collect());
        let query = matrix(&case["query"]);
        for result in case["results"].as_array().unwrap() {
            let settings = SingleHeadSettings {
                mode: serde_json::from_value(result["mode"].clone()).unwrap(),
                lambda: result["lambda"].as_f64().unwrap_or(f64::INFINITY),
                sigma2: result["sigma2"].as_f64().unwrap(),
                architecture: relu(case["depth"].as_u64().unwrap() as usize),
                ..Default::default()
            };
            let network = SingleHead::new(settings, &tasks).unwrap();
            let (mean, forgetting) = (matrix(&result["mean"]), matrix(&result["forgetting"]));
            let (means, f) = (network.means(&query).unwrap(), network.forgetting().unwrap());
            for t in 0..3 {
                for i in 0..query.nrows() {
                    assert_close(means[t][(i, 0)], mean[(t, i)], "mean");
                }
                for s in 0..3 {
                    assert_close(f[t][s], forgetting[(t, s)], "forgetting");
                }
                assert_eq!(means[t], network.mean(&query, t + 1).unwrap());
            }
            if let Some(want) = result.get("variance_after_last") {
                let variance = network.variance(&query, 3).unwrap();
                for (got, want) in variance.iter().zip(want.as_array().unwrap()) {
                    assert_close(*got, want.as_f64().unwrap(), "variance");
                }
            }
        }
    }
}

/// `𝓛` and `C` of the whole sequence as dense matrices, straight from their definitions.
struct Dense {
    lower: Mat<f64>,
    prior: Mat<f64>,
    starts: Vec<usize>,
    y: Mat<f64>,
}

fn definition(kind: &str, s: &SingleHeadSettings, t: usize, r: usize, x: &Mat<f64>, x2: &Mat<f64>) -> Mat<f64> {
    let prior = WeightPrior::new(s.lambda, s.sigma2).unwrap();
    let (kernel, scale) = match (kind, s.mode) {
        ("tilde", Mode::Rf) => (KernelKind::Nngp, 1.0),
        ("tilde", Mode::Ntk) if r == 1 => (KernelKind::Nngp, s.sigma2),
        ("tilde", Mode::Ntk) => (KernelKind::Ntk, 1.0),
        ("tilde", Mode::Gibbs) => (KernelKind::KTilde, 1.0),
        (_, Mode::Gibbs) => (KernelKind::K1, prior.m1(t, r)),
        _ => (KernelKind::Nngp, s.sigma2),
    };
    let k = Kernel::new(kernel, s.architecture, prior, t, r).unwrap().gram(x.as_ref(), x2.as_ref()).unwrap();
    scale * k
}

impl Dense {
    fn new(s: &SingleHeadSettings, tasks: &TaskSequence) -> Dense {
        let tasks = &tasks.tasks;
        let mut starts = vec![0];
        tasks.iter().for_each(|task| starts.push(starts.last().unwrap() + task.x.nrows()));
        let n = *starts.last().unwrap();
        let (mut lower, mut prior) = (Mat::zeros(n, n), Mat::zeros(n, n));
        for t in 0..tasks.len() {
            for r in 0..tasks.len() {
                let size = (tasks[t].x.nrows(), tasks[r].x.nrows());
                let put = |m: &mut Mat<f64>, k: &Mat<f64>| {
                    m.as_mut().submatrix_mut(starts[t], starts[r], size.0, size.1).copy_from(k);
                };
                if r <= t {
                    put(&mut lower, &definition("tilde", s, t + 1, r + 1, &tasks[t].x, &tasks[r].x));
                }
                put(&mut prior, &definition("prior", s, t + 1, r + 1, &tasks[t].x, &tasks[r].x));
            }
        }
        for i in 0..n {
            lower[(i, i)] += 1.0 / s.beta;
            prior[(i, i)] += 1.0 / s.beta;
        }
        let columns = tasks[0].y.ncols();
        let mut y = Mat::zeros(n, columns);
        for (t, task) in tasks.iter().enumerate() {
            y.as_mut().submatrix_mut(starts[t], 0, task.y.nrows(), columns).copy_from(&task.y);
        }
        Dense { lower, prior, starts, y }
    }

    /// Mean, and variance, of `f_t(x)` (t from 1).
    fn at(&self, s: &SingleHeadSettings, tasks: &TaskSequence, x: &Mat<f64>, t: usize) -> (Mat<f64>, Vec<f64>) {
        let n = self.starts[t];
        let (mut kappa, mut c) = (Mat::zeros(x.nrows(), n), Mat::zeros(x.nrows(), n));
        for r in 0..t {
            let size = tasks.tasks[r].x.nrows();
            let each = |kind: &str| definition(kind, s, t, r + 1, x, &tasks.tasks[r].x);
            kappa.as_mut().submatrix_mut(0, self.starts[r], x.nrows(), size).copy_from(each("tilde"));
            c.as_mut().submatrix_mut(0, self.starts[r], x.nrows(), size).copy_from(each("prior"));
        }
        // A 𝓛 = κ solved as (𝓛ᵀ𝓛)-free elimination: 𝓛ᵀ Aᵀ = κᵀ by plain Gaussian elimination.
        let a = eliminate(self.lower.submatrix(0, 0, n, n).transpose(), kappa.transpose());
        let a = a.transpose().to_owned();
        let mean = matmul(a.as_ref(), self.y.submatrix(0, 0, n, self.y.ncols()));
        let ac = matmul(a.as_ref(), self.prior.submatrix(0, 0, n, n));
        let own = definition("prior", s, t, t, x, x);
        let variance = (0..x.nrows())
            .map(|i| own[(i, i)] + (0..n).map(|j| a[(i, j)] * (ac[(i, j)] - 2.0 * c[(i, j)])).sum::<f64>());
        (mean, variance.collect())
    }
}

/// `A^{-1} B` by Gaussian elimination with row pivots.
fn eliminate(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let (mut a, mut b, n) = (a.to_owned(), b.to_owned(), a.nrows());
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[(i, k)].abs().total_cmp(&a[(j, k)].abs())).unwrap();
        for m in [&mut a, &mut b] {
            for j in 0..m.ncols() {
                (m[(k, j)], m[(pivot, j)]) = (m[(pivot, j)], m[(k, j)]);
            }
        }
        for i in k + 1..n {
            let factor = a[(i, k)] / a[(k, k)];
            for j in k..n {
                a[(i, j)] -= factor * a[(k, j)];
            }
            for j in 0..b.ncols() {
                b[(i, j)] -= factor * b[(k, j)];
            }
        }
    }
    for k in (0..n).rev() {
        for j in 0..b.ncols() {
            let rest: f64 = (k + 1..n).map(|i| a[(k, i)] * b[(i, j)]).sum();
            b[(k, j)] = (b[(k, j)] - rest) / a[(k, k)];
        }
    }
    b
}

#[test]
fn the_definition_with_sizes_columns_and_temperature() {
    let tasks = random_tasks(&[7, 12, 5, 9], 25, 3, 1);
    let query = Mat::from_fn(6, 25, |i, j| ((i * 25 + j) as f64).sin());
    for (mode, lambda) in ALL_MODES {
        for beta in [f64::INFINITY, 20.0] {
            let s = SingleHeadSettings { beta, sigma2: 0.8, architecture: relu(2), ..settings(mode, lambda) };
            let (network, dense) = (SingleHead::new(s, &tasks).unwrap(), Dense::new(&s, &tasks));
            for t in 1..=4 {
                let (mean, variance) = dense.at(&s, &tasks, &query, t);
                // Rounding times the condition number (below 1e3) of an elimination of 33 equations.
                let gap = distance(network.mean(&query, t).unwrap().as_ref(), mean.as_ref());
                assert!(gap < 1e-11, "{mode:?} {lambda} {beta} {t}: mean differs by {gap:e}");
                let got = network.variance(&query, t).unwrap();
                let gap = got.iter().zip(&variance).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(gap < 1e-11, "{mode:?} {lambda} {beta} {t}: variance differs by {gap:e}");
                let full = network.covariance((&query, t), (&query, t)).unwrap();
                let gap = (0..6).map(|i| (full[(i, i)] - got[i]).abs()).fold(0.0, f64::max);
                assert!(gap < 1e-12, "variance is the diagonal of the covariance, {gap:e}");
            }
        }
    }
}

#[test]
fn the_newest_task_is_known_exactly() {
    let tasks = random_tasks(&[10, 8, 12], 30, 2, 2);
    for (mode, lambda) in ALL_MODES {
        let network = SingleHead::new(settings(mode, lambda), &tasks).unwrap();
        for t in 1..=3 {
            let newest = &tasks.tasks[t - 1];
            // Zero in exact arithmetic; rounding of numbers of order one times a condition number near 1e2.
            let gap = distance(network.mean(&newest.x, t).unwrap().as_ref(), newest.y.as_ref());
            assert!(gap < 1e-12, "{mode:?} {t}: {gap:e}");
            let variance = network.variance(&newest.x, t).unwrap();
            assert!(variance.iter().all(|v| v.abs() < 1e-12), "{mode:?} {t}: {variance:?}");
        }
    }
}

/// Mean and standard error.
fn average(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    (mean, (values.map(|v| (v - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt())
}

#[test]
fn samples_have_the_mean_and_covariance_of_the_theory() {
    let tasks = random_tasks(&[6, 8, 5], 20, 2, 3);
    let query = Mat::from_fn(3, 20, |i, j| ((1 + i * 20 + j) as f64 * 0.7).cos());
    for (mode, lambda) in ALL_MODES {
        for beta in [f64::INFINITY, 5.0] {
            let s = SingleHeadSettings { beta, sigma2: 1.3, ..settings(mode, lambda) };
            let network = SingleHead::new(s, &tasks).unwrap();
            let draws = network.sample(&query, 4000, &mut Stream::new(5, "trajectories", 0)).unwrap();
            let means = network.means(&query).unwrap();
            for (t, r) in [(0, 0), (1, 1), (2, 2), (2, 0), (1, 2)] {
                let covariance = network.covariance((&query, t + 1), (&query, r + 1)).unwrap();
                for (i, j, k) in [(0, 0, 0), (1, 1, 1), (2, 0, 0), (0, 1, 1)] {
                    let one = |d: &Vec<Mat<f64>>| d[t][(i, k)] - means[t][(i, k)];
                    let other = |d: &Vec<Mat<f64>>| d[r][(j, k)] - means[r][(j, k)];
                    let (mean, se) = average(draws.iter().map(one));
                    // 160 comparisons of Monte Carlo averages: 4.5 standard errors are passed by chance once in a thousand runs.
                    assert!(mean.abs() < 4.5 * se, "{mode:?} {beta}: mean off by {mean} ± {se}");
                    let (product, se) = average(draws.iter().map(|d| one(d) * other(d)));
                    let want = covariance[(i, j)];
                    assert!((product - want).abs() < 4.5 * se, "{mode:?} {beta} {t} {r}: {product} ± {se} for {want}");
                }
            }
            // Columns are independent.
            let (cross, se) =
                average(draws.iter().map(|d| (d[2][(0, 0)] - means[2][(0, 0)]) * (d[2][(0, 1)] - means[2][(0, 1)])));
            assert!(cross.abs() < 4.5 * se, "columns correlate: {cross} ± {se}");
        }
    }
}

#[test]
fn forecast_with_variance_is_the_average_over_networks() {
    let tasks = random_tasks(&[6, 6, 6], 15, 1, 4);
    for (mode, lambda) in ALL_MODES {
        let s = SingleHeadSettings { variance: true, ..settings(mode, lambda) };
        let network = SingleHead::new(s, &tasks).unwrap();
        let forecast = network.forecast().unwrap();
        let draws = network.sample_forgetting(3000, &mut Stream::new(9, "trajectories", 0)).unwrap();
        for t in 0..3 {
            for s in 0..3 {
                let (mean, se) = average(draws.iter().map(|f| f[t][s]));
                let want = forecast.forgetting[t][s];
                // Four standard errors; the newest task's loss is zero to rounding in every network.
                assert!((mean - want).abs() < 4.0 * se + 1e-12, "{mode:?} {t} {s}: {mean} ± {se} for {want}");
            }
        }
        let plain = SingleHead::new(SingleHeadSettings { variance: false, ..s }, &tasks).unwrap().forecast().unwrap();
        assert!(plain.forgetting[2][0] < forecast.forgetting[2][0]);
        assert!(!plain.variance && forecast.variance);
    }
}

#[test]
fn gibbs_tends_to_ntk_as_the_square_root() {
    let tasks = random_tasks(&[10, 10, 10], 20, 1, 5);
    let query = Mat::from_fn(8, 20, |i, j| ((2 + i * 20 + j) as f64 * 1.3).sin());
    let limit = SingleHead::new(settings(Mode::Ntk, f64::INFINITY), &tasks).unwrap().means(&query).unwrap();
    let exponents: Vec<f64> = (4..=10).map(f64::from).collect();
    let gaps: Vec<f64> = exponents
        .iter()
        .map(|e| {
            let network = SingleHead::new(settings(Mode::Gibbs, 10f64.powf(*e)), &tasks).unwrap();
            distance(network.mean(&query, 3).unwrap().as_ref(), limit[2].as_ref()).log10()
        })
        .collect();
    let (x, y) = (exponents.iter().sum::<f64>() / 7.0, gaps.iter().sum::<f64>() / 7.0);
    let slope = exponents.iter().zip(&gaps).map(|(e, g)| (e - x) * (g - y)).sum::<f64>()
        / exponents.iter().map(|e| (e - x).powi(2)).sum::<f64>();
    // The next order is 1/λ, 1 % of the gap at λ = 1e4 and less beyond: it moves the slope by less than 0.01.
    assert!((slope + 0.5).abs() < 0.02, "slope {slope}, gaps {gaps:?}");
}

#[test]
fn without_penalty_everything_is_forgotten() {
    let tasks = random_tasks(&[9, 9, 9], 20, 1, 6);
    let free = SingleHead::new(settings(Mode::Gibbs, 0.0), &tasks).unwrap();
    let f = free.forgetting().unwrap();
    for mode in [Mode::Rf, Mode::Ntk] {
        let network = SingleHead::new(settings(mode, f64::INFINITY), &tasks).unwrap();
        for (t, s) in [(1, 0), (2, 0), (2, 1)] {
            let alone = network.forgetting_at_lambda_zero(t + 1, s + 1).unwrap();
            // The same numbers by another way: rounding times a condition number near 1e2.
            assert!((f[t][s] - alone).abs() < 1e-12 * alone, "{t} {s}: {} and {alone}", f[t][s]);
        }
        let forecast = network.forecast().unwrap();
        assert_eq!(forecast.delta_f21.unwrap(), forecast.forgetting[1][0] - forecast.f21_at_lambda_zero.unwrap());
    }
    // A fresh network that learns task 2 alone predicts the same.
    let alone = SingleHead::new(settings(Mode::Rf, f64::INFINITY), &sequence(vec![tasks.tasks[1].clone()])).unwrap();
    let query = &tasks.tasks[0].x;
    let gap = distance(alone.mean(query, 1).unwrap().as_ref(), free.mean(query, 2).unwrap().as_ref());
    assert!(gap < 1e-12, "{gap:e}");
}

/// A readout trained on random features, task after task, each time by the smallest change of its weights.
fn random_feature_network(tasks: &TaskSequence, width: usize, seed: u64) -> Vec<Vec<f64>> {
    let n0 = tasks.tasks[0].x.ncols();
    let mut stream = Stream::new(seed, "hidden weights", width as u64);
    let w = Mat::from_fn(n0, width, |_, _| stream.normal() / (n0 as f64).sqrt());
    let features: Vec<Mat<f64>> = tasks
        .tasks
        .iter()
        .map(|task| {
            let mut h = matmul(task.x.as_ref(), w.as_ref());
            (0..width).for_each(|j| h.col_as_slice_mut(j).iter_mut().for_each(|v| *v = v.max(0.0)));
            h
        })
        .collect();
    let mut readout = Mat::<f64>::zeros(width, 1);
    let mut forgetting = vec![];
    for (phi, task) in features.iter().zip(&tasks.tasks) {
        let rest = &task.y - matmul(phi.as_ref(), readout.as_ref());
        let gram = matmul(phi.as_ref(), phi.transpose());
        let u = Cholesky::factor(gram.as_ref(), "gram").unwrap().solve(rest.as_ref());
        readout += matmul(phi.transpose(), u.as_ref());
        let loss = |(phi, task): (&Mat<f64>, &Task)| {
            (matmul(phi.as_ref(), readout.as_ref()) - &task.y).squared_norm_l2() / task.y.squared_norm_l2()
        };
        forgetting.push(features.iter().zip(&tasks.tasks).map(loss).collect());
    }
    forgetting
}

#[test]
fn wide_random_feature_networks_converge_to_rf() {
    let tasks = random_tasks(&[8, 8, 8], 16, 1, 7);
    let theory = SingleHead::new(settings(Mode::Rf, f64::INFINITY), &tasks).unwrap().forgetting().unwrap();
    let widths = [128, 512, 2048, 8192];
    let seeds = 24;
    let spread: Vec<f64> = widths
        .iter()
        .map(|&width| {
            let squares = (0..seeds).map(|seed| {
                let f = random_feature_network(&tasks, width, seed);
                [(1, 0), (2, 0), (2, 1)].iter().map(|&(t, s)| (f[t][s] / theory[t][s] - 1.0).powi(2)).sum::<f64>() / 3.0
            });
            (squares.sum::<f64>() / seeds as f64).sqrt()
        })
        .collect();
    for pair in spread.windows(2) {
        // Four times the width, half the deviation. A root mean square over 24 seeds of three related numbers is known to
        // 15 %, a ratio of two to 20 %: three of those.
        let ratio = pair[0] / pair[1];
        assert!((ratio / 2.0).ln().abs() < 0.6, "deviations {spread:?}");
    }
    let slope = (spread[3] / spread[0]).ln() / (8192f64 / 128.0).ln();
    assert!((slope + 0.5).abs() < 0.14, "slope {slope}: three standard errors of 0.2/ln 64 = 0.05");
}

#[test]
fn features_and_kernels_say_the_same_as_data() {
    let tasks = random_tasks(&[8, 11, 6], 40, 2, 8);
    let s = settings(Mode::Rf, f64::INFINITY);
    // Linear networks of depth 1 have K = x·x'/N0, which is what features give.
    let linear = Architecture { activation: Activation::Linear, depth: 1 };
    let data = SingleHead::new(SingleHeadSettings { architecture: linear, ..s }, &tasks).unwrap();
    let features = SingleHead::from_features(s, &tasks).unwrap();
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
        let kernels = SingleHead::from_kernels(settings(mode, f64::INFINITY), k, None, &rows).unwrap();
        let (f, g) = (network.forgetting().unwrap(), kernels.forgetting().unwrap());
        for (t, s) in [(1, 0), (2, 0), (2, 1), (0, 2)] {
            assert!((f[t][s] - g[t][s]).abs() < 1e-11 * g[t][s], "{t} {s}: {} {}", f[t][s], g[t][s]);
        }
        let (a, b) = (network.variance(&tasks.tasks[0].x, 3).unwrap(), kernels.variance(&rows[0].rows[..], 3).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-11), "{a:?} {b:?}");
    }
    // Mode ntk from two tables.
    let two = |kind: KernelKind| Kernel::new(kind, relu(2), prior, 1, 1).unwrap().gram_symmetric(all.as_ref()).unwrap();
    let ntk = SingleHeadSettings { architecture: relu(2), ..settings(Mode::Ntk, f64::INFINITY) };
    let kernels = SingleHead::from_kernels(ntk, two(KernelKind::Nngp), Some(two(KernelKind::Ntk)), &rows).unwrap();
    let (f, g) = (kernels.forgetting().unwrap(), SingleHead::new(ntk, &tasks).unwrap().forgetting().unwrap());
    assert!((f[2][0] - g[2][0]).abs() < 1e-11 * g[2][0]);
}

/// Tasks that share inputs: `common` ones by all, in different places.
fn sharing_tasks(common: usize, own: usize, count: usize, seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "sharing tasks", 0);
    let dim = 30;
    let shared = Mat::from_fn(common, dim, |_, _| stream.normal());
    let tasks = (0..count).map(|_| {
        let mut rows: Vec<Option<usize>> = (0..common).map(Some).chain((0..own).map(|_| None)).collect();
        stream.shuffle(&mut rows);
        let x = Mat::from_fn(common + own, dim, |_, _| stream.normal());
        let x = Mat::from_fn(common + own, dim, |i, j| rows[i].map_or(x[(i, j)], |r| shared[(r, j)]));
        let y = Mat::from_fn(common + own, 2, |_, _| stream.normal());
        let test =
            TestSet { x: Mat::from_fn(5, dim, |_, _| stream.normal()), y: Mat::from_fn(5, 2, |_, _| stream.normal()) };
        Task { test: Some(test), ..task(x, y) }
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
                let apart = SingleHead::new(SingleHeadSettings { share: false, ..s }, &tasks).unwrap();
                assert_eq!(apart.shared_inputs(), 0);
                for keep_bytes in [0, 2000, 1 << 30] {
                    let shared = SingleHead::new(SingleHeadSettings { keep_bytes, ..s }, &tasks).unwrap();
                    assert_eq!(shared.shared_inputs(), if lambda == 3.0 { 0 } else { common });
                    let (a, b) = (apart.forecast().unwrap(), shared.forecast().unwrap());
                    let (a, b) = (flat(&a), flat(&b));
                    let gap = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    // Rounding times a condition number below 1e3, in numbers of order one.
                    assert!(gap < 1e-11, "{common} {own} {mode:?} {beta} {keep_bytes}: {gap:e}");
                    let x = &tasks.tasks[1].x;
                    let (a, b) = (apart.variance(x, 4).unwrap(), shared.variance(x, 4).unwrap());
                    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-11));
                }
            }
        }
    }
}

/// All losses of a forecast.
fn flat(forecast: &ebbing::Forecast) -> Vec<f64> {
    let test = forecast.test.as_ref().unwrap();
    let all = [&forecast.forgetting, &test.loss, &test.generalisation, &test.forgetting];
    all.into_iter().flatten().flatten().copied().chain(forecast.f21_at_lambda_zero).collect()
}

#[test]
fn held_out_data() {
    let tasks = sharing_tasks(0, 12, 3, 12);
    for (mode, lambda) in ALL_MODES {
        for variance in [false, true] {
            let s = SingleHeadSettings { variance, ..settings(mode, lambda) };
            let network = SingleHead::new(s, &tasks).unwrap();
            let forecast = network.forecast().unwrap();
            let test = forecast.test.unwrap();
            for t in 0..3 {
                for r in 0..3 {
                    let set = tasks.tasks[r].test.as_ref().unwrap();
                    let mean = network.mean(&set.x, t + 1).unwrap();
                    let spread = network.variance(&set.x, t + 1).unwrap();
                    let spread = variance.then_some(&spread[..]);
                    let want = ebbing::squared_loss(mean.as_ref(), set.y.as_ref(), spread).unwrap();
                    assert!((test.loss[t][r] - want).abs() < 1e-13 * want);
                    assert_eq!(test.generalisation[t][r], test.loss[t][r] / test.alone[r]);
                    if r <= t {
                        assert_eq!(test.forgetting[t][r], test.loss[t][r] - test.loss[r][r]);
                    }
                    let hits = ebbing::accuracy(mean.as_ref(), set.y.as_ref(), spread).unwrap();
                    assert!((test.accuracy.as_ref().unwrap()[t][r] - hits).abs() < 1e-13);
                }
            }
            // The first task is learned by a fresh network.
            assert!((test.generalisation[0][0] - 1.0).abs() < 1e-12, "{}", test.generalisation[0][0]);
        }
    }
}

#[test]
fn scaling_targets_scales_outputs() {
    let tasks = random_tasks(&[8, 9, 7], 20, 2, 13);
    let mut scaled = tasks.clone();
    scaled.tasks.iter_mut().for_each(|task| task.y = -2.5 * &task.y);
    for (mode, lambda) in ALL_MODES {
        let (a, b) = (
            SingleHead::new(settings(mode, lambda), &tasks).unwrap(),
            SingleHead::new(settings(mode, lambda), &scaled).unwrap(),
        );
        let (f, g) = (a.forgetting().unwrap(), b.forgetting().unwrap());
        for (t, s) in [(1, 0), (2, 0), (2, 1), (0, 1)] {
            assert!((f[t][s] - g[t][s]).abs() < 1e-12 * f[t][s]);
        }
        // Each column is learned as if it were alone.
        let mut first = tasks.clone();
        first.tasks.iter_mut().for_each(|task| task.y = task.y.submatrix(0, 0, task.y.nrows(), 1).to_owned());
        let alone = SingleHead::new(settings(mode, lambda), &first).unwrap().mean(&tasks.tasks[0].x, 3).unwrap();
        let both = a.mean(&tasks.tasks[0].x, 3).unwrap();
        assert!(distance(alone.as_ref(), both.submatrix(0, 0, 8, 1)) < 1e-12);
    }
}

#[test]
fn the_same_bits_at_any_number_of_threads() {
    let tasks = sharing_tasks(90, 60, 3, 14);
    let query = Mat::from_fn(4, 30, |i, j| ((3 + i * 30 + j) as f64 * 0.3).sin());
    let run = |threads: usize, mode: Mode, lambda: f64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let s = SingleHeadSettings { variance: true, ..settings(mode, lambda) };
        pool.install(|| {
            let network = SingleHead::new(s, &tasks).unwrap();
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
    let network = SingleHead::from_features(settings(Mode::Rf, f64::INFINITY), &tasks).unwrap();
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

#[test]
fn ill_conditioned_kernels_are_reported_or_refused() {
    let mut tasks = random_tasks(&[20, 20], 30, 1, 16);
    let sound = SingleHead::new(SingleHeadSettings::default(), &tasks).unwrap();
    assert!(sound.digits() > 11.0 && sound.forecast().unwrap().digits == sound.digits(), "{}", sound.digits());
    // Two inputs that differ by 1e-k differ by 1e-k in ReLU features: their kernel's smallest eigenvalue is near 1e-3k/2.
    let almost = |tasks: &mut TaskSequence, by: f64| {
        for j in 0..30 {
            tasks.tasks[0].x[(1, j)] = tasks.tasks[0].x[(0, j)] + if j == 3 { by } else { 0.0 };
        }
    };
    almost(&mut tasks, 1e-3);
    let near = SingleHead::new(SingleHeadSettings::default(), &tasks).unwrap();
    assert!(near.digits() > 4.0 && near.digits() < 9.5, "{}", near.digits());
    almost(&mut tasks, 1e-6);
    let error = SingleHead::new(SingleHeadSettings::default(), &tasks).unwrap_err();
    let refused = matches!(error, Error::LostAccuracy { .. } | Error::NotPositiveDefinite { .. });
    assert!(refused && error.to_string().contains("task 1"), "{error}");
    almost(&mut tasks, 0.0);
    tasks.tasks[0].y[(1, 0)] = tasks.tasks[0].y[(0, 0)];
    let error = SingleHead::new(SingleHeadSettings::default(), &tasks).unwrap_err().to_string();
    assert!(error.contains("task 1") && error.contains("rows 0 and 1"), "{error}");
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let sound = || random_tasks(&[6, 6], 10, 1, 17);
    let refuse = |change: &dyn Fn(&mut TaskSequence), part: &str| {
        let mut tasks = sound();
        change(&mut tasks);
        let message = SingleHead::new(SingleHeadSettings::default(), &tasks).unwrap_err().to_string();
        assert!(message.contains(part) && !message.contains('\n'), "{message}");
    };
    refuse(&|t| t.tasks.clear(), "no task");
    refuse(&|t| t.tasks[1] = random_tasks(&[6], 9, 1, 0).tasks.remove(0), "task 2");
    refuse(&|t| t.tasks[1] = random_tasks(&[6], 10, 2, 0).tasks.remove(0), "2 target columns");
    refuse(&|t| t.tasks[1] = random_tasks(&[1], 10, 1, 0).tasks.remove(0), "1 example");
    refuse(&|t| t.tasks[0].y = Mat::from_fn(6, 1, |_, _| 1.0), "targets are all 1");
    refuse(&|t| t.tasks[0].y[(2, 0)] = f64::NAN, "NaN");
    refuse(&|t| t.tasks[0].x[(2, 4)] = f64::INFINITY, "inf");
    refuse(&|t| t.tasks[0].y = Mat::zeros(5, 1), "5 targets");
    refuse(&|t| t.tasks[0].x.row_mut(3).fill(0.0), "norm");
    let twins = |t: &mut TaskSequence| (0..10).for_each(|j| t.tasks[1].x[(4, j)] = t.tasks[1].x[(2, j)]);
    refuse(&twins, "rows 2 and 4 are the same input");
    // With a temperature the same input may have two targets.
    let mut tasks = sound();
    twins(&mut tasks);
    SingleHead::new(SingleHeadSettings { beta: 100.0, ..Default::default() }, &tasks).unwrap();
    for wrong in [
        SingleHeadSettings { architecture: relu(0), ..Default::default() },
        SingleHeadSettings { mode: Mode::Gibbs, lambda: -1.0, ..Default::default() },
        SingleHeadSettings { sigma2: -1.0, ..Default::default() },
    ] {
        assert!(matches!(SingleHead::new(wrong, &sound()), Err(Error::Setting { .. })));
    }
    let network = SingleHead::new(SingleHeadSettings::default(), &sound()).unwrap();
    assert!(network.mean(&Mat::zeros(2, 9), 1).is_err() && network.mean(&Mat::zeros(2, 10), 3).is_err());
    assert!(network.mean(&[0usize, 1][..], 1).is_err());
    assert!(SingleHead::from_features(settings(Mode::Ntk, f64::INFINITY), &sound()).is_err());
    let square = Mat::from_fn(4, 4, |i, j| f64::from(u8::from(i == j)));
    let tables = |rows: Vec<usize>, y: usize| {
        let tasks = [KernelTask { name: "a".into(), rows, y: Mat::from_fn(y, 1, |i, _| i as f64), test: None }];
        SingleHead::from_kernels(SingleHeadSettings::default(), square.clone(), None, &tasks)
    };
    assert!(tables(vec![0, 1, 2], 3).is_ok());
    assert!(tables(vec![0, 1, 4], 3).unwrap_err().to_string().contains("row 4"));
    assert!(tables(vec![0, 1, 2], 2).unwrap_err().to_string().contains("2 × 1"));
}
