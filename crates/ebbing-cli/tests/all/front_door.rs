//! What people ask at the door: biases, GELU, penalties and widths in one table, all pairs, the hidden layer, other images.

use crate::support::{Home, done, done_json, fits_80_columns, refusal};

/// Settings small enough for a test.
const SMALL: &str = "--protocol permuted --length 3 -p 30 --test-examples 20";

/// Whether a CSV file holds this very number.
fn holds(home: &Home, file: &str, value: f64) -> bool {
    let csv = std::fs::read_to_string(home.join(file)).unwrap();
    csv.lines().flat_map(|line| line.split(',')).any(|field| field.parse() == Ok(value))
}

#[test]
fn biases_and_gelu_go_through_every_door() {
    let home = Home::new();
    for (flags, keys, words) in [
        ("--bias 0.5", "bias = 0.5", "biases of deviation 0.5"),
        ("--activation gelu", "activation = \"gelu\"", "GELU depth 1"),
    ] {
        let answer = done_json(&home.run(&format!("forecast {SMALL} {flags} --json")));
        let plain = done_json(&home.run(&format!("forecast {SMALL} --json")));
        assert_ne!(answer["forecast"]["forgetting"], plain["forecast"]["forgetting"]);
        let text = done(&home.run(&format!("forecast {SMALL} {flags}")));
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{text}");
        // A study gives the same numbers.
        let file = format!(
            "command = \"forecast\"\nseeds = [0]\n[settings]\nprotocol = \"permuted\"\nlength = 3\nexamples = 30\n\
             test_examples = 20\n{keys}\n"
        );
        home.write("study.toml", file);
        done(&home.run("study run study.toml --out cells"));
        let f31 = answer["forecast"]["forgetting"]["mean"][2][0].as_f64().unwrap();
        assert!(holds(&home, "cells/study.csv", f31), "{f31}");
        std::fs::remove_dir_all(home.join("cells")).unwrap();
        done(&home.run(&format!("advise {SMALL} {flags}")));
    }
    let refused = refusal(&home.run("forecast --bias=-1"), 2);
    assert!(refused.contains("--bias is -1"), "{refused}");
    for command in ["phase", "train", "sample"] {
        let refused = refusal(&home.run(&format!("{command} --bias 0.5")), 2);
        assert!(refused.contains("--bias"), "{refused}");
    }
}

#[test]
fn penalties_and_widths_stand_in_tables() {
    let home = Home::new();
    let text = done(&home.run(&format!("forecast {SMALL} --lambdas 0,10,inf --widths 20,90 --out out")));
    fits_80_columns(&text);
    assert!(text.contains("What the penalty λ would change") && text.contains("A readout per task"), "{text}");
    let json = home.json("out/forecast.json");
    let (lambdas, widths) = (&json["forecast"]["lambdas"], &json["forecast"]["widths"]);
    assert_eq!(lambdas.as_array().unwrap().len(), 3);
    assert_eq!(lambdas[2]["lambda"], "inf");
    assert_eq!(widths.as_array().unwrap().len(), 6, "each width at each penalty");
    for name in ["lambdas.csv", "widths.csv", "lambdas.parquet", "widths.parquet"] {
        assert!(home.join(&format!("out/{name}")).is_file(), "{name}");
    }
    let value = lambdas[1]["final_forgetting"].as_f64().unwrap();
    assert!(holds(&home, "out/lambdas.csv", value), "{value}");
    let report = std::fs::read_to_string(home.join("out/report.html")).unwrap();
    assert!(report.contains("Of the penalties tried") && report.contains("With a head per task"));
    let refused = refusal(&home.run(&format!("forecast {SMALL} --widths 20 --depth 2")), 2);
    assert!(refused.contains("one hidden layer"), "{refused}");
    let refused = refusal(&home.run(&format!("forecast {SMALL} --lambdas=-1")), 2);
    assert!(refused.contains("--lambdas is -1"), "{refused}");
}

#[test]
fn every_pair_of_several_tasks_has_its_row() {
    let home = Home::new();
    home.tasks(4, 30);
    let text = done(&home.run("phase --tasks tasks.npz --pairs --width 12 --out out"));
    fits_80_columns(&text);
    assert!(text.contains("Most alike are tasks"), "{text}");
    let answer = home.json("out/phase.json");
    let pairs = answer["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 6);
    // One of them alone gives the same numbers.
    let one = done_json(&home.run("phase --tasks tasks.npz --pair 2,4 --width 12 --alpha 0.5,2 --json"));
    let same = pairs.iter().find(|p| (&p["first"], &p["second"]) == (&2.into(), &4.into())).unwrap();
    assert_eq!(same["critical_load"], one["critical_load"]);
    assert_eq!(same["location"], one["location"]);
    assert!(home.join("out/report.html").is_file() && home.join("out/phase-pairs.csv").is_file());
    for (flags, word) in [
        ("--lambda 10", "--lambda"),
        ("--beta 5", "--beta"),
        ("--alpha 0.5,2", "--alpha"),
        ("--readout-norm 2", "--readout-norm"),
    ] {
        let refused = refusal(&home.run(&format!("phase --tasks tasks.npz --pairs {flags}")), 2);
        assert!(refused.contains(word) && refused.contains("--pairs"), "{refused}");
    }
}

#[test]
fn the_hidden_layer_is_reported_where_asked_for() {
    let home = Home::new();
    let words = "phase --protocol permuted --ratio 0.1 -p 40 --test-examples 20 --alpha 0.5,2 --lambda inf,10";
    let text = done(&home.run(&format!("{words} --width 20 --representation --out out")));
    fits_80_columns(&text);
    assert!(text.contains("The hidden layer at N = 20") && text.contains("ΔΦ"), "{text}");
    let answer = home.json("out/phase.json");
    let rows = answer["representation"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "two penalties, two tasks");
    assert!(rows[0]["change"].as_f64().unwrap() > 0.0 && rows[2]["change"].is_null(), "{rows:?}");
    assert!(rows.iter().all(|row| row["alignment"].as_f64().unwrap().abs() <= 1.0), "{rows:?}");
    assert!(home.join("out/phase-representation.csv").is_file());
    // Networks wider than P keep their representations as λ grows.
    let wide = done_json(&home.run(&format!("{words} --width 100 --representation --json")));
    assert_eq!(wide["representation"][0]["change"], 0.0);
    let refused = refusal(&home.run(&format!("{words} --representation")), 2);
    assert!(refused.contains("--width"), "{refused}");
}

#[test]
fn the_figures_of_the_paper_are_elsewhere() {
    for words in ["reproduce", "reproduce 6 --scale paper", "reproduce --list", "--threads 2 reproduce S4 --help"] {
        let refused = refusal(&Home::new().run(words), 2);
        assert!(refused.contains("cargo run --release -p ebbing-paper -- figure"), "{words}: {refused}");
    }
}
