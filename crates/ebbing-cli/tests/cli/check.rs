//! `ebbing check`, and what plain `ebbing` does.

use crate::{ebbing, refusal, stdout};
use ebbing::data::{Array, write_npz};
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
    ebbing().arg("check").arg(path).output().unwrap()
}

/// Inputs whose rows all differ, and targets ±1.
fn x(p: usize, shift: f64) -> Mat<f64> {
    Mat::from_fn(p, 3, |i, j| (1.0 + i as f64 * 0.37 + shift + j as f64 * j as f64).sin() + 2.0)
}

fn y(p: usize) -> Mat<f64> {
    Mat::from_fn(p, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 })
}

#[test]
fn a_plain_run_works_offline_and_fits_80_columns() {
    let output = ebbing().output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = stdout(&output);
    assert!(text.lines().count() > 5, "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "wider than 80 columns:\n{text}");
}

#[test]
fn a_sound_file_is_described_with_its_cost() {
    let folder = tempfile::tempdir().unwrap();
    let arrays = [("x_1", x(12, 0.0)), ("y_1", y(12)), ("x_2", x(9, 5.0)), ("y_2", y(9)), ("x_2_test", x(4, 9.0))];
    let path = npz(folder.path(), "two.npz", &[&arrays[..], &[("y_2_test", y(4))]].concat());
    let output = check(&path);
    assert!(output.status.success());
    let text = stdout(&output);
    assert!(text.contains("2 tasks of 3 features, 1 target column"), "{text}");
    assert!(text.contains("6× -1, 6× 1"), "{text}");
    for command in ["forecast", "phase"] {
        assert!(text.contains(&format!("\nmore: ebbing {command} --tasks ")), "{text}");
    }
    let output = ebbing().args(["check", "--json"]).arg(&path).output().unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["tasks"][1]["p"], &value["tasks"][1]["p_test"]), (&9.into(), &4.into()));
    assert!(value["computations"][0]["seconds"].as_f64().unwrap() >= 0.0);
    assert_eq!(value["problems"], Value::Array(vec![]));
}

#[test]
fn what_is_wrong_is_told_with_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let mut holes = x(5, 0.0);
    holes[(3, 1)] = f64::NAN;
    for (name, arrays, words) in [
        ("no-labels.npz", vec![("x_1", x(5, 0.0))], vec!["y_1"]),
        ("lengths.npz", vec![("x_1", x(5, 0.0)), ("y_1", y(4))], vec!["4", "5"]),
        ("nan.npz", vec![("x_1", holes), ("y_1", y(5))], vec!["NaN"]),
        ("names.npz", vec![("inputs", x(5, 0.0))], vec!["inputs"]),
    ] {
        let output = check(&npz(folder.path(), name, &arrays));
        assert_eq!(output.status.code(), Some(2), "{name}");
        let error = String::from_utf8(output.stderr.clone()).unwrap();
        assert!(error.starts_with("ebbing: ") && error.lines().count() == 1, "{name}: {error}");
        assert!(words.iter().all(|word| error.contains(word)), "{name}: {error}");
        let text = stdout(&output);
        assert!(text.contains("\nproblems\n") && !text.contains("more: "), "{name}: {text}");
    }
    let absent = check(&folder.path().join("absent.npz"));
    assert_eq!(absent.status.code(), Some(2));
    assert!(String::from_utf8(absent.stderr).unwrap().contains("absent.npz"));
}

#[test]
fn recipes_are_checked_too() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = folder.path().join("recipe.toml");
    let text = "[protocol]\nkind = \"permuted\"\ntasks = 2\np = 50\np_test = 20\nratio = 0.1\n";
    std::fs::write(&recipe, text).unwrap();
    let output = check(&recipe);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout(&output).contains("(recipe): 2 tasks of 784 features"), "{}", stdout(&output));
    std::fs::write(&recipe, text.replace("ratio = 0.1", "ratio = 1.5")).unwrap();
    let output = check(&recipe);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("1.5"));
    // The same refusal, with nothing on standard output, where flags are at fault.
    refusal(&ebbing().args(["check", "a", "b"]).output().unwrap(), 2);
}
