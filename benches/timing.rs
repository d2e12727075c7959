//! Seconds by the clock and of processor time.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Processor time of all threads so far, if the system reports it: unlike the clock's, it ignores other programs.
fn processor_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    1e-9 * nanoseconds.sum::<f64>()
}

/// The result of `work`, and its seconds by the clock and of processor time.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, [f64; 2]) {
    let (start, used) = (Instant::now(), processor_seconds());
    let result = work();
    (result, [start.elapsed().as_secs_f64(), processor_seconds() - used])
}

/// Peak resident memory in megabytes, if the system reports it.
#[allow(dead_code)] // each bench compiles this file for itself
pub fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}

/// Prints what training the same head by PyTorch takes, and scikit-learn's ridge regression on everything at once, on the file that a
/// bench has written for its script; `shape` is that of the script, `width` that of the hidden layer, 0 for a linear head.
#[allow(dead_code)] // each bench compiles this file for itself
pub fn print_training(file: &Path, shape: &[usize], width: usize, forecast: [f64; 2]) {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../paper/peers/head.py");
    let words = shape.iter().chain([&width]).map(ToString::to_string);
    let output = Command::new(python).arg(script).arg(file).args(words).output();
    let found: Option<serde_json::Value> = output.ok().and_then(|output| serde_json::from_slice(&output.stdout).ok());
    let head = if width > 0 { format!("a head of {width} units") } else { "a linear head".into() };
    for (name, what) in
        [("network", format!("PyTorch, {head}, 20 epochs")), ("ridge", "scikit-learn's Ridge on everything".into())]
    {
        let number = |at: &str| found.as_ref()?.pointer(at)?.as_f64();
        let all = [format!("/{name}/1/0"), format!("/{name}/1/1"), format!("/{name}/0")];
        let [Some(wall), Some(cpu), Some(accuracy)] = all.map(|at| number(&at)) else {
            println!("  {what}: not there");
            continue;
        };
        println!(
            "  {what}: {wall:.2} s ({cpu:.2} s of processor), final accuracy {:.0} %; {:.1} times as long ({:.1} of processor)",
            100.0 * accuracy,
            wall / forecast[0],
            cpu / forecast[1]
        );
    }
}
