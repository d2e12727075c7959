//! Users' own sequences: `.npz` files, folders, target rules, preprocessing, and what is wrong with files.

use super::{row, source};
use ebbing::Context;
use ebbing::TaskSequence;
use ebbing::data::{Array, Preprocess, Values, write_npz};
use ebbing::linalg::Mat;
use ebbing::request::CheckRequest;
use ebbing::tasks::{Class, Permuted, TargetDistractor, TargetRule, TargetSummary, check_tasks};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn real(shape: &[usize], values: &[f64]) -> Array {
    Array { shape: shape.to_vec(), values: Values::Real(values.to_vec()) }
}

fn whole(shape: &[usize], values: &[i64]) -> Array {
    Array { shape: shape.to_vec(), values: Values::Integers(values.to_vec()) }
}

/// `p` different inputs of `dim` features, starting at `from`.
fn inputs(p: usize, dim: usize, from: usize) -> Array {
    real(&[p, dim], &(0..p * dim).map(|k| ((from + k) as f64 * 0.7).sin() + from as f64).collect::<Vec<_>>())
}

fn write(folder: &TempDir, name: &str, arrays: &[(&str, Array)]) -> PathBuf {
    let path = folder.path().join(name);
    let arrays: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    write_npz(&path, &arrays).unwrap();
    path
}

fn load(arrays: &[(&str, Array)]) -> ebbing::Result<TaskSequence> {
    let folder = TempDir::new().unwrap();
    TaskSequence::load(write(&folder, "tasks.npz", arrays))
}

fn problems(arrays: &[(&str, Array)]) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    let path = write(&folder, "tasks.npz", arrays);
    let found = check_tasks(&path);
    assert!(!found.usable() && found.computations.is_empty());
    // The program prints the first of them.
    assert_eq!(TaskSequence::load(&path).unwrap_err().to_string(), found.problems[0]);
    let file = path.display().to_string();
    found.problems.iter().map(|problem| problem.replace(&file, "FILE")).collect()
}

#[test]
fn a_saved_sequence_comes_back_bit_for_bit() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("saved.npz");
    let settings = TargetDistractor { tasks: 3, p: 60, p_test: Some(7), ..TargetDistractor::default() };
    let mut sequence = settings.generate(source(), 4).unwrap();
    sequence.tasks[1].test = None;
    sequence.save_npz(&path).unwrap();
    let back = TaskSequence::load(&path).unwrap();
    for (a, b) in sequence.tasks.iter().zip(&back.tasks) {
        assert_eq!((&a.name, &a.x, &a.y, &a.test), (&b.name, &b.x, &b.y, &b.test));
    }
    // Sharing is found again from the inputs alone: 30 shared + 3 · 30 of their own.
    let pool = back.pool().unwrap();
    assert_eq!(pool.x.nrows(), 120);
    assert_eq!(pool.index, sequence.pool().unwrap().index);
    assert_eq!(back.settings.targets, Some(TargetRule::AsGiven));
    let hash = back.settings.files[0].sha256.as_ref().unwrap();
    assert_eq!(hash.len(), 64);
    assert!(sequence.save_npz(path.join("a file is no folder.npz")).is_err());
    sequence.tasks[2].x = Mat::zeros(60, 3);
    assert!(sequence.save_npz(&path).unwrap_err().to_string().contains("3 features"));
}

