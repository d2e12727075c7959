//! The forecast of a sequence in any order of its tasks.
//!
//! Where `K̃_ts` does not depend on the times (modes `rf`, `ntk` and `lazy`) every order uses the same kernels and factors, and
//! order parameters belong to pairs: what an order changes is `u_t = K_tt^{-1}(Y_t − f_{t−1}(X_t))`, products with vectors.

use super::bench::{self, Bench, closest, every_example};
use super::trained::chance;
use super::{
    About, Beside, Computed, Forecast, ForecastSettings, TrainedForecast, final_forgetting, heads_beside, inputs,
    near_interpolation,
};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::plan::{Cost, Sizes};
use crate::tasks::{TaskSequence, check_order};
use crate::theory::advise::KeepCurve;
use crate::theory::blocks::factor::digits;
use crate::theory::blocks::kernels::{KernelSource, Kernels};
use crate::theory::blocks::shared::{self, Shared, TaskInput};
use crate::theory::calibration;
use crate::theory::order_parameters::PairOrderParameters;
use crate::theory::single_head::{Mode, SingleHeadForecast, SingleHeadSettings};
use crate::theory::task_order::engine::Engine;
use crate::theory::task_order::{OrderRank, SearchResult, TaskOrder};

/// [`Forecast::of`] one sequence in any order of its tasks, from kernels, factors and order parameters that are made once.
///
/// ```
/// use ebbing::{Context, Dataset, Forecast, Source};
/// use ebbing::data::Preprocess;
/// use ebbing::tasks::Permuted;
/// use ebbing::theory::forecast::{ForecastOrders, ForecastSettings};
/// let source = Source::new(Dataset::sample()?, &Preprocess { whiten: None, ..Preprocess::default() })?;
/// let tasks = Permuted { tasks: 3, p: 50, p_test: 20, ..Permuted::default() }.generate(&source, 1)?;
/// let (settings, context) = (ForecastSettings::default(), Context::default());
/// let orders = ForecastOrders::new(&tasks, &settings, &context)?;
/// let reordered = Forecast::of(&[tasks.ordered(&[3, 1, 2])?], &settings, &context)?;
/// let (found, known) = (orders.forecast(&[3, 1, 2])?.forgetting, reordered.forgetting);
/// let (found, known) = (found.unwrap().mean, known.unwrap().mean);
/// // Rounding, times the condition of the kernels.
/// assert!((found[2][0] - known[2][0]).abs() < 1e-9);
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug)]
pub struct ForecastOrders {
    answer: About,
    settings: ForecastSettings,
    /// Of the theory's own quantities, where they are computed ([`ForecastSettings::complete`]).
    engine: Option<Engine>,
    /// The same by the theory that came closest to trained networks, where it is one that orders share kernels in.
    trained: Option<(SingleHeadSettings, Engine)>,
    /// What guessing gives.
    chance: f64,
    pairs: Vec<PairOrderParameters>,
    best: Option<BestOrder>,
    computed: Computed,
}

/// The best order, and the forgetting that it leaves.
#[derive(Debug)]
struct BestOrder {
    found: SearchResult,
    forgetting: Vec<Vec<f64>>,
}

impl ForecastOrders {
    /// Whether these settings are ones that every order shares its kernels with: one of the limits, means only, no replay, and
    /// no intervals or other settings beside the forecast.
    pub fn serves(settings: &ForecastSettings) -> bool {
        let theory = &settings.theory;
        let limit = Self::shares_kernels(settings);
        let plain = !theory.variance && !theory.replay.is_on();
        limit && plain && settings.resamples + settings.shuffles + settings.sweeps() == 0
    }

    /// Whether every order has the same kernels, so that trying one more of them costs little.
    pub fn shares_kernels(settings: &ForecastSettings) -> bool {
        settings.theory.mode != Mode::Gibbs || settings.theory.lambda.is_infinite()
    }

    /// Bytes that all of it takes for tasks of these sizes, at least.
    pub fn bytes_of(sizes: &Sizes) -> f64 {
        kept(sizes).bytes
    }

