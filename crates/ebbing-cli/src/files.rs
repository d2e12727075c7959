//! Finished files and folders put into place.

use ebbing::{Error, Result};
use std::fs;
use std::path::Path;

/// Renames a finished file into place, and makes the rename itself durable.
///
/// # Errors
/// If the operating system refuses.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| Error::io(to, e))?;
    ebbing::data::sync_folder_of(to)
}

/// Makes a folder and those above it.
///
/// # Errors
/// If the operating system refuses.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|e| Error::io(path, e))
}
