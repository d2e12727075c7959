//! Who waits for what: of one page only the newest request counts, and heavy work is done one at a time.
//!
//! The library tells its steps to a callback that cannot end them. Work that nobody waits for any more is left at its next
//! step by unwinding, which [`work`] catches.

use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// More pages than anybody has open; beyond them those that nobody waits for are forgotten.
const PAGES: usize = 64;

/// The requests of all pages.
#[derive(Debug)]
pub struct Desk {
    newest: Mutex<HashMap<String, Arc<AtomicU64>>>,
    lane: Arc<Semaphore>,
}

impl Default for Desk {
    fn default() -> Self {
        Desk { newest: Mutex::default(), lane: Arc::new(Semaphore::new(1)) }
    }
}

/// A request, as long as it is the newest of its page and the page waits for it.
#[derive(Debug, Clone)]
pub struct Wanted {
    newest: Arc<AtomicU64>,
    number: u64,
    gone: Arc<AtomicBool>,
}

/// Marks a request as one that nobody waits for when it is dropped.
#[derive(Debug)]
pub struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Desk {
    /// Takes a request of a page; those with smaller numbers count no more.
    pub fn take(&self, page: &str, number: u64) -> (Wanted, Waiting) {
        let mut all = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= PAGES && !all.contains_key(page) {
            all.retain(|_, newest| Arc::strong_count(newest) > 1);
        }
        let newest = all.entry(page.into()).or_default().clone();
        newest.fetch_max(number, Ordering::Relaxed);
        let gone = Arc::new(AtomicBool::new(false));
        (Wanted { newest, number, gone: gone.clone() }, Waiting(gone))
    }

    /// Waits for its turn with heavy work; none where the request counts no more when it comes.
    pub async fn turn(&self, wanted: &Wanted) -> Option<OwnedSemaphorePermit> {
        let turn = self.lane.clone().acquire_owned().await.ok()?;
        wanted.holds().then_some(turn)
    }
}

/// What unwinding carries where work is left.
struct Left;

impl Wanted {
    /// Whether somebody still waits.
    pub fn holds(&self) -> bool {
        self.newest.load(Ordering::Relaxed) <= self.number && !self.gone.load(Ordering::Relaxed)
    }

    /// Leaves the work where nobody waits for it; only within [`work`].
    pub fn or_leave(&self) {
        if !self.holds() {
            resume_unwind(Box::new(Left));
        }
    }
}

/// How work ended.
#[derive(Debug)]
pub enum Ended<T> {
    /// With a result.
    Done(T),
    /// Nobody waited any more.
    Left,
    /// By a fault of the program, in its words.
    Fault(String),
}

/// Does the work, however it ends.
pub fn work<T>(job: impl FnOnce() -> T) -> Ended<T> {
    match catch_unwind(AssertUnwindSafe(job)) {
        Ok(done) => Ended::Done(done),
        Err(payload) if payload.is::<Left>() => Ended::Left,
        Err(payload) => Ended::Fault(words(payload.as_ref())),
    }
}

fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a fault without words".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ten_quick_moves_one_is_computed() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let desk = Desk::default();
            let other = desk.take("other page", 1);
            let moves: Vec<(Wanted, Waiting)> = (1..=10).map(|number| desk.take("page", number)).collect();
            let mut computed = vec![];
            for (wanted, _) in &moves {
                if desk.turn(wanted).await.is_some() {
                    computed.push(wanted.number);
                }
            }
            assert_eq!(computed, [10]);
            assert!(other.0.holds(), "pages do not disturb each other");
        });
    }

    #[test]
    fn work_that_nobody_waits_for_is_left_at_its_next_step() {
        let desk = Desk::default();
        let (wanted, waiting) = desk.take("page", 1);
        let mut steps = 0;
        let ended = work(|| {
            for step in 0..10 {
                if step == 3 {
                    desk.take("page", 2);
                }
                wanted.or_leave();
                steps += 1;
            }
        });
        assert!(matches!(ended, Ended::Left) && steps == 3, "{steps}");
        let (wanted, later) = desk.take("page", 3);
        drop(waiting);
        assert!(wanted.holds());
        drop(later);
        assert!(!wanted.holds(), "the page has closed the connection");
        assert!(matches!(work(|| panic!("a fault")), Ended::<()>::Fault(words) if words == "a fault"));
        assert!(matches!(work(|| 5), Ended::Done(5)));
    }

    #[test]
    fn pages_that_are_gone_are_forgotten() {
        let desk = Desk::default();
        let kept = desk.take("kept", 1);
        (0..1000).for_each(|page| drop(desk.take(&format!("{page}"), 1)));
        assert!(desk.newest.lock().unwrap().len() <= PAGES + 1);
        assert!(desk.newest.lock().unwrap().contains_key("kept") && kept.0.holds());
    }
}
