//! `ebbing check`.

use crate::support::{Home, done, done_json, ebbing_in, refusal, run, stderr, stdout};
use ebbing::data::{Array, Values, to_npy, write_npz};
use ebbing::linalg::Mat;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A file of arrays in `folder`.
fn npz(folder: &Path, name: &str, arrays: &[(&str, Mat<f64>)]) -> PathBuf {
    let path = folder.join(name);
    let arrays: Vec<(&str, Array)> = arrays.iter().map(|(name, m)| (*name, Array::from_mat(m.as_ref()))).collect();
    write_npz(&path, &arrays.iter().map(|(name, array)| (*name, array)).collect::<Vec<_>>()).unwrap();
    path
}

fn check(path: &Path) -> Output {
    ebbing_in(path.parent().unwrap()).arg("check").arg(path).output().unwrap()
}

/// Inputs whose rows all differ, and targets ±1.
fn x(p: usize, shift: f64) -> Mat<f64> {
    Mat::from_fn(p, 3, |i, j| (1.0 + i as f64 * 0.37 + shift + j as f64 * j as f64).sin() + 2.0)
}

fn y(p: usize) -> Mat<f64> {
    Mat::from_fn(p, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 })
}

#[test]
fn a_sound_file_is_described_with_its_cost() {
    let folder = Home::new();
    let arrays = [("x_1", x(12, 0.0)), ("y_1", y(12)), ("x_2", x(9, 5.0)), ("y_2", y(9)), ("x_2_test", x(4, 9.0))];
    let path = npz(folder.path(), "two.npz", &[&arrays[..], &[("y_2_test", y(4))]].concat());
    let text = done(&check(&path));
    assert!(text.contains("2 tasks of 3 features, 1 target column"), "{text}");
    assert!(text.contains("6× -1, 6× 1"), "{text}");
    for command in ["forecast", "phase"] {
        assert!(text.contains(&format!("\nmore: ebbing {command} --tasks ")), "{text}");
    }
    let value = done_json(&folder.run("check --json two.npz"));
    assert_eq!((&value["tasks"][1]["p"], &value["tasks"][1]["p_test"]), (&9.into(), &4.into()));
    assert!(value["computations"][0]["seconds"].as_f64().unwrap() >= 0.0);
    assert_eq!(value["problems"], Value::Array(vec![]));
}

#[test]
fn one_set_of_features_and_labels_becomes_tasks_by_class() {
    let folder = Home::new();
    let labels = Array { shape: vec![12], values: Values::Integers((0..12).map(|i| 10 * (i % 6)).collect()) };
    let features = Array::from_mat(x(12, 0.0).as_ref());
    let path = folder.path().join("set.npz");
    write_npz(&path, &[("x_train", &features), ("y_train", &labels)]).unwrap();
    let output = folder.run("check set.npz --features");
    assert_eq!(output.status.code(), Some(2));
    let words = "one set of examples of 6 classes and no sequence of tasks: say how many classes a task has, such as \
                 --classes-per-task 2 (3 tasks)";
    assert!(stderr(&output).contains(words), "{}", stderr(&output));
    assert!(stdout(&output).contains("1 task of 3 features, 6 target columns\n"), "{}", stdout(&output));
    assert!(refusal(&folder.run("forecast --features set.npz"), 2).contains(words));
    assert!(
        refusal(&folder.run("forecast --classes-per-task 2"), 2).contains("belongs to --tasks FILE or --features FILE")
    );
    let text = done(&folder.run("check set.npz --features --classes-per-task 2 --seed 3 --json"));
    let found: Value = serde_json::from_str(&text).unwrap();
    let divided: Vec<Value> = serde_json::from_value(found["settings"]["drawn"]["classes"].clone()).unwrap();
    assert_eq!((divided.len(), found["tasks"][2]["p"].as_u64()), (3, Some(4)));
    // The same tasks at every command, and others for another seed.
    let tasks = |seed: u64| {
        let said = format!("forecast --features set.npz --classes-per-task 2 --seed {seed} --beta 2 --json");
        let found = done_json(&folder.run(&said));
        let divided = found["metadata"]["settings"]["tasks"]["drawn"]["classes"].clone();
        (divided, found["forecast"]["tasks"].as_array().map(Vec::len))
    };
    assert_eq!(tasks(3), (found["settings"]["drawn"]["classes"].clone(), Some(3)));
    assert!((4..9).any(|seed| tasks(seed).0 != tasks(3).0));
}

