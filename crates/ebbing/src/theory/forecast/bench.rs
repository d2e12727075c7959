//! One sequence with its kernels, from which everything in a forecast is computed.

use super::{ForecastSettings, inputs};
use crate::error::Result;
use crate::plan::forgetting_cost;
use crate::tasks::TaskSequence;
use crate::theory::blocks::made::Made;
use crate::theory::calibration::{self, Expected, Training};
use crate::theory::order_parameters::{PairOrderParameters, all_pairs, order_parameters};
use crate::theory::single_head::{Outcome, SingleHead, SingleHeadForecast, SingleHeadSettings};

/// A sequence, and its kernels where they can be made once for all.
pub(super) struct Bench<'a> {
    sequence: &'a TaskSequence,
    settings: &'a ForecastSettings,
    pub made: Option<Made>,
}

impl<'a> Bench<'a> {
    pub fn new(sequence: &'a TaskSequence, settings: &'a ForecastSettings) -> Result<Self> {
        let theory = &settings.theory;
        let made = match settings.features {
            true => None,
            false => {
                inputs(sequence, false).fits("this forecast", forgetting_cost)?;
                Made::of(sequence, theory, true, theory.keep_bytes)?
            }
        };
        Ok(Bench { sequence, settings, made })
    }

    /// The tasks learned, by a theory with the kernels of this one.
    pub fn single_head(&self, theory: &SingleHeadSettings) -> Result<SingleHead> {
        match &self.made {
            Some(made) => SingleHead::learn(*theory, made.source(), &made.given()),
            None => SingleHead::new(inputs(self.sequence, self.settings.features), theory),
        }
    }

    /// What the theory that came closest to networks that people train makes of the sequence; none without test data of classes.
    pub fn trained(&self, forecast: &SingleHeadForecast) -> Result<Option<Outcome>> {
        let tested = forecast.test.as_ref().is_some_and(|test| test.accuracy.is_some());
        let Some(theory) = closest(self.sequence, self.settings).filter(|_| tested) else { return Ok(None) };
        let learned = if theory.same_kernels(&self.settings.theory) {
            self.single_head(&theory)?
        } else {
            SingleHead::new(self.sequence, &theory)?
        };
        learned.outcome().map(Some)
    }

    /// The order parameters of all pairs of tasks.
    pub fn pairs(&self, detailed: bool) -> Result<Vec<PairOrderParameters>> {
        let settings = self.settings;
        if self.sequence.tasks.len() < 2 {
            return Ok(Vec::new());
        }
        let mut asked = settings.of_pairs();
        if !detailed {
            (asked.resamples, asked.shuffles) = (0, 0);
        }
        match &self.made {
            Some(made) => all_pairs(&asked, made.source(), &made.given()),
            None => order_parameters(inputs(self.sequence, settings.features), &asked),
        }
    }
}

/// What is done while training, as far as the evidence tells it apart.
fn training(theory: &SingleHeadSettings) -> Training {
    if theory.replay.is_on() { Training::Replay } else { Training::Plain }
}

/// The theory that came closest to networks that people train on such a sequence; none where there were none.
pub(super) fn closest(sequence: &TaskSequence, settings: &ForecastSettings) -> Option<SingleHeadSettings> {
    let asked = &settings.theory;
    if settings.features || sequence.tasks.len() < 2 || !calibration::measured(asked) {
        return None;
    }
    let theory = calibration::theory(training(asked), sequence)?;
    Some(SingleHeadSettings { replay: asked.replay, ..theory })
}

/// What networks that people train are to be expected to lose, from the outcomes of all sequences.
pub(super) fn expectation(
    outcomes: &[Option<Outcome>],
    settings: &ForecastSettings,
    whitened: bool,
) -> Option<Expected> {
    let each: Option<Vec<(f64, f64)>> =
        outcomes.iter().map(|outcome| outcome.as_ref().and_then(|o| o.backward_transfer.zip(o.accuracy))).collect();
    let each = each?;
    let mean = |get: fn(&(f64, f64)) -> f64| each.iter().map(get).sum::<f64>() / each.len() as f64;
    calibration::expected_of(training(&settings.theory), whitened, mean(|o| -o.0), mean(|o| o.1))
}
