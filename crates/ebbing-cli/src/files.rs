//! Writing files so that a reader sees the old content or the new, never a half.

use ebbing::{Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes `path` through a temporary file beside it, so that a crash or a full disk leaves what was there before.
///
/// # Errors
/// If the operating system refuses; the temporary file is then gone.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<()> {
    let temporary = temporary_name(path);
    let written = OpenOptions::new().write(true).create_new(true).open(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    let placed = written.map_err(|e| Error::io(path, e)).and_then(|()| rename(&temporary, path));
    if placed.is_err() {
        // The first error is the one to tell; a leftover that cannot be removed adds nothing.
        let _ = fs::remove_file(&temporary);
    }
    placed
}

/// Renames a finished file into place, and makes the rename itself durable.
///
/// # Errors
/// If the operating system refuses.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| Error::io(to, e))?;
    if cfg!(unix) {
        let folder = folder_of(to);
        File::open(&folder).and_then(|d| d.sync_all()).map_err(|e| Error::io(folder, e))?;
    }
    Ok(())
}

/// Makes a folder and those above it.
///
/// # Errors
/// If the operating system refuses.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|e| Error::io(path, e))
}

/// The folder that holds `path`.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// A hidden name beside `path` that no other run of the program uses.
fn temporary_name(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    folder_of(path).join(format!(".{name}.{}.tmp", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_whole_files_and_leaves_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        // A folder stands where the file should go: the rename fails after the writing.
        let path = folder.path().join("taken");
        fs::create_dir_all(path.join("inside")).unwrap();
        assert!(write_atomic(&path, b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_atomic(&folder.path().join("no/such/folder"), b"x").is_err());
    }
}
