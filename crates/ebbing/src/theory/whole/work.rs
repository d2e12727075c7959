//! How much of a long computation is done, in operations of a dense product in double precision.

use crate::context::Context;
use crate::error::Result;

/// The work as a whole, and who hears how much of it is done.
pub(super) struct Work<'a> {
    context: &'a Context,
    what: String,
    total: f64,
    done: f64,
    said: f64,
}

impl<'a> Work<'a> {
    /// Work of so many operations.
    pub fn new(total: f64, context: &'a Context) -> Work<'a> {
        Work { context, what: String::new(), total: total.max(1.0), done: 0.0, said: f64::NEG_INFINITY }
    }

    /// Says what comes next.
    pub fn begin(&mut self, what: String) -> Result<()> {
        self.what = what;
        self.say()
    }

    /// So many operations are done.
    pub fn did(&mut self, operations: f64) -> Result<()> {
        /// Shares of the work between two words about it.
        const STEP: f64 = 1e-4;
        self.done += operations;
        if self.share() >= self.said + STEP { self.say() } else { self.context.check() }
    }

    /// Operations that are done.
    pub fn done(&self) -> f64 {
        self.done
    }

    /// A part took other than the operations that were planned for it.
    pub fn correct(&mut self, planned: f64, taken: f64) {
        self.total += taken - planned;
    }

    fn share(&self) -> f64 {
        (self.done / self.total.max(self.done)).min(1.0)
    }

    fn say(&mut self) -> Result<()> {
        self.said = self.share();
        self.context.say(&self.what, self.said)
    }
}
