//! `u = 𝓛^{-1} Y` at a temperature with kernels in single precision, for what is said of trained networks: twice as fast as in
//! double precision, in half of the memory.
//!
//! Kernel blocks and factors are in single precision; `u_t` is refined until `(K_tt + 1/β) u_t` is what it should be to
//! [`ENOUGH`], with residuals in double precision. How far kernels, products and `u` in single precision are from the theory is
//! measured at [`PROBED`] examples of every task, drawn at random: there
//!
//! ```math
//! R_t = Y_t - \sum_{s\le t}\tilde K_{ts}\,u_s - \beta^{-1}u_t
//! ```
//!
//! is computed in double precision from the inputs on. Where `|R_t|/|Y_t|` exceeds [`BOUND`] for a task, the sequence is learned in
//! double precision.

use super::forward::Learned;
use super::settings::{Loss, Precision, SingleHeadSettings};
use super::system::live;
use crate::error::{Error, Result};
use crate::kernels::{SingleKernel, SingleRows};
use crate::linalg::{Mat, MatRef, SingleCholesky, residual_f64, tall_product_f32};
use crate::rng::Stream;
use crate::theory::blocks::kernels::{KernelSource, Kernels, Points, Which};
use crate::theory::blocks::shared::Shared;
use crate::theory::operator::{self, Operator};

/// The relative residual at which refinement ends: single precision of `u` leaves more.
const ENOUGH: f64 = 1e-7;
/// Steps of refinement at most.
const STEPS: usize = 4;
/// The largest `|R_t|/|Y_t|` that is allowed. Outputs at the inputs of task t are off by at most `|R_t|`, and losses by about twice
/// their relative error times `|R_t|/|f − Y|`; errors at different examples are independent, so that losses come out far better.
pub(super) const BOUND: f64 = 1e-4;
/// Examples of a task at which the residual is computed in double precision.
const PROBED: usize = 24;
/// The largest share of pairs that may need double precision.
const MOST_CLOSE: f64 = 0.01;

/// Columns that are not all zero: classes of tasks that were learned by then.
#[derive(Debug, Clone)]
struct Dual {
    live: Vec<usize>,
    u: Mat<f32>,
}

impl Dual {
    /// Columns `first …` of `all`, which are the columns `live` of the whole.
    fn of(all: &Mat<f64>, live: &[usize], first: usize) -> Dual {
        let u = Mat::from_fn(all.nrows(), live.len(), |i, c| all[(i, first + c)] as f32);
        Dual { live: live.to_vec(), u }
    }

    /// `f ← f + K u`.
    fn add(&self, f: &mut Mat<f64>, k: MatRef<'_, f32>) {
        let product = tall_product_f32(k, self.u.as_ref());
        for (c, &j) in self.live.iter().enumerate() {
            f.col_as_slice_mut(j).iter_mut().zip(product.col_as_slice(c)).for_each(|(f, p)| *f += f64::from(*p));
        }
    }

    /// The columns in double precision.
    fn double(&self) -> Mat<f64> {
        Mat::from_fn(self.u.nrows(), self.u.ncols(), |i, j| f64::from(self.u[(i, j)]))
    }
}

/// What was learned, and what it is evaluated with.
#[derive(Debug, Clone)]
pub(super) struct SingleLearned {
    /// The kernel of the first task, and of the later ones where that differs.
    kernels: Vec<SingleKernel>,
    rows: Vec<SingleRows>,
    duals: Vec<Dual>,
    /// `(K_tt + 1/β)^{-1} Y_t`, where that is what a fresh network learns.
    alone: Vec<Dual>,
    columns: usize,
    /// The largest `|R_t|/|Y_t|`.
    pub residual: f64,
}

impl SingleLearned {
    /// The kernel of task s (from 0).
    fn kernel(&self, s: usize) -> &SingleKernel {
        &self.kernels[s.min(self.kernels.len() - 1)]
    }

