//! `sample`: networks drawn from the posterior, beside the theory.

use super::field::{Fields, Range, fields};
use super::tasks::TaskFields;
use super::words::ProtocolKind;
use crate::context::Context;
use crate::data::Sources;
use crate::error::Result;
use crate::kernels::{Activation, Architecture};
use crate::nets::{Heads, PosteriorSettings, SampledPosterior, sample_posterior};
use crate::plan::{Cost, Sizes, sample_cost};
use crate::stats::Estimate;
use crate::tasks::{Task, TaskSequence, TestSet};
use crate::theory::multi_head::{MultiHead, MultiHeadSettings};
use crate::theory::single_head::{Mode, SingleHead, SingleHeadSettings};

/// Turned into the seed of the chains that learn the last task alone.
const ALONE: u64 = 1 << 63;

fields! {
    /// Networks sampled from the posterior.
    pub struct SampleRequest {
        /// Which tasks are learned.
        tasks: TaskFields = TaskFields::default(), but("length", "2"), but("examples", "40"), but("test_examples", "40"), but("ratio", "0.3");
        /// One readout for all tasks, or one for each
        heads: Heads = Heads::Multi;
        /// Hidden layers
        depth: usize = 1;
        /// Nonlinearity
        activation: Activation = Activation::Relu;
        /// Width N of every hidden layer
        width: usize = 80;
        /// Penalty on the change of weights
        lambda: f64 = 5.0, value("LAMBDA");
        /// Prior standard deviation of a weight
        sigma: f64 = 1.0, range(Range::DEVIATION), sets(&["sigma2"]);
        /// Prior standard deviation of readouts, with a readout each
        sigma_readout: Option<f64> = None, value("SIGMA"), usual("that of all weights"), range(Range::DEVIATION), belongs("heads", &["multi"]);
        /// Inverse temperature
        beta: f64 = 2000.0;
        /// Independent chains
        chains: usize = 16;
        /// Moves that adapt the step size, per task and chain
        warmup: usize = 300;
        /// Moves kept, per task and chain
        draws: usize = 100;
        /// Most leapfrog steps of a move
        leapfrog: usize = 20;
    }
}

/// Sampled networks and the theory of them.
#[derive(Debug)]
pub struct SampleAnswer {
    /// The tasks.
    pub sequence: TaskSequence,
    /// How networks were sampled.
    pub settings: PosteriorSettings,
    /// What they do.
    pub sampled: SampledPosterior,
    /// The same for fresh networks that learn the last task alone, from other random numbers: what G is measured against.
    pub alone: Option<SampledPosterior>,
    /// Sampled numbers with the theory's beside them.
    pub comparison: Vec<Comparison>,
}

/// One number of the comparison.
#[derive(Debug)]
pub struct Comparison {
    /// What it is.
    pub name: String,
    /// In sampled networks.
    pub sampled: Estimate,
    /// In the theory, where there is one for it.
    pub theory: Option<f64>,
}

impl SampleRequest {
    /// Which tasks: two small ones, unless others are asked for.
    pub(super) fn task_fields(&self) -> TaskFields {
        let mut keys = self.tasks.clone().or_examples(40);
        if keys.tasks.is_none() {
            keys.length.get_or_insert(2);
            if matches!(keys.kind(), ProtocolKind::Permuted | ProtocolKind::PartialSplit) {
                keys.ratio.get_or_insert(0.3);
            }
        }
        keys
    }

    /// The checked settings of the sampler.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for a setting out of its range.
    pub fn settings(&self) -> Result<PosteriorSettings> {
        self.check_fields()?;
        let settings = PosteriorSettings {
            heads: self.heads,
            architecture: Architecture { activation: self.activation, depth: self.depth },
            width: self.width,
            lambda: self.lambda,
            sigma2: self.sigma.powi(2),
            readout_sigma2: self.sigma_readout.map(|sigma| sigma.powi(2)),
            beta: self.beta,
            chains: self.chains,
            warmup: self.warmup,
            draws: self.draws,
            leapfrog: self.leapfrog,
            seed: self.task_fields().recipe()?.seed,
        };
        settings.checked().map(|_| settings)
    }