    /// Makes everything that orders share.
    ///
    /// # Errors
    /// As [`Forecast::of`]; [`Error::Setting`] for settings that [`ForecastOrders::serves`] not.
    pub fn new(sequence: &TaskSequence, settings: &ForecastSettings, context: &Context) -> Result<ForecastOrders> {
        if !Self::serves(settings) {
            let expected = "orders share kernels in modes rf, ntk and lazy, for means without replay alone";
            return Err(Error::setting("mode", format!("{:?}", settings.theory.mode).to_lowercase(), expected));
        }
        context.plan().check("the forecasts of all orders of these tasks", &sequence.sizes(), kept)?;
        let given = inputs(sequence, settings.features).given(settings.theory.bias2)?;
        shared::check(&given)?;
        let settings = settings.with_one_ridge();
        context.run(|| Self::made(sequence, &settings, context))
    }

    fn made(sequence: &TaskSequence, settings: &ForecastSettings, context: &Context) -> Result<ForecastOrders> {
        let parts = |k: usize| context.part(k, 4);
        parts(0).say("kernels", 0.0)?;
        let closest = closest(sequence, settings);
        let theory = closest.is_none() || settings.asks_for(sequence, closest.as_ref());
        // What trained networks come to needs kernels of its own, where nothing else is computed.
        let bench = if theory { Some(Bench::new(sequence, settings, true, context)?) } else { None };
        let engine =
            |theory: &SingleHeadSettings, part: &Context| engine(sequence, bench.as_ref(), settings, theory, part);
        let own = theory.then(|| engine(&settings.theory, &parts(0))).transpose()?;
        // Orders share factors, which cross-entropy has none of.
        let shared = closest
            .filter(|theory| theory.mode != Mode::Gibbs)
            .and_then(|theory| calibration::by_squares(theory, bench::training(&settings.theory), sequence));
        let trained = shared.map(|theory| Ok((theory, engine(&theory, &parts(1))?))).transpose()?;
        parts(2).say("order parameters", 0.0)?;
        let pairs = bench.as_ref().map(|bench| bench.pairs(true)).transpose()?.unwrap_or_default();
        let searched = own.as_ref().filter(|_| settings.order && sequence.tasks.len() > 1);
        let found = searched.map(|engine| engine.best(&parts(3))).transpose()?;
        let mut answer = About::of(sequence, 1, settings, closest.is_some())?;
        answer.notes.extend(near_interpolation(sequence, settings).filter(|_| theory));
        let mut orders = ForecastOrders {
            answer,
            settings: settings.clone(),
            best: None,
            computed: Computed::of(super::Engine::Memory, &sequence.sizes(), settings, context),
            engine: own,
            trained,
            chance: chance(sequence),
            pairs,
        };
        orders.best = found.map(|found| orders.best(found)).transpose()?;
        Ok(orders)
    }

    /// The number of tasks.
    pub fn tasks(&self) -> usize {
        self.answer.names.len()
    }

    /// Bytes that the kernels and factors take.
    pub fn bytes(&self) -> usize {
        let engines = self.engine.iter().chain(self.trained.as_ref().map(|(_, engine)| engine));
        engines.map(Engine::bytes).sum()
    }

    /// The forecast of the tasks learned in an order, each named by its number from 1. In it tasks are numbered by their place.
    ///
    /// # Errors
    /// [`Error::Setting`] for an order that does not name every task once.
    pub fn forecast(&self, order: &[usize]) -> Result<Forecast> {
        check_order(order, self.tasks())?;
        let places: Vec<usize> = order.iter().map(|t| t - 1).collect();
        // The two theories have kernels of their own: neither waits for the other.
        let own = || self.engine.as_ref().map(|engine| self.learned(engine, &places)).transpose();
        let (learned, trained) = rayon::join(own, || self.trained(&places));
        let (learned, trained) = (learned?, trained?);
        let found = self.best.as_ref().zip(self.engine.as_ref()).zip(learned.as_ref());
        let best = found.map(|((best, engine), learned)| beside(&places, &learned.forgetting, best, engine.examples()));
        let mut answer = self.answer.clone();
        answer.names = places.iter().map(|&t| self.answer.names[t].clone()).collect();
        let beside = Beside { order: best, ..Beside::default() };
        let pairs = if learned.is_some() { vec![self.pairs_of(order)] } else { vec![] };
        answer.forecast(&self.settings, (learned.as_slice(), trained), pairs, beside, self.computed)
    }

