//! A request: what is computed with which tasks. Flags, study files and the figures of the paper all become a [`Job`].
//!
//! Every key is a flag of the command of the same name (`first_unpermuted` is `--first-unpermuted`), with the same default.

mod advise;
mod forecast;
mod keys;
mod phase;
mod replay;
mod sample;
mod tasks;
mod train;
mod words;

pub use advise::{AdviseJob, heading_for, in_short};
pub use forecast::ForecastJob;
pub use phase::{PhaseJob, PhaseSweep};
pub use replay::ReplayKeys;
pub use sample::SampleJob;
pub use tasks::{PreprocessKeys, ProtocolKind, TaskKeys};
pub use train::{Rule, TrainJob};
pub use words::{Loads, flag_of};

use crate::cell::{Row, Value};
use crate::error::Result;
use crate::study::{Column, Work};
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::plan::{Cost, Memory, Sizes, drawing_cost};
use ebbing::{Recipe, TaskSequence};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The defaults of a job are those of its flags, so that files and flags cannot differ.
macro_rules! defaults_of_flags {
    ($($job:ty),+) => {$(
        impl Default for $job {
            fn default() -> Self {
                static READ: OnceLock<$job> = OnceLock::new();
                READ.get_or_init(words::defaults).clone()
            }
        }
    )+};
}
defaults_of_flags!(AdviseJob, ForecastJob, PhaseJob, TrainJob, SampleJob);

/// A request of one of the commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "lowercase")]
pub enum Job {
    /// What is forgotten of a sequence, by the theory of one readout.
    Forecast(Box<ForecastJob>),
    /// Two or more tasks with a readout each, against the load.
    Phase(Box<PhaseJob>),
    /// Networks trained by descent.
    Train(Box<TrainJob>),
    /// Networks sampled from the posterior.
    Sample(Box<SampleJob>),
    /// What each remedy against forgetting would do.
    Advise(Box<AdviseJob>),
}

/// The same of whichever job it is.
macro_rules! each_job {
    ($self:expr, $job:ident => $of:expr) => {
        match $self {
            Job::Forecast($job) => $of,
            Job::Phase($job) => $of,
            Job::Train($job) => $of,
            Job::Sample($job) => $of,
            Job::Advise($job) => $of,
        }
    };
}

macro_rules! jobs_of_commands {
    ($($variant:ident($job:ty)),+) => {$(
        impl From<$job> for Job {
            fn from(job: $job) -> Job {
                Job::$variant(Box::new(job))
            }
        }
    )+};
}
jobs_of_commands!(Forecast(ForecastJob), Phase(PhaseJob), Train(TrainJob), Sample(SampleJob), Advise(AdviseJob));

impl Job {
    /// The names of the commands.
    pub const COMMANDS: [&'static str; 5] = ["forecast", "phase", "train", "sample", "advise"];

    /// The request of a command with its settings by key.
    ///
    /// # Errors
    /// [`ebbing::Error::Setting`] for a command or key that is unknown and for a value that is none of its key.
    pub fn new(command: &str, settings: &BTreeMap<&str, &Value>, seed: u64) -> ebbing::Result<Job> {
        let mut job = keys::read(command, settings)?;
        job.tasks_mut().seed = Some(seed);
        Ok(job)
    }

    /// The command's name.
    pub fn command(&self) -> &'static str {
        match self {
            Job::Forecast(_) => "forecast",
            Job::Phase(_) => "phase",
            Job::Train(_) => "train",
            Job::Sample(_) => "sample",
            Job::Advise(_) => "advise",
        }
    }

    /// The keys that a study of a command may set: all but those that a study makes itself.
    pub fn keys(command: &str) -> Vec<String> {
        keys::of(command)
    }

    fn tasks_mut(&mut self) -> &mut TaskKeys {
        each_job!(self, job => &mut job.tasks)
    }

    /// Refuses what would be refused when it is computed, as far as that can be told without data.
    ///
    /// # Errors
    /// Whatever is wrong with the settings, in one sentence.
    pub fn check(&self) -> ebbing::Result<()> {
        each_job!(self, job => job.check())
    }

