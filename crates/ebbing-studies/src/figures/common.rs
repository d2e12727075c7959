//! What several figures share: settings of the theory, names of data, and claims of rising and falling.

use crate::claim::Claim;
use crate::error::Result;
use crate::frame::Frame;
use crate::study::Column;
use ebbing::kernels::{Activation, Architecture};
use ebbing::metrics::{accuracy, squared_loss};
use ebbing::plan::Sizes;
use ebbing::stats::{Estimate, spearman};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{SingleHead, TaskSequence};
use ebbing_report::{Band, Line, Panel};

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

/// The number of pixels of a set's grey images.
pub(super) fn pixels(data: &str) -> usize {
    if data == CIFAR { 1024 } else { 784 }
}

/// Sizes of a sequence of `tasks` tasks of `p` examples each, of which `distinct` are different.
pub(super) fn sizes(tasks: usize, p: usize, p_test: usize, dim: usize, distinct: Option<usize>) -> Sizes {
    Sizes { train: vec![p; tasks], test: vec![p_test; tasks], dim, columns: 1, distinct }
}

/// Which way numbers go along a grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Trend {
    Rises,
    Falls,
}

impl Trend {
    fn sign(self) -> f64 {
        if self == Trend::Rises { 1.0 } else { -1.0 }
    }

