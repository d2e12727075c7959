//! Forecasts of sets whose kernels do not fit into memory: the same numbers through the same door, what is refused there, and
//! a run that is killed.

use crate::support::{Home, done_json, refusal, stderr};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Two tasks of 1000 images take 80 MB in memory (kernels of 8 MB, five at a time, and the images three times), 30 MB in tiles.
const WORDS: &str = "forecast -p 1000 --test-examples 50 --length 2 --depth 3 --json";
const LITTLE: &str = "--memory 38MB";

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

#[track_caller]
fn close(a: &Value, b: &Value) {
    let (a, b) = (numbers(a), numbers(b));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        // What is promised: 1e-6 of losses and order parameters of order 1.
        assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{a} and {b}");
    }
}

#[test]
fn little_memory_gives_the_same_forecast() {
    let home = Home::new();
    for more in [
        "--protocol permuted --order best --ratio 0.3",
        "--protocol permuted --order best --mode ntk",
        "--protocol split --order best --one-hot --classes-per-group 2",
    ] {
        let whole = done_json(&home.run(&format!("{WORDS} {more}")));
        let output = home.run(&format!("{WORDS} {more} {LITTLE}"));
        let tiled = done_json(&output);
        assert!(stderr(&output).contains("do not fit into memory: in tiles"), "{}", stderr(&output));
        let (a, b) = (&tiled["forecast"], &whole["forecast"]);
        close(&a["forgetting"]["mean"], &b["forgetting"]["mean"]);
        close(&a["test"]["loss"]["mean"], &b["test"]["loss"]["mean"]);
        assert_eq!(a["test"]["accuracy"], b["test"]["accuracy"]);
        // In another mode than rf the forgetting of pairs needs kernels in memory, as a note says.
        let absent = more.contains("ntk");
        assert_eq!(a["pairs"][0]["values"]["f21"].is_null(), absent);
        assert_eq!(a["notes"].to_string().contains("F_pair in this mode"), absent);
        for name in ["gamma_rf", "gamma_rule", "cos", "proj", "f21"].into_iter().filter(|n| *n != "f21" || !absent) {
            close(&a["pairs"][0]["values"][name], &b["pairs"][0]["values"][name]);
        }
        let value = |f: &Value| f["pairs"][0]["values"]["gamma_feature"].as_f64().unwrap();
        let error = a["pairs"][0]["detail"]["gamma_feature_error"].as_f64().unwrap();
        // Off by more than five standard errors once in 10⁵ times, with 32 probes.
        assert!((value(a) - value(b)).abs() < 5.0 * error && error < 0.02, "{} {} {error}", value(a), value(b));
        assert!(b["pairs"][0]["detail"].get("gamma_feature_error").is_none());
        let notes = a["notes"].to_string();
        assert!(notes.contains("relative residual") && notes.contains("best order of tasks"), "{notes}");
    }
}

#[test]
fn the_page_says_how_it_was_computed() {
    let home = Home::new();
    let words = WORDS.replace("--json", "--protocol permuted");
    let text = home.text_of(&format!("{words} {LITTLE} --out answer -q"));
    assert!(text.contains("single precision") && text.contains("random probes"), "{text}");
    assert!(home.join("answer/report.html").exists() && !home.join("answer/unfinished").exists());
}

#[test]
fn what_needs_whole_kernels_is_refused() {
    let home = Home::new();
    for (more, said) in [
        ("--variance", "variance is true; must be false: the kernels of these tasks do not fit into memory"),
        ("--bootstrap 20", "--bootstrap is 20; must be 0"),
        ("--shuffles 20", "shuffles is 20; must be 0"),
        ("--depths 1,2", "a list of 2; must be none"),
        ("--replay 5", "replay is"),
    ] {
        let sentence = refusal(&home.run(&format!("{WORDS} --protocol permuted {more} {LITTLE} -q")), 2);
        assert!(sentence.contains(said), "{more}: {sentence}");
    }
    let sentence = refusal(&home.run(&format!("{WORDS} --protocol permuted --memory 1MB -q")), 2);
    assert!(sentence.contains("1.0 MB") || sentence.contains("1 MB are allowed"), "{sentence}");
    for wrong in ["much", "-3GB", "0"] {
        assert!(
            refusal(&home.run(&format!("{WORDS} --protocol permuted --memory={wrong}")), 2).contains("20GiB"),
            "{wrong}"
        );
    }
    assert!(refusal(&home.run(&format!("{WORDS} --protocol permuted --memory 1GB --force")), 2).contains("--force"));
}

/// Waits until a file of the run's folder of finished parts has a name that begins so.
fn finished(home: &Home, child: &mut Child, beginning: &str) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(100) {
        let folders = std::fs::read_dir(home.join("out/unfinished")).into_iter().flatten().flatten();
        let mut files = folders.flat_map(|f| std::fs::read_dir(f.path()).into_iter().flatten().flatten());
        if files.any(|f| f.file_name().to_string_lossy().starts_with(beginning)) {
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

#[test]
fn a_run_that_is_killed_goes_on_and_leaves_nothing() {
    let home = Home::new();
    let words = format!("{WORDS} --protocol permuted {LITTLE} --out out -q");
    let mut whole = done_json(&home.run(&words));
    std::fs::remove_dir_all(home.join("out")).unwrap();
    let mut caught = 0;
    for beginning in ["factor-nngp-task1-1", "first-1", "across", "second", "back"] {
        let mut run = home.ebbing();
        let mut child = run.args(words.split(' ')).stdout(Stdio::null()).spawn().unwrap();
        caught += usize::from(finished(&home, &mut child, beginning));
        let _ = child.kill();
        child.wait().unwrap();
    }
    // A run may be over before it is killed, but not every one.
    assert!(caught >= 2, "{caught}");
    let mut again = done_json(&home.run(&words));
    assert!(!home.join("out/unfinished").exists());
    // Everything but the time of day.
    whole["metadata"].take();
    again["metadata"].take();
    assert_eq!(again, whole);
}

/// The most memory that a run had resident, in bytes; where its own kind of system says so.
#[cfg(target_os = "linux")]
fn peak(home: &Home, words: &str) -> u64 {
    let mut run = home.ebbing();
    #[expect(clippy::zombie_processes, reason = "wait4 waits, which also says what memory was used")]
    let child = run.args(words.split(' ')).stdout(Stdio::null()).spawn().unwrap();
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: waits for the child that was just started, into a place of the right size.
    let ended = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
    assert!(ended > 0 && status == 0, "{words}: {status}");
    // SAFETY: filled by the call above.
    1024 * unsafe { usage.assume_init() }.ru_maxrss as u64
}

/// A bound that is given is kept, in memory and in tiles, with the search for an order and without.
#[cfg(target_os = "linux")]
#[test]
fn a_bound_of_memory_is_kept() {
    /// The program itself, its threads' stacks and buffers, and the embedded images.
    const PROGRAM: u64 = 40 << 20;
    let home = Home::new();
    for (words, megabytes) in [
        ("forecast --protocol permuted -p 1000 --test-examples 0 --length 2", 100),
        ("forecast --protocol permuted -p 1000 --test-examples 0 --length 2", 60),
        ("forecast --protocol permuted -p 600 --test-examples 0 --length 5 --mode ntk", 130),
        ("forecast --protocol permuted -p 1000 --test-examples 0 --length 4", 180),
    ] {
        let most = peak(&home, &format!("{words} --memory {megabytes}MB -q"));
        assert!(most <= 1_000_000 * megabytes + PROGRAM, "{words} in {megabytes} MB: {most} bytes");
    }
}
