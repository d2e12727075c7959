//! Split and partially split tasks.

use super::{class, image_set, images, labels, refusal, row, rows_as_bits, source};
use ebbing::TaskSequence;
use ebbing::tasks::{Draws, Labels, PartialSplit, Split};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

#[test]
fn split_tasks_have_disjoint_classes_in_equal_shares() {
    let settings = Split { tasks: 5, p: 101, p_test: 51, ..Split::default() };
    let sequence = settings.generate(source(), 4).unwrap();
    let mut seen = BTreeSet::new();
    for task in &sequence.tasks {
        let mut counts: HashMap<(i64, i64), usize> = HashMap::new();
        for (image, label) in images(task).into_iter().zip(labels(&task.y)) {
            *counts.entry((class(image), label as i64)).or_default() += 1;
        }
        assert_eq!(counts.len(), 2, "one class per label");
        for ((class, label), count) in counts {
            assert_eq!(count, if label == 1 { 51 } else { 50 });
            assert!(seen.insert(class), "class {class} occurs once");
        }
        assert_eq!(task.test.as_ref().unwrap().x.nrows(), 51);
        assert_eq!(image_set(task).len(), 101, "no image twice");
    }
    assert_eq!(seen.len(), 10);
}

#[test]
fn split_groups_and_one_hot_columns() {
    let assignment = vec![vec![vec![0, 1], vec![2]], vec![vec![5], vec![7, 8]]];
    let base = Split { p: 80, p_test: 40, assignment: Some(assignment.clone()), ..Split::default() };
    for (mode, columns) in [(Labels::Sign, 1), (Labels::OneHot, 2), (Labels::OneHotAll, 4)] {
        let sequence = Split { labels: mode, ..base.clone() }.generate(source(), 9).unwrap();
        assert_eq!((sequence.tasks.len(), sequence.columns()), (2, columns));
        for (t, task) in sequence.tasks.iter().enumerate() {
            let group_of = |class: i64| assignment[t].iter().position(|group| group.contains(&class)).unwrap();
            let mut counts: HashMap<i64, usize> = HashMap::new();
            for (i, image) in images(task).into_iter().enumerate() {
                let group = group_of(class(image));
                *counts.entry(class(image)).or_default() += 1;
                let expected: Vec<f64> = match mode {
                    Labels::Sign => vec![if group == 0 { 1.0 } else { -1.0 }],
                    Labels::OneHot => (0..2).map(|j| f64::from(u8::from(j == group))).collect(),
                    Labels::OneHotAll => (0..4).map(|j| f64::from(u8::from(j == 2 * t + group))).collect(),
                };
                assert_eq!(row(&task.y, i), expected);
            }
            for &class in assignment[t].iter().flatten() {
                assert_eq!(counts[&class], 40 / assignment[t][group_of(class)].len());
            }
            assert_eq!(task.test.as_ref().unwrap().y.ncols(), columns);
        }
    }
}

