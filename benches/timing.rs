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
