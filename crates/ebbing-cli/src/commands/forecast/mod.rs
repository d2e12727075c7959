//! `ebbing forecast`, the main job: what a network forgets of a task sequence, from the data alone.

mod cell;
mod figures;
mod pages;
mod tables;
mod words;

pub use cell::COLUMNS;

use crate::console::Console;
use crate::output::Output;
use crate::sequence::SequenceArgs;
use crate::text::{size, time};
use clap::ValueEnum;
use ebbing::kernels::{Activation, Architecture};
use ebbing::metrics::Convention;
use ebbing::plan::{Sizes, Speed, forgetting_cost, order_parameter_cost};
use ebbing::theory::forecast::ForecastSettings;
use ebbing::theory::single_head::{Mode, SingleHeadSettings};
use ebbing::{Error, Forecast, TaskSequence};
use std::path::PathBuf;

/// Which limit of learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModeFlag {
    /// Random features, strong penalty: the paper's main single-head theory
    Rf,
    /// All weights learn, strong penalty
    Ntk,
    /// All weights learn at the penalty given by --lambda
    Gibbs,
}

/// The nonlinearity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ActivationFlag {
    Relu,
    Linear,
    Erf,
}

/// Forecast what a network forgets of a task sequence, before anything is trained
///
/// Without arguments: five permuted tasks of the embedded MNIST images.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing forecast                                five permuted tasks, embedded data
  ebbing forecast --tasks my-tasks.npz --out report
  ebbing forecast --data mnist --protocol split --depth 3 --seeds 5
  ebbing forecast --depths 1,3,5,7,9             what depth would change
  ebbing forecast --features layer.npz           order parameters of a layer or of recordings")]
pub struct Args {
    #[command(flatten)]
    sequence: SequenceArgs,
    /// Feature matrices instead of inputs: FILE.npz with x_1, y_1, … where x are features; several for several layers
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["tasks", "data", "protocol", "depths"])]
    features: Vec<PathBuf>,
    /// Hidden layers
    #[arg(long, default_value_t = 1)]
    depth: usize,
    /// Nonlinearity
    #[arg(long, value_enum, default_value = "relu")]
    activation: ActivationFlag,
    /// Which limit of learning
    #[arg(long, value_enum, default_value = "rf")]
    mode: ModeFlag,
    /// Penalty on the change of weights, with --mode gibbs; a number or inf
    #[arg(long, value_name = "LAMBDA", default_value_t = f64::INFINITY)]
    lambda: f64,
    /// Prior standard deviation of a weight
    #[arg(long, value_name = "SIGMA", default_value_t = 1.0)]
    sigma: f64,
    /// Inverse temperature; inf interpolates the training data
    #[arg(long, value_name = "BETA", default_value_t = f64::INFINITY)]
    beta: f64,
    /// Include the variance over networks in losses and accuracies
    #[arg(long)]
    variance: bool,
    /// Set the forecast beside other depths, comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    depths: Vec<usize>,
    /// Number of seeds to average over, each with its own draw of tasks [default: 1; with --max-p 5]
    #[arg(long, value_name = "K")]
    seeds: Option<usize>,
    /// Use at most this many examples per task, other ones for every seed
    #[arg(long, value_name = "P")]
    max_p: Option<usize>,
    /// Do not search for a better order of tasks
    #[arg(long)]
    no_order: bool,
    /// Half samples for intervals of the order parameters; 0 for none
    #[arg(long, value_name = "B", default_value_t = 0)]
    bootstrap: usize,
    /// Label shuffles for the order parameters of unrelated labels; 0 for none
    #[arg(long, value_name = "B", default_value_t = 0)]
    shuffles: usize,
    /// Ridge on feature kernels [default: pseudo-inverse]
    #[arg(long, value_name = "RIDGE", default_value_t = 0.0, requires = "features")]
    ridge: f64,
    /// Names and formulas of the accuracy metrics
    #[arg(long, value_parser = ["gem", "avalanche", "chaudhry"], default_value = "gem")]
    convention: String,
    #[command(flatten)]
    output: Output,
}

