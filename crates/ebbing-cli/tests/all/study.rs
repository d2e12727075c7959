//! `ebbing study`: the same bytes whatever happens on the way, and clear words where it cannot go on.

use crate::support::{self, Home, PROGRAM, clean, done, done_json, ebbing_in, refusal, skipped};
use ebbing::TaskSequence;
use ebbing::rng::Stream;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// A study of 64 fast cells, written to `study.toml`.
fn small(home: &Home) -> PathBuf {
    let tasks = home.tasks(3, 20);
    let text = format!(
        "command = \"forecast\"\nname = \"small\"\nseeds = 8\n[settings]\ntasks = \"{}\"\n\
         [grid]\nmax_p = [12, 20]\ndepth = [1, 2]\nsigma = {{ logspace = [0.5, 2.0, 2] }}\n",
        tasks.display()
    );
    home.write("study.toml", text)
}

fn run(file: &Path, out: &Path, more: &[&str]) -> Output {
    ebbing_in(file.parent().unwrap())
        .args(["study", "run"])
        .arg(file)
        .arg("--out")
        .arg(out)
        .args(more)
        .output()
        .unwrap()
}

/// The collected bytes: CSV and Parquet.
fn bytes(out: &Path) -> [Vec<u8>; 2] {
    ["small.csv", "small.parquet"].map(|name| fs::read(out.join(name)).unwrap())
}

/// A run in the background, silent.
fn started(file: &Path, out: &Path, more: &[&str]) -> Child {
    let mut command = ebbing_in(file.parent().unwrap());
    command.args(["study", "run"]).arg(file).arg("--out").arg(out).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The files of a folder, in order; none where it is not there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let mut all: Vec<PathBuf> = entries.unwrap_or_default();
    all.sort();
    all
}

/// The file of a cell, found by its settings.
fn cell_of(out: &Path, settings: &serde_json::Value) -> PathBuf {
    let holds = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let content: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
        content["cell"] == *settings
    };
    files(&out.join("cells")).into_iter().find(holds).expect("a cell with these settings")
}

fn status(out: &Path) -> serde_json::Value {
    done_json(&ebbing_in(out.parent().unwrap()).args(["study", "status", "--json"]).arg(out).output().unwrap())
}

#[test]
fn kills_at_any_moment_lose_nothing_and_change_nothing() {
    let folder = Home::new();
    let file = small(&folder);
    let reference = folder.join("reference");
    let begin = Instant::now();
    done(&run(&file, &reference, &["--threads", "2"]));
    let whole = begin.elapsed();
    let expected = bytes(&reference);

    let out = folder.join("killed");
    let mut stream = Stream::new(3, "moments", 0);
    let (mut kills, mut ends, mut kept) = (0, 0, 0);
    while kills < 25 || ends == 0 {
        let mut child = started(&file, &out, &["--threads", "2"]);
        // Up to half of what a whole run takes: most runs are killed at work, a few come to their end.
        std::thread::sleep(whole.mul_f64(0.5 * stream.uniform()));
        if kills < 25 && child.try_wait().unwrap().is_none() {
            // SIGKILL.
            child.kill().unwrap();
            kills += 1;
        }
        if child.wait().unwrap().success() {
            assert_eq!(bytes(&out), expected, "after {kills} kills");
            ends += 1;
            fs::remove_dir_all(&out).unwrap();
            kept = 0;
        } else if out.join("study.json").exists() {
            // What was done stays done.
            let now = status(&out)["counts"]["done"].as_i64().unwrap();
            assert!(now >= kept, "{now} cells after {kept}");
            kept = now;
        }
    }
    assert!(kills >= 25 && ends >= 1);
}

