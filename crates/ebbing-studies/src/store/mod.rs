//! Results on disk: a folder with `study.json`, one file per finished cell, and what was collected from them.
//!
//! | path | holds |
//! |---|---|
//! | `study.json` | name, version, settings, data and all cells, with a checksum |
//! | `cells/CELL.json` | the rows of a cell, with its settings and a checksum; CELL is a checksum of settings and seed |
//! | `failed/CELL.json` | why a cell could not be computed |
//! | `running/CELL` | held (locked) while a cell is computed |
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
    /// The checksum of what all cells share, repeated in every cell's file.
    hash: String,
    /// The names of the cells' files, in order.
    keys: Vec<String>,
}

impl Store {
    /// The folder of a study: made where it is missing, taken up where it holds results of this very study, or of a part of
    /// its grid.
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
            if store.manifest.check_same(&manifest, &path)? {
                return Ok(store);
            }
            // A larger grid: nobody else may be at work while the list of cells changes.
            let _alone = store.lock(&Share::All)?;
            return Store::written(folder, manifest);
        }
        std::fs::create_dir_all(folder).map_err(|e| ebbing::Error::io(folder, e))?;
        Store::written(folder, manifest)
    }

    /// The folder as it would be taken up, with nothing written: for estimates.
    ///
    /// # Errors
    /// As [`Store::create`], and where there is no folder of results.
    pub fn preview(folder: &Path, study: &Study) -> Result<Store> {
        let manifest = Manifest::of(study)?;
        Store::open(folder)?.manifest.check_same(&manifest, &folder.join("study.json"))?;
        Store::of(folder, manifest)
    }

    fn written(folder: &Path, manifest: Manifest) -> Result<Store> {
        ebbing::data::write_atomic(&folder.join("study.json"), &manifest.to_file()?)?;
        Store::of(folder, manifest)
    }

    fn of(folder: &Path, manifest: Manifest) -> Result<Store> {
        let keys = manifest.cells.iter().map(cells::key).collect::<Result<Vec<_>>>()?;
        Ok(Store { folder: folder.into(), hash: manifest.shared()?, keys, manifest })
    }

    /// The folder as it is.
    ///
    /// # Errors
    /// Where there is no `study.json`, or a damaged one.
    pub fn open(folder: &Path) -> Result<Store> {
        let path = folder.join("study.json");
        if !path.is_file() {
            let expected = "give a folder that `ebbing study run` or `ebbing-paper figure` wrote";
            return Err(ebbing::Error::file(folder, "study.json", "not there", expected).into());
        }
        Store::of(folder, Manifest::read(&path)?)
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

/// SHA-256 in hexadecimal.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
