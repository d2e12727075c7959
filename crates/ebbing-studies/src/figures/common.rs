//! What several figures share: settings of the theory, names of data, and claims of rising and falling.

use crate::claim::Claim;
use crate::error::Result;
use crate::frame::Frame;
use crate::study::{Column, Study};
use ebbing::Recipe;
use ebbing::kernels::{Activation, Architecture};
use ebbing::plan::{Cost, Sizes};
pub(super) use ebbing::stats::Trend;
use ebbing::stats::{Estimate, spearman};
use ebbing::tasks::{Permuted, Protocol};
use ebbing::theory::single_head::SingleHeadSettings;
use serde::Serialize;

/// The data set that is embedded in the program.
pub(super) const SAMPLE: &str = "mnist-sample";
/// Grey CIFAR-100, which target-distractor tasks draw from.
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
        CIFAR => "CIFAR-100 in grey levels",
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

/// What a computation with the tasks of a recipe costs; nothing where their sizes cannot be told.
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
