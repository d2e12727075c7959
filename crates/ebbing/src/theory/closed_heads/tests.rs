use super::*;
use crate::context::Context;
use crate::linalg::{Cholesky, Mat, matmul};
use crate::rng::Stream;
use crate::tasks::{Task, TaskSequence};
use crate::theory::classes::classes_of;

/// Gaussian classes of one covariance `B Bᵀ`, `each` training and test examples of every class, `per` classes in each task.
fn gaussian(classes: usize, per: usize, each: usize, b: &Mat<f64>, means: &Mat<f64>, seed: u64) -> TaskSequence {
    let d = b.nrows();
    let mut stream = Stream::new(seed, "closed head tests", 0);
    let mut set = |first: usize, each: usize| {
        let n = per * each;
        let z = Mat::from_fn(n, d, |_, _| stream.normal());
        let noise = matmul(z.as_ref(), b.transpose());
        let class = |i: usize| first + i % per;
        let x = Mat::from_fn(n, d, |i, j| means[(class(i), j)] + noise[(i, j)]);
        (x, Mat::from_fn(n, classes, |i, c| f64::from(u8::from(c == class(i)))))
    };
    let mut task = |t: usize| {
        let ((x, y), (x_test, y_test)) = (set(t * per, each), set(t * per, 2 * each));
        Task::new(x, y).with_test(x_test, y_test).named(format!("group {t}"))
    };
    TaskSequence::new((0..classes / per).map(&mut task).collect()).unwrap()
}

/// A covariance with one direction of large spread, along which means differ little.
fn stretched(d: usize) -> Mat<f64> {
    Mat::from_fn(d, d, |i, j| {
        if i != j {
            0.0
        } else if i == 0 {
            10.0
        } else {
            1.0
        }
    })
}

fn normal(rows: usize, d: usize, scale: f64, seed: u64) -> Mat<f64> {
    let mut stream = Stream::new(seed, "closed head tests, means", 0);
    Mat::from_fn(rows, d, |_, _| scale * stream.normal())
}

fn small() -> ClosedHeadSettings {
    ClosedHeadSettings { random_features: 150, joint_examples: 0, ..ClosedHeadSettings::default() }
}

fn computed(sequence: &TaskSequence, settings: &ClosedHeadSettings) -> ClosedHeads {
    closed_heads(sequence, settings, &Context::default()).unwrap()
}

#[test]
fn the_discriminant_is_bayes_optimal_for_gaussian_classes() {
    let (classes, d) = (6, 12);
    let (b, means) = (stretched(d), normal(classes, d, 1.3, 1));
    let sequence = gaussian(classes, 2, 600, &b, &means, 2);
    let heads = computed(&sequence, &small());
    let accuracy = |kind| heads.head(kind).unwrap().mean_accuracy;
    // The Bayes rule with the true means and covariance, on the same test data.
    let (mut right, mut count) = (0.0, 0.0);
    for task in &sequence.tasks {
        let test = task.test.as_ref().unwrap();
        let truth = classes_of(test.y.as_ref(), "test").unwrap();
        for i in 0..test.x.nrows() {
            let distance =
                |c: usize| (0..d).map(|j| ((test.x[(i, j)] - means[(c, j)]) / b[(j, j)]).powi(2)).sum::<f64>();
            let best = (0..classes).min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap();
            right += f64::from(u8::from(Some(best) == truth[i]));
            count += 1.0;
        }
    }
    let bayes = right / count;
    let discriminant = accuracy(ClosedHeadKind::Discriminant);
    // 7200 test examples: two standard errors of a difference are .011 at most; means of 600 examples cost less than that.
    assert!((discriminant - bayes).abs() < 0.012, "{discriminant} for {bayes}");
    let nearest = accuracy(ClosedHeadKind::NearestMean);
    assert!(discriminant > nearest + 0.1, "{discriminant} {nearest}");
}

