//! Collected rows of a study: settings, seed and results side by side, and the few operations that figures need.

use crate::cell::{Cell, Row, Value};
use crate::error::{Error, Result};
use crate::study::Column;
use ebbing::stats::{Estimate, mean_with_error};
use ebbing_show::Table;

/// Rows with named columns; a value may be missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frame {
    columns: Vec<String>,
    rows: Vec<Vec<Option<Value>>>,
}

impl Frame {
    /// The rows of all cells, each with its cell's settings and seed before it.
    pub fn collect<'a>(cells: impl IntoIterator<Item = (&'a Cell, &'a [Row])>) -> Frame {
        let mut frame = Frame::default();
        for (cell, rows) in cells {
            for row in rows {
                let mut values = vec![None; frame.columns.len()];
                let settings = cell.settings.iter().map(|(name, value)| (name.as_str(), value.clone()));
                let seed = std::iter::once(("seed", Value::Integer(cell.seed as i64)));
                let own = row.0.iter().map(|(name, value)| (name.as_str(), value.clone()));
                for (name, value) in settings.chain(seed).chain(own) {
                    let at = frame.column_or_new(name);
                    values.resize(frame.columns.len(), None);
                    values[at] = Some(value);
                }
                frame.rows.push(values);
            }
        }
        let width = frame.columns.len();
        frame.rows.iter_mut().for_each(|row| row.resize(width, None));
        frame
    }

    fn column_or_new(&mut self, name: &str) -> usize {
        self.columns.iter().position(|column| column == name).unwrap_or_else(|| {
            self.columns.push(name.into());
            self.columns.len() - 1
        })
    }

    fn position(&self, name: &str) -> Result<usize> {
        let found = self.columns.iter().position(|column| column == name);
        found.ok_or_else(|| Error::data("collected rows", format!("there is no column {name}")))
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A column's numbers; what is missing is NaN.
    ///
    /// # Errors
    /// Where there is no such column or it holds words.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        let at = self.position(name)?;
        let number = |row: &Vec<Option<Value>>| match &row[at] {
            None => Ok(f64::NAN),
            Some(value) => {
                value.number().ok_or_else(|| Error::data(format!("column {name}"), format!("{value} is no number")))
            }
        };
        self.rows.iter().map(number).collect()
    }

    /// A column as words; what is missing is empty.
    ///
    /// # Errors
    /// Where there is no such column.
    pub fn texts(&self, name: &str) -> Result<Vec<String>> {
        let at = self.position(name)?;
        Ok(self.rows.iter().map(|row| row[at].as_ref().map_or(String::new(), Value::to_string)).collect())
    }

    /// The rows whose `name` is `value` (numbers and whole numbers compare as numbers).
    ///
    /// # Errors
    /// Where there is no such column.
    pub fn only(&self, name: &str, value: impl Into<Value>) -> Result<Frame> {
        let (at, wanted) = (self.position(name)?, value.into());
        Ok(self.filtered(|row| row[at].as_ref().is_some_and(|found| same(found, &wanted))))
    }

    /// The rows whose number in `name` satisfies a condition (missing ones never do).
    ///
    /// # Errors
    /// As [`Frame::numbers`].
    pub fn having(&self, name: &str, condition: impl Fn(f64) -> bool) -> Result<Frame> {
        let at = self.position(name)?;
        Ok(self.filtered(|row| row[at].as_ref().and_then(Value::number).is_some_and(&condition)))
    }

    /// The same rows with other values in one column.
    ///
    /// # Errors
    /// Where there is no such column.
    pub fn replaced(&self, name: &str, values: Vec<Value>) -> Result<Frame> {
        let at = self.position(name)?;
        let mut frame = self.clone();
        frame.rows.iter_mut().zip(values).for_each(|(row, value)| row[at] = Some(value));
        Ok(frame)
    }

    fn filtered(&self, keep: impl Fn(&[Option<Value>]) -> bool) -> Frame {
        let rows = self.rows.iter().filter(|row| keep(row)).cloned().collect();
        Frame { columns: self.columns.clone(), rows }
    }

    /// The rows apart by their values in `names`, in order of first appearance.
    ///
    /// # Errors
    /// Where there is no such column.
    pub fn groups(&self, names: &[&str]) -> Result<Vec<(Vec<Value>, Frame)>> {
        let at = names.iter().map(|name| self.position(name)).collect::<Result<Vec<_>>>()?;
        let mut groups: Vec<(Vec<Value>, Frame)> = Vec::new();
        for row in &self.rows {
            let key: Option<Vec<Value>> = at.iter().map(|&i| row[i].clone()).collect();
            let Some(key) = key else { continue };
            let found = groups.iter_mut().find(|(k, _)| k.iter().zip(&key).all(|(a, b)| same(a, b)));
            match found {
                Some((_, frame)) => frame.rows.push(row.clone()),
                None => groups.push((key, Frame { columns: self.columns.clone(), rows: vec![row.clone()] })),
            }
        }
        Ok(groups)
    }

    /// The different numbers of a column, ascending.
    ///
    /// # Errors
    /// As [`Frame::numbers`].
    pub fn levels(&self, name: &str) -> Result<Vec<f64>> {
        let mut levels: Vec<f64> = self.numbers(name)?.into_iter().filter(|x| !x.is_nan()).collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        Ok(levels)
    }

    /// Mean and standard error of a column over its rows that have a value.
    ///
    /// # Errors
    /// As [`Frame::numbers`], and where nothing is left to average.
    pub fn mean(&self, name: &str) -> Result<Estimate> {
        let known: Vec<f64> = self.numbers(name)?.into_iter().filter(|x| !x.is_nan()).collect();
        mean_with_error(&known).map_err(|e| Error::data(format!("column {name}"), e.to_string()))
    }

    /// Standard deviation of a column over its rows that have a value; 0 for a single one.
    ///
    /// # Errors
    /// As [`Frame::mean`].
    pub fn deviation(&self, name: &str) -> Result<f64> {
        let known = self.numbers(name)?.iter().filter(|x| !x.is_nan()).count();
        Ok(self.mean(name)?.standard_error.unwrap_or(0.0) * (known as f64).sqrt())
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// As a table for files and screens, with the units and meanings that the study gives.
    pub fn table(&self, title: &str, about: &[Column]) -> Table {
        let find = |name: &str| about.iter().find(|column| column.name == name);
        self.described(title, |name| find(name).map(|column| (column.unit, column.meaning)))
    }

    /// As a table, with the unit and meaning that `about` gives for the name of a column.
    pub fn described<'a>(&self, title: &str, about: impl Fn(&str) -> Option<(&'a str, &'a str)>) -> Table {
        let mut table = Table::new(title);
        for (at, name) in self.columns.iter().enumerate() {
            let values = || self.rows.iter().map(|row| row[at].as_ref());
            let head = ebbing_show::escape_markup(name);
            table = if values().all(|v| matches!(v, Some(Value::Integer(_)))) {
                let whole = |v: Option<&Value>| if let Some(Value::Integer(n)) = v { *n } else { 0 };
                table.integer(&head, &values().map(whole).collect::<Vec<_>>())
            } else if values().all(|v| v.is_none_or(|v| v.number().is_some())) {
                let number = |v: Option<&Value>| v.and_then(Value::number).unwrap_or(f64::NAN);
                table.number(&head, &values().map(number).collect::<Vec<_>>())
            } else {
                let text = |v: Option<&Value>| v.map_or(String::new(), |v| ebbing_show::escape_markup(&v.to_string()));
                table.text(&head, &values().map(text).collect::<Vec<_>>())
            };
            table = table.key(name);
            if let Some((unit, meaning)) = about(name) {
                table = table.unit(unit).meaning(meaning);
            }
        }
        table
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a.number(), b.number()) {
        (Some(x), Some(y)) => x == y || (x.is_nan() && y.is_nan()),
        (None, None) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        let cells: Vec<(Cell, Vec<Row>)> = [(0.1, 1, 2.0), (0.1, 2, 4.0), (0.5, 1, 7.0)]
            .iter()
            .map(|&(ratio, seed, f)| (Cell::new(seed).with("ratio", ratio), vec![Row::new().with("f", f)]))
            .collect();
        Frame::collect(cells.iter().map(|(cell, rows)| (cell, rows.as_slice())))
    }

    #[test]
    fn groups_average_over_seeds() {
        let groups = frame().groups(&["ratio"]).unwrap();
        assert_eq!(groups.len(), 2);
        let mean = groups[0].1.mean("f").unwrap();
        assert_eq!((mean.value, mean.standard_error), (3.0, Some(1.0)));
        assert_eq!(groups[0].1.deviation("f").unwrap(), 2f64.sqrt());
        assert_eq!(frame().only("ratio", 0.5).unwrap().numbers("f").unwrap(), [7.0]);
        assert_eq!(frame().levels("ratio").unwrap(), [0.1, 0.5]);
        assert!(frame().numbers("g").unwrap_err().to_string().contains("no column g"));
    }

    #[test]
    fn rows_of_different_columns_fit_together() {
        let cells = [(Cell::new(1), Row::new().with("a", 1.0)), (Cell::new(2), Row::new().with("b", "x"))];
        let frame = Frame::collect(cells.iter().map(|(cell, row)| (cell, std::slice::from_ref(row))));
        assert!(frame.numbers("a").unwrap()[1].is_nan());
        assert_eq!(frame.texts("b").unwrap(), ["", "x"]);
        assert_eq!(frame.table("t", &[]).rows().unwrap(), 2);
    }
}
