//! Heads in closed form that learn a sequence of tasks without forgetting, from statistics that add up: exact results on the
//! user's own data, not forecasts.
//!
//! | Head | What it solves | Memory in floats |
//! |---|---|---|
//! | [`ClosedHeadKind::NearestMean`] | `argmin_c \|x − μ_c\|²` | `K d` |
//! | [`ClosedHeadKind::Discriminant`] | `(Σ + ε) w_c = μ_c`, one covariance Σ for all classes (streaming SLDA) | `K d + d²` |
//! | [`ClosedHeadKind::Ridge`] | `(XᵀX + ε) W = XᵀY` (recursive or "analytic" learning) | `d² + d K` |
//! | [`ClosedHeadKind::RandomRidge`] | the same on M random ReLU features | `M² + M K` |
//! | [`ClosedHeadKind::Joint`] | the same on all of them (M → ∞): ridge regression in the kernel of a wide ReLU layer | `P d + P K` |
//!
//! The first four keep class counts, class sums and one second moment ([`Statistics`]); those of several tasks are added, so that the
//! order of tasks does not matter and ridge regression one task after another equals ridge regression on everything at once. The
//! last one needs all P examples: it is the bound that the fourth tends to, computed where P is small enough.
//!
//! Accuracies are those on held-out data after the last task: among all classes of the sequence (class-incremental), and
//! among each task's own classes (task-incremental, for a known task).
//!
//! **Targets.** Several columns are one class each. A single column of ±1 is two classes, −1 and +1, the same two in every
//! task: what one network with one output learns too; both accuracies are then the same. Rows of zeros name no class and are left
//! out. Real targets are refused.
//!
//! **Strength.** ε is a number of mean eigenvalues of the matrix that it is added to: 10⁻⁵, 10⁻⁴ … 100 for ridge regression, 10⁻⁴ … 100
//! for the covariance. A share of each class's training examples, drawn by the seed and at most 5000 in all, is held out, the strength
//! with the best accuracy among all classes there is taken (the largest of several), and the head learns all training examples.
//!
//! **Fewer examples than features.** All heads then work in the span of the training examples: P × P instead of d × d.
//!
//! References: T. Mensink et al., IEEE TPAMI 35, 2624 (2013); T. L. Hayes and C. Kanan, CVPR Workshops (2020), arXiv:1909.01520;
//! H. Zhuang et al., NeurIPS (2022), arXiv:2205.14922; M. D. McDonnell et al., NeurIPS (2023), arXiv:2307.02251.

mod choose;
mod head;
mod joint;
mod lift;
mod run;
mod statistics;
#[cfg(test)]
mod tests;

pub(crate) use head::share_right;
pub use head::{Head, HeadKind};
pub use run::closed_heads;
pub use statistics::Statistics;

use crate::error::{Result, not_negative, refuse};
use crate::plan::size;
use crate::stats::number::per_cent;
use serde::{Deserialize, Serialize};

/// What is computed.
///
/// | name | default | range |
/// |---|---|---|
/// | `random_features` | 2000 | M of the random ReLU features; 0 leaves that head out |
/// | `joint_examples` | 2000 | the joint head is computed for at most so many training examples; 0 leaves it out |
/// | `held_out` | 0.2 | the share of each class that chooses the strength, 0 to 0.5 (0: the strength is 1) |
/// | `seed` | 0 | of the random features and of what is held out |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClosedHeadSettings {
    /// M of the random ReLU features; 0 leaves that head out.
    pub random_features: usize,
    /// The joint head is computed for at most so many training examples; 0 leaves it out.
    pub joint_examples: usize,
    /// The share of each class that chooses the strength.
    pub held_out: f64,
    /// Of the random features and of what is held out.
    pub seed: u64,
}

impl Default for ClosedHeadSettings {
    fn default() -> Self {
        ClosedHeadSettings { random_features: 2000, joint_examples: 2000, held_out: 0.2, seed: 0 }
    }
}

impl ClosedHeadSettings {
    fn check(&self) -> Result<()> {
        const MOST: usize = 100_000;
        not_negative("held_out", self.held_out)?;
        refuse(self.held_out > 0.5, "held_out", self.held_out, "must be at most 0.5")?;
        let expected = format!("must be at most {MOST}");
        refuse(self.random_features > MOST, "random_features", self.random_features, expected)
    }
}

/// Which head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClosedHeadKind {
    /// The class whose mean is nearest.
    NearestMean,
    /// The discriminant with a covariance that all classes share, regularized.
    Discriminant,
    /// Ridge regression on one-hot targets.
    Ridge,
    /// Ridge regression on random ReLU features.
    RandomRidge,
    /// Ridge regression on all examples at once in the kernel that random ReLU features tend to.
    Joint,
}

