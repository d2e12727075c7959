//! Kernels of wide networks under the weight dynamics of continual learning.

mod gram;
mod kernel;
mod layers;
mod prior;
mod profile;
mod rows;
mod simd;
mod table;

pub use kernel::Kernel;
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

/// Which kernel of the last hidden layer. Times and branches are those of the weights ([`WeightPrior`]).
///
/// At λ = ∞: `K1`, `Nngp` and (for s ≥ 2) `K0` are `K_GP`; `KTilde` is `σ² K_GP` for s = 1 and `lim λK̃ = Ntk` for
/// s ≥ 2; `DeltaK` is `lim λΔK`, which exists for s ≥ 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelKind {
    /// `K_GP`: the kernel of a fresh network; ignores times and λ.
    Nngp,
    /// `Q^{l+1} = K_GP^{l+1} + σ² K̇^{l+1} Q^l`, `Q^0 = x·x'/N0`: the tangent kernel; ignores times and λ.
    Ntk,
    /// `K¹_ts`: x at time t, x' at time s, on the same branch of the weights.
    K1,
    /// `K⁰_ts`: the same on branches that part just before the earlier time.
    K0,
    /// `K̃_ts = m1(t,s) K¹_ts − m0(t,s) K⁰_ts`, the readout's factors included.
    KTilde,
    /// `ΔK_ts = K¹_ts − K⁰_ts`.
    DeltaK,
    /// `K̇_ts = E[φ'(z)φ'(z')]` with the pre-activations z, z' of the last hidden layer that belong to `K¹_ts`.
    Derivative,
}
