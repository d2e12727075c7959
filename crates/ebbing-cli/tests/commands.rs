//! The computing commands: what they print, what they write, what they refuse.

use assert_cmd::Command;
use std::path::Path;

fn ebbing(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("ebbing").expect("the program is built");
    command.args(arguments);
    command
}

fn told(arguments: &[&str]) -> String {
    let output = ebbing(arguments).output().expect("the program runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Exit code 2, one line on standard error with every word, nothing on standard output.
fn refused(arguments: &[&str], words: &[&str]) {
    let output = ebbing(arguments).output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(output.stdout.is_empty());
    for word in words {
        assert!(said.contains(word), "{word} is not in: {said}");
    }
}

fn fits_80_columns(text: &str) {
    for line in text.lines() {
        // Paths and commands are not broken.
        let exempt = ["report:", "figure:", "more:"].iter().any(|w| line.starts_with(w));
        assert!(exempt || line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("the file is there")).expect("JSON")
}

/// Two small tasks of random inputs and labels, with test sets.
fn tasks_file(folder: &Path, tasks: usize, dim: usize) -> std::path::PathBuf {
    let mut stream = ebbing::rng::Stream::new(5, "command tests", 0);
    let mut set = |p: usize| {
        let x = ebbing::linalg::Mat::from_fn(p, dim, |_, _| stream.normal());
        let y = ebbing::linalg::Mat::from_fn(p, 1, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 });
        (x, y)
    };
    let mut all = Vec::new();
    for t in 0..tasks {
        let ((x, y), (test_x, test_y)) = (set(30), set(20));
        let test = Some(ebbing::tasks::TestSet { x: test_x, y: test_y });
        all.push(ebbing::Task { name: format!("task {}", t + 1), x, y, rows: None, test });
    }
    let path = folder.join("tasks.npz");
    let sequence = ebbing::TaskSequence::new(all, serde_json::Value::Null).expect("tasks");
    sequence.save_npz(&path).expect("a file");
    path
}

#[test]
fn plain_ebbing_is_the_forecast() {
    let plain = told(&[]);
    fits_80_columns(&plain);
    assert_eq!(plain, told(&["forecast"]));
    for word in ["Forecast for 5 tasks of 1000 examples", "conflict most", "after task", "best", "Assumes"] {
        assert!(plain.contains(word), "{word}");
    }
}

#[test]
fn a_forecast_writes_everything() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks_file(folder.path(), 3, 50);
    let out = folder.path().join("out");
    let (tasks, out_text) = (tasks.to_str().unwrap(), out.to_str().unwrap());
    let text = told(&["forecast", "--tasks", tasks, "--depths", "1,2", "--out", out_text]);
    fits_80_columns(&text);
    for name in [
        "report.html",
        "forecast.json",
        "forgetting.csv",
        "forgetting.parquet",
        "order_parameters.svg",
        "forgetting.png",
        "depths.csv",
    ] {
        assert!(out.join(name).exists(), "{name}");
    }
    let forecast = json(&out.join("forecast.json"));
    assert_eq!(forecast["forecast"]["forgetting"]["mean"].as_array().unwrap().len(), 3);
    assert_eq!(forecast["metadata"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(forecast["metadata"]["settings"]["settings"]["theory"]["lambda"], "inf");
    assert_eq!(forecast["metadata"]["dataset"], "tasks.npz");
    assert_eq!(forecast["metadata"]["dataset_sha256"].as_str().unwrap().len(), 64);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("conflict most") && !page.contains("<script"));
    // The same run again gives the same bytes.
    let again = folder.path().join("again");
    std::fs::rename(&out, &again).unwrap();
    told(&["forecast", "--tasks", tasks, "--depths", "1,2", "--out", out_text, "--threads", "1"]);
    for name in ["forgetting.parquet", "forgetting.svg"] {
        let bytes = |p: &Path| std::fs::read(p.join(name)).unwrap();
        let strip = |b: Vec<u8>| String::from_utf8_lossy(&b).replace(" --threads 1", "");
        assert_eq!(strip(bytes(&out)).len(), strip(bytes(&again)).len(), "{name}");
    }
    let (a, b) = (json(&out.join("forecast.json")), json(&again.join("forecast.json")));
    assert_eq!(a["forecast"], b["forecast"], "thread count changes nothing");
}

#[test]
fn a_part_of_the_examples_comes_with_error_bars() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks_file(folder.path(), 2, 50);
    let text = told(&["forecast", "--tasks", tasks.to_str().unwrap(), "--max-p", "15"]);
    assert!(text.contains("of 15 examples") && text.contains("5 seeds") && text.contains(" ± "), "{text}");
}

#[test]
fn features_are_taken_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    // 10 neurons for 30 examples: singular kernels.
    let file = tasks_file(folder.path(), 2, 10);
    let file = file.to_str().unwrap();
    let text = told(&["forecast", "--features", file]);
    assert!(text.contains("ranks 10 and 10"), "{text}");
    let layers = told(&["forecast", "--features", file, file]);
    assert_eq!(layers.matches("Order parameters of").count(), 2, "{layers}");
}

