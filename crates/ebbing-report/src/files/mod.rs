//! Files: written to a temporary name, then renamed, so that a half-written file is never seen.
//!
//! Every file carries the program, version, command, seed, data and settings behind it, and the unit of each column:
//! - CSV: lines `# name: value` before the head, `# column NAME: UNIT; MEANING` for each column;
//! - Parquet: the same names in the key-value metadata of the file, the columns as JSON under `columns`;
//! - JSON: an object with `metadata`, and `table` or `data`.

mod csv;
mod json;
mod parquet;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::metadata::Metadata;
use crate::table::Table;

pub use csv::write_csv;
pub use json::{json_number, json_numbers, write_json};
pub use parquet::write_parquet;

/// Writes a whole file, or nothing.
///
/// # Errors
/// When the file cannot be written; what was there before stays.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|e| {
        let _ = fs::remove_file(&temporary);
        Error::io(path, e)
    })
}

/// Writes `name.csv` and `name.parquet` into a directory and returns their paths.
///
/// # Errors
/// When the table is not sound or a file cannot be written.
pub fn write_table(directory: &Path, name: &str, table: &Table, metadata: &Metadata) -> Result<[PathBuf; 2]> {
    let (csv, parquet) = (directory.join(format!("{name}.csv")), directory.join(format!("{name}.parquet")));
    write_csv(&csv, table, metadata)?;
    write_parquet(&parquet, table, metadata)?;
    Ok([csv, parquet])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        write_atomic(&path, b"old").unwrap();
        write_atomic(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        // A directory in the way: the rename fails and the temporary file goes.
        let blocked = directory.path().join("blocked");
        fs::create_dir_all(blocked.join("full")).unwrap();
        let error = write_atomic(&blocked, b"x").unwrap_err().to_string();
        assert!(error.contains("blocked"), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
        assert!(write_atomic(&directory.path().join("missing/x"), b"x").is_err());
    }
}
