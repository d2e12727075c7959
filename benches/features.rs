//! What the forecast of a linear head on frozen features costs beside NumPy, as one writes it by hand with the same d × d form:
//! losses and accuracies of all tasks after all tasks, on training and on held-out data, and of fresh heads
//! (`paper/peers/features.py`).
//!
//! `cargo bench -p ebbing-benches --bench features` (`PYTHON` names an interpreter that has NumPy; without one the ratio is missing).
//! Ratios are of processor time, which ignores other programs; both sides use all cores.

mod timing;

use ebbing::Context;
use ebbing::linalg::Mat;
use ebbing::rng::Stream;
use ebbing::theory::Inputs;
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Error, Result, SingleHead, Task, TaskSequence};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use timing::timed;

/// Tasks, examples of each (and a fifth of that held out), features, classes, β.
const SHAPES: [(usize, usize, usize, usize, f64); 2] = [(10, 1000, 384, 100, 10.0), (10, 5000, 768, 100, 10.0)];
const ROUNDS: usize = 3;

/// Features around the mean of their class; task t has the t-th part of the classes.
fn tasks((count, rows, features, classes, _): (usize, usize, usize, usize, f64)) -> Result<TaskSequence> {
    let mut stream = Stream::new(1, "features bench", 0);
    let means = Mat::from_fn(classes, features, |_, _| 0.3 * stream.normal());
    let own = classes / count;
    let mut points = |t: usize, rows: usize| {
        let class = |i: usize| t * own + i % own;
        let x = Mat::from_fn(rows, features, |i, j| means[(class(i), j)] + stream.normal());
        (x, Mat::from_fn(rows, classes, |i, j| f64::from(u8::from(j == class(i)))))
    };
    let tasks = (0..count).map(|t| {
        let ((x, y), (x_test, y_test)) = (points(t, rows), points(t, rows / 5));
        Task::new(x, y).with_test(x_test, y_test)
    });
    TaskSequence::new(tasks.collect())
}

/// Features and classes of all tasks, training rows first, as the script reads them.
fn write(sequence: &TaskSequence, file: &Path) -> std::io::Result<()> {
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

/// NumPy's forgetting matrix, and its seconds by the clock and of processor time.
fn numpy(shape: (usize, usize, usize, usize, f64), file: &Path) -> Option<(Vec<Vec<f64>>, [f64; 2])> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../paper/peers/features.py");
    let (count, rows, features, classes, beta) = shape;
    let words = [count, rows, rows / 5, features, classes].map(|n| n.to_string());
    let output = Command::new(python).arg(script).arg(file).args(words).arg(beta.to_string()).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

fn main() -> Result<()> {
    let file = std::env::temp_dir().join(format!("ebbing-features-bench-{}", std::process::id()));
    for shape in SHAPES {
        let sequence = tasks(shape)?;
        let settings = SingleHeadSettings { beta: shape.4, ..SingleHeadSettings::default() };
        let of = || SingleHead::new(Inputs::Features(&sequence), &settings, &Context::default())?.forecast();
        let mut best = [f64::INFINITY; 2];
        let mut forgetting = vec![];
        for _ in 0..ROUNDS {
            let (forecast, seconds) = timed(of);
            forgetting = forecast?.forgetting;
            best = [best[0].min(seconds[0]), best[1].min(seconds[1])];
        }
        let (count, rows, features, classes, beta) = shape;
        println!("{count} tasks of {rows} × {features}, {classes} classes, β = {beta}");
        println!("  forecast: {:.3} s, {:.3} s of processor", best[0], best[1]);
        write(&sequence, &file).map_err(|error| Error::data("the bench", error.to_string()))?;
        let Some((known, [wall, cpu])) = numpy(shape, &file) else {
            println!("  NumPy: not there");
            continue;
        };
        let gaps = forgetting.iter().flatten().zip(known.iter().flatten()).map(|(a, b)| (a - b).abs());
        let gap = gaps.fold(0.0, f64::max);
        println!(
            "  NumPy:    {wall:.3} s, {cpu:.3} s of processor; ratio {:.2} by the clock, {:.2} of processor",
            wall / best[0],
            cpu / best[1]
        );
        println!("  largest difference of F: {gap:.1e}");
    }
    std::fs::remove_file(&file).map_err(|error| Error::data("the bench", error.to_string()))
}