    fn threshold(self) -> &'static str {
        match self {
            Trend::Rises => "rank correlation ≥ 0.9, or every step up within 2 SE",
            Trend::Falls => "rank correlation ≤ −0.9, or every step down within 2 SE",
        }
    }

    /// Spearman's correlation of means with their place in the grid, and whether they go this way: at least 0.9, or every
    /// step within two standard errors of its difference.
    fn judge(self, means: &[Estimate]) -> Result<(f64, bool)> {
        let places: Vec<f64> = (0..means.len()).map(|k| k as f64).collect();
        let values: Vec<f64> = means.iter().map(|m| m.value).collect();
        let rank = spearman(&places, &values)?;
        let error = |m: &Estimate| m.standard_error.unwrap_or(0.0);
        let step = |w: &[Estimate]| self.sign() * (w[1].value - w[0].value) >= -2.0 * error(&w[0]).hypot(error(&w[1]));
        // Steps within their errors must not hide that nothing goes this way at all.
        let whole = self.sign() * (values[values.len() - 1] - values[0]) > 0.0;
        Ok((rank, self.sign() * rank >= 0.9 || (whole && means.windows(2).all(step))))
    }

    /// The claim that every series goes this way; the value is the worst correlation.
    pub(super) fn claim(self, panel: &str, statement: &str, series: &[(String, Vec<Estimate>)]) -> Result<Claim> {
        let mut worst = f64::NAN;
        let mut against = vec![];
        for (name, means) in series {
            let (rank, holds) = self.judge(means)?;
            if worst.is_nan() || self.sign() * rank < self.sign() * worst {
                worst = rank;
            }
            if !holds {
                against.push(format!("{name}: {rank:.2}"));
            }
        }
        let claim = Claim::new(panel, statement, worst, self.threshold(), against.is_empty());
        Ok(if against.is_empty() { claim } else { claim.note(format!("not so for {}", against.join(", "))) })
    }

    /// The claim that y goes this way with x over all points.
    pub(super) fn scatter(self, panel: &str, statement: &str, x: &[f64], y: &[f64]) -> Result<Claim> {
        let rank = spearman(x, y)?;
        let threshold = if self == Trend::Rises { "rank correlation ≥ 0.9" } else { "rank correlation ≤ −0.9" };
        Ok(Claim::new(panel, statement, rank, threshold, self.sign() * rank >= 0.9))
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

/// A line with its band of standard deviations over seeds.
pub(super) fn line_with_deviation(
    panel: Panel,
    label: &str,
    category: usize,
    frame: &Frame,
    (by, values, at): (&str, &[f64], &[f64]),
    of: &str,
) -> Result<Panel> {
    let means = plain(&means_along(frame, by, values, of)?);
    let deviations = values.iter().map(|&value| frame.only(by, value)?.deviation(of)).collect::<Result<Vec<f64>>>()?;
    let end = |sign: f64| means.iter().zip(&deviations).map(|(m, d)| m + sign * d).collect::<Vec<f64>>();
    let band = Band::new(label, at, &end(-1.0), &end(1.0)).category(category);
    Ok(panel.band(band).line(Line::new(label, at, &means).category(category)))
}

/// What becomes of task 1 after task 2.
pub(super) struct TaskOne {
    pub train_mse: f64,
    pub train_accuracy: f64,
    pub test_mse: f64,
    pub test_accuracy: f64,
}

impl TaskOne {
    /// Of the mean of a network that has learned two tasks.
    pub(super) fn of(network: &SingleHead, sequence: &TaskSequence) -> Result<TaskOne> {
        let task = &sequence.tasks[0];
        let test = task.test.as_ref().ok_or_else(|| crate::Error::data("task 1", "it has no test set"))?;
        let on_train = network.mean(task.x.as_ref(), 2)?;
        let on_test = network.mean(test.x.as_ref(), 2)?;
        Ok(TaskOne {
            train_mse: squared_loss(on_train.as_ref(), task.y.as_ref(), None)?,
            train_accuracy: accuracy(on_train.as_ref(), task.y.as_ref(), None)?,
            test_mse: squared_loss(on_test.as_ref(), test.y.as_ref(), None)?,
            test_accuracy: accuracy(on_test.as_ref(), test.y.as_ref(), None)?,
        })
    }

    /// As a row.
    pub(super) fn row(&self) -> crate::Row {
        crate::Row::new()
            .with("train_mse", self.train_mse)
            .with("train_accuracy", self.train_accuracy)
            .with("test_mse", self.test_mse)
            .with("test_accuracy", self.test_accuracy)
    }

    /// What the columns of a row are.
    pub(super) const COLUMNS: [Column; 4] = [
        Column {
            name: "train_mse",
            unit: "",
            meaning: "F_{21}: squared error on training data of task 1 after task 2",
        },
        Column { name: "train_accuracy", unit: "", meaning: "share of signs that are right there" },
        Column { name: "test_mse", unit: "", meaning: "squared error on test data of task 1 after task 2" },
        Column { name: "test_accuracy", unit: "", meaning: "share of signs that are right there" },
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;

    fn uncertain(values: &[f64], error: f64) -> Vec<Estimate> {
        values.iter().map(|&value| Estimate { value, standard_error: Some(error) }).collect()
    }

    #[test]
    fn trends_need_rank_or_steps_within_errors() {
        let claim = |trend: Trend, values: &[f64], error: f64| {
            trend.claim("", "", &[("one".into(), uncertain(values, error))]).unwrap()
        };
        assert_eq!(claim(Trend::Falls, &[4.0, 3.0, 2.0, 1.0], 0.0).verdict, Verdict::Pass);
        assert_eq!(claim(Trend::Rises, &[4.0, 3.0, 2.0, 1.0], 0.0).verdict, Verdict::Fail);
        // One step up of 0.5: within 2·√2·0.2 = 0.57, beyond 2·√2·0.1 = 0.28.
        let bump = [4.0, 1.5, 2.0, 1.0];
        assert_eq!(claim(Trend::Falls, &bump, 0.2).verdict, Verdict::Pass);
        let failing = claim(Trend::Falls, &bump, 0.1);
        assert_eq!((failing.verdict, failing.note.as_str()), (Verdict::Fail, "not so for one: -0.80"));
        // Wide errors alone do not make a rise.
        assert_eq!(claim(Trend::Rises, &[4.0, 3.0, 2.0, 1.0], 10.0).verdict, Verdict::Fail);
        assert_eq!(Trend::Falls.scatter("", "", &[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]).unwrap().verdict, Verdict::Pass);
    }
}
