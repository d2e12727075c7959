//! What the data alone says about learning tasks one after another.

mod multi_head;
mod phase;
mod phase_search;

pub use multi_head::{
    CriticalLoad, EquationResidual, HeadMaps, LambdaEvidence, LargeLambda, LimitPoint, MultiHead, MultiHeadSettings,
    Power, Prediction, Regime, TwoTaskPoint, TwoTasks, centred_alignment,
};
pub use phase::{Location, PhaseCurve, PhasePoint, normalised_labels, phase_curves};
pub use phase_search::{
    BestLambda, CurveCritical, CurveFeature, LambdaPoint, SequenceCurve, alpha_c_from_curve, best_lambda, sequence_curve,
};
