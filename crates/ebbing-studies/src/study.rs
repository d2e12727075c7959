//! What a study is: a grid of cells, every one a request that is computed by itself.

use crate::cell::{Cell, Row};
use crate::error::Result;
use ebbing::Context;
use ebbing::Recipe;
use ebbing::data::Sources;
use ebbing::plan::Cost;
use std::sync::Arc;

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

/// What a cell computes: a [`Job`](crate::Job) of a command, or a computation of another crate.
pub trait Work: std::fmt::Debug + Send + Sync {
    /// The results as rows of a table, on the threads of the current pool (the runner gives it one).
    ///
    /// # Errors
    /// What the library says.
    fn rows(&self, sources: &Sources, context: &Context) -> Result<Vec<Row>>;

    /// What they cost, from the settings alone; nothing where that is not known.
    fn cost(&self) -> Cost;

    /// What makes its tasks, where that is known.
    fn recipe(&self) -> Option<Recipe> {
        None
    }
}

/// A grid of cells, each a pure function of its settings and seed.
#[derive(Debug, Clone, Default)]
pub struct Study {
    /// The name, as it stands in file names.
    pub name: String,
    /// Everything besides a cell's own settings that decides its result. A folder that holds results of other settings is
    /// refused.
    pub settings: serde_json::Value,
    /// The data sets that cells draw from, by name.
    pub data: Vec<String>,
    /// Units and meanings of the columns.
    pub columns: Vec<Column>,
    /// The cells, each with its work, in the order in which they are collected.
    pub cells: Vec<Cell>,
}

impl Study {
    /// Refuses data sets that do not suffice for the tasks of every cell, before any is computed.
    ///
    /// # Errors
    /// Whatever is wrong, in one sentence.
    pub fn check_tasks(&self, sources: &Sources) -> Result<()> {
        let mut seen = Vec::new();
        for recipe in self.cells.iter().filter_map(|cell| cell.work.as_ref()?.recipe()) {
            let asked = (recipe.origin.clone(), recipe.post.clone());
            if !seen.contains(&asked) {
                recipe.check(sources, recipe.seed)?;
                seen.push(asked);
            }
        }
        Ok(())
    }

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
