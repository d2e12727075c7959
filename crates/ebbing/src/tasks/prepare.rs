//! Preprocessing of users' own tasks.

use super::TaskSequence;
use super::draw::gather;
use crate::data::{Preprocess, Preprocessor};
use crate::error::Result;
use crate::linalg::Mat;

impl TaskSequence {
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
}
