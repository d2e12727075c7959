//! Multi-head networks of one hidden layer at finite load α = P/N: every task keeps its own readout.

mod chain;
mod combined;
mod critical;
mod heads;
mod large_lambda;
mod limit;
mod maps;
mod one_task;
mod representation;
mod saddle;
mod settings;
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
pub use representation::centred_alignment;
pub use settings::MultiHeadSettings;
pub use solve::EquationResidual;
pub use two_task_maps::HeadMaps;
pub use two_tasks::{Power, TwoTaskPoint, TwoTasks};

pub(super) use one_task::label_scales;
