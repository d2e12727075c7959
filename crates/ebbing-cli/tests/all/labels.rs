//! What labels become is said wherever tasks are taken.

use crate::support::{Home, done, done_json};
use ebbing::data::{Array, Values, write_npz};
use ebbing::linalg::Mat;
use ebbing::rng::Stream;
use std::fs;

/// Two tasks of random inputs with integer labels, class `first + 2 t` or the one after it, in `tasks.npz`.
fn tasks(home: &Home, next: i64) {
    with_tests(home, next, false);
}

/// The same, with as many examples for a test where they are wanted.
fn with_tests(home: &Home, next: i64, tested: bool) {
    let mut stream = Stream::new(1, "labels test", 0);
    let mut arrays = Vec::new();
    for t in 0..2i64 {
        for part in if tested { &["", "_test"][..] } else { &[""][..] } {
            let x = Mat::from_fn(20, 30, |_, _| stream.normal());
            let y = (0..20).map(|i| next * t + i % 2).collect();
            arrays.push((format!("x_{}{part}", t + 1), Array::from_mat(x.as_ref())));
            arrays.push((format!("y_{}{part}", t + 1), Array { shape: vec![20], values: Values::Integers(y) }));
        }
    }
    let named: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
    write_npz(home.join("tasks.npz"), &named).unwrap();
}

#[test]
fn classes_are_reported_by_check_forecast_and_phase() {
    let home = Home::new();
    tasks(&home, 2);
    let four = "4 classes (0, 1, 2, 3), one target column each";
    let check = done(&home.run("check tasks.npz"));
    assert!(check.contains(four) && check.contains("more: ebbing phase"), "{check}");
    let answer = done(&home.run("forecast --tasks tasks.npz"));
    let (head, rest) = answer.split_at(200);
    assert!(head.replace('\n', " ").contains("; 4 classes (0, 1, 2, 3)"), "{head}");
    assert!(rest.replace('\n', " ").contains(&format!("Note: {four}.")), "{rest}");
    assert_eq!(done_json(&home.run("forecast --tasks tasks.npz --json"))["forecast"]["notes"][0], four);
    // A readout per task: two classes each, ±1.
    let phase = done(&home.run("phase --tasks tasks.npz")).replace('\n', " ");
    assert!(phase.contains("in each task the smaller class is -1, the larger +1"), "{phase}");
    let critical = |home: &Home| done_json(&home.run("phase --tasks tasks.npz --json"))["critical_load"].clone();
    let own = critical(&home);
    tasks(&home, 0);
    assert_eq!(critical(&home), own);
    let answer = done(&home.run("forecast --tasks tasks.npz"));
    assert!(answer.contains("classes 0 and 1 are -1 and +1"), "{answer}");
}

#[test]
fn three_classes_of_a_readout_have_a_column_each() {
    let home = Home::new();
    let mut stream = Stream::new(2, "labels test", 0);
    let mut arrays = Vec::new();
    for t in 0..2i64 {
        let x = Mat::from_fn(20, 30, |_, _| stream.normal());
        let y = (0..20).map(|i| 3 * t + i % 3).collect();
        arrays.push((format!("x_{}", t + 1), Array::from_mat(x.as_ref())));
        arrays.push((format!("y_{}", t + 1), Array { shape: vec![20], values: Values::Integers(y) }));
    }
    let named: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
    write_npz(home.join("tasks.npz"), &named).unwrap();
    let answer =
        flowing(&home.text_of("train --tasks tasks.npz --width 20 --max-steps 20 --heads multi --learners l2"));
    assert!(
        answer.contains("a target column for each of its own classes") && !answer.contains("smaller class"),
        "{answer}"
    );
}

