//! Kernels of wide networks under the weight dynamics of continual learning.
//!
//! ```math
//! K^{l+1,c}_{ts}(x,x') = F\bigl(m^1_{tt}K^{l,1}_{tt}(x,x),\ m^1_{ss}K^{l,1}_{ss}(x',x'),\ m^c_{ts}K^{l,c}_{ts}(x,x')\bigr),
//! \qquad \tilde K_{ts} = m^1_{ts}K^{L,1}_{ts} - m^0_{ts}K^{L,0}_{ts}
//! ```
//!
//! These are the paper's Eqs. 68–70 and 16: c is 1 for two inputs to the same weights, at times t and s, and 0
//! for weights on branches that separate just before the earlier time; `F(v,v',c) = E[φ(z)φ(z')]` for Gaussian z, z' of
//! variances v, v' and covariance c; the input layer has `K⁰ = x·x'/N0`. `K̃_ts` is the change of the output at time t
//! when an error on task s is corrected.
//!
//! | Item | What it is | Equations |
//! |---|---|---|
//! | [`WeightPrior`] | the covariances `m1(t,s)`, `m0(t,s)` of one weight over time | 13, 47, 48 |
//! | [`KernelKind`] | which kernel: `K¹`, `K⁰`, `K̃`, `ΔK`, `K̇`, and the limits `K_GP` and `K_NTK` | 14–21, 50–56 |
//! | [`Architecture`], [`Activation`] | depth and nonlinearity | 12 |
//! | [`Kernel`] | one of them at two times, evaluated on pairs or as a Gram matrix | 68–100 |
//!
//! A depth-L kernel of a homogeneous activation is `|x||x'|/N0` times a function of the input cosine. So a Gram matrix
//! costs one matrix product and one lookup per entry, whatever the depth: the function is tabulated once per kernel. erf, GELU and
//! networks with biases ([`WeightPrior::with_bias`]) have such a function for inputs of one norm; for inputs of different
//! norms the layers are evaluated pair by pair.
//!
//! σ² times [`KernelKind::Nngp`] and [`KernelKind::Ntk`] are what neural-tangents calls `nngp` and `ntk` of a network of
//! `Dense(W_std = σ, b_std = σ_b)` layers, the readout included.
//!
//! ```
//! use ebbing::kernels::{Activation, Architecture, Kernel, KernelKind, WeightPrior};
//! let prior = WeightPrior::new(10.0, 1.0)?; // λ = 10, σ² = 1
//! let architecture = Architecture { activation: Activation::Relu, depth: 2 };
//! let kernel = Kernel::new(KernelKind::KTilde, architecture, prior, 3, 2)?; // x at time 3, x' at time 2
//! let (x, other) = ([1.0, 0.0], [0.0, 1.0]);
//! assert!(kernel.pair(&x, &x)? > kernel.pair(&x, &other)?);
//! # Ok::<(), ebbing::Error>(())
//! ```

mod gram;
mod kernel;
mod layers;
mod prior;
mod profile;
mod roots;
mod rows;
mod simd;
mod single;
mod smooth;
mod table;

pub use kernel::Kernel;
pub(crate) use prior::LayerPrior;
pub use prior::WeightPrior;
pub(crate) use rows::check_inputs;
pub(crate) use single::{SingleKernel, SingleRows};

use crate::error::{Error, Result};
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
    /// z Φ(z), Φ the normal distribution function.
    Gelu,
}

/// Hidden layers and their nonlinearity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Architecture {
    /// The nonlinearity.
    pub activation: Activation,
    /// The number L ≥ 1 of hidden layers.
    pub depth: usize,
}

impl Architecture {
    /// The most hidden layers; kernels of more layers equal those of 10 000 to the last digit.
    pub const MOST_LAYERS: usize = 10_000;

    /// Refuses networks without hidden layers, and absurdly deep ones.
    ///
    /// # Errors
    /// [`Error::Setting`] for the depth.
    pub fn check(&self) -> Result<()> {
        if (1..=Self::MOST_LAYERS).contains(&self.depth) {
            return Ok(());
        }
        Err(Error::setting("depth", self.depth, format!("must lie in 1 … {} hidden layers", Self::MOST_LAYERS)))
    }
}

/// Which kernel of the last hidden layer. Times and branches are those of the weights ([`WeightPrior`]).
///
/// At λ = ∞: `K1`, `Nngp` and (for s ≥ 2) `K0` are `K_GP`; `KTilde` is `σ² K_GP` for s = 1 and `lim λK̃ = Ntk` for
/// s ≥ 2; `DeltaK` is `lim λΔK`, which exists for s ≥ 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelKind {
    /// `K_GP`: the kernel of a fresh network (paper, Eq. 18); ignores times and λ.
    Nngp,
    /// `Q^{l+1} = K_GP^{l+1} + σ² K̇^{l+1} Q^l`, `Q^0 = x·x'/N0`: the tangent kernel (Eqs. 19, 96, 97); ignores times
    /// and λ.
    Ntk,
    /// `K¹_ts` (Eqs. 14, 68): x at time t, x' at time s, on the same branch of the weights.
    K1,
    /// `K⁰_ts` (Eqs. 15, 69): the same on branches that separate just before the earlier time.
    K0,
    /// `K̃_ts = m1(t,s) K¹_ts − m0(t,s) K⁰_ts` (Eq. 16), the readout's factors included.
    KTilde,
    /// `ΔK_ts = K¹_ts − K⁰_ts` (Eq. 17).
    DeltaK,
    /// `K̇_ts = E[φ'(z)φ'(z')]` (Eq. 86), z and z' the pre-activations of the last hidden layer that belong to `K¹_ts`.
    Derivative,
}
