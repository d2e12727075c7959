//! `X̃_t = X_t ∪ {stored examples of every earlier task}`: replay, and which examples are stored.
//!
//! Everything the theory says of `X_t` then holds with `X̃_t` in its place: stored examples are interpolated like new
//! ones. Losses are still those on each task's own data.

use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use crate::rng::Stream;
use crate::theory::blocks::kernels::{Kernels, PointSet};
use crate::theory::blocks::shared::Given;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// What [`Replay::examples`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayBudget {
    /// Examples of each earlier task.
    #[default]
    PerTask,
    /// Examples in all, shared equally by the tasks seen so far (Avalanche's `mem_size`).
    InAll,
    /// Examples of each class of each earlier task (PyCIL's `memory_per_class`).
    PerClass,
}

/// Which examples of a task are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Drawn at random.
    #[default]
    Random,
    /// Drawn at random, as many of every class.
    ByClass,
    /// One after another the example j that leaves least of the task's kernel unexplained, `max_j Σ_i R_ij²/R_jj` with
    /// `R = K − K_·S K_SS^{-1} K_S·` what the examples S stored so far leave: a Cholesky factorisation pivoted by the
    /// largest reduction of the trace.
    Greedy,
}

/// Examples of earlier tasks that are stored and learned again with every later task.
///
/// A stored example whose input the task itself holds, or a later task's store does, is left out: the newer target stands.
///
/// | name | default | range |
/// |---|---|---|
/// | `examples` | 0: no replay | at most the examples of a task, of all, or of a class |
/// | `budget` | `per-task` | `per-task`, `in-all`, `per-class` |
/// | `selection` | `random` | `random`, `by-class`, `greedy` |
/// | `seed` | 0 | |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replay {
    /// How many examples are stored; 0 for no replay.
    pub examples: usize,
    /// Of what.
    pub budget: ReplayBudget,
    /// Which ones.
    pub selection: Selection,
    /// The seed of what is drawn.
    pub seed: u64,
}

impl std::fmt::Display for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let of = match self.budget {
            ReplayBudget::PerTask => "of each earlier task",
            ReplayBudget::InAll => "in all",
            ReplayBudget::PerClass => "of each class",
        };
        let how = match self.selection {
            Selection::Random => "",
            Selection::ByClass => ", balanced",
            Selection::Greedy => ", chosen greedily",
        };
        write!(f, "replay of {} {of}{how}", self.examples)
    }
}

/// A task with the stored examples that are learned with it.
pub(super) struct Rehearsed {
    pub points: PointSet,
    pub y: Mat<f64>,
}

impl Replay {
    /// Whether anything is stored.
    pub fn is_on(&self) -> bool {
        self.examples > 0
    }

