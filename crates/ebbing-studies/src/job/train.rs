//! `train`: networks of finite width learn the tasks; as rows, one per learner, time and task.

use super::tasks::{ProtocolKind, TaskKeys};
use super::words::{checked_seeds, choice, list, number};
use crate::cell::Row;
use crate::error::Result;
use clap::ValueEnum;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::kernels::{Activation, Architecture};
use ebbing::nets::{Fisher, Heads, Indexing, Learner, LossScale, PenaltyStep, Solver, TrainSettings, Trained};
use ebbing::plan::{Cost, Sizes, levenberg_cost, train_cost};
use ebbing::{Error, Trainer};
use serde::{Deserialize, Deserializer, Serialize};

/// A learning rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Gradient descent
    Gd,
    /// L2 penalty on the distance to the last solution
    L2,
    /// Online elastic weight consolidation
    Ewc,
}

impl std::str::FromStr for Rule {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        <Rule as ValueEnum>::from_str(word, false)
    }
}

/// The settings of training.
#[derive(Debug, Clone, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainJob {
    /// Which tasks are learned.
    #[command(flatten)]
    #[serde(flatten)]
    pub tasks: TaskKeys,
    /// Learning rules, comma-separated
    #[arg(long, value_enum, value_delimiter = ',', default_value = "gd,l2")]
    #[serde(deserialize_with = "list")]
    pub learners: Vec<Rule>,
    /// Strength of the penalty
    #[arg(long, value_parser = number, default_value_t = 0.1)]
    pub kappa: f64,
    /// How a task's weights are found: step by step, or at the minimum itself (gd and l2 only)
    #[arg(long, value_parser = choice::<Solver>(SOLVERS), default_value = "descent")]
    pub solver: Solver,
    /// How the weights of the first task, which has no penalty, are found [default: as --solver]
    #[arg(long, value_parser = choice::<Solver>(SOLVERS), value_name = "SOLVER")]
    pub first_solver: Option<Solver>,
    /// Levenberg: a task ends when the gradient's norm is below this share of what it was at the start
    #[arg(long, value_parser = number, value_name = "X", default_value_t = 1e-6)]
    pub gradient_tolerance: f64,
    /// Levenberg: start penalized tasks from their initial readout times each of these, and keep the lowest objective
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',', default_value = "1")]
    #[serde(deserialize_with = "list")]
    pub readout_scales: Vec<f64>,
    /// Levenberg: strength of a penalty on the readout of penalized tasks, which pulls it to 0
    #[arg(long, value_parser = number, value_name = "X", default_value_t = 0.0)]
    pub readout_penalty: f64,
    /// EWC: decay of older tasks' Fisher information
    #[arg(long, value_parser = number, default_value_t = 1.0)]
    pub gamma: f64,
    /// EWC: how the Fisher information is taken
    #[arg(long, value_parser = choice::<Fisher>(FISHERS), default_value = "rms")]
    pub fisher: Fisher,
    /// EWC: use the paper's printed indexing (the current task's Fisher, the first task's dropped)
    #[arg(long)]
    pub printed: bool,
    /// One readout for all tasks, or one for each (then only hidden weights are penalized)
    #[arg(long, value_parser = choice::<Heads>(super::sample::HEADS), default_value = "single")]
    pub heads: Heads,
    /// Hidden layers
    #[arg(long, default_value_t = 1)]
    pub depth: usize,
    /// Width N of every hidden layer
    #[arg(long, default_value_t = 400)]
    pub width: usize,
    /// Multi-head, two tasks: sweep the load P/N over these values instead of one width
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub loads: Vec<f64>,
    /// Standard deviation of initial weights
    #[arg(long, value_parser = number, default_value_t = 1.0)]
    pub sigma0: f64,
    /// Loss whose gradient is followed: half the sum or half the mean of squared errors
    #[arg(long, value_parser = choice::<LossScale>(LOSSES), default_value = "sum")]
    pub loss: LossScale,
    /// Learning rate: a number, or auto: one over the loss's largest curvature, from the network's own tangent kernel, at
    /// most half of what is stable and adapted on the way
    #[arg(long, default_value = "auto")]
    #[serde(deserialize_with = "number_or_word")]
    pub eta: String,
    /// Multiplies the automatic rate: with 0.5 losses change by less than 5 %
    #[arg(long, value_parser = number, value_name = "X", default_value_t = 1.0)]
    pub eta_factor: f64,
    /// Step the penalty explicitly (refused where that is unstable)
    #[arg(long)]
    pub explicit: bool,
    /// Mean squared error at which an unpenalized task counts as learned
    #[arg(long, value_parser = number, default_value_t = 1e-3)]
    pub threshold: f64,
    /// A penalized task ends when loss and distance change less than this, relatively ...
    #[arg(long, value_parser = number, default_value_t = 1e-3)]
    pub tolerance: f64,
    /// ... over this many steps
    #[arg(long, default_value_t = 200)]
    pub patience: usize,
    /// Most steps per task
    #[arg(long, default_value_t = 20_000)]
    pub max_steps: usize,
    /// Examples per step [default: all]
    #[arg(long, value_name = "B")]
    pub batch: Option<usize>,
    /// Heavy-ball momentum
    #[arg(long, value_parser = number, default_value_t = 0.0)]
    pub momentum: f64,
    /// Number of seeds, each with its own tasks and initial weights
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub seeds: usize,
}