/// A forecast and what it is of.
pub(super) struct Told {
    /// What was computed on what, in one line.
    pub heading: String,
    /// The forecast.
    pub outlook: Forecast,
    /// The settings of the theory.
    pub settings: ForecastSettings,
    /// The first sequence's settings.
    pub tasks: serde_json::Value,
    /// The layers' order parameters, where several feature files were given.
    pub layers: Vec<(String, Forecast)>,
}

/// Work above this many estimated seconds is announced before it starts.
const LONG: f64 = 2.0;

impl Args {
    /// What plain `ebbing` does: the forecast with no arguments.
    pub fn plain() -> Self {
        #[derive(clap::Parser)]
        struct Alone {
            #[command(flatten)]
            args: Args,
        }
        <Alone as clap::Parser>::parse_from(["ebbing"]).args
    }

    /// Computes and tells.
    pub fn run(mut self, console: &Console) -> anyhow::Result<()> {
        self.output.check()?;
        if self.seeds() == 0 {
            return Err(Error::setting("--seeds", 0, "must be at least 1").into());
        }
        let settings = self.settings()?;
        let files = std::mem::take(&mut self.features);
        let told = if files.is_empty() {
            let (sequences, heading) = self.sequences()?;
            self.tell(console, &sequences, settings, heading)?
        } else {
            self.tell_layers(console, &files, settings)?
        };
        if self.output.out.is_some() {
            pages::write(&told, &self.output, self.sequence.seed)?;
        }
        if self.output.json {
            return console.print_json(&pages::json(&told, &self.output, self.sequence.seed)?);
        }
        console.print(&words::page(&told, &self.output)?)
    }

    /// How many sequences are averaged: a part of the examples comes with error bars.
    fn seeds(&self) -> usize {
        self.seeds.unwrap_or(if self.max_p.is_some() { 5 } else { 1 })
    }

    /// The checked settings.
    fn settings(&self) -> ebbing::Result<ForecastSettings> {
        if !(self.sigma.is_finite() && self.sigma > 0.0) {
            return Err(Error::setting("--sigma", self.sigma, "must be positive and finite"));
        }
        let theory = SingleHeadSettings {
            mode: match self.mode {
                ModeFlag::Rf => Mode::Rf,
                ModeFlag::Ntk => Mode::Ntk,
                ModeFlag::Gibbs => Mode::Gibbs,
            },
            architecture: Architecture {
                activation: match self.activation {
                    ActivationFlag::Relu => Activation::Relu,
                    ActivationFlag::Linear => Activation::Linear,
                    ActivationFlag::Erf => Activation::Erf,
                },
                depth: self.depth,
            },
            lambda: self.lambda,
            sigma2: self.sigma * self.sigma,
            beta: self.beta,
            variance: self.variance,
            ..SingleHeadSettings::default()
        };
        theory.checked()?;
        Ok(ForecastSettings {
            theory,
            half_samples: self.bootstrap,
            shuffles: self.shuffles,
            depths: self.depths.clone(),
            order: !self.no_order,
            convention: self.convention.parse::<Convention>()?,
            features: !self.features.is_empty(),
            ridge: self.ridge,
        })
    }

    /// One sequence per seed, and what they are in words.
    fn sequences(&self) -> ebbing::Result<(Vec<TaskSequence>, String)> {
        let origin = self.sequence.origin()?;
        if self.seeds() > 1 && !origin.varies() && self.max_p.is_none() {
            let expected = "must be 1: these tasks are given, not drawn (with --max-p every seed takes other examples)";
            return Err(Error::setting("--seeds", self.seeds(), expected));
        }
        let mut sequences = Vec::new();
        for k in 0..self.seeds() as u64 {
            let seed = self.sequence.seed + k;
            let sequence = origin.sequence(seed)?;
            sequences.push(match self.max_p {
                Some(p) => sequence.subsampled(p, p, seed)?,
                None => sequence,
            });
        }
        let what = match &self.sequence.tasks {
            Some(path) => path.display().to_string(),
            None => format!("{}, {}", self.sequence.data, self.sequence.protocol_name()),
        };
        let p: Vec<usize> = sequences[0].tasks.iter().map(|t| t.x.nrows()).collect();
        let p = match (p.iter().min(), p.iter().max()) {
            (Some(a), Some(b)) if a == b => format!("{a}"),
            (Some(a), Some(b)) => format!("{a} to {b}"),
            _ => "no".into(),
        };
        let tasks = count(sequences[0].tasks.len(), "task");
        Ok((sequences, format!("{tasks} of {p} examples ({what})")))
    }

