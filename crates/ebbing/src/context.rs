//! What a computation runs within: memory, scratch, threads, and who hears of it and may stop it.
//!
//! | Item | What it is |
//! |---|---|
//! | [`Context`] | all of it, handed down to everything that may take long |
//! | [`Progress`] | what a listener hears |
//! | [`Stop`] | a token that asks for an end; anybody may hold a copy of it |
//!
//! ```
//! use ebbing::context::{Context, Progress};
//! use ebbing::plan::MemoryLimit;
//! use std::ops::ControlFlow;
//! let context = Context::new().memory(MemoryLimit::Bytes(4 << 30)).threads(2).listen(|progress: &Progress<'_>| {
//!     println!("{:3.0} %  {}", 100.0 * progress.share, progress.text);
//!     ControlFlow::Continue(())
//! });
//! assert_eq!(context.run(|| Ok(1 + 1))?, 2);
//! let stop = context.token();
//! stop.stop();
//! assert!(matches!(context.run(|| Ok(0)), Err(ebbing::Error::Stopped)));
//! # Ok::<(), ebbing::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::plan::{Memory, MemoryLimit};
pub use crate::stop::Stop;
use crate::stop::Workers;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Where a computation is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// What is done now.
    pub text: &'a str,
    /// The share of all of the work that is done before it, from 0 to 1.
    pub share: f64,
}

type Listener = Arc<dyn Fn(&Progress<'_>) -> ControlFlow<()> + Send + Sync>;

/// What a computation runs within. Copies share their threads, their token and their listener.
///
/// | part | default | what it decides |
/// |---|---|---|
/// | [`memory`](Context::memory) | what the machine has | what is refused, and whether kernels are kept or made in tiles |
/// | [`scratch`](Context::scratch) | in the folder of temporary files | where tiles keep what is finished |
/// | [`threads`](Context::threads) | the current pool's | how many compute; no result depends on it |
/// | [`stop`](Context::stop) | none | a token that ends everything that runs within it |
/// | [`listen`](Context::listen) | nobody | hears of every step, and ends everything by [`ControlFlow::Break`] |
///
/// Memory is read once, where the context is made: all decisions taken from it agree.
#[derive(Clone)]
pub struct Context {
    memory: Memory,
    scratch: Option<PathBuf>,
    crew: Arc<Crew>,
    listener: Option<Listener>,
    /// The part of all of the work that is reported as from 0 to 1.
    part: (f64, f64),
}

/// Threads of a context, started when they are first needed, and the token that ends what they do.
#[derive(Debug, Default)]
struct Crew {
    /// How many; none for those of the caller, which know no token.
    threads: Option<usize>,
    stop: Stop,
    workers: OnceLock<Workers>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Context { memory, scratch, crew, listener, part } = self;
        let mut all = f.debug_struct("Context");
        all.field("memory", memory).field("scratch", scratch).field("crew", crew);
        all.field("listener", &listener.is_some()).field("part", part).finish()
    }
}

impl Default for Context {
    fn default() -> Self {
        let crew = Arc::default();
        Context { memory: Memory::default(), scratch: None, crew, listener: None, part: (0.0, 1.0) }
    }
}

impl Context {
    /// The memory of this machine, the threads of the caller, nobody who listens.
    pub fn new() -> Context {
        Context::default()
    }

    /// Plans with this much memory.
    pub fn memory(self, limit: MemoryLimit) -> Context {
        Context { memory: Memory::of(limit), ..self }
    }

    /// Keeps finished parts of what does not fit into memory in this folder.
    pub fn scratch(self, folder: impl Into<PathBuf>) -> Context {
        Context { scratch: Some(folder.into()), ..self }
    }

    /// Computes on so many threads of its own, 0 for as many as there are cores.
    pub fn threads(self, threads: usize) -> Context {
        let crew = Crew { threads: Some(threads), stop: self.crew.stop.clone(), ..Crew::default() };
        Context { crew: Arc::new(crew), ..self }
    }

    /// Ends where this token asks for it, at once: on threads of its own.
    pub fn stop(self, token: Stop) -> Context {
        let crew = Crew { threads: Some(self.crew.threads.unwrap_or(0)), stop: token, ..Crew::default() };
        Context { crew: Arc::new(crew), ..self }
    }

