//! The order of tasks with the least forecast forgetting: [`best_order`] and, over several draws, [`best_order_of`] return a
//! [`TaskOrder`].
//!
//! What is minimised is `Σ_{s<T} F[T][s]/(T−1)`, the mean forgetting at the end. In modes `rf` and `ntk` every order
//! uses the same kernels and the same factors, so that learning one more task costs products with vectors only; many
//! orders are followed at once, and orders that begin alike share their beginning.

mod engine;

use super::single_head::{SingleHead, SingleHeadSettings};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use crate::rng::Stream;
use crate::stats::Estimate;
use crate::theory::Inputs;
use crate::theory::blocks::kernels::{KernelSource, Kernels};
use crate::theory::blocks::shared::{Given, Shared};
use engine::Engine;
use serde::{Deserialize, Serialize};

/// Rounds of moves after which the search gives up improving.
const ROUNDS: usize = 50;

/// Settings of [`best_order`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrderSearchSettings {
    /// The theory that forecasts; losses are those of the mean.
    pub theory: SingleHeadSettings,
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
        OrderSearchSettings { theory, exhaustive_up_to: 7, keep_bytes: 1 << 30, seed: 0 }
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
    /// `given − forgetting`, at least 0.
    pub gain: f64,
    /// The standard error of the gain over draws of the tasks, where there are several.
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

/// Searches the order of tasks that minimises the mean final forgetting `Σ_{s<T} F[T][s]/(T−1)`.
///
/// With replay, in modes other than `gibbs`, orders are compared without it; the forecasts of the order found and of the
/// order given are with it, and the one found is told only where it is the better of the two.
///
/// Cost for P examples per task, once kernels and factors are made: about 2 T P² per task learned, and there are
/// `e·T!` of those for all orders. Memory: all kernels between tasks, within the budget of the settings.
///
/// # Errors
/// As for [`SingleHead::new`]; [`Error::Data`] for fewer than two tasks.
pub fn best_order<'a>(inputs: impl Into<Inputs<'a>>, settings: &OrderSearchSettings) -> Result<TaskOrder> {
    best_order_of(&[inputs.into()], settings)
}

/// [`best_order`] of the mean over several draws of the same tasks (as many tasks in each); `forecast` is that of the first.
///
/// # Errors
/// As for [`best_order`].
pub fn best_order_of(draws: &[Inputs<'_>], settings: &OrderSearchSettings) -> Result<TaskOrder> {
    let all = draws.iter().map(|draw| Draw::new(draw, settings)).collect::<Result<Vec<Draw<'_>>>>()?;
    let first = all.first().ok_or_else(|| Error::data("the task sequence", "there is none to order"))?;
    let count = first.tasks.len();
    let found = match &all[..] {
        [one] => one.searched(settings)?,
        // Orders are listed, not followed together: fewer of them are tried.
        _ => search(count, settings.exhaustive_up_to.min(6), &Averaged { draws: &all })?,
    };
    let forecasts = |order: &[usize]| all.iter().map(|draw| draw.forecast(order)).collect::<Result<Vec<_>>>();
    let given = forecasts(&(0..count).collect::<Vec<_>>())?;
    let reordered = forecasts(&found.order)?;
    let gains: Vec<f64> = given.iter().zip(&reordered).map(|(a, b)| mean_final(a) - mean_final(b)).collect();
    let mean = |all: &[Vec<Vec<f64>>]| Estimate::over(&all.iter().map(|f| mean_final(f)).collect::<Vec<_>>()).value;
    let (before, after, gain) = (mean(&given), mean(&reordered), Estimate::over(&gains));
    let better = after < before;
    let order = if better { found.order } else { (0..count).collect() };
    let luckiest = (2.0 * (found.tried as f64).ln()).max(1.0).sqrt();
    Ok(TaskOrder {
        order: order.iter().map(|t| t + 1).collect(),
        forgetting: after.min(before),
        given: before,
        gain: (before - after).max(0.0),
        gain_error: gain.standard_error,
        within_noise: gain.standard_error.map(|error| gain.value <= error * luckiest),
        forecast: if better { reordered } else { given }.swap_remove(0),
        method: found.method,
        tried: found.tried,
        examples: first.examples,
    })
}

/// One draw of the tasks, ready to forecast any order.
struct Draw<'a> {
    tasks: Vec<Given<'a>>,
    theory: SingleHeadSettings,
    source: Box<dyn Fn() -> KernelSource + 'a>,
    /// Where every order uses the same kernels.
    engine: Option<Engine>,
    examples: usize,
}

