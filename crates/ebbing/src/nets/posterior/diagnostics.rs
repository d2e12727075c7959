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
    let none = Convergence { r_hat: f64::INFINITY, effective: 0.0 };
    let half = chains.iter().map(Vec::len).min().unwrap_or(0) / 2;
    if half < 2 {
        return none;
    }
    let parts: Vec<&[f64]> = chains.iter().flat_map(|c| [&c[..half], &c[c.len() - half..]]).collect();
    let (m, n) = (parts.len() as f64, half as f64);
    let means: Vec<f64> = parts.iter().map(|c| c.iter().sum::<f64>() / n).collect();
    let grand = means.iter().sum::<f64>() / m;
    let between = n / (m - 1.0) * means.iter().map(|x| (x - grand).powi(2)).sum::<f64>();
    let variance = |c: &[f64], mean: f64| c.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let within = parts.iter().zip(&means).map(|(c, &mean)| variance(c, mean)).sum::<f64>() / m;
    let total = (n - 1.0) / n * within + between / n;
    if !(within > 0.0 && total.is_finite()) {
        return none;
    }
    // Geyer's initial positive sequence on the combined autocorrelation.
    let correlation = |lag: usize| {
        let mut sum = 0.0;
        for c in &parts {
            sum += c[lag..].iter().zip(*c).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        }
        1.0 - sum / (m * (n - lag as f64)) / (2.0 * total)
    };
    let mut time = 1.0;
    let mut lag = 1;
    while lag + 1 < half {
        let pair = correlation(lag) + correlation(lag + 1);
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * pair;
        lag += 2;
    }
    Convergence { r_hat: (total / within).sqrt(), effective: (m * n / time).min(m * n) }
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
    fn sees_chains_that_disagree() {
        let chains: Vec<_> = (0..4).map(|k| autoregressive(0.1, 500, 3.0 * k as f64, k)).collect();
        assert!(convergence(&chains).r_hat > 2.0);
        assert_eq!(convergence(&[vec![1.0; 50], vec![1.0; 50]]).effective, 0.0);
        assert!(convergence(&[vec![1.0, 2.0]]).r_hat.is_infinite());
    }
}
