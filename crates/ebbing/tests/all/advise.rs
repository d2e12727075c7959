//! Advice against the forecasts it is made of.

use crate::support::*;
use ebbing::Context;
use ebbing::kernels::{Activation, Architecture};
use ebbing::linalg::Mat;
use ebbing::rng::Stream;
use ebbing::tasks::TestSet;
use ebbing::theory::advise::{Advice, AdviseSettings, Remedy, RemedyKind};
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing::theory::single_head::{Mode, Replay, ReplayBudget, SingleHeadSettings};
use ebbing::{Forecast, MultiHead, Task, TaskSequence};

/// Tasks that share a teacher in part, so that they conflict and can help one another.
fn tasks(count: usize, p: usize, held_out: bool, seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "advice tests", 0);
    let common = gauss(&mut stream, 20, 1);
    let task = |_| {
        let own = gauss(&mut stream, 20, 1);
        let mut set = || {
            let x = gauss(&mut stream, p, 20);
            let y = Mat::from_fn(p, 1, |i, _| {
                (0..20).map(|j| x[(i, j)] * (common[(j, 0)] + own[(j, 0)])).sum::<f64>().signum()
            });
            (x, y)
        };
        let (x, y) = set();
        let test = held_out.then(set).map(|(x, y)| TestSet { x, y });
        Task { test, ..Task::new(x, y) }
    };
    sequence((0..count).map(task).collect())
}

fn advice(tasks: &[TaskSequence], settings: &AdviseSettings) -> Advice {
    Advice::of(tasks, settings, &Context::default()).unwrap()
}

fn row(advice: &Advice, kind: RemedyKind) -> &Remedy {
    advice.remedies.iter().find(|r| r.kind == kind).unwrap()
}

#[test]
fn rows_are_the_forecasts_of_the_remedies() {
    let tasks = tasks(3, 30, true, 1);
    for mode in [Mode::Rf, Mode::Ntk, Mode::Lazy] {
        let theory = SingleHeadSettings { mode, ..Default::default() };
        let answer = advice(std::slice::from_ref(&tasks), &AdviseSettings { theory, ..Default::default() });
        let forecast = |theory: SingleHeadSettings| {
            let settings = ForecastSettings { theory, order: false, ..Default::default() };
            let f = Forecast::of(std::slice::from_ref(&tasks), &settings, &Context::default()).unwrap();
            let last = &f.forgetting.as_ref().unwrap().mean[2];
            let metrics = f.test.unwrap().metrics.unwrap();
            ((last[0] + last[1]) / 2.0, metrics.average_accuracy, metrics.backward_transfer.unwrap())
        };
        let same = |row: &Remedy, (forgetting, accuracy, transfer): (f64, f64, f64)| {
            // Rounding times a condition number below 1e3; accuracies are counts.
            within(row.forgetting.unwrap(), forgetting, 1e-10, &row.remedy);
            within(row.accuracy.unwrap(), accuracy, 1e-12, &row.remedy);
            within(row.backward_transfer.unwrap(), transfer, 1e-12, &row.remedy);
        };
        same(row(&answer, RemedyKind::Nothing), forecast(theory));
        let needed = answer.examples_needed.unwrap();
        let at = |examples: usize| {
            forecast(SingleHeadSettings { replay: Replay { examples, ..Default::default() }, ..theory })
        };
        // The least number that reaches the target, as far as forgetting falls with it.
        assert!(
            at(needed).0 <= answer.target.unwrap() && at(needed - 1).0 > answer.target.unwrap(),
            "{mode:?} {needed}"
        );
        for point in &answer.replay {
            within(point.forgetting, at(point.examples).0, 1e-10, "a point of the sweep");
        }
        for other in [Mode::Rf, Mode::Ntk, Mode::Lazy].into_iter().filter(|other| *other != mode) {
            let found = answer.remedies.iter().filter(|r| r.kind == RemedyKind::Regime);
            let want = forecast(SingleHeadSettings { mode: other, ..theory }).0;
            assert!(found.map(|r| r.forgetting.unwrap()).any(|f| (f - want).abs() < 1e-10), "{mode:?} {other:?}");
        }
        let depth = row(&answer, RemedyKind::Depth);
        let layers: usize = depth.remedy.trim_start_matches("depth ").parse().unwrap();
        let mut deep = theory;
        deep.architecture.depth = layers;
        same(depth, forecast(deep));
        // Sorted, and the bound and readouts of their own forget nothing.
        let applying: Vec<f64> = answer.remedies.iter().filter_map(|r| r.forgetting).collect();
        assert!(applying.is_sorted() && applying.len() == answer.remedies.len(), "{applying:?}");
        assert!(row(&answer, RemedyKind::Joint).forgetting.unwrap() < 1e-15);
        assert!(row(&answer, RemedyKind::Gating).forgetting < row(&answer, RemedyKind::Nothing).forgetting);
        for remedy in &answer.remedies {
            let gain = row(&answer, RemedyKind::Nothing).forgetting.unwrap() - remedy.forgetting.unwrap();
            within(remedy.gain.unwrap(), gain, 1e-12, &remedy.remedy);
        }
    }
}