#[test]
fn phase_tells_where_a_width_lies() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks_file(folder.path(), 2, 40);
    let out = folder.path().join("out");
    let (tasks, out_text) = (tasks.to_str().unwrap(), out.to_str().unwrap());
    let text = told(&[
        "phase", "--tasks", tasks, "--width", "20", "--alpha", "0.2:8:12", "--lambda", "10,inf", "--out", out_text,
    ]);
    fits_80_columns(&text);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Load 1.50") && words.contains("serves both tasks best"), "{text}");
    let phase = json(&out.join("phase.json"));
    assert_eq!(phase["curves"].as_array().unwrap().len(), 2);
    assert_eq!(phase["curves"][1]["lambda"], "inf");
    for name in ["phase.svg", "phase.png", "phase-curves.csv", "phase-curves.parquet"] {
        assert!(out.join(name).exists(), "{name}");
    }
}

#[test]
fn phase_sweeps_every_protocol() {
    for (sweep, values) in
        [("perm", "0.1,0.5"), ("split", "0.2"), ("target", "0.5"), ("shared", "0.4"), ("flip", "0.1")]
    {
        let text = told(&[
            "phase",
            "--sweep",
            sweep,
            "--values",
            values,
            "--curves",
            values,
            "-p",
            "60",
            "--test-examples",
            "40",
            "--alpha",
            "0.5,2",
        ]);
        fits_80_columns(&text);
        assert!(text.contains("Phase boundary of two tasks of 60 examples"), "{text}");
    }
}

#[test]
fn training_goes_on_from_its_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks_file(folder.path(), 2, 20);
    let out = folder.path().join("out");
    let (tasks, out_text) = (tasks.to_str().unwrap(), out.to_str().unwrap());
    let arguments = [
        "train",
        "--tasks",
        tasks,
        "--learners",
        "gd,l2,ewc",
        "--width",
        "60",
        "--max-steps",
        "300",
        "--out",
        out_text,
    ];
    let first = told(&arguments);
    fits_80_columns(&first);
    assert!(first.contains("theory, random features"), "{first}");
    let runs = json(&out.join("train.json"));
    assert_eq!(runs["learners"].as_array().unwrap().len(), 3);
    assert_eq!(std::fs::read_dir(out.join("checkpoints")).unwrap().count(), 3);
    assert_eq!(first, told(&arguments), "taken up from checkpoints");
    assert_eq!(runs["learners"], json(&out.join("train.json"))["learners"]);
}

#[test]
fn training_over_loads_names_the_regimes() {
    let text = told(&[
        "train",
        "--heads",
        "multi",
        "--learners",
        "l2",
        "--length",
        "2",
        "--ratio",
        "0.3",
        "-p",
        "40",
        "--test-examples",
        "40",
        "--loads",
        "0.5,2",
        "--max-steps",
        "200",
    ]);
    fits_80_columns(&text);
    assert!(text.contains("fixed representations") && text.contains("overfitting"), "{text}");
}

