//! One file per cell: a line with the checksum, and a line with the study, the cell and its rows.
//!
//! A file is named after its cell (settings and seed), not after its place in the grid: a larger grid finds what is there.

use super::{Manifest, Store, digest};
use crate::cell::{Cell, Row};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The second line of a finished cell's file.
#[derive(Serialize, Deserialize)]
struct Finished {
    /// The checksum of what it shares with all cells of its study: version and settings.
    study: String,
    /// Checksums of the data sets and files that the study had when it was computed.
    #[serde(default)]
    data: BTreeMap<String, String>,
    cell: Cell,
    rows: Vec<Row>,
}

/// The second line of a failed cell's file.
#[derive(Serialize, Deserialize)]
struct Failed {
    study: String,
    cell: Cell,
    error: String,
}

/// What a cell's file says.
#[derive(Debug, PartialEq)]
pub(crate) enum StoredCell {
    /// There is none.
    Nothing,
    /// Sound rows.
    Rows(Vec<Row>),
    /// Cut short or changed: what is wrong with it. To be computed again.
    Damaged(String),
}

impl Store {
    pub(super) fn cell_path(&self, index: usize) -> PathBuf {
        self.folder().join("cells").join(format!("{}.json", self.keys[index]))
    }

    fn failure_path(&self, index: usize) -> PathBuf {
        self.folder().join("failed").join(format!("{}.json", self.keys[index]))
    }

    /// Reads a cell's file.
    ///
    /// # Errors
    /// Where it cannot be read, or is sound but of another study.
    pub(crate) fn read(&self, index: usize) -> Result<StoredCell> {
        let path = self.cell_path(index);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(StoredCell::Nothing),
            Err(e) => return Err(ebbing::Error::io(path, e).into()),
        };
        let finished: Finished = match verified(&bytes) {
            Ok(finished) => finished,
            Err(problem) => return Ok(StoredCell::Damaged(format!("{}: {problem}", path.display()))),
        };
        if finished.study != self.hash {
            let expected = "it belongs to another study: remove it, or choose another folder (--out)";
            return Err(ebbing::Error::file(path, "the study's checksum", finished.study, expected).into());
        }
        let data = self.manifest().contents();
        if let Some((name, found)) =
            finished.data.iter().find(|(name, sha256)| data.get(*name).is_some_and(|own| own != *sha256))
        {
            let expected = "the study's is another: remove the cell, which was computed from other data, or choose another folder (--out)";
            return Err(ebbing::Error::file(path, format!("the checksum of {name}"), found, expected).into());
        }
        // By their JSON: what it cannot tell apart (a word `inf` and the number) is the same.
        if key(&finished.cell)? != self.keys[index] {
            let label = finished.cell.label();
            return Ok(StoredCell::Damaged(format!("{}: it holds the rows of another cell ({label})", path.display())));
        }
        Ok(StoredCell::Rows(finished.rows))
    }

    /// Takes over the finished cells of another folder that has the same ones (version, settings, columns and data agree, only the
    /// name differs); returns how many there were.
    ///
    /// # Errors
    /// Where a file cannot be read or written.
    pub fn take(&self, other: &Store) -> Result<usize> {
        let named = Manifest { name: self.manifest().name.clone(), ..other.manifest().clone() };
        let (own, theirs) = (self.manifest(), other.manifest());
        if named.shared()? != self.hash || own.columns != theirs.columns || own.contents() != theirs.contents() {
            return Ok(0);
        }
        let mut taken = 0;
        for (index, key) in self.keys.iter().enumerate() {
            let Some(place) = other.keys.iter().position(|known| known == key) else { continue };
            if self.read(index)? != StoredCell::Nothing {
                continue;
            }
            if let StoredCell::Rows(rows) = other.read(place)? {
                self.write(index, rows)?;
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// The rows of a cell (by its place, from 0).
    ///
    /// # Errors
    /// Where they are not there, damaged, or of another study.
    pub fn rows(&self, index: usize) -> Result<Vec<Row>> {
        let path = self.cell_path(index).display().to_string();
        match self.read(index)? {
            StoredCell::Rows(rows) => Ok(rows),
            StoredCell::Nothing => Err(Error::data(path, "the cell is not there yet")),
            StoredCell::Damaged(problem) => Err(Error::data(path, problem)),
        }
    }

    /// Writes a cell's rows; on disk when this returns.
    pub(crate) fn write(&self, index: usize, rows: Vec<Row>) -> Result<()> {
        self.subfolder("cells")?;
        let cell = self.manifest().cells[index].clone();
        let finished = Finished { study: self.hash.clone(), data: self.manifest().contents(), cell, rows };
        ebbing::data::write_atomic(&self.cell_path(index), &signed(&finished)?)?;
        let failure = self.failure_path(index);
        if failure.exists() {
            std::fs::remove_file(&failure).map_err(|e| ebbing::Error::io(failure, e))?;
        }
        Ok(())
    }

    /// Records why a cell could not be computed.
    pub(crate) fn write_failure(&self, index: usize, error: &str) -> Result<()> {
        self.subfolder("failed")?;
        let cell = self.manifest().cells[index].clone();
        let failed = Failed { study: self.hash.clone(), cell, error: error.into() };
        Ok(ebbing::data::write_atomic(&self.failure_path(index), &signed(&failed)?)?)
    }

    /// Why a cell could not be computed, where that is recorded.
    pub(super) fn failure(&self, index: usize) -> Option<String> {
        let bytes = std::fs::read(self.failure_path(index)).ok()?;
        let failed: Option<Failed> = verified(&bytes).ok();
        Some(failed.map_or("the record of its failure is damaged".into(), |failed| failed.error))
    }
}

/// The name of a cell's files: the first 64 bits of the SHA-256 of its settings and seed.
pub(super) fn key(cell: &Cell) -> Result<String> {
    let json = serde_json::to_value(cell).map_err(|e| Error::data("a cell's settings", e.to_string()))?;
    let mut name = digest(json.to_string().as_bytes());
    name.truncate(16);
    Ok(name)
}

/// A line with the checksum of the next, and that line.
fn signed(content: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_string(content).map_err(|e| Error::data("a cell's rows", e.to_string()))?;
    line.push('\n');
    Ok(format!("{{\"sha256\":\"{}\"}}\n{line}", digest(line.as_bytes())).into_bytes())
}

/// The second line, if it is what the first says.
fn verified<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> std::result::Result<T, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is no text")?;
    let (head, line) = text.split_once('\n').ok_or("ends within its first line")?;
    if head != format!("{{\"sha256\":\"{}\"}}", digest(line.as_bytes())) {
        return Err("its checksum differs (cut short or changed)".into());
    }
    serde_json::from_str(line).map_err(|e| e.to_string())
}
