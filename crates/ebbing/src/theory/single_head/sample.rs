//! `f_t(x) = f⁰_t(x) + Σ_s K̃_ts(x,X_s) u_s`, `u = 𝓛^{-1}(Y − f⁰(X))`: whole trajectories of networks, drawn one by one.

use super::SingleHead;
use super::covariance::Spread;
use super::system::outputs;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Mat, SymmetricEigen, matmul};
use crate::rng::Stream;
use crate::theory::blocks::kernels::Points;

impl SingleHead {
    /// Draws `n` networks and follows each through all tasks: `sample[k][t]` holds the outputs of network k after task
    /// t + 1 at `x`, one row per point, one column per target.
    ///
    /// A draw of the prior is corrected by what it misses on the training data (Matheron's rule). Cost: a factor of
    /// the prior covariance of all training outputs and of `x` (in mode `gibbs` at every time).
    ///
    /// # Errors
    /// [`Error::Setting`] for `n` = 0; as the kernels and their factors.
    pub fn sample<'a>(&self, x: impl Into<Points<'a>>, n: usize, stream: &mut Stream) -> Result<Vec<Vec<Mat<f64>>>> {
        let x = x.into();
        if n == 0 {
            return Err(Error::setting("the number of samples", n, "must be at least 1"));
        }
        self.check_points(x)?;
        let spread = self.spread()?;
        let (count, columns) = (self.tasks(), self.shared.tasks[0].y.ncols());
        // Where the prior does not depend on time f⁰ is one function, drawn once.
        let times: Vec<usize> = if self.kernels.stationary() { vec![0] } else { (0..count).collect() };
        let mut prior = self.draw_prior(&spread, x, &times, n * columns, stream)?;
        let rest = (0..count).map(|t| self.unexplained(t, prior.remove(0), stream)).collect();
        let duals = spread.system.substitute(rest)?;
        let all: Vec<usize> = (0..count).collect();
        let (mut f, _) = outputs(&self.kernels, &self.shared, &duals, x, &all, None)?;
        for (t, f) in f.iter_mut().enumerate() {
            *f += &prior[t.min(times.len() - 1)];
        }
        let one = |k: usize, f: &Mat<f64>| f.submatrix(0, k * columns, f.nrows(), columns).to_owned();
        Ok((0..n).map(|k| f.iter().map(|f| one(k, f)).collect()).collect())
    }

    /// The forgetting matrices `F[t][s]` of `n` networks drawn from the theory: their average is the forecast with variance.
    ///
    /// # Errors
    /// As for [`SingleHead::sample`].
    pub fn sample_forgetting(&self, n: usize, stream: &mut Stream) -> Result<Vec<Vec<Vec<f64>>>> {
        let sets: Vec<_> = (0..self.tasks()).map(|s| self.own().whole(s)).collect();
        let stacked = sets[1..].iter().fold(sets[0].clone(), |all, set| all.points().followed_by(set.points()));
        let drawn = self.sample(stacked.points(), n, stream)?;
        let loss = |f: &Mat<f64>, first: usize, s: usize| {
            let y = &self.own().tasks[s].y;
            let error = f.submatrix(first, 0, y.nrows(), y.ncols()) - y;
            error.squared_norm_l2() / y.squared_norm_l2()
        };
        let starts: Vec<usize> = sets.iter().scan(0, |at, set| Some(std::mem::replace(at, *at + set.len()))).collect();
        let row = |f: &Mat<f64>| starts.iter().enumerate().map(|(s, &first)| loss(f, first, s)).collect();
        Ok(drawn.iter().map(|network| network.iter().map(row).collect()).collect())
    }

    /// `draws` joint samples of f⁰: one block per task at its training inputs, then one per time in `times` at `x`.
    fn draw_prior(
        &self,
        spread: &Spread,
        x: Points<'_>,
        times: &[usize],
        draws: usize,
        stream: &mut Stream,
    ) -> Result<Vec<Mat<f64>>> {
        let joint = spread.joint_prior(&self.kernels, x, times)?;
        let root = square_root(&joint)?;
        let z = Mat::from_fn(root.ncols(), draws, |_, _| stream.normal());
        let f = matmul(root.as_ref(), z.as_ref());
        let trained = spread.system.points.iter().map(|p| p.len());
        let sizes = trained.chain(times.iter().map(|_| x.len()));
        let blocks = sizes.scan(0, |at, size| {
            let block = f.submatrix(*at, 0, size, draws).to_owned();
            *at += size;
            Some(block)
        });
        Ok(blocks.collect())
    }

    /// `Y_t − f⁰_t(X_t)`, at finite temperature minus noise of variance 1/β, for every draw.
    fn unexplained(&self, t: usize, prior: Mat<f64>, stream: &mut Stream) -> Mat<f64> {
        let (y, noise) = (&self.shared.tasks[t].y, self.settings.ridge().sqrt());
        Mat::from_fn(prior.nrows(), prior.ncols(), |i, j| {
            let noise = if noise > 0.0 { noise * stream.normal() } else { 0.0 };
            y[(i, j % y.ncols())] - prior[(i, j)] - noise
        })
    }
}

/// R with `R Rᵀ = A` for a covariance of which the lower half is read: Cholesky's, or from the eigenvectors where A is
/// singular (points that appear twice).
fn square_root(a: &Mat<f64>) -> Result<Mat<f64>> {
    let name = "the prior covariance of the outputs";
    match Cholesky::factor(a.as_ref(), name) {
        Ok(factor) => return Ok(factor.l().to_owned()),
        Err(Error::NotPositiveDefinite { .. }) => {}
        Err(other) => return Err(other),
    }
    let eigen = SymmetricEigen::factor(a.as_ref(), name)?;
    let mut root = eigen.vectors;
    for (j, value) in eigen.values.iter().enumerate() {
        let scale = value.max(0.0).sqrt();
        root.col_as_slice_mut(j).iter_mut().for_each(|v| *v *= scale);
    }
    Ok(root)
}
