//! What can go wrong in a study.

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, in one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library refused or failed.
    #[error(transparent)]
    Library(#[from] ebbing::Error),
    /// A figure or file could not be made.
    #[error(transparent)]
    Report(#[from] ebbing_show::Error),
}

impl Error {
    /// Data that do not fit: what they are and what is wrong with them.
    pub fn data(what: impl Into<String>, problem: impl Into<String>) -> Error {
        Error::Library(ebbing::Error::data(what, problem))
    }
}
