//! `sample`: networks drawn from the posterior, beside the theory; as rows, one per pair of tasks.

use super::tasks::{ProtocolKind, TaskKeys};
use super::words::{checked_sigma, choice, number, readout_sigma2};
use crate::cell::Row;
use crate::error::Result;
use ebbing::Context;
use ebbing::answer::{Comparison, SampleResult};
use ebbing::data::Sources;
use ebbing::kernels::{Activation, Architecture};
use ebbing::nets::{Heads, PosteriorSettings, SampledPosterior};
use ebbing::plan::{Cost, Sizes, sample_cost};
use ebbing::stats::Estimate;
use ebbing::theory::multi_head::MultiHeadSettings;
use ebbing::theory::single_head::{Mode, SingleHeadSettings};
use ebbing::{MultiHead, SingleHead, Task, TaskSequence, sample_posterior};
use serde::{Deserialize, Serialize};

/// The words of readouts.
pub(super) const HEADS: &[(&str, &str)] = &[("single", "One readout for all tasks"), ("multi", "One for each")];

/// Turned into the seed of the chains that learn the last task alone.
const ALONE: u64 = 1 << 63;

/// The settings of sampling.
#[derive(Debug, Clone, PartialEq, clap::Args, Serialize, Deserialize)]
#[command(
    mut_arg("length", |arg| arg.help("Number of tasks [default: 2]")),
    mut_arg("examples", |arg| arg.help("Training examples per task [default: 40]")),
    mut_arg("test_examples", |arg| arg.help("Test examples per task; 0 for none [default: 40]")),
    mut_arg("ratio", |arg| {
        arg.help("Permuted: share of pixels shuffled; partial split: the split [default: 0.3]")
    })
)]
#[serde(default)]
pub struct SampleJob {
    /// Which tasks are learned.
    #[command(flatten)]
    #[serde(flatten)]
    pub tasks: TaskKeys,
    /// One readout for all tasks, or one for each
    #[arg(long, value_parser = choice::<Heads>(HEADS), default_value = "multi")]
    pub heads: Heads,
    /// Hidden layers
    #[arg(long, default_value_t = 1)]
    pub depth: usize,
    /// Width N of every hidden layer
    #[arg(long, default_value_t = 80)]
    pub width: usize,
    /// Penalty on the change of weights
    #[arg(long, value_parser = number, value_name = "LAMBDA", default_value_t = 5.0)]
    #[serde(with = "ebbing::serde_infinity")]
    pub lambda: f64,
    /// Prior standard deviation of a weight
    #[arg(long, value_parser = number, default_value_t = 1.0)]
    pub sigma: f64,
    /// Prior standard deviation of readouts, with a readout each [default: that of all weights]
    #[arg(long, value_parser = number, value_name = "SIGMA")]
    pub sigma_readout: Option<f64>,
    /// Inverse temperature
    #[arg(long, value_parser = number, default_value_t = 2000.0)]
    #[serde(with = "ebbing::serde_infinity")]
    pub beta: f64,
    /// Independent chains
    #[arg(long, default_value_t = 16)]
    pub chains: usize,
    /// Moves that adapt the step size, per task and chain
    #[arg(long, default_value_t = 300)]
    pub warmup: usize,
    /// Moves kept, per task and chain
    #[arg(long, default_value_t = 100)]
    pub draws: usize,
}

impl SampleJob {
    /// Which tasks: two small ones, unless others are asked for.
    pub(super) fn task_keys(&self) -> TaskKeys {
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
    /// [`ebbing::Error::Setting`] for a setting out of its range.
    pub fn settings(&self) -> ebbing::Result<PosteriorSettings> {
        if let Some(sigma) = self.sigma_readout.filter(|_| self.heads == Heads::Single) {
            let expected = "belongs to --heads multi: a single readout learns as the other weights do";
            return Err(ebbing::Error::setting("--sigma-readout", sigma, expected));
        }
        let settings = PosteriorSettings {
            heads: self.heads,
            architecture: Architecture { activation: Activation::Relu, depth: self.depth },
            width: self.width,
            lambda: self.lambda,
            sigma2: checked_sigma(self.sigma)?.powi(2),
            readout_sigma2: readout_sigma2(self.sigma_readout)?,
            beta: self.beta,
            chains: self.chains,
            warmup: self.warmup,
            draws: self.draws,
            seed: self.task_keys().recipe()?.seed,
            ..PosteriorSettings::default()
        };
        settings.checked().map(|_| settings)
    }

    pub(super) fn check(&self) -> ebbing::Result<()> {
        self.settings().map(|_| ())
    }

    /// Samples and compares; `sample` runs the chains (with its own progress) under the name of what they learn.
    ///
    /// # Errors
    /// What the library says.
    pub fn run(
        &self,
        sources: &Sources,
        context: &Context,
        sample: &dyn Fn(&str, &[Task], &PosteriorSettings) -> ebbing::Result<SampledPosterior>,
    ) -> ebbing::Result<SampleResult> {
        let settings = self.settings()?;
        let sequence = self.task_keys().sequence(sources)?;
        let sampled = sample("sampling chains", &sequence.tasks, &settings)?;
        let alone = match &sequence.tasks[..] {
            [_, .., last] if last.test.is_some() => {
                let settings = PosteriorSettings { seed: settings.seed ^ ALONE, ..settings.clone() };
                Some(sample("sampling the last task alone", std::slice::from_ref(last), &settings)?)
            }
            _ => None,
        };
        let theory = match settings.heads {
            Heads::Multi if settings.architecture.depth == 1 => multi_head(&sequence.tasks, &settings, context)?,
            // The multi-head theory has one hidden layer: deeper networks are sampled without it.
            Heads::Multi => Theory::default(),
            Heads::Single => single_head(&sequence, &settings, context)?,
        };
        let comparison = compare(&sampled, alone.as_ref(), &theory);
        Ok(SampleResult { sequence, settings, sampled, alone, comparison })
    }

    pub(super) fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
        let tasks = self.task_keys().sequence(sources)?.tasks;
        Ok(rows(&sample_posterior(&tasks, &self.settings()?, context)?))
    }

