//! `forecast`: what is forgotten of a task sequence, averaged over seeds.

use super::MOST_SEEDS;
use super::field::{Fields, Range, fields};
use super::tasks::TaskFields;
use super::words::LearningOrder;
use crate::context::Context;
use crate::data::Sources;
use crate::error::{Error, Result};
use crate::kernels::{Activation, Architecture};
use crate::metrics::Convention;
use crate::plan::{Cost, Memory, Sizes, in_tiles, whole_disk};
use crate::stats::number::significant;
use crate::tasks::{ByClass, TaskSequence, parts_of};
use crate::theory::forecast::{Forecast, ForecastSettings};
use crate::theory::single_head::{Mode, Replay, ReplayBudget, Selection, SingleHeadSettings};
use std::path::{Path, PathBuf};

fields! {
    /// What is stored of earlier tasks and learned again with every later one.
    pub struct ReplayFields {
        /// Store M examples of every earlier task and learn them again with each later one
        replay: usize = 0, value("M");
        /// What M counts
        replay_budget: ReplayBudget = ReplayBudget::PerTask;
        /// Which examples are stored
        replay_selection: Selection = Selection::Random;
    }
}

impl ReplayFields {
    /// The settings of the theory.
    pub fn settings(&self) -> Replay {
        let (budget, selection) = (self.replay_budget, self.replay_selection);
        Replay { examples: self.replay, budget, selection, ..Replay::default() }
    }
}

fields! {
    /// What a network forgets of a sequence, by the theory of one readout for all tasks.
    pub struct ForecastRequest {
        /// Which tasks are learned.
        tasks: TaskFields = TaskFields::default(), but("protocol", "class-incremental");
        /// Feature matrices instead of inputs: FILE.npz with x_1, y_1, … where x are features, or one set of them with --classes-per-task; several for several layers
        features: Vec<PathBuf> = vec![], value("FILE"), several(), without(&["tasks", "data", "protocol", "depths", "lambdas", "widths"]);
        /// Show the theory's own quantities too (training-loss forgetting, order parameters, fits); they are computed at any size
        theory: bool = false;
        /// Show which examples are at risk: the output, margin and fate of each, and where the forgetting sits
        at_risk: bool = false;
        /// Hidden layers
        depth: usize = 1;
        /// Nonlinearity
        activation: Activation = Activation::Relu;
        /// Which limit of learning
        mode: Mode = Mode::Rf;
        /// Penalty on the change of weights, with --mode gibbs; a number or inf (the limit at the --beta given)
        lambda: f64 = f64::INFINITY, value("LAMBDA");
        /// Prior standard deviation of a weight
        sigma: f64 = 1.0, value("SIGMA"), range(Range::DEVIATION), sets(&["sigma2"]);
        /// Prior standard deviation of a bias in every layer, the readout included; 0 for none
        bias: f64 = 0.0, value("SIGMA_B"), range(Range::DEVIATION_OR_0), sets(&["bias2"]);
        /// Inverse temperature: noise on the targets has variance 1/BETA; inf interpolates the training data
        beta: f64 = f64::INFINITY, value("BETA");
        /// Include the variance over networks in losses and accuracies
        variance: bool = false;
        /// Examples of earlier tasks that are stored and learned again with every later task
        replay: ReplayFields = ReplayFields::default();
        /// Set the forecast beside other depths, comma-separated
        depths: Vec<usize> = vec![], value("LIST"), not_in_studies();
        /// Set beside it what each of these penalties would do at this --beta where all weights learn, comma-separated, inf included
        lambdas: Vec<f64> = vec![], value("LIST"), not_in_studies();
        /// Set beside it a readout per task at each of these widths, comma-separated; at every one of --lambdas
        widths: Vec<f64> = vec![], value("LIST"), not_in_studies();
        /// Number of seeds to average over, each with its own draw of tasks
        seeds: Option<usize> = None, value("K"), usual("1; with --max-p 5"), range(MOST_SEEDS), not_in_studies();
        /// Use at most this many examples per task, other ones for every seed
        max_p: Option<usize> = None, value("P"), range(Range::AT_LEAST_1), unit("examples");
        /// How often a tenth of the examples is left out for intervals of the order parameters; 0 for none
        bootstrap: usize = 0, value("B"), sets(&["resamples"]);
        /// Label shuffles for the order parameters of unrelated labels; 0 for none
        shuffles: usize = 0, value("B");
        /// Ridge on each task's kernel, beside 1/beta; features without one have pseudo-inverses
        ridge: f64 = 0.0, value("RIDGE");
        /// Names and formulas of the accuracy metrics
        convention: Convention = Convention::Gem, not_in_studies();
    }
}

