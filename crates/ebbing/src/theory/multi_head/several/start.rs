//! Starts for the factors of several outputs: single outputs along fixed axes, and continuation in the width.
//!
//! With θ eliminated the free energy of a frame is a sum over its directions, coupled only because `e_a·f_b = δ_ab`:
//!
//! ```math
//! \mathcal H = \sum_a \bigl\{\sigma^{-2}(1+\rho_a)|f_a|^2 - T(\rho_a) + e_a^\top\mathcal R(\rho_a)e_a\bigr\} + (\alpha-1)\ln\det D
//! ```
//!
//! with the m × m matrix `𝓡(ρ) = (1/N)Σ_i w_i y_iy_iᵀ − b(ρ)ᵀΦ(ρ)^{-1}b(ρ)`, `w_i = 1/(1+ρs_i)`. Along an eigenvector o of 𝓡 that is the
//! problem of one output: `σ^{-2}(1+ρ)d² + (α−1)d = R(ρ)`, `R = oᵀ𝓡o`, and the scalar equation `σ^{-2}d − T'(ρ) + R'(ρ)/d = 0`,
//! whose largest root is the one that is connected with α → 0.

use super::frame::{Frame, symmetric};
use super::newton::{Form, Outcome, Solution, failure, newton};
use super::problem::Problem;
use crate::error::Result;
use crate::linalg::{Mat, SymmetricEigen, matmul};
use crate::theory::multi_head::small::solve_small;

/// `𝓡(ρ)`, its derivative and `T'(ρ) = 1 − (1/N)Σ [s w + (1−s)w²]`.
pub(super) struct AtRho {
    pub r: Mat<f64>,
    pub slope: Mat<f64>,
    pub t: f64,
}

/// Sums over rows, with `w_i = 1/(1+ρs_i)`.
pub(super) struct Sums {
    pub w: Vec<f64>,
    /// `s_i w_i²`.
    pub sw2: Vec<f64>,
    /// `(1/N)Σ w yyᵀ`, m × m, and `(1/N)Σ w g yᵀ`, n × m.
    pub yy: Mat<f64>,
    pub gy: Mat<f64>,
    /// `Φ = (1/N)Σ w (ggᵀ + S) − C`.
    pub phi: Mat<f64>,
    /// `(1/N)Σ s w² S`.
    pub turned: Mat<f64>,
}

/// Four points per decade over 14 decades around the typical size of 1/s.
const GRID: std::ops::RangeInclusive<i32> = -28..=28;

impl Problem {
    /// Sums over rows at one ρ, or `None` outside the domain of K̃.
    pub fn sums(&self, rho: f64) -> Option<Sums> {
        let (p, n, width) = (self.rows(), self.unknowns(), self.width);
        let w = self.weights(rho)?;
        let scaled = |x: &Mat<f64>| Mat::from_fn(p, x.ncols(), |i, j| w[i] * x[(i, j)] / width);
        let wy = scaled(&self.y);
        let yy = symmetric(matmul(self.y.transpose(), wy.as_ref()).as_ref());
        let gy = matmul(self.g.transpose(), wy.as_ref());
        let gg = matmul(self.g.transpose(), scaled(&self.g).as_ref());
        let sw2: Vec<f64> = (0..p).map(|i| self.s[i] * w[i] * w[i]).collect();
        let both = Mat::from_fn(p, 2, |i, k| if k == 0 { w[i] } else { sw2[i] });
        let mut spread = self.covariances(both.as_ref());
        let turned = spread.pop()?;
        let phi = Mat::from_fn(n, n, |k, l| gg[(k, l)] + spread[0][(k, l)] - self.unit[(k, l)]);
        Some(Sums { w, sw2, yy, gy, phi, turned })
    }

