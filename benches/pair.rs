//! What everything that is said of two large tasks costs in memory, depth 3, part by part: the network after each task, order
//! parameters, and what of these is one trace.
//!
//! `cargo bench -p ebbing-benches --bench pair [-- P …]` (default: 5000). `PYTHON` names an interpreter that has NumPy and SciPy, whose
//! time for `F_21` alone is shown beside it.

mod timing;

use ebbing::kernels::{Activation, Architecture};
use ebbing::linalg::{Cholesky, Mat, matmul};
use ebbing::plan::MemoryLimit;
use ebbing::rng::Stream;
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::order_parameters::{OrderParameterSettings, order_parameters};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Context, Forecast, Result, SingleHead, Task, TaskSequence};
use std::hint::black_box;
use std::process::Command;
use timing::timed;

const FEATURES: usize = 784;
const DEPTH: usize = 3;

fn tasks(p: usize) -> TaskSequence {
    let mut stream = Stream::new(1, "pair bench", p as u64);
    let mut task = || {
        let x = Mat::from_fn(p, FEATURES, |_, _| stream.normal());
        let y = Mat::from_fn(p, 1, |i, _| if x[(i, 0)] + x[(i, 1)] > 0.0 { 1.0 } else { -1.0 });
        Task::new(x, y)
    };
    TaskSequence { tasks: vec![task(), task()], settings: Default::default() }
}

fn main() -> Result<()> {
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let context = Context::new().memory(MemoryLimit::None);
    let architecture = Architecture { activation: Activation::Relu, depth: DEPTH };
    for p in if asked.is_empty() { vec![5000] } else { asked } {
        let sequence = tasks(p);
        println!("2 tasks of {p} × {FEATURES}, depth {DEPTH}, rf; seconds by the clock (of processor time)");
        let show = |name: &str, [wall, cpu]: [f64; 2]| println!("  {name:34} {wall:7.2} ({cpu:7.2})");
        let [x, x2] = [0, 1].map(|t| sequence.tasks[t].x.as_ref());
        let ((), bare) = timed(|| {
            // Two halves are one product.
            for (a, b) in [(x, x2), (x, x)] {
                black_box(matmul(a, b.transpose()));
            }
        });
        show("bare products of inputs", bare);
        let spd = Mat::from_fn(p, p, |i, j| if i == j { 2.0 } else { 1.0 / (1.0 + (i as f64 - j as f64).abs()) });
        let (factor, time) = timed(|| Cholesky::factor(spd.as_ref(), "a matrix"));
        black_box(factor?.size());
        show("two Cholesky factors", time.map(|t| 2.0 * t));
        let theory = SingleHeadSettings { architecture, ..SingleHeadSettings::default() };
        let (forecast, time) = timed(|| SingleHead::new(&sequence, &theory, &context)?.forecast());
        let forecast = forecast?;
        show("networks after each task", time);
        let settings = OrderParameterSettings { architecture, ..OrderParameterSettings::default() };
        let (pairs, time) = timed(|| order_parameters(&sequence, &settings, &context));
        black_box(pairs?.len());
        show("order parameters", time);
        let settings = ForecastSettings { theory, order: false, ..ForecastSettings::default() };
        let (whole, time) = timed(|| Forecast::of(std::slice::from_ref(&sequence), &settings, &context));
        black_box(whole?.pairs.len());
        show("the whole forecast", time);
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../paper/peers/pair.py");
        let output = Command::new(python).args([script, &p.to_string()]).output().ok();
        match output.and_then(|o| serde_json::from_slice::<[f64; 2]>(&o.stdout).ok()) {
            Some(time) => show("NumPy and SciPy: F_21 alone", time),
            None => println!("  NumPy and SciPy: not there"),
        }
        println!("  F_21 {:.6}; peak of memory {:.0} MB", forecast.forgetting[1][0], timing::peak_megabytes());
    }
    Ok(())
}
