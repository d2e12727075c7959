//! Many orders of tasks followed at once, where kernels do not depend on the times: one product per pair of tasks for all.

use super::{Forecaster, OrderRank, Valued};
use crate::context::Context;
use crate::error::Result;
use crate::linalg::{Mat, MatRef, matmul};
use crate::metrics::accuracy;
use crate::stop;
use crate::theory::blocks::factor::Factor;
use crate::theory::blocks::kernels::{Kernels, Which};
use crate::theory::blocks::shared::{Shared, Start};
use crate::theory::operator::{self, Operator};
use crate::theory::single_head::SingleHeadSettings;
use crate::theory::single_head::score::{Score, Scores};
use std::sync::{Mutex, PoisonError};

/// Numbers of columns that are followed at once.
pub(crate) const ORDERS_AT_ONCE: usize = 512;

/// Kernels between all tasks, and the factors of each, for kernels that do not depend on the times.
#[derive(Debug)]
pub(crate) struct Engine {
    y: Vec<Mat<f64>>,
    rank: OrderRank,
    /// Condition numbers of every task's kernel: as the first task of an order, and as a later one.
    conditions: [Vec<f64>; 2],
    norms: Vec<f64>,
    ridge: f64,
    factors: Vec<Factor>,
    /// `blocks[i][j]`, j < i.
    blocks: Vec<Vec<Mat<f64>>>,
    /// `start[j][i]`: a network that has learned task j only, at the inputs of task i.
    start: Vec<Vec<Mat<f64>>>,
    /// Held-out data of every task, where orders are ranked by it.
    tests: Vec<TestBlocks>,
    /// The steps of the order that was followed last: the next one is computed from where it parts with it.
    last: Mutex<Vec<Step>>,
}

/// A network after one more task of an order, and its scores at every task, by task.
#[derive(Debug)]
struct Step {
    task: usize,
    network: Learning,
    train: Vec<Score>,
    test: Vec<Score>,
}

/// What a network answers at the inputs that it has learned: the targets without the ridge's part, and without what a singular
/// kernel cannot learn of what there was to learn (`rest`).
fn at_own_inputs(factor: &Factor, targets: MatRef<'_, f64>, rest: MatRef<'_, f64>, ridged: Mat<f64>) -> Mat<f64> {
    let learned = targets - ridged;
    match factor.unlearned(rest) {
        Some(unlearned) => learned - unlearned,
        None => learned,
    }
}

/// The held-out data of one task.
#[derive(Debug)]
struct TestBlocks {
    y: Mat<f64>,
    first: Option<Start>,
    /// `blocks[j] = K(X, X_j)` at its inputs X.
    blocks: Vec<Mat<f64>>,
    /// `start[j]`: a network that has learned task j only, at its inputs.
    start: Vec<Mat<f64>>,
}

/// Networks that have each learned some tasks: their orders, and their outputs at the inputs of every task side by side.
#[derive(Debug, Clone)]
struct Learning {
    orders: Vec<Vec<usize>>,
    f: Vec<Mat<f64>>,
    /// The same at held-out inputs.
    g: Vec<Mat<f64>>,
}

/// Some networks, and the task that they learn next.
struct Next<'a> {
    engine: &'a Engine,
    learning: &'a mut Learning,
    task: usize,
    /// Their columns.
    columns: Vec<usize>,
    rest: Mat<f64>,
}

impl Operator for Next<'_> {
    type Vector = Mat<f64>;

    fn tasks(&self) -> usize {
        1
    }

    fn rest(&mut self, _: usize) -> Result<Mat<f64>> {
        let (y, f, k) = (&self.engine.y[self.task], &self.learning.f[self.task], self.engine.columns());
        self.rest = Mat::from_fn(y.nrows(), self.columns.len(), |i, c| y[(i, c % k)] - f[(i, self.columns[c])]);
        Ok(self.rest.clone())
    }

    fn solve(&mut self, _: usize, rest: Mat<f64>) -> Result<Mat<f64>> {
        Ok(self.engine.factors[self.task].solve(rest.as_ref()))
    }

    fn carry(&mut self, _: usize, u: Mat<f64>) -> Result<()> {
        let Next { engine, learning, task: j, columns, rest } = self;
        let (y, k) = (&engine.y[*j], engine.columns());
        let targets = Mat::from_fn(y.nrows(), columns.len(), |i, c| y[(i, c % k)]);
        let own = at_own_inputs(&engine.factors[*j], targets.as_ref(), rest.as_ref(), engine.ridge * &u);
        for (c, &column) in columns.iter().enumerate() {
            learning.f[*j].col_as_slice_mut(column).copy_from_slice(own.col_as_slice(c));
        }
        for i in (0..engine.y.len()).filter(|i| i != j) {
            add(&mut learning.f[i], columns, &matmul(engine.block(i, *j), u.as_ref()));
        }
        for (held, g) in engine.tests.iter().zip(&mut learning.g) {
            add(g, columns, &matmul(held.blocks[*j].as_ref(), u.as_ref()));
        }
        Ok(())
    }
}

