//! What can be asked: a request per command, and its answer.
//!
//! A request is a struct whose fields are declared once ([`Field`]: key, type, default, range, unit and one sentence of help).
//! Flags, keys of study files, the address of the page, Python's arguments, help, error sentences and the lines that compute the
//! same elsewhere are made from these declarations.
//!
//! | Request | What it computes |
//! |---|---|
//! | [`ForecastRequest`] | what is forgotten of a sequence, by the theory of one readout for all tasks |
//! | [`AdviseRequest`] | what each remedy against forgetting would do |
//! | [`PhaseRequest`] | tasks with a readout each, against the load |
//! | [`TrainRequest`] | trained networks beside the theory |
//! | [`SampleRequest`] | networks sampled from the posterior beside the theory |
//! | [`CheckRequest`] | what a file of tasks holds, what it would cost, what is wrong with it |
//!
//! ```
//! use ebbing::request::{Fields, ForecastRequest};
//! let mut request = ForecastRequest::default();
//! request.set("length", &"3".into())?;
//! request.set("examples", &"60".into())?;
//! let answer = request.run(&ebbing::data::Sources::new(), &ebbing::Context::new(), &|_, _| ())?;
//! assert!(answer.forecast.trained.is_some());
//! let wrong = request.set("mode", &"ntkk".into()).unwrap_err().to_string();
//! assert_eq!(wrong, "--mode is ntkk; must be rf, ntk, lazy or gibbs; did you mean ntk?");
//! # Ok::<(), ebbing::Error>(())
//! ```

mod advise;
mod check;
mod door;
mod field;
mod forecast;
mod phase;
mod sample;
mod streams;
mod tasks;
mod train;
mod words;

pub use advise::{AdviseAnswer, AdviseRequest, heading_for};
pub use check::{CheckAnswer, CheckRequest};
pub use door::{Door, quoted};
pub use field::{Field, Fields, Kind, Range, Value};
pub use forecast::{ForecastAnswer, ForecastRequest, ReplayFields};
pub use phase::{
    PhaseAnswer, PhaseOutputs, PhasePair, PhasePairs, PhasePlace, PhaseRequest, PhaseSequence, PhaseSwept,
    Representation, SweptCurves, SweptLoads, Symmetric,
};
pub use sample::{Comparison, SampleAnswer, SampleRequest};
pub use tasks::{PreprocessFields, TaskFields};
pub use train::{LearnerRuns, LossCurve, MeasuredLoad, TrainAnswer, TrainRequest, TrainedLoads, TrainedTasks};
pub use words::{Bytes, HeadFactors, LearningOrder, Loads, PhaseSweep, ProtocolKind, Rate, Rule};

use crate::context::Context;
use crate::data::Sources;
use crate::error::{Error, Result};
use crate::plan::{Cost, Memory, Sizes, drawing_cost};
use crate::tasks::{Recipe, TaskSequence};
use std::path::PathBuf;

/// How many seeds anybody averages over.
const MOST_SEEDS: Range = Range { low: 1.0, high: 100_000.0, ..Range::AT_LEAST_0 };

/// A request of one of the commands that a study can repeat.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// What is forgotten of a sequence, by the theory of one readout.
    Forecast(Box<ForecastRequest>),
    /// Two or more tasks with a readout each, against the load.
    Phase(Box<PhaseRequest>),
    /// Networks trained by descent.
    Train(Box<TrainRequest>),
    /// Networks sampled from the posterior.
    Sample(Box<SampleRequest>),
    /// What each remedy against forgetting would do.
    Advise(Box<AdviseRequest>),
}

/// The same of whichever request it is.
macro_rules! each {
    ($self:expr, $request:ident => $of:expr) => {
        match $self {
            Request::Forecast($request) => $of,
            Request::Phase($request) => $of,
            Request::Train($request) => $of,
            Request::Sample($request) => $of,
            Request::Advise($request) => $of,
        }
    };
}

macro_rules! requests_of_commands {
    ($($variant:ident($request:ty)),+) => {$(
        impl From<$request> for Request {
            fn from(request: $request) -> Request {
                Request::$variant(Box::new(request))
            }
        }
    )+};
}
requests_of_commands!(
    Forecast(ForecastRequest),
    Phase(PhaseRequest),
    Train(TrainRequest),
    Sample(SampleRequest),
    Advise(AdviseRequest)
);

