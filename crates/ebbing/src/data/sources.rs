//! Prepared data sets, loaded once and shared by everything that draws from them.

use super::{Dataset, ImportOptions, Preprocess, Source};
use crate::error::Result;
use std::sync::{Arc, Mutex};

/// The name of a set, how it is prepared, and whether its examples are numbers only.
type Key = (String, Preprocess, bool);

/// Data sets with their preprocessing fitted, by name and settings.
#[derive(Debug, Default)]
pub struct Sources {
    loaded: Mutex<Vec<(Key, Arc<Source>)>>,
}

impl Sources {
    /// Nothing loaded yet.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// The set `name` (or, with a `/` in it, the set in that file or folder), prepared; loaded at the first call.
    ///
    /// # Errors
    /// What loading or preparing it says.
    pub fn get(&self, name: &str, preprocess: &Preprocess) -> Result<Arc<Source>> {
        self.remembered((name.into(), preprocess.clone(), false), || Source::new(open(name)?, preprocess))
    }

    /// The same set with every example replaced by its number, for checks of what can be drawn from it.
    ///
    /// # Errors
    /// What loading it says.
    pub fn numbers(&self, name: &str, preprocess: &Preprocess) -> Result<Arc<Source>> {
        let bare = Preprocess { gray: preprocess.gray, ..Preprocess::none() };
        self.remembered((name.into(), bare.clone(), true), || {
            Source::new(Source::new(open(name)?, &bare)?.into_numbers(), &Preprocess::none())
        })
    }

    fn remembered(&self, key: Key, make: impl FnOnce() -> Result<Source>) -> Result<Arc<Source>> {
        // Held while loading: a second caller that wants the same set waits for it instead of loading it too.
        let mut loaded = self.loaded.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, source)) = loaded.iter().find(|(known, _)| *known == key) {
            return Ok(source.clone());
        }
        let source = Arc::new(make()?);
        crate::stop::check()?;
        loaded.push((key, source.clone()));
        Ok(source)
    }
}

fn open(name: &str) -> Result<Dataset> {
    if name.contains('/') { Dataset::open(name, &ImportOptions::default()) } else { Dataset::load(name) }
}
