//! `phase`: tasks with a readout each against the load P/N.

mod outputs;
mod pairs;
mod place;
mod sequence;
mod sweep;

pub use outputs::{PhaseOutputs, Symmetric};
pub use pairs::{PhasePair, PhasePairs, Representation};
pub use place::PhasePlace;
pub use sequence::PhaseSequence;
pub use sweep::{PhaseSwept, SweptCurves, SweptLoads};

use super::MOST_SEEDS;
use super::field::{Fields, Range, fields};
use super::tasks::TaskFields;
use super::words::{Choice, HeadFactors, Loads, PhaseSweep, ProtocolKind};
use crate::context::Context;
use crate::data::Sources;
use crate::error::{Error, Result};
use crate::kernels::Activation;
use crate::plan::{Cost, Sizes, outputs_cost, phase_cost, sequence_cost};
use crate::tasks::{Recipe, Task, TaskSequence, own_readouts};
use crate::theory::multi_head::MultiHeadSettings;
use crate::theory::phase::normalized_labels;

fields! {
    /// Tasks with a readout each, against the load.
    pub struct PhaseRequest {
        /// Which tasks are learned.
        tasks: TaskFields = TaskFields::default();
        /// What is swept
        sweep: Option<PhaseSweep> = None, usual("perm, unless a protocol, a ratio or a width chooses two tasks"), without(&["tasks", "protocol", "width"]), not_in_studies();
        /// Values of what is swept, comma-separated
        values: Vec<f64> = vec![], value("LIST"), usual("depends on the sweep"), not_in_studies();
        /// Values whose curves against the load are drawn
        curves: Vec<f64> = vec![], value("LIST"), usual("three of them"), not_in_studies();
        /// Loads P/N as from:to:count, evenly on a logarithmic scale, or a list
        alpha: Loads = Loads::from("0.1:10:60"), value("GRID");
        /// Penalties of the curves, comma-separated, inf included (at a finite --beta the limit at that temperature)
        lambda: Vec<f64> = vec![f64::INFINITY], value("LIST"), range(Range::AT_LEAST_0_OR_INF);
        /// Prior standard deviation of a weight
        sigma: f64 = 1.0, value("SIGMA"), range(Range::DEVIATION), sets(&["sigma2"]);
        /// Prior standard deviation of readouts
        sigma_readout: Option<f64> = None, value("SIGMA"), usual("that of all weights"), range(Range::DEVIATION);
        /// Bound on the norm |a|^2/N of every readout: nothing diverges any more
        readout_norm: Option<f64> = None, value("C"), range(Range::POSITIVE);
        /// Inverse temperature; inf interpolates the training data, anything else is reported as curves alone
        beta: f64 = f64::INFINITY, value("BETA"), range(Range::POSITIVE_OR_INF);
        /// Nonlinearity
        activation: Activation = Activation::Relu;
        /// The factors of heads with several outputs (more than two classes each)
        heads: HeadFactors = HeadFactors::Exact;
        /// Scale labels so that Y'K^-1 Y/P = 1, which the gamma_sim law assumes
        rescale_labels: bool = false;
        /// Number of seeds to average over
        seeds: usize = 1, value("K"), range(MOST_SEEDS), not_in_studies();
        /// Two of the tasks that are given, or that forecast would draw, by number, in the order learned
        pair: Vec<usize> = vec![], value("I,J"), without(&["sweep"]);
        /// Every pair of the tasks, in the order learned: similarity, critical load and, with --width, the regime
        pairs: bool = false, without(&["pair", "sweep", "representation"]), not_in_studies();
        /// The width N to place in the diagram of two tasks, or of more
        width: Option<f64> = None, value("N"), range(Range::AT_LEAST_1), unit("units"), not_in_studies();
        /// What two tasks do to the hidden layer at that width: the change of representations, and how the learned kernel lines up with the labels
        representation: bool = false, needs("width"), not_in_studies();
    }
}

/// What was asked for of tasks with a readout each.
#[derive(Debug, Clone)]
pub enum PhaseAnswer {
    /// A sweep across the diagram.
    Swept(Box<PhaseSwept>),
    /// Every pair of several tasks.
    Pairs(Box<PhasePairs>),
    /// Curves against the load, of any number of tasks at any temperature.
    Sequence(Box<PhaseSequence>),
    /// Two tasks in the diagram.
    Place(Box<PhasePlace>),
    /// Two tasks with several outputs each in the diagram.
    Outputs(Box<PhaseOutputs>),
}

