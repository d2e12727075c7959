//! Everything that is said to the user: results on standard output, remarks and progress on standard error.

use ebbing::Context;
use ebbing::plan::MemoryLimit;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work shorter than this shows no progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// The way to talk to the user.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    quiet: bool,
    bars: bool,
    memory: MemoryLimit,
}

impl Console {
    /// `quiet` keeps remarks and progress back; progress needs a terminal besides. Computations plan with so much memory.
    pub fn new(quiet: bool, memory: MemoryLimit) -> Self {
        Console { quiet, bars: !quiet && std::io::stderr().is_terminal(), memory }
    }

    /// What computations run within.
    pub fn context(&self) -> Context {
        Context::new().memory(self.memory)
    }

    /// The same with a bar for work called `what`, which is there until all copies are dropped.
    pub fn watched(&self, what: &str) -> Context {
        let bar = Mutex::new(self.share(what));
        self.context().listen(move |progress| {
            let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            bar.note(progress.text);
            bar.set((1e4 * progress.share) as u64);
            ControlFlow::Continue(())
        })
    }

    /// Writes a result to standard output.
    pub fn print(&self, text: &str) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| {
            let broken = e.kind() == std::io::ErrorKind::BrokenPipe;
            if broken { e.into() } else { ebbing::Error::io("standard output", e).into() }
        })
    }

    /// Writes a result to standard output as indented JSON.
    pub fn print_json(&self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(value)?;
        text.push('\n');
        self.print(&text)
    }

    /// Writes a remark to standard error, unless it is to be quiet.
    pub fn remark(&self, text: &str) {
        if !self.quiet {
            // Nothing can be done, or need be, when standard error is closed.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// A bar for `total` steps called `what`, drawn once the work has taken two seconds.
    pub fn steps(&self, what: &str, total: u64) -> Progress {
        self.progress("{msg} {wide_bar} {pos}/{len}, {eta} left", what, total)
    }

    /// A bar for shares of work called `what`, of 10 000 in all, drawn once the work has taken two seconds.
    pub fn share(&self, what: &str) -> Progress {
        self.progress("{msg} {wide_bar} {percent} %, {eta} left", what, 10_000)
    }

    /// A bar for `total` bytes of `what`, drawn once the transfer has taken two seconds.
    pub fn bytes(&self, what: &str, total: u64) -> Progress {
        self.progress("{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes}, {eta} left", what, total)
    }

    fn progress(&self, template: &str, what: &str, total: u64) -> Progress {
        if !self.bars {
            return Progress { bar: ProgressBar::hidden(), begin: None };
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what.to_string());
        Progress { bar, begin: Some(Instant::now()) }
    }
}

/// A progress bar that shows itself late and leaves nothing behind.
pub struct Progress {
    bar: ProgressBar,
    /// When the work began; `None` once the bar is shown, or when it never will be.
    begin: Option<Instant>,
}

impl Progress {
    /// Says beside the bar what is being done.
    pub fn note(&self, text: &str) {
        self.bar.set_message(text.to_string());
    }

    /// Tells how much is done.
    pub fn set(&mut self, done: u64) {
        if self.begin.is_some_and(|begin| begin.elapsed() >= PATIENCE) {
            self.begin = None;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
