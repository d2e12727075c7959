//! `ebbing train`: networks of finite width learn the tasks by gradient descent, beside what the theory says.

mod cell;
mod loads;
mod runs;
mod sequence_figure;

pub use cell::COLUMNS;

use crate::console::Console;
use crate::output::Output;
use crate::sequence::{Kind, SequenceArgs};
use clap::ValueEnum;
use ebbing::Error;
use ebbing::kernels::{Activation, Architecture};
use ebbing::nets::{Fisher, Heads, Indexing, Learner, LossScale, PenaltyStep, TrainSettings};

/// A learning rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rule {
    /// Gradient descent
    Gd,
    /// L2 penalty on the distance to the last solution
    L2,
    /// Online elastic weight consolidation
    Ewc,
}

/// How EWC's Fisher information is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FisherFlag {
    /// Squared gradient of the whole loss, the paper's normalisation
    Paper,
    /// The same with unit rms
    Rms,
    /// Mean squared gradient of single examples
    Empirical,
    /// Exact for a Gaussian likelihood
    Exact,
}

/// Train networks on a task sequence, with learners and the theory in one figure
///
/// Losses are sum((f-y)^2)/|Y|^2; [t][s] is after task t on task s. Not forgetting counts only where the newest task was
/// learned: its mean squared training error stands beside every forgetting number.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing train --seeds 5 --out DIR                 gradient descent against the theory
  ebbing train --learners gd,l2,ewc --kappa 0.1    three learners side by side
  ebbing train --heads multi --learners l2 --kappa 0.03 --momentum 0.9 --ratio 0.1 \\
      --loads 0.3,0.6,0.9,1.1,1.3,1.6,2,3,4,6 --seeds 5 --max-steps 30000 \\
      --tolerance 1e-4 --out DIR                   the three regimes by descent
An interrupted run with --out goes on where it was, to the same numbers.")]
pub struct Args {
    #[command(flatten)]
    sequence: SequenceArgs,
    /// Learning rules, comma-separated
    #[arg(long, value_enum, value_delimiter = ',', default_value = "gd,l2")]
    learners: Vec<Rule>,
    /// Strength of the penalty
    #[arg(long, default_value_t = 0.1)]
    kappa: f64,
    /// EWC: decay of older tasks' Fisher information
    #[arg(long, default_value_t = 1.0)]
    gamma: f64,
    /// EWC: how the Fisher information is taken
    #[arg(long, value_enum, default_value = "rms")]
    fisher: FisherFlag,
    /// EWC: use the paper's printed indexing (the current task's Fisher, the first task's dropped)
    #[arg(long)]
    printed: bool,
    /// One readout for all tasks, or one for each (then only hidden weights are penalised)
    #[arg(long, value_parser = ["single", "multi"], default_value = "single")]
    heads: String,
    /// Hidden layers
    #[arg(long, default_value_t = 1)]
    depth: usize,
    /// Width N of every hidden layer
    #[arg(long, default_value_t = 400)]
    width: usize,
    /// Multi-head, two tasks: sweep the load P/N over these values instead of one width
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    loads: Vec<f64>,
    /// Standard deviation of initial weights
    #[arg(long, default_value_t = 1.0)]
    sigma0: f64,
    /// Loss whose gradient is followed: half the sum or half the mean of squared errors
    #[arg(long, value_parser = ["sum", "mean"], default_value = "sum")]
    loss: String,
    /// Learning rate: a number, or auto: one over the loss's largest curvature, from the network's own tangent kernel, at
    /// most half of what is stable and adapted on the way
    #[arg(long, default_value = "auto")]
    eta: String,
    /// Multiplies the automatic rate: with 0.5 losses change by less than 5 %
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    eta_factor: f64,
    /// Step the penalty explicitly (refused where that is unstable)
    #[arg(long)]
    explicit: bool,
    /// Mean squared error at which an unpenalised task counts as learned
    #[arg(long, default_value_t = 1e-3)]
    threshold: f64,
    /// A penalised task ends when loss and distance change less than this, relatively ...
    #[arg(long, default_value_t = 1e-3)]
    tolerance: f64,
    /// ... over this many steps
    #[arg(long, default_value_t = 200)]
    patience: usize,
    /// Most steps per task
    #[arg(long, default_value_t = 20_000)]
    max_steps: usize,
    /// Examples per step [default: all]
    #[arg(long, value_name = "B")]
    batch: Option<usize>,
    /// Heavy-ball momentum
    #[arg(long, default_value_t = 0.0)]
    momentum: f64,
    /// Number of seeds, each with its own tasks and initial weights
    #[arg(long, value_name = "K", default_value_t = 1)]
    seeds: usize,
    #[command(flatten)]
    output: Output,
}

impl Args {
    /// Trains and compares.
    pub fn run(mut self, console: &Console) -> anyhow::Result<()> {
        self.output.check()?;
        if self.seeds == 0 {
            return Err(Error::setting("--seeds", 0, "must be at least 1").into());
        }
        if self.sequence.tasks.is_none() {
            self.sequence.examples.get_or_insert(200);
            self.sequence.test_examples.get_or_insert(200);
        }
        if !self.loads.is_empty() && self.sequence.tasks.is_none() && self.sequence.protocol == Kind::Permuted {
            // As in the phase diagram of two tasks, the first task stays as it is.
            self.sequence.length.get_or_insert(2);
            self.sequence.first_unpermuted = true;
        }
        if self.loads.is_empty() { self.over_tasks(console) } else { self.over_loads(console) }
    }

    /// The learners that were asked for.
    fn rules(&self) -> Vec<Learner> {
        let rule = |rule: &Rule| match rule {
            Rule::Gd => Learner::Gd,
            Rule::L2 => Learner::L2 { kappa: self.kappa },
            Rule::Ewc => Learner::Ewc {
                kappa: self.kappa,
                gamma: self.gamma,
                fisher: match self.fisher {
                    FisherFlag::Paper => Fisher::Paper,
                    FisherFlag::Rms => Fisher::Rms,
                    FisherFlag::Empirical => Fisher::Empirical,
                    FisherFlag::Exact => Fisher::Exact,
                },
                indexing: if self.printed { Indexing::Printed } else { Indexing::Past },
            },
        };
        let mut all: Vec<Learner> = Vec::new();
        for learner in self.learners.iter().map(rule) {
            if !all.contains(&learner) {
                all.push(learner);
            }
        }
        all
    }

    /// The checked settings of one run.
    fn settings(&self, learner: Learner, seed: u64) -> ebbing::Result<TrainSettings> {
        let eta = match self.eta.as_str() {
            "auto" => None,
            number => {
                Some(number.parse().map_err(|_| Error::setting("--eta", number, "must be a positive number or auto"))?)
            }
        };
        let settings = TrainSettings {
            learner,
            heads: if self.heads == "multi" { Heads::Multi } else { Heads::Single },
            architecture: Architecture { activation: Activation::Relu, depth: self.depth },
            width: self.width,
            sigma0: self.sigma0,
            loss: if self.loss == "mean" { LossScale::Mean } else { LossScale::Sum },
            eta,
            eta_factor: self.eta_factor,
            penalty_step: if self.explicit { PenaltyStep::Explicit } else { PenaltyStep::Implicit },
            threshold: self.threshold,
            tolerance: self.tolerance,
            patience: self.patience,
            max_steps: self.max_steps,
            batch: self.batch,
            momentum: self.momentum,
            seed,
            ..TrainSettings::default()
        };
        settings.check()?;
        Ok(settings)
    }
}