#[test]
fn features_beyond_memory_are_read_in_one_pass() {
    let folder = Home::new();
    let (n, d) = (30_000, 40);
    let value = |i: usize, j: usize| ((i * 37 + j * 101) as f64 * 0.61).sin() + if i % 6 == j { 2.0 } else { 0.0 };
    let features = Array::from_mat(Mat::from_fn(n, d, value).as_ref());
    let labels = Array { shape: vec![n], values: Values::Integers((0..n as i64).map(|i| i % 6).collect()) };
    let test = Array::from_mat(Mat::from_fn(60, d, |i, j| value(i + n, j)).as_ref());
    let test_labels = Array { shape: vec![60], values: Values::Integers((0..60).map(|i| i % 6).collect()) };
    for (name, array) in [("x", features), ("y", labels), ("x_test", test), ("y_test", test_labels)] {
        std::fs::write(folder.join(&format!("{name}.npy")), to_npy(&array)).unwrap();
    }
    let forecast =
        |more: &str| {
            done_json(&folder.run(&format!(
                "forecast --features x.npy --classes-per-task 2 --seed 1 --beta 2 --theory --json {more}"
            )))
        };
    let (whole, pass) = (forecast(""), forecast("--memory 12MiB"));
    let notes = |found: &Value| found["forecast"]["notes"].to_string();
    assert!(!notes(&whole).contains("one pass") && notes(&pass).contains("one pass over 30000 examples"));
    assert_eq!(whole["metadata"]["settings"]["tasks"]["drawn"], pass["metadata"]["settings"]["tasks"]["drawn"]);
    // Losses are differences of sums over 10,000 examples; accuracies of held-out ones are the same.
    let numbers = |found: &Value, path: &str| -> Vec<f64> {
        let rows: Vec<Vec<f64>> = serde_json::from_value(found.pointer(path).unwrap().clone()).unwrap();
        rows.concat()
    };
    for path in ["/forecast/forgetting/mean", "/forecast/test/loss/mean", "/forecast/test/accuracy/mean"] {
        let (a, b) = (numbers(&whole, path), numbers(&pass, path));
        assert!(a.len() == 9 && a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9), "{path}: {a:?} {b:?}");
    }
    assert!(pass["forecast"]["train_accuracy"].is_null());
    let said = refusal(&folder.run("forecast --features x.npy --classes-per-task 2 --replay 3 --memory 12MiB"), 2);
    assert!(said.starts_with("--replay is given; must be left out: it needs the examples themselves"), "{said}");
}

#[test]
fn what_is_wrong_is_reported_with_exit_code_2() {
    let folder = Home::new();
    let mut holes = x(5, 0.0);
    holes[(3, 1)] = f64::NAN;
    for (name, arrays, words) in [
        ("no-labels.npz", vec![("x_1", x(5, 0.0))], vec!["y_1"]),
        ("lengths.npz", vec![("x_1", x(5, 0.0)), ("y_1", y(4))], vec!["4", "5"]),
        ("nan.npz", vec![("x_1", holes), ("y_1", y(5))], vec!["NaN"]),
        ("names.npz", vec![("inputs", x(5, 0.0))], vec!["needs y beside it"]),
        ("unknown.npz", vec![("things", x(5, 0.0))], vec!["things"]),
    ] {
        let output = check(&npz(folder.path(), name, &arrays));
        assert_eq!(output.status.code(), Some(2), "{name}");
        let error = stderr(&output);
        assert!(error.starts_with("ebbing: ") && error.lines().count() == 1, "{name}: {error}");
        assert!(words.iter().all(|word| error.contains(word)), "{name}: {error}");
        let text = stdout(&output);
        assert!(text.contains("\nproblems\n") && !text.contains("more: "), "{name}: {text}");
    }
    let absent = check(&folder.join("absent.npz"));
    assert_eq!(absent.status.code(), Some(2));
    assert!(stderr(&absent).contains("absent.npz"));
}

#[test]
fn recipes_are_checked_too() {
    let folder = Home::new();
    let text = "[protocol]\nkind = \"permuted\"\ntasks = 2\np = 50\np_test = 20\nratio = 0.1\n";
    let recipe = folder.write("recipe.toml", text);
    let answer = done(&check(&recipe));
    assert!(answer.contains("(recipe): 2 tasks of 784 features"), "{answer}");
    folder.write("recipe.toml", text.replace("ratio = 0.1", "ratio = 1.5"));
    let output = check(&recipe);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("1.5"));
    // The same refusal, with nothing on standard output, where flags are at fault.
    refusal(&run("check a b"), 2);
}

