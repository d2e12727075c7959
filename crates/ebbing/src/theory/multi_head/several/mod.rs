//! Several outputs per head: every factor becomes a matrix, and products with kernels become Kronecker products.
//!
//! ```math
//! \tilde K_{ts} = K^1_{ts}\otimes U^1_{ts} - K^0_{ts}\otimes U^0_{ts}, \qquad
//! \mathcal H_T = \sigma^{-2}\operatorname{Tr}U^1_{TT} - D[1]
//!  + \tfrac1N\bigl\{D[K] + (Y_T-\bar g)^\top\tilde K_{TT}^{-1}(Y_T-\bar g)\bigr\}
//! ```
//!
//! Head t has m_t outputs with readouts `A_t` (N × m_t), `U1_ts = <A_tᵀA_s>/N`; D[K] is that of one output with these matrices, and D[1] the
//! same with every kernel replaced by 1. Earlier tasks stay as they are, as for one output.

mod accuracy;
mod alike;
mod alone;
#[cfg(test)]
mod checks;
mod dense;
mod equations;
mod frame;
mod heads;
mod kernels;
mod limit;
mod maps;
mod newton;
mod one_task;
mod pair;
mod prediction;
mod problem;
mod span;
mod start;
mod steps;
mod terms;
#[cfg(test)]
mod tests;

pub use accuracy::{ClassProbabilities, OutputAccuracy};
pub use alike::{AlikeClasses, Classes};
pub use alone::AloneOutputs;
pub use heads::SeveralOutputs;
pub use kernels::{KernelsOfTwo, TwoKernelTasks};
pub use limit::{DirectionLoads, LimitDirections};
pub use maps::OutputMaps;
pub use pair::{TwoTaskOutputs, TwoTaskOutputsPoint};
pub use prediction::OutputPrediction;
