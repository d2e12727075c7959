//! Tables: columns with names, units and uncertainties, shown in the terminal and on the page and written to files.

use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::style::{significant, with_error};
use crate::text::{Rich, column_key};
use ebbing::stats::Estimate;
use ebbing::stats::number::chosen;

/// What an uncertainty is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Standard error of the mean.
    StandardError,
    /// Standard deviation.
    StandardDeviation,
    /// Half the width of a 95 % interval.
    Interval95,
}

impl Spread {
    /// The ending of the column that holds it in files.
    fn suffix(self) -> &'static str {
        match self {
            Spread::StandardError => "se",
            Spread::StandardDeviation => "sd",
            Spread::Interval95 => "ci95",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Spread::StandardError => "standard error of",
            Spread::StandardDeviation => "standard deviation of",
            Spread::Interval95 => "half width of the 95 % interval of",
        }
    }
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    /// Real numbers, shown with three significant digits.
    Numbers(Vec<f64>),
    /// Real numbers that were asked for, shown with the digits that they have.
    Chosen(Vec<f64>),
    /// Whole numbers, shown in full.
    Integers(Vec<i64>),
    /// Words.
    Texts(Vec<String>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Numbers(v) | Values::Chosen(v) => v.len(),
            Values::Integers(v) => v.len(),
            Values::Texts(v) => v.len(),
        }
    }
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    /// Its name as shown (markup).
    pub head: String,
    /// Its name in files.
    pub key: String,
    /// Empty if dimensionless.
    pub unit: String,
    pub meaning: String,
    pub values: Values,
    pub errors: Option<(Spread, Vec<f64>)>,
}

impl Column {
    /// The head with its unit: `time (s)`.
    pub fn full_head(&self) -> String {
        if self.unit.is_empty() { self.head.clone() } else { format!("{} ({})", self.head, self.unit) }
    }

    pub fn is_text(&self) -> bool {
        matches!(self.values, Values::Texts(_))
    }

    /// The text of a cell (markup for texts).
    pub fn cell(&self, row: usize) -> String {
        match (&self.values, &self.errors) {
            // A missing value; files keep it as NaN.
            (Values::Numbers(v) | Values::Chosen(v), _) if v[row].is_nan() => "–".into(),
            (Values::Numbers(v), Some((_, e))) => with_error(v[row], e[row]),
            (Values::Numbers(v), None) => significant(v[row]),
            (Values::Chosen(v), _) => chosen(v[row]),
            (Values::Integers(v), _) => v[row].to_string(),
            (Values::Texts(v), _) => v[row].clone(),
        }
    }
}

/// A column as files hold it: uncertainties are columns of their own.
pub(crate) struct FileColumn<'a> {
    pub key: String,
    pub unit: String,
    pub meaning: String,
    pub values: FileValues<'a>,
}

