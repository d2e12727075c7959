//! What the theory forecasts from kernels and targets, and how curves of it are summarised.

mod fits;

pub use fits::{
    CurveShape, ForgettingFit, LinearFit, Uncertain, VarianceExplained, mean_with_error, pearson, spearman,
};
