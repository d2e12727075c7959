//! Task sequences: what each protocol promises, exactly; every refusal; files in and out.

mod files;
mod permuted;
mod recipes;
mod sequences;
mod split;
mod steps;
mod target_distractor;

use ebbing::data::Preprocess;
use ebbing::linalg::Mat;
use ebbing::{Dataset, Source, Task, TaskSequence};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

/// The embedded sample without whitening (which these tests do not need), scaled to squared norm N0.
fn source() -> &'static Source {
    static SOURCE: OnceLock<Source> = OnceLock::new();
    SOURCE.get_or_init(|| {
        let settings = Preprocess { whiten: None, ..Preprocess::default() };
        Source::new(Dataset::sample().unwrap(), &settings).unwrap()
    })
}

/// The images of a task's training rows.
fn images(task: &Task) -> Vec<u64> {
    task.rows.as_ref().unwrap().iter().map(|row| row.image).collect()
}

fn image_set(task: &Task) -> BTreeSet<u64> {
    images(task).into_iter().collect()
}

/// The first target column.
fn labels(task: &Task) -> Vec<f64> {
    (0..task.y.nrows()).map(|i| task.y[(i, 0)]).collect()
}

fn label_of_image(task: &Task) -> HashMap<u64, f64> {
    images(task).into_iter().zip(labels(task)).collect()
}

fn row(x: &Mat<f64>, i: usize) -> Vec<f64> {
    (0..x.ncols()).map(|j| x[(i, j)]).collect()
}

fn rows_as_bits(x: &Mat<f64>) -> HashSet<Vec<u64>> {
    (0..x.nrows()).map(|i| row(x, i).iter().map(|v| v.to_bits()).collect()).collect()
}

fn class(image: u64) -> i64 {
    source().train_classes().unwrap()[image as usize]
}

fn refusal(result: ebbing::Result<TaskSequence>) -> String {
    result.expect_err("this request is infeasible").to_string()
}
