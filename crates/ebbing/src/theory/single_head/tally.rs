//! `L(f,D) = Σ (f(x)−y)² / |Y|²` and the share of examples on the right side, summed part by part.

use crate::linalg::MatRef;

/// Sums over examples from which a loss and an accuracy are made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tally {
    error: f64,
    norm: f64,
    right: f64,
    counted: f64,
}

impl Tally {
    /// Adds examples with outputs `f` and targets `y`; with `variance` (one per example, the same for all columns) what
    /// is added is the average over Gaussian outputs around `f`.
    pub fn add(&mut self, f: MatRef<'_, f64>, y: MatRef<'_, f64>, variance: Option<&[f64]>) {
        for i in 0..y.nrows() {
            let var = variance.map_or(0.0, |v| v[i].max(0.0));
            for j in 0..y.ncols() {
                self.error += (f[(i, j)] - y[(i, j)]).powi(2) + var;
                self.norm += y[(i, j)] * y[(i, j)];
            }
            if let Some(right) = right(f, y, i, var.sqrt()) {
                self.right += right;
                self.counted += 1.0;
            }
        }
    }

    /// `Σ (f−y)² / |Y|²`.
    pub fn loss(&self) -> f64 {
        self.error / self.norm
    }

    /// The share of examples whose output has the sign of the target (one column; targets of 0 do not count) or its
    /// largest entry in the same column; `None` where no example counts.
    pub fn accuracy(&self) -> Option<f64> {
        (self.counted > 0.0).then(|| self.right / self.counted)
    }
}

/// Whether example `i` is on the right side, or with which probability if its outputs are Gaussian with deviation `sd`.
fn right(f: MatRef<'_, f64>, y: MatRef<'_, f64>, i: usize, sd: f64) -> Option<f64> {
    if y.ncols() == 1 {
        let (f, y) = (f[(i, 0)], y[(i, 0)]);
        return (y != 0.0).then(|| probability(f * y.signum(), sd));
    }
    let largest = |m: MatRef<'_, f64>| (1..m.ncols()).fold(0, |best, j| if m[(i, j)] > m[(i, best)] { j } else { best });
    let class = largest(y);
    if (0..y.ncols()).all(|j| j == class || y[(i, j)] < y[(i, class)]) {
        let lead: Vec<f64> = (0..f.ncols()).filter(|j| *j != class).map(|j| f[(i, class)] - f[(i, j)]).collect();
        return Some(all_behind(&lead, sd));
    }
    None
}

/// `P(margin + sd·z > 0)` for a standard normal z.
fn probability(margin: f64, sd: f64) -> f64 {
    if sd > 0.0 { normal_cdf(margin / sd) } else { f64::from(margin > 0.0) }
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// `∫ dz φ(z) Π_j Φ(lead_j/sd + z)`: the probability that independent Gaussians all stay behind one that leads them by `lead`.
fn all_behind(lead: &[f64], sd: f64) -> f64 {
    if sd == 0.0 {
        return f64::from(lead.iter().all(|l| *l > 0.0));
    }
    // The trapezium rule converges exponentially for an analytic integrand that decays like a Gaussian; what lies
    // beyond |z| = 8.5 is below 2e-17.
    const STEP: f64 = 0.125;
    let weight = STEP / (2.0 * std::f64::consts::PI).sqrt();
    let value = |k: i32| {
        let z = f64::from(k) * STEP;
        lead.iter().fold((-0.5 * z * z).exp(), |p, l| p * normal_cdf(l / sd + z))
    };
    weight * (-68..=68).map(value).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Mat;
    use crate::rng::Stream;

    #[test]
    fn sign_accuracy_leaves_zero_targets_out() {
        let f = Mat::from_fn(4, 1, |i, _| [0.5, -0.2, 3.0, 0.1][i]);
        let y = Mat::from_fn(4, 1, |i, _| [1.0, 1.0, 0.0, -1.0][i]);
        let mut tally = Tally::default();
        tally.add(f.as_ref(), y.as_ref(), None);
        assert_eq!(tally.accuracy(), Some(1.0 / 3.0));
        // 0.25 + 1.44 + 9 + 1.21 over 3; each term is rounded once.
        assert!((tally.loss() - 11.9 / 3.0).abs() < 1e-15);
        let mut none = Tally::default();
        none.add(f.submatrix(2, 0, 1, 1), y.submatrix(2, 0, 1, 1), None);
        assert_eq!(none.accuracy(), None);
    }

    #[test]
    fn two_columns_lead_like_one_difference() {
        // With two columns the lead is Gaussian with variance 2 sd²: the integral has a closed form.
        for (lead, sd) in [(0.3, 0.7), (-1.0, 0.2), (4.0, 1.5), (0.0, 1.0)] {
            let exact = normal_cdf(lead / (sd * 2f64.sqrt()));
            // Rounding of 137 terms of size below 0.1.
            assert!((all_behind(&[lead], sd) - exact).abs() < 1e-14, "{lead} {sd}");
        }
        assert!((all_behind(&[0.0, 0.0, 0.0], 2.0) - 0.25).abs() < 1e-14);
    }

    #[test]
    fn variance_gives_the_average_over_draws() {
        let f = Mat::from_fn(3, 3, |i, j| [[0.4, 0.1, -0.3], [0.0, 0.2, 0.1], [0.9, -0.5, 0.3]][i][j]);
        let y = Mat::from_fn(3, 3, |i, j| f64::from(i == j));
        let var = [0.3, 0.1, 0.5];
        let mut exact = Tally::default();
        exact.add(f.as_ref(), y.as_ref(), Some(&var));
        let mut stream = Stream::new(3, "tally", 0);
        let draws = 20_000;
        let (mut loss, mut accuracy, mut square) = (0.0, 0.0, [0.0; 2]);
        for _ in 0..draws {
            let drawn = Mat::from_fn(3, 3, |i, j| f[(i, j)] + var[i].sqrt() * stream.normal());
            let mut one = Tally::default();
            one.add(drawn.as_ref(), y.as_ref(), None);
            let a = one.accuracy().unwrap();
            loss += one.loss();
            accuracy += a;
            square[0] += one.loss().powi(2);
            square[1] += a * a;
        }
        let n = f64::from(draws);
        for (sum, square, exact) in
            [(loss, square[0], exact.loss()), (accuracy, square[1], exact.accuracy().unwrap())]
        {
            let (mean, se) = (sum / n, ((square / n - (sum / n).powi(2)) / n).sqrt());
            // Four standard errors of the Monte Carlo average.
            assert!((mean - exact).abs() < 4.0 * se, "{mean} ± {se} against {exact}");
        }
    }
}