impl ClosedHeadKind {
    /// Its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            ClosedHeadKind::NearestMean => "nearest class mean",
            ClosedHeadKind::Discriminant => "discriminant",
            ClosedHeadKind::Ridge => "ridge regression",
            ClosedHeadKind::RandomRidge => "ridge regression on random features",
            ClosedHeadKind::Joint => "joint ridge regression in the ReLU kernel",
        }
    }

    /// Numbers that it keeps of K classes, d features, M random features and P examples.
    pub fn floats(self, classes: usize, d: usize, m: usize, examples: usize) -> u64 {
        let [k, d, m, p] = [classes, d, m, examples].map(|n| n as u64);
        match self {
            ClosedHeadKind::NearestMean => k * d,
            ClosedHeadKind::Discriminant => k * d + d * d,
            ClosedHeadKind::Ridge => d * d + d * k,
            ClosedHeadKind::RandomRidge => m * m + m * k,
            ClosedHeadKind::Joint => p * d + p * k,
        }
    }
}

/// The ridge of a head and how it was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Strength {
    /// In mean eigenvalues of the matrix that it is added to.
    pub relative: f64,
    /// The accuracy on examples that were held out, among all classes; none where there were none.
    pub held_out_accuracy: Option<f64>,
    /// Whether it is the smallest or the largest that was tried.
    pub at_end_of_grid: bool,
}

/// One head after the last task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClosedHead {
    /// Which.
    pub kind: ClosedHeadKind,
    /// Accuracy on each task's held-out data among all classes.
    pub accuracy: Vec<f64>,
    /// Its mean over tasks.
    pub mean_accuracy: f64,
    /// Accuracy among each task's own classes.
    pub task_accuracy: Vec<f64>,
    /// Its mean over tasks.
    pub mean_task_accuracy: f64,
    /// Numbers that the head keeps between tasks (random projections are drawn again from the seed).
    pub floats: u64,
    /// Bytes of that in single precision.
    pub bytes: u64,
    /// Its ridge; none for class means.
    pub strength: Option<Strength>,
    /// Condition number of what was solved; none for class means.
    pub condition: Option<f64>,
    /// Scaled residual of the solution, about 1 or less where it is accurate; none for class means.
    pub residual: Option<f64>,
}

/// All heads on one sequence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClosedHeads {
    /// The heads, in the order of the table above.
    pub heads: Vec<ClosedHead>,
    /// Classes of the whole sequence.
    pub classes: usize,
    /// Features of an example.
    pub features: usize,
    /// Training examples with a class.
    pub examples: usize,
    /// Training examples without one, which were left out.
    pub without_class: usize,
    /// Training examples that chose the strength.
    pub held_out: usize,
    /// Whether everything was computed in the span of the examples, which are fewer than the features.
    pub in_span: bool,
    /// What was asked for.
    pub settings: ClosedHeadSettings,
}

impl ClosedHeads {
    /// The head of a kind, where it was computed.
    pub fn head(&self, kind: ClosedHeadKind) -> Option<&ClosedHead> {
        self.heads.iter().find(|head| head.kind == kind)
    }

    /// The head with the best mean accuracy among those that keep less than all examples.
    pub fn best(&self) -> Option<&ClosedHead> {
        let streaming = self.heads.iter().filter(|head| head.kind != ClosedHeadKind::Joint);
        streaming.max_by(|a, b| a.mean_accuracy.total_cmp(&b.mean_accuracy))
    }

    /// The best head in a sentence, as it is printed.
    pub fn sentence(&self) -> Option<String> {
        let best = self.best()?;
        let own = match best.accuracy == best.task_accuracy {
            true => String::new(),
            false => format!(", {} among a task's own classes", per_cent(best.mean_task_accuracy)),
        };
        Some(format!(
            "Without any training of the features, the best head in closed form ({}) gets {} of held-out examples right among all {} \
             classes{own}, whatever the order of tasks; it keeps {}.",
            best.kind.title(),
            per_cent(best.mean_accuracy),
            self.classes,
            size(best.bytes as f64),
        ))
    }

    /// The same in a few words.
    pub fn in_short(&self) -> Option<String> {
        let best = self.best()?;
        let (title, kept) = (best.kind.title(), size(best.bytes as f64));
        Some(format!(
            "The best head in closed form, {title}, ends at {} and keeps {kept}.",
            per_cent(best.mean_accuracy)
        ))
    }
}