/// A forecast and what it is of.
#[derive(Debug, Clone)]
pub struct ForecastAnswer {
    /// What was computed on what, in one line.
    pub heading: String,
    /// The forecast: of the last layer, where several feature files were given.
    pub forecast: Forecast,
    /// The settings of the theory.
    pub settings: ForecastSettings,
    /// The first seed.
    pub seed: u64,
    /// The first sequence, and what it was drawn from.
    pub first: TaskSequence,
    /// Every layer by the name of its file, where several were given.
    pub layers: Vec<(String, Forecast)>,
}

impl ForecastRequest {
    /// Which tasks are learned: new classes in every one where nothing else is asked for.
    pub fn task_fields(&self) -> TaskFields {
        if self.features.is_empty() { self.tasks.clone().or_class_incremental() } else { self.tasks.clone() }
    }

    /// How many sequences are averaged: a part of the examples comes with error bars.
    pub fn seeds(&self) -> usize {
        self.seeds.unwrap_or(if self.max_p.is_some() { 5 } else { 1 })
    }

    /// The first seed: a recipe's own, where none is given.
    pub(super) fn seed(&self) -> Result<u64> {
        if self.features.is_empty() { Ok(self.task_fields().recipe()?.seed) } else { Ok(self.tasks.seed()) }
    }

