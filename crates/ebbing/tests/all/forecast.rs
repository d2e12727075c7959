//! Whole forecasts: the same numbers whether kernels are kept or made again, and what trained networks are expected to do.

use ebbing::Context;
use ebbing::data::Preprocess;
use ebbing::kernels::Architecture;
use ebbing::tasks::Permuted;
use ebbing::theory::calibration::{Training, theory};
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing::theory::single_head::{Mode, Replay, SingleHeadSettings};
use ebbing::{Dataset, Forecast, MultiHead, Source, TaskSequence};

/// Permuted images with test data.
fn images(preprocess: &Preprocess) -> TaskSequence {
    let source = Source::new(Dataset::sample().unwrap(), preprocess).unwrap();
    Permuted { tasks: 3, p: 60, p_test: 80, ..Permuted::default() }.generate(&source, 3).unwrap()
}

fn answer(tasks: &TaskSequence, theory: SingleHeadSettings) -> Forecast {
    let settings = ForecastSettings { theory, order: true, ..ForecastSettings::default() };
    Forecast::of(std::slice::from_ref(tasks), &settings, &Context::default()).unwrap()
}

fn gap(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn kernels_made_once_give_what_blocks_give() {
    let tasks = images(&Preprocess::default());
    for mode in [Mode::Rf, Mode::Ntk, Mode::Lazy] {
        for beta in [f64::INFINITY, 30.0] {
            let theory = SingleHeadSettings { mode, beta, ..SingleHeadSettings::default() };
            // Without a byte to keep them in, kernels are made block by block.
            let [once, blocks] = [theory, SingleHeadSettings { keep_bytes: 0, ..theory }].map(|t| answer(&tasks, t));
            // Rounding times condition numbers below 1e3.
            assert!(gap(&once.forgetting.as_ref().unwrap().mean, &blocks.forgetting.as_ref().unwrap().mean) < 1e-10);
            let [a, b] = [&once, &blocks].map(|f| &f.test.as_ref().unwrap().loss.mean);
            assert!(gap(a, b) < 1e-10);
            for (a, b) in once.pairs.iter().zip(&blocks.pairs) {
                assert!((a.values.gamma_rf - b.values.gamma_rf).abs() < 1e-10, "{mode:?}");
                assert!((a.values.gamma_sim - b.values.gamma_sim).abs() < 1e-10, "{mode:?}");
            }
            let [a, b] = [&once, &blocks].map(|f| f.order.as_ref().unwrap());
            assert_eq!(a.order, b.order);
            assert!((a.forgetting - b.forgetting).abs() < 1e-10);
        }
    }
}

#[test]
fn what_is_expected_is_the_forecast_of_the_theory_that_came_closest() {
    let raw = Preprocess { whiten: None, ..Preprocess::default() };
    for (tasks, whitened) in [(images(&Preprocess::default()), true), (images(&raw), false)] {
        for (replay, training) in [(0, Training::Plain), (10, Training::Replay)] {
            let replay = Replay { examples: replay, ..Replay::default() };
            let closest = SingleHeadSettings { replay, ..theory(training, &tasks).unwrap() };
            let metrics = answer(&tasks, closest).test.unwrap().metrics.unwrap();
            // Whatever theory is asked for, trained networks are forecast by the closest.
            let deep = Architecture { depth: 2, ..closest.architecture };
            for (mode, architecture) in [(Mode::Rf, closest.architecture), (Mode::Ntk, deep)] {
                let asked = SingleHeadSettings { mode, architecture, replay, ..SingleHeadSettings::default() };
                let found = answer(&tasks, asked);
                // Far fewer examples than any network was measured with: no range, and it is said why.
                assert!(found.expected.is_none(), "{found:?}");
                let (outside, nearest) = (found.outside.unwrap(), if whitened { "whitened" } else { "standardized" });
                assert!(outside.contains("examples per task (measured: 90 to"), "{outside}");
                assert!(outside.ends_with(&format!("nearest: {nearest} images")), "{outside}");
                let trained = found.trained.unwrap();
                // Shares of 80 examples: rounding of kernels may turn one of them.
                assert!((trained.lost.unwrap() + metrics.backward_transfer.unwrap()).abs() < 0.5 / 80.0);
                assert!((trained.final_accuracy - metrics.average_accuracy).abs() < 0.5 / 80.0);
            }
        }
    }
}

#[test]
fn tasks_in_another_order_are_reported_by_their_place_and_as_given() {
    let order = [3, 1, 2];
    let forecast = answer(&images(&Preprocess::default()).ordered(&order).unwrap(), SingleHeadSettings::default());
    let worst = forecast.worst.as_ref().unwrap();
    let [a, b] = [worst.first, worst.second].map(|t| format!("{t} (given as task {})", order[t - 1]));
    let (said, theory) = (forecast.sentences().join(" "), forecast.theory_sentences());
    assert!(said.contains(&format!("Tasks {a} and {b} clash most")), "{said}");
    assert!(theory[0].starts_with(&format!("Tasks {a} and {b} conflict most")), "{theory:?}");
}

/// Sixty trials of six neurons span all of them in every task.
#[test]
fn features_that_both_tasks_span_get_a_remark() {
    let mut tasks = images(&Preprocess::default());
    let answer = |tasks: &TaskSequence| {
        let settings = ForecastSettings { features: true, ..ForecastSettings::default() };
        Forecast::of(std::slice::from_ref(tasks), &settings, &Context::default()).unwrap()
    };
    for (neurons, remarked) in [(90, false), (6, true)] {
        for task in &mut tasks.tasks {
            task.x = task.x.get(.., ..neurons).to_owned();
            task.test = None;
        }
        let forecast = answer(&tasks);
        assert_eq!(forecast.pairs[0].values.gamma_feature > 1.0 - 1e-9, remarked);
        let remark = forecast.notes.iter().any(|note| note.contains("span the same 6 features"));
        assert_eq!(remark, remarked, "{:?}", forecast.notes);
    }
}

/// A task all of whose targets are the same is learned like any other: by the one readout, and by its own.
#[test]
fn constant_targets_are_learned_in_both_theories() {
    let mut tasks = images(&Preprocess::default());
    tasks.tasks[1].y.fill(0.7);
    let single = answer(&tasks, SingleHeadSettings::default());
    // What is interpolated is right to the digits that are reported.
    assert!(
        single.forgetting.as_ref().unwrap().mean[1][1] < 1e-9 && single.forgetting.as_ref().unwrap().mean[1][0] > 0.0
    );
    let settings = MultiHeadSettings { lambda: 3.0, alpha: Some(0.5), ..Default::default() };
    let heads = MultiHead::new(&tasks.tasks[..2], &settings, &Context::default()).unwrap();
    assert!(heads.forgetting(2, 2).unwrap() < 1e-9 && heads.forgetting(2, 1).unwrap() > 0.0);
}

#[test]
fn a_task_without_test_data_leaves_the_others_theirs() {
    let raw = Preprocess { whiten: None, ..Preprocess::default() };
    let all = images(&raw);
    let mut tasks = all.clone();
    tasks.tasks[1].test = None;
    let settings = ForecastSettings::default();
    let forecast =
        |tasks: &TaskSequence| Forecast::of(std::slice::from_ref(tasks), &settings, &Context::default()).unwrap();
    let (whole, part) = (forecast(&all), forecast(&tasks));
    let note = &part.notes[0];
    assert!(note.ends_with("2 has no test data: its test results are those of its training examples"), "{note}");
    // What is forecast of training data, and of the test data of the other tasks, is the same to the bit.
    assert_eq!(part.forgetting, whole.forgetting);
    let [part, whole] =
        [&part, &whole].map(|f| (&f.test.as_ref().unwrap().loss.mean, &f.trained.as_ref().unwrap().accuracy.mean));
    for t in 0..3 {
        for s in [0, 2] {
            assert_eq!((part.0[t][s], part.1[t][s]), (whole.0[t][s], whole.1[t][s]));
        }
    }
}
