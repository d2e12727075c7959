//! The computing commands: what they print, what they write, what they refuse.

use crate::forecast::one_line;
use crate::support::{Home, refusal};
use ebbing::Context;
use ebbing::data::{Array, write_npz};
use ebbing::linalg::Mat;
use ebbing::rng::Stream;
use ebbing::theory::forecast::ForecastSettings;
use ebbing::{Forecast, Task, TaskSequence};
use std::process::Stdio;

/// Exit code 2, one line on standard error with every word, nothing on standard output.
#[track_caller]
fn refused(home: &Home, words: &str, expected: &[&str]) {
    let said = refusal(&home.run(words), 2);
    assert!(expected.iter().all(|word| said.contains(word)), "{expected:?} are not all in: {said}");
}

/// All these files are in `out`.
#[track_caller]
fn written(home: &Home, names: &str) {
    names.split(' ').for_each(|name| assert!(home.join("out").join(name).exists(), "{name}"));
}

#[test]
fn plain_ebbing_is_the_forecast() {
    let home = Home::new();
    let plain = home.text_of("");
    // The answer first, in the unit of those who ask, on one screen.
    assert!(plain.lines().count() <= 25, "{} lines: {plain}", plain.lines().count());
    assert_eq!(plain, home.text_of("forecast"));
    for word in [
        "Forecast for 5 tasks of 600 examples (mnist-sample, class incremental",
        "Expect to lose ",
        "guessing gives 10 %",
        "Keep ",
        "Heads in closed form do not forget: ",
        " clash most",
        "ebbing forecast --theory",
    ] {
        assert!(one_line(&plain).contains(word), "{word}: {plain}");
    }
    assert!(!plain.contains("conflict most"), "{plain}");
    // Flags without a command are a forecast's; the theory has its own page.
    let permuted = home.text_of("--protocol permuted --theory");
    for word in ["Forecast for 5 tasks of 1000 examples", "conflict most", "after task", "Assumes"] {
        assert!(permuted.contains(word), "{word}: {permuted}");
    }
}

#[test]
fn advice_is_a_table_a_figure_and_a_page() {
    let home = Home::new();
    home.tasks(3, 40);
    let answer = home.text_of("advise --tasks tasks.npz --keep-forgetting-below 0.2 --out out");
    for word in ["Advice for 3 tasks of 30 examples", "remedy", "nothing", "everything at once (bound)"] {
        assert!(answer.contains(word), "{word}: {answer}");
    }
    assert!(answer.contains("Do this: ") != answer.contains("No gain that we can be sure of:"), "{answer}");
    let part = home.text_of("advise --protocol permuted -p 301 --max-p 300 --length 2 --test-examples 20");
    assert!(part.starts_with("Advice for 2 tasks of 300 examples"), "{part}");
    assert!(answer.lines().all(|line| line.chars().count() <= 80), "{answer}");
    written(&home, "report.html advice.json remedies.csv remedies.parquet remedies.svg remedies.png");
    written(&home, "methods.csv methods.parquet methods.svg methods.png keep.svg keep.png");
    let advice = home.json("out/advice.json");
    let needed = advice["advice"]["examples_needed"].as_u64().unwrap();
    // What it says must be kept does what it says.
    home.text_of(&format!("forecast --tasks tasks.npz --replay {needed} --out kept"));
    let forecast = home.json("kept/forecast.json");
    let last = &forecast["forecast"]["forgetting"]["mean"][2];
    assert!((last[0].as_f64().unwrap() + last[1].as_f64().unwrap()) / 2.0 <= 0.2, "{last}");
    refused(&home, "advise --tasks tasks.npz --budget 31", &["budget is 31", "at most 30", "task 1"]);
    for (flags, words) in [
        ("--keep-accuracy-above 80", ["--keep-accuracy-above is 80", "such as 0.8"]),
        ("--lose-at-most -0.1", ["--lose-at-most is -0.1", "such as 0.05"]),
        ("--keep-accuracy-above 0.8 --lose-at-most 0.1", ["--keep-accuracy-above", "--lose-at-most"]),
        ("--memory-budget 2elephants", ["2elephants", "number of bytes such as"]),
        ("--ewc 0", ["--ewc is 0", "positive"]),
    ] {
        refused(&home, &format!("advise --tasks tasks.npz {flags}"), &words);
    }
    refused(&home, "advise --tasks tasks.npz --keep-forgetting-below 0", &["--keep-forgetting-below is 0", "positive"]);
    refused(&home, "advise --protocol permuted --length 1 --examples 20", &["it holds 1 task"]);
    refused(&home, "forecast --tasks tasks.npz --replay 31", &["replay is 31", "at most 30"]);
}

