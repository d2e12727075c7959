//! Replay against the definition on concatenated data, and its limits.

use super::definition::Dense;
use super::*;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::stats::Estimate;
use ebbing::tasks::{Permuted, Protocol};
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::single_head::{Replay, ReplayBudget, Selection};
use ebbing::{Forecast, Recipe};

const SIZES: [usize; 4] = [7, 12, 8, 9];

/// Tasks with one column of ±1 and held-out data.
fn labeled(seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "test tasks", 0);
    let task = |p: usize| {
        let mut set = |n: usize| {
            let y = Mat::from_fn(n, 1, |i, _| if i % 3 == 0 { 1.0 } else { -1.0 });
            (gauss(&mut stream, n, 25), y)
        };
        let ((x, y), test) = (set(p), set(6));
        Task { test: Some(ebbing::tasks::TestSet { x: test.0, y: test.1 }), ..Task::new(x, y) }
    };
    sequence(SIZES.map(task).to_vec())
}

/// Every task followed by the rows `stored(s, t)` of each earlier task s.
fn joined(tasks: &TaskSequence, stored: impl Fn(usize, usize) -> Vec<usize>) -> TaskSequence {
    let all = (0..tasks.tasks.len()).map(|t| {
        let (mut x, mut y) = (tasks.tasks[t].x.clone(), tasks.tasks[t].y.clone());
        for s in 0..t {
            let (rows, from) = (stored(s, t), &tasks.tasks[s]);
            let below = |m: &Mat<f64>, f: &Mat<f64>| {
                let n = m.nrows();
                Mat::from_fn(n + rows.len(), m.ncols(), |i, j| if i < n { m[(i, j)] } else { f[(rows[i - n], j)] })
            };
            (x, y) = (below(&x, &from.x), below(&y, &from.y));
        }
        Task::new(x, y)
    });
    sequence(all.collect())
}

/// The rows of task s in the order in which they are drawn.
fn drawn(s: usize) -> Vec<usize> {
    Stream::new(0, "replay", s as u64).choose(SIZES[s], SIZES[s])
}

/// `L(f_t, D_s)` of the definition on concatenated data, on the tasks' own training and held-out data.
fn by_definition(settings: &SingleHeadSettings, tasks: &TaskSequence, learned: &TaskSequence) -> [Vec<Vec<f64>>; 2] {
    let dense = Dense::new(settings, learned);
    let row = |t: usize, held_out: bool| {
        let loss = |task: &Task| {
            let test = task.test.as_ref().unwrap();
            let (x, y) = if held_out { (&test.x, &test.y) } else { (&task.x, &task.y) };
            let (mean, variance) = dense.at(settings, learned, x, t + 1);
            let spread = if settings.variance { variance.iter().sum() } else { 0.0 };
            ((mean - y).squared_norm_l2() + spread) / y.squared_norm_l2()
        };
        tasks.tasks.iter().map(loss).collect::<Vec<f64>>()
    };
    [false, true].map(|held_out| (0..tasks.tasks.len()).map(|t| row(t, held_out)).collect())
}

fn gap(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| largest_difference(a, b)).fold(0.0, f64::max)
}

#[test]
fn replay_is_the_definition_on_concatenated_data() {
    let tasks = labeled(1);
    for (mode, lambda) in ALL_MODES {
        for (beta, variance) in [(f64::INFINITY, false), (20.0, true)] {
            for m in [1, 3, 7] {
                let replay = Replay { examples: m, ..Default::default() };
                let s = SingleHeadSettings { beta, variance, replay, architecture: relu(2), ..settings(mode, lambda) };
                let answer = SingleHead::new(&tasks, &s, &Context::default()).unwrap().forecast().unwrap();
                let learned = joined(&tasks, |s, _| drawn(s)[..m].to_vec());
                let [train, test] = by_definition(&s, &tasks, &learned);
                // Rounding times a condition number below 1e3 of an elimination of up to 93 equations.
                let off = gap(&answer.forgetting, &train).max(gap(&answer.test.unwrap().loss, &test));
                assert!(off < 1e-10, "{mode:?} {lambda} {beta} {m}: {off:e}");
            }
        }
    }
}