impl Engine {
    /// Makes all kernels and factors; held-out data are kept where `tested`, or where orders are ranked by it.
    pub fn new(
        kernels: &Kernels,
        theory: &SingleHeadSettings,
        shared: &Shared,
        (rank, tested): (OrderRank, bool),
        context: &Context,
    ) -> Result<Engine> {
        let (first, later) = (kernels.tilde(1, 1), kernels.tilde(2, 2));
        let tasks = &shared.tasks;
        let own = |t: usize| tasks[t].own.points();
        let invert = |t: usize, which: Which| kernels.invert(which, own(t), theory.ridge(), &tasks[t].name);
        let (mut factors, mut duals, mut conditions) = (vec![], vec![], [vec![], vec![]]);
        let mut learned = vec![];
        for (t, task) in tasks.iter().enumerate() {
            context.say(&format!("factors of {}", task.name), 0.0)?;
            let (factor, condition) = invert(t, later)?;
            let alone = if first == later { None } else { Some(invert(t, first)?) };
            let (start, own_condition) = alone.as_ref().map_or((&factor, condition), |(f, c)| (f, *c));
            let dual = start.solve(task.y.as_ref());
            learned.push(at_own_inputs(start, task.y.as_ref(), task.y.as_ref(), theory.ridge() * &dual));
            duals.push(dual);
            conditions[0].push(own_condition);
            conditions[1].push(condition);
            factors.push(factor);
        }
        let mut engine = Engine {
            y: tasks.iter().map(|task| task.y.clone()).collect(),
            rank,
            conditions,
            norms: tasks.iter().map(|task| task.norm2()).collect(),
            ridge: theory.ridge(),
            factors,
            blocks: vec![],
            start: vec![vec![Mat::zeros(0, 0); tasks.len()]; tasks.len()],
            tests: vec![],
            last: Mutex::default(),
        };
        let which = if first == later { vec![later] } else { vec![later, first] };
        for i in 0..tasks.len() {
            context.say(&format!("kernels of {}", tasks[i].name), 0.0)?;
            let mut row = vec![];
            for j in 0..i {
                let mut made = kernels.blocks(&which, own(i), own(j))?;
                if let Some(k) = made.last() {
                    engine.start[j][i] = matmul(k.as_ref(), duals[j].as_ref());
                    engine.start[i][j] = matmul(k.transpose(), duals[i].as_ref());
                }
                row.push(made.swap_remove(0));
            }
            engine.start[i][i] = learned[i].clone();
            engine.blocks.push(row);
        }
        let kept = tested || rank == OrderRank::Accuracy;
        for (name, (points, y, first)) in
            tasks.iter().filter_map(|t| Some((&t.name, t.test.as_ref().filter(|_| kept)?)))
        {
            context.say(&format!("kernels of the test data of {name}"), 0.0)?;
            let mut held = TestBlocks { y: y.clone(), first: first.clone(), blocks: vec![], start: vec![] };
            for (j, dual) in duals.iter().enumerate() {
                let mut made = kernels.blocks(&which, points.points(), own(j))?;
                held.start.extend(made.last().map(|k| matmul(k.as_ref(), dual.as_ref())));
                held.blocks.push(made.swap_remove(0));
            }
            engine.tests.push(held);
        }
        Ok(engine)
    }

    fn ranks_by_tests(&self) -> bool {
        self.rank == OrderRank::Accuracy
    }

    /// Everything the theory says of one order (tasks from 0), in products with vectors.
    pub fn follow(&self, order: &[usize]) -> Result<Scores> {
        let tested = !self.tests.is_empty() && self.tests.len() == self.y.len();
        let known = std::mem::take(&mut *self.last.lock().unwrap_or_else(PoisonError::into_inner));
        let steps = self.steps(order, known, tested)?;
        stop::check()?;
        let in_order = |of: &[Score]| order.iter().map(|&s| of[s]).collect::<Vec<_>>();
        let train = steps.iter().map(|step| in_order(&step.train)).collect();
        let test = if tested { steps.iter().map(|step| in_order(&step.test)).collect() } else { vec![] };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = steps;
        let alone = |&s: &usize| Score::new(self.tests[s].start[s].as_ref(), self.tests[s].y.as_ref(), None, None);
        let alone = if tested { order.iter().map(alone).collect::<Result<Vec<_>>>()? } else { vec![] };
        let free = |s: usize, t: usize| Score::new(self.start[t][s].as_ref(), self.y[s].as_ref(), None, None);
        let conditions = order.iter().enumerate().map(|(t, &task)| self.conditions[usize::from(t > 0)][task]).collect();
        Ok(Scores {
            train,
            test: tested.then_some((test, alone)),
            free: if order.len() > 1 { Some(free(order[0], order[1])?.loss) } else { None },
            conditions,
            ranks: order.iter().map(|&task| self.factors[task].rank()).collect(),
        })
    }

