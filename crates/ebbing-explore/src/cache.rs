//! Computed results by what they depend on, within a memory bound; the least recently used are dropped first.

use ebbing::Context;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that the smallest entry counts as: its key and its slot.
const LEAST: usize = 512;

/// Results by key.
#[derive(Debug)]
pub struct Cache {
    bound: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: HashMap<String, Entry>,
    bytes: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    value: Arc<dyn Any + Send + Sync>,
    bytes: usize,
    used: u64,
}

impl Cache {
    /// Keeps at most `bound` bytes.
    pub fn new(bound: usize) -> Cache {
        Cache { bound, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A thread that panicked while holding the lock left only complete entries behind.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a key.
    pub fn get<T: Send + Sync + 'static>(&self, key: &str) -> Option<Arc<T>> {
        let mut kept = self.kept();
        kept.clock += 1;
        let now = kept.clock;
        let entry = kept.entries.get_mut(key)?;
        entry.used = now;
        entry.value.clone().downcast().ok()
    }

    /// Whether a key has a value.
    pub fn has(&self, key: &str) -> bool {
        self.kept().entries.contains_key(key)
    }

    /// Stores a value of so many bytes, and drops others until all fit; a value larger than the bound is not stored.
    pub fn put<T: Send + Sync + 'static>(&self, key: &str, value: Arc<T>, bytes: usize) {
        let bytes = bytes.max(LEAST) + key.len();
        let mut kept = self.kept();
        if let Some(old) = kept.entries.remove(key) {
            kept.bytes -= old.bytes;
        }
        if bytes > self.bound {
            return;
        }
        while kept.bytes + bytes > self.bound {
            let oldest = kept.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let Some(gone) = oldest.and_then(|key| kept.entries.remove(&key)) else { break };
            kept.bytes -= gone.bytes;
        }
        kept.clock += 1;
        let used = kept.clock;
        kept.bytes += bytes;
        kept.entries.insert(key.into(), Entry { value, bytes, used });
    }

    /// The value of a key, or the one that `make` computes, with its bytes.
    ///
    /// # Errors
    /// What `make` says.
    pub fn or_make<T: Send + Sync + 'static>(
        &self,
        context: &Context,
        key: &str,
        make: impl FnOnce() -> ebbing::Result<(T, usize)>,
    ) -> ebbing::Result<Arc<T>> {
        if let Some(known) = self.get(key) {
            return Ok(known);
        }
        let (value, bytes) = make()?;
        // What was computed after a stop request is incomplete.
        context.check()?;
        let value = Arc::new(value);
        self.put(key, value.clone(), bytes);
        Ok(value)
    }

    /// The most bytes that are kept.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// Bytes in use.
    pub fn bytes(&self) -> usize {
        self.kept().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let cache = Cache::new(3 * (1000 + 1));
        for key in ["a", "b", "c"] {
            cache.put(key, Arc::new(key.to_string()), 1000);
        }
        assert_eq!(cache.get::<String>("a").as_deref().map(String::as_str), Some("a"));
        cache.put("d", Arc::new("d".to_string()), 1000);
        assert!(cache.has("a") && !cache.has("b") && cache.has("c") && cache.has("d"));
        assert!(cache.get::<usize>("a").is_none(), "another type is not what was kept");
    }

    #[test]
    fn memory_is_bounded() {
        let cache = Cache::new(10_000);
        for k in 0..1000 {
            cache.put(&format!("{k}"), Arc::new(k), 10 * (k % 100));
            assert!(cache.bytes() <= 10_000);
        }
        cache.put("large", Arc::new(0), 20_000);
        assert!(!cache.has("large") && cache.has("999"), "one that does not fit drives nothing out");
        cache.put("999", Arc::new(1), 600);
        assert_eq!(cache.get::<i32>("999").as_deref(), Some(&1));
        let made = cache.or_make(&Context::default(), "made", || Ok((5_u8, 1))).unwrap();
        assert_eq!((*made, *cache.or_make(&Context::default(), "made", || Ok((6_u8, 1))).unwrap()), (5, 5));
    }
}