    /// Every task with what is stored of the earlier ones; `numbers` name equal inputs equally.
    ///
    /// # Errors
    /// [`Error::Setting`] where more is to be stored than there is.
    pub(super) fn rehearsed(
        &self,
        given: &[Given<'_>],
        numbers: &[Vec<usize>],
        kernels: &Kernels,
    ) -> Result<Vec<Rehearsed>> {
        self.check(given)?;
        let ranked = (0..given.len().saturating_sub(1)).map(|s| self.ranked(&given[s], s, kernels));
        let ranked = ranked.collect::<Result<Vec<Vec<usize>>>>()?;
        Ok((0..given.len()).map(|t| self.joined(given, numbers, &ranked, t)).collect())
    }

    /// Task t and what is stored by then.
    fn joined(&self, given: &[Given<'_>], numbers: &[Vec<usize>], ranked: &[Vec<usize>], t: usize) -> Rehearsed {
        let task = &given[t];
        let mut seen: HashSet<usize> = numbers[t].iter().copied().collect();
        let all: Vec<usize> = (0..task.points.len()).collect();
        let (mut points, mut y) = (task.points.select(&all), task.y.to_owned());
        let shares = shares(&ranked[..t], self.examples);
        for s in (0..t).rev() {
            let mut stored = self.stored(&given[s], &ranked[s], shares[s]);
            stored.retain(|&row| seen.insert(numbers[s][row]));
            points = points.points().followed_by(given[s].points.select(&stored).points());
            y = super::score::stacked(y.as_ref(), select(given[s].y, &stored).as_ref());
        }
        Rehearsed { points, y }
    }

    /// The rows of a task that are learned again, where `share` is its part of what is stored in all.
    fn stored(&self, task: &Given<'_>, ranked: &[usize], share: usize) -> Vec<usize> {
        match self.budget {
            ReplayBudget::PerTask => ranked[..self.examples].to_vec(),
            ReplayBudget::InAll => ranked[..share].to_vec(),
            ReplayBudget::PerClass => {
                let classes = classes(task.y);
                let mut left = vec![self.examples; task.y.nrows()];
                let wanted = |row: &&usize| {
                    let left = &mut left[classes[**row]];
                    *left > 0 && {
                        *left -= 1;
                        true
                    }
                };
                ranked.iter().filter(wanted).copied().collect()
            }
        }
    }

    /// The rows of task s, the one to be stored first first.
    fn ranked(&self, task: &Given<'_>, s: usize, kernels: &Kernels) -> Result<Vec<usize>> {
        let p = task.points.len();
        if self.selection == Selection::Greedy {
            return Ok(pivots(kernels.symmetric(kernels.tilde(2, 2), task.points)?));
        }
        let drawn = Stream::new(self.seed, "replay", s as u64).choose(p, p);
        if self.selection == Selection::Random {
            return Ok(drawn);
        }
        // The k-th example of every class before the (k+1)-th of any.
        let classes = classes(task.y);
        let mut count = vec![0; p];
        let mut keyed: Vec<(usize, usize)> = drawn
            .into_iter()
            .map(|row| {
                count[classes[row]] += 1;
                (count[classes[row]], row)
            })
            .collect();
        keyed.sort_by_key(|(turn, _)| *turn);
        Ok(keyed.into_iter().map(|(_, row)| row).collect())
    }

    /// Refuses to store more than there is.
    fn check(&self, given: &[Given<'_>]) -> Result<()> {
        let stored = &given[..given.len() - 1];
        let refuse = |most: usize, of: &str| {
            Err(Error::setting("replay", self.examples, format!("must be at most {most}, the examples of {of}")))
        };
        match self.budget {
            ReplayBudget::PerTask => {
                let least = stored.iter().min_by_key(|task| task.points.len());
                match least.filter(|task| task.points.len() < self.examples) {
                    Some(task) => refuse(task.points.len(), &task.name),
                    None => Ok(()),
                }
            }
            ReplayBudget::InAll => {
                let all = stored.iter().map(|task| task.points.len()).sum();
                if self.examples > all { refuse(all, "all tasks but the last") } else { Ok(()) }
            }
            ReplayBudget::PerClass => {
                for task in stored {
                    let classes = classes(task.y);
                    let kinds = classes.iter().max().map_or(0, |last| last + 1);
                    if 2 * kinds > classes.len() {
                        let expected = format!("{} has {kinds} different targets, no classes to count by", task.name);
                        return Err(Error::setting("replay", format!("{} per class", self.examples), expected));
                    }
                    let most = (0..kinds).map(|k| classes.iter().filter(|c| **c == k).count()).max().unwrap_or(0);
                    if self.examples > most {
                        return refuse(most, &format!("the largest class of {}", task.name));
                    }
                }
                Ok(())
            }
        }
    }
}

/// Equal parts of `total` for every task, but none more than it has; what does not divide goes to the first ones.
fn shares(ranked: &[Vec<usize>], total: usize) -> Vec<usize> {
    let mut shares = vec![0; ranked.len()];
    let mut left = total.min(ranked.iter().map(Vec::len).sum());
    while left > 0 {
        for (share, rows) in shares.iter_mut().zip(ranked) {
            if *share < rows.len() && left > 0 {
                *share += 1;
                left -= 1;
            }
        }
    }
    shares
}

/// The chosen rows.
fn select(y: MatRef<'_, f64>, rows: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), y.ncols(), |i, j| y[(rows[i], j)])
}

/// A number for every row, equal for equal targets, counted from 0 in order of first appearance.
fn classes(y: MatRef<'_, f64>) -> Vec<usize> {
    let mut known: Vec<usize> = vec![];
    let same = |i: usize, k: usize| (0..y.ncols()).all(|j| y[(i, j)] == y[(k, j)]);
    (0..y.nrows())
        .map(|row| {
            known.iter().position(|&first| same(row, first)).unwrap_or_else(|| {
                known.push(row);
                known.len() - 1
            })
        })
        .collect()
}

/// All rows of a kernel, each the one that explains most of what those before it leave: `max_j Σ_i R_ij²/R_jj`.
fn pivots(mut r: Mat<f64>) -> Vec<usize> {
    let n = r.nrows();
    let mut order = vec![];
    let mut left: Vec<usize> = (0..n).collect();
    // Below this a row is explained by those before it, to rounding.
    let explained: Vec<f64> = (0..n).map(|i| 1e-12 * r[(i, i)]).collect();
    while !left.is_empty() {
        let gain = |j: usize| {
            let d = r[(j, j)];
            if d > explained[j] { r.col_as_slice(j).iter().map(|v| v * v).sum::<f64>() / d } else { 0.0 }
        };
        let mut best = (0, f64::NEG_INFINITY);
        for (place, &j) in left.iter().enumerate() {
            let gain = gain(j);
            if gain > best.1 {
                best = (place, gain);
            }
        }
        let j = left.remove(best.0);
        order.push(j);
        if best.1 > 0.0 {
            let column: Vec<f64> = r.col_as_slice(j).to_vec();
            let d = column[j];
            for &k in &left {
                let factor = column[k] / d;
                r.col_as_slice_mut(k).iter_mut().zip(&column).for_each(|(v, c)| *v -= factor * c);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Cholesky, matmul};

    #[test]
    fn pivots_leave_least_of_the_trace() {
        let n = 12;
        let mut stream = Stream::new(1, "pivot tests", 0);
        let g = Mat::from_fn(n, 2 * n, |_, _| stream.normal());
        let k = matmul(g.as_ref(), g.transpose());
        let order = pivots(k.clone());
        assert_eq!(order.iter().collect::<HashSet<_>>().len(), n);
        // Tr(K − K_·S K_SS^{-1} K_S·) of the rows chosen, from its definition.
        let left = |rows: &[usize]| {
            let k_ss = Mat::from_fn(rows.len(), rows.len(), |i, j| k[(rows[i], rows[j])]);
            let k_s = Mat::from_fn(rows.len(), n, |i, j| k[(rows[i], j)]);
            let explained = Cholesky::factor(k_ss.as_ref(), "test").unwrap().half_solve(k_s.as_ref());
            (0..n).map(|i| k[(i, i)]).sum::<f64>() - explained.squared_norm_l2()
        };
        for size in 1..n {
            let chosen = left(&order[..size]);
            for &other in &order[size..] {
                let swapped: Vec<usize> = order[..size - 1].iter().copied().chain([other]).collect();
                // Rounding of traces near 300.
                assert!(chosen <= left(&swapped) + 1e-10, "{size}: {chosen} {}", left(&swapped));
            }
        }
    }
}
