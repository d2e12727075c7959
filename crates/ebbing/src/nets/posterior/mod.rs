//! The Gibbs posterior itself, `p(Θ_t | Θ_{t−1}, D_t) ∝ exp(−βE)` with the energy of the paper's Eq. 2, sampled task
//! after task at finite width and temperature.
//!
//! Each chain draws the weights after task 1, then the weights after task 2 given those, and so on: the posterior of
//! task t is normalized given the weights before (Eqs. 37, 38), so earlier weights are never re-weighted by later
//! tasks.

mod chain;
mod diagnostics;
mod energy;
mod hmc;
mod span;
#[cfg(test)]
mod tests;

pub use diagnostics::{Convergence, convergence};
pub(crate) use energy::{slope, value};

use crate::context::Context;
use crate::error::{Error, Result, at_least, positive, refuse};
use crate::kernels::{Activation, Architecture, WeightPrior};
use crate::linalg::on_one_thread;
use crate::plan::sample_cost;
use crate::stats::Estimate;
use crate::tasks::{Task, own_readouts, sizes_of};
use chain::{Chain, FOLLOWED};
use diagnostics::each_with_itself;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use span::in_their_span;

/// One readout for all tasks, or one for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Heads {
    /// One readout, penalized like the hidden weights.
    Single,
    /// A readout of its own for every task, kept afterwards.
    #[default]
    Multi,
}

impl Heads {
    /// The tasks with the targets that these readouts learn: see [`own_readouts`].
    pub(crate) fn targets(self, tasks: &[Task]) -> std::borrow::Cow<'_, [Task]> {
        if self == Heads::Multi { own_readouts(tasks) } else { tasks.into() }
    }
}

/// What to sample and how long.
///
/// | name | default | range |
/// |---|---|---|
/// | `width` | 40 | ≥ 1 |
/// | `lambda` | 5 | 0 ≤ λ < ∞ |
/// | `sigma2` | 1 | > 0 |
/// | `readout_sigma2` | `sigma2` | > 0; multi-head only |
/// | `beta` | 2000 | 0 < β < ∞ |
/// | `chains` | 16 | ≥ 2 |
/// | `warmup`, `draws` | 300, 200 | ≥ 10 |
/// | `leapfrog` | 20 | ≥ 1 |
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PosteriorSettings {
    /// Single- or multi-head.
    pub heads: Heads,
    /// Hidden layers and nonlinearity.
    pub architecture: Architecture,
    /// The width N of every hidden layer.
    pub width: usize,
    /// The penalty λ on the change of the weights.
    pub lambda: f64,
    /// The prior variance σ² of a weight.
    pub sigma2: f64,
    /// The prior variance `σ_a²` of readouts, where it is not that of the other weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readout_sigma2: Option<f64>,
    /// The inverse temperature β.
    pub beta: f64,
    /// Independent chains.
    pub chains: usize,
    /// Moves that adapt the step size, per task and chain.
    pub warmup: usize,
    /// Moves kept, per task and chain; results are averaged over up to 8 of them.
    pub draws: usize,
    /// Largest number of leapfrog steps of a move.
    pub leapfrog: usize,
    /// The seed.
    pub seed: u64,
}

impl Default for PosteriorSettings {
    fn default() -> Self {
        PosteriorSettings {
            heads: Heads::Multi,
            architecture: Architecture { activation: Activation::Relu, depth: 1 },
            width: 40,
            lambda: 5.0,
            sigma2: 1.0,
            readout_sigma2: None,
            beta: 2000.0,
            chains: 16,
            warmup: 300,
            draws: 200,
            leapfrog: 20,
            seed: 0,
        }
    }
}

/// What the sampled networks do after the last task; estimates are over independent chains.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SampledPosterior {
    /// `<a_t·a_s>/N`, `[t][s]`, s ≤ t (single-head: `a_t` is the readout after task t).
    pub u1: Vec<Vec<Estimate>>,
    /// Training loss on task s after the last task with head s, `Σ(f−y)²/|Y|²`, sampling variance included.
    pub forgetting: Vec<Estimate>,
    /// Test loss on task s after the last task with head s; absent where the task has no test set.
    pub test_loss: Vec<Option<Estimate>>,
    /// `yᵀΦΦᵀy/(N P²)` of every task's inputs and labels after the last task: the kernel along the labels.
    pub label_kernel: Vec<Estimate>,
    /// Training loss of each task just after it was learned.
    pub learned: Vec<Estimate>,
    /// Convergence in every task's phase, the worst of three quantities: the energy, the weights' distance from their prior mean
    /// and the kernel along the labels. Over chains for the first task; for later ones, whose target differs from chain to
    /// chain, from the comparisons of every chain's halves, their variances added up, and the summed effective size.
    pub convergence: Vec<Convergence>,
    /// Mean acceptance rate in every task's phase.
    pub acceptance: Vec<f64>,
    /// Moves with an energy error above 1000 or without an energy, over all phases and chains; warnings say why the first was.
    pub divergent: usize,
    /// What is doubtful about the run, in words; empty where nothing is.
    pub warnings: Vec<String>,
}

