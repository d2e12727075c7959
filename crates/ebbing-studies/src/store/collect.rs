//! Collecting: the rows of all cells, in the order of the cells, whoever computed them and when.

use super::Store;
use super::cells::StoredCell;
use crate::cell::{Cell, Row};
use crate::error::{Error, Result};
use crate::frame::Frame;
use ebbing_show::{Metadata, write_table};
use std::path::PathBuf;

impl Store {
    /// The rows of all cells; with `partial`, of those that are done.
    ///
    /// # Errors
    /// Where cells are missing (unless `partial`) or none is done.
    pub fn frame(&self, partial: bool) -> Result<Frame> {
        let mut results: Vec<(&Cell, Vec<Row>)> = Vec::new();
        let mut absent = Vec::new();
        for (k, cell) in self.manifest().cells.iter().enumerate() {
            match self.read(k)? {
                StoredCell::Rows(rows) => results.push((cell, rows)),
                StoredCell::Nothing | StoredCell::Damaged(_) => absent.push(k + 1),
            }
        }
        let first = absent.first().copied().unwrap_or_default();
        if results.is_empty() || !(partial || absent.is_empty()) {
            let rest = if results.is_empty() { "" } else { ", or collect the others alone (--partial)" };
            let problem = format!(
                "{} of {} cells are not there (the first is cell {first}); run the study again to compute them{rest}",
                absent.len(),
                self.count()
            );
            return Err(Error::data(self.folder().display().to_string(), problem));
        }
        let frame = Frame::collect(results.iter().map(|(cell, rows)| (*cell, rows.as_slice())));
        if frame.is_empty() {
            return Err(Error::data(self.folder().display().to_string(), "its cells have no rows"));
        }
        Ok(frame)
    }

    /// Writes the collected rows as `NAME.csv` and `NAME.parquet` into the folder. Their bytes depend on the study alone.
    ///
    /// # Errors
    /// As [`Store::frame`], and where a file cannot be written.
    pub fn collect(&self, frame: &Frame, name: &str) -> Result<[PathBuf; 2]> {
        let manifest = self.manifest();
        // Where every cell was there nothing was written among them, and what a killed run left would stay.
        ["cells", "failed"].iter().for_each(|name| ebbing::data::remove_unfinished(&self.folder().join(name)));
        let table = frame.described(&ebbing_show::escape_markup(&manifest.name), |name| {
            let column = manifest.columns.iter().find(|column| column.name == name)?;
            Some((column.unit.as_str(), column.meaning.as_str()))
        });
        Ok(write_table(self.folder(), name, &table, &self.metadata()?)?)
    }

    /// What every file of the study carries. No path and no flag that leaves the result alone.
    ///
    /// # Errors
    /// Where settings are no JSON.
    pub fn metadata(&self) -> Result<Metadata> {
        let manifest = self.manifest();
        let names: Vec<&str> = manifest.data.keys().map(String::as_str).collect();
        let hashes: Vec<&str> = manifest.data.values().map(String::as_str).collect();
        let metadata = Metadata::new(&manifest.version, &format!("study {}", manifest.name));
        Ok(metadata.dataset(&names.join(", "), &hashes.join(", ")).settings(&manifest.settings)?)
    }
}
