//! The forecast in tiles beside the forecast in memory.

use super::solver::RESIDUAL;
use super::*;
use crate::kernels::{Activation, Architecture};
use crate::linalg::Mat;
use crate::rng::Stream;
use crate::tasks::{Task, TestSet};
use crate::theory::order_parameters::{OrderParameters, order_parameters};
use crate::theory::single_head::SingleHead;
use std::ops::ControlFlow;
use std::sync::Mutex;

const DIM: usize = 30;

/// Tasks of inputs that overlap in their statistics and targets that a rule gives: `classes` columns, ±1 for one.
fn sequence(sizes: &[usize], classes: usize, tested: bool) -> TaskSequence {
    let mut stream = Stream::new(5, "whole test", sizes.len() as u64);
    let mut set = |p: usize, shift: f64| {
        let x = Mat::from_fn(p, DIM, |_, j| stream.normal() + if j < 4 { shift } else { 0.0 });
        let class =
            |i: usize| (0..classes.max(2)).max_by(|&a, &b| x[(i, a + 1)].total_cmp(&x[(i, b + 1)])).unwrap_or(0);
        let y = match classes {
            1 => Mat::from_fn(p, 1, |i, _| if x[(i, 0)] + x[(i, 5)] > shift { 1.0 } else { -1.0 }),
            _ => Mat::from_fn(p, classes, |i, c| if class(i) == c { 1.0 } else { 0.0 }),
        };
        (x, y)
    };
    let tasks = sizes.iter().enumerate().map(|(t, &p)| {
        let (x, y) = set(p, 0.5 * t as f64);
        let (test_x, test_y) = set(37, 0.5 * t as f64);
        Task { test: tested.then_some(TestSet { x: test_x, y: test_y }), ..Task::new(x, y) }
    });
    TaskSequence { tasks: tasks.collect(), settings: Default::default() }
}

fn theory(mode: Mode) -> SingleHeadSettings {
    let architecture = Architecture { activation: Activation::Relu, depth: 2 };
    let lambda = if mode == Mode::Gibbs { 5.0 } else { f64::INFINITY };
    SingleHeadSettings { mode, architecture, lambda, sigma2: 1.3, ..Default::default() }
}

fn cut(folder: &std::path::Path, block: usize) -> Cut {
    Cut { block, room: 0.0, probes: PROBES, scratch: folder.to_path_buf() }
}

fn in_tiles(tasks: &TaskSequence, theory: &SingleHeadSettings, cut: &Cut, context: &Context) -> Result<TiledForecast> {
    forecast(tasks, theory, &OrderParameterSettings::default(), Some(cut.clone()), context)
}

fn found(sequence: &TaskSequence, theory: &SingleHeadSettings, block: usize) -> TiledForecast {
    let folder = tempfile::tempdir().unwrap();
    let found = in_tiles(sequence, theory, &cut(folder.path(), block), &Context::default()).unwrap();
    let left = std::fs::read_dir(folder.path()).map(|entries| entries.count()).unwrap_or(0);
    assert_eq!(left, 0, "finished parts are gone at the end");
    found
}

/// Relative to 1 or to the value itself, if larger: losses and order parameters are of order 1. The bound is what is promised:
/// residuals of 1e-8, which outputs at other inputs magnify by less than 100.
#[track_caller]
fn close(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{what}: {a} in tiles, {b} in memory");
}

#[track_caller]
fn same_matrix(a: &[Vec<f64>], b: &[Vec<f64>], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (t, (a, b)) in a.iter().zip(b).enumerate() {
        a.iter().zip(b).enumerate().for_each(|(s, (a, b))| close(*a, *b, &format!("{what}[{t}][{s}]")));
    }
}

fn same_forecast(a: &SingleHeadForecast, b: &SingleHeadForecast) {
    same_matrix(&a.forgetting, &b.forgetting, "forgetting");
    assert_eq!(a.train_accuracy, b.train_accuracy);
    assert_eq!(a.f21_at_lambda_zero.is_some(), b.f21_at_lambda_zero.is_some());
    if let (Some(a), Some(b)) = (a.f21_at_lambda_zero, b.f21_at_lambda_zero) {
        close(a, b, "F21 at lambda 0");
    }
    assert_eq!(a.test.is_some(), b.test.is_some());
    if let (Some(a), Some(b)) = (&a.test, &b.test) {
        same_matrix(&a.loss, &b.loss, "test loss");
        same_matrix(&a.generalization, &b.generalization, "generalization");
        same_matrix(std::slice::from_ref(&a.alone), std::slice::from_ref(&b.alone), "alone");
        assert_eq!((&a.accuracy, &a.alone_accuracy), (&b.accuracy, &b.alone_accuracy));
    }
    assert_eq!(a.ranks, b.ranks);
    for (a, b) in a.conditions.iter().zip(&b.conditions) {
        // Both are estimates, of which one has the one-norm (up to √P times the other) in it.
        assert!(a / b < 10.0 && b / a < 30.0, "condition {a} and {b}");
    }
}

