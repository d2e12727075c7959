use super::*;
use crate::data::{Center, Dataset, Order, Preprocess, Source};
use crate::linalg::{Mat, SymmetricEigen, matmul};
use crate::rng::Stream;
use crate::tasks::{Labels, Split, Task, TaskSequence};

/// Split tasks of the embedded images, of `each` examples per class, as they are stored.
fn raw(each: usize, seed: u64) -> TaskSequence {
    let stored =
        Preprocess { gray: false, center: Center::None, whiten: None, normalize: false, order: Order::Standard };
    let source = Source::new(Dataset::sample().unwrap(), &stored).unwrap();
    let split = Split { tasks: 5, p: 2 * each, p_test: 0, labels: Labels::OneHotAll, ..Split::default() };
    split.generate(&source, seed).unwrap()
}

/// The same with all pixels of all tasks shifted and scaled to mean 0 and mean square 1.
fn standardized(each: usize, seed: u64) -> TaskSequence {
    let mut sequence = raw(each, seed);
    let before = Descriptor::of(&sequence, None).unwrap();
    let deviation = (before.mean_square - before.mean * before.mean).sqrt();
    for task in &mut sequence.tasks {
        task.x = Mat::from_fn(task.x.nrows(), task.x.ncols(), |i, j| (task.x[(i, j)] - before.mean) / deviation);
    }
    sequence
}

fn described(sequence: &TaskSequence) -> Descriptor {
    Descriptor::of(sequence, None).unwrap()
}

