//! `u_t = K̃_tt^{-1} (Y_t − Σ_{s<t} K̃_ts u_s)` (paper, Eq. 28) and `f_t(x) = Σ_{s≤t} K̃_ts(x,X_s) u_s` (Eq. 27) at training and
//! held-out data, with one factor in memory at a time.

use super::Whole;
use super::pairs::{First, Pairs};
use super::products::{Factors, beside, columns};
use super::scratch::Numbers;
use super::solver::System;
use crate::error::Result;
use crate::linalg::{Mat, MatRef, Scale};
use crate::theory::blocks::kernels::{Points, Which};
use crate::theory::operator::{self, Operator};
use crate::theory::single_head::score::{Score, Scores};

/// The network while it learns.
struct Chain {
    /// `train[t][s]`: its outputs after task t at the training inputs of task s, as far as they are known.
    train: Vec<Vec<Mat<f64>>>,
    /// What each task adds, and what a fresh network learns of it.
    duals: Vec<Mat<f64>>,
    alone: Vec<Mat<f64>>,
    /// A fresh network that has learned task 2, at the inputs of task 1.
    free: Option<Mat<f64>>,
    conditions: Vec<f64>,
}

/// Kernels in tiles, and the network that learns them.
struct Tiles<'w, 'a> {
    whole: &'w mut Whole<'a>,
    chain: &'w mut Chain,
    firsts: &'w [First],
    pairs: Option<&'w Pairs>,
}

impl Operator for Tiles<'_, '_> {
    type Vector = Mat<f64>;

    fn tasks(&self) -> usize {
        self.whole.tasks.len()
    }

    fn rest(&mut self, t: usize) -> Result<Mat<f64>> {
        Ok(self.whole.tasks[t].y - &self.chain.train[t][t])
    }

    fn solve(&mut self, t: usize, rest: Mat<f64>) -> Result<Mat<f64>> {
        self.whole.learned(self.chain, t, rest, (self.firsts, self.pairs))
    }

    fn carry(&mut self, t: usize, dual: Mat<f64>) -> Result<()> {
        self.chain.duals.push(dual);
        self.whole.reach(self.chain, t, self.pairs)
    }
}

