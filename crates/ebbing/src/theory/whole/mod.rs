//! Single-head forecasts of sets whose kernels do not fit into memory: 60 000 examples per task within 24 GiB.
//!
//! | step | precision | what it takes |
//! |---|---|---|
//! | factor `K_tt ≈ L Lᵀ` in tiles, in place | single | `P³/3` operations, `2P²` bytes |
//! | solves by conjugate gradients that L preconditions | double | a pass over the kernel for each of a few steps |
//! | products with kernels between tasks | double | a pass each |
//!
//! A pass makes the kernel anew, tile by tile, at the speed of a product. The numbers are those of the forecast in memory to
//! the relative residual of the solves, 1e-8, but for γ_feature, and γ_sim with it: their trace would take `2P³` operations
//! more, and is estimated, with its standard error.
//!
//! Finished parts (block columns of factors, solutions, products) are kept on disk until the end
//! ([`Context::scratch`]): a run that is killed goes on from the last of them, to the same bits.

mod chain;
mod conditions;
mod pairs;
mod products;
mod quality;
mod scratch;
mod solver;
#[cfg(test)]
mod tests;
mod work;

use super::blocks::kernels::{KernelSource, Kernels, Points};
use super::blocks::shared::{TaskInput, check, number};
use super::order_parameters::{OrderParameterSettings, PairOrderParameters};
use super::single_head::{Mode, SingleHeadForecast, SingleHeadSettings};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::kernels::check_inputs;
use crate::linalg::{PROBES, TiledCholesky};
use crate::plan::{Sizes, factor_operations, pass_operations, solve_operations, whole_cost, whole_disk};
use crate::tasks::{TaskSequence, fingerprint, inputs_only};
pub(crate) use quality::Quality;
use scratch::{Numbers, Scratch};
use solver::System;
use std::path::PathBuf;
use std::sync::Arc;
use work::Work;

/// Everything found about one sequence.
pub(crate) struct TiledForecast {
    /// What becomes of every task.
    pub forecast: SingleHeadForecast,
    /// The order parameters of all pairs.
    pub pairs: Vec<PairOrderParameters>,
    /// How well it is known.
    pub quality: Quality,
}

/// How the work is cut.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    /// Rows of a tile.
    pub block: usize,
    /// Bytes of factors that may be in memory at a time; one is in any case.
    pub room: f64,
    /// Random probes of γ_feature.
    pub probes: usize,
    /// Where finished parts are kept.
    pub scratch: PathBuf,
}

impl Cut {
    /// For tasks of a sequence, by what memory there is.
    pub fn of(sequence: &TaskSequence, theory: &SingleHeadSettings, context: &Context) -> Cut {
        let (sizes, largest) = (sequence.sizes(), sequence.tasks.iter().map(|task| task.x.nrows()).max());
        let block = TiledCholesky::tile_rows(largest.unwrap_or(0));
        let one = TiledCholesky::bytes(largest.unwrap_or(0) as f64, block as f64);
        // The tasks themselves are there already.
        let rest = whole_cost(&sizes, kernels(theory)).bytes - one;
        let room = context.plan().free().map_or(f64::INFINITY, |free| SHARE * free.bytes - rest);
        Cut { block, room, probes: PROBES, scratch: context.scratch_folder() }
    }
}

/// The share of free memory that is used; the numbers do not depend on it.
const SHARE: f64 = 0.9;

/// How many kernels of each task are factored.
pub(crate) fn kernels(theory: &SingleHeadSettings) -> usize {
    if theory.mode == Mode::Rf { 1 } else { 2 }
}

/// The computation while it runs.
pub(super) struct Whole<'a> {
    kernels: Kernels,
    tasks: Vec<TaskInput<'a>>,
    ridge: f64,
    block: usize,
    room: f64,
    probes: usize,
    scratch: Arc<Scratch>,
    work: Work<'a>,
    /// Factors in memory, the oldest first.
    kept: Vec<(System, Arc<TiledCholesky>)>,
    /// How well each system was solved.
    heard: Vec<(System, Numbers)>,
    /// Systems whose factors are among the work done.
    counted: Vec<System>,
}

/// That a setting needs whole kernels.
pub(crate) fn needs_kernels(name: &str, value: &dyn std::fmt::Display, none: &str) -> Error {
    let expected = format!(
        "must be {none}: the kernels of these tasks do not fit into memory, and this needs them; take fewer examples"
    );
    Error::setting(name, value, expected)
}

/// Refuses what needs whole kernels.
fn refuse(theory: &SingleHeadSettings, pairs: &OrderParameterSettings) -> Result<()> {
    match theory {
        _ if theory.variance => Err(needs_kernels("variance", &true, "false")),
        _ if theory.replay.is_on() => Err(needs_kernels("replay", &theory.replay, "none")),
        _ if pairs.resamples > 0 => Err(needs_kernels("resamples", &pairs.resamples, "0")),
        _ if pairs.shuffles > 0 => Err(needs_kernels("shuffles", &pairs.shuffles, "0")),
        _ => Ok(()),
    }
}

