//! Permuted tasks.

use super::{class, images, labels, refusal, row, source};
use ebbing::data::Preprocess;
use ebbing::linalg::Mat;
use ebbing::tasks::Permuted;
use ebbing::{Dataset, Source};
use std::collections::{BTreeSet, HashMap};

#[test]
fn the_same_images_with_the_asked_number_of_pixels_shuffled() {
    let settings = Permuted { tasks: 3, p: 40, p_test: 20, ratio: 0.15, permute_first: false, ..Permuted::default() };
    let sequence = settings.generate(source(), 3).unwrap();
    let first = &sequence.tasks[0];
    for (i, image) in images(first).into_iter().enumerate() {
        let plain = source().train(&[image as usize]).unwrap();
        assert_eq!(row(&first.x, i), row(&plain, 0), "task 1 is unpermuted");
    }
    for (t, task) in sequence.tasks.iter().enumerate() {
        assert_eq!(images(task), images(first));
        assert_eq!(task.y, first.y);
        assert!(task.rows.as_ref().unwrap().iter().all(|row| (row.view == 0) == (t == 0)));
        assert_eq!(task.test.as_ref().unwrap().x.nrows(), 20);
    }
    let moved = |t: usize, test: bool| -> BTreeSet<usize> {
        let of = |s: usize| if test { &sequence.tasks[s].test.as_ref().unwrap().x } else { &sequence.tasks[s].x };
        (0..784).filter(|&j| (0..of(t).nrows()).any(|i| of(t)[(i, j)] != of(0)[(i, j)])).collect()
    };
    for t in 1..3 {
        // round(0.15 · 784) = 118 pixels take part. Fewer can be seen to: those of the border are alike in all images.
        let seen = moved(t, false).union(&moved(t, true)).count();
        assert!((80..=118).contains(&seen), "{seen} pixels moved");
        for i in 0..40 {
            let sorted = |x: &Mat<f64>| {
                let mut values = row(x, i);
                values.sort_by(f64::total_cmp);
                values
            };
            assert_eq!(sorted(&sequence.tasks[t].x), sorted(&first.x), "the same pixels in another order");
        }
    }
    assert_ne!(moved(1, false), moved(2, false), "each task has its own permutation");
}

#[test]
fn one_permutation_serves_training_and_test_images() {
    let settings = Permuted { tasks: 2, p: 300, p_test: 300, ratio: 1.0, permute_first: false, ..Permuted::default() };
    let sequence = settings.generate(source(), 5).unwrap();
    let [a, b] = &sequence.tasks[..] else { panic!("two tasks") };
    // The values of a pixel over 300 images identify it: find where each permuted training pixel came from.
    let pixel = |x: &Mat<f64>, j: usize| -> Vec<u64> { (0..x.nrows()).map(|i| x[(i, j)].to_bits()).collect() };
    let mut origins: HashMap<Vec<u64>, Vec<usize>> = HashMap::new();
    (0..784).for_each(|j| origins.entry(pixel(&a.x, j)).or_default().push(j));
    let (before, after) = (&a.test.as_ref().unwrap().x, &b.test.as_ref().unwrap().x);
    let mut known = 0;
    for j in 0..784 {
        if let [from] = origins[&pixel(&b.x, j)][..] {
            assert_eq!(pixel(after, j), pixel(before, from), "pixel {j} of the test images");
            known += 1;
        }
    }
    assert!(known > 500, "{known} pixels are identified by their training values");
}

#[test]
fn ratio_zero_makes_all_tasks_the_same_view() {
    let settings = Permuted { tasks: 3, p: 10, p_test: 0, ratio: 0.0, ..Permuted::default() };
    let sequence = settings.generate(source(), 1).unwrap();
    assert!(sequence.tasks.iter().all(|task| task.x == sequence.tasks[0].x && task.rows == sequence.tasks[0].rows));
    assert!(sequence.tasks.iter().all(|task| task.test.is_none()));
    assert!(sequence.tasks[0].rows.as_ref().unwrap().iter().all(|row| row.view == 0));
    assert_eq!(sequence.pool().unwrap().x.nrows(), 10);
}

