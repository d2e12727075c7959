//! What a forecast says about its own accuracy.

use crate::support::{Home, done, done_json, refusal};
use ebbing::linalg::Mat;
use ebbing::rng::Stream;
use ebbing::{Task, TaskSequence};
use serde_json::Value;

/// Tasks of random inputs with ±1 labels, of these sizes, in `own.npz`; with a seed per task, equal seeds make equal tasks.
fn own(home: &Home, sizes: &[usize], seeds: &[u64]) {
    let task = |(&p, &seed): (&usize, &u64)| {
        let mut stream = Stream::new(seed, "forecast tests", 0);
        let x = Mat::from_fn(p, 40, |_, _| stream.normal() + 3.0);
        Task::new(x, Mat::from_fn(p, 1, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 }))
    };
    let tasks = sizes.iter().zip(seeds).map(task).collect();
    TaskSequence::new(tasks).unwrap().save_npz(home.join("own.npz")).unwrap();
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_is_zero_within_its_accuracy_is_shown_as_zero() {
    let home = Home::new();
    own(&home, &[20, 20], &[1, 1]);
    let text = done(&home.run("forecast --tasks own.npz"));
    assert!(!text.contains("e-"), "{text}");
    assert!(one_line(&text).contains("Forecast training-loss forgetting F of task 1 after 2 tasks is 0."), "{text}");
    let answer = done_json(&home.run("forecast --tasks own.npz --json"));
    assert_eq!(answer["forecast"]["forgetting"]["mean"], serde_json::json!([[0.0, 0.0], [0.0, 0.0]]));
}

#[test]
fn inputs_are_prepared_as_asked_and_reported() {
    let home = Home::new();
    own(&home, &[20, 20], &[1, 2]);
    let prepared = |flags: &str| {
        let head = done(&home.run(&format!("forecast --tasks own.npz {flags}")));
        let json = done_json(&home.run(&format!("forecast --tasks own.npz --json {flags}")));
        let words = one_line(&head).split_once("; inputs ").unwrap().1.split_once(')').unwrap().0.to_string();
        (words, json["metadata"]["settings"]["tasks"]["preprocess"].clone())
    };
    assert_eq!(prepared(""), ("as stored".into(), Value::Null));
    let (words, steps) = prepared("--center image");
    assert_eq!(words, "centered one by one");
    assert_eq!((&steps["whiten"], &steps["normalize"]), (&Value::Bool(false), &Value::Bool(false)));
    assert_eq!(prepared("--norm").0, "scaled to one norm");
    assert_eq!(
        prepared("--whiten --center pixel --norm").0,
        "centered feature by feature, whitened, scaled to one norm"
    );
    // A recipe has the same rule.
    home.write("own.toml", "tasks = \"own.npz\"\n[preprocess]\ncenter = \"image\"\n");
    let text = done(&home.run("forecast --tasks own.toml"));
    assert!(one_line(&text).contains("inputs centered one by one)"), "{text}");
    let text = done(&home.run("forecast --protocol permuted --length 2 -p 20 --test-examples 0"));
    assert!(one_line(&text).contains("inputs centered one by one, whitened, scaled to one norm)"), "{text}");
    for command in [
        "phase --alpha 0.5,2",
        "phase --pairs",
        "train --width 10 --max-steps 10 --learners l2",
        "sample --width 10 --chains 2 --warmup 10 --draws 10",
        "advise",
    ] {
        let (name, flags) = command.split_once(' ').unwrap_or((command, ""));
        let answer = one_line(&home.text_of(&format!("{name} --tasks own.npz --center image {flags}")));
        assert!(answer.contains("inputs centered one by one"), "{command}: {answer}");
    }
    // Features are given as they are: nothing that speaks of inputs or of a network is taken beside them.
    for (flag, value) in
        [("--center", "image"), ("--norm", ""), ("--depth", "3"), ("--activation", "erf"), ("--length", "2")]
    {
        let said = refusal(&home.run(&format!("forecast --features own.npz {flag} {value}")), 2);
        assert!(said.contains(flag) && said.contains("is not used with --features"), "{said}");
    }
}

