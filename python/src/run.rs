//! Long work on threads of its own, while the interpreter stays free and listens for Ctrl-C.

use crate::errors::python;
use ebbing::Context;
use ebbing::plan::{MemoryLimit, Threads};
use pyo3::exceptions::{PyRuntimeError, PyUserWarning};
use pyo3::prelude::*;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often signals are looked at.
const POLL: Duration = Duration::from_millis(50);

/// What the work says.
enum Event<T> {
    /// Which share is done, and what comes next.
    Step(f64, String),
    Done(std::thread::Result<ebbing::Result<T>>),
}

/// Runs `work` without the interpreter; `progress(done, total, text)` hears its steps, the share `done` of a `total` of 1.
///
/// Ctrl-C raises KeyboardInterrupt at once, and the work ends by itself within a second, which is why it must own its data. What
/// is asked for next has other threads and need not wait for that.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Context) -> ebbing::Result<T> + Send + 'static,
) -> PyResult<T> {
    let crew = Crew::take(py)?;
    let (sender, mut receiver) = channel();
    let context = match &progress {
        None => crew.context.clone(),
        Some(_) => {
            let steps = sender.clone();
            crew.context.clone().listen(move |step| match steps.send(Event::Step(step.share, step.text.into())) {
                Ok(()) => ControlFlow::Continue(()),
                // Nobody listens after an interruption.
                Err(_) => ControlFlow::Break(()),
            })
        }
    };
    let threads = crew.context.clone();
    let spawned = threads.spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| context.run(|| work(&context))));
        let _ = sender.send(Event::Done(result));
    });
    spawned.map_err(python)?;
    loop {
        let event;
        (receiver, event) = py.detach(move || wait(receiver));
        let outcome = match event {
            Ok(Event::Done(Ok(result))) => {
                crew.give_back();
                return result.map_err(python);
            }
            Ok(Event::Done(Err(panic))) => resume_unwind(panic),
            // Steps can follow each other faster than signals are looked at, and a listener need not run any Python.
            Ok(Event::Step(share, text)) => progress
                .as_ref()
                .map_or(Ok(()), |listener| listener.call1(py, (share, 1.0, text)).map(|_| ()))
                .and_then(|()| py.check_signals()),
            Err(RecvTimeoutError::Timeout) => py.check_signals(),
            Err(RecvTimeoutError::Disconnected) => Err(PyRuntimeError::new_err("the work ended without a result")),
        };
        // The threads are asked to end as they are let go of.
        outcome?;
    }
}

/// Runs short work on its threads while the caller waits for it.
pub fn run_here<T: Send>(py: Python<'_>, work: impl FnOnce() -> ebbing::Result<T> + Send) -> PyResult<T> {
    let crew = Crew::take(py)?;
    let result = py.detach(|| crew.context.run(work));
    crew.give_back();
    result.map_err(python)
}

/// How much memory computations may plan with: what `memory_limit` was last called with.
static MEMORY: Mutex<MemoryLimit> = Mutex::new(MemoryLimit::Machine);

/// Chooses how much memory later calls may plan with.
pub fn set_memory(limit: MemoryLimit) {
    *MEMORY.lock().unwrap_or_else(PoisonError::into_inner) = limit;
}

/// Threads that one call computes on: none of another call, so that they can be asked to end. Threads of calls that came to
/// their end are kept for later ones.
struct Crew {
    context: Context,
    threads: usize,
    process: u32,
    /// Whether the call came to its end.
    ended: bool,
}

/// The threads of this very process (a child that was forked from one that has computed has none of its parent's, and would wait
/// for them forever).
#[derive(Default)]
struct Crews {
    process: u32,
    /// What has its threads, and how many.
    idle: Vec<(Context, usize)>,
    /// How many calls compute now.
    busy: usize,
    /// Whether it was said that there are fewer threads than were asked for.
    warned: bool,
}

impl Crews {
    fn all() -> MutexGuard<'static, Crews> {
        static ALL: Mutex<Crews> = Mutex::new(Crews { process: 0, idle: vec![], busy: 0, warned: false });
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if all.process != process {
            // To end the parent's threads would mean to wait for them.
            std::mem::forget(std::mem::replace(&mut *all, Crews { process, ..Crews::default() }));
        }
        all
    }
}

impl Crew {
    /// Threads for one call: all that were asked for, or a share of them beside calls that are under way. Warns, the first time,
    /// where there are fewer than were asked for.
    fn take(py: Python<'_>) -> PyResult<Crew> {
        let asked = Threads::asked(None);
        let mut all = Crews::all();
        let wanted = asked.as_ref().map_or_else(cores, |threads| threads.used).div_ceil(all.busy + 1);
        let (context, threads) = match all.idle.iter().position(|(_, threads)| *threads == wanted) {
            Some(place) => all.idle.swap_remove(place),
            None => (Context::new().threads(wanted), wanted),
        };
        let context = context.memory(*MEMORY.lock().unwrap_or_else(PoisonError::into_inner));
        all.busy += 1;
        let crew = Crew { context, threads, process: all.process, ended: false };
        let warned = std::mem::replace(&mut all.warned, true);
        drop(all);
        if let Some(sentence) = asked.and_then(|threads| threads.fewer).filter(|_| !warned) {
            // Not while the lock is held: a warning may run Python, and other threads of it that ask for threads.
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(sentence)?, 2)?;
        }
        Ok(crew)
    }

    /// Keeps the threads for a later call: this one came to its end.
    fn give_back(mut self) {
        self.ended = true;
    }
}

impl Drop for Crew {
    /// Asks threads that still compute for their end.
    fn drop(&mut self) {
        let mut all = Crews::all();
        if all.process != self.process {
            return;
        }
        all.busy -= 1;
        if self.ended {
            all.idle.push((self.context.clone(), self.threads));
        } else {
            self.context.token().stop();
        }
    }
}

/// As many as compute where no number is asked for.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The next event, or a time-out; hands the receiver back.
fn wait<T>(receiver: Receiver<Event<T>>) -> (Receiver<Event<T>>, Result<Event<T>, RecvTimeoutError>) {
    let event = receiver.recv_timeout(POLL);
    (receiver, event)
}
