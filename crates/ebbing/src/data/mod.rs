//! Data sets: feature rows with labels, where they came from, and how they are prepared.

mod array;
mod assemble;
mod cifar;
mod copy;
mod covariance;
mod csv;
mod dataset;
mod digest;
mod file;
mod grey;
mod idx;
mod import;
mod known;
mod npy;
mod places;
mod preprocess;
mod sample;
mod source;
mod tar;
mod verify;
mod zip;

pub use array::{Array, Values};
pub use cifar::{Cifar, parse_cifar};
pub use csv::{CsvOptions, LabelColumn, parse_csv, read_csv};
pub use dataset::{Dataset, Features, Part, Provenance, Targets};
pub(crate) use digest::hex;
pub use file::{MAX_DECODED, sync_folder_of, write_atomic};
pub use grey::to_grey;
pub use idx::{parse_idx, read_idx};
pub use import::ImportOptions;
pub use known::{KNOWN_SETS, KnownFile, KnownSet, file_sha256};
pub use npy::{parse_npy, parse_npz, read_npy, read_npz, to_npy, write_npz};
pub use places::{Found, Places, Status};
pub use preprocess::{Centre, Preprocess, Preprocessor, Whiten};
pub use source::Source;
pub use verify::{FileCheck, Verification};
