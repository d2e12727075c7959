//! What a study is: cells, and the pure function that computes one of them.

use crate::cell::{Cell, Row};
use crate::error::Result;
use ebbing::data::Sources;
use ebbing::plan::Cost;

/// What a column of the result is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its unit; empty if dimensionless.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// A grid of cells, each a pure function of its settings and seed.
pub trait Study: Sync {
    /// The name, as it stands in file names.
    fn name(&self) -> String;

    /// Everything besides a cell's own settings that decides its result, as JSON. A folder that holds results of other
    /// settings is refused.
    fn settings(&self) -> serde_json::Value;

    /// The data sets that cells draw from, by name.
    fn data(&self) -> Vec<String>;

    /// The cells, in the order in which they are collected.
    ///
    /// # Errors
    /// Where the settings do not make a grid.
    fn cells(&self) -> Result<Vec<Cell>>;

    /// Computes one cell, on the threads of the current pool (the runner gives it one).
    ///
    /// # Errors
    /// What the library says.
    fn compute(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>>;

    /// What one cell costs, for estimates before anything runs: operations of a dense product, and bytes.
    fn cost(&self, cell: &Cell) -> Cost;

    /// Units and meanings of the columns.
    fn columns(&self) -> Vec<Column>;
}
