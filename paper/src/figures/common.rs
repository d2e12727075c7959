//! What several figures share: settings of the theory, names of data, and claims of rising and falling.

use crate::claim::Claim;
pub(super) use crate::statistics::Trend;
use crate::statistics::spearman;
use ebbing::Recipe;
use ebbing::kernels::{Activation, Architecture};
use ebbing::plan::{Cost, Sizes};
use ebbing::stats::{CurveShape, Estimate, ForgettingFit};
use ebbing::tasks::{Permuted, Protocol};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing_studies::{Column, Frame, Result, Study};
use serde::Serialize;

/// The data set that is embedded in the program.
pub(super) const SAMPLE: &str = "mnist-sample";
/// Gray CIFAR-100, which target-distractor tasks draw from.
pub(super) const CIFAR: &str = "cifar100";

/// A fully connected ReLU network.
pub(super) fn relu(depth: usize) -> Architecture {
    Architecture { activation: Activation::Relu, depth }
}

/// Random features of a depth.
pub(super) fn random_features(depth: usize) -> SingleHeadSettings {
    SingleHeadSettings { architecture: relu(depth), ..Default::default() }
}

/// What captions call a data set.
pub(super) fn data_title(name: &str) -> &str {
    match name {
        SAMPLE => "the embedded sample of MNIST (4000 training images)",
        CIFAR => "CIFAR-100 in gray levels",
        "mnist" => "MNIST",
        "emnist" => "EMNIST",
        "fashion-mnist" => "Fashion-MNIST",
        other => other,
    }
}

/// Sizes of the first `tasks` tasks.
pub(super) fn first(sizes: &Sizes, tasks: usize) -> Sizes {
    Sizes { train: sizes.train[..tasks].to_vec(), test: sizes.test[..tasks].to_vec(), ..sizes.clone() }
}

/// The grid of figure `id`, without cells: all that decides their results, the data sets, and the columns with their meanings.
pub(super) fn grid(
    id: &str,
    settings: &impl Serialize,
    data: &[&str],
    columns: &[(&'static str, &'static str)],
) -> Study {
    let column = |&(name, meaning): &(&'static str, &'static str)| Column { name, unit: "", meaning };
    Study {
        name: format!("figure-{id}"),
        settings: serde_json::json!(settings),
        data: data.iter().map(|name| name.to_string()).collect(),
        columns: columns.iter().map(column).collect(),
        cells: vec![],
    }
}

/// Tasks drawn with a seed.
pub(super) fn drawn(data: &str, protocol: Protocol, seed: u64) -> Recipe {
    Recipe { seed, ..Recipe::drawn(data, protocol) }
}

/// Two tasks of `p` and `p_test` images: as they are, and with a share of the pixels permuted.
pub(super) fn pair(data: &str, (p, p_test): (usize, usize), ratio: f64, seed: u64) -> Recipe {
    let permuted = Permuted { tasks: 2, p, p_test, ratio, permute_first: false, ..Default::default() };
    drawn(data, Protocol::Permuted(permuted), seed)
}

/// What a computation with the tasks of a recipe costs; nothing where their sizes are not known.
pub(super) fn cost_of(tasks: &Recipe, cost: impl FnOnce(Sizes) -> Cost) -> Cost {
    tasks.sizes().map(cost).unwrap_or_default()
}

/// Claims that numbers rise or fall.
pub(super) trait TrendClaim {
    /// The claim that every series goes this way; the value is the worst correlation.
    fn claim(self, panel: &str, statement: &str, series: &[(String, Vec<Estimate>)]) -> Result<Claim>;

    /// The claim that y goes this way with x over all points.
    fn scatter(self, panel: &str, statement: &str, x: &[f64], y: &[f64]) -> Result<Claim>;
}

impl TrendClaim for Trend {
    fn claim(self, panel: &str, statement: &str, series: &[(String, Vec<Estimate>)]) -> Result<Claim> {
        let threshold = match self {
            Trend::Rises => "rank correlation ≥ 0.9, or every step up within 2 SE",
            Trend::Falls => "rank correlation ≤ −0.9, or every step down within 2 SE",
        };
        let mut worst = f64::NAN;
        let mut against = vec![];
        for (name, means) in series {
            let (rank, holds) = self.judge(means);
            if worst.is_nan() || self.sign() * rank < self.sign() * worst {
                worst = rank;
            }
            if !holds {
                against.push(format!("{name}: {rank:.2}"));
            }
        }
        let claim = Claim::new(panel, statement, worst, threshold, against.is_empty());
        Ok(if against.is_empty() { claim } else { claim.note(format!("not so for {}", against.join(", "))) })
    }

