//! Several amounts of replay of a linear head on d features, from sums that add up.
//!
//! With m stored examples of each class task t learns
//!
//! ```math
//! W \to W + (C + \rho)^{-1}(B - C W), \qquad C = \tfrac1d\Bigl(X_t^{\mathsf T}X_t + \sum_{s<t} S_s(m)\Bigr)
//! ```
//!
//! and B likewise, where `S_s(m)` are the products of the rows that are stored of task s: those of a larger amount are those of a
//! smaller one and a few rows more. An amount costs a factor of d × d and products with d × K for every task, whatever it stores.

use super::score::Targets;
use super::{Loss, Replay, SingleHeadSettings};
use crate::error::Result;
use crate::linalg::{Mat, MatRef, lower_gram_into, matmul_into, symmetric_copy};
use crate::plan::Sizes;
use crate::theory::blocks::factor::{Factor, digits, one_norm};
use crate::theory::blocks::feature_space::{on_columns, outputs};
use crate::theory::blocks::kernels::Points;
use crate::theory::blocks::shared::{self, TaskInput};
use std::collections::HashSet;

/// `XᵀX/d` (its lower half) and `XᵀY/d` of some rows.
#[derive(Clone)]
struct Sums {
    gram: Mat<f64>,
    cross: Mat<f64>,
}

impl Sums {
    fn zero(d: usize, columns: usize) -> Sums {
        Sums { gram: Mat::zeros(d, d), cross: Mat::zeros(d, columns) }
    }

    fn add(&mut self, x: MatRef<'_, f64>, y: MatRef<'_, f64>) {
        let share = 1.0 / x.ncols() as f64;
        lower_gram_into(self.gram.as_mut(), 1.0, share, x.transpose());
        matmul_into(self.cross.as_mut(), 1.0, share, x.transpose(), y);
    }

    fn plus(&self, other: &Sums) -> Sums {
        Sums { gram: &self.gram + &other.gram, cross: &self.cross + &other.cross }
    }
}

/// The accuracy of every task when it was learned and after the last one, for each of several ascending amounts (0: nothing) of what the
/// settings' replay stores; none where amounts do not share their sums, or where each by itself costs less.
///
/// # Errors
/// As for [`SingleHead::new`](super::SingleHead::new).
pub(crate) fn feature_replay_curve(
    given: &[TaskInput<'_>],
    settings: &SingleHeadSettings,
    amounts: &[usize],
) -> Result<Option<Vec<[Vec<f64>; 2]>>> {
    let rows: Option<Vec<MatRef<'_, f64>>> = given
        .iter()
        .map(|task| match task.points {
            Points::Inputs(x) if !task.has_start() => Some(x),
            _ => None,
        })
        .collect();
    let tested: Option<Vec<_>> = given.iter().map(|task| task.test).collect();
    let shares = settings.beta.is_finite() && !settings.variance && settings.loss == Loss::Squared;
    let (Some(rows), Some(tests), true) = (rows, tested, shares) else {
        return Ok(None);
    };
    shared::check(given)?;
    let numbers = shared::number(given);
    let mut stored = vec![];
    for &examples in amounts {
        let replay = Replay { examples, ..settings.replay };
        stored.push(replay.learned_again(given, &numbers)?);
    }
    // What is stored of a task stays what it is: what task t learns again ends with what task t − 1 did.
    let lasts = |again: &Vec<Vec<(usize, usize)>>| again.windows(2).all(|pair| pair[1].ends_with(&pair[0]));
    if !stored.iter().all(lasts) || !costs_less(given, &rows, &stored) {
        return Ok(None);
    }
    let (d, columns) = (rows[0].ncols(), given[0].y.ncols());
    let own: Vec<Sums> = given.iter().zip(&rows).map(|(task, x)| of_rows(*x, task.y, None)).collect();
    let mut kept = vec![Sums::zero(d, columns); given.len() - 1];
    let mut known: Vec<HashSet<usize>> = vec![HashSet::new(); given.len() - 1];
    let mut found = vec![];
    for again in &stored {
        for (s, (kept, known)) in kept.iter_mut().zip(&mut known).enumerate() {
            crate::stop::check()?;
            let (now, before) = (&again[s + 1], again[s].len());
            let wanted: Vec<usize> = now[..now.len() - before].iter().map(|(_, row)| *row).collect();
            let all: HashSet<usize> = wanted.iter().copied().collect();
            if !known.is_subset(&all) {
                (*kept, *known) = (Sums::zero(d, columns), HashSet::new());
            }
            let more: Vec<usize> = wanted.into_iter().filter(|row| !known.contains(row)).collect();
            if !more.is_empty() {
                let sums = of_rows(rows[s], given[s].y, Some(&more));
                *kept = kept.plus(&sums);
            }
            *known = all;
        }
        let lesson = Lesson { given, own: &own, kept: &kept, ridge: settings.ridge() };
        found.push(lesson.learn(&tests)?);
    }
    Ok(Some(found))
}

/// The sums of some rows, or of all.
fn of_rows(x: MatRef<'_, f64>, y: MatRef<'_, f64>, rows: Option<&[usize]>) -> Sums {
    let mut sums = Sums::zero(x.ncols(), y.ncols());
    match rows {
        Some(rows) => {
            let some = |m: MatRef<'_, f64>| Mat::from_fn(rows.len(), m.ncols(), |i, j| m[(rows[i], j)]);
            sums.add(some(x).as_ref(), some(y).as_ref());
        }
        None => sums.add(x, y),
    }
    sums
}

/// Whether factors of d × d for every amount cost less than each amount by itself.
fn costs_less(given: &[TaskInput<'_>], rows: &[MatRef<'_, f64>], stored: &[Vec<Vec<(usize, usize)>>]) -> bool {
    let sizes = |train: Vec<usize>| Sizes {
        train,
        test: vec![0; given.len()],
        dim: rows[0].ncols(),
        columns: given[0].y.ncols(),
        distinct: None,
    };
    let own: Vec<usize> = rows.iter().map(|x| x.nrows()).collect();
    let with = |again: &Vec<Vec<(usize, usize)>>| own.iter().zip(again).map(|(p, again)| p + again.len()).collect();
    let apart: f64 = stored.iter().map(|again| crate::plan::head_operations(&sizes(with(again)))).sum();
    crate::plan::shared_head_operations(&sizes(own.clone()), stored.len()) < apart
}

/// One amount on its way through the tasks.
struct Lesson<'a> {
    given: &'a [TaskInput<'a>],
    own: &'a [Sums],
    kept: &'a [Sums],
    ridge: f64,
}