#[test]
fn whole_numbers_stored_as_floats_are_pointed_out_by_every_command() {
    let home = Home::new();
    let mut stream = Stream::new(3, "labels test", 0);
    let mut arrays = Vec::new();
    for name in ["1", "1_test", "2", "2_test"] {
        let x = Mat::from_fn(20, 30, |_, _| stream.normal());
        arrays.push((format!("x_{name}"), Array::from_mat(x.as_ref())));
        arrays.push((format!("y_{name}"), Array::from_mat(Mat::from_fn(20, 1, |i, _| (i % 2) as f64).as_ref())));
    }
    let named: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
    write_npz(home.join("tasks.npz"), &named).unwrap();
    let few = "--width 10 --max-steps 10 --learners l2";
    for command in [
        "check tasks.npz",
        "forecast --tasks tasks.npz",
        "advise --tasks tasks.npz",
        "phase --tasks tasks.npz --alpha 0.5,2",
        "phase --tasks tasks.npz --pairs",
        &format!("train --tasks tasks.npz {few}"),
        &format!("train --tasks tasks.npz {few} --heads multi --loads 0.5,2"),
        "sample --tasks tasks.npz --width 10 --chains 2 --warmup 10 --draws 10",
    ] {
        let answer = flowing(&home.text_of(command));
        assert_eq!(answer.matches("stored as floats and are taken as real targets").count(), 1, "{command}: {answer}");
    }
}

/// A text without its line breaks.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn training_and_sampling_say_what_labels_became() {
    let home = Home::new();
    tasks(&home, 2);
    let answer = flowing(&home.text_of("train --tasks tasks.npz --width 20 --max-steps 20 --learners gd,l2 --out out"));
    let head = "Training on 2 tasks of 20 examples (inputs as stored; 4 classes (0, 1, 2, 3), one target column each): depth 1, \
                width 20, squared loss summed over examples, 1 seed";
    assert!(answer.starts_with(head) && !answer.contains("seed(s)"), "{answer}");
    // One row for each learner, task learned and task looked at: one after the first, two after the second.
    let csv = fs::read_to_string(home.join("out/train.csv")).unwrap();
    let rows: Vec<&str> = csv.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows.len(), 1 + 2 * 3, "{csv}");
    assert!(rows[0].starts_with("learner,t,s,train_loss,train_accuracy"), "{}", rows[0]);
    let runs = &home.json("out/train.json")["learners"][0]["runs"][0];
    let loss: f64 = rows[2].split(',').nth(3).unwrap().parse().unwrap();
    assert_eq!(loss, runs["train_loss"][1][0].as_f64().unwrap());
    let own = flowing(&home.text_of("train --tasks tasks.npz --width 20 --max-steps 20 --heads multi --learners l2"));
    assert!(own.contains("; in each task the smaller class is -1, the larger +1)"), "{own}");
    let sampled = flowing(&home.text_of("sample --tasks tasks.npz --width 10 --chains 2 --warmup 20 --draws 20"));
    assert!(sampled.contains("smaller class is -1, the larger +1): width 10, depth 1, λ = "), "{sampled}");
}

#[test]
fn accuracies_among_all_classes_and_among_a_tasks_own_stand_side_by_side() {
    let home = Home::new();
    with_tests(&home, 2, true);
    let answer = home.text_of("forecast --tasks tasks.npz --lambdas 0,1 --out out");
    assert!(answer.contains("Test accuracy when a task was learned and after the last, among all classes"), "{answer}");
    assert!(answer.contains("all, learned  all, last  own, learned  own, last"), "{answer}");
    let json = home.json("out/forecast.json");
    let own = json["forecast"]["test"]["task_accuracy"]["mean"][1][0].as_f64().unwrap();
    let csv = fs::read_to_string(home.join("out/test_task_accuracy.csv")).unwrap();
    assert!(csv.split(['\n', ',']).any(|cell| cell.parse() == Ok(own)), "{own}: {csv}");
    let page = fs::read_to_string(home.join("out/report.html")).unwrap();
    assert!(page.contains("own classes (task-incremental)") && page.contains("all classes (class-incremental)"));
    assert!(answer.contains("test accuracy  transfer"), "{answer}");
    // Without test data it is the training accuracy, and called that.
    tasks(&home, 2);
    let answer = home.text_of("forecast --tasks tasks.npz --lambdas 0,1");
    assert!(
        answer.contains("Training accuracy (there are no test data)") && answer.contains("training accuracy  transfer"),
        "{answer}"
    );
    let answer = home.text_of("advise --tasks tasks.npz");
    assert!(answer.contains("train acc.") && !answer.contains("test acc."), "{answer}");
}
