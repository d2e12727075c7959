//! Trained networks against closed forms, against themselves in other forms, and against interruption.

use super::mlp::to_f64;
use super::*;
use crate::kernels::{Activation, Architecture};
use crate::linalg::{Cholesky, Mat, matmul};
use crate::rng::Stream;
use crate::tasks::Task;
use sha2::Digest;

pub(crate) fn random_tasks(count: usize, p: usize, dim: usize, targets: usize, seed: u64) -> Vec<Task> {
    let mut s = Stream::new(seed, "training tests", 0);
    let mut draw = |rows, cols| Mat::from_fn(rows, cols, |_, _| s.normal());
    let mut task = |k: usize| {
        let (x, y) = (draw(p, dim), draw(p, targets));
        Task::new(x, y).named(format!("task {}", k + 1)).with_test(draw(p, dim), draw(p, targets))
    };
    (0..count).map(&mut task).collect()
}

pub(crate) fn run(tasks: &[Task], settings: &TrainSettings) -> Trainer {
    let mut trainer = Trainer::new(tasks, settings, &crate::Context::default()).unwrap();
    while trainer.done() < trainer.tasks() {
        trainer.learn_next(&mut |_| true).unwrap();
    }
    trainer
}

/// With frozen hidden layers and a penalty κ, task 2's readout is ridge regression around task 1's, however it is stepped.
#[test]
fn readout_only_is_ridge_regression() {
    let tasks = random_tasks(2, 15, 12, 2, 1);
    for (momentum, penalty_step) in
        [(0.0, PenaltyStep::Implicit), (0.8, PenaltyStep::Implicit), (0.5, PenaltyStep::Explicit)]
    {
        let settings = TrainSettings {
            learner: Learner::L2 { kappa: 0.05 },
            width: 60,
            readout_only: true,
            threshold: 1e-8,
            tolerance: 1e-7,
            max_steps: 200_000,
            momentum,
            penalty_step,
            ..Default::default()
        };
        let mut trainer = Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap();
        trainer.learn_next(&mut |_| true).unwrap();
        let before = to_f64(&trainer.net().heads[0]);
        trainer.learn_next(&mut |_| true).unwrap();

        let phi = to_f64(&trainer.net().features(mlp::to_f32(tasks[1].x.as_ref()).as_ref()));
        let n = 60f64;
        let mut k = matmul(phi.as_ref(), phi.as_ref().transpose());
        for j in 0..15 {
            for i in 0..15 {
                k[(i, j)] = k[(i, j)] / n + if i == j { 0.05 } else { 0.0 };
            }
        }
        let f = matmul(phi.as_ref(), before.as_ref());
        let miss = Mat::from_fn(15, 2, |i, j| tasks[1].y[(i, j)] - f[(i, j)] / n.sqrt());
        let v = Cholesky::factor(k.as_ref(), "ridge").unwrap().solve(miss.as_ref());
        let shift = matmul(phi.as_ref().transpose(), v.as_ref());
        for j in 0..2 {
            for i in 0..60 {
                let want = before[(i, j)] + shift[(i, j)] / n.sqrt();
                let got = f64::from(trainer.net().heads[0][(i, j)]);
                // Single precision (1e-7) times the condition number of K (about 100), and the stopping tolerance.
                assert!((got - want).abs() < 1e-4, "momentum {momentum} {penalty_step:?}: {got} {want}");
            }
        }
    }
}

/// The automatic rate is below the edge of stability, and half of it leads to the same penalized solution.
#[test]
fn half_the_automatic_rate_gives_the_same_result() {
    let tasks = random_tasks(2, 20, 15, 1, 3);
    let base = TrainSettings {
        learner: Learner::L2 { kappa: 0.1 },
        heads: Heads::Multi,
        width: 50,
        tolerance: 1e-5,
        max_steps: 100_000,
        threshold: 1e-6,
        ..Default::default()
    };
    let one = run(&tasks, &base);
    let half = run(&tasks, &TrainSettings { eta_factor: 0.5, ..base });
    for (a, b) in one.trained().train_loss[1].iter().zip(&half.trained().train_loss[1]) {
        // Descent of either rate follows gradient flow to first order in the rate: a few per cent of the change.
        assert!((a - b).abs() < 0.05 * a.abs().max(1e-3), "{a} {b}");
    }
}

