//! Samples five two-task posteriors and compares them with independently sampled ones: `posterior_reference [CHAINS [NAME…]]`.
//!
//! The references are `tests/reference/posterior_*.json`: data, settings and seven numbers with standard errors over 186
//! to 424 chains of another sampler. Ends with exit code 1 where any number is off by more than three combined standard
//! errors: of 35 true normal deviates the largest exceeds 3 in one run out of eleven, and the seed is fixed.

use ebbing::Context;
use ebbing::linalg::Mat;
use ebbing::nets::{PosteriorSettings, SampledPosterior};
use ebbing::stats::Estimate;
use ebbing::tasks::TestSet;
use ebbing::{Error, Result, Task, sample_posterior};
use serde_json::Value;
use std::process::ExitCode;
use std::time::Instant;

const CASES: [&str; 5] = ["0.5_5_40", "1.5_5_40", "1.5_50_40", "1.5_5_80", "1.5_50_80"];

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Ok(chains) = args.next().map_or(Ok(32), |text| text.parse()) else {
        eprintln!("usage: posterior_reference [CHAINS [NAME...]]");
        return ExitCode::from(2);
    };
    let named: Vec<String> = args.collect();
    let chosen = CASES.iter().filter(|case| named.is_empty() || named.iter().any(|n| n == *case));
    let mut deviates = Vec::new();
    println!("| α, λ, P | quantity | reference | sampled | z |\n|---|---|---|---|---|");
    for case in chosen {
        match compare(case, chains) {
            Ok(z) => deviates.extend(z),
            Err(error) => {
                eprintln!("posterior_reference: {error}");
                return ExitCode::from(2);
            }
        }
    }
    let beyond = deviates.iter().filter(|z| z.is_nan() || z.abs() > 3.0).count();
    let rms = (deviates.iter().map(|z| z * z).sum::<f64>() / deviates.len() as f64).sqrt();
    println!("\n{} numbers, rms z {rms:.2}, {beyond} beyond 3 standard errors.", deviates.len());
    if beyond == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints one reference's table and returns how many combined standard errors each number is off.
fn compare(case: &str, chains: usize) -> Result<Vec<f64>> {
    let path = format!("{}/../../tests/reference/posterior_{case}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, e))?;
    let wrong =
        |field: &str| Error::file(&path, field, "missing or of another kind", "it is a number or a list of rows");
    let reference: Value = serde_json::from_str(&text).map_err(|_| wrong("the whole"))?;
    let number = |field: &str| reference[field].as_f64().ok_or_else(|| wrong(field));
    let settings = PosteriorSettings {
        width: number("width")? as usize,
        lambda: number("lambda")?,
        sigma2: number("sigma2")?,
        beta: number("beta")?,
        chains,
        warmup: 500,
        draws: 250,
        leapfrog: 20,
        seed: 2,
        ..PosteriorSettings::default()
    };
    let tasks = tasks(&reference).ok_or_else(|| wrong("task1, task2, query"))?;
    let begin = Instant::now();
    let got = sample_posterior(&tasks, &settings, &Context::default())?;
    let mut deviates = Vec::new();
    for (name, ours) in quantities(&got) {
        let pair: Option<[f64; 2]> = serde_json::from_value(reference["sampled"][name].clone()).ok();
        let [mean, se] = pair.ok_or_else(|| wrong(name))?;
        let z = (ours.value - mean) / (se * se + ours.error() * ours.error()).sqrt();
        let label = format!("{}, {}, {}", reference["alpha"], settings.lambda, reference["P"]);
        println!("| {label} | {name} | {mean:.4} ± {se:.4} | {:.4} ± {:.4} | {z:+.2} |", ours.value, ours.error());
        deviates.push(z);
    }
    eprintln!("{case}: {chains} chains, {:.0} s, {:?}", begin.elapsed().as_secs_f64(), got.convergence);
    got.warnings.iter().for_each(|warning| eprintln!("{case}: {warning}"));
    Ok(deviates)
}

/// The two tasks, the second with the query points as its test set.
fn tasks(reference: &Value) -> Option<Vec<Task>> {
    let load = |key: &str| {
        let rows: Vec<Vec<f64>> = serde_json::from_value(reference[key]["x"].clone()).ok()?;
        let y: Vec<f64> = serde_json::from_value(reference[key]["y"].clone()).ok()?;
        let x = Mat::from_fn(rows.len(), rows.first()?.len(), |i, j| rows[i][j]);
        Some(Task::new(x, Mat::from_fn(y.len(), 1, |i, _| y[i])).named(key))
    };
    let (first, mut second, query) = (load("task1")?, load("task2")?, load("query")?);
    second.test = Some(TestSet { x: query.x, y: query.y });
    Some(vec![first, second])
}

fn quantities(got: &SampledPosterior) -> Vec<(&'static str, Estimate)> {
    let mut all = vec![
        ("u11", got.u1[0][0]),
        ("u12", got.u1[1][0]),
        ("u22", got.u1[1][1]),
        ("F21", got.forgetting[0]),
        ("y1_Ksim_y1", got.label_kernel[0]),
        ("y2_Ksim_y2", got.label_kernel[1]),
    ];
    all.extend(got.test_loss[1].map(|loss| ("loss2_query", loss)));
    all
}
