//! What is refused, and how.

use super::*;
use ebbing::Context;

#[test]
fn ill_conditioned_kernels_are_reported_or_refused() {
    let mut tasks = random_tasks(&[20, 20], 30, 1, 16);
    let sound = SingleHead::new(&tasks, &SingleHeadSettings::default(), &Context::default()).unwrap();
    assert!(sound.digits() > 11.0 && sound.forecast().unwrap().digits == sound.digits(), "{}", sound.digits());
    // Two inputs that differ by 1e-k differ by 1e-k in ReLU features: their kernel's smallest eigenvalue is near 1e-3k/2.
    let almost = |tasks: &mut TaskSequence, by: f64| {
        for j in 0..30 {
            tasks.tasks[0].x[(1, j)] = tasks.tasks[0].x[(0, j)] + if j == 3 { by } else { 0.0 };
        }
    };
    almost(&mut tasks, 1e-3);
    let near = SingleHead::new(&tasks, &SingleHeadSettings::default(), &Context::default()).unwrap();
    assert!(near.digits() > 4.0 && near.digits() < 9.5, "{}", near.digits());
    almost(&mut tasks, 1e-6);
    let error = SingleHead::new(&tasks, &SingleHeadSettings::default(), &Context::default()).unwrap_err();
    let expected = matches!(error, Error::LostAccuracy { .. } | Error::NotPositiveDefinite { .. });
    assert!(expected && error.to_string().contains("task 1"), "{error}");
    // Equal ones are one input.
    almost(&mut tasks, 0.0);
    let equal = SingleHead::new(&tasks, &SingleHeadSettings::default(), &Context::default()).unwrap();
    assert!(equal.digits() > 11.0, "{}", equal.digits());
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let sound = || random_tasks(&[6, 6], 10, 1, 17);
    let refuse = |change: &dyn Fn(&mut TaskSequence), part: &str| {
        let mut tasks = sound();
        change(&mut tasks);
        refused(SingleHead::new(&tasks, &SingleHeadSettings::default(), &Context::default()), &[part]);
    };
    refuse(&|t| t.tasks.clear(), "no task");
    refuse(&|t| t.tasks[1] = random_tasks(&[6], 9, 1, 0).tasks.remove(0), "task 2");
    refuse(&|t| t.tasks[1] = random_tasks(&[6], 10, 2, 0).tasks.remove(0), "2 target columns");
    refuse(&|t| t.tasks[1] = random_tasks(&[1], 10, 1, 0).tasks.remove(0), "1 example");
    refuse(
        &|t| t.tasks[0].y = Mat::zeros(6, 1),
        "its targets are all zero; losses are relative to their size, so at least one must be another number",
    );
    refuse(&|t| t.tasks[0].y[(2, 0)] = f64::NAN, "NaN");
    refuse(&|t| t.tasks[0].x[(2, 4)] = f64::INFINITY, "inf");
    refuse(&|t| t.tasks[0].y = Mat::zeros(5, 1), "5 targets");
    refuse(&|t| t.tasks[0].x.row_mut(3).fill(0.0), "task 1, row 4: it is zero");
    refuse(&|t| t.tasks[1].x.row_mut(2).fill(0.0), "task 2, row 3: it is zero");
    refuse(&|t| t.tasks[1].x.row_mut(2).fill(1e200), "task 2, row 3: its norm is");
    // The same input may have two targets; a multiple of another input is one direction of the kernel too many.
    let twins = |t: &mut TaskSequence, by: f64| (0..10).for_each(|j| t.tasks[1].x[(4, j)] = by * t.tasks[1].x[(2, j)]);
    refuse(&|t| twins(t, 2.0), "rows 3 and 5 are proportional");
    for beta in [f64::INFINITY, 100.0] {
        let mut tasks = sound();
        twins(&mut tasks, 1.0);
        SingleHead::new(&tasks, &SingleHeadSettings { beta, ..Default::default() }, &Context::default()).unwrap();
    }
    for wrong in [
        SingleHeadSettings { architecture: relu(0), ..Default::default() },
        SingleHeadSettings { mode: Mode::Gibbs, lambda: -1.0, ..Default::default() },
        SingleHeadSettings { sigma2: -1.0, ..Default::default() },
    ] {
        assert!(matches!(SingleHead::new(&sound(), &wrong, &Context::default()), Err(Error::Setting { .. })));
    }
    let network = SingleHead::new(&sound(), &SingleHeadSettings::default(), &Context::default()).unwrap();
    assert!(network.mean(&Mat::zeros(2, 9), 1).is_err() && network.mean(&Mat::zeros(2, 10), 3).is_err());
    assert!(network.mean(&[0usize, 1][..], 1).is_err());
    assert!(
        SingleHead::new(Inputs::Features(&sound()), &settings(Mode::Ntk, f64::INFINITY), &Context::default()).is_err()
    );
    let square = Mat::from_fn(4, 4, |i, j| f64::from(u8::from(i == j)));
    let tables = |rows: Vec<usize>, y: usize| {
        let tasks = vec![KernelTask { name: "a".into(), rows, y: Mat::from_fn(y, 1, |i, _| i as f64), test: None }];
        SingleHead::new(
            &KernelTable { nngp: square.clone().into(), ntk: None, tasks },
            &SingleHeadSettings::default(),
            &Context::default(),
        )
    };
    assert!(tables(vec![0, 1, 2], 3).is_ok());
    refused(tables(vec![0, 1, 4], 3), &["row 4"]);
    refused(tables(vec![0, 1, 2], 2), &["2 × 1"]);
}