#[test]
fn several_draws_judge_the_order_and_give_errors() {
    let draws = [1, 2, 3].map(|seed| tasks(3, 20, false, seed));
    let answer = advice(&draws, &AdviseSettings { order: true, ..Default::default() });
    assert!(answer.draws == 3 && !answer.held_out);
    assert!(
        answer.remedies.iter().filter(|r| r.applies).all(|r| r.standard_error.is_some() && r.beyond_noise.is_some())
    );
    let said = answer.by_theory().join(" ");
    assert!(said.contains("of 3 draws") && said.contains("accuracies are those on training data"), "{said}");
    let one = advice(&draws[..1], &AdviseSettings::default());
    assert_eq!(row(&one, RemedyKind::Nothing).standard_error, None);
    assert_ne!(row(&one, RemedyKind::Nothing).forgetting, row(&answer, RemedyKind::Nothing).forgetting);
}

/// Orders by forgetting and by test accuracy: the best and the worst of all six.
#[test]
fn orders_come_with_their_range() {
    let tasks = tasks(3, 30, true, 5);
    let answer = advice(std::slice::from_ref(&tasks), &AdviseSettings { order: true, ..Default::default() });
    let range = answer.orders.unwrap();
    assert_eq!((range.tried, range.within_noise), (6, None));
    let all = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].map(|order| {
        let ordered = sequence(order.iter().map(|&t| tasks.tasks[t].clone()).collect());
        let settings = ForecastSettings { order: false, ..Default::default() };
        let f = Forecast::of(&[ordered], &settings, &Context::default()).unwrap();
        let last = &f.forgetting.as_ref().unwrap().mean[2];
        ((last[0] + last[1]) / 2.0, f.test.unwrap().metrics.unwrap().average_accuracy)
    });
    let ends =
        |get: fn(&(f64, f64)) -> f64| all.iter().map(get).fold((f64::MAX, f64::MIN), |e, x| (e.0.min(x), e.1.max(x)));
    let ((least, most), (low, high)) = (ends(|o| o.0), ends(|o| o.1));
    // Rounding times a condition number below 1e3; accuracies carry a tie-break of 1e-9.
    within(range.forgetting[0], least, 1e-10, "least forgetting");
    within(range.forgetting[1], most, 1e-10, "most forgetting");
    within(range.accuracy.unwrap()[0], high, 1e-8, "highest accuracy");
    within(range.accuracy.unwrap()[1], low, 1e-8, "lowest accuracy");
    // Trained networks hardly differ between depths: that is not what to do.
    assert!(!answer.by_theory()[0].contains("depth"), "{:?}", answer.by_theory());
    assert!(answer.by_theory().iter().any(|s| s.contains("6 orders were tried")), "{:?}", answer.by_theory());
}

/// Numbers of three digits and more with a decimal point in sentences; shorter ones may agree by chance.
fn numbers(said: &str) -> Vec<&str> {
    let part = |c: char| c.is_ascii_digit() || c == '.';
    let words = said.split(|c| !part(c)).map(|word| word.trim_end_matches('.'));
    words.filter(|word| word.contains('.') && word.len() > 4).collect()
}