#[test]
fn threads_and_shards_make_the_same_bytes() {
    let folder = Home::new();
    let file = small(&folder);
    let at = |name: &str| folder.join(name);
    let answer = done(&run(&file, &at("one"), &["--threads", "1"]));
    assert!(answer.contains("Study small: 64 cells computed, 0 were there, 64 in all"), "{answer}");
    done(&run(&file, &at("two"), &["--threads", "2"]));
    // Both halves at once, in one folder.
    let mut halves = ["1/2", "2/2"].map(|shard| started(&file, &at("halves"), &["--shard", shard]));
    halves.iter_mut().for_each(|half| assert!(half.wait().unwrap().success()));
    assert!(!at("halves").join("small.csv").exists());
    let answer = done(&folder.ebbing().args(["study", "collect"]).arg(at("halves")).output().unwrap());
    assert!(answer.contains("384 rows of 64 cells"), "{answer}");
    assert_eq!(bytes(&at("one")), bytes(&at("two")));
    assert_eq!(bytes(&at("one")), bytes(&at("halves")));
    let again = done(&run(&file, &at("halves"), &[]));
    assert!(again.contains("0 cells computed, 64 were there"), "{again}");
    assert_eq!(bytes(&at("one")), bytes(&at("halves")));

    let plot = |more: &[&str]| {
        let columns = ["--x", "max_p", "--y", "forgetting", "--by", "depth", "--where", "sigma=0.5"];
        folder.ebbing().args(["study", "plot"]).arg(at("one")).args(columns).args(more).output().unwrap()
    };
    let said = refusal(&plot(&[]), 2);
    assert!(said.contains("--where COLUMN=VALUE") && said.contains("t, s"), "{said}");
    let answer = done(&plot(&["--where", "t=3", "--where", "s=1", "--logx"]));
    assert!(answer.replace('\n', " ").contains("standard errors of up to 8 seeds"), "{answer}");
    for ending in ["svg", "png"] {
        assert!(at("one").join(format!("forgetting-against-max_p.{ending}")).is_file());
    }
    let said = refusal(&plot(&["--where", "tt=3"]), 2);
    assert!(said.contains("`tt`") && said.contains("nearest known one is `t`"), "{said}");
}

#[test]
fn the_plot_of_the_help_s_own_example_works() {
    let home = Home::new();
    let text = "command = \"forecast\"\nname = \"depths\"\nseeds = 2\n[settings]\nprotocol = \"permuted\"\nlength = 2\nexamples = 12\n\
                test_examples = 0\nno_whiten = true\n[grid]\ndepth = [1, 2]\nratio = [0.5, 1.0]\n";
    done(&run(&home.write("depths.toml", text), &home.join("depths"), &[]));
    for help in ["study --help", "study plot --help"] {
        let answer = home.text_of(help).replace("\\\n", " ");
        let example = answer.lines().find_map(|line| line.trim().strip_prefix("ebbing study plot ")).expect(help);
        assert!(home.text_of(&format!("study plot {example}")).contains("standard errors"), "{example}");
    }
}

#[test]
fn a_folder_in_use_is_refused_until_its_run_ends() {
    let folder = Home::new();
    // Long enough to be met at work; it is killed.
    let text = "command = \"sample\"\nseeds = 2\n[settings]\ndraws = 100000\nexamples = 20\nno_whiten = true\n";
    let file = folder.write("slow.toml", text);
    let out = folder.join("out");
    let mut first = started(&file, &out, &["--threads", "1"]);
    let begin = Instant::now();
    while files(&out.join("running")).is_empty() && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = refusal(&run(&file, &out, &[]), 2);
    assert!(said.contains(&format!("in use by process {}", first.id())), "{said}");
    refusal(&run(&file, &out, &["--shard", "1/2"]), 2);
    let counts = status(&out)["counts"].clone();
    assert_eq!((&counts["running"], &counts["missing"]), (&1.into(), &1.into()));
    first.kill().unwrap();
    first.wait().unwrap();
    // The lock went with its process.
    assert_eq!(status(&out)["counts"]["missing"], 2);
    let mut second = started(&file, &out, &["--shard", "1/2", "--threads", "1"]);
    let begin = Instant::now();
    while status(&out)["counts"]["running"] != 1 && begin.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(status(&out)["counts"]["running"], 1);
    // The other shard may work beside it, the same one may not.
    let said = refusal(&run(&file, &out, &["--shard", "1/2"]), 2);
    assert!(said.contains("in use by"), "{said}");
    second.kill().unwrap();
    second.wait().unwrap();
}