/// Whatever a forecast refuses, the check finds; where it is followed, the advice of the sentence works.
#[test]
fn what_a_forecast_refuses_is_found_before() {
    let folder = Home::new();
    let other = ("x_2", x(9, 5.0));
    let with = |name: &str, x_1: Mat<f64>, y_1: Mat<f64>| {
        let p = y_1.nrows();
        assert_eq!(p, x_1.nrows());
        npz(folder.path(), name, &[("x_1", x_1), ("y_1", y_1), other.clone(), ("y_2", y(9))])
    };
    let changed = |i: usize, f: &dyn Fn(&Mat<f64>, usize) -> f64| {
        let mut m = x(8, 0.0);
        (0..3).for_each(|j| m[(i, j)] = f(&x(8, 0.0), j));
        m
    };
    let zeros = Mat::zeros(4, 1);
    let tested = [("x_1", x(8, 0.0)), ("y_1", y(8)), ("x_1_test", x(4, 3.0)), ("y_1_test", zeros)];
    let files = [
        with("repeated.npz", changed(5, &|m, j| m[(2, j)]), Mat::from_fn(8, 1, |i, _| [1.0, -1.0][usize::from(i > 5)])),
        with("conflict.npz", changed(5, &|m, j| m[(2, j)]), y(8)),
        with("proportional.npz", changed(5, &|m, j| 2.0 * m[(2, j)]), y(8)),
        with("zero.npz", changed(5, &|_, _| 0.0), y(8)),
        with("huge.npz", changed(5, &|m, j| 1e160 * m[(5, j)]), y(8)),
        with("zeros.npz", x(8, 0.0), Mat::zeros(8, 1)),
        with("single.npz", x(1, 0.0), Mat::from_fn(1, 1, |_, _| 1.0)),
        npz(folder.path(), "zero-tests.npz", &tested),
    ];
    for path in files {
        let forecast = ebbing_in(folder.path()).args(["forecast", "--tasks"]).arg(&path).output().unwrap();
        let checked = check(&path);
        // Repeated rows may pass, with a note; all else is refused by both.
        let may_pass = path.ends_with("repeated.npz") || path.ends_with("conflict.npz");
        assert!(may_pass || forecast.status.code() == Some(2), "{path:?}: {}", stderr(&forecast));
        assert_eq!(forecast.status.code(), checked.status.code(), "{path:?}: {}", stderr(&forecast));
        // What it advises works when followed, in either form.
        let said = stderr(&forecast);
        for (words, flag) in [("set beta to ", "--beta"), ("(a ridge of ", "--ridge")] {
            if let Some((_, value)) = said.split_once(words) {
                let value = value.split([' ', ')']).next().unwrap();
                done(&ebbing_in(folder.path()).args(["forecast", flag, value, "--tasks"]).arg(&path).output().unwrap());
            }
        }
    }
}

#[test]
fn more_than_two_tasks_go_with_phase_and_each_thing_is_said_once() {
    let folder = Home::new();
    let three: Vec<(String, Mat<f64>)> =
        (1..=3).flat_map(|t| [(format!("x_{t}"), x(8, 4.0 * f64::from(t))), (format!("y_{t}"), y(8))]).collect();
    let named: Vec<(&str, Mat<f64>)> = three.iter().map(|(name, m)| (name.as_str(), m.clone())).collect();
    let text = done(&check(&npz(folder.path(), "three.npz", &named)));
    assert!(text.contains("more: ebbing phase --tasks ") && !text.contains("no: "), "{text}");
    assert_eq!(text.matches("squared norms").count(), 1, "{text}");
}

#[test]
fn features_are_checked_as_features() {
    let folder = Home::new();
    // More examples than features: a network's kernel is not singular for it, that of features is, and has a pseudo-inverse.
    let arrays = [("x_1", x(12, 0.0)), ("y_1", y(12)), ("x_2", x(9, 5.0)), ("y_2", y(9))];
    npz(folder.path(), "recorded.npz", &arrays);
    let text = done(&folder.run("check recorded.npz --features"));
    assert!(text.contains("\nmore: ebbing forecast --features recorded.npz"), "{text}");
    assert!(!text.contains("phase") && !text.contains("squared norms"), "{text}");
    done(&folder.run("forecast --features recorded.npz"));
    assert!(refusal(&folder.run("check --features"), 2).contains("FILE"));
}
