//! Output for the user: results on standard output, remarks and progress on standard error.

use ebbing::Context;
use ebbing::plan::MemoryLimit;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work shorter than this shows no progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes results, remarks and progress.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    quiet: bool,
    bars: bool,
    memory: MemoryLimit,
}

impl Console {
    /// `quiet` suppresses remarks and progress; progress also needs a terminal. `memory` is what computations may plan with.
    pub fn new(quiet: bool, memory: MemoryLimit) -> Self {
        Console { quiet, bars: !quiet && std::io::stderr().is_terminal(), memory }
    }

    /// What computations run within.
    pub fn context(&self) -> Context {
        Context::new().memory(self.memory)
    }

    /// The same with a progress bar labeled `what`, removed when the last copy is dropped.
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

    /// Writes a remark to standard error, unless quiet.
    pub fn remark(&self, text: &str) {
        if !self.quiet {
            // If standard error is closed, nothing can be done about it.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// A bar for `total` steps, labeled `what`, drawn once the work has taken two seconds.
    pub fn steps(&self, what: &str, total: u64) -> Progress {
        self.progress("{msg} {wide_bar} {pos}/{len}, {eta} left", what, total)
    }

    /// A bar for shares of work, labeled `what`, out of 10 000, drawn once the work has taken two seconds.
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

/// A progress bar that appears late and leaves nothing behind.
pub struct Progress {
    bar: ProgressBar,
    /// When the work began; `None` once the bar is shown, or if it never will be.
    begin: Option<Instant>,
}

impl Progress {
    /// Sets the text beside the bar.
    pub fn note(&self, text: &str) {
        self.bar.set_message(text.to_string());
    }

    /// Sets how much is done.
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
