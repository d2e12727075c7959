//! A matrix with named rows and columns, such as forgetting after each task on each task.

use crate::error::{Error, Result};
use crate::table::Spread;

/// Numbers by row and column. Rows run downwards and columns to the right wherever it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub(crate) name: String,
    pub(crate) row_name: String,
    pub(crate) column_name: String,
    pub(crate) rows: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) values: Vec<Vec<f64>>,
    pub(crate) errors: Option<Vec<Vec<f64>>>,
    pub(crate) spread: Spread,
    pub(crate) shown: Vec<Vec<bool>>,
}

impl Matrix {
    /// A matrix whose rows and columns are numbered from 1; `name`, `row_name` and `column_name` are markup.
    pub fn new(name: &str, row_name: &str, column_name: &str, values: &[Vec<f64>]) -> Matrix {
        let width = values.iter().map(Vec::len).max().unwrap_or(0);
        let numbers = |n: usize| (1..=n).map(|k| k.to_string()).collect();
        Matrix {
            name: name.into(),
            row_name: row_name.into(),
            column_name: column_name.into(),
            rows: numbers(values.len()),
            columns: numbers(width),
            values: values.to_vec(),
            errors: None,
            spread: Spread::StandardError,
            shown: vec![vec![true; width]; values.len()],
        }
    }

    /// What happens after each task (downwards) on each task (to the right).
    pub fn tasks(name: &str, values: &[Vec<f64>]) -> Matrix {
        Matrix::new(name, "after task", "on task", values)
    }

    /// With uncertainties of the same shape, shown as `0.812 ± 0.006` in tables.
    pub fn errors(mut self, spread: Spread, errors: &[Vec<f64>]) -> Matrix {
        self.spread = spread;
        self.errors = Some(errors.to_vec());
        self
    }

    /// With names (markup) of rows and columns in place of numbers.
    pub fn names(mut self, rows: &[&str], columns: &[&str]) -> Matrix {
        self.rows = rows.iter().map(|n| (*n).into()).collect();
        self.columns = columns.iter().map(|n| (*n).into()).collect();
        self
    }

    /// Leaves out the cells (row and column from 0) that have no meaning, such as tasks not yet learned.
    pub fn only(mut self, meaningful: impl Fn(usize, usize) -> bool) -> Matrix {
        for (r, row) in self.shown.iter_mut().enumerate() {
            for (c, shown) in row.iter_mut().enumerate() {
                *shown = meaningful(r, c);
            }
        }
        self
    }

    /// Refuses rows of different lengths, names or errors that do not fit, and an empty matrix.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |problem: String| Err(Error::shape(format!("matrix \"{}\"", self.name), problem));
        let (rows, columns) = (self.rows.len(), self.columns.len());
        if rows == 0 || columns == 0 {
            return refuse("has no cells".into());
        }
        for (what, cells) in [("values", Some(&self.values)), ("errors", self.errors.as_ref())] {
            let Some(cells) = cells else { continue };
            if cells.len() != rows || cells.iter().any(|r| r.len() != columns) {
                return refuse(format!("its {what} must have {rows} rows of {columns}"));
            }
        }
        if self.shown.len() != rows || self.shown.iter().any(|r| r.len() != columns) {
            return refuse(format!("has {rows} row names and {columns} column names; there must be one for each"));
        }
        Ok(())
    }

    /// The values that are shown.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.values.iter().enumerate().flat_map(move |(r, row)| {
            row.iter().enumerate().filter(move |(c, _)| self.shown[r][*c]).map(move |(c, v)| (r, c, *v))
        })
    }
}