/// Readouts of several outputs per head, sampled; indices as in [`SampledPosterior`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SampledOutputs {
    /// `<A_tᵀA_s>/N`, `[t][s]`, s ≤ t, with a row per output of t and a column per output of s.
    pub overlaps: Vec<Vec<Vec<Vec<Estimate>>>>,
    /// Losses, convergence and warnings; its `u1` is empty.
    pub posterior: SampledPosterior,
}

/// Samples networks whose heads have any numbers of outputs, one target column per output: targets are taken as they are, and every
/// task has a readout for each of its columns. Otherwise [`sample_posterior`].
///
/// # Errors
/// [`Error::Setting`] for settings out of range or a single head, [`Error::Data`] for tasks that do not fit together.
pub fn sample_outputs(tasks: &[Task], settings: &PosteriorSettings, context: &Context) -> Result<SampledOutputs> {
    let prior = settings.checked()?;
    let expected = "must be multi: heads of several outputs belong to a task each";
    refuse(settings.heads == Heads::Single, "heads", "single", expected)?;
    fitting(tasks)?;
    let chains = chains_of(tasks, settings, prior, context)?;
    let over = |t: usize, s: usize, a: usize, b: usize| {
        Estimate::over(&chains.iter().map(|c| c.overlaps[t][s][(a, b)]).collect::<Vec<_>>())
    };
    let outputs = |t: usize| 0..tasks[t].y.ncols();
    let matrix = |t, s| outputs(t).map(|a| outputs(s).map(|b| over(t, s, a, b)).collect()).collect();
    Ok(SampledOutputs {
        overlaps: (0..tasks.len()).map(|t| (0..=t).map(|s| matrix(t, s)).collect()).collect(),
        posterior: SampledPosterior { u1: vec![], ..summarize(&chains, tasks.len()) },
    })
}

/// Samples networks from the posterior after all `tasks` (one target column each).
///
/// The listener of the context hears of every chain that is done.
///
/// # Errors
/// [`Error::Setting`] for settings out of range, [`Error::Data`] for tasks that do not fit together.
pub fn sample_posterior(tasks: &[Task], settings: &PosteriorSettings, context: &Context) -> Result<SampledPosterior> {
    let tasks = &settings.heads.targets(tasks)[..];
    let prior = check(tasks, settings)?;
    Ok(summarize(&chains_of(tasks, settings, prior, context)?, tasks.len()))
}

/// All chains.
fn chains_of(
    tasks: &[Task],
    settings: &PosteriorSettings,
    prior: WeightPrior,
    context: &Context,
) -> Result<Vec<Chain>> {
    let (width, depth, chains) = (settings.width, settings.architecture.depth, settings.chains);
    context.plan().check("sampling", &sizes_of(tasks), |s| sample_cost(s, width, depth, chains, 1.0))?;
    let tasks = &in_their_span(tasks)?[..];
    let done = std::sync::atomic::AtomicUsize::new(0);
    let run = |index: usize| {
        let chain = on_one_thread(|| chain::run(tasks, settings, prior, index as u64))?;
        let done = 1 + done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        context.say(&format!("{done} of {chains} chains"), done as f64 / chains as f64)?;
        Ok(chain)
    };
    context.run(|| (0..chains).into_par_iter().map(run).collect())
}

impl PosteriorSettings {
    /// The prior that the settings ask for.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting out of its range.
    pub fn checked(&self) -> Result<WeightPrior> {
        let prior = WeightPrior::new(self.lambda, self.sigma2)?;
        self.architecture.check()?;
        let expected = "must be finite to sample; take a large value instead";
        refuse(self.lambda.is_infinite(), "lambda", "inf", expected)?;
        let bad = !(self.beta.is_finite() && self.beta > 0.0);
        refuse(bad, "beta", self.beta, "must be positive and finite to sample")?;
        if let Some(sigma2) = self.readout_sigma2 {
            positive("readout_sigma2", sigma2)?;
            let expected = "belongs to heads = multi: a single readout learns as the other weights do";
            refuse(self.heads == Heads::Single, "readout_sigma2", sigma2, expected)?;
        }
        // More than the upper ends would take years.
        for (name, value, least, most) in [
            ("width", self.width, 1, usize::MAX),
            ("chains", self.chains, 2, 10_000),
            ("warmup", self.warmup, 10, 10_000_000),
            ("draws", self.draws, 10, 10_000_000),
            ("leapfrog", self.leapfrog, 1, 100_000),
        ] {
            at_least(name, value, least)?;
            refuse(value > most, name, value, format!("must be at most {most}"))?;
        }
        Ok(prior)
    }
}

