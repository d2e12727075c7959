//! Forecasts what a neural network forgets, and fails to learn, when it learns tasks one after another.
#![deny(missing_docs)]

mod data;
mod error;
mod kernels;
mod linalg;
mod rng;
mod tasks;
mod theory;

pub use data::{Dataset, Features, Part, Provenance, Targets};
pub use error::{Error, Result};
pub use kernels::{Activation, Architecture, Kernel, KernelKind, WeightPrior};
pub use linalg::{Cholesky, Mat, MatMut, MatRef, Pencil, SymmetricEigen, column, dot, matmul, matmul_into, matvec};
pub use rng::Stream;
pub use tasks::{PoolRow, Task, TaskSequence, TestSet};
pub use theory::{
    BestLambda, CriticalLoad, CurveCritical, CurveFeature, EquationResidual, HeadMaps, LambdaEvidence, LambdaPoint,
    LargeLambda, LimitPoint, Location, MultiHead, MultiHeadSettings, PhaseCurve, PhasePoint, Power, Prediction, Regime,
    SequenceCurve, TwoTaskPoint, TwoTasks, alpha_c_from_curve, best_lambda, centred_alignment, normalised_labels,
    phase_curves, sequence_curve,
};