#[test]
fn infeasible_splits_are_refused_with_the_feasible_range() {
    let refuse = |settings: Split| refusal(settings.generate(source(), 0));
    let base = Split { p: 100, p_test: 20, ..Split::default() };
    let message = refuse(Split { tasks: 6, ..base.clone() });
    assert!(message.starts_with("tasks is 6; 10 of 10 classes have the 50 training and 10 test images"), "{message}");
    assert!(message.ends_with("enough for at most 5 tasks of 2 classes"), "{message}");
    assert!(refuse(Split { p: 802, ..base.clone() }).contains("0 of 10 classes have the 401 training"));
    assert!(refuse(Split { p_test: 202, ..base.clone() }).contains("at most 0 tasks"));
    assert!(refuse(Split { groups: 3, ..base.clone() }).contains("must be 2 with labels = \"sign\""));
    assert!(refuse(Split { groups: 1, ..base.clone() }).contains("at least 2"));
    assert!(refuse(Split { classes_per_group: 0, ..base.clone() }).contains("at least 1"));
    assert!(refuse(Split { tasks: 0, ..base.clone() }).contains("at least 1"));
    assert!(refuse(Split { tasks: usize::MAX, ..base.clone() }).contains("at most 5 tasks"));
    assert!(refuse(Split { p: 1, ..base.clone() }).contains("at least 2"));
    assert!(refuse(Split { p_test: 1, ..base.clone() }).contains("must be 0 or at least 2"));
    let given = |assignment: Vec<Vec<Vec<i64>>>| refuse(Split { assignment: Some(assignment), ..base.clone() });
    assert!(given(vec![]).contains("at least one task"));
    assert!(given(vec![vec![vec![0]]]).contains("1 groups in task 1"));
    assert!(given(vec![vec![vec![0], vec![1]], vec![vec![2], vec![1]]]).contains("class 1 in task 2 after task 1"));
    assert!(given(vec![vec![vec![0], vec![17]]]).contains("the classes are [0, 1, 2"));
    assert!(given(vec![vec![vec![0], vec![]]]).contains("an empty group in task 1"));
    let many = Split { p: 802, p_test: 0, assignment: Some(vec![vec![vec![0], vec![1]]]), ..Split::default() };
    assert_eq!(refuse(many), "p is 802; class 0 has 400 training images, enough for at most 800");
}

/// The training images of each task (first index) from each pair (second), with the labeling rule checked.
fn shares(sequence: &TaskSequence, pairs: [[i64; 2]; 2]) -> [[BTreeSet<u64>; 2]; 2] {
    [0, 1].map(|t| {
        let task = &sequence.tasks[t];
        for (image, label) in images(task).into_iter().zip(labels(&task.y)) {
            let first = pairs.iter().any(|pair| pair[0] == class(image));
            assert_eq!(label, if first { 1.0 } else { -1.0 }, "the first class of each pair is +1");
        }
        pairs.map(|pair| images(task).into_iter().filter(|&i| pair.contains(&class(i))).collect())
    })
}

#[test]
fn partial_split_shares_are_exact_and_nested() {
    let pairs = [[3, 8], [1, 6]];
    for (split, p, large) in [(0.0, 200, 100), (0.1, 200, 110), (0.25, 200, 125), (0.25, 202, 126), (1.0, 200, 200)] {
        let settings = PartialSplit { split, p, p_test: 40, pairs: Some(pairs) };
        let sequence = settings.generate(source(), 6).unwrap();
        let [[a0, a1], [b0, b1]] = shares(&sequence, pairs);
        assert_eq!([a0.len(), a1.len(), b0.len(), b1.len()], [large, p - large, p - large, large]);
        assert!(b0.is_subset(&a0) && a1.is_subset(&b1), "the smaller share is part of the larger");
        for task in &sequence.tasks {
            assert_eq!(labels(&task.y).iter().sum::<f64>(), 0.0, "as many +1 as -1");
        }
        assert_eq!(sequence.pool().unwrap().x.nrows(), 2 * large);
        // Test sets obey the same rule: rows that both tasks hold are equal bit for bit.
        let [x, y] = [0, 1].map(|t| rows_as_bits(&sequence.tasks[t].test.as_ref().unwrap().x));
        let small_test = 40 - (20.0 * (1.0 + split)).round() as usize;
        assert_eq!(x.intersection(&y).count(), 2 * small_test);
    }
    let same = PartialSplit { split: 0.0, p: 60, p_test: 20, pairs: None }.generate(source(), 1).unwrap();
    assert_eq!(same.tasks[0].x, same.tasks[1].x, "no split: the same task twice");
    assert_eq!(same.tasks[0].test, same.tasks[1].test);
}

