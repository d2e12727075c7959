//! Interpolated datasets and appended context.

use super::{image_set, images, refusal, row, rows_as_bits, source};
use ebbing::linalg::Mat;
use ebbing::tasks::{Interpolated, PartialSplit, Permuted, WithContext};
use ebbing::{Task, TaskSequence};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn interpolated_permuted_tasks_show_each_image_once_and_change_for_good() {
    let two = Permuted { tasks: 2, p: 30, p_test: 12, ratio: 0.5, permute_first: false, ..Permuted::default() };
    let two = two.generate(source(), 2).unwrap();
    let sequence = Interpolated { steps: 3 }.apply(&two, 5).unwrap();
    assert_eq!(sequence.tasks.len(), 5);
    assert_eq!((&sequence.tasks[0], &sequence.tasks[4]), (&two.tasks[0], &two.tasks[1]));
    let second = |t: usize| -> BTreeSet<u64> {
        sequence.tasks[t].rows.as_ref().unwrap().iter().filter(|row| row.view != 0).map(|row| row.image).collect()
    };
    for k in 0..5 {
        let task = &sequence.tasks[k];
        assert_eq!(images(task), images(&two.tasks[0]), "each image once, in the same place");
        assert_eq!(second(k).len(), [0, 8, 15, 23, 30][k], "round(k/4 · 30)");
        for i in 0..30 {
            let from = &two.tasks[usize::from(task.rows.as_ref().unwrap()[i].view != 0)];
            assert_eq!((row(&task.x, i), row(&task.y, i)), (row(&from.x, i), row(&from.y, i)));
        }
        let test = task.test.as_ref().unwrap();
        let last = rows_as_bits(&two.tasks[1].test.as_ref().unwrap().x);
        assert_eq!(rows_as_bits(&test.x).intersection(&last).count(), 3 * k, "test sets are mixed alike");
    }
    assert!((0..4).all(|k| second(k).is_subset(&second(k + 1))));
    let three = Permuted { tasks: 3, p: 5, p_test: 0, ..Permuted::default() }.generate(source(), 2).unwrap();
    assert!(refusal(Interpolated { steps: 1 }.apply(&three, 0)).contains("between two tasks, but there are 3"));
    assert!(refusal(Interpolated { steps: usize::MAX }.apply(&two, 0)).contains("must be at most 100000"));
}

