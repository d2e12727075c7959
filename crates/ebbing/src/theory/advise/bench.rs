//! Tasks with kernels between all of their inputs at hand, on which remedies are tried.

use crate::error::{Error, Result};
use crate::kernels::{Architecture, Kernel, KernelKind};
use crate::linalg::Mat;
use crate::tasks::TaskSequence;
use crate::theory::Inputs;
use crate::theory::blocks::kernels::{KeptFactors, KernelSource};
use crate::theory::blocks::shared::TaskInput;
use crate::theory::blocks::table::{KernelTable, Pool, from_kernel_task};
use crate::theory::single_head::{Mode, Outcome, SingleHead, SingleHeadSettings};
use std::sync::Arc;

/// One draw of the tasks: kernels that are made once and serve every remedy that does not change them.
pub(super) enum Bench {
    /// All kernels, and the factors of the tasks' own, which every amount of replay extends.
    Table(KernelTable, Arc<KeptFactors>),
    /// Features, whose kernels may be singular.
    Features(Box<TaskSequence>),
}

impl Bench {
    fn of(table: KernelTable) -> Bench {
        let kept = KeptFactors::of(table.tasks.iter().map(|task| task.rows.clone()).collect());
        Bench::Table(table, kept)
    }

    /// Kernels of a wide network.
    pub fn network(sequence: &TaskSequence, theory: &SingleHeadSettings) -> Result<Bench> {
        let tangent = theory.mode != Mode::Rf;
        Ok(Bench::of(KernelTable::of_network(sequence, theory.architecture, theory.held_prior()?, tangent)?))
    }

    /// The same with a tangent kernel in which the penalty on the weights of layer l is `λ/r_l`.
    pub fn per_layer(&self, sequence: &TaskSequence, theory: &SingleHeadSettings, mobility: &[f64]) -> Result<Bench> {
        let Bench::Table(table, _) = self else { return Err(no_network()) };
        let prior = theory.held_prior()?;
        let kernel = Kernel::per_layer(KernelKind::Ntk, theory.architecture, prior, (1, 1), mobility)?;
        let ntk = kernel.gram_symmetric(Pool::of(sequence, true)?.x.as_ref())?;
        Ok(Bench::of(KernelTable { ntk: Some(Arc::new(ntk)), ..table.clone() }))
    }

    /// Kernels of a network whose tasks see independent masks of a share `g` of the hidden units.
    pub fn gated(sequence: &TaskSequence, theory: &SingleHeadSettings, g: f64) -> Result<Bench> {
        let pool = Pool::of(sequence, false)?;
        let prior = theory.held_prior()?;
        let make = |kind: KernelKind| {
            let kernel = |overlap: f64| Kernel::gated(kind, theory.architecture, prior, (1, 1), overlap);
            let both = Kernel::gram_many_symmetric(&[&kernel(g)?, &kernel(1.0)?], pool.x.as_ref())?;
            Ok(within_tasks(both, &pool))
        };
        let nngp = make(KernelKind::Nngp)?;
        let ntk = if theory.mode == Mode::Rf { None } else { Some(make(KernelKind::Ntk)?) };
        Ok(Bench::of(KernelTable { nngp, ntk, tasks: pool.tasks }))
    }

    /// The tasks as the theory takes them, in an order.
    pub fn given(&self, order: &[usize]) -> Vec<TaskInput<'_>> {
        let one = |(place, &t): (usize, &usize)| match self {
            Bench::Table(table, _) => from_kernel_task(place, &table.tasks[t]),
            Bench::Features(sequence) => TaskInput::of_task(place, &sequence.tasks[t]),
        };
        order.iter().enumerate().map(one).collect()
    }

    /// What other parts of the theory make of it.
    pub fn inputs(&self) -> Inputs<'_> {
        match self {
            Bench::Table(table, _) => Inputs::Kernels(table),
            Bench::Features(sequence) => Inputs::Features(sequence),
        }
    }

    /// What becomes of the tasks learned in an order.
    pub fn outcome(&self, theory: SingleHeadSettings, order: &[usize]) -> Result<Outcome> {
        let source = match self {
            Bench::Table(table, kept) => {
                let ntk = table.ntk.as_ref().map(Into::into);
                KernelSource::Table { nngp: (&table.nngp).into(), ntk, kept: Some(kept.clone()) }
            }
            Bench::Features(sequence) => KernelSource::Features { neurons: sequence.dim(), by_examples: false },
        };
        SingleHead::learn(theory, source, &self.given(order))?.outcome()
    }
}

/// `[gated, plain]`: the gated kernel between tasks, the plain one within each (its rows lie together).
fn within_tasks(mut both: Vec<Mat<f64>>, pool: &Pool) -> Arc<Mat<f64>> {
    let (plain, mut mixed) = (both.pop(), both.swap_remove(0));
    let mut first = 0;
    for task in &pool.tasks {
        let size = task.rows.len() + task.test.as_ref().map_or(0, |(rows, _)| rows.len());
        if let Some(plain) = &plain {
            let own = plain.submatrix(first, first, size, size);
            mixed.as_mut().submatrix_mut(first, first, size, size).copy_from(own);
        }
        first += size;
    }
    Arc::new(mixed)
}

/// Why a remedy that changes the network does not apply to features.
pub(super) fn no_network() -> Error {
    Error::outside("a change of the network", "the features are given")
}

/// Another depth.
pub(super) fn with_depth(theory: &SingleHeadSettings, depth: usize) -> SingleHeadSettings {
    SingleHeadSettings { architecture: Architecture { depth, ..theory.architecture }, ..*theory }
}