#[test]
fn integer_labels_are_classes_and_floats_stay() {
    let x = || inputs(4, 3, 0);
    let task = |y: Array| load(&[("x", x()), ("y", y)]).unwrap().tasks[0].y.clone();
    let column = |y: &Mat<f64>| (0..y.nrows()).map(|i| y[(i, 0)]).collect::<Vec<_>>();
    // Two classes: the smaller is -1.
    assert_eq!(column(&task(whole(&[4], &[3, 8, 8, 3]))), [-1.0, 1.0, 1.0, -1.0]);
    assert_eq!(column(&task(whole(&[4, 1], &[0, 1, 1, 0]))), [-1.0, 1.0, 1.0, -1.0]);
    let bits = Array { shape: vec![4], values: Values::Bytes(vec![0, 1, 1, 0]) };
    assert_eq!(column(&task(bits)), [-1.0, 1.0, 1.0, -1.0]);
    // Signs, with or without zeros, stay.
    assert_eq!(column(&task(whole(&[4], &[-1, 1, 0, 0]))), [-1.0, 1.0, 0.0, 0.0]);
    assert_eq!(column(&task(whole(&[4], &[-1, 1, 1, 1]))), [-1.0, 1.0, 1.0, 1.0]);
    assert_eq!(column(&task(whole(&[4], &[-1, 0, -1, 0]))), [-1.0, 0.0, -1.0, 0.0]);
    // Floats stay, whatever they are; so do integers in several columns.
    assert_eq!(column(&task(real(&[4], &[3.0, 8.0, 8.5, 3.0]))), [3.0, 8.0, 8.5, 3.0]);
    let two = task(whole(&[4, 2], &[1, 0, 0, 1, 5, 5, 0, 1]));
    assert_eq!(row(&two, 2), [5.0, 5.0]);
    // More classes: one column for each class of the whole sequence.
    let split = load(&[
        ("x_1", x()),
        ("y_1", whole(&[4], &[0, 1, 1, 0])),
        ("x_2", inputs(2, 3, 50)),
        ("y_2", whole(&[2], &[7, 2])),
        ("x_2_test", inputs(1, 3, 90)),
        ("y_2_test", whole(&[1], &[1])),
    ])
    .unwrap();
    assert_eq!(split.settings.targets, Some(TargetRule::OneHot([0, 1, 2, 7].map(Class::Number).to_vec())));
    assert_eq!(row(&split.tasks[0].y, 1), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(row(&split.tasks[1].y, 0), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(row(&split.tasks[1].test.as_ref().unwrap().y, 0), [0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn strings_are_classes_and_no_inputs() {
    let names = |all: &[&str]| Array {
        shape: vec![all.len()],
        values: Values::Texts(all.iter().map(|name| name.to_string()).collect()),
    };
    let sequence = load(&[("x", inputs(3, 3, 0)), ("y", names(&["dog", "cat", "dog"]))]).unwrap();
    let signs = ["cat", "dog"].map(|name| Class::Name(name.into()));
    assert_eq!(sequence.settings.targets, Some(TargetRule::Signs(signs)));
    assert_eq!(sequence.target_words().unwrap(), "classes cat and dog are -1 and +1");
    assert_eq!([0, 1, 2].map(|i| sequence.tasks[0].y[(i, 0)]), [1.0, -1.0, 1.0]);
    let mut bad = names(&["dog", "cat", "dog"]);
    bad.shape.push(1);
    let message = load(&[("x", bad), ("y", whole(&[3], &[0, 1, 1]))]).unwrap_err().to_string();
    assert!(message.contains("the type of array x is text; numbers are needed"), "{message}");
}

#[test]
fn one_set_has_its_arrays_under_any_of_their_usual_names() {
    let labels = || whole(&[6], &[2, 0, 1, 2, 0, 1]);
    let known =
        load(&[("x", inputs(6, 3, 0)), ("y", labels()), ("x_test", inputs(6, 3, 40)), ("y_test", labels())]).unwrap();
    for [x, y, x_test, y_test] in [
        ["x_train", "y_train", "x_test", "y_test"],
        ["X", "Y", "X_val", "Y_val"],
        ["features", "labels", "test_features", "test_labels"],
        ["trainX", "trainLabels", "testX", "testLabels"],
        ["embeddings", "targets", "embeddings_dev", "targets_dev"],
    ] {
        let found =
            load(&[(x, inputs(6, 3, 0)), (y, labels()), (x_test, inputs(6, 3, 40)), (y_test, labels())]).unwrap();
        assert_eq!(found.tasks, known.tasks, "{x}");
    }
    let message = problems(&[("x", inputs(6, 3, 0)), ("features", inputs(6, 3, 0)), ("y", labels())]).remove(0);
    assert_eq!(message, "FILE: an array name is features; x holds the same: keep one of the two");
    let names = |all: &[&str]| Array {
        shape: vec![all.len()],
        values: Values::Texts(all.iter().map(|name| name.to_string()).collect()),
    };
    let set = |all: &[&str]| [("x", inputs(6, 3, 0)), ("y", labels()), ("class_names", names(all))];
    let named = load(&set(&["cat", "dog", "ape"])).unwrap();
    let classes = ["ape", "cat", "dog"].map(|name| Class::Name(name.into())).to_vec();
    assert_eq!(named.settings.targets, Some(TargetRule::OneHot(classes)));
    assert_eq!(row(&named.tasks[0].y, 0), [1.0, 0.0, 0.0]);
    assert_eq!(problems(&set(&["cat", "dog"])), ["FILE, y: label 2 has no name: there are names of classes 0 to 1"]);
}

#[test]
fn npy_files_are_read_together() {
    let folder = TempDir::new().unwrap();
    let write =
        |name: &str, array: &Array| std::fs::write(folder.path().join(name), ebbing::data::to_npy(array)).unwrap();
    let y = || whole(&[4], &[3, 8, 8, 3]);
    write("cats_x.npy", &inputs(4, 3, 0));
    write("cats_y.npy", &y());
    write("dogs_x_train.npy", &inputs(4, 3, 7));
    write("dogs_y_train.npy", &y());
    write("dogs_x_test.npy", &inputs(4, 3, 9));
    write("dogs_y_test.npy", &y());
    let cats = TaskSequence::load(folder.path().join("cats_x.npy")).unwrap();
    let dogs = TaskSequence::load(folder.path().join("dogs_y_test.npy")).unwrap();
    assert_eq!((cats.tasks.len(), cats.settings.files.len(), cats.tasks[0].test.is_none()), (1, 2, true));
    assert_eq!((dogs.tasks.len(), dogs.settings.files.len(), dogs.tasks[0].test.is_some()), (1, 4, true));
    let all = TempDir::new().unwrap();
    for t in 1..=3 {
        std::fs::write(all.path().join(format!("x_{t}.npy")), ebbing::data::to_npy(&inputs(4, 3, 10 * t))).unwrap();
        std::fs::write(all.path().join(format!("y_{t}.npy")), ebbing::data::to_npy(&y())).unwrap();
    }
    let tasks = TaskSequence::load(all.path()).unwrap();
    assert_eq!((tasks.tasks.len(), tasks.tasks[2].x[(0, 0)]), (3, 21_f64.sin() + 30.0));
}

#[test]
fn inputs_of_any_type_and_shape_become_rows() {
    let pixels = Array { shape: vec![2, 2, 2], values: Values::Bytes((0..8).collect()) };
    let sequence = load(&[("x_1", pixels), ("y_1", real(&[2], &[0.5, 1.5]))]).unwrap();
    assert_eq!(row(&sequence.tasks[0].x, 1), [4.0, 5.0, 6.0, 7.0]);
    assert_eq!((sequence.dim(), sequence.columns(), sequence.tasks[0].name.as_str()), (4, 1, "task 1"));
}

#[test]
fn a_folder_is_read_in_the_order_of_its_names() {
    let folder = TempDir::new().unwrap();
    let one = |from: usize| [("x", inputs(2, 3, from)), ("y", real(&[2], &[from as f64, 0.0]))];
    write(&folder, "task_10.npz", &one(10));
    write(&folder, "task_2.npz", &one(2));
    let two = [
        ("x_1", inputs(3, 3, 20)),
        ("y_1", real(&[3], &[20.0, 1.0, 2.0])),
        ("x_2", inputs(2, 3, 10)),
        ("y_2", real(&[2], &[21.0, 0.0])),
    ];
    write(&folder, "task_11.npz", &two);
    std::fs::write(folder.path().join("notes.txt"), "ignored").unwrap();
    let sequence = TaskSequence::load(folder.path()).unwrap();
    let names: Vec<&str> = sequence.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["task_2", "task_10", "task_11 1", "task_11 2"]);
    assert_eq!(sequence.tasks.iter().map(|task| task.y[(0, 0)]).collect::<Vec<_>>(), [2.0, 10.0, 20.0, 21.0]);
    let found = check_tasks(folder.path());
    assert_eq!((found.kind.as_str(), found.shared[1][3], found.distinct), ("folder", 2, 7));
    let empty = TempDir::new().unwrap();
    let message = TaskSequence::load(empty.path()).unwrap_err().to_string();
    assert!(
        message.ends_with("the number of .npz, .npy, .mat and .csv files is 0; expected at least one"),
        "{message}"
    );
}

#[test]
fn every_problem_of_a_file_is_reported() {
    let (x, y) = (|| inputs(4, 3, 0), || real(&[4], &[1.0, -1.0, 1.0, -1.0]));
    let one = |name: &'static str, array: Array| problems(&[("x_1", x()), ("y_1", y()), (name, array)]);
    assert_eq!(
        one("x_1_tset", x()),
        [
            "FILE: an array name is `x_1_tset`, which is unknown; the nearest known one is `x_1_test` (known are x_1, y_1, \
             x_1_test, y_1_test, f_1, f_1_test, x, y, x_test, y_test, f, f_test)"
        ]
    );
    let two = problems(&[("x_1", x()), ("y_1", real(&[3], &[0.0; 3])), ("u", x()), ("v_1", y())]);
    assert_eq!(two.len(), 3, "unknown names do not hide what else is wrong: {two:?}");
    assert_eq!(one("x_1_test", x()), ["FILE: array x_1_test is alone; it needs y_1_test beside it"]);
    assert_eq!(one("y_2", y()), ["FILE: array y_2 is alone; it needs x_2 beside it"]);
    assert!(one("x", x())[0].contains("without a number beside numbered ones; number all arrays"));
    assert_eq!(
        problems(&[("x_1", x()), ("y_1", y()), ("x_3", x()), ("y_3", y())]),
        ["FILE: an array name is x_3 or y_3; tasks are numbered from 1 without a gap: x_2 is missing"]
    );
    assert_eq!(
        problems(&[("x_1_test", x()), ("y_1_test", y())]),
        ["FILE: array x_1_test is alone; it needs x_1 beside it"]
    );
    assert_eq!(
        problems(&[("x", real(&[4], &[0.0; 4])), ("y", real(&[4, 1, 1], &[0.0; 4]))]),
        [
            "FILE: the number of axes of array x is 1; inputs need two axes or more: examples first, then features",
            "FILE: the number of axes of array y is 3; targets need one axis (examples) or two (examples, columns)",
        ]
    );
    assert_eq!(
        problems(&[("x_1", x()), ("y_1", y()), ("x_2", inputs(3, 5, 9)), ("y_2", real(&[2, 2], &[0.0; 4]))]),
        [
            "task 2: 3 inputs but 2 targets; each input needs one row of targets",
            "task 2: its inputs have 5 features where those of task 1 have 3; all must agree",
            "task 2: 2 target columns where task 1 has 1; all must agree",
        ]
    );
    assert_eq!(
        problems(&[("x_1", x()), ("y_1", y()), ("x_2", inputs(4, 3, 9)), ("y_2", whole(&[4], &[0, 1, 0, 1]))]),
        ["FILE, y_2: it holds integer classes where FILE, y_1 holds real targets; store all in one way"]
    );
    assert_eq!(
        problems(&[("x", x()), ("y", whole(&[4], &[5; 4]))]),
        ["FILE, y: every label is 5; at least two classes are needed"]
    );
    let test = [("x_test", inputs(1, 3, 7)), ("y_test", whole(&[1], &[9]))];
    let with_test = [("x", x()), ("y", whole(&[4], &[0, 1, 0, 1])), test[0].clone(), test[1].clone()];
    assert_eq!(problems(&with_test), ["FILE, y_test: class 9 occurs in no training set"]);
    let many: Vec<i64> = (0..1001).collect();
    let message = problems(&[("x", inputs(1001, 1, 0)), ("y", whole(&[1001], &many))]);
    assert_eq!(message, ["FILE, y: 1001 classes are too many; store real targets as floats"]);
    // NaN is refused by the reader, with its place.
    let message = &problems(&[("x", real(&[1, 2], &[0.0, f64::NAN])), ("y", real(&[1], &[0.0]))])[0];
    let expected = "every value must be finite and fit 64 bits (rows and columns count from 1)";
    assert_eq!(*message, format!("FILE: row 1, column 2 of array x is NaN; {expected}"));
}

#[test]
fn paths_that_hold_no_tasks_are_refused() {
    let folder = TempDir::new().unwrap();
    let answer = |path: &Path| {
        let found = check_tasks(path);
        assert!(!found.usable());
        assert_eq!(TaskSequence::load(path).unwrap_err().to_string(), found.problems[0]);
        found.problems.join("; ")
    };
    assert!(answer(&folder.path().join("missing.npz")).contains("No such file"));
    assert!(answer(&folder.path().join("missing.toml")).contains("No such file"));
    assert!(answer(&folder.path().join("missing.csv")).contains("No such file"));
    let other = folder.path().join("tasks.dat");
    std::fs::write(&other, "1,2,3").unwrap();
    let expected =
        "the ending is .dat; tasks are read from an .npz, .npy, .mat or .csv file, a folder of them, or a .toml";
    assert!(answer(&other).contains(expected));
    let empty = folder.path().join("empty.npz");
    std::fs::write(&empty, "").unwrap();
    assert!(answer(&empty).contains("the file's length is 0"));
    std::fs::write(&empty, "PK not a zip").unwrap();
    assert!(answer(&empty).contains("empty.npz: "));
}

#[test]
fn own_tasks_can_be_preprocessed() {
    let plain = Permuted { tasks: 2, p: 50, p_test: 10, ratio: 0.0, ..Permuted::default() };
    let mut plain = plain.generate(source(), 1).unwrap();
    plain.tasks[1].x = Mat::from_fn(50, 784, |i, j| plain.tasks[1].x[((i + 25) % 50, j)] + 0.25);
    plain.tasks.iter_mut().for_each(|task| task.rows = None);
    let prepared = plain.preprocessed(&Preprocess { whiten: None, ..Preprocess::default() }).unwrap();
    for task in &prepared.tasks {
        for x in [&task.x, &task.test.as_ref().unwrap().x] {
            for i in 0..x.nrows() {
                let (sum, square) = row(x, i).iter().fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
                // 784 rounded additions, twice, of numbers whose sizes add up to at most |x|·√784 + 0.25·784 < 1000.
                let rounding = 2.0 * 784.0 * f64::EPSILON;
                assert!(f64::abs(sum) < 1000.0 * rounding && (square / 784.0 - 1.0).abs() < rounding);
            }
        }
    }
    // The constant that was added is gone (up to rounding) and rows keep their order.
    assert!((0..784).all(|j| (prepared.tasks[0].x[(25, j)] - prepared.tasks[1].x[(0, j)]).abs() < 1e-12));
    assert_eq!(prepared.settings.preparation_words(), "inputs centered one by one, scaled to one norm");
    let whitened = plain.preprocessed(&Preprocess::default()).unwrap();
    assert_eq!((whitened.tasks[0].x.nrows(), whitened.dim()), (50, 784));
    let none = plain.preprocessed(&Preprocess::none()).unwrap();
    assert!(none.tasks.iter().zip(&plain.tasks).all(|(a, b)| a.x == b.x && a.test == b.test));
}

#[test]
fn a_check_reports_what_a_file_contains_and_costs() {
    let folder = TempDir::new().unwrap();
    let mut x = inputs(4, 3, 0);
    // Row 3 repeats row 0 with another target; row 2 repeats it with the same.
    if let Values::Real(v) = &mut x.values {
        let first = v[..3].to_vec();
        v[6..9].copy_from_slice(&first);
        v[9..].copy_from_slice(&first);
    }
    let path = write(
        &folder,
        "tasks.npz",
        &[
            ("x_1", x.clone()),
            ("y_1", real(&[4], &[1.0, 0.0, 1.0, -1.0])),
            ("x_1_test", x),
            ("y_1_test", real(&[4], &[1.0; 4])),
            ("x_2", inputs(5, 3, 0)),
            ("y_2", real(&[5], &[2.0; 5])),
        ],
    );
    let found = check_tasks(&path);
    assert!(found.usable(), "{:?}", found.problems);
    assert_eq!((found.kind.as_str(), found.distinct), ("npz file", 5));
    assert_eq!(found.shared, [[2, 2], [2, 5]]);
    let first = &found.tasks[0];
    assert_eq!((first.p, first.p_test, first.dim), (4, 4, 3));
    assert_eq!((first.duplicates, first.conflicts, first.test_in_train), (2, 1, 4));
    assert_eq!(first.targets, [TargetSummary::Values(vec![(-1.0, 1), (0.0, 1), (1.0, 2)])]);
    assert!(first.norm2[0] <= first.norm2[1] && first.norm2[1] <= first.norm2[2]);
    let warned = |text: &str| assert!(found.warnings.iter().any(|w| w.contains(text)), "{text}: {:?}", found.warnings);
    let repeats = "2 examples repeat an input of their task, 1 of which has another target: the average is learned";
    assert!(found.notes.iter().any(|note| note.starts_with(repeats)), "{:?}", found.notes);
    warned("task 1: 4 of 4 test inputs are training inputs too");
    warned("task 2: its targets are constant");
    warned("1 of 2 tasks have test sets");
    warned("squared norms per feature run from");
    // What is computed with them, and what that costs, is for those who compute it.
    let request = CheckRequest { file: Some(path), ..CheckRequest::default() };
    let computed = request.run(&Context::default()).unwrap().check.computations;
    let [forecast, advise, phase] = &computed[..] else { panic!("three commands: {computed:?}") };
    assert_eq!((forecast.command.as_str(), advise.command.as_str()), ("forecast", "advise"));
    assert!(forecast.what.contains("2 × 2 forgetting matrix"));
    assert!(forecast.seconds > 0.0 && forecast.cost.bytes > 0.0 && forecast.refused.is_none());
    assert_eq!(phase.command, "phase");
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["tasks"][0]["targets"][0]["values"][2], serde_json::json!([1.0, 2]));
}

#[test]
fn a_check_says_what_the_phase_command_would_refuse() {
    let checked = |tasks: &_| ebbing::request::CheckRequest::of_sequence(tasks, false, &ebbing::Context::default());
    let three = Permuted { tasks: 3, p: 20, p_test: 0, ..Permuted::default() }.generate(source(), 0).unwrap();
    let found = checked(&three);
    let phase = &found.computations[2];
    assert!(phase.refused.is_none() && phase.what.starts_with("3 tasks at") && phase.what.contains("--pairs"));
    let mut one = three.clone();
    one.tasks.truncate(1);
    let refused = checked(&one).computations[1].refused.clone();
    assert_eq!(refused.as_deref(), Some("it takes two tasks at least"));
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    assert_eq!(found.computations[0].what, "3 × 3 forgetting matrix, order parameters of 3 pairs");
    let mut wide = three.clone();
    wide.tasks.truncate(2);
    wide.tasks.iter_mut().for_each(|task| task.y = Mat::from_fn(20, 2, |i, j| (i + j) as f64));
    let found = checked(&wide);
    // Several outputs are no reason to refuse, and cost more than one.
    let phase = &found.computations[2];
    assert!(phase.refused.is_none() && phase.what.contains("two heads of up to 2 outputs"), "{phase:?}");
    let mut narrow = three.clone();
    narrow.tasks.truncate(2);
    assert!(phase.cost.flops > checked(&narrow).computations[2].cost.flops);
}

#[test]
fn subsamples_keep_the_same_images_in_every_task() {
    let full = Permuted { tasks: 3, p: 100, p_test: 50, ..Permuted::default() }.generate(source(), 1).unwrap();
    let part = full.subsampled(30, 10, 5).unwrap();
    let first = super::images(&part.tasks[0]);
    for (task, whole) in part.tasks.iter().zip(&full.tasks) {
        assert_eq!((task.x.nrows(), task.test.as_ref().unwrap().x.nrows()), (30, 10));
        assert_eq!(super::images(task), first);
        for (i, image) in super::images(task).into_iter().enumerate() {
            let from = super::images(whole).iter().position(|other| *other == image).unwrap();
            assert_eq!((row(&task.x, i), row(&task.y, i)), (row(&whole.x, from), row(&whole.y, from)));
        }
    }
    assert_ne!(super::images(&full.subsampled(30, 10, 6).unwrap().tasks[0]), first);
    let same = full.subsampled(100, 50, 5).unwrap();
    assert_eq!(same.tasks, full.tasks);
    assert!(full.subsampled(30, 0, 5).unwrap().tasks.iter().all(|task| task.test.is_none()));
    assert_eq!(full.subsampled(0, 0, 5).unwrap_err().to_string(), "p is 0; must be at least 1");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever arrays a file holds, it is either a usable sequence or refused with a sentence that says why.
    #[test]
    fn any_set_of_arrays_loads_or_is_refused(
        arrays in prop::collection::vec((0usize..12, prop::collection::vec(1usize..4, 0..4), 0usize..3), 1..7),
    ) {
        let names = ["x_1", "y_1", "x_2", "y_2", "x_1_test", "y_1_test", "x_2_test", "y_2_test", "x", "y", "x_3", "z"];
        let mut used: Vec<(&str, Array)> = Vec::new();
        for (name, shape, kind) in arrays {
            if used.iter().any(|(other, _)| *other == names[name]) {
                continue;
            }
            let n: usize = shape.iter().product();
            let values = match kind {
                0 => Values::Bytes((0..n).map(|k| (k % 3) as u8).collect()),
                1 => Values::Integers((0..n as i64).collect()),
                _ => Values::Real((0..n).map(|k| (k as f64).sqrt()).collect()),
            };
            used.push((names[name], Array { shape, values }));
        }
        let folder = TempDir::new().unwrap();
        let path = write(&folder, "tasks.npz", &used);
        match TaskSequence::load(&path) {
            Ok(sequence) => {
                prop_assert!(sequence.problems().is_empty() && sequence.pool().is_some());
                prop_assert!(check_tasks(&path).usable());
            }
            Err(e) => prop_assert!(!e.to_string().is_empty() && !check_tasks(&path).usable()),
        }
    }
}

#[test]
fn present_outputs_of_a_model_are_kept() {
    let arrays = |f: Array| {
        let y = whole(&[4], &[0, 1, 1, 0]);
        vec![("x_1", inputs(4, 3, 0)), ("y_1", y.clone()), ("x_1_test", inputs(4, 3, 50)), ("y_1_test", y), ("f_1", f)]
    };
    let f = real(&[4], &[0.5, -0.5, 2.0, 1.0]);
    let mut given = arrays(f.clone());
    given.push(("f_1_test", real(&[4, 1], &[1.0, 0.0, 0.0, 1.0])));
    let sequence = load(&given).unwrap();
    let present = sequence.tasks[0].present.as_ref().unwrap();
    assert_eq!((present.train[(2, 0)], present.test.as_ref().unwrap()[(3, 0)]), (2.0, 1.0));
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("again.npz");
    sequence.save_npz(&path).unwrap();
    assert_eq!(TaskSequence::load(&path).unwrap().tasks[0].present, sequence.tasks[0].present);
    let alone = problems(&arrays(f));
    assert!(alone.len() == 1 && alone[0].contains("no test present outputs"), "{alone:?}");
    let wide = problems(&[("x", inputs(4, 3, 0)), ("y", whole(&[4], &[0, 1, 1, 0])), ("f", real(&[2, 2], &[0.0; 4]))]);
    assert!(wide.len() == 1 && wide[0].contains("2 × 2"), "{wide:?}");
}
