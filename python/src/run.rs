//! Long work on a thread of its own, while the interpreter stays free and listens for Ctrl-C.

use crate::errors::python;
use ebbing::plan::Threads;
use pyo3::exceptions::{PyRuntimeError, PyUserWarning};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often signals are looked at.
const POLL: Duration = Duration::from_millis(50);
/// As much as a main thread has.
const STACK: usize = 8 << 20;

/// What the worker tells.
enum Event<T> {
    /// How much of how much is done, and what comes next.
    Step(f64, f64, String),
    Done(std::thread::Result<ebbing::Result<T>>),
}

/// The worker's end: tells where it is, and hears that nobody waits any more.
pub struct Reporter<T> {
    sender: Sender<Event<T>>,
    /// Whether anybody hears the steps.
    heard: bool,
    stopped: Arc<AtomicBool>,
}

impl<T> Reporter<T> {
    /// Tells that `done` of `total` is done and `text` comes next; work that nobody waits for any more ends here.
    pub fn step(&self, done: f64, total: f64, text: &str) {
        if self.stopped.load(Ordering::Relaxed) {
            resume_unwind(Box::new("interrupted"));
        }
        if self.heard {
            // Nobody listens after an interruption that came just now.
            let _ = self.sender.send(Event::Step(done, total, text.into()));
        }
    }
}

/// Runs `work` without the interpreter; `progress(done, total, text)` hears its steps.
///
/// Ctrl-C raises KeyboardInterrupt at once. Work that reports steps ends at the next one; other work is left to end by
/// itself, its result unread, which is why it must own its data.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Reporter<T>) -> ebbing::Result<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let stopped = Arc::new(AtomicBool::new(false));
    let reporter = Reporter { sender, heard: progress.is_some(), stopped: stopped.clone() };
    let pool = pool(py)?;
    let worker = move || {
        let result = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(&reporter))));
        let _ = reporter.sender.send(Event::Done(result));
    };
    std::thread::Builder::new().name("ebbing".into()).stack_size(STACK).spawn(worker)?;
    loop {
        let event;
        (receiver, event) = py.detach(move || wait(receiver));
        let outcome = match event {
            Ok(Event::Done(Ok(result))) => return result.map_err(python),
            Ok(Event::Done(Err(panic))) => resume_unwind(panic),
            // Steps can follow each other faster than signals are looked at, and a listener need not run any Python.
            Ok(Event::Step(done, total, text)) => progress
                .as_ref()
                .map_or(Ok(()), |listener| listener.call1(py, (done, total, text)).map(|_| ()))
                .and_then(|()| py.check_signals()),
            Err(RecvTimeoutError::Timeout) => py.check_signals(),
            Err(RecvTimeoutError::Disconnected) => Err(PyRuntimeError::new_err("the worker ended without a result")),
        };
        if let Err(error) = outcome {
            stopped.store(true, Ordering::Relaxed);
            return Err(error);
        }
    }
}

/// The threads that compute; warns, when they start, where there are fewer than were asked for.
pub fn pool(py: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    let (pool, fewer) = threads()?;
    if let Some(sentence) = fewer {
        // Not while the lock is held: a warning may run Python, and other threads of it that ask for the pool.
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(sentence)?, 2)?;
    }
    Ok(pool)
}

/// The threads of this very process (a child that was forked from one that has computed has none of its parent's, and would
/// wait for them forever), and when they start what there is to say of their number.
fn threads() -> PyResult<(Arc<ThreadPool>, Option<String>)> {
    static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    let mut kept = POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let process = std::process::id();
    match kept.take() {
        Some((owner, pool)) if owner == process => *kept = Some((owner, pool)),
        // To end the parent's threads would mean to wait for them.
        Some((_, pool)) => std::mem::forget(pool),
        None => {}
    }
    if let Some((_, pool)) = &*kept {
        return Ok((pool.clone(), None));
    }
    let asked = Threads::asked(None);
    // None asked for: as many as there are cores.
    let built = ThreadPoolBuilder::new().num_threads(asked.as_ref().map_or(0, |threads| threads.used)).build();
    let pool = Arc::new(built.map_err(|e| PyRuntimeError::new_err(format!("the threads did not start ({e})")))?);
    *kept = Some((process, pool.clone()));
    let fewer = asked.and_then(|threads| threads.fewer);
    Ok((pool, fewer))
}

/// The next event, or a time-out; hands the receiver back.
fn wait<T>(receiver: Receiver<Event<T>>) -> (Receiver<Event<T>>, Result<Event<T>, RecvTimeoutError>) {
    let event = receiver.recv_timeout(POLL);
    (receiver, event)
}