#[test]
fn the_best_order_comes_with_its_noise() {
    let home = Home::new();
    let text = one_line(&done(
        &home.run("forecast --protocol permuted --length 3 -p 30 --test-examples 0 --seeds 4 --order best"),
    ));
    assert!(text.contains("The given order is the best") || text.contains("The gain"), "{text}");
    let text = one_line(&done(
        &home.run("forecast --protocol permuted --length 3 -p 30 --test-examples 0 --seed 2 --order best"),
    ));
    assert!(text.contains("The given order is the best") || text.contains("several seeds show"), "{text}");
}

#[test]
fn a_width_is_advised_by_the_losses_computed() {
    let home = Home::new();
    home.tasks(2, 40);
    let answer = done_json(&home.run("phase --tasks tasks.npz --width 20 --json"));
    let best = &answer["widths"][1];
    let worst = |point: &Value| {
        ["g21", "g22"].map(|g| point[g].as_f64().unwrap_or(f64::INFINITY)).into_iter().fold(0.0, f64::max)
    };
    let all = answer["curves"][0]["points"].as_array().unwrap();
    let of_curve = |p: &Value| {
        ["g21", "g22"].map(|g| match p[g]["exponent"].as_f64() {
            Some(0.0) => p[g]["coefficient"].as_f64().unwrap_or(f64::INFINITY),
            _ => f64::INFINITY,
        })
    };
    // The curve is computed with and without the width asked about, each load by itself.
    let least = all.iter().map(|p| of_curve(p).into_iter().fold(0.0, f64::max)).fold(f64::INFINITY, f64::min);
    assert!(worst(best) <= least, "{best} {least}");
    let text = one_line(&home.text_of("phase --tasks tasks.npz --width 20"));
    assert!(text.contains("As λ grows") && text.contains("G₂₁ and G₂₂ are test losses of tasks 1 and 2"), "{text}");
}

/// A deep network with momentum at the whole rate, thrown several times as far as with smaller steps: it is reported, and what is advised
/// helps.
#[test]
fn training_reports_steps_that_overshot() {
    let home = Home::new();
    let command = "train --depth 9 --width 100 -p 100 --momentum 0.9 --learners gd --length 2 --seed 8";
    let text = one_line(&home.text_of(command));
    assert!(text.contains("The training error of gd rose on 2 of its 2 tasks"), "{text}");
    let advice = "--eta-factor 0.5";
    assert!(text.contains(&format!("{advice} takes smaller steps.")), "{text}");
    let text = one_line(&home.text_of(&format!("{command} {advice}")));
    assert!(text.contains("loss of task 1") && !text.contains("rose"), "{text}");
}

#[test]
fn training_reports_sizes_and_what_was_not_learned() {
    let home = Home::new();
    own(&home, &[20, 30], &[1, 2]);
    let text = one_line(&home.text_of("train --tasks own.npz --width 20 --learners gd --max-steps 1"));
    assert!(text.contains("Training on 2 tasks of 20 to 30 examples"), "{text}");
    assert!(text.contains("learned none of its 2 tasks"), "{text}");
}

#[test]
fn csv_labels_are_found_by_heading_and_may_be_words() {
    let home = Home::new();
    let row = |i: usize, species: &str| format!("{},{species},{},{}\n", (i * i) % 7 + 1, i % 5 + 1, (3 * i) % 11 + 1);
    let rows = |range: std::ops::Range<usize>| -> String {
        range.map(|i| row(i, ["setosa", "virginica", "versicolor"][i % 3])).collect()
    };
    home.write("train.csv", format!("width,species,height,depth\n{}", rows(0..60)));
    home.write("test.csv", format!("width,species,height,depth\n{}", row(70, "virginica")));
    let answer = done(&home.run("data import train.csv --test test.csv --label-column species --name iris"));
    assert!(answer.contains("classes 0 setosa, 1 versicolor, 2 virginica"), "{answer}");
    home.write("labeled.csv", format!("width,Label,height,depth\n{}", rows(0..60)));
    let answer = done(&home.run("data import labeled.csv"));
    assert!(
        answer.contains("60 training and 0 test examples of 3 numbers") && answer.contains("1 versicolor"),
        "{answer}"
    );
    let refused = refusal(&home.run("forecast --data labeled --protocol split --length 1 -p 20"), 2);
    assert!(refused.contains("--test-examples 0"), "{refused}");
    home.write("bad.csv", format!("width,species,height,depth\n{}", row(1, "rose")));
    let refused = refusal(&home.run("data import train.csv --test bad.csv --label-column species --name other"), 2);
    assert!(refused.contains("a label is \"rose\"; the classes are those of the training file"), "{refused}");
}

