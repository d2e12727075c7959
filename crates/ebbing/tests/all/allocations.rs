//! Training steps allocate nothing: a run of twice as many steps asks for memory as often.

use crate::support::allocator;
use crate::support::{gauss, relu};
use ebbing::Context;
use ebbing::kernels::{Activation, Architecture};
use ebbing::linalg::on_one_thread;
use ebbing::nets::{Fisher, Indexing, Learner, TrainSettings};
use ebbing::rng::Stream;
use ebbing::{Task, Trainer};

/// Two tasks large enough for products that several threads share.
fn tasks() -> Vec<Task> {
    let mut stream = Stream::new(1, "allocations", 0);
    (0..2).map(|_| Task::new(gauss(&mut stream, 120, 100), gauss(&mut stream, 120, 2))).collect()
}

/// Every way of stepping: first layers by Gram matrices or not, penalties, momentum, mini-batches, chosen rates.
fn ways() -> Vec<(&'static str, TrainSettings)> {
    let base = TrainSettings {
        architecture: relu(2),
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
        ("one layer", TrainSettings { architecture: relu(1), ..base.clone() }),
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
    let before = allocator::requests();
    let mut trainer = Trainer::new(tasks, &settings, &Context::default()).unwrap();
    while trainer.done() < trainer.tasks() {
        trainer.learn_next(&mut |_| true).unwrap();
    }
    let requests = allocator::requests() - before;
    assert!(trainer.trained().reports.iter().all(|report| report.steps == steps), "a run ended early");
    requests
}

#[test]
fn steps_allocate_nothing() {
    let tasks = tasks();
    allocator::watched_pool().install(|| {
        for (name, settings) in ways() {
            // Every thread keeps space for products from its first one on.
            let alone = |steps| on_one_thread(|| requests(&tasks, &settings, steps));
            rayon::broadcast(|_| alone(2));
            requests(&tasks, &settings, 2);
            let all = [40, 80].map(|steps| requests(&tasks, &settings, steps));
            assert!(all[0] > 0, "{name}: what a run needs before its first step is not counted");
            assert_eq!(all[0], all[1], "{name}, all threads");
            let one = [40, 80].map(alone);
            assert_eq!(one[0], one[1], "{name}, one thread");
        }
    });
}
