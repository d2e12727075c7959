//! Split R-hat and effective sample size of several chains (Gelman et al., Bayesian Data Analysis, 3rd ed., 11.4-11.5).

/// Whether chains agree and how many independent draws they are worth.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Convergence {
    /// `sqrt(((n−1)/n W + B/n)/W)` over half-chains; 1 where they agree.
    pub r_hat: f64,
    /// The number of independent draws with the same error of the mean.
    pub effective: f64,
}

/// Split R-hat and effective sample size of one quantity; each chain is a list of draws of equal length.
///
/// Fewer than 4 draws per chain, or a quantity that never moves, give R-hat = ∞ and an effective size of 0:
/// nothing was shown to converge.
pub fn convergence(chains: &[Vec<f64>]) -> Convergence {
    let Some(Spread { parts, within, total }) = spread(chains) else {
        return Convergence { r_hat: f64::INFINITY, effective: 0.0 };
    };
    let half = parts[0].len();
    let (m, n) = (parts.len() as f64, half as f64);
    // Geyer's initial positive sequence on the combined autocorrelation.
    let correlation = |lag: usize| {
        let moved = |c: &&[f64]| c[lag..].iter().zip(*c).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let sum: f64 = parts.iter().map(moved).sum();
        1.0 - sum / (m * (n - lag as f64)) / (2.0 * total)
    };
    // Pairs of lags (0,1), (2,3) …: these sums are positive for a reversible chain, those of (1,2), (3,4) … need not be.
    let mut time = -1.0;
    for lag in (0..half - 1).step_by(2) {
        let even = if lag == 0 { 1.0 } else { correlation(lag) };
        let pair = even + correlation(lag + 1);
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * pair;
    }
    Convergence { r_hat: (total / within).sqrt(), effective: m * n / time.max(1.0) }
}

/// The same of chains whose targets differ, so that each can be compared with itself alone: R-hat from the variances of all
/// chains' comparisons added up, `sqrt(Σ total/Σ W)`, which no single chain that has not converged is lost in; effective sizes
/// are added.
pub(super) fn each_with_itself(chains: &[Vec<f64>]) -> Convergence {
    let (mut total, mut within, mut effective) = (0.0, 0.0, 0.0);
    for chain in chains {
        let (all, parts) = spread(std::slice::from_ref(chain)).map_or((f64::INFINITY, 0.0), |s| (s.total, s.within));
        (total, within) = (total + all, within + parts);
        effective += convergence(std::slice::from_ref(chain)).effective;
    }
    Convergence { r_hat: (total / within).sqrt(), effective }
}

/// Variances of half-chains: within them, and of all draws together.
struct Spread<'a> {
    parts: Vec<&'a [f64]>,
    within: f64,
    total: f64,
}

/// None for fewer than 4 draws per chain, and for a quantity that never moves.
fn spread(chains: &[Vec<f64>]) -> Option<Spread<'_>> {
    let half = chains.iter().map(Vec::len).min().unwrap_or(0) / 2;
    if half < 2 {
        return None;
    }
    let parts: Vec<&[f64]> = chains.iter().flat_map(|c| [&c[..half], &c[c.len() - half..]]).collect();
    let (m, n) = (parts.len() as f64, half as f64);
    let means: Vec<f64> = parts.iter().map(|c| c.iter().sum::<f64>() / n).collect();
    let grand = means.iter().sum::<f64>() / m;
    let between = n / (m - 1.0) * means.iter().map(|x| (x - grand).powi(2)).sum::<f64>();
    let variance = |c: &[f64], mean: f64| c.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let within = parts.iter().zip(&means).map(|(c, &mean)| variance(c, mean)).sum::<f64>() / m;
    let total = (n - 1.0) / n * within + between / n;
    (within > 0.0 && total.is_finite()).then_some(Spread { parts, within, total })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn autoregressive(phi: f64, n: usize, shift: f64, seed: u64) -> Vec<f64> {
        let mut s = Stream::new(seed, "ar", 0);
        let mut x = s.normal() / (1.0 - phi * phi).sqrt();
        (0..n)
            .map(|_| {
                x = phi * x + s.normal();
                x + shift
            })
            .collect()
    }

    #[test]
    fn knows_the_effective_size_of_an_autoregressive_chain() {
        let chains: Vec<_> = (0..4).map(|k| autoregressive(0.8, 5000, 0.0, k)).collect();
        let c = convergence(&chains);
        // Exact: n (1−φ)/(1+φ) = 20000/9; the estimator's own error is about 10 % at this length.
        assert!((c.effective / (20000.0 / 9.0) - 1.0).abs() < 0.25, "{c:?}");
        assert!(c.r_hat < 1.02, "{c:?}");
    }

    #[test]
    fn pairs_of_lags_begin_at_zero() {
        // A fast part that alternates hides a slow one: the sum of lags 1 and 2 is below 0, those of 0 and 1, 2 and 3 … are not.
        let (fast, slow) = (-0.5f64, 0.99f64);
        let share = (0.05 * (1.0 - slow * slow) / (0.95 * (1.0 - fast * fast))).sqrt();
        let chains: Vec<Vec<f64>> = (0..4)
            .map(|k| {
                let (a, b) = (autoregressive(fast, 40_000, 0.0, k), autoregressive(slow, 40_000, 0.0, k + 10));
                a.iter().zip(b).map(|(a, b)| a + share * b).collect()
            })
            .collect();
        let exact = 160_000.0 / (0.95 * (1.0 + fast) / (1.0 - fast) + 0.05 * (1.0 + slow) / (1.0 - slow));
        // About 800 independent draws of the slow part: its variance, and so the time, is known to some 10 %.
        let c = convergence(&chains);
        assert!((c.effective / exact - 1.0).abs() < 0.3, "{c:?}, exactly {exact}");
    }

    #[test]
    fn one_chain_of_many_that_has_not_settled_is_seen() {
        let mut chains: Vec<_> = (0..9).map(|k| autoregressive(0.1, 200, 5.0 * k as f64, k)).collect();
        // Different targets are no disagreement: two halves of 100 draws each differ by chance alone.
        assert!(each_with_itself(&chains).r_hat < 1.02, "{:?}", each_with_itself(&chains));
        chains[4].iter_mut().skip(100).for_each(|x| *x += 8.0);
        assert!(each_with_itself(&chains).r_hat > 1.5, "{:?}", each_with_itself(&chains));
    }

    #[test]
    fn sees_chains_that_disagree() {
        let chains: Vec<_> = (0..4).map(|k| autoregressive(0.1, 500, 3.0 * k as f64, k)).collect();
        assert!(convergence(&chains).r_hat > 2.0);
        assert_eq!(convergence(&[vec![1.0; 50], vec![1.0; 50]]).effective, 0.0);
        assert!(convergence(&[vec![1.0, 2.0]]).r_hat.is_infinite());
    }
}
