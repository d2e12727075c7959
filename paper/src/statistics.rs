//! Straight lines, correlations, medians and trends: what claims about the figures are judged by.

use ebbing::linalg::dot;
use ebbing::stats::Estimate;
use ebbing::{Error, Result};

/// The middle of a list, or the mean of its two middle numbers; NaN for an empty list.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
    }
}

/// `y = intercept + slope · x` by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearFit {
    /// The slope.
    pub slope: Estimate,
    /// The intercept.
    pub intercept: Estimate,
    /// `1 − Σ(y − fit)²/Σ(y − ȳ)²`; none where y is constant.
    pub r2: Option<f64>,
}

impl LinearFit {
    /// Fits a straight line.
    ///
    /// # Errors
    /// [`Error::Data`] where lengths differ, there are fewer than two points, all x are equal, or a number is not finite.
    pub fn new(x: &[f64], y: &[f64]) -> Result<Self> {
        check_pair(x, y, 2)?;
        let n = x.len() as f64;
        let ((mean_x, dx), (mean_y, dy)) = (center(x), center(y));
        let (xx, yy) = (dot(&dx, &dx), dot(&dy, &dy));
        if xx == 0.0 {
            return Err(Error::data(
                "x of the line",
                format!("every value is {mean_x}; a slope needs two that differ"),
            ));
        }
        let slope = dot(&dx, &dy) / xx;
        let residual: f64 = dx.iter().zip(&dy).map(|(a, b)| (b - slope * a).powi(2)).sum();
        let variance = (x.len() > 2).then(|| residual / (n - 2.0));
        let error = |factor: f64| variance.map(|v| (v * factor).sqrt());
        Ok(LinearFit {
            slope: Estimate { value: slope, standard_error: error(1.0 / xx) },
            intercept: Estimate {
                value: mean_y - slope * mean_x,
                standard_error: error(1.0 / n + mean_x * mean_x / xx),
            },
            r2: (yy > 0.0).then(|| 1.0 - residual / yy),
        })
    }
}

/// Pearson's correlation `Σ(x−x̄)(y−ȳ) / √(Σ(x−x̄)² Σ(y−ȳ)²)`.
///
/// # Errors
/// [`Error::Data`] where lengths differ, there are fewer than two points, a list is constant, or a number is not finite.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<f64> {
    check_pair(x, y, 2)?;
    let ((_, dx), (_, dy)) = (center(x), center(y));
    let scale = (dot(&dx, &dx) * dot(&dy, &dy)).sqrt();
    if scale == 0.0 {
        return Err(Error::data("correlation", "one of the two lists is constant; both must vary"));
    }
    Ok((dot(&dx, &dy) / scale).clamp(-1.0, 1.0))
}

/// Spearman's rank correlation: Pearson's of the ranks, equal values sharing their mean rank.
///
/// # Errors
/// As for [`pearson`].
pub fn spearman(x: &[f64], y: &[f64]) -> Result<f64> {
    check_pair(x, y, 2)?;
    pearson(&ranks(x), &ranks(y))
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut smaller = 0;
    for run in order.chunk_by(|&a, &b| values[a] == values[b]) {
        for &i in run {
            ranks[i] = smaller as f64 + 0.5 * (run.len() - 1) as f64;
        }
        smaller += run.len();
    }
    ranks
}

/// A rank correlation of at least this size is a trend.
const RANK: f64 = 0.9;

/// Which way numbers go along a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// Upwards.
    Rises,
    /// Downwards.
    Falls,
}

impl Trend {
    /// 1 for rising, −1 for falling.
    pub fn sign(self) -> f64 {
        if self == Trend::Rises { 1.0 } else { -1.0 }
    }

    /// Whether a rank correlation shows it: 0.9 or more in this direction.
    pub fn shows(self, rank: f64) -> bool {
        self.sign() * rank >= RANK
    }

    /// Spearman's correlation of means with their place in the grid (NaN where it is undefined), and whether they go this
    /// way: the correlation shows it, or every step does within two standard errors of its difference and so does the whole
    /// change from the first to the last.
    pub fn judge(self, means: &[Estimate]) -> (f64, bool) {
        let places: Vec<f64> = (0..means.len()).map(|k| k as f64).collect();
        let values: Vec<f64> = means.iter().map(|m| m.value).collect();
        let rank = spearman(&places, &values).unwrap_or(f64::NAN);
        let goes = |a: &Estimate, b: &Estimate| self.sign() * (b.value - a.value);
        let step = |w: &[Estimate]| goes(&w[0], &w[1]) >= -2.0 * w[0].error().hypot(w[1].error());
        // Steps within their errors must not hide that nothing goes this way at all.
        let whole = matches!(means, [first, .., last] if goes(first, last) > 0.0);
        (rank, self.shows(rank) || (whole && means.windows(2).all(step)))
    }
}

/// The mean, and the values without it.
fn center(values: &[f64]) -> (f64, Vec<f64>) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|v| v - mean).collect())
}