fn same_pairs(a: &[PairOrderParameters], b: &[PairOrderParameters]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert_eq!((a.first, a.second, a.inverse, a.ranks), (b.first, b.second, b.inverse, b.ranks));
        let exact: [fn(&OrderParameters) -> f64; 7] = [
            |p| p.gamma_rf,
            |p| p.gamma_rule,
            |p| p.conflict,
            |p| p.cos,
            |p| p.proj,
            |p| p.f21,
            |p| p.f21_at_lambda_zero,
        ];
        // Forgetting of pairs in modes other than rf needs kernels in memory, and is NaN.
        let known = if a.values.f21.is_nan() { &exact[..5] } else { &exact[..] };
        known.iter().enumerate().for_each(|(k, get)| close(get(&a.values), get(&b.values), &format!("parameter {k}")));
        let error = a.gamma_feature_error.unwrap();
        // An estimate is off by more than five standard errors (themselves estimated from 32 probes) once in 10⁵ times.
        assert!(error > 0.0 && error < 0.05, "{error}");
        assert!((a.values.gamma_feature - b.values.gamma_feature).abs() < 5.0 * error, "{a:?} {b:?}");
        let difference = a.values.gamma_sim - b.values.gamma_sim;
        close(difference, a.values.gamma_feature - b.values.gamma_feature, "what gamma_sim differs by");
    }
}

fn in_memory(sequence: &TaskSequence, theory: &SingleHeadSettings) -> (SingleHeadForecast, Vec<PairOrderParameters>) {
    let forecast = SingleHead::new(sequence, theory, &Context::default()).unwrap().forecast().unwrap();
    let asked = OrderParameterSettings {
        architecture: theory.architecture,
        sigma2: theory.sigma2,
        ridge: 1.0 / theory.beta,
        ..Default::default()
    };
    let pairs = if sequence.tasks.len() > 1 {
        order_parameters(sequence, &asked, &Context::default()).unwrap()
    } else {
        vec![]
    };
    (forecast, pairs)
}

#[test]
fn every_mode_agrees_with_the_forecast_in_memory() {
    let two = sequence(&[203, 187], 1, true);
    let three = sequence(&[131, 150, 117], 1, true);
    for mode in [Mode::Rf, Mode::Ntk, Mode::Lazy, Mode::Gibbs] {
        for (sequence, beta) in [(&two, f64::INFINITY), (&three, f64::INFINITY), (&three, 50.0)] {
            let theory = SingleHeadSettings { beta, ..theory(mode) };
            let tiled = found(sequence, &theory, 64);
            let (forecast, pairs) = in_memory(sequence, &theory);
            same_forecast(&tiled.forecast, &forecast);
            same_pairs(&tiled.pairs, &pairs);
        }
    }
}

#[test]
fn larger_sets_and_class_labels() {
    for (classes, block) in [(10, 250), (1, 700)] {
        let tasks = sequence(&[611, 640], classes, classes > 1);
        let tiled = found(&tasks, &theory(Mode::Rf), block);
        let (forecast, pairs) = in_memory(&tasks, &theory(Mode::Rf));
        same_forecast(&tiled.forecast, &forecast);
        same_pairs(&tiled.pairs, &pairs);
        let said = tiled.quality.notes().join(" ");
        assert!(said.contains("single precision") && said.contains("32 random probes"), "{said}");
        assert!(!said.contains("forbids"), "{said}");
    }
}

#[test]
fn one_task_alone() {
    for mode in [Mode::Rf, Mode::Lazy, Mode::Gibbs] {
        let one = sequence(&[97], 1, true);
        let tiled = found(&one, &theory(mode), 40);
        same_forecast(&tiled.forecast, &in_memory(&one, &theory(mode)).0);
        assert!(tiled.pairs.is_empty());
    }
}

#[test]
fn the_bits_do_not_depend_on_threads_or_on_room() {
    let tasks = sequence(&[150, 131], 1, true);
    let run = |threads: usize, room: f64| {
        let folder = tempfile::tempdir().unwrap();
        let cut = Cut { room, ..cut(folder.path(), 48) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| in_tiles(&tasks, &theory(Mode::Ntk), &cut, &Context::default()).unwrap());
        (found.forecast, found.pairs)
    };
    let one = run(1, 0.0);
    for (threads, room) in [(2, 0.0), (3, 1e9), (7, 1e9)] {
        // As text, which shows every bit and takes F_pair, which is not computed in this mode, for itself.
        assert_eq!(format!("{:?}", run(threads, room)), format!("{one:?}"));
    }
}

