//! `train`: networks of finite width learn the tasks, beside what the theory says of them.

mod loads;
mod runs;
mod tasks;

pub use loads::{MeasuredLoad, TrainedLoads};
pub use tasks::{LearnerRuns, LossCurve, TrainedTasks};

use super::MOST_SEEDS;
use super::field::{Fields, Range, fields};
use super::forecast::no_sequence;
use super::tasks::TaskFields;
use super::words::{ProtocolKind, Rate, Rule};
use crate::context::Context;
use crate::data::Sources;
use crate::error::{Error, Result};
use crate::kernels::{Activation, Architecture};
use crate::nets::{Fisher, Heads, Indexing, Learner, LossScale, PenaltyStep, Solver, TrainSettings};
use crate::plan::{Cost, Sizes, levenberg_cost, train_cost};
use crate::tasks::TaskSequence;
use std::path::Path;

fields! {
    /// Networks trained by descent.
    pub struct TrainRequest {
        /// Which tasks are learned.
        tasks: TaskFields = TaskFields::default();
        /// Learning rules, comma-separated
        learners: Vec<Rule> = vec![Rule::Gd, Rule::L2];
        /// Strength of the penalty
        kappa: f64 = 0.1;
        /// How a task's weights are found: step by step, or at the minimum itself (gd and l2 only)
        solver: Solver = Solver::Descent;
        /// How the weights of the first task, which has no penalty, are found
        first_solver: Option<Solver> = None, value("SOLVER"), usual("as --solver");
        /// Levenberg: a task ends when the gradient's norm is below this share of what it was at the start
        gradient_tolerance: f64 = 1e-6, value("X");
        /// Levenberg: start penalized tasks from their initial readout times each of these, and keep the lowest objective
        readout_scales: Vec<f64> = vec![1.0], value("LIST");
        /// Levenberg: strength of a penalty on the readout of penalized tasks, which pulls it to 0
        readout_penalty: f64 = 0.0, value("X");
        /// EWC: decay of older tasks' Fisher information
        gamma: f64 = 1.0;
        /// EWC: how the Fisher information is taken
        fisher: Fisher = Fisher::Rms;
        /// EWC: use the paper's printed indexing (the current task's Fisher, the first task's dropped)
        printed: bool = false;
        /// One readout for all tasks, or one for each (then only hidden weights are penalized)
        heads: Heads = Heads::Single;
        /// Hidden layers
        depth: usize = 1;
        /// Nonlinearity
        activation: Activation = Activation::Relu;
        /// Only the readout learns; hidden weights stay as they were drawn
        readout_only: bool = false;
        /// Width N of every hidden layer
        width: usize = 400;
        /// Multi-head, two tasks: sweep the load P/N over these values instead of one width
        loads: Vec<f64> = vec![], value("LIST"), range(Range::POSITIVE), not_in_studies();
        /// Standard deviation of initial weights
        sigma0: f64 = 1.0;
        /// Loss whose gradient is followed: half the sum or half the mean of squared errors
        loss: LossScale = LossScale::Sum;
        /// Learning rate: a number, or auto: one over the loss's largest curvature, from the network's own tangent kernel, at
        /// most half of what is stable and adapted on the way
        eta: Rate = Rate(None);
        /// Multiplies the automatic rate: with 0.5 losses change by less than 5 %
        eta_factor: f64 = 1.0, value("X");
        /// Step the penalty explicitly (refused where that is unstable)
        explicit: bool = false;
        /// Mean squared error at which an unpenalized task counts as learned
        threshold: f64 = 1e-3;
        /// A penalized task ends when loss and distance change less than this, relatively ...
        tolerance: f64 = 1e-3;
        /// ... over this many steps
        patience: usize = 200;
        /// Most steps per task
        max_steps: usize = 20_000;
        /// Examples per step
        batch: Option<usize> = None, value("B"), usual("all");
        /// Heavy-ball momentum
        momentum: f64 = 0.0;
        /// Number of seeds, each with its own tasks and initial weights
        seeds: usize = 1, value("K"), range(MOST_SEEDS), not_in_studies();
    }
}

/// What trained networks do.
#[derive(Debug)]
pub enum TrainAnswer {
    /// After each task of a sequence.
    Tasks(Box<TrainedTasks>),
    /// Two tasks with a readout each, at several loads.
    Loads(Box<TrainedLoads>),
}

