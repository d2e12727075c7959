//! Multi-head networks of one hidden layer at finite load α = P/N: every task keeps its own readout.
//!
//! ```math
//! \mathcal H_T = \sigma^{-2}u^1_{TT} - D[1]
//!  + \tfrac1N\bigl\{D[K] + (Y_T-\bar g)^\top\tilde K_{TT}^{-1}(Y_T-\bar g)\bigr\}, \qquad
//! D[K] = \ln\det\tilde K_{TT} + \operatorname{Tr}\tilde K_{TT}^{-1}\Sigma
//! ```
//!
//! At finite width the renormalization factors `u1(t,s) = <a_t·a_s>/N` (paper, Eqs. 154–157) and `u0(t,s)`, the same
//! overlap between networks that part before the earlier task, take the place of `m1` and `m0` in front of the
//! kernels: `K̃_ts = u1(t,s) K¹_ts − u0(t,s) K⁰_ts` (Eqs. 101, 131). Task by task they are the stationary point of
//! `H_T` over the factors of the newest task; those of earlier tasks stay as they are. ḡ and Σ are the mean and
//! covariance, given the earlier tasks, of what the prior predicts for `X_T`:
//!
//! ```math
//! \bar g = A\,Y_{<T}, \qquad \Sigma = u^0_{TT}K^0_{TT} - Ac^\top - cA^\top + ACA^\top, \qquad A = \tilde K_{T,<T}\mathcal L_{<T}^{-1}
//! ```
//!
//! with `c_s = u1(T,s) K¹_Ts` and `C_ts = u1(t,s) K¹_ts`. `D[1]` is `D[K]` with every kernel replaced by the 1×1
//! matrix 1. This form holds for any T. It gives the paper's `H_eff` for T = 2 (Eq. 139) and, with the signs and
//! factors of Eqs. 144 and 145 corrected, for T = 3.
//!
//! | Item | What it is | Equations |
//! |---|---|---|
//! | [`MultiHead`] | any number of tasks at any λ, ∞ included, and any β | 129–134, 139–145 |
//! | [`TwoTasks`] | two tasks, λ finite or ∞, one decomposition for all loads | 101–105, 139–143, 158–163 |
//! | [`TwoTaskPoint`], [`LimitPoint`], [`Regime`] | the factors at one load, and the three regimes at λ = ∞ | 158–163 |
//! | [`CriticalLoad`] | α_c, exactly and by two closed forms | 106–108, 166–170 |
//! | [`LambdaEvidence`] | how a large λ that stands for ∞ was found, for more than two tasks or finite β | |
//! | [`Prediction`], [`HeadMaps`] | mean and variance of a head on inputs; losses at many loads | 102–105, 133, 134 |
//! | [`TwoTasks::learned_kernel`], [`TwoTasks::representation_change`] | what learning does to the hidden layer | 174–179 |
//! | [`SeveralOutputs`], [`TwoTaskOutputs`], [`TwoKernelTasks`] | heads with several outputs; two tasks given by their kernels | ours |
//! | [`OutputPrediction`], [`OutputAccuracy`], [`AlikeClasses`] | their means and covariances, accuracies, classes that are alike | ours |
//! | [`MultiHeadSettings`] | λ, σ², β, load or width | |

mod chain;
mod combined;
mod critical;
mod heads;
mod large_lambda;
mod limit;
mod maps;
mod one_task;
mod outcome;
mod representation;
mod saddle;
mod settings;
mod several;
mod small;
mod solve;
mod terms;
#[cfg(test)]
mod tests;
mod two_task_maps;
mod two_tasks;

pub use critical::CriticalLoad;
pub use heads::MultiHead;
pub use large_lambda::LambdaEvidence;
pub use limit::{LimitPoint, Regime};
pub use maps::Prediction;
pub use representation::centered_alignment;
pub use settings::MultiHeadSettings;
pub use several::{
    AlikeClasses, AloneOutputs, ClassProbabilities, Classes, DirectionLoads, KernelsOfTwo, LimitDirections,
    OutputAccuracy, OutputMaps, OutputPrediction, SeveralOutputs, TwoKernelTasks, TwoTaskOutputs, TwoTaskOutputsPoint,
};
pub use solve::EquationResidual;
pub use two_task_maps::HeadMaps;
pub(in crate::theory) use two_tasks::AloneMap;
pub use two_tasks::{Power, TwoTaskPoint, TwoTasks};

pub(super) use one_task::label_scales;
pub(super) use outcome::outcome_of_readouts;
