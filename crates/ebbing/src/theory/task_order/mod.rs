//! The order of tasks with the least forecast forgetting: [`best_order`] and, over several draws, [`best_order_of`] return a
//! [`TaskOrder`].
//!
//! What is minimized is `Σ_{s<T} F[T][s]/(T−1)`, the mean forgetting at the end, or with [`OrderRank::Accuracy`] the mean error
//! on test data at the end. In modes `rf` and `ntk` every order
//! uses the same kernels and the same factors, so that learning one more task costs products with vectors only; many
//! orders are followed at once, and orders that begin alike share their beginning.

pub(crate) mod engine;
mod feature_space;
#[cfg(test)]
mod tests;

use super::single_head::{SingleHead, SingleHeadSettings};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::linalg::Mat;
use crate::rng::Stream;
use crate::stats::Estimate;
use crate::theory::Inputs;
use crate::theory::blocks::kernels::{KernelSource, Kernels};
use crate::theory::blocks::shared::{Shared, TaskInput};
use crate::theory::single_head::sequence_kernels::SequenceKernels;
use engine::Engine;
use feature_space::FeatureEngine;
use serde::{Deserialize, Serialize};

/// Rounds of moves after which the search gives up improving.
const ROUNDS: usize = 50;

/// What makes an order good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderRank {
    /// Little forgetting of training data: `Σ_{s<T} F[T][s]/(T−1)`.
    #[default]
    Forgetting,
    /// A high average accuracy on test data after the last task; of equal ones little forgetting.
    Accuracy,
}

/// Settings of [`best_order`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrderSearchSettings {
    /// The theory that forecasts; losses are those of the mean.
    pub theory: SingleHeadSettings,
    /// What makes an order good.
    pub rank: OrderRank,
    /// Every order is tried for up to this many tasks (default 7; at most 4 in mode `gibbs`).
    pub exhaustive_up_to: usize,
    /// Bytes of kernels that may be kept (default 1 GiB); where all would take more, the search uses a random part of each task.
    pub keep_bytes: usize,
    /// Seed of that random part.
    pub seed: u64,
}

impl Default for OrderSearchSettings {
    fn default() -> Self {
        let theory = SingleHeadSettings::default();
        OrderSearchSettings { theory, rank: OrderRank::default(), exhaustive_up_to: 7, keep_bytes: 1 << 30, seed: 0 }
    }
}

/// How an order was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchMethod {
    /// Every order was tried.
    Exhaustive,
    /// From the order given, and from one made by inserting tasks one by one where they do least harm, the best swap of two
    /// tasks or move of one was taken as long as that helped.
    InsertionAndMoves,
}

/// The order with the least forecast forgetting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskOrder {
    /// Tasks (from 1, as they were given) in the order found.
    pub order: Vec<usize>,
    /// Mean of `F[T][s]` over all tasks but the last, in the order found.
    pub forgetting: f64,
    /// The same in the order given.
    pub given: f64,
    /// `given − forgetting`, at least 0 where forgetting is what is ranked by.
    pub gain: f64,
    /// Average accuracy on test data after the last task in the order found and in the order given, where that is ranked by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<[f64; 2]>,
    /// The worst of the orders tried: its forgetting, or where accuracy is ranked by its accuracy.
    #[serde(default)]
    pub worst: f64,
    /// The standard error of the gain (of accuracy, where that is ranked by) over draws of the tasks, where there are several.
    #[serde(default)]
    pub gain_error: Option<f64>,
    /// Whether the best of as many orders without any difference would gain as much by chance: `gain ≤ SE √(2 ln tried)`, the
    /// size of the largest of so many Gaussian numbers. None where there is one draw.
    #[serde(default)]
    pub within_noise: Option<bool>,
    /// `F[t][s]` in the order found: row and column are places in it.
    pub forecast: Vec<Vec<f64>>,
    /// How it was found.
    pub method: SearchMethod,
    /// The number of complete orders tried.
    pub tried: usize,
    /// The most examples of a task that the search used; the forecasts use all of them.
    pub examples: usize,
}

/// Searches the order of tasks that minimizes the mean final forgetting `Σ_{s<T} F[T][s]/(T−1)`.
///
/// With replay, in modes other than `gibbs`, orders are compared without it; the forecasts of the order found and of the
/// order given are with it, and the one found is reported only where it is the better of the two.
///
/// Cost for P examples per task, once kernels and factors are made: about 2 T P² per task learned, and there are
/// `e·T!` of those for all orders. Memory: all kernels between tasks, within the budget of the settings.
///
/// # Errors
/// As for [`SingleHead::new`]; [`Error::Data`] for fewer than two tasks.
pub fn best_order<'a>(
    inputs: impl Into<Inputs<'a>>,
    settings: &OrderSearchSettings,
    context: &Context,
) -> Result<TaskOrder> {
    best_order_of(&[inputs.into()], settings, context)
}

