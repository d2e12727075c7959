//! Results on disk: a folder with `study.json`, one file per finished cell, and what was collected from them.
//!
//! | path | holds |
//! |---|---|
//! | `study.json` | name, version, settings, data and all cells, with a checksum |
//! | `cells/000012.json` | the rows of cell 12, with a checksum |
//! | `failed/000012.json` | why cell 12 could not be computed |
//! | `running/000012` | held (locked) while cell 12 is computed |
//! | `locks/` | held while a run works in the folder |
//!
//! Every file appears whole under its name or not at all, and is on disk before the next cell begins.

mod cells;
mod collect;
mod lock;
mod manifest;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use cells::StoredCell;
pub use lock::{Lock, Share};
pub use manifest::{Manifest, StoredColumn};
pub use status::{CellState, Status};

use crate::error::Result;
use crate::study::Study;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// A folder of results.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    manifest: Manifest,
    /// The checksum of the manifest, repeated in every cell's file.
    hash: String,
}

impl Store {
    /// The folder of a study: made where it is missing, taken up where it holds results of this very study.
    ///
    /// # Errors
    /// Where it holds results of another version, of other settings or other data, or cannot be written.
    pub fn create(folder: &Path, study: &Study) -> Result<Store> {
        Store::with_manifest(folder, Manifest::of(study)?)
    }

    pub(crate) fn with_manifest(folder: &Path, manifest: Manifest) -> Result<Store> {
        let path = folder.join("study.json");
        if path.exists() {
            let store = Store::open(folder)?;
            store.manifest.check_same(&manifest, &path)?;
            return Ok(store);
        }
        std::fs::create_dir_all(folder).map_err(|e| ebbing::Error::io(folder, e))?;
        let (bytes, hash) = manifest.to_file()?;
        ebbing::data::write_atomic(&path, &bytes)?;
        Ok(Store { folder: folder.into(), manifest, hash })
    }

    /// The folder as it is.
    ///
    /// # Errors
    /// Where there is no `study.json`, or a damaged one.
    pub fn open(folder: &Path) -> Result<Store> {
        let path = folder.join("study.json");
        if !path.is_file() {
            let expected = "give a folder that `ebbing study run` or `ebbing reproduce` wrote";
            return Err(ebbing::Error::file(folder, "study.json", "not there", expected).into());
        }
        let (manifest, hash) = Manifest::read(&path)?;
        Ok(Store { folder: folder.into(), manifest, hash })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it holds results of.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The number of cells.
    pub fn count(&self) -> usize {
        self.manifest.cells.len()
    }

    fn subfolder(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        std::fs::create_dir_all(&path).map_err(|e| ebbing::Error::io(&path, e))?;
        Ok(path)
    }
}

/// How file names count cells: from 1, so that they sort.
fn number(index: usize) -> String {
    format!("{:06}", index + 1)
}

/// SHA-256 in hexadecimal.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
