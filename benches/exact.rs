//! What the forecast of a wide network costs at the size of practice, in double and in single precision, beside the products that it
//! cannot avoid: ten tasks with classes of their own, losses and accuracies of all tasks after all tasks on training and held-out
//! data, and of fresh networks; mode `rf`, depth 1, at a temperature.
//!
//! `cargo bench -p ebbing-benches --bench exact [-- TASKS ROWS FEATURES CLASSES]` (default: 10 1500 384 150; 10 5000 768 100 takes some
//! minutes). `PYTHON` names an interpreter that has NumPy and SciPy, and PyTorch for what training the same head takes; without one a time
//! is missing.

mod practice;
mod timing;

use ebbing::linalg::{Mat, matmul};
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::single_head::{Precision, SingleHeadForecast, SingleHeadSettings};
use ebbing::{Context, Error, Forecast, Result, SingleHead};
use practice::{tasks, write};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use timing::{print_training, timed};

/// For inputs of mean square 1.
const BETA: f64 = 30.0;

/// The script's forgetting matrix, and its seconds by the clock and of processor time.
fn script([count, rows, features, classes]: [usize; 4], file: &Path) -> Option<(Vec<Vec<f64>>, [f64; 2])> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../paper/peers/exact.py");
    let words = [count, rows, rows * 3 / 10, features, classes].map(|n| n.to_string());
    let output = Command::new(python).arg(script).arg(file).args(words).arg(BETA.to_string()).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// Operations of the products, factors and solves: kernels of all pairs once, every class from the task on that it belongs to.
fn operations([count, rows, features, classes]: [usize; 4]) -> f64 {
    let [t, p, d, k] = [count, rows, features, classes].map(|n| n as f64);
    let (pairs, tests) = (0.5 * t * t * p * p, 0.3 * t * t * p * p);
    let live = k / t;
    // Σ over pairs of the classes known by then: before task b is learned those of a, after it those of b.
    let columns = p * p * live * (t.powi(3) / 6.0 + t.powi(3) / 3.0) + 0.3 * t * p * p * live * t * t / 2.0;
    2.0 * (pairs + tests) * d + 2.0 * columns + t * p.powi(3) / 3.0 + 2.0 * p * p * live * t * t / 2.0
}

/// Largest differences of accuracies, and of losses as a share of them.
fn gaps(a: &SingleHeadForecast, b: &SingleHeadForecast) -> [f64; 2] {
    let both = |a: &[Vec<f64>], b: &[Vec<f64>]| -> Vec<(f64, f64)> {
        a.iter().flatten().copied().zip(b.iter().flatten().copied()).collect()
    };
    let mut accuracies = vec![];
    let mut losses = both(&a.forgetting, &b.forgetting);
    if let (Some(a), Some(b)) = (&a.train_accuracy, &b.train_accuracy) {
        accuracies.extend(both(a, b));
    }
    if let (Some(a), Some(b)) = (&a.test, &b.test) {
        losses.extend(both(&a.loss, &b.loss));
        if let (Some(a), Some(b)) = (&a.accuracy, &b.accuracy) {
            accuracies.extend(both(a, b));
        }
    }
    let most = |all: Vec<f64>| all.into_iter().fold(0.0, f64::max);
    [
        most(accuracies.iter().map(|(a, b)| (a - b).abs()).collect()),
        most(losses.iter().map(|(a, b)| (a - b).abs() / b.abs()).collect()),
    ]
}

fn main() -> Result<()> {
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let shape = <[usize; 4]>::try_from(asked).unwrap_or([10, 1500, 384, 150]);
    let [count, rows, features, classes] = shape;
    let sequence = tasks(shape, rows * 3 / 10)?;
    let a = Mat::from_fn(2000, 2000, |i, j| ((i * 7 + j * 3) % 11) as f64);
    let product = (0..3).map(|_| timed(|| black_box(matmul(a.as_ref(), a.as_ref()))).1);
    let best = product.fold([f64::INFINITY; 2], |best, now| [best[0].min(now[0]), best[1].min(now[1])]);
    let rate = best.map(|seconds| 2.0 * 2000f64.powi(3) / seconds);
    let bare = rate.map(|rate| operations(shape) / rate);
    println!(
        "{count} tasks of {rows} × {features}, {classes} classes, β = {BETA}; seconds by the clock (of processor time)"
    );
    println!("  bare products in double precision: {:.2} ({:.2})", bare[0], bare[1]);
    let (mut forecasts, mut accuracies) = (vec![], [f64::NAN; 2]);
    for precision in [Precision::Single, Precision::Double] {
        let settings = SingleHeadSettings { beta: BETA, precision, ..SingleHeadSettings::default() };
        let (learned, first) = timed(|| SingleHead::new(&sequence, &settings, &Context::default()));
        let learned = learned?;
        let (forecast, second) = timed(|| learned.forecast());
        let residual = learned.residual().map_or(String::new(), |r| format!(", residual {r:.1e}"));
        println!(
            "  {precision:?}: {:.2} ({:.2}), learned in {:.2} ({:.2}){residual}; peak of memory so far {:.0} MB",
            first[0] + second[0],
            first[1] + second[1],
            first[0],
            first[1],
            timing::peak_megabytes(),
        );
        forecasts.push(forecast?);
        if precision == Precision::Single {
            // What a plain forecast of trained networks computes: accuracies on test data alone.
            let alone = || -> Result<()> {
                let settings = ForecastSettings::default();
                Forecast::of(std::slice::from_ref(&sequence), &settings, &Context::default()).map(drop)
            };
            let (done, seconds) = timed(alone);
            done?;
            println!(
                "  as `ebbing forecast` asks for it, with heads in closed form: {:.2} ({:.2})",
                seconds[0], seconds[1]
            );
            accuracies = seconds;
        }
    }
    let [accuracy, loss] = gaps(&forecasts[0], &forecasts[1]);
    println!("  single beside double: accuracies differ by {accuracy:.1e} at most, losses by {loss:.1e} of themselves");
    let file = std::env::temp_dir().join(format!("ebbing-exact-bench-{}", std::process::id()));
    write(&sequence, &file).map_err(|error| Error::data("the bench", error.to_string()))?;
    match script(shape, &file) {
        Some((known, [wall, cpu])) => {
            let both = forecasts[1].forgetting.iter().flatten().zip(known.iter().flatten());
            let gap = both.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            println!(
                "  NumPy and SciPy: {wall:.2} ({cpu:.2}); largest difference of F from double precision: {gap:.1e}"
            );
        }
        None => println!("  NumPy and SciPy: not there"),
    }
    print_training(&file, &[count, rows, rows * 3 / 10, features, classes], 512, accuracies);
    std::fs::remove_file(&file).map_err(|error| Error::data("the bench", error.to_string()))
}
