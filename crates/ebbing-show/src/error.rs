//! What can go wrong when results are shown or written.

use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, with the file, figure or column and the value at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library refused: a file cannot be written.
    #[error(transparent)]
    Library(#[from] ebbing::Error),
    /// Arrays of different lengths, an empty axis, or the like.
    #[error("{what}: {problem}")]
    Shape {
        /// The layer, column or matrix at fault.
        what: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A format's own writer failed.
    #[error("{}: {problem}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What the writer said.
        problem: String,
    },
}

impl Error {
    pub(crate) fn shape(what: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Shape { what: what.into(), problem: problem.into() }
    }

    pub(crate) fn format(path: &Path, problem: impl ToString) -> Error {
        Error::Format { path: path.to_owned(), problem: problem.to_string() }
    }
}
