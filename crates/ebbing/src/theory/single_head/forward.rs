//! `u = 𝓛^{-1} Y` (paper, Eq. 28) where `K̃_ts` depends on s alone: each kernel block is made once and serves all its
//! uses.
//!
//! Then `f_b = f_{b−1} + K̃_b(·,X_b) u_b` with `u_b = K̃_bb^{-1} (Y_b − f_{b−1}(X_b))`: a task adds to the network what
//! the network before it gets wrong on that task's data.
//!
//! With the inputs that all tasks hold apart, the network is known at every input seen so far: at the common ones, and
//! at each task's own. Learning task b needs the kernel between its own inputs and all those; the same blocks then
//! carry what it learned to the earlier inputs. They are kept in between as far as the budget reaches.

use super::entropy;
use super::feature_space::Weights;
use super::score::{Score, Targets, stacked};
use super::settings::{Loss, SingleHeadSettings};
use super::single::SingleLearned;
use super::system::{add_product, live};
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Mat, MatRef, matmul, par_map};
use crate::theory::blocks::factor::{Factor, one_norm, with_ridge};
use crate::theory::blocks::kernels::{KernelSource, Kernels, Points, Which};
use crate::theory::blocks::shared::Shared;
use crate::theory::operator::{self, Inverses, Operator};
use std::sync::Arc;

/// What the forward substitution leaves behind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Learned {
    /// `u_t`, the common inputs first; none in feature space.
    pub duals: Vec<Mat<f64>>,
    /// The weights of a linear head on features, where it is learned in feature space.
    pub weights: Option<Weights>,
    /// What was learned in single precision, where it was.
    pub single: Option<Box<SingleLearned>>,
    /// `K̃_tt^{-1} Y_t`, what a fresh network learns of each task alone; empty where that takes another kernel.
    pub alone: Vec<Mat<f64>>,
    /// A fresh network that learned the second task alone, on the training data of the first one; none where that is not known.
    pub free: Option<Score>,
    /// `train[t][s]`: the network after task t on the training data of task s; empty where it was not asked for.
    pub train: Vec<Vec<Score>>,
    /// How well their kernels were inverted.
    pub inverses: Inverses,
}

/// A block in the kernel of every task but the first and, where that differs, in the first task's.
struct Linked {
    later: Mat<f64>,
    first: Option<Mat<f64>>,
}

impl Linked {
    /// The block in the kernel of task s (from 0).
    fn of(&self, s: usize) -> MatRef<'_, f64> {
        if s == 0 { self.first.as_ref().unwrap_or(&self.later).as_ref() } else { self.later.as_ref() }
    }
}

/// The forward substitution while it runs.
struct Pass<'a> {
    kernels: &'a Kernels,
    shared: &'a Shared,
    targets: Vec<Targets<'a>>,
    ridge: f64,
    /// β, where it learns by cross-entropy.
    entropy: Option<f64>,
    budget: usize,
    /// Kernel among the common inputs, and its factors.
    k_cc: Linked,
    factors: [Option<Arc<Cholesky>>; 2],
    /// Kernels of each task's own inputs with the common ones, where they are kept.
    k_oc: Vec<Option<Mat<f64>>>,
    /// The network after each task at the common inputs, and as it is now at each task's own.
    f_common: Vec<Mat<f64>>,
    f_own: Vec<Mat<f64>>,
    /// Blocks of the task that is learned now.
    now: Option<Now>,
    learned: Learned,
}

/// Blocks of the task that is learned: its own inputs with the common ones, with the own ones of every earlier task (each `None`
/// where the budget is spent), and with themselves.
struct Now {
    to_common: Linked,
    cross: Vec<Option<Mat<f64>>>,
    k_oo: Mat<f64>,
}

/// Learns the tasks one after another.
pub(super) fn learn(kernels: &Kernels, shared: &Shared, settings: &SingleHeadSettings) -> Result<Learned> {
    let mut pass = Pass::new(kernels, shared, settings)?;
    operator::learn(&mut pass)?;
    Ok(pass.learned)
}

