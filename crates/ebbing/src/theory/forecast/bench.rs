//! One sequence with its kernels, from which everything in a forecast is computed.

use super::{Engine, ForecastSettings, TrainedForecast, inputs};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::plan::{forgetting_cost, spare_bytes};
use crate::stats::number::{accuracy, within};
use crate::tasks::TaskSequence;
use crate::theory::calibration::{self, Data, Expected, Training};
use crate::theory::directions::ForgettingDirections;
use crate::theory::examples::{ExamplesAtRisk, Width};
use crate::theory::order_parameters::{OrderParameters, PairOrderParameters, all_pairs, order_parameters};
use crate::theory::own_and_last::OwnAndLast;
use crate::theory::single_head::sequence_kernels::SequenceKernels;
use crate::theory::single_head::{
    Mode, PairForgetting, Precision, SingleHead, SingleHeadForecast, SingleHeadSettings, TestAccuracies,
    pair_forgetting,
};
use crate::theory::whole::{self, Quality, TiledForecast};

/// A sequence, and its kernels where they can be made once for all; or all that tiles of them give.
pub(super) struct Bench<'a> {
    sequence: &'a TaskSequence,
    settings: &'a ForecastSettings,
    context: &'a Context,
    pub made: Option<SequenceKernels>,
    tiles: Option<TiledForecast>,
}

impl<'a> Bench<'a> {
    /// `shared`: whether more than one part of the forecast takes its kernels, which are then made once.
    pub fn new(
        sequence: &'a TaskSequence,
        settings: &'a ForecastSettings,
        shared: bool,
        context: &'a Context,
    ) -> Result<Self> {
        let theory = &settings.theory;
        let made = match settings.features || !shared {
            true => None,
            false => {
                inputs(sequence, false).fits("this forecast", forgetting_cost, context)?;
                SequenceKernels::of(sequence, theory, true, theory.keep_bytes, context.plan())?
            }
        };
        Ok(Bench { sequence, settings, context, made, tiles: None })
    }

    /// The same in tiles, where kernels do not fit into memory; `part` hears how far they are.
    pub fn in_tiles(
        sequence: &'a TaskSequence,
        settings: &'a ForecastSettings,
        context: &'a Context,
        part: &Context,
    ) -> Result<Self> {
        let found = whole::forecast(sequence, &settings.theory, &settings.of_pairs(true), None, part)?;
        Ok(Bench { sequence, settings, context, made: None, tiles: Some(found) })
    }

    /// What becomes of every task, and how it was computed.
    pub fn forecast(&self) -> Result<(SingleHeadForecast, Engine)> {
        if let Some(found) = &self.tiles {
            return Ok((found.forecast.clone(), Engine::Tiles));
        }
        let learned = self.single_head(&self.settings.theory)?;
        let engine = if learned.in_feature_space() { Engine::FeatureSpace } else { Engine::Memory };
        Ok((learned.forecast()?, engine))
    }

    /// The tasks learned, by a theory with the kernels of this one.
    fn single_head(&self, theory: &SingleHeadSettings) -> Result<SingleHead> {
        match &self.made {
            Some(made) => SingleHead::learn(*theory, made.source(), &made.given()),
            None => SingleHead::new(inputs(self.sequence, self.settings.features), theory, self.context),
        }
    }

    /// What the theory that came closest to trained networks says of the sequence, how it was computed, and with which residual where
    /// that was in single precision: the forecast's own numbers where that is the same theory, none where its kernels do not fit into
    /// memory.
    pub fn trained(
        &self,
        own: Option<&(SingleHeadForecast, Engine)>,
        closest: Option<&SingleHeadSettings>,
    ) -> Result<(Option<TestAccuracies>, Engine, Option<f64>)> {
        let Some(theory) = closest else { return Ok((None, Engine::Memory, None)) };
        let asked = &self.settings.theory;
        let kernels = theory.same_kernels(asked);
        if let Some((forecast, engine)) =
            own.filter(|_| kernels && theory.beta == asked.beta && theory.loss == asked.loss && !asked.variance)
        {
            return Ok((forecast.test_accuracies(), *engine, None));
        }
        if self.tiles.is_some() {
            return Ok((None, Engine::Tiles, None));
        }
        // Single precision is enough for shares of examples, and its residual is reported.
        let large = !self.settings.costs_little(&self.sequence.sizes());
        let theory =
            &SingleHeadSettings { precision: if large { Precision::Single } else { Precision::Double }, ..*theory };
        let learned = match kernels {
            true => self.single_head(theory)?,
            false => SingleHead::new(inputs(self.sequence, self.settings.features), theory, self.context)?,
        };
        let engine = if learned.in_feature_space() { Engine::FeatureSpace } else { Engine::Memory };
        Ok((learned.test_accuracies()?, engine, learned.residual()))
    }

    /// The order parameters of all pairs of tasks.
    pub fn pairs(&self, detailed: bool) -> Result<Vec<PairOrderParameters>> {
        let settings = self.settings;
        if self.sequence.tasks.len() < 2 {
            return Ok(Vec::new());
        }
        match (&self.tiles, &self.made) {
            (Some(found), _) => Ok(found.pairs.clone()),
            (None, Some(made)) => {
                let (asked, spare) =
                    (settings.of_pairs(detailed), spare_bytes(&self.sequence.sizes(), self.context.plan()));
                let found = all_pairs(&asked, made.source(), &made.given(), spare)?;
                Ok(with_forgetting(found, pair_forgetting(&settings.theory, made.source(), &made.given())?))
            }
            (None, None) => pairs(self.sequence, settings, detailed, self.context),
        }
    }

