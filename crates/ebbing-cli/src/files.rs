//! Moves finished files into place, and creates and locks folders for results.

use crate::failure::Refused;
use ebbing::{Error, Result};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Renames a finished file into place and makes the rename durable.
///
/// # Errors
/// If the operating system refuses.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| Error::io(to, e))?;
    ebbing::data::sync_folder_of(to)
}

/// Creates a folder and its parents.
///
/// # Errors
/// If the operating system refuses.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|e| Error::io(path, e))
}

/// A folder for results, locked before the work begins: it is writable, and no other run writes there at the same time.
#[derive(Debug)]
pub struct OutFolder {
    lock: PathBuf,
    _held: File,
    /// Folders created for it, the innermost first: they are removed again if nothing was written.
    made: Vec<PathBuf>,
}

impl OutFolder {
    /// The file that a run locks.
    const LOCK: &str = ".ebbing-lock";

    /// Locks the folder, creating it if it is missing.
    ///
    /// # Errors
    /// If it is not a folder, cannot be written, or is locked by another run.
    pub fn take(folder: &Path) -> anyhow::Result<OutFolder> {
        if !folder.is_dir() && folder.symlink_metadata().is_ok() {
            let expected = match folder.exists() {
                true => "must be a folder; a file of that name is in the way",
                false => "must be a folder; it is a link that leads nowhere",
            };
            return Err(Error::setting("--out", folder.display(), expected).into());
        }
        let missing = folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.exists());
        let made: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        make_folder(folder)?;
        let lock = folder.join(Self::LOCK);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&lock);
        let mut file = opened.map_err(|e| Error::io(folder, e))?;
        match file.try_lock() {
            // On a file system without locks every run gets in.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => {
                let mut who = String::new();
                let known = file.read_to_string(&mut who).is_ok() && !who.is_empty();
                let who = if known { who } else { "another run".into() };
                let sentence =
                    format!("{}: the folder is in use by {who}; wait for it, or give another --out", folder.display());
                return Err(Refused(sentence).into());
            }
        }
        // The process that others read in their error message; failing to write it is no error.
        let _ =
            file.set_len(0).and_then(|()| write!(file, "process {} on {}", std::process::id(), ebbing::data::host()));
        let taken = OutFolder { lock, _held: file, made };
        crate::results::recover(folder)?;
        Ok(taken)
    }
}

impl Drop for OutFolder {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.lock);
        // Only empty folders can be removed.
        self.made.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}