impl<'a> Draw<'a> {
    fn new(inputs: &'a Inputs<'a>, settings: &OrderSearchSettings) -> Result<Draw<'a>> {
        let theory = SingleHeadSettings { variance: false, ..settings.theory };
        let prior = theory.checked()?;
        let source = move || inputs.source(theory.architecture, prior);
        let tasks = inputs.given()?;
        if tasks.len() < 2 {
            return Err(Error::data("the task sequence", format!("it holds {} task; an order needs two", tasks.len())));
        }
        let kernels = Kernels::new(source(), &settings.theory)?;
        let (engine, examples) = if kernels.stationary() {
            let (shared, examples) = part(settings, &tasks);
            (Some(Engine::new(&kernels, &settings.theory, &shared)?), examples)
        } else {
            (None, tasks.iter().map(|task| task.points.len()).max().unwrap_or(0))
        };
        Ok(Draw { tasks, theory, source: Box::new(source), engine, examples })
    }

    /// `F[t][s]` in an order, with all examples.
    fn forecast(&self, order: &[usize]) -> Result<Vec<Vec<f64>>> {
        let ordered: Vec<Given<'_>> = order.iter().map(|&t| self.tasks[t].clone()).collect();
        SingleHead::learn(self.theory, (self.source)(), &ordered)?.forgetting()
    }

    fn searched(&self, settings: &OrderSearchSettings) -> Result<SearchResult> {
        let count = self.tasks.len();
        match &self.engine {
            Some(engine) => search(count, settings.exhaustive_up_to, engine),
            None => search(count, settings.exhaustive_up_to.min(4), &Averaged { draws: std::slice::from_ref(self) }),
        }
    }

    /// The mean final forgetting of orders.
    fn of(&self, orders: &[Vec<usize>]) -> Result<Vec<f64>> {
        match &self.engine {
            Some(engine) => engine.of(orders),
            None => orders.iter().map(|order| Ok(mean_final(&self.forecast(order)?))).collect(),
        }
    }
}

/// The mean over draws, order by order.
struct Averaged<'a> {
    draws: &'a [Draw<'a>],
}

/// The mean of the last row but its last entry.
fn mean_final(forgetting: &[Vec<f64>]) -> f64 {
    let last = &forgetting[forgetting.len() - 1];
    last[..last.len() - 1].iter().sum::<f64>() / (last.len() - 1) as f64
}