pub(crate) enum FileValues<'a> {
    Numbers(&'a [f64]),
    Integers(&'a [i64]),
    Texts(&'a [String]),
}

/// A table. Heads and texts are markup, as in figures; the name of a column in files is made from its head.
///
/// ```
/// use ebbing_show::{Spread, Table};
/// let table = Table::new("Order parameters of consecutive tasks")
///     .text("pair", &["1 → 2", "2 → 3"])
///     .estimate("γ_{RF}", &[0.8123, 0.56], Spread::StandardError, &[0.0061, 0.03])
///     .number("time", &[1.534, 0.4]).unit("s");
/// let text = table.to_text()?;
/// assert!(text.contains("0.812 ± 0.006") && text.contains("time (s)"));
/// # Ok::<(), ebbing_show::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
}

impl Table {
    /// A table without columns.
    pub fn new(title: &str) -> Table {
        Table { title: title.into(), columns: Vec::new() }
    }

    /// A table whose columns are read off `rows`.
    pub fn of<'a, T>(title: &str, rows: &'a [T]) -> Rows<'a, T> {
        Rows { table: Table::new(title), rows }
    }

    fn column(mut self, head: &str, values: Values, errors: Option<(Spread, Vec<f64>)>) -> Table {
        let (unit, meaning) = (String::new(), String::new());
        self.columns.push(Column { head: head.into(), key: column_key(head), unit, meaning, values, errors });
        self
    }

    /// Adds real numbers.
    pub fn number(self, head: &str, values: &[f64]) -> Table {
        self.column(head, Values::Numbers(values.into()), None)
    }

    /// Adds real numbers that were asked for, such as a width or a penalty: these are shown with all of their digits.
    pub fn chosen(self, head: &str, values: &[f64]) -> Table {
        self.column(head, Values::Chosen(values.into()), None)
    }

    /// Adds real numbers with uncertainties, shown as `0.812 ± 0.006`.
    pub fn estimate(self, head: &str, values: &[f64], spread: Spread, errors: &[f64]) -> Table {
        self.column(head, Values::Numbers(values.into()), Some((spread, errors.into())))
    }

    /// Adds whole numbers.
    pub fn integer(self, head: &str, values: &[i64]) -> Table {
        self.column(head, Values::Integers(values.into()), None)
    }

    /// Adds words (markup).
    pub fn text(self, head: &str, values: &[impl AsRef<str>]) -> Table {
        self.column(head, Values::Texts(values.iter().map(|v| v.as_ref().into()).collect()), None)
    }

    /// Unit of the column added last; without one it is dimensionless.
    pub fn unit(mut self, unit: &str) -> Table {
        if let Some(last) = self.columns.last_mut() {
            last.unit = unit.into();
        }
        self
    }

    /// Name in files of the column added last, where the one made from its head will not do.
    pub fn key(mut self, key: &str) -> Table {
        if let Some(last) = self.columns.last_mut() {
            last.key = column_key(&crate::escape_markup(key));
        }
        self
    }

    /// What the column added last means, written into files.
    pub fn meaning(mut self, meaning: &str) -> Table {
        if let Some(last) = self.columns.last_mut() {
            last.meaning = meaning.into();
        }
        self
    }

    /// The number of rows.
    ///
    /// # Errors
    /// When columns differ in length or have the same name.
    pub fn rows(&self) -> Result<usize> {
        let what = || format!("table \"{}\"", Rich::parse(&self.title).plain());
        let rows = self.columns.first().map_or(0, |c| c.values.len());
        let mut keys = std::collections::BTreeSet::new();
        for c in &self.columns {
            let errors = c.errors.as_ref().map_or(rows, |(_, e)| e.len());
            if c.values.len() != rows || errors != rows {
                let n = if c.values.len() == rows { errors } else { c.values.len() };
                return Err(Error::shape(what(), format!("column {} has {n} rows but the first has {rows}", c.key)));
            }
            if !keys.insert(&c.key) {
                return Err(Error::shape(what(), format!("two columns are named {}; give one another key", c.key)));
            }
        }
        Ok(rows)
    }

    /// The columns as files hold them.
    pub(crate) fn file_columns(&self) -> Result<Vec<FileColumn<'_>>> {
        self.rows()?;
        let mut columns = Vec::new();
        for c in &self.columns {
            let values = match &c.values {
                Values::Numbers(v) | Values::Chosen(v) => FileValues::Numbers(v),
                Values::Integers(v) => FileValues::Integers(v),
                Values::Texts(v) => FileValues::Texts(v),
            };
            let unit = if c.unit.is_empty() && !c.is_text() { "dimensionless".into() } else { c.unit.clone() };
            columns.push(FileColumn { key: c.key.clone(), unit: unit.clone(), meaning: c.meaning.clone(), values });
            if let Some((spread, errors)) = &c.errors {
                let key = format!("{}_{}", c.key, spread.suffix());
                if self.columns.iter().any(|d| d.key == key) {
                    return Err(Error::shape(
                        format!("column {key}"),
                        "has the name of an uncertainty; give it another key",
                    ));
                }
                let meaning = format!("{} {}", spread.meaning(), c.key);
                columns.push(FileColumn { key, unit, meaning, values: FileValues::Numbers(errors) });
            }
        }
        Ok(columns)
    }
}

/// A table whose columns are read off rows of any kind.
///
/// ```
/// use ebbing_show::Table;
/// let squares = Table::of("Squares", &[1usize, 2, 3]).integer("n", |n| *n).number("n^{2}", |n| (n * n) as f64).done();
/// assert!(squares.to_text()?.contains("n²"));
/// # Ok::<(), ebbing_show::Error>(())
/// ```
pub struct Rows<'a, T> {
    table: Table,
    rows: &'a [T],
}

impl<T> Rows<'_, T> {
    fn column<V>(&self, get: impl Fn(&T) -> V) -> Vec<V> {
        self.rows.iter().map(get).collect()
    }

    /// Adds real numbers; what is none is NaN.
    pub fn number<V: Into<Option<f64>>>(mut self, head: &str, get: impl Fn(&T) -> V) -> Self {
        let values = self.column(|row| get(row).into().unwrap_or(f64::NAN));
        self.table = self.table.number(head, &values);
        self
    }

    /// Adds real numbers that were asked for.
    pub fn chosen<V: Into<Option<f64>>>(mut self, head: &str, get: impl Fn(&T) -> V) -> Self {
        let values = self.column(|row| get(row).into().unwrap_or(f64::NAN));
        self.table = self.table.chosen(head, &values);
        self
    }

    /// Adds means, with their standard errors where there are `several` seeds.
    pub fn estimate<V: Into<Option<Estimate>>>(mut self, head: &str, several: bool, get: impl Fn(&T) -> V) -> Self {
        let all = self.column(|row| get(row).into().unwrap_or(Estimate::exact(f64::NAN)));
        let values: Vec<f64> = all.iter().map(|e| e.value).collect();
        let errors: Vec<f64> = all.iter().map(|e| e.standard_error.unwrap_or(f64::NAN)).collect();
        self.table = match several {
            true => self.table.estimate(head, &values, Spread::StandardError, &errors),
            false => self.table.number(head, &values),
        };
        self
    }

    /// Adds whole numbers.
    pub fn integer(mut self, head: &str, get: impl Fn(&T) -> usize) -> Self {
        let values = self.column(|row| get(row) as i64);
        self.table = self.table.integer(head, &values);
        self
    }

    /// Adds words (markup).
    pub fn text<V: AsRef<str>>(mut self, head: &str, get: impl Fn(&T) -> V) -> Self {
        let values = self.column(get);
        self.table = self.table.text(head, &values);
        self
    }

    /// Name in files of the column added last.
    pub fn key(mut self, key: &str) -> Self {
        self.table = self.table.key(key);
        self
    }

    /// Unit of the column added last.
    pub fn unit(mut self, unit: &str) -> Self {
        self.table = self.table.unit(unit);
        self
    }

    /// What the column added last means.
    pub fn meaning(mut self, meaning: &str) -> Self {
        self.table = self.table.meaning(meaning);
        self
    }

    /// Adds columns that stand only where a condition holds.
    pub fn when(self, condition: bool, more: impl FnOnce(Self) -> Self) -> Self {
        if condition { more(self) } else { self }
    }

    /// The table.
    pub fn done(self) -> Table {
        self.table
    }
}

