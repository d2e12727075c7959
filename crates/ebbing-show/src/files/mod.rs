//! Files, each written whole or not at all.
//!
//! Every file carries the program, version, command, seed, data and settings behind it, and the unit of each column:
//! - CSV: lines `# name: value` before the head, `# column NAME: UNIT; MEANING` for each column;
//! - Parquet: the same names in the key-value metadata of the file, the columns as JSON under `columns`;
//! - JSON: an object with `metadata` beside everything about the answer.

mod csv;
mod json;
mod parquet;

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::metadata::Metadata;
use crate::table::Table;

pub use csv::{to_csv, write_csv};
pub use json::json_number;
pub use parquet::write_parquet;

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
