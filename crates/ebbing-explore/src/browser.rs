//! Opens the page in the user's browser.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// An opener that fails does so within this time; one that is still running is a browser, or waits for one.
const PATIENCE: Duration = Duration::from_secs(1);

/// Programs that open an address, with their arguments before it.
fn openers() -> Vec<Vec<String>> {
    let own = std::env::var("BROWSER").ok().filter(|b| !b.trim().is_empty());
    let mut all: Vec<Vec<String>> = own.iter().flat_map(|list| list.split(':')).map(|b| vec![b.to_string()]).collect();
    let known: &[&[&str]] = match std::env::consts::OS {
        "macos" => &[&["open"]],
        "windows" => &[&["rundll32", "url.dll,FileProtocolHandler"]],
        _ => &[&["xdg-open"], &["sensible-browser"], &["x-www-browser"]],
    };
    all.extend(known.iter().map(|words| words.iter().map(|w| w.to_string()).collect()));
    all
}

/// Opens an address; false where no browser could be started. Takes at most as long as an opener needs to fail.
pub fn open(address: &str) -> bool {
    let screen = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let elsewhere = ["macos", "windows"].contains(&std::env::consts::OS);
    if !(elsewhere || screen("DISPLAY") || screen("WAYLAND_DISPLAY") || screen("BROWSER")) {
        return false;
    }
    openers().iter().any(|words| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(address);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.spawn().is_ok_and(opened)
    })
}

/// Whether an opener that was started succeeds.
fn opened(mut child: Child) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(ended)) => return ended.success(),
            Ok(None) => std::thread::sleep(PATIENCE / 20),
            Err(_) => return false,
        }
    }
    // A browser may keep running: its exit status must be collected when it ends.
    std::thread::spawn(move || child.wait());
    true
}
