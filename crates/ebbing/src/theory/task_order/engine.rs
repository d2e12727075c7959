//! Many orders of tasks followed at once, where kernels do not depend on the times: one product per pair of tasks for all.

use super::Forecaster;
use crate::error::Result;
use crate::linalg::{Mat, MatRef, matmul};
use crate::theory::blocks::factor::Factor;
use crate::theory::blocks::kernels::{Kernels, Which};
use crate::theory::blocks::shared::Shared;
use crate::theory::single_head::SingleHeadSettings;

/// Numbers of columns that are followed at once.
const AT_ONCE: usize = 512;

/// Kernels between all tasks, and the factors of each, for kernels that do not depend on the times.
pub(super) struct Engine {
    y: Vec<Mat<f64>>,
    norms: Vec<f64>,
    ridge: f64,
    factors: Vec<Factor>,
    /// `blocks[i][j]`, j < i.
    blocks: Vec<Vec<Mat<f64>>>,
    /// `start[j][i]`: a network that has learned task j only, at the inputs of task i.
    start: Vec<Vec<Mat<f64>>>,
}

/// Networks that have each learned some tasks: their orders, and their outputs at the inputs of every task side by side.
struct Learning {
    orders: Vec<Vec<usize>>,
    f: Vec<Mat<f64>>,
}

impl Engine {
    pub fn new(kernels: &Kernels, theory: &SingleHeadSettings, shared: &Shared) -> Result<Engine> {
        let (first, later) = (kernels.tilde(1, 1), kernels.tilde(2, 2));
        let tasks = &shared.tasks;
        let own = |t: usize| tasks[t].own.points();
        let invert = |t: usize, which: Which| kernels.invert(which, own(t), theory.ridge(), &tasks[t].name);
        let factors = (0..tasks.len()).map(|t| Ok(invert(t, later)?.0)).collect::<Result<Vec<_>>>()?;
        let duals = (0..tasks.len()).map(|t| {
            let factor = if first == later { None } else { Some(invert(t, first)?.0) };
            Ok(factor.as_ref().unwrap_or(&factors[t]).solve(tasks[t].y.as_ref()))
        });
        let duals = duals.collect::<Result<Vec<Mat<f64>>>>()?;
        let mut engine = Engine {
            y: tasks.iter().map(|task| task.y.clone()).collect(),
            norms: tasks.iter().map(|task| task.norm2()).collect(),
            ridge: theory.ridge(),
            factors,
            blocks: vec![],
            start: vec![vec![Mat::zeros(0, 0); tasks.len()]; tasks.len()],
        };
        let which = if first == later { vec![later] } else { vec![later, first] };
        for i in 0..tasks.len() {
            let mut row = vec![];
            for j in 0..i {
                let mut made = kernels.blocks(&which, own(i), own(j))?;
                if let Some(k) = made.last() {
                    engine.start[j][i] = matmul(k.as_ref(), duals[j].as_ref());
                    engine.start[i][j] = matmul(k.transpose(), duals[i].as_ref());
                }
                row.push(made.swap_remove(0));
            }
            engine.start[i][i] = &engine.y[i] - engine.ridge * &duals[i];
            engine.blocks.push(row);
        }
        Ok(engine)
    }

    fn columns(&self) -> usize {
        self.y[0].ncols()
    }

    /// Networks that have learned one task each.
    fn begin(&self, orders: &[usize]) -> Learning {
        let par_map = |i: usize| {
            let k = self.columns();
            Mat::from_fn(self.y[i].nrows(), orders.len() * k, |row, c| self.start[orders[c / k]][i][(row, c % k)])
        };
        Learning { orders: orders.iter().map(|&j| vec![j]).collect(), f: (0..self.y.len()).map(par_map).collect() }
    }