/// [`best_order`] of the mean over several draws of the same tasks (as many tasks in each); `forecast` is that of the first.
///
/// # Errors
/// As for [`best_order`].
pub fn best_order_of(draws: &[Inputs<'_>], settings: &OrderSearchSettings, context: &Context) -> Result<TaskOrder> {
    context.run(|| {
        context.say("order of tasks: kernels", 0.0)?;
        let made = draws.iter().map(|draw| made(draw, settings, context)).collect::<Result<Vec<_>>>()?;
        let all = draws.iter().zip(&made).map(|(draw, made)| match made {
            Some(made) => Draw::of_made(made, settings, context),
            None => Draw::new(*draw, settings, context),
        });
        searched(all.collect::<Result<Vec<_>>>()?, settings, context)
    })
}

/// [`best_order`] from kernels that are there, those of held-out data too where orders are ranked by it.
pub(crate) fn best_order_from(
    made: &SequenceKernels,
    settings: &OrderSearchSettings,
    context: &Context,
) -> Result<TaskOrder> {
    searched(vec![Draw::of_made(made, settings, context)?], settings, context)
}

fn searched(mut all: Vec<Draw<'_>>, settings: &OrderSearchSettings, context: &Context) -> Result<TaskOrder> {
    let first = all.first().ok_or_else(|| Error::data("the task sequence", "there is none to order"))?;
    let (count, examples, whole) = (first.tasks.len(), first.examples, first.whole());
    let found = match all.as_slice() {
        [one] => one.searched(settings, context)?,
        // Orders are listed, not followed together: fewer of them are tried.
        _ => search(count, settings.exhaustive_up_to.min(6), &Averaged { draws: &all }, context)?,
    };
    // Kernels between all tasks have done their service.
    all.iter_mut().for_each(|draw| draw.engine = None);
    context.say("order of tasks: the one given and the best one", 1.0)?;
    let learned = |order: &[usize]| all.iter().map(|draw| draw.learned(order)).collect::<Result<Vec<_>>>();
    let (given, reordered) = (learned(&(0..count).collect::<Vec<_>>())?, learned(&found.order)?);
    let results = |all: &[SingleHead]| all.iter().map(|one| settings.rank.result(one)).collect::<Result<Vec<_>>>();
    let (old, new) = (results(&given)?, results(&reordered)?);
    let value = |(forgetting, accuracy): &(f64, Option<f64>)| settings.rank.value(*forgetting, *accuracy);
    let gains: Vec<f64> = old.iter().zip(&new).map(|(a, b)| value(a) - value(b)).collect();
    let forgetting = |all: &[(f64, Option<f64>)]| all.iter().map(|o| o.0).sum::<f64>() / all.len() as f64;
    let accuracy = |all: &[(f64, Option<f64>)]| {
        let each: Option<Vec<f64>> = all.iter().map(|o| o.1).collect();
        each.map(|each| each.iter().sum::<f64>() / each.len() as f64)
    };
    let (before, after, gain) = (forgetting(&old), forgetting(&new), Estimate::over(&gains));
    let better = gain.value > 0.0;
    let mean = |all: &[(f64, Option<f64>)]| all.iter().map(value).sum::<f64>() / all.len() as f64;
    // Of a part of the examples the search knows the worst order, not how bad it is with all of them.
    let worst = match whole {
        true => found.worst.1,
        false => mean(&results(&learned(&found.worst.0)?)?),
    };
    let worst = worst.max(mean(&old)).max(mean(&new));
    let best = if better { &new } else { &old };
    let order = if better { found.order } else { (0..count).collect() };
    let luckiest = (2.0 * (found.tried as f64).ln()).max(1.0).sqrt();
    Ok(TaskOrder {
        order: order.iter().map(|t| t + 1).collect(),
        forgetting: if better { after } else { before },
        given: before,
        gain: if better { before - after } else { 0.0 },
        accuracy: accuracy(best).zip(accuracy(&old)).map(|(found, given)| [found, given]),
        worst: settings.rank.of_score(worst),
        gain_error: gain.standard_error,
        within_noise: gain.standard_error.map(|error| gain.value <= error * luckiest),
        forecast: if better { &reordered[0] } else { &given[0] }.forgetting()?,
        method: found.method,
        tried: found.tried,
        examples,
    })
}

/// One draw of the tasks, ready to forecast any order.
struct Draw<'a> {
    tasks: Vec<TaskInput<'a>>,
    theory: SingleHeadSettings,
    source: Box<dyn Fn() -> KernelSource + 'a>,
    /// Where every order uses the same kernels.
    engine: Option<Box<dyn Forecaster>>,
    examples: usize,
    rank: OrderRank,
}