#[test]
fn heads_are_what_their_definitions_say() {
    let (classes, d) = (4, 7);
    let sequence = gaussian(classes, 2, 30, &stretched(d), &normal(classes, d, 2.0, 3), 4);
    // Far from the origin, where a plain second moment would lose digits.
    let shifted = |m: &Mat<f64>| Mat::from_fn(m.nrows(), d, |i, j| m[(i, j)] + 3.0 * j as f64);
    let all = || sequence.tasks.iter().map(|task| (shifted(&task.x), classes_of(task.y.as_ref(), "y").unwrap()));
    let (n, x) = (sequence.tasks.len() * 60, sequence.tasks[0].x.clone());
    let mut joint = Statistics::about((0..d).map(|j| 2.5 * j as f64).collect(), classes);
    let mut parts = vec![];
    for (x, class) in all() {
        joint.add(x.as_ref(), &class).unwrap();
        let mut own = Statistics::about(joint.origin.clone(), classes);
        own.add(x.as_ref(), &class).unwrap();
        parts.push(own);
    }
    // Added up in the other order.
    let mut merged = parts[1].clone();
    merged.merge(&parts[0]).unwrap();
    let (rows, truth): (Vec<Vec<f64>>, Vec<usize>) = all()
        .flat_map(|(x, class)| {
            let row = move |i: usize| (0..d).map(|j| x[(i, j)]).collect::<Vec<f64>>();
            (0..60).map(move |i| (row(i), class[i].unwrap())).collect::<Vec<_>>()
        })
        .unzip();
    let mean = |c: usize, j: usize| {
        let own = || rows.iter().zip(&truth).filter(|(_, t)| **t == c);
        own().map(|(row, _)| row[j]).sum::<f64>() / own().count() as f64
    };
    let means = Mat::from_fn(classes, d, mean);
    let (z, n_f) = (Mat::from_fn(n, d, |i, j| rows[i][j] - means[(truth[i], j)]), n as f64);
    let x_all = Mat::from_fn(n, d, |i, j| rows[i][j]);
    let y = Mat::from_fn(n, classes, |i, c| f64::from(u8::from(truth[i] == c)));
    let strength = 0.03;
    let regular = |m: &Mat<f64>| {
        let mut a = matmul(m.transpose(), m.as_ref()) * faer_scale(1.0 / n_f);
        let mean = (0..d).map(|i| a[(i, i)]).sum::<f64>() / d as f64;
        (0..d).for_each(|i| a[(i, i)] += strength * mean);
        Cholesky::factor(a.as_ref(), "test").unwrap()
    };
    let points = shifted(&x);
    let known = |kind: HeadKind| match kind {
        HeadKind::NearestMean => Mat::from_fn(points.nrows(), classes, |i, c| {
            -0.5 * (0..d).map(|j| (points[(i, j)] - means[(c, j)]).powi(2)).sum::<f64>()
        }),
        HeadKind::Discriminant => {
            let factor = regular(&z);
            Mat::from_fn(points.nrows(), classes, |i, c| {
                let from: Vec<f64> = (0..d).map(|j| points[(i, j)] - means[(c, j)]).collect();
                -0.5 * crate::linalg::dot(&from, &factor.solve_vec(&from))
            })
        }
        HeadKind::Ridge => {
            let w = regular(&x_all).solve((matmul(x_all.transpose(), y.as_ref()) * faer_scale(1.0 / n_f)).as_ref());
            matmul(points.as_ref(), w.as_ref())
        }
    };
    for kind in [HeadKind::NearestMean, HeadKind::Discriminant, HeadKind::Ridge] {
        for statistics in [&joint, &merged] {
            let head = statistics.head(kind, strength).unwrap();
            assert!(head.residual < 10.0 && head.condition < 1e4, "{kind:?}: {} {}", head.residual, head.condition);
            let (found, known) = (head.scores(points.as_ref()).unwrap(), known(kind));
            for i in 0..points.nrows() {
                for c in 1..classes {
                    // Distances differ from scores by a term that all classes have.
                    let (a, b) = (found[(i, c)] - found[(i, 0)], known[(i, c)] - known[(i, 0)]);
                    // Rounding of squares near 1e3 times a condition number below 1e4.
                    assert!((a - b).abs() < 1e-8 * (1.0 + b.abs()), "{kind:?} {i} {c}: {a} {b}");
                }
            }
        }
    }
}

