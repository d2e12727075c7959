//! A data set: a training part, an optional test part, and where it came from.

use crate::linalg::Mat;
use serde::{Deserialize, Serialize};

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
