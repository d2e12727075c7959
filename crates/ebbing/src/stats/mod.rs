//! Summaries of curves and of sets of results: fits and shares of variance, with standard errors.
//!
//! ```math
//! F_t = F_{\max}\bigl(1-e^{-(t-1)/\tau_F}\bigr), \qquad
//! \mathrm{PVE}_j = \frac{R^2 - R^2_{\text{without }j}}{R^2}
//! ```
//!
//! Both are defined in words in the paper's supplement ("Exponential Fitting of Long-Term Forgetting", "The
//! Target-Distractor Task Sequence") and have no equation number.
//!
//! | Item | What it is |
//! |---|---|
//! | [`ForgettingFit`], [`CurveShape`] | the exponential fit, and what the curve does and does not determine |
//! | [`VarianceExplained`] | PVE of each predictor, plain and scaled to sum 1 |
//! | [`log_grid`], [`bisect`], [`try_bisect`] | an even grid in ln x, a root to the last bit |
//! | [`Estimate`], [`mean_with_error`] | a number and its standard error |
//!
//! ```
//! use ebbing::stats::{CurveShape, ForgettingFit};
//! let times: Vec<f64> = (1..=12).map(f64::from).collect();
//! let curve: Vec<f64> = times.iter().map(|t| 0.4 * (1.0 - (-(t - 1.0) / 3.0).exp())).collect();
//! let fit = ForgettingFit::new(&times, &curve)?;
//! assert_eq!(fit.shape, CurveShape::Saturating);
//! assert!((fit.tau.unwrap().value - 3.0).abs() < 1e-6);
//! # Ok::<(), ebbing::Error>(())
//! ```

mod curve;
mod forgetting;
pub mod number;
mod statistics;

pub use forgetting::{CurveShape, ForgettingFit};
pub use statistics::{Estimate, VarianceExplained, bisect, log_grid, mean_curve, mean_with_error, try_bisect};
