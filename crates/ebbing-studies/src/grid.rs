//! A grid of cells: every one a request, computed by itself.

use crate::cell::{Cell, Row};
use crate::error::{Error, Result};
use crate::study::{Column, Study, Work};
use ebbing::data::Sources;
use ebbing::plan::Cost;
use std::sync::Arc;

/// Cells and the work of each.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    /// The name, as it stands in file names.
    pub name: String,
    /// Everything besides a cell's own settings that decides its result.
    pub settings: serde_json::Value,
    /// The data sets that cells draw from, by name.
    pub data: Vec<String>,
    /// Units and meanings of the columns.
    pub columns: Vec<Column>,
    /// The cells, each with its work.
    pub cells: Vec<Cell>,
}

impl Grid {
    /// Adds a cell and what it computes.
    pub fn push(&mut self, cell: Cell, work: impl Work + 'static) {
        self.cells.push(Cell { work: Some(Arc::new(work)), ..cell });
    }

    /// Adds a cell for each of the seeds 1 to `seeds`, alike in their settings, and what it computes.
    pub fn push_seeds<W: Work + 'static>(&mut self, seeds: usize, cell: &Cell, work: impl Fn(u64) -> W) {
        for seed in 1..=seeds as u64 {
            self.push(Cell { seed, ..cell.clone() }, work(seed));
        }
    }
}

impl Study for Grid {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn settings(&self) -> serde_json::Value {
        self.settings.clone()
    }

    fn data(&self) -> Vec<String> {
        self.data.clone()
    }

    fn cells(&self) -> Result<Vec<Cell>> {
        Ok(self.cells.clone())
    }

    fn compute(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        let lost = || Error::data("a cell", "it has lost its work");
        cell.work.as_ref().ok_or_else(lost)?.rows(sources)
    }

    fn cost(&self, cell: &Cell) -> Cost {
        cell.work.as_ref().map(|work| work.cost()).unwrap_or_default()
    }

    fn columns(&self) -> Vec<Column> {
        self.columns.clone()
    }
}