#[test]
fn sampling_compares_with_the_theory() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks_file(folder.path(), 2, 10);
    let out = folder.path().join("out");
    let (tasks, out_text) = (tasks.to_str().unwrap(), out.to_str().unwrap());
    for heads in ["multi", "single"] {
        let text = told(&[
            "sample", "--tasks", tasks, "--heads", heads, "--width", "20", "--beta", "50", "--chains", "4", "--warmup",
            "20", "--draws", "20", "--out", out_text,
        ]);
        fits_80_columns(&text);
        for word in ["R-hat", "F_21", "G_22", "u1(2,1)", "kernel along labels of task 2"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
    // Chains too short to have converged say so.
    let short = told(&["sample", "--tasks", tasks, "--chains", "4", "--warmup", "10", "--draws", "10"]);
    assert!(short.contains("Warning: task 2") && short.contains("run longer chains"), "{short}");
    assert!(json(&out.join("sample.json"))["comparison"].as_array().unwrap().len() > 5);
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    refused(&["forecast", "--depth", "0", "--out", out], &["depth", "at least 1"]);
    refused(&["forecast", "--mode", "gibbs", "--lambda=-1"], &["lambda is -1", "at least 0"]);
    refused(&["forecast", "--sigma", "0"], &["sigma", "positive"]);
    refused(&["forecast", "--ratio", "1.5"], &["ratio is 1.5", "[0, 1]"]);
    refused(&["forecast", "--seeds", "0"], &["--seeds", "at least 1"]);
    refused(&["forecast", "--rho-flip", "0.1"], &["--rho-flip", "target-distractor"]);
    refused(&["forecast", "--tasks", "nowhere.npz"], &["nowhere.npz"]);
    refused(&["forecast", "--data", "mnits"], &["mnits", "mnist"]);
    refused(&["phase", "--alpha", "0:1:5"], &["--alpha", "from:to:count"]);
    refused(&["phase", "--lambda=-2"], &["--lambda", "at least 0"]);
    refused(&["phase", "--length", "3"], &["--length", "2"]);
    refused(&["train", "--eta", "fast"], &["--eta", "fast", "auto"]);
    refused(&["train", "--loads", "1,2"], &["--learners", "one learner"]);
    refused(&["train", "--width", "0"], &["width", "at least 1"]);
    refused(&["sample", "--chains", "1"], &["chains is 1", "at least 2"]);
    refused(&["sample", "--beta", "inf"], &["beta", "finite"]);
    assert!(!Path::new(out).exists(), "nothing is written");
}

#[test]
fn own_tasks_that_cannot_be_computed_with_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let save = |name: &str, tasks: Vec<(ebbing::linalg::Mat<f64>, ebbing::linalg::Mat<f64>)>| {
        let path = folder.path().join(name);
        let mut arrays = Vec::new();
        for (t, (x, y)) in tasks.iter().enumerate() {
            arrays.push((format!("x_{}", t + 1), ebbing::data::Array::from_mat(x.as_ref())));
            arrays.push((format!("y_{}", t + 1), ebbing::data::Array::from_mat(y.as_ref())));
        }
        let named: Vec<(&str, &ebbing::data::Array)> = arrays.iter().map(|(n, a)| (n.as_str(), a)).collect();
        ebbing::data::write_npz(&path, &named).unwrap();
        path.to_str().unwrap().to_string()
    };
    let mut stream = ebbing::rng::Stream::new(1, "bad tasks", 0);
    let mut x = |p: usize, d: usize| ebbing::linalg::Mat::from_fn(p, d, |_, _| stream.normal());
    let y = |p: usize| ebbing::linalg::Mat::from_fn(p, 1, |i, _| if i % 2 == 0 { 1.5 } else { -1.5 });
    let mut doubled = x(8, 5);
    for j in 0..5 {
        doubled[(3, j)] = doubled[(0, j)];
    }
    let mut broken = x(8, 5);
    broken[(2, 1)] = f64::NAN;
    let cases: Vec<(String, &[&str])> = vec![
        (save("conflict.npz", vec![(doubled, y(8)), (x(8, 5), y(8))]), &["row"]),
        (save("dims.npz", vec![(x(8, 5), y(8)), (x(8, 4), y(8))]), &["task 2", "4"]),
        (
            save("constant.npz", vec![(x(8, 5), ebbing::linalg::Mat::from_fn(8, 1, |_, _| 0.5)), (x(8, 5), y(8))]),
            &["task 1"],
        ),
        (save("nan.npz", vec![(broken, y(8)), (x(8, 5), y(8))]), &["NaN"]),
        (save("one.npz", vec![(x(1, 5), y(1)), (x(8, 5), y(8))]), &["task 1"]),
        (save("columns.npz", vec![(x(8, 5), x(8, 2)), (x(8, 5), y(8))]), &["column"]),
    ];
    for (file, words) in &cases {
        refused(&["forecast", "--tasks", file], words);
    }
}