fn check_pair(x: &[f64], y: &[f64], at_least: usize) -> Result<()> {
    if x.len() != y.len() {
        return Err(Error::data("x and y", format!("{} and {} values; give as many of both", x.len(), y.len())));
    }
    check_finite(x, "x", at_least)?;
    check_finite(y, "y", at_least)
}

fn check_finite(values: &[f64], what: &str, at_least: usize) -> Result<()> {
    if values.len() < at_least {
        return Err(Error::data(what, format!("{} values; at least {at_least} are needed", values.len())));
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(Error::data(what, format!("value {i} is {}; it must be finite", values[i]))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebbing::rng::Stream;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-14 // a few roundings of numbers of order 1
    }

    #[test]
    fn medians_by_hand() {
        assert!(median(&[]).is_nan());
        assert_eq!((median(&[3.0, 1.0]), median(&[5.0, 1.0, 2.0])), (2.0, 2.0));
    }

    #[test]
    fn line_by_hand() {
        let fit = LinearFit::new(&[0.0, 1.0, 2.0, 3.0], &[1.0, 3.0, 4.0, 8.0]).unwrap();
        // x̄ = 1.5, Sxx = 5, Sxy = 11, ȳ = 4, Syy = 26, residual 26 − 121/5 = 1.8, s² = 0.9
        assert!(close(fit.slope.value, 2.2) && close(fit.intercept.value, 0.7));
        assert!(close(fit.r2.unwrap(), 1.0 - 1.8 / 26.0));
        assert!(close(fit.slope.standard_error.unwrap(), (0.9_f64 / 5.0).sqrt()));
        assert!(close(fit.intercept.standard_error.unwrap(), (0.9_f64 * (0.25 + 2.25 / 5.0)).sqrt()));
        assert!(LinearFit::new(&[1.0, 1.0], &[0.0, 1.0]).is_err());
        assert_eq!(LinearFit::new(&[0.0, 1.0], &[2.0, 2.0]).unwrap().r2, None);
    }

    #[test]
    fn slope_errors_are_calibrated() {
        let x: Vec<f64> = (0..10).map(f64::from).collect();
        let mut stream = Stream::new(3, "lines", 0);
        let draws = 4000;
        let covered = (0..draws)
            .filter(|_| {
                let y: Vec<f64> = x.iter().map(|x| 1.0 - 0.3 * x + 0.5 * stream.normal()).collect();
                let slope = LinearFit::new(&x, &y).unwrap().slope;
                // Student's t with 8 degrees of freedom: 95 % lie within 2.306.
                (slope.value + 0.3).abs() < 2.306 * slope.standard_error.unwrap()
            })
            .count();
        // Binomial standard error 0.0034; four of them.
        assert!((covered as f64 / f64::from(draws) - 0.95).abs() < 4.0 * 0.0034, "{covered}");
    }

    #[test]
    fn correlations_by_hand() {
        let (x, y) = ([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 100.0]);
        // Ranks 1 3 2 4: 1 − 6·2/(4·15) = 0.8
        assert!(close(spearman(&x, &y).unwrap(), 0.8));
        assert!(close(spearman(&x, &[9.0, 5.0, 2.0, 1.0]).unwrap(), -1.0));
        // Ties: ranks 1, 2.5, 2.5, 4 against 1 2 3 4: 4.5/√(4.5·5)
        assert!(close(spearman(&[0.0, 7.0, 7.0, 9.0], &x).unwrap(), 4.5 / (22.5_f64).sqrt()));
        assert!(close(pearson(&[0.0, 1.0, 2.0], &[0.0, 1.0, 5.0]).unwrap(), 5.0 / (28.0_f64).sqrt()));
        assert!(spearman(&[1.0, 1.0], &[1.0, 2.0]).is_err());
        assert!(pearson(&[1.0, 2.0], &[1.0]).is_err());
    }

    #[test]
    fn trends_need_rank_or_steps_within_errors() {
        let judge = |trend: Trend, values: &[f64], error: f64| {
            let means: Vec<Estimate> =
                values.iter().map(|&value| Estimate { value, standard_error: Some(error) }).collect();
            trend.judge(&means)
        };
        let falling = [4.0, 3.0, 2.0, 1.0];
        assert_eq!(judge(Trend::Falls, &falling, 0.0), (-1.0, true));
        assert_eq!(judge(Trend::Rises, &falling, 0.0), (-1.0, false));
        // One step up of 0.5: within 2·√2·0.2 = 0.57, beyond 2·√2·0.1 = 0.28.
        let bump = [4.0, 1.5, 2.0, 1.0];
        assert!(judge(Trend::Falls, &bump, 0.2).1 && !judge(Trend::Falls, &bump, 0.1).1);
        // Wide errors alone make neither a rise nor a fall.
        assert!(!judge(Trend::Rises, &falling, 10.0).1);
        assert!(!judge(Trend::Falls, &[1.0, 0.5, 1.1], 10.0).1);
        for undefined in [&[][..], &[1.0], &[1.0, 1.0], &[2.0, f64::NAN]] {
            let (rank, holds) = judge(Trend::Falls, undefined, 1.0);
            assert!(rank.is_nan() && !holds, "{undefined:?}");
        }
    }
}
