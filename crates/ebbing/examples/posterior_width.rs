//! The gap between theory and sampled networks as both width and data grow at fixed load: `posterior_width [ALPHA [N…]]`.
//!
//! For every width N, several draws of two tasks: P = αN random inputs of dimension 2P with random ±1 labels, then inputs
//! that overlap with them by 0.8, with the same labels. The gap of a quantity is sampled/theory − 1, averaged over the
//! draws; its standard error is that over draws, which are independent in data and chains. The theory is the leading
//! order of an expansion in 1/N: N × gap tends to a constant.

use ebbing::Context;
use ebbing::linalg::Mat;
use ebbing::nets::PosteriorSettings;
use ebbing::rng::Stream;
use ebbing::stats::{Estimate, mean_with_error};
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing::{Error, MultiHead, Result, Task, sample_posterior};
use std::process::ExitCode;

const NAMES: [&str; 4] = ["u11", "u12", "u22", "F21"];
const CHAINS: usize = 16;

fn main() -> ExitCode {
    let numbers: Vec<f64> = std::env::args().skip(1).map_while(|text| text.parse().ok()).collect();
    if numbers.len() != std::env::args().len() - 1 {
        eprintln!("usage: posterior_width [ALPHA [N...]]");
        return ExitCode::from(2);
    }
    let alpha = numbers.first().copied().unwrap_or(0.5);
    let widths = if numbers.len() > 1 { numbers[1..].to_vec() } else { vec![10.0, 20.0, 40.0, 80.0] };
    println!("| N | P | {} |\n|---|---|{}", NAMES.map(|n| format!("{n}: gap | N × gap")).join(" | "), "---|".repeat(8));
    for width in widths {
        if let Err(error) = row(alpha, width as usize) {
            eprintln!("posterior_width: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Prints the gaps at one width.
fn row(alpha: f64, width: usize) -> Result<()> {
    let p = (alpha * width as f64).round() as usize;
    let mut gaps: [Vec<f64>; 4] = Default::default();
    // Small networks scatter more, and cost less.
    for draw in 0..(480 / width as u64).max(12) {
        let (sampled, theory) = pair(p, width, draw)?;
        for k in 0..4 {
            gaps[k].push(sampled[k].value / theory[k] - 1.0);
        }
    }
    let mut cells = Vec::new();
    for gap in &gaps {
        let mean = mean_with_error(gap)?;
        let (value, error) = (mean.value, mean.standard_error.unwrap_or(f64::NAN));
        let n = width as f64;
        cells.push(format!("{value:+.4} ± {error:.4} | {:+.2} ± {:.2}", n * value, n * error));
    }
    println!("| {width} | {p} | {} |", cells.join(" | "));
    Ok(())
}

/// u11, u12, u22 and F21 of one draw of the data: sampled, and by the theory.
fn pair(p: usize, width: usize, draw: u64) -> Result<([Estimate; 4], [f64; 4])> {
    if p < 2 {
        return Err(Error::setting("ALPHA times N", p, "must be at least 2"));
    }
    let mut stream = Stream::new(draw, "width tasks", width as u64);
    let x = Mat::from_fn(p, 2 * p, |_, _| stream.normal());
    let y = Mat::from_fn(p, 1, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 });
    let other = Mat::from_fn(p, 2 * p, |i, j| 0.8 * x[(i, j)] + 0.6 * stream.normal());
    let task = |name: &str, x| Task::new(x, y.clone()).named(name);
    let tasks = [task("first", x), task("second", other)];
    let settings = PosteriorSettings {
        width,
        lambda: 5.0,
        beta: 100.0,
        chains: CHAINS,
        warmup: 150,
        draws: 200,
        leapfrog: 16,
        seed: draw,
        ..PosteriorSettings::default()
    };
    let got = sample_posterior(&tasks, &settings, &Context::default())?;
    got.warnings.iter().for_each(|warning| eprintln!("N = {width}, draw {draw}: {warning}"));
    let theory = MultiHead::new(
        &tasks,
        &MultiHeadSettings {
            lambda: settings.lambda,
            sigma2: settings.sigma2,
            beta: settings.beta,
            width: Some(width as f64),
            alpha: None,
            ..MultiHeadSettings::default()
        },
        &Context::default(),
    )?;
    let sampled = [got.u1[0][0], got.u1[1][0], got.u1[1][1], got.forgetting[0]];
    Ok((sampled, [theory.u1(1, 1), theory.u1(2, 1), theory.u1(2, 2), theory.forgetting(2, 1)?]))
}
