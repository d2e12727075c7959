//! Heads of several classes through the doors: what `phase` answers, what advice and sweeps of widths take from it.

use super::*;
use ebbing::TaskSequence;
use ebbing::request::{Fields, PhaseAnswer, PhaseOutputs, PhaseRequest, Value};
use ebbing::theory::multi_head::{SeveralOutputs, TwoTaskOutputs};
use ebbing::theory::phase::OutputsPoint;

/// Tasks of `classes` noisy clusters each, with held-out examples, in columns of their own from `first` on, of `columns` in all.
fn clusters(parts: &[(usize, usize)], columns: usize, p: usize, seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "clusters", 0);
    let dim = 30;
    let task = |&(first, classes): &(usize, usize)| {
        let centers = Mat::from_fn(classes, dim, |_, _| stream.normal());
        let mut part = |count: usize| {
            let x = Mat::from_fn(count, dim, |i, j| centers[(i % classes, j)] + 0.9 * stream.normal());
            let y = Mat::from_fn(count, columns, |i, j| f64::from(u8::from(j == first + i % classes)));
            (x, y)
        };
        let ((x, y), (x_test, y_test)) = (part(p), part(24));
        Task::new(x, y).with_test(x_test, y_test)
    };
    TaskSequence { tasks: parts.iter().map(task).collect(), settings: Default::default() }
}

fn request(words: &[(&str, &str)]) -> PhaseRequest {
    let mut made = PhaseRequest::default();
    for (name, word) in words {
        made.set(name, &Value::Word((*word).into())).unwrap();
    }
    made
}

fn place(words: &[(&str, &str)], sequence: TaskSequence) -> PhaseOutputs {
    match request(words).run_on(sequence, &Context::default()).unwrap() {
        PhaseAnswer::Outputs(place) => *place,
        other => panic!("{other:?}"),
    }
}

