//! `forecast`: what is forgotten of a task sequence, averaged over seeds; as rows, one per pair of a time and a task.

use super::replay::ReplayKeys;
use super::tasks::TaskKeys;
use super::words::{ACTIVATIONS, MODES, bias2, checked_seeds, checked_sigma, choice, list, number};
use crate::cell::Row;
use crate::error::Result;
use ebbing::answer::ForecastResult;
use ebbing::data::Sources;
use ebbing::kernels::{Activation, Architecture};
use ebbing::metrics::Convention;
use ebbing::plan::{
    Cost, Memory, Sizes, feature_forgetting_cost, feature_parameter_cost, forecast_cost, forgetting_cost, in_tiles,
    order_parameter_cost, sequence_cost, whole_disk,
};
use ebbing::stats::number::significant;
use ebbing::theory::forecast::{ForecastSettings, PairForecast};
use ebbing::theory::order_parameters::OrderParameters;
use ebbing::theory::single_head::{Mode, SingleHeadSettings};
use ebbing::{Context, Error, Forecast, TaskSequence};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The settings of a forecast.
#[derive(Debug, Clone, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(default)]
pub struct ForecastJob {
    /// Which tasks are learned.
    #[command(flatten)]
    #[serde(flatten)]
    pub tasks: TaskKeys,
    /// Feature matrices instead of inputs: FILE.npz with x_1, y_1, … where x are features; several for several layers
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["tasks", "data", "protocol", "depths", "lambdas", "widths"])]
    #[serde(deserialize_with = "list")]
    pub features: Vec<PathBuf>,
    /// Hidden layers
    #[arg(long, default_value_t = 1)]
    pub depth: usize,
    /// Nonlinearity
    #[arg(long, value_parser = choice::<Activation>(ACTIVATIONS), default_value = "relu")]
    pub activation: Activation,
    /// Which limit of learning
    #[arg(long, value_parser = choice::<Mode>(MODES), default_value = "rf")]
    pub mode: Mode,
    /// Penalty on the change of weights, with --mode gibbs; a number or inf (the limit at the --beta given)
    #[arg(long, value_parser = number, value_name = "LAMBDA", default_value_t = f64::INFINITY)]
    #[serde(with = "ebbing::serde_infinity")]
    pub lambda: f64,
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
    /// Include the variance over networks in losses and accuracies
    #[arg(long)]
    pub variance: bool,
    /// Examples of earlier tasks that are stored and learned again with every later task
    #[command(flatten)]
    #[serde(flatten)]
    pub replay: ReplayKeys,
    /// Set the forecast beside other depths, comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub depths: Vec<usize>,
    /// Set beside it what each of these penalties would do at this --beta where all weights learn, comma-separated, inf included
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub lambdas: Vec<f64>,
    /// Set beside it a readout per task at each of these widths, comma-separated; at every one of --lambdas
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub widths: Vec<f64>,
    /// Number of seeds to average over, each with its own draw of tasks [default: 1; with --max-p 5]
    #[arg(long, value_name = "K")]
    pub seeds: Option<usize>,
    /// Use at most this many examples per task, other ones for every seed
    #[arg(long, value_name = "P")]
    pub max_p: Option<usize>,
    /// Do not search for a better order of tasks
    #[arg(long)]
    pub no_order: bool,
    /// How often a tenth of the examples is left out for intervals of the order parameters; 0 for none
    #[arg(long, value_name = "B", default_value_t = 0)]
    pub bootstrap: usize,
    /// Label shuffles for the order parameters of unrelated labels; 0 for none
    #[arg(long, value_name = "B", default_value_t = 0)]
    pub shuffles: usize,
    /// Ridge on each task's kernel, beside 1/beta; features without one have pseudo-inverses
    #[arg(long, value_parser = number, value_name = "RIDGE", default_value_t = 0.0)]
    pub ridge: f64,
    /// Names and formulas of the accuracy metrics
    #[arg(long, value_parser = choice::<Convention>(CONVENTIONS), default_value = "gem")]
    pub convention: Convention,
}

const CONVENTIONS: &[(&str, &str)] = &[
    ("gem", "Lopez-Paz and Ranzato"),
    ("avalanche", "as Avalanche reports them"),
    ("chaudhry", "Chaudhry and others"),
];

impl ForecastJob {
    /// How many sequences are averaged: a part of the examples comes with error bars.
    pub fn seeds(&self) -> usize {
        self.seeds.unwrap_or(if self.max_p.is_some() { 5 } else { 1 })
    }