#[test]
fn everything_stored_is_learning_everything_at_the_end() {
    let tasks = labeled(2);
    let replay = Replay { examples: SIZES[..3].iter().sum(), budget: ReplayBudget::InAll, ..Default::default() };
    for mode in [Mode::Rf, Mode::Lazy] {
        let answer = SingleHead::new(
            &tasks,
            &SingleHeadSettings { replay, ..settings(mode, f64::INFINITY) },
            &Context::default(),
        );
        let f = answer.unwrap().forgetting().unwrap();
        // Interpolation of all data: zero up to rounding squared, magnified by a condition number below 1e3.
        assert!(f[3].iter().all(|loss| *loss < 1e-18), "{mode:?} {:?}", f[3]);
        // The kernel being the same for all tasks, what was learned before does not matter.
        let learned = joined(&tasks, |s, _| (0..SIZES[s]).collect());
        let alone = sequence(vec![learned.tasks[3].clone()]);
        let x = &tasks.tasks[0].test.as_ref().unwrap().x;
        let want =
            SingleHead::new(&alone, &settings(mode, f64::INFINITY), &Context::default()).unwrap().mean(x, 1).unwrap();
        let s = SingleHeadSettings { replay, ..settings(mode, f64::INFINITY) };
        let got = SingleHead::new(&tasks, &s, &Context::default()).unwrap().mean(x, 4).unwrap();
        assert!(distance(got.as_ref(), want.as_ref()) < 1e-11);
    }
}

#[test]
fn no_replay_changes_no_bit() {
    let tasks = labeled(3);
    for (mode, lambda) in ALL_MODES {
        let off = Replay { examples: 0, budget: ReplayBudget::PerClass, selection: Selection::Greedy, seed: 5 };
        let forecast = |replay: Replay| {
            let theory = SingleHeadSettings { replay, ..settings(mode, lambda) };
            Forecast::of(
                std::slice::from_ref(&tasks),
                &ForecastSettings { theory, ..Default::default() },
                &Context::default(),
            )
            .unwrap()
        };
        assert_eq!(forecast(off), forecast(Replay::default()));
    }
}

#[test]
fn a_table_of_kernels_gives_what_inputs_give() {
    let mut tasks = labeled(4);
    // An input that two tasks hold, with targets that differ: the newer one stands.
    for j in 0..25 {
        tasks.tasks[2].x[(0, j)] = tasks.tasks[0].x[(1, j)];
    }
    for mode in [Mode::Rf, Mode::Ntk, Mode::Lazy] {
        for selection in [Selection::Random, Selection::ByClass, Selection::Greedy] {
            let replay = Replay { examples: 6, selection, ..Default::default() };
            let theory = SingleHeadSettings { replay, ..settings(mode, f64::INFINITY) };
            let inputs = SingleHead::new(&tasks, &theory, &Context::default()).unwrap().forecast().unwrap();
            let asked = ForecastSettings { theory, ..Default::default() };
            let table = Forecast::of(&[tasks.clone()], &asked, &Context::default()).unwrap();
            // The same kernels: rounding times a condition number below 1e3.
            assert!(
                gap(&inputs.forgetting, &table.forgetting.as_ref().unwrap().mean) < 1e-10,
                "{mode:?} {selection:?}"
            );
            assert!(gap(&inputs.test.unwrap().loss, &table.test.unwrap().loss.mean) < 1e-10);
            // What is learned last is known, stored examples included.
            assert!(
                table.forgetting.as_ref().unwrap().mean[3][3] < 1e-18
                    && table.forgetting.as_ref().unwrap().mean[3][0] < 1.0
            );
        }
    }
}

