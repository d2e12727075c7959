//! What the targets of a task file mean: classes become ±1 or one-hot columns, real numbers stay as they are.

use crate::data::{Array, Values};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use serde::Serialize;
use std::collections::BTreeSet;

/// More classes than this are taken for real targets that were stored as integers.
const MOST_CLASSES: usize = 1000;

/// How the target arrays of a file become target columns.
///
/// One rule holds for all tasks of a sequence. A single column of integers (or booleans) holds class labels: labels out of
/// −1, 0 and 1 that include −1 stay as they are; two classes become −1 (the smaller number) and +1; more become one-hot
/// columns, one per class of the whole sequence in increasing order. Floating-point targets, and integers in several
/// columns, stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetRule {
    /// Used as they are.
    AsGiven,
    /// The smaller class is −1, the larger +1.
    Signs([i64; 2]),
    /// One column per class.
    OneHot(Vec<i64>),
}

impl TargetRule {
    /// The rule for these arrays, each with its name in messages; `test` arrays may bring no new class.
    ///
    /// # Errors
    /// [`Error::Data`] where some arrays are classes and others real, there is only one class or more than 1000, or a test
    /// label is not among the training labels.
    pub(super) fn of(train: &[(String, &Array)], test: &[(String, &Array)]) -> Result<TargetRule> {
        let all = || train.iter().chain(test);
        let Some((name, _)) = all().find(|(_, array)| classes(array).is_some()) else {
            return Ok(TargetRule::AsGiven);
        };
        if let Some((other, _)) = all().find(|(_, array)| classes(array).is_none()) {
            let problem = format!("it holds integer classes where {other} holds real targets; store all in one way");
            return Err(Error::data(name, problem));
        }
        let found = |arrays: &[(String, &Array)]| -> BTreeSet<i64> {
            arrays.iter().filter_map(|(_, array)| classes(array)).flatten().collect()
        };
        let known = found(train);
        for (name, array) in test {
            if let Some(new) = classes(array).unwrap_or_default().iter().find(|class| !known.contains(class)) {
                return Err(Error::data(name, format!("class {new} occurs in no training set")));
            }
        }
        let sorted: Vec<i64> = known.into_iter().collect();
        match sorted[..] {
            [-1, ..] if sorted.iter().all(|class| *class <= 1) => Ok(TargetRule::AsGiven),
            [only] => Err(Error::data(name, format!("every label is {only}; at least two classes are needed"))),
            [a, b] => Ok(TargetRule::Signs([a, b])),
            _ if sorted.len() > MOST_CLASSES => {
                let problem = format!("{} classes are too many; store real targets as floats", sorted.len());
                Err(Error::data(name, problem))
            }
            _ => Ok(TargetRule::OneHot(sorted)),
        }
    }

    /// The target columns of an array that the rule was made for.
    pub(super) fn apply(&self, array: &Array) -> Mat<f64> {
        let given = array.to_mat();
        match self {
            TargetRule::AsGiven => given,
            TargetRule::Signs([_, larger]) => {
                Mat::from_fn(given.nrows(), 1, |i, _| if given[(i, 0)] == *larger as f64 { 1.0 } else { -1.0 })
            }
            TargetRule::OneHot(classes) => {
                let own = classes_as_real(classes);
                Mat::from_fn(given.nrows(), own.len(), |i, j| f64::from(u8::from(given[(i, 0)] == own[j])))
            }
        }
    }
}

/// The class labels in an array, where that is what it holds.
fn classes(array: &Array) -> Option<Vec<i64>> {
    match &array.values {
        _ if array.columns() != 1 => None,
        Values::Bytes(v) => Some(v.iter().map(|&b| i64::from(b)).collect()),
        Values::Integers(v) => Some(v.clone()),
        Values::Real(_) => None,
    }
}

fn classes_as_real(classes: &[i64]) -> Vec<f64> {
    classes.iter().map(|&class| class as f64).collect()
}
