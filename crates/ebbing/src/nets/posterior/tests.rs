//! Exactness of the sampler: quadrature, calibration, and independently sampled posteriors.

use super::chain::outputs;
use super::energy::{Energy, Layers};
use super::hmc::{self, Moves};
use super::*;
use crate::linalg::Mat;
use crate::rng::Stream;
use crate::tasks::TestSet;

/// A linear network with one input and one hidden unit, two tasks: the weights after task 2 against quadrature.
#[test]
fn one_hidden_unit_matches_quadrature() {
    let (xs, ys) = ([0.7, -1.1, 0.4], [0.9, -0.6, 0.2]);
    let first = Task::new(Mat::from_fn(3, 1, |i, _| xs[i]), Mat::from_fn(3, 1, |i, _| ys[i]));
    let second = Task::new(Mat::from_fn(2, 1, |i, _| xs[i + 1] + 0.3), Mat::from_fn(2, 1, |i, _| -ys[i]));
    let (sigma2, beta, lambda) = (1.3, 4.0, 1.7);
    let settings = PosteriorSettings {
        architecture: Architecture { activation: Activation::Linear, depth: 1 },
        width: 1,
        lambda,
        sigma2,
        readout_sigma2: None,
        beta,
        chains: 4000,
        warmup: 60,
        draws: 30,
        leapfrog: 12,
        seed: 11,
        heads: Heads::Multi,
    };
    let sampled = sample_posterior(&[first.clone(), second.clone()], &settings, &crate::Context::default()).unwrap();

    // f(x) = a w x, so given w the targets are N(0, σ²w² x xᵀ + I/β): the evidence by its rank-one form.
    let moments = |task: &Task, w: f64| {
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for i in 0..task.x.nrows() {
            xx += task.x[(i, 0)].powi(2);
            xy += task.x[(i, 0)] * task.y[(i, 0)];
            yy += task.y[(i, 0)].powi(2);
        }
        let precision = 1.0 / sigma2 + beta * w * w * xx;
        let mean = beta * w * xy / precision;
        let log_evidence = -0.5 * (sigma2 * precision).ln() + 0.5 * mean * mean * precision - 0.5 * beta * yy;
        (log_evidence, mean, mean * mean + 1.0 / precision)
    };
    let keep = lambda / (lambda + 1.0 / sigma2);
    let innovation = sigma2 * (1.0 - keep);
    let grid: Vec<f64> = (0..1201).map(|i| -9.0 + 18.0 * i as f64 / 1200.0).collect();
    // <a_1²>, <a_1 a_2>, <a_2²> over the chain of the two conditional posteriors.
    let (mut z1, mut u11, mut u12, mut u22) = (0.0, 0.0, 0.0, 0.0);
    for &w1 in &grid {
        let (log_evidence, a1, a1_square) = moments(&first, w1);
        let weight = (log_evidence - w1 * w1 / (2.0 * sigma2)).exp();
        let (mut z2, mut a2_mean, mut a2_square) = (0.0, 0.0, 0.0);
        for &w2 in &grid {
            let (log_evidence, a2, square) = moments(&second, w2);
            let p = (log_evidence - (w2 - keep * w1).powi(2) / (2.0 * innovation)).exp();
            z2 += p;
            a2_mean += p * a2;
            a2_square += p * square;
        }
        z1 += weight;
        u11 += weight * a1_square;
        u12 += weight * a1 * a2_mean / z2;
        u22 += weight * a2_square / z2;
    }
    // Four standard errors for each of three numbers: a false alarm once in 5000 seeds, and the seed is fixed.
    for (got, want) in [(sampled.u1[0][0], u11 / z1), (sampled.u1[1][0], u12 / z1), (sampled.u1[1][1], u22 / z1)] {
        assert!((got.value - want).abs() < 4.0 * got.error(), "{got:?} against {want}");
    }
}

