//! `ebbing data list`, `import` and `verify`.

use crate::support::{Home, done_json, refusal, stderr, stdout};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `ebbing data` with an action.
fn data(home: &Home, action: &str) -> Command {
    let mut command = home.ebbing();
    command.args(["data", action]);
    command
}

/// Where imported sets go.
fn kept(home: &Home) -> PathBuf {
    home.join(".local/share/ebbing")
}

fn json(command: &mut Command) -> Value {
    done_json(&command.arg("--json").output().unwrap())
}

fn named<'a>(sets: &'a Value, name: &str) -> &'a Value {
    sets.as_array().unwrap().iter().find(|set| set["name"] == name).unwrap_or(&Value::Null)
}

const FLOWERS: &str = "a,b,species\n1,2,0\n3,4,1\n5,6,0\n7,8,1\n";

#[test]
fn list_names_every_set_and_fits_80_columns() {
    let home = Home::new();
    let listed = json(&mut data(&home, "list"));
    assert_eq!(listed["data_directory"], kept(&home).to_str().unwrap());
    for name in ["mnist", "fashion-mnist", "emnist", "cifar10", "cifar100"] {
        assert!(named(&listed["sets"], name).is_object(), "{name}");
    }
    assert_eq!(named(&listed["sets"], "mnist-sample")["available"], true);

    let text = stdout(&data(&home, "list").output().unwrap());
    let table: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    assert!(table[0].starts_with("name ") && table[1].chars().all(|c| c == '-'), "{text}");
    assert!(table.iter().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.trim_end().lines().last().unwrap().starts_with("more: ebbing data get "), "{text}");
}

#[test]
fn an_imported_set_is_listed_and_verified() {
    let home = Home::new();
    home.write("flowers.csv", FLOWERS.as_bytes());
    let text = stdout(&data(&home, "import").arg("flowers.csv").output().unwrap());
    assert!(text.starts_with("flowers: 4 training and 0 test examples of 2 numbers, 2 classes\n"), "{text}");
    let listed = json(&mut data(&home, "list"));
    assert_eq!(named(&listed["sets"], "flowers")["place"], "data directory");
    let verified = json(data(&home, "verify").arg("flowers"));
    assert_eq!(named(&verified, "flowers")["train"], 4);
    // Every set that is here, the embedded one among them.
    let verified = json(&mut data(&home, "verify"));
    assert_eq!(named(&verified, "mnist-sample")["train"], 4000);
    assert_eq!(verified.as_array().unwrap().len(), 2);

    let taken = refusal(&data(&home, "import").arg("flowers.csv").output().unwrap(), 2);
    assert!(taken.contains("flowers") && taken.contains("taken"), "{taken}");
    let again = json(data(&home, "import").args(["flowers.csv", "--replace", "--label-column", "a"]));
    assert_eq!((&again["train"], &again["dim"]), (&4.into(), &2.into()));
}

#[test]
fn csv_flags_reach_the_reader() {
    let home = Home::new();
    home.write("train.txt", b"0;1;2\n1;3;4\n");
    home.write("more.txt", b"0;5;6\n");
    let answer = json(data(&home, "import").args([
        "train.txt",
        "--test",
        "more.txt",
        "--delimiter",
        ";",
        "--label-column",
        "first",
        "--header",
        "no",
        "--name",
        "mine",
    ]));
    assert_eq!((&answer["name"], &answer["train"], &answer["test"]), (&"mine".into(), &2.into(), &1.into()));
    assert!(Path::new(answer["path"].as_str().unwrap()).is_file());
}

#[test]
fn bad_files_are_refused_in_one_sentence_and_leave_nothing() {
    let home = Home::new();
    home.write("empty.csv", b"");
    home.write("ragged.csv", b"1,2,0\n3,1\n");
    home.write("words.csv", b"1,2,0\n3,four,1\n");
    home.write("nan.csv", b"1,2,0\n3,nan,1\n");
    home.write("one-class.csv", b"1,2,0\n3,4,0\n");
    home.write("broken.npz", b"PK\x03\x04 and then nothing");
    home.write("x-images-idx3-ubyte", [0, 0, 8, 3, 0xff, 0xff, 0xff, 0xff]);
    home.write("x-labels-idx1-ubyte", [0, 0, 8, 1, 0, 0, 0, 1, 0]);
    home.write("picture.png", b"\x89PNG");
    for (name, word) in [
        ("empty.csv", "0"),
        ("ragged.csv", "line 2"),
        ("words.csv", "four"),
        ("nan.csv", "line 2"),
        ("one-class.csv", "class"),
        ("broken.npz", "zip"),
        ("x-images-idx3-ubyte", "x-images-idx3-ubyte"),
        ("picture.png", "unknown"),
        ("absent.npz", "No such file"),
    ] {
        let error = refusal(&data(&home, "import").arg(name).output().unwrap(), 2);
        assert!(error.contains(word), "{name}: {error}");
        let stem = name.split('.').next().unwrap();
        assert!(error.contains(stem), "{name} is not named: {error}");
    }
    let flag = |args: &[&str]| refusal(&data(&home, "import").arg("words.csv").args(args).output().unwrap(), 2);
    assert!(flag(&["--delimiter", ";;"]).starts_with("--delimiter is ;;; must be one character"));
    assert!(flag(&["--header", "maybe"]).contains("say yes or no"));
    assert!(flag(&["--name", "../escape"]).contains("../escape"));
    assert!(!kept(&home).exists(), "something was kept");
}

#[test]
fn a_damaged_copy_is_reported_beside_the_sound_ones() {
    let home = Home::new();
    home.write("flowers.csv", FLOWERS.as_bytes());
    assert!(data(&home, "import").arg("flowers.csv").output().unwrap().status.success());
    let path = kept(&home).join("broken.npz");
    std::fs::write(&path, b"not a zip archive").unwrap();
    let output = data(&home, "verify").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("flowers (data directory): 4 training"), "{}", stdout(&output));
    let error = stderr(&output);
    assert!(error.starts_with("ebbing: ") && error.contains("broken.npz"), "{error}");
    let missing = data(&home, "verify").arg("cifar10").output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
}
