//! Tasks at the size of practice: features of a frozen encoder, classes of each task's own.

use ebbing::linalg::Mat;
use ebbing::rng::Stream;
use ebbing::{Result, Task, TaskSequence};
use std::io::Write;
use std::path::Path;

/// Inputs around the mean of their class; task t has the t-th part of the classes. `tested` examples of each are held out.
pub fn tasks([count, rows, features, classes]: [usize; 4], tested: usize) -> Result<TaskSequence> {
    let mut stream = Stream::new(1, "practice bench", 0);
    let means = Mat::from_fn(classes, features, |_, _| 0.5 * stream.normal());
    let own = classes / count;
    let mut points = |t: usize, rows: usize| {
        let class = |i: usize| t * own + i % own;
        let x = Mat::from_fn(rows, features, |i, j| (means[(class(i), j)] + stream.normal()) / 1.25f64.sqrt());
        (x, Mat::from_fn(rows, classes, |i, j| f64::from(u8::from(j == class(i)))))
    };
    let tasks = (0..count).map(|t| {
        let ((x, y), (x_test, y_test)) = (points(t, rows), points(t, tested));
        Task::new(x, y).with_test(x_test, y_test)
    });
    TaskSequence::new(tasks.collect())
}

/// Inputs and classes of all tasks, training rows first, as the script reads them.
#[allow(dead_code)] // each bench compiles this file for itself
pub fn write(sequence: &TaskSequence, file: &Path) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    for task in &sequence.tasks {
        let tests = task.test.iter().map(|test| (&test.x, &test.y));
        for (x, y) in std::iter::once((&task.x, &task.y)).chain(tests) {
            for i in 0..x.nrows() {
                for j in 0..x.ncols() {
                    out.write_all(&x[(i, j)].to_le_bytes())?;
                }
                let class = (0..y.ncols()).find(|&j| y[(i, j)] == 1.0).unwrap_or(0);
                out.write_all(&(class as f64).to_le_bytes())?;
            }
        }
    }
    out.flush()
}
