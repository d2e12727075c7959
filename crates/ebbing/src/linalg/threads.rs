//! Who works in parallel: the algebra, or its caller.

use rayon::prelude::*;
use std::cell::Cell;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` with all algebra inside it on the calling thread, for callers that do many such pieces in parallel.
///
/// The results have the same bits either way.
///
/// ```
/// let product = ebbing::linalg::on_one_thread(|| ebbing::linalg::dot(&[1.0, 2.0], &[3.0, 4.0]));
/// assert_eq!(product, 11.0);
/// ```
pub fn on_one_thread<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _restore = Restore(ALONE.replace(true));
    work()
}

/// `work` on every item, several items at a time and each on one thread; a single item gets all threads.
///
/// For many small pieces of work, such as training runs: they run faster in parallel, one thread each, than one after the other on all
/// threads. The results come in the order of the items, with the same bits either way.
///
/// ```
/// assert_eq!(ebbing::linalg::par_map(&[1.0, 2.0], |x| ebbing::linalg::dot(&[*x], &[3.0])), [3.0, 6.0]);
/// ```
pub fn par_map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if items.len() < 2 || alone() {
        return items.iter().map(work).collect();
    }
    items.par_iter().with_max_len(1).map(|item| on_one_thread(|| work(item))).collect()
}

/// Runs `work`, with many short algebraic steps in it, on a thread of the pool, so that no step has to hand itself over.
pub(crate) fn within_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if alone() || rayon::current_thread_index().is_some() { work() } else { rayon::scope(|_| work()) }
}

/// Whether this thread is inside [`on_one_thread`].
pub(super) fn alone() -> bool {
    ALONE.get()
}
