//! `∂H_T = 0` at one step (paper, Eqs. 141–143 for T = 2): the cross unknowns by a small linear system, d and u0 by
//! safeguarded Newton.
//!
//! `H_T = σ^{-2}(d + u0) − D[1] + (1/N) {D[K] + (Y−ḡ)ᵀK̃^{-1}(Y−ḡ)}` is quadratic in the cross unknowns θ, so that they
//! are explicit once (d, u0) are known. For two tasks θ is u12 alone, and its equation is Eq. 141 with the signs of
//! its last two terms reversed: as printed, two identical tasks would get readouts that point in opposite directions.
//!
//! In the pencil's basis a further step is exact: with ρ = u0/d everything but two powers of d depends on ρ alone,
//! `σ^{-2}(1+ρ) d² + (P/N − 1) d = R(ρ)`, and one scalar equation in ρ remains, whose largest root is bracketed on a
//! grid. Newton's method in (ln d, ρ) then polishes it: at large λ solutions lie in a valley of nearly constant ρ,
//! along which steps at constant u0 would not follow.

use super::combined::{Combined, ratio};
use super::small::solve_small;
use super::solve::plain_starts;
use super::terms::{Derivatives, Terms};
use crate::error::{Error, Result};
use crate::stats::try_bisect;

/// Solutions are accepted below this scaled residual.
pub(super) const TOLERANCE: f64 = 1e-10;

/// How far below zero rounding may put a variance that vanishes (identical tasks, λ = 0).
const SPREAD_ROUNDING: f64 = 1e-8;

/// The equations of one step.
pub(super) struct Saddle<'a> {
    /// The data's terms.
    pub data: &'a Terms,
    /// The same for kernels replaced by the 1×1 matrix 1, without labels.
    pub unit: &'a Terms,
    /// The width N.
    pub width: f64,
    /// The prior variance.
    pub sigma2: f64,
}

/// A point (d, u0) with its cross unknowns and equations.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub d: f64,
    pub u0: f64,
    pub theta: Vec<f64>,
    /// `u0(T,T)` minus its part along earlier readouts (`u0 − u12²/u11` for two tasks), over the sum of their sizes: a
    /// variance, which a false root has negative.
    pub spread: f64,
    /// Scaled residuals: those of the cross unknowns, then `∂u0` at fixed u1(T,T) (for T = 2 the paper's Eq. 143), then
    /// `∂u0` at fixed d (Eq. 142).
    pub residuals: Vec<f64>,
}

impl Solution {
    /// `u1(T,T)`.
    fn norm(&self) -> f64 {
        self.d + self.u0
    }

    /// The largest scaled residual.
    pub fn residual(&self) -> f64 {
        self.residuals.iter().fold(0.0, |a: f64, b| if b.is_nan() { f64::INFINITY } else { a.max(*b) })
    }
}

/// An interval of ρ whose right end is below the root's sign change and whose left end is above it or has no solution.
struct Bracket {
    left: f64,
    right: f64,
}

impl Bracket {
    /// Whether ρ lies inside, up to the rounding of a bracket that cannot be halved.
    fn contains(&self, rho: f64) -> bool {
        rho >= self.left * (1.0 - 1e-6) && rho <= self.right * (1.0 + 1e-6)
    }
}

/// What was tried, and the smallest residual of it.
struct Attempts {
    trace: Vec<String>,
    steps: usize,
    best: f64,
}

/// Everything about one point.
struct Iterate {
    solution: Solution,
    /// `∂H/∂ln d` at fixed ρ = u0/d and `∂H/∂ρ` at fixed d.
    equations: [f64; 2],
    /// What the equations are scaled with.
    scales: [f64; 2],
    /// Derivatives of the equations with respect to (ln d, ρ).
    jacobian: [[f64; 2]; 2],
}

/// The problem at one `ρ = u0/d`: the root d of the quadratic, and what is left of the scalar equation in ρ.
struct Reduced {
    d: f64,
    equation: f64,
}

impl Attempts {
    fn new() -> Self {
        Attempts { trace: vec![], steps: 0, best: f64::INFINITY }
    }

    /// Keeps a result of Newton's method if it is a solution, and notes why not otherwise.
    fn take(&mut self, (found, steps): (Option<Solution>, usize), start: (f64, f64)) -> Option<Solution> {
        self.steps += steps;
        let from = format!("from d = {:.4e}, u0 = {:.4e}", start.0, start.1);
        let Some(s) = found else {
            self.trace.push(format!("{from}: outside the domain of solutions"));
            return None;
        };
        let (residual, at) = (s.residual(), format!("d = {:.4e}, u0 = {:.4e}", s.d, s.u0));
        if residual >= TOLERANCE {
            self.trace.push(format!("{from}: residual {residual:.2e} at {at} after {steps} steps"));
        } else if s.spread <= -SPREAD_ROUNDING {
            self.trace.push(format!("{from}: a false root at {at}, u0 below its part along earlier readouts"));
        } else {
            return Some(s);
        }
        self.best = self.best.min(residual);
        None
    }