impl PhaseRequest {
    /// The settings of the theory, at λ = ∞.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn theory(&self) -> Result<MultiHeadSettings> {
        let swept = self.sweep().map(|sweep| sweep.protocol().word());
        self.check_fields_where(|key| swept.clone().filter(|_| key == "protocol"))?;
        if let Some(bound) = self.readout_norm.filter(|_| self.beta.is_finite()) {
            return Err(Error::setting("--readout-norm", bound, "needs --beta inf; --sigma-readout works at any beta"));
        }
        if self.lambda.is_empty() {
            return Err(Error::setting("--lambda", "empty", "must name at least one penalty"));
        }
        Ok(MultiHeadSettings {
            sigma2: self.sigma.powi(2),
            readout_sigma2: self.sigma_readout.map(|sigma| sigma.powi(2)),
            readout_norm: self.readout_norm,
            beta: self.beta,
            activation: self.activation,
            ..MultiHeadSettings::default()
        })
    }

    /// Refuses what would be refused when it is computed, as far as that can be said without data.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check(&self) -> Result<()> {
        self.theory()?;
        self.alpha.grid()?;
        self.tasks.refuse_best_order("ebbing phase")?;
        self.task_recipe().map(|_| ())
    }

    /// Refuses settings that tasks of these sizes do not allow.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check_sizes(&self, sizes: &Sizes) -> Result<()> {
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
    ///
    /// # Errors
    /// Whatever is wrong with the fields.
    pub fn task_recipe(&self) -> Result<Recipe> {
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
    fn refuse_idle_flags(&self) -> Result<()> {
        let keys = &self.tasks;
        if self.pairs {
            self.refuse_idle_with_pairs()?;
        }
        if self.curves_alone() {
            self.refuse_without_two_tasks()?;
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

    /// Whether curves alone are asked for: the diagram is of two tasks that are interpolated. So they are of more than two own
    /// tasks, which is known once their file is read.
    pub fn curves_alone(&self) -> bool {
        let more = self.tasks.length.is_some_and(|t| t != 2) || self.tasks.intermediate.is_some_and(|s| s > 0);
        (more && self.pair.is_empty()) || self.beta.is_finite()
    }

    /// Two tasks are decomposed once for all loads; longer sequences are solved load by load.
    fn default_examples(&self) -> usize {
        if self.curves_alone() { 100 } else { 400 }
    }

    /// Tasks of a protocol, two of 400 examples each (more of 100) by default; of permuted ones the first stays as it is, as in
    /// the paper. A pair is one of the tasks that a forecast draws.
    fn recipe(&self, protocol: ProtocolKind) -> Result<Recipe> {
        if self.tasks.tasks.is_some() || !self.pair.is_empty() {
            return self.tasks.recipe();
        }
        let keys = TaskFields { protocol: Some(protocol), ..self.tasks.clone() };
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
    /// As [`TaskFields::recipe`].
    pub fn seed(&self) -> Result<u64> {
        Ok(self.task_recipe()?.seed)
    }

    /// Labels as given, or scaled.
    fn labels(&self, tasks: Vec<Task>) -> Result<Vec<Task>> {
        if self.rescale_labels { normalized_labels(&tasks, &self.theory()?) } else { Ok(tasks) }
    }

    /// The examples of each task of a sweep.
    pub fn examples(&self) -> usize {
        self.tasks.clone().or_examples(self.default_examples()).examples.unwrap_or_default()
    }

    /// The tasks of the first seed, or the pair of them that was chosen.
    ///
    /// # Errors
    /// What is wrong with the tasks.
    pub fn drawn(&self, sources: &Sources, context: &Context) -> Result<TaskSequence> {
        let recipe = self.recipe(self.tasks.kind())?;
        self.chosen(recipe.draw(sources, recipe.seed)?, context)
    }

    /// The tasks that are meant of a sequence, with their labels as asked for.
    fn chosen(&self, mut sequence: TaskSequence, context: &Context) -> Result<TaskSequence> {
        if !self.pair.is_empty() {
            check_pair(&self.pair, sequence.tasks.len())?;
            sequence.tasks = self.pair.iter().map(|t| sequence.tasks[t - 1].clone()).collect();
        }
        if sequence.tasks.len() < 2 {
            let problem = format!("it holds {} task; at least two are needed", sequence.tasks.len());
            return Err(Error::data("the task sequence", problem));
        }
        let outputs = most_outputs(&sequence.tasks);
        super::fits("phase", &sequence.sizes(), context, |sizes| self.cost_with(sizes, outputs))?;
        if Self::has_several_outputs(&sequence.tasks) {
            self.refuse_with_several_outputs()?;
        } else {
            self.refuse_symmetric()?;
        }
        sequence.tasks = self.labels(sequence.tasks)?;
        Ok(sequence)
    }

    /// Computes what was asked for: a sweep, all pairs, curves, or the place of a width in the diagram of two tasks.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the theory.
    pub fn run(&self, sources: &Sources, context: &Context) -> Result<PhaseAnswer> {
        self.check()?;
        if let Some(sweep) = self.sweep() {
            return self.swept(sweep, sources, context).map(|swept| PhaseAnswer::Swept(Box::new(swept)));
        }
        self.answer(self.drawn(sources, context)?, context)
    }

    /// Computes what was asked for of tasks that are there already: all pairs, curves, or the place of a width in the diagram of
    /// two tasks.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the theory.
    pub fn run_on(&self, sequence: TaskSequence, context: &Context) -> Result<PhaseAnswer> {
        let of_draws = ["sweep", "values", "curves", "seeds"];
        if let Some((field, value)) = self.given().find(|(field, _)| of_draws.contains(&field.key)) {
            return Err(field.refused(&value, "needs tasks that are drawn: these are there already"));
        }
        self.theory()?;
        if self.pairs {
            self.refuse_idle_with_pairs()?;
        }
        self.answer(self.chosen(sequence, context)?, context)
    }

    /// What was asked for of tasks that are those of [`PhaseRequest::drawn`].
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the theory.
    pub fn answer(&self, sequence: TaskSequence, context: &Context) -> Result<PhaseAnswer> {
        if self.pairs {
            return self.all_pairs(sequence, context).map(|pairs| PhaseAnswer::Pairs(Box::new(pairs)));
        }
        if sequence.tasks.len() > 2 || self.curves_alone() {
            self.refuse_without_two_tasks()?;
            self.refuse_symmetric()?;
            return self.sequence(sequence, context).map(|curves| PhaseAnswer::Sequence(Box::new(curves)));
        }
        if Self::has_several_outputs(&sequence.tasks) {
            return Ok(PhaseAnswer::Outputs(Box::new(self.outputs(sequence, true, context)?)));
        }
        Ok(PhaseAnswer::Place(Box::new(self.place(sequence, context)?)))
    }

    /// The settings that files record: those of the theory, and what was asked of it.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn recorded(&self, prepared: &str) -> Result<serde_json::Value> {
        let mut all = serde_json::to_value(self.theory()?).unwrap_or_default();
        let lambdas: Vec<serde_json::Value> =
            self.lambda.iter().map(|l| if l.is_finite() { (*l).into() } else { "inf".into() }).collect();
        let rest = serde_json::json!({
            "width": self.width, "pair": self.pair, "pairs": self.pairs, "sweep": self.sweep(), "values": self.values, "curves": self.curves,
            "alpha": self.alpha, "lambdas": lambdas, "heads": (self.heads != HeadFactors::Exact).then_some(self.heads), "rescale_labels": self.rescale_labels, "seeds": self.seeds,
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

    /// Refuses what is derived for two tasks that are interpolated.
    fn refuse_without_two_tasks(&self) -> Result<()> {
        if !self.representation {
            return Ok(());
        }
        let expected =
            "is derived for two tasks that are interpolated: leave out --beta and --intermediate, or choose a --pair";
        Err(Error::setting("--representation", "given", expected))
    }

    /// What it costs with tasks of these sizes, whose classes are taken to be of one task each.
    pub fn cost_of(&self, sizes: &Sizes) -> Cost {
        self.cost_with(sizes, sizes.columns / sizes.train.len().max(1))
    }

    /// The same for heads of so many outputs.
    fn cost_with(&self, sizes: &Sizes, outputs: usize) -> Cost {
        let (curves, loads) = (self.lambda.len().max(1), self.alpha.grid().map_or(0, |grid| grid.len()));
        match (sizes.train.len(), outputs) {
            (0..=2, 0..=2) if self.beta.is_infinite() => phase_cost(sizes, loads).times(curves),
            (0..=2, _) if self.beta.is_infinite() => outputs_cost(sizes, outputs, loads).times(curves),
            _ => sequence_cost(&of_outputs(sizes, outputs)).times(curves * loads),
        }
    }
}

/// The most outputs of a head of these tasks.
pub(super) fn most_outputs(tasks: &[Task]) -> usize {
    own_readouts(tasks).iter().map(|task| task.y.ncols()).max().unwrap_or(1)
}

/// Tasks with a row for every output of an example, as the theory of more than two tasks keeps them.
pub(super) fn of_outputs(sizes: &Sizes, outputs: usize) -> Sizes {
    Sizes { train: sizes.train.iter().map(|p| p * outputs.max(1)).collect(), ..sizes.clone() }
}

/// Refuses numbers that are not those of two of the tasks, from 1.
fn check_pair(numbers: &[usize], tasks: usize) -> Result<()> {
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
