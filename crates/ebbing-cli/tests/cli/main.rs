//! The `ebbing` program from outside: what it prints, what it leaves on disk, and how it ends.

mod check;
mod data;
mod fetch;
mod program;
mod server;
mod study;

use assert_cmd::Command;
use std::process::Output;

/// The program with a clean environment: no proxies, no data of the user, no colour.
pub fn ebbing() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ebbing"));
    command.env_clear().env("NO_COLOR", "1");
    command
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The one sentence on standard error, without the program's name; fails unless the exit code is `code`, standard
/// output is empty and standard error is one line.
#[track_caller]
pub fn refusal(output: &Output, code: i32) -> String {
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert!(output.stdout.is_empty(), "printed before it failed: {}", stdout(output));
    assert_eq!(error.lines().count(), 1, "not one sentence: {error}");
    error.strip_prefix("ebbing: ").expect("the program's name comes first").trim_end().to_string()
}
