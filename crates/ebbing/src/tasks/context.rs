//! Task identity as input: one random vector per task, appended to all of its inputs.

use super::draw::fits;
use super::{PoolRow, Provenance, Seeded, Task, TaskSequence};
use crate::error::{Error, Result, not_negative};
use crate::linalg::{Mat, MatRef};
use crate::rng::Stream;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Appends a context vector `c_t ~ N(0, variance·I)` of N_ctx entries, drawn once per task, to every input of task t.
///
/// Prepared images have squared norm N0, one per pixel: `variance = 1` gives a context entry the size of a pixel. With
/// `renormalize` every extended input (training and test) is then scaled to squared norm N0 + N_ctx.
///
/// | name | default | range |
/// |---|---|---|
/// | `dim` (N_ctx) | 100 | ≥ 0 |
/// | `variance` | 1.0 | ≥ 0, finite |
/// | `renormalize` | `true` | |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WithContext {
    /// The length N_ctx of the context vector.
    pub dim: usize,
    /// The variance of its entries.
    pub variance: f64,
    /// Whether extended inputs are scaled to squared norm N0 + N_ctx.
    pub renormalize: bool,
}

impl Default for WithContext {
    fn default() -> Self {
        WithContext { dim: 100, variance: 1.0, renormalize: true }
    }
}

impl WithContext {
    /// Appends the context vectors to all inputs of `sequence`.
    ///
    /// # Errors
    /// [`Error::Setting`] for a variance outside its range; [`Error::Data`] for an unusable sequence or an input that
    /// cannot be scaled.
    pub fn apply(&self, sequence: &TaskSequence, seed: u64) -> Result<TaskSequence> {
        not_negative("variance", self.variance)?;
        sequence.validate()?;
        super::inputs_only(&sequence.tasks)?;
        let tested = |task: &Task| task.test.as_ref().map_or(0, |test| test.x.nrows());
        let rows = sequence.tasks.iter().map(|task| task.x.nrows() + tested(task)).sum();
        fits("dim", self.dim, 1, rows, self.dim)?;
        let mut views = HashMap::new();
        let mut tasks = Vec::with_capacity(sequence.tasks.len());
        for (t, task) in sequence.tasks.iter().enumerate() {
            let mut stream = Stream::new(seed, "context", t as u64);
            let context: Vec<f64> = (0..self.dim).map(|_| self.variance.sqrt() * stream.normal()).collect();
            let mut extended = task.clone();
            extended.x = self.extend(task, t, task.x.as_ref(), &context)?;
            if let Some(test) = &mut extended.test {
                test.x = self.extend(task, t, test.x.as_ref(), &context)?;
            }
            if context.iter().any(|&c| c != 0.0) {
                extended.rows.iter_mut().flatten().for_each(|row| renumber(row, t, &mut views));
            }
            tasks.push(extended);
        }
        let context = Some(Seeded { step: self.clone(), seed });
        Ok(TaskSequence { tasks, settings: Provenance { context, ..sequence.settings.clone() } })
    }

    /// The rows of `x` followed by the context, scaled if asked for.
    fn extend(&self, task: &Task, t: usize, x: MatRef<'_, f64>, context: &[f64]) -> Result<Mat<f64>> {
        let dim = x.ncols();
        let total = dim + context.len();
        let mut scale = vec![1.0; x.nrows()];
        if self.renormalize {
            let own: f64 = context.iter().map(|c| c * c).sum();
            for (i, scale) in scale.iter_mut().enumerate() {
                let norm2 = own + (0..dim).map(|j| x[(i, j)] * x[(i, j)]).sum::<f64>();
                *scale = (total as f64 / norm2).sqrt();
                if !(norm2 > 0.0 && scale.is_finite() && *scale > 0.0) {
                    let what = format!("{}, row {}", task.label(t), i + 1);
                    let problem = format!("its squared norm with context is {norm2:e}; it cannot be scaled to {total}");
                    return Err(Error::data(what, problem));
                }
            }
        }
        Ok(Mat::from_fn(x.nrows(), total, |i, j| scale[i] * if j < dim { x[(i, j)] } else { context[j - dim] }))
    }
}

/// Gives each (task, view) a view of its own: the same image with another context is another input.
fn renumber(row: &mut PoolRow, task: usize, views: &mut HashMap<(usize, u32), u32>) {
    let next = views.len() as u32 + 1;
    row.view = *views.entry((task, row.view)).or_insert(next);
}