#[test]
fn intervals_null_and_p_values_are_reported_everywhere() {
    let home = Home::new();
    home.tasks(2, 40);
    let text = home.text_of("forecast --tasks tasks.npz --bootstrap 20 --shuffles 20 --out out");
    let title = "95 % intervals, a tenth of the examples left out 20 times; null and two-sided p";
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(title), "{text}");
    let head = text.lines().find(|line| line.contains("value")).unwrap();
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["pair", "value", "from", "to", "null", "p"]);
    // Targets do not enter the overlap of all features.
    let feature = text.lines().find(|line| line.contains("γ_feature") && line.ends_with("1.00"));
    assert!(feature.is_some(), "{text}");
    let csv = std::fs::read_to_string(home.join("out/order_parameters.csv")).unwrap();
    for column in ["gamma_RF_low", "gamma_RF_high", "conflict_null_mean", "F_pair_null_sd", "F_pair_p"] {
        assert!(csv.contains(column), "{column}: {csv}");
    }
    let report = std::fs::read_to_string(home.join("out/report.html")).unwrap();
    assert!(
        report.contains("a tenth of the examples left out") && report.contains("How well order parameters are known")
    );
    assert!(home.join("out/intervals.svg").is_file());
    // Nothing of this where it was not asked for.
    let plain = done(&home.run("forecast --tasks tasks.npz --out plain"));
    assert!(!plain.contains("intervals") && !home.join("plain/intervals.svg").exists());
}

#[test]
fn a_pair_of_several_tasks_is_placed_in_the_diagram() {
    let home = Home::new();
    home.tasks(3, 40);
    let critical = |words: &str| done_json(&home.run(words))["critical_load"].clone();
    let pair = critical("phase --tasks tasks.npz --pair 1,3 --json");
    let tasks = TaskSequence::load(home.join("tasks.npz")).unwrap().tasks;
    let two = TaskSequence::new(vec![tasks[0].clone(), tasks[2].clone()]).unwrap();
    two.save_npz(home.join("two.npz")).unwrap();
    assert_eq!(pair, critical("phase --tasks two.npz --json"));
    let refused = refusal(&home.run("phase --tasks tasks.npz --pair 2,2"), 2);
    assert!(refused.contains("--pair is 2,2; must be two different tasks from 1 to 3"), "{refused}");
}

#[test]
fn task_files_may_be_csv_count_from_0_and_are_asked_whether_they_are_transposed() {
    let home = Home::new();
    std::fs::create_dir(home.join("tasks")).unwrap();
    let rows = |shift: usize| -> String {
        (0..12)
            .map(|i| format!("{},{},{}\n", (i * i + shift) % 101, (5 * i + shift) % 7 + 1, ["go", "stop"][i % 2]))
            .collect()
    };
    home.write("tasks/1.csv", format!("a,b,class\n{}", rows(0)));
    home.write("tasks/2.csv", format!("a,b,class\n{}", rows(3)));
    let text = one_line(&done(&home.run("check tasks")));
    assert!(text.contains("2 tasks of 2 features, 1 target column"), "{text}");
    assert!(text.contains("classes go and stop are -1 and +1"), "{text}");
    let mut stream = Stream::new(1, "files from 0", 0);
    let mut x = |rows: usize, columns: usize| {
        ebbing::data::Array::from_mat(Mat::from_fn(rows, columns, |_, _| stream.normal()).as_ref())
    };
    let y = ebbing::data::Array { shape: vec![6], values: ebbing::data::Values::Integers(vec![0, 1, 1, 0, 1, 0]) };
    let (first, second, turned) = (x(6, 9), x(6, 9), x(9, 6));
    let write =
        |name: &str, arrays: &[(&str, &ebbing::data::Array)]| ebbing::data::write_npz(home.join(name), arrays).unwrap();
    write("zero.npz", &[("x_0", &first), ("y_0", &y), ("x_1", &second), ("y_1", &y)]);
    assert!(done(&home.run("check zero.npz")).contains("2 tasks of 9 features"));
    write("turned.npz", &[("x_0", &turned), ("y_0", &y)]);
    let output = home.run("check turned.npz");
    assert!(String::from_utf8_lossy(&output.stderr).contains("is x transposed?"), "{output:?}");
}
