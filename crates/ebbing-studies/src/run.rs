//! Running cells: several at once, each on one thread.

use crate::cell::{Cell, Row};
use crate::error::{Error, Result};
use crate::sources::Sources;
use crate::study::Study;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Computes cells on `threads` workers, each cell single-threaded, and hands every result to `done` as it comes, from one
/// worker at a time. The first error (of a cell or of `done`) stops the rest.
///
/// # Errors
/// The first error.
pub fn compute_cells(
    study: &dyn Study,
    cells: &[Cell],
    sources: &Sources,
    threads: usize,
    done: &mut (dyn FnMut(usize, Result<Vec<Row>>) -> Result<()> + Send),
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let outcome = Mutex::new((done, Ok(())));
    let worker = || -> Result<()> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|e| Error::data("a worker thread", e.to_string()))?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(cell) = cells.get(at) else { return Ok(()) };
            let rows = pool.install(|| study.compute(cell, sources));
            let mut held = outcome.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if held.1.is_err() {
                return Ok(());
            }
            if let Err(error) = (held.0)(at, rows) {
                held.1 = Err(error);
                return Ok(());
            }
        }
    };
    let started = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, cells.len().max(1))).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<()>>()
    });
    started.and(outcome.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).1)
}