    /// The matrices of single outputs at one ρ, or `None` outside the domain of K̃.
    pub fn at_rho(&self, rho: f64) -> Option<AtRho> {
        let (p, n, m, width) = (self.rows(), self.unknowns(), self.y.ncols(), self.width);
        let sums = self.sums(rho)?;
        let rows: Vec<Vec<f64>> = (0..n).map(|k| (0..n).map(|l| sums.phi[(k, l)]).collect()).collect();
        let mut theta = Mat::zeros(m, n);
        for a in 0..m {
            let right: Vec<f64> = (0..n).map(|k| sums.gy[(k, a)]).collect();
            solve_small(&rows, &right).iter().enumerate().for_each(|(k, t)| theta[(a, k)] = *t);
        }
        let r = &sums.yy - matmul(theta.as_ref(), sums.gy.as_ref());
        let shift = matmul(self.g.as_ref(), theta.transpose());
        let miss = Mat::from_fn(p, m, |i, a| self.y[(i, a)] - shift[(i, a)]);
        let weighted = Mat::from_fn(p, m, |i, a| sums.sw2[i] * miss[(i, a)] / width);
        let fit = matmul(miss.transpose(), weighted.as_ref());
        let spread = matmul(matmul(theta.as_ref(), sums.turned.as_ref()).as_ref(), theta.transpose());
        let trace: f64 = (0..p).map(|i| sums.w[i] * (self.s[i] + (1.0 - self.s[i]) * sums.w[i])).sum();
        let slope = Mat::from_fn(m, m, |a, c| -fit[(a, c)] - spread[(a, c)]);
        Some(AtRho { r: symmetric(r.as_ref()), slope: symmetric(slope.as_ref()), t: 1.0 - trace / width })
    }

    /// The root d of one output's quadratic, and what is left of its scalar equation; `None` where there is no root.
    fn single(&self, at: &AtRho, rho: f64, axis: &[f64]) -> Option<(f64, f64)> {
        let form = |a: &Mat<f64>| {
            (0..axis.len()).map(|i| (0..axis.len()).map(|j| axis[i] * a[(i, j)] * axis[j]).sum::<f64>()).sum::<f64>()
        };
        let (r, slope) = (form(&at.r), form(&at.slope));
        let (excess, a) = (self.alpha() - 1.0, (1.0 + rho) / self.sigma2);
        let root = (excess * excess + 4.0 * a * r).sqrt();
        let d = if excess > 0.0 { 2.0 * r / (excess + root) } else { (root - excess) / (2.0 * a) };
        (d > 0.0 && d.is_finite()).then(|| (d, d / self.sigma2 - at.t + slope / d))
    }

    /// The values of ρ that are looked at, from the largest, with the matrices there.
    pub fn grid(&self) -> Vec<(f64, Option<AtRho>)> {
        let mean = self.s.iter().sum::<f64>() / self.rows() as f64;
        if mean.is_nan() || mean <= 0.0 {
            return vec![(0.0, self.at_rho(0.0))];
        }
        let points = GRID.rev().map(|i| 10f64.powf(f64::from(i) / 4.0) / mean).chain([0.0]);
        points.map(|rho| (rho, self.at_rho(rho))).collect()
    }

    /// Where single outputs along the eigenvectors of 𝓡 have their largest roots: first along those of the labels, then along
    /// those of 𝓡 near the typical root.
    pub fn starts(&self, grid: &[(f64, Option<AtRho>)]) -> Result<Vec<Frame>> {
        let m = self.y.ncols();
        let mut axes = SymmetricEigen::factor(
            symmetric(matmul(self.y.transpose(), self.y.as_ref()).as_ref()).as_ref(),
            "products of labels",
        )?
        .vectors;
        let mut frames = Vec::new();
        for _ in 0..2 {
            let singles: Vec<(f64, f64, usize)> =
                (0..m).map(|a| self.largest_root(grid, axes.col_as_slice(a))).collect();
            let d: Vec<f64> = singles.iter().map(|s| s.0).collect();
            frames.insert(0, Frame::along(axes.as_ref(), &d, singles.iter().map(|s| s.1).collect()));
            let mut places: Vec<usize> = singles.iter().map(|s| s.2).collect();
            places.sort_unstable();
            let Some((_, Some(at))) = grid.get(places[m / 2]) else { break };
            axes = SymmetricEigen::factor(at.r.as_ref(), "products of labels beyond earlier tasks")?.vectors;
        }
        Ok(frames)
    }

