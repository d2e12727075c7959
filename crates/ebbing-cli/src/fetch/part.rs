//! A download under way: `NAME.part` with what was received, and `NAME.part.json` with what it is a part of.

use crate::files;
use ebbing::{Error, Result};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What the server said of the file that a part belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Where it was asked for.
    pub url: String,
    /// Its length in bytes.
    pub total: Option<u64>,
    /// Its entity tag.
    pub etag: Option<String>,
    /// When it last changed, in the server's words.
    pub modified: Option<String>,
}

impl Origin {
    /// What to ask for in `If-Range`, so that only bytes of the same file are added: a strong tag or the date.
    pub fn validator(&self) -> Option<&str> {
        self.etag.as_deref().filter(|tag| !tag.starts_with("W/")).or(self.modified.as_deref())
    }
}

/// The part, held open and locked against other runs.
pub struct PartialFile {
    path: PathBuf,
    file: File,
    len: u64,
    origin: Option<Origin>,
}

impl PartialFile {
    /// Opens, or begins, the part that will become `target`.
    ///
    /// # Errors
    /// If the disk refuses, or another run is downloading the same file.
    pub fn open(target: &Path) -> Result<PartialFile> {
        let path = with_suffix(target, ".part");
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = open.map_err(|e| Error::io(&path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::file(&path, "the file", "in use", "another run is downloading it; let it finish"));
            }
            Err(TryLockError::Error(e)) => return Err(Error::io(&path, e)),
        }
        let len = file.metadata().map_err(|e| Error::io(&path, e))?.len();
        let origin = fs::read(with_suffix(&path, ".json")).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let mut part = PartialFile { path, file, len, origin };
        if part.origin.is_none() {
            part.clear()?;
        }
        Ok(part)
    }

    /// Where the part is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes have been received.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// What the part belongs to, if it was asked for at `url` and can be added to: without the length of the whole file
    /// nothing shows that the rest belongs to it.
    pub fn origin_at(&self, url: &str) -> Option<&Origin> {
        self.origin.as_ref().filter(|origin| origin.url == url && origin.total.is_some() && self.len > 0)
    }

    /// Starts again from nothing.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn clear(&mut self) -> Result<()> {
        let note = with_suffix(&self.path, ".json");
        if note.exists() {
            fs::remove_file(&note).map_err(|e| Error::io(&note, e))?;
        }
        self.origin = None;
        self.file.set_len(0).map_err(|e| Error::io(&self.path, e))?;
        self.len = 0;
        Ok(())
    }

    /// Starts again from nothing with what a server said of the file.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn begin(&mut self, origin: Origin) -> Result<()> {
        self.clear()?;
        let text = serde_json::to_vec_pretty(&origin).map_err(|e| Error::io(&self.path, e.into()))?;
        ebbing::data::write_atomic(&with_suffix(&self.path, ".json"), &text)?;
        self.origin = Some(origin);
        Ok(())
    }

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let end = SeekFrom::Start(self.len);
        let written = self.file.seek(end).and_then(|_| self.file.write_all(bytes));
        written.map_err(|e| Error::io(&self.path, e))?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Makes the part durable and gives it its final name.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn place(self, target: &Path) -> Result<()> {
        self.file.sync_all().map_err(|e| Error::io(&self.path, e))?;
        files::rename(&self.path, target)?;
        let note = with_suffix(&self.path, ".json");
        fs::remove_file(&note).map_err(|e| Error::io(&note, e))
    }
}

impl Drop for PartialFile {
    /// An empty part is worth nothing to a later run.
    fn drop(&mut self) {
        if self.len == 0 {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    PathBuf::from(name)
}
