//! Target-distractor tasks.

use super::{image_set, label_of_image, labels, refusal, row, source};
use ebbing::linalg::Mat;
use ebbing::tasks::TargetDistractor;
use proptest::prelude::*;
use std::collections::HashMap;

/// So many tasks and examples that share these fractions of their targets and of all their images.
fn sharing(tasks: usize, p: usize, rho_target: f64, rho_shared: f64) -> TargetDistractor {
    TargetDistractor { tasks, p, rho_target, rho_shared, ..TargetDistractor::default() }
}

#[test]
fn counts_are_exact() {
    let settings = TargetDistractor { p_test: Some(30), ..sharing(3, 400, 0.25, 0.6) };
    let sequence = settings.generate(source(), 8).unwrap();
    // x·p = 40 targets, 10 of them shared; 240 shared in all, so 230 of 360 zeros: (0.6 − 0.1·0.25)/0.9 = 230/360.
    let maps: Vec<HashMap<u64, f64>> = sequence.tasks.iter().map(label_of_image).collect();
    for map in &maps {
        assert_eq!(map.len(), 400, "no image twice");
        assert_eq!(map.values().filter(|&&label| label != 0.0).count(), 40);
        assert!(map.values().all(|&label| label.abs() == 1.0 || label == 0.0));
    }
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        let shared: Vec<u64> = maps[a].keys().filter(|image| maps[b].contains_key(image)).copied().collect();
        assert_eq!(shared.len(), 240);
        assert!(shared.iter().all(|image| maps[a][image] == maps[b][image]), "no flips");
        assert_eq!(shared.iter().filter(|image| maps[a][image] != 0.0).count(), 10);
        assert!(shared.iter().all(|image| maps[2].contains_key(image)), "shared by all tasks");
    }
    let pool = sequence.pool().unwrap();
    assert_eq!(pool.x.nrows(), 240 + 3 * 160);
    for (t, task) in sequence.tasks.iter().enumerate() {
        assert_eq!(Mat::from_fn(400, 784, |i, j| pool.x[(pool.index[t][i], j)]), task.x);
        assert_eq!(task.test.as_ref().unwrap().x.nrows(), 30);
    }
}

#[test]
fn every_task_flips_against_a_base_label() {
    let settings = TargetDistractor { rho_flip: 0.3, p_test: Some(0), ..sharing(40, 1000, 1.0, 1.0) };
    let sequence = settings.generate(source(), 1).unwrap();
    let maps: Vec<HashMap<u64, f64>> = sequence.tasks.iter().map(label_of_image).collect();
    let targets: Vec<u64> = maps[0].iter().filter(|(_, label)| **label != 0.0).map(|(image, _)| *image).collect();
    assert_eq!(targets.len(), 100);
    // Without flips the same seed shows the base labels.
    let base = TargetDistractor { rho_flip: 0.0, tasks: 1, ..settings }.generate(source(), 1).unwrap();
    let base = label_of_image(&base.tasks[0]);
    let flipped = |t: usize| targets.iter().filter(|image| maps[t][image] == -base[image]).count();
    let all: usize = (0..40).map(flipped).sum();
    // 4000 flips of probability 0.3: standard error √(0.21/4000) = 0.0072; five of them.
    assert!((all as f64 / 4000.0 - 0.3).abs() < 0.036, "{all} of 4000 flipped");
    // Task 1 is flipped like any other: 100 flips, standard error 0.046; four of them.
    assert!((flipped(0) as f64 / 100.0 - 0.3).abs() < 0.184, "{} of 100 flipped in task 1", flipped(0));
    // Tasks flip independently: tasks 2i, 2i + 1 agree with probability 0.7² + 0.3² = 0.58; 2000 trials, error 0.011.
    let agree = |t: usize| targets.iter().filter(|image| maps[2 * t][image] == maps[2 * t + 1][image]).count();
    let agree: usize = (0..20).map(agree).sum();
    assert!((agree as f64 / 2000.0 - 0.58).abs() < 0.055, "{agree} of 2000 agree");
    // Base labels are fair: the mean of 100 has standard error 0.1; four of them.
    assert!((targets.iter().map(|image| base[image]).sum::<f64>() / 100.0).abs() < 0.4);
}

#[test]
fn test_images_are_noisy_training_images() {
    let settings = TargetDistractor { tasks: 2, p: 200, ..TargetDistractor::default() };
    let sequence = settings.generate(source(), 1).unwrap();
    let mut noise = Vec::new();
    for task in &sequence.tasks {
        let test = task.test.as_ref().unwrap();
        assert_eq!(test.y, task.y, "labels, zeros included");
        (0..200).for_each(|i| noise.extend((0..784).map(|j| test.x[(i, j)] - task.x[(i, j)])));
        // Not scaled back: |x + noise|² = 784·(1 + 0.04) on average, ± 2·0.2·√784 per row: 0.1 % of 784 over 200 rows.
        let norm2 = (0..200).map(|i| row(&test.x, i).iter().map(|v| v * v).sum::<f64>()).sum::<f64>() / 200.0;
        assert!((norm2 / 784.0 - 1.04).abs() < 0.005, "{norm2}");
    }
    let n = noise.len() as f64;
    let (mean, square) = (noise.iter().sum::<f64>() / n, noise.iter().map(|e| e * e).sum::<f64>() / n);
    // 313600 draws: standard errors 0.2/√n = 3.6e-4 and 0.2/√(2n) = 2.5e-4; five of each.
    assert!(mean.abs() < 1.8e-3 && (square.sqrt() - 0.2).abs() < 1.3e-3, "{mean} {square}");
}