    /// What makes its tasks; none where features are given.
    fn recipe(&self) -> ebbing::Result<Option<Recipe>> {
        match self {
            Job::Forecast(job) if !job.features.is_empty() => Ok(None),
            Job::Forecast(job) => job.tasks.recipe().map(Some),
            Job::Phase(job) => job.task_recipe().map(Some),
            Job::Train(job) => job.task_keys().recipe().map(Some),
            Job::Sample(job) => job.task_keys().recipe().map(Some),
            Job::Advise(job) if job.features.is_some() => Ok(None),
            Job::Advise(job) => job.tasks.recipe().map(Some),
        }
    }

    /// Refuses settings for which the data sets or task files do not suffice.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check_tasks(&self, sources: &Sources) -> ebbing::Result<()> {
        let files: Vec<&PathBuf> = match self {
            Job::Forecast(job) => {
                job.check_seed()?;
                job.features.iter().collect()
            }
            Job::Advise(job) => {
                job.forecast().check_seed()?;
                job.features.iter().collect()
            }
            _ => vec![],
        };
        match self.recipe()? {
            Some(recipe) => recipe.check(sources, recipe.seed),
            None => files.iter().try_for_each(|file| TaskSequence::load(file).map(|_| ())),
        }
    }

    /// Refuses settings that the sizes of the tasks do not allow.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check_sizes(&self) -> ebbing::Result<()> {
        let sizes = self.sizes()?;
        match self {
            Job::Forecast(job) => job.check_sizes(&sizes),
            Job::Phase(job) => job.check_sizes(&sizes),
            Job::Advise(job) => job.check_sizes(&sizes),
            Job::Train(_) | Job::Sample(_) => Ok(()),
        }
    }

    /// The sizes of its tasks.
    fn sizes(&self) -> ebbing::Result<Sizes> {
        match self {
            Job::Forecast(job) => job.sizes(),
            Job::Phase(job) => job.sizes(),
            Job::Train(job) => job.task_keys().sizes(),
            Job::Sample(job) => job.task_keys().sizes(),
            Job::Advise(job) => job.sizes(),
        }
    }

    /// What it costs with tasks of these sizes.
    fn cost_of(&self, sizes: &Sizes, memory: &Memory) -> Cost {
        match self {
            Job::Forecast(job) => job.cost_of(sizes, memory),
            Job::Phase(job) => job.cost_of(sizes),
            Job::Train(job) => job.cost_of(sizes),
            Job::Sample(job) => job.cost_of(sizes),
            Job::Advise(job) => job.cost_of(sizes),
        }
    }

    /// Refuses what this machine has not the memory for, before anything is drawn.
    ///
    /// # Errors
    /// [`ebbing::Error::Memory`] with what would fit; whatever is wrong with the settings.
    pub fn check_memory(&self, context: &Context) -> ebbing::Result<()> {
        let memory = context.plan();
        let drawn = |sizes: &Sizes| self.cost_of(sizes, memory).then(drawing_cost(sizes));
        memory.check(&format!("ebbing {}", self.command()), &self.sizes()?, drawn)
    }

    /// What [`Job::check_tasks`] depends on: equal words, equal verdict.
    pub(crate) fn tasks_asked_for(&self) -> String {
        let of = |recipe: Option<Recipe>| {
            let recipe = recipe.filter(Recipe::varies)?;
            Some(format!("{:?} {:?}", recipe.origin, recipe.post))
        };
        self.recipe().ok().and_then(of).unwrap_or_else(|| format!("{self:?}"))
    }

    /// Units and meanings of the columns of a command's rows.
    pub fn columns(command: &str) -> Vec<Column> {
        let own = match command {
            "forecast" => forecast::COLUMNS,
            "phase" => phase::COLUMNS,
            "train" => train::COLUMNS,
            "advise" => advise::COLUMNS,
            _ => sample::COLUMNS,
        };
        own.iter().map(|&(name, meaning)| Column { name, unit: "", meaning }).collect()
    }
}

impl Work for Job {
    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        self.check_memory(context)?;
        each_job!(self, job => job.rows(sources, context))
    }

    fn cost(&self) -> Cost {
        self.sizes().map(|sizes| self.cost_of(&sizes, &Memory::default())).unwrap_or_default()
    }
}