/// Nine hidden layers at σ0 = 1, whose first outputs and tangent kernel are 2^{-9} of a shallow network's: a first step of the
/// rate that is stable there would multiply ten layers at once.
#[test]
fn deep_networks_are_worked_up_to_their_rate() {
    let tasks = random_tasks(2, 30, 20, 1, 6);
    let architecture = Architecture { activation: Activation::Relu, depth: 9 };
    let base = TrainSettings { architecture, width: 60, max_steps: 6000, threshold: 1e-2, ..Default::default() };
    for batch in [None, Some(15)] {
        let trained = run(&tasks, &TrainSettings { batch, ..base.clone() });
        for report in &trained.trained().reports {
            assert!(report.mse < 1e-2, "{batch:?}: {report:?}");
        }
    }
}

/// A run left after each task and taken up from disk has the same bits as one that was not left.
#[test]
fn checkpoints_continue_bit_for_bit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.safetensors");
    let tasks = random_tasks(3, 12, 8, 2, 4);
    let ewc = Learner::Ewc { kappa: 0.1, gamma: 0.5, fisher: Fisher::Rms, indexing: Indexing::Past };
    for (learner, heads, batch) in [(ewc, Heads::Single, Some(5)), (Learner::L2 { kappa: 0.1 }, Heads::Multi, None)] {
        let settings = TrainSettings { learner, heads, batch, width: 16, max_steps: 400, ..Default::default() };
        let whole = run(&tasks, &settings);
        let mut part = Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap();
        while part.done() < part.tasks() {
            part.learn_next(&mut |_| true).unwrap();
            part.save(&path, &tasks).unwrap();
            part = Trainer::resume(&path, &tasks, &settings, &crate::Context::default()).unwrap();
        }
        assert_eq!(whole.trained(), part.trained());
        assert_eq!(whole.net(), part.net());

        let other = TrainSettings { seed: 9, ..settings.clone() };
        assert!(
            Trainer::resume(&path, &tasks, &other, &crate::Context::default())
                .err()
                .unwrap()
                .to_string()
                .contains("other settings")
        );
        assert!(
            Trainer::resume(&path, &tasks[..2], &settings, &crate::Context::default())
                .err()
                .unwrap()
                .to_string()
                .contains("other tasks")
        );
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(
            Trainer::resume(&path, &tasks, &settings, &crate::Context::default())
                .err()
                .unwrap()
                .to_string()
                .contains("checksum")
        );
    }
}