#[test]
fn the_first_task_is_permuted_by_default() {
    let settings = Permuted { tasks: 2, p: 10, p_test: 0, ..Permuted::default() };
    let views = |s: &Permuted| -> Vec<u32> {
        s.generate(source(), 1).unwrap().tasks.iter().map(|task| task.rows.as_ref().unwrap()[0].view).collect()
    };
    assert_eq!(views(&settings), [1, 2]);
    assert_eq!(views(&Permuted { permute_first: false, ..settings }), [0, 2]);
}

#[test]
fn classes_are_grouped_at_random_in_halves_or_as_given() {
    let settings = Permuted { tasks: 1, p: 500, p_test: 0, ..Permuted::default() };
    let groups: BTreeSet<Vec<i64>> = (0..20)
        .map(|seed| {
            let sequence = settings.generate(source(), seed).unwrap();
            let task = &sequence.tasks[0];
            let (mut positive, mut negative) = (BTreeSet::new(), BTreeSet::new());
            for (image, label) in images(task).into_iter().zip(labels(&task.y)) {
                let group = if label == 1.0 { &mut positive } else { &mut negative };
                group.insert(class(image));
            }
            assert_eq!((positive.len(), negative.len()), (5, 5));
            assert!(positive.is_disjoint(&negative));
            positive.into_iter().collect()
        })
        .collect();
    // There are 252 groupings: 20 random ones are nearly all different.
    assert!(groups.len() >= 15, "{} groupings", groups.len());
    let given = Permuted { positive: Some(vec![7, 1, 7]), ..settings }.generate(source(), 0).unwrap();
    let task = &given.tasks[0];
    for (image, label) in images(task).into_iter().zip(labels(&task.y)) {
        assert_eq!(label, if [1, 7].contains(&class(image)) { 1.0 } else { -1.0 });
    }
}

#[test]
fn fresh_images_never_repeat() {
    let settings = Permuted { tasks: 4, p: 1000, p_test: 250, fresh_images: true, ..Permuted::default() };
    let sequence = settings.generate(source(), 2).unwrap();
    let all: BTreeSet<u64> = sequence.tasks.iter().flat_map(images).collect();
    assert_eq!(all.len(), 4000);
    assert_eq!(
        refusal(Permuted { p: 1001, ..settings }.generate(source(), 2)),
        "p is 1001; mnist-sample has 4000 training images, enough for at most 1000 for each of 4 tasks with fresh images"
    );
}

#[test]
fn infeasible_requests_are_refused_with_the_feasible_range() {
    let base = Permuted { tasks: 2, p: 10, p_test: 0, ..Permuted::default() };
    let refuse = |settings: Permuted| refusal(settings.generate(source(), 0));
    for ratio in [-0.1, 1.5, f64::NAN] {
        assert_eq!(refuse(Permuted { ratio, ..base.clone() }), format!("ratio is {ratio}; must lie in [0, 1]"));
    }
    assert_eq!(refuse(Permuted { tasks: 0, ..base.clone() }), "tasks is 0; must be at least 1");
    assert_eq!(refuse(Permuted { p: 0, ..base.clone() }), "p is 0; must be at least 1");
    assert!(refuse(Permuted { p: 4001, ..base.clone() }).contains("4000 training images, enough for at most 4000"));
    assert!(refuse(Permuted { p_test: 1001, ..base.clone() }).contains("1000 test images, enough for at most 1000"));
    assert!(refuse(Permuted { tasks: usize::MAX, ..base.clone() }).contains("more than 64 GiB"));
    for positive in [vec![], (0..10).collect(), vec![3, 11]] {
        let message = refuse(Permuted { positive: Some(positive), ..base.clone() });
        assert!(message.contains("some, but not all, of the classes [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"), "{message}");
    }
    let without_test = Dataset { test: None, ..Dataset::sample().unwrap() };
    let source = Source::new(without_test, &Preprocess::none()).unwrap();
    assert!(base.generate(&source, 0).is_ok());
    assert!(refusal(Permuted { p_test: 1, ..base }.generate(&source, 0)).contains("has 0 test images"));
}