/// A recommendation improves accuracy by more than forecasts are off by, a range ascends, and a number is said once.
fn sound(answer: &Advice) {
    let said = answer.by_theory();
    let all = said.join(" ");
    let nothing = row(answer, RemedyKind::Nothing);
    let recommended = |start: &str| {
        let sentence = said.iter().find_map(|s| s.strip_prefix(start))?;
        let longest = answer.remedies.iter().filter(|r| sentence.starts_with(&r.remedy)).max_by_key(|r| r.remedy.len());
        Some(longest.unwrap())
    };
    match recommended("Do this: ") {
        Some(_) => {}
        None => assert!(all.starts_with("No gain that we can be sure of"), "{all}"),
    }
    for remedy in ["Do this: ", "If the task is known at test time: "].into_iter().filter_map(recommended) {
        let (gain, error) = (remedy.accuracy_gain.unwrap(), remedy.forecast_error.unwrap());
        assert!(gain > error && error > 0.0, "{remedy:?}");
        // The theory as asked for, where it is not the one that came closest to trained networks.
        if remedy.expected.is_none() && (answer.features || answer.outside.is_none()) {
            within(gain, remedy.accuracy.unwrap() - nothing.accuracy.unwrap(), 1e-12, "the gain");
        }
    }
    if let Some(range) = answer.orders {
        assert!(range.forgetting[0] <= range.forgetting[1] && range.accuracy.is_none_or(|[a, b]| b <= a), "{range:?}");
        let given = nothing.forgetting.unwrap();
        // The order given is one of those tried: rounding apart it lies in their range.
        assert!(
            range.forgetting[0] <= given * (1.0 + 1e-9) && given <= range.forgetting[1] * (1.0 + 1e-9),
            "{range:?}"
        );
    }
    let mut once = numbers(&all);
    let count = once.len();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), count, "{all}");
    for line in &said {
        if let Some((low, rest)) = line.split_once("between ").and_then(|(_, rest)| rest.split_once(" and ")) {
            let high = rest.split([' ', ';']).next().unwrap().trim_end_matches('.');
            assert!(low.parse::<f64>().unwrap() <= high.parse::<f64>().unwrap(), "{line}");
        }
    }
}

#[test]
fn what_is_said_is_what_the_numbers_carry() {
    for seed in 0..12 {
        println!("seed {seed}");
        let count = 2 + seed as usize % 3;
        let (p, held_out, features) = ([12, 30, 45][seed as usize % 3], seed % 2 == 0, seed % 4 < 2);
        let sequence = tasks(count, p, held_out, 100 + seed);
        let target = (seed % 3 == 0).then_some(0.1);
        let settings = AdviseSettings { features, keep_forgetting_below: target, ..Default::default() };
        sound(&advice(&[sequence], &settings));
    }
}

/// Fewer features than examples: not even training on everything at once reaches the target, and replay does as well as that.
#[test]
fn what_is_out_of_reach_of_everything_is_not_blamed_on_replay() {
    let settings = AdviseSettings { features: true, keep_forgetting_below: Some(0.1), ..Default::default() };
    let answer = advice(&[tasks(3, 60, true, 9)], &settings);
    let said = answer.by_theory().join(" ");
    assert_eq!(answer.examples_needed, None);
    assert!(
        said.contains("out of reach of one readout for all tasks: training on everything at once has 0."),
        "{said}"
    );
    assert!(said.contains("comes to 1.00 times that, and is as accurate as training on everything at once"), "{said}");
    let joint = row(&answer, RemedyKind::Joint);
    within(answer.replay.last().unwrap().accuracy.unwrap(), joint.accuracy.unwrap(), 1e-12, "replay of everything");
}

