//! How much of a long computation is done, in operations of a dense product in double precision.

/// The work as a whole, and who hears how much of it is done.
pub(super) struct Work<'a> {
    hear: &'a mut dyn FnMut(&str, f64),
    what: String,
    total: f64,
    done: f64,
    told: f64,
}

impl<'a> Work<'a> {
    /// Work of so many operations.
    pub fn new(total: f64, hear: &'a mut dyn FnMut(&str, f64)) -> Work<'a> {
        Work { hear, what: String::new(), total: total.max(1.0), done: 0.0, told: f64::NEG_INFINITY }
    }

    /// Says what comes next.
    pub fn begin(&mut self, what: String) {
        self.what = what;
        self.tell();
    }

    /// So many operations are done.
    pub fn did(&mut self, operations: f64) {
        /// Shares of the work between two words about it.
        const STEP: f64 = 1e-4;
        self.done += operations;
        if self.share() >= self.told + STEP {
            self.tell();
        }
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

    fn tell(&mut self) {
        self.told = self.share();
        (self.hear)(&self.what, self.told);
    }
}
