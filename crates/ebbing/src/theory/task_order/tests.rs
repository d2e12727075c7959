//! Orders against all orders by hand.

use super::*;
use crate::tasks::TestSet;
use crate::tasks::{Task, TaskSequence};
use crate::theory::blocks::kernels::KernelSource;
use crate::theory::single_head::Mode;

/// The mean of the last row but its last entry.
fn mean_final(forgetting: &[Vec<f64>]) -> f64 {
    let last = &forgetting[forgetting.len() - 1];
    last[..last.len() - 1].iter().sum::<f64>() / (last.len() - 1) as f64
}

fn tasks(sizes: &[usize], columns: usize, seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "order tests", 0);
    let mut gauss = |rows: usize, columns: usize| Mat::from_fn(rows, columns, |_, _| stream.normal());
    let task = |&p: &usize| Task::new(gauss(p, 15), gauss(p, columns));
    TaskSequence { tasks: sizes.iter().map(task).collect(), settings: Default::default() }
}

/// The tasks in another order.
fn in_order(sequence: &TaskSequence, order: &[usize]) -> TaskSequence {
    let tasks = order.iter().map(|&t| sequence.tasks[t].clone()).collect();
    TaskSequence { tasks, settings: sequence.settings.clone() }
}

fn settings(mode: Mode, lambda: f64, beta: f64) -> OrderSearchSettings {
    OrderSearchSettings {
        theory: SingleHeadSettings { mode, lambda, beta, ..Default::default() },
        ..Default::default()
    }
}

/// The least mean final forgetting over all orders of four tasks, each forecast by itself.
fn by_hand(theory: SingleHeadSettings, sequence: &TaskSequence) -> (Vec<usize>, f64) {
    let mut best = (vec![], f64::INFINITY);
    for code in 0..256usize {
        let order: Vec<usize> = (0..4).map(|place| code >> (2 * place) & 3).collect();
        if (0..4).all(|t| order.contains(&t)) {
            let f = SingleHead::new(&in_order(sequence, &order), &theory, &crate::Context::default())
                .unwrap()
                .forgetting()
                .unwrap();
            let value = (f[3][0] + f[3][1] + f[3][2]) / 3.0;
            if value < best.1 {
                best = (order.iter().map(|t| t + 1).collect(), value);
            }
        }
    }
    best
}

#[test]
fn every_order_is_tried() {
    let sequence = tasks(&[8, 6, 9, 7], 2, 1);
    for (mode, lambda, beta) in [
        (Mode::Rf, f64::INFINITY, f64::INFINITY),
        (Mode::Ntk, f64::INFINITY, f64::INFINITY),
        (Mode::Rf, f64::INFINITY, 3.0),
        (Mode::Ntk, f64::INFINITY, 3.0),
        (Mode::Gibbs, 2.0, f64::INFINITY),
    ] {
        let settings = settings(mode, lambda, beta);
        let found = best_order(&sequence, &settings, &crate::Context::default()).unwrap();
        let (order, value) = by_hand(settings.theory, &sequence);
        assert_eq!((found.order, found.method, found.tried), (order, SearchMethod::Exhaustive, 24), "{mode:?}");
        assert!((found.forgetting - value).abs() < 1e-12 && found.gain >= 0.0);
        assert!((found.given - found.gain - found.forgetting).abs() < 1e-14);
    }
}

#[test]
fn forecasts_of_orders_are_those_of_the_theory() {
    let sequence = tasks(&[8, 6, 9, 7, 10], 1, 2);
    for (mode, beta) in [(Mode::Rf, f64::INFINITY), (Mode::Ntk, 5.0)] {
        let settings = settings(mode, f64::INFINITY, beta);
        let source = KernelSource::network(settings.theory.architecture, settings.theory.checked().unwrap());
        let kernels = Kernels::new(source, settings.theory.limit().unwrap()).unwrap();
        let engine = Engine::new(
            &kernels,
            &settings.theory,
            &part(&settings, &Inputs::from(&sequence).given(0.0).unwrap()).0,
            (settings.rank, false),
            &crate::Context::default(),
        )
        .unwrap();
        let orders = [vec![3, 1], vec![4, 0, 2, 1, 3], vec![2, 3, 0], vec![0, 1, 2, 3, 4]];
        for (order, value) in orders.iter().zip(engine.of(&orders, &crate::Context::default()).unwrap()) {
            let f = SingleHead::new(&in_order(&sequence, order), &settings.theory, &crate::Context::default())
                .unwrap()
                .forgetting()
                .unwrap();
            // Rounding times a condition number below 1e3.
            assert!((value - mean_final(&f)).abs() < 1e-12, "{order:?}: {value}");
        }
    }
}

