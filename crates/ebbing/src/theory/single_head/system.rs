//! `𝓛_ts = K̃_ts(X_t,X_s)` (paper, Eqs. 27, 28), block by block: for what needs all blocks at once (finite λ,
//! covariances, samples).

use super::forward::Learned;
use super::settings::SingleHeadSettings;
use crate::error::Result;
use crate::linalg::{Mat, MatRef, matmul, matmul_into};
use crate::theory::blocks::factor::Factor;
use crate::theory::blocks::kernels::{Kernels, PointSet, Points};
use crate::theory::blocks::shared::Shared;
use crate::theory::operator::{self, Operator};

/// How many kernels of one pair of sets are made from one product.
const AT_ONCE: usize = 4;

/// The block lower-triangular matrix `𝓛_ts = K̃_ts(X_t,X_s)`, its diagonal factored.
#[derive(Debug)]
pub(super) struct System {
    /// All inputs of each task.
    pub points: Vec<PointSet>,
    /// `lower[t][s]`, s < t.
    lower: Vec<Vec<Mat<f64>>>,
    /// Factors of `K̃_tt(X_t,X_t) + β^{-1} I`.
    pub diagonal: Vec<Factor>,
}

impl System {
    /// All blocks of 𝓛: (ΣP)²/2 numbers beside the factors.
    pub fn new(kernels: &Kernels, shared: &Shared, settings: &SingleHeadSettings) -> Result<System> {
        let points: Vec<PointSet> = (0..shared.tasks.len()).map(|t| shared.whole(t)).collect();
        let mut system = System { points, lower: vec![], diagonal: vec![] };
        for t in 0..shared.tasks.len() {
            let row = (0..t)
                .map(|s| {
                    kernels.block(kernels.tilde(t + 1, s + 1), system.points[t].points(), system.points[s].points())
                })
                .collect::<Result<_>>()?;
            system.lower.push(row);
            let which = kernels.tilde(t + 1, t + 1);
            let (factor, _) =
                kernels.invert(which, system.points[t].points(), settings.ridge(), &shared.tasks[t].name)?;
            system.diagonal.push(factor);
        }
        Ok(system)
    }

    /// `𝓛^{-1} R`.
    pub fn substitute(&self, rest: Vec<Mat<f64>>) -> Result<Vec<Mat<f64>>> {
        let mut kept = Kept { system: self, rest, duals: vec![] };
        operator::learn(&mut kept)?;
        Ok(kept.duals)
    }

    /// `A = κ 𝓛^{-1}` block by block, by backward substitution; `κ` holds one block per task learned.
    pub fn weights(&self, kappa: Vec<Mat<f64>>) -> Vec<Mat<f64>> {
        let count = kappa.len();
        let mut weights: Vec<Mat<f64>> = kappa;
        for s in (0..count).rev() {
            let (left, right) = weights.split_at_mut(s + 1);
            for (r, later) in right.iter().enumerate() {
                matmul_into(left[s].as_mut(), 1.0, -1.0, later.as_ref(), self.lower[s + 1 + r][s].as_ref());
            }
            left[s] = self.diagonal[s].solve(left[s].transpose()).transpose().to_owned();
        }
        weights
    }
}

/// Blocks that are all there, and what is to be learned.
struct Kept<'a> {
    system: &'a System,
    rest: Vec<Mat<f64>>,
    duals: Vec<Mat<f64>>,
}

impl Operator for Kept<'_> {
    type Vector = Mat<f64>;

    fn tasks(&self) -> usize {
        self.rest.len()
    }

    fn rest(&mut self, t: usize) -> Result<Mat<f64>> {
        let mut rest = std::mem::replace(&mut self.rest[t], Mat::zeros(0, 0));
        for (dual, block) in self.duals.iter().zip(&self.system.lower[t]) {
            matmul_into(rest.as_mut(), 1.0, -1.0, block.as_ref(), dual.as_ref());
        }
        Ok(rest)
    }

    fn solve(&mut self, t: usize, rest: Mat<f64>) -> Result<Mat<f64>> {
        Ok(self.system.diagonal[t].solve(rest.as_ref()))
    }

    fn carry(&mut self, _: usize, dual: Mat<f64>) -> Result<()> {
        self.duals.push(dual);
        Ok(())
    }
}

/// Blocks that are made, used and dropped one after another, where `K̃_ts` depends on both times.
struct Streamed<'a> {
    kernels: &'a Kernels,
    shared: &'a Shared,
    ridge: f64,
    learned: Learned,
}

/// Learns the tasks one after another.
pub(super) fn learn(kernels: &Kernels, shared: &Shared, settings: &SingleHeadSettings) -> Result<Learned> {
    let mut streamed = Streamed { kernels, shared, ridge: settings.ridge(), learned: Learned::default() };
    operator::learn(&mut streamed)?;
    Ok(streamed.learned)
}