fn faer_scale(s: f64) -> crate::linalg::Scale<f64> {
    crate::linalg::Scale(s)
}

#[test]
fn the_order_of_tasks_does_not_matter() {
    let (classes, d) = (8, 20);
    let settings = ClosedHeadSettings { joint_examples: 500, ..small() };
    // More examples than features, and fewer.
    for (each, wide) in [(25, 20), (2, 60)] {
        let b = Mat::from_fn(wide, wide, |i, j| f64::from(u8::from(i == j)) * (1.0 + (i % 5) as f64));
        let sequence = gaussian(classes, 2, each, &b, &normal(classes, wide, 1.0, 5), 6);
        let one = computed(&sequence, &settings);
        assert_eq!(one.in_span, each == 2, "{d}");
        let order = [3, 1, 4, 2];
        let other = computed(&sequence.ordered(&order).unwrap(), &settings);
        assert_eq!(one.heads.len(), 5);
        for (a, b) in one.heads.iter().zip(&other.heads) {
            // Accuracies are counts: equal unless scores tie to rounding, which those of random examples do not.
            let moved: Vec<f64> = order.iter().map(|t| a.accuracy[t - 1]).collect();
            assert_eq!((moved, a.strength.map(|s| s.relative)), (b.accuracy.clone(), b.strength.map(|s| s.relative)));
        }
        assert_eq!(one.held_out, other.held_out);
    }
}

#[test]
fn fewer_examples_than_features_change_nothing_but_the_work() {
    let (classes, d) = (4, 40);
    let sequence = gaussian(classes, 2, 6, &stretched(d), &normal(classes, d, 2.0, 8), 9);
    let heads = computed(&sequence, &ClosedHeadSettings { random_features: 0, ..small() });
    assert!(heads.in_span);
    // The same in d × d.
    let mut all = Statistics::new(d, classes);
    for task in &sequence.tasks {
        all.add(task.x.as_ref(), &classes_of(task.y.as_ref(), "y").unwrap()).unwrap();
    }
    for (kind, name) in [
        (HeadKind::NearestMean, ClosedHeadKind::NearestMean),
        (HeadKind::Discriminant, ClosedHeadKind::Discriminant),
        (HeadKind::Ridge, ClosedHeadKind::Ridge),
    ] {
        let found = heads.head(name).unwrap();
        let head = all.head(kind, found.strength.map_or(0.0, |s| s.relative)).unwrap();
        for (task, accuracy) in sequence.tasks.iter().zip(&found.accuracy) {
            let test = task.test.as_ref().unwrap();
            let truth = classes_of(test.y.as_ref(), "y").unwrap();
            let right =
                head.predict(test.x.as_ref()).unwrap().iter().zip(&truth).filter(|(a, b)| Some(**a) == **b).count();
            assert_eq!(right as f64 / truth.len() as f64, *accuracy, "{name:?}");
        }
    }
    assert!(all.head(HeadKind::Ridge, 0.0).is_err(), "a singular second moment needs a ridge");
}