/// Simulation-based calibration (Talts et al. 2018): with data drawn from the prior, the rank of the true weight's
/// statistic among posterior draws is uniform.
#[test]
fn ranks_are_uniform_under_simulated_data() {
    let layers = Layers { sizes: vec![2, 3] };
    let (bins, runs, thin) = (8, 400, 4);
    let mut counts = vec![0usize; bins];
    for run in 0..runs {
        let mut s = Stream::new(run as u64, "calibration", 0);
        let x = Mat::from_fn(5, 2, |_, _| s.normal());
        let truth: Vec<f64> = (0..layers.weights()).map(|_| s.normal()).collect();
        let a: Vec<f64> = (0..3).map(|_| s.normal()).collect();
        let beta: f64 = 10.0;
        let a = Mat::from_fn(3, 1, |i, _| a[i]);
        let f = outputs(&layers, Activation::Relu, &truth, &a, x.as_ref());
        let y = Mat::from_fn(5, 1, |i, _| f[(i, 0)] + s.normal() / beta.sqrt());
        let energy = Energy {
            layers: &layers,
            activation: Activation::Relu,
            x: x.as_ref(),
            y: y.as_ref(),
            beta,
            weight_mean: vec![0.0; layers.weights()],
            weight_variance: 1.0,
            readout_mean: Mat::zeros(3, 1),
            readout_variance: 1.0,
        };
        let mut work = energy.work();
        let statistic = |w: &[f64]| w.iter().sum::<f64>();
        let mut draws = Vec::new();
        let mut w: Vec<f64> = (0..layers.weights()).map(|_| s.normal()).collect();
        let moves = Moves { warmup: 150, draws: thin * (bins - 1), leapfrog: 15, target: 0.8 };
        hmc::run(&mut w, 1.0, moves, &mut s, |w, g| energy.evaluate(w, &mut work, g), |w, _| draws.push(statistic(w)))
            .unwrap();
        let rank = draws.iter().skip(thin - 1).step_by(thin).filter(|&&d| d < statistic(&truth)).count();
        counts[rank] += 1;
    }
    let expected = runs as f64 / bins as f64;
    let chi2: f64 = counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
    // χ² with 7 degrees of freedom exceeds 24.3 once in 1000 draws.
    assert!(chi2 < 24.3, "ranks {counts:?}, chi² {chi2}");
}

/// A short run against an independently sampled posterior (358 chains): within three combined standard errors.
#[test]
fn agrees_with_an_independent_sampler() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/posterior_0.5_5_40.json");
    let reference: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let matrix = |v: &serde_json::Value| {
        let rows: Vec<Vec<f64>> = serde_json::from_value(v.clone()).unwrap();
        Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
    };
    let vector = |v: &serde_json::Value| {
        let rows: Vec<f64> = serde_json::from_value(v.clone()).unwrap();
        Mat::from_fn(rows.len(), 1, |i, _| rows[i])
    };
    let load = |key: &str| Task::new(matrix(&reference[key]["x"]), vector(&reference[key]["y"]));
    let mut second = load("task2");
    let query = load("query");
    second.test = Some(TestSet { x: query.x, y: query.y });
    let settings = PosteriorSettings {
        width: reference["width"].as_u64().unwrap() as usize,
        lambda: reference["lambda"].as_f64().unwrap(),
        beta: reference["beta"].as_f64().unwrap(),
        chains: 16,
        warmup: 200,
        draws: 80,
        leapfrog: 24,
        seed: 1,
        ..Default::default()
    };
    let got = sample_posterior(&[load("task1"), second], &settings, &crate::Context::default()).unwrap();
    let pairs = [
        ("u11", got.u1[0][0]),
        ("u12", got.u1[1][0]),
        ("u22", got.u1[1][1]),
        ("F21", got.forgetting[0]),
        ("loss2_query", got.test_loss[1].unwrap()),
        ("y1_Ksim_y1", got.label_kernel[0]),
        ("y2_Ksim_y2", got.label_kernel[1]),
    ];
    for (key, estimate) in pairs {
        let [mean, se]: [f64; 2] = serde_json::from_value(reference["sampled"][key].clone()).unwrap();
        let combined = (se * se + estimate.error() * estimate.error()).sqrt();
        assert!((estimate.value - mean).abs() < 3.0 * combined, "{key}: {estimate:?} against {mean} ± {se}");
    }
}

