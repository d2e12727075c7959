//! Networks that start from outputs of their own, and features of each output apart.

use super::*;
use ebbing::Context;
use ebbing::Forecast;
use ebbing::metrics::accuracy;
use ebbing::tasks::TestSet;
use ebbing::theory::advise::{Advice, AdviseSettings, RemedyKind};
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::order_parameters::{OrderParameterSettings, order_parameters};
use ebbing::theory::single_head::{Replay, Selection, SingleHeadForecast};

const COLUMNS: usize = 3;

/// Tasks of features with one-hot targets, held-out data and outputs at the start.
fn answered(seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "present tests", 0);
    let mut task = |p: usize| {
        let one_hot = |n: usize| Mat::from_fn(n, COLUMNS, |i, j| f64::from(u8::from(i % COLUMNS == j)));
        let (x, x_test) = (gauss(&mut stream, p, 40), gauss(&mut stream, 9, 40));
        let (f, f_test) = (gauss(&mut stream, p, COLUMNS), gauss(&mut stream, 9, COLUMNS));
        Task::new(x, one_hot(p)).with_test(x_test, one_hot(9)).with_present(f, Some(f_test))
    };
    sequence(vec![task(8), task(12), task(10)])
}

/// The same tasks with targets `Y − f_0`.
fn residual(tasks: &TaskSequence) -> TaskSequence {
    let one = |task: &Task| {
        let (f, test) = (task.present.as_ref().unwrap(), task.test.as_ref().unwrap());
        let test = TestSet { x: test.x.clone(), y: &test.y - f.test.as_ref().unwrap() };
        Task { test: Some(test), y: &task.y - &f.train, present: None, ..task.clone() }
    };
    sequence(tasks.tasks.iter().map(one).collect())
}

/// The same tasks with `Φ ⊗ 1`: every output has the features to itself, in rows of its own.
fn apart(tasks: &TaskSequence) -> TaskSequence {
    let spread =
        |x: &Mat<f64>| {
            let n = x.ncols();
            Mat::from_fn(x.nrows() * COLUMNS, n * COLUMNS, |i, j| {
                if i % COLUMNS == j / n { x[(i / COLUMNS, j % n)] } else { 0.0 }
            })
        };
    let one = |task: &Task| {
        let test = task.test.as_ref().unwrap();
        Task {
            test: Some(TestSet { x: spread(&test.x), ..test.clone() }),
            x: spread(&task.x),
            rows: None,
            ..task.clone()
        }
    };
    sequence(tasks.tasks.iter().map(one).collect())
}

fn forecast(tasks: &TaskSequence, settings: &SingleHeadSettings) -> SingleHeadForecast {
    SingleHead::new(Inputs::Features(tasks), settings, &Context::default()).unwrap().forecast().unwrap()
}

/// `got` equals `want` up to rounding amplified by kernels of condition numbers below 1e4.
#[track_caller]
fn same(got: &[Vec<f64>], want: &[Vec<f64>], what: &str) {
    for (got, want) in got.iter().flatten().zip(want.iter().flatten()) {
        within(*got, *want, 1e-10, what);
    }
}

fn replays() -> [Replay; 3] {
    let replay = |examples, selection| Replay { examples, selection, ..Default::default() };
    [Replay::default(), replay(3, Selection::Random), replay(3, Selection::ByClass)]
}