#[test]
fn a_run_that_is_stopped_goes_on_to_the_same_bits() {
    let tasks = sequence(&[150, 131], 1, true);
    let theory = theory(Mode::Ntk);
    let whole = found(&tasks, &theory, 48);
    for share in [0.05, 0.3, 0.6, 0.9] {
        let folder = tempfile::tempdir().unwrap();
        let cut = cut(folder.path(), 48);
        let listening = move |done: f64| if done > share { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let stopping = Context::new().listen(move |progress| listening(progress.share));
        let stopped = in_tiles(&tasks, &theory, &cut, &stopping).map(|_| ());
        assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
        let parts = || std::fs::read_dir(folder.path()).unwrap().flatten().flat_map(|f| std::fs::read_dir(f.path()));
        let kept = parts().flatten().count();
        assert!(kept > 1, "something is finished at {share}");
        let shares: Arc<Mutex<Vec<f64>>> = Arc::default();
        let heard = shares.clone();
        let hearing = Context::new().listen(move |progress| {
            heard.lock().unwrap().push(progress.share);
            ControlFlow::Continue(())
        });
        let again = in_tiles(&tasks, &theory, &cut, &hearing).unwrap();
        // As text: every bit, and F_pair, which is not computed in this mode, equals itself.
        let text = |found: &TiledForecast| format!("{:?} {:?} {:?}", found.forecast, found.pairs, found.quality);
        assert_eq!(text(&again), text(&whole));
        let shares = shares.lock().unwrap();
        assert!(shares.windows(2).all(|pair| pair[1] >= pair[0] - 0.05), "progress goes on: {shares:?}");
        // Solves take the steps that they take: a few per cent more or less than planned.
        assert!(*shares.last().unwrap() > 0.9, "{shares:?}");
        // Other settings find nothing of it.
        let other = SingleHeadSettings { sigma2: 2.0, ..theory };
        assert_ne!(run(&tasks, &other, &cut).unwrap(), run(&tasks, &theory, &cut).unwrap());
    }
}

#[test]
fn what_cannot_be_solved_is_one_sentence() {
    let mut twice = sequence(&[60, 50], 1, false);
    let (first, label) = (twice.tasks[1].x.row(3).to_owned(), twice.tasks[1].y[(3, 0)]);
    twice.tasks[1].x.row_mut(17).copy_from(&first);
    twice.tasks[1].y[(17, 0)] = label;
    let folder = tempfile::tempdir().unwrap();
    let cut = cut(folder.path(), 48);
    let said = in_tiles(&twice, &theory(Mode::Rf), &cut, &Context::default()).err().unwrap().to_string();
    assert!(said.contains("task 2") && said.contains("rows 4 and 18"), "{said}");
    // Nearly equal inputs: the kernel has no four digits left.
    twice.tasks[1].x[(17, 0)] += 1e-14;
    let said = in_tiles(&twice, &theory(Mode::Rf), &cut, &Context::default()).err().unwrap().to_string();
    assert_eq!(said, SingleHead::new(&twice, &theory(Mode::Rf), &Context::default()).unwrap_err().to_string());
    // A temperature makes both learnable, and single precision needs a shift for neither.
    let warm = SingleHeadSettings { beta: 100.0, ..theory(Mode::Rf) };
    let tiled = in_tiles(&twice, &warm, &cut, &Context::default()).unwrap();
    same_forecast(&tiled.forecast, &in_memory(&twice, &warm).0);
}

/// Inputs of any size, and depths that multiply it: kernels far beyond single precision, to the same forecast.
#[test]
fn kernels_beyond_single_precision_are_factored() {
    for size in [1e20, 1e-25] {
        let mut tasks = sequence(&[90, 80], 1, true);
        for task in &mut tasks.tasks {
            task.x *= crate::linalg::Scale(size);
            task.test.iter_mut().for_each(|test| test.x *= crate::linalg::Scale(size));
        }
        let tiled = found(&tasks, &theory(Mode::Rf), 48);
        let (forecast, pairs) = in_memory(&tasks, &theory(Mode::Rf));
        same_forecast(&tiled.forecast, &forecast);
        same_pairs(&tiled.pairs, &pairs);
    }
    let tasks = sequence(&[90, 80], 1, false);
    for (sigma2, mode) in [(1e4, Mode::Gibbs), (1e-4, Mode::Ntk)] {
        let mut theory = SingleHeadSettings { sigma2, ..theory(mode) };
        theory.architecture.depth = 10;
        same_forecast(&found(&tasks, &theory, 48).forecast, &in_memory(&tasks, &theory).0);
    }
}

/// A singular kernel is refused in the words of the forecast in memory, whatever an earlier run left behind.
#[test]
fn what_is_refused_is_refused_every_time() {
    let mut near = sequence(&[150, 131], 1, false);
    let task = &mut near.tasks[0];
    let first = task.x.row(0).to_owned();
    task.x.row_mut(1).copy_from(&first);
    task.x[(1, 3)] += 1e-9;
    (task.y[(0, 0)], task.y[(1, 0)]) = (1.0, -1.0);
    let said = SingleHead::new(&near, &theory(Mode::Rf), &Context::default()).unwrap_err().to_string();
    assert!(said.contains("rows 1 and 2"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let again = in_tiles(&near, &theory(Mode::Rf), &cut(folder.path(), 48), &Context::default()).err().unwrap();
        assert_eq!(again.to_string(), said);
        let left = std::fs::read_dir(folder.path()).map_or(0, |entries| entries.count());
        assert_eq!(left, 0, "parts of a request that is refused");
    }
}

/// Nearly singular kernels: as few digits as in memory, and the same ones refused.
#[test]
fn digits_are_those_in_memory() {
    for (apart, refused) in [(1.0, false), (1e-2, false), (1e-3, false), (1e-4, true), (3e-5, true)] {
        let mut near = sequence(&[150, 131], 1, false);
        let task = &mut near.tasks[0];
        let first = task.x.row(0).to_owned();
        task.x.row_mut(1).copy_from(&first);
        task.x[(1, 3)] += apart;
        let theory = theory(Mode::Rf);
        let folder = tempfile::tempdir().unwrap();
        let tiled = in_tiles(&near, &theory, &cut(folder.path(), 48), &Context::default());
        // The same two random vectors; where single precision resolves the second inverse, to its relative error.
        let alike = |a: f64, b: f64| assert!((a - b).abs() < 0.1, "{apart}: {a} digits in tiles, {b} in memory");
        match (tiled.map(|found| found.forecast.digits), SingleHead::new(&near, &theory, &Context::default())) {
            (Ok(a), Ok(b)) => alike(a, b.digits().min(a.max(8.0))),
            (Err(Error::LostAccuracy { digits: a, .. }), Err(Error::LostAccuracy { digits: b, .. })) => {
                assert!(refused, "{apart}");
                alike(a, b);
            }
            (a, b) => panic!("{apart}: {:?} in tiles, {:?} in memory", a.err(), b.err()),
        }
    }
}

/// The residual that steps carry along is that of the solution, to rounding, and a factor that needed a shift only takes
/// longer.
#[test]
fn residuals_are_true() {
    let tasks = sequence(&[160, 90], 1, false);
    let theory = SingleHeadSettings { beta: 1e9, ..theory(Mode::Rf) };
    let folder = tempfile::tempdir().unwrap();
    let context = Context::default();
    let given: Vec<TaskInput<'_>> =
        tasks.tasks.iter().enumerate().map(|(t, task)| TaskInput::of_task(t, task)).collect();
    let prior = theory.checked().unwrap();
    let mut whole = Whole {
        kernels: Kernels::new(KernelSource::network(theory.architecture, prior), theory.limit().unwrap()).unwrap(),
        tasks: given,
        ridge: theory.ridge(),
        block: 50,
        room: 0.0,
        probes: 4,
        scratch: Arc::new(Scratch::open(folder.path(), "0123456789abcdef", 1.0).unwrap()),
        work: Work::new(1.0, &context),
        kept: vec![],
        heard: vec![],
        counted: vec![],
    };
    let system = whole.gaussian(0);
    let b = Mat::from_fn(160, 3, |i, j| ((i * 5 + j) % 7) as f64 - 3.0);
    let solved = whole.solve("test", system, |_| b.clone()).unwrap();
    let left = &b - whole.apply(system, solved.x.as_ref()).unwrap();
    // Rounding: 1e-16 of entries of size 160 · |x|.
    assert!((&left - &solved.residual).norm_l2() < 1e-12 * b.norm_l2());
    let each = (0..3).map(|j| left.col(j).norm_l2() / b.col(j).norm_l2()).fold(0.0, f64::max);
    assert!(each <= 1.01 * RESIDUAL && (each - solved.numbers["residual"]).abs() < 1e-12, "{each}");
    assert!(solved.numbers["steps"] <= 5.0 && solved.numbers["shift"] == 0.0, "{:?}", solved.numbers);
}
