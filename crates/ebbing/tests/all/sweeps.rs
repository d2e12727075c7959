//! A forecast beside other penalties and widths: each point is what the theory says by itself.

use crate::support::{random_task, relu};
use ebbing::Context;
use ebbing::kernels::{Activation, Architecture};
use ebbing::rng::Stream;
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing::theory::single_head::{Mode, SingleHeadSettings};
use ebbing::{Forecast, MultiHead, SingleHead, TaskSequence};

/// A draw of tasks of 20 examples, with `tested` for the test.
fn sequence(count: usize, tested: usize, seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "sweeps", 0);
    let mut one = || {
        let (task, test) = (random_task(&mut stream, 20, 30), random_task(&mut stream, tested.max(1), 30));
        if tested > 0 { task.with_test(test.x, test.y) } else { task }
    };
    TaskSequence::new((0..count).map(|_| one()).collect()).unwrap()
}

fn answer(draws: &[TaskSequence], settings: ForecastSettings) -> Forecast {
    Forecast::of(draws, &ForecastSettings { order: false, ..settings }, &Context::default()).unwrap()
}

fn final_forgetting(matrix: &[Vec<f64>]) -> f64 {
    let last = matrix.len() - 1;
    matrix[last][..last].iter().sum::<f64>() / last as f64
}

#[test]
fn penalties_are_those_of_one_readout() {
    let draws: Vec<TaskSequence> = (0..3).map(|k| sequence(3, 12, k)).collect();
    let lambdas = vec![0.0, 5.0, f64::INFINITY];
    let forecast = answer(&draws, ForecastSettings { lambdas: lambdas.clone(), ..Default::default() });
    assert!(forecast.widths.is_empty() && forecast.lambdas.len() == 3);
    for (point, lambda) in forecast.lambdas.iter().zip(lambdas) {
        let theory = SingleHeadSettings { mode: Mode::Gibbs, lambda, ..Default::default() };
        let each = draws.iter().map(|s| {
            final_forgetting(&SingleHead::new(s, &theory, &Context::default()).unwrap().forgetting().unwrap())
        });
        let mean = each.sum::<f64>() / 3.0;
        // Sums in another order.
        assert!((point.final_forgetting.unwrap() - mean).abs() < 1e-12 * mean, "{point:?} {mean}");
        assert!(point.standard_error.unwrap() > 0.0 && point.accuracy.unwrap() <= 1.0);
    }
    let said = forecast.sentences().join(" ");
    assert!(said.contains("Of the penalties tried, the best is λ = "), "{said}");
}

#[test]
fn widths_are_those_of_a_readout_per_task() {
    let draws = [sequence(2, 12, 7)];
    let settings = ForecastSettings { lambdas: vec![3.0], widths: vec![15.0, 60.0], ..Default::default() };
    let forecast = answer(&draws, settings);
    for (point, width) in forecast.widths.iter().zip([15.0, 60.0]) {
        let asked = MultiHeadSettings { lambda: 3.0, width: Some(width), ..Default::default() };
        let want = MultiHead::new(&draws[0].tasks, &asked, &Context::default()).unwrap().forgetting(2, 1).unwrap();
        assert_eq!((point.width, point.lambda, point.final_forgetting), (Some(width), 3.0, Some(want)));
    }
    // λ = ∞ at α = 1 has no value: that point says why, the other has its numbers.
    let forecast = answer(&draws, ForecastSettings { widths: vec![20.0, 40.0], ..Default::default() });
    let [at_one, other] = &forecast.widths[..] else { panic!("{:?}", forecast.widths) };
    assert!(at_one.final_forgetting.is_none() && at_one.why.as_ref().unwrap().contains("alpha is 1"), "{at_one:?}");
    assert!(other.final_forgetting.is_some() && other.why.is_none(), "{other:?}");
}

#[test]
fn sweeps_that_have_no_theory_are_refused() {
    let draws = [sequence(2, 0, 1)];
    let theory = SingleHeadSettings::default();
    let base = ForecastSettings { widths: vec![50.0], order: false, ..Default::default() };
    let deep = SingleHeadSettings { architecture: relu(2), ..theory };
    for (settings, word) in [
        (ForecastSettings { theory: SingleHeadSettings { bias2: 0.1, ..theory }, ..base.clone() }, "biases"),
        (ForecastSettings { theory: deep, ..base.clone() }, "one hidden layer"),
        (ForecastSettings { features: true, ..base.clone() }, "features"),
        (ForecastSettings { widths: vec![0.0], ..base.clone() }, "at least 1"),
        (ForecastSettings { lambdas: vec![-1.0], ..base.clone() }, "at least 0"),
    ] {
        let message = Forecast::of(&draws, &settings, &Context::default()).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn nothing_is_said_on_trained_networks_of_a_kind_that_was_not_measured() {
    let draws = [sequence(3, 12, 2)];
    let at = |theory: SingleHeadSettings| answer(&draws, ForecastSettings { theory, ..Default::default() }).trained;
    let plain = SingleHeadSettings::default();
    let gelu = Architecture { activation: Activation::Gelu, depth: 1 };
    assert!(at(plain).is_some());
    assert!(at(SingleHeadSettings { bias2: 0.5, ..plain }).is_none());
    assert!(at(SingleHeadSettings { architecture: gelu, ..plain }).is_none());
}

#[test]
fn order_parameters_explain_forgetting_over_draws() {
    let draws: Vec<TaskSequence> = (0..4).map(|k| sequence(4, 0, k)).collect();
    let forecast = answer(&draws, ForecastSettings::default());
    let found = forecast.explained.as_ref().unwrap();
    // Shares are scaled to sum 1.
    assert!((found.share.iter().sum::<f64>() - 1.0).abs() < 1e-12 && found.r2 > 0.0 && found.r2 <= 1.0, "{found:?}");
    assert!(forecast.sentences().iter().any(|s| s.contains("of that falls to γ_RF")));
    assert!(answer(&draws[..1], ForecastSettings::default()).explained.is_none());
}
