//! Requests of pages: only the newest request of a page counts, and heavy work is done one at a time.
//!
//! Every request has a token ([`Stop`]) that asks for its end as soon as nobody waits for it.

use ebbing::context::Stop;
use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most pages; beyond that, pages without a waiting request are forgotten.
const PAGES: usize = 64;

/// The requests of all pages.
#[derive(Debug)]
pub struct Desk {
    pages: Mutex<HashMap<String, Page>>,
    lane: Arc<Semaphore>,
}

/// The newest number of a page, and the requests that have it.
#[derive(Debug, Default)]
struct Page {
    newest: u64,
    wanted: Vec<Stop>,
}

impl Default for Desk {
    fn default() -> Self {
        Desk { pages: Mutex::default(), lane: Arc::new(Semaphore::new(1)) }
    }
}

/// Asks for the end of a request when it is dropped: nobody waits any more.
#[derive(Debug)]
pub struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Desk {
    /// Registers a request of a page; requests with smaller numbers no longer count.
    pub fn take(&self, page: &str, number: u64) -> (Stop, Waiting) {
        let mut all = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= PAGES && !all.contains_key(page) {
            all.retain(|_, page| page.wanted.iter().any(|stop| !stop.stopped()));
        }
        let page = all.entry(page.into()).or_default();
        let stop = Stop::default();
        if number > page.newest {
            page.newest = number;
            page.wanted.drain(..).for_each(|older| older.stop());
        }
        if number < page.newest {
            stop.stop();
        }
        page.wanted.retain(|other| !other.stopped());
        page.wanted.push(stop.clone());
        (stop.clone(), Waiting(stop))
    }

    /// Waits for its turn with heavy work; none if the request no longer counts by then.
    pub async fn turn(&self, wanted: &Stop) -> Option<OwnedSemaphorePermit> {
        let turn = self.lane.clone().acquire_owned().await.ok()?;
        (!wanted.stopped()).then_some(turn)
    }
}

/// Does the work, however it ends; a fault of the program in its words.
pub fn work<T>(job: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(job)).map_err(|payload| words(payload.as_ref()))
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
            let moves: Vec<(Stop, Waiting)> = (1..=10).map(|number| desk.take("page", number)).collect();
            let mut computed = vec![];
            for (number, (wanted, _)) in (1..).zip(&moves) {
                if desk.turn(wanted).await.is_some() {
                    computed.push(number);
                }
            }
            assert_eq!(computed, [10]);
            assert!(!other.0.stopped(), "pages do not disturb each other");
        });
    }

    #[test]
    fn what_nobody_waits_for_is_asked_to_end() {
        let desk = Desk::default();
        let (first, waiting) = desk.take("page", 1);
        assert!(!first.stopped());
        let (second, later) = desk.take("page", 2);
        assert!(first.stopped(), "a newer request overtakes");
        drop(waiting);
        assert!(!second.stopped());
        assert!(desk.take("page", 1).0.stopped(), "one that comes late");
        let (same, _waiting) = desk.take("page", 2);
        drop(later);
        assert!(second.stopped() && !same.stopped(), "the page has closed one connection");
        assert_eq!(work::<()>(|| panic!("a fault")), Err("a fault".to_string()));
        assert_eq!(work(|| 5), Ok(5));
    }

    #[test]
    fn pages_that_are_gone_are_forgotten() {
        let desk = Desk::default();
        let kept = desk.take("kept", 1);
        (0..1000).for_each(|page| drop(desk.take(&format!("{page}"), 1)));
        assert!(desk.pages.lock().unwrap().len() <= PAGES + 1);
        assert!(desk.pages.lock().unwrap().contains_key("kept") && !kept.0.stopped());
    }
}