#[test]
fn interpolation_copes_with_tasks_of_different_size() {
    let task = |p: usize, from: usize| {
        Task::new(Mat::from_fn(p, 2, |i, j| (from + 10 * i + j) as f64), Mat::from_fn(p, 1, |i, _| i as f64))
    };
    for (p1, p2) in [(10, 4), (4, 10), (1, 7)] {
        let two = TaskSequence::new(vec![task(p1, 0), task(p2, 5)]).unwrap();
        let middle = &Interpolated { steps: 1 }.apply(&two, 0).unwrap().tasks[1];
        let from_second = (0..middle.x.nrows()).filter(|&i| middle.x[(i, 0)] as usize % 10 == 5).count();
        let half = |n: usize| (n as f64 / 2.0).round() as usize;
        let few = p1.min(p2);
        assert_eq!(from_second, half(few) + half(p2 - few));
        assert_eq!(middle.x.nrows() - from_second, p1 - half(few) - half(p1 - few));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any mixture has P rows, never an input twice, and round(k/(S+1)·P) of task 2.
    #[test]
    fn interpolation_is_exact_for_any_number_of_steps(steps in 0usize..6, half in 2usize..40, whole in any::<bool>(), s in 0.0f64..1.0) {
        let split = if whole { 1.0 } else { s };
        let two = PartialSplit { split, p: 2 * half, p_test: 10, pairs: None }.generate(source(), 3).unwrap();
        let sequence = Interpolated { steps }.apply(&two, 3).unwrap();
        prop_assert_eq!(sequence.tasks.len(), steps + 2);
        let p = 2 * half;
        let [first, last] = [0, 1].map(|t| image_set(&two.tasks[t]));
        for (k, task) in sequence.tasks.iter().enumerate() {
            let images = image_set(task);
            prop_assert_eq!((task.x.nrows(), images.len()), (p, p));
            prop_assert!(first.intersection(&last).all(|image| images.contains(image)), "shared images are in all");
            prop_assert!(images.iter().all(|image| first.contains(image) || last.contains(image)));
            if whole {
                let expected = (k as f64 / (steps + 1) as f64 * p as f64).round() as usize;
                prop_assert_eq!(images.intersection(&last).count(), expected);
            }
        }
    }
}

#[test]
fn context_is_one_vector_per_task_and_makes_other_inputs() {
    let plain = Permuted { tasks: 3, p: 20, p_test: 10, ratio: 0.0, ..Permuted::default() };
    let plain = plain.generate(source(), 1).unwrap();
    let with = WithContext { dim: 400, variance: 2.0, renormalize: false }.apply(&plain, 7).unwrap();
    for (task, before) in with.tasks.iter().zip(&plain.tasks) {
        assert_eq!(task.x.ncols(), 1184);
        let context = row(&task.x, 0)[784..].to_vec();
        assert!((0..20).all(|i| row(&task.x, i) == [row(&before.x, i), context.clone()].concat()));
        let (test, test_before) = (task.test.as_ref().unwrap(), before.test.as_ref().unwrap());
        assert!((0..10).all(|i| row(&test.x, i) == [row(&test_before.x, i), context.clone()].concat()));
        assert_eq!((&task.y, &test.y), (&before.y, &test_before.y));
        // 400 draws of variance 2: relative standard error √(2/400) = 7 %; four of them.
        let square = context.iter().map(|c| c * c).sum::<f64>() / 400.0;
        assert!((square / 2.0 - 1.0).abs() < 0.28, "{square}");
    }
    assert_ne!(row(&with.tasks[0].x, 0)[784..], row(&with.tasks[1].x, 0)[784..]);
    assert_eq!(plain.pool().unwrap().x.nrows(), 20);
    assert_eq!(with.pool().unwrap().x.nrows(), 60, "the same image in another context is another input");
    let nothing = WithContext { dim: 0, variance: 1.0, renormalize: false }.apply(&plain, 7).unwrap();
    assert_eq!(nothing.tasks, plain.tasks);
}

#[test]
fn renormalized_inputs_have_squared_norm_n0_plus_context() {
    let plain = Permuted { tasks: 2, p: 20, p_test: 10, ..Permuted::default() }.generate(source(), 1).unwrap();
    let raw = WithContext { dim: 400, variance: 2.0, renormalize: false }.apply(&plain, 7).unwrap();
    let scaled = WithContext { renormalize: true, dim: 400, variance: 2.0 }.apply(&plain, 7).unwrap();
    for (task, raw) in scaled.tasks.iter().zip(&raw.tasks) {
        for x in [&task.x, &task.test.as_ref().unwrap().x] {
            // Sums of 1184 rounded squares.
            let norm2 = |i: usize| row(x, i).iter().map(|v| v * v).sum::<f64>();
            assert!((0..x.nrows()).all(|i| (norm2(i) / 1184.0 - 1.0).abs() < 1184.0 * f64::EPSILON));
        }
        // One factor for the whole row, each product rounded once.
        let factor = |j: usize| task.x[(3, j)] / raw.x[(3, j)];
        assert!((0..1184).all(|j| (factor(j) / factor(0) - 1.0).abs() < 8.0 * f64::EPSILON));
    }
}

#[test]
fn unusable_contexts_are_refused() {
    let plain = Permuted { tasks: 2, p: 5, p_test: 0, ..Permuted::default() }.generate(source(), 1).unwrap();
    for variance in [-1.0, f64::NAN, f64::INFINITY] {
        let message = refusal(WithContext { variance, ..WithContext::default() }.apply(&plain, 0));
        assert_eq!(message, format!("variance is {variance}; must be at least 0 and finite"));
    }
    assert!(refusal(WithContext { dim: usize::MAX, ..WithContext::default() }.apply(&plain, 0)).contains("64 GiB"));
    let zero = Task::new(Mat::zeros(1, 2), Mat::zeros(1, 1)).named("a");
    let zero = TaskSequence::new(vec![zero]).unwrap();
    let message = refusal(WithContext { variance: 0.0, ..WithContext::default() }.apply(&zero, 0));
    assert!(message.contains("task 1 (a), row 1: its squared norm with context is 0"), "{message}");
}
