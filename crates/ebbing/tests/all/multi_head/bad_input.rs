//! Bad input is refused with its reason.

use super::*;
use ebbing::Context;

#[test]
fn bad_input_is_refused_with_its_reason() {
    let tasks = pair(10, 12, 18);
    let solve = |s: MultiHeadSettings| MultiHead::new(&tasks, &s, &Context::default());
    let plain = MultiHeadSettings { lambda: 1.0, ..MultiHeadSettings::default() };
    refused(solve(plain.clone()), &["alpha", "exactly one"]);
    refused(
        solve(MultiHeadSettings { alpha: Some(1.5), width: Some(9.0), ..plain.clone() }),
        &["width", "alpha = 1.5"],
    );
    refused(solve(MultiHeadSettings { alpha: Some(0.0), ..plain.clone() }), &["alpha is 0", "positive"]);
    refused(solve(MultiHeadSettings { alpha: Some(-2.0), ..plain.clone() }), &["alpha is -2"]);
    refused(solve(MultiHeadSettings { alpha: Some(f64::NAN), ..plain.clone() }), &["alpha", "positive"]);
    refused(solve(MultiHeadSettings { width: Some(0.0), ..plain.clone() }), &["width is 0", "positive"]);
    refused(solve(MultiHeadSettings { lambda: -1.0, ..at(1.0, 1.5) }), &["lambda", "-1"]);
    refused(solve(MultiHeadSettings { sigma2: 0.0, ..at(1.0, 1.5) }), &["sigma2"]);
    refused(solve(MultiHeadSettings { beta: 0.0, ..at(1.0, 1.5) }), &["beta", "positive"]);
    refused(solve(MultiHeadSettings { depth: 2, ..at(1.0, 1.5) }), &["outside the theory", "one hidden layer"]);
    refused(solve(MultiHeadSettings { depth: 0, ..at(1.0, 1.5) }), &["depth"]);
    refused(MultiHead::new(&[], &at(1.0, 1.5), &Context::default()), &["empty"]);

    let changed = |f: &dyn Fn(&mut Task)| {
        let mut tasks = tasks.clone();
        f(&mut tasks[1]);
        MultiHead::new(&tasks, &at(1.0, 1.5), &Context::default())
    };
    refused(changed(&|t| t.y = Mat::zeros(10, 2)), &["task 2", "2 target columns", "one target column"]);
    // One sentence at every theory.
    let zero = "its targets are all zero; losses are relative to their size, so at least one must be another number";
    refused(changed(&|t| t.y = Mat::zeros(10, 1)), &["task 2", zero]);
    assert!(changed(&|t| t.y = Mat::from_fn(10, 1, |_, _| 1.0)).is_ok(), "a task of one class is learned");
    refused(changed(&|t| t.x.row_mut(3).fill(0.0)), &["task 2, row 4: it is zero"]);
    refused(changed(&|t| t.y = Mat::zeros(9, 1)), &["task 2", "10 training inputs and 9"]);
    refused(changed(&|t| t.x[(3, 2)] = f64::NAN), &["task 2", "row 4, column 3"]);
    refused(changed(&|t| t.x = Mat::from_fn(10, 11, |i, j| (i + j) as f64)), &["task 2", "11 features"]);
    refused(
        changed(&|t| {
            shorten(t, 1);
        }),
        &["task 2", "1 training example"],
    );
    refused(
        changed(&|t| t.x = Mat::from_fn(10, 12, |i, j| t.x[(i.max(1), j)])),
        &["task 2", "not positive definite", "rows 1 and 2"],
    );
    let mut stream = Stream::new(19, "near copies", 0);
    let mut near = tasks.clone();
    for j in 0..12 {
        near[1].x[(0, j)] = near[1].x[(1, j)] + 1e-7 * stream.normal();
    }
    refused(MultiHead::new(&near, &at(1.0, 1.5), &Context::default()), &["kernel of task 2", "correct digits"]);
    refused(TwoTasks::new(&near, &at(1.0, 1.5), &Context::default()), &["kernel of task 2", "correct digits"]);

    refused(TwoTasks::new(&tasks[..1], &at(1.0, 1.5), &Context::default()), &["1 tasks", "two"]);
    refused(TwoTasks::new(&tasks, &MultiHeadSettings { beta: 10.0, ..at(1.0, 1.5) }, &Context::default()), &["beta"]);
    let two = limit(&tasks);
    refused(two.point(1.0), &["alpha is 1", "fixed representations"]);
    refused(two.point(0.0), &["alpha is 0"]);
    refused(two.maps(3, tasks[0].x.as_ref(), &labels(&tasks[0].y)), &["head is 3"]);
    refused(TwoTasks::new(&tasks, &at(5.0, 1.0), &Context::default()).unwrap().critical_load(), &["lambda", "inf"]);
    let theory = MultiHead::new(&tasks, &at(1.0, 1.5), &Context::default()).unwrap();
    refused(theory.predict(2, 1, tasks[0].x.as_ref()), &["head is 2"]);
    refused(theory.predict(1, 3, tasks[0].x.as_ref()), &["t is 3"]);
    let mut untested = tasks.clone();
    untested[0].test = None;
    refused(
        MultiHead::new(&untested, &at(1.0, 1.5), &Context::default()).unwrap().generalization(2, 1),
        &["task 1", "no test set"],
    );
    refused(best_lambda(&untested, &at(1.0, 1.5), 0.1, 10.0, &Context::default()), &["test set"]);
    refused(best_lambda(&tasks, &at(1.0, 1.5), 10.0, 0.1, &Context::default()), &["lambda range"]);
}
