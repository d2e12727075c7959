//! Finished parts of a long computation on disk, so that a run that is killed goes on from the last of them.
//!
//! Every run has a folder of its own, named after all that its numbers depend on: version, settings, and the tasks'
//! contents. A part is one file: a line of JSON with the SHA-256 of what follows, whose run it is, its shape and a few
//! numbers, then the entries of a matrix column by column, little-endian. Files are written whole or not at all.

use crate::data::{hex, write_atomic};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use crate::plan::size;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Numbers that belong to a part, by name.
pub(super) type Numbers = BTreeMap<String, f64>;

/// The folder of one run.
#[derive(Debug)]
pub(super) struct Scratch {
    root: PathBuf,
    folder: PathBuf,
    run: String,
    /// Held while this process computes.
    _lock: File,
}

#[derive(Serialize, Deserialize)]
struct Header {
    sha256: String,
    /// What the run's numbers depend on.
    run: String,
    rows: usize,
    columns: usize,
    numbers: Numbers,
}

/// An entry as it is written.
pub(super) trait Entry: Copy {
    /// Bytes of one.
    const BYTES: usize;
    /// Appends it.
    fn put(self, bytes: &mut Vec<u8>);
    /// Reads one.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! entry {
    ($type:ty) => {
        impl Entry for $type {
            const BYTES: usize = size_of::<$type>();
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut whole = [0; size_of::<$type>()];
                whole.copy_from_slice(bytes);
                <$type>::from_le_bytes(whole)
            }
        }
    };
}
entry!(f32);
entry!(f64);

impl Scratch {
    /// The folder of run `run` below `root`, with room for `bytes` in all.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder cannot be made, where the disk is too full, and where another process computes the
    /// same run.
    pub fn open(root: &Path, run: &str, bytes: f64) -> Result<Scratch> {
        let folder = root.join(&run[..16.min(run.len())]);
        std::fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
        let path = folder.join("lock");
        let lock = File::create(&path).map_err(|e| Error::io(&path, e))?;
        if lock.try_lock().is_err() {
            let problem = "another process computes the same forecast here; wait for it to end";
            return Err(Error::io(&folder, std::io::Error::new(std::io::ErrorKind::ResourceBusy, problem)));
        }
        let scratch = Scratch { root: root.into(), folder, run: run.into(), _lock: lock };
        scratch.check_room(bytes)?;
        Ok(scratch)
    }

    /// Refuses a disk with less room than what is still to be written.
    fn check_room(&self, bytes: f64) -> Result<()> {
        let entries = std::fs::read_dir(&self.folder).map_err(|e| Error::io(&self.folder, e))?;
        let there: u64 = entries.flatten().filter_map(|e| e.metadata().ok()).map(|m| m.len()).sum();
        let missing = bytes - there as f64;
        match free_disk(&self.folder) {
            Some(free) if missing > free => {
                let problem = format!(
                    "finished parts take {} of disk, and {} are free there; make room, or choose another folder",
                    size(missing),
                    size(free)
                );
                self.remove();
                Err(Error::io(&self.folder, std::io::Error::new(std::io::ErrorKind::StorageFull, problem)))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.part"))
    }

    /// Whether a part is there.
    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Puts a finished part away.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be written.
    pub fn write<T: Entry>(&self, name: &str, matrix: &Mat<T>, numbers: &Numbers) -> Result<()> {
        crate::stop::check()?;
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        let mut entries = Vec::with_capacity(rows * columns * T::BYTES);
        for j in 0..columns {
            for i in 0..rows {
                matrix[(i, j)].put(&mut entries);
            }
        }
        let path = self.path(name);
        let sha256 = hex(&Sha256::digest(&entries));
        let header = Header { sha256, run: self.run.clone(), rows, columns, numbers: numbers.clone() };
        let line = serde_json::to_string(&header).map_err(|e| Error::io(&path, std::io::Error::other(e)))?;
        let mut bytes = Vec::with_capacity(line.len() + 1 + entries.len());
        bytes.extend(line.as_bytes());
        bytes.push(b'\n');
        bytes.extend(entries);
        write_atomic(&path, &bytes)
    }

    /// A part, where it is finished.
    ///
    /// # Errors
    /// [`Error::File`] for a file that is damaged or of another run; [`Error::Io`] where it cannot be read.
    pub fn read<T: Entry>(&self, name: &str) -> Result<Option<(Mat<T>, Numbers)>> {
        let path = self.path(name);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io(&path, e)),
        };
        let wrong = |value: &str| Error::file(&path, "its content", value, "delete its folder to compute anew");
        let line = bytes.iter().position(|&b| b == b'\n').ok_or_else(|| wrong("no part of a forecast"))?;
        let header: Header = serde_json::from_slice(&bytes[..line]).map_err(|_| wrong("no part of a forecast"))?;
        let entries = &bytes[line + 1..];
        if header.run != self.run {
            return Err(wrong("of other tasks, other settings or another version"));
        }
        let (rows, columns) = (header.rows, header.columns);
        let whole = rows.checked_mul(columns).and_then(|n| n.checked_mul(T::BYTES)) == Some(entries.len());
        if !whole || hex(&Sha256::digest(entries)) != header.sha256 {
            return Err(wrong("damaged (its checksum does not match)"));
        }
        let entry = |i: usize, j: usize| {
            let at = (j * rows + i) * T::BYTES;
            T::get(&entries[at..at + T::BYTES])
        };
        Ok(Some((Mat::from_fn(rows, columns, entry), header.numbers)))
    }

