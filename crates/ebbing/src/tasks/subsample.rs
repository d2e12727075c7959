//! Smaller tasks out of large ones, with the same images kept in every task.

use super::draw::{at_least, gather};
use super::{Task, TaskSequence, TestSet, note};
use crate::error::Result;
use crate::rng::Stream;

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
            if let Some(rows) = task.rows.as_ref().filter(|rows| rows.len() > p) {
                let rank = |i: usize| (Stream::new(seed, "subsample", rows[i].image).bits(), i);
                let mut kept: Vec<usize> = (0..rows.len()).collect();
                kept.sort_by_cached_key(|&i| rank(i));
                kept.truncate(p);
                kept.sort_unstable();
                *task = Task {
                    name: task.name.clone(),
                    x: gather(task.x.as_ref(), &kept),
                    y: gather(task.y.as_ref(), &kept),
                    rows: Some(kept.iter().map(|&i| rows[i]).collect()),
                    test: task.test.take(),
                };
            }
            task.test = task.test.take().filter(|_| p_test > 0).map(|test| subsampled_test(test, p_test, seed));
        }
        let record = serde_json::json!({ "p": p, "p_test": p_test, "seed": seed });
        note(&mut sequence.settings, "subsample", record);
        Ok(sequence)
    }
}

fn subsampled_test(test: TestSet, p_test: usize, seed: u64) -> TestSet {
    if test.x.nrows() <= p_test {
        return test;
    }
    let mut kept = Stream::new(seed, "subsample: test", 0).choose(test.x.nrows(), p_test);
    kept.sort_unstable();
    TestSet { x: gather(test.x.as_ref(), &kept), y: gather(test.y.as_ref(), &kept) }
}
