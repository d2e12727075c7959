//! Equal training examples: a task that held two of them with different labels could not be learned.

use super::{Dataset, Features, Part, Targets};
use crate::linalg::Mat;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

impl Dataset {
    /// The set with the first of equal training examples only (CIFAR-100 in gray levels has 14 such pairs), and how many
    /// were left out.
    pub(super) fn without_repeats(mut self) -> (Dataset, usize) {
        let kept = first_of_equal(&self.train.features);
        let dropped = self.train.features.rows() - kept.len();
        if dropped > 0 {
            self.train = self.train.select(&kept);
        }
        (self, dropped)
    }
}

/// The rows that equal no earlier one.
fn first_of_equal(features: &Features) -> Vec<usize> {
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
    let equal = |i: usize, j: usize| match features {
        Features::Bytes { pixels, dim } => pixels[i * dim..(i + 1) * dim] == pixels[j * dim..(j + 1) * dim],
        Features::Real(x) => (0..x.ncols()).all(|k| x[(i, k)] == x[(j, k)]),
    };
    let mut kept = Vec::new();
    for i in 0..features.rows() {
        let mut hasher = DefaultHasher::new();
        match features {
            Features::Bytes { pixels, dim } => pixels[i * dim..(i + 1) * dim].hash(&mut hasher),
            // Adding 0 makes −0 and 0, which are equal, hash alike.
            Features::Real(x) => (0..x.ncols()).for_each(|k| (x[(i, k)] + 0.0).to_bits().hash(&mut hasher)),
        }
        let alike = seen.entry(hasher.finish()).or_default();
        if !alike.iter().any(|&j| equal(i, j)) {
            alike.push(i);
            kept.push(i);
        }
    }
    kept
}

impl Part {
    /// The chosen examples, in the order given.
    fn select(&self, rows: &[usize]) -> Part {
        let features = match &self.features {
            Features::Bytes { pixels, dim } => {
                let image = |&i: &usize| pixels[i * dim..(i + 1) * dim].iter().copied();
                Features::Bytes { pixels: rows.iter().flat_map(image).collect(), dim: *dim }
            }
            real @ Features::Real(_) => Features::Real(real.select(rows)),
        };
        let targets = match &self.targets {
            Targets::Classes(classes) => Targets::Classes(rows.iter().map(|&i| classes[i]).collect()),
            Targets::Real(y) => Targets::Real(Mat::from_fn(rows.len(), y.ncols(), |i, j| y[(rows[i], j)])),
        };
        Part { features, targets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_examples_are_kept_once() {
        let sample = Dataset::sample().unwrap();
        assert_eq!(sample.clone().without_repeats(), (sample.clone(), 0));
        let mut twice = sample.clone();
        if let (Features::Bytes { pixels, dim }, Targets::Classes(classes)) =
            (&mut twice.train.features, &mut twice.train.targets)
        {
            pixels.extend_from_within(7 * *dim..8 * *dim);
            classes.push(classes[7]);
        }
        assert_eq!(twice.train.features.rows(), 4001);
        assert_eq!(twice.without_repeats(), (sample, 1));
    }

    #[test]
    fn real_features_too_and_zero_has_no_sign() {
        let features = |rows: &[[f64; 2]]| Features::Real(Mat::from_fn(rows.len(), 2, |i, j| rows[i][j]));
        assert_eq!(first_of_equal(&features(&[[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0], [2.0, 1.0 + 1e-15]])), [0, 1, 3]);
    }
}
