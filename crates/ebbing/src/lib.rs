//! Forecasts what a neural network forgets, and fails to learn, when it learns tasks one after another.
#![deny(missing_docs)]

mod data;
mod error;
mod kernels;
mod linalg;
mod metrics;
mod rng;
mod tasks;

pub use data::{Dataset, Features, Part, Provenance, Targets};
pub use error::{Error, Result};
pub use kernels::{Activation, Architecture, WeightPrior};
pub use linalg::{
    Cholesky, Mat, MatMut, MatRef, Pencil, PseudoInverse, SymmetricEigen, column, dot, matmul, matmul_into, matvec,
};
pub use metrics::{ContinualMetrics, Convention, TaskAccuracies, accuracy, squared_loss};
pub use rng::Stream;
pub use tasks::{PoolRow, Task, TaskSequence, TestSet};
