//! Training steps allocate nothing: a run of twice as many steps asks for memory as often.

use ebbing::kernels::{Activation, Architecture};
use ebbing::linalg::{Mat, on_one_thread};
use ebbing::nets::{Fisher, Indexing, Learner, TrainSettings};
use ebbing::rng::Stream;
use ebbing::{Task, Trainer};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts how often memory is asked for, by any thread.
struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every request goes on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, from: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(from, layout, size) }
    }

    unsafe fn dealloc(&self, from: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(from, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two tasks large enough for products that several threads share.
fn tasks() -> Vec<Task> {
    let mut stream = Stream::new(1, "allocations", 0);
    let mut draw = |cols| Mat::from_fn(120, cols, |_, _| stream.normal());
    (0..2).map(|t| Task { name: t.to_string(), x: draw(100), y: draw(2), rows: None, test: None }).collect()
}

/// Every way of stepping: first layers by Gram matrices or not, penalties, momentum, mini-batches, chosen rates.
fn ways() -> Vec<(&'static str, TrainSettings)> {
    let deep = |depth| Architecture { activation: Activation::Relu, depth };
    let base = TrainSettings {
        architecture: deep(2),
        width: 150,
        eta: Some(1e-4),
        threshold: 1e-30,
        tolerance: 1e-300,
        patience: 10,
        ..Default::default()
    };
    let ewc = Learner::Ewc { kappa: 1.0, gamma: 1.0, fisher: Fisher::Rms, indexing: Indexing::Past };
    let erf = Architecture { activation: Activation::Erf, depth: 2 };
    vec![
        ("plain", base.clone()),
        ("one layer", TrainSettings { architecture: deep(1), ..base.clone() }),
        ("erf", TrainSettings { architecture: erf, ..base.clone() }),
        ("L2", TrainSettings { learner: Learner::L2 { kappa: 0.1 }, ..base.clone() }),
        ("EWC", TrainSettings { learner: ewc, ..base.clone() }),
        ("momentum", TrainSettings { momentum: 0.5, ..base.clone() }),
        ("batches", TrainSettings { batch: Some(50), ..base.clone() }),
        ("readout only", TrainSettings { readout_only: true, ..base.clone() }),
        ("chosen rate", TrainSettings { eta: None, eta_factor: 0.01, ..base }),
    ]
}

/// How often a run of so many steps per task asks for memory.
fn requests(tasks: &[Task], settings: &TrainSettings, steps: usize) -> usize {
    let settings = TrainSettings { max_steps: steps, ..settings.clone() };
    let before = COUNT.load(Ordering::Relaxed);
    let mut trainer = Trainer::new(tasks, &settings).unwrap();
    while trainer.done() < trainer.tasks() {
        trainer.learn_next(&mut |_| true).unwrap();
    }
    let requests = COUNT.load(Ordering::Relaxed) - before;
    assert!(trainer.trained().reports.iter().all(|report| report.steps == steps), "a run ended early");
    requests
}

#[test]
fn steps_allocate_nothing() {
    let tasks = tasks();
    for (name, settings) in ways() {
        // Every thread keeps space for products from its first one on.
        let alone = |steps| on_one_thread(|| requests(&tasks, &settings, steps));
        rayon::broadcast(|_| alone(2));
        alone(2);
        requests(&tasks, &settings, 2);
        let all = [40, 80].map(|steps| requests(&tasks, &settings, steps));
        assert_eq!(all[0], all[1], "{name}, all threads");
        let one = [40, 80].map(alone);
        assert_eq!(one[0], one[1], "{name}, one thread");
    }
}