fn refused(words: &[(&str, &str)], sequence: TaskSequence, wanted: &str) {
    let error = request(words).run_on(sequence, &Context::default()).unwrap_err().to_string();
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn two_tasks_of_several_classes_have_a_place() {
    let sequence = clusters(&[(0, 3), (3, 4)], 7, 24, 1);
    let found = place(&[("width", "12"), ("lambda", "5,inf"), ("alpha", "0.5,2")], sequence.clone());
    assert_eq!((found.sizes, found.outputs, found.critical.alpha_c.len()), ([24, 24], [3, 4], 4));
    let location = found.location.unwrap();
    assert_eq!((location.alpha, location.directions.len(), found.curves.len()), (2.0, 4, 2));
    // The width at both penalties, and at the best.
    assert_eq!(found.at_width.len(), 3);
    let worst = |p: &OutputsPoint| p.g21.unwrap().limit().max(p.g22.unwrap().limit());
    assert!(worst(&found.at_width[2]) <= worst(&found.at_width[0]) && found.best.is_some());
    // Numbers are those of the theory itself, on the columns of each task's own classes.
    let settings = MultiHeadSettings { lambda: 5.0, width: Some(12.0), ..MultiHeadSettings::default() };
    let theory = SeveralOutputs::new(&sequence.tasks, &settings, &Context::default()).unwrap();
    let (own, u22) = (&found.at_width[0], theory.u1(2, 2));
    // One solution twice, to rounding times the kernels' condition.
    assert!((own.u22[1][2] - u22[(1, 2)]).abs() < 1e-9 * (1.0 + u22.norm_max()));
    assert!((own.f21.coefficient - theory.forgetting(2, 1).unwrap()).abs() < 1e-8);
    assert!((own.g22.unwrap().coefficient - theory.generalization(2, 2).unwrap()).abs() < 1e-8);
    let accuracy = own.accuracy.unwrap();
    let test = sequence.tasks[0].test.as_ref().unwrap();
    let y = test.y.subcols(0, 3);
    let direct = theory.predict(1, 2, test.x.as_ref()).unwrap().accuracy(y, 400, 7).unwrap();
    // Three outputs are exact.
    assert!((accuracy.first.value - direct.value).abs() < 1e-9 && accuracy.first.error == 0.0);
    assert!(accuracy.learned.value > accuracy.first.value && accuracy.second.value > 0.5);
    // Four are sampled, with an error.
    assert!(accuracy.second.error > 0.0 && accuracy.second.error < 0.01);
}

/// Where head 2 overfits in all directions its outputs are of readouts alone, whose symmetry leaves chance on average over classes.
#[test]
fn accuracy_has_a_limit_where_readouts_diverge() {
    let sequence = clusters(&[(0, 3), (3, 3)], 6, 24, 2);
    let found = place(&[("width", "16"), ("alpha", "0.5")], sequence.clone());
    let at = &found.at_width[0];
    assert!(at.exponent == 0.5 && at.directions.as_ref().unwrap().iter().all(|r| *r == Regime::Overfitting), "{at:?}");
    let second = at.accuracy.unwrap().second;
    // Probabilities of three classes add up to 1, and test examples have all three equally often.
    assert!((second.value - 1.0 / 3.0).abs() < 0.05, "{second:?}");
    let near = MultiHeadSettings { lambda: 1e8, ..MultiHeadSettings::default() };
    let tasks = ebbing::tasks::own_readouts(&sequence.tasks).into_owned();
    let two = TwoTaskOutputs::new(&tasks, &near, &Context::default()).unwrap();
    let far = two.accuracies(&two.point(1.5).unwrap()).unwrap().unwrap();
    // Outputs grow as λ^(1/4): means are off by 1e-2 of them.
    assert!((far.second.value - second.value).abs() < 0.03, "{far:?} {second:?}");
}

#[test]
fn symmetric_factors_say_how_far_off_they_are() {
    let sequence = || clusters(&[(0, 4), (0, 4)], 4, 24, 3);
    let words = |heads| [("heads", heads), ("lambda", "5"), ("alpha", "0.5,2")];
    let (exact, alike) = (place(&words("exact"), sequence()), place(&words("symmetric"), sequence()));
    let symmetric = alike.symmetric.unwrap();
    assert!(symmetric.shared && symmetric.asymmetry > 1e-3 && symmetric.departure.unwrap() > 1e-6);
    assert!(exact.symmetric.is_none());
    for (a, b) in exact.curves[0].points.iter().zip(&alike.curves[0].points) {
        assert!((a.f21.coefficient / b.f21.coefficient - 1.0).abs() < 0.2);
        assert_eq!((b.u22[0][0], b.u22[0][1]), (b.u22[1][1], b.u22[2][3]));
    }
    let own = place(&words("symmetric"), clusters(&[(0, 4), (4, 4)], 8, 24, 3));
    assert!(!own.symmetric.unwrap().shared);
    refused(&[("heads", "symmetric")], sequence(), "must be finite for alike classes");
    refused(&[("heads", "symmetric"), ("lambda", "5")], clusters(&[(0, 2), (2, 2)], 4, 24, 3), "--heads is symmetric");
}

#[test]
fn more_tasks_a_temperature_and_all_pairs() {
    let sequence = || clusters(&[(0, 3), (3, 2), (5, 3)], 8, 12, 4);
    let words = [("lambda", "3"), ("alpha", "0.8")];
    let PhaseAnswer::Sequence(three) = request(&words).run_on(sequence(), &Context::default()).unwrap() else {
        panic!()
    };
    let at = &three.curves[0].points[0];
    let settings = MultiHeadSettings { lambda: 3.0, alpha: Some(0.8), ..MultiHeadSettings::default() };
    let theory = SeveralOutputs::new(&sequence().tasks, &settings, &Context::default()).unwrap();
    assert_eq!((theory.outputs(1), theory.outputs(2), theory.outputs(3)), (3, 1, 3));
    assert_eq!((at.f_t1.coefficient, at.g_tt.unwrap().coefficient), {
        (theory.forgetting(3, 1).unwrap(), theory.generalization(3, 3).unwrap())
    });
    let warm = [("lambda", "3"), ("alpha", "0.8"), ("beta", "30")];
    let two = || clusters(&[(0, 3), (3, 3)], 6, 12, 4);
    let PhaseAnswer::Sequence(found) = request(&warm).run_on(two(), &Context::default()).unwrap() else { panic!() };
    assert!(found.curves[0].points[0].f_t1.coefficient > 0.0);
    let mut pairs = request(&[("width", "6")]);
    pairs.pairs = true;
    let PhaseAnswer::Pairs(pairs) = pairs.run_on(sequence(), &Context::default()).unwrap() else { panic!() };
    let outputs: Vec<usize> = pairs.pairs.iter().map(|p| p.direction_loads.as_ref().unwrap().alpha_c.len()).collect();
    assert_eq!(outputs, [1, 3, 3]);
    assert!(pairs.pairs.iter().all(|p| p.place.as_ref().unwrap().alpha == 2.0));
    refused(&[("representation", "true"), ("width", "20")], two(), "derived for one output per head");
    refused(&[("rescale-labels", "true")], two(), "derived for one output per head");
}

/// The search for a penalty weighs what several outputs lose.
#[test]
fn the_best_penalty_is_one_of_those_tried() {
    let tasks = clusters(&[(0, 3), (3, 3)], 6, 18, 5).tasks;
    let settings = MultiHeadSettings { width: Some(12.0), ..MultiHeadSettings::default() };
    let best = best_lambda(&tasks, &settings, 0.1, 1e4, &Context::default()).unwrap();
    assert!(best.curve.iter().all(|p| p.worst() >= best.best.worst()));
    let curve = sequence_curve(
        &tasks,
        &MultiHeadSettings { lambda: best.best.lambda, ..Default::default() },
        &[1.5],
        &Context::default(),
    );
    // The same point by another way: rounding.
    assert!((curve.unwrap().points[0].f_t1.coefficient - best.best.f21).abs() < 1e-9);
}