impl Whole<'_> {
    /// What becomes of every task after every task.
    pub(super) fn chain(&mut self, firsts: &[First], pairs: Option<&Pairs>) -> Result<Scores> {
        let (count, c) = (self.tasks.len(), self.columns());
        let blank = |s: usize| Mat::zeros(self.points(s).len(), c);
        let mut chain = Chain {
            train: (0..count).map(|_| (0..count).map(blank).collect()).collect(),
            duals: vec![],
            alone: vec![],
            free: None,
            conditions: vec![],
        };
        operator::learn(&mut Tiles { whole: self, chain: &mut chain, firsts, pairs })?;
        let score = |f: &Mat<f64>, y: MatRef<'_, f64>| Score::new(f.as_ref(), y, None, None);
        let row = |row: &Vec<Mat<f64>>| (0..count).map(|s| score(&row[s], self.tasks[s].y)).collect::<Result<Vec<_>>>();
        let train = chain.train.iter().map(row).collect::<Result<_>>()?;
        let free = chain.free.as_ref().map(|f| score(f, self.tasks[0].y)).transpose()?;
        Ok(Scores {
            train,
            test: self.tested(&chain)?,
            free: free.map(|score| score.loss),
            conditions: chain.conditions,
            ranks: (0..count).map(|t| self.points(t).len()).collect(),
        })
    }

    /// A kernel of a task as a system, and what its solutions are to be divided by.
    pub(super) fn system(&self, which: Which, task: usize) -> (System, f64) {
        let (which, scale) = which.unscaled();
        (System { which, task, ridge: self.ridge / scale }, scale)
    }

    /// Finds what task r adds to the network, and what a fresh network learns of it.
    fn learned(
        &mut self,
        chain: &mut Chain,
        r: usize,
        rest: Mat<f64>,
        (firsts, pairs): (&[First], Option<&Pairs>),
    ) -> Result<Mat<f64>> {
        let c = self.columns();
        let (fresh, fresh_scale) = self.system(self.kernels.tilde(1, 1), r);
        let (system, scale) = self.system(self.kernels.tilde(r + 1, r + 1), r);
        let known = fresh == self.gaussian(r);
        let y = self.tasks[r].y.to_owned();
        let over = |m: Mat<f64>, scale: f64| m * Scale(1.0 / scale);
        let (alone, left_alone) = match known {
            true => (firsts[r].u.clone(), firsts[r].left.clone()),
            false if r > 0 && fresh == system => (Mat::zeros(0, 0), Mat::zeros(0, 0)),
            false => {
                let solved = self.solve(&format!("alone-{}", r + 1), fresh, |_| y.clone())?;
                (solved.x, solved.residual)
            }
        };
        if scale == 0.0 {
            // A kernel of 0 beside 1/β: the network stays as it was.
            chain.conditions.push(1.0);
            chain.alone.push(over(alone, fresh_scale));
            return Ok(Mat::zeros(y.nrows(), c));
        }
        let (dual, left, alone) = if r == 0 {
            (alone.clone(), left_alone, alone)
        } else if let (1, 2, Some(pairs), true) = (r, self.tasks.len(), pairs, known && system == fresh) {
            // K^{-1}(Y_2 − K_21 u_1) is the difference of two solutions that are there.
            let dual = &firsts[1].u - &pairs.solved[1][0];
            (dual, &firsts[1].left - &pairs.left[1][0], alone)
        } else {
            let both = alone.nrows() == 0;
            let b = if both { beside(&[rest.as_ref(), y.as_ref()]) } else { rest.clone() };
            let solved = self.solve(&format!("chain-{}", r + 1), system, |_| b)?;
            let alone = if both { columns(&solved.x, c, c) } else { alone };
            (columns(&solved.x, 0, c), columns(&solved.residual, 0, c), alone)
        };
        // K̃ u = rest − what is left − ridge u, as it was solved for.
        let own = rest - &left - &dual * Scale(system.ridge);
        // At later times it is the same kernel, where kernels do not depend on them.
        let until = if self.kernels.stationary() { self.tasks.len() } else { r + 1 };
        (r..until).for_each(|t| chain.train[t][r] += &own);
        let condition = self.heard.iter().find(|(known, _)| *known == system).and_then(|(_, n)| n.get("condition"));
        chain.conditions.push(condition.copied().unwrap_or(f64::NAN));
        chain.alone.push(over(alone, fresh_scale));
        Ok(over(dual, scale))
    }

    /// Carries what task r added to all training inputs; its own have what it added when it was learned.
    fn reach(&mut self, chain: &mut Chain, r: usize, pairs: Option<&Pairs>) -> Result<()> {
        let count = self.tasks.len();
        let plain = self.system(self.kernels.tilde(1, 1), r).0 == self.gaussian(r);
        if let (1, true, Some(pairs)) = (r, plain, pairs) {
            chain.free = Some(pairs.said[0][1].clone());
        }
        for s in 0..count {
            let times: Vec<usize> = (r..count).filter(|&t| s != r || (t > r && !self.kernels.stationary())).collect();
            let known = plain && self.kernels.stationary() && (r == 0 || (count == 2 && self.is_rf()));
            match pairs.filter(|_| known && s != r) {
                Some(pairs) => {
                    let back = if r == 0 {
                        Mat::zeros(self.points(s).len(), self.columns())
                    } else {
                        pairs.back[r][s].clone()
                    };
                    let change = &pairs.said[s][r] - back;
                    times.iter().for_each(|&t| chain.train[t][s] += &change);
                }
                None if times.is_empty() => {}
                None => self.carry(chain, r, s, &times)?,
            }
        }
        Ok(())
    }

    /// `f_t(X_s) ← f_t(X_s) + K̃_tr(X_s,X_r) u_r` at every one of `times`.
    fn carry(&mut self, chain: &mut Chain, r: usize, s: usize, times: &[usize]) -> Result<()> {
        let kernels: Vec<Which> = times.iter().map(|&t| self.kernels.tilde(t + 1, r + 1)).collect();
        let mut whiches = kernels.clone();
        whiches.dedup();
        let mut ahead: Vec<Factors<'_>> = whiches.iter().map(|w| (*w, chain.duals[r].as_ref())).collect();
        let free = (r, s) == (1, 0) && chain.free.is_none();
        if free {
            ahead.push((self.kernels.tilde(1, 1), chain.alone[r].as_ref()));
        }
        let sets = (self.points(s), self.points(r));
        let parts = self.forward(&format!("reach-{}-{}", r + 1, s + 1), sets, &ahead)?;
        if free {
            chain.free = parts.last().cloned();
        }
        for (&t, which) in times.iter().zip(&kernels) {
            if let Some(at) = whiches.iter().position(|known| known == which) {
                chain.train[t][s] += &parts[at];
            }
        }
        Ok(())
    }

    /// Whether every kernel is `K_GP`.
    fn is_rf(&self) -> bool {
        self.kernels.tilde(1, 1) == self.kernels.tilde(2, 2) && self.kernels.tilde(1, 1) == Which::NNGP
    }

    /// `K V` for each kernel; a part of that name.
    fn forward(&mut self, name: &str, sets: (Points<'_>, Points<'_>), ahead: &[Factors<'_>]) -> Result<Vec<Mat<f64>>> {
        let c = self.columns();
        if let Some((all, _)) = self.scratch.read::<f64>(name)? {
            self.skipped(sets, all.ncols())?;
            return Ok((0..ahead.len()).map(|k| columns(&all, k * c, c)).collect());
        }
        self.work.begin("outputs".into())?;
        let (parts, _) = self.across(sets, ahead, &[])?;
        let all = beside(&parts.iter().map(|m| m.as_ref()).collect::<Vec<_>>());
        self.scratch.write(name, &all, &Numbers::new())?;
        Ok(parts)
    }

    /// On held-out data after every task, and of fresh networks that learn one task alone; where every task has some.
    fn tested(&mut self, chain: &Chain) -> Result<Option<(Vec<Vec<Score>>, Vec<Score>)>> {
        let count = self.tasks.len();
        let held_out: Option<Vec<_>> = self.tasks.iter().map(|task| task.test).collect();
        let Some(held_out) = held_out else { return Ok(None) };
        let mut scores = vec![vec![Score::default(); count]; count];
        let mut alone = vec![];
        for (s, (points, y)) in held_out.into_iter().enumerate() {
            let mut f: Vec<Mat<f64>> = (0..count).map(|_| Mat::zeros(points.len(), self.columns())).collect();
            for r in 0..count {
                let kernels: Vec<Which> = (r..count).map(|t| self.kernels.tilde(t + 1, r + 1)).collect();
                let mut whiches = kernels.clone();
                whiches.dedup();
                let mut ahead: Vec<Factors<'_>> = whiches.iter().map(|w| (*w, chain.duals[r].as_ref())).collect();
                if r == s {
                    ahead.push((self.kernels.tilde(1, 1), chain.alone[r].as_ref()));
                }
                let name = format!("test-{}-{}", r + 1, s + 1);
                let parts = self.forward(&name, (points, self.points(r)), &ahead)?;
                for (t, which) in (r..count).zip(&kernels) {
                    if let Some(at) = whiches.iter().position(|known| known == which) {
                        f[t] += &parts[at];
                    }
                }
                if let (true, Some(fresh)) = (r == s, parts.last()) {
                    alone.push(Score::new(fresh.as_ref(), y, None, None)?);
                }
            }
            for (t, f) in f.iter().enumerate() {
                scores[t][s] = Score::new(f.as_ref(), y, None, None)?;
            }
        }
        Ok(Some((scores, alone)))
    }
}