impl<'a> Draw<'a> {
    fn new(inputs: Inputs<'a>, settings: &OrderSearchSettings, context: &Context) -> Result<Draw<'a>> {
        let (network, prior) = (settings.theory.architecture, settings.theory.checked()?);
        let given = inputs.given(settings.theory.bias2)?;
        Self::with(given, Box::new(move || inputs.source(network, prior)), settings, context)
    }

    fn of_made(made: &'a SequenceKernels, settings: &OrderSearchSettings, context: &Context) -> Result<Draw<'a>> {
        Self::with(made.given(), Box::new(|| made.source()), settings, context)
    }

    fn with(
        tasks: Vec<TaskInput<'a>>,
        source: Box<dyn Fn() -> KernelSource + 'a>,
        settings: &OrderSearchSettings,
        context: &Context,
    ) -> Result<Draw<'a>> {
        let theory = SingleHeadSettings { variance: false, ..settings.theory };
        if tasks.len() < 2 {
            return Err(Error::data("the task sequence", format!("it holds {} task; an order needs two", tasks.len())));
        }
        if settings.rank == OrderRank::Accuracy && tasks.iter().any(|task| task.test.is_none()) {
            let problem = "not every task has test data, by which orders are to be ranked";
            return Err(Error::data("the task sequence", problem));
        }
        let kernels = Kernels::new(source(), settings.theory.limit()?)?;
        let most = tasks.iter().map(|task| task.points.len()).max().unwrap_or(0);
        let (engine, examples): (Option<Box<dyn Forecaster>>, usize) = if !kernels.stationary() {
            (None, most)
        } else if feature_space::serves(&kernels.source, &tasks) {
            (Some(Box::new(FeatureEngine::new(&settings.theory, &tasks, settings.rank, context)?)), most)
        } else {
            let (shared, examples) = part(settings, &tasks);
            let engine = Engine::new(&kernels, &settings.theory, &shared, (settings.rank, false), context)?;
            (Some(Box::new(engine)), examples)
        };
        Ok(Draw { tasks, theory, source, engine, examples, rank: settings.rank })
    }

    /// The tasks learned in an order, with all examples.
    fn learned(&self, order: &[usize]) -> Result<SingleHead> {
        let ordered: Vec<TaskInput<'_>> = order.iter().map(|&t| self.tasks[t].clone()).collect();
        SingleHead::learn(self.theory, (self.source)(), &ordered)
    }

    /// Whether the search uses all examples.
    fn whole(&self) -> bool {
        self.tasks.iter().all(|task| task.points.len() <= self.examples)
    }

    fn searched(&self, settings: &OrderSearchSettings, context: &Context) -> Result<SearchResult> {
        let count = self.tasks.len();
        match &self.engine {
            Some(engine) => search(count, settings.exhaustive_up_to, engine.as_ref(), context),
            None => {
                let alone = Averaged { draws: std::slice::from_ref(self) };
                search(count, settings.exhaustive_up_to.min(4), &alone, context)
            }
        }
    }

    /// How good orders are: less is better.
    fn of(&self, orders: &[Vec<usize>], context: &Context) -> Result<Vec<f64>> {
        let Some(engine) = &self.engine else {
            let value = |(forgetting, accuracy)| self.rank.value(forgetting, accuracy);
            let each = |(done, order): (usize, &Vec<usize>)| {
                let tasks: Vec<String> = order.iter().map(|task| (task + 1).to_string()).collect();
                let text = format!("the order {} ({} of {})", tasks.join(", "), done + 1, orders.len());
                context.say(&text, done as f64 / orders.len() as f64)?;
                self.rank.result(&self.learned(order)?).map(value)
            };
            return orders.iter().enumerate().map(each).collect();
        };
        engine.of(orders, context)
    }
}

/// The mean over draws, order by order.
struct Averaged<'a> {
    draws: &'a [Draw<'a>],
}

