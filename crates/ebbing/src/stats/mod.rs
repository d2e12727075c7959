//! Summaries of curves and of sets of results: fits, correlations and shares of variance, with standard errors.

mod curve;
mod forgetting;
pub mod number;
mod statistics;
mod trend;

pub use forgetting::{CurveShape, ForgettingFit};
pub use statistics::{Estimate, LinearFit, VarianceExplained, mean_curve, mean_with_error, pearson, spearman};
pub use trend::Trend;
