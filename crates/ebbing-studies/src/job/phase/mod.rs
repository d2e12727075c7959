//! `phase`: tasks with a readout each against the load P/N.

mod pairs;
mod place;
mod rows;
mod sequence;
mod sweep;

pub(super) use rows::COLUMNS;
pub use sweep::PhaseSweep;

use super::tasks::{ProtocolKind, TaskKeys};
use super::words::{ACTIVATIONS, Loads, checked_seeds, checked_sigma, choice, list, number, readout_sigma2};
use ebbing::data::Sources;
use ebbing::kernels::Activation;
use ebbing::plan::{Cost, Sizes, phase_cost, sequence_cost};
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing::theory::phase::normalized_labels;
use ebbing::{Error, Recipe, Task};
use serde::{Deserialize, Serialize};

/// The settings of a phase diagram.
#[derive(Debug, Clone, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseJob {
    /// Which tasks are learned.
    #[command(flatten)]
    #[serde(flatten)]
    pub tasks: TaskKeys,
    /// What is swept [default: perm, unless a protocol, a ratio or a width chooses two tasks]
    #[arg(long, value_enum, conflicts_with_all = ["tasks", "protocol", "width"])]
    pub sweep: Option<PhaseSweep>,
    /// Values of what is swept, comma-separated [default: depends on the sweep]
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub values: Vec<f64>,
    /// Values whose curves against the load are drawn [default: three of them]
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub curves: Vec<f64>,
    /// Loads P/N as from:to:count, evenly on a logarithmic scale, or a list
    #[arg(long, value_name = "GRID", default_value = "0.1:10:60")]
    pub alpha: Loads,
    /// Penalties of the curves, comma-separated, inf included (at a finite --beta the limit at that temperature)
    #[arg(long, value_parser = number, value_name = "LIST", value_delimiter = ',', default_value = "inf")]
    #[serde(deserialize_with = "list")]
    pub lambda: Vec<f64>,
    /// Prior standard deviation of a weight
    #[arg(long, value_parser = number, value_name = "SIGMA", default_value_t = 1.0)]
    pub sigma: f64,
    /// Prior standard deviation of readouts [default: that of all weights]
    #[arg(long, value_parser = number, value_name = "SIGMA")]
    pub sigma_readout: Option<f64>,
    /// Bound on the norm |a|^2/N of every readout: nothing diverges any more
    #[arg(long, value_parser = number, value_name = "C")]
    pub readout_norm: Option<f64>,
    /// Inverse temperature; inf interpolates the training data, anything else is told as curves alone
    #[arg(long, value_parser = number, value_name = "BETA", default_value_t = f64::INFINITY)]
    #[serde(with = "ebbing::serde_infinity")]
    pub beta: f64,
    /// Nonlinearity
    #[arg(long, value_parser = choice::<Activation>(ACTIVATIONS), default_value = "relu")]
    pub activation: Activation,
    /// Scale labels so that Y'K^-1 Y/P = 1, which the gamma_sim law assumes
    #[arg(long)]
    pub rescale_labels: bool,
    /// Number of seeds to average over
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub seeds: usize,
    /// Two of the tasks that are given, or that forecast would draw, by number, in the order learned
    #[arg(long, value_name = "I,J", value_delimiter = ',', conflicts_with = "sweep")]
    #[serde(deserialize_with = "list")]
    pub pair: Vec<usize>,
    /// Every pair of the tasks, in the order learned: similarity, critical load and, with --width, the regime
    #[arg(long, conflicts_with_all = ["pair", "sweep", "representation"])]
    pub pairs: bool,
    /// The width N to place in the diagram of two tasks, or of more
    #[arg(long, value_parser = number, value_name = "N")]
    pub width: Option<f64>,
    /// What two tasks do to the hidden layer at that width: the change of representations, and how the learned kernel lines up
    /// with the labels
    #[arg(long, requires = "width")]
    pub representation: bool,
}