const FISHERS: &[(&str, &str)] = &[
    ("paper", "Squared gradient of the whole loss, the paper's normalization"),
    ("rms", "The same with unit rms"),
    ("empirical", "Mean squared gradient of single examples"),
    ("exact", "Exact for a Gaussian likelihood"),
];

const SOLVERS: &[(&str, &str)] = &[
    ("descent", "Gradient descent until a stopping rule holds"),
    (
        "levenberg",
        "Levenberg-Marquardt to the minimum of loss and penalty; without a penalty, to a nearby interpolating solution",
    ),
];

const LOSSES: &[(&str, &str)] = &[("sum", "Half the sum of squared errors"), ("mean", "Half their mean")];

/// A number as the word that a flag has.
fn number_or_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Word(String),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::Number(x) => x.to_string(),
        Written::Word(word) => word,
    })
}

impl TrainJob {
    /// Which tasks, 200 examples each unless told; with loads two tasks, of permuted ones the first as it is.
    pub fn task_keys(&self) -> TaskKeys {
        let mut keys = self.tasks.clone().or_examples(200);
        if !self.loads.is_empty() && keys.tasks.is_none() && keys.kind() == ProtocolKind::Permuted {
            keys.length.get_or_insert(2);
            keys.first_unpermuted = true;
        }
        keys
    }

    /// The widths of the loads that are swept, for tasks of `p` examples: N = P/α.
    ///
    /// # Errors
    /// [`ebbing::Error::Setting`] for a load that is no positive number.
    pub fn widths(&self, p: usize) -> ebbing::Result<Vec<usize>> {
        if let Some(bad) = self.loads.iter().find(|a| !(a.is_finite() && **a > 0.0)) {
            return Err(Error::setting("--loads", bad, "every load must be positive"));
        }
        Ok(self.loads.iter().map(|a| (p as f64 / a).round().max(1.0) as usize).collect())
    }

    /// The largest width that is trained.
    fn widest(&self, sizes: &Sizes) -> usize {
        let widths = self.widths(sizes.train.last().copied().unwrap_or_default()).unwrap_or_default();
        widths.into_iter().max().unwrap_or(self.width)
    }

