//! `(K + ridge) X = B` for a kernel of which only a factor in single precision fits into memory.
//!
//! ```math
//! x_0 = M^{-1}b, \qquad p_k = M^{-1}r_k + \frac{r_k\cdot M^{-1}r_k}{r_{k-1}\cdot M^{-1}r_{k-1}}\,p_{k-1}, \qquad
//! x_{k+1} = x_k + \frac{r_k\cdot M^{-1}r_k}{p_k\cdot Kp_k}\,p_k
//! ```
//!
//! Conjugate gradients in double precision for all right-hand sides at once, each with steps of its own; `M = L Lᵀ` is the
//! factor in single precision, K the kernel itself, made anew in every pass. M differs from K by rounding in single
//! precision, so that a few steps do (M. R. Hestenes and E. Stiefel, J. Res. NBS 49, 409 (1952); for factors of low
//! precision N. J. Higham and S. Pranesh, SIAM J. Sci. Comput. 43, A258 (2021)).
//!
//! What counts as solved is `b − K x`, computed anew from x: the residual that steps carry along knows nothing of their
//! rounding. Only a solution that counts is put away.

use super::Whole;
use super::products::{columns, cut, part};
use super::scratch::Numbers;
use crate::error::{Error, Result};
use crate::linalg::{Mat, TiledCholesky, dot};
use crate::plan::{factor_operations, solve_operations};
use crate::theory::blocks::kernels::Which;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A relative residual at which a right-hand side counts as solved.
pub(super) const RESIDUAL: f64 = 1e-8;
/// A relative residual above which a result is an error and not a note.
const WORST: f64 = 1e-4;
/// Steps after which no more is expected.
const MOST_STEPS: usize = 60;
/// Steps without progress after which no more is expected.
const IDLE_STEPS: usize = 6;
/// A residual has come down where it is below this share of the last one.
const PROGRESS: f64 = 0.9;
/// How often steps begin anew from the residual as it is.
const ROUNDS: usize = 3;

/// The kernel of a task with itself plus a ridge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct System {
    /// The kernel, not scaled.
    pub which: Which,
    /// The task, from 0.
    pub task: usize,
    /// What is added to the diagonal.
    pub ridge: f64,
}

impl System {
    /// What files call it.
    pub fn name(&self) -> String {
        match self.ridge {
            0.0 => format!("{}-task{}", self.which.word(), self.task + 1),
            ridge => format!("{}-task{}-ridge{ridge:e}", self.which.word(), self.task + 1),
        }
    }
}

/// What is solved, and what is left: `B − (K + ridge) X`.
#[derive(Debug, Clone)]
pub(super) struct Solved {
    pub x: Mat<f64>,
    pub residual: Mat<f64>,
    pub numbers: Numbers,
}

/// Solutions as steps leave them, with `b − K x` itself.
pub(super) struct Iterated {
    pub x: Mat<f64>,
    pub residual: Mat<f64>,
    /// The relative residual of each.
    pub each: Vec<f64>,
    pub steps: usize,
    /// `‖K + ridge‖₁`.
    pub norm: f64,
}

