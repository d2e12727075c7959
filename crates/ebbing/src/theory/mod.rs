//! What the theory forecasts from kernels and targets, and how curves of it are summarised.

mod fits;
mod multi_head;
mod order;
mod order_parameters;
mod outlook;
mod phase;
mod phase_search;
mod single_head;

pub use fits::{
    CurveShape, ForgettingFit, LinearFit, Uncertain, VarianceExplained, bisect, log_grid, mean_with_error, median,
    pearson, spearman,
};
pub use multi_head::{
    CriticalLoad, EquationResidual, HeadMaps, LambdaEvidence, LargeLambda, LimitPoint, MultiHead, MultiHeadSettings,
    Power, Prediction, Regime, TwoTaskPoint, TwoTasks, centred_alignment,
};
pub use order::{OrderSearchSettings, SearchMethod, TaskOrder, best_order, best_order_of_features};
pub use order_parameters::{
    Interval, Inverse, Null, OrderParameterSettings, OrderParameters, PairOrderParameters, order_parameters,
    order_parameters_of_features, order_parameters_of_kernels, order_parameters_of_labellings,
    order_parameters_of_layers, order_parameters_of_sequence,
};
pub use outlook::{Averaged, DepthOutlook, Outlook, OutlookSettings, PairOutlook, Reading, TestOutlook, WorstPair};
pub use phase::{Location, PhaseCurve, PhasePoint, normalised_labels, phase_curves};
pub use phase_search::{
    BestLambda, CurveCritical, CurveFeature, LambdaPoint, SequenceCurve, alpha_c_from_curve, best_lambda,
    sequence_curve,
};
pub use single_head::{Forecast, KernelTask, Mode, Points, SingleHead, SingleHeadSettings, TestForecast};