/// Whatever became of the file, resuming says so in one sentence.
#[test]
fn damaged_and_foreign_checkpoints_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.safetensors");
    let tasks = random_tasks(2, 6, 4, 1, 13);
    let settings = TrainSettings { width: 5, max_steps: 10, ..Default::default() };
    let mut trainer = Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap();
    trainer.learn_next(&mut |_| true).unwrap();
    trainer.save(&path, &tasks).unwrap();
    let good = std::fs::read(&path).unwrap();
    let refuse = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let said =
            Trainer::resume(&path, &tasks, &settings, &crate::Context::default()).err().expect("refused").to_string();
        assert!(said.contains("run.safetensors: checkpoint is ") && said.contains("delete it"), "{said}");
        assert!(!said.contains('\n'), "{said}");
        said
    };
    for cut in (0..good.len()).step_by(7) {
        refuse(&good[..cut]);
    }
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        refuse(&bytes);
    }
    // Files whose checksum holds: other tensors than a run has, and offsets beyond the numbers of the machine.
    let again = |from: &str, to: &str| {
        let length = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
        let header = std::str::from_utf8(&good[8..8 + length]).unwrap();
        assert!(header.contains(from), "{header}");
        let header = header.replace(from, to);
        let mut bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &good[8 + length..]].concat();
        let at = header.find("sha256").unwrap() + 8 + 11;
        bytes[at..at + 64].fill(b'0');
        let digest: String = sha2::Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
        bytes[at..at + 64].copy_from_slice(digest.as_bytes());
        bytes
    };
    assert!(refuse(&again("layers.0.weight", "layers.1.weight")).contains("without layers.0.weight of 5 x 4"));
    assert!(refuse(&again("\"shape\":[5,4]", "\"shape\":[4,5]")).contains("without layers.0.weight"));
    assert!(refuse(&again("\"F32\",\"shape\":[1,5]", "\"F32\",\"shape\":[1,6]")).contains("unreadable"));
    let huge = "\"shape\":[4611686018427387904,4611686018427387904]";
    assert!(refuse(&again("\"shape\":[5,4]", huge)).contains("unreadable"));
    // Numbers of tasks that were learned, taken out.
    let length = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&good[8..8 + length]).unwrap();
    for field in ["reports", "train_loss", "test_loss", "train_accuracy", "test_accuracy"] {
        let from = header.find(&format!("{field}\\\":[")).unwrap() + field.len() + 3;
        let depth = header[from..].char_indices().scan(0, |depth, (at, c)| {
            *depth += i32::from(c == '[') - i32::from(c == ']');
            Some((at, *depth))
        });
        let to = from + depth.into_iter().find(|(_, depth)| *depth == 0).unwrap().0 + 1;
        assert!(refuse(&again(&header[from - field.len() - 3..to], &format!("{field}\\\":[]"))).contains("damaged"));
    }
    std::fs::write(&path, &good).unwrap();
    assert_eq!(Trainer::resume(&path, &tasks, &settings, &crate::Context::default()).unwrap().net(), trainer.net());
}

/// PyTorch's names and shapes, in the order of memory that it expects.
#[test]
fn checkpoints_are_plain_safetensors() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.safetensors");
    let tasks = random_tasks(2, 6, 4, 3, 14);
    let settings = TrainSettings { width: 5, max_steps: 10, heads: Heads::Multi, ..Default::default() };
    let trainer = run(&tasks, &settings);
    trainer.save(&path, &tasks).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.len(), 3);
    let entry = |name: &str, k: usize| {
        let data = file.tensor(name).unwrap().data();
        f32::from_le_bytes(data[4 * k..4 * k + 4].try_into().unwrap())
    };
    assert_eq!(file.tensor("layers.0.weight").unwrap().shape(), [5, 4]);
    assert_eq!(entry("layers.0.weight", 6), trainer.net().hidden()[0][(1, 2)]);
    assert_eq!(file.tensor("heads.1.weight").unwrap().shape(), [3, 5]);
    assert_eq!(entry("heads.1.weight", 6), trainer.net().readouts()[1][(1, 1)]);
}

/// Rates beyond stability end with the step, the loss and a remedy; so does an unstable explicit penalty.
#[test]
fn divergence_is_an_error() {
    let tasks = random_tasks(2, 12, 8, 1, 5);
    let settings = TrainSettings { eta: Some(50.0), width: 16, ..Default::default() };
    let error =
        Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap().learn_next(&mut |_| true).unwrap_err();
    assert!(matches!(error, crate::Error::Diverged { task: 1, .. }), "{error}");
    let explicit = TrainSettings {
        learner: Learner::L2 { kappa: 1e6 },
        penalty_step: PenaltyStep::Explicit,
        width: 16,
        ..Default::default()
    };
    let mut trainer = Trainer::new(&tasks, &explicit, &crate::Context::default()).unwrap();
    trainer.learn_next(&mut |_| true).unwrap();
    let error = trainer.learn_next(&mut |_| true).unwrap_err().to_string();
    assert!(error.contains("explicit penalty") && error.contains("at most 2"), "{error}");
    // The implicit step takes the same penalty, and a failed task leaves the trainer where it was.
    assert_eq!(trainer.done(), 1);
    let implicit = TrainSettings { penalty_step: PenaltyStep::Implicit, ..explicit };
    let strong = run(&tasks, &implicit);
    assert!(strong.trained().reports[1].moved < 1e-4);
    assert!(!strong.trained().reports[1].learned);
}

