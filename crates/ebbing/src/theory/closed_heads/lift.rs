//! What a head sees of an example: its features, random ReLU features of them,
//!
//! ```math
//! \phi_j(x) = \sqrt{2/M}\,\max(0,\ r_j\cdot x/\sqrt d), \qquad r_j\sim\mathcal N(0,1),
//! ```
//!
//! or, of fewer examples than features, coordinates in the span of all training examples: with `X Xᵀ = L Lᵀ`, row i of L for training
//! example i and `L⁻¹ X x` for any other x. Scalar products with training examples stay what they are, and heads depend on nothing
//! else.

use super::statistics::centered;
use crate::error::Result;
use crate::linalg::{Cholesky, Mat, MatRef, lower_gram_into, matmul};
use crate::rng::Stream;
use crate::tasks::TaskSequence;

/// Added to the diagonal of `X Xᵀ`, relative to its mean: far below every ridge, and far above rounding.
const JITTER: f64 = 1e-10;

/// What a head sees.
#[derive(Debug)]
pub(super) enum Lift {
    /// The features as they are.
    Features,
    /// Random ReLU features: the projection, d × M.
    Random(Mat<f64>),
    /// Coordinates in the span of all training examples.
    Span {
        /// All training examples, one per row.
        rows: Mat<f64>,
        /// Of their scalar products.
        factor: Cholesky,
        /// Where the rows of each task begin, and where the last ends.
        starts: Vec<usize>,
    },
}

impl Lift {
    /// M random ReLU features of d features.
    pub fn random(d: usize, m: usize, seed: u64) -> Lift {
        let mut stream = Stream::new(seed, "random features", 0);
        let mut projection = Mat::zeros(d, m);
        let scale = 1.0 / (d as f64).sqrt();
        for j in 0..m {
            projection.col_as_slice_mut(j).iter_mut().for_each(|v| *v = scale * stream.normal());
        }
        Lift::Random(projection)
    }

    /// The features of a sequence, in coordinates of their span where there are fewer examples than features.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`](crate::Error::NotPositiveDefinite) where scalar products cannot be factored.
    pub fn of(sequence: &TaskSequence) -> Result<Lift> {
        let (d, p) = (sequence.dim(), sequence.tasks.iter().map(|task| task.x.nrows()).sum::<usize>());
        if p >= d {
            return Ok(Lift::Features);
        }
        let mut starts = vec![0];
        let mut rows = Mat::zeros(p, d);
        for task in &sequence.tasks {
            let start = starts.last().copied().unwrap_or(0);
            rows.as_mut().subrows_mut(start, task.x.nrows()).copy_from(&task.x);
            starts.push(start + task.x.nrows());
        }
        let mut products = Mat::zeros(p, p);
        lower_gram_into(products.as_mut(), 0.0, 1.0, rows.as_ref());
        let mean = (0..p).map(|i| products[(i, i)]).sum::<f64>() / p.max(1) as f64;
        (0..p).for_each(|i| products[(i, i)] += JITTER * mean);
        let factor = Cholesky::factor(products.as_ref(), "the scalar products of all examples")?;
        Ok(Lift::Span { rows, factor, starts })
    }

    /// How many numbers a head sees of d features.
    pub fn dim(&self, d: usize) -> usize {
        match self {
            Lift::Features => d,
            Lift::Random(projection) => projection.ncols(),
            Lift::Span { rows, .. } => rows.nrows(),
        }
    }

    /// What it sees of the chosen rows of any examples.
    pub fn see(&self, x: MatRef<'_, f64>, rows: &[usize]) -> Mat<f64> {
        let x = centered(x, rows, &vec![0.0; x.ncols()]);
        match self {
            Lift::Features => x,
            Lift::Random(projection) => relu(matmul(x.as_ref(), projection.as_ref())),
            Lift::Span { rows, factor, .. } => {
                factor.half_solve(matmul(rows.as_ref(), x.transpose()).as_ref()).transpose().to_owned()
            }
        }
    }

    /// What it sees of the chosen training examples of task t (from 0), whose inputs are `x`.
    pub fn see_task(&self, t: usize, x: MatRef<'_, f64>, rows: &[usize]) -> Mat<f64> {
        let Lift::Span { factor, starts, .. } = self else { return self.see(x, rows) };
        let placed: Vec<usize> = rows.iter().map(|row| starts[t] + row).collect();
        centered(factor.l(), &placed, &vec![0.0; factor.size()])
    }
}

/// `√(2/M) max(0, z)`.
fn relu(mut z: Mat<f64>) -> Mat<f64> {
    let scale = (2.0 / z.ncols().max(1) as f64).sqrt();
    for j in 0..z.ncols() {
        z.col_as_slice_mut(j).iter_mut().for_each(|v| *v = scale * v.max(0.0));
    }
    z
}
