//! What the forecast of two tasks costs whose kernels do not fit into memory, against the number of examples, beside the speed of
//! bare products; and how far it is from the forecast in memory, where that fits.
//!
//! `cargo bench -p ebbing-benches --bench whole -- 5000 10000 20000` (default: 4000 8000). Every size in turn; one size per run
//! gives its own peak of memory. 60 000 examples take an hour, 17 GiB of memory and 16 GB of disk in the folder of temporary
//! files.

mod timing;

use ebbing::Context;
use ebbing::data::Preprocess;
use ebbing::kernels::{Activation, Architecture};
use ebbing::linalg::{Mat, matmul};
use ebbing::plan::{MemoryLimit, Speed, size, time, whole_cost, whole_disk};
use ebbing::rng::Stream;
use ebbing::tasks::Permuted;
use ebbing::theory::forecast::{Engine, ForecastSettings};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Dataset, Error, Forecast, Result, Source, Task, TaskSequence};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use timing::timed;

const FEATURES: usize = 784;
/// Larger sets are not computed in memory beside it.
const IN_MEMORY: usize = 8000;

/// Two permuted tasks of whitened MNIST, where the data set is there; Gaussian inputs of the same shape where it is not.
fn tasks(p: usize) -> Result<(TaskSequence, &'static str)> {
    match Dataset::load("mnist").and_then(|set| Source::new(set, &Preprocess::default())) {
        Ok(source) => {
            let protocol = Permuted { tasks: 2, p, p_test: 0, ..Permuted::default() };
            Ok((protocol.generate(&source, 1)?, "permuted MNIST, whitened"))
        }
        Err(_) => {
            let mut stream = Stream::new(1, "whole bench", p as u64);
            let mut task = || {
                let x = Mat::from_fn(p, FEATURES, |_, _| stream.normal());
                let y = Mat::from_fn(p, 1, |i, _| if x[(i, 0)] + x[(i, 1)] > 0.0 { 1.0 } else { -1.0 });
                Task::new(x, y)
            };
            Ok((TaskSequence { tasks: vec![task(), task()], settings: Default::default() }, "Gaussian inputs"))
        }
    }
}

/// Peak resident memory, if the system reports it.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(f64::NAN) * 1024.0
}

/// Operations per second of bare products of 2000 × 2000.
fn products() -> f64 {
    let a = Mat::from_fn(2000, 2000, |i, j| ((i * 7 + j * 3) % 11) as f64);
    let best = (0..3).map(|_| timed(|| black_box(matmul(a.as_ref(), a.as_ref()))).1[0]).fold(f64::INFINITY, f64::min);
    2.0 * 2000f64.powi(3) / best
}

fn main() -> Result<()> {
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![4000, 8000] } else { asked };
    let architecture = Architecture { activation: Activation::Relu, depth: 3 };
    let theory = SingleHeadSettings { architecture, ..SingleHeadSettings::default() };
    let settings = ForecastSettings { theory, order: false, ..ForecastSettings::default() };
    println!("bare products: {:.1} GFLOP/s in double precision", 1e-9 * products());
    for p in sizes {
        let (sequence, what) = tasks(p)?;
        let (cost, disk) = (whole_cost(&sequence.sizes(), 1), whole_disk(&sequence.sizes(), 1));
        let planned = cost.seconds(Speed::measure());
        println!("\n2 tasks, {what}, P = {p}, depth 3, rf");
        println!("  planned: {}, {} of memory, {} of disk", time(planned), size(cost.bytes), size(disk));
        // Less than kernels in memory take, more than tiles do.
        let (last, start) = (Mutex::new(String::new()), std::time::Instant::now());
        let little = MemoryLimit::Bytes((2.2 * cost.bytes) as u64);
        let context = Context::new().memory(little).listen(move |progress| {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if *last != progress.text {
                *last = progress.text.to_string();
                let (seconds, share) = (start.elapsed().as_secs_f64(), 100.0 * progress.share);
                println!("  {seconds:7.1} s  {share:4.1} %  {last}");
            }
            ControlFlow::Continue(())
        });
        let (tiled, [wall, cpu]) = timed(|| Forecast::of(std::slice::from_ref(&sequence), &settings, &context));
        let tiled = tiled?;
        if tiled.computed.engine != Engine::Tiles {
            return Err(Error::data("the bench", "the forecast was computed in memory, not in tiles"));
        }
        let rate = 1e-9 * cost.flops / wall;
        println!("  took {wall:.1} s (cpu {cpu:.1} s), as {rate:.1} GFLOP/s of products; peak memory {}", size(peak()));
        let pair = &tiled.pairs[0];
        let (values, error) = (&pair.values, pair.detail.gamma_feature_error.unwrap_or(f64::NAN));
        println!(
            "  F_21 {:.10}  γ_RF {:.10}  γ_rule {:.10}",
            tiled.forgetting.as_ref().unwrap().mean[1][0],
            values.gamma_rf,
            values.gamma_rule
        );
        println!("  γ_feature {:.5} ± {error:.5}  γ_sim {:.5}", values.gamma_feature, values.gamma_sim);
        tiled.notes.iter().for_each(|note| println!("  {note}"));
        if p <= IN_MEMORY {
            let all = Context::new().memory(MemoryLimit::None);
            let (whole, [wall, _]) = timed(|| Forecast::of(std::slice::from_ref(&sequence), &settings, &all));
            let whole = whole?;
            let (a, b) = (tiled.forgetting.as_ref().unwrap().mean[1][0], whole.forgetting.as_ref().unwrap().mean[1][0]);
            let exact = whole.pairs[0].values.gamma_feature;
            println!(
                "  in memory {wall:.1} s: F_21 {b:.10}, relative difference {:.1e}; γ_feature {exact:.5}",
                (a - b).abs() / b
            );
        }
    }
    Ok(())
}