    /// The same with what [`Forecast::of`] sets beside a forecast: how many examples to keep, heads in closed form, and the fate of every
    /// example. `sequence` are the tasks in the order in which they were given.
    ///
    /// # Errors
    /// As for [`ForecastOrders::forecast`] and [`Forecast::of`].
    pub fn complete(&self, sequence: &TaskSequence, order: &[usize], context: &Context) -> Result<Forecast> {
        let mut forecast = self.forecast(order)?;
        let (sequence, settings) = (sequence.ordered(order)?, &self.settings);
        if !sequence.learns_classes() {
            return Ok(forecast);
        }
        let closest = closest(&sequence, settings);
        let part = |k: usize| context.part(k, 3);
        if let Some(theory) = closest.as_ref().filter(|_| settings.compares_replay(&sequence.sizes())) {
            forecast.keep = context.run(|| KeepCurve::of(&sequence, theory, settings.features, None, &part(0)))?;
        }
        if closest.is_some() && settings.compares_heads(&sequence.sizes()) {
            let (heads, note) = context.run(|| heads_beside(&sequence, &part(1)))?;
            forecast.heads = heads;
            forecast.notes.extend(note);
        }
        if settings.examples || settings.complete {
            part(2).say("every example", 0.0)?;
            let (examples, directions) = every_example(&sequence, closest.as_ref(), settings, context)?;
            forecast.examples = examples.filter(|_| settings.examples);
            forecast.directions = directions;
        }
        Ok(forecast)
    }

    fn learned(&self, engine: &Engine, places: &[usize]) -> Result<SingleHeadForecast> {
        let scores = engine.follow(places)?;
        let worst = scores.conditions.iter().copied().fold(0.0, f64::max);
        let right = digits(worst, &self.answer.names[places[0]])?;
        Ok(SingleHeadForecast::of(scores, right, false))
    }

    /// What trained networks make of an order, where its test data name classes.
    fn trained(&self, places: &[usize]) -> Result<Option<TrainedForecast>> {
        let Some((theory, engine)) = &self.trained else { return Ok(None) };
        let found = SingleHeadForecast::of(engine.follow(places)?, f64::INFINITY, false);
        TrainedForecast::of(&[found.test_accuracies()], theory, self.chance)
    }

    /// The best order with what it leaves.
    fn best(&self, found: SearchResult) -> Result<BestOrder> {
        let learned = self.engine.as_ref().map(|engine| self.learned(engine, &found.order)).transpose()?;
        Ok(BestOrder { found, forgetting: learned.map(|learned| learned.forgetting).unwrap_or_default() })
    }

    /// The order parameters of all pairs, tasks numbered by their place.
    fn pairs_of(&self, order: &[usize]) -> Vec<PairOrderParameters> {
        let place = |task: usize| order.iter().position(|t| *t == task).map_or(0, |at| at + 1);
        let renamed = |pair: &PairOrderParameters| PairOrderParameters {
            first: place(pair.first),
            second: place(pair.second),
            ..pair.clone()
        };
        let mut pairs: Vec<PairOrderParameters> = self.pairs.iter().map(renamed).collect();
        pairs.sort_by_key(|pair| (pair.first, pair.second));
        pairs
    }
}

/// The best order beside one that is given; its tasks are named by their places in that one.
fn beside(places: &[usize], forgetting: &[Vec<f64>], best: &BestOrder, examples: usize) -> TaskOrder {
    let (given, after) = (final_forgetting(forgetting), final_forgetting(&best.forgetting));
    let better = after < given;
    let found = &best.found;
    let place = |task: &usize| places.iter().position(|p| p == task).map_or(0, |at| at + 1);
    TaskOrder {
        order: if better { found.order.iter().map(place).collect() } else { (1..=places.len()).collect() },
        forgetting: if better { after } else { given },
        given,
        gain: if better { given - after } else { 0.0 },
        accuracy: None,
        worst: found.worst.1,
        gain_error: None,
        within_noise: None,
        forecast: if better { best.forgetting.clone() } else { forgetting.to_vec() },
        method: found.method,
        tried: found.tried,
        examples,
    }
}

