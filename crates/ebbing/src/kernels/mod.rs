//! Kernels of wide networks under the weight dynamics of continual learning.

mod prior;

pub use prior::WeightPrior;

use serde::{Deserialize, Serialize};

/// The nonlinearity of the hidden layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// max(0, z).
    #[default]
    Relu,
    /// z.
    Linear,
    /// erf(z).
    Erf,
}

/// Hidden layers and their nonlinearity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Architecture {
    /// The nonlinearity.
    pub activation: Activation,
    /// The number L ≥ 1 of hidden layers.
    pub depth: usize,
}
