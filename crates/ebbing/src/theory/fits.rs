//! Summaries of curves and of sets of results: fits, correlations and shares of variance, with standard errors.

mod curve;
mod forgetting;
mod statistics;

pub use forgetting::{CurveShape, ForgettingFit};
pub use statistics::{
    LinearFit, Uncertain, VarianceExplained, bisect, log_grid, mean_with_error, median, pearson, spearman,
};
