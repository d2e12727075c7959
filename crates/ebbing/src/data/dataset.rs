//! A data set: a training part, an optional test part, and where it came from.

use crate::linalg::Mat;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Feature rows, kept in the form in which they were stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Images of 8-bit gray levels, row after row.
    Bytes {
        /// `rows × dim` gray levels, image after image.
        pixels: Vec<u8>,
        /// Pixels per image.
        dim: usize,
    },
    /// Any real features, one example per row.
    Real(Mat<f64>),
}

impl Features {
    /// The number of examples.
    pub fn rows(&self) -> usize {
        match self {
            Features::Bytes { pixels, dim } => pixels.len().checked_div(*dim).unwrap_or(0),
            Features::Real(m) => m.nrows(),
        }
    }

    /// The input dimension N0.
    pub fn dim(&self) -> usize {
        match self {
            Features::Bytes { dim, .. } => *dim,
            Features::Real(m) => m.ncols(),
        }
    }

    /// The chosen examples as a matrix, one per row, in the order given (gray levels as 0 … 255).
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn select(&self, rows: &[usize]) -> Mat<f64> {
        match self {
            Features::Bytes { pixels, dim } => {
                Mat::from_fn(rows.len(), *dim, |i, j| f64::from(pixels[rows[i] * dim + j]))
            }
            Features::Real(m) => Mat::from_fn(rows.len(), m.ncols(), |i, j| m[(rows[i], j)]),
        }
    }
}

/// What is to be learned of each example.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// Integer class labels.
    Classes(Vec<i64>),
    /// Real targets, one row per example.
    Real(Mat<f64>),
}

impl Targets {
    /// The number of examples.
    pub fn rows(&self) -> usize {
        match self {
            Targets::Classes(c) => c.len(),
            Targets::Real(m) => m.nrows(),
        }
    }
}

/// The training or the test part of a data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Feature rows.
    pub features: Features,
    /// Labels or targets.
    pub targets: Targets,
}

/// Where a data set came from; written into every result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The name of the set ("mnist-sample", "mnist", a file name).
    pub name: String,
    /// In words: files, package, version.
    pub source: String,
    /// SHA-256 over the decoded features and targets, in hexadecimal.
    pub sha256: String,
}

/// Features and targets with a training part and an optional test part.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Training examples.
    pub train: Part,
    /// Test examples.
    pub test: Option<Part>,
    /// Height, width (and channels) of an image, where rows are images.
    pub image_shape: Option<Vec<usize>>,
    /// Where it came from.
    pub origin: Origin,
}

/// The hash, in hexadecimal, of the training and the test part: kind, shape and values (little-endian, row after row) of each.
pub(super) fn digest(train: &Part, test: Option<&Part>) -> String {
    let mut hash = Sha256::new();
    hash.update(b"ebbing data 1\0");
    add_part(&mut hash, train);
    if let Some(test) = test {
        add_part(&mut hash, test);
    }
    hex(&hash.finalize())
}

fn add_part(hash: &mut Sha256, part: &Part) {
    match &part.features {
        Features::Bytes { pixels, dim } => {
            add_shape(hash, b'b', pixels.len() / dim.max(&1), *dim);
            hash.update(pixels);
        }
        Features::Real(m) => add_real(hash, m),
    }
    match &part.targets {
        Targets::Classes(classes) => {
            add_shape(hash, b'c', classes.len(), 1);
            classes.iter().for_each(|c| hash.update(c.to_le_bytes()));
        }
        Targets::Real(m) => add_real(hash, m),
    }
}

fn add_real(hash: &mut Sha256, m: &Mat<f64>) {
    add_shape(hash, b'r', m.nrows(), m.ncols());
    for i in 0..m.nrows() {
        (0..m.ncols()).for_each(|j| hash.update(m[(i, j)].to_le_bytes()));
    }
}

fn add_shape(hash: &mut Sha256, kind: u8, rows: usize, columns: usize) {
    hash.update([kind]);
    hash.update((rows as u64).to_le_bytes());
    hash.update((columns as u64).to_le_bytes());
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

impl Dataset {
    /// The set with the first of equal training examples only (CIFAR-100 in gray levels has 14 such pairs), and how many
    /// were left out.
    pub(super) fn without_repeats(mut self) -> (Dataset, usize) {
        let kept = first_of_equal(&self.train.features);
        let dropped = self.train.features.rows() - kept.len();
        if dropped > 0 {
            self.train = self.train.select(&kept);
        }
        (self, dropped)
    }
}

/// The rows that equal no earlier one.
fn first_of_equal(features: &Features) -> Vec<usize> {
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
    let equal = |i: usize, j: usize| match features {
        Features::Bytes { pixels, dim } => pixels[i * dim..(i + 1) * dim] == pixels[j * dim..(j + 1) * dim],
        Features::Real(x) => (0..x.ncols()).all(|k| x[(i, k)] == x[(j, k)]),
    };
    let mut kept = Vec::new();
    for i in 0..features.rows() {
        let mut hasher = DefaultHasher::new();
        match features {
            Features::Bytes { pixels, dim } => pixels[i * dim..(i + 1) * dim].hash(&mut hasher),
            // Adding 0 makes −0 and 0, which are equal, hash alike.
            Features::Real(x) => (0..x.ncols()).for_each(|k| (x[(i, k)] + 0.0).to_bits().hash(&mut hasher)),
        }
        let alike = seen.entry(hasher.finish()).or_default();
        if !alike.iter().any(|&j| equal(i, j)) {
            alike.push(i);
            kept.push(i);
        }
    }
    kept
}

impl Part {
    /// The chosen examples, in the order given.
    fn select(&self, rows: &[usize]) -> Part {
        let features = match &self.features {
            Features::Bytes { pixels, dim } => {
                let image = |&i: &usize| pixels[i * dim..(i + 1) * dim].iter().copied();
                Features::Bytes { pixels: rows.iter().flat_map(image).collect(), dim: *dim }
            }
            real @ Features::Real(_) => Features::Real(real.select(rows)),
        };
        let targets = match &self.targets {
            Targets::Classes(classes) => Targets::Classes(rows.iter().map(|&i| classes[i]).collect()),
            Targets::Real(y) => Targets::Real(Mat::from_fn(rows.len(), y.ncols(), |i, j| y[(rows[i], j)])),
        };
        Part { features, targets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_examples_are_kept_once() {
        let sample = Dataset::sample().unwrap();
        assert_eq!(sample.clone().without_repeats(), (sample.clone(), 0));
        let mut twice = sample.clone();
        if let (Features::Bytes { pixels, dim }, Targets::Classes(classes)) =
            (&mut twice.train.features, &mut twice.train.targets)
        {
            pixels.extend_from_within(7 * *dim..8 * *dim);
            classes.push(classes[7]);
        }
        assert_eq!(twice.train.features.rows(), 4001);
        assert_eq!(twice.without_repeats(), (sample, 1));
    }

    #[test]
    fn real_features_too_and_zero_has_no_sign() {
        let features = |rows: &[[f64; 2]]| Features::Real(Mat::from_fn(rows.len(), 2, |i, j| rows[i][j]));
        assert_eq!(first_of_equal(&features(&[[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0], [2.0, 1.0 + 1e-15]])), [0, 1, 3]);
    }
}