    /// The checked settings of the theory.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn settings(&self) -> Result<ForecastSettings> {
        self.settings_of(!self.features.is_empty())
    }

    /// The checked settings of the theory for inputs, or features, that are there already.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn settings_of(&self, features: bool) -> Result<ForecastSettings> {
        self.check_fields()?;
        let theory = SingleHeadSettings {
            mode: self.mode,
            architecture: Architecture { activation: self.activation, depth: self.depth },
            lambda: self.lambda,
            sigma2: self.sigma.powi(2),
            bias2: self.bias.powi(2),
            beta: self.beta,
            variance: self.variance,
            replay: self.replay.settings(),
            ..SingleHeadSettings::default()
        };
        theory.checked()?;
        Ok(ForecastSettings {
            theory,
            resamples: self.bootstrap,
            shuffles: self.shuffles,
            depths: self.depths.clone(),
            lambdas: self.lambdas.clone(),
            widths: self.widths.clone(),
            order: self.tasks.order == LearningOrder::Best,
            complete: self.theory,
            examples: self.at_risk,
            convention: self.convention,
            features,
            ridge: self.ridge,
        })
    }

    /// Refuses what would be refused when it is computed, as far as that can be said without data.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check(&self) -> Result<()> {
        self.settings()?;
        if self.features.is_empty() { self.task_fields().recipe().map(|_| ()) } else { self.refuse_beside_features() }
    }

    /// Refuses what speaks of inputs or of a network: features are given as they are.
    fn refuse_beside_features(&self) -> Result<()> {
        let of_inputs = |key: &str| {
            let of_tasks = TaskFields::field(key).is_some() && !["seed", "order", "classes_per_task"].contains(&key);
            of_tasks || ["depth", "activation", "bias"].contains(&key)
        };
        match self.given().find(|(field, _)| of_inputs(field.key)) {
            Some((field, value)) => {
                Err(field.refused(&value, "is not used with --features, which are given as they are"))
            }
            None => Ok(()),
        }
    }

    /// Refuses settings that tasks of these sizes do not allow.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check_sizes(&self, sizes: &Sizes) -> Result<()> {
        let settings = self.settings()?;
        settings.checked(sizes.train.len())?;
        let (replay, most) = (&settings.theory.replay, settings.theory.replay.most_of(&sizes.train));
        if replay.examples <= most {
            return Ok(());
        }
        Err(Error::setting("replay", replay.examples, format!("must be at most {most}, what there is to be stored")))
    }

    /// Refuses a second seed where nothing is drawn: a study would compute the same cell again.
    ///
    /// # Errors
    /// [`Error::Setting`] for the seed.
    pub fn check_seed(&self) -> Result<()> {
        self.tasks.refuse_best_order("a study")?;
        let drawn = || Ok(self.features.is_empty() && self.task_fields().recipe()?.varies());
        let varies = self.tasks.classes_per_task.is_some() || drawn()?;
        if !varies && self.tasks.seed() > 0 && self.max_p.is_none() {
            let expected =
                "these tasks are given, not drawn: use the one seed 0, or let every seed take other examples (max_p)";
            return Err(Error::setting("seed", self.tasks.seed(), expected));
        }
        Ok(())
    }

    /// Computes the forecast; `before` hears the sequences and settings of each part of it before the work begins.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the theory.
    pub fn run(
        &self,
        sources: &Sources,
        context: &Context,
        before: &dyn Fn(&[TaskSequence], &ForecastSettings),
    ) -> Result<ForecastAnswer> {
        self.check()?;
        let (settings, seed) = (self.settings()?, self.seed()?);
        let files = self.features.len().max(1);
        let mut results = Vec::new();
        let summed = self.summed(context)?;
        let in_one_pass = summed.as_ref().map(|(_, examples)| *examples);
        let layers = summed.map_or_else(|| self.sequences(sources), |(layer, _)| Ok(vec![layer]))?;
        for (file, (name, what, sequences)) in layers.into_iter().enumerate() {
            let mut forecast = self.forecast(&sequences, &settings, &context.part(file, files), before)?;
            let mut first = sequences.into_iter().next();
            if let Some(examples) = in_one_pass {
                let unknown = "the accuracy on training examples is not known from sums";
                let note = format!("one pass over {examples} examples, which do not fit into memory: {unknown}");
                forecast.notes.insert(0, note);
                forecast.data_notes += 1;
                // What stands for all examples is none of them.
                first.iter_mut().for_each(|sequence| sequence.tasks.clear());
            }
            let heading = self.heading_for(&what, &forecast)?;
            results.push((name, heading, forecast, first));
        }
        let several = results.len() > 1;
        let all = results.iter().map(|(name, _, forecast, _)| (name.clone(), forecast.clone()));
        let layers = if several { all.collect() } else { Vec::new() };
        let Some((_, heading, forecast, Some(first))) = results.pop() else {
            return Err(Error::setting("--features", "nothing", "give at least one file"));
        };
        Ok(ForecastAnswer { heading, forecast, settings, seed, first, layers })
    }

    /// Computes the forecast of sequences that are there already, one per draw: of inputs, or of `features`. With `max_p` each
    /// is a part of them.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the theory.
    pub fn run_on(&self, sequences: Vec<TaskSequence>, features: bool, context: &Context) -> Result<ForecastAnswer> {
        let settings = self.settings_of(features)?;
        let sequences = self.tasks.in_order(sequences)?;
        let sequences = match self.max_p {
            Some(p) => parts_of(&sequences, p)?,
            None => sequences,
        };
        let forecast = self.forecast(&sequences, &settings, context, &|_, _| ())?;
        let heading = format!("Forecast for {}", drawn_already(&sequences, &settings));
        let (layers, seed, first) = (vec![], self.tasks.seed(), sequences.into_iter().next().ok_or_else(no_sequence)?);
        Ok(ForecastAnswer { heading, forecast, settings, seed, first, layers })
    }

    /// The forecast of sequences, one per draw, where the machine has the memory for it.
    fn forecast(
        &self,
        sequences: &[TaskSequence],
        settings: &ForecastSettings,
        context: &Context,
        before: &dyn Fn(&[TaskSequence], &ForecastSettings),
    ) -> Result<Forecast> {
        let sizes = sequences.first().ok_or_else(no_sequence)?.sizes();
        super::fits("forecast", &sizes, context, |sizes| settings.cost(sizes, true, context.plan()))?;
        before(sequences, settings);
        Forecast::of(sequences, settings, context)
    }

    /// What was computed on `what`, in one line: of the theory where that is shown.
    fn heading_for(&self, what: &str, forecast: &Forecast) -> Result<String> {
        let theory = forecast.trained.is_none() || self.settings()?.asks_for_theory();
        let seeds = seed_words(self.seeds(), self.seed()?);
        Ok(if theory {
            format!("Forecast for {}", self.heading(what)?)
        } else {
            format!("Forecast for {what}, {seeds}")
        })
    }

    /// The one layer of features where it does not fit into memory, with what stands for its examples; and how many these are.
    fn summed(&self, context: &Context) -> Result<Option<(Layer, usize)>> {
        let [file] = &self.features[..] else { return Ok(None) };
        let Some((sequence, examples)) = super::streams::summed(self, file, self.by_class(), context)? else {
            return Ok(None);
        };
        let what = format!("{} with features of {}{}", count(&sequence), file.display(), done(&sequence));
        Ok(Some(((file.display().to_string(), what, vec![sequence]), examples)))
    }

    /// What is computed on `what`, in one line.
    pub(super) fn heading(&self, what: &str) -> Result<String> {
        Ok(format!("{what}: {}, {}", describe(&self.settings()?), seed_words(self.seeds(), self.seed()?)))
    }

    /// What is computed on a sequence, in one line; `name` says where the sequence comes from.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn heading_of(&self, sequence: &TaskSequence, name: &str) -> Result<String> {
        let (theory, seeds) = (describe(&self.settings()?), seed_words(self.seeds(), self.tasks.seed()));
        Ok(format!("{}: {theory}, {seeds}", described(sequence, name)))
    }

    /// The sequences of all seeds, by layer: a name, what they are in words, and one sequence per seed.
    ///
    /// # Errors
    /// What is wrong with the tasks.
    pub fn sequences(&self, sources: &Sources) -> Result<Vec<(String, String, Vec<TaskSequence>)>> {
        let first = self.seed()?;
        let seeds = || (0..self.seeds() as u64).map(|k| first.wrapping_add(k));
        let part = |sequence: TaskSequence, seed: u64| match self.max_p {
            Some(p) => sequence.subsampled(p, p, seed),
            None => Ok(sequence),
        };
        let given = |what: &str| {
            let expected =
                format!("must be 1: {what} are given, not drawn (with --max-p every seed takes other examples)");
            Error::setting("--seeds", self.seeds(), expected)
        };
        let several = self.seeds() > 1 && self.max_p.is_none();
        if self.features.is_empty() {
            let recipe = self.task_fields().recipe()?;
            if several && !recipe.varies() {
                return Err(given("these tasks"));
            }
            // A file is read once, and what it holds is not there twice.
            let (mut own, mut sequences) = (recipe.own()?, Vec::new());
            for (k, seed) in seeds().enumerate() {
                let here = if k + 1 == self.seeds() { own.take() } else { own.clone() };
                sequences.push(part(recipe.draw_from(here, sources, seed)?, seed)?);
            }
            let what = match &self.tasks.tasks {
                Some(path) => {
                    of_tasks(&sequences[0], path)?;
                    path.display().to_string()
                }
                None => format!("{}, {}", self.tasks.data(), self.task_fields().protocol_name()),
            };
            let what = described(&sequences[0], &what);
            return Ok(vec![(String::new(), what, sequences)]);
        }
        let by_class = self.by_class();
        if several && by_class.is_none() {
            return Err(given("features"));
        }
        let mut layers = Vec::new();
        for file in &self.features {
            let all = TaskSequence::load(file)?;
            let order = self.tasks.order.numbers();
            let drawn = |seed| {
                let tasks = match &by_class {
                    Some(step) => step.apply(all.clone(), seed)?,
                    None => all.clone(),
                };
                part(if order.is_empty() { tasks } else { tasks.ordered(order)? }, seed)
            };
            let sequences = seeds().map(drawn).collect::<Result<Vec<_>>>()?;
            of_tasks(&sequences[0], file)?;
            let what = format!("{} with features of {}{}", count(&sequences[0]), file.display(), done(&sequences[0]));
            layers.push((file.display().to_string(), what, sequences));
        }
        Ok(layers)
    }

    /// How features are made into tasks, where they are one set.
    fn by_class(&self) -> Option<ByClass> {
        self.tasks.classes_per_task.map(|classes_per_task| ByClass { classes_per_task })
    }

    /// How many classes a task of its features has, and the seed of which, where they are one set.
    pub(super) fn classes_of_features(&self) -> Option<(usize, u64)> {
        let classes = self.tasks.classes_per_task.filter(|_| !self.features.is_empty())?;
        Some((classes, self.tasks.seed()))
    }

    /// The sizes of the tasks of its features, of which every file is looked at.
    pub(super) fn feature_sizes(&self) -> Result<Sizes> {
        let all = self.features.iter().map(TaskSequence::load).collect::<Result<Vec<_>>>()?;
        match (all.first(), self.by_class()) {
            (Some(first), Some(step)) => step.sizes(first, self.tasks.seed()),
            (Some(first), None) => Ok(first.sizes()),
            (None, _) => Ok(Sizes::default()),
        }
    }

    /// The sizes of what is used of tasks of these sizes.
    pub fn part_of(&self, sizes: Sizes) -> Sizes {
        match self.max_p {
            Some(p) => Sizes { train: sizes.train.iter().map(|n| p.min(*n)).collect(), ..sizes },
            None => sizes,
        }
    }

    /// What it costs with tasks of these sizes, for one seed; test data are taken to name classes.
    pub fn cost_of(&self, sizes: &Sizes, memory: &Memory) -> Cost {
        let layers = self.features.len().max(1);
        self.settings().map_or(Cost::default(), |settings| settings.cost(sizes, true, memory).times(layers))
    }

    /// Bytes of disk that finished parts take while it runs, where kernels of these sizes do not fit into memory.
    pub fn disk_of(&self, sizes: &Sizes, memory: &Memory) -> Option<f64> {
        (self.features.is_empty() && in_tiles(sizes, memory)).then(|| whole_disk(sizes, self.kernels()))
    }

    /// How many kernels of each task are inverted: that of order parameters, and another one where all weights learn.
    fn kernels(&self) -> usize {
        if self.mode == Mode::Rf { 1 } else { 2 }
    }
}

