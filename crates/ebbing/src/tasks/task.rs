//! A task, its test set, and a sequence of tasks that remembers which rows are the same input.

use crate::linalg::Mat;

/// Which input a row is: rows with equal `image` and equal `view` are the same input vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolRow {
    /// The index of the image in the source set.
    pub image: u64,
    /// The transformation applied to it (0: none; permuted tasks use one view per permutation).
    pub view: u32,
}

/// Held-out examples of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TestSet {
    /// Inputs, one per row.
    pub x: Mat<f64>,
    /// Targets, one row per example, as many columns as the task's.
    pub y: Mat<f64>,
}

/// One task: training inputs and targets, and optionally held-out ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// What tables call it.
    pub name: String,
    /// Training inputs, P × N0.
    pub x: Mat<f64>,
    /// Training targets, P × columns.
    pub y: Mat<f64>,
    /// Which pool input each training row is, where that is known.
    pub rows: Option<Vec<PoolRow>>,
    /// Held-out examples.
    pub test: Option<TestSet>,
}

/// Tasks in the order in which they are learned.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSequence {
    /// The tasks, first learned first.
    pub tasks: Vec<Task>,
    /// Everything that made the sequence (data set, hash, protocol, seed, preprocessing), written into every result.
    pub settings: serde_json::Value,
}