#[test]
fn one_task_after_another_equals_everything_at_once() {
    // Recursive least squares, a rank-one update for every example, starting from the ridge alone.
    let (classes, d) = (4, 9);
    let sequence = gaussian(classes, 2, 20, &stretched(d), &normal(classes, d, 1.0, 10), 11);
    let mut all = Statistics::new(d, classes);
    for task in &sequence.tasks {
        all.add(task.x.as_ref(), &classes_of(task.y.as_ref(), "y").unwrap()).unwrap();
    }
    let (strength, n) = (0.1, all.total());
    let ridge = strength * n * (0..d).map(|i| all.second_moment()[(i, i)]).sum::<f64>() / d as f64;
    let mut inverse = Mat::from_fn(d, d, |i, j| if i == j { 1.0 / ridge } else { 0.0 });
    let mut w = Mat::<f64>::zeros(d, classes);
    for task in &sequence.tasks {
        for i in 0..task.x.nrows() {
            let x: Vec<f64> = (0..d).map(|j| task.x[(i, j)]).collect();
            let rx = crate::linalg::matvec(inverse.as_ref(), &x);
            let gain = 1.0 + crate::linalg::dot(&x, &rx);
            for c in 0..classes {
                let missed = (task.y[(i, c)] - crate::linalg::dot(&x, w.col_as_slice(c))) / gain;
                (0..d).for_each(|j| w[(j, c)] += missed * rx[j]);
            }
            inverse = Mat::from_fn(d, d, |j, k| inverse[(j, k)] - rx[j] * rx[k] / gain);
        }
    }
    let x = &sequence.tasks[1].x;
    let (found, known) =
        (all.head(HeadKind::Ridge, strength).unwrap().scores(x.as_ref()).unwrap(), matmul(x.as_ref(), w.as_ref()));
    // Rounding of 80 updates of a matrix with a condition number below 1e3.
    assert!((found - known).norm_max() < 1e-9);
}

#[test]
fn random_features_tend_to_the_kernel_of_a_wide_layer() {
    use crate::kernels::{Activation, Architecture, Kernel, KernelKind, WeightPrior};
    let (x, m) = (normal(6, 5, 1.0, 12), 40_000);
    let seen = lift::Lift::random(5, m, 3).see(x.as_ref(), &[0, 1, 2, 3, 4, 5]);
    let found = matmul(seen.as_ref(), seen.transpose());
    let prior = WeightPrior::new(f64::INFINITY, 1.0).unwrap();
    let kernel =
        Kernel::new(KernelKind::Nngp, Architecture { activation: Activation::Relu, depth: 1 }, prior, 1, 1).unwrap();
    let known = kernel.gram_symmetric(x.as_ref()).unwrap();
    for i in 0..6 {
        for j in 0..6 {
            // φφ' has a spread of at most √(E φ⁴) = √6 |x||x'|/d around its mean, which is twice K: five standard errors.
            let size = (known[(i, i)] * known[(j, j)]).sqrt() * 2.0;
            let error = 5.0 * 6f64.sqrt() * size / (m as f64).sqrt();
            assert!(
                (found[(i, j)] - 2.0 * known[(i, j)]).abs() < error,
                "{i} {j}: {} {}",
                found[(i, j)],
                known[(i, j)]
            );
        }
    }
}

#[test]
fn random_features_solve_what_no_linear_head_can() {
    // Two classes in opposite quadrants, one output of ±1, two tasks. (What depends on the norm of inputs alone no unit without a
    // bias can learn.)
    let mut stream = Stream::new(1, "quadrants", 0);
    let mut set = |n: usize| {
        let sign = |stream: &mut Stream| if stream.chance(0.5) { 1.0 } else { -1.0 };
        let quadrants: Vec<[f64; 2]> = (0..n).map(|_| [sign(&mut stream), sign(&mut stream)]).collect();
        let x = Mat::from_fn(n, 2, |i, j| quadrants[i][j] * (0.2 + stream.uniform()));
        (x, Mat::from_fn(n, 1, |i, _| quadrants[i][0] * quadrants[i][1]))
    };
    let mut task = || {
        let ((x, y), (x_test, y_test)) = (set(100), set(100));
        Task::new(x, y).with_test(x_test, y_test)
    };
    let sequence = TaskSequence::new(vec![task(), task()]).unwrap();
    let heads = computed(&sequence, &ClosedHeadSettings { joint_examples: 500, ..small() });
    let accuracy = |kind| heads.head(kind).unwrap().mean_accuracy;
    assert!(accuracy(ClosedHeadKind::Ridge) < 0.7 && accuracy(ClosedHeadKind::NearestMean) < 0.7);
    assert!(accuracy(ClosedHeadKind::RandomRidge) > 0.95 && accuracy(ClosedHeadKind::Joint) > 0.95);
    // One column is two classes, the same in both tasks.
    assert_eq!(heads.classes, 2);
    assert!(heads.heads.iter().all(|head| head.accuracy == head.task_accuracy));
}