fn normal(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut stream = Stream::new(seed, "domain tests", 0);
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

fn images() -> DomainTable {
    let measured: Vec<Descriptor> = [(20, 1), (20, 2), (60, 3), (100, 4), (200, 5), (200, 6)]
        .map(|(each, seed)| described(&standardized(each, seed)))
        .into();
    DomainTable { domains: vec![Domain::around("standardized images", Kind::Images, &measured).unwrap()] }
}

#[test]
fn the_embedded_images_are_described() {
    let (stored, ready) = (described(&raw(100, 7)), described(&standardized(100, 7)));
    for one in [&stored, &ready] {
        assert_eq!((one.kind, one.tasks, one.features), (Kind::Images, 5, 784));
        assert_eq!((one.examples_per_task, one.examples_per_class), ([200; 2], Some([100; 2])));
        assert_eq!((one.classes_per_task, one.classes), (Some(2.0), Some(10)));
        assert!(one.constant_features > 0.1 && one.constant_features < 0.5, "{}", one.constant_features);
    }
    assert!(stored.raw_pixels && stored.range == [0.0, 255.0] && !ready.raw_pixels);
    // Those of all of MNIST: mean .1307 and deviation .3081 of 255; 1000 images of ten digits are within 10 % of them.
    let (mean, deviation) = (0.1307 * 255.0, 0.3081 * 255.0);
    let mean_square = mean * mean + deviation * deviation;
    assert!(
        (stored.mean / mean - 1.0).abs() < 0.1 && (stored.mean_square / mean_square - 1.0).abs() < 0.1,
        "{stored:?}"
    );
    // Exact by construction, to rounding.
    assert!(ready.mean.abs() < 1e-10 && (ready.mean_square - 1.0).abs() < 1e-10);
    // Images are alike: far fewer directions than Gaussian inputs, norms that spread more.
    assert!(ready.effective_rank < 0.1 && ready.norm_spread > 0.1, "{ready:?}");
}

#[test]
fn images_like_those_are_inside_and_others_are_not() {
    let table = images();
    let place = |sequence: &TaskSequence| table.place(&Descriptor::of(sequence, Some(Kind::Images)).unwrap()).unwrap();
    let new = place(&standardized(60, 11));
    assert!(new.inside && new.outside.is_empty() && new.sentence.contains("inside"), "{new:?}");
    // Pixels as they are stored.
    let stored = place(&raw(60, 11));
    assert!(!stored.inside && stored.outside.iter().any(|w| w.contains("0 to 255")), "{stored:?}");
    assert!(stored.outside.iter().any(|w| w.contains("mean square")));
    // One example per class.
    let single = place(&standardized(1, 11));
    assert!(single.outside.iter().any(|w| w == "1 example per class (measured: 20 to 200)"), "{single:?}");
    assert!(single.sentence.starts_with("not calibrated for data like yours: "));
    // Random inputs of the same mean and mean square.
    let mut random = standardized(60, 11);
    for (t, task) in random.tasks.iter_mut().enumerate() {
        task.x = normal(task.x.nrows(), task.x.ncols(), t as u64);
    }
    let random = place(&random);
    assert!(random.outside.iter().any(|w| w.contains("effective rank")), "{random:?}");
    assert!(random.outside.iter().any(|w| w.contains("norms")), "{random:?}");
}

#[test]
fn a_descriptor_is_what_its_definitions_say() {
    let z = normal(30, 8, 1);
    let x = Mat::from_fn(30, 8, |i, j| z[(i, j)] * (1.0 + j as f64) + 0.3);
    let y = Mat::from_fn(30, 1, |i, _| if i % 3 == 0 { 1.0 } else { -1.0 });
    let found = described(&TaskSequence::new(vec![Task::new(x.clone(), y)]).unwrap());
    assert_eq!((found.kind, found.examples_per_class, found.classes), (Kind::Unknown, Some([10, 20]), Some(2)));
    let values = SymmetricEigen::factor(matmul(x.transpose(), x.as_ref()).as_ref(), "test").unwrap().values;
    let rank = values.iter().sum::<f64>().powi(2) / values.iter().map(|v| v * v).sum::<f64>() / 8.0;
    // Rounding of sums.
    assert!((found.effective_rank - rank).abs() < 1e-12);
    let norms: Vec<f64> = (0..30).map(|i| (0..8).map(|j| x[(i, j)].powi(2)).sum::<f64>().sqrt()).collect();
    let mean = norms.iter().sum::<f64>() / 30.0;
    let deviation = (norms.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 30.0).sqrt();
    assert!((found.norm_spread - deviation / mean).abs() < 1e-12);
    let rms = |j: usize| ((0..30).map(|i| x[(i, j)].powi(2)).sum::<f64>() / 30.0).sqrt();
    let scale = (0..8).map(rms).sum::<f64>() / 8.0;
    let spread = ((0..8).map(|j| (rms(j) - scale).powi(2)).sum::<f64>() / 8.0).sqrt() / scale;
    assert!((found.feature_spread - spread).abs() < 1e-12);
}

/// The ranges of the calibration come from `paper/evidence/domain.py`, whose numbers for these tasks are the ones here.
#[test]
fn the_evidence_describes_sequences_in_the_same_way() {
    let task = |t: usize, p: usize| {
        let x = Mat::from_fn(p, 40, |i, j| {
            (7.0 * i as f64 + 3.0 * (j * j) as f64 + t as f64).sin() * (1 + j % 5) as f64 + 0.1
        });
        Task::new(x, Mat::from_fn(p, 4, |i, j| f64::from(u8::from(j == t + usize::from(i % 3 == 0)))))
    };
    let found = described(&TaskSequence::new(vec![task(0, 50), task(1, 60), task(2, 1300)]).unwrap());
    assert_eq!((found.examples_per_task, found.examples_per_class), ([50, 1300], Some([17, 866])));
    assert_eq!((found.classes_per_task, found.classes), (Some(2.0), Some(4)));
    for (quantity, known) in [
        (Quantity::Mean, 0.04291200793205585),
        (Quantity::MeanSquare, 5.509484443800567),
        (Quantity::NormSpread, 0.05455597118055061),
        (Quantity::EffectiveRank, 0.0490877501457219),
        (Quantity::FeatureSpread, 0.4697906864546435),
    ] {
        let value = found.value(quantity).unwrap();
        // Sums in another order.
        assert!((value / known - 1.0).abs() < 1e-11, "{quantity:?}: {value} {known}");
    }
}

#[test]
fn limits_of_spectrum_and_scale() {
    let of = |x: Mat<f64>| {
        let y = Mat::from_fn(x.nrows(), 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 });
        described(&TaskSequence::new(vec![Task::new(x, y)]).unwrap())
    };
    // One direction, and all directions alike.
    let one = of(Mat::from_fn(12, 6, |i, j| (1.0 + i as f64) * (1.0 + j as f64)));
    assert!((one.effective_rank - 1.0 / 6.0).abs() < 1e-12);
    let all = of(Mat::from_fn(6, 6, |i, j| f64::from(u8::from(i == j))));
    // Exact but for the rounding of a square root.
    assert!((all.effective_rank, all.norm_spread) == (1.0, 0.0) && all.feature_spread < 1e-15);
    assert!(!all.raw_pixels, "ones and zeros are no gray levels");
    // Gaussian inputs: P directions of d, of which P d/(P + d + 1) count, over min(P, d); a trace
    // fluctuates by √(2/Pd) of itself, .004 here.
    let (p, d) = (400, 300);
    let gaussian = of(normal(p, d, 3));
    let known = (p * d) as f64 / (p + d + 1) as f64 / d as f64;
    assert!((gaussian.effective_rank / known - 1.0).abs() < 0.02, "{} {known}", gaussian.effective_rank);
    // Scaling changes the mean square alone.
    let (x, times) = (normal(20, 5, 4), 3.0);
    let (a, b) = (of(x.clone()), of(Mat::from_fn(20, 5, |i, j| times * x[(i, j)])));
    assert!((b.mean_square / a.mean_square - 9.0).abs() < 1e-12);
    for quantity in [Quantity::NormSpread, Quantity::EffectiveRank, Quantity::FeatureSpread, Quantity::Mean] {
        assert!((a.value(quantity).unwrap() - b.value(quantity).unwrap()).abs() < 1e-12);
    }
}