/// The larger of two; a NaN is larger than any.
fn worse(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

pub(super) fn largest(each: &[f64]) -> f64 {
    each.iter().copied().fold(0.0, worse)
}

impl Whole<'_> {
    /// The factor of a system: from memory, from disk, or made, block column by block column, each put away.
    pub(super) fn factor(&mut self, system: System) -> Result<Arc<TiledCholesky>> {
        if let Some((_, factor)) = self.kept.iter().find(|(kept, _)| *kept == system) {
            return Ok(factor.clone());
        }
        let points = self.points(system.task);
        let (size, block) = (points.len(), self.block);
        self.make_room(TiledCholesky::bytes(size as f64, block as f64));
        self.work.begin(format!("factor of {}", self.tasks[system.task].name))?;
        let mut factor = TiledCholesky::begin(&self.diagonal(system)?, block)?;
        // Operations grow with the number of columns before.
        let all = if self.is_new(system) { factor_operations(size as f64, self.dim()) } else { 0.0 };
        let blocks = factor.blocks();
        let weight = |j: usize| ((j + 1) * (blocks - j)) as f64;
        let weights: f64 = (0..blocks).map(weight).sum();
        let name = system.name();
        let mut writing = Writing(None);
        for (j, (start, width)) in cut(size, block).enumerate() {
            match self.stored_column(&name, j, blocks - j)? {
                Some((column, shift)) => factor.restore(column, shift),
                None => {
                    let columns = part(points, start, width);
                    let mut tiles = vec![];
                    for (i, height) in cut(size, block).skip(j) {
                        let tile = match i == start {
                            true => self.kernels.symmetric(system.which, columns)?,
                            false => self.kernels.block(system.which, part(points, i, height), columns)?,
                        };
                        let ridge = if i == start { system.ridge } else { 0.0 };
                        tiles.push(factor.tile((i, start), &tile, ridge));
                    }
                    factor.extend(tiles)?;
                    writing.finished()?;
                    writing = self.store_column(&name, j, &factor)?;
                }
            }
            self.work.did(all * weight(j) / weights)?;
        }
        writing.finished()?;
        let factor = Arc::new(factor);
        self.kept.push((system, factor.clone()));
        Ok(factor)
    }

    /// The diagonal of a system.
    pub(super) fn diagonal(&self, system: System) -> Result<Vec<f64>> {
        let diagonal = self.kernels.diagonal(system.which, self.points(system.task))?;
        Ok(diagonal.into_iter().map(|k| k + system.ridge).collect())
    }

    /// Lets go of factors, the oldest first, until so many bytes more fit; the last one goes in any case if it must.
    fn make_room(&mut self, bytes: f64) {
        let size = |factor: &TiledCholesky| TiledCholesky::bytes(factor.size() as f64, self.block as f64);
        while !self.kept.is_empty() && self.kept.iter().map(|(_, f)| size(f)).sum::<f64>() + bytes > self.room {
            self.kept.remove(0);
        }
    }

    fn stored_column(&self, name: &str, j: usize, tiles: usize) -> Result<Option<(Vec<Mat<f32>>, f64)>> {
        // The last tile is written last.
        if !self.scratch.has(&tile_name(name, j, tiles - 1)) {
            return Ok(None);
        }
        let mut shift = 0f64;
        let mut column = vec![];
        for below in 0..tiles {
            let Some((tile, numbers)) = self.scratch.read::<f32>(&tile_name(name, j, below))? else { return Ok(None) };
            shift = shift.max(numbers.get("shift").copied().unwrap_or(0.0));
            column.push(tile);
        }
        Ok(Some((column, shift)))
    }

    /// Puts a block column away while the next one is made; at once where there is no other thread to be had.
    fn store_column(&self, name: &str, j: usize, factor: &TiledCholesky) -> Result<Writing> {
        let numbers: Numbers = [("shift".to_string(), factor.shift())].into();
        let (scratch, column, name) = (self.scratch.clone(), factor.column(j), name.to_string());
        let write = Arc::new(move || {
            let mut tiles = column.iter().enumerate();
            tiles.try_for_each(|(below, tile)| scratch.write(&tile_name(&name, j, below), tile, &numbers))
        });
        let aside = write.clone();
        match std::thread::Builder::new().spawn(move || aside()) {
            Ok(handle) => Ok(Writing(Some(handle))),
            Err(_) => write().map(|()| Writing(None)),
        }
    }

    /// Solves for the right-hand sides that `of` makes of the factor; a part called `name`.
    ///
    /// # Errors
    /// [`Error::NotConverged`] for a relative residual above 1e-4; [`Error::LostAccuracy`] and [`Error::NotPositiveDefinite`] for
    /// a kernel that is singular, or nearly so.
    pub(super) fn solve(
        &mut self,
        name: &str,
        system: System,
        of: impl FnOnce(&TiledCholesky) -> Mat<f64>,
    ) -> Result<Solved> {
        let p = self.points(system.task).len();
        if let Some(solved) = self.solved(name, p)? {
            let factor = if self.is_new(system) { factor_operations(p as f64, self.dim()) } else { 0.0 };
            self.work.did(factor + solve_operations(p as f64, self.dim(), solved.x.ncols() as f64))?;
            self.heard(system, &solved.numbers);
            return Ok(solved);
        }
        let factor = self.factor(system)?;
        let b = of(&factor);
        self.work.begin(format!("solutions of {}", self.tasks[system.task].name))?;
        let (asked, known) = (b.ncols(), self.known(system));
        let b = if known.is_some() { b } else { self.with_probes(b) };
        let before = self.work.done();
        let Iterated { x, residual, each, steps, norm } = self.iterate(system, &factor, &b)?;
        let condition = match known {
            Some(known) => known,
            None => {
                let probes = [columns(&b, asked, b.ncols() - asked), columns(&x, asked, b.ncols() - asked)];
                self.condition(system, &factor, norm, probes)?
            }
        };
        let planned = solve_operations(p as f64, self.dim(), asked as f64);
        self.work.correct(planned, self.work.done() - before);
        let worst = largest(&each[..asked]);
        let sound = worst <= WORST; // false for a NaN too
        if !sound {
            return Err(self.unsolved(system, condition, worst, steps)?);
        }
        let numbers: Numbers = [
            ("residual".to_string(), worst),
            ("steps".to_string(), steps as f64),
            ("shift".to_string(), factor.shift()),
            ("condition".to_string(), condition),
        ]
        .into();
        let solved = Solved { x: columns(&x, 0, asked), residual: columns(&residual, 0, asked), numbers };
        let both = super::products::beside(&[solved.x.as_ref(), solved.residual.as_ref()]);
        self.scratch.write(name, &both, &solved.numbers)?;
        self.heard(system, &solved.numbers);
        Ok(solved)
    }

    /// A solution of `p` rows that is there and counts as one.
    fn solved(&self, name: &str, p: usize) -> Result<Option<Solved>> {
        let Some((both, numbers)) = self.scratch.read::<f64>(name)? else { return Ok(None) };
        let half = both.ncols() / 2;
        let sound = both.nrows() == p && numbers.get("residual").is_some_and(|left| *left <= WORST);
        let solved = || Solved { x: columns(&both, 0, half), residual: columns(&both, half, half), numbers };
        Ok(sound.then(solved))
    }

    /// Why a system has no solution: its kernel is singular, or else steps end too early.
    fn unsolved(&mut self, system: System, condition: f64, residual: f64, steps: usize) -> Result<Error> {
        if let Some(singular) = self.singular(system, condition)? {
            return Ok(singular);
        }
        Ok(Error::NotConverged {
            what: format!("the solution of {}", self.tasks[system.task].name),
            residual,
            steps,
            trace: vec![],
            advice: "its kernel is too ill-conditioned: remove examples that are nearly equal, or set a temperature \
                     (finite beta)"
                .into(),
        })
    }

    /// The solutions, from steps that begin anew wherever what they carry along has parted from what is left.
    pub(super) fn iterate(&mut self, system: System, factor: &TiledCholesky, b: &Mat<f64>) -> Result<Iterated> {
        let size: Vec<f64> = (0..b.ncols()).map(|j| b.col(j).norm_l2()).collect();
        let relative = |r: &Mat<f64>| -> Vec<f64> {
            let one = |j: usize| if size[j] > 0.0 { r.col(j).norm_l2() / size[j] } else { 0.0 };
            (0..b.ncols()).map(one).collect()
        };
        let square = 4.0 * (b.nrows() as f64).powi(2);
        let mut x = factor.solve(b.as_ref());
        self.work.did(square * b.ncols() as f64)?;
        let (product, norm) = self.apply_with_norm(system, x.as_ref())?;
        let mut residual = b - product;
        let mut each = relative(&residual);
        let mut steps = 0;
        for _ in 0..ROUNDS {
            if largest(&each) <= RESIDUAL || steps >= MOST_STEPS {
                break;
            }
            let mut next = x.clone();
            steps += self.descend(system, factor, &size, (&mut next, residual.clone()), MOST_STEPS - steps)?;
            let left = b - self.apply(system, next.as_ref())?;
            let now = relative(&left);
            let before = largest(&each);
            for j in 0..b.ncols() {
                let better = now[j] < each[j]; // false for a NaN too
                if !better {
                    continue;
                }
                x.col_mut(j).copy_from(next.col(j));
                residual.col_mut(j).copy_from(left.col(j));
                each[j] = now[j];
            }
            let gained = largest(&each) < PROGRESS * before;
            if !gained {
                break;
            }
        }
        Ok(Iterated { x, residual, each, steps, norm })
    }

    /// Steps of conjugate gradients from x and what it leaves; how many were taken.
    fn descend(
        &mut self,
        system: System,
        factor: &TiledCholesky,
        size: &[f64],
        (x, mut r): (&mut Mat<f64>, Mat<f64>),
        most: usize,
    ) -> Result<usize> {
        let square = 4.0 * (r.nrows() as f64).powi(2);
        let mut p = Mat::<f64>::zeros(r.nrows(), r.ncols());
        let mut rho_before = vec![0.0; r.ncols()];
        let relative = |r: &Mat<f64>, j: usize| if size[j] > 0.0 { r.col(j).norm_l2() / size[j] } else { 0.0 };
        let worst_of = |r: &Mat<f64>| (0..size.len()).map(|j| relative(r, j)).fold(0.0, worse);
        let (mut best, mut idle, mut steps) = (worst_of(&r), 0, 0);
        while best > RESIDUAL && steps < most && idle < IDLE_STEPS {
            let open: Vec<usize> = (0..r.ncols()).filter(|&j| relative(&r, j) > RESIDUAL).collect();
            let chosen = |m: &Mat<f64>| Mat::from_fn(m.nrows(), open.len(), |i, k| m[(i, open[k])]);
            let z = factor.solve(chosen(&r).as_ref());
            let mut rho = vec![0.0; open.len()];
            for (k, &j) in open.iter().enumerate() {
                rho[k] = dot(r.col_as_slice(j), z.col_as_slice(k));
                let turn = if rho_before[j] > 0.0 { rho[k] / rho_before[j] } else { 0.0 };
                let old = p.col_as_slice_mut(j).iter_mut().zip(z.col_as_slice(k));
                old.for_each(|(p, z)| *p = z + turn * *p);
                rho_before[j] = rho[k];
            }
            let q = self.apply(system, chosen(&p).as_ref())?;
            self.work.did(square * open.len() as f64)?;
            for (k, &j) in open.iter().enumerate() {
                let step = rho[k] / dot(p.col_as_slice(j), q.col_as_slice(k));
                if !step.is_finite() {
                    continue;
                }
                let along = x.col_as_slice_mut(j).iter_mut().zip(p.col_as_slice(j));
                along.for_each(|(x, p)| *x += step * p);
                let left = r.col_as_slice_mut(j).iter_mut().zip(q.col_as_slice(k));
                left.for_each(|(r, q)| *r -= step * q);
            }
            steps += 1;
            let now = worst_of(&r);
            idle = if now < PROGRESS * best { 0 } else { idle + 1 };
            best = best.min(now);
        }
        Ok(steps)
    }

    /// Whether the operations of a system's factor have not been counted yet.
    fn is_new(&mut self, system: System) -> bool {
        let new = !self.counted.contains(&system);
        if new {
            self.counted.push(system);
        }
        new
    }

    /// The condition number of a system, where it has been estimated.
    fn known(&self, system: System) -> Option<f64> {
        self.heard.iter().find(|(known, _)| *known == system).and_then(|(_, n)| n.get("condition").copied())
    }

    /// Remembers how well a system was solved: the worst of all times.
    fn heard(&mut self, system: System, numbers: &Numbers) {
        let at = match self.heard.iter().position(|(known, _)| *known == system) {
            Some(at) => at,
            None => {
                self.heard.push((system, Numbers::new()));
                self.heard.len() - 1
            }
        };
        for (name, value) in numbers {
            let worst = self.heard[at].1.entry(name.clone()).or_insert(*value);
            *worst = worst.max(*value);
        }
    }
}

/// What is being put away; nobody goes on, in whatever way, before it is.
struct Writing(Option<JoinHandle<Result<()>>>);

impl Writing {
    fn finished(&mut self) -> Result<()> {
        match self.0.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(fault)) => std::panic::resume_unwind(fault),
            None => Ok(()),
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // Only where the run ends early: what the write came to matters no more.
        let _ = self.0.take().map(JoinHandle::join);
    }
}

fn tile_name(name: &str, j: usize, below: usize) -> String {
    format!("factor-{name}-{j}-{below}")
}
