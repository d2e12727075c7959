//! Newton's method for the factors of several outputs, in the frame of the current point.
//!
//! The cross unknowns follow (D, U0) as their linear equations say, so that the symmetric steps X and Z solve
//! `H'' (X, Z) = −(∂_X H, ∂_Z H)` with the second derivatives of H with θ eliminated. D stays positive definite because it moves by
//! `F e^X Fᵀ`; a step out of the domain of K̃ is halved.
//!
//! Which stationary point is the true one: it is connected with α → 0, where `D = σ²` and U0 vanishes. Along the way no second
//! derivative crosses zero, so the whole matrix of second derivatives, cross unknowns included, keeps its number of negative
//! eigenvalues, `m(m+1)/2` and those of −C; and `U0 + θCθᵀ`, what U0 has beyond earlier readouts, is a covariance.

use super::frame::{Frame, from_coordinates};
use super::problem::gradient;
use crate::error::{Error, Result};
use crate::linalg::{Mat, SymmetricEigen};
use crate::theory::multi_head::saddle::TOLERANCE;
use crate::theory::multi_head::small::solve_small;

/// How far below zero rounding may put a variance that vanishes.
const SPREAD_ROUNDING: f64 = 1e-8;

/// The most steps from one start.
const STEPS: usize = 80;

/// The equations at one frame.
pub(super) struct Local<W> {
    pub frame: Frame,
    /// `θ̃ = F^{-1}θ`, m × n.
    pub theta: Mat<f64>,
    /// `∂H/∂X` and `∂H/∂Z`.
    pub gx: Mat<f64>,
    pub gz: Mat<f64>,
    /// The sums of the sizes of the terms of their diagonals.
    pub scale_x: Vec<f64>,
    pub scale_z: Vec<f64>,
    /// The largest scaled residual of the cross unknowns.
    pub theta_residual: f64,
    /// `θ̃Cθ̃ᵀ`.
    pub spread: Mat<f64>,
    /// Whatever the Jacobian needs.
    pub work: W,
}

/// A free energy as a function of the frame.
pub(super) trait Form {
    type Work;
    /// The number m of outputs.
    fn outputs(&self) -> usize;
    /// The equations at a frame; `None` outside their domain.
    fn at(&self, frame: &Frame) -> Result<Option<Local<Self::Work>>>;
    /// Second derivatives over (X, Z) in [`coordinates`](super::frame::coordinates), θ eliminated, and the number of negative
    /// eigenvalues of those over θ.
    fn jacobian(&self, local: &Local<Self::Work>) -> Result<(Mat<f64>, usize)>;
    /// The same number without data: that of −C, once for every output.
    fn unit_negative(&self) -> usize;
}

/// A solution of one step.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub frame: Frame,
    /// `θ`, m × n, in the original outputs.
    pub theta: Mat<f64>,
    /// Scaled residuals: the largest of the cross unknowns, of `∂_Z H` and of `∂_X H`.
    pub residuals: [f64; 3],
}

impl<W> Local<W> {
    /// The largest entries of `∂_X H` and `∂_Z H` over the sizes of their terms.
    fn scaled(&self) -> [f64; 2] {
        let largest = |g: &Mat<f64>, scale: &[f64]| {
            let mut most: f64 = 0.0;
            for b in 0..g.ncols() {
                for c in 0..=b {
                    let entry = g[(b, c)].abs() / (scale[b] * scale[c]).sqrt();
                    // f64::max would drop a NaN.
                    most = if entry > most || entry.is_nan() { entry } else { most };
                }
            }
            most
        };
        [largest(&self.gx, &self.scale_x), largest(&self.gz, &self.scale_z)]
    }

    fn merit(&self) -> f64 {
        let sum = |g: &Mat<f64>, scale: &[f64]| {
            (0..g.ncols())
                .map(|b| (0..g.nrows()).map(|c| g[(c, b)].powi(2) / (scale[b] * scale[c])).sum::<f64>())
                .sum::<f64>()
        };
        sum(&self.gx, &self.scale_x) + sum(&self.gz, &self.scale_z)
    }

    /// The smallest eigenvalue of `diag ρ + θ̃Cθ̃ᵀ` over the sizes of its terms.
    fn least_spread(&self) -> Result<f64> {
        let m = self.frame.size();
        let size = |a: usize| (self.frame.rho[a].abs() + self.spread[(a, a)].abs() + 1e-3).sqrt();
        let scaled = Mat::from_fn(m, m, |a, b| {
            let own = if a == b { self.frame.rho[a] } else { 0.0 };
            (own + self.spread[(a, b)]) / (size(a) * size(b))
        });
        let eigen = SymmetricEigen::factor(scaled.as_ref(), "what U0 has beyond earlier readouts")?;
        Ok(eigen.values.first().copied().unwrap_or(0.0))
    }

    fn solution(&self) -> Solution {
        let [x, z] = self.scaled();
        let theta = crate::linalg::matmul(self.frame.f.as_ref(), self.theta.as_ref());
        Solution { frame: self.frame.clone(), theta, residuals: [self.theta_residual, z, x] }
    }
}

