//! Means, variances and samples against the definition, written out as dense matrices.

use super::*;
use ebbing::Context;

/// `𝓛` and `C` of the whole sequence as dense matrices, straight from their definitions.
pub(super) struct Dense {
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
        ("tilde", Mode::Ntk | Mode::Lazy) => (KernelKind::Ntk, 1.0),
        // λ → ∞ at a temperature that is held fixed: K̃ ~ Q/λ.
        ("tilde", Mode::Gibbs) if s.lambda.is_infinite() && s.beta.is_finite() => {
            (KernelKind::Nngp, if r == 1 { s.sigma2 } else { 0.0 })
        }
        ("tilde", Mode::Gibbs) => (KernelKind::KTilde, 1.0),
        (_, Mode::Gibbs) => (KernelKind::K1, prior.m1(t, r)),
        _ => (KernelKind::Nngp, s.sigma2),
    };
    let k = Kernel::new(kernel, s.architecture, prior, t, r).unwrap().gram(x.as_ref(), x2.as_ref()).unwrap();
    scale * k
}

impl Dense {
    pub fn new(s: &SingleHeadSettings, tasks: &TaskSequence) -> Dense {
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
    pub fn at(&self, s: &SingleHeadSettings, tasks: &TaskSequence, x: &Mat<f64>, t: usize) -> (Mat<f64>, Vec<f64>) {
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

#[test]
fn the_definition_with_sizes_columns_and_temperature() {
    let tasks = random_tasks(&[7, 12, 5, 9], 25, 3, 1);
    let query = Mat::from_fn(6, 25, |i, j| ((i * 25 + j) as f64).sin());
    for (mode, lambda) in ALL_MODES {
        for beta in [f64::INFINITY, 20.0] {
            let s = SingleHeadSettings { beta, sigma2: 0.8, architecture: relu(2), ..settings(mode, lambda) };
            let (network, dense) = (SingleHead::new(&tasks, &s, &Context::default()).unwrap(), Dense::new(&s, &tasks));
            for t in 1..=4 {
                let (mean, variance) = dense.at(&s, &tasks, &query, t);
                // Rounding times the condition number (below 1e3) of an elimination of 33 equations.
                let gap = distance(network.mean(&query, t).unwrap().as_ref(), mean.as_ref());
                assert!(gap < 1e-11, "{mode:?} {lambda} {beta} {t}: mean differs by {gap:e}");
                let got = network.variance(&query, t).unwrap();
                let gap = largest_difference(&got, &variance);
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
        let network = SingleHead::new(&tasks, &settings(mode, lambda), &Context::default()).unwrap();
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
fn average(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let (mean, deviation) = mean_and_deviation(&values);
    (mean, deviation / (values.len() as f64).sqrt())
}

#[test]
fn samples_have_the_mean_and_covariance_of_the_theory() {
    let tasks = random_tasks(&[6, 8, 5], 20, 2, 3);
    let query = Mat::from_fn(3, 20, |i, j| ((1 + i * 20 + j) as f64 * 0.7).cos());
    for (mode, lambda) in ALL_MODES {
        for beta in [f64::INFINITY, 5.0] {
            let s = SingleHeadSettings { beta, sigma2: 1.3, ..settings(mode, lambda) };
            let network = SingleHead::new(&tasks, &s, &Context::default()).unwrap();
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
        let network = SingleHead::new(&tasks, &s, &Context::default()).unwrap();
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
        let plain = SingleHead::new(&tasks, &SingleHeadSettings { variance: false, ..s }, &Context::default())
            .unwrap()
            .forecast()
            .unwrap();
        assert!(plain.forgetting[2][0] < forecast.forgetting[2][0]);
        assert!(!plain.variance && forecast.variance);
    }
}