#[test]
fn damaged_and_foreign_folders_are_reported() {
    let folder = Home::new();
    let file = small(&folder);
    let out = folder.join("out");
    done(&run(&file, &out, &[]));
    let expected = bytes(&out);
    // The fifth cell: the grid's first point with its fifth seed.
    let settings = |depth: i64, seed: u64| serde_json::json!({ "settings": { "depth": depth, "max_p": 12, "sigma": 0.5 }, "seed": seed });
    let cell = cell_of(&out, &settings(1, 4));
    // Another cell's file in its place is reported, and computed again.
    let sound = fs::read(&cell).unwrap();
    fs::copy(cell_of(&out, &settings(2, 4)), &cell).unwrap();
    assert_eq!(status(&out)["counts"]["damaged"], 1);
    let said = status(&out)["troubles"].to_string();
    assert!(said.contains("holds the rows of another cell (depth = 2, max_p = 12, sigma = 0.5, seed 4)"), "{said}");
    assert!(done(&run(&file, &out, &[])).contains("1 cells computed, 63 were there"));
    assert_eq!((fs::read(&cell).unwrap() == sound, bytes(&out) == expected), (true, true));
    let sound = fs::read(&cell).unwrap();
    fs::write(&cell, &sound[..sound.len() / 2]).unwrap();
    let said = refusal(&folder.ebbing().args(["study", "collect"]).arg(&out).output().unwrap(), 2);
    assert!(said.contains("1 of 64 cells are not there (the first is cell 5)"), "{said}");
    assert_eq!(status(&out)["counts"]["damaged"], 1);
    let output = run(&file, &out, &[]);
    let noted = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(noted.contains(".json: its checksum differs") && noted.contains("computed again"), "{noted}");
    assert!(done(&output).contains("1 cells computed, 63 were there"));
    assert_eq!(bytes(&out), expected);

    let other = fs::read_to_string(&file).unwrap().replace("max_p = [12, 20]", "max_p = [12, 21]");
    let other = folder.write("other.toml", &other);
    let said = refusal(&run(&other, &out, &[]), 2);
    assert!(said.contains("max_p is 20; this study has 21"), "{said}");
    // The tasks themselves count as settings.
    let mut changed = fs::read(folder.join("tasks.npz")).unwrap();
    changed.extend([0, 0, 0]);
    let kept = fs::read(folder.join("tasks.npz")).unwrap();
    fs::write(folder.join("tasks.npz"), changed).unwrap();
    let said = refusal(&run(&file, &out, &[]), 2);
    assert!(said.contains("settings.files"), "{said}");
    fs::write(folder.join("tasks.npz"), kept).unwrap();
    done(&run(&file, &out, &[]));
    assert_eq!(bytes(&out), expected);
    let said = refusal(&folder.ebbing().args(["study", "status"]).arg(folder.path()).output().unwrap(), 2);
    assert!(said.contains("study.json is not there"), "{said}");
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_what_is_there() {
    let folder = Home::new();
    let tasks = folder.tasks(3, 20);
    let sequence = TaskSequence::load(&tasks).unwrap();
    let two = TaskSequence::new(sequence.tasks[..2].to_vec()).unwrap();
    two.save_npz(&tasks).unwrap();
    // The second cell's file is too large for a disk on which the first one's fits.
    let text = format!(
        "command = \"phase\"\nname = \"small\"\n[settings]\ntasks = \"{}\"\n[grid]\nalpha = [\"0.5,2\", \"0.1:10:400\"]\n",
        tasks.display()
    );
    let file = folder.write("study.toml", &text);
    let shell = |program: &str| clean(program, folder.path());
    let check = |output: &Output, out: &Path, words: &str| {
        let said = refusal(output, 1);
        assert!(said.contains(words) && said.contains("finished cells are kept"), "{said}");
        let there = files(&out.join("cells"));
        assert!(there.len() == 1 && there[0].extension().is_some_and(|ending| ending == "json"), "{there:?}");
    };
    // Files of at most 32 blocks of 512 bytes: the write fails half-way, as on a disk that fills up.
    let out = folder.join("limited");
    let script = "trap '' XFSZ; ulimit -f 32; exec \"$0\" study run \"$1\" --out \"$2\" --threads 1";
    let output = shell("/bin/sh").args(["-c", script, PROGRAM]).args([&file, &out]).output().unwrap();
    check(&output, &out, "File too large");
    let answer = done(&run(&file, &out, &[]));
    assert!(answer.contains("1 cells computed, 1 were there"), "{answer}");
    // A disk of 48 kB that really is full, where the system lets users mount one.
    let (disk, kept) = (folder.join("disk"), folder.join("kept"));
    fs::create_dir_all(&disk).unwrap();
    fs::create_dir_all(&kept).unwrap();
    let script = "mount -t tmpfs -o size=48k none \"$2\" || exit 77
        \"$0\" study run \"$1\" --out \"$2/out\" --threads 1; code=$?; cp -a \"$2/out\" \"$3/out\"; exit $code";
    let mut command = shell("unshare");
    let output = command.args(["-rm", "/bin/sh", "-c", script, PROGRAM]).args([&file, &disk, &kept]).output();
    match output {
        Ok(output)
            if output.status.code() != Some(77) && !String::from_utf8_lossy(&output.stderr).contains("unshare") =>
        {
            check(&output, &kept.join("out"), "No space left on device");
        }
        _ => skipped("a_full_disk_ends_the_run_and_keeps_what_is_there: no small file system can be mounted here"),
    }
}

#[test]
fn bad_files_are_refused_before_anything_is_written() {
    let folder = Home::new();
    let out = folder.join("out");
    for (text, words) in [
        ("command = \"forecast\"\n[settings]\ndepht = 2\n", &["`depht`", "nearest known one is `depth`"][..]),
        ("command = \"forecast\"\n[grid]\ndepth = [1, \"two\"]\n", &["line 3", "at depth = two", "whole number"]),
        ("command = \"forecast\"\n[grid]\ndepth = [0]\n", &["at depth = 0", "depth is 0"]),
        ("command = \"forecast\"\n[settings]\nratio = 0.5\nprotocol = \"split\"\n", &["ratio is 0.5", "permuted"]),
        (
            "command = \"forecast\"\n[settings]\nexamples = 99999\nprotocol = \"permuted\"\n",
            &["line 3", "examples is 99999", "4000"],
        ),
        ("command = \"forecast\"\n[settings]\nbootstrap = 5\n", &["line 3", "bootstrap is 5", "from 20 to 1e9"]),
        ("command = \"forecast\"\n[settings]\nshuffles = 2000000000\n", &["line 3", "shuffles is 2", "from 20 to 1e9"]),
        (
            "command = \"forecast\"\n[settings]\nreplay = 9999\nprotocol = \"permuted\"\n",
            &["line 3", "replay is 9999", "at most 1000"],
        ),
        ("command = \"forecast\"\n[settings]\nridge = -1\n", &["ridge is -1", "at least 0"]),
        ("command = \"forecast\"\n[settings]\nmax_p = 0\n", &["max_p is 0", "at least 1"]),
        ("command = \"phase\"\n[settings]\nlength = 1\n", &["length is 1", "at least 2"]),
        ("command = \"phase\"\n[settings]\npair = [2, 9]\n", &["pair is 2,9", "from 1 to 5"]),
        ("command = \"advise\"\n[settings]\nlength = 1\n", &["length is 1", "at least 2"]),
        ("command = \"advise\"\n[settings]\nbudget = 9999\n", &["budget is 9999", "at most 600"]),
        ("command = \"advise\"\n[settings]\nmode = \"gibbs\"\n", &["line 3", "mode is gibbs", "rf, ntk or lazy"]),
        ("command = \"forecast\"\n[settings]\norder = [1, 1, 2, 3, 4]\n", &["line 3", "order is 1,1,2,3,4"]),
        ("command = \"train\"\n[settings]\nprinted = 3\n", &["printed is 3", "true or false"]),
        ("command = \"forecast\"\nseeds = 10001\n", &["10001 cells", "--yes"]),
        ("command = \"forecast\"\n[settings]\ntasks = \"absent.npz\"\n", &["absent.npz"]),
        ("command = \"forecast\"\n[settings]\ndata = \"no-such-set\"\n", &["no-such-set"]),
    ] {
        let file = folder.write("bad.toml", text);
        let said = refusal(&run(&file, &out, &[]), 2);
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
        assert!(!out.exists(), "{text}");
    }
    let given =
        format!("command = \"forecast\"\nseeds = 2\n[settings]\ntasks = \"{}\"\n", folder.tasks(3, 20).display());
    let said = refusal(&run(&folder.write("given.toml", &given), &out, &[]), 2);
    assert!(said.contains("seed is 1; these tasks are given"), "{said}");
    let many = folder.write("many.toml", "command = \"phase\"\n[grid]\nratio = { linspace = [0, 1, 10001] }\n");
    let answer = done(&run(&many, &out, &["--dry-run", "--yes"]));
    assert!(answer.contains("10001") && answer.contains("core-hours") && answer.contains("memory"), "{answer}");
    assert!(answer.lines().all(|line| line.chars().count() <= 80), "{answer}");
    assert!(!out.exists());
    refusal(&run(&many, &out, &["--shard", "3/2"]), 2);
    refusal(&run(&folder.join("absent.toml"), &out, &[]), 2);
}

#[test]
fn every_command_has_rows_and_failures_are_recorded() {
    let folder = Home::new();
    let tasks = folder.tasks(3, 20);
    let tasks = tasks.display();
    for (name, text, columns) in [
        ("p", "command = \"phase\"\n[settings]\nexamples = 40\ntest_examples = 20\nalpha = [0.5, 2.0]\nno_whiten = true\n[grid]\nratio = [0.1]\n".to_string(), "ratio,seed,lambda,alpha,regime,u11"),
        ("t", format!("command = \"train\"\n[settings]\ntasks = \"{tasks}\"\nwidth = 20\nlearners = [\"gd\", \"l2\"]\nmax_steps = 50\n[grid]\nkappa = [0.1]\n"), "kappa,seed,learner,t,s,train_loss"),
        ("s", format!("command = \"sample\"\n[settings]\ntasks = \"{tasks}\"\nwidth = 10\nchains = 2\nwarmup = 10\ndraws = 10\n"), "seed,t,s,u1,u1_se"),
        ("a", format!("command = \"advise\"\n[settings]\ntasks = \"{tasks}\"\n[grid]\ndepth = [1, 2]\n"), "depth,seed,kind,remedy,accuracy,task_known,applies,accuracy_gain"),
    ] {
        let file = folder.write(&format!("{name}.toml"), &text);
        let out = folder.join(name);
        done(&run(&file, &out, &[]));
        let csv = fs::read_to_string(out.join(format!("{name}.csv"))).unwrap();
        let head = csv.lines().find(|line| !line.starts_with('#')).unwrap();
        assert!(head.starts_with(columns), "{head}");
    }
    let text = format!(
        "command = \"train\"\n[settings]\ntasks = \"{tasks}\"\nwidth = 20\nlearners = \"gd\"\nmax_steps = 50\n[grid]\neta = [1e6, 1e-3]\n"
    );
    let file = folder.write("eta.toml", &text);
    let out = folder.join("eta");
    let output = run(&file, &out, &["--quiet"]);
    // What there is is collected, and the failure reported.
    let said = support::stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(fs::read_to_string(out.join("eta.csv")).unwrap().lines().filter(|l| !l.starts_with('#')).count(), 1 + 6);
    assert!(said.contains("1 of 2 cells failed; the first, cell 1: training diverged"), "{said}");
    let status = status(&out);
    assert_eq!((&status["counts"]["done"], &status["counts"]["failed"]), (&1.into(), &1.into()));
    assert!(status["troubles"][0]["why"].as_str().unwrap().contains("diverged"));
    let answer = done(&folder.ebbing().args(["study", "collect", "--partial"]).arg(&out).output().unwrap());
    assert!(answer.contains("of 1 cells"), "{answer}");
}

#[test]
fn submitting_writes_an_array_for_what_is_missing() {
    let folder = Home::new();
    let file = small(&folder);
    let out = folder.join("out");
    done(&run(&file, &out, &["--cells", "1-60"]));
    let submit = |more: &[&str]| {
        let mut command = folder.ebbing();
        command.args(["study", "submit", "--slurm"]).arg(&file).arg("--out").arg(&out).args(more);
        command
    };
    let more = ["--write-only", "--cells-per-task", "3", "--partition", "short", "--option=--account=mine"];
    let answer = done(&submit(&more).output().unwrap());
    assert!(answer.contains("4 of 64 cells are missing") && answer.contains("2 array tasks"), "{answer}");
    let script = fs::read_to_string(out.join("slurm/001/array.sh")).unwrap();
    for line in
        ["#SBATCH --array=1-2", "#SBATCH --partition=short", "#SBATCH --account=mine", "#SBATCH --cpus-per-task=1"]
    {
        assert!(script.lines().any(|l| l == line), "{line} is not in\n{script}");
    }
    assert_eq!(fs::read_to_string(out.join("slurm/001/cells.txt")).unwrap(), "61,62,63\n64\n");
    // What the array's first task would do; then a scheduler that takes everything.
    let task = clean("/bin/sh", folder.path())
        .arg(out.join("slurm/001/array.sh"))
        .env("SLURM_ARRAY_TASK_ID", "1")
        .output()
        .unwrap();
    assert!(task.status.success(), "{}", String::from_utf8_lossy(&task.stderr));
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let log = folder.join("log");
    let fake = folder.write("bin/sbatch", format!("#!/bin/sh\necho \"$@\" >> {}\necho 17\n", log.display()));
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let answer = done(&submit(&[]).env("PATH", &bin).output().unwrap());
    assert!(answer.contains("Submitted as job 17") && answer.contains("1 of 64 cells are missing"), "{answer}");
    let asked = fs::read_to_string(&log).unwrap();
    assert!(asked.contains("slurm/002/array.sh") && asked.contains("--dependency=afterany:17"), "{asked}");
    assert_eq!(fs::read_to_string(out.join("slurm/002/cells.txt")).unwrap(), "64\n");
    // A job that is still in the queue is waited for.
    let fake = folder.write("bin/squeue", "#!/bin/sh\necho 17 short ebbing-small\n");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let said = refusal(&submit(&[]).env("PATH", &bin).output().unwrap(), 2);
    assert!(said.contains("job 17 is still in the queue"), "{said}");
    let said = refusal(&submit(&[]).env("PATH", "/nowhere").output().unwrap(), 2);
    assert!(said.contains("sbatch does not start"), "{said}");
}

#[test]
fn results_are_reported_as_json() {
    let home = Home::new();
    let file = small(&home);
    let out = home.join("json");
    let json = |output: &Output| -> serde_json::Value { serde_json::from_slice(&output.stdout).unwrap() };
    let cost = json(&run(&file, &out, &["--dry-run", "--json"]));
    assert_eq!(cost["estimates"][0]["name"], "all cells");
    assert!(cost["estimates"][0]["core_seconds"].as_f64().unwrap() > 0.0 && !out.exists());
    let answer = json(&run(&file, &out, &["--json"]));
    assert_eq!(
        (&answer["computed"], &answer["found"], &answer["trouble"]),
        (&answer["cells"], &0.into(), &serde_json::Value::Null)
    );
    let again = json(&run(&file, &out, &["--json"]));
    assert_eq!((&again["computed"], &again["found"], &again["rows"]), (&0.into(), &answer["cells"], &answer["rows"]));
    let collected = home.ebbing().args(["study", "collect", "--json"]).arg(&out).output().unwrap();
    let collected = json(&collected);
    assert_eq!((&collected["rows"], &collected["done"]), (&answer["rows"], &answer["cells"]));
    assert!(Path::new(collected["files"][0].as_str().unwrap()).exists());
}

#[test]
fn the_order_of_tasks_is_a_setting() {
    let folder = Home::new();
    let text = "command = \"forecast\"\n[settings]\nlength = 3\nexamples = 12\ntest_examples = 0\n\
                [grid]\norder = [\"1,2,3\", [3, 1, 2]]\n";
    let out = folder.join("orders");
    done(&run(&folder.write("orders.toml", text), &out, &[]));
    let answer = fs::read_to_string(out.join("orders.csv")).unwrap();
    let rows = |order: &str| answer.lines().filter(|line| !line.starts_with('#') && line.contains(order)).count();
    assert!(rows("\"1,2,3\"") > 0 && rows("\"1,2,3\"") == rows("\"3,1,2\""), "{answer}");
}