#[test]
fn accuracies_and_memory_are_counted_as_stated() {
    let (classes, d) = (6, 10);
    let sequence = gaussian(classes, 2, 15, &stretched(d), &normal(classes, d, 1.0, 13), 14);
    let heads = computed(&sequence, &small());
    for head in &heads.heads {
        assert!(head.accuracy.iter().zip(&head.task_accuracy).all(|(all, own)| own >= all), "{head:?}");
        assert_eq!(head.bytes, 4 * head.floats);
        assert_eq!(head.strength.is_some(), head.kind != ClosedHeadKind::NearestMean);
        assert!(head.residual.is_none_or(|r| r < 10.0), "{head:?}");
    }
    let floats: Vec<u64> = heads.heads.iter().map(|head| head.floats).collect();
    assert_eq!(floats, [60, 160, 160, 150 * 150 + 150 * 6]);
    assert_eq!(heads.examples, 90);
    // Ties are shared: of constant scores each class gets its part.
    let truth = [Some(0), Some(1), None, Some(5)];
    let share = head::share_right(Mat::zeros(4, 3).as_ref(), &[0, 1, 2], &[0, 1], &truth);
    assert_eq!(share, Some(1.0 / 3.0), "half of each known class, nothing of an unknown one");
}

#[test]
fn what_cannot_be_computed_is_refused_in_one_sentence() {
    let sequence = gaussian(4, 2, 5, &stretched(3), &normal(4, 3, 1.0, 15), 16);
    let said = |sequence: &TaskSequence, settings: &ClosedHeadSettings| {
        closed_heads(sequence, settings, &Context::default()).unwrap_err().to_string()
    };
    let mut untested = sequence.clone();
    untested.tasks[1].test = None;
    assert!(said(&untested, &small()).contains("task 2") && said(&untested, &small()).contains("held-out"));
    let mut real = sequence.clone();
    real.tasks.iter_mut().for_each(|task| task.y = Mat::from_fn(task.y.nrows(), 4, |i, j| (i * j) as f64));
    assert!(said(&real, &small()).contains("real numbers"));
    assert!(said(&sequence, &ClosedHeadSettings { held_out: 0.7, ..small() }).contains("held_out"));
    assert!(Statistics::new(3, 2).head(HeadKind::Ridge, 1.0).is_err());
    assert!(Statistics::new(3, 2).add(Mat::zeros(1, 3).as_ref(), &[Some(2)]).is_err());
    assert!(Statistics::new(3, 2).add(Mat::zeros(1, 2).as_ref(), &[Some(1)]).is_err());
}

#[test]
fn one_example_per_class_leaves_the_nearest_mean() {
    // Nothing to hold out and no spread within classes: the discriminant is the nearest mean.
    let sequence = gaussian(4, 2, 1, &stretched(3), &normal(4, 3, 4.0, 17), 18);
    let heads = computed(&sequence, &small());
    assert_eq!(heads.held_out, 0);
    let of = |kind| heads.head(kind).unwrap().accuracy.clone();
    assert_eq!(of(ClosedHeadKind::NearestMean), of(ClosedHeadKind::Discriminant));
    assert_eq!(heads.head(ClosedHeadKind::Ridge).unwrap().strength.unwrap().held_out_accuracy, None);
}