impl PhaseJob {
    /// The settings of the theory, at λ = ∞.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn theory(&self) -> ebbing::Result<MultiHeadSettings> {
        if let Some(bad) = self.lambda.iter().find(|l| l.is_nan() || **l < 0.0) {
            return Err(Error::setting("--lambda", bad, "every penalty must be at least 0 (inf is allowed)"));
        }
        if self.beta.is_nan() || self.beta <= 0.0 {
            return Err(Error::setting("--beta", self.beta, "must be positive (inf is allowed)"));
        }
        if let Some(bound) = self.readout_norm.filter(|c| !(*c > 0.0 && c.is_finite())) {
            return Err(Error::setting("--readout-norm", bound, "must be positive and finite"));
        }
        if let Some(bound) = self.readout_norm.filter(|_| self.beta.is_finite()) {
            return Err(Error::setting("--readout-norm", bound, "needs --beta inf; --sigma-readout works at any beta"));
        }
        Ok(MultiHeadSettings {
            sigma2: checked_sigma(self.sigma)?.powi(2),
            readout_sigma2: readout_sigma2(self.sigma_readout)?,
            readout_norm: self.readout_norm,
            beta: self.beta,
            activation: self.activation,
            ..MultiHeadSettings::default()
        })
    }

    /// The settings that files record: those of the theory, and what was asked of it.
    ///
    /// # Errors
    /// [`ebbing::Error::Setting`] for a setting out of its range.
    pub fn recorded(&self, prepared: &str) -> ebbing::Result<serde_json::Value> {
        let mut all = serde_json::to_value(self.theory()?).unwrap_or_default();
        let lambdas: Vec<serde_json::Value> = self.lambda.iter().map(|l| ebbing_show::json_number(*l)).collect();
        let rest = serde_json::json!({
            "width": self.width, "pair": self.pair, "pairs": self.pairs, "sweep": self.sweep(), "values": self.values, "curves": self.curves,
            "alpha": self.alpha, "lambdas": lambdas, "rescale_labels": self.rescale_labels, "seeds": self.seeds,
            "representation": self.representation, "prepared": prepared,
        });
        if let (Some(all), Some(rest)) = (all.as_object_mut(), rest.as_object()) {
            // What was not given is not recorded.
            let given =
                |value: &serde_json::Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
            all.extend(
                rest.iter().filter(|(_, value)| given(value)).map(|(name, value)| (name.clone(), value.clone())),
            );
        }
        Ok(all)
    }

    pub(super) fn check(&self) -> ebbing::Result<()> {
        checked_seeds(self.seeds)?;
        self.theory()?;
        self.alpha.grid()?;
        if let Some(width) = self.width.filter(|n| !(n.is_finite() && *n >= 1.0)) {
            return Err(Error::setting("--width", width, "must be a number of units, at least 1"));
        }
        self.task_recipe().map(|_| ())
    }

    /// Refuses settings that tasks of these sizes do not allow.
    pub(super) fn check_sizes(&self, sizes: &Sizes) -> ebbing::Result<()> {
        let tasks = sizes.train.len();
        if tasks < 2 {
            return Err(Error::setting("--length", tasks, "must be at least 2 tasks"));
        }
        if self.pair.is_empty() { Ok(()) } else { check_pair(&self.pair, tasks) }
    }

    /// What is swept, where tasks are: neither are they given, nor does a setting choose two of them.
    pub fn sweep(&self) -> Option<PhaseSweep> {
        let keys = &self.tasks;
        let ratios = [keys.ratio, keys.rho_target, keys.rho_shared, keys.rho_flip];
        let chosen = keys.tasks.is_some() || keys.protocol.is_some() || self.width.is_some();
        let one_pair = chosen || self.pairs || !self.pair.is_empty();
        match self.sweep {
            None if one_pair || self.curves_alone() || ratios.iter().any(Option::is_some) => None,
            chosen => Some(chosen.unwrap_or_default()),
        }
    }

    /// What makes the tasks, at the sweep's first value where there is one.
    pub(super) fn task_recipe(&self) -> ebbing::Result<Recipe> {
        self.refuse_idle_flags()?;
        match self.sweep() {
            Some(sweep) => {
                let base = self.recipe(sweep.protocol())?;
                Ok(self.grid().0.first().map_or(base.clone(), |&value| sweep.at(&base, value)))
            }
            None => self.recipe(self.tasks.kind()),
        }
    }

    /// Refuses flags that what was asked for does not use.
    fn refuse_idle_flags(&self) -> ebbing::Result<()> {
        let keys = &self.tasks;
        if self.pairs {
            self.refuse_idle_with_pairs()?;
        }
        if self.representation && self.curves_alone() {
            let expected = "is derived for two tasks that are interpolated: leave out --beta and --intermediate, or choose a --pair";
            return Err(Error::setting("--representation", "given", expected));
        }
        let Some(sweep) = self.sweep() else {
            let one = "belongs to a sweep (--sweep), and these settings choose two tasks";
            let one = if self.curves_alone() { "belongs to a sweep of two tasks (--sweep)" } else { one };
            for (name, list) in [("--values", &self.values), ("--curves", &self.curves)] {
                if let Some(first) = list.first() {
                    return Err(Error::setting(name, first, one));
                }
            }
            return if self.seeds == 1 { Ok(()) } else { Err(Error::setting("--seeds", self.seeds, one)) };
        };
        if self.curves_alone() {
            let expected =
                "sweeps two tasks that are interpolated: leave it out with other lengths, --intermediate or --beta";
            return Err(Error::setting("--sweep", sweep.axis().replace(['{', '}'], ""), expected));
        }
        let swept = match sweep {
            PhaseSweep::Perm | PhaseSweep::Split => ("--ratio", keys.ratio),
            PhaseSweep::Target => ("--rho-target", keys.rho_target),
            PhaseSweep::Shared => ("--rho-shared", keys.rho_shared),
            PhaseSweep::Flip => ("--rho-flip", keys.rho_flip),
        };
        match swept {
            (name, Some(value)) => Err(Error::setting(name, value, "is what is swept: give the values by --values")),
            _ => Ok(()),
        }
    }

    /// Whether curves alone are asked for: the diagram is of two tasks that are interpolated.
    pub fn curves_alone(&self) -> bool {
        // A file that cannot be read is refused where it is needed.
        let own = self.pair.is_empty()
            && self.tasks.tasks.is_some()
            && self.tasks.sizes().is_ok_and(|sizes| sizes.train.len() > 2);
        let more = self.tasks.length.is_some_and(|t| t != 2) || self.tasks.intermediate.is_some_and(|s| s > 0);
        own || (more && self.pair.is_empty()) || self.beta.is_finite()
    }

    /// Two tasks are decomposed once for all loads; longer sequences are solved load by load.
    fn default_examples(&self) -> usize {
        if self.curves_alone() { 100 } else { 400 }
    }

    /// Tasks of a protocol, two of 400 examples each (more of 100) unless told; of permuted ones the first stays as it is, as in
    /// the paper. A pair is one of the tasks that a forecast draws.
    fn recipe(&self, protocol: ProtocolKind) -> ebbing::Result<Recipe> {
        if self.tasks.tasks.is_some() || !self.pair.is_empty() {
            return self.tasks.recipe();
        }
        let keys = TaskKeys { protocol: Some(protocol), ..self.tasks.clone() };
        let mut keys = keys.or_examples(self.default_examples());
        if protocol != ProtocolKind::PartialSplit {
            keys.length.get_or_insert(2);
        }
        keys.first_unpermuted |= protocol == ProtocolKind::Permuted;
        keys.recipe()
    }

    /// The first seed: a recipe's own, where none is given.
    ///
    /// # Errors
    /// As [`TaskKeys::recipe`].
    pub fn seed(&self) -> ebbing::Result<u64> {
        Ok(self.task_recipe()?.seed)
    }

    /// Labels as given, or scaled.
    fn labels(&self, tasks: Vec<Task>) -> ebbing::Result<Vec<Task>> {
        if self.rescale_labels { normalized_labels(&tasks, &self.theory()?) } else { Ok(tasks) }
    }

    /// The examples of each task of a sweep.
    pub fn examples(&self) -> usize {
        self.tasks.clone().or_examples(self.default_examples()).examples.unwrap_or_default()
    }

    pub(super) fn drawn_tasks(&self, sources: &Sources) -> ebbing::Result<(ebbing::tasks::Provenance, Vec<Task>)> {
        let recipe = self.recipe(self.tasks.kind())?;
        let mut sequence = recipe.draw(sources, recipe.seed)?;
        if !self.pair.is_empty() {
            check_pair(&self.pair, sequence.tasks.len())?;
            sequence.tasks = self.pair.iter().map(|t| sequence.tasks[t - 1].clone()).collect();
        }
        if sequence.tasks.len() < 2 {
            let problem = format!("it holds {} task; at least two are needed", sequence.tasks.len());
            return Err(Error::data("the task sequence", problem));
        }
        Ok((sequence.settings, self.labels(sequence.tasks)?))
    }

    pub(super) fn sizes(&self) -> ebbing::Result<Sizes> {
        if self.tasks.tasks.is_some() { self.tasks.sizes() } else { self.task_recipe()?.sizes() }
    }

    pub(super) fn cost_of(&self, sizes: &Sizes) -> Cost {
        let (curves, loads) = (self.lambda.len().max(1), self.alpha.grid().map_or(0, |grid| grid.len()));
        match sizes.train.len() {
            0..=2 if self.beta.is_infinite() => phase_cost(sizes, loads).times(curves),
            _ => sequence_cost(sizes).times(curves * loads),
        }
    }
}

/// Refuses numbers that are not those of two of the tasks, from 1.
fn check_pair(numbers: &[usize], tasks: usize) -> ebbing::Result<()> {
    let known = 1..=tasks;
    match numbers {
        [i, j] if i != j && known.contains(i) && known.contains(j) => Ok(()),
        _ => {
            let given: Vec<String> = numbers.iter().map(usize::to_string).collect();
            let expected = format!("must be two different tasks from 1 to {tasks}, such as 1,2");
            Err(Error::setting("--pair", given.join(","), expected))
        }
    }
}
