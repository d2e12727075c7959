use super::*;
use crate::data::{Center, Dataset, Preprocess, Source};
use crate::linalg::Mat;
use crate::tasks::{Labels, Permuted, Split};
use crate::theory::advise::Advice;
use crate::theory::forecast::{Forecast, ForecastSettings};

fn source() -> Source {
    let prepared = Preprocess { center: Center::Pixel, whiten: None, ..Preprocess::default() };
    Source::new(Dataset::sample().unwrap(), &prepared).unwrap()
}

fn digits() -> TaskSequence {
    let split = Split { tasks: 3, p: 100, p_test: 60, labels: Labels::OneHotAll, ..Split::default() };
    split.generate(&source(), 1).unwrap()
}

fn settings() -> AdviseSettings {
    AdviseSettings { complete: false, random_features: 100, ..AdviseSettings::default() }
}

fn methods(tasks: TaskSequence, settings: &AdviseSettings) -> Methods {
    Advice::of(&[tasks], settings, &Context::default()).unwrap().methods.unwrap()
}

#[test]
fn rows_are_the_forecasts_of_the_methods() {
    let found = methods(digits(), &settings());
    let forecast = Forecast::of(&[digits()], &ForecastSettings::default(), &Context::default()).unwrap();
    let trained = forecast.trained.unwrap();
    let nothing = found.row(MethodKind::FineTuning).unwrap();
    // Shares of examples.
    assert_eq!(nothing.accuracy, trained.final_accuracy);
    assert_eq!(nothing.accuracy_interval, forecast.expected.map(|range| range.accuracy_interval));
    assert!((nothing.lost.unwrap() - trained.lost.unwrap()).abs() < 1e-12);
    assert_eq!(found.chance, trained.chance);
    let heads = forecast.heads.unwrap();
    for head in &heads.heads {
        let row = found.row(MethodKind::ClosedHead(head.kind)).unwrap();
        assert_eq!((row.accuracy, row.bytes), (head.mean_accuracy, head.bytes));
        assert_eq!(row.support, Support::Exact { examples: 180 });
    }
    assert!(found.row(MethodKind::ClosedHead(ClosedHeadKind::RandomRidge)).is_some());
    // Everything kept is joint training: no method of the network surely ends above it.
    let joint = found.row(MethodKind::Joint).unwrap();
    assert_eq!(joint.accuracy, found.keep.points.last().unwrap().accuracy);
    assert_eq!(joint.bytes, 300 * 784);
    let recommended = &found.rows[found.recommended.unwrap()];
    assert!(recommended.sure && recommended.accuracy_gain > recommended.forecast_error.unwrap());
    for row in &found.rows {
        assert!((row.accuracy_gain - (row.accuracy - nothing.accuracy)).abs() < 1e-12, "{row:?}");
        assert!((0.0..=1.0).contains(&row.accuracy));
        assert!(row.accuracy_interval.is_none_or(|[low, high]| low <= high));
    }
    // Separate heads are less than the wide limit says, and EWC does next to nothing.
    let heads = found.row(MethodKind::SeparateHeads).unwrap();
    assert!(heads.task_known && heads.accuracy < 0.95);
    let ewc = found.row(MethodKind::Ewc).unwrap();
    assert!(!ewc.sure && (ewc.accuracy - nothing.accuracy).abs() < 0.02);
    let said = found.sentences();
    assert!(said[0].starts_with("Do this: ") && said[0].contains("guessing gives 17 %"), "{said:?}");
}

