//! What the forecast of a linear head on frozen features costs beside NumPy, as one writes it by hand with the same d × d form:
//! losses and accuracies of all tasks after all tasks, on training and on held-out data, and of fresh heads
//! (`paper/peers/features.py`).
//!
//! `cargo bench -p ebbing-benches --bench features` (`PYTHON` names an interpreter that has NumPy, and scikit-learn and PyTorch for what
//! ridge regression on everything and training of the same head take; without one a ratio is missing).
//! Ratios are of processor time, which ignores other programs; both sides use all cores.

mod practice;
mod timing;

use ebbing::Context;
use ebbing::theory::Inputs;
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Error, Result, SingleHead};
use practice::{tasks, write};
use std::path::Path;
use std::process::Command;
use timing::{print_training, timed};

/// Tasks, examples of each (and a fifth of that held out), features, classes, β.
const SHAPES: [(usize, usize, usize, usize, f64); 2] = [(10, 1000, 384, 100, 10.0), (10, 5000, 768, 100, 10.0)];
const ROUNDS: usize = 3;

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
        let (count, rows, features, classes, beta) = shape;
        let sequence = tasks([count, rows, features, classes], rows / 5)?;
        let settings = SingleHeadSettings { beta, ..SingleHeadSettings::default() };
        let of = || SingleHead::new(Inputs::Features(&sequence), &settings, &Context::default())?.forecast();
        let mut best = [f64::INFINITY; 2];
        let mut forgetting = vec![];
        for _ in 0..ROUNDS {
            let (forecast, seconds) = timed(of);
            forgetting = forecast?.forgetting;
            best = [best[0].min(seconds[0]), best[1].min(seconds[1])];
        }
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
        print_training(&file, &[count, rows, rows / 5, features, classes], 0, best);
    }
    std::fs::remove_file(&file).map_err(|error| Error::data("the bench", error.to_string()))
}
