//! CSV: one example per line, one column of which may be its label.

use super::array::{Array, Values};
use super::{Features, Part, Targets, file};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use csv::{ByteRecord, Reader, ReaderBuilder, Trim};
use std::collections::BTreeSet;
use std::path::Path;

/// Which column holds the label or target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LabelColumn {
    /// The one whose heading is label, target, class or y (or labels, targets, classes, in any case of letters), where there
    /// are headings; else the last one.
    #[default]
    Auto,
    /// The last one.
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
/// | `header` | detected | whether the first line holds headings: it does if a field other than the label is no number |
/// | `label` | by its heading, or last | the column with labels; integers and words are classes, other numbers real targets |
/// | `delimiter` | `,` | the byte between fields |
/// | `classes` | those found | the names of classes by number, where labels are words: else in alphabetical order |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// Whether the first line holds headings; detected if not given.
    pub header: Option<bool>,
    /// The column with labels.
    pub label: LabelColumn,
    /// The byte between fields.
    pub delimiter: u8,
    /// The names of classes by number, where labels are words; empty: those that occur, in alphabetical order.
    pub classes: Vec<String>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions { header: None, label: LabelColumn::Auto, delimiter: b',', classes: Vec::new() }
    }
}

/// Reads examples and their labels from a CSV file, plain or gzipped. Errors number lines from 1, as editors do.
///
/// # Errors
/// [`Error::Io`] where it cannot be read; [`Error::File`] for lines of unequal length, features that are no finite
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
    let Lines { features, labels } = lines(bytes, path, options)?;
    let whole = |label: &String| integer(label.as_bytes());
    let targets = match labels.iter().map(whole).collect::<Option<Vec<i64>>>() {
        Some(classes) => Targets::Classes(classes),
        None => match labels.iter().map(|label| number(label.as_bytes())).collect::<Option<Vec<f64>>>() {
            Some(y) => Targets::Real(Mat::from_fn(y.len(), 1, |i, _| y[i])),
            None => Targets::Classes(numbered(&labels, path, options)?),
        },
    };
    Ok(Part { features: Features::Real(features), targets })
}

/// Examples `x` and labels `y` of a file as arrays: labels are integers, other numbers, or words.
///
/// # Errors
/// As for [`read_csv`].
pub(crate) fn csv_arrays(bytes: &[u8], path: &Path, options: &CsvOptions) -> Result<Vec<(String, Array)>> {
    let Lines { features, labels } = lines(bytes, path, options)?;
    let whole = labels.iter().map(|label| integer(label.as_bytes())).collect::<Option<Vec<i64>>>();
    let real = labels.iter().map(|label| number(label.as_bytes())).collect::<Option<Vec<f64>>>();
    let shape = vec![labels.len()];
    let values = match (whole, real) {
        (Some(whole), _) => Values::Integers(whole),
        (None, Some(real)) => Values::Real(real),
        (None, None) => Values::Texts(labels),
    };
    Ok(vec![("x".into(), Array::from_mat(features.as_ref())), ("y".into(), Array { shape, values })])
}

/// The names of the classes by number, where the labels of a file are words; none where they are numbers.
///
/// # Errors
/// As for [`read_csv`].
pub(super) fn class_names(path: &Path, options: &CsvOptions) -> Result<Vec<String>> {
    let labels = lines(&file::read(path)?, path, options)?.labels;
    let words = labels.iter().any(|label| number(label.as_bytes()).is_none());
    Ok(if words { labels.into_iter().collect::<BTreeSet<_>>().into_iter().collect() } else { Vec::new() })
}

/// The number of the class that each word names.
fn numbered(labels: &[String], path: &Path, options: &CsvOptions) -> Result<Vec<i64>> {
    let found: BTreeSet<&String> = labels.iter().collect();
    let names: Vec<&String> =
        if options.classes.is_empty() { found.into_iter().collect() } else { options.classes.iter().collect() };
    let number = |label: &String| {
        let expected = "the classes are those of the training file";
        let at = names.iter().position(|name| *name == label);
        at.map(|at| at as i64).ok_or_else(|| Error::file(path, "a label", format!("\"{label}\""), expected))
    };
    labels.iter().map(number).collect()
}

/// What the lines of a file hold: numbers, and labels as they are written.
struct Lines {
    features: Mat<f64>,
    labels: Vec<String>,
}

fn lines(bytes: &[u8], path: &Path, options: &CsvOptions) -> Result<Lines> {
    let mut record = ByteRecord::new();
    let mut first = reader(bytes, options);
    next(&mut first, &mut record, path)?;
    let columns = record.len();
    if columns < 2 {
        let expected = "expected at least one feature and a label; is the delimiter right?";
        return Err(Error::file(path, "the number of columns", columns, expected));
    }
    let header = options.header.unwrap_or_else(|| has_headings(&record, options));
    let label = label_column(&record, header, options, path)?;
    // Lines are counted, and found to be of one length, before anything is allocated for them.
    let mut rows = usize::from(!header);
    while next(&mut first, &mut record, path)? {
        rows += 1;
    }
    if rows == 0 {
        return Err(Error::file(path, "the number of examples", 0, "expected lines of numbers"));
    }
    let (mut x, mut labels) = (Mat::zeros(rows, columns - 1), Vec::with_capacity(rows));
    let mut lines = reader(bytes, options);
    if header {
        next(&mut lines, &mut record, path)?;
    }
    for i in 0..rows {
        next(&mut lines, &mut record, path)?;
        for (column, field) in record.iter().enumerate() {
            let refuse = |expected: &str| {
                let line = record.position().map_or(0, |p| p.line());
                let shown: String = String::from_utf8_lossy(field).chars().take(40).collect();
                Error::file(path, format!("line {line}, column {}", column + 1), format!("\"{shown}\""), expected)
            };
            if column == label {
                let text = std::str::from_utf8(field).ok().filter(|text| !text.is_empty());
                let text = text.ok_or_else(|| refuse("every example needs a label: a number or a word"))?;
                if number(field).is_some_and(|v| !v.is_finite()) {
                    return Err(refuse("every field must be a finite number"));
                }
                let words = |label: &[u8]| number(label).is_none();
                if labels.first().is_some_and(|first: &String| words(first.as_bytes()) != words(field)) {
                    return Err(refuse("labels must be all numbers or all words"));
                }
                labels.push(text.to_string());
            } else {
                let value = number(field).filter(|v| v.is_finite());
                let expected = "every field but the label must be a finite number";
                x[(i, column - usize::from(column > label))] = value.ok_or_else(|| refuse(expected))?;
            }
        }
    }
    Ok(Lines { features: x, labels })
}

/// Whether the first line holds headings: a field other than the label is no number, or the label is called so.
fn has_headings(first: &ByteRecord, options: &CsvOptions) -> bool {
    let label = match &options.label {
        LabelColumn::Named(_) => return true,
        LabelColumn::First => 0,
        LabelColumn::Auto | LabelColumn::Last => first.len() - 1,
    };
    first.iter().enumerate().any(|(column, field)| (column != label && number(field).is_none()) || names_labels(field))
}

/// Whether a heading says that its column holds labels.
fn names_labels(heading: &[u8]) -> bool {
    let known = ["label", "labels", "target", "targets", "class", "classes", "y"];
    std::str::from_utf8(heading).is_ok_and(|heading| known.contains(&heading.to_lowercase().as_str()))
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
        LabelColumn::Auto => {
            let named = first.iter().position(|field| header && names_labels(field));
            Ok(named.unwrap_or(first.len() - 1))
        }
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
