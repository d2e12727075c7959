//! Who works in a folder: one whole run, or several parts at once; and who computes a cell.
//!
//! Locks are the kernel's (`flock`): they end with the process, however it ends, so there are no stale ones.

use super::Store;
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which cells a run is to compute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Share {
    /// All of them.
    All,
    /// Every n-th, beginning with the i-th (from 1): part i of n.
    Shard(usize, usize),
    /// The ones listed, by their numbers from 1.
    Listed(Vec<usize>),
}

impl Share {
    /// The cells of `count`, by their places from 0.
    ///
    /// # Errors
    /// [`ebbing::Error::Setting`] for a number that is no cell or a shard out of range.
    pub fn of(&self, count: usize) -> Result<Vec<usize>> {
        match self {
            Share::All => Ok((0..count).collect()),
            Share::Shard(i, n) if (1..=*n).contains(i) => Ok((i - 1..count).step_by(*n).collect()),
            Share::Shard(i, n) => {
                let expected = "must be i/n with 1 <= i <= n";
                Err(ebbing::Error::setting("--shard", format!("{i}/{n}"), expected).into())
            }
            Share::Listed(numbers) => {
                if let Some(bad) = numbers.iter().find(|k| !(1..=count).contains(*k)) {
                    let expected = format!("must be numbers of cells, 1 to {count}");
                    return Err(ebbing::Error::setting("--cells", bad, expected).into());
                }
                Ok(numbers.iter().map(|k| k - 1).collect())
            }
        }
    }
}

/// Held while a run works in a folder.
#[derive(Debug)]
pub struct Lock {
    _held: Vec<File>,
}

/// Held while a cell is computed; the file beside it says so to others.
#[derive(Debug)]
pub(crate) struct Claimed {
    path: PathBuf,
    _file: File,
}

impl Drop for Claimed {
    fn drop(&mut self) {
        // A leftover that nobody holds counts as free: nothing is lost where it cannot be removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Store {
    /// Takes the folder for a run of `share`. A whole run is alone; shards and listed cells may work beside each other,
    /// but no shard twice.
    ///
    /// # Errors
    /// Where another run holds it.
    pub fn lock(&self, share: &Share) -> Result<Lock> {
        let locks = self.subfolder("locks")?;
        let whole = open(&locks.join("all"))?;
        let mut held = Vec::new();
        match share {
            Share::All => held.push(self.exclusive(whole)?),
            Share::Shard(i, n) => {
                held.push(self.shared(whole)?);
                held.push(self.exclusive(open(&locks.join(format!("shard-{i}-of-{n}")))?)?);
            }
            Share::Listed(_) => held.push(self.shared(whole)?),
        }
        if *share == Share::All {
            self.remove_leftovers()?;
        }
        Ok(Lock { _held: held })
    }

    fn exclusive(&self, (path, mut file): (PathBuf, File)) -> Result<File> {
        taken(file.try_lock(), &path)?.then_some(()).ok_or_else(|| self.in_use(&mut file))?;
        // Who it is, for the sentence that others see; not knowing it is no fault.
        let _ =
            file.set_len(0).and_then(|()| write!(file, "process {} on {}", std::process::id(), ebbing::data::host()));
        Ok(file)
    }

    fn shared(&self, (path, mut file): (PathBuf, File)) -> Result<File> {
        taken(file.try_lock_shared(), &path)?.then_some(()).ok_or_else(|| self.in_use(&mut file))?;
        Ok(file)
    }

    fn in_use(&self, file: &mut File) -> Error {
        let mut who = String::new();
        let known = file.rewind().and_then(|()| file.read_to_string(&mut who)).is_ok() && !who.is_empty();
        let by = if known { who } else { "another run".into() };
        let expected = "wait until that run ends, or stop it; finished cells stay";
        ebbing::Error::file(self.folder(), "the folder", format!("in use by {by}"), expected).into()
    }

    /// Claims a cell; `None` where another process is computing it.
    pub(crate) fn claim(&self, index: usize) -> Result<Option<Claimed>> {
        let (path, file) = open(&self.subfolder("running")?.join(&self.keys[index]))?;
        // A glance of `study status` holds the file for an instant: try again before believing that it is taken.
        for _ in 0..5 {
            if taken(file.try_lock(), &path)? {
                return Ok(Some(Claimed { path, _file: file }));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(None)
    }

    /// Whether a process is computing a cell.
    pub(super) fn is_running(&self, index: usize) -> bool {
        let path = self.folder().join("running").join(&self.keys[index]);
        File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// What killed runs left: claims that nobody holds. Called by a run that is alone.
    fn remove_leftovers(&self) -> Result<()> {
        let folder = self.subfolder("running")?;
        let entries = std::fs::read_dir(&folder).map_err(|e| ebbing::Error::io(&folder, e))?;
        let remove = |path: PathBuf| std::fs::remove_file(&path).map_err(|e| ebbing::Error::io(path, e).into());
        entries.flatten().try_for_each(|entry| remove(entry.path()))
    }
}

fn open(path: &Path) -> Result<(PathBuf, File)> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    Ok((path.to_path_buf(), file.map_err(|e| ebbing::Error::io(path, e))?))
}

/// Whether the lock was granted. A file system without locks grants all: there the scheduler keeps runs apart.
fn taken(attempt: std::result::Result<(), TryLockError>, path: &Path) -> Result<bool> {
    match attempt {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(e)) => Err(ebbing::Error::io(path, e).into()),
    }
}