/// Kernels made once for the search and the forecasts of what it finds, where half of the budget holds them.
fn made(draw: &Inputs<'_>, settings: &OrderSearchSettings, context: &Context) -> Result<Option<SequenceKernels>> {
    let Inputs::Network(sequence) = draw else { return Ok(None) };
    // Orders are followed without regard to inputs that all tasks hold.
    let theory = SingleHeadSettings { share: false, variance: false, ..settings.theory };
    SequenceKernels::of(
        sequence,
        &theory,
        settings.rank == OrderRank::Accuracy,
        settings.keep_bytes / 2,
        context.plan(),
    )
}

impl OrderRank {
    /// Mean final forgetting and, where that is ranked by, accuracy.
    fn result(self, learned: &SingleHead) -> Result<(f64, Option<f64>)> {
        match self {
            OrderRank::Forgetting => {
                let forgetting = learned.forgetting()?;
                let last = &forgetting[forgetting.len() - 1];
                Ok((last[..last.len() - 1].iter().sum::<f64>() / (last.len() - 1) as f64, None))
            }
            OrderRank::Accuracy => learned.outcome().map(|outcome| (outcome.forgetting, outcome.accuracy)),
        }
    }

    /// The number that a good order has small.
    fn value(self, forgetting: f64, accuracy: Option<f64>) -> f64 {
        // Accuracies are shares of at most millions of examples: forgetting decides between equal ones only.
        const TIE: f64 = 1e-9;
        match self {
            OrderRank::Forgetting => forgetting,
            OrderRank::Accuracy => 1.0 - accuracy.unwrap_or(0.0) + TIE * forgetting,
        }
    }

    /// Forgetting or accuracy of that number.
    fn of_score(self, value: f64) -> f64 {
        match self {
            OrderRank::Forgetting => value,
            OrderRank::Accuracy => 1.0 - value,
        }
    }
}