/// Plain descent learns every task; an L2 penalty moves the weights less.
#[test]
fn penalties_hold_weights_back() {
    let tasks = random_tasks(2, 20, 30, 1, 6);
    let run_with = |learner| {
        let settings = TrainSettings { learner, width: 80, max_steps: 5000, ..Default::default() };
        run(&tasks, &settings).trained().clone()
    };
    let gd = run_with(Learner::Gd);
    assert!(gd.reports.iter().all(|r| r.learned && r.stop == Stop::Threshold));
    let l2 = run_with(Learner::L2 { kappa: 5.0 });
    assert!(l2.reports[1].moved < gd.reports[1].moved);
}

/// A stronger EWC moves less along the weights that its Fisher marks (others may well move more).
#[test]
fn ewc_holds_important_weights_back() {
    let tasks = random_tasks(2, 20, 30, 1, 6);
    for fisher in [Fisher::Paper, Fisher::Rms, Fisher::Empirical, Fisher::Exact] {
        for indexing in [Indexing::Past, Indexing::Printed] {
            let weighted_distance = |kappa| {
                let learner = Learner::Ewc { kappa, gamma: 1.0, fisher, indexing };
                let settings = TrainSettings { learner, width: 80, max_steps: 5000, ..Default::default() };
                let mut trainer = Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap();
                trainer.learn_next(&mut |_| true).unwrap();
                let before = update::Params::of(trainer.net(), 0);
                let on = if indexing == Indexing::Past { &tasks[0] } else { &tasks[1] };
                let (x, y) = (mlp::to_f32(on.x.as_ref()), mlp::to_f32(on.y.as_ref()));
                let weights = fisher::fisher(trainer.net(), x.as_ref(), &y, 0, fisher);
                trainer.learn_next(&mut |_| true).unwrap();
                let after = update::Params::of(trainer.net(), 0);
                let mut sum = 0.0;
                for ((a, b), f) in after.0.iter().zip(&before.0).zip(&weights.0) {
                    for j in 0..a.ncols() {
                        sum +=
                            (0..a.nrows()).map(|i| f64::from(f[(i, j)] * (a[(i, j)] - b[(i, j)]).powi(2))).sum::<f64>();
                    }
                }
                sum
            };
            let (weak, strong) = (weighted_distance(1e-3), weighted_distance(1e3));
            assert!(strong < weak, "{fisher:?} {indexing:?}: {strong} {weak}");
        }
    }
}

/// A rate from the tangent kernel of a batch is stable for batches, whose mean loss curves more than that of all examples.
#[test]
fn batches_choose_a_rate_of_their_own() {
    let tasks = random_tasks(2, 40, 60, 1, 8);
    for (loss, batch) in [(LossScale::Mean, 1), (LossScale::Mean, 7), (LossScale::Sum, 7)] {
        let settings = TrainSettings { loss, batch: Some(batch), width: 40, max_steps: 30_001, ..Default::default() };
        let trainer = run(&tasks, &settings);
        for report in &trainer.trained().reports {
            assert!(report.learned && report.steps <= 30_001, "{loss:?} {batch}: {report:?}");
        }
    }
    let few = TrainSettings { batch: Some(7), max_steps: 12, ..Default::default() };
    assert!(run(&tasks, &few).trained().reports.iter().all(|r| r.steps == 12 && r.stop == Stop::MaxSteps));
}