    fn tell(
        &self,
        console: &Console,
        sequences: &[TaskSequence],
        settings: ForecastSettings,
        what: String,
    ) -> anyhow::Result<Told> {
        self.announce(console, &sequences[0], sequences.len(), &settings);
        let parts = (2 * sequences.len() + settings.depths.len() + usize::from(settings.order)) as u64;
        let mut bar = console.steps("forecast", parts);
        let mut done = 0;
        let outlook = Forecast::of(sequences, &settings, &mut |_| {
            bar.set(done);
            done += 1;
        })?;
        drop(bar);
        let heading = format!("Forecast for {what}: {}", describe(&settings, self.seeds(), self.sequence.seed));
        Ok(Told { heading, outlook, settings, tasks: sequences[0].settings.clone(), layers: Vec::new() })
    }

    /// The last file's forecast, and the order parameters of every file.
    fn tell_layers(
        &self,
        console: &Console,
        files: &[PathBuf],
        mut settings: ForecastSettings,
    ) -> anyhow::Result<Told> {
        settings.features = true;
        if self.seeds() > 1 && self.max_p.is_none() {
            let expected = "must be 1: features are given, not drawn (with --max-p every seed takes other examples)";
            return Err(Error::setting("--seeds", self.seeds(), expected).into());
        }
        let mut layers = Vec::new();
        let mut last = None;
        for file in files {
            let all = TaskSequence::load(file)?;
            let part = |seed: u64| match self.max_p {
                Some(p) => all.subsampled(p, p, seed),
                None => Ok(all.clone()),
            };
            let seeds = (0..self.seeds() as u64).map(|k| self.sequence.seed + k);
            let sequences = seeds.map(part).collect::<ebbing::Result<Vec<_>>>()?;
            let what = format!("{} with features of {}", count(all.tasks.len(), "task"), file.display());
            let told = self.tell(console, &sequences, settings.clone(), what)?;
            layers.push((file.display().to_string(), told.outlook.clone()));
            last = Some(told);
        }
        let mut told = last.ok_or_else(|| Error::setting("--features", "nothing", "give at least one file"))?;
        if layers.len() > 1 {
            told.layers = layers;
        }
        Ok(told)
    }

    /// Says how long it will take and how much memory, where that is worth saying.
    fn announce(&self, console: &Console, sequence: &TaskSequence, seeds: usize, settings: &ForecastSettings) {
        let sizes = Sizes::of(sequence);
        let cost = forgetting_cost(&sizes).then(order_parameter_cost(&sizes));
        let cost = cost.times(seeds * (1 + settings.depths.len()));
        let seconds = cost.seconds(Speed::measure());
        if seconds > LONG {
            console.remark(&format!("about {} and {} of memory", time(seconds), size(cost.bytes)));
        }
    }
}

/// "5 tasks", "1 task".
fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The theory in words.
fn describe(settings: &ForecastSettings, seeds: usize, seed: u64) -> String {
    let theory = &settings.theory;
    let mode = match theory.mode {
        Mode::Rf => "random features".to_string(),
        Mode::Ntk => "all weights, strong penalty".to_string(),
        Mode::Gibbs => format!("all weights, lambda {}", theory.lambda),
    };
    let network = if settings.features {
        "given features".to_string()
    } else {
        let activation = match theory.architecture.activation {
            Activation::Relu => "ReLU",
            Activation::Linear => "linear",
            Activation::Erf => "erf",
        };
        format!("{activation} depth {}", theory.architecture.depth)
    };
    let seeds = if seeds > 1 { format!("{seeds} seeds from {seed}") } else { format!("seed {seed}") };
    format!("{network}, {mode}, {seeds}")
}
