//! λ → ∞ for any number of tasks: a large λ that stands for it, with the evidence that it suffices.
//!
//! At a finite β, which is held fixed, hidden weights learn nothing in the end: `u0 ΔK ~ u0 Δ̂/λ` falls below `d K¹ + 1/β`, and only
//! readouts learn a later task. Where λ is large but `u0 ΔK` is not yet small beside that, losses may rest at the limit of β = ∞,
//! which is another.

use super::settings::{MultiHeadSettings, check_tasks};
use super::solve::Finite;
use crate::error::{Error, Result, refuse};
use crate::kernels::{Kernel, KernelKind};
use crate::stats::number::chosen;
use crate::tasks::Task;
use serde::Serialize;

/// A loss grows without bound where its exponent is above the first of these and changed by less than the second in a decade
/// of λ. (Exponents are 0 or ½; near a transition they pass through what lies between, and change.)
const GROWTH: (f64, f64) = (0.45, 0.02);

/// What changes between two values of λ a factor of ten apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LambdaEvidence {
    /// The smaller λ.
    pub lambda: f64,
    /// `max_h |F_{T,h}(10λ) − F_{T,h}(λ)|` over the heads whose forgetting has a limit.
    pub change: f64,
    /// `d ln F_{T,h} / d ln λ` for every head: ½ where the forgetting of a task in the middle grows with its readout's norm.
    pub forgetting_exponents: Vec<f64>,
    /// `d ln u1(h,h) / d ln λ` for every head: 0 where its norm has a limit, ½ where it diverges as in overfitting.
    pub readout_exponents: Vec<f64>,
}

/// A theory at one finite λ, of heads with one output or several.
pub(super) trait AtLambda: Sized {
    /// The penalty λ.
    fn lambda(&self) -> f64;
    /// The number T of tasks.
    fn tasks(&self) -> usize;
    /// `F_{T,h}`.
    fn last_forgetting(&self, head: usize) -> Result<f64>;
    /// `u1(h,h)`, or its mean over the outputs of a head.
    fn norm(&self, head: usize) -> f64;
    /// How much of what is learned of a later task hidden weights learn at a finite β; 0 at β = ∞.
    fn hidden_share(&self) -> Result<f64>;
}

impl AtLambda for Finite {
    fn lambda(&self) -> f64 {
        Finite::lambda(self)
    }

    fn tasks(&self) -> usize {
        Finite::tasks(self)
    }

    fn last_forgetting(&self, head: usize) -> Result<f64> {
        self.forgetting(self.tasks(), head)
    }

    fn norm(&self, head: usize) -> f64 {
        self.u1(head, head)
    }

    fn hidden_share(&self) -> Result<f64> {
        Finite::hidden_share(self)
    }
}

/// Raises λ tenfold from 1e4 until no forgetting `F_{T,h}` that has a limit changes by more than `tolerance` at ten times that
/// λ; one that grows as λ^½ at a steady rate has none. Since the approach to the limit is as slow as λ^(-1/2), up to half the last change
/// again may lie between this λ and ∞. One entry of evidence per λ tried; the last one met the tolerance, or λ is 1e11 and its
/// `change` says how far losses still move: next to a transition they come to their limit too slowly for any λ.
///
/// # Errors
/// Those of the theory at a λ; [`Error::OutsideTheory`] for a β so large that no such λ reaches the limit at it.
pub(super) fn rise<M: AtLambda>(
    at: impl Fn(f64) -> Result<M>,
    beta: f64,
    tolerance: f64,
) -> Result<(M, Vec<LambdaEvidence>)> {
    refuse(tolerance.is_nan() || tolerance <= 0.0, "tolerance", tolerance, "must be positive")?;
    let losses = |m: &M| (1..=m.tasks()).map(|h| m.last_forgetting(h)).collect::<Result<Vec<_>>>();
    let mut theory = at(1e4)?;
    let mut now = losses(&theory)?;
    let mut evidence: Vec<LambdaEvidence> = Vec::new();
    while theory.lambda() < 1e11 {
        let next = at(10.0 * theory.lambda())?;
        let then = losses(&next)?;
        // The newest task is learned exactly, but for rounding.
        let grown = |a: f64, b: f64| if a.min(b) < 1e-10 { 0.0 } else { (b / a).log10() };
        let exponents: Vec<f64> = now.iter().zip(&then).map(|(&a, &b)| grown(a, b)).collect();
        let steady = |h: usize| {
            let before = evidence.last().map_or(f64::NAN, |e| e.forgetting_exponents[h]);
            exponents[h] > GROWTH.0 && (exponents[h] - before).abs() < GROWTH.1
        };
        let changes = (0..now.len()).filter(|&h| !steady(h)).map(|h| (now[h] - then[h]).abs());
        evidence.push(LambdaEvidence {
            lambda: theory.lambda(),
            change: changes.fold(0.0, f64::max),
            forgetting_exponents: exponents,
            readout_exponents: (1..=theory.tasks()).map(|h| (next.norm(h) / theory.norm(h)).log10()).collect(),
        });
        if evidence.last().is_some_and(|e| e.change <= tolerance) && theory.hidden_share()? <= tolerance {
            return Ok((theory, evidence));
        }
        (theory, now) = (next, then);
    }
    if theory.hidden_share()? > tolerance {
        let reason = format!(
            "at lambda = {:.0e} hidden weights still learn beside 1/beta; give a finite lambda, or beta = inf, where the limit \
             is another one",
            theory.lambda()
        );
        return Err(Error::outside(format!("lambda = inf at beta = {}", chosen(beta)), reason));
    }
    Ok((theory, evidence))
}

impl Finite {
    /// A large λ that stands for ∞; see [`rise`]. The settings' own λ is not read.
    ///
    /// # Errors
    /// Those of [`super::MultiHead::new`] and of [`rise`].
    pub fn at_large_lambda(
        tasks: &[Task],
        settings: &MultiHeadSettings,
        tolerance: f64,
    ) -> Result<(Self, Vec<LambdaEvidence>)> {
        check_tasks(tasks)?;
        let at = |lambda: f64| Finite::new(tasks, &MultiHeadSettings { lambda, ..settings.clone() });
        rise(at, settings.beta, tolerance)
    }

    /// `max_t Tr u0 ΔK_tt (d K¹_tt + u0 ΔK_tt + 1/β)^{-1}`: how much of what is learned of a later task hidden weights learn;
    /// 0 at β = ∞, where no temperature is held fixed.
    fn hidden_share(&self) -> Result<f64> {
        let mut most: f64 = 0.0;
        for t in (2..=self.tasks()).filter(|_| self.ridge > 0.0) {
            let kernel = Kernel::new(KernelKind::DeltaK, self.architecture, self.prior, t, t)?;
            let change = kernel.gram_symmetric(self.tasks[t - 1].x.as_ref())?;
            let part = self.chain.factor(t - 1).solve(change.as_ref());
            let trace: f64 = (0..part.nrows()).map(|i| part[(i, i)]).sum();
            most = most.max((self.u0(t, t) * trace).abs());
        }
        Ok(most)
    }
}
