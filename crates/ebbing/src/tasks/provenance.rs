//! What made a sequence of tasks.

use super::{ByClass, Class, Interpolated, Protocol, TargetRule, WithContext};
use crate::data::{Preparation, PreparedSet};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

/// Everything that made a sequence, as far as it is known; written into every result.
///
/// Entries of other kinds, which a user's own record may have, are passed over when it is read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// How tasks were made of one set of examples.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub by_class: Option<Seeded<ByClass>>,
    /// Context vectors appended to inputs.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub context: Option<Seeded<WithContext>>,
    /// The data set that tasks were drawn from.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub data: Option<PreparedSet>,
    /// What the protocol drew besides examples.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub drawn: Option<Draws>,
    /// The files that tasks were read from.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "known")]
    pub files: Vec<FileRecord>,
    /// Datasets inserted between two tasks.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub interpolate: Option<Seeded<Interpolated>>,
    /// The order in which the tasks are learned, by their numbers from 1, where it is not that in which they come.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "known")]
    pub order: Vec<usize>,
    /// How the inputs of own tasks were prepared.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub preprocess: Option<Preparation>,
    /// The protocol that drew the tasks.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub protocol: Option<Protocol>,
    /// The seed of everything that was drawn.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub seed: Option<u64>,
    /// How examples were left out.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub subsample: Option<Subsample>,
    /// What labels became.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub targets: Option<TargetRule>,
}

/// A step with the seed of its draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seeded<T> {
    /// The step.
    #[serde(flatten)]
    pub step: T,
    /// The seed.
    pub seed: u64,
}

/// What a protocol draws besides examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Draws {
    /// Of permuted tasks.
    Permuted {
        /// How many pixels are shuffled.
        permuted_pixels: usize,
        /// The classes labeled +1.
        positive: Vec<i64>,
    },
    /// Of split tasks: the classes of each group of each task.
    Split {
        /// `[task][group] = [classes …]`.
        assignment: Vec<Vec<Vec<i64>>>,
    },
    /// Of a partial split.
    PartialSplit {
        /// The two pairs of classes.
        pairs: [[i64; 2]; 2],
    },
    /// Of tasks by class: the classes of each.
    ByClass {
        /// `[task] = [classes …]`.
        classes: Vec<Vec<Class>>,
    },
    /// Of target-distractor tasks: how many images there are of each kind.
    TargetDistractor(ImageCounts),
}

/// How many images of each kind target-distractor tasks have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImageCounts {
    /// Targets of one task only.
    pub own_targets: usize,
    /// Distractors of one task only.
    pub own_zeros: usize,
    /// Targets of all tasks.
    pub shared_targets: usize,
    /// Distractors of all tasks.
    pub shared_zeros: usize,
}

/// A file that tasks were read from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its name.
    pub file: String,
    /// The hash of its content, where it could be read.
    pub sha256: Option<String>,
}

/// How many examples were kept, and the seed of the choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subsample {
    /// Training examples of a task at most.
    pub p: usize,
    /// Test examples of a task at most.
    pub p_test: usize,
    /// The seed.
    pub seed: u64,
}

/// An entry, or none where it is of another kind.
fn known<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(serde_json::Value::deserialize(from)?).unwrap_or_default())
}

impl Provenance {
    /// How inputs were prepared, where that is known.
    pub fn preparation(&self) -> Option<&Preparation> {
        self.preprocess.as_ref().or_else(|| Some(&self.data.as_ref()?.preprocess))
    }

    /// Whether inputs were whitened, as far as is known.
    pub fn is_whitened(&self) -> bool {
        self.preparation().is_some_and(|prepared| prepared.steps.whiten.is_some())
    }

    /// What was done to inputs, as part of a sentence.
    pub fn preparation_words(&self) -> String {
        self.preparation().map_or_else(|| "inputs as stored".into(), Preparation::words)
    }

    /// What labels became.
    pub fn target_rule(&self) -> TargetRule {
        self.targets.clone().unwrap_or(TargetRule::AsGiven)
    }

    /// The name and the hash of the data: those of the data set, or of the files.
    pub fn dataset(&self) -> (String, String) {
        if let Some(data) = &self.data {
            return (data.dataset.clone(), data.sha256.clone());
        }
        let names: Vec<&str> = self.files.iter().map(|file| file.file.as_str()).collect();
        let hashes: Vec<&str> = self.files.iter().map(|file| file.sha256.as_deref().unwrap_or_default()).collect();
        (names.join(", "), hashes.join(", "))
    }
}