/// A name, what it is in words, and one sequence per seed.
type Layer = (String, String, Vec<TaskSequence>);

/// Refuses one set of several classes where a sequence of tasks is needed.
fn of_tasks(sequence: &TaskSequence, file: &Path) -> Result<()> {
    sequence.one_set().map_or(Ok(()), |problem| Err(Error::data(file.display().to_string(), problem)))
}

/// "5 tasks", "1 task".
fn count(sequence: &TaskSequence) -> String {
    match sequence.tasks.len() {
        1 => "1 task".into(),
        n => format!("{n} tasks"),
    }
}

/// "5 tasks of 300 examples (mnist, permuted; whitened)".
fn described(sequence: &TaskSequence, name: &str) -> String {
    format!("{} ({name}{})", sequence.described(), done(sequence))
}

/// What was done to inputs and labels, for the first line.
fn done(sequence: &TaskSequence) -> String {
    let labels = sequence.target_words().map_or(String::new(), |words| format!("; {words}"));
    format!("; {}{labels}", sequence.settings.preparation_words())
}

/// "seed 0", "5 seeds from 0".
fn seed_words(seeds: usize, seed: u64) -> String {
    if seeds > 1 { format!("{seeds} seeds from {seed}") } else { format!("seed {seed}") }
}

/// What is computed on sequences that are there already, in one line.
pub(super) fn drawn_already(sequences: &[TaskSequence], settings: &ForecastSettings) -> String {
    let Some(first) = sequences.first() else { return String::new() };
    let how = done(first);
    let draws = if sequences.len() > 1 { format!(", mean of {} draws", sequences.len()) } else { String::new() };
    let features = if settings.features { " with given features" } else { "" };
    format!("{}{features} ({}): {}{draws}", first.described(), how.trim_start_matches("; "), describe(settings))
}

