//! Prepared data sets, loaded once and shared by the cells of a study.

use ebbing::{Dataset, Preprocess, Result, Source};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Data sets with their preprocessing fitted, by name and settings.
#[derive(Default)]
pub struct Sources {
    loaded: Mutex<BTreeMap<String, Arc<Source>>>,
}

impl Sources {
    /// Nothing loaded yet.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// The set `name`, prepared; loaded at the first call.
    ///
    /// # Errors
    /// What loading or preparing it says.
    pub fn get(&self, name: &str, preprocess: &Preprocess) -> Result<Arc<Source>> {
        let key = format!("{name} {preprocess:?}");
        // Held while loading: a second cell that wants the same set waits for it instead of loading it too.
        let mut loaded = self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(source) = loaded.get(&key) {
            return Ok(source.clone());
        }
        let source = Arc::new(Source::new(Dataset::load(name)?, preprocess)?);
        loaded.insert(key, source.clone());
        Ok(source)
    }
}
