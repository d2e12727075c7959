//! Running cells: several at once, each on one thread.

use crate::cell::{Cell, Row};
use crate::error::{Error, Result};
use ebbing::Context;
use ebbing::data::Sources;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Hears the result of each cell, by its place in the list, from one worker at a time.
pub type Listener<'a, T> = dyn FnMut(usize, Result<T>) -> Result<()> + Send + 'a;

/// Computes cells on `threads` workers, each cell single-threaded, and hands every result to `done` as it comes, from one
/// worker at a time. The first error that `done` returns stops the rest.
///
/// # Errors
/// The first error of `done`.
pub fn compute_cells(
    cells: &[Cell],
    sources: &Sources,
    threads: usize,
    context: &Context,
    done: &mut Listener<'_, Vec<Row>>,
) -> Result<()> {
    share_out(threads, cells.len(), &|at| compute(&cells[at], sources, context), done)
}

/// One cell; a panic in it becomes its error, and leaves the others alone.
pub(crate) fn compute(cell: &Cell, sources: &Sources, context: &Context) -> Result<Vec<Row>> {
    let rows = std::panic::catch_unwind(AssertUnwindSafe(|| cell.rows(sources, context)));
    rows.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Error::data("a cell", format!("the program failed in it: {said}")))
    })
}

/// Does jobs 0 … `count` on `threads` workers with a pool of one thread each.
pub(crate) fn share_out<T: Send>(
    threads: usize,
    count: usize,
    job: &(dyn Fn(usize) -> Result<T> + Sync),
    done: &mut Listener<'_, T>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let outcome = Mutex::new((done, Ok(())));
    let worker = || -> Result<()> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|e| Error::data("a worker thread", e.to_string()))?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return Ok(());
            }
            let result = pool.install(|| job(at));
            let mut held = outcome.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if held.1.is_err() {
                return Ok(());
            }
            if let Err(error) = (held.0)(at, result) {
                held.1 = Err(error);
                // Nobody starts another one.
                next.store(count, Ordering::Relaxed);
                return Ok(());
            }
        }
    };
    let started = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, count.max(1))).map(|_| scope.spawn(worker)).collect();
        let ends = workers.into_iter().map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ends.collect::<Result<()>>()
    });
    started.and(outcome.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).1)
}
