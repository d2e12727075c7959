//! Writes a sequence as one `.npz` file.

use super::TaskSequence;
use crate::data::{Array, Values, write_npz};
use crate::error::Result;
use crate::linalg::Mat;
use std::path::Path;

impl TaskSequence {
    /// Writes `x_1, y_1, x_1_test, y_1_test, f_1, f_1_test, x_2, …` as an uncompressed `.npz` file of float64 arrays, completely or not at
    /// all; [`TaskSequence::load`] reads it back bit for bit (names and settings are not kept).
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) for an unusable sequence; [`Error::Io`](crate::Error::Io) where the file cannot be
    /// written.
    pub fn save_npz(&self, path: impl AsRef<Path>) -> Result<()> {
        self.validate()?;
        let mut arrays = Vec::new();
        for (t, task) in (1..).zip(&self.tasks) {
            arrays.push((format!("x_{t}"), array(&task.x)));
            arrays.push((format!("y_{t}"), array(&task.y)));
            if let Some(test) = &task.test {
                arrays.push((format!("x_{t}_test"), array(&test.x)));
                arrays.push((format!("y_{t}_test"), array(&test.y)));
            }
            if let Some(present) = &task.present {
                arrays.push((format!("f_{t}"), array(&present.train)));
                arrays.extend(present.test.iter().map(|f| (format!("f_{t}_test"), array(f))));
            }
        }
        let named: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
        write_npz(path, &named)
    }
}

/// A matrix in C order.
fn array(m: &Mat<f64>) -> Array {
    let values = (0..m.nrows()).flat_map(|i| (0..m.ncols()).map(move |j| m[(i, j)])).collect();
    Array { shape: vec![m.nrows(), m.ncols()], values: Values::Real(values) }
}
