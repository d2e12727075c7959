//! Seconds by the clock and of processor time.

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
