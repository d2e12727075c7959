//! `advise`: what each remedy against forgetting would do for a task sequence, averaged over seeds.

use super::MOST_SEEDS;
use super::field::{Fields, Range, fields};
use super::forecast::{ForecastRequest, drawn_already, no_sequence};
use super::tasks::TaskFields;
use super::words::{Bytes, LearningOrder};
use crate::context::Context;
use crate::data::Sources;
use crate::error::{Error, Result};
use crate::kernels::Activation;
use crate::plan::{Cost, Sizes, feature_forgetting_cost, forgetting_cost};
use crate::stats::number::significant;
use crate::tasks::{Provenance, TaskSequence, whole_targets};
use crate::theory::advise::{Advice, AdviseSettings};
use crate::theory::forecast::ForecastSettings;
use crate::theory::single_head::{Mode, Replay, ReplayBudget};
use std::path::PathBuf;

/// Ways of learning when nothing is done; the penalty is one of the remedies.
const MODES: &[(&str, &str)] = &[
    ("rf", "Only the readout learns"),
    ("ntk", "All weights learn, strong penalty"),
    ("lazy", "All weights learn by plain gradient descent in small steps"),
];

fields! {
    /// What each remedy against forgetting would do.
    pub struct AdviseRequest {
        /// Which tasks are learned.
        tasks: TaskFields = TaskFields::default(), but("protocol", "class-incremental");
        /// Feature matrices instead of inputs: FILE.npz with x_1, y_1, … where x are features, or one set of them with --classes-per-task
        features: Option<PathBuf> = None, value("FILE"), without(&["tasks", "data", "protocol"]);
        /// Hidden layers
        depth: usize = 1;
        /// Nonlinearity
        activation: Activation = Activation::Relu;
        /// How the network learns when nothing is done
        mode: Mode = Mode::Rf, words(MODES);
        /// Prior standard deviation of a weight
        sigma: f64 = 1.0, value("SIGMA"), range(Range::DEVIATION), sets(&["sigma2"]);
        /// Prior standard deviation of a bias in every layer, the readout included; 0 for none
        bias: f64 = 0.0, value("SIGMA_B"), range(Range::DEVIATION_OR_0), sets(&["bias2"]);
        /// Inverse temperature: noise on the targets has variance 1/BETA; inf interpolates the training data
        beta: f64 = f64::INFINITY, value("BETA");
        /// Hidden units N: a readout per task is forecast at this width, not for wide networks
        width: Option<f64> = None, value("N");
        /// More such widths, comma-separated
        widths: Vec<f64> = vec![], value("LIST"), not_in_studies();
        /// Penalties to try, comma-separated, inf included at --beta inf, each reported
        lambdas: Vec<f64> = vec![], value("LIST"), usual("1, 10, 100 and 1000, the best reported"), not_in_studies();
        /// The final accuracy to reach, as a share: 0.8 for 80 %
        keep_accuracy_above: Option<f64> = None, value("SHARE"), without(&["lose_at_most"]);
        /// The accuracy that may be lost, as a share: 0.05 for 5 points
        lose_at_most: Option<f64> = None, value("SHARE"), without(&["keep_accuracy_above"]);
        /// How many examples hold training-loss forgetting F below this, in theory
        keep_forgetting_below: Option<f64> = None, value("F"), usual("half of doing nothing, with --theory");
        /// The most examples that may be kept
        budget: Option<usize> = None, value("M"), usual("all");
        /// What the budget counts
        replay_budget: ReplayBudget = ReplayBudget::PerTask;
        /// The most that may be kept between tasks, such as 2MB
        memory_budget: Option<Bytes> = None, value("SIZE");
        /// Random features of the ridge regression that has some; 0 leaves it out
        random_features: usize = 2000, value("M");
        /// Strength of elastic weight consolidation; 10 to 1000 were measured
        ewc: f64 = 100.0, value("STRENGTH");
        /// Try the theory's own remedies too, by training-loss forgetting: penalties, context, depth and what replay adds to them
        theory: bool = false;
        /// Number of seeds to average over, each with its own draw of tasks
        seeds: usize = 1, value("K"), range(MOST_SEEDS), not_in_studies();
        /// Use at most this many examples per task
        max_p: Option<usize> = None, value("P"), usual("5000 of all tasks together, of features all; 300 for --theory");
    }
}

/// Advice and what it is on.
#[derive(Debug, Clone)]
pub struct AdviseAnswer {
    /// What was computed on what, in one line.
    pub heading: String,
    /// The advice.
    pub advice: Advice,
    /// The settings of the library.
    pub settings: AdviseSettings,
    /// The first seed.
    pub seed: u64,
    /// The first sequence's settings.
    pub tasks: Provenance,
}

impl AdviseRequest {
    /// The forecast of doing nothing.
    pub fn forecast(&self) -> ForecastRequest {
        ForecastRequest {
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
            ..ForecastRequest::default()
        }
    }