    /// Gives the disk back.
    pub fn remove(&self) {
        // What cannot be removed stays; the result does not depend on it.
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_dir(&self.root);
    }
}

/// Bytes that may still be written to the disk of a folder, where the system reports them.
fn free_disk(folder: &Path) -> Option<f64> {
    #[cfg(unix)]
    return rustix::fs::statvfs(folder).ok().map(|disk| disk.f_bavail as f64 * disk.f_frsize as f64);
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> Numbers {
        [("residual".to_string(), 1e-9)].into()
    }

    #[test]
    fn parts_come_back_and_go() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().join("unfinished");
        let scratch = Scratch::open(&root, "0123456789abcdef0123", 1e3).unwrap();
        let m = Mat::from_fn(5, 3, |i, j| i as f64 - 0.1 * j as f64);
        let single = Mat::from_fn(2, 2, |i, j| (i + j) as f32);
        assert!(!scratch.has("a") && scratch.read::<f64>("a").unwrap().is_none());
        scratch.write("a", &m, &numbers()).unwrap();
        scratch.write("b", &single, &Numbers::new()).unwrap();
        assert_eq!(scratch.read::<f64>("a").unwrap(), Some((m, numbers())));
        assert_eq!(scratch.read::<f32>("b").unwrap().unwrap().0, single);
        let busy = Scratch::open(&root, "0123456789abcdef0123", 1e3).unwrap_err().to_string();
        assert!(busy.contains("another process"), "{busy}");
        scratch.remove();
        assert!(!root.exists());
    }

    #[test]
    fn leftovers_that_are_foreign_or_damaged_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(root.path(), "0123456789abcdef-one", 1e3).unwrap();
        scratch.write("a", &Mat::from_fn(4, 1, |i, _| i as f64), &numbers()).unwrap();
        let path = scratch.path("a");
        drop(scratch);
        // The folder's name holds the beginning of what the numbers depend on, the file all of it.
        let other = Scratch::open(root.path(), "0123456789abcdef-two", 1e3).unwrap();
        let said = other.read::<f64>("a").unwrap_err().to_string();
        assert!(said.contains("other settings"), "{said}");
        drop(other);
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let again = Scratch::open(root.path(), "0123456789abcdef-one", 1e3).unwrap();
        let said = again.read::<f64>("a").unwrap_err().to_string();
        assert!(said.contains("checksum"), "{said}");
        std::fs::write(&path, "something").unwrap();
        assert!(again.read::<f64>("a").unwrap_err().to_string().contains("no part"));
    }

    #[cfg(unix)]
    #[test]
    fn a_disk_without_room_is_one_sentence() {
        let root = tempfile::tempdir().unwrap();
        let error = Scratch::open(&root.path().join("x"), "0123456789abcdef", 1e18).unwrap_err();
        let full = matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull);
        assert!(full && error.to_string().contains("are free there"), "{error}");
        assert!(!root.path().join("x").exists());
    }
}