#[test]
fn the_heuristic_lies_between_the_given_order_and_the_best() {
    let mut found = 0;
    for seed in 3..8 {
        let sequence = tasks(&[8; 6], 1, seed);
        let all = settings(Mode::Rf, f64::INFINITY, f64::INFINITY);
        let quick =
            best_order(&sequence, &OrderSearchSettings { exhaustive_up_to: 3, ..all }, &crate::Context::default())
                .unwrap();
        let best = best_order(&sequence, &all, &crate::Context::default()).unwrap();
        assert_eq!((quick.method, best.tried), (SearchMethod::InsertionAndMoves, 720));
        assert!(best.forgetting <= quick.forgetting + 1e-12 && quick.forgetting <= quick.given);
        found += usize::from(quick.order == best.order);
    }
    assert!(found >= 3, "the best of 720 orders was found {found} times of 5");
}

#[test]
fn a_small_budget_searches_on_a_part_but_forecasts_all() {
    let sequence = tasks(&[20, 20, 20], 1, 9);
    let all = settings(Mode::Rf, f64::INFINITY, f64::INFINITY);
    let part =
        best_order(&sequence, &OrderSearchSettings { keep_bytes: 4 * 900, ..all }, &crate::Context::default()).unwrap();
    assert_eq!(part.examples, 10);
    let order: Vec<usize> = part.order.iter().map(|t| t - 1).collect();
    let f = SingleHead::new(&in_order(&sequence, &order), &all.theory, &crate::Context::default());
    assert_eq!(part.forecast, f.unwrap().forgetting().unwrap());
    assert_eq!(part.forgetting, mean_final(&part.forecast));
    assert!(
        part.gain >= 0.0
            && best_order(&sequence, &all, &crate::Context::default()).unwrap().forgetting <= part.forgetting
    );
}

#[test]
fn orders_are_ranked_by_accuracy_too() {
    let mut sequence = tasks(&[8, 6, 9, 7], 2, 11);
    let of = |count: usize, seed: u64| tasks(&[count; 4], 2, seed).tasks;
    for (task, test) in sequence.tasks.iter_mut().zip(of(25, 12)) {
        // One-hot targets: two classes.
        let class = |y: &Mat<f64>| Mat::from_fn(y.nrows(), 2, |i, j| f64::from((y[(i, 0)] > 0.0) == (j == 0)));
        (task.y, task.test) = (class(&task.y), Some(TestSet { y: class(&test.y), x: test.x }));
    }
    for mode in [Mode::Rf, Mode::Ntk, Mode::Gibbs] {
        let lambda = if mode == Mode::Gibbs { 2.0 } else { f64::INFINITY };
        let by_forgetting = settings(mode, lambda, f64::INFINITY);
        let by_accuracy = OrderSearchSettings { rank: OrderRank::Accuracy, ..by_forgetting };
        let found = best_order(&sequence, &by_accuracy, &crate::Context::default()).unwrap();
        let accuracy = |order: &[usize]| {
            let ordered = in_order(&sequence, &order.iter().map(|t| t - 1).collect::<Vec<_>>());
            SingleHead::new(&ordered, &by_accuracy.theory, &crate::Context::default())
                .unwrap()
                .outcome()
                .unwrap()
                .accuracy
                .unwrap()
        };
        let orders = (0..256).map(|k: usize| [k % 4 + 1, k / 4 % 4 + 1, k / 16 % 4 + 1, k / 64 + 1]);
        let all: Vec<f64> = orders.filter(|o| (1..=4).all(|t| o.contains(&t))).map(|order| accuracy(&order)).collect();
        let (least, most) = all.iter().fold((1.0, 0.0), |(a, b): (f64, f64), x| (a.min(*x), b.max(*x)));
        let [best, given] = found.accuracy.unwrap();
        assert_eq!((all.len(), found.tried), (24, 24));
        // Shares of 100 examples, and the tie-break that is added to them.
        assert!((best - most).abs() < 1e-8 && (found.worst - least).abs() < 1e-8, "{found:?} {least} {most}");
        assert!((best - accuracy(&found.order)).abs() < 1e-12 && (given - accuracy(&[1, 2, 3, 4])).abs() < 1e-12);
        // Ranked by forgetting an order forgets no more, and is no more accurate.
        let other = best_order(&sequence, &by_forgetting, &crate::Context::default()).unwrap();
        assert!(other.forgetting <= found.forgetting + 1e-12 && accuracy(&other.order) <= best + 1e-12);
        assert_eq!(other.accuracy, None);
        assert!(other.worst >= other.given - 1e-9);
    }
    let untested = tasks(&[8, 6], 1, 1);
    let rank = OrderSearchSettings { rank: OrderRank::Accuracy, ..Default::default() };
    assert!(best_order(&untested, &rank, &crate::Context::default()).unwrap_err().to_string().contains("test data"));
}

