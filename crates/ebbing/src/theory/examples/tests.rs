use super::*;
use crate::context::Context;
use crate::linalg::Mat;
use crate::rng::Stream;
use crate::tasks::{Task, TaskSequence};
use crate::theory::single_head::{SingleHead, SingleHeadSettings};

fn normal(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut stream = Stream::new(seed, "example risk tests", 0);
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}

fn hot(classes: &[usize], columns: usize) -> Mat<f64> {
    Mat::from_fn(classes.len(), columns, |i, j| f64::from(u8::from(classes[i] == j)))
}

fn risks(own: &Mat<f64>, last: &Mat<f64>, y: &Mat<f64>, width: Width) -> ExampleRisks {
    let outputs = ExampleOutputs { own: own.as_ref(), last: last.as_ref(), y: y.as_ref(), variance: None };
    ExampleRisks::new(&outputs, width, "task 1").unwrap()
}

#[test]
fn margins_and_fates_by_hand() {
    let y = hot(&[0, 1, 2, 0], 3);
    let rows = |all: [[f64; 3]; 4]| Mat::from_fn(4, 3, |i, j| all[i][j]);
    let own = rows([[1.0, 0.2, 0.1], [0.3, 0.9, 0.0], [0.6, 0.1, 0.5], [0.1, 0.4, 0.3]]);
    let last = rows([[0.4, 0.7, 0.1], [0.3, 0.5, 0.2], [0.1, 0.2, 0.9], [0.0, 0.9, 0.1]]);
    let found = risks(&own, &last, &y, Width::Fixed(0.3));
    assert_eq!(found.fate, [Fate::Lost, Fate::Kept, Fate::Gained, Fate::Wrong]);
    assert_eq!((found.learned, found.lost, found.wrong), (2, 1, 2));
    for (found, known) in found.margin.iter().zip([-0.3, 0.2, 0.7, -0.9]) {
        assert!((found - known).abs() < 1e-15, "one subtraction");
    }
    assert_eq!(margins(last.as_ref(), y.as_ref(), "task 1").unwrap(), (found.margin.clone(), found.class.clone()));
    assert!((found.chance[0] - normal_cdf(1.0)).abs() < 1e-14 && found.chance[3] > 0.99);
    let first = &found.most_at_risk[0];
    assert_eq!((first.row, first.class, first.rival, first.fate), (0, 0, 1, Fate::Lost));
    assert_eq!(found.most_at_risk.len(), 2, "only what was right can be at risk");
    assert_eq!(found.classes[0].class, 0);
    assert_eq!(found.classes[0].share_lost, Some(1.0));
    assert_eq!(found.classes.iter().find(|c| c.class == 2).unwrap().share_lost, None);
}

#[test]
fn one_column_is_two_columns_of_opposite_sign() {
    let n = 40;
    let signs = Mat::from_fn(n, 1, |i, _| if i % 3 == 0 { 1.0 } else { -1.0 });
    let (own, last) = (normal(n, 1, 1), normal(n, 1, 2));
    let two = |f: &Mat<f64>| Mat::from_fn(n, 2, |i, j| if j == 1 { f[(i, 0)] } else { -f[(i, 0)] } / 2.0);
    let classes: Vec<usize> = (0..n).map(|i| usize::from(i % 3 == 0)).collect();
    let (one, both) =
        (risks(&own, &last, &signs, Width::Change), risks(&two(&own), &two(&last), &hot(&classes, 2), Width::Change));
    assert_eq!((&one.fate, &one.class, one.lost), (&both.fate, &both.class, both.lost));
    for i in 0..n {
        // Halves are exact.
        assert_eq!((one.margin[i], one.chance[i]), (both.margin[i], both.chance[i]));
    }
    // Targets of zero name no class.
    let mut some = signs.clone();
    some[(0, 0)] = 0.0;
    let found = risks(&own, &last, &some, Width::Change);
    assert_eq!((found.fate[0], found.class[0], found.chance[0]), (Fate::NoClass, None, 0.0));
    assert_eq!(found.classes.iter().map(|c| c.examples).sum::<usize>(), n - 1);
}

