//! `ebbing phase`: the three regimes of two tasks with a readout each, against the load P/N.

mod cell;
mod figures;
mod own;
mod sweep;

pub use cell::COLUMNS;

use crate::console::Console;
use crate::output::Output;
use crate::sequence::SequenceArgs;
use clap::ValueEnum;
use ebbing::Error;
use ebbing::theory::multi_head::{MultiHeadSettings, Power};

/// What is swept across the phase diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Sweep {
    /// Permutation ratio
    Perm,
    /// Split ratio of a partial split
    Split,
    /// Target-distractor: share of targets that both tasks share
    Target,
    /// Target-distractor: share of images that both tasks share
    Shared,
    /// Target-distractor: chance that a shared label is flipped
    Flip,
}

/// Draw the phase diagram of two tasks with a readout each
///
/// As the penalty lambda grows, networks wider than P keep their representations, narrower ones overfit task 2 up to a
/// critical load alpha_c, and generalise beyond it. One hidden layer.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing phase --out DIR                         permutation ratio against load, embedded data
  ebbing phase --sweep split --seeds 5 --out DIR
  ebbing phase --lambda 1e2,1e4,inf --alpha 0.1:10:100 --out DIR
  ebbing phase --tasks two.npz --width 500       where am I, and how do I get out?")]
pub struct Args {
    #[command(flatten)]
    sequence: SequenceArgs,
    /// What is swept
    #[arg(long, value_enum, default_value = "perm", conflicts_with = "tasks")]
    sweep: Sweep,
    /// Values of what is swept, comma-separated [default: depends on the sweep]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    values: Vec<f64>,
    /// Values whose curves against the load are drawn [default: three of them]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    curves: Vec<f64>,
    /// Loads P/N as from:to:count, evenly on a logarithmic scale, or a list
    #[arg(long, value_name = "GRID", default_value = "0.1:10:60")]
    alpha: String,
    /// Penalties of the curves, comma-separated, inf included
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "inf")]
    lambda: Vec<f64>,
    /// Prior standard deviation of a weight
    #[arg(long, value_name = "SIGMA", default_value_t = 1.0)]
    sigma: f64,
    /// Scale labels so that Y'K^-1 Y/P = 1, which the gamma_sim law assumes
    #[arg(long)]
    rescale_labels: bool,
    /// Number of seeds to average over
    #[arg(long, value_name = "K", default_value_t = 1)]
    seeds: usize,
    /// With --tasks: the width N to place in the diagram
    #[arg(long, value_name = "N", requires = "tasks")]
    width: Option<f64>,
    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Computes and tells.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        self.output.check()?;
        if self.seeds == 0 {
            return Err(Error::setting("--seeds", 0, "must be at least 1").into());
        }
        self.check_numbers()?;
        let alphas = grid(&self.alpha)?;
        if self.sequence.tasks.is_some() { self.own(console, &alphas) } else { self.swept(console, &alphas) }
    }

    fn check_numbers(&self) -> ebbing::Result<()> {
        if !(self.sigma.is_finite() && self.sigma > 0.0) {
            return Err(Error::setting("--sigma", self.sigma, "must be positive and finite"));
        }
        match self.lambda.iter().find(|l| l.is_nan() || **l < 0.0) {
            Some(bad) => Err(Error::setting("--lambda", bad, "every penalty must be at least 0 (inf is allowed)")),
            None => Ok(()),
        }
    }

    /// The settings of the theory, at λ = ∞.
    fn theory(&self) -> MultiHeadSettings {
        MultiHeadSettings { sigma2: self.sigma * self.sigma, ..MultiHeadSettings::default() }
    }
}

/// The loads of `from:to:count` or of a comma-separated list; 1 itself, where the theory has a boundary, is left out.
fn grid(text: &str) -> ebbing::Result<Vec<f64>> {
    let expected = "must be from:to:count with 0 < from < to and count of at least 2, or a list of positive loads";
    let wrong = || Error::setting("--alpha", text, expected);
    let number = |word: &str| word.trim().parse::<f64>().map_err(|_| wrong());
    let loads: Vec<f64> = match text.split(':').collect::<Vec<_>>()[..] {
        [from, to, count] => {
            let (from, to) = (number(from)?, number(to)?);
            let count: usize = count.trim().parse().map_err(|_| wrong())?;
            if !(from > 0.0 && to > from && to.is_finite() && (2..=100_000).contains(&count)) {
                return Err(wrong());
            }
            (0..count).map(|k| from * (to / from).powf(k as f64 / (count - 1) as f64)).collect()
        }
        [list] => list.split(',').map(number).collect::<ebbing::Result<_>>()?,
        _ => return Err(wrong()),
    };
    if loads.iter().any(|a| !(a.is_finite() && *a > 0.0)) {
        return Err(wrong());
    }
    let mut kept: Vec<f64> = loads.into_iter().filter(|a| (a - 1.0).abs() > 1e-9).collect();
    kept.sort_by(f64::total_cmp);
    kept.dedup();
    if kept.is_empty() {
        return Err(Error::setting(
            "--alpha",
            text,
            "holds only 1, the boundary itself, where the theory has no value",
        ));
    }
    Ok(kept)
}

/// A power of λ as it is drawn at λ → ∞: nothing where it diverges, 0 where it vanishes.
fn drawn(power: Power) -> f64 {
    match power.exponent {
        e if e > 0.0 => f64::NAN,
        e if e < 0.0 => 0.0,
        _ => power.coefficient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_read() {
        assert_eq!(grid("0.5,2,2").unwrap(), [0.5, 2.0]);
        let three = grid("0.1:10:3").unwrap();
        assert_eq!(three.len(), 2, "1 itself is left out: {three:?}");
        for bad in ["", "a", "0:1:5", "2:1:5", "1:2", "1:2:1", "-1", "1", "nan", "0.1:inf:4"] {
            let message = grid(bad).unwrap_err().to_string();
            assert!(message.starts_with("--alpha is"), "{message}");
        }
    }
}