    /// The learners that were asked for, each once.
    pub fn rules(&self) -> Vec<Learner> {
        let rule = |rule: &Rule| match rule {
            Rule::Gd => Learner::Gd,
            Rule::L2 => Learner::L2 { kappa: self.kappa },
            Rule::Ewc => Learner::Ewc {
                kappa: self.kappa,
                gamma: self.gamma,
                fisher: self.fisher,
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
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn settings(&self, learner: Learner, seed: u64) -> ebbing::Result<TrainSettings> {
        let eta = match self.eta.as_str() {
            "auto" => None,
            number => {
                Some(number.parse().map_err(|_| Error::setting("--eta", number, "must be a positive number or auto"))?)
            }
        };
        let settings = TrainSettings {
            learner,
            heads: self.heads,
            architecture: Architecture { activation: Activation::Relu, depth: self.depth },
            width: self.width,
            sigma0: self.sigma0,
            loss: self.loss,
            eta,
            eta_factor: self.eta_factor,
            penalty_step: if self.explicit { PenaltyStep::Explicit } else { PenaltyStep::Implicit },
            threshold: self.threshold,
            tolerance: self.tolerance,
            patience: self.patience,
            max_steps: self.max_steps,
            batch: self.batch,
            momentum: self.momentum,
            solver: self.solver,
            first_solver: self.first_solver,
            gradient_tolerance: self.gradient_tolerance,
            readout_scales: self.readout_scales.clone(),
            readout_penalty: self.readout_penalty,
            seed,
            ..TrainSettings::default()
        };
        settings.check()?;
        Ok(settings)
    }

    pub(super) fn check(&self) -> ebbing::Result<()> {
        checked_seeds(self.seeds)?;
        self.widths(1)?;
        for learner in self.rules() {
            self.settings(learner, self.tasks.seed())?;
        }
        self.task_keys().recipe().map(|_| ())
    }

    pub(super) fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let recipe = self.task_keys().recipe()?;
        let tasks = recipe.draw(sources, recipe.seed)?.tasks;
        let mut all = Vec::new();
        for learner in self.rules() {
            let mut trainer = Trainer::new(&tasks, &self.settings(learner, recipe.seed)?, context)?;
            while trainer.done() < trainer.tasks() {
                trainer.learn_next(&mut |_| true)?;
            }
            all.extend(rows(&learner.name(), trainer.trained()));
        }
        Ok(all)
    }

    pub(super) fn cost_of(&self, sizes: &Sizes) -> Cost {
        if self.solver == Solver::Levenberg {
            let solves = USUAL_SOLVES.min(self.max_steps).saturating_mul(self.readout_scales.len());
            let steps = vec![solves; sizes.train.len()];
            return levenberg_cost(sizes, self.widest(sizes), self.depth, &steps).times(self.rules().len());
        }
        let steps = vec![USUAL_STEPS.min(self.max_steps); sizes.train.len()];
        train_cost(sizes, self.widest(sizes), self.depth, self.batch, &steps).times(self.rules().len())
    }
}

/// Steps that a task takes as a rule, for estimates: between easy (hundreds) and hard (all that are allowed) ones.
const USUAL_STEPS: usize = 2000;
/// The same of the solver that finds the minimum itself.
const USUAL_SOLVES: usize = 100;

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("learner", "learning rule"),
    ("t", "tasks learned"),
    ("s", "the task that is looked at, from 1"),
    ("train_loss", "training loss of task s after task t over the norm of its targets"),
    ("test_loss", "test loss of task s after task t over the norm of its targets"),
    ("train_accuracy", "share of training examples of task s on the right side after task t"),
    ("test_accuracy", "share of test examples of task s on the right side after task t"),
    ("newest_mse", "mean squared training error of task t when it was learned"),
    ("newest_learned", "1 where that is below the threshold"),
    ("steps", "steps that task t took"),
    ("converged", "1 where task t ended where it was meant to, not out of steps"),
    ("objective", "levenberg: loss and penalty of task t at the end"),
    ("gradient", "levenberg: norm of their gradient there over that at the start"),
];

fn rows(learner: &str, trained: &Trained) -> Vec<Row> {
    let mut all = Vec::new();
    for (t, report) in trained.reports.iter().enumerate() {
        for s in 0..=t {
            let known = [
                ("test_loss", trained.test_loss[t][s]),
                ("train_accuracy", trained.train_accuracy[t][s]),
                ("test_accuracy", trained.test_accuracy[t][s]),
            ];
            let row = Row::new()
                .with("learner", learner)
                .with("t", t + 1)
                .with("s", s + 1)
                .with("train_loss", trained.train_loss[t][s]);
            let row = known.iter().fold(row, |row, (name, value)| value.map_or(row.clone(), |v| row.with(name, v)));
            let row = row
                .with("newest_mse", report.mse)
                .with("newest_learned", usize::from(report.learned))
                .with("steps", report.steps)
                .with("converged", usize::from(report.converged));
            all.push(match report.minimum {
                Some(at) => row.with("objective", at.objective).with("gradient", at.gradient),
                None => row,
            });
        }
    }
    all
}
