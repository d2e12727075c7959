//! `train --solver levenberg` from outside: what it reports, through flags and studies, how it goes on, ends and is refused.

use crate::support::*;
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

/// The reports of a learner's first run.
fn reports(answer: &Value, learner: usize) -> &[Value] {
    answer["learners"][learner]["runs"][0]["reports"].as_array().unwrap()
}

#[test]
fn tasks_end_at_their_minimum_and_reports_say_so() {
    let home = Home::new();
    home.tasks(2, 20);
    let words = "train --tasks tasks.npz --solver levenberg --learners gd,l2 --width 25";
    for more in ["", "--heads multi", "--heads multi --depth 2 --readout-penalty 1e-3"] {
        let answer = done_json(&home.run(&format!("{words} --json {more}")));
        for learner in 0..2 {
            for report in reports(&answer, learner) {
                assert!(report["converged"] == true && report["steps"].as_u64().unwrap() > 0, "{more}: {report}");
                assert!(report["gradient"].as_f64().unwrap() <= 1e-6, "{more}: {report}");
                assert!(report["objective"].as_f64().unwrap() >= 0.0, "{more}: {report}");
            }
        }
        // A penalized minimum leaves an error; without a penalty a task is interpolated.
        assert!(reports(&answer, 0)[1]["mse"].as_f64().unwrap() < 1e-6, "{more}: {}", reports(&answer, 0)[1]);
        assert!(reports(&answer, 1)[1]["objective"].as_f64().unwrap() > 1e-6, "{more}");
        // The same bits on one thread.
        let alone = done_json(&home.run(&format!("{words} --json --threads 1 {more}")));
        assert!(answer["learners"] == alone["learners"], "{more}");
    }
    let said = home.text_of(words).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("4 of 4 tasks ended at their minimum; the gradient's norm is at most"), "{said}");
    assert!(!said.contains("several starts"), "{said}");
}

/// Of several starts the lowest objective is kept, and the range is reported; over loads as well, where the figure says how networks
/// were found.
#[test]
fn several_starts_are_reported() {
    let home = Home::new();
    home.tasks(2, 20);
    let words = "train --tasks tasks.npz --solver levenberg --learners l2 --heads multi --readout-scales 0.3,1,30";
    let answer = done_json(&home.run(&format!("{words} --width 15 --json")));
    let report = &reports(&answer, 0)[1];
    let [low, high] = [0, 1].map(|k| report["objectives"][k].as_f64().unwrap());
    assert!(low < high && report["objective"] == report["objectives"][0], "{report}");
    let said =
        home.text_of(&format!("{words} --loads 0.5,2 --out out")).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Task 2 alone included, 6 of 6 tasks ended at their minimum"), "{said}");
    assert!(said.contains("Of several starts the lowest objective was kept"), "{said}");
    let points = &home.json("out/train-loads.json")["points"];
    // 30 examples at load 2 are the width above.
    assert_eq!((&points[1]["width"], &points[1]["objectives"]), (&Value::from(15), &report["objectives"]));
    assert!(points[1]["gradient"].as_f64().unwrap() <= 1e-6 && points[1]["overshot"] == 0);
    let page = std::fs::read_to_string(home.join("out/report.html")).unwrap();
    assert!(page.contains("networks at the minimum of loss and penalty") && !page.contains("trained by descent"));
}

/// Steps that overshoot are reported over loads as they are over tasks.
#[test]
fn loads_report_steps_that_overshoot() {
    let home = Home::new();
    let words = "train --heads multi --learners l2 --length 2 --ratio 0.3 -p 40 --test-examples 40 --depth 9 --momentum 0.99 \
                 --max-steps 300 --loads 0.4 --out out";
    let said = home.text_of(words).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("steps overshot") && said.contains("--eta-factor 0.5 takes smaller steps"), "{said}");
    assert!(home.json("out/train-loads.json")["points"][0]["overshot"].as_u64().unwrap() > 0);
}

/// A study's cell has the numbers of the flags.
#[test]
fn a_study_finds_the_same_minimum() {
    let home = Home::new();
    home.tasks(2, 20);
    let keys = "tasks = \"tasks.npz\"\nsolver = \"levenberg\"\nlearners = \"l2\"\nwidth = 15\nheads = \"multi\"\n";
    home.write("study.toml", format!("command = \"train\"\n[settings]\n{keys}"));
    home.text_of("study run study.toml --out study");
    let flags = "train --tasks tasks.npz --solver levenberg --learners l2 --width 15 --heads multi --json";
    let answer = done_json(&home.run(flags));
    let table = std::fs::read_to_string(home.join("study/study.csv")).unwrap();
    let mut lines = table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let last = lines.next_back().unwrap();
    for (column, key) in
        [("objective", "objective"), ("gradient", "gradient"), ("newest_mse", "mse"), ("steps", "steps")]
    {
        let k = head.iter().position(|name| *name == column).unwrap_or_else(|| panic!("no {column}: {head:?}"));
        assert_eq!(last[k].parse::<f64>().unwrap(), reports(&answer, 0)[1][key].as_f64().unwrap(), "{column}");
    }
}

/// What only descent knows is refused in a sentence, and nothing is written.
#[test]
fn what_the_solver_does_not_know_is_refused() {
    let home = Home::new();
    for (words, said) in [
        ("--learners ewc", "EWC"),
        ("--momentum 0.9", "momentum"),
        ("--batch 10", "batch"),
        ("--eta 0.1", "eta"),
        ("--gradient-tolerance 0", "--gradient-tolerance is 0"),
    ] {
        let sentence = refusal(&home.run(&format!("train --solver levenberg {words} --out out")), 2);
        assert!(sentence.contains(said), "{words}: {sentence}");
    }
    assert!(!home.join("out").exists());
}

/// A run long enough to be interrupted: its tasks take hundreds of steps each.
fn begun(home: &Home, out: &str) -> Child {
    let words = "train --solver levenberg --learners l2 --heads multi --depth 2 --width 60 -p 120 --test-examples 10 --length 3 \
                 --readout-penalty 1e-4 --ratio 0.3 --out";
    let mut command = home.ebbing();
    command.args(words.split_whitespace()).arg(out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Ctrl-C ends a run at once, within a task; what was learned before is taken up, to the bits of a run that was left alone.
#[test]
fn an_interrupted_run_goes_on_to_the_same_numbers() {
    let home = Home::new();
    let mut child = begun(&home, "out");
    let checkpoint = home.join("out/checkpoints/l2_kappa=0.1_-seed0.safetensors");
    while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let sent = clean("kill", home.path()).args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    // Ended by the signal, not by having come to its end.
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    assert!(checkpoint.exists() && !home.join("out/train.json").exists());
    for out in ["out", "whole"] {
        assert!(begun(&home, out).wait().unwrap().success());
    }
    let [out, whole] = ["out", "whole"].map(|out| home.json(&format!("{out}/train.json")));
    assert_eq!(out["learners"], whole["learners"]);
    let whole = std::fs::read(home.join("whole/checkpoints/l2_kappa=0.1_-seed0.safetensors")).unwrap();
    assert!(std::fs::read(checkpoint).unwrap() == whole);
}
