//! Ending work that nobody waits for any more.
//!
//! A [`Context`](crate::Context) with threads of its own computes on them alone, and each of them knows its token: products,
//! solves and kernels ask it where they are. On all other threads nothing ever asks for an end.
//!
//! Fallible code asks [`check`] in every loop that may take long. Products, solves and kernels are not fallible: once an end is
//! asked for they leave the rest of their work undone, and what they return is worthless. That is sound because a token is never
//! taken back:
//!
//! - where [`check`] is still `Ok`, everything that this request has computed so far is whole. Whatever outlives the request (a
//!   cache, a file, a cell that is filled once) is filled after a [`check`];
//! - [`Workers::run`] returns [`Error::Stopped`] wherever the token asks for an end when the work comes back, whatever it returns.
//!
use crate::error::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// The token of the request that this thread computes for, as long as it lives.
    static OWN: OnceCell<Stop> = const { OnceCell::new() };
}

/// Asks for the end of one request; copies are one token.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>, #[cfg(test)] tests::Looks);

impl Stop {
    /// Asks for the end.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end is asked for.
    pub fn stopped(&self) -> bool {
        #[cfg(test)]
        self.1.count(&self.0);
        self.0.load(Ordering::Relaxed)
    }

    /// Starts threads that compute for this token alone; 0 for as many as there are cores.
    ///
    /// # Errors
    /// [`Error::Data`] where the operating system does not start them.
    pub(crate) fn workers(&self, threads: usize) -> Result<Workers> {
        let own = self.clone();
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|k| format!("ebbing {k}"))
            .start_handler(move |_| OWN.with(|here| drop(here.set(own.clone()))))
            .build()
            .map_err(|error| Error::data("threads", format!("they did not start ({error}); ask for fewer")))?;
        Ok(Workers { stop: self.clone(), pool })
    }
}

/// Threads that compute for one request. Dropped, they end with what they are at.
#[derive(Debug)]
pub(crate) struct Workers {
    stop: Stop,
    pool: ThreadPool,
}

impl Workers {
    /// Does the work on these threads and waits for it.
    ///
    /// # Errors
    /// Those of the work; [`Error::Stopped`] where the end was asked for before it came back.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let result = self.pool.install(work);
        if self.stop.stopped() { Err(Error::Stopped) } else { result }
    }

    /// Does the work on these threads, and waits for nothing.
    pub fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        self.pool.spawn(work);
    }
}

/// Whether the work of this thread is to end. Code that cannot fail leaves the rest of its work undone then.
pub(crate) fn requested() -> bool {
    OWN.with(|here| here.get().is_some_and(Stop::stopped))
}

/// Ends the work of this thread where that is asked for.
///
/// # Errors
/// [`Error::Stopped`].
pub(crate) fn check() -> Result<()> {
    if requested() { Err(Error::Stopped) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
