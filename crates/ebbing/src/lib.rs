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
mod theory;

pub use data::{
    Array, Centre, Cifar, CsvOptions, Dataset, Features, FileCheck, Found, ImportOptions, KNOWN_SETS, KnownFile,
    KnownSet, LabelColumn, MAX_DECODED, Part, Places, Preprocess, Preprocessor, Provenance, Source, Status, Targets,
    Values, Verification, Whiten, file_sha256, parse_cifar, parse_csv, parse_idx, parse_npy, parse_npz, read_csv,
    read_idx, read_npy, read_npz, to_grey, to_npy, write_npz,
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
pub use tasks::{
    Interpolated, Labels, PartialSplit, Permuted, Pool, PoolRow, PostSteps, Protocol, Split, TargetDistractor, Task,
    TaskSequence, TestSet, WithContext,
};
pub use theory::{
    Forecast, Interval, Inverse, KernelTask, Mode, Null, OrderParameterSettings, OrderParameters, OrderSearchSettings,
    PairOrderParameters, Points, SearchMethod, SingleHead, SingleHeadSettings, TaskOrder, TestForecast, best_order,
    best_order_of_features, order_parameters, order_parameters_of_features, order_parameters_of_kernels,
    order_parameters_of_layers, order_parameters_of_sequence,
};
