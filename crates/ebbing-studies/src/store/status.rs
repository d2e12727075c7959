//! How far a study is, from the files in its folder alone.

use super::Store;
use super::cells::StoredCell;
use crate::error::Result;
use serde::Serialize;

/// What became of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "state", content = "note")]
pub enum CellState {
    /// Its rows are there.
    Done,
    /// A process is computing it.
    Running,
    /// It could not be computed, and why.
    Failed(String),
    /// Its file is cut short or changed, and how; it will be computed again.
    Damaged(String),
    /// Nothing was done yet, or a killed run left it.
    Missing,
}

/// How far a study is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// One per cell, in order.
    pub cells: Vec<CellState>,
}

impl Status {
    /// How many cells are in a state that satisfies a condition.
    pub fn count(&self, condition: impl Fn(&CellState) -> bool) -> usize {
        self.cells.iter().filter(|state| condition(state)).count()
    }

    /// Cells whose rows are there.
    pub fn done(&self) -> usize {
        self.count(|state| *state == CellState::Done)
    }

    /// The places (from 0) of cells that neither are done nor being computed.
    pub fn to_do(&self) -> Vec<usize> {
        let open = |state: &CellState| !matches!(state, CellState::Done | CellState::Running);
        self.cells.iter().enumerate().filter(|(_, state)| open(state)).map(|(k, _)| k).collect()
    }
}

impl Store {
    /// How far the study is.
    ///
    /// # Errors
    /// Where a file cannot be read or belongs to another study.
    pub fn status(&self) -> Result<Status> {
        let cells = (0..self.count()).map(|k| self.state(k)).collect::<Result<Vec<_>>>()?;
        Ok(Status { cells })
    }

    fn state(&self, index: usize) -> Result<CellState> {
        let damaged = match self.read(index)? {
            StoredCell::Rows(_) => return Ok(CellState::Done),
            StoredCell::Damaged(problem) => Some(CellState::Damaged(problem)),
            StoredCell::Nothing => None,
        };
        if self.is_running(index) {
            return Ok(CellState::Running);
        }
        Ok(damaged.or_else(|| self.failure(index).map(CellState::Failed)).unwrap_or(CellState::Missing))
    }
}
