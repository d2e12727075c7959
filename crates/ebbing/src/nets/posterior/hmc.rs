//! Hamiltonian Monte Carlo with a step size adapted by dual averaging (Neal 2011; Hoffman and Gelman 2014).

use crate::error::Result;
use crate::rng::Stream;
use crate::stats::number::significant;
use crate::stop;

/// How a chain moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moves {
    /// Steps used to adapt the step size, thrown away.
    pub warmup: usize,
    /// Steps kept.
    pub draws: usize,
    /// Largest number of leapfrog steps of a move; each move draws its own between half of it and it.
    pub leapfrog: usize,
    /// Acceptance rate aimed at.
    pub target: f64,
}

/// How the moves of a chain fared.
#[derive(Debug, Clone)]
pub(crate) struct MoveStatistics {
    /// Mean acceptance probability of the kept draws.
    pub acceptance: f64,
    /// Kept moves whose energy error exceeded 1000, or that had no energy.
    pub divergent: usize,
    /// Why the first of these diverged.
    pub cause: Option<String>,
}

/// The energy error above which a move counts as divergent.
const DIVERGENT: f64 = 1000.0;

/// Runs one chain from `w` (which ends as its last state), with mass 1/`scale²`. `keep` sees every kept state.
///
/// # Errors
/// Whatever `energy` returns at the start.
pub(crate) fn run(
    w: &mut [f64],
    scale: f64,
    moves: Moves,
    stream: &mut Stream,
    mut energy: impl FnMut(&[f64], &mut [f64]) -> Result<f64>,
    mut keep: impl FnMut(&[f64], f64),
) -> Result<MoveStatistics> {
    let n = w.len();
    let (mut grad, mut next, mut next_grad, mut p) = (vec![0.0; n], vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let mut u = energy(w, &mut grad)?;
    let mut adapt = DualAverage::new(0.1, moves.target);
    let (mut accepted, mut divergent, mut cause) = (0.0, 0, None);
    for move_index in 0..moves.warmup + moves.draws {
        stop::check()?;
        let warm = move_index < moves.warmup;
        // Jitter of the step keeps a move from returning to where it started.
        let step = if warm { adapt.step() } else { adapt.final_step() } * (0.9 + 0.2 * stream.uniform());
        let steps = moves.leapfrog.div_ceil(2) + stream.below(moves.leapfrog / 2 + 1);
        p.iter_mut().for_each(|p| *p = stream.normal());
        let before = u + 0.5 * p.iter().map(|p| p * p).sum::<f64>();
        next.copy_from_slice(w);
        next_grad.copy_from_slice(&grad);
        let (mut u_next, mut failed) = (u, None);
        // Leapfrog in units in which the mass is 1: half a kick, a drift, half a kick.
        for _ in 0..steps {
            for i in 0..n {
                p[i] -= 0.5 * step * scale * next_grad[i];
                next[i] += step * scale * p[i];
            }
            // A trajectory that leaves the range of numbers is a rejected move.
            u_next = energy(&next, &mut next_grad).unwrap_or_else(|error| {
                failed = Some(error.to_string());
                f64::INFINITY
            });
            for i in 0..n {
                p[i] -= 0.5 * step * scale * next_grad[i];
            }
            if !u_next.is_finite() {
                break;
            }
        }
        let error = u_next + 0.5 * p.iter().map(|p| p * p).sum::<f64>() - before;
        let probability = if error.is_finite() { (-error).exp().min(1.0) } else { 0.0 };
        if stream.uniform() < probability {
            w.copy_from_slice(&next);
            grad.copy_from_slice(&next_grad);
            u = u_next;
        }
        if warm {
            adapt.update(probability);
        } else {
            accepted += probability;
            if !error.is_finite() || error > DIVERGENT {
                divergent += 1;
                cause.get_or_insert_with(|| why(failed, error));
            }
            keep(w, u);
        }
    }
    Ok(MoveStatistics { acceptance: accepted / moves.draws.max(1) as f64, divergent, cause })
}

/// Why a move diverged: what its energy failed with, or by how much it erred.
fn why(failed: Option<String>, error: f64) -> String {
    failed.unwrap_or_else(|| match error.is_finite() {
        true => format!("the energy erred by {}", significant(error)),
        false => "the energy left the range of numbers".into(),
    })
}

/// Nesterov's dual averaging of ln(step) (Hoffman and Gelman 2014, section 3.2.1, with their constants).
struct DualAverage {
    mu: f64,
    target: f64,
    log_step: f64,
    log_mean: f64,
    error: f64,
    count: f64,
}

impl DualAverage {
    fn new(step: f64, target: f64) -> Self {
        DualAverage { mu: (10.0 * step).ln(), target, log_step: step.ln(), log_mean: step.ln(), error: 0.0, count: 0.0 }
    }

    fn update(&mut self, probability: f64) {
        self.count += 1.0;
        let weight = 1.0 / (self.count + 10.0);
        self.error = (1.0 - weight) * self.error + weight * (self.target - probability);
        self.log_step = self.mu - self.count.sqrt() / 0.05 * self.error;
        let weight = self.count.powf(-0.75);
        self.log_mean = weight * self.log_step + (1.0 - weight) * self.log_mean;
    }

    fn step(&self) -> f64 {
        self.log_step.exp()
    }

    fn final_step(&self) -> f64 {
        self.log_mean.exp()
    }
}