impl Operator for Pass<'_> {
    type Vector = Mat<f64>;

    fn tasks(&self) -> usize {
        self.shared.tasks.len()
    }

    fn rest(&mut self, b: usize) -> Result<Mat<f64>> {
        let own = self.shared.tasks[b].own.points();
        let to_common = self.link(own, self.shared.common.points(), true)?;
        let (before, cross) = self.before(b, &to_common)?;
        let mut rest = self.shared.tasks[b].y.clone();
        let (mut top, mut bottom) = rest.as_mut().split_at_row_mut(self.shared.common.len());
        if let Some(now) = self.f_common.last() {
            top -= now;
        }
        bottom -= &before;
        self.f_own.push(before);
        self.now = Some(Now { to_common, cross, k_oo: self.kernels.symmetric(self.which(b), own)? });
        Ok(rest)
    }

    fn solve(&mut self, b: usize, rest: Mat<f64>) -> Result<Mat<f64>> {
        let Some(now) = self.now.take() else { return Ok(rest) };
        let (k_oc, k_oo) = (now.to_common.of(b), now.k_oo.as_ref());
        let factor = self.factor(b, k_oc, k_oo)?;
        let y = &self.shared.tasks[b].y;
        if let Some(beta) = self.entropy {
            // Inputs that all tasks hold are not apart then: the block is the whole kernel.
            let product = |v: MatRef<'_, f64>| matmul(k_oo, v);
            let solve = |v: MatRef<'_, f64>| factor.solve(v);
            let kernel = entropy::Kernel { product: &product, solve: &solve, beta };
            let dual = kernel.learn((y - &rest).as_ref(), y.as_ref(), &self.shared.tasks[b].name)?;
            let norm = one_norm(self.k_cc.of(b), k_oc, k_oo) + self.ridge;
            let condition = factor.condition(rest.nrows(), norm);
            self.learned.inverses.note(&self.shared.tasks[b].name, condition, factor.rank())?;
            self.now = Some(now);
            return Ok(dual);
        }
        let (left, own) = (live(rest.as_ref()), if self.alike() { live(y.as_ref()) } else { vec![] });
        let n = left.len();
        let both =
            Mat::from_fn(y.nrows(), n + own.len(), |i, c| if c < n { rest[(i, left[c])] } else { y[(i, own[c - n])] });
        let solved = factor.solve(both.as_ref());
        let dual = spread_out(solved.as_ref().subcols(0, n), &left, y.ncols());
        if self.alike() {
            self.learned.alone.push(spread_out(solved.as_ref().subcols(n, own.len()), &own, y.ncols()));
        }
        let norm = one_norm(self.k_cc.of(b), k_oc, k_oo) + self.ridge;
        let condition = factor.condition(rest.nrows(), norm);
        self.learned.inverses.note(&self.shared.tasks[b].name, condition, factor.rank())?;
        self.now = Some(now);
        Ok(dual)
    }

    fn carry(&mut self, b: usize, dual: Mat<f64>) -> Result<()> {
        let Some(Now { to_common, cross, k_oo }) = self.now.take() else { return Ok(()) };
        self.update(b, &dual, &to_common, &k_oo, cross)?;
        let keep = self.keep(&to_common.later);
        self.k_oc.push(keep.then_some(to_common.later));
        self.learned.duals.push(dual);
        let tasks: Vec<usize> = (0..=b).collect();
        let scores = par_map(&tasks, |&s| self.score(b, s, self.f_own[s].as_ref()));
        for (s, score) in scores.into_iter().enumerate() {
            self.learned.train[b][s] = score?;
        }
        Ok(())
    }
}

impl<'a> Pass<'a> {
    fn new(kernels: &'a Kernels, shared: &'a Shared, settings: &SingleHeadSettings) -> Result<Self> {
        let count = shared.tasks.len();
        let mut pass = Pass {
            kernels,
            shared,
            targets: shared.tasks.iter().map(Targets::of).collect(),
            ridge: settings.ridge(),
            entropy: (settings.loss == Loss::CrossEntropy).then_some(settings.beta),
            budget: settings.keep_bytes,
            k_cc: Linked { later: Mat::zeros(0, 0), first: None },
            factors: [None, None],
            k_oc: vec![],
            f_common: vec![],
            f_own: vec![],
            now: None,
            learned: Learned { train: vec![vec![Score::default(); count]; count], ..Default::default() },
        };
        let (first, later) = (pass.which(0), pass.which(1));
        let among = |which: Which| kernels.symmetric(which, shared.common.points());
        pass.k_cc = Linked { later: among(later)?, first: (first != later).then(|| among(first)).transpose()? };
        Ok(pass)
    }

    /// The kernel of task s (from 0) and of the tasks after it.
    fn which(&self, s: usize) -> Which {
        self.kernels.tilde(s + 1, s + 1)
    }