#[test]
fn features_and_bad_input() {
    let sequence = tasks(&[20, 18, 22], 1, 10);
    let all = settings(Mode::Rf, f64::INFINITY, f64::INFINITY);
    let found = best_order(Inputs::Features(&sequence), &all, &crate::Context::default()).unwrap();
    let order: Vec<usize> = found.order.iter().map(|t| t - 1).collect();
    let f = SingleHead::new(Inputs::Features(&in_order(&sequence, &order)), &all.theory, &crate::Context::default())
        .unwrap()
        .forgetting()
        .unwrap();
    assert_eq!(found.forgetting, mean_final(&f));
    assert!(
        best_order(&tasks(&[8], 1, 0), &all, &crate::Context::default()).unwrap_err().to_string().contains("1 task")
    );
}

/// Fewer features than examples: a task is not learned whole, which the search must know as the forecasts do.
#[test]
fn orders_of_singular_features_are_forecast_as_they_are() {
    let mut stream = Stream::new(20, "order tests", 1);
    let mut gauss = |rows: usize, columns: usize| Mat::from_fn(rows, columns, |_, _| stream.normal());
    let tasks = (0..4).map(|_| Task::new(gauss(30, 6), gauss(30, 1))).collect();
    let sequence = TaskSequence { tasks, settings: Default::default() };
    let all = settings(Mode::Rf, f64::INFINITY, f64::INFINITY);
    let orders = (0..256).map(|k: usize| [k % 4, k / 4 % 4, k / 16 % 4, k / 64]);
    let each = orders.filter(|o| (0..4).all(|t| o.contains(&t))).map(|order| {
        let ordered = in_order(&sequence, &order);
        mean_final(
            &SingleHead::new(Inputs::Features(&ordered), &all.theory, &crate::Context::default())
                .unwrap()
                .forgetting()
                .unwrap(),
        )
    });
    let (least, most) = each.fold((f64::INFINITY, 0.0f64), |(a, b), f| (a.min(f), b.max(f)));
    // All examples, and half of each task in the search.
    for keep_bytes in [all.keep_bytes, 120 * 120] {
        let found = best_order(
            Inputs::Features(&sequence),
            &OrderSearchSettings { keep_bytes, ..all },
            &crate::Context::default(),
        )
        .unwrap();
        assert!(found.forgetting <= found.given && found.given <= found.worst, "{found:?}");
        assert!(found.worst <= most + 1e-9 && found.forgetting >= least - 1e-9, "{found:?}");
        if found.examples == 30 {
            // Rounding times a condition number below 1e3.
            assert!((found.forgetting - least).abs() < 1e-9 && (found.worst - most).abs() < 1e-9, "{found:?}");
        }
    }
}

#[test]
fn several_draws_are_ordered_by_their_mean() {
    let draws: Vec<TaskSequence> = (1..=3).map(|seed| tasks(&[7, 8, 6], 1, seed)).collect();
    let inputs: Vec<Inputs<'_>> = draws.iter().map(Inputs::from).collect();
    let settings = OrderSearchSettings::default();
    let found = best_order_of(&inputs, &settings, &crate::Context::default()).unwrap();
    let mean = |order: &[usize]| {
        let one = |draw: &TaskSequence| {
            let ordered = in_order(draw, &order.iter().map(|t| t - 1).collect::<Vec<_>>());
            mean_final(
                &SingleHead::new(&ordered, &settings.theory, &crate::Context::default()).unwrap().forgetting().unwrap(),
            )
        };
        draws.iter().map(one).sum::<f64>() / 3.0
    };
    let all = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]];
    let least = all.iter().map(|order| mean(order)).fold(f64::INFINITY, f64::min);
    // The two ways differ by rounding of kernels with condition numbers below 1e4.
    assert!((found.forgetting - least).abs() < 1e-9 && (mean(&found.order) - least).abs() < 1e-9);
    assert!((found.given - mean(&[1, 2, 3])).abs() < 1e-9);
    assert_eq!(found.tried, 6);
    let noise = found.gain_error.unwrap() * (2.0 * 6f64.ln()).sqrt();
    assert_eq!(found.within_noise, Some(found.gain <= noise));
    assert_eq!(best_order(&draws[0], &settings, &crate::Context::default()).unwrap().within_noise, None);
}
