//! What the protocols share: ranges of settings, images by class, and prepared images by their numbers.

use super::{Draws, PoolRow, Protocol, Provenance, Task, TaskSequence, TestSet};
use crate::data::Source;
use crate::error::{Result, refuse};
use crate::linalg::{Mat, MatRef};
use std::collections::BTreeMap;

/// Refuses a sequence whose inputs would take more than 64 GiB.
pub(super) fn fits(name: &str, value: usize, tasks: usize, rows: usize, dim: usize) -> Result<()> {
    const MOST: usize = 1 << 33;
    let numbers = tasks.checked_mul(rows).and_then(|rows| rows.checked_mul(dim));
    let expected = format!("{tasks} tasks of {rows} inputs with {dim} features would take more than 64 GiB of memory");
    refuse(numbers.is_none_or(|numbers| numbers > MOST), name, value, expected)
}

/// The numbers of the images of each class.
pub(super) type ByClass = BTreeMap<i64, Vec<usize>>;

/// The images of a class, none if there is no such class.
pub(super) fn images_of(by_class: &ByClass, class: i64) -> &[usize] {
    by_class.get(&class).map_or(&[], Vec::as_slice)
}

/// The training or the test part of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourcePart {
    Train,
    Test,
}

impl SourcePart {
    pub fn name(self) -> &'static str {
        if self == SourcePart::Train { "training" } else { "test" }
    }

    /// The setting that says how many examples of this part a task has.
    pub fn setting(self) -> &'static str {
        if self == SourcePart::Train { "p" } else { "p_test" }
    }

    /// How many images the source has.
    pub fn count(self, source: &Source) -> usize {
        match self {
            SourcePart::Train => source.dataset().train.features.rows(),
            SourcePart::Test => source.dataset().test.as_ref().map_or(0, |part| part.features.rows()),
        }
    }

    /// The class of every image.
    pub fn classes(self, source: &Source) -> Result<&[i64]> {
        match self {
            SourcePart::Train => source.train_classes(),
            SourcePart::Test => source.test_classes(),
        }
    }

    /// The numbers of the images of each class.
    pub fn by_class(self, source: &Source) -> Result<ByClass> {
        let mut found = ByClass::new();
        for (i, class) in self.classes(source)?.iter().enumerate() {
            found.entry(*class).or_default().push(i);
        }
        Ok(found)
    }
}

/// The images that a sequence uses, each prepared once, so that equal images are equal bit for bit in every task.
pub(super) struct Images {
    numbers: Vec<usize>,
    x: Mat<f64>,
}

impl Images {
    /// Prepares the images of `part` with these numbers (repetitions allowed).
    pub fn prepare<'a>(
        source: &Source,
        part: SourcePart,
        numbers: impl IntoIterator<Item = &'a usize>,
    ) -> Result<Self> {
        let mut numbers: Vec<usize> = numbers.into_iter().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let x = match part {
            SourcePart::Train => source.train(&numbers)?,
            SourcePart::Test => source.test(&numbers)?,
        };
        Ok(Images { numbers, x })
    }

    /// The images with these numbers, which must be among the prepared ones, one per row.
    pub fn select(&self, numbers: &[usize]) -> Mat<f64> {
        let places: Vec<usize> = numbers.iter().map(|n| self.numbers.partition_point(|m| m < n)).collect();
        gather(self.x.as_ref(), &places)
    }
}

/// The chosen rows of a matrix.
pub(super) fn gather(x: MatRef<'_, f64>, rows: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), x.ncols(), |i, j| x[(rows[i], j)])
}

/// Numbers as a matrix of one column.
pub(super) fn one_column(values: &[f64]) -> Mat<f64> {
    Mat::from_fn(values.len(), 1, |i, _| values[i])
}

/// Untransformed images as pool rows.
pub(super) fn plain_rows(numbers: &[usize]) -> Vec<PoolRow> {
    numbers.iter().map(|&image| PoolRow { image: image as u64, view: 0 }).collect()
}

/// Drawn tasks with what made them.
pub(super) fn drawn_sequence(
    tasks: Vec<Task>,
    source: &Source,
    protocol: Protocol,
    seed: u64,
    drawn: Draws,
) -> TaskSequence {
    let (data, protocol, seed, drawn) = (Some(source.settings()), Some(protocol), Some(seed), Some(drawn));
    TaskSequence { tasks, settings: Provenance { data, protocol, seed, drawn, ..Provenance::default() } }
}

/// Examples drawn for the training or the test part of a task.
#[derive(Clone)]
pub(super) struct Drawn {
    /// Their numbers in the source.
    pub numbers: Vec<usize>,
    pub x: Mat<f64>,
    pub y: Mat<f64>,
}

impl Drawn {
    /// No examples.
    pub fn none(dim: usize, columns: usize) -> Self {
        Drawn { numbers: Vec::new(), x: Mat::zeros(0, dim), y: Mat::zeros(0, columns) }
    }
}

/// Tasks of untransformed images.
pub(super) fn plain_tasks(train: Vec<Drawn>, test: Vec<Drawn>) -> Vec<Task> {
    let make = |(t, (train, test)): (usize, (Drawn, Drawn))| Task {
        name: format!("task {}", t + 1),
        rows: Some(plain_rows(&train.numbers)),
        x: train.x,
        y: train.y,
        test: test_set(test.x, test.y),
        present: None,
    };
    train.into_iter().zip(test).enumerate().map(make).collect()
}

/// A test set, or none where it would be empty.
pub(super) fn test_set(x: Mat<f64>, y: Mat<f64>) -> Option<TestSet> {
    (x.nrows() > 0).then_some(TestSet { x, y })
}

/// `total` divided into `parts` shares that differ by at most one, larger ones first.
pub(super) fn shares(total: usize, parts: usize) -> Vec<usize> {
    (0..parts).map(|i| total / parts + usize::from(i < total % parts)).collect()
}

/// `fraction · n`, rounded (halves away from zero).
pub(super) fn rounded(fraction: f64, n: usize) -> usize {
    (fraction * n as f64).round() as usize
}