    /// `Σ_{s≤t} K̃_ts(x,X_s) u_s` for every t in `times` (from 0), and what a fresh network that learned task `alone` answers.
    pub fn outputs(
        &self,
        x: Points<'_>,
        times: &[usize],
        alone: Option<usize>,
    ) -> Result<(Vec<Mat<f64>>, Option<Mat<f64>>)> {
        let x = SingleRows::new(inputs(x)?, "points")?;
        let last = times.iter().copied().chain(alone).max().unwrap_or(0);
        let zero = || Mat::<f64>::zeros(x.len(), self.columns);
        let (mut f, mut now, mut fresh) = (times.iter().map(|_| zero()).collect::<Vec<_>>(), zero(), None);
        for (s, dual) in self.duals.iter().enumerate().take(last + 1) {
            crate::stop::check()?;
            let block = self.kernel(s).gram(&x, &self.rows[s]);
            dual.add(&mut now, block.as_ref());
            if let (true, Some(own)) = (alone == Some(s), self.alone.get(s)) {
                let mut outputs = zero();
                own.add(&mut outputs, block.as_ref());
                fresh = Some(outputs);
            }
            for (f, _) in f.iter_mut().zip(times).filter(|(_, t)| **t == s) {
                f.copy_from(&now);
            }
        }
        crate::stop::check()?;
        Ok((f, fresh))
    }
}

/// The forward substitution while it runs.
struct Pass<'a> {
    kernels: &'a Kernels,
    shared: &'a Shared,
    ridge: f64,
    /// Whether a fresh network has the first task's kernel as every other has.
    alike: bool,
    /// Whether single precision does not reach far enough.
    lost: bool,
    single: SingleLearned,
    learned: Learned,
}

/// Learns the tasks one after another; none where double precision is asked for or needed.
pub(super) fn learn(kernels: &Kernels, shared: &Shared, settings: &SingleHeadSettings) -> Result<Option<Learned>> {
    let Some(mut pass) = Pass::new(kernels, shared, settings)? else { return Ok(None) };
    match operator::learn(&mut pass) {
        Err(_) if pass.lost => {
            crate::stop::check()?;
            return Ok(None);
        }
        other => other?,
    }
    let Pass { mut learned, single, .. } = pass;
    learned.inverses.digits = learned.inverses.digits.min(-single.residual.log10());
    learned.single = Some(Box::new(single));
    Ok(Some(learned))
}