impl Request {
    /// The names of the commands.
    pub const COMMANDS: [&'static str; 5] = ["forecast", "phase", "train", "sample", "advise"];

    /// The request of a command with nothing set.
    ///
    /// # Errors
    /// [`Error::Setting`] for a command that is none.
    pub fn of(command: &str) -> Result<Request> {
        Ok(match command {
            "forecast" => ForecastRequest::default().into(),
            "phase" => PhaseRequest::default().into(),
            "train" => TrainRequest::default().into(),
            "sample" => SampleRequest::default().into(),
            "advise" => AdviseRequest::default().into(),
            other => {
                let expected = format!("must be one of {}", Request::COMMANDS.join(", "));
                return Err(Error::setting("command", other, expected));
            }
        })
    }

    /// The command's name.
    pub fn command(&self) -> &'static str {
        match self {
            Request::Forecast(_) => "forecast",
            Request::Phase(_) => "phase",
            Request::Train(_) => "train",
            Request::Sample(_) => "sample",
            Request::Advise(_) => "advise",
        }
    }

    /// All fields of its command.
    pub fn fields(&self) -> &'static [Field] {
        fn of<R: Fields>(_: &R) -> &'static [Field] {
            R::fields()
        }
        each!(self, request => of(&**request))
    }

    /// Sets a field.
    ///
    /// # Errors
    /// As for [`Fields::set`].
    pub fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        each!(self, request => request.set(key, value))
    }

    /// Refuses what would be refused when it is computed, as far as that can be said without data.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check(&self) -> Result<()> {
        each!(self, request => request.check())
    }

    /// What makes its tasks; none where features are given.
    ///
    /// # Errors
    /// Whatever is wrong with the fields.
    pub fn recipe(&self) -> Result<Option<Recipe>> {
        match self {
            Request::Forecast(request) if !request.features.is_empty() => Ok(None),
            Request::Forecast(request) => request.task_fields().recipe().map(Some),
            Request::Phase(request) => request.task_recipe().map(Some),
            Request::Train(request) => request.task_fields().recipe().map(Some),
            Request::Sample(request) => request.task_fields().recipe().map(Some),
            Request::Advise(request) if request.features.is_some() => Ok(None),
            Request::Advise(request) => request.forecast().task_fields().recipe().map(Some),
        }
    }

    /// The files of features that it takes.
    pub fn features(&self) -> Vec<PathBuf> {
        match self {
            Request::Forecast(request) => request.features.clone(),
            Request::Advise(request) => request.features.iter().cloned().collect(),
            _ => vec![],
        }
    }

    /// How many classes a task of its features has, and the seed of which, where they are one set.
    pub fn classes_of_features(&self) -> Option<(usize, u64)> {
        match self {
            Request::Forecast(request) => request.classes_of_features(),
            Request::Advise(request) => request.forecast().classes_of_features(),
            _ => None,
        }
    }

    /// The sizes of the tasks of these features.
    ///
    /// # Errors
    /// What is wrong with the files.
    pub fn feature_sizes(&self) -> Result<Sizes> {
        match self {
            Request::Forecast(request) => request.feature_sizes(),
            Request::Advise(request) => request.forecast().feature_sizes(),
            _ => Ok(Sizes::default()),
        }
    }

    /// Refuses a seed with which a study would compute the same cell again.
    ///
    /// # Errors
    /// [`Error::Setting`] for the seed.
    pub fn check_seed(&self) -> Result<()> {
        match self {
            Request::Forecast(request) => request.check_seed(),
            Request::Advise(request) => request.forecast().check_seed(),
            _ => Ok(()),
        }
    }

    /// Refuses settings that the sizes of the tasks do not allow.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check_sizes(&self, sizes: &Sizes) -> Result<()> {
        match self {
            Request::Forecast(request) => request.check_sizes(sizes),
            Request::Phase(request) => request.check_sizes(sizes),
            Request::Advise(request) => request.check_sizes(sizes),
            Request::Train(_) | Request::Sample(_) => Ok(()),
        }
    }

    /// The sizes of what it uses of tasks of these sizes.
    pub fn part_of(&self, sizes: Sizes) -> Sizes {
        match self {
            Request::Forecast(request) => request.part_of(sizes),
            Request::Advise(request) => request.part_of(sizes),
            _ => sizes,
        }
    }

    /// What it costs with tasks of these sizes.
    pub fn cost_of(&self, sizes: &Sizes, memory: &Memory) -> Cost {
        match self {
            Request::Forecast(request) => request.cost_of(sizes, memory),
            Request::Phase(request) => request.cost_of(sizes),
            Request::Train(request) => request.cost_of(sizes),
            Request::Sample(request) => request.cost_of(sizes),
            Request::Advise(request) => request.cost_of(sizes),
        }
    }

    /// Refuses what this machine has not the memory for with tasks of these sizes.
    ///
    /// # Errors
    /// [`Error::Memory`] with what would fit.
    pub fn check_memory(&self, sizes: &Sizes, context: &Context) -> Result<()> {
        fits(self.command(), sizes, context, |sizes| self.cost_of(sizes, context.plan()))
    }

    /// Refuses what can be refused before any data are read: fields, and drawn tasks that this machine has not the memory for.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check_before(&self, context: &Context) -> Result<()> {
        self.check()?;
        match self.recipe()?.filter(Recipe::varies) {
            Some(recipe) => self.check_memory(&self.part_of(recipe.sizes()?), context),
            None => Ok(()),
        }
    }

    /// Computes the answer.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the theory.
    pub fn run(&self, sources: &Sources, context: &Context) -> Result<Answer> {
        Ok(match self {
            Request::Forecast(request) => Answer::Forecast(Box::new(request.run(sources, context, &|_, _| ())?)),
            Request::Phase(request) => Answer::Phase(request.run(sources, context)?),
            Request::Train(request) => Answer::Train(request.run(sources, context, None)?),
            Request::Sample(request) => Answer::Sample(Box::new(request.run(sources, context)?)),
            Request::Advise(request) => Answer::Advise(Box::new(request.run(sources, context)?)),
        })
    }
}