    /// Lets some of the networks learn task j.
    fn learn(&self, learning: &mut Learning, some: &[usize], j: usize) {
        let k = self.columns();
        let columns: Vec<usize> = some.iter().flat_map(|n| n * k..(n + 1) * k).collect();
        let y = &self.y[j];
        let f = &learning.f[j];
        let rest = Mat::from_fn(y.nrows(), columns.len(), |i, c| y[(i, c % k)] - f[(i, columns[c])]);
        let u = self.factors[j].solve(rest.as_ref());
        for i in 0..self.y.len() {
            if i == j {
                for (c, &column) in columns.iter().enumerate() {
                    for row in 0..y.nrows() {
                        learning.f[j][(row, column)] = y[(row, c % k)] - self.ridge * u[(row, c)];
                    }
                }
                continue;
            }
            let change = matmul(self.block(i, j), u.as_ref());
            for (c, &column) in columns.iter().enumerate() {
                let f = learning.f[i].col_as_slice_mut(column);
                f.iter_mut().zip(change.col_as_slice(c)).for_each(|(f, d)| *f += d);
            }
        }
        some.iter().for_each(|&n| learning.orders[n].push(j));
    }

    /// `K(X_i,X_j)`.
    fn block(&self, i: usize, j: usize) -> MatRef<'_, f64> {
        if i > j { self.blocks[i][j].as_ref() } else { self.blocks[j][i].transpose() }
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

    /// Follows every way on from `learning`, and keeps the best complete order and its value.
    fn explore(&self, learning: Learning, best: &mut (Vec<usize>, f64), tried: &mut usize) {
        let count = self.y.len();
        if learning.orders[0].len() == count {
            *tried += learning.orders.len();
            for n in 0..learning.orders.len() {
                let value = self.forgetting(&learning, n);
                if value < best.1 {
                    *best = (learning.orders[n].clone(), value);
                }
            }
            return;
        }
        // Ways to the same task side by side: they take the same products.
        let ways: Vec<(usize, usize)> = (0..count)
            .flat_map(|j| (0..learning.orders.len()).map(move |n| (n, j)))
            .filter(|(n, j)| !learning.orders[*n].contains(j))
            .collect();
        let k = self.columns();
        for some in ways.chunks((AT_ONCE / k).max(1)) {
            let copy = |f: &Mat<f64>| Mat::from_fn(f.nrows(), some.len() * k, |i, c| f[(i, some[c / k].0 * k + c % k)]);
            let orders = some.iter().map(|(n, _)| learning.orders[*n].clone()).collect();
            let mut next = Learning { orders, f: learning.f.iter().map(copy).collect() };
            self.advance(&mut next, &some.iter().map(|way| Some(way.1)).collect::<Vec<_>>());
            self.explore(next, best, tried);
        }
    }

    /// Lets every network learn its next task, if it has one.
    fn advance(&self, learning: &mut Learning, next: &[Option<usize>]) {
        for j in 0..self.y.len() {
            let some: Vec<usize> = (0..next.len()).filter(|&n| next[n] == Some(j)).collect();
            if !some.is_empty() {
                self.learn(learning, &some, j);
            }
        }
    }
}

impl Forecaster for Engine {
    fn of(&self, orders: &[Vec<usize>]) -> Result<Vec<f64>> {
        let mut values = vec![];
        for some in orders.chunks((AT_ONCE / self.columns()).max(1)) {
            let firsts: Vec<usize> = some.iter().map(|order| order[0]).collect();
            let mut learning = self.begin(&firsts);
            for step in 1..some.iter().map(Vec::len).max().unwrap_or(0) {
                self.advance(&mut learning, &some.iter().map(|order| order.get(step).copied()).collect::<Vec<_>>());
            }
            values.extend((0..some.len()).map(|n| self.forgetting(&learning, n)));
        }
        Ok(values)
    }

    fn exhaust(&self, count: usize) -> Result<(Vec<usize>, usize)> {
        let (mut best, mut tried) = ((vec![], f64::INFINITY), 0);
        let firsts: Vec<usize> = (0..count).collect();
        self.explore(self.begin(&firsts), &mut best, &mut tried);
        Ok((best.0, tried))
    }
}