#[test]
fn chances_fall_with_the_margin_and_are_those_of_gaussian_networks() {
    let (n, columns) = (30, 2);
    let y = hot(&(0..n).map(|i| i % columns).collect::<Vec<_>>(), columns);
    let (own, last) = (normal(n, columns, 3), normal(n, columns, 4));
    let variance: Vec<f64> = (0..n).map(|i| 0.1 + 0.02 * i as f64).collect();
    let outputs = ExampleOutputs { own: own.as_ref(), last: last.as_ref(), y: y.as_ref(), variance: Some(&variance) };
    let found = ExampleRisks::new(&outputs, Width::Spread, "task 1").unwrap();
    assert!(found.from_spread);
    let mut stream = Stream::new(5, "networks", 0);
    for i in 0..n {
        // 4000 networks: five standard errors of a share.
        let draws = 4000;
        let wrong = (0..draws).filter(|_| {
            let f: Vec<f64> = (0..columns).map(|j| last[(i, j)] + variance[i].sqrt() * stream.normal()).collect();
            f[i % columns] < f[1 - i % columns]
        });
        let share = wrong.count() as f64 / f64::from(draws);
        let error = 5.0 * (0.25 / f64::from(draws)).sqrt();
        assert!((share - found.chance[i]).abs() < error, "{i}: {share} {}", found.chance[i]);
    }
    let found = risks(&own, &last, &y, Width::Change);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| found.margin[*a].total_cmp(&found.margin[*b]));
    assert!(order.windows(2).all(|w| found.chance[w[0]] >= found.chance[w[1]]));
    // Nothing moves: certainty.
    let still = risks(&own, &own, &y, Width::Change);
    assert!(still.chance.iter().all(|c| *c == 0.0 || *c == 1.0) && still.lost == 0);
}

#[test]
fn a_sequence_is_its_tasks_outputs() {
    let task = |seed: u64| {
        let (x, x_test) = (normal(24, 15, seed), normal(12, 15, seed + 50));
        let y = |n: usize| hot(&(0..n).map(|i| (i + seed as usize) % 3).collect::<Vec<_>>(), 3);
        Task::new(x, y(24)).with_test(x_test, y(12))
    };
    let sequence = TaskSequence::new(vec![task(1), task(2), task(3)]).unwrap();
    let settings = SingleHeadSettings { beta: 10.0, ..Default::default() };
    let context = Context::default();
    let network = SingleHead::new(&sequence, &settings, &context).unwrap();
    for width in [Width::Change, Width::Spread, Width::Fixed(1.0)] {
        let all = ExamplesAtRisk::of(&network, &sequence, width, &context).unwrap();
        let forecast = network.forecast().unwrap();
        for (t, risks) in all.tasks.iter().enumerate() {
            // Accuracies of the forecast are shares of right answers.
            let right = |risks: &ExampleRisks, n: usize| 1.0 - risks.wrong as f64 / n as f64;
            let train = forecast.train_accuracy.as_ref().unwrap()[2][t];
            assert!((right(&risks.train, 24) - train).abs() < 1e-12, "{t}");
            let (test, known) = (risks.test.as_ref().unwrap(), forecast.test.as_ref().unwrap());
            assert!((right(test, 12) - known.accuracy.as_ref().unwrap()[2][t]).abs() < 1e-12, "{t}");
        }
        assert_eq!(all.tasks[2].train.lost, 0, "nothing comes after the last task");
        assert_eq!(all.tasks[0].train.classes[0].name.split(' ').next(), Some("column"));
        let json = serde_json::to_value(&all).unwrap();
        assert!(json["tasks"][0]["train"]["margin"].as_array().unwrap().len() == 24);
    }
    let other = TaskSequence::new(sequence.tasks[..2].to_vec()).unwrap();
    assert!(ExamplesAtRisk::of(&network, &other, Width::Change, &context).is_err());
}

#[test]
fn what_cannot_be_read_is_refused() {
    let (y, f) = (hot(&[0, 1], 2), normal(2, 2, 6));
    let outputs = |own: &Mat<f64>, width| {
        let outputs = ExampleOutputs { own: own.as_ref(), last: f.as_ref(), y: y.as_ref(), variance: None };
        ExampleRisks::new(&outputs, width, "task 1").map(|_| ())
    };
    assert!(outputs(&f, Width::Change).is_ok());
    assert!(outputs(&normal(3, 2, 7), Width::Change).unwrap_err().to_string().contains("they must agree"));
    assert!(outputs(&f, Width::Spread).unwrap_err().to_string().contains("no spread"));
    assert!(outputs(&f, Width::Fixed(0.0)).is_err());
    let bad = Mat::from_fn(2, 2, |_, _| f64::NAN);
    assert!(outputs(&bad, Width::Change).is_err());
}
