//! Data sets: feature rows with labels, where they came from, and how they are prepared.

mod array;
mod assemble;
mod dataset;
mod digest;
mod file;
mod grey;
mod idx;
mod preprocess;
mod sample;
mod source;

pub use array::{Array, Values};
pub use dataset::{Dataset, Features, Part, Provenance, Targets};
pub use file::MAX_DECODED;
pub use grey::to_grey;
pub use idx::{parse_idx, read_idx};
pub use preprocess::{Centre, Preprocess, Preprocessor, Whiten};
pub use source::Source;
