//! Intermediate datasets between two tasks: dataset k of S holds the fraction k/(S+1) of task 2.

use super::draw::{fits, rounded};
use super::pool::number_inputs;
use super::{PoolRow, Provenance, Seeded, Task, TaskSequence, TestSet};
use crate::error::{Error, Result, refuse};
use crate::linalg::{Mat, MatRef};
use crate::rng::Stream;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// S datasets between the two tasks of a sequence; of P rows, dataset k takes round(k/(S+1)·P) from task 2 and the others
/// from task 1.
///
/// Which rows: every row of task 1 is first given a partner in task 2: the same input where task 2 has it, else the same
/// image in another view, else any row left over, in order. One random order of the pairs is drawn; in dataset k the first
/// round(k/(S+1)·P) pairs of that order show their task-2 row, the others their task-1 row. So a row that has changed to
/// task 2 stays there, no dataset holds an input twice unless a task does, and where both tasks show the same images every
/// dataset shows each of them once. Where sizes differ, the partnerless rows of the larger task leave (or come) in the same
/// proportion, in a random order of their own. Test sets are mixed by the same rule.
///
/// | name | default | range |
/// |---|---|---|
/// | `steps` (S) | 1 | ≥ 0 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Interpolated {
    /// The number S of intermediate datasets.
    pub steps: usize,
}

/// More datasets than anybody means.
const MOST_STEPS: usize = 100_000;

impl Default for Interpolated {
    fn default() -> Self {
        Interpolated { steps: 1 }
    }
}

impl Interpolated {
    /// Refuses more datasets than anybody means.
    ///
    /// # Errors
    /// [`Error::Setting`] for the number of datasets.
    pub(super) fn check(&self) -> Result<()> {
        refuse(self.steps > MOST_STEPS, "steps", self.steps, format!("must be at most {MOST_STEPS}"))
    }

    /// Inserts the intermediate datasets between the two tasks of `sequence`.
    ///
    /// # Errors
    /// [`Error::Data`] unless there are exactly two tasks of the same input dimension and target columns.
    pub fn apply(&self, sequence: &TaskSequence, seed: u64) -> Result<TaskSequence> {
        self.check()?;
        sequence.validate()?;
        super::inputs_only(&sequence.tasks)?;
        let [first, last] = &sequence.tasks[..] else {
            let problem =
                format!("datasets are interpolated between two tasks, but there are {}", sequence.tasks.len());
            return Err(Error::data("the task sequence", problem));
        };
        let tested = [first, last].map(|task| task.test.as_ref().map_or(0, |test| test.x.nrows()));
        let rows = first.x.nrows().max(last.x.nrows()) + tested[0].max(tested[1]);
        fits("steps", self.steps, self.steps, rows, sequence.dim())?;
        let mut stream = Stream::new(seed, "interpolated: training order", 0);
        let train = Mixture::new(known_rows(first, last), &mut stream);
        let mut stream = Stream::new(seed, "interpolated: test order", 0);
        let tests = first.test.as_ref().zip(last.test.as_ref()).map(|(a, b)| {
            let rows = equal_inputs(a.x.as_ref(), b.x.as_ref());
            (a, b, Mixture::new(rows, &mut stream))
        });
        let middle = |k: usize| {
            let fraction = k as f64 / (self.steps + 1) as f64;
            let chosen = train.rows(fraction);
            let rows = first.rows.as_ref().zip(last.rows.as_ref()).map(|(a, b)| pick(&chosen, a, b));
            let test = tests.as_ref().map(|(a, b, mixture)| {
                let chosen = mixture.rows(fraction);
                TestSet { x: mix(&chosen, a.x.as_ref(), b.x.as_ref()), y: mix(&chosen, a.y.as_ref(), b.y.as_ref()) }
            });
            Task {
                name: format!("{k}/{} of {}", self.steps + 1, last.name),
                x: mix(&chosen, first.x.as_ref(), last.x.as_ref()),
                y: mix(&chosen, first.y.as_ref(), last.y.as_ref()),
                rows,
                test,
                present: None,
            }
        };
        let mut tasks = vec![first.clone()];
        tasks.extend((1..=self.steps).map(middle));
        tasks.push(last.clone());
        let interpolate = Some(Seeded { step: self.clone(), seed });
        Ok(TaskSequence { tasks, settings: Provenance { interpolate, ..sequence.settings.clone() } })
    }
}