    /// The first seed: a recipe's own, where none is given.
    pub(super) fn seed(&self) -> ebbing::Result<u64> {
        if self.features.is_empty() { Ok(self.tasks.recipe()?.seed) } else { Ok(self.tasks.seed()) }
    }

    /// The checked settings of the theory.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn settings(&self) -> ebbing::Result<ForecastSettings> {
        let theory = SingleHeadSettings {
            mode: self.mode,
            architecture: Architecture { activation: self.activation, depth: self.depth },
            lambda: self.lambda,
            sigma2: checked_sigma(self.sigma)?.powi(2),
            bias2: bias2(self.bias, !self.features.is_empty())?,
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
            order: !self.no_order,
            convention: self.convention,
            features: !self.features.is_empty(),
            ridge: self.ridge,
        })
    }

    pub(super) fn check(&self) -> ebbing::Result<()> {
        checked_seeds(self.seeds())?;
        self.settings()?;
        if let Some(p) = self.max_p.filter(|p| *p == 0) {
            return Err(Error::setting("max_p", p, "must be at least 1 example"));
        }
        if self.features.is_empty() { self.tasks.recipe().map(|_| ()) } else { self.refuse_beside_features() }
    }

    /// Refuses what speaks of inputs or of a network: features are given as they are.
    fn refuse_beside_features(&self) -> ebbing::Result<()> {
        let unused = "is not used with --features, which are given as they are";
        let plain = TaskKeys { seed: self.tasks.seed, ..TaskKeys::default() };
        if let Some((key, value)) = self.tasks.first_other_than(&plain) {
            return Err(Error::setting(format!("--{}", key.replace('_', "-")), value, unused));
        }
        let default = ForecastJob::default();
        if self.depth != default.depth {
            return Err(Error::setting("--depth", self.depth, unused));
        }
        if self.activation != default.activation {
            return Err(Error::setting("--activation", format!("{:?}", self.activation).to_lowercase(), unused));
        }
        Ok(())
    }

    /// Refuses settings that tasks of these sizes do not allow.
    pub(super) fn check_sizes(&self, sizes: &Sizes) -> ebbing::Result<()> {
        let settings = self.settings()?;
        settings.checked(sizes.train.len())?;
        let (replay, most) = (&settings.theory.replay, settings.theory.replay.most_of(&sizes.train));
        if replay.examples <= most {
            return Ok(());
        }
        Err(Error::setting("replay", replay.examples, format!("must be at most {most}, what there is to be stored")))
    }

    /// Refuses a second seed where nothing is drawn: a study would compute the same cell again.
    pub(super) fn check_seed(&self) -> ebbing::Result<()> {
        let varies = self.features.is_empty() && self.tasks.recipe()?.varies();
        if !varies && self.tasks.seed() > 0 && self.max_p.is_none() {
            let expected =
                "these tasks are given, not drawn: use the one seed 0, or let every seed take other examples (max_p)";
            return Err(Error::setting("seed", self.tasks.seed(), expected));
        }
        Ok(())
    }

    /// Computes the forecast; `before` hears the sequences and settings of each part of it.
    ///
    /// # Errors
    /// What the library says.
    pub fn run(
        &self,
        sources: &Sources,
        before: &dyn Fn(&[TaskSequence], &ForecastSettings),
        context: &Context,
    ) -> ebbing::Result<ForecastResult> {
        let (settings, seed) = (self.settings()?, self.seed()?);
        checked_seeds(self.seeds())?;
        let mut results = Vec::new();
        let layers = self.sequences(sources)?;
        let count = layers.len();
        for (k, (name, what, sequences)) in layers.into_iter().enumerate() {
            before(&sequences, &settings);
            let forecast = Forecast::of(&sequences, &settings, &context.part(k, count))?;
            let heading = format!("Forecast for {}", self.heading(&what)?);
            results.push((name, heading, forecast, sequences.into_iter().next()));
        }
        let several = results.len() > 1;
        let all = results.iter().map(|(name, _, forecast, _)| (name.clone(), forecast.clone()));
        let layers = if several { all.collect() } else { Vec::new() };
        let Some((_, heading, forecast, Some(first))) = results.pop() else {
            return Err(Error::setting("--features", "nothing", "give at least one file"));
        };
        Ok(ForecastResult { heading, forecast, settings, seed, first, layers })
    }

    /// What is computed on `what`, in one line.
    pub(super) fn heading(&self, what: &str) -> ebbing::Result<String> {
        Ok(format!("{what}: {}", describe(&self.settings()?, self.seeds(), self.seed()?)))
    }

    /// What is computed on a sequence, in one line; `name` says where the sequence comes from.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn heading_of(&self, sequence: &TaskSequence, name: &str) -> ebbing::Result<String> {
        let told = describe(&self.settings()?, self.seeds(), self.tasks.seed());
        Ok(format!("{}: {told}", described(sequence, name)))
    }

    /// The sequences of all seeds, by layer: a name, what they are in words, and one sequence per seed.
    pub(super) fn sequences(&self, sources: &Sources) -> ebbing::Result<Vec<(String, String, Vec<TaskSequence>)>> {
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
            let recipe = self.tasks.recipe()?;
            if several && !recipe.varies() {
                return Err(given("these tasks"));
            }
            let draw = |seed: u64| part(recipe.draw(sources, seed)?, seed);
            let sequences = seeds().map(draw).collect::<ebbing::Result<Vec<_>>>()?;
            let what = match &self.tasks.tasks {
                Some(path) => path.display().to_string(),
                None => format!("{}, {}", self.tasks.data(), self.tasks.protocol_name()),
            };
            let what = described(&sequences[0], &what);
            return Ok(vec![(String::new(), what, sequences)]);
        }
        if several {
            return Err(given("features"));
        }
        let mut layers = Vec::new();
        for file in &self.features {
            let all = TaskSequence::load(file)?;
            let sequences = seeds().map(|seed| part(all.clone(), seed)).collect::<ebbing::Result<Vec<_>>>()?;
            let what = format!("{} with features of {}{}", count(&all), file.display(), done(&all));
            layers.push((file.display().to_string(), what, sequences));
        }
        Ok(layers)
    }

    pub(super) fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let one = ForecastJob { no_order: true, seeds: Some(1), ..self.clone() };
        let settings = one.settings()?;
        let mut all = Vec::new();
        for (layer, _, sequences) in one.sequences(sources)? {
            let forecast = Forecast::of(&sequences, &settings, context)?;
            let named = |row: Row| if layer.is_empty() { row } else { row.with("layer", layer.as_str()) };
            all.extend(rows(&forecast).into_iter().map(named));
        }
        Ok(all)
    }

    pub(super) fn sizes(&self) -> ebbing::Result<Sizes> {
        let sizes = match self.features.first() {
            Some(file) => TaskSequence::load(file)?.sizes(),
            None => self.tasks.sizes()?,
        };
        Ok(match self.max_p {
            Some(p) => Sizes { train: sizes.train.iter().map(|n| p.min(*n)).collect(), ..sizes },
            None => sizes,
        })
    }

    /// What it costs with tasks of these sizes, for one seed.
    pub fn cost_of(&self, sizes: &Sizes, memory: &Memory) -> Cost {
        let one = match self.features.len() {
            0 => forecast_cost(sizes, self.kernels(), memory),
            layers => self.cost_of_features(sizes).times(layers),
        };
        // Kernels between all tasks and the covariances of what is learned there, and both as some points see them.
        let (total, largest) =
            (sizes.train.iter().sum::<usize>() as f64, sizes.train.iter().max().map_or(0.0, |&p| p as f64));
        // In tiles there is no variance.
        let spread =
            if self.variance && !in_tiles(sizes, memory) { 8.0 * (total * total + 3.0 * total * largest) } else { 0.0 };
        let one = Cost { bytes: one.bytes + spread, ..one };
        // What is set beside it: other depths and penalties of one readout, widths of a readout per task at every penalty.
        let (beside, heads) = (self.depths.len() + self.lambdas.len(), self.widths.len() * self.lambdas.len().max(1));
        let one = if beside > 0 { one.then(forgetting_cost(sizes).times(beside)) } else { one };
        if heads > 0 { one.then(sequence_cost(sizes).times(heads)) } else { one }
    }

    /// What one layer of features costs, for one seed.
    pub fn cost_of_features(&self, sizes: &Sizes) -> Cost {
        let resampled = self.bootstrap.max(self.shuffles) > 0;
        let pairs = if resampled { order_parameter_cost(sizes) } else { feature_parameter_cost(sizes) };
        // A spread takes kernels between all examples.
        let one = if self.variance { forgetting_cost(sizes) } else { feature_forgetting_cost(sizes) };
        one.then(pairs)
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

/// The theory in words.
fn describe(settings: &ForecastSettings, seeds: usize, seed: u64) -> String {
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
    let seeds = if seeds > 1 { format!("{seeds} seeds from {seed}") } else { format!("seed {seed}") };
    format!("{learns}{replay}, {seeds}")
}

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("t", "tasks learned"),
    ("s", "the task that is looked at, from 1"),
    ("forgetting", "training loss of task s after task t over the norm of its targets"),
    ("train_accuracy", "share of training examples of task s on the right side after task t"),
    ("test_loss", "test loss of task s after task t over the norm of its targets"),
    ("generalization", "test loss of task s after task t over that of learning it alone"),
    ("test_accuracy", "share of test examples of task s on the right side after task t"),
    ("test_task_accuracy", "the same among the classes of task s alone"),
    ("gamma_feature", "overlap of all features of tasks s and t"),
    ("gamma_feature_error", "its standard error, where it is an estimate: of sets too large for memory"),
    ("gamma_rf", "how much task t drives features that task s uses"),
    ("gamma_rule", "how far the rules of tasks s and t agree on them"),
    ("conflict", "gamma_rf - gamma_rule"),
    ("gamma_sim", "similarity of tasks s and t that have readouts of their own"),
    ("f_pair", "forgetting of task s after task t, these two learned alone, in the mode and at the beta of the row"),
    ("f_max", "fitted plateau of the first task's forgetting"),
    ("tau", "fitted number of tasks over which the first task is forgotten"),
    ("fit_r2", "share of variance that the fit explains"),
    ("digits", "estimated number of correct digits"),
];

