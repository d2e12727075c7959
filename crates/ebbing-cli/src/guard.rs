//! Endings that would otherwise be silent: memory exhausted, standard output closed, a bug in the program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, which reports exhausted memory and ends the run with exit code 1. By default Rust would abort.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: every call is passed to the system's allocator unchanged; if that has no memory, the call does not return.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is that of the system's allocator.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { System.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The block, unless allocation failed or a test makes it fail.
fn given(block: *mut u8, bytes: usize) -> *mut u8 {
    if block.is_null() || fault::at_allocation(bytes) {
        exhausted(bytes);
    }
    block
}

/// Reports in one sentence that memory is exhausted, without allocating, and ends the run.
#[cold]
fn exhausted(bytes: usize) -> ! {
    // If several threads run out of memory, one reports it; the others wait for the process to end.
    static SAID: AtomicBool = AtomicBool::new(false);
    while SAID.swap(true, Ordering::Relaxed) {
        #[cfg(unix)]
        // SAFETY: waits for a signal, without touching memory.
        unsafe {
            libc::pause();
        }
    }
    const MOST: usize = 160;
    let mut line = [0_u8; MOST];
    let mut rest = &mut line[..];
    let _ = writeln!(
        rest,
        "ebbing: memory is exhausted: {bytes} more bytes are not available; use fewer examples, narrower networks or fewer \
         threads"
    );
    let written = MOST - rest.len();
    #[cfg(unix)]
    // SAFETY: the buffer is valid for that many bytes; `_exit` does not return.
    unsafe {
        libc::write(2, line.as_ptr().cast(), written);
        libc::_exit(1)
    }
    #[cfg(not(unix))]
    {
        let _ = (line, written);
        std::process::abort()
    }
}

/// Injected failures, for tests: in builds with debug assertions, `EBBING_FAIL_ALLOCATION=n` makes the n-th allocation of a
/// megabyte or more fail.
mod fault {
    #[cfg(debug_assertions)]
    pub static CHOSEN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

    #[cfg(debug_assertions)]
    pub fn at_allocation(bytes: usize) -> bool {
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        bytes >= 1 << 20 && COUNT.fetch_add(1, Ordering::Relaxed) + 1 == CHOSEN.load(Ordering::Relaxed)
    }

    #[cfg(not(debug_assertions))]
    pub fn at_allocation(_: usize) -> bool {
        false
    }
}

/// Whether standard output was closed when the program began.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Looks at standard output before Rust's runtime starts, which replaces a closed one by `/dev/null`.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    // SAFETY: reading the flags of a descriptor does not touch memory.
    let closed = unsafe { libc::fcntl(1, libc::F_GETFD) } == -1;
    CLOSED.store(closed, Ordering::Relaxed);
}

/// Whether printed results would be lost.
pub fn output_is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Returns freed matrices to the system at once, so that memory is bounded by what is in use. By default the C library keeps
/// freed blocks between others.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets parameters of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 4 << 20);
        // What is smaller stays up to this much, or the system would hand out and clear the same pages thousands of times.
        libc::mallopt(libc::M_TRIM_THRESHOLD, 64 << 20);
    }
}

/// Reports a bug in the program (a panic) as one sentence too. Panics of worker threads reach the main thread, which ends.
pub fn install() {
    #[cfg(debug_assertions)]
    if let Some(n) = std::env::var("EBBING_FAIL_ALLOCATION").ok().and_then(|n| n.parse().ok()) {
        fault::CHOSEN.store(n, Ordering::Relaxed);
    }
    std::panic::set_hook(Box::new(|fault| {
        let place = fault.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let payload = fault.payload();
        let said = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref().copied());
        let said = said.unwrap_or("no message").replace('\n', " ");
        let _ = writeln!(std::io::stderr(), "ebbing: the program itself failed{place}: {said}; please report it");
    }));
}