#[test]
fn infeasible_requests_are_refused_with_the_feasible_range() {
    let refuse = |settings: TargetDistractor| refusal(settings.generate(source(), 0));
    let base = TargetDistractor { tasks: 2, p: 100, ..TargetDistractor::default() };
    let pair = |rho_target, rho_shared| sharing(2, 100, rho_target, rho_shared);
    assert_eq!(
        refuse(pair(0.6, 0.05)),
        "rho_target is 0.6; must lie in [0, 0.5] at rho_shared = 0.05 and label_fraction = 0.1"
    );
    assert!(refuse(pair(0.3, 0.95)).contains("must lie in [0.5, 1] at"), "{}", refuse(pair(0.3, 0.95)));
    for (target, shared) in [(0.5, 0.05), (0.5, 0.95), (1.0, 0.1), (0.0, 0.9), (1.0, 1.0), (0.0, 0.0)] {
        assert!(pair(target, shared).generate(source(), 0).is_ok(), "{target}, {shared} is at the edge, but feasible");
    }
    assert_eq!(refuse(pair(0.5, 1.2)), "rho_shared is 1.2; must lie in [0, 1]");
    assert!(refuse(pair(f64::NAN, 0.5)).contains("must lie in [0, 1] at"));
    let flip = TargetDistractor { rho_flip: 0.6, ..base.clone() };
    assert_eq!(refuse(flip), "rho_flip is 0.6; must lie in [0, 0.5]");
    for label_fraction in [0.0, -1.0, 1.1, f64::NAN] {
        assert!(refuse(TargetDistractor { label_fraction, ..base.clone() }).contains("must lie in (0, 1]"));
    }
    let few = TargetDistractor { label_fraction: 0.001, ..base.clone() };
    assert!(refuse(few).contains("at least 0.005 for one labeled image at p = 100"));
    for test_noise in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(refuse(TargetDistractor { test_noise, ..base.clone() }).contains("at least 0 and finite"));
    }
    assert!(refuse(TargetDistractor { p_test: Some(101), ..base.clone() }).contains("[0, 100]"));
    assert!(refuse(TargetDistractor { tasks: 0, ..base.clone() }).contains("at least 1"));
    assert!(refuse(TargetDistractor { p: 0, ..base.clone() }).contains("at least 1"));
    assert_eq!(
        refuse(TargetDistractor { tasks: 80, ..base.clone() }),
        "tasks is 80; mnist-sample has 4000 training images; with 50 shared and 50 of its own per task they are enough for \
         at most 79"
    );
    let large = TargetDistractor { p: 8000, ..base.clone() };
    assert_eq!(refuse(large), "p is 8000; mnist-sample has only 4000 training images; one task takes 8000");
    let endless = TargetDistractor { tasks: usize::MAX, rho_shared: 1.0, rho_target: 1.0, ..base };
    assert!(refuse(endless).contains("64 GiB"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every pair (ρ_target, ρ_shared) in its feasible range gives the promised counts, and none outside it gives anything.
    #[test]
    fn any_feasible_request_is_met(
        p in 20usize..200, x in 0.05f64..1.0, shared in 0.0f64..=1.0, within in 0.0f64..=1.0, tasks in 1usize..4,
    ) {
        let (low, high) = TargetDistractor::feasible_rho_target(shared, x);
        let rho_target = low + within * (high - low);
        let settings =
            TargetDistractor { label_fraction: x, p_test: Some(0), ..sharing(tasks, p, rho_target, shared) };
        let sequence = settings.generate(source(), 1).unwrap();
        let targets = (x * p as f64).round() as usize;
        for task in &sequence.tasks {
            prop_assert_eq!(image_set(task).len(), p);
            prop_assert_eq!(labels(&task.y).iter().filter(|label| **label != 0.0).count(), targets);
        }
        if tasks > 1 {
            let first = label_of_image(&sequence.tasks[0]);
            let second = image_set(&sequence.tasks[1]);
            let common: Vec<u64> = first.keys().filter(|image| second.contains(image)).copied().collect();
            // Counts are rounded to whole images, which at the edges of the range costs up to one and a half.
            prop_assert!((common.len() as f64 - shared * p as f64).abs() <= 1.5);
            let shared_targets = common.iter().filter(|image| first[image] != 0.0).count();
            prop_assert_eq!(shared_targets, (rho_target * targets as f64).round() as usize);
        }
        for outside in [low - 0.01, high + 0.01] {
            let refused = TargetDistractor { rho_target: outside, ..settings.clone() }.generate(source(), 1);
            prop_assert!(refused.is_err());
        }
    }
}
