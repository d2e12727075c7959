//! What remedies gain in accuracy, and whether that is more than forecasts are off by.

use super::{Remedy, RemedyKind};
use crate::stats::mean_with_error;
use crate::theory::calibration::{Data, accuracy_error};
use crate::theory::single_head::Outcome;

/// Sets gain of accuracy and its error in every remedy; the first one is doing nothing.
pub(super) fn of_accuracy(remedies: &mut [(Remedy, Vec<Outcome>)], data: Data) {
    let Some((nothing, left)) = remedies.first().cloned() else { return };
    for (remedy, outcomes) in remedies {
        let theory = remedy.accuracy.zip(nothing.accuracy);
        let trained = remedy.trained.zip(nothing.trained).map(|([_, a], [_, b])| (a, b));
        remedy.accuracy_gain = trained.or(theory).map(|(with, without)| with - without);
        let gains: Option<Vec<f64>> =
            outcomes.iter().zip(&left).map(|(a, b)| Some(a.accuracy? - b.accuracy?)).collect();
        let over_draws = gains.and_then(|gains| mean_with_error(&gains).ok()?.standard_error);
        remedy.forecast_error = remedy.accuracy_gain.map(|_| {
            let off = measured_as(remedy).into_iter().map(|what| accuracy_error(what, data));
            off.fold(2.0 * over_draws.unwrap_or(0.0), f64::max)
        });
    }
}

/// Networks that the forecasts of a remedy and of doing nothing were held against, as the table calls them.
fn measured_as(remedy: &Remedy) -> Vec<&'static str> {
    let of = |kind: RemedyKind| match kind {
        RemedyKind::Replay | RemedyKind::Combination => "replay",
        RemedyKind::Gating => "gating",
        RemedyKind::Penalty | RemedyKind::LayerPenalty => "l2",
        RemedyKind::Readouts => "heads",
        _ => "plain",
    };
    [Some(RemedyKind::Nothing), Some(remedy.kind), remedy.beside].into_iter().flatten().map(of).collect()
}

impl Remedy {
    /// Whether its gain of accuracy is more than such forecasts are off by.
    pub fn gains_surely(&self) -> bool {
        self.applies && self.accuracy_gain.zip(self.forecast_error).is_some_and(|(gain, error)| gain > error)
    }
}