    /// Refuses what would be refused when it is computed, as far as that can be said without data.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check(&self) -> Result<()> {
        self.tasks.refuse_best_order("ebbing sample")?;
        self.settings().map(|_| ())
    }

    /// Samples and compares.
    ///
    /// # Errors
    /// What is wrong with the request or the tasks; any error of the sampler or the theory.
    pub fn run(&self, sources: &Sources, context: &Context) -> Result<SampleAnswer> {
        self.answer(self.drawn(sources, context)?, self.settings()?, context)
    }

    /// Samples networks that learn tasks that are there already, and compares.
    ///
    /// # Errors
    /// As for [`run`](SampleRequest::run).
    pub fn run_on(&self, sequence: TaskSequence, context: &Context) -> Result<SampleAnswer> {
        let settings = self.settings()?;
        super::fits("sample", &sequence.sizes(), context, |sizes| self.cost_of(sizes))?;
        self.answer(sequence, settings, context)
    }

    /// Samples and compares.
    fn answer(&self, sequence: TaskSequence, settings: PosteriorSettings, context: &Context) -> Result<SampleAnswer> {
        let last = sequence.tasks.last().filter(|task| sequence.tasks.len() > 1 && task.test.is_some());
        let parts = 1 + usize::from(last.is_some());
        let sampled = sample_posterior(&sequence.tasks, &settings, &context.part(0, parts))?;
        let alone = match last {
            Some(last) => {
                let settings = PosteriorSettings { seed: settings.seed ^ ALONE, ..settings.clone() };
                Some(sample_posterior(std::slice::from_ref(last), &settings, &context.part(1, parts))?)
            }
            None => None,
        };
        let theory = match settings.heads {
            Heads::Multi if settings.architecture.depth == 1 => multi_head(&sequence.tasks, &settings, context)?,
            // The multi-head theory has one hidden layer: deeper networks are sampled without it.
            Heads::Multi => Theory::default(),
            Heads::Single => single_head(&sequence, &settings, context)?,
        };
        let comparison = compare(&sampled, alone.as_ref(), &theory);
        Ok(SampleAnswer { sequence, settings, sampled, alone, comparison })
    }

    /// The tasks.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn drawn(&self, sources: &Sources, context: &Context) -> Result<TaskSequence> {
        let recipe = self.task_fields().recipe()?;
        let sequence = recipe.draw(sources, recipe.seed)?;
        super::fits("sample", &sequence.sizes(), context, |sizes| self.cost_of(sizes))?;
        Ok(sequence)
    }

    /// What it costs with tasks of these sizes.
    pub fn cost_of(&self, sizes: &Sizes) -> Cost {
        // Trajectories have a random length, half the longest on average.
        let moves = self.warmup as f64 + self.draws as f64;
        let leaps = 0.5 * moves * self.leapfrog as f64;
        sample_cost(sizes, self.width, self.depth, self.chains, leaps)
    }
}

/// What the theory says of the rows, where it says anything; indices as in [`SampledPosterior`].
#[derive(Default)]
struct Theory {
    u1: Vec<Vec<f64>>,
    forgetting: Vec<f64>,
    test: Vec<Option<f64>>,
    generalization: Option<f64>,
    kernel: Vec<f64>,
}