#[test]
fn a_forecast_writes_everything() {
    let home = Home::new();
    home.tasks(3, 50);
    home.text_of("forecast --tasks tasks.npz --depths 1,2 --out out");
    written(&home, "report.html forecast.json forgetting.csv forgetting.parquet order_parameters.svg forgetting.png");
    written(&home, "depths.csv");
    let forecast = home.json("out/forecast.json");
    assert_eq!(forecast["forecast"]["forgetting"]["mean"].as_array().unwrap().len(), 3);
    assert_eq!(forecast["metadata"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(forecast["metadata"]["settings"]["settings"]["theory"]["lambda"], "inf");
    assert_eq!(forecast["metadata"]["dataset"], "tasks.npz");
    assert_eq!(forecast["metadata"]["dataset_sha256"].as_str().unwrap().len(), 64);
    let page = std::fs::read_to_string(home.join("out/report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("conflict most") && !page.contains("<script"));
    // The same run again gives the same bytes.
    std::fs::rename(home.join("out"), home.join("again")).unwrap();
    home.text_of("forecast --tasks tasks.npz --depths 1,2 --out out --threads 1");
    for name in ["forgetting.parquet", "forgetting.svg"] {
        let bytes = |folder: &str| std::fs::read(home.join(folder).join(name)).unwrap();
        let strip = |b: Vec<u8>| String::from_utf8_lossy(&b).replace(" --threads 1", "");
        assert_eq!(strip(bytes("out")).len(), strip(bytes("again")).len(), "{name}");
    }
    let (a, b) = (home.json("out/forecast.json"), home.json("again/forecast.json"));
    assert_eq!(a["forecast"], b["forecast"], "thread count changes nothing");
}

#[test]
fn a_part_of_the_examples_comes_with_error_bars() {
    let home = Home::new();
    home.tasks(2, 50);
    let text = home.text_of("forecast --tasks tasks.npz --max-p 15 --theory");
    assert!(text.contains("of 15 examples") && text.contains("5 seeds") && text.contains(" ± "), "{text}");
}

#[test]
fn features_are_taken_as_they_are() {
    let home = Home::new();
    // 10 neurons for 30 examples: singular kernels.
    home.tasks(2, 10);
    let text = home.text_of("forecast --features tasks.npz --theory");
    assert!(text.contains("ranks 10 and 10"), "{text}");
    let layers = home.text_of("forecast --features tasks.npz tasks.npz");
    assert_eq!(layers.matches("Order parameters of").count(), 2, "{layers}");
}

#[test]
fn features_come_with_present_outputs() {
    let home = Home::new();
    let mut stream = Stream::new(3, "test tasks", 0);
    let mut task = || {
        let x = Mat::from_fn(12, 30, |_, _| stream.normal());
        let y = Mat::from_fn(12, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 });
        Task::new(x, y).with_present(Mat::from_fn(12, 1, |_, _| stream.normal()), None)
    };
    let tasks = TaskSequence::new(vec![task(), task(), task()]).unwrap();
    tasks.save_npz(home.join("model.npz")).unwrap();
    let settings = ForecastSettings { features: true, ..ForecastSettings::default() };
    let want = Forecast::of(&[tasks], &settings, &Context::default()).unwrap().forgetting.unwrap().mean;
    home.text_of("forecast --features model.npz --out out");
    assert_eq!(home.json("out/forecast.json")["forecast"]["forgetting"]["mean"], serde_json::json!(want));
    home.text_of("advise --features model.npz --out advice");
    let nothing = &home.json("advice/advice.json")["advice"]["remedies"];
    let nothing = nothing.as_array().unwrap().iter().find(|row| row["kind"] == "nothing").unwrap();
    // Means of the same numbers, taken in another order.
    let mean = (want[2][0] + want[2][1]) / 2.0;
    assert!((nothing["forgetting"].as_f64().unwrap() - mean).abs() < 1e-12 * mean, "{nothing}");
    refused(&home, "forecast --tasks model.npz", &["task 1", "present outputs", "take them as features"]);
}

#[test]
fn phase_shows_where_a_width_lies() {
    let home = Home::new();
    home.tasks(2, 40);
    let text = home.text_of("phase --tasks tasks.npz --width 20 --alpha 0.2:8:12 --lambda 10,inf --out out");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Load 1.50") && words.contains("serves both tasks best"), "{text}");
    let phase = home.json("out/phase.json");
    assert_eq!(phase["curves"].as_array().unwrap().len(), 2);
    assert_eq!(phase["curves"][1]["lambda"], "inf");
    written(&home, "phase.svg phase.png phase-curves.csv phase-curves.parquet");
}

#[test]
fn phase_takes_longer_sequences_and_temperatures() {
    let home = Home::new();
    let text = home
        .text_of("phase --intermediate 1 --ratio 0.3 -p 24 --test-examples 12 --alpha 0.5:6:6 --lambda 1e4 --out out");
    assert!(text.contains("3 tasks of 24, 24, 24 examples") && text.contains("G_TT"), "{text}");
    let phase = home.json("out/phase.json");
    assert_eq!(phase["curves"][0]["points"].as_array().unwrap().len(), 6);
    written(&home, "phase.svg phase.png phase-curves.csv phase-curves.parquet");
    home.tasks(3, 30);
    let own = home.text_of("phase --tasks tasks.npz --alpha 0.5,2 --lambda 100");
    assert!(own.contains("3 tasks of 30, 30, 30 examples"), "{own}");
    for words in ["--length 3 --width 20 --lambda inf", "--beta 50 --activation erf --lambda 10,100"] {
        home.text_of(&format!("phase {words} -p 24 --test-examples 12 --alpha 0.5,2"));
    }
}

/// The help's own examples, on embedded images: classes have few test images, and a task in the middle need not have a limit.
#[test]
fn phase_draws_split_tasks_and_intermediate_ones_without_sizes() {
    let home = Home::new();
    assert!(home.text_of("phase --protocol split --width 50").contains("N = 50"));
    assert!(home.text_of("phase --intermediate 1 --ratio 0.15 --alpha 1.5").contains("1.50"));
}

#[test]
fn phase_sweeps_every_protocol() {
    let home = Home::new();
    for (sweep, values) in
        [("perm", "0.1,0.5"), ("split", "0.2"), ("target", "0.5"), ("shared", "0.4"), ("flip", "0.1")]
    {
        let text = home.text_of(&format!(
            "phase --sweep {sweep} --values {values} --curves {values} -p 60 --test-examples 40 --alpha 0.5,2"
        ));
        assert!(text.contains("Phase boundary of two tasks of 60 examples"), "{text}");
    }
}

#[test]
fn training_goes_on_from_its_checkpoints() {
    let home = Home::new();
    home.tasks(2, 20);
    let words = "train --tasks tasks.npz --learners gd,l2,ewc --width 60 --max-steps 300 --out out";
    let first = home.text_of(words);
    assert!(first.contains("theory, random features"), "{first}");
    let runs = home.json("out/train.json");
    assert_eq!(runs["learners"].as_array().unwrap().len(), 3);
    assert_eq!(std::fs::read_dir(home.join("out/checkpoints")).unwrap().count(), 3);
    // What a process left that was killed after its last checkpoint goes where no other is written.
    let hidden = home.join("out/checkpoints/.ebbing-writing");
    std::fs::create_dir(&hidden).unwrap();
    assert_eq!(first, home.text_of(words), "taken up from checkpoints");
    assert!(!hidden.exists());
    assert_eq!(runs["learners"], home.json("out/train.json")["learners"]);
}

#[test]
fn training_over_loads_names_the_regimes() {
    let home = Home::new();
    let text = home.text_of(
        "train --heads multi --learners l2 --length 2 --ratio 0.3 -p 40 --test-examples 40 --loads 0.5,2 --max-steps 200",
    );
    assert!(text.contains("fixed representations") && text.contains("overfitting"), "{text}");
}

#[test]
fn sampling_compares_with_the_theory() {
    let home = Home::new();
    home.tasks(2, 10);
    for heads in ["multi", "single"] {
        let text = home.text_of(&format!(
            "sample --tasks tasks.npz --heads {heads} --width 20 --beta 50 --chains 4 --warmup 20 --draws 20 --out out"
        ));
        for word in ["R-hat", "F_21", "G_22", "u1(2,1)", "kernel along labels of task 2"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
    // Chains too short to have converged say so.
    let short = home.text_of("sample --tasks tasks.npz --chains 4 --warmup 10 --draws 10");
    assert!(short.contains("Warning: task 2") && short.contains("run longer chains"), "{short}");
    assert!(home.json("out/sample.json")["comparison"].as_array().unwrap().len() > 5);
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let home = Home::new();
    let refused = |words: &str, said: &[&str]| refused(&home, words, said);
    refused("forecast --depth 0 --out out", &["depth is 0", "must lie in 1"]);
    refused("forecast --mode gibbs --lambda=-1", &["lambda is -1", "at least 0"]);
    refused("forecast --sigma 0", &["sigma", "positive"]);
    refused("forecast --protocol permuted --ratio 1.5", &["ratio is 1.5", "[0, 1]"]);
    refused("forecast --seeds 0", &["--seeds", "at least 1"]);
    refused("forecast --rho-flip 0.1", &["--rho-flip", "target-distractor"]);
    refused("forecast --tasks nowhere.npz", &["nowhere.npz"]);
    refused("forecast --data mnits", &["mnits", "mnist"]);
    refused("phase --alpha 0:1:5", &["--alpha", "from:to:count"]);
    refused("phase --lambda=-2", &["--lambda", "at least 0"]);
    refused("phase --length 1", &["1 task", "at least two"]);
    refused("phase --beta 0", &["--beta", "positive"]);
    refused("train --eta fast", &["--eta", "fast", "auto"]);
    refused("train --loads 1,2", &["--learners", "one learner"]);
    refused("train --width 0", &["width", "at least 1"]);
    refused("sample --chains 1", &["chains is 1", "at least 2"]);
    refused("sample --beta inf", &["beta", "finite"]);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing is written");
}

#[test]
fn own_tasks_that_cannot_be_computed_with_are_refused() {
    let home = Home::new();
    let save = |name: &str, tasks: [(Mat<f64>, Mat<f64>); 2]| {
        let [(x1, y1), (x2, y2)] = tasks.map(|(x, y)| (Array::from_mat(x.as_ref()), Array::from_mat(y.as_ref())));
        write_npz(home.join(name), &[("x_1", &x1), ("y_1", &y1), ("x_2", &x2), ("y_2", &y2)]).unwrap();
    };
    let mut stream = Stream::new(1, "bad tasks", 0);
    let mut x = |p: usize, d: usize| Mat::from_fn(p, d, |_, _| stream.normal());
    let y = |p: usize| Mat::from_fn(p, 1, |i, _| if i % 2 == 0 { 1.5 } else { -1.5 });
    let mut broken = x(8, 5);
    broken[(2, 1)] = f64::NAN;
    let zeros = Mat::zeros(8, 1);
    for (name, tasks, words) in [
        ("dims.npz", [(x(8, 5), y(8)), (x(8, 4), y(8))], &["task 2", "4"][..]),
        ("zeros.npz", [(x(8, 5), zeros), (x(8, 5), y(8))], &["task 1", "targets are all zero"]),
        ("nan.npz", [(broken, y(8)), (x(8, 5), y(8))], &["NaN"]),
        ("one.npz", [(x(1, 5), y(1)), (x(8, 5), y(8))], &["task 1"]),
        ("columns.npz", [(x(8, 5), x(8, 2)), (x(8, 5), y(8))], &["column"]),
    ] {
        save(name, tasks);
        refused(&home, &format!("forecast --tasks {name}"), words);
    }
}

/// The three regimes by descent, the documented run in small: fixed representations below load 1, then a second task
/// learned but badly generalized while the first is kept, then recovery at the price of forgetting.
#[test]
fn descent_shows_the_three_regimes() {
    let home = Home::new();
    let fixed = "train --heads multi --learners l2 --kappa 0.03 --momentum 0.9 --ratio 0.1 -p 120 --test-examples 200 \
                 --loads 0.5,1.4,5 --seeds 3 --max-steps 6000 --out out";
    home.text_of(fixed);
    let result = home.json("out/train-loads.json");
    let points = result["points"].as_array().unwrap();
    let regimes: Vec<&str> = points.iter().map(|q| q["regime"].as_str().unwrap()).collect();
    assert_eq!(regimes, ["fixed_representations", "overfitting", "generalization"]);
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
    let home = Home::new();
    home.tasks(3, 20);
    let words =
        "train --learners l2 --heads multi --width 100 --max-steps 4000 --tolerance 1e-9 --tasks tasks.npz --out";
    let mut command = home.ebbing();
    command.args(words.split(' ')).arg("killed").stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let checkpoint = home.join("killed/checkpoints/l2_kappa=0.1_-seed0.safetensors");
    while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(checkpoint.exists(), "the run wrote a checkpoint after its first task");
    assert!(!home.join("killed/train.json").exists(), "the run was killed before its end");
    for out in ["whole", "killed"] {
        home.text_of(&format!("{words} {out}"));
    }
    let whole = home.join("whole/checkpoints/l2_kappa=0.1_-seed0.safetensors");
    assert_eq!(std::fs::read(whole).unwrap(), std::fs::read(checkpoint).unwrap());
    assert_eq!(home.json("whole/train.json")["learners"], home.json("killed/train.json")["learners"]);
}

/// Runs that diverge are reported with step, error and a rate that works, and enter no average.
#[test]
fn diverged_runs_are_left_out() {
    let home = Home::new();
    home.tasks(2, 20);
    let fast = "train --tasks tasks.npz --learners gd --width 40 --eta 50";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = home.text_of(fast);
    let said = words(&text);
    assert!(said.contains("Left out: gd-seed0: training diverged on task 1 at step"), "{text}");
    assert!(said.contains("try a learning rate of") && !said.contains("NaN"), "{text}");
    let text = home.text_of(&format!("{fast} --heads multi --loads 1.5"));
    assert_eq!(words(&text).matches("Left out: width20-seed0").count(), 2, "{text}");
    assert!(!text.contains("NaN"), "{text}");
}

/// Half the automatic rate changes losses after the last task by no more than the help says.
#[test]
fn half_the_automatic_rate_changes_little() {
    let home = Home::new();
    let losses = |factor: &str, learner: &str| {
        let (size, out) = ("--length 2 -p 100 --test-examples 50 --width 200", format!("{learner}{factor}"));
        home.text_of(&format!("train {size} --eta-factor {factor} --learners {learner} --out {out}"));
        let run = home.json(&format!("{out}/train.json"))["learners"][0]["runs"][0].clone();
        (run["train_loss"][1][0].as_f64().unwrap(), run["test_loss"][1][1].as_f64().unwrap())
    };
    for learner in ["gd", "l2"] {
        let (one, half) = (losses("1", learner), losses("0.5", learner));
        for (a, b) in [(one.0, half.0), (one.1, half.1)] {
            assert!((a - b).abs() < 0.05 * a, "{learner}: {one:?} {half:?}");
        }
    }
}