/// The tasks, or as much of them as the kernels between all of them may take, and the most examples used of a task.
fn part(settings: &OrderSearchSettings, given: &[Given<'_>]) -> (Shared, usize) {
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

/// What forecasts the mean final forgetting of (also incomplete) orders.
trait Forecaster {
    /// Of each of the orders.
    fn of(&self, orders: &[Vec<usize>]) -> Result<Vec<f64>>;

    /// The best of all orders of `count` tasks, and their number.
    fn exhaust(&self, count: usize) -> Result<(Vec<usize>, usize)>;
}

/// What a search comes back with.
struct SearchResult {
    order: Vec<usize>,
    method: SearchMethod,
    tried: usize,
}

fn search(count: usize, exhaustive_up_to: usize, forecaster: &impl Forecaster) -> Result<SearchResult> {
    if count <= exhaustive_up_to {
        let (order, tried) = forecaster.exhaust(count)?;
        return Ok(SearchResult { order, method: SearchMethod::Exhaustive, tried });
    }
    let starts = [(0..count).collect(), insert(count, forecaster)?];
    let mut found = SearchResult { order: vec![], method: SearchMethod::InsertionAndMoves, tried: 0 };
    let mut least_so_far = f64::INFINITY;
    for start in starts {
        let (order, value) = improve(start, forecaster, &mut found.tried)?;
        if value < least_so_far {
            (found.order, least_so_far) = (order, value);
        }
    }
    Ok(found)
}

/// Takes the best of all swaps of two tasks and moves of one task, as long as that forgets less.
fn improve(start: Vec<usize>, forecaster: &impl Forecaster, tried: &mut usize) -> Result<(Vec<usize>, f64)> {
    let (mut order, mut value) = least(vec![start], forecaster)?;
    for _ in 0..ROUNDS {
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
        *tried += changed.len();
        let (best, new) = least(changed, forecaster)?;
        if new >= value {
            break;
        }
        (order, value) = (best, new);
    }
    Ok((order, value))
}

/// Begins with the best pair and puts each further task where the order so far forgets least.
fn insert(count: usize, forecaster: &impl Forecaster) -> Result<Vec<usize>> {
    let pairs = (0..count).flat_map(|i| (0..count).filter(move |j| *j != i).map(move |j| vec![i, j]));
    let (mut order, _) = least(pairs.collect(), forecaster)?;
    for task in 0..count {
        if order.contains(&task) {
            continue;
        }
        let places = (0..=order.len()).map(|place| {
            let mut longer = order.clone();
            longer.insert(place, task);
            longer
        });
        order = least(places.collect(), forecaster)?.0;
    }
    Ok(order)
}

/// The order with the least forecast, the first of equals.
fn least(orders: Vec<Vec<usize>>, forecaster: &impl Forecaster) -> Result<(Vec<usize>, f64)> {
    let values = forecaster.of(&orders)?;
    let pairs = orders.into_iter().zip(values);
    Ok(pairs.reduce(|best, next| if next.1 < best.1 { next } else { best }).unwrap_or((vec![], f64::INFINITY)))
}

impl Forecaster for Averaged<'_> {
    fn of(&self, orders: &[Vec<usize>]) -> Result<Vec<f64>> {
        let each = self.draws.iter().map(|draw| draw.of(orders)).collect::<Result<Vec<_>>>()?;
        let mean = |k: usize| each.iter().map(|values| values[k]).sum::<f64>() / each.len() as f64;
        Ok((0..orders.len()).map(mean).collect())
    }

    fn exhaust(&self, count: usize) -> Result<(Vec<usize>, usize)> {
        let orders = (1..count).fold(vec![vec![0]], |shorter: Vec<Vec<usize>>, task| {
            let longer = |order: Vec<usize>| {
                (0..=order.len()).map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, task);
                    longer
                })
            };
            shorter.into_iter().flat_map(longer).collect()
        });
        let tried = orders.len();
        Ok((least(orders, self)?.0, tried))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::{Task, TaskSequence};
    use crate::theory::blocks::kernels::KernelSource;
    use crate::theory::single_head::Mode;

    fn tasks(sizes: &[usize], columns: usize, seed: u64) -> TaskSequence {
        let mut stream = Stream::new(seed, "order tests", 0);
        let mut gauss = |rows: usize, columns: usize| Mat::from_fn(rows, columns, |_, _| stream.normal());
        let task = |&p: &usize| Task::new(gauss(p, 15), gauss(p, columns));
        TaskSequence { tasks: sizes.iter().map(task).collect(), settings: serde_json::Value::Null }
    }

    /// The tasks in another order.
    fn in_order(sequence: &TaskSequence, order: &[usize]) -> TaskSequence {
        let tasks = order.iter().map(|&t| sequence.tasks[t].clone()).collect();
        TaskSequence { tasks, settings: sequence.settings.clone() }
    }

    fn settings(mode: Mode, lambda: f64, beta: f64) -> OrderSearchSettings {
        OrderSearchSettings {
            theory: SingleHeadSettings { mode, lambda, beta, ..Default::default() },
            ..Default::default()
        }
    }

    /// The least mean final forgetting over all orders of four tasks, each forecast by itself.
    fn by_hand(theory: SingleHeadSettings, sequence: &TaskSequence) -> (Vec<usize>, f64) {
        let mut best = (vec![], f64::INFINITY);
        for code in 0..256usize {
            let order: Vec<usize> = (0..4).map(|place| code >> (2 * place) & 3).collect();
            if (0..4).all(|t| order.contains(&t)) {
                let f = SingleHead::new(&in_order(sequence, &order), &theory).unwrap().forgetting().unwrap();
                let value = (f[3][0] + f[3][1] + f[3][2]) / 3.0;
                if value < best.1 {
                    best = (order.iter().map(|t| t + 1).collect(), value);
                }
            }
        }
        best
    }

    #[test]
    fn every_order_is_tried() {
        let sequence = tasks(&[8, 6, 9, 7], 2, 1);
        for (mode, lambda, beta) in [
            (Mode::Rf, f64::INFINITY, f64::INFINITY),
            (Mode::Ntk, f64::INFINITY, f64::INFINITY),
            (Mode::Rf, f64::INFINITY, 3.0),
            (Mode::Ntk, f64::INFINITY, 3.0),
            (Mode::Gibbs, 2.0, f64::INFINITY),
        ] {
            let settings = settings(mode, lambda, beta);
            let found = best_order(&sequence, &settings).unwrap();
            let (order, value) = by_hand(settings.theory, &sequence);
            assert_eq!((found.order, found.method, found.tried), (order, SearchMethod::Exhaustive, 24), "{mode:?}");
            assert!((found.forgetting - value).abs() < 1e-12 && found.gain >= 0.0);
            assert!((found.given - found.gain - found.forgetting).abs() < 1e-14);
        }
    }

    #[test]
    fn forecasts_of_orders_are_those_of_the_theory() {
        let sequence = tasks(&[8, 6, 9, 7, 10], 1, 2);
        for (mode, beta) in [(Mode::Rf, f64::INFINITY), (Mode::Ntk, 5.0)] {
            let settings = settings(mode, f64::INFINITY, beta);
            let source = KernelSource::network(settings.theory.architecture, settings.theory.checked().unwrap());
            let kernels = Kernels::new(source, &settings.theory).unwrap();
            let engine =
                Engine::new(&kernels, &settings.theory, &part(&settings, &Inputs::from(&sequence).given().unwrap()).0)
                    .unwrap();
            let orders = [vec![3, 1], vec![4, 0, 2, 1, 3], vec![2, 3, 0], vec![0, 1, 2, 3, 4]];
            for (order, value) in orders.iter().zip(engine.of(&orders).unwrap()) {
                let f = SingleHead::new(&in_order(&sequence, order), &settings.theory).unwrap().forgetting().unwrap();
                // Rounding times a condition number below 1e3.
                assert!((value - mean_final(&f)).abs() < 1e-12, "{order:?}: {value}");
            }
        }
    }

    #[test]
    fn the_heuristic_lies_between_the_given_order_and_the_best() {
        let mut found = 0;
        for seed in 3..8 {
            let sequence = tasks(&[8; 6], 1, seed);
            let all = settings(Mode::Rf, f64::INFINITY, f64::INFINITY);
            let quick = best_order(&sequence, &OrderSearchSettings { exhaustive_up_to: 3, ..all }).unwrap();
            let best = best_order(&sequence, &all).unwrap();
            assert_eq!((quick.method, best.tried), (SearchMethod::InsertionAndMoves, 720));
            assert!(best.forgetting <= quick.forgetting + 1e-12 && quick.forgetting <= quick.given);
            found += usize::from(quick.order == best.order);
        }
        assert!(found >= 3, "the best of 720 orders was found {found} times of 5");
    }

    #[test]
    fn a_small_budget_searches_on_a_part_but_forecasts_all() {
        let sequence = tasks(&[20, 20, 20], 1, 9);
        let all = settings(Mode::Rf, f64::INFINITY, f64::INFINITY);
        let part = best_order(&sequence, &OrderSearchSettings { keep_bytes: 4 * 900, ..all }).unwrap();
        assert_eq!(part.examples, 10);
        let order: Vec<usize> = part.order.iter().map(|t| t - 1).collect();
        let f = SingleHead::new(&in_order(&sequence, &order), &all.theory);
        assert_eq!(part.forecast, f.unwrap().forgetting().unwrap());
        assert_eq!(part.forgetting, mean_final(&part.forecast));
        assert!(part.gain >= 0.0 && best_order(&sequence, &all).unwrap().forgetting <= part.forgetting);
    }

    #[test]
    fn features_and_bad_input() {
        let sequence = tasks(&[20, 18, 22], 1, 10);
        let all = settings(Mode::Rf, f64::INFINITY, f64::INFINITY);
        let found = best_order(Inputs::Features(&sequence), &all).unwrap();
        let order: Vec<usize> = found.order.iter().map(|t| t - 1).collect();
        let f =
            SingleHead::new(Inputs::Features(&in_order(&sequence, &order)), &all.theory).unwrap().forgetting().unwrap();
        assert_eq!(found.forgetting, mean_final(&f));
        assert!(best_order(&tasks(&[8], 1, 0), &all).unwrap_err().to_string().contains("1 task"));
    }

    #[test]
    fn several_draws_are_ordered_by_their_mean() {
        let draws: Vec<TaskSequence> = (1..=3).map(|seed| tasks(&[7, 8, 6], 1, seed)).collect();
        let inputs: Vec<Inputs<'_>> = draws.iter().map(Inputs::from).collect();
        let settings = OrderSearchSettings::default();
        let found = best_order_of(&inputs, &settings).unwrap();
        let mean = |order: &[usize]| {
            let one = |draw: &TaskSequence| {
                let ordered = in_order(draw, &order.iter().map(|t| t - 1).collect::<Vec<_>>());
                mean_final(&SingleHead::new(&ordered, &settings.theory).unwrap().forgetting().unwrap())
            };
            draws.iter().map(one).sum::<f64>() / 3.0
        };
        let all = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]];
        let least = all.iter().map(|order| mean(order)).fold(f64::INFINITY, f64::min);
        // The two ways differ by rounding of kernels with condition numbers below 1e4.
        assert!((found.forgetting - least).abs() < 1e-9 && (mean(&found.order) - least).abs() < 1e-9);
        assert!((found.given - mean(&[1, 2, 3])).abs() < 1e-9);
        assert_eq!(found.tried, 6);
        let noise = found.gain_error.unwrap() * (2.0 * 6f64.ln()).sqrt();
        assert_eq!(found.within_noise, Some(found.gain <= noise));
        assert_eq!(best_order(&draws[0], &settings).unwrap().within_noise, None);
    }
}