#[test]
fn what_is_learned_is_the_targets_minus_the_present_outputs() {
    let tasks = answered(1);
    let rest = residual(&tasks);
    // Classes are those of the targets themselves, so only random selection stores the same rows of both.
    for replay in &replays()[..2] {
        let settings = SingleHeadSettings { replay: *replay, ..settings(Mode::Lazy, f64::INFINITY) };
        let (got, want) = (forecast(&tasks, &settings), forecast(&rest, &settings));
        let (test, want_test) = (got.test.unwrap(), want.test.unwrap());
        for s in 0..3 {
            let scale = |of: &TaskSequence, held: bool| {
                let task = &of.tasks[s];
                if held { task.test.as_ref().unwrap().y.squared_norm_l2() } else { task.y.squared_norm_l2() }
            };
            for t in 0..3 {
                // One division and one subtraction more.
                let by = scale(&rest, false) / scale(&tasks, false);
                within(got.forgetting[t][s], want.forgetting[t][s] * by, 1e-12, "training loss");
                let by = scale(&rest, true) / scale(&tasks, true);
                within(test.loss[t][s], want_test.loss[t][s] * by, 1e-12, "held-out loss");
            }
        }
        let network = SingleHead::new(Inputs::Features(&tasks), &settings, &Context::default()).unwrap();
        let (shown, task) = (tasks.tasks[0].test.as_ref().unwrap(), &tasks.tasks[0]);
        let f = network.mean(&shown.x, 2).unwrap() + task.present.as_ref().unwrap().test.as_ref().unwrap();
        assert_eq!(test.accuracy.unwrap()[1][0], accuracy(f.as_ref(), shown.y.as_ref(), None).unwrap());
    }
}

#[test]
fn outputs_apart_are_columns_where_they_share_nothing() {
    let shared = answered(2);
    let rows = apart(&shared);
    for replay in replays() {
        let settings = SingleHeadSettings { replay, ..settings(Mode::Rf, f64::INFINITY) };
        let (got, want) = (forecast(&rows, &settings), forecast(&shared, &settings));
        same(&got.forgetting, &want.forgetting, "training loss");
        assert_eq!(got.train_accuracy, want.train_accuracy);
        let (got, want) = (got.test.unwrap(), want.test.unwrap());
        same(&got.loss, &want.loss, "held-out loss");
        same(&[got.alone], &[want.alone], "learned alone");
        assert_eq!(got.accuracy, want.accuracy);
    }
    let asked = ForecastSettings { features: true, order: true, ..Default::default() };
    let answer = |tasks: &TaskSequence| Forecast::of(std::slice::from_ref(tasks), &asked, &Context::default()).unwrap();
    let (got, want) = (answer(&rows), answer(&shared));
    for (got, want) in got.pairs.iter().zip(&want.pairs) {
        within(got.values.f21, want.values.f21, 1e-10, "F21");
        within(got.values.gamma_feature, want.values.gamma_feature, 1e-10, "γ_feature");
        within(got.values.gamma_sim, want.values.gamma_sim, 1e-10, "γ_sim");
    }
    // In random features the exact F21 of the order parameters is the forecast's, with present outputs too.
    within(want.pairs[0].values.f21, want.forgetting.as_ref().unwrap().mean[1][0], 1e-10, "F21 of both");
    assert_eq!(got.order.unwrap().order, want.order.unwrap().order);
    let small = rows.subsampled(5, 4, 3).unwrap();
    let [p, p_test] = [small.tasks[2].y.nrows(), small.tasks[2].test.as_ref().unwrap().y.nrows()];
    assert_eq!((p, p_test, small.tasks[2].x.nrows()), (5, 4, 15));
    let (f, kept) = (&small.tasks[2].present.as_ref().unwrap().train, small.tasks[2].x.row(0).to_owned());
    let row = (0..10).find(|&i| rows.tasks[2].x.row(i * COLUMNS).to_owned() == kept).unwrap();
    assert_eq!(f.row(0).to_owned(), rows.tasks[2].present.as_ref().unwrap().train.row(row).to_owned());
}

