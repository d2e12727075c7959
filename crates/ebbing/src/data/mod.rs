//! Data sets: feature rows with labels, where they came from, and how they are prepared.

mod dataset;

pub use dataset::{Dataset, Features, Part, Provenance, Targets};
