//! How ill-conditioned a kernel is of which only a factor in single precision fits into memory.
//!
//! ```math
//! \|K\|_1\,\|K^{-1}\|_2 \gtrsim \|K\|_1 \max_z \frac{\|K^{-2}z\|}{\|K^{-1}z\|} \ge
//! \|K\|_1 \max_z \frac{\|K^{-1}z\|^2}{z\cdot K^{-1}z}
//! ```
//!
//! for two random vectors z, those that a kernel in memory is looked at with. `K^{-1}z` is solved for beside other right-hand
//! sides; the second inverse is that of the factor where single precision can resolve it, and solved for where it cannot.

use super::Whole;
use super::products::{add_sums, beside};
use super::solver::{System, largest};
use crate::error::{Error, Result};
use crate::linalg::{Mat, TiledCholesky, dependent_rows, dot, singular};
use crate::rng::Stream;
use crate::theory::blocks::factor::digits;

/// Condition numbers that single precision can resolve: of its seven digits one is left.
const SINGLE: f64 = 1e6;

impl Whole<'_> {
    /// Right-hand sides, and the two random vectors beside them.
    pub(super) fn with_probes(&self, b: Mat<f64>) -> Mat<f64> {
        let mut stream = Stream::new(0, "condition probes", b.nrows() as u64);
        let probes = Mat::from_fn(b.nrows(), 2, |_, _| stream.normal());
        beside(&[b.as_ref(), probes.as_ref()])
    }

    /// The condition number of a system of this one-norm, from vectors z and `K^{-1} z`.
    ///
    /// # Errors
    /// [`Error::LostAccuracy`] and [`Error::NotPositiveDefinite`] where fewer than four digits are left.
    pub(super) fn condition(
        &mut self,
        system: System,
        factor: &TiledCholesky,
        norm: f64,
        [z, once]: [Mat<f64>; 2],
    ) -> Result<f64> {
        let ratio = |a: &Mat<f64>, b: &Mat<f64>, j: usize| a.col(j).norm_l2() / b.col(j).norm_l2();
        let least = |j: usize| {
            let (z, once) = (z.col_as_slice(j), once.col_as_slice(j));
            // Below 0 for a kernel that is singular to rounding.
            dot(once, once) / dot(z, once).abs()
        };
        let twice = factor.solve(once.as_ref());
        let growth = (0..z.ncols()).map(|j| least(j).max(ratio(&twice, &once, j))).fold(0.0, f64::max);
        let mut condition = norm * growth;
        if condition > SINGLE {
            let twice = self.iterate(system, factor, &once)?.x;
            condition = norm * (0..z.ncols()).map(|j| least(j).max(ratio(&twice, &once, j))).fold(0.0, f64::max);
        }
        if let Err(lost) = digits(condition, &self.tasks[system.task].name) {
            return Err(self.singular(system, condition)?.unwrap_or(lost));
        }
        Ok(condition)
    }

    /// The error of a kernel that is singular to rounding, in the words of one that is in memory; none for another kernel.
    pub(super) fn singular(&mut self, system: System, condition: f64) -> Result<Option<Error>> {
        let name = format!("the kernel of {}", self.tasks[system.task].name);
        let diagonal = self.diagonal(system)?;
        let (mut pairs, mut sums) = (vec![], vec![0.0; diagonal.len()]);
        let nothing = Mat::<f64>::zeros(diagonal.len(), 0);
        self.pass(system, nothing.as_ref(), &mut |place, tile| {
            add_sums(&mut sums, place, tile);
            dependent_rows(&diagonal, place, tile.as_ref(), &mut pairs);
        })?;
        pairs.sort_unstable_by_key(|pair| pair.rows);
        let norm = system.ridge + largest(&sums);
        // What a factor in memory is refused at: that much of a pivot is rounding error.
        let rounding = diagonal.len() as f64 * f64::EPSILON * largest(&diagonal);
        let distinct = norm / condition > rounding; // false for a NaN too
        Ok((!distinct || !pairs.is_empty()).then(|| singular(&name, &diagonal, norm, norm / condition, &pairs)))
    }
}
