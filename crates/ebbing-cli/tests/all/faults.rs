//! Nothing wrong in silence, no panic, no abort: settings that are used or refused, memory that is not there, odd paths and
//! closed or full devices.

use crate::support::{Home, PROGRAM, clean, done, done_json, ebbing_in, refusal, run};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The one sentence of a run that was refused for its settings.
fn refused(words: &str) -> String {
    refusal(&run(words), 2)
}

#[test]
fn phase_uses_its_flags_or_refuses_them() {
    for (words, said) in [
        ("phase --sweep perm --ratio 0.3", "--ratio is 0.3; is what is swept: give the values by --values"),
        ("phase --sweep target --rho-target 0.3", "--rho-target is 0.3; is what is swept"),
        ("phase --ratio 0.3 --values 0.1,0.2", "--values is 0.1; belongs to a sweep"),
        ("phase --protocol split --seeds 3", "--seeds is 3; belongs to a sweep"),
        ("phase --length 3 --curves 0.1", "--curves is 0.1; belongs to a sweep"),
        ("phase --width 0.5", "--width is 0.5; must be a number of units"),
        ("phase --ratio -0.5", "ratio is -0.5; must lie in [0, 1]"),
        ("phase --lambda 1e400", "is too large; write inf for infinity"),
    ] {
        let sentence = refused(words);
        assert!(sentence.contains(said), "{words}: {sentence}");
    }
    let home = Home::new();
    let words = "phase --protocol split --width 50 -p 60 --test-examples 20 --alpha 0.5,2 --json";
    let place = done_json(&home.run(words));
    assert_eq!(place["location"]["alpha"], 1.2);
    assert_eq!(place["metadata"]["settings"]["tasks"]["protocol"]["kind"], "split");
    let tasks = home.tasks(2, 40).display().to_string();
    let sentence = refusal(&home.run(&format!("phase --tasks {tasks} --seeds 3")), 2);
    assert!(sentence.contains("--seeds is 3"), "{sentence}");
}

#[test]
fn numbers_out_of_range_are_refused_for_their_value() {
    for (words, said) in [
        ("sample --sigma=-1", "--sigma is -1; must be positive and finite"),
        ("sample --warmup 5", "warmup is 5; must be at least 10"),
        ("sample --warmup 18446744073709551615", "must be at most 10000000"),
        ("sample --chains 18446744073709551615", "must be at most 10000"),
        ("forecast --sigma 1e400", "is too large"),
        ("forecast --depth 1000000000", "depth is 1000000000; must lie in 1 … 10000"),
        ("forecast --depth -1", "-1"),
        ("forecast --protocol permuted --length 18446744073709551615", "must be at most 100000"),
        ("forecast --seeds 18446744073709551615", "--seeds is 18446744073709551615; must be at least 1 and at most"),
        ("train --loads=1e-300 --heads multi --learners l2", "would take about"),
        ("train --width 18446744073709551615", "would take about"),
        ("forecast --protocol permuted -p 120000000000 --length 5", "would take about"),
        ("phase -p 400000000", "would take about"),
        ("sample -p 400000000", "would take about"),
    ] {
        let sentence = refused(words);
        assert!(sentence.contains(said), "{words}: {sentence}");
    }
}

#[test]
fn forced_or_not_sizes_that_no_machine_holds_end_in_a_sentence() {
    for words in ["train --width 18446744073709551615 --force", "train --width 4611686018427387904 --force --depth 2"] {
        let sentence = refused(words);
        assert!(sentence.contains("weights, more than any machine holds"), "{words}: {sentence}");
    }
}

/// Runs the program with at most this many kilobytes of addresses.
fn limited(home: &Home, kilobytes: usize, words: &str) -> Output {
    let script = format!("ulimit -v {kilobytes}; exec \"$0\" {words}");
    clean("/bin/sh", home.path()).args(["-c", &script, PROGRAM]).output().unwrap()
}