    fn scatter(self, panel: &str, statement: &str, x: &[f64], y: &[f64]) -> Result<Claim> {
        let rank = spearman(x, y)?;
        let threshold = if self == Trend::Rises { "rank correlation ≥ 0.9" } else { "rank correlation ≤ −0.9" };
        Ok(Claim::new(panel, statement, rank, threshold, self.shows(rank)))
    }
}

/// `F_max (1 − e^{−(t−1)/τ})` at the optimum of least squares, whether or not the curve determines it well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BestFit {
    pub f_max: f64,
    pub tau: f64,
    pub r2: f64,
    /// Whether the curve distinguishes τ from 0 and from ∞ at 95 % confidence.
    pub determined: bool,
}

impl BestFit {
    /// The fit of a curve that starts at t = 1, to all of it or to what comes before its maximum; none where the optimum lies at
    /// τ = 0 or ∞.
    pub fn of(curve: &[f64], cut: bool) -> Result<Option<BestFit>> {
        let times: Vec<f64> = (1..=curve.len()).map(|t| t as f64).collect();
        let fit = if cut { ForgettingFit::rising(&times, curve)? } else { ForgettingFit::new(&times, curve)? };
        let Some((f_max, tau)) = fit.optimum else { return Ok(None) };
        let best = BestFit { f_max, tau, r2: f64::NAN, determined: fit.shape == CurveShape::Saturating };
        let fitted = &curve[..fit.points];
        let mean = fitted.iter().sum::<f64>() / fitted.len() as f64;
        let squares = |of: &dyn Fn(usize) -> f64| (0..fitted.len()).map(|k| (fitted[k] - of(k)).powi(2)).sum::<f64>();
        Ok(Some(BestFit { r2: 1.0 - squares(&|k| best.at(times[k])) / squares(&|_| mean), ..best }))
    }

    /// The fitted curve at `t`.
    pub fn at(&self, t: f64) -> f64 {
        -self.f_max * ((1.0 - t) / self.tau).exp_m1()
    }
}

/// Means of a column for each of the `values` of another.
pub(super) fn means_along(frame: &Frame, by: &str, values: &[f64], of: &str) -> Result<Vec<Estimate>> {
    values.iter().map(|&value| frame.only(by, value)?.mean(of)).collect()
}

/// The plain values of uncertain ones.
pub(super) fn plain(values: &[Estimate]) -> Vec<f64> {
    values.iter().map(|v| v.value).collect()
}

/// Numbers that are known exactly.
pub(super) fn exactly(values: &[f64]) -> Vec<Estimate> {
    values.iter().map(|&value| Estimate { value, standard_error: None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;

    fn uncertain(values: &[f64], error: f64) -> Vec<Estimate> {
        values.iter().map(|&value| Estimate { value, standard_error: Some(error) }).collect()
    }

    #[test]
    fn every_curve_that_bends_has_a_best_fit() {
        let exact: Vec<f64> = (1..=8).map(|t| 0.5 * (1.0 - (-(f64::from(t) - 1.0) / 3.0).exp())).collect();
        let fit = BestFit::of(&exact, false).unwrap().unwrap();
        // The optimum of an exact curve, to rounding.
        assert!((fit.tau - 3.0).abs() < 1e-9 && (fit.f_max - 0.5).abs() < 1e-9 && fit.determined);
        assert!(fit.r2 > 1.0 - 1e-12 && (fit.at(4.0) - exact[3]).abs() < 1e-9);
        // A dip at the end: cut, the fit is that of what is before; whole, it is not.
        let dipping = [&exact[..], &[0.3]].concat();
        assert_eq!(BestFit::of(&dipping, true).unwrap(), Some(fit));
        assert!(BestFit::of(&dipping, false).unwrap().unwrap().tau < 3.0);
        // A curve that grows ever faster has no finite τ.
        assert_eq!(BestFit::of(&[0.0, 0.1, 0.25, 0.5, 1.0], false).unwrap(), None);
    }

    #[test]
    fn claims_of_trends_name_the_series_that_go_another_way() {
        let claim = |error: f64| {
            let series =
                [("one".into(), uncertain(&[4.0, 1.5, 2.0, 1.0], error)), ("two".into(), uncertain(&[2.0, 1.0], 0.0))];
            Trend::Falls.claim("", "", &series).unwrap()
        };
        // The step up of 0.5 is within 2·√2·0.2 = 0.57, and beyond 2·√2·0.1 = 0.28.
        assert_eq!(claim(0.2).verdict, Verdict::Pass);
        let failing = claim(0.1);
        assert_eq!((failing.verdict, failing.note.as_str()), (Verdict::Fail, "not so for one: -0.80"));
        assert_eq!(Trend::Falls.scatter("", "", &[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]).unwrap().verdict, Verdict::Pass);
    }
}
