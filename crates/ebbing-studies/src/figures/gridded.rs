//! A figure as a grid of typed work with a picture and claims.

use super::Reproduction;
use crate::cell::{Cell, Row};
use crate::claim::Claim;
use crate::error::Result;
use crate::frame::Frame;
use crate::grid::Grid;
use crate::study::{Column, Study};
use ebbing::data::Sources;
use ebbing::plan::Cost;
use ebbing_report::Figure;

/// What [`Reproduction`] is to become: the grid of a figure, its picture and its claims.
pub trait Gridded: Sync {
    /// The cells, each with its work.
    ///
    /// # Errors
    /// Where the settings do not make a grid.
    fn grid(&self) -> Result<Grid>;

    /// The figures by file name, panels laid out as in the paper, each with a caption that can be understood alone.
    ///
    /// # Errors
    /// Where rows are missing.
    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>>;

    /// The claims of every panel.
    ///
    /// # Errors
    /// Where rows are missing.
    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>>;
}

impl<T: Gridded> Study for T {
    fn name(&self) -> String {
        self.grid().unwrap_or_default().name
    }

    fn settings(&self) -> serde_json::Value {
        self.grid().unwrap_or_default().settings
    }

    fn data(&self) -> Vec<String> {
        self.grid().unwrap_or_default().data
    }

    fn cells(&self) -> Result<Vec<Cell>> {
        Ok(self.grid()?.cells)
    }

    fn compute(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        Grid::default().compute(cell, sources)
    }

    fn cost(&self, cell: &Cell) -> Cost {
        Grid::default().cost(cell)
    }

    fn columns(&self) -> Vec<Column> {
        self.grid().unwrap_or_default().columns
    }
}

impl<T: Gridded> Reproduction for T {
    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        Gridded::draw(self, frame)
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        Gridded::claims(self, frame)
    }
}