fn check(tasks: &[Task], settings: &PosteriorSettings) -> Result<WeightPrior> {
    let prior = settings.checked()?;
    for task in tasks {
        let columns = task.y.ncols();
        if columns != 1 {
            let problem =
                format!("has {columns} target columns; the sampler takes one (sample_outputs takes any number)");
            return Err(Error::data(&task.name, problem));
        }
    }
    fitting(tasks)?;
    Ok(prior)
}

/// Refuses tasks that do not fit together.
fn fitting(tasks: &[Task]) -> Result<()> {
    crate::tasks::inputs_only(tasks)?;
    let Some(first) = tasks.first() else {
        return Err(Error::data("the task sequence", "is empty; give at least one task"));
    };
    for task in tasks {
        let (dim, own) = (first.x.ncols(), task.x.ncols());
        if own != dim {
            return Err(Error::data(&task.name, format!("has input dimension {own} but the first task {dim}")));
        }
    }
    Ok(())
}

/// What converges worst in a task's phase (from 0): the largest R-hat, the quantity that has it, and the least effective size.
fn slowest(chains: &[Chain], t: usize) -> (&'static str, Convergence) {
    let mut worst = (FOLLOWED[0], Convergence { r_hat: 0.0, effective: f64::INFINITY });
    for (k, name) in FOLLOWED.into_iter().enumerate() {
        let draws: Vec<Vec<f64>> = chains.iter().map(|c| c.followed[t][k].clone()).collect();
        let found = if t == 0 { convergence(&draws) } else { each_with_itself(&draws) };
        if found.r_hat.is_nan() || found.r_hat > worst.1.r_hat {
            (worst.0, worst.1.r_hat) = (name, found.r_hat);
        }
        worst.1.effective = worst.1.effective.min(found.effective);
    }
    worst
}

fn summarize(chains: &[Chain], tasks: usize) -> SampledPosterior {
    let over = |get: &dyn Fn(&Chain) -> f64| Estimate::over(&chains.iter().map(get).collect::<Vec<_>>());
    let of_tasks = |get: fn(&Chain) -> &[f64]| (0..tasks).map(|s| over(&|c| get(c)[s])).collect::<Vec<_>>();
    let mut warnings = Vec::new();
    let convergence: Vec<Convergence> = (0..tasks)
        .map(|t| {
            let (followed, worst) = slowest(chains, t);
            let Convergence { r_hat, effective } = worst;
            let (task, n) = (t + 1, chains.len());
            if r_hat.is_nan() || r_hat > 1.1 {
                warnings.push(format!("task {task}: R-hat of the {followed} is {r_hat:.3}; run longer chains"));
            }
            if effective < 5.0 * n as f64 {
                let found = format!("only {effective:.0} effective draws in {n} chains");
                warnings.push(format!("task {task}: {found}; run longer chains"));
            }
            worst
        })
        .collect();
    let divergent = chains.iter().map(|c| c.divergent).sum();
    if let (true, Some(cause)) = (divergent > 0, chains.iter().find_map(|c| c.cause.as_ref())) {
        warnings.push(format!("{divergent} divergent moves (the first: {cause}); lengthen the warm-up"));
    }
    SampledPosterior {
        u1: (0..tasks).map(|t| (0..=t).map(|s| over(&|c: &Chain| c.overlaps[t][s][(0, 0)])).collect()).collect(),
        forgetting: of_tasks(|c| &c.forgetting),
        test_loss: (0..tasks)
            .map(|s| chains[0].test_loss[s].map(|_| over(&|c: &Chain| c.test_loss[s].unwrap_or(f64::NAN))))
            .collect(),
        label_kernel: of_tasks(|c| &c.label_kernel),
        learned: of_tasks(|c| &c.learned),
        convergence,
        acceptance: of_tasks(|c| &c.acceptance).iter().map(|acceptance| acceptance.value).collect(),
        divergent,
        warnings,
    }
}