#[test]
fn budgets_count_what_they_say() {
    let tasks = labeled(5);
    let forgetting = |replay: Replay| {
        SingleHead::new(
            &tasks,
            &SingleHeadSettings { replay, ..settings(Mode::Rf, f64::INFINITY) },
            &Context::default(),
        )
        .unwrap()
        .forgetting()
        .unwrap()
    };
    let s = settings(Mode::Rf, f64::INFINITY);
    // Seven in all: 7 of one task, 4 and 3 of two, 3, 2 and 2 of three.
    let share = |s: usize, t: usize| drawn(s)[..(7 / t + usize::from(s < 7 % t)).min(SIZES[s])].to_vec();
    let got = forgetting(Replay { examples: 7, budget: ReplayBudget::InAll, ..Default::default() });
    let [want, _] = by_definition(&s, &tasks, &joined(&tasks, share));
    // Rounding, as above.
    assert!(gap(&got, &want) < 1e-10);
    // Two of each class: of +1, every third row, and of −1, the others.
    let first = |s: usize, plus: bool| drawn(s).into_iter().filter(move |row| (row % 3 == 0) == plus).take(2);
    let got = forgetting(Replay { examples: 2, budget: ReplayBudget::PerClass, ..Default::default() });
    let [want, _] = by_definition(&s, &tasks, &joined(&tasks, |s, _| first(s, true).chain(first(s, false)).collect()));
    assert!(gap(&got, &want) < 1e-10);
    // Balanced: four per task are two of each class.
    let got = forgetting(Replay { examples: 4, selection: Selection::ByClass, ..Default::default() });
    assert!(gap(&got, &want) < 1e-10);
}

#[test]
fn budgets_that_tasks_cannot_fill_are_named() {
    let tasks = labeled(6);
    let refused = |tasks: &TaskSequence, examples: usize, budget: ReplayBudget| {
        let replay = Replay { examples, budget, ..Default::default() };
        let s = SingleHeadSettings { replay, ..settings(Mode::Rf, f64::INFINITY) };
        SingleHead::new(tasks, &s, &Context::default()).unwrap_err().to_string()
    };
    let said = refused(&tasks, 8, ReplayBudget::PerTask);
    assert_eq!(said, "replay is 8; must be at most 7, the examples of task 1");
    let said = refused(&tasks, 28, ReplayBudget::InAll);
    assert_eq!(said, "replay is 28; must be at most 27, the examples of all tasks but the last");
    let said = refused(&tasks, 5, ReplayBudget::PerClass);
    assert_eq!(said, "replay is 5; must be at most 4, the examples of the largest class of task 1");
    let said = refused(&random_tasks(&[6, 6], 20, 1, 1), 2, ReplayBudget::PerClass);
    assert_eq!(said, "replay is per class; task 1 has 6 different targets, no classes to count by");
}

/// Four permuted tasks of 80 digits.
fn digits(seed: u64) -> TaskSequence {
    let permuted = Permuted { tasks: 4, p: 80, p_test: 10, ..Permuted::default() };
    Recipe::drawn("mnist-sample", Protocol::Permuted(permuted)).draw(&Sources::new(), seed).unwrap()
}

/// At equal numbers greedy keeps more: paired over draws of digits, the difference exceeds three standard errors.
#[test]
fn greedy_examples_beat_random_ones() {
    let draws = 6;
    for (mode, examples) in [(Mode::Rf, 5), (Mode::Rf, 20), (Mode::Ntk, 10)] {
        let gains: Vec<f64> = (0..draws)
            .map(|seed| {
                let tasks = digits(seed);
                let forgetting = |selection: Selection| {
                    let replay = Replay { examples, selection, seed, ..Replay::default() };
                    let settings = SingleHeadSettings { mode, replay, ..Default::default() };
                    let f = SingleHead::new(&tasks, &settings, &Context::default()).unwrap().forgetting().unwrap();
                    let last = f.last().unwrap();
                    last[..last.len() - 1].iter().sum::<f64>() / (last.len() - 1) as f64
                };
                forgetting(Selection::Random) - forgetting(Selection::Greedy)
            })
            .collect();
        let gain = Estimate::over(&gains);
        assert!(gain.value > 3.0 * gain.error(), "{mode:?}, {examples}: {gain:?}");
    }
}