    /// Reports every step to `listener`, which ends everything by [`ControlFlow::Break`].
    pub fn listen(self, listener: impl Fn(&Progress<'_>) -> ControlFlow<()> + Send + Sync + 'static) -> Context {
        Context { listener: Some(Arc::new(listener)), ..self }
    }

    /// The same for part `k` (from 0) of `n` equal parts of the work.
    pub fn part(&self, k: usize, n: usize) -> Context {
        let (from, to) = self.part;
        let at = |k: usize| from + (to - from) * k as f64 / n.max(1) as f64;
        Context { part: (at(k), at(k + 1)), ..self.clone() }
    }

    /// The same for work of which nobody knows how much there is: its share stays where it is.
    pub(crate) fn without_shares(&self) -> Context {
        Context { part: (self.part.0, self.part.0), ..self.clone() }
    }

    /// The memory that is planned with.
    pub fn plan(&self) -> &Memory {
        &self.memory
    }

    /// The folder of finished parts.
    pub fn scratch_folder(&self) -> PathBuf {
        self.scratch.as_deref().map_or_else(|| std::env::temp_dir().join("ebbing-unfinished"), Path::to_path_buf)
    }

    /// The token that ends everything that runs within this context.
    pub fn token(&self) -> Stop {
        self.crew.stop.clone()
    }

    /// Reports that `share` of the work is done and `text` comes next.
    ///
    /// # Errors
    /// [`Error::Stopped`] where the listener or the token asks for the end.
    pub fn say(&self, text: &str, share: f64) -> Result<()> {
        self.check()?;
        let Some(listener) = &self.listener else { return Ok(()) };
        let (from, to) = self.part;
        if listener(&Progress { text, share: from + (to - from) * share }).is_break() {
            self.crew.stop.stop();
        }
        self.check()
    }

    /// Ends the work where that is asked for.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn check(&self) -> Result<()> {
        if self.crew.stop.stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Does the work on the threads of this context and waits for it.
    ///
    /// # Errors
    /// Those of the work; [`Error::Stopped`] where the end was asked for before it came back; [`Error::Data`] where the
    /// operating system does not start the threads.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        self.check()?;
        match self.workers()? {
            Some(workers) => workers.run(work),
            None => work().and_then(|done| self.check().map(|()| done)),
        }
    }

    /// Does the work on the threads of this context, and waits for nothing.
    ///
    /// # Errors
    /// [`Error::Data`] where the operating system does not start the threads.
    pub fn spawn(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        match self.workers()? {
            Some(workers) => workers.spawn(work),
            None => rayon::spawn(work),
        }
        Ok(())
    }

    /// Threads of its own, started now where they were not; none where it computes on the caller's.
    fn workers(&self) -> Result<Option<&Workers>> {
        let Some(threads) = self.crew.threads else { return Ok(None) };
        if let Some(workers) = self.crew.workers.get() {
            return Ok(Some(workers));
        }
        let started = self.crew.stop.workers(threads)?;
        Ok(Some(self.crew.workers.get_or_init(|| started)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn parts_share_the_work_out() {
        let heard: Arc<Mutex<Vec<f64>>> = Arc::default();
        let all = heard.clone();
        let context = Context::new().listen(move |progress| {
            all.lock().unwrap().push(progress.share);
            ControlFlow::Continue(())
        });
        for k in 0..2 {
            let half = context.part(k, 2);
            half.say("a half", 0.0).unwrap();
            half.part(1, 2).say("its second half", 0.5).unwrap();
        }
        assert_eq!(*heard.lock().unwrap(), [0.0, 0.375, 0.5, 0.875]);
    }

    #[test]
    fn a_listener_ends_the_work() {
        let context = Context::new().threads(2).listen(|progress| match progress.share < 0.5 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        });
        let mut steps = 0;
        let ended = context.run(|| {
            (0..10).try_for_each(|k| {
                steps += 1;
                context.say("a step", 0.1 * f64::from(k))
            })
        });
        assert!(matches!(ended, Err(Error::Stopped)) && steps == 6, "{ended:?} after {steps} steps");
        assert!(crate::stop::check().is_ok(), "other threads are left alone");
        assert!(matches!(context.run(|| Ok(())), Err(Error::Stopped)), "a token is never taken back");
    }
}
