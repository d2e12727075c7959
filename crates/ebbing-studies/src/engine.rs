//! The engine: computes the cells of a study that are missing in its folder, and estimates what they will cost.

use crate::cell::Cell;
use crate::error::Result;
use crate::run::{compute, share_out};
use crate::store::{Store, StoredCell};
use crate::study::Study;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::plan::{Cost, Speed};
use serde::Serialize;

/// What a run has to say while it goes on; cells count from 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A cell's file was cut short or changed, and how: it is computed again.
    Damaged(usize, String),
    /// A cell was computed and is on disk.
    Done(usize),
    /// A cell could not be computed, and why; the others go on.
    Failed(usize, String),
    /// Another process is computing the cell.
    Elsewhere(usize),
}

/// What a run did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Cells that were there already.
    pub found: usize,
    /// Cells computed.
    pub computed: usize,
    /// Cells that could not be computed (by number, from 1), and why.
    pub failed: Vec<(usize, String)>,
    /// Cells that another process is computing.
    pub elsewhere: usize,
}

impl Outcome {
    /// What became of cells that failed, in one sentence; nothing where none did.
    pub fn trouble(&self) -> Option<String> {
        let (number, why) = self.failed.first()?;
        let all = self.found + self.computed + self.failed.len() + self.elsewhere;
        let failed = self.failed.len();
        Some(format!(
            "{failed} of {all} cells failed; the first, cell {number}: {why}; the others are kept, and running it again \
             tries these again"
        ))
    }
}

/// Computes the cells among `chosen` (places from 0) that the folder lacks, `threads` at once, each on one thread.
///
/// A cell that fails is recorded and leaves the others alone. Hold the folder's [`Lock`](crate::Lock) meanwhile.
///
/// # Errors
/// Where the folder cannot be read or written (a full disk); finished cells stay.
pub fn run_missing(
    study: &Study,
    store: &Store,
    chosen: &[usize],
    sources: &Sources,
    threads: usize,
    context: &Context,
    hear: &mut (dyn FnMut(Event) + Send),
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut missing = Vec::new();
    for &k in chosen {
        match store.read(k)? {
            StoredCell::Rows(_) => outcome.found += 1,
            StoredCell::Nothing => missing.push(k),
            StoredCell::Damaged(problem) => {
                hear(Event::Damaged(k + 1, problem));
                missing.push(k);
            }
        }
    }
    let job = |at: usize| one(&study.cells[missing[at]], store, missing[at], sources, context);
    share_out(threads, missing.len(), &job, &mut |at, end| {
        let number = missing[at] + 1;
        match end? {
            End::Done => {
                outcome.computed += 1;
                hear(Event::Done(number));
            }
            End::Elsewhere => {
                outcome.elsewhere += 1;
                hear(Event::Elsewhere(number));
            }
            End::Failed(error) => {
                hear(Event::Failed(number, error.clone()));
                outcome.failed.push((number, error));
            }
        }
        Ok(())
    })?;
    outcome.failed.sort_unstable();
    Ok(outcome)
}

enum End {
    Done,
    Failed(String),
    Elsewhere,
}

fn one(cell: &Cell, store: &Store, index: usize, sources: &Sources, context: &Context) -> Result<End> {
    let Some(_claimed) = store.claim(index)? else { return Ok(End::Elsewhere) };
    // Between the look at the folder and the claim another process may have finished it.
    if matches!(store.read(index)?, StoredCell::Rows(_)) {
        return Ok(End::Done);
    }
    match compute(cell, sources, context) {
        Ok(rows) => {
            store.write(index, rows)?;
            Ok(End::Done)
        }
        Err(error) => {
            let sentence = error.to_string().replace('\n', " ");
            store.write_failure(index, &sentence)?;
            Ok(End::Failed(sentence))
        }
    }
}

/// What cells will cost on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bill {
    /// The number of cells.
    pub cells: usize,
    /// Time of one core for all of them, in seconds.
    pub core_seconds: f64,
    /// Time of the longest cell, in seconds.
    pub longest_seconds: f64,
    /// Memory of the largest cell, in bytes; besides it every process holds the data sets.
    pub bytes: f64,
}

/// Estimates the cost of cells at a single-threaded speed.
pub fn bill(costs: impl IntoIterator<Item = Cost>, speed: Speed) -> Bill {
    let mut bill = Bill { cells: 0, core_seconds: 0.0, longest_seconds: 0.0, bytes: 0.0 };
    for cost in costs {
        let seconds = cost.seconds(speed);
        bill.cells += 1;
        bill.core_seconds += seconds;
        bill.longest_seconds = bill.longest_seconds.max(seconds);
        bill.bytes = bill.bytes.max(cost.bytes);
    }
    bill
}

/// The speed of one thread, as cells have it.
///
/// # Errors
/// Where the thread does not start.
pub fn single_speed() -> Result<Speed> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|e| crate::Error::data("a worker thread", e.to_string()))?;
    Ok(pool.install(Speed::measure))
}