/// Forecasts a sequence, with the order parameters of all pairs; cut by what memory there is, or as given.
///
/// # Errors
/// [`Error::Setting`] for what needs whole kernels, [`Error::Memory`] where even tiles do not fit,
/// [`Error::Data`] for tasks that cannot be learned, [`Error::Io`] where parts cannot be put away,
/// [`Error::NotConverged`] and [`Error::LostAccuracy`] for kernels that are singular, or nearly so.
pub(crate) fn forecast(
    sequence: &TaskSequence,
    theory: &SingleHeadSettings,
    pairs: &OrderParameterSettings,
    cut: Option<Cut>,
    context: &Context,
) -> Result<TiledForecast> {
    refuse(theory, pairs)?;
    context.plan().check("this forecast", &sequence.sizes(), |sizes| whole_cost(sizes, kernels(theory)))?;
    let cut = &cut.unwrap_or_else(|| Cut::of(sequence, theory, context));
    let prior = theory.checked()?;
    sequence.validate()?;
    inputs_only(&sequence.tasks)?;
    check_inputs(&sequence.tasks, theory.bias2 > 0.0)?;
    let given: Vec<TaskInput<'_>> =
        sequence.tasks.iter().enumerate().map(|(t, task)| TaskInput::of_task(t, task)).collect();
    let numbers = number(&given);
    check(&given)?;
    if theory.beta.is_infinite() {
        refuse_repeated(&given, &numbers)?;
    }
    let (sizes, per_task) = (sequence.sizes(), kernels(theory));
    let scratch = Scratch::open(&cut.scratch, &run(sequence, theory, cut)?, whole_disk(&sizes, per_task))?;
    let mut whole = Whole {
        kernels: Kernels::new(KernelSource::network(theory.architecture, prior), theory.limit()?)?,
        tasks: given,
        ridge: theory.ridge(),
        block: cut.block,
        room: cut.room,
        probes: cut.probes,
        scratch: Arc::new(scratch),
        work: Work::new(whole_cost(&sizes, per_task).flops, context),
        kept: vec![],
        heard: vec![],
        counted: vec![],
    };
    whole.leave_out_what_is_shared(&sizes, per_task);
    let found = whole.found();
    // Parts serve the same request alone; one that is refused would be refused again.
    if !matches!(found, Err(Error::Stopped | Error::Io { .. })) {
        whole.scratch.remove();
    }
    found
}

impl Whole<'_> {
    /// Where a task's own kernel is that of its order parameters (the first one's, as λ → ∞), one factor and one solve less than
    /// planned are made.
    fn leave_out_what_is_shared(&mut self, sizes: &Sizes, per_task: usize) {
        let (dim, columns) = (sizes.dim as f64, sizes.columns as f64);
        for (t, &p) in sizes.train.iter().enumerate().filter(|_| per_task > 1) {
            let (own, scale) = self.system(self.kernels.tilde(t + 1, t + 1), t);
            if own == self.gaussian(t) || scale == 0.0 {
                let planned = factor_operations(p as f64, dim) + solve_operations(p as f64, dim, columns);
                self.work.correct(planned, 0.0);
            }
        }
    }
}

/// All that the numbers depend on, in one word.
fn run(sequence: &TaskSequence, theory: &SingleHeadSettings, cut: &Cut) -> Result<String> {
    use sha2::{Digest, Sha256};
    let settings = serde_json::to_string(theory).map_err(|e| Error::data("settings", e.to_string()))?;
    /// What parts hold: counted up whenever that changes.
    const PARTS: usize = 2;
    let version = env!("CARGO_PKG_VERSION");
    let all = format!("{version} {PARTS} {settings} {} {} {}", cut.block, cut.probes, fingerprint(&sequence.tasks));
    Ok(crate::data::hex(&Sha256::digest(all)))
}

/// Refuses a task that holds an input twice: its kernel is singular.
fn refuse_repeated(given: &[TaskInput<'_>], numbers: &[Vec<usize>]) -> Result<()> {
    for (task, numbers) in given.iter().zip(numbers) {
        let mut first = std::collections::HashMap::new();
        for (row, number) in numbers.iter().enumerate() {
            if let Some(earlier) = first.insert(number, row) {
                let problem = format!(
                    "rows {} and {} are the same input; remove one, or set a temperature (finite beta)",
                    earlier + 1,
                    row + 1
                );
                return Err(Error::data(&task.name, problem));
            }
        }
    }
    Ok(())
}

impl<'a> Whole<'a> {
    fn points(&self, task: usize) -> Points<'a> {
        self.tasks[task].points
    }

    fn columns(&self) -> usize {
        self.tasks[0].y.ncols()
    }

    fn dim(&self) -> f64 {
        match self.tasks[0].points {
            Points::Inputs(x) => x.ncols() as f64,
            Points::Rows(_) => 0.0,
        }
    }

    /// A pass was read and not made.
    fn skipped(&mut self, (rows, columns): (Points<'_>, Points<'_>), wide: usize) -> Result<()> {
        self.work.did(pass_operations(rows.len() as f64, columns.len() as f64, self.dim(), wide as f64))
    }

    fn found(&mut self) -> Result<TiledForecast> {
        let count = self.tasks.len();
        // In the mode lazy a single task needs no other kernel.
        let needed = count > 1 || self.kernels.tilde(1, 1).unscaled().0 == self.gaussian(0).which;
        let firsts = if needed { (0..count).map(|t| self.first(t)).collect::<Result<Vec<_>>>()? } else { vec![] };
        let pairs = if count > 1 { Some(self.pairs(&firsts)?) } else { None };
        let scores = self.chain(&firsts, pairs.as_ref())?;
        let right = self.digits()?;
        let parameters = pairs.as_ref().map(|pairs| self.order_parameters(&firsts, pairs, right)).unwrap_or_default();
        let quality = self.quality(&parameters);
        Ok(TiledForecast { forecast: SingleHeadForecast::of(scores, right, false), pairs: parameters, quality })
    }
}
