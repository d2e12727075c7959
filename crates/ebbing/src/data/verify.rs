//! Checks a copy of a data set: file checksums against published ones, decoded sizes and classes against the official set.

use super::file_sha256;
use super::known::KnownSet;
use super::places::{Places, SetCopy};
use crate::error::{Error, Result};
use std::path::PathBuf;

/// One file of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCheck {
    /// The file.
    pub path: PathBuf,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// Where that very checksum is published, if it is: a repacked copy has another one.
    pub published: Option<&'static str>,
}

/// What a check of a copy found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The copy.
    pub found: SetCopy,
    /// Its files.
    pub files: Vec<FileCheck>,
    /// SHA-256 over the decoded examples and labels.
    pub sha256: String,
    /// Training and test examples.
    pub rows: (usize, usize),
    /// How it differs from the official set in size, shape or classes; empty if it does not, or if there is none.
    pub differences: Vec<String>,
}

impl Places {
    /// Reads the copy of a set that would be loaded, and checks it in every way there is.
    ///
    /// # Errors
    /// [`Error::Setting`] where there is no copy; any error of reading a damaged copy.
    pub fn verify(&self, name: &str) -> Result<Verification> {
        let missing = || Error::setting("data set", name, "no copy was found");
        let found = self.find(name)?.ok_or_else(missing)?;
        let dataset = found.load()?;
        let set = KnownSet::named(&found.name);
        let known = set.iter().flat_map(|set| set.files.iter().chain(set.other_files)).collect::<Vec<_>>();
        let check = |path: &PathBuf| {
            let sha256 = file_sha256(path)?;
            let published = known.iter().find(|file| file.sha256 == sha256).map(|file| file.checksum_source);
            Ok(FileCheck { path: path.clone(), sha256, published })
        };
        Ok(Verification {
            files: found.files.iter().map(check).collect::<Result<_>>()?,
            rows: (dataset.train.features.rows(), dataset.test.as_ref().map_or(0, |test| test.features.rows())),
            differences: set.map_or(vec![], |set| set.differences(&dataset)),
            sha256: dataset.origin.sha256,
            found,
        })
    }
}
