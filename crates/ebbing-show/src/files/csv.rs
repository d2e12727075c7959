//! CSV with the settings in leading comment lines.

use std::path::Path;

use crate::error::{Error, Result};
use crate::metadata::Metadata;
use crate::style::exact;
use crate::table::{FileColumn, FileValues, Table};
use crate::text::Rich;

/// A value on one line: line breaks and other controls are written as escapes.
fn one_line(value: &str) -> String {
    value.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect()
}

fn comments(table: &Table, columns: &[FileColumn], metadata: &Metadata) -> String {
    let mut out = String::new();
    for (name, value) in metadata.entries() {
        out += &format!("# {name}: {}\n", one_line(&value));
    }
    out += &format!("# table: {}\n", one_line(&Rich::parse(&table.title).plain()));
    for c in columns {
        let parts: Vec<&str> = [c.unit.as_str(), c.meaning.as_str()].into_iter().filter(|p| !p.is_empty()).collect();
        out += &format!("# column {}: {}\n", c.key, one_line(&parts.join("; ")));
    }
    out
}

/// A table as CSV: numbers to full precision (`NaN`, `inf` where they are), comments first, fields quoted where
/// needed. Read it with any reader that skips lines starting with `#`.
///
/// # Errors
/// When the table is not sound.
pub fn to_csv(table: &Table, metadata: &Metadata) -> Result<Vec<u8>> {
    let path = Path::new(&table.title);
    let columns = table.file_columns()?;
    let rows = table.rows()?;
    let failed = |e: csv::Error| Error::format(path, e);
    let bytes = comments(table, &columns, metadata).into_bytes();
    let mut writer = csv::WriterBuilder::new().comment(Some(b'#')).from_writer(bytes);
    writer.write_record(columns.iter().map(|c| &c.key)).map_err(failed)?;
    for row in 0..rows {
        let cells = columns.iter().map(|c| match &c.values {
            FileValues::Numbers(v) => exact(v[row]),
            FileValues::Integers(v) => v[row].to_string(),
            FileValues::Texts(v) => Rich::parse(&v[row]).plain(),
        });
        writer.write_record(cells).map_err(failed)?;
    }
    writer.into_inner().map_err(|e| Error::format(path, e.error()))
}

/// Writes a table as CSV, as [`to_csv`] makes it.
///
/// # Errors
/// When the table is not sound or the file cannot be written.
pub fn write_csv(path: &Path, table: &Table, metadata: &Metadata) -> Result<()> {
    Ok(ebbing::data::write_atomic(path, &to_csv(table, metadata)?)?)
}
