//! One way to run the program: in a folder of its own, which is the user's home, with nothing of this environment but
//! `PATH`. Variables that change what the program does (`EBBING_DATA`, `RAYON_NUM_THREADS`, `NO_COLOR`, Slurm's) stay out.

use ebbing::linalg::Mat;
use ebbing::rng::Stream;
use ebbing::{Task, TaskSequence};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The program's file.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ebbing");

/// Any program with this folder as its home, in which it starts.
pub fn clean(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home).current_dir(home);
    command
}

/// `ebbing` with this folder as its home.
pub fn ebbing_in(home: &Path) -> Command {
    clean(PROGRAM, home)
}

/// What `ebbing` with these words does in an empty home.
pub fn run(words: &str) -> Output {
    Home::new().run(words)
}

/// A user's home, and files in it.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn json(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Small tasks of random inputs and labels, with test sets, in `tasks.npz`.
    pub fn tasks(&self, count: usize, dim: usize) -> PathBuf {
        let mut stream = Stream::new(5, "command tests", 0);
        let mut set = |p: usize| {
            let x = Mat::from_fn(p, dim, |_, _| stream.normal());
            (x, Mat::from_fn(p, 1, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 }))
        };
        let task = |t: usize| {
            let ((x, y), (test_x, test_y)) = (set(30), set(20));
            Task::new(x, y).named(format!("task {t}")).with_test(test_x, test_y)
        };
        let path = self.join("tasks.npz");
        let sequence = TaskSequence::new((1..=count).map(task).collect()).unwrap();
        sequence.save_npz(&path).unwrap();
        path
    }

    pub fn ebbing(&self) -> Command {
        ebbing_in(self.path())
    }

    /// `ebbing` with these words, apart by spaces; files are named from here.
    pub fn run(&self, words: &str) -> Output {
        self.ebbing().args(words.split_whitespace()).output().unwrap()
    }

    /// What it prints, which fits 80 columns, when it succeeds.
    #[track_caller]
    pub fn text_of(&self, words: &str) -> String {
        let text = done(&self.run(words));
        fits_80_columns(&text);
        text
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What a run that succeeded printed.
#[track_caller]
pub fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output)
}

/// What a run that succeeded printed, as JSON.
#[track_caller]
pub fn done_json(output: &Output) -> Value {
    serde_json::from_str(&done(output)).unwrap()
}

/// The one sentence on standard error, without the program's name; fails unless the exit code is `code`, standard
/// output is empty and standard error is one line.
#[track_caller]
pub fn refusal(output: &Output, code: i32) -> String {
    let error = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert!(output.stdout.is_empty(), "printed before it failed: {}", stdout(output));
    assert_eq!(error.lines().count(), 1, "not one sentence: {error}");
    error.strip_prefix("ebbing: ").expect("the program's name comes first").trim_end().to_string()
}

/// No line is wider than a terminal, but for those with paths and commands, which are not broken.
#[track_caller]
pub fn fits_80_columns(text: &str) {
    for line in text.lines() {
        let exempt = ["report:", "figure:", "more:"].iter().any(|w| line.starts_with(w));
        assert!(exempt || line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

/// Reports to ci/test what could not be tested on this machine.
pub fn skipped(why: &str) {
    use std::io::Write;
    if let Some(path) = std::env::var_os("EBBING_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "{why}")).unwrap();
    }
}