/// A short prior for readouts shortens them as the theory says: the norm of each, and what is forgotten.
#[test]
fn readouts_have_a_prior_of_their_own() {
    let (width, p) = (32, 16);
    let mut s = Stream::new(3, "readouts", 0);
    let x = Mat::from_fn(p, width, |_, _| s.normal());
    let y = Mat::from_fn(p, 1, |_, _| if s.chance(0.5) { 1.0 } else { -1.0 });
    let other = Mat::from_fn(p, width, |i, j| 0.8 * x[(i, j)] + 0.6 * s.normal());
    let tasks = [Task::new(x, y.clone()), Task::new(other, y)];
    let readout_sigma2 = Some(0.25);
    let settings = PosteriorSettings {
        width,
        readout_sigma2,
        beta: 100.0,
        chains: 32,
        warmup: 150,
        draws: 150,
        leapfrog: 12,
        ..Default::default()
    };
    let sampled = sample_posterior(&tasks, &settings, &crate::Context::default()).unwrap();
    let theory = |readout_sigma2: Option<f64>| {
        let (lambda, beta, width) = (settings.lambda, settings.beta, Some(width as f64));
        let settings =
            crate::theory::multi_head::MultiHeadSettings { lambda, beta, width, readout_sigma2, ..Default::default() };
        crate::MultiHead::new(&tasks, &settings, &crate::Context::default()).unwrap()
    };
    let (own, common) = (theory(readout_sigma2), theory(None));
    for t in 1..=2 {
        let (norm, expected) = (sampled.u1[t - 1][t - 1], own.u1(t, t));
        // The theory is the leading order in 1/N: 4/N beside three standard errors.
        let allowed = 3.0 * norm.error() + 4.0 / width as f64 * expected;
        assert!((norm.value - expected).abs() < allowed, "u1({t},{t}): {norm:?}, theory {expected}");
        // The common prior is recognized.
        assert!((norm.value - common.u1(t, t)).abs() > 2.0 * allowed, "u1({t},{t}): {norm:?}");
    }
    let single = PosteriorSettings { heads: Heads::Single, ..settings };
    assert!(
        sample_posterior(&tasks, &single, &crate::Context::default())
            .unwrap_err()
            .to_string()
            .contains("readout_sigma2 is 0.25")
    );
}

/// Sampled over theoretical F21, minus 1, averaged over draws of two related tasks of N/2 examples in N dimensions: mean and
/// standard error over the draws.
fn gap_of_forgetting(width: usize, draws: u64) -> Estimate {
    let p = width / 2;
    let gaps: Vec<f64> = (0..draws)
        .map(|draw| {
            let mut s = Stream::new(draw, "gap of forgetting", width as u64);
            let x = Mat::from_fn(p, width, |_, _| s.normal());
            let y = Mat::from_fn(p, 1, |_, _| if s.chance(0.5) { 1.0 } else { -1.0 });
            let other = Mat::from_fn(p, width, |i, j| 0.8 * x[(i, j)] + 0.6 * s.normal());
            let tasks = [Task::new(x, y.clone()), Task::new(other, y)];
            let settings = PosteriorSettings {
                width,
                beta: 100.0,
                chains: 16,
                warmup: 100,
                draws: 100,
                leapfrog: 12,
                seed: draw,
                ..Default::default()
            };
            let sampled = sample_posterior(&tasks, &settings, &crate::Context::default()).unwrap();
            let theory = crate::theory::multi_head::MultiHeadSettings {
                lambda: settings.lambda,
                sigma2: settings.sigma2,
                beta: settings.beta,
                width: Some(width as f64),
                alpha: None,
                ..Default::default()
            };
            let theory = crate::MultiHead::new(&tasks, &theory, &crate::Context::default()).unwrap();
            sampled.forgetting[0].value / theory.forgetting(2, 1).unwrap() - 1.0
        })
        .collect();
    Estimate::over(&gaps)
}

/// The theory is the leading order in 1/N at fixed load: six times the width leaves a sixth of the gap.
#[test]
fn the_gap_to_the_theory_shrinks_with_the_width() {
    let (narrow, wide) = (gap_of_forgetting(4, 48), gap_of_forgetting(24, 12));
    let error = narrow.error().hypot(wide.error());
    assert!(narrow.value.abs() - wide.value.abs() > 3.0 * error, "{narrow:?} {wide:?}");
    // N × gap is a constant up to a relative 1/N: within three standard errors and a quarter at N = 4.
    let (a, b) = (4.0 * narrow.value, 24.0 * wide.value);
    let error = (4.0 * narrow.error()).hypot(24.0 * wide.error());
    assert!((a - b).abs() < 3.0 * error + 0.25 * a.abs(), "{a} {b} ± {error}");
}