/// The rows of the comparison.
fn compare(sampled: &SampledPosterior, alone: Option<&SampledPosterior>, theory: &Theory) -> Vec<Comparison> {
    let last = sampled.u1.len();
    let mut all = Vec::new();
    let mut add = |name: String, sampled: Estimate, theory: Option<f64>| all.push(Comparison { name, sampled, theory });
    for (t, row) in sampled.u1.iter().enumerate() {
        for (s, &estimate) in row.iter().enumerate() {
            let value = theory.u1.get(t).and_then(|row| row.get(s)).copied();
            add(format!("u1({},{}) = <a_{}·a_{}>/N", t + 1, s + 1, t + 1, s + 1), estimate, value);
        }
    }
    for (s, &estimate) in sampled.forgetting.iter().enumerate() {
        add(format!("F_{last}{}: training loss of task {}", s + 1, s + 1), estimate, theory.forgetting.get(s).copied());
    }
    for (s, estimate) in sampled.test_loss.iter().enumerate() {
        if let Some(estimate) = estimate {
            add(format!("test loss of task {}", s + 1), *estimate, theory.test.get(s).copied().flatten());
        }
    }
    let after = sampled.test_loss.last().copied().flatten();
    if let (Some(after), Some(fresh)) = (after, alone.and_then(|alone| alone.test_loss[0])) {
        let name = format!("G_{last}{last}: test loss of task {last} / alone");
        add(name, ratio(after, fresh), theory.generalization);
    }
    for (s, &estimate) in sampled.label_kernel.iter().enumerate() {
        add(format!("kernel along labels of task {}", s + 1), estimate, theory.kernel.get(s).copied());
    }
    all
}

/// The ratio of two independent estimates, its error to first order.
fn ratio(a: Estimate, b: Estimate) -> Estimate {
    let value = a.value / b.value;
    let error = value.abs() * ((a.error() / a.value).powi(2) + (b.error() / b.value).powi(2)).sqrt();
    Estimate { value, standard_error: Some(error) }
}

fn multi_head(tasks: &[Task], settings: &PosteriorSettings, context: &Context) -> Result<Theory> {
    let theory = MultiHead::new(
        tasks,
        &MultiHeadSettings {
            lambda: settings.lambda,
            sigma2: settings.sigma2,
            readout_sigma2: settings.readout_sigma2,
            beta: settings.beta,
            width: Some(settings.width as f64),
            alpha: None,
            activation: settings.architecture.activation,
            ..MultiHeadSettings::default()
        },
        context,
    )?;
    let last = tasks.len();
    let test = tasks.iter().enumerate().map(|(s, task)| {
        let loss = |test: &TestSet| {
            let predicted = theory.predict(s + 1, last, test.x.as_ref())?;
            Ok(predicted.loss(test.y.as_ref()).coefficient)
        };
        task.test.as_ref().map(loss).transpose()
    });
    let tested = tasks[last - 1].test.is_some();
    Ok(Theory {
        u1: (1..=last).map(|t| (1..=t).map(|s| theory.u1(t, s)).collect()).collect(),
        forgetting: (1..=last).map(|s| theory.forgetting(last, s)).collect::<Result<_>>()?,
        test: test.collect::<Result<_>>()?,
        generalization: tested.then(|| theory.generalization(last, last)).transpose()?,
        // The learned part of the kernel is known for two tasks.
        kernel: if last == 2 {
            tasks.iter().map(|task| label_kernel(&theory, task)).collect::<Result<_>>()?
        } else {
            Vec::new()
        },
    })
}

/// `yᵀ K_sim y / P²`: the prior kernel plus its learned part, along the labels.
fn label_kernel(theory: &MultiHead, task: &Task) -> Result<f64> {
    let k = theory.hidden_kernel(task.x.as_ref())?;
    let p = task.x.nrows();
    let mut sum = 0.0;
    for j in 0..p {
        for i in 0..p {
            sum += task.y[(i, 0)] * k[(i, j)] * task.y[(j, 0)];
        }
    }
    Ok(sum / (p * p) as f64)
}

fn single_head(sequence: &TaskSequence, settings: &PosteriorSettings, context: &Context) -> Result<Theory> {
    let theory = SingleHead::new(
        sequence,
        &SingleHeadSettings {
            mode: Mode::Gibbs,
            architecture: settings.architecture,
            lambda: settings.lambda,
            sigma2: settings.sigma2,
            beta: settings.beta,
            variance: true,
            ..SingleHeadSettings::default()
        },
        context,
    )?;
    let forecast = theory.forecast()?;
    let last = sequence.tasks.len() - 1;
    let test = forecast.test.as_ref();
    Ok(Theory {
        forgetting: forecast.forgetting[last].clone(),
        test: (0..=last).map(|s| test.map(|test| test.loss[last][s])).collect(),
        generalization: test.map(|test| test.generalization[last][last]),
        ..Theory::default()
    })
}