/// The tasks, or as much of them as the kernels between all of them may take, and the most examples used of a task.
fn part(settings: &OrderSearchSettings, given: &[TaskInput<'_>]) -> (Shared, usize) {
    let mut shared = Shared::nothing(given);
    let total: usize = given.iter().map(|task| task.points.len()).sum();
    // Half of the pairs are kept, beside the factors.
    let share = (settings.keep_bytes as f64 / (4.0 * (total * total) as f64)).sqrt();
    for (t, task) in shared.tasks.iter_mut().enumerate().filter(|_| share < 1.0) {
        let p = task.own.len();
        let size = ((share * p as f64) as usize).clamp(2, p);
        let mut chosen = Stream::new(settings.seed, "order search", t as u64).choose(p, size);
        chosen.sort_unstable();
        task.own = task.own.points().select(&chosen);
        task.y = Mat::from_fn(size, task.y.ncols(), |i, j| task.y[(chosen[i], j)]);
        task.start = task.start.as_ref().map(|start| start.select(&chosen));
    }
    let most = shared.tasks.iter().map(|task| task.own.len()).max().unwrap_or(0);
    (shared, most)
}

/// What forecasts how good (also incomplete) orders are.
trait Forecaster {
    /// Of each of the orders.
    fn of(&self, orders: &[Vec<usize>], context: &Context) -> Result<Vec<f64>>;

    /// The best of all orders of `count` tasks, their number, and the worst of them.
    fn exhaust(&self, count: usize, context: &Context) -> Result<(Vec<usize>, usize, Valued)>;
}

/// How many orders were tried, of how many.
fn say_tried(tried: usize, all: usize, context: &Context) -> Result<()> {
    context.say(&format!("order of tasks: {tried} of {all} tried"), tried as f64 / all as f64)
}

/// An order and how good it is: less is better.
type Valued = (Vec<usize>, f64);

/// What a search comes back with.
#[derive(Debug, Clone)]
pub(crate) struct SearchResult {
    pub order: Vec<usize>,
    pub method: SearchMethod,
    pub tried: usize,
    pub worst: Valued,
}

impl SearchResult {
    /// Keeps the worst order seen.
    fn worse(&mut self, other: Valued) {
        if other.1 > self.worst.1 {
            self.worst = other;
        }
    }
}

fn search(
    count: usize,
    exhaustive_up_to: usize,
    forecaster: &dyn Forecaster,
    context: &Context,
) -> Result<SearchResult> {
    if count <= exhaustive_up_to {
        let (order, tried, worst) = forecaster.exhaust(count, context)?;
        return Ok(SearchResult { order, method: SearchMethod::Exhaustive, tried, worst });
    }
    // How many rounds will help is not known before: a share of one is none of the whole.
    let context = &context.without_shares();
    let starts = [(0..count).collect(), insert(count, forecaster, context)?];
    let method = SearchMethod::InsertionAndMoves;
    let mut found = SearchResult { order: vec![], method, tried: 0, worst: (vec![], f64::NEG_INFINITY) };
    let mut least_so_far = f64::INFINITY;
    for start in starts {
        let (order, value) = improve(start, forecaster, &mut found, context)?;
        if value < least_so_far {
            (found.order, least_so_far) = (order, value);
        }
    }
    Ok(found)
}

/// Takes the best of all swaps of two tasks and moves of one task, as long as that forgets less.
fn improve(
    start: Vec<usize>,
    forecaster: &dyn Forecaster,
    found: &mut SearchResult,
    context: &Context,
) -> Result<(Vec<usize>, f64)> {
    let (mut order, mut value, worst) = least(vec![start], forecaster, context)?;
    found.worse(worst);
    for round in 1..=ROUNDS {
        context.say(&format!("order of tasks: round {round} of moves"), 0.0)?;
        let pairs = (0..order.len()).flat_map(|i| (0..order.len()).map(move |j| (i, j)));
        let mut changed: Vec<Vec<usize>> = vec![];
        for (i, j) in pairs.filter(|(i, j)| i != j) {
            let mut moved = order.clone();
            let task = moved.remove(i);
            moved.insert(j, task);
            changed.push(moved);
            if i + 1 < j {
                let mut swapped = order.clone();
                swapped.swap(i, j);
                changed.push(swapped);
            }
        }
        found.tried += changed.len();
        let (best, new, worst) = least(changed, forecaster, context)?;
        found.worse(worst);
        if new >= value {
            break;
        }
        (order, value) = (best, new);
    }
    Ok((order, value))
}

/// Begins with the best pair and puts each further task where the order so far forgets least.
fn insert(count: usize, forecaster: &dyn Forecaster, context: &Context) -> Result<Vec<usize>> {
    let pairs = (0..count).flat_map(|i| (0..count).filter(move |j| *j != i).map(move |j| vec![i, j]));
    let (mut order, ..) = least(pairs.collect(), forecaster, context)?;
    for task in 0..count {
        if order.contains(&task) {
            continue;
        }
        let places = (0..=order.len()).map(|place| {
            let mut longer = order.clone();
            longer.insert(place, task);
            longer
        });
        order = least(places.collect(), forecaster, context)?.0;
    }
    Ok(order)
}

/// The order with the least forecast, the first of equals, that forecast, and the order with the largest.
fn least(orders: Vec<Vec<usize>>, forecaster: &dyn Forecaster, context: &Context) -> Result<(Vec<usize>, f64, Valued)> {
    let values = forecaster.of(&orders, context)?;
    let largest = (0..orders.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]));
    let worst = largest.map_or((vec![], f64::NEG_INFINITY), |k| (orders[k].clone(), values[k]));
    let pairs = orders.into_iter().zip(values);
    let best = pairs.reduce(|best, next| if next.1 < best.1 { next } else { best });
    let (order, value) = best.unwrap_or((vec![], f64::INFINITY));
    Ok((order, value, worst))
}

/// All orders of so many tasks.
fn every_order(count: usize) -> Vec<Vec<usize>> {
    (1..count).fold(vec![vec![0]], |shorter: Vec<Vec<usize>>, task| {
        let longer = |order: Vec<usize>| {
            (0..=order.len()).map(move |place| {
                let mut longer = order.clone();
                longer.insert(place, task);
                longer
            })
        };
        shorter.into_iter().flat_map(longer).collect()
    })
}

impl Forecaster for Averaged<'_> {
    fn of(&self, orders: &[Vec<usize>], context: &Context) -> Result<Vec<f64>> {
        let values = |(k, draw): (usize, &Draw<'_>)| draw.of(orders, &context.part(k, self.draws.len()));
        let each = self.draws.iter().enumerate().map(values).collect::<Result<Vec<_>>>()?;
        let mean = |k: usize| each.iter().map(|values| values[k]).sum::<f64>() / each.len() as f64;
        Ok((0..orders.len()).map(mean).collect())
    }

    fn exhaust(&self, count: usize, context: &Context) -> Result<(Vec<usize>, usize, Valued)> {
        let orders = every_order(count);
        let tried = orders.len();
        let (order, _, worst) = least(orders, self, context)?;
        Ok((order, tried, worst))
    }
}
