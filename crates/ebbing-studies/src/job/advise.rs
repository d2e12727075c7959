//! `advise`: what each remedy against forgetting would do for a task sequence, averaged over seeds.

use super::ForecastJob;
use super::replay::{BUDGETS, ReplayKeys};
use super::tasks::TaskKeys;
use super::words::{ACTIVATIONS, choice, number};
use ebbing::data::Sources;
use ebbing::kernels::Activation;
use ebbing::theory::advise::{Advice, AdviseSettings};
use ebbing::theory::single_head::{Mode, ReplayBudget};
use ebbing::{Error, TaskSequence};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The settings of advice.
#[derive(Debug, Clone, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(default)]
pub struct AdviseJob {
    /// Which tasks are learned.
    #[command(flatten)]
    #[serde(flatten)]
    pub tasks: TaskKeys,
    /// Feature matrices instead of inputs: FILE.npz with x_1, y_1, … where x are features
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tasks", "data", "protocol"])]
    pub features: Option<PathBuf>,
    /// Hidden layers
    #[arg(long, default_value_t = 1)]
    pub depth: usize,
    /// Nonlinearity
    #[arg(long, value_parser = choice::<Activation>(ACTIVATIONS), default_value = "relu")]
    pub activation: Activation,
    /// How the network learns when nothing is done
    #[arg(long, value_parser = choice::<Mode>(MODES), default_value = "rf")]
    pub mode: Mode,
    /// Prior standard deviation of a weight
    #[arg(long, value_parser = number, value_name = "SIGMA", default_value_t = 1.0)]
    pub sigma: f64,
    /// Inverse temperature; inf interpolates the training data
    #[arg(long, value_parser = number, value_name = "BETA", default_value_t = f64::INFINITY)]
    #[serde(with = "ebbing::serde_infinity")]
    pub beta: f64,
    /// How many examples must be kept to hold forgetting below this [default: half of doing nothing]
    #[arg(long, value_parser = number, value_name = "F")]
    pub keep_forgetting_below: Option<f64>,
    /// The most examples that may be kept [default: all]
    #[arg(long, value_name = "M")]
    pub budget: Option<usize>,
    /// What the budget counts
    #[arg(long, value_parser = choice::<ReplayBudget>(BUDGETS), default_value = "per-task")]
    pub replay_budget: ReplayBudget,
    /// Number of seeds to average over, each with its own draw of tasks
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub seeds: usize,
    /// Use at most this many examples per task [default: 300]
    #[arg(long, value_name = "P")]
    pub max_p: Option<usize>,
}

/// Ways of learning when nothing is done; the penalty is one of the remedies.
const MODES: &[(&str, &str)] = &[
    ("rf", "Only the readout learns"),
    ("ntk", "All weights learn, strong penalty"),
    ("lazy", "All weights learn by plain gradient descent in small steps"),
];

/// Advice and what it is on.
#[derive(Debug, Clone)]
pub struct AdviseResult {
    /// What was computed on what, in one line.
    pub heading: String,
    /// The advice.
    pub advice: Advice,
    /// The settings of the library.
    pub settings: AdviseSettings,
    /// The first seed.
    pub seed: u64,
    /// The first sequence's settings.
    pub tasks: serde_json::Value,
}

impl AdviseJob {
    /// The forecast of doing nothing.
    pub fn forecast(&self) -> ForecastJob {
        ForecastJob {
            tasks: self.tasks.clone(),
            features: self.features.iter().cloned().collect(),
            depth: self.depth,
            activation: self.activation,
            mode: self.mode,
            sigma: self.sigma,
            beta: self.beta,
            seeds: Some(self.seeds),
            max_p: self.max_p,
            ..ForecastJob::default()
        }
    }

    /// The checked settings of the library.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn settings(&self) -> ebbing::Result<AdviseSettings> {
        let replay = ReplayKeys { replay_budget: self.replay_budget, ..ReplayKeys::default() };
        let default = AdviseSettings::default();
        Ok(AdviseSettings {
            theory: self.forecast().settings()?.theory,
            keep_forgetting_below: self.keep_forgetting_below,
            budget: self.budget,
            replay: replay.settings(),
            features: self.features.is_some(),
            max_p: self.max_p.unwrap_or(default.max_p),
            ..default
        })
    }

    /// Computes the advice; `hear` is told of each step.
    ///
    /// # Errors
    /// What the library says.
    pub fn run(&self, sources: &Sources, hear: &mut dyn FnMut(&str)) -> ebbing::Result<AdviseResult> {
        let (forecast, settings) = (self.forecast(), self.settings()?);
        let (what, sequences) = forecast.drawn(sources)?;
        let advice = Advice::of(&sequences, &settings, hear)?;
        let heading = format!("Advice for {}", forecast.heading(&what)?);
        let tasks = sequences[0].settings.clone();
        Ok(AdviseResult { heading, advice, settings, seed: forecast.seed()?, tasks })
    }
}

impl ForecastJob {
    /// What would help most, in one sentence, from a small part of the tasks: what a plain run ends with.
    ///
    /// # Errors
    /// What the library says.
    pub fn in_short(&self, sources: &Sources) -> ebbing::Result<Option<String>> {
        let (_, sequences) = self.drawn(sources)?;
        let first: &[TaskSequence] = &sequences[..1];
        if first[0].tasks.len() < 2 {
            return Ok(None);
        }
        let theory = self.settings()?.theory;
        let quick = AdviseSettings { theory, max_p: 100, quick: true, ..AdviseSettings::default() };
        Ok(Advice::of(first, &quick, &mut |_| ())?.in_short())
    }

    /// The sequences of all seeds of the one set of tasks, and what they are in words.
    fn drawn(&self, sources: &Sources) -> ebbing::Result<(String, Vec<TaskSequence>)> {
        let (_, what, sequences) =
            self.sequences(sources)?.pop().ok_or_else(|| Error::setting("--features", "nothing", "give one file"))?;
        Ok((what, sequences))
    }
}
