//! Multi-head networks of one hidden layer at finite load α = P/N: every task keeps its own readout.

mod chain;
mod maps;
mod one_task;
mod saddle;
mod settings;
mod small;
mod solve;
mod terms;

pub use maps::Prediction;
pub use settings::MultiHeadSettings;
pub use solve::{EquationResidual, MultiHead};