impl<'a> Pass<'a> {
    fn new(kernels: &'a Kernels, shared: &'a Shared, settings: &SingleHeadSettings) -> Result<Option<Pass<'a>>> {
        let KernelSource::Network(network) = &kernels.source else { return Ok(None) };
        let started = shared.tasks.iter().any(|task| task.start.is_some());
        let asked = settings.precision == Precision::Single
            && settings.loss == Loss::Squared
            && settings.beta.is_finite()
            && !settings.variance;
        if !asked || !kernels.stationary() || started || shared.common.len() > 0 {
            return Ok(None);
        }
        let [first, later] = [1, 2].map(|s| kernels.tilde(s, s));
        let mut single = vec![];
        for which in if first == later { vec![first] } else { vec![first, later] } {
            let (unscaled, scale) = which.unscaled();
            let Some(kernel) = SingleKernel::new(network.prepared(unscaled)?.as_ref(), scale) else { return Ok(None) };
            single.push(kernel);
        }
        let task =
            |task: &crate::theory::blocks::shared::Prepared| SingleRows::new(inputs(task.own.points())?, &task.name);
        let rows = shared.tasks.iter().map(task).collect::<Result<Vec<_>>>()?;
        let all: Vec<&SingleRows> = rows.iter().collect();
        if single.iter().any(|kernel| kernel.share_close(&all) > MOST_CLOSE) {
            return Ok(None);
        }
        Ok(Some(Pass {
            kernels,
            shared,
            ridge: settings.ridge(),
            alike: first == later,
            lost: false,
            single: SingleLearned {
                kernels: single,
                rows,
                duals: vec![],
                alone: vec![],
                columns: shared.tasks[0].y.ncols(),
                residual: 0.0,
            },
            learned: Learned::default(),
        }))
    }

    fn which(&self, s: usize) -> Which {
        self.kernels.tilde(s + 1, s + 1)
    }

    /// An end that leads to double precision.
    fn lose(&mut self) -> Error {
        self.lost = true;
        Error::LostAccuracy {
            what: "the kernels in single precision".into(),
            digits: 0.0,
            condition: f64::INFINITY,
            advice: "use double precision".into(),
        }
    }

    /// `(K + 1/β)^{-1} B` by refinement; none where that does not end.
    fn refine(&self, factor: &SingleCholesky, k: MatRef<'_, f32>, b: &Mat<f64>) -> Option<Mat<f64>> {
        let norm = b.norm_l2();
        let mut u = factor.solve(b.as_ref());
        for _ in 0..STEPS {
            let rest = residual_f64(b, k, self.ridge, &u);
            let left = rest.norm_l2();
            if !left.is_finite() {
                return None;
            }
            if left <= ENOUGH * norm {
                return Some(u);
            }
            u += factor.solve(rest.as_ref());
        }
        let left = residual_f64(b, k, self.ridge, &u).norm_l2();
        (left <= BOUND * norm).then_some(u)
    }

    /// `|R_b|/|Y_b|` at some examples of task b, whose dual is the last one.
    fn residual(&self, b: usize) -> Result<f64> {
        let task = &self.shared.tasks[b];
        let p = task.y.nrows();
        let mut chosen = Stream::new(0, "residual in double precision", b as u64).choose(p, PROBED.min(p));
        chosen.sort_unstable();
        let points = task.own.points().select(&chosen);
        let mut rest = Mat::from_fn(chosen.len(), task.y.ncols(), |i, j| task.y[(chosen[i], j)]);
        for (s, dual) in self.single.duals.iter().enumerate() {
            let k = self.kernels.block(self.which(s), points.points(), self.shared.tasks[s].own.points())?;
            let change = k * dual.double();
            for (c, &j) in dual.live.iter().enumerate() {
                for (i, &row) in chosen.iter().enumerate() {
                    let own = if s == b { self.ridge * f64::from(dual.u[(row, c)]) } else { 0.0 };
                    rest[(i, j)] -= change[(i, c)] + own;
                }
            }
        }
        Ok(rest.norm_l2() / task.y.norm_l2() * (p as f64 / chosen.len() as f64).sqrt())
    }
}

impl Operator for Pass<'_> {
    type Vector = Mat<f64>;

    fn tasks(&self) -> usize {
        self.shared.tasks.len()
    }

    fn rest(&mut self, b: usize) -> Result<Mat<f64>> {
        let y = &self.shared.tasks[b].y;
        let mut f = Mat::zeros(y.nrows(), y.ncols());
        for a in 0..b {
            crate::stop::check()?;
            let block = self.single.kernel(a).gram(&self.single.rows[b], &self.single.rows[a]);
            self.single.duals[a].add(&mut f, block.as_ref());
        }
        Ok(y - f)
    }

    fn solve(&mut self, b: usize, rest: Mat<f64>) -> Result<Mat<f64>> {
        let k = self.single.kernel(b).gram_symmetric(&self.single.rows[b]);
        crate::stop::check()?;
        let mut with_ridge = k.clone();
        (0..k.nrows()).for_each(|i| with_ridge[(i, i)] += self.ridge as f32);
        let norm = one_norm(k.as_ref()) + self.ridge;
        let Some(factor) = SingleCholesky::factor(with_ridge) else {
            crate::stop::check()?;
            return Err(self.lose());
        };
        let y = &self.shared.tasks[b].y;
        let (live, own) = (live(rest.as_ref()), if self.alike { live(y.as_ref()) } else { vec![] });
        let n = live.len();
        let from = |i: usize, c: usize| if c < n { rest[(i, live[c])] } else { y[(i, own[c - n])] };
        let both = Mat::from_fn(y.nrows(), n + own.len(), from);
        let Some(u) = self.refine(&factor, k.as_ref(), &both) else {
            crate::stop::check()?;
            return Err(self.lose());
        };
        self.single.duals.push(Dual::of(&u, &live, 0));
        if self.alike {
            self.single.alone.push(Dual::of(&u, &own, n));
        }
        let residual = self.residual(b)?;
        crate::stop::check()?;
        if residual.is_nan() || residual > BOUND {
            return Err(self.lose());
        }
        self.single.residual = self.single.residual.max(residual);
        let condition = condition(&factor, k.nrows(), norm);
        self.learned.inverses.note(&self.shared.tasks[b].name, condition, k.nrows())?;
        Ok(rest)
    }

    /// Nothing: outputs at the examples of earlier tasks are made where they are asked for, as at any other.
    fn carry(&mut self, _: usize, _: Mat<f64>) -> Result<()> {
        Ok(())
    }
}