    /// (d, ρ) of one output at its largest root, and where in the grid that is.
    fn largest_root(&self, grid: &[(f64, Option<AtRho>)], axis: &[f64]) -> (f64, f64, usize) {
        let look = |k: usize| grid[k].1.as_ref().and_then(|at| self.single(at, grid[k].0, axis));
        let mut right: Option<(usize, f64, f64)> = None;
        for k in 0..grid.len() {
            match (look(k), right) {
                (Some((d, left)), _) if left <= 0.0 => right = Some((k, d, left)),
                (here, Some((j, d, below))) => {
                    // Between the two points: where a straight line crosses zero, if both have a solution.
                    let (rho, part) = (grid[j].0, here.map_or(0.5, |(_, above)| above / (above - below)));
                    let other = grid[k].0;
                    let d = here.map_or(d, |(other, _)| other + part * (d - other));
                    return (d, other + part * (rho - other), k);
                }
                _ => {}
            }
        }
        // No sign change: tasks that share nothing have their root at ρ = 0.
        let last = grid.len() - 1;
        (look(last).map_or(self.sigma2, |s| s.0), grid[last].0, last)
    }

    /// Solves from single outputs; where that fails, by continuation in the width.
    ///
    /// # Errors
    /// [`crate::Error::NotConverged`] where that fails too.
    pub fn solve(&self, what: &str) -> Result<Solution> {
        let (mut trace, mut best) = (Vec::new(), f64::INFINITY);
        let mut near = self.near.iter().cloned();
        let mut others = None;
        loop {
            // The starts along single outputs only where the near one does not serve.
            let frame = match near.next() {
                Some(frame) => frame,
                None => {
                    if others.is_none() {
                        others = Some(self.starts(&self.grid())?.into_iter());
                    }
                    match others.as_mut().and_then(Iterator::next) {
                        Some(frame) => frame,
                        None => break,
                    }
                }
            };
            match newton(self, &frame)? {
                Outcome::Solved(solution) => return Ok(*solution),
                Outcome::Failed(why, residual) => {
                    best = best.min(residual);
                    trace.push(format!("from rho = {:.3?}: {why}", frame.rho));
                }
            }
        }
        match self.continued(|width| Problem { width, ..self.clone() })? {
            Some(solution) => Ok(solution),
            None => Err(failure(what, best, trace)),
        }
    }

    /// The solution that is connected with α → 0: from `D = σ²`, `U0 = 0` at a thousandth of the load, in steps of the load that
    /// shrink where Newton's method fails.
    ///
    /// # Errors
    /// Those of [`newton`].
    pub fn continued<F: Form>(&self, at_width: impl Fn(f64) -> F) -> Result<Option<Solution>> {
        let m = self.y.ncols();
        let origin = Frame::along(Mat::<f64>::identity(m, m).as_ref(), &vec![self.sigma2; m], vec![0.0; m]);
        follow(self.width, self.rows() as f64, origin, at_width)
    }
}

/// Continuation in the width from a frame that solves the problem without data, down to `width`.
///
/// # Errors
/// Those of [`newton`].
pub(super) fn follow<F: Form>(
    width: f64,
    examples: f64,
    origin: Frame,
    at_width: impl Fn(f64) -> F,
) -> Result<Option<Solution>> {
    let target = (1.0 / width).ln();
    let mut now = (1e-3 / examples).ln().min(target);
    let Outcome::Solved(mut solution) = newton(&at_width((-now).exp()), &origin)? else { return Ok(None) };
    let mut step: f64 = 0.7;
    while now < target {
        let next = (now + step).min(target);
        let width = if next == target { width } else { (-next).exp() };
        match newton(&at_width(width), &solution.frame)? {
            Outcome::Solved(found) => {
                (solution, now) = (found, next);
                step *= 1.5;
            }
            Outcome::Failed(..) => step *= 0.4,
        }
        if step < 1e-4 {
            return Ok(None);
        }
    }
    Ok(Some(*solution))
}