#[test]
fn infeasible_partial_splits_are_refused_with_the_feasible_range() {
    let refuse = |settings: PartialSplit| refusal(settings.generate(source(), 0));
    let base = PartialSplit { split: 0.5, p: 100, p_test: 20, pairs: Some([[0, 1], [2, 3]]) };
    assert_eq!(refuse(PartialSplit { split: 1.01, ..base.clone() }), "split is 1.01; must lie in [0, 1]");
    assert_eq!(refuse(PartialSplit { p: 0, ..base.clone() }), "p is 0; must be even and at least 2");
    assert_eq!(refuse(PartialSplit { p: 7, ..base.clone() }), "p is 7; must be even and at least 2");
    assert_eq!(refuse(PartialSplit { p_test: 7, ..base.clone() }), "p_test is 7; must be even and at least 0");
    // 400 images per class, of which ⌈round(0.75 p)/2⌉ are taken: 400 at p = 1066, 401 at p = 1068.
    let message = refuse(PartialSplit { p: 1100, ..base.clone() });
    assert_eq!(message, "p is 1100; class 0 has 400 training images, enough for at most 1066 at split 0.5");
    assert!(PartialSplit { p: 1066, ..base.clone() }.generate(source(), 0).is_ok());
    assert!(refuse(PartialSplit { p: 1068, ..base.clone() }).contains("at most 1066"));
    assert!(refuse(PartialSplit { p_test: 300, ..base.clone() }).contains("100 test images"));
    for pairs in [[[0, 1], [1, 2]], [[0, 1], [2, 10]]] {
        let message = refuse(PartialSplit { pairs: Some(pairs), ..base.clone() });
        assert!(message.contains("four different classes out of [0"), "{message}");
    }
    assert!(refuse(PartialSplit { p: 1100, pairs: None, ..base }).contains("0 of 10 classes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Shares, nesting and balance hold at any split.
    #[test]
    fn partial_split_meets_any_feasible_request(half in 1usize..150, split in 0.0f64..=1.0, seed in 0u64..1000) {
        let sequence = PartialSplit { split, p: 2 * half, p_test: 0, pairs: None }.generate(source(), seed).unwrap();
        let Some(Draws::PartialSplit { pairs: drawn }) = sequence.settings.drawn.clone() else { panic!("no pairs") };
        let [[a0, a1], [b0, b1]] = shares(&sequence, drawn);
        let large = a0.len();
        // The share (1 + s)/2 of p, to the nearest image.
        prop_assert!((large as f64 - half as f64 * (1.0 + split)).abs() <= 0.5 + 1e-9);
        prop_assert_eq!([a1.len(), b0.len(), b1.len()], [2 * half - large, 2 * half - large, large]);
        prop_assert!(b0.is_subset(&a0) && a1.is_subset(&b1));
        prop_assert!(sequence.tasks.iter().all(|task| labels(&task.y).iter().sum::<f64>() == 0.0));
    }

    /// Any number of groups and classes that fits gives disjoint classes and shares that differ by at most one.
    #[test]
    fn split_meets_any_feasible_request(
        tasks in 1usize..4, groups in 2usize..4, per_group in 1usize..3, p in 12usize..100, seed in 0u64..1000,
    ) {
        let settings = Split {
            tasks, groups, classes_per_group: per_group, p, p_test: 0, labels: Labels::OneHot, assignment: None,
        };
        let drawn = settings.generate(source(), seed);
        prop_assert_eq!(drawn.is_ok(), tasks * groups * per_group <= 10);
        let mut seen = BTreeSet::new();
        for task in drawn.iter().flat_map(|sequence| &sequence.tasks) {
            let mut counts: HashMap<i64, usize> = HashMap::new();
            images(task).into_iter().for_each(|i| *counts.entry(class(i)).or_default() += 1);
            prop_assert_eq!(counts.len(), groups * per_group);
            let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
            prop_assert!(most - least <= 1);
            prop_assert!(counts.keys().all(|class| seen.insert(*class)));
        }
    }
}