    /// The steps of an order; of those of another one that are `known`, the first are kept as long as the two orders agree.
    fn steps(&self, order: &[usize], mut known: Vec<Step>, tested: bool) -> Result<Vec<Step>> {
        let same = known.iter().zip(order).take_while(|(step, task)| step.task == **task).count();
        known.truncate(same);
        for &task in &order[same..] {
            let network = match known.last() {
                None => self.begin(&[task], tested),
                Some(step) => {
                    let mut network = step.network.clone();
                    self.learn(&mut network, &[0], task)?;
                    network
                }
            };
            let score = |f: &Mat<f64>, y: &Mat<f64>| Score::new(f.as_ref(), y.as_ref(), None, None);
            let train = network.f.iter().zip(&self.y).map(|(f, y)| score(f, y)).collect::<Result<_>>()?;
            let test = network.g.iter().zip(&self.tests).map(|(g, held)| score(g, &held.y)).collect::<Result<_>>()?;
            known.push(Step { task, network, train, test });
        }
        Ok(known)
    }

    /// The order with the least forgetting, and how it was found.
    pub fn best(&self, context: &Context) -> Result<super::SearchResult> {
        super::search(self.y.len(), super::OrderSearchSettings::default().exhaustive_up_to, self, context)
    }

    /// The most examples of a task.
    pub fn examples(&self) -> usize {
        self.y.iter().map(Mat::nrows).max().unwrap_or(0)
    }

    /// Bytes that the kernels and factors take.
    pub fn bytes(&self) -> usize {
        let of = |m: &Mat<f64>| m.nrows() * m.ncols() * size_of::<f64>();
        let factors: usize = self.y.iter().map(|y| y.nrows() * y.nrows() * size_of::<f64>()).sum();
        let blocks: usize = self.blocks.iter().flatten().map(of).sum();
        let tests: usize = self.tests.iter().flat_map(|held| &held.blocks).map(of).sum();
        factors + blocks + tests
    }

    fn columns(&self) -> usize {
        self.y[0].ncols()
    }

    /// Networks that have learned one task each; `tested` looks at held-out data too.
    fn begin(&self, orders: &[usize], tested: bool) -> Learning {
        let k = self.columns();
        let side_by_side = |rows: usize, at: &dyn Fn(usize, usize, usize) -> f64| {
            Mat::from_fn(rows, orders.len() * k, |row, c| at(orders[c / k], row, c % k))
        };
        let own = |i: usize| side_by_side(self.y[i].nrows(), &|j, row, c| self.start[j][i][(row, c)]);
        let at_tests = |held: &TestBlocks| side_by_side(held.y.nrows(), &|j, row, c| held.start[j][(row, c)]);
        let held = if tested { self.tests.iter().map(at_tests).collect() } else { vec![] };
        let (f, g) = ((0..self.y.len()).map(own).collect(), held);
        Learning { orders: orders.iter().map(|&j| vec![j]).collect(), f, g }
    }

    /// Lets some of the networks learn task j.
    fn learn(&self, learning: &mut Learning, some: &[usize], j: usize) -> Result<()> {
        let k = self.columns();
        let columns = some.iter().flat_map(|n| n * k..(n + 1) * k).collect();
        operator::learn(&mut Next { engine: self, learning, task: j, columns, rest: Mat::zeros(0, 0) })?;
        some.iter().for_each(|&n| learning.orders[n].push(j));
        Ok(())
    }