/// A row of the first task (`false`) or of the second (`true`).
type Pick = (bool, usize);

/// Paired rows of two sets and the order in which they change from the first to the second.
struct Mixture {
    /// Rows of the first and of the second set; one side is missing where a row has no partner.
    pairs: Vec<(Option<usize>, Option<usize>)>,
    /// The place of each pair among the full pairs, or among those without partner, and how many such there are.
    rank: Vec<(usize, usize)>,
}

impl Mixture {
    fn new((a, b): (Vec<PoolRow>, Vec<PoolRow>), stream: &mut Stream) -> Self {
        let partners = partners(&a, &b);
        let mut single = vec![true; b.len()];
        partners.iter().flatten().for_each(|&j| single[j] = false);
        let mut pairs: Vec<_> = partners.iter().enumerate().map(|(i, j)| (Some(i), *j)).collect();
        pairs.extend((0..b.len()).filter(|&j| single[j]).map(|j| (None, Some(j))));
        let (full, rest): (Vec<usize>, Vec<usize>) =
            (0..pairs.len()).partition(|&k| pairs[k].0.is_some() && pairs[k].1.is_some());
        let mut rank = vec![(0, 0); pairs.len()];
        for mut members in [full, rest] {
            stream.shuffle(&mut members);
            members.iter().enumerate().for_each(|(place, &k)| rank[k] = (place, members.len()));
        }
        Mixture { pairs, rank }
    }

    /// The rows of the dataset that holds `fraction` of the second set, in the first set's order.
    fn rows(&self, fraction: f64) -> Vec<Pick> {
        let show = |(&(a, b), &(place, of)): (&(Option<usize>, Option<usize>), &(usize, usize))| {
            if place < rounded(fraction, of) { b.map(|j| (true, j)) } else { a.map(|i| (false, i)) }
        };
        self.pairs.iter().zip(&self.rank).filter_map(show).collect()
    }
}

/// For each row of `a`, its partner in `b`: the same input, else the same image, else any, in order.
fn partners(a: &[PoolRow], b: &[PoolRow]) -> Vec<Option<usize>> {
    let mut partner: Vec<Option<usize>> = vec![None; a.len()];
    let mut free = vec![true; b.len()];
    let keys: [fn(&PoolRow) -> (u64, u32); 3] = [|r| (r.image, r.view), |r| (r.image, 0), |_| (0, 0)];
    for key in keys {
        let mut waiting: HashMap<(u64, u32), Vec<usize>> = HashMap::new();
        for j in (0..b.len()).rev().filter(|&j| free[j]) {
            waiting.entry(key(&b[j])).or_default().push(j);
        }
        for i in 0..a.len() {
            if partner[i].is_none() {
                partner[i] = waiting.get_mut(&key(&a[i])).and_then(Vec::pop);
                partner[i].into_iter().for_each(|j| free[j] = false);
            }
        }
    }
    partner
}

/// The rows of two tasks, found by comparing inputs where they are not known.
fn known_rows(first: &Task, last: &Task) -> (Vec<PoolRow>, Vec<PoolRow>) {
    match (&first.rows, &last.rows) {
        (Some(a), Some(b)) => (a.clone(), b.clone()),
        _ => equal_inputs(first.x.as_ref(), last.x.as_ref()),
    }
}

/// The rows of two sets, numbered by comparing inputs.
fn equal_inputs(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> (Vec<PoolRow>, Vec<PoolRow>) {
    let mut numbers = number_inputs(&[a, b]).into_iter();
    let mut next = || {
        let numbers = numbers.next().unwrap_or_default();
        numbers.into_iter().map(|image| PoolRow { image: image as u64, view: 0 }).collect()
    };
    (next(), next())
}

/// The picked items of two lists.
fn pick<T: Copy>(chosen: &[Pick], a: &[T], b: &[T]) -> Vec<T> {
    chosen.iter().map(|&(second, i)| if second { b[i] } else { a[i] }).collect()
}

/// The picked rows of two matrices.
fn mix(chosen: &[Pick], a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(chosen.len(), a.ncols(), |i, j| {
        let (second, row) = chosen[i];
        if second { b[(row, j)] } else { a[(row, j)] }
    })
}