/// What came of one start.
pub(super) enum Outcome {
    /// A solution on the true branch.
    Solved(Box<Solution>),
    /// Why not, and the smallest residual.
    Failed(String, f64),
}

/// Newton's method from one frame.
///
/// # Errors
/// Those of decompositions of m × m matrices, and [`Error::Stopped`].
pub(super) fn newton<F: Form>(form: &F, start: &Frame) -> Result<Outcome> {
    let Some(mut at) = form.at(start)? else {
        return Ok(Outcome::Failed("outside the domain of solutions".into(), f64::INFINITY));
    };
    let m = form.outputs();
    let half = m * (m + 1) / 2;
    let mut settled = false;
    for _ in 0..STEPS {
        crate::stop::check()?;
        let (hessian, _) = form.jacobian(&at)?;
        let rows: Vec<Vec<f64>> = (0..2 * half).map(|i| (0..2 * half).map(|j| hessian[(i, j)]).collect()).collect();
        let step: Vec<f64> = solve_small(&rows, &gradient(&at)).iter().map(|d| -d).collect();
        if step.iter().any(|d| !d.is_finite()) {
            break;
        }
        let (mut x, mut z) = (from_coordinates(&step[..half], m), from_coordinates(&step[half..], m));
        // At most a factor e² in D, and 1 + 2ρ in ρ.
        let root = |a: usize| (1.0 + 2.0 * at.frame.rho[a].abs()).sqrt();
        let mut long: f64 = x.norm_l2() / 2.0;
        for a in 0..m {
            for b in 0..=a {
                long = long.max(z[(a, b)].abs() / (root(a) * root(b)));
            }
        }
        if long > 1.0 {
            x = Mat::from_fn(m, m, |i, j| x[(i, j)] / long);
            z = Mat::from_fn(m, m, |i, j| z[(i, j)] / long);
        }
        let small = long < 1e-13;
        let Some(next) = line_search(form, &at, &x, &z)? else {
            settled = true;
            break;
        };
        at = next;
        if small {
            settled = true;
            break;
        }
    }
    let [rx, rz] = at.scaled();
    let residual = rx.max(rz).max(at.theta_residual);
    if residual.is_nan() || residual >= TOLERANCE {
        let state = if settled { "no further step shrinks the equations" } else { "too many steps" };
        return Ok(Outcome::Failed(format!("residual {residual:.2e}: {state}"), residual));
    }
    let least = at.least_spread()?;
    if least <= -SPREAD_ROUNDING {
        let why = format!("a false root: U0 is below its part along earlier readouts by {:.1e} of its size", -least);
        return Ok(Outcome::Failed(why, residual));
    }
    let (hessian, inner) = form.jacobian(&at)?;
    let negative = inner + negative_of(&hessian)?;
    let expected = form.unit_negative() + half;
    if negative != expected {
        let why = format!("a false root: {negative} directions of descent where the true branch has {expected}");
        return Ok(Outcome::Failed(why, residual));
    }
    Ok(Outcome::Solved(Box::new(at.solution())))
}

/// The number of negative eigenvalues of a symmetric matrix, its rows and columns scaled to a unit diagonal.
fn negative_of(a: &Mat<f64>) -> Result<usize> {
    let n = a.nrows();
    let size: Vec<f64> =
        (0..n).map(|i| (0..n).map(|j| a[(i, j)].abs()).fold(0.0, f64::max).max(f64::MIN_POSITIVE).sqrt()).collect();
    let scaled = Mat::from_fn(n, n, |i, j| 0.5 * (a[(i, j)] + a[(j, i)]) / (size[i] * size[j]));
    let eigen = SymmetricEigen::factor(scaled.as_ref(), "second derivatives of the free energy")?;
    Ok(eigen.values.iter().filter(|v| **v < 0.0).count())
}

/// The first of the step, its half, its quarter … that shrinks the scaled equations.
fn line_search<F: Form>(form: &F, at: &Local<F::Work>, x: &Mat<f64>, z: &Mat<f64>) -> Result<Option<Local<F::Work>>> {
    let now = at.merit();
    let mut part = 1.0;
    for _ in 0..30 {
        let scaled = |a: &Mat<f64>| Mat::from_fn(a.nrows(), a.ncols(), |i, j| part * a[(i, j)]);
        let moved = at.frame.moved(scaled(x).as_ref(), scaled(z).as_ref())?;
        if let Some(next) = form.at(&moved)?
            && next.merit() < now
        {
            return Ok(Some(next));
        }
        part *= 0.5;
    }
    Ok(None)
}

/// Equations that no start solved.
pub(super) fn failure(what: &str, residual: f64, trace: Vec<String>) -> Error {
    Error::NotConverged {
        what: what.to_string(),
        residual,
        steps: STEPS * trace.len(),
        trace,
        advice: "change lambda or alpha a little, or use a finite beta where the kernel is ill-conditioned".into(),
    }
}