#[test]
fn a_limit_of_addresses_is_heeded_and_its_breach_reported() {
    let home = Home::new();
    let words = "forecast --protocol permuted -p 2000 --length 2 --test-examples 0 --threads 1";
    // Too little for tiles of kernels, too.
    let sentence = refusal(&limited(&home, 90_000, words), 2);
    assert!(sentence.contains("left by ulimit -v") && sentence.contains("examples per task would fit"), "{sentence}");
    // Forced all the same: wherever memory runs out, it is said, and nothing aborts.
    let mut exhausted = 0;
    for kilobytes in (60_000..260_000).step_by(40_000) {
        let output = limited(&home, kilobytes, &format!("{words} --force"));
        match output.status.code() {
            Some(0) => {}
            Some(1) => exhausted += usize::from(refusal(&output, 1).contains("memory is exhausted")),
            other => panic!("{kilobytes} kB: {other:?} {}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    assert!(exhausted > 0);
}

#[test]
fn every_large_allocation_may_fail() {
    let home = Home::new();
    let failing = |n: usize| {
        let mut command = home.ebbing();
        command.args([
            "forecast",
            "--protocol",
            "permuted",
            "-p",
            "400",
            "--length",
            "2",
            "--threads",
            "1",
            "--quiet",
            "--out",
            "out",
        ]);
        command.env("EBBING_FAIL_ALLOCATION", n.to_string()).output().unwrap()
    };
    let mut n = 1;
    loop {
        let output = failing(n);
        if output.status.code() == Some(0) {
            break;
        }
        assert!(refusal(&output, 1).contains("memory is exhausted"), "allocation {n}");
        // Powers of 1.3: some thirty of the several hundred.
        n += 1 + n * 3 / 10;
    }
    assert!(n > 10, "only {n} large allocations");
}

#[test]
fn every_step_of_writing_may_fail() {
    let home = Home::new();
    let tasks = home.tasks(2, 30).display().to_string();
    // A result without test data is there, and a file of the user's own.
    done(&home.run("forecast --protocol permuted -p 20 --length 2 --test-examples 0 --quiet --out out"));
    home.write("out/notes.txt", "own");
    let before = contents(&home.join("out"));
    let mut n = 1;
    loop {
        let mut command = home.ebbing();
        command
            .args(["forecast", "--tasks", &tasks, "--quiet", "--out", "out"])
            .env("EBBING_FAIL_WRITE", n.to_string());
        let output = command.output().unwrap();
        if output.status.code() == Some(0) {
            break;
        }
        let sentence = refusal(&output, 1);
        assert!(sentence.contains("out") && sentence.contains("space"), "write {n}: {sentence}");
        assert_eq!(contents(&home.join("out")), before, "write {n}: {sentence}");
        n += 1;
    }
    assert!(n > 20, "only {n} steps");
    assert_ne!(contents(&home.join("out")), before);
}

/// Every entry of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap_or_default())).collect()
}

/// The names of the entries of a folder.
fn listed(folder: &Path) -> Vec<OsString> {
    contents(folder).into_keys().collect()
}

#[test]
fn a_result_replaces_all_of_the_one_before() {
    let home = Home::new();
    let with = "forecast --protocol permuted -p 20 --length 3 --test-examples 20 --quiet --out";
    let without = "forecast --protocol permuted -p 20 --length 2 --test-examples 0 --quiet --out";
    done(&home.run(&format!("{with} out")));
    home.write("out/notes.txt", "own");
    let tested = listed(&home.join("out"));
    done(&home.run(&format!("{without} out")));
    done(&home.run(&format!("{without} fresh")));
    home.write("fresh/notes.txt", "own");
    let left = listed(&home.join("out"));
    assert_eq!(left, listed(&home.join("fresh")));
    assert!(left.len() < tested.len(), "test data have files of their own: {tested:?}");
}

#[test]
fn a_result_that_cannot_be_written_whole_changes_nothing() {
    let home = Home::new();
    let words = "forecast --protocol permuted -p 20 --length 3 --test-examples 20 --quiet --out out";
    done(&home.run("forecast --protocol permuted -p 20 --length 2 --test-examples 0 --quiet --out out"));
    home.write("out/notes.txt", "own");
    let before = contents(&home.join("out"));
    // No file may be longer than 20 kB: the program hears of it, or is killed in the middle of a file.
    let limited = |prepare: &str| {
        let script = format!("{prepare} ulimit -f 40; exec \"$0\" {words}");
        clean("/bin/sh", home.path()).args(["-c", &script, PROGRAM]).output().unwrap()
    };
    let sentence = refusal(&limited("trap '' XFSZ;"), 1);
    assert!(sentence.starts_with("out/") && !sentence.contains("/."), "{sentence}");
    assert_eq!(contents(&home.join("out")), before);
    assert_eq!(limited("").status.code(), None, "killed");
    let mut after = contents(&home.join("out"));
    after.retain(|name, _| name != ".ebbing-lock" && name != ".ebbing-new");
    assert_eq!(after, before);
    // A folder of the user's stands where a file should go.
    fs::create_dir_all(home.join("in-the-way/report.html/kept")).unwrap();
    let said = refusal(
        &home.run("forecast --protocol permuted -p 20 --length 2 --test-examples 0 --quiet --out in-the-way"),
        2,
    );
    assert!(said.contains("report.html"), "{said}");
    assert_eq!(listed(&home.join("in-the-way")), ["report.html"]);
    assert!(home.join("in-the-way/report.html/kept").is_dir());
    // What the killed run left is no hindrance, and goes.
    done(&home.run(words));
    done(&home.run(&words.replace("--out out", "--out fresh")));
    home.write("fresh/notes.txt", "own");
    assert_eq!(listed(&home.join("out")), listed(&home.join("fresh")));
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_no_folder() {
    let home = Home::new();
    std::os::unix::fs::symlink("gone", home.join("out")).unwrap();
    let said = refusal(&home.run("forecast --protocol permuted -p 20 --length 2 --out out"), 2);
    assert!(said.contains("--out is out; must be a folder; it is a link that leads nowhere"), "{said}");
}

#[test]
fn odd_paths_work() {
    let home = Home::new();
    let odd = home.path().join(OsStr::from_bytes(b"t\xffsk \n1.npz"));
    fs::rename(home.tasks(2, 30), &odd).unwrap();
    let out = home.path().join(OsStr::from_bytes(b"\xfeout"));
    for command in ["forecast", "phase", "check"] {
        let mut words = home.ebbing();
        words.arg(command);
        if command == "check" {
            words.arg(&odd);
        } else {
            words.arg("--tasks").arg(&odd).arg("--out").arg(&out);
        }
        let output = words.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(out.join("forecast.json").is_file() && out.join("phase.json").is_file());
    let missing = home.path().join(OsStr::from_bytes(b"n\xffne\n.npz"));
    let sentence = refusal(&home.ebbing().args(["forecast", "--tasks"]).arg(missing).output().unwrap(), 2);
    assert!(!sentence.chars().any(char::is_control), "{sentence:?}");
    let sentence = refusal(&home.ebbing().args(["forecast", "--tasks", &"x".repeat(300)]).output().unwrap(), 2);
    assert!(sentence.len() < 600, "{sentence}");
}

#[test]
fn closed_and_full_devices() {
    let home = Home::new();
    let shell = |script: &str| clean("/bin/sh", home.path()).args(["-c", script, PROGRAM]).output().unwrap();
    let closed = shell("exec \"$0\" cite >&-");
    assert!(refusal(&closed, 1).contains("standard output is closed"), "{closed:?}");
    assert_eq!(shell("exec \"$0\" cite >/dev/null").status.code(), Some(0));
    let null = Command::new(PROGRAM).arg("cite").stdout(Stdio::null()).status().unwrap();
    assert_eq!(null.code(), Some(0));
    if std::path::Path::new("/dev/full").exists() {
        assert_eq!(shell("exec \"$0\" cite >/dev/full").status.code(), Some(1));
        // Nobody can be informed, but the code is that of the fault.
        assert_eq!(shell("exec \"$0\" forecast --depth 0 2>/dev/full").status.code(), Some(2));
        assert_eq!(shell("exec \"$0\" forecast --depth 0 2>&-").status.code(), Some(2));
    }
}

#[test]
fn threads_are_bounded_and_that_is_said() {
    let home = Home::new();
    let cores = std::thread::available_parallelism().unwrap().get();
    let words = ["forecast", "--protocol", "permuted", "-p", "20", "--length", "2", "--test-examples", "0", "--json"];
    let by_flag = home.ebbing().args(words).args(["--threads", "100000"]).output().unwrap();
    let by_variable = home.ebbing().args(words).env("RAYON_NUM_THREADS", "100000").output().unwrap();
    for output in [&by_flag, &by_variable] {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(&format!("this machine has {cores} cores")), "{said}");
    }
    let plain = done_json(&home.ebbing().args(words).output().unwrap());
    assert_eq!(done_json(&by_flag)["forgetting"], plain["forgetting"]);
    refusal(&home.run("forecast --threads 0"), 2);
}

#[test]
fn a_folder_for_results_is_tried_before_the_work_and_held_during_it() {
    let home = Home::new();
    home.write("file", "in the way");
    refusal(&home.run("forecast --out file/below"), 2);
    refusal(&home.run("forecast --out file"), 2);
    // Work that fails leaves no folder behind.
    refusal(&home.run("forecast --data no-such-set --out new/deep"), 2);
    assert!(!home.join("new").exists());
    let slow = ["sample", "-p", "20", "--draws", "100000", "--no-whiten", "--quiet", "--out", "out"];
    let mut first = ebbing_in(home.path()).args(slow).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let lock = home.join("out/.ebbing-lock");
    while !fs::read_to_string(&lock).is_ok_and(|who| who.contains("process")) {
        assert!(first.try_wait().unwrap().is_none(), "it ended before it took its folder");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let sentence = refusal(&home.run("forecast --protocol permuted -p 20 --length 2 --out out"), 2);
    assert!(sentence.contains(&format!("in use by process {}", first.id())), "{sentence}");
    first.kill().unwrap();
    first.wait().unwrap();
    done(&home.run("forecast --protocol permuted -p 20 --length 2 --out out"));
    assert!(!lock.exists());
}

#[test]
fn files_in_another_encoding_and_endless_numbers_are_bad_input() {
    let home = Home::new();
    let file = |name: &str, bytes: &[u8]| {
        let path = home.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let latin = file("latin.toml", b"# tasks of Andr\xe9\nlength = 2\n");
    let endless = file("endless.toml", b"command = \"forecast\"\nseeds = [0]\n[grid]\nsigma = [1e400]\n");
    for (words, said) in [
        (format!("forecast --tasks {latin}"), "latin.toml"),
        (format!("study run {latin} --out s"), "latin.toml"),
        (format!("study run {endless} --out s"), "line 4"),
    ] {
        let sentence = refusal(&home.run(&words), 2);
        assert!(sentence.contains(said), "{words}: {sentence}");
    }
    // A check says what is wrong on standard output.
    assert_eq!(home.run(&format!("check {latin}")).status.code(), Some(2));
}

#[test]
fn readouts_have_their_own_prior_where_there_is_one_for_each() {
    for (words, said) in [
        ("phase --sigma-readout 0", "--sigma-readout is 0; must be positive and finite"),
        ("phase --readout-norm -1", "--readout-norm is -1; must be positive and finite"),
        ("phase --readout-norm 1 --beta 10", "--readout-norm is 1; needs --beta inf"),
        ("sample --heads single --sigma-readout 1", "--sigma-readout is 1; belongs to --heads multi"),
        ("advise --width 0.5", "--width is 0.5; must be a number of units"),
    ] {
        let sentence = refused(words);
        assert!(sentence.contains(said), "{words}: {sentence}");
    }
    let home = Home::new();
    let points = |more: &str| {
        let words = format!("phase --ratio 0.3 -p 60 --test-examples 20 --alpha 0.5,1.5 --json {more}");
        done_json(&home.run(&words))["curves"][0]["points"].clone()
    };
    // λ = ∞ and a load of 1.5: free readouts grow without bound, bounded ones do not, and then task 1 is forgotten.
    let (free, bounded) = (points(""), points("--readout-norm 2"));
    assert_eq!(free[1]["g22"]["exponent"], 0.5);
    assert_eq!(bounded[1]["g22"]["exponent"], 0.0);
    assert_eq!(bounded[1]["factors"]["u22"]["coefficient"], 2.0);
    assert!(bounded[1]["f21"]["coefficient"].as_f64().unwrap() > 1e-3);
    let shorter = points("--sigma-readout 0.5");
    let norm = |points: &serde_json::Value| points[0]["factors"]["u22"]["coefficient"].as_f64().unwrap();
    assert!(norm(&shorter) < norm(&free), "{} {}", norm(&shorter), norm(&free));
}

#[test]
fn the_help_of_sample_has_its_own_defaults() {
    let help = done(&run("sample --help")).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "Number of tasks [default: 2]",
        "Training examples per task [default: 40]",
        "partial split: the split [default: 0.3]",
    ] {
        assert!(help.contains(words), "{words}: {help}");
    }
}

#[test]
fn a_flag_of_another_command_is_named_as_such() {
    let said = refused("phase --features layer.npz");
    let expected = "unexpected argument '--features'; it belongs to ebbing forecast, ebbing advise, ebbing check and ebbing explore (see ebbing phase --help)";
    assert_eq!(said, expected);
    let said = refused("phase --rato 0.3");
    assert!(said.contains("a similar argument exists: '--ratio'"), "{said}");
}
