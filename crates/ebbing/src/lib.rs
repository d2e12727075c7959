//! Forecasts what a neural network forgets, and fails to learn, when it learns tasks one after another.
#![deny(missing_docs)]

mod data;
mod error;
mod infinite;
mod kernels;
mod linalg;
mod metrics;
mod nets;
mod plan;
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
pub use plan::{Cost, Sizes, Speed, forgetting_cost, order_parameter_cost, phase_cost};
pub use rng::Stream;
pub use tasks::{
    Computation, Interpolated, Labels, Origin, PartialSplit, Permuted, Pool, PoolRow, PostSteps, Protocol, Recipe,
    Split, TargetDistractor, TargetRule, TargetSummary, Task, TaskCheck, TaskSequence, TaskSummary, TestSet,
    WithContext, check_sequence, check_tasks,
};
pub use theory::{Averaged, DepthOutlook, Outlook, OutlookSettings, PairOutlook, Reading, TestOutlook, WorstPair};
pub use theory::{
    BestLambda, CriticalLoad, CurveCritical, CurveFeature, CurveShape, EquationResidual, Forecast, ForgettingFit,
    HeadMaps, Interval, Inverse, KernelTask, LambdaEvidence, LambdaPoint, LargeLambda, LimitPoint, LinearFit, Location,
    Mode, MultiHead, MultiHeadSettings, Null, OrderParameterSettings, OrderParameters, OrderSearchSettings,
    PairOrderParameters, PhaseCurve, PhasePoint, Points, Power, Prediction, Regime, SearchMethod, SequenceCurve,
    SingleHead, SingleHeadSettings, TaskOrder, TestForecast, TwoTaskPoint, TwoTasks, Uncertain, VarianceExplained,
    alpha_c_from_curve, best_lambda, best_order, best_order_of_features, centred_alignment, mean_with_error,
    normalised_labels, order_parameters, order_parameters_of_features, order_parameters_of_kernels,
    order_parameters_of_layers, order_parameters_of_sequence, pearson, phase_curves, sequence_curve, spearman,
};
