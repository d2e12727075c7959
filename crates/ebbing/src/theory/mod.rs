//! What the theory of wide networks forecasts from kernels and targets.
//!
//! | module | question | readouts |
//! |---|---|---|
//! | [`forecast`] | everything at once: forgetting, order parameters, test data, best order, in sentences | one |
//! | [`single_head`] | means and variances of the outputs after every task | one |
//! | [`order_parameters`] | how similar two tasks are, and how much they conflict | one |
//! | [`task_order`] | the order of tasks with the least forgetting | one |
//! | [`multi_head`] | renormalised readouts of any number of tasks at any width and λ | one per task |
//! | [`phase`] | curves against the load α = P/N, and where a width lies | one per task |
//! | [`best_lambda`] | the penalty that serves both tasks best | one per task |
//! | [`alpha_c`] | the critical load read off a curve | one per task |

pub mod alpha_c;
pub mod best_lambda;
pub(crate) mod blocks;
pub mod forecast;
pub mod multi_head;
pub mod order_parameters;
pub mod phase;
pub mod single_head;
pub mod task_order;

pub use blocks::inputs::Inputs;
pub use blocks::kernels::Points;
pub use blocks::table::{KernelTable, KernelTask};
