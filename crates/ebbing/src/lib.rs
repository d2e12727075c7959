//! Forecasts what a neural network forgets, and fails to learn, when it learns tasks one after another.
#![deny(missing_docs)]

mod data;
mod error;
mod kernels;
mod linalg;
mod metrics;
mod nets;
mod rng;
mod tasks;

pub use data::{
    Array, Centre, Dataset, Features, MAX_DECODED, Part, Preprocess, Preprocessor, Provenance, Source, Targets, Values,
    Whiten, parse_idx, read_idx, to_grey,
};
pub use error::{Error, Result};
pub use kernels::{Activation, Architecture, Kernel, KernelKind, WeightPrior};
pub use linalg::{
    Cholesky, Mat, MatMut, MatRef, Pencil, PseudoInverse, SymmetricEigen, column, dot, matmul, matmul_into, matvec,
};
pub use metrics::{ContinualMetrics, Convention, TaskAccuracies, accuracy, squared_loss};
pub use nets::{
    Convergence, Estimate, Fisher, Heads, Indexing, Learner, LossScale, Mlp, PenaltyStep, PosteriorSettings, Progress,
    SampledPosterior, Stop, TaskReport, TrainSettings, Trained, Trainer, convergence, sample_posterior,
};
pub use rng::Stream;
pub use tasks::{PoolRow, Task, TaskSequence, TestSet};
