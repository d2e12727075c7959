//! Prepared data sets, loaded once and shared by the cells of a study.

use ebbing::data::{Features, Part, Preprocess, Targets};
use ebbing::{Dataset, Result, Source};
use std::collections::{BTreeMap, HashSet};
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

    /// The set `name`, prepared; loaded at the first call. Of training images that are equal pixel for pixel the first is
    /// kept (CIFAR-100 in grey levels has 14 such pairs): a task that held both could not be learned.
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
        let source = Arc::new(Source::new(without_repeats(Dataset::load(name)?), preprocess)?);
        loaded.insert(key, source.clone());
        Ok(source)
    }
}

/// The set with the first of equal training images only.
fn without_repeats(mut set: Dataset) -> Dataset {
    if let (Features::Bytes { pixels, dim }, Targets::Classes(classes)) = (&set.train.features, &set.train.targets) {
        let mut seen = HashSet::new();
        let images = pixels.chunks_exact((*dim).max(1));
        let first: Vec<bool> = images.clone().map(|image| seen.insert(image)).collect();
        if first.contains(&false) {
            let kept = images.zip(&first).filter(|(_, first)| **first).flat_map(|(image, _)| image).copied();
            let labels = classes.iter().zip(&first).filter(|(_, first)| **first).map(|(class, _)| *class);
            set.train = Part {
                features: Features::Bytes { pixels: kept.collect(), dim: *dim },
                targets: Targets::Classes(labels.collect()),
            };
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_images_are_kept_once() {
        let sample = Dataset::sample().unwrap();
        assert_eq!(without_repeats(sample.clone()), sample);
        let mut twice = sample.clone();
        if let (Features::Bytes { pixels, dim }, Targets::Classes(classes)) =
            (&mut twice.train.features, &mut twice.train.targets)
        {
            pixels.extend_from_within(7 * *dim..8 * *dim);
            classes.push(classes[7]);
        }
        assert_eq!(twice.train.features.rows(), 4001);
        assert_eq!(without_repeats(twice), sample);
    }
}
