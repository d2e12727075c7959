//! Who works in parallel: the algebra, or its caller.

use std::cell::Cell;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` with all algebra inside it on the calling thread, for callers that do many such pieces in parallel.
///
/// The results have the same bits either way.
///
/// ```
/// let product = ebbing::on_one_thread(|| ebbing::dot(&[1.0, 2.0], &[3.0, 4.0]));
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

/// Whether this thread is inside [`on_one_thread`].
pub(super) fn alone() -> bool {
    ALONE.get()
}