    /// How well it is known in tiles, and what needs kernels in memory; `untrained`: the accuracy of trained networks among it.
    pub fn tiled(&self, untrained: bool) -> Option<(Quality, Vec<&'static str>)> {
        let found = self.tiles.as_ref()?;
        let several = self.sequence.tasks.len() > 1;
        let missing = [
            (several && self.settings.order, "the best order of tasks"),
            (several && self.settings.theory.mode != Mode::Rf, "F_pair in this mode"),
            (untrained, "what trained networks lose"),
        ];
        Some((found.quality, missing.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect()))
    }
}

/// The order parameters of all pairs of a sequence, from kernels that are made for them, with `F_pair` as the forecast's own theory
/// has it.
pub(super) fn pairs(
    sequence: &TaskSequence,
    settings: &ForecastSettings,
    detailed: bool,
    context: &Context,
) -> Result<Vec<PairOrderParameters>> {
    let (theory, inputs) = (&settings.theory, inputs(sequence, settings.features));
    let found = order_parameters(inputs, &settings.of_pairs(detailed), context)?;
    let source = inputs.source(theory.architecture, theory.checked()?);
    Ok(with_forgetting(found, pair_forgetting(theory, source, &inputs.given(theory.bias2)?)?))
}

/// Order parameters, which are those of random features in every mode, with the forgetting of a theory that is another.
fn with_forgetting(
    mut pairs: Vec<PairOrderParameters>,
    forgetting: Option<Vec<PairForgetting>>,
) -> Vec<PairOrderParameters> {
    for (pair, own) in pairs.iter_mut().zip(forgetting.into_iter().flatten()) {
        debug_assert_eq!([pair.first - 1, pair.second - 1], own.tasks);
        // Losses are squares of outputs, as in the forecast itself.
        let right = accuracy(own.digits);
        let (f21, free) = (within(own.forgetting, right * right), within(own.at_lambda_zero, right * right));
        pair.values =
            OrderParameters { f21, f21_at_lambda_zero: free, delta_f21: within(f21 - free, right), ..pair.values };
        pair.digits = pair.digits.min(own.digits);
        let interval = pair.interval.iter_mut().flat_map(|i| [&mut i.low, &mut i.high, &mut i.standard_error]);
        let null = pair.null.iter_mut();
        let null = null.flat_map(|n| [&mut n.mean, &mut n.deviation, &mut n.low, &mut n.high, &mut n.p_value]);
        interval.chain(null).for_each(|values| *values = values.without_forgetting());
    }
    pairs
}

/// What is done while training, as far as the evidence distinguishes it.
pub(super) fn training(theory: &SingleHeadSettings) -> Training {
    if theory.replay.is_on() { Training::Replay } else { Training::Plain }
}

/// The theory that came closest to networks trained on such a sequence; none without test data of classes.
pub(super) fn closest(sequence: &TaskSequence, settings: &ForecastSettings) -> Option<SingleHeadSettings> {
    let asked = &settings.theory;
    if !sequence.names_classes() || !calibration::measured(asked) {
        return None;
    }
    let theory = match settings.features {
        true => calibration::theory_of_linear_head(training(asked), sequence)?,
        false => calibration::theory(training(asked), sequence)?,
    };
    Some(SingleHeadSettings { replay: asked.replay, keep_bytes: asked.keep_bytes, ..theory })
}

/// Between what the accuracies of trained networks lie; none where such networks were not measured.
pub(super) fn expectation(trained: &TrainedForecast, settings: &ForecastSettings, data: Data) -> Option<Expected> {
    calibration::expected_of(training(&settings.theory), data, trained.lost?, trained.final_accuracy)
}

/// What becomes of every example, and where the forgetting sits, by the theory that came closest to trained networks (that asked for where
/// none did); nothing where each output has features of its own.
pub(super) fn every_example(
    sequence: &TaskSequence,
    closest: Option<&SingleHeadSettings>,
    settings: &ForecastSettings,
    context: &Context,
) -> Result<(Option<ExamplesAtRisk>, Option<ForgettingDirections>)> {
    if sequence.tasks.iter().any(|task| task.rows_per_example() > 1) {
        return Ok((None, None));
    }
    let warm = if settings.features {
        calibration::theory_of_linear_head(training(&settings.theory), sequence)
    } else {
        calibration::theory(training(&settings.theory), sequence)
    };
    let theory =
        SingleHeadSettings { replay: settings.theory.replay, ..*closest.or(warm.as_ref()).unwrap_or(&settings.theory) };
    let given = inputs(sequence, settings.features);
    let network = match SingleHead::new(given, &theory, context) {
        // Trained networks are described without biases; inputs of zeros, which need one, are left to the theory asked for.
        Err(Error::Data { .. }) if settings.theory.bias2 > 0.0 => SingleHead::new(given, &settings.theory, context)?,
        found => found?,
    };
    context.run(|| {
        let outputs = OwnAndLast::of(&network, sequence, context)?;
        let examples = ExamplesAtRisk::with_outputs(&network, sequence, Width::Change, &outputs)?;
        let several = sequence.tasks.len() > 1;
        let directions = several.then(|| ForgettingDirections::with_outputs(sequence, &outputs)).transpose()?;
        Ok((Some(examples), directions))
    })
}