/// Kernels and factors of one theory; from kernels that are there, where it uses the same ones.
fn engine(
    sequence: &TaskSequence,
    bench: Option<&Bench<'_>>,
    settings: &ForecastSettings,
    theory: &SingleHeadSettings,
    context: &Context,
) -> Result<Engine> {
    let inputs = inputs(sequence, settings.features);
    let (source, given): (KernelSource, Vec<TaskInput<'_>>) = match bench.and_then(|bench| bench.made.as_ref()) {
        Some(made) if theory.same_kernels(&settings.theory) => (made.source(), made.given()),
        _ => (inputs.source(theory.architecture, theory.checked()?), inputs.given(theory.bias2)?),
    };
    let kernels = Kernels::new(source, theory.limit()?)?;
    Engine::new(&kernels, theory, &Shared::nothing(&given), (OrderRank::Forgetting, true), context)
}

/// What is kept: twice (as asked, and as people train) kernels between all tasks, held-out data included, and a factor per task.
fn kept(sizes: &Sizes) -> Cost {
    let (train, test) = (sizes.train.iter().sum::<usize>() as f64, sizes.test.iter().sum::<usize>() as f64);
    let numbers = train * train / 2.0 + sizes.train.iter().map(|&p| (p * p) as f64).sum::<f64>() + train * test;
    let products = 2.0 * sizes.dim as f64 * (train * train / 2.0 + train * test);
    Cost { flops: 2.0 * products, bytes: 8.0 * (2.0 * numbers + (train + test) * sizes.dim as f64), ..Cost::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Preprocess, Source};
    use crate::tasks::{Permuted, Split};

    fn sequences() -> Vec<TaskSequence> {
        let source = Source::new(Dataset::sample().unwrap(), &Preprocess { whiten: None, ..Preprocess::default() });
        let source = source.unwrap();
        let permuted = Permuted { tasks: 4, p: 40, p_test: 30, ..Permuted::default() }.generate(&source, 3).unwrap();
        let untested = Split { tasks: 3, p: 40, p_test: 0, ..Split::default() }.generate(&source, 3).unwrap();
        vec![permuted, untested]
    }

    /// Numbers agree to rounding times the condition of these kernels (below 1e4).
    const ROUNDING: f64 = 1e-10;

    fn near(a: &[Vec<f64>], b: &[Vec<f64>]) -> bool {
        a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| (a - b).abs() <= ROUNDING * (1.0 + b.abs()))
    }

    #[test]
    fn every_order_is_that_of_the_reordered_sequence() {
        for sequence in sequences() {
            for (mode, beta) in [(Mode::Rf, f64::INFINITY), (Mode::Ntk, f64::INFINITY), (Mode::Lazy, 50.0)] {
                let theory = SingleHeadSettings { mode, beta, ..Default::default() };
                let settings = ForecastSettings { theory, order: true, ..Default::default() };
                let orders = ForecastOrders::new(&sequence, &settings, &crate::Context::default()).unwrap();
                let order: Vec<usize> = [3, 1, 2, 4].into_iter().filter(|t| *t <= orders.tasks()).collect();
                let answer = orders.forecast(&order).unwrap();
                let whole =
                    Forecast::of(&[sequence.ordered(&order).unwrap()], &settings, &crate::Context::default()).unwrap();
                assert!(
                    near(&answer.forgetting.as_ref().unwrap().mean, &whole.forgetting.as_ref().unwrap().mean),
                    "{mode:?}"
                );
                assert_eq!(answer.tasks, whole.tasks);
                assert_eq!(answer.train_accuracy, whole.train_accuracy);
                assert_eq!(answer.test.is_some(), whole.test.is_some());
                assert_eq!(answer.trained.is_some(), whole.test.is_some());
                let shares = |found: &Forecast| found.trained.as_ref().map(|t| (t.lost, t.final_accuracy));
                assert_eq!(shares(&answer), shares(&whole), "{mode:?}");
                assert_eq!((answer.expected, &answer.outside), (whole.expected, &whole.outside), "{mode:?}");
                for (a, b) in answer.test.iter().zip(&whole.test) {
                    assert!(near(&a.loss.mean, &b.loss.mean) && near(&a.generalization.mean, &b.generalization.mean));
                    assert_eq!(a.accuracy, b.accuracy);
                }
                for (a, b) in answer.pairs.iter().zip(&whole.pairs) {
                    assert_eq!((a.first, a.second), (b.first, b.second));
                    assert!((a.values.gamma_rf - b.values.gamma_rf).abs() < ROUNDING);
                    assert!((a.values.f21 - b.values.f21).abs() < ROUNDING);
                }
                let (a, b) = (answer.order.unwrap(), whole.order.unwrap());
                assert_eq!((a.order, a.method, a.tried), (b.order, b.method, b.tried), "{mode:?}");
                assert!((a.forgetting - b.forgetting).abs() < ROUNDING && (a.worst - b.worst).abs() < ROUNDING);
                assert!((answer.f21_at_lambda_zero.unwrap() - whole.f21_at_lambda_zero.unwrap()).abs() < ROUNDING);
                // Digits are estimates from random probes of the same kernels, made in another order of operations.
                assert!((answer.digits - whole.digits).abs() < 0.5, "{} {}", answer.digits, whole.digits);
            }
        }
    }

    /// Inputs or features, with and without the theory's own quantities: what is made once is what [`Forecast::of`] makes.
    #[test]
    fn all_of_a_forecast_is_that_of_the_reordered_sequence() {
        let source = Source::new(Dataset::sample().unwrap(), &Preprocess { whiten: None, ..Preprocess::default() });
        let labels = crate::tasks::Labels::OneHotAll;
        let split = Split { tasks: 3, p: 40, p_test: 30, labels, ..Split::default() };
        let sequence = split.generate(&source.unwrap(), 3).unwrap();
        let order = [3, 1, 2];
        for (features, examples) in [(false, true), (true, false), (true, true)] {
            let settings = ForecastSettings { features, examples, ..ForecastSettings::default() };
            let context = crate::Context::default();
            let orders = ForecastOrders::new(&sequence, &settings, &context).unwrap();
            let answer = orders.complete(&sequence, &order, &context).unwrap();
            let whole = Forecast::of(&[sequence.ordered(&order).unwrap()], &settings, &context).unwrap();
            assert!(near(&answer.forgetting.unwrap().mean, &whole.forgetting.unwrap().mean), "{features}");
            assert_eq!(answer.trained.unwrap().accuracy, whole.trained.unwrap().accuracy, "{features}");
            // Counts of examples on either side.
            assert_eq!((&answer.keep, &answer.heads), (&whole.keep, &whole.heads), "{features}");
            assert!(answer.keep.is_some() && answer.heads.is_some());
            assert_eq!((&answer.examples, &answer.directions), (&whole.examples, &whole.directions));
            assert_eq!((answer.examples.is_some(), answer.notes), (examples, whole.notes));
        }
    }

    #[test]
    fn an_order_is_the_same_whatever_was_followed_before() {
        let sequence = &sequences()[0];
        let answer = |orders: &[&[usize]]| {
            let made = ForecastOrders::new(sequence, &ForecastSettings::default(), &crate::Context::default()).unwrap();
            let last = orders.iter().map(|order| made.forecast(order).unwrap()).last().unwrap();
            // To the bit: the steps that two orders share are the same operations.
            (last.forgetting.unwrap().mean, last.test.unwrap().loss.mean, last.trained)
        };
        let alone = answer(&[&[2, 1, 4, 3]]);
        for before in [[2, 1, 3, 4], [2, 3, 4, 1], [1, 2, 4, 3], [2, 1, 4, 3]] {
            assert_eq!(answer(&[&before, &[2, 1, 4, 3]]), alone, "{before:?}");
        }
        assert_ne!(answer(&[&[2, 1, 3, 4]]).0, alone.0);
    }

    #[test]
    fn what_orders_do_not_share_is_refused() {
        let sequence = &sequences()[1];
        let gibbs = SingleHeadSettings { mode: Mode::Gibbs, lambda: 10.0, ..Default::default() };
        let settings = ForecastSettings { theory: gibbs, ..Default::default() };
        assert!(
            ForecastOrders::new(sequence, &settings, &crate::Context::default())
                .unwrap_err()
                .to_string()
                .contains("mode")
        );
        let orders = ForecastOrders::new(sequence, &ForecastSettings::default(), &crate::Context::default()).unwrap();
        for wrong in [&[1, 2][..], &[1, 2, 2], &[0, 1, 2], &[1, 2, 4], &[]] {
            let said = orders.forecast(wrong).unwrap_err().to_string();
            assert!(said.contains("each of the 3 tasks once"), "{said}");
            assert!(sequence.ordered(wrong).is_err());
        }
        assert!(orders.bytes() >= 8 * (3 * 40 * 40 + 3 * 40 * 40));
    }
}