    fn failure(self, what: &str) -> Error {
        Error::NotConverged {
            what: what.to_string(),
            residual: self.best,
            steps: self.steps,
            trace: self.trace,
            advice: "change lambda or alpha a little, or use a finite beta where the kernel is ill-conditioned".into(),
        }
    }
}

impl Saddle<'_> {
    /// `H_T` and its gradient over the cross unknowns, d and u0, at any point; `None` where K̃ is not positive definite.
    #[cfg(test)]
    pub fn hamiltonian(&self, theta: &[f64], d: f64, u0: f64) -> Result<Option<(f64, Vec<f64>)>> {
        let Some(sum) = self.combined(d, u0, Derivatives::All)? else { return Ok(None) };
        let (omega, _) = sum.quadratic(theta);
        let logdet = self.data.logdet(d, u0) / self.width - self.unit.logdet(d, u0);
        let value = (d + u0) / self.sigma2 + logdet + sum.entropy[0] + omega[0];
        let mut gradient: Vec<f64> = sum.cross_gradient(theta, 0);
        gradient.push(1.0 / self.sigma2 + sum.entropy[1] + omega[1]);
        gradient.push(1.0 / self.sigma2 + sum.entropy[2] + omega[2]);
        Ok(Some((value, gradient)))
    }

    /// Solves from the largest root of the scalar equation where there is one, then from other starts (d, u0); returns
    /// the first solution.
    ///
    /// # Errors
    /// [`Error::NotConverged`] with one line per start.
    pub fn solve(&self, others: &[(f64, f64)], what: &str) -> Result<Solution> {
        let mut attempts = Attempts::new();
        if let Some(mut bracket) = self.bracket()? {
            // A coarse root usually suffices for Newton's method; what it finds must lie in the bracket.
            for width in [1e-3, 0.0] {
                let start = self.refine(&mut bracket, width)?;
                if let Some(solution) = attempts.take(self.newton(start.0, start.1)?, start)
                    && bracket.contains(solution.u0 / solution.d)
                {
                    return Ok(solution);
                }
            }
        }
        // Tasks that share nothing (λ = 0 without mean activations) have their root at ρ = 0 itself.
        let origin = self.origin()?;
        for &start in origin.iter().chain(others) {
            if let Some(solution) = attempts.take(self.newton(start.0, start.1)?, start) {
                return Ok(solution);
            }
        }
        Err(attempts.failure(what))
    }

    /// The same with `u1(T,T) ≤ bound`: where the readout would be longer, that of the smaller σ_a whose readout has this
    /// norm. The norm grows with σ_a, from 0.
    ///
    /// # Errors
    /// Those of [`Saddle::solve`], at any σ_a that is tried: where one has no solution, the norm there is not known.
    pub fn solve_within(&self, bound: f64, what: &str) -> Result<Solution> {
        let at = |ln: f64| {
            let sigma2 = ln.exp();
            Saddle { sigma2, ..*self }.solve(&plain_starts(sigma2), what)
        };
        let (free, high) = (at(self.sigma2.ln())?, self.sigma2.ln());
        if free.norm() <= bound {
            return Ok(free);
        }
        let mut low = high;
        // Down to the smallest number, ln 1e-308 = −709.
        while at(low)?.norm() > bound {
            low -= 2.0;
            if low < -700.0 {
                return Err(Attempts::new().failure(&format!("a prior of readouts of norm {bound} for {what}")));
            }
        }
        at(try_bisect(low, high, |ln| Ok::<_, Error>(at(ln)?.norm() <= bound))?)
    }

    /// The largest root of the scalar equation as a start (d, u0), or ρ = 0 where there is none above.
    ///
    /// # Errors
    /// Those of [`Terms::moments`].
    pub fn start(&self) -> Result<Option<(f64, f64)>> {
        match self.bracket()? {
            Some(mut bracket) => self.refine(&mut bracket, 1e-3).map(Some),
            None => self.origin(),
        }
    }

    /// The start (d, 0) at ρ = 0, where there is a common basis.
    fn origin(&self) -> Result<Option<(f64, f64)>> {
        if self.data.tau().is_none() {
            return Ok(None);
        }
        Ok(self.reduced(0.0)?.map(|r| (r.d, 0.0)))
    }

    /// The largest root of the scalar equation in ρ = u0/d, bracketed; `None` without a common basis or a root.
    ///
    /// The equation tends to −1 as ρ → ∞, where the data no longer matter, so that the largest root is the one that is
    /// connected with α → 0; smaller ones, seen only far above α = 10, lie beyond poles and break `u12² ≤ u11 u22`.
    fn bracket(&self) -> Result<Option<Bracket>> {
        let Some(tau) = self.data.tau() else { return Ok(None) };
        let mean = tau.iter().sum::<f64>() / tau.len() as f64;
        if mean.is_nan() || mean <= 0.0 {
            return Ok(None);
        }
        // u0 is an overlap of independent solutions and positive: four points per decade over 14 decades, then 0.
        let grid = (-28..=28).rev().map(|i| 10f64.powf(f64::from(i) / 4.0) / mean).chain([0.0]);
        let mut right = None;
        for rho in grid {
            // Where R(ρ) falls to 0, d → 0 and R'/d → +∞: no solution d counts as positive.
            match (self.reduced(rho)?.is_none_or(|r| r.equation > 0.0), right) {
                (false, _) => right = Some(rho),
                (true, Some(right)) => return Ok(Some(Bracket { left: rho, right })),
                // At the far end R(ρ) may have drowned in the rounding of labels that are noise.
                (true, None) => {}
            }
        }
        Ok(None)
    }

    /// Halves a bracket to the given relative width, or to rounding; the last point with a solution d.
    fn refine(&self, bracket: &mut Bracket, width: f64) -> Result<(f64, f64)> {
        let mut at = (f64::NAN, f64::NAN);
        // Enough to halve the largest number to the smallest.
        for _ in 0..2200 {
            let middle = 0.5 * (bracket.left + bracket.right);
            let done = middle <= bracket.left || middle >= bracket.right;
            if at.0.is_finite() && (done || bracket.right - bracket.left < width * bracket.right) {
                return Ok(at);
            }
            match self.reduced(if done { bracket.right } else { middle })? {
                Some(r) => {
                    at = (r.d, middle * r.d);
                    if r.equation > 0.0 { bracket.left = middle } else { bracket.right = middle }
                }
                None => bracket.left = middle,
            }
        }
        Ok(at)
    }

    /// The scalar equation `σ^{-2} d − t(ρ) + R'(ρ)/d` at ρ, with the positive root d of the quadratic; `None` where
    /// there is none.
    fn reduced(&self, rho: f64) -> Result<Option<Reduced>> {
        let Some(sum) = self.combined(1.0, rho, Derivatives::AlongU0)? else { return Ok(None) };
        // Beyond a pole of θ(ρ) lies another branch, which no load connects with α → 0.
        let theta = sum.cross_solution();
        if sum.branch() != sum.unit_branch() {
            return Ok(None);
        }
        let (omega, _) = sum.quadratic(&theta);
        let excess = (self.data.signal(rho) + rho * sum.noise_trace) / self.width - 1.0;
        let a = (1.0 + rho) / self.sigma2;
        // R(ρ), less labels that are noise at the frozen temperature: those cost the same at every d.
        let r = omega[1];
        let root = (excess * excess + 4.0 * a * r).sqrt();
        // The root without cancellation, for either sign of α − 1.
        let d = if excess > 0.0 { 2.0 * r / (excess + root) } else { (root - excess) / (2.0 * a) };
        if !(d > 0.0 && d.is_finite()) {
            return Ok(None);
        }
        Ok(Some(Reduced { d, equation: d / self.sigma2 + sum.entropy[2] + omega[2] / d }))
    }

    /// Newton's method from (d, u0) in (ln d, ρ = u0/d), with steps that are halved until the equations shrink.
    fn newton(&self, d: f64, u0: f64) -> Result<(Option<Solution>, usize)> {
        let Some(mut at) = self.point(d, u0)? else { return Ok((None, 0)) };
        for step in 0..60 {
            // Cramer's rule for the two unknowns, then at most a factor e² in d and a step of 1 + 2ρ in ρ.
            let [[a, b], [c, e]] = at.jacobian;
            let det = a * e - b * c;
            let [f, g] = at.equations;
            let mut step_d = -(e * f - b * g) / det;
            let mut step_rho = -(a * g - c * f) / det;
            if !(step_d.is_finite() && step_rho.is_finite()) {
                return Ok((Some(at.solution), step));
            }
            let rho = (at.solution.u0 / at.solution.d).abs();
            let long = (step_d.abs() / 2.0).max(step_rho.abs() / (1.0 + 2.0 * rho)).max(1.0);
            step_d /= long;
            step_rho /= long;
            match self.line_search(&at, step_d, step_rho)? {
                Some(next) => {
                    at = next;
                    if step_d.abs() < 1e-14 && step_rho.abs() <= 1e-14 * rho {
                        return Ok((Some(at.solution), step + 1));
                    }
                }
                None => return Ok((Some(at.solution), step + 1)),
            }
        }
        Ok((Some(at.solution), 60))
    }

    /// The first of the step, its half, its quarter … that shrinks the scaled equations.
    fn line_search(&self, at: &Iterate, step_d: f64, step_rho: f64) -> Result<Option<Iterate>> {
        let merit = |p: &Iterate| (0..2).map(|i| (p.equations[i] / at.scales[i]).powi(2)).sum::<f64>();
        let (now, rho) = (merit(at), at.solution.u0 / at.solution.d);
        let mut part = 1.0;
        for _ in 0..40 {
            let d = at.solution.d * (part * step_d).exp();
            if let Some(next) = self.point(d, (rho + part * step_rho) * d)?
                && merit(&next) < now
            {
                return Ok(Some(next));
            }
            part *= 0.5;
        }
        Ok(None)
    }

    /// Equations, scales and Jacobian at (d, u0).
    fn point(&self, d: f64, u0: f64) -> Result<Option<Iterate>> {
        let Some(sum) = self.combined(d, u0, Derivatives::All)? else { return Ok(None) };
        if sum.branch() != sum.unit_branch() {
            return Ok(None);
        }
        let theta = sum.cross_solution();
        let (omega, size) = sum.quadratic(&theta);
        // Minus ∂u0 at fixed u1(T,T), which is ∂d − ∂u0: both hold σ^{-2} + Tr(M K¹)/N − 1/d, and `trace_difference` is
        // formed without it.
        let at_fixed_u1 = sum.trace_difference + omega[1] - omega[2];
        let at_fixed_d = 1.0 / self.sigma2 + sum.entropy[2] + omega[2];
        let scales = [sum.trace_difference.abs() + size[1], 1.0 / self.sigma2 + sum.entropy[2].abs() + size[2]];
        let (g_d, g_u) = (sum.cross_gradient(&theta, 1), sum.cross_gradient(&theta, 2));
        let (h_d, h_u) = (solve_small(&sum.cross_matrix(), &g_d), solve_small(&sum.cross_matrix(), &g_u));
        let product = |a: &[f64], b: &[f64]| 0.5 * a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        // θ follows (d, u0) as its own equation says, so the second derivatives are those of H with θ eliminated:
        // H_xy − H_xθ H_θθ^{-1} H_θy, where H_θθ is twice the cross matrix.
        let dd = sum.entropy[3] + omega[3] - product(&g_d, &h_d);
        let du = sum.entropy[4] + omega[4] - product(&g_d, &h_u);
        let uu = sum.entropy[5] + omega[5] - product(&g_u, &h_u);
        let mut residuals = sum.cross_residuals(&theta);
        residuals.push(ratio(at_fixed_u1, scales[0]));
        residuals.push(ratio(at_fixed_d, scales[1]));
        // d times the 1×1 kernels' part is minus what u0 has along earlier readouts, −u12²/u11 for two tasks.
        let along = d * sum.unit_quadratic(&theta);
        // The last term is for variances that vanish with both parts.
        let spread = (u0 + along) / (u0.abs() + along.abs() + 1e-3 * d);
        // With u0 = ρd: ∂/∂ln d at fixed ρ is d ∂d + u0 ∂u0, and ∂/∂ρ at fixed d is d ∂u0.
        let along_d = d * at_fixed_u1 + (d + u0) * at_fixed_d;
        Ok(Some(Iterate {
            solution: Solution { d, u0, theta, spread, residuals },
            equations: [along_d, d * at_fixed_d],
            scales: [d * scales[0] + (d + u0.abs()) * scales[1], d * scales[1]],
            jacobian: [
                [along_d + d * d * dd + 2.0 * d * u0 * du + u0 * u0 * uu, d * (d * du + at_fixed_d + u0 * uu)],
                [d * (at_fixed_d + d * du + u0 * uu), d * d * uu],
            ],
        }))
    }

    /// Data terms over N minus those of the 1×1 kernels.
    fn combined(&self, d: f64, u0: f64, wanted: Derivatives) -> Result<Option<Combined>> {
        crate::stop::check()?;
        let Some(data) = self.data.moments(d, u0, wanted)? else { return Ok(None) };
        let Some(unit) = self.unit.moments(d, u0, wanted)? else { return Ok(None) };
        Ok(Some(Combined::new(&data, &unit, u0, self.width)))
    }
}