#[test]
fn a_solved_task_is_not_learned_but_can_be_forgotten() {
    let mut tasks = answered(3);
    for task in &mut tasks.tasks {
        let (y, test) = (task.y.clone(), task.test.as_ref().unwrap().y.clone());
        *task = task.clone().with_present(y, Some(test));
    }
    let solved = forecast(&tasks, &SingleHeadSettings::default());
    let nothing = vec![vec![0.0; 3]; 3];
    assert_eq!((&solved.forgetting, &solved.test.as_ref().unwrap().loss), (&nothing, &nothing));
    assert_eq!(solved.train_accuracy, Some(vec![vec![1.0; 3]; 3]));
    let pairs =
        order_parameters(Inputs::Features(&tasks), &OrderParameterSettings::default(), &Context::default()).unwrap();
    assert!(pairs.iter().all(|pair| pair.values.f21 == 0.0 && pair.values.gamma_rf == 0.0 && pair.values.cos == 0.0));
    // Learning another task changes what was solved.
    tasks.tasks[1].present.as_mut().unwrap().train.fill(0.0);
    let after = forecast(&tasks, &SingleHeadSettings::default());
    assert!(after.forgetting[1][0] > 0.01 && after.forgetting[0][0] == 0.0, "{:?}", after.forgetting);
}

#[test]
fn advice_takes_present_outputs() {
    for tasks in [answered(4), apart(&answered(4))] {
        let settings = AdviseSettings { features: true, ..Default::default() };
        let advice = Advice::of(std::slice::from_ref(&tasks), &settings, &Context::default()).unwrap();
        let row = |kind| advice.remedies.iter().find(|remedy| remedy.kind == kind).unwrap();
        let want = forecast(&tasks, &SingleHeadSettings::default()).forgetting;
        let mean = (want[2][0] + want[2][1]) / 2.0;
        within(row(RemedyKind::Nothing).forgetting.unwrap(), mean, 1e-12, "doing nothing");
        assert!(row(RemedyKind::Replay).applies && row(RemedyKind::Joint).forgetting.unwrap() < 1e-12);
    }
}

#[test]
fn present_outputs_are_refused_where_they_mean_nothing() {
    let (tasks, default) = (answered(5), SingleHeadSettings::default());
    let changed = |change: &dyn Fn(&mut Task)| {
        let mut tasks = tasks.clone();
        change(&mut tasks.tasks[1]);
        SingleHead::new(Inputs::Features(&tasks), &default, &Context::default())
    };
    let present = |task: &mut Task| task.present.clone().unwrap();
    refused(changed(&|t| t.present.as_mut().unwrap().train = Mat::zeros(12, 1)), &["task 2", "12 × 1", "12 × 3"]);
    refused(changed(&|t| t.present.as_mut().unwrap().train[(4, 1)] = f64::NAN), &["task 2", "row 5, column 2"]);
    refused(changed(&|t| *t = t.clone().with_present(present(t).train, None)), &["task 2", "present outputs"]);
    refused(changed(&|t| t.test = None), &["task 2", "no test examples"]);
    refused(SingleHead::new(&tasks, &default, &Context::default()), &["task 1", "take them as features"]);
    refused(
        SingleHead::new(&sequence_without(&apart(&tasks)), &default, &Context::default()),
        &["task 1", "only features"],
    );
    let variance = SingleHeadSettings { variance: true, ..default };
    refused(SingleHead::new(Inputs::Features(&tasks), &variance, &Context::default()), &["variance", "one network"]);
    let network = SingleHead::new(Inputs::Features(&tasks), &default, &Context::default()).unwrap();
    refused(network.variance(&tasks.tasks[0].x, 1), &["spread", "one network"]);
    let shuffled = OrderParameterSettings { shuffles: 20, ..Default::default() };
    refused(order_parameters(Inputs::Features(&apart(&tasks)), &shuffled, &Context::default()), &["shuffles", "20"]);
    refused(ebbing::MultiHead::new(&tasks.tasks, &Default::default(), &Context::default()), &["task 1", "features"]);
    refused(
        ebbing::nets::Trainer::new(&tasks.tasks, &Default::default(), &Context::default()).map(|_| ()),
        &["task 1", "features"],
    );
}

/// The same without present outputs.
fn sequence_without(tasks: &TaskSequence) -> TaskSequence {
    sequence(tasks.tasks.iter().map(|task| Task { present: None, ..task.clone() }).collect())
}
