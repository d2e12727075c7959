//! Smaller tasks out of large ones, with the same images kept in every task.

use super::draw::gather;
use super::{Present, Subsample, Task, TaskSequence};
use crate::error::{Result, at_least};
use crate::rng::Stream;

/// At most `p` training and test examples of every task of each draw, by [`TaskSequence::subsampled`].
///
/// The seed of a draw is its own (0 for tasks that were not drawn). Draws of one seed, as the same tasks several times, count on
/// from it, so that each has other examples.
///
/// # Errors
/// As [`TaskSequence::subsampled`].
pub fn parts_of(draws: &[TaskSequence], p: usize) -> Result<Vec<TaskSequence>> {
    let own = |draw: &TaskSequence| draw.settings.seed.unwrap_or(0);
    let part = |(k, draw): (usize, &TaskSequence)| {
        let before = draws[..k].iter().filter(|other| own(other) == own(draw)).count();
        draw.subsampled(p, p, own(draw).wrapping_add(before as u64))
    };
    draws.iter().enumerate().map(part).collect()
}

impl TaskSequence {
    /// The sequence with at most `p` training and `p_test` test examples per task (0: no test sets).
    ///
    /// Every image is given a random rank, and each task keeps its `p` lowest: tasks that share images go on sharing them in
    /// about the same proportion, and tasks on the same images keep the same ones. Of test sets of equal size the same
    /// rows are kept. The order of rows is kept too.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) for `p` of 0; [`Error::Data`](crate::Error::Data) for an unusable sequence.
    pub fn subsampled(&self, p: usize, p_test: usize, seed: u64) -> Result<TaskSequence> {
        at_least("p", p, 1)?;
        self.validate()?;
        let mut sequence = self.clone();
        sequence.identify();
        for task in &mut sequence.tasks {
            let each = task.rows_per_example();
            if let Some(rows) = task.rows.as_ref().filter(|rows| rows.len() > p * each) {
                let rank = |i: usize| (Stream::new(seed, "subsample", rows[i * each].image).bits(), i);
                let mut kept: Vec<usize> = (0..task.y.nrows()).collect();
                kept.sort_by_cached_key(|&i| rank(i));
                kept.truncate(p);
                kept.sort_unstable();
                let inputs = rows_of(&kept, each);
                *task = Task {
                    name: task.name.clone(),
                    x: gather(task.x.as_ref(), &inputs),
                    y: gather(task.y.as_ref(), &kept),
                    rows: Some(inputs.iter().map(|&i| rows[i]).collect()),
                    test: task.test.take(),
                    present: task.present.take().map(|f| Present { train: gather(f.train.as_ref(), &kept), ..f }),
                };
            }
            subsample_test(task, p_test, seed);
        }
        sequence.settings.subsample = Some(Subsample { p, p_test, seed });
        Ok(sequence)
    }
}

fn subsample_test(task: &mut Task, p_test: usize, seed: u64) {
    let each = task.rows_per_example();
    let Some(test) = task.test.as_mut().filter(|test| test.y.nrows() > p_test) else { return };
    let mut kept = Stream::new(seed, "subsample: test", 0).choose(test.y.nrows(), p_test);
    kept.sort_unstable();
    test.x = gather(test.x.as_ref(), &rows_of(&kept, each));
    test.y = gather(test.y.as_ref(), &kept);
    if let Some(f) = task.present.as_mut().and_then(|f| f.test.as_mut()) {
        *f = gather(f.as_ref(), &kept);
    }
    if p_test == 0 {
        task.test = None;
        task.present.iter_mut().for_each(|f| f.test = None);
    }
}

/// The rows of inputs that belong to some examples, `each` for every one.
pub(crate) fn rows_of(examples: &[usize], each: usize) -> Vec<usize> {
    examples.iter().flat_map(|i| (i * each)..(i + 1) * each).collect()
}
