//! What is shown twice is one number: `F_pair` is the forecast of the two tasks alone, a table of depths says at the forecast's own
//! depth what the main tables say.

use crate::support::{gauss, random_task, relu, sequence};
use ebbing::Context;
use ebbing::rng::Stream;
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::single_head::{Mode, Replay, SingleHeadSettings};
use ebbing::{Forecast, Task, TaskSequence};

/// Random requests: three tasks of unequal size, and settings of every kind.
fn request(seed: u64) -> (TaskSequence, ForecastSettings) {
    let mut stream = Stream::new(seed, "requests", 0);
    let mut pick = |many: usize| stream.below(many);
    let features = pick(4) == 0;
    let mode = if features { Mode::Rf } else { [Mode::Rf, Mode::Ntk, Mode::Lazy, Mode::Gibbs, Mode::Gibbs][pick(5)] };
    let lambda = if mode == Mode::Gibbs { [0.0, 0.7, 40.0, 1e6, f64::INFINITY][pick(5)] } else { f64::INFINITY };
    let theory = SingleHeadSettings {
        mode,
        lambda,
        architecture: relu(1 + pick(3)),
        sigma2: [0.6, 1.0, 1.7][pick(3)],
        bias2: if features { 0.0 } else { [0.0, 0.0, 0.3][pick(3)] },
        beta: [f64::INFINITY, 30.0, 1.0][pick(3)],
        variance: pick(4) == 0,
        replay: Replay { examples: [0, 0, 4][pick(3)], ..Default::default() },
        ..Default::default()
    };
    let ridge = [0.0, 0.2][pick(2)];
    // Of ten features some have fewer directions than a task has examples, and pseudo-inverses without a temperature.
    let dim = if features { [10, 40][pick(2)] } else { 25 };
    let tasks = [9, 14, 11].map(|p| {
        let mut task = random_task(&mut stream, p, dim);
        if features {
            task = Task::new(task.x, gauss(&mut stream, p, 2));
        }
        task
    });
    (sequence(tasks.into()), ForecastSettings { theory, ridge, features, order: false, ..Default::default() })
}

fn answer(tasks: &TaskSequence, settings: &ForecastSettings) -> Forecast {
    Forecast::of(std::slice::from_ref(tasks), settings, &Context::default()).unwrap()
}

/// Rounding times condition numbers below 1e5, of losses of order 1 and more.
#[track_caller]
fn same(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{what}: {a} and {b}");
}

#[test]
fn pairs_are_the_forecast_of_two_tasks_alone() {
    for seed in 0..40 {
        let (tasks, settings) = request(seed);
        let forecast = answer(&tasks, &settings);
        assert_eq!(forecast.pairs.len(), 6);
        for pair in &forecast.pairs {
            let what = format!("{seed}: {}→{} of {settings:?}", pair.first, pair.second);
            let two = [pair.first, pair.second].map(|t| tasks.tasks[t - 1].clone());
            let alone = answer(&sequence(two.into()), &settings);
            same(pair.values.f21, alone.forgetting.as_ref().unwrap().mean[1][0], &what);
            same(pair.values.f21_at_lambda_zero, alone.f21_at_lambda_zero.unwrap(), &what);
            same(pair.values.delta_f21, alone.delta_f21.unwrap(), &what);
            same(alone.pairs[0].values.f21, alone.forgetting.as_ref().unwrap().mean[1][0], &what);
        }
    }
}

#[test]
fn the_table_of_depths_repeats_the_main_ones() {
    for seed in 100..130 {
        let (tasks, settings) = request(seed);
        if settings.features {
            continue;
        }
        let depth = settings.theory.architecture.depth;
        let forecast = answer(&tasks, &ForecastSettings { depths: vec![depth], ..settings.clone() });
        let (found, what) = (&forecast.depths[0], format!("{seed}: {settings:?}"));
        let next: Vec<_> = forecast.pairs.iter().filter(|p| p.second == p.first + 1).map(|p| p.values).collect();
        let mean = |get: fn(&ebbing::theory::order_parameters::OrderParameters) -> f64| {
            (next.iter().map(get).sum::<f64>() / next.len() as f64, get(&found.order_parameters))
        };
        for (main, depths) in [
            mean(|p| p.gamma_feature),
            mean(|p| p.gamma_rf),
            mean(|p| p.gamma_rule),
            mean(|p| p.gamma_sim),
            mean(|p| p.conflict),
            mean(|p| p.f21),
            mean(|p| p.delta_f21),
        ] {
            same(depths, main, &what);
        }
        let after = &forecast.forgetting.as_ref().unwrap().mean;
        same(found.f21, after[1][0], &what);
        same(found.final_forgetting, 0.5 * (after[2][0] + after[2][1]), &what);
    }
}

#[test]
fn a_ridge_on_features_is_a_temperature() {
    let mut stream = Stream::new(3, "ridge", 0);
    let tasks = sequence(vec![random_task(&mut stream, 20, 12), random_task(&mut stream, 20, 12)]);
    let with = |ridge: f64, beta: f64| {
        let theory = SingleHeadSettings { beta, ..Default::default() };
        answer(&tasks, &ForecastSettings { theory, ridge, features: true, order: false, ..Default::default() })
    };
    let [none, ridge, beta] = [(0.0, f64::INFINITY), (0.5, f64::INFINITY), (0.0, 2.0)].map(|(r, b)| with(r, b));
    assert!(
        (none.forgetting.as_ref().unwrap().mean[1][0] - ridge.forgetting.as_ref().unwrap().mean[1][0]).abs() > 0.01
    );
    assert_eq!(ridge.forgetting, beta.forgetting);
    assert_eq!(ridge.pairs[0].values, beta.pairs[0].values);
}

#[test]
fn resampling_says_nothing_of_another_theory() {
    let mut stream = Stream::new(4, "resampled", 0);
    let tasks = sequence(vec![random_task(&mut stream, 20, 30), random_task(&mut stream, 20, 30)]);
    for mode in [Mode::Rf, Mode::Ntk] {
        let theory = SingleHeadSettings { mode, ..Default::default() };
        let asked = ForecastSettings { theory, resamples: 20, shuffles: 20, order: false, ..Default::default() };
        let forecast = answer(&tasks, &asked);
        let detail = &forecast.pairs[0].detail;
        let (interval, null) = (detail.interval.as_ref().unwrap(), detail.null.as_ref().unwrap());
        assert!(interval.low.gamma_rf.is_finite() && null.mean.gamma_rf.is_finite());
        let unknown = mode != Mode::Rf;
        assert_eq!([interval.low.f21, null.p_value.delta_f21].map(f64::is_nan), [unknown; 2]);
        assert_eq!(forecast.notes.iter().any(|note| note.contains("F_pair has no interval")), unknown);
    }
}