#[test]
fn the_nearest_domain_is_named() {
    let mut table = images();
    let features: Vec<Descriptor> = (0..3)
        .map(|seed| {
            let task = |s: u64| {
                let y = Mat::from_fn(60, 4, |i, j| f64::from(u8::from(i % 4 == j)));
                Task::new(normal(60, 16, 10 * seed + s), y)
            };
            Descriptor::of(&TaskSequence::new(vec![task(1), task(2)]).unwrap(), Some(Kind::Features)).unwrap()
        })
        .collect();
    table.domains.push(Domain::around("features", Kind::Features, &features).unwrap());
    assert!(table.place(&features[1]).unwrap().inside);
    let other = Descriptor { tasks: 3, ..features[0].clone() };
    let placed = table.place(&other).unwrap();
    assert_eq!(
        (placed.nearest.as_str(), placed.outside.as_slice()),
        ("features", &["3 tasks (measured: 2)".to_string()][..])
    );
    // The same numbers of another kind of data are no longer inside.
    let image = Descriptor { kind: Kind::Images, ..features[0].clone() };
    assert!(!table.place(&image).unwrap().inside);
    let unsaid = Descriptor { kind: Kind::Unknown, ..features[0].clone() };
    assert!(table.place(&unsaid).unwrap().inside, "what nobody said is judged by its numbers");
    // Real targets have no classes to compare.
    let real = Descriptor { classes: None, classes_per_task: None, examples_per_class: None, ..features[0].clone() };
    let placed = table.place(&real).unwrap();
    assert_eq!(placed.outside.iter().filter(|w| w.contains("no classes")).count(), 1, "{placed:?}");
}

#[test]
fn tables_are_data_and_bad_ones_are_refused() {
    let table = images();
    let text = serde_json::to_string(&table).unwrap();
    assert!(text.contains("examples-per-class"));
    assert_eq!(serde_json::from_str::<DomainTable>(&text).unwrap(), table);
    let one = described(&standardized(20, 1));
    assert!(DomainTable::default().place(&one).unwrap_err().to_string().contains("empty"));
    assert!(Domain::around("none", Kind::Images, &[]).is_err());
    let mut bad = table;
    bad.domains[0].ranges.insert(Quantity::Tasks, [5.0, 2.0]);
    assert!(bad.place(&one).unwrap_err().to_string().contains("5 to 2"));
}