/// `‖K‖₁`.
fn one_norm(k: MatRef<'_, f32>) -> f64 {
    k.col_iter().map(|c| c.iter().map(|v| f64::from(v.abs())).sum()).fold(0.0, f64::max)
}

/// `‖K‖₁ ‖K^{-1}‖₂` by two steps of inverse iteration on two random vectors.
fn condition(factor: &SingleCholesky, n: usize, norm: f64) -> f64 {
    let mut stream = Stream::new(0, "condition probes", n as u64);
    let probe = Mat::from_fn(n, 2, |_, _| stream.normal());
    let once = factor.solve(probe.as_ref());
    let twice = factor.solve(once.as_ref());
    let growth = |j: usize| twice.col(j).norm_l2() / once.col(j).norm_l2();
    norm * growth(0).max(growth(1))
}

/// Inputs of a network.
fn inputs(points: Points<'_>) -> Result<MatRef<'_, f64>> {
    match points {
        Points::Inputs(x) => Ok(x),
        Points::Rows(_) => Err(Error::data("points", "a theory made from inputs takes inputs")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::{Task, TaskSequence};
    use crate::theory::single_head::{Mode, Replay, SingleHeadForecast};
    use crate::{Context, SingleHead};

    /// Tasks with classes of their own around means, or with ±1 in one column; three tenths as many are held out.
    fn sequence(sizes: &[usize], features: usize, classes: usize) -> TaskSequence {
        let mut stream = Stream::new(classes as u64, "single precision", features as u64);
        let means = Mat::from_fn(sizes.len() * classes.max(2), features, |_, _| 0.5 * stream.normal());
        let mut points = |t: usize, p: usize| {
            let class = |i: usize| t * classes.max(2) + i % classes.max(2);
            let x = Mat::from_fn(p, features, |i, j| means[(class(i), j)] + stream.normal());
            let y = match classes {
                1 => Mat::from_fn(p, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 }),
                _ => Mat::from_fn(p, sizes.len() * classes, |i, j| f64::from(u8::from(j == class(i)))),
            };
            (x, y)
        };
        let tasks = sizes.iter().enumerate().map(|(t, &p)| {
            let ((x, y), (x_test, y_test)) = (points(t, p), points(t, 3 * p / 10));
            Task::new(x, y).with_test(x_test, y_test)
        });
        TaskSequence::new(tasks.collect()).unwrap()
    }

    fn learned(sequence: &TaskSequence, settings: &SingleHeadSettings) -> (SingleHead, SingleHeadForecast) {
        let network = SingleHead::new(sequence, settings, &Context::default()).unwrap();
        let forecast = network.forecast().unwrap();
        (network, forecast)
    }

    fn compare(one: &[Vec<f64>], two: &[Vec<f64>], allowed: impl Fn(f64) -> f64) {
        for (a, b) in one.iter().flatten().zip(two.iter().flatten()) {
            assert!((a - b).abs() <= allowed(*b), "{a} {b}");
        }
    }

    #[test]
    fn losses_and_accuracies_are_those_of_double_precision() {
        let shapes: [(&[usize], usize, usize); 4] =
            [(&[150, 220, 90, 130], 40, 5), (&[200, 200], 30, 1), (&[60, 70, 80], 100, 3), (&[400, 300], 60, 10)];
        for (sizes, features, classes) in shapes {
            let sequence = sequence(sizes, features, classes);
            for (mode, beta) in [(Mode::Rf, 30.0), (Mode::Lazy, 10.0), (Mode::Ntk, 30.0), (Mode::Rf, 0.5)] {
                for examples in [0, 7] {
                    let replay = Replay { examples, ..Default::default() };
                    // Blocks are made twice where little is kept.
                    for keep_bytes in [1 << 29, 60_000] {
                        let double = SingleHeadSettings { mode, beta, replay, keep_bytes, ..Default::default() };
                        let single = SingleHeadSettings { precision: Precision::Single, ..double };
                        let (known, want) = learned(&sequence, &double);
                        let (network, found) = learned(&sequence, &single);
                        let residual = network.residual().unwrap();
                        assert!(known.residual().is_none() && residual > 0.0 && residual < BOUND, "{residual:e}");
                        assert!(network.digits() >= 4.0 && network.digits() < 8.0, "{}", network.digits());
                        // What is promised: 1e-4 of a loss, and of losses that are nearly 0 the accuracy of outputs.
                        let loss = |b: f64| 1e-4 * b.max(1e-3);
                        compare(&found.forgetting, &want.forgetting, loss);
                        let (test, want_test) = (found.test.unwrap(), want.test.unwrap());
                        compare(&test.loss, &want_test.loss, loss);
                        compare(&[test.alone], &[want_test.alone], loss);
                        assert_eq!(found.train_accuracy, want.train_accuracy);
                        assert_eq!(test.accuracy, want_test.accuracy);
                        assert_eq!(test.alone_accuracy, want_test.alone_accuracy);
                        let free = (found.f21_at_lambda_zero.unwrap(), want.f21_at_lambda_zero.unwrap());
                        assert!((free.0 - free.1).abs() <= loss(free.1), "{free:?}");
                        let outcomes = [&network, &known].map(|n| n.outcome().unwrap());
                        assert_eq!(outcomes[0].accuracy, outcomes[1].accuracy);
                    }
                }
            }
        }
    }

    #[test]
    fn double_precision_takes_over_where_single_does_not_reach() {
        let sequence = sequence(&[80, 90], 30, 1);
        let single = SingleHeadSettings { precision: Precision::Single, ..Default::default() };
        let (network, _) = learned(&sequence, &single);
        assert!(network.residual().is_none(), "no temperature");
        // A ridge far below rounding in single precision, and two inputs that are nearly equal.
        let mut close = sequence.clone();
        for k in 0..30 {
            close.tasks[1].x[(1, k)] = close.tasks[1].x[(0, k)] * (1.0 + 1e-9);
        }
        let cold = SingleHeadSettings { beta: 1e7, ..single };
        let (network, found) = learned(&close, &cold);
        let (_, want) = learned(&close, &SingleHeadSettings { precision: Precision::Double, ..cold });
        assert!(network.residual().is_none(), "{:?}", network.residual());
        assert_eq!(found, want);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let sequence = sequence(&[300, 210], 50, 4);
        let settings = SingleHeadSettings { beta: 30.0, precision: Precision::Single, ..Default::default() };
        let run = || learned(&sequence, &settings).1;
        let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        assert_eq!(pool(1).install(run), pool(3).install(run));
    }
}