/// Ending a run from `progress` leaves the trainer as it was, and what goes on from there has the same bits.
#[test]
fn interruption_leaves_the_trainer_as_it_was() {
    let tasks = random_tasks(2, 12, 8, 1, 9);
    let settings = TrainSettings { learner: Learner::L2 { kappa: 0.1 }, width: 16, ..Default::default() };
    let mut trainer = Trainer::new(&tasks, &settings, &crate::Context::default()).unwrap();
    let mut calls = 0;
    let mut third = |_| {
        calls += 1;
        calls < 3
    };
    let error = trainer.learn_next(&mut third).unwrap_err();
    assert!(matches!(error, crate::Error::Stopped), "{error}");
    assert_eq!(trainer.done(), 0);
    while trainer.done() < 2 {
        trainer.learn_next(&mut |_| true).unwrap();
    }
    let whole = run(&tasks, &settings);
    assert_eq!((trainer.net(), trainer.trained()), (whole.net(), whole.trained()));
}

/// Networks large enough for parallel products have the same bits at any number of threads.
#[test]
fn threads_leave_the_bits_alone() {
    let tasks = random_tasks(2, 120, 100, 2, 10);
    for depth in [1, 2] {
        let settings = TrainSettings {
            learner: Learner::L2 { kappa: 0.1 },
            architecture: Architecture { activation: Activation::Relu, depth },
            width: 150,
            max_steps: 30,
            ..Default::default()
        };
        let one = crate::linalg::on_one_thread(|| run(&tasks, &settings));
        for threads in [2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let several = pool.install(|| run(&tasks, &settings));
            assert_eq!((one.net(), one.trained()), (several.net(), several.trained()));
        }
    }
}

/// Runs side by side, one thread each, end like runs one after the other on all threads.
#[test]
fn runs_side_by_side_are_the_same_runs() {
    let tasks = random_tasks(2, 120, 100, 2, 12);
    let settings = |seed| TrainSettings { seed, width: 150, max_steps: 30, ..Default::default() };
    let seeds: Vec<u64> = (0..5).collect();
    let ends = |trainer: Trainer| (trainer.net().clone(), trainer.trained().clone());
    let want: Vec<_> = seeds.iter().map(|&seed| ends(run(&tasks, &settings(seed)))).collect();
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let work = |&seed: &u64| ends(run(&tasks, &settings(seed)));
        assert!(pool.install(|| crate::linalg::par_map(&seeds, work)) == want, "{threads} threads");
    }
}

/// A given rate that is too large is answered with one that the task bears.
#[test]
fn divergence_suggests_a_rate_that_works() {
    let tasks = random_tasks(1, 12, 8, 1, 11);
    let settings = TrainSettings { eta: Some(5.0), width: 16, ..Default::default() };
    let error = Trainer::new(&tasks, &settings, &crate::Context::default())
        .unwrap()
        .learn_next(&mut |_| true)
        .unwrap_err()
        .to_string();
    let words: Vec<&str> = error.split_whitespace().collect();
    let at = words.windows(2).position(|w| w == ["rate", "of"]).expect(&error);
    let eta = words[at + 2].parse().unwrap();
    let trainer = run(&tasks, &TrainSettings { eta: Some(eta), ..settings });
    assert!(trainer.trained().reports[0].learned, "{error}");
}

#[test]
fn settings_out_of_range_are_refused() {
    let tasks = random_tasks(1, 4, 3, 1, 7);
    let base = TrainSettings::default;
    for (bad, word) in [
        (TrainSettings { width: 0, ..base() }, "width"),
        (TrainSettings { sigma0: -1.0, ..base() }, "sigma0"),
        (TrainSettings { eta: Some(f64::NAN), ..base() }, "eta"),
        (TrainSettings { momentum: 1.0, ..base() }, "momentum"),
        (TrainSettings { batch: Some(5), ..base() }, "batch"),
        (TrainSettings { learner: Learner::L2 { kappa: -1.0 }, ..base() }, "kappa"),
    ] {
        let error = Trainer::new(&tasks, &bad, &crate::Context::default()).err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    }
}