impl Request {
    /// Computes the answer for sequences of tasks that are there already, one per draw; with `features` their inputs are features.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the theory.
    pub fn run_on(&self, sequences: Vec<TaskSequence>, features: bool, context: &Context) -> Result<Answer> {
        let one = |mut sequences: Vec<TaskSequence>| match sequences.len() {
            0 | 1 => sequences.pop().ok_or_else(forecast::no_sequence),
            several => {
                let problem = format!("there are {several} sequences of them; ebbing {} takes one", self.command());
                Err(Error::data("the tasks", problem))
            }
        };
        if features && !matches!(self, Request::Forecast(_) | Request::Advise(_)) {
            let expected = "belongs to forecast and advise: other commands learn inputs";
            return Err(Error::setting("--features", "given", expected));
        }
        Ok(match self {
            Request::Forecast(request) => Answer::Forecast(Box::new(request.run_on(sequences, features, context)?)),
            Request::Phase(request) => Answer::Phase(request.run_on(one(sequences)?, context)?),
            Request::Train(request) => Answer::Train(request.run_on(sequences, context, None)?),
            Request::Sample(request) => Answer::Sample(Box::new(request.run_on(one(sequences)?, context)?)),
            Request::Advise(request) => Answer::Advise(Box::new(request.run_on(&sequences, features, context)?)),
        })
    }
}

/// What a request is answered with.
#[derive(Debug)]
pub enum Answer {
    /// Of [`ForecastRequest`].
    Forecast(Box<ForecastAnswer>),
    /// Of [`PhaseRequest`].
    Phase(PhaseAnswer),
    /// Of [`TrainRequest`].
    Train(TrainAnswer),
    /// Of [`SampleRequest`].
    Sample(Box<SampleAnswer>),
    /// Of [`AdviseRequest`].
    Advise(Box<AdviseAnswer>),
}

/// Refuses what this machine has not the memory for.
fn fits(command: &str, sizes: &Sizes, context: &Context, cost: impl Fn(&Sizes) -> Cost) -> Result<()> {
    context.plan().check(&format!("ebbing {command}"), sizes, |sizes| cost(sizes).then(drawing_cost(sizes)))
}
