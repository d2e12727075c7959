//! The binary's allocator: the system's, with counts.
//!
//! Tests run side by side in threads of one process, so nothing is counted for the process as a whole. Bytes are counted
//! for the thread that asks; requests for the threads of a [`watched_pool`], which do the work of one test only.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts on the way to the system's allocator.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

static REQUESTS: AtomicUsize = AtomicUsize::new(0);

fn count(bytes: isize) {
    let live = LIVE.get() + bytes;
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

// SAFETY: every call is passed on to the system's allocator unchanged. The provided methods for zeroed and for longer
// memory call these two, so that they are counted as well.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        REQUESTS.fetch_add(usize::from(WATCHED.get()), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The most bytes that this thread had allocated at a time during a call.
pub fn peak<T>(call: impl FnOnce() -> T) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    let result = call();
    let most = PEAK.get() - before;
    drop(result);
    most as usize
}

/// A pool of as many threads as usual, whose requests for memory are counted. One test alone may have one.
pub fn watched_pool() -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().start_handler(|_| WATCHED.set(true)).build().unwrap()
}

/// How often the threads of the [`watched_pool`] have asked for memory.
pub fn requests() -> usize {
    REQUESTS.load(Ordering::Relaxed)
}
