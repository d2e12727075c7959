//! The distinct inputs of a sequence, so that each pair of them is computed once however many tasks share it.

use super::draw::gather;
use super::{PoolRow, TaskSequence};
use crate::data::{Preprocess, Preprocessor};
use crate::error::Result;
use crate::linalg::{Mat, MatRef};
use std::collections::HashMap;

/// The distinct training inputs of a sequence and where each task's rows are among them: row i of task t is
/// `x.row(index[t][i])`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    /// Which input each row of `x` is, in order of first appearance.
    pub rows: Vec<PoolRow>,
    /// The distinct inputs, one per row.
    pub x: Mat<f64>,
    /// Per task, the row of `x` that each of its rows is.
    pub index: Vec<Vec<usize>>,
}

impl TaskSequence {
    /// The distinct training inputs and each task's rows among them; `None` unless every task knows its rows.
    ///
    /// Learning T tasks of P examples needs products of `pool.x` with itself, (distinct inputs)², instead of (T·P)².
    pub fn pool(&self) -> Option<Pool> {
        let mut place: HashMap<PoolRow, usize> = HashMap::new();
        let (mut rows, mut from, mut index) = (Vec::new(), Vec::new(), Vec::new());
        for (t, task) in self.tasks.iter().enumerate() {
            let known = task.rows.as_ref().filter(|known| known.len() == task.x.nrows())?;
            let mut own = Vec::with_capacity(known.len());
            for (i, row) in known.iter().enumerate() {
                own.push(*place.entry(*row).or_insert_with(|| {
                    rows.push(*row);
                    from.push((t, i));
                    rows.len() - 1
                }));
            }
            index.push(own);
        }
        let x = Mat::from_fn(from.len(), self.dim(), |k, j| self.tasks[from[k].0].x[(from[k].1, j)]);
        Some(Pool { rows, x, index })
    }

    /// The sequence with its inputs centered, whitened and scaled as asked.
    ///
    /// Means and covariance are those of all training inputs of all tasks together, an input that several tasks share
    /// counted each time; test inputs are prepared with what was fitted to training inputs. `gray` does not apply.
    ///
    /// # Errors
    /// As for [`Preprocessor::fit`] and [`Preprocessor::apply`], and for an unusable sequence.
    pub fn preprocessed(&self, settings: &Preprocess) -> Result<TaskSequence> {
        self.validate()?;
        super::inputs_only(&self.tasks)?;
        let mut sequence = self.clone();
        sequence.identify();
        let starts: Vec<(usize, usize)> =
            (0..self.tasks.len()).flat_map(|t| (0..self.tasks[t].x.nrows()).map(move |i| (t, i))).collect();
        let stacked = Mat::from_fn(starts.len(), self.dim(), |k, j| self.tasks[starts[k].0].x[(starts[k].1, j)]);
        let fitted = Preprocessor::fit(stacked.as_ref(), &Preprocess { gray: false, ..settings.clone() })?;
        // Each distinct input is prepared once, so that shared inputs stay equal bit for bit.
        if let Some(pool) = sequence.pool() {
            let x = fitted.apply(pool.x.as_ref())?;
            for (task, index) in sequence.tasks.iter_mut().zip(&pool.index) {
                task.x = gather(x.as_ref(), index);
            }
        }
        for test in sequence.tasks.iter_mut().filter_map(|task| task.test.as_mut()) {
            test.x = fitted.apply(test.x.as_ref())?;
        }
        sequence.settings.preprocess = Some(fitted.describe());
        Ok(sequence)
    }

    /// How inputs that a task holds more than once are learned without a temperature, in a sentence; none where there are none.
    pub fn repeat_note(&self) -> Option<String> {
        let (mut again, mut apart) = (0, 0);
        for task in self.tasks.iter().filter(|task| task.rows_per_example() == 1) {
            let numbers = number_inputs(&[task.x.as_ref()]).pop().unwrap_or_default();
            let [repeats, conflicts] = repeats(&numbers, task.y.as_ref());
            (again, apart) = (again + repeats, apart + conflicts);
        }
        let examples = if again == 1 { "example repeats" } else { "examples repeat" };
        let with = if apart == 1 { "has another target" } else { "have other targets" };
        (again > 0).then(|| {
            let average = match apart {
                0 => String::new(),
                _ => format!(", {apart} of which {with}: the average is learned"),
            };
            format!(
                "{again} {examples} an input of their task{average}; losses are of every example with its own target"
            )
        })
    }

