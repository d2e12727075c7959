//! Preprocessing of users' own tasks.

use super::draw::gather;
use super::{TaskSequence, note};
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
        note(&mut sequence.settings, "preprocess", fitted.describe());
        Ok(sequence)
    }
}

/// What was done to inputs, as part of a sentence, from the settings of a sequence.
pub fn preparation_words(settings: &serde_json::Value) -> String {
    let of = |key: &str| step(settings, key);
    let mut steps = Vec::new();
    match of("center").and_then(serde_json::Value::as_str) {
        Some("image") => steps.push("centered one by one"),
        Some("pixel") => steps.push("centered feature by feature"),
        _ => {}
    }
    if of("order").and_then(serde_json::Value::as_str) == Some("authors") {
        steps.push("scaled to one norm");
    }
    if is_whitened(settings) {
        steps.push("whitened");
    }
    if of("normalize").and_then(serde_json::Value::as_bool) == Some(true) {
        steps.push("scaled to one norm");
    }
    if steps.is_empty() { "inputs as stored".into() } else { format!("inputs {}", steps.join(", ")) }
}

/// Whether inputs were whitened, as far as the settings of a sequence tell.
pub fn is_whitened(settings: &serde_json::Value) -> bool {
    step(settings, "whiten")
        .is_some_and(|whiten| !matches!(whiten, serde_json::Value::Null | serde_json::Value::Bool(false)))
}

/// One step of the preparation of inputs in the settings of a sequence.
fn step<'a>(settings: &'a serde_json::Value, key: &str) -> Option<&'a serde_json::Value> {
    settings.get("preprocess").or_else(|| settings.get("data")?.get("preprocess"))?.get(key)
}