impl TrainRequest {
    /// Which tasks, 200 examples each by default; with loads two tasks, of permuted ones the first as it is.
    pub fn task_fields(&self) -> TaskFields {
        let mut keys = self.tasks.clone().or_examples(200);
        if !self.loads.is_empty() && keys.tasks.is_none() && keys.kind() == ProtocolKind::Permuted {
            keys.length.get_or_insert(2);
            keys.first_unpermuted = true;
        }
        keys
    }

    /// The widths of the loads that are swept, for tasks of `p` examples: N = P/α.
    fn widths(&self, p: usize) -> Vec<usize> {
        self.loads.iter().map(|a| (p as f64 / a).round().max(1.0) as usize).collect()
    }

    /// The largest width that is trained.
    fn widest(&self, sizes: &Sizes) -> usize {
        let widths = self.widths(sizes.train.last().copied().unwrap_or_default());
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
    pub fn settings(&self, learner: Learner, seed: u64) -> Result<TrainSettings> {
        let settings = TrainSettings {
            learner,
            heads: self.heads,
            architecture: Architecture { activation: self.activation, depth: self.depth },
            width: self.width,
            readout_only: self.readout_only,
            sigma0: self.sigma0,
            loss: self.loss,
            eta: self.eta.0,
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
        };
        settings.check()?;
        Ok(settings)
    }

    /// Refuses what would be refused when it is computed, as far as that can be said without data.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check(&self) -> Result<()> {
        self.check_fields()?;
        self.tasks.refuse_best_order("ebbing train")?;
        if self.learners.is_empty() {
            return Err(Error::setting("--learners", "empty", "must name at least one"));
        }
        for learner in self.rules() {
            self.settings(learner, self.tasks.seed())?;
        }
        self.task_fields().recipe().map(|_| ())
    }

    /// Trains networks, taken up from their checkpoints where a folder has some.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; the first error of a run that is no divergence.
    pub fn run(&self, sources: &Sources, context: &Context, checkpoints: Option<&Path>) -> Result<TrainAnswer> {
        self.check()?;
        let recipe = self.task_fields().recipe()?;
        let draws = if self.loads.is_empty() { self.seeds as u64 } else { 1 };
        let (own, seeds) = (recipe.own()?, (0..draws).map(|k| recipe.seed.wrapping_add(k)));
        let sequences = seeds.map(|seed| recipe.draw_from(own.clone(), sources, seed)).collect::<Result<Vec<_>>>()?;
        self.answer(sequences, recipe.seed, context, checkpoints)
    }

    /// Trains networks on sequences that are there already, one per seed; every seed learns the same one where there is one.
    ///
    /// # Errors
    /// As for [`run`](TrainRequest::run).
    pub fn run_on(
        &self,
        mut sequences: Vec<TaskSequence>,
        context: &Context,
        checkpoints: Option<&Path>,
    ) -> Result<TrainAnswer> {
        self.check()?;
        let several = sequences.len();
        if several > 1 && self.seeds > 1 && several != self.seeds || several > 1 && !self.loads.is_empty() {
            let expected = format!("must be 1: there are {several} sequences of tasks, each has a seed of its own");
            return Err(Error::setting("--seeds", self.seeds, expected));
        }
        let first = sequences.first().cloned().ok_or_else(no_sequence)?;
        if self.loads.is_empty() {
            sequences.resize(several.max(self.seeds), first);
        }
        self.answer(sequences, self.tasks.seed(), context, checkpoints)
    }

    /// What networks do that learn these sequences, of the seeds from `seed` on.
    fn answer(
        &self,
        mut sequences: Vec<TaskSequence>,
        seed: u64,
        context: &Context,
        checkpoints: Option<&Path>,
    ) -> Result<TrainAnswer> {
        super::fits("train", &sequences[0].sizes(), context, |sizes| self.cost_of(sizes))?;
        Ok(match self.loads.is_empty() {
            true => TrainAnswer::Tasks(Box::new(self.over_tasks(sequences, seed, context, checkpoints)?)),
            false => {
                TrainAnswer::Loads(Box::new(self.over_loads(sequences.swap_remove(0), seed, context, checkpoints)?))
            }
        })
    }

    /// What it costs with tasks of these sizes.
    pub fn cost_of(&self, sizes: &Sizes) -> Cost {
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