    /// `K(X_i,X_j)`.
    fn block(&self, i: usize, j: usize) -> MatRef<'_, f64> {
        if i > j { self.blocks[i][j].as_ref() } else { self.blocks[j][i].transpose() }
    }

    /// How good the order of network n is: less is better.
    fn value(&self, learning: &Learning, n: usize) -> f64 {
        let forgetting = self.forgetting(learning, n);
        if self.rank == OrderRank::Forgetting {
            return self.rank.value(forgetting, None);
        }
        let k = self.columns();
        let of = |s: &usize| {
            let (held, g) = (&self.tests[*s], learning.g[*s].as_ref().subcols(n * k, k));
            let share = match &held.first {
                Some(first) => {
                    let (f, y) = first.outcome(g);
                    accuracy(f.as_ref(), y.as_ref(), None)
                }
                None => accuracy(g, held.y.as_ref(), None),
            };
            share.ok()
        };
        let all: Option<Vec<f64>> = learning.orders[n].iter().map(of).collect();
        OrderRank::Accuracy.value(forgetting, all.map(|all| all.iter().sum::<f64>() / all.len() as f64))
    }

    /// Mean forgetting of the tasks that network n has learned, but for its last.
    fn forgetting(&self, learning: &Learning, n: usize) -> f64 {
        let order = &learning.orders[n];
        let earlier = &order[..order.len() - 1];
        let k = self.columns();
        let loss = |&s: &usize| {
            let f = learning.f[s].as_ref().subcols(n * k, k);
            (f - &self.y[s]).squared_norm_l2() / self.norms[s]
        };
        earlier.iter().map(loss).sum::<f64>() / earlier.len().max(1) as f64
    }

    /// Follows every way on from `learning`, and keeps the best and the worst complete orders with their values, and the number of all.
    fn explore(
        &self,
        learning: Learning,
        (best, worst): (&mut Valued, &mut Valued),
        seen: &mut usize,
        context: &Context,
    ) -> Result<()> {
        stop::check()?;
        let count = self.y.len();
        if learning.orders[0].len() == count {
            *seen += learning.orders.len();
            for n in 0..learning.orders.len() {
                let value = self.value(&learning, n);
                if value > worst.1 {
                    *worst = (learning.orders[n].clone(), value);
                }
                if value < best.1 {
                    *best = (learning.orders[n].clone(), value);
                }
            }
            super::say_tried(*seen, (1..=count).product(), context)?;
            return Ok(());
        }
        // Ways to the same task side by side: they take the same products.
        let ways: Vec<(usize, usize)> = (0..count)
            .flat_map(|j| (0..learning.orders.len()).map(move |n| (n, j)))
            .filter(|(n, j)| !learning.orders[*n].contains(j))
            .collect();
        let k = self.columns();
        for some in ways.chunks((ORDERS_AT_ONCE / k).max(1)) {
            let copy = |f: &Mat<f64>| Mat::from_fn(f.nrows(), some.len() * k, |i, c| f[(i, some[c / k].0 * k + c % k)]);
            let orders = some.iter().map(|(n, _)| learning.orders[*n].clone()).collect();
            let (f, g) = (learning.f.iter().map(copy).collect(), learning.g.iter().map(copy).collect());
            let mut next = Learning { orders, f, g };
            self.advance(&mut next, &some.iter().map(|way| Some(way.1)).collect::<Vec<_>>())?;
            self.explore(next, (&mut *best, &mut *worst), seen, context)?;
        }
        Ok(())
    }

    /// Lets every network learn its next task, if it has one.
    fn advance(&self, learning: &mut Learning, next: &[Option<usize>]) -> Result<()> {
        for j in 0..self.y.len() {
            let some: Vec<usize> = (0..next.len()).filter(|&n| next[n] == Some(j)).collect();
            if !some.is_empty() {
                self.learn(learning, &some, j)?;
            }
        }
        Ok(())
    }
}

impl Forecaster for Engine {
    fn of(&self, orders: &[Vec<usize>], context: &Context) -> Result<Vec<f64>> {
        let mut values = vec![];
        for some in orders.chunks((ORDERS_AT_ONCE / self.columns()).max(1)) {
            stop::check()?;
            let firsts: Vec<usize> = some.iter().map(|order| order[0]).collect();
            let mut learning = self.begin(&firsts, self.ranks_by_tests());
            for step in 1..some.iter().map(Vec::len).max().unwrap_or(0) {
                self.advance(&mut learning, &some.iter().map(|order| order.get(step).copied()).collect::<Vec<_>>())?;
            }
            values.extend((0..some.len()).map(|n| self.value(&learning, n)));
            super::say_tried(values.len(), orders.len(), context)?;
        }
        Ok(values)
    }

    fn exhaust(&self, count: usize, context: &Context) -> Result<(Vec<usize>, usize, Valued)> {
        let (mut best, mut worst, mut seen) = ((vec![], f64::INFINITY), (vec![], f64::NEG_INFINITY), 0);
        let firsts: Vec<usize> = (0..count).collect();
        self.explore(self.begin(&firsts, self.ranks_by_tests()), (&mut best, &mut worst), &mut seen, context)?;
        Ok((best.0, seen, worst))
    }
}

/// Adds to some columns.
fn add(f: &mut Mat<f64>, columns: &[usize], change: &Mat<f64>) {
    for (c, &column) in columns.iter().enumerate() {
        let f = f.col_as_slice_mut(column);
        f.iter_mut().zip(change.col_as_slice(c)).for_each(|(f, d)| *f += d);
    }
}
