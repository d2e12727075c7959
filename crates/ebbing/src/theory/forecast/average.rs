//! Means over seeds with their standard errors.

use super::super::order_parameters::OrderParameters;
use crate::error::{Error, Result};
use crate::stats::{mean_curve, mean_with_error};
use serde::{Deserialize, Serialize};

/// A matrix averaged over seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Averaged {
    /// Means.
    pub mean: Vec<Vec<f64>>,
    /// Standard errors of the means, with several seeds.
    pub standard_error: Option<Vec<Vec<f64>>>,
}

impl Averaged {
    /// The mean of matrices of one shape.
    ///
    /// # Errors
    /// [`Error::Data`] for no matrices or values that are not finite.
    pub fn of<'a>(matrices: impl Iterator<Item = &'a Vec<Vec<f64>>>) -> Result<Self> {
        let all: Vec<&Vec<Vec<f64>>> = matrices.collect();
        let first = all.first().ok_or_else(|| Error::data("an average", "there is nothing to average"))?;
        let mut mean = Vec::new();
        let mut errors = Vec::new();
        for t in 0..first.len() {
            let cells = mean_curve(&all.iter().map(|m| m[t].as_slice()).collect::<Vec<_>>())?;
            mean.push(cells.iter().map(|c| c.value).collect());
            errors.push(cells.iter().map(|c| c.error()).collect());
        }
        Ok(Averaged { mean, standard_error: (all.len() > 1).then_some(errors) })
    }

    /// The mean where every matrix is there; none otherwise, or of none.
    ///
    /// # Errors
    /// As [`Averaged::of`].
    pub fn of_some<'a>(matrices: impl Iterator<Item = Option<&'a Vec<Vec<f64>>>>) -> Result<Option<Self>> {
        let all: Option<Vec<&Vec<Vec<f64>>>> = matrices.collect();
        all.filter(|all| !all.is_empty()).map(|all| Self::of(all.into_iter())).transpose()
    }
}

/// Mean and standard error of some numbers.
pub(super) fn numbers(values: &[f64]) -> (f64, Option<f64>) {
    mean_with_error(values).map_or((f64::NAN, None), |m| (m.value, m.standard_error))
}

/// Mean and standard error of each order parameter.
pub(super) fn order_parameters(all: &[OrderParameters]) -> (OrderParameters, Option<OrderParameters>) {
    let mut mean = OrderParameters::default();
    let mut error = OrderParameters::default();
    let mut several = false;
    for field in FIELDS {
        let values: Vec<f64> = all.iter().map(|p| *field(&mut p.clone())).collect();
        let (m, e) = numbers(&values);
        *field(&mut mean) = m;
        *field(&mut error) = e.unwrap_or(0.0);
        several |= e.is_some();
    }
    (mean, several.then_some(error))
}

/// Every order parameter.
const FIELDS: [fn(&mut OrderParameters) -> &mut f64; 10] = [
    |p| &mut p.gamma_feature,
    |p| &mut p.gamma_rf,
    |p| &mut p.gamma_rule,
    |p| &mut p.conflict,
    |p| &mut p.gamma_sim,
    |p| &mut p.cos,
    |p| &mut p.proj,
    |p| &mut p.f21,
    |p| &mut p.f21_at_lambda_zero,
    |p| &mut p.delta_f21,
];