impl Matrix {
    /// The matrix with one row per cell, as files hold it; cells without meaning are left out.
    ///
    /// # Errors
    /// When the shape of the matrix is not sound.
    pub fn to_table(&self) -> Result<Table> {
        self.check()?;
        let cells: Vec<(usize, usize, f64)> = self.cells().collect();
        let title = format!("{}, one row per cell", self.name);
        let numbered = |names: &[String]| names.iter().map(|n| n.parse::<i64>().ok()).collect::<Option<Vec<_>>>();
        let place =
            |table: Table, head: &str, names: &[String], pick: &dyn Fn(&(usize, usize, f64)) -> usize| match numbered(
                names,
            ) {
                Some(numbers) => table.integer(head, &cells.iter().map(|c| numbers[pick(c)]).collect::<Vec<_>>()),
                None => table.text(head, &cells.iter().map(|c| names[pick(c)].as_str()).collect::<Vec<_>>()),
            };
        let (down, right) = (self.row_name.as_str(), self.column_name.as_str());
        let table =
            place(Table::new(&title), down, &self.rows, &|c| c.0).meaning("row of the matrix, downwards, from 1");
        // A matrix of pairs may call both sides by the same name.
        let key = if column_key(down) == column_key(right) {
            format!("other_{}", column_key(right))
        } else {
            column_key(right)
        };
        let table = place(table, right, &self.columns, &|c| c.1)
            .key(&key)
            .meaning("column of the matrix, to the right, from 1");
        let values: Vec<f64> = cells.iter().map(|c| c.2).collect();
        Ok(match &self.errors {
            Some(e) => {
                let errors: Vec<f64> = cells.iter().map(|c| e[c.0][c.1]).collect();
                table.estimate(&self.name, &values, self.spread, &errors)
            }
            None => table.number(&self.name, &values),
        })
    }

    /// The text of a cell: empty where it has no meaning.
    pub(crate) fn cell(&self, row: usize, column: usize) -> String {
        match (&self.errors, self.shown[row][column]) {
            (_, false) => String::new(),
            (Some(e), true) => with_error(self.values[row][column], e[row][column]),
            (None, true) => significant(self.values[row][column]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        let ragged = Table::new("t").number("a", &[1.0]).number("b", &[1.0, 2.0]);
        assert_eq!(ragged.rows().unwrap_err().to_string(), "table \"t\": column b has 2 rows but the first has 1");
        assert!(Table::new("t").number("a", &[1.0]).number("a", &[1.0]).rows().is_err());
        assert!(Table::new("t").estimate("a", &[1.0], Spread::StandardError, &[]).rows().is_err());
        let clash = Table::new("t").estimate("a", &[1.0], Spread::StandardError, &[0.1]).number("a_se", &[1.0]);
        assert!(clash.file_columns().is_err());
        assert_eq!(Table::new("empty").rows().unwrap(), 0);
    }

    #[test]
    fn a_matrix_becomes_one_row_per_cell_with_its_orientation() {
        let m = Matrix::tasks("F_{ts}", &[vec![0.1, 0.2], vec![0.3, 0.4]]).only(|after, on| on <= after);
        let table = m.to_table().unwrap();
        let keys: Vec<&str> = table.columns.iter().map(|c| c.key.as_str()).collect();
        assert_eq!(keys, ["after_task", "on_task", "F_ts"]);
        assert_eq!(table.columns[0].values, Values::Integers(vec![1, 2, 2]));
        assert_eq!(table.columns[1].values, Values::Integers(vec![1, 1, 2]));
        assert_eq!(table.columns[2].values, Values::Numbers(vec![0.1, 0.3, 0.4]));
        let pairs = Matrix::new("γ_{RF}", "task", "task", &[vec![1.0]]).to_table().unwrap();
        assert_eq!(pairs.columns[1].key, "other_task");
        assert!(pairs.rows().is_ok());
    }
}