impl Lesson<'_> {
    fn learn(&self, tests: &[(Points<'_>, MatRef<'_, f64>)]) -> Result<[Vec<f64>; 2]> {
        let (d, columns) = (self.own[0].gram.nrows(), self.own[0].cross.ncols());
        let mut w: Mat<f64> = Mat::zeros(d, columns);
        let mut before = Sums::zero(d, columns);
        let accuracy = |t: usize, w: &Mat<f64>| -> Result<f64> {
            let (points, y) = &tests[t];
            let Points::Inputs(x) = points else { return Ok(0.0) };
            let score = Targets::new(*y, None).score(outputs(*x, w.as_ref()).as_ref())?;
            Ok(score.accuracy.unwrap_or(0.0))
        };
        let mut just = vec![];
        for t in 0..self.given.len() {
            crate::stop::check()?;
            if t > 0 {
                before = before.plus(&self.kept[t - 1]);
            }
            let Sums { gram, cross } = self.own[t].plus(&before);
            let (c, name) = (symmetric_copy(gram.as_ref()), &self.given[t].name);
            let none: Mat<f64> = Mat::zeros(d, 0);
            let norm = one_norm(none.submatrix(0, 0, 0, 0), none.as_ref(), c.as_ref()) + self.ridge;
            let factor = Factor::plain(c.as_ref(), self.ridge, &format!("the features of {name}"))?;
            digits(factor.condition(d, norm), name)?;
            let rest = cross - outputs(c.as_ref(), w.as_ref());
            w += on_columns(rest.as_ref(), d, |rest| factor.solve(rest));
            just.push(accuracy(t, &w)?);
        }
        let last = (0..tests.len()).map(|t| accuracy(t, &w)).collect::<Result<Vec<f64>>>()?;
        Ok([just, last])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::Inputs;
    use crate::theory::blocks::feature_space::shapes::tasks;
    use crate::theory::single_head::{ReplayBudget, SingleHead};

    #[test]
    fn all_amounts_at_once_are_each_by_itself() {
        // More examples than features and fewer, features of lower rank, unequal tasks.
        let shapes: [(&[usize], (usize, usize), usize); 3] =
            [(&[90, 60, 75], (20, 20), 5), (&[70, 12, 44, 50], (16, 9), 4), (&[200, 150], (12, 12), 3)];
        for (sizes, dims, columns) in shapes {
            let sequence = tasks(sizes, dims, columns, 11);
            let inputs = Inputs::Features(&sequence);
            for beta in [0.4, 20.0] {
                let replay = Replay { budget: ReplayBudget::PerClass, ..Replay::default() };
                let settings = SingleHeadSettings { beta, replay, ..Default::default() };
                let given = inputs.given(0.0).unwrap();
                let most = replay.most(&given).unwrap().0;
                let amounts = [0, 1, 2, 3, most];
                let found = feature_replay_curve(&given, &settings, &amounts).unwrap().unwrap();
                for (&examples, [just, last]) in amounts.iter().zip(&found) {
                    let asked = SingleHeadSettings { replay: Replay { examples, ..replay }, ..settings };
                    let one = SingleHead::new(inputs, &asked, &crate::Context::default()).unwrap();
                    let known = one.test_accuracies().unwrap().unwrap().all;
                    // Shares of examples: the same where no two outputs tie to rounding.
                    let diagonal: Vec<f64> = (0..known.len()).map(|t| known[t][t]).collect();
                    assert_eq!((just, last), (&diagonal, &known[known.len() - 1]), "{sizes:?} {beta} {examples}");
                }
            }
        }
    }

    #[test]
    fn without_a_temperature_there_is_none() {
        let sequence = tasks(&[60, 50], (10, 10), 3, 2);
        let replay = Replay { budget: ReplayBudget::PerClass, ..Replay::default() };
        let settings = SingleHeadSettings { replay, ..Default::default() };
        let given = Inputs::Features(&sequence).given(0.0).unwrap();
        assert!(feature_replay_curve(&given, &settings, &[0, 2]).unwrap().is_none());
    }
}
