//! What kernels are made from: inputs of a network, features, or kernels that are given.

use super::kernels::KernelSource;
use super::shared::TaskInput;
use super::table::{self, KernelTable};
use crate::context::Context;
use crate::error::Result;
use crate::kernels::{Architecture, WeightPrior, check_inputs};
use crate::plan::{Cost, Sizes};
use crate::tasks::{TaskSequence, inputs_only};

/// Tasks, and what their kernels are made from. A [`TaskSequence`] by itself holds inputs of a network.
#[derive(Debug, Clone, Copy)]
pub enum Inputs<'a> {
    /// `K = K_GP(X, X')` of a wide network, whose architecture the settings give.
    Network(&'a TaskSequence),
    /// `K = ΦΦᵀ/N`: the inputs of each task are features `Φ ∈ R^{P×N}`, such as a layer's activities or recordings. Where
    /// N < P its pseudo-inverse is used, at the rank that results report. Tasks may say what the network answers at the start
    /// ([`Present`](crate::tasks::Present)), and give each output features of its own ([`Task::x`](crate::Task::x)).
    Features(&'a TaskSequence),
    /// Kernels that are given, and tasks whose points are rows of them.
    Kernels(&'a KernelTable),
}

impl<'a> From<&'a TaskSequence> for Inputs<'a> {
    fn from(sequence: &'a TaskSequence) -> Self {
        Inputs::Network(sequence)
    }
}

impl<'a> From<&'a KernelTable> for Inputs<'a> {
    fn from(table: &'a KernelTable) -> Self {
        Inputs::Kernels(table)
    }
}

impl<'a> Inputs<'a> {
    /// The tasks as the theory takes them, once they have been checked, for a network with biases of this variance.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) for tasks that do not fit together, or not the kernels.
    pub(crate) fn given(self, bias2: f64) -> Result<Vec<TaskInput<'a>>> {
        match self {
            Inputs::Network(sequence) | Inputs::Features(sequence) => {
                sequence.validate()?;
                if let Inputs::Network(_) = self {
                    inputs_only(&sequence.tasks)?;
                    check_inputs(&sequence.tasks, bias2 > 0.0)?;
                }
                Ok(sequence.tasks.iter().enumerate().map(|(t, task)| TaskInput::of_task(t, task)).collect())
            }
            Inputs::Kernels(kernels) => table::given(kernels),
        }
    }

    /// Refuses what would not fit into memory; given kernels are there already.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub(crate) fn fits(self, what: &str, cost: impl Fn(&Sizes) -> Cost, context: &Context) -> Result<()> {
        match self {
            Inputs::Network(sequence) | Inputs::Features(sequence) => {
                context.plan().check(what, &sequence.sizes(), cost)
            }
            Inputs::Kernels(_) => Ok(()),
        }
    }

    /// What makes the kernels, for a network of this architecture and prior.
    pub(crate) fn source(self, architecture: Architecture, prior: WeightPrior) -> KernelSource {
        match self {
            Inputs::Network(_) => KernelSource::network(architecture, prior),
            Inputs::Features(sequence) => KernelSource::Features { neurons: sequence.dim(), by_examples: false },
            Inputs::Kernels(table) => {
                KernelSource::Table { nngp: (&table.nngp).into(), ntk: table.ntk.as_ref().map(Into::into), kept: None }
            }
        }
    }
}