    /// A block, in the first task's kernel too if `first` and if that differs.
    fn link(&self, x: Points<'_>, x2: Points<'_>, first: bool) -> Result<Linked> {
        let (one, later) = (self.which(0), self.which(1));
        if first && one != later {
            let mut both = self.kernels.blocks(&[later, one], x, x2)?;
            let first = both.pop();
            return Ok(Linked { later: both.swap_remove(0), first });
        }
        Ok(Linked { later: self.kernels.block(later, x, x2)?, first: None })
    }

    /// `f_{b−1}` at task b's own inputs, with the losses of all earlier networks there, and the blocks that led to it
    /// (row: task b; each `None` where the budget is spent).
    fn before(&mut self, b: usize, to_common: &Linked) -> Result<(Mat<f64>, Vec<Option<Mat<f64>>>)> {
        let shared = self.shared;
        let own = shared.tasks[b].own.points();
        let mut f = Mat::zeros(own.len(), shared.tasks[b].y.ncols());
        let mut cross = vec![];
        let mut spent = 0;
        for a in 0..b {
            let block = self.link(own, shared.tasks[a].own.points(), a == 0)?;
            let (top, bottom) = self.learned.duals[a].as_ref().split_at_row(shared.common.len());
            add_product(&mut f, to_common.of(a), top);
            add_product(&mut f, block.of(a), bottom);
            self.learned.train[a][b] = self.score(a, b, f.as_ref())?;
            spent += bytes(&block.later);
            cross.push((spent <= self.budget).then_some(block.later));
        }
        Ok((f, cross))
    }

    /// The factor of task b's kernel.
    fn factor(&mut self, b: usize, k_oc: MatRef<'_, f64>, k_oo: MatRef<'_, f64>) -> Result<Factor> {
        let name = format!("the kernel of {}", self.shared.tasks[b].name);
        if let (KernelSource::Features { .. }, true) = (&self.kernels.source, self.ridge == 0.0) {
            return Factor::of_features(k_oo, &name);
        }
        let repeats = self.kernels.repeats(self.shared.tasks[b].own.points(), self.ridge);
        if self.shared.common.len() == 0 {
            let beginning = if repeats.is_none() { self.beginning(b, k_oo, &name) } else { None };
            return match beginning {
                Some(Ok(first)) => Factor::continued(first, k_oo, self.ridge, &name),
                Some(Err(error)) => Err(error),
                None => {
                    Factor::of_distinct(repeats, (k_oc, k_oo), &name, |_, k, name| Factor::plain(k, self.ridge, name))
                }
            };
        }
        let whole = repeats.is_none();
        let extended = self.common_factor(b).and_then(|common| {
            Factor::of_distinct(repeats, (k_oc, k_oo), &name, |k_oc, k_oo, name| {
                Factor::extend(&common, k_oc, k_oo, self.ridge, name)
            })
        });
        extended.map_err(|error| if whole { self.named_rows(b, error, &name) } else { error })
    }

    /// The factor of what task b's inputs begin with, where it is kept.
    fn beginning(&self, b: usize, k_oo: MatRef<'_, f64>, name: &str) -> Option<Result<Arc<Cholesky>>> {
        match (&self.kernels.source, self.shared.tasks[b].own.points()) {
            (KernelSource::Table { kept: Some(kept), .. }, Points::Rows(rows)) => {
                kept.beginning(rows, self.which(b), k_oo, self.ridge, name)
            }
            _ => None,
        }
    }

    /// The factor of the common inputs' kernel in the kernel of task b, made at its first use.
    fn common_factor(&mut self, b: usize) -> Result<Arc<Cholesky>> {
        let slot = usize::from(b > 0 && self.k_cc.first.is_some());
        if let Some(factor) = &self.factors[slot] {
            return Ok(factor.clone());
        }
        let k = with_ridge(self.k_cc.of(b), self.ridge);
        let factor = Arc::new(Cholesky::factor_owned(k, "the kernel of the inputs that all tasks share")?);
        self.factors[slot] = Some(factor.clone());
        Ok(factor)
    }

    /// The same error with the rows numbered as the user gave them.
    fn named_rows(&self, b: usize, error: Error, name: &str) -> Error {
        let Error::NotPositiveDefinite { .. } = error else { return error };
        let mut place = vec![0; self.shared.tasks[b].order.len()];
        for (now, &given) in self.shared.tasks[b].order.iter().enumerate() {
            place[given] = now;
        }
        let points = self.shared.whole(b).points().select(&place);
        let again = self.kernels.symmetric(self.which(b), points.points());
        again.and_then(|k| Factor::plain(k.as_ref(), self.ridge, name)).err().unwrap_or(error)
    }