    /// Whether every task says which input each of its rows is, and rows that are said to be the same input are.
    pub(crate) fn rows_agree(&self) -> bool {
        let mut first: HashMap<PoolRow, (MatRef<'_, f64>, usize)> = HashMap::new();
        self.tasks.iter().all(|task| {
            let x = task.x.as_ref();
            let known = task.rows.as_ref().filter(|known| known.len() == x.nrows());
            known.is_some_and(|known| {
                known.iter().enumerate().all(|(i, row)| {
                    let (other, j) = *first.entry(*row).or_insert((x, i));
                    same_row(x, i, other, j)
                })
            })
        })
    }

    /// Fills in `rows` where any task lacks them: inputs with equal values become the same
    /// pool row, numbered by first appearance.
    pub fn identify(&mut self) {
        if self.tasks.iter().all(|task| task.rows.is_some()) {
            return;
        }
        let sets: Vec<MatRef<'_, f64>> = self.tasks.iter().map(|task| task.x.as_ref()).collect();
        let numbers = number_inputs(&sets);
        for (task, numbers) in self.tasks.iter_mut().zip(numbers) {
            task.rows = Some(numbers.into_iter().map(|image| PoolRow { image: image as u64, view: 0 }).collect());
        }
    }
}

/// How many rows repeat an earlier one, and how many of these with other targets.
pub(super) fn repeats(numbers: &[usize], y: MatRef<'_, f64>) -> [usize; 2] {
    let mut first: HashMap<usize, usize> = HashMap::new();
    let (mut repeats, mut conflicts) = (0, 0);
    let same = |i: usize, j: usize| i < y.nrows() && j < y.nrows() && (0..y.ncols()).all(|c| y[(i, c)] == y[(j, c)]);
    for (i, number) in numbers.iter().enumerate() {
        let earlier = *first.entry(*number).or_insert(i);
        repeats += usize::from(earlier != i);
        conflicts += usize::from(earlier != i && !same(earlier, i));
    }
    [repeats, conflicts]
}

/// Numbers the distinct rows of several sets by first appearance.
pub(crate) fn number_inputs(sets: &[MatRef<'_, f64>]) -> Vec<Vec<usize>> {
    // Per hash, the rows that have it (set, row, number): rows are compared, the hash only finds candidates.
    let mut seen: HashMap<u64, Vec<(usize, usize, usize)>> = HashMap::new();
    let mut count = 0;
    let mut number = |set: usize, row: usize, hash: u64| {
        let candidates = seen.entry(hash).or_default();
        let same = |&&(s, r, _): &&(usize, usize, usize)| same_row(sets[set], row, sets[s], r);
        if let Some(&(_, _, old)) = candidates.iter().find(same) {
            return old;
        }
        candidates.push((set, row, count));
        count += 1;
        count - 1
    };
    let hashed = sets.iter().map(|x| hash_rows(*x)).collect::<Vec<_>>();
    let all = |(s, hashes): (usize, Vec<u64>)| hashes.iter().enumerate().map(|(i, h)| number(s, i, *h)).collect();
    hashed.into_iter().enumerate().map(all).collect()
}

/// A 64-bit hash of every row (−0 hashes like 0).
fn hash_rows(x: MatRef<'_, f64>) -> Vec<u64> {
    let mut hashes = vec![x.ncols() as u64; x.nrows()];
    for j in 0..x.ncols() {
        for (i, hash) in hashes.iter_mut().enumerate() {
            let mixed = (*hash ^ (x[(i, j)] + 0.0).to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            *hash = mixed ^ (mixed >> 29);
        }
    }
    hashes
}

/// Whether row `i` of `a` equals row `j` of `b`.
fn same_row(a: MatRef<'_, f64>, i: usize, b: MatRef<'_, f64>, j: usize) -> bool {
    a.ncols() == b.ncols() && (0..a.ncols()).all(|k| a[(i, k)] == b[(j, k)])
}