    /// The checked settings of the library.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn settings(&self) -> Result<AdviseSettings> {
        self.settings_of(self.features.is_some())
    }

    /// The checked settings of the library for inputs, or features, that are there already.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn settings_of(&self, features: bool) -> Result<AdviseSettings> {
        self.check_fields()?;
        let default = AdviseSettings::default();
        Ok(AdviseSettings {
            theory: self.forecast().settings()?.theory,
            keep_accuracy_above: self.keep_accuracy_above,
            lose_at_most: self.lose_at_most,
            keep_forgetting_below: self.keep_forgetting_below,
            budget: self.budget,
            memory_budget: self.memory_budget.map(|bytes| bytes.0),
            random_features: self.random_features,
            ewc: self.ewc,
            complete: self.asks_for_theory(),
            replay: Replay { budget: self.replay_budget, ..Replay::default() },
            features,
            width: self.width,
            widths: self.widths.clone(),
            lambdas: self.lambdas.clone(),
            max_p: self.max_p,
            order: self.tasks.order == LearningOrder::Best,
            ..default
        })
    }

    /// Whether a setting speaks of the theory alone: methods do not depend on it.
    fn asks_for_theory(&self) -> bool {
        const OF_THEORY: [&str; 10] = [
            "theory",
            "depth",
            "activation",
            "mode",
            "sigma",
            "bias",
            "beta",
            "width",
            "widths",
            "keep_forgetting_below",
        ];
        let own = |key: &str| OF_THEORY.contains(&key) || key == "lambdas";
        self.given().any(|(field, _)| own(field.key))
    }

    /// Refuses what would be refused when it is computed, as far as that can be said without data.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check(&self) -> Result<()> {
        self.settings()?.checked()?;
        self.forecast().check()
    }

    /// Refuses settings that tasks of these sizes do not allow.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check_sizes(&self, sizes: &Sizes) -> Result<()> {
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

    /// The sizes of what is used of tasks of these sizes.
    pub fn part_of(&self, sizes: Sizes) -> Sizes {
        let usual = Advice::usual_examples(sizes.train.len());
        let most = self.max_p.or(self.features.is_none().then_some(usual));
        ForecastRequest { max_p: most, ..ForecastRequest::default() }.part_of(sizes)
    }

    /// Some thirty settings of remedies are tried, each as a forecast without order parameters.
    pub fn cost_of(&self, sizes: &Sizes) -> Cost {
        self.cost_for(sizes, self.features.is_some())
    }

    fn cost_for(&self, sizes: &Sizes, features: bool) -> Cost {
        let one = if features { feature_forgetting_cost(sizes) } else { forgetting_cost(sizes) };
        let rows: usize = sizes.train.iter().chain(&sizes.test).sum();
        let data = 8.0 * rows as f64 * (sizes.dim + sizes.columns) as f64;
        let bytes = match features {
            // What every task learns with everything stored, and a copy of it.
            true => {
                let learned: usize = (1..=sizes.train.len()).map(|t| sizes.train[..t].iter().sum::<usize>()).sum();
                4.0 * data + 2.5 * 8.0 * learned as f64 * sizes.dim as f64
            }
            // Kernels of the network and of those that remedies make of it, with their factors.
            false => 3.0 * data + 12.0 * 8.0 * (rows * rows) as f64,
        };
        Cost { bytes, ..one.times(30 * self.seeds) }
    }

    /// Computes the advice.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the theory.
    pub fn run(&self, sources: &Sources, context: &Context) -> Result<AdviseAnswer> {
        self.check()?;
        let (forecast, settings) = (self.forecast(), self.settings()?);
        let (what, sequences) = forecast.drawn(sources)?;
        let targets: Vec<_> = sequences[0].tasks.iter().map(|task| task.y.as_ref()).collect();
        let look = whole_targets(&targets).map_or(String::new(), |words| format!("; {words}"));
        let words = format!("{}{look}", forecast.heading(&what)?);
        self.answer(&sequences, settings, &words, forecast.seed()?, context)
    }

    /// Computes the advice for sequences that are there already, one per draw: of inputs, or of `features`.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the theory.
    pub fn run_on(&self, sequences: &[TaskSequence], features: bool, context: &Context) -> Result<AdviseAnswer> {
        let settings = self.settings_of(features)?;
        let sequences = &self.tasks.in_order(sequences.to_vec())?[..];
        let shown = ForecastSettings { theory: settings.theory, features, ..ForecastSettings::default() };
        let words = drawn_already(sequences, &shown);
        self.answer(sequences, settings, &words, self.tasks.seed(), context)
    }

    /// The advice for sequences, one per draw, that are what `words` say.
    fn answer(
        &self,
        sequences: &[TaskSequence],
        settings: AdviseSettings,
        words: &str,
        seed: u64,
        context: &Context,
    ) -> Result<AdviseAnswer> {
        let first = sequences.first().ok_or_else(no_sequence)?;
        super::fits("advise", &self.part_of(first.sizes()), context, |sizes| self.cost_for(sizes, settings.features))?;
        let advice = Advice::of(sequences, &settings, context)?;
        let untested = first.tested_everywhere().map_or(String::new(), |(_, note)| format!("; {note}"));
        let (heading, tasks) = (heading_for(&advice, &format!("{words}{untested}")), first.settings.clone());
        Ok(AdviseAnswer { heading, advice, settings, seed, tasks })
    }
}

/// The line that opens advice: what it was computed on where that is not all there is.
pub fn heading_for(advice: &Advice, tasks: &str) -> String {
    let [used, there] = advice.examples_used;
    let part = if used < there { format!(" from {used} examples of each task") } else { String::new() };
    let at = advice
        .temperature
        .map_or(String::new(), |beta| format!("; at the temperature of trained heads, beta {}", significant(beta)));
    format!("Advice{part} for {tasks}{at}")
}

impl ForecastRequest {
    /// The sequences of all seeds of the one set of tasks, and what they are in words.
    fn drawn(&self, sources: &Sources) -> Result<(String, Vec<TaskSequence>)> {
        let (_, what, sequences) =
            self.sequences(sources)?.pop().ok_or_else(|| Error::setting("--features", "nothing", "give one file"))?;
        Ok((what, sequences))
    }
}