/// At a width the multi-head theory answers, and only where it applies.
#[test]
fn readouts_of_their_own_at_a_width() {
    let two = tasks(2, 30, true, 6);
    let settings = AdviseSettings { width: Some(20.0), ..Default::default() };
    let answer = advice(std::slice::from_ref(&two), &settings);
    let rows: Vec<&Remedy> = answer.remedies.iter().filter(|r| r.kind == RemedyKind::Readouts).collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in rows {
        let lambda: f64 = row.remedy.split("λ = ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        let readout_norm = row.remedy.contains("|a|²/N ≤ 1").then_some(1.0);
        let multi = MultiHeadSettings { lambda, width: Some(20.0), readout_norm, ..Default::default() };
        let theory = MultiHead::new(&two.tasks, &multi, &Context::default()).unwrap();
        within(row.forgetting.unwrap(), theory.forgetting(2, 1).unwrap(), 1e-12, &row.remedy);
        let right = |head: usize| {
            let test = two.tasks[head - 1].test.as_ref().unwrap();
            let found = theory.predict(head, 2, test.x.as_ref()).unwrap();
            // Gaussian outputs have the right sign with probability Φ(y m/√v), here from Monte Carlo.
            let mut stream = Stream::new(head as u64, "signs", 0);
            let mut hits = 0;
            for (i, (m, v)) in found.mean.iter().zip(&found.variance).enumerate() {
                hits += (0..2000).filter(|_| (m + v.sqrt() * stream.normal()) * test.y[(i, 0)] > 0.0).count();
            }
            hits as f64 / (2000 * found.mean.len()) as f64
        };
        // Four standard errors of 60,000 draws per head.
        within(row.accuracy.unwrap(), 0.5 * (right(1) + right(2)), 4.0 * (0.25f64 / 120_000.0).sqrt(), &row.remedy);
        assert!(row.task_known);
    }
    // Two hidden layers are outside that theory: the wide limit answers.
    let theory = SingleHeadSettings {
        architecture: Architecture { depth: 2, activation: Activation::Relu },
        ..Default::default()
    };
    let deep = advice(std::slice::from_ref(&two), &AdviseSettings { theory, ..settings.clone() });
    assert_eq!(row(&deep, RemedyKind::Readouts).remedy, "a readout per task (wide)");
    let refused = |settings: AdviseSettings| {
        Advice::of(std::slice::from_ref(&two), &settings, &Context::default()).unwrap_err().to_string()
    };
    assert!(refused(AdviseSettings { width: Some(0.0), ..Default::default() }).contains("width is 0"));
    assert!(refused(AdviseSettings { features: true, ..settings }).contains("width is 20"));
}

#[test]
fn targets_and_budgets_are_kept_to() {
    let tasks = [tasks(3, 25, true, 4)];
    let all = advice(&tasks, &AdviseSettings { keep_forgetting_below: Some(1e-9), ..Default::default() });
    assert_eq!(all.examples_needed, Some(25), "only everything leaves nothing to forget");
    let few =
        advice(&tasks, &AdviseSettings { budget: Some(3), keep_forgetting_below: Some(1e-9), ..Default::default() });
    assert_eq!((few.examples_needed, few.examples_most), (None, Some(3)));
    assert!(row(&few, RemedyKind::Replay).remedy.starts_with("replay of 3 per task"));
    assert!(few.by_theory().join(" ").contains("Replay alone does not reach"));
    let replay = Replay { budget: ReplayBudget::PerClass, ..Default::default() };
    let classes = advice(&tasks, &AdviseSettings { replay, budget: Some(2), ..Default::default() });
    assert!(row(&classes, RemedyKind::Replay).remedy.starts_with("replay of 2 per class"));
}

#[test]
fn features_leave_out_what_changes_the_network() {
    let answer =
        advice(&[tasks(3, 15, true, 5)], &AdviseSettings { features: true, order: true, ..Default::default() });
    for kind in [RemedyKind::Depth, RemedyKind::Gating, RemedyKind::Context, RemedyKind::Penalty, RemedyKind::Regime] {
        let row = row(&answer, kind);
        assert!(!row.applies && row.why.as_ref().unwrap().contains("features are given"), "{row:?}");
    }
    assert!(row(&answer, RemedyKind::Replay).applies && row(&answer, RemedyKind::Order).applies);
    assert!(answer.remedies.iter().skip_while(|r| r.applies).all(|r| !r.applies), "those that do not apply come last");
}

#[test]
fn what_cannot_be_advised_on_is_named() {
    let sound = tasks(2, 10, true, 6);
    let refused = |tasks: &[TaskSequence], settings: AdviseSettings| {
        Advice::of(tasks, &settings, &Context::default()).unwrap_err().to_string()
    };
    assert!(refused(&[], AdviseSettings::default()).contains("there is none to advise on"));
    let one = sequence(sound.tasks[..1].to_vec());
    assert!(refused(&[one], AdviseSettings::default()).contains("it holds 1 task"));
    let said = refused(std::slice::from_ref(&sound), AdviseSettings { budget: Some(11), ..Default::default() });
    assert_eq!(said, "budget is 11; must be at most 10, the examples of task 1");
    let warm = SingleHeadSettings { beta: 30.0, ..Default::default() };
    let frozen = SingleHeadSettings { mode: Mode::Gibbs, ..warm };
    for (settings, name) in [
        (AdviseSettings { budget: Some(0), ..Default::default() }, "budget"),
        (AdviseSettings { keep_forgetting_below: Some(0.0), ..Default::default() }, "keep_forgetting_below"),
        (AdviseSettings { keep_forgetting_below: Some(f64::NAN), ..Default::default() }, "keep_forgetting_below"),
        (AdviseSettings { max_p: Some(1), ..Default::default() }, "max_p"),
        // λ = ∞ at a temperature is another quantity than the limits that stand in the same table.
        (AdviseSettings { theory: warm, lambdas: vec![1.0, f64::INFINITY], ..Default::default() }, "lambdas is inf"),
        (AdviseSettings { theory: frozen, ..Default::default() }, "mode is gibbs"),
    ] {
        assert!(refused(std::slice::from_ref(&sound), settings).starts_with(name));
    }
}
