//! Is this like the data on which intervals were measured? A description of tasks in a few numbers, and ranges of the same numbers
//! over the sequences that were measured.
//!
//! | Item | What it is |
//! |---|---|
//! | [`Descriptor::of`] | a sequence in numbers: sizes, classes, scale, norms, spectrum |
//! | [`Domain`] | the ranges of those numbers over measured sequences of one kind; [`Domain::around`] makes it from their descriptors |
//! | [`DomainTable::place`], [`Placement`] | inside one of them, or outside of the nearest, in words |
//!
//! Which numbers a domain looks at is part of it: those that it has a range for. Ranges are taken as they stand in the table.
//!
//! ```
//! use ebbing::linalg::Mat;
//! use ebbing::rng::Stream;
//! use ebbing::theory::domain::{Descriptor, Domain, DomainTable, Kind};
//! use ebbing::{Task, TaskSequence};
//! let mut stream = Stream::new(1, "example", 0);
//! let mut draw = |each: usize| {
//!     let x = Mat::from_fn(2 * each, 30, |_, _| stream.normal());
//!     TaskSequence::new(vec![Task::new(x, Mat::from_fn(2 * each, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 }))])
//! };
//! let measured = [draw(20)?, draw(50)?].map(|tasks| Descriptor::of(&tasks, Some(Kind::Features)).unwrap());
//! let table = DomainTable { domains: vec![Domain::around("noise", Kind::Features, &measured)?] };
//! let place = table.place(&Descriptor::of(&draw(1)?, Some(Kind::Features))?)?;
//! assert!(place.outside.iter().any(|words| words.contains("1 example per class (measured: 20 to 50)")));
//! # Ok::<(), ebbing::Error>(())
//! ```

mod descriptor;
mod place;
#[cfg(test)]
mod tests;

pub use descriptor::{Descriptor, Kind};
pub use place::{Domain, DomainTable, Placement};

use crate::stats::number::{chosen, significant};
use serde::{Deserialize, Serialize};

/// A number that describes a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// How many tasks there are.
    Tasks,
    /// Features of an input.
    Features,
    /// Training examples of a task: of the smallest and of the largest.
    ExamplesPerTask,
    /// Training examples of a class of a task: of the smallest and of the largest of any task.
    ExamplesPerClass,
    /// Classes of a task, on average.
    ClassesPerTask,
    /// Classes of the whole sequence.
    Classes,
    /// The mean of all entries relative to their root mean square.
    Mean,
    /// The mean square of all entries.
    MeanSquare,
    /// The spread of input norms relative to their mean.
    NormSpread,
    /// `(Tr C)²/Tr C²` of the second moment C of a task's inputs, over min(P, d): 1 where all directions are alike.
    EffectiveRank,
    /// The spread of the root mean square of single features relative to its mean: 0 where features are standardized one by one.
    FeatureSpread,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Quantity; 11] = [
        Quantity::Tasks,
        Quantity::Features,
        Quantity::ExamplesPerTask,
        Quantity::ExamplesPerClass,
        Quantity::ClassesPerTask,
        Quantity::Classes,
        Quantity::Mean,
        Quantity::MeanSquare,
        Quantity::NormSpread,
        Quantity::EffectiveRank,
        Quantity::FeatureSpread,
    ];

    /// Whether it counts something.
    pub(super) fn counts(self) -> bool {
        use Quantity::{Classes, ClassesPerTask, ExamplesPerClass, ExamplesPerTask, Features, Tasks};
        matches!(self, Tasks | Features | ExamplesPerTask | ExamplesPerClass | ClassesPerTask | Classes)
    }

    /// A value of it in words.
    pub fn words(self, value: f64) -> String {
        let number = shown(value);
        let plural = if value == 1.0 { "" } else { "s" };
        match self {
            Quantity::Tasks => format!("{number} task{plural}"),
            Quantity::Features => format!("{number} feature{plural}"),
            Quantity::ExamplesPerTask => format!("{number} example{plural} per task"),
            Quantity::ExamplesPerClass => format!("{number} example{plural} per class"),
            Quantity::ClassesPerTask => format!("{number} class{} per task", if value == 1.0 { "" } else { "es" }),
            Quantity::Classes => format!("{number} class{} in all", if value == 1.0 { "" } else { "es" }),
            Quantity::Mean => format!("inputs with a mean of {number} times their root mean square"),
            Quantity::MeanSquare => format!("inputs of mean square {number}"),
            Quantity::NormSpread => format!("input norms that spread by {number} of their mean"),
            Quantity::EffectiveRank => format!("inputs along {number} of the possible directions (effective rank)"),
            Quantity::FeatureSpread => format!("feature scales that spread by {number} of their mean"),
        }
    }
}

/// Whole numbers as they are, others with three digits.
fn shown(value: f64) -> String {
    if value.fract() == 0.0 { chosen(value) } else { significant(value) }
}