impl Operator for Streamed<'_> {
    type Vector = Mat<f64>;

    fn tasks(&self) -> usize {
        self.shared.tasks.len()
    }

    fn rest(&mut self, t: usize) -> Result<Mat<f64>> {
        let task = &self.shared.tasks[t];
        let mut rest = task.y.clone();
        for (s, dual) in self.learned.duals.iter().enumerate() {
            let (x, x2) = (task.own.points(), self.shared.tasks[s].own.points());
            let block = self.kernels.block(self.kernels.tilde(t + 1, s + 1), x, x2)?;
            matmul_into(rest.as_mut(), 1.0, -1.0, block.as_ref(), dual.as_ref());
        }
        Ok(rest)
    }

    fn solve(&mut self, t: usize, rest: Mat<f64>) -> Result<Mat<f64>> {
        let task = &self.shared.tasks[t];
        let which = self.kernels.tilde(t + 1, t + 1);
        let (factor, condition) = self.kernels.invert(which, task.own.points(), self.ridge, &task.name)?;
        self.learned.inverses.note(&task.name, condition, factor.rank())?;
        Ok(factor.solve(rest.as_ref()))
    }

    fn carry(&mut self, _: usize, dual: Mat<f64>) -> Result<()> {
        self.learned.duals.push(dual);
        Ok(())
    }
}

/// `Σ_{s≤t} K̃_ts(x,X_s) u_s` for every t in `times` (from 0), and of a fresh network that has learned one task alone, with its
/// number and its dual: where `K̃_ts` depends on s alone.
pub(super) fn outputs(
    kernels: &Kernels,
    shared: &Shared,
    duals: &[Mat<f64>],
    x: Points<'_>,
    times: &[usize],
    alone: Option<(usize, &Mat<f64>)>,
) -> Result<(Vec<Mat<f64>>, Option<Mat<f64>>)> {
    if kernels.stationary() {
        return stationary_outputs(kernels, shared, duals, x, times, alone);
    }
    let mut f: Vec<Mat<f64>> = times.iter().map(|_| Mat::zeros(x.len(), duals[0].ncols())).collect();
    for (s, dual) in duals.iter().enumerate() {
        let later: Vec<usize> = (0..times.len()).filter(|&i| times[i] >= s).collect();
        for some in later.chunks(AT_ONCE) {
            let which: Vec<_> = some.iter().map(|&i| kernels.tilde(times[i] + 1, s + 1)).collect();
            let blocks = kernels.blocks(&which, x, shared.tasks[s].own.points())?;
            for (&i, block) in some.iter().zip(&blocks) {
                matmul_into(f[i].as_mut(), 1.0, 1.0, block.as_ref(), dual.as_ref());
            }
        }
    }
    Ok((f, None))
}

/// The same where `K̃_ts` depends on s alone: one block per task, and one for the inputs that all tasks hold.
fn stationary_outputs(
    kernels: &Kernels,
    shared: &Shared,
    duals: &[Mat<f64>],
    x: Points<'_>,
    times: &[usize],
    alone: Option<(usize, &Mat<f64>)>,
) -> Result<(Vec<Mat<f64>>, Option<Mat<f64>>)> {
    let (n, columns) = (shared.common.len(), duals[0].ncols());
    let last = times.iter().copied().chain(alone.map(|(s, _)| s)).max().unwrap_or(0);
    let (first, later) = (kernels.tilde(1, 1), kernels.tilde(2, 2));
    let which = if first == later { vec![later] } else { vec![later, first] };
    let to_common = kernels.blocks(&which, x, shared.common.points())?;
    let mut f: Vec<Mat<f64>> = times.iter().map(|_| Mat::zeros(x.len(), columns)).collect();
    let mut now = Mat::<f64>::zeros(x.len(), columns);
    let mut fresh = None;
    for (s, dual) in duals.iter().enumerate().take(last + 1) {
        let common = if s == 0 { to_common.last() } else { to_common.first() };
        let block = kernels.block(kernels.tilde(s + 1, s + 1), x, shared.tasks[s].own.points())?;
        let add = |f: &mut Mat<f64>, dual: &Mat<f64>| {
            let (top, bottom) = dual.as_ref().split_at_row(n);
            if let Some(common) = common {
                add_product(f, common.as_ref(), top);
            }
            add_product(f, block.as_ref(), bottom);
        };
        add(&mut now, dual);
        if let Some((_, own)) = alone.filter(|(task, _)| *task == s) {
            let mut outputs = Mat::zeros(x.len(), columns);
            add(&mut outputs, own);
            fresh = Some(outputs);
        }
        for (f, _) in f.iter_mut().zip(times).filter(|(_, t)| **t == s) {
            f.copy_from(&now);
        }
    }
    Ok((f, fresh))
}

/// `F ← F + K U`, of which columns that are zero in U cost nothing: classes of tasks that are still to come.
pub(super) fn add_product(f: &mut Mat<f64>, k: MatRef<'_, f64>, u: MatRef<'_, f64>) {
    let live = live(u);
    if live.len() == u.ncols() {
        return matmul_into(f.as_mut(), 1.0, 1.0, k, u);
    }
    let product = matmul(k, chosen(u, &live).as_ref());
    for (c, &j) in live.iter().enumerate() {
        f.col_as_slice_mut(j).iter_mut().zip(product.col_as_slice(c)).for_each(|(f, p)| *f += p);
    }
}

/// The columns that are not all zero.
pub(super) fn live(m: MatRef<'_, f64>) -> Vec<usize> {
    (0..m.ncols()).filter(|&j| m.col(j).iter().any(|v| *v != 0.0)).collect()
}

/// Some columns.
pub(super) fn chosen(m: MatRef<'_, f64>, columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(m.nrows(), columns.len(), |i, c| m[(i, columns[c])])
}