/// The three regimes by descent, the documented run in small: fixed representations below load 1, then a second task
/// learned but badly generalised while the first is kept, then recovery at the price of forgetting.
#[test]
fn descent_shows_the_three_regimes() {
    let folder = tempfile::tempdir().unwrap();
    let fixed = "train --heads multi --learners l2 --kappa 0.03 --momentum 0.9 --ratio 0.1 -p 120 --test-examples 200 \
                 --loads 0.5,1.4,5 --seeds 3 --max-steps 6000 --out";
    let arguments: Vec<&str> = fixed.split_whitespace().chain([folder.path().to_str().unwrap()]).collect();
    told(&arguments);
    let result = json(&folder.path().join("train-loads.json"));
    let points = result["points"].as_array().unwrap();
    let regimes: Vec<&str> = points.iter().map(|q| q["regime"].as_str().unwrap()).collect();
    assert_eq!(regimes, ["fixed_representations", "overfitting", "generalisation"]);
    assert!(points.iter().all(|q| q["learned"] == 3), "the second task is learned throughout: {result}");
    let number = |k: usize, name: &str, part: &str| points[k][name][part].as_f64().unwrap();
    let f21 = |k| number(k, "f21", "mean");
    // Task 1 itself was left at a squared error of 1e-3, its loss where nothing is forgotten.
    assert!(f21(0) < 2e-3 && f21(1) < 1e-2 && f21(2) > 3.0 * f21(1), "{} {} {}", f21(0), f21(1), f21(2));
    for other in [0, 2] {
        let rise = number(1, "g22", "mean") - number(other, "g22", "mean");
        let error = number(1, "g22", "se").hypot(number(other, "g22", "se"));
        assert!(rise > 3.0 * error, "G22 at load 1.4 is {rise} ± {error} above that of point {other}");
    }
}

/// A run that is killed between two tasks goes on from its checkpoint to the same bits as one that was left alone.
#[test]
fn a_killed_run_goes_on_to_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks_file(folder.path(), 3, 20);
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let arguments = |out: &Path| {
        let fixed = "train --learners l2 --heads multi --width 100 --max-steps 4000 --tolerance 1e-9 --tasks";
        let mut all: Vec<String> = fixed.split(' ').map(String::from).collect();
        all.extend([tasks.display().to_string(), "--out".into(), out.display().to_string()]);
        all
    };
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ebbing"))
        .args(arguments(&killed))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = killed.join("checkpoints/l2_kappa=0.1_-seed0.ckpt");
    while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(checkpoint.exists(), "the run wrote a checkpoint after its first task");
    assert!(!killed.join("train.json").exists(), "the run was killed before its end");
    for out in [&whole, &killed] {
        told(&arguments(out).iter().map(String::as_str).collect::<Vec<_>>());
    }
    let bytes = |out: &Path| std::fs::read(out.join("checkpoints/l2_kappa=0.1_-seed0.ckpt")).unwrap();
    assert_eq!(bytes(&whole), bytes(&killed));
    assert_eq!(json(&whole.join("train.json"))["learners"], json(&killed.join("train.json"))["learners"]);
}

/// Runs that diverge are told with step, error and a rate that works, and enter no average.
#[test]
fn diverged_runs_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = tasks_file(folder.path(), 2, 20);
    let tasks = tasks.to_str().unwrap();
    let fast = ["train", "--tasks", tasks, "--learners", "gd", "--width", "40", "--eta", "50"];
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = told(&fast);
    let said = words(&text);
    assert!(said.contains("Left out: gd-seed0: training diverged on task 1 at step"), "{text}");
    assert!(said.contains("try a learning rate of") && !said.contains("NaN"), "{text}");
    let loads = [&fast[..], &["--heads", "multi", "--loads", "1.5"]].concat();
    let text = told(&loads);
    assert_eq!(words(&text).matches("Left out: width20-seed0").count(), 2, "{text}");
    assert!(!text.contains("NaN"), "{text}");
}

/// Half the automatic rate changes losses after the last task by no more than the help says.
#[test]
fn half_the_automatic_rate_changes_little() {
    let folder = tempfile::tempdir().unwrap();
    let losses = |factor: &str, learner: &str| {
        let out = folder.path().join(format!("{learner}{factor}"));
        let fixed = "train --length 2 -p 100 --test-examples 50 --width 200 --eta-factor";
        let out_text = out.to_str().unwrap();
        told(
            &[&fixed.split(' ').collect::<Vec<_>>()[..], &[factor, "--learners", learner, "--out", out_text]].concat(),
        );
        let run = json(&out.join("train.json"))["learners"][0]["runs"][0].clone();
        (run["train_loss"][1][0].as_f64().unwrap(), run["test_loss"][1][1].as_f64().unwrap())
    };
    for learner in ["gd", "l2"] {
        let (one, half) = (losses("1", learner), losses("0.5", learner));
        for (a, b) in [(one.0, half.0), (one.1, half.1)] {
            assert!((a - b).abs() < 0.05 * a, "{learner}: {one:?} {half:?}");
        }
    }
}
