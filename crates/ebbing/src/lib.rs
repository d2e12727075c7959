//! Forecasts what a neural network forgets, and fails to learn, when it learns tasks one after another.
//!
//! Data flow one way: data sets become [`TaskSequence`]s, their inputs kernels ([`Kernel`]), and those the theory of wide
//! networks: [`SingleHead`] and [`order_parameters`] for one readout, [`MultiHead`] and [`TwoTasks`] for a readout per
//! task, [`Outlook`] for everything at once. [`Trainer`] and [`sample_posterior`] make networks of finite width to hold
//! the theory against.
//!
//! ```
//! use ebbing::{Dataset, Permuted, Preprocess, SingleHead, SingleHeadSettings, Source};
//! let source = Source::new(Dataset::sample()?, &Preprocess::default())?;
//! let tasks = Permuted { tasks: 3, p: 200, ..Permuted::default() }.generate(&source, 1)?;
//! let forecast = SingleHead::new(SingleHeadSettings::default(), &tasks)?.forecast()?;
//! // Task 1 is forgotten a little more with every later task, and just after it was learned not at all.
//! assert!(forecast.forgetting[0][0] < 1e-12);
//! assert!(forecast.forgetting[1][0] > 0.05);
//! # Ok::<(), ebbing::Error>(())
//! ```
//!
//! Random draws depend only on the seed, results not on the number of threads. The theory is that of H. Shan, Q. Li and
//! H. Sompolinsky, "Order parameters and phase transitions of continual learning in deep neural networks".
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
    read_idx, read_npy, read_npz, sync_folder_of, to_grey, to_npy, write_atomic, write_npz,
};
pub use error::{Error, Result};
pub use kernels::{Activation, Architecture, Kernel, KernelKind, WeightPrior};
pub use linalg::{
    Cholesky, Mat, MatMut, MatRef, Pencil, PseudoInverse, SymmetricEigen, column, dot, matmul, matmul_into, matvec,
    on_one_thread, side_by_side,
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
    WithContext, check_sequence, check_tasks, unknown_key,
};
pub use theory::{
    Averaged, BestLambda, CriticalLoad, CurveCritical, CurveFeature, CurveShape, DepthOutlook, EquationResidual,
    Forecast, ForgettingFit, HeadMaps, Interval, Inverse, KernelTask, LambdaEvidence, LambdaPoint, LargeLambda,
    LimitPoint, LinearFit, Location, Mode, MultiHead, MultiHeadSettings, Null, OrderParameterSettings, OrderParameters,
    OrderSearchSettings, Outlook, OutlookSettings, PairOrderParameters, PairOutlook, PhaseCurve, PhasePoint, Points,
    Power, Prediction, Reading, Regime, SearchMethod, SequenceCurve, SingleHead, SingleHeadSettings, TaskOrder,
    TestForecast, TestOutlook, TwoTaskPoint, TwoTasks, Uncertain, VarianceExplained, WorstPair, alpha_c_from_curve,
    best_lambda, best_order, best_order_of_features, bisect, centred_alignment, log_grid, mean_with_error, median,
    normalised_labels, order_parameters, order_parameters_of_features, order_parameters_of_kernels,
    order_parameters_of_labellings, order_parameters_of_layers, order_parameters_of_sequence, pearson, phase_curves,
    sequence_curve, spearman,
};
