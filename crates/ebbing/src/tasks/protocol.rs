//! Which protocol makes a sequence, and what happens to it afterwards.

use super::{
    ByClass, Interpolated, Labels, PartialSplit, Permuted, Split, TargetDistractor, TaskSequence, WithContext,
};
use crate::data::Source;
use crate::error::{Result, refuse};
use crate::plan::Sizes;
use serde::{Deserialize, Serialize};

/// More tasks than anybody means.
const MOST_TASKS: usize = 100_000;

/// The protocols that draw a task sequence from a data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Protocol {
    /// Shuffled pixels.
    Permuted(Permuted),
    /// Disjoint classes.
    Split(Split),
    /// Two pairs of classes mixed in opposite proportions.
    PartialSplit(PartialSplit),
    /// Random labels on a few images, with controlled sharing.
    TargetDistractor(TargetDistractor),
}

impl Default for Protocol {
    fn default() -> Self {
        Protocol::Permuted(Permuted::default())
    }
}

impl Protocol {
    /// The names of the protocols, as `kind` in a recipe.
    pub const KINDS: [&'static str; 4] = ["permuted", "split", "partial-split", "target-distractor"];

    /// The protocol of this name with default settings.
    pub fn named(kind: &str) -> Option<Self> {
        serde_json::from_value(serde_json::json!({ "kind": kind })).ok()
    }

    /// The sizes of a sequence of inputs of dimension `dim`.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for more tasks than anybody means.
    pub fn sizes(&self, dim: usize) -> Result<Sizes> {
        let (tasks, p, p_test, columns) = match self {
            Protocol::Permuted(d) => (d.tasks, d.p, d.p_test, 1),
            Protocol::Split(d) => {
                let columns = match d.labels {
                    Labels::Sign => 1,
                    Labels::OneHot => d.groups,
                    Labels::OneHotAll => d.groups.saturating_mul(d.tasks.min(MOST_TASKS)),
                };
                (d.tasks, d.p, d.p_test, columns)
            }
            Protocol::PartialSplit(d) => (2, d.p, d.p_test, 1),
            Protocol::TargetDistractor(d) => (d.tasks, d.p, d.p_test.unwrap_or(d.p), 1),
        };
        refuse(tasks > MOST_TASKS, "tasks", tasks, format!("must be at most {MOST_TASKS}"))?;
        Ok(Sizes { train: vec![p; tasks], test: vec![p_test; tasks], dim, columns, distinct: None })
    }

    /// Draws a sequence.
    ///
    /// # Errors
    /// As the protocol's own `generate`.
    pub fn generate(&self, source: &Source, seed: u64) -> Result<TaskSequence> {
        match self {
            Protocol::Permuted(settings) => settings.generate(source, seed),
            Protocol::Split(settings) => settings.generate(source, seed),
            Protocol::PartialSplit(settings) => settings.generate(source, seed),
            Protocol::TargetDistractor(settings) => settings.generate(source, seed),
        }
    }
}

/// What happens to a sequence after it was drawn or loaded: first tasks by class, then interpolation, context, another order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PostSteps {
    /// Tasks of so many classes each, out of one set of examples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_class: Option<ByClass>,
    /// Datasets inserted between two tasks.
    pub interpolate: Option<Interpolated>,
    /// Context vectors appended to inputs.
    pub context: Option<WithContext>,
    /// The order in which the tasks are learned, each by its number from 1; none for the order in which they come.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<usize>,
}

impl PostSteps {
    /// Applies the steps.
    ///
    /// # Errors
    /// As for [`ByClass::apply`], [`Interpolated::apply`], [`WithContext::apply`] and [`TaskSequence::ordered`].
    pub fn apply(&self, mut sequence: TaskSequence, seed: u64) -> Result<TaskSequence> {
        if let Some(step) = &self.by_class {
            sequence = step.apply(sequence, seed)?;
        }
        if let Some(step) = &self.interpolate {
            sequence = step.apply(&sequence, seed)?;
        }
        if let Some(step) = &self.context {
            sequence = step.apply(&sequence, seed)?;
        }
        if self.order.is_empty() { Ok(sequence) } else { sequence.ordered(&self.order) }
    }
}