fn rows(forecast: &Forecast) -> Vec<Row> {
    let count = forecast.tasks.len();
    let mut all = Vec::new();
    for (t, s) in (0..count).flat_map(|t| (0..=t).map(move |s| (t, s))) {
        let mut row = Row::new()
            .with("t", t + 1)
            .with("s", s + 1)
            .with("forgetting", forecast.forgetting.mean[t][s])
            .with("digits", forecast.digits);
        if let Some(accuracy) = &forecast.train_accuracy {
            row = row.with("train_accuracy", accuracy.mean[t][s]);
        }
        if let Some(test) = &forecast.test {
            row = row.with("test_loss", test.loss.mean[t][s]).with("generalization", test.generalization.mean[t][s]);
            if let Some(accuracy) = &test.accuracy {
                row = row.with("test_accuracy", accuracy.mean[t][s]);
            }
            if let Some(accuracy) = &test.task_accuracy {
                row = row.with("test_task_accuracy", accuracy.mean[t][s]);
            }
        }
        if let Some(pair) = forecast.pairs.iter().find(|pair| (pair.first, pair.second) == (s + 1, t + 1)) {
            row = with_pair(row, pair);
        }
        if let Some(fit) = &forecast.fit {
            row = row
                .with("f_max", fit.f_max.map_or(f64::NAN, |f| f.value))
                .with("tau", fit.tau.map_or(f64::NAN, |tau| tau.value))
                .with("fit_r2", fit.r2.unwrap_or(f64::NAN));
        }
        all.push(row);
    }
    all
}

/// The order parameters of a pair, with intervals and null where they were asked for.
fn with_pair(row: Row, pair: &PairForecast) -> Row {
    let mut row = with_parameters(row, &pair.values, "");
    if let Some(error) = pair.detail.gamma_feature_error {
        row = row.with("gamma_feature_error", error);
    }
    if let Some(interval) = &pair.detail.interval {
        row = with_parameters(row, &interval.low, "_low");
        row = with_parameters(row, &interval.high, "_high");
    }
    if let Some(null) = &pair.detail.null {
        row = with_parameters(row, &null.mean, "_null_mean");
        row = with_parameters(row, &null.deviation, "_null_sd");
        row = with_parameters(row, &null.p_value, "_p");
    }
    row
}

fn with_parameters(row: Row, p: &OrderParameters, ending: &str) -> Row {
    let all = [
        ("gamma_feature", p.gamma_feature),
        ("gamma_rf", p.gamma_rf),
        ("gamma_rule", p.gamma_rule),
        ("conflict", p.conflict),
        ("gamma_sim", p.gamma_sim),
        ("f_pair", p.f21),
    ];
    all.into_iter().fold(row, |row, (name, value)| row.with(&format!("{name}{ending}"), value))
}
