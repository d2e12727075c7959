//! CSV: one example per line, one column of which may be its label.

use super::{Features, Part, Targets, file};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use csv::{ByteRecord, Reader, ReaderBuilder, Trim};
use std::path::Path;

/// Which column holds the label or target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LabelColumn {
    /// The last one.
    #[default]
    Last,
    /// The first one.
    First,
    /// The column with this heading.
    Named(String),
}

/// How a CSV file is read.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `header` | detected | whether the first line holds headings: it does if one of its fields is no number |
/// | `label` | last | the column with labels; integers are classes, other numbers real targets |
/// | `delimiter` | `,` | the byte between fields |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// Whether the first line holds headings; detected if not given.
    pub header: Option<bool>,
    /// The column with labels.
    pub label: LabelColumn,
    /// The byte between fields.
    pub delimiter: u8,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions { header: None, label: LabelColumn::Last, delimiter: b',' }
    }
}

/// Reads examples and their labels from a CSV file, plain or gzipped. Errors number lines from 1, as editors do.
///
/// # Errors
/// [`Error::Io`] where it cannot be read; [`Error::File`] for lines of unequal length, fields that are no finite
/// numbers, fewer than two columns, no lines, or no column of the given name.
pub fn read_csv(path: impl AsRef<Path>, options: &CsvOptions) -> Result<Part> {
    let path = path.as_ref();
    parse_csv(&file::read(path)?, path, options)
}

/// The same from bytes already in memory; `path` names them in errors.
///
/// # Errors
/// As for [`read_csv`].
pub fn parse_csv(bytes: &[u8], path: &Path, options: &CsvOptions) -> Result<Part> {
    let mut record = ByteRecord::new();
    let mut first = reader(bytes, options);
    next(&mut first, &mut record, path)?;
    let columns = record.len();
    if columns < 2 {
        let expected = "expected at least one feature and a label; is the delimiter right?";
        return Err(Error::file(path, "the number of columns", columns, expected));
    }
    let header = options.header.unwrap_or_else(|| record.iter().any(|field| number(field).is_none()));
    let label = label_column(&record, header, options, path)?;
    // Lines are counted, and found to be of one length, before anything is allocated for them.
    let mut rows = usize::from(!header);
    while next(&mut first, &mut record, path)? {
        rows += 1;
    }
    if rows == 0 {
        return Err(Error::file(path, "the number of examples", 0, "expected lines of numbers"));
    }
    let (mut x, mut y) = (Mat::zeros(rows, columns - 1), Vec::with_capacity(rows));
    let mut lines = reader(bytes, options);
    if header {
        next(&mut lines, &mut record, path)?;
    }
    let mut whole = true;
    for i in 0..rows {
        next(&mut lines, &mut record, path)?;
        for (column, field) in record.iter().enumerate() {
            let value = number(field).filter(|v| v.is_finite()).ok_or_else(|| {
                let line = record.position().map_or(0, |p| p.line());
                let shown: String = String::from_utf8_lossy(field).chars().take(40).collect();
                let field = format!("line {line}, column {}", column + 1);
                Error::file(path, field, format!("\"{shown}\""), "every field must be a finite number")
            })?;
            if column == label {
                whole &= integer(field).is_some();
                y.push(value);
            } else {
                x[(i, column - usize::from(column > label))] = value;
            }
        }
    }
    let targets = if whole {
        Targets::Classes(y.iter().map(|&v| v as i64).collect())
    } else {
        Targets::Real(Mat::from_fn(rows, 1, |i, _| y[i]))
    };
    Ok(Part { features: Features::Real(x), targets })
}

fn reader<'a>(bytes: &'a [u8], options: &CsvOptions) -> Reader<&'a [u8]> {
    ReaderBuilder::new().has_headers(false).trim(Trim::All).delimiter(options.delimiter).from_reader(bytes)
}

/// Reads the next line; its length must be that of the lines before.
fn next(reader: &mut Reader<&[u8]>, record: &mut ByteRecord, path: &Path) -> Result<bool> {
    reader.read_byte_record(record).map_err(|e| {
        let line = e.position().map_or(0, |p| p.line());
        match e.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                let expected = format!("the lines before have {expected_len}");
                Error::file(path, format!("the number of columns in line {line}"), len, expected)
            }
            _ => Error::file(path, format!("line {line}"), "unreadable", e.to_string()),
        }
    })
}

fn label_column(first: &ByteRecord, header: bool, options: &CsvOptions, path: &Path) -> Result<usize> {
    match &options.label {
        LabelColumn::First => Ok(0),
        LabelColumn::Last => Ok(first.len() - 1),
        LabelColumn::Named(name) => {
            let found = first.iter().position(|field| header && field == name.as_bytes());
            let heads: Vec<_> = first.iter().take(8).map(String::from_utf8_lossy).collect();
            let expected = if header {
                format!("the columns are {}, …", heads.join(", "))
            } else {
                "there are no headings".into()
            };
            found.ok_or_else(|| Error::file(path, "the label column", format!("\"{name}\""), expected))
        }
    }
}

fn number(field: &[u8]) -> Option<f64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Integers up to 2^53, which real numbers hold exactly.
fn integer(field: &[u8]) -> Option<i64> {
    let value: i64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    (value.unsigned_abs() <= 1 << 53).then_some(value)
}