    /// `f_b = f_{b−1} + K̃(·,X_b) u_b` at every input seen so far.
    fn update(
        &mut self,
        b: usize,
        dual: &Mat<f64>,
        to_common: &Linked,
        k_oo: &Mat<f64>,
        cross: Vec<Option<Mat<f64>>>,
    ) -> Result<()> {
        let (top, bottom) = dual.as_ref().split_at_row(self.shared.common.len());
        let k_oc = to_common.of(b);
        let mut f = self.f_common.last().cloned().unwrap_or_else(|| Mat::zeros(top.nrows(), top.ncols()));
        add_product(&mut f, self.k_cc.of(b), top);
        add_product(&mut f, k_oc.transpose(), bottom);
        self.f_common.push(f);
        add_product(&mut self.f_own[b], k_oc, top);
        add_product(&mut self.f_own[b], k_oo.as_ref(), bottom);
        for (a, kept) in cross.into_iter().enumerate() {
            let (common, own) = (self.shared.common.points(), self.shared.tasks[a].own.points());
            let again = |kept: Option<Mat<f64>>, row: Points<'_>, column: Points<'_>| match kept {
                Some(block) => Ok(block),
                None => self.kernels.block(self.which(b), row, column),
            };
            let block = again(kept, self.shared.tasks[b].own.points(), own)?;
            let change = match &self.k_oc[a] {
                Some(k_ac) => matmul(k_ac.as_ref(), top),
                None => matmul(again(None, own, common)?.as_ref(), top),
            };
            self.f_own[a] += change;
            add_product(&mut self.f_own[a], block.transpose(), bottom);
            if (a, b) == (0, 1) {
                self.learned.free = self.second_alone(k_oc, block.transpose())?;
            }
        }
        Ok(())
    }

    /// The network after task t on the training data of task s, from its outputs at the task's own inputs.
    fn score(&self, t: usize, s: usize, own: MatRef<'_, f64>) -> Result<Score> {
        match self.shared.common.len() {
            0 => self.targets[s].score(own),
            _ => self.targets[s].score(stacked(self.f_common[t].as_ref(), own).as_ref()),
        }
    }

    /// Whether a fresh network learns every task with the same kernel.
    fn alike(&self) -> bool {
        self.which(0) == self.which(1)
    }

    /// A fresh network that learned the second task alone on the data of the first one: `k_2c` is the kernel of its own inputs with the
    /// common ones, `k_12` that of the first task's own with them.
    fn second_alone(&self, k_2c: MatRef<'_, f64>, k_12: MatRef<'_, f64>) -> Result<Option<Score>> {
        let Some(alone) = self.learned.alone.get(1) else { return Ok(None) };
        let (top, bottom) = alone.as_ref().split_at_row(self.shared.common.len());
        let mut common = Mat::zeros(top.nrows(), top.ncols());
        add_product(&mut common, self.k_cc.of(1), top);
        add_product(&mut common, k_2c.transpose(), bottom);
        let mut own = Mat::zeros(k_12.nrows(), top.ncols());
        if self.shared.common.len() > 0 {
            let points = (self.shared.tasks[0].own.points(), self.shared.common.points());
            match &self.k_oc[0] {
                Some(k) => add_product(&mut own, k.as_ref(), top),
                None => add_product(&mut own, self.kernels.block(self.which(1), points.0, points.1)?.as_ref(), top),
            }
        }
        add_product(&mut own, k_12, bottom);
        self.targets[0].score(stacked(common.as_ref(), own.as_ref()).as_ref()).map(Some)
    }

    /// Whether a block fits into what is left of the budget for good.
    fn keep(&mut self, block: &Mat<f64>) -> bool {
        let fits = bytes(block) <= self.budget;
        if fits {
            self.budget -= bytes(block);
        }
        fits
    }
}

fn bytes(block: &Mat<f64>) -> usize {
    block.nrows() * block.ncols() * size_of::<f64>()
}

/// Columns in their places among others that are zero.
fn spread_out(m: MatRef<'_, f64>, places: &[usize], columns: usize) -> Mat<f64> {
    let mut all = Mat::zeros(m.nrows(), columns);
    for (c, &j) in places.iter().enumerate() {
        all.as_mut().col_mut(j).copy_from(m.col(c));
    }
    all
}
