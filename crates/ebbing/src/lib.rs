//! Forecasts what a neural network forgets, and fails to learn, when it learns tasks one after another.
#![deny(missing_docs)]

mod data;
mod error;
mod kernels;
mod linalg;
mod rng;
mod tasks;

pub use data::{
    Array, Centre, Dataset, Features, MAX_DECODED, Part, Preprocess, Preprocessor, Provenance, Source, Targets, Values,
    Whiten, parse_idx, read_idx, to_grey,
};
pub use error::{Error, Result};
pub use kernels::{Activation, Architecture, WeightPrior};
pub use linalg::{Cholesky, Mat, MatMut, MatRef, Pencil, SymmetricEigen, column, dot, matmul, matmul_into, matvec};
pub use rng::Stream;
pub use tasks::{
    Interpolated, Labels, PartialSplit, Permuted, Pool, PoolRow, PostSteps, Protocol, Split, TargetDistractor, Task,
    TaskSequence, TestSet, WithContext,
};
