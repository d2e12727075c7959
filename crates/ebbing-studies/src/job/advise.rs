//! `advise`: what each remedy against forgetting would do for a task sequence, averaged over seeds.

use super::ForecastJob;
use super::replay::{BUDGETS, ReplayKeys};
use super::tasks::TaskKeys;
use super::words::{ACTIVATIONS, choice, list, number};
use crate::cell::Row;
use crate::error::Result;
use ebbing::Context;
use ebbing::answer::{AdviseResult, ForecastResult};
use ebbing::data::Sources;
use ebbing::kernels::Activation;
use ebbing::plan::{Cost, Sizes, feature_forgetting_cost, forgetting_cost};
use ebbing::tasks::whole_targets;
use ebbing::theory::advise::{Advice, AdviseSettings, Remedy, ReplayPoint};
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
    /// Prior standard deviation of a bias in every layer, the readout included; 0 for none
    #[arg(long, value_parser = number, value_name = "SIGMA_B", default_value_t = 0.0)]
    pub bias: f64,
    /// Inverse temperature: noise on the targets has variance 1/BETA; inf interpolates the training data
    #[arg(long, value_parser = number, value_name = "BETA", default_value_t = f64::INFINITY)]
    #[serde(with = "ebbing::serde_infinity")]
    pub beta: f64,
    /// Hidden units N: a readout per task is forecast at this width, not for wide networks
    #[arg(long, value_parser = number, value_name = "N")]
    pub width: Option<f64>,
    /// More such widths, comma-separated
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub widths: Vec<f64>,
    /// Penalties to try, comma-separated, inf included at --beta inf, each told [default: 1, 10, 100 and 1000, the best told]
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub lambdas: Vec<f64>,
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

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("kind", "what is done"),
    ("remedy", "the same at its best setting, in words"),
    ("forgetting", "mean training loss of earlier tasks after the last"),
    ("gain", "forgetting spared against doing nothing"),
    ("accuracy", "average over all tasks after the last, on test data where every task has some"),
    ("backward_transfer", "what earlier tasks gain in accuracy, or (below 0) forget"),
    ("cost", "work of training relative to doing nothing"),
    ("task_known", "1 where the task must be known at test time"),
    ("applies", "1 where the remedy applies"),
    ("examples", "examples kept (rows of the sweep of replay)"),
];

/// Ways of learning when nothing is done; the penalty is one of the remedies.
const MODES: &[(&str, &str)] = &[
    ("rf", "Only the readout learns"),
    ("ntk", "All weights learn, strong penalty"),
    ("lazy", "All weights learn by plain gradient descent in small steps"),
];

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
            bias: self.bias,
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
            width: self.width,
            widths: self.widths.clone(),
            lambdas: self.lambdas.clone(),
            max_p: self.max_p.unwrap_or(default.max_p),
            ..default
        })
    }

    pub(super) fn check(&self) -> ebbing::Result<()> {
        self.settings()?.checked()?;
        self.forecast().check()
    }

    /// Refuses settings that tasks of these sizes do not allow.
    pub(super) fn check_sizes(&self, sizes: &Sizes) -> ebbing::Result<()> {
        if sizes.train.len() < 2 {
            return Err(Error::setting(
                "--length",
                sizes.train.len(),
                "must be at least 2 tasks: of one nothing is forgotten",
            ));
        }
        let settings = self.settings()?;
        let most = settings.replay.most_of(&sizes.train);
        match settings.budget.filter(|budget| *budget > most) {
            Some(budget) => {
                Err(Error::setting("budget", budget, format!("must be at most {most}, what there is to be stored")))
            }
            None => Ok(()),
        }
    }

    pub(super) fn sizes(&self) -> ebbing::Result<Sizes> {
        ForecastJob { max_p: Some(self.settings()?.max_p), ..self.forecast() }.sizes()
    }

    /// Some thirty settings of remedies are tried, each as a forecast without order parameters.
    pub(super) fn cost_of(&self, sizes: &Sizes) -> Cost {
        let one = if self.features.is_some() { feature_forgetting_cost(sizes) } else { forgetting_cost(sizes) };
        one.times(30 * self.seeds)
    }

    /// One row per remedy, then one per number of examples kept.
    pub(super) fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let advice = AdviseJob { seeds: 1, ..self.clone() }.run(sources, context)?.advice;
        let remedy = |r: &Remedy| {
            let kind = serde_json::to_value(r.kind).ok().and_then(|kind| kind.as_str().map(String::from));
            let row = Row::new()
                .with("kind", kind.unwrap_or_default())
                .with("remedy", r.remedy.as_str())
                .with("task_known", usize::from(r.task_known))
                .with("applies", usize::from(r.applies));
            let numbers = [
                ("forgetting", r.forgetting),
                ("gain", r.gain),
                ("accuracy", r.accuracy),
                ("backward_transfer", r.backward_transfer),
                ("cost", r.cost),
            ];
            numbers.into_iter().fold(row, |row, (name, value)| match value {
                Some(value) => row.with(name, value),
                None => row,
            })
        };
        let kept = |p: &ReplayPoint| {
            let row = Row::new().with("kind", "replay-sweep").with("remedy", format!("replay of {}", p.examples));
            row.with("examples", p.examples).with("forgetting", p.forgetting).with("cost", p.cost)
        };
        Ok(advice.remedies.iter().map(remedy).chain(advice.replay.iter().map(kept)).collect())
    }

    /// Computes the advice.
    ///
    /// # Errors
    /// What the library says.
    pub fn run(&self, sources: &Sources, context: &Context) -> ebbing::Result<AdviseResult> {
        let (forecast, settings) = (self.forecast(), self.settings()?);
        let (what, sequences) = forecast.drawn(sources)?;
        let advice = Advice::of(&sequences, &settings, context)?;
        let targets: Vec<_> = sequences[0].tasks.iter().map(|task| task.y.as_ref()).collect();
        let look = whole_targets(&targets).map_or(String::new(), |words| format!("; {words}"));
        let heading = heading_for(&advice, &format!("{}{look}", forecast.heading(&what)?));
        let tasks = sequences[0].settings.clone();
        Ok(AdviseResult { heading, advice, settings, seed: forecast.seed()?, tasks })
    }
}

/// The line that opens advice: what it was computed on where that is not all there is.
pub fn heading_for(advice: &Advice, tasks: &str) -> String {
    let [used, there] = advice.examples_used;
    let part = if used < there { format!(" from {used} examples of each task") } else { String::new() };
    format!("Advice{part} for {tasks}")
}

/// What would help most, in one sentence, from a small part of the tasks: what a plain run ends with.
///
/// # Errors
/// What the library says.
pub fn in_short(answer: &ForecastResult, context: &Context) -> ebbing::Result<Option<String>> {
    if answer.first.tasks.len() < 2 {
        return Ok(None);
    }
    let quick = AdviseSettings { theory: answer.settings.theory, max_p: 100, quick: true, ..AdviseSettings::default() };
    Ok(Advice::of(std::slice::from_ref(&answer.first), &quick, context)?.in_short())
}

impl ForecastJob {
    /// The sequences of all seeds of the one set of tasks, and what they are in words.
    fn drawn(&self, sources: &Sources) -> ebbing::Result<(String, Vec<TaskSequence>)> {
        let (_, what, sequences) =
            self.sequences(sources)?.pop().ok_or_else(|| Error::setting("--features", "nothing", "give one file"))?;
        Ok((what, sequences))
    }
}
