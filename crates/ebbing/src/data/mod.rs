//! Data sets: feature rows with labels, where they came from, and how they are prepared.
//!
//! | Item | What it is |
//! |---|---|
//! | [`Dataset`] | a training part, an optional test part, and its [`Origin`] with a hash |
//! | [`Dataset::sample`] | 5,000 digits of MNIST, embedded in the library |
//! | [`Dataset::load`], [`Places`] | sets by name, wherever this machine keeps them |
//! | [`Dataset::open`], [`ImportOptions`] | your own files: npz, npy, IDX, CSV, CIFAR's binary files |
//! | [`KNOWN_SETS`], [`Places::verify`] | standard sets with their official sizes and checksums |
//! | [`Preprocess`], [`Preprocessor`] | gray levels, centering, ZCA whitening, scaling to squared norm N0 |
//! | [`Source`] | a data set with its preprocessing fitted: what [tasks](crate::tasks) are drawn from |
//! | [`read_npz`], [`parse_mat`], [`read_idx`], [`read_csv`], [`parse_cifar`] | the readers themselves |
//!
//! The default preprocessing is the paper's (supplement, "Benchmark Task Sequences"): subtract each image's own mean,
//! whiten with the covariance of the whole training set, scale to squared norm N0. Whitening matters: without it the
//! similarity γ_sim of permuted digits comes out a tenth too low or more.
//!
//! ```
//! use ebbing::data::{Dataset, Preprocess, Source};
//! // Centered and scaled only: whitening takes a moment.
//! let source = Source::new(Dataset::sample()?, &Preprocess { whiten: None, ..Preprocess::default() })?;
//! let x = source.train(&[0, 1, 2])?; // three prepared images, one per row
//! assert_eq!((x.nrows(), x.ncols()), (3, 784));
//! # Ok::<(), ebbing::Error>(())
//! ```

mod array;
mod assemble;
mod cifar;
mod covariance;
mod csv;
mod dataset;
mod file;
mod idx;
mod import;
mod known;
mod mat;
mod npy;
mod places;
mod preprocess;
mod rows;
mod sample;
mod source;
mod sources;
mod stored;
mod tar;
mod zip;

pub use array::{Array, Values};
pub use cifar::{Cifar, parse_cifar};
pub(crate) use csv::csv_arrays;
pub use csv::{CsvOptions, LabelColumn, parse_csv, read_csv};
pub(crate) use dataset::hex;
pub use dataset::{Dataset, Features, Origin, Part, Targets};
pub(crate) use file::OpenFile;
pub use file::{MAX_DECODED, file_sha256, host, remove_unfinished, sync_folder_of, write_atomic};
pub use idx::{parse_idx, read_idx};
pub use import::ImportOptions;
pub use known::{KNOWN_SETS, KnownFile, KnownSet};
pub use mat::parse_mat;
pub(crate) use npy::npz_arrays;
pub use npy::{parse_npy, parse_npz, read_npz, to_npy, write_npz};
pub use places::{FileCheck, Places, SetCopy, Status, Verification};
pub use preprocess::{Center, CovarianceSet, Order, Preparation, Preprocess, Preprocessor, Whiten};
pub use rows::RowReader;
pub use source::{PreparedSet, Source, to_gray};
pub use sources::Sources;