#[test]
fn goals_and_budgets_are_kept_to() {
    let of = |goal: AdviseSettings| methods(digits(), &goal);
    let above = of(AdviseSettings { keep_accuracy_above: Some(0.8), ..settings() });
    let row = &above.rows[above.recommended.unwrap()];
    assert!(row.accuracy >= 0.8 && row.reaches_goal == Some(true));
    // No other row that surely gains reaches it with less.
    let others = above.rows.iter().filter(|r| r.sure && r.reaches_goal == Some(true) && !r.task_known);
    assert!(others.into_iter().all(|other| other.bytes >= row.bytes));
    let replay = above.rows.iter().filter(|r| r.kind == MethodKind::Replay).collect::<Vec<_>>();
    let point = above.keep.least(Goal::KeepAccuracyAbove(0.8)).unwrap();
    assert_eq!((replay.len(), replay[0].per_class), (1, Some(point.per_class)));
    let lose = of(AdviseSettings { lose_at_most: Some(0.2), ..settings() });
    let kept = lose.rows.iter().find(|r| r.kind == MethodKind::Replay).unwrap();
    assert!(kept.reaches_goal == Some(kept.lost.unwrap() <= 0.2));
    let high = of(AdviseSettings { keep_accuracy_above: Some(1.0), ..settings() });
    assert!(high.sentences()[0].starts_with("Nothing that can be recommended is forecast to end at 100 %"));
    let low = of(AdviseSettings { keep_accuracy_above: Some(0.01), ..settings() });
    assert!(low.recommended.is_none() && low.sentences()[0].starts_with("Nothing need be done"));
    // Two classes in each of two earlier tasks, 784 bytes an image.
    let bytes = of(AdviseSettings { memory_budget: Some(4 * 784 * 3 + 100), ..settings() });
    assert_eq!(bytes.most_per_class, 3);
    let row = &bytes.rows[bytes.recommended.unwrap()];
    assert!(row.bytes <= 4 * 784 * 3 + 100 && row.within_budget);
    let count = |budget| {
        let replay = Replay { budget, ..Replay::default() };
        of(AdviseSettings { budget: Some(8), replay, ..settings() }).most_per_class
    };
    assert_eq!([ReplayBudget::PerClass, ReplayBudget::PerTask, ReplayBudget::InAll].map(count), [8, 4, 2]);
}

#[test]
fn gains_within_the_error_are_not_recommended() {
    // Permuted pixels: wide networks hardly forget.
    let permuted = Permuted { tasks: 3, p: 100, p_test: 60, ..Permuted::default() };
    let found = methods(permuted.generate(&source(), 1).unwrap(), &settings());
    for row in &found.rows {
        assert_eq!(row.sure, row.forecast_error.is_some_and(|error| row.accuracy_gain > error), "{row:?}");
    }
    assert!(
        found.row(MethodKind::Distillation).is_none()
            && found.left_out.iter().any(|why| why.starts_with("distillation"))
    );
    if found.recommended.is_none() {
        assert!(found.sentences()[0].starts_with("No gain that we can be sure of"));
    }
    // Random inputs lie outside: nothing is measured there, and errors are the largest of all.
    let mut random = digits();
    let mut stream = crate::rng::Stream::new(1, "methods tests", 0);
    for task in &mut random.tasks {
        let test = task.test.as_mut().map(|test| &mut test.x);
        for x in std::iter::once(&mut task.x).chain(test) {
            *x = Mat::from_fn(x.nrows(), x.ncols(), |_, _| stream.normal());
        }
    }
    let found = methods(random, &settings());
    assert!(found.rows.iter().all(|row| !matches!(row.support, Support::Measured { .. })));
    assert!(found.rows.iter().all(|row| row.accuracy_interval.is_none()));
}

#[test]
fn distillation_holds_the_outputs_of_each_class() {
    let sequence = digits();
    let theory = calibration::theory(Training::Plain, &sequence).unwrap();
    let apart = Apart::of(&sequence, &theory, false, &Context::default()).unwrap();
    let held = apart.distilled().unwrap();
    // By hand: outputs of each class by the network of its own task.
    let mut right = 0.0;
    for task in &sequence.tasks {
        let test = task.test.as_ref().unwrap();
        let mut f = Mat::zeros(test.x.nrows(), sequence.columns());
        for other in &sequence.tasks {
            let alone = TaskSequence::new(vec![other.clone()]).unwrap();
            let network = SingleHead::new(&alone, &theory, &Context::default()).unwrap();
            let own = network.mean(test.x.as_ref(), 1).unwrap();
            for c in (0..f.ncols()).filter(|&c| other.y.col(c).iter().any(|v| *v > 0.5)) {
                (0..f.nrows()).for_each(|i| f[(i, c)] = own[(i, c)]);
            }
        }
        let best = |i: usize| (0..f.ncols()).max_by(|&a, &b| f[(i, a)].total_cmp(&f[(i, b)])).unwrap();
        right += (0..f.nrows()).filter(|&i| test.y[(i, best(i))] > 0.5).count() as f64 / f.nrows() as f64;
    }
    assert!((held - right / 3.0).abs() < 1e-12, "{held} {right}");
    // Separate heads know the task, which can only help.
    assert!(apart.own() >= held);
}