/// The refusal of no sequence at all.
pub(super) fn no_sequence() -> Error {
    Error::data("the tasks", "there is no sequence of them; at least one is needed")
}

/// The theory in words.
fn describe(settings: &ForecastSettings) -> String {
    let theory = &settings.theory;
    let mode = match theory.mode {
        Mode::Rf => "random features".to_string(),
        Mode::Ntk => "all weights, strong penalty".to_string(),
        Mode::Lazy => "all weights, plain descent".to_string(),
        Mode::Gibbs => format!("all weights, lambda {}", theory.lambda),
    };
    let replay = if theory.replay.is_on() { format!(", {}", theory.replay) } else { String::new() };
    let activation = match theory.architecture.activation {
        Activation::Relu => "ReLU",
        Activation::Linear => "linear",
        Activation::Erf => "erf",
        Activation::Gelu => "GELU",
    };
    let biases = match theory.bias2 {
        0.0 => String::new(),
        bias2 => format!(", biases of deviation {}", significant(bias2.sqrt())),
    };
    let learns = match (settings.features, theory.mode) {
        (true, Mode::Rf) => "a linear readout of them learns".to_string(),
        (true, _) => format!("a readout of them, {mode}"),
        (false, _) => format!("{activation} depth {}{biases}, {mode}", theory.architecture.depth),
    };
    format!("{learns}{replay}")
}
