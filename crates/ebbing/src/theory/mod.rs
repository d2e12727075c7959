//! What the theory forecasts from kernels and targets, and how curves of it are summarised.

mod fits;
mod multi_head;
mod phase;
mod phase_search;

pub use fits::{
    CurveShape, ForgettingFit, LinearFit, Uncertain, VarianceExplained, mean_with_error, pearson, spearman,
};
pub use multi_head::{
    CriticalLoad, EquationResidual, HeadMaps, LambdaEvidence, LargeLambda, LimitPoint, MultiHead, MultiHeadSettings,
    Power, Prediction, Regime, TwoTaskPoint, TwoTasks, centred_alignment,
};
pub use phase::{Location, PhaseCurve, PhasePoint, normalised_labels, phase_curves};
pub use phase_search::{
    BestLambda, CurveCritical, CurveFeature, LambdaPoint, SequenceCurve, alpha_c_from_curve, best_lambda,
    sequence_curve,
};