    pub(super) fn cost_of(&self, sizes: &Sizes) -> Cost {
        // Trajectories have a random length, half the longest on average.
        let moves = self.warmup as f64 + self.draws as f64;
        let leaps = 0.5 * moves * PosteriorSettings::default().leapfrog as f64;
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

fn multi_head(tasks: &[Task], settings: &PosteriorSettings, context: &Context) -> ebbing::Result<Theory> {
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
        let loss = |test: &ebbing::tasks::TestSet| {
            let predicted = theory.predict(s + 1, last, test.x.as_ref())?;
            Ok(predicted.loss(test.y.as_ref()).coefficient)
        };
        task.test.as_ref().map(loss).transpose()
    });
    let tested = tasks[last - 1].test.is_some();
    Ok(Theory {
        u1: (1..=last).map(|t| (1..=t).map(|s| theory.u1(t, s)).collect()).collect(),
        forgetting: (1..=last).map(|s| theory.forgetting(last, s)).collect::<ebbing::Result<_>>()?,
        test: test.collect::<ebbing::Result<_>>()?,
        generalization: tested.then(|| theory.generalization(last, last)).transpose()?,
        // The learned part of the kernel is known for two tasks.
        kernel: if last == 2 {
            tasks.iter().map(|task| label_kernel(&theory, task)).collect::<ebbing::Result<_>>()?
        } else {
            Vec::new()
        },
    })
}

/// `yᵀ K_sim y / P²`: the prior kernel plus its learned part, along the labels.
fn label_kernel(theory: &MultiHead, task: &Task) -> ebbing::Result<f64> {
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

fn single_head(sequence: &TaskSequence, settings: &PosteriorSettings, context: &Context) -> ebbing::Result<Theory> {
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

/// What the columns mean.
pub(super) const COLUMNS: &[(&str, &str)] = &[
    ("t", "a task, from 1"),
    ("s", "a task up to t, from 1"),
    ("u1", "overlap of the readouts of tasks t and s over the width"),
    ("u1_se", "its standard error over chains"),
    ("train_loss", "training loss of task s after the last task (rows with t the last)"),
    ("train_loss_se", "its standard error over chains"),
    ("test_loss", "test loss of task s after the last task (rows with t the last)"),
    ("test_loss_se", "its standard error over chains"),
    ("label_kernel", "kernel of task s along its labels after the last task (rows with t the last)"),
    ("label_kernel_se", "its standard error over chains"),
    ("r_hat", "convergence of the chains in task t; 1 is converged"),
    ("acceptance", "acceptance rate in task t"),
];

fn rows(sampled: &SampledPosterior) -> Vec<Row> {
    let last = sampled.u1.len();
    let estimate = |row: Row, name: &str, e: Estimate| row.with(name, e.value).with(&format!("{name}_se"), e.error());
    let mut all = Vec::new();
    for (t, overlaps) in sampled.u1.iter().enumerate() {
        for (s, &u1) in overlaps.iter().enumerate() {
            let mut row = estimate(Row::new().with("t", t + 1).with("s", s + 1), "u1", u1);
            if t + 1 == last {
                row = estimate(row, "train_loss", sampled.forgetting[s]);
                row = sampled.test_loss[s].map_or(row.clone(), |loss| estimate(row, "test_loss", loss));
                row = estimate(row, "label_kernel", sampled.label_kernel[s]);
            }
            all.push(row.with("r_hat", sampled.convergence[t].r_hat).with("acceptance", sampled.acceptance[t]));
        }
    }
    all
}