/// Inner products survive the change of coordinates, so every kernel and every posterior does.
#[test]
fn reduced_inputs_keep_inner_products() {
    let mut s = Stream::new(4, "span", 0);
    let mut draw = |rows| Mat::from_fn(rows, 50, |_, _| s.normal());
    let mut tasks = vec![Task::new(draw(5), Mat::zeros(5, 1)), Task::new(draw(4), Mat::zeros(4, 1))];
    tasks[1].test = Some(TestSet { x: draw(3), y: Mat::zeros(3, 1) });
    let reduced = in_their_span(&tasks).unwrap();
    assert_eq!(reduced[0].x.ncols(), 12);
    let overlap = |a: &Mat<f64>, b: &Mat<f64>, i: usize, j: usize| {
        (0..a.ncols()).map(|k| a[(i, k)] * b[(j, k)]).sum::<f64>() / a.ncols() as f64
    };
    for i in 0..5 {
        for j in 0..3 {
            let before = overlap(&tasks[0].x, &tasks[1].test.as_ref().unwrap().x, i, j);
            let after = overlap(&reduced[0].x, &reduced[1].test.as_ref().unwrap().x, i, j);
            // Rounding of an eigendecomposition of a matrix of norm about 100.
            assert!((before - after).abs() < 1e-12, "{before} {after}");
        }
    }
}

/// A move that has no energy is a divergence whose cause is reported.
#[test]
fn divergent_moves_come_with_their_cause() {
    // Without a warm-up the step stays at 1, which leads over the wall.
    let moves = Moves { warmup: 0, draws: 40, leapfrog: 10, target: 0.8 };
    let mut s = Stream::new(1, "divergent", 0);
    let walled = |w: &[f64], g: &mut [f64]| {
        g[0] = w[0];
        let wall = || crate::Error::data("the kernel", "is no longer positive definite");
        if w[0].abs() < 1.0 { Ok(0.5 * w[0] * w[0]) } else { Err(wall()) }
    };
    let moved = hmc::run(&mut [0.0], 1.0, moves, &mut s, walled, |_, _| ()).unwrap();
    assert!(moved.divergent > 0);
    assert_eq!(moved.cause.unwrap(), "the kernel: is no longer positive definite");
    let far = |_: &[f64], g: &mut [f64]| {
        g[0] = -1e9;
        Ok(0.0)
    };
    let moved = hmc::run(&mut [0.0], 1.0, moves, &mut s, far, |_, _| ()).unwrap();
    assert!(moved.divergent > 0 && moved.cause.unwrap().starts_with("the energy erred by"));
}

/// Three outputs per head, of correlated targets: every entry of the overlaps against the theory of several outputs.
#[test]
fn three_outputs_agree_with_the_theory() {
    let (width, p, m) = (40, 16, 3);
    let mut s = Stream::new(13, "three outputs", 0);
    let x = Mat::from_fn(p, 20, |_, _| s.normal());
    let y = Mat::from_fn(p, m, |i, a| x[(i, 0)] + (0.4 + 0.4 * a as f64) * x[(i, a + 1)] + 0.3 * s.normal());
    let other = Mat::from_fn(p, 20, |i, j| 0.8 * x[(i, j)] + 0.6 * s.normal());
    let second = Mat::from_fn(p, m, |i, a| 0.9 * y[(i, a)] + 0.3 * s.normal());
    let tasks = [Task::new(x, y), Task::new(other, second)];
    let settings = PosteriorSettings {
        width,
        beta: 100.0,
        chains: 48,
        warmup: 120,
        draws: 120,
        leapfrog: 12,
        ..Default::default()
    };
    let sampled = sample_outputs(&tasks, &settings, &crate::Context::default()).unwrap();
    let theory = crate::theory::multi_head::MultiHeadSettings {
        lambda: settings.lambda,
        beta: settings.beta,
        width: Some(width as f64),
        ..Default::default()
    };
    let theory = crate::theory::multi_head::SeveralOutputs::new(&tasks, &theory, &crate::Context::default()).unwrap();
    for (t, s) in [(1, 1), (2, 1), (2, 2)] {
        let expected = theory.u1(t, s);
        let size = (0..m).fold(0.0, |most: f64, a| most.max(theory.u1(t, t)[(a, a)]));
        for a in 0..m {
            for b in 0..m {
                let found = sampled.overlaps[t - 1][s - 1][a][b];
                // The theory is the leading order in 1/N: 4/N of the largest entry, as for one output, beside three standard errors.
                let allowed = 3.0 * found.error() + 4.0 / width as f64 * size;
                let want = expected[(a, b)];
                assert!((found.value - want).abs() < allowed, "U1({t},{s})[{a}, {b}]: {found:?}, theory {want}");
            }
        }
    }
    assert!(
        sample_posterior(&tasks, &settings, &crate::Context::default())
            .unwrap_err()
            .to_string()
            .contains("sample_outputs")
    );
}
