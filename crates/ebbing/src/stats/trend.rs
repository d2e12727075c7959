//! Whether numbers rise or fall along a grid, given their errors.

use super::{Estimate, spearman};

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

#[cfg(test)]
mod tests {
    use super::*;

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
