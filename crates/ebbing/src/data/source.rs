//! A data set with its preprocessing fitted: gives prepared examples by their row numbers.

use super::covariance::Rows;
use super::preprocess::{CovarianceSet, Preparation, Preprocess, Preprocessor};
use super::{Dataset, Features, Origin, Part, Targets};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use serde::{Deserialize, Serialize};

/// A data set and the preprocessing fitted to it. Only the rows that are asked for are ever converted. Of equal training
/// examples the first is kept.
///
/// ```
/// use ebbing::{Dataset, Source};
/// use ebbing::data::Preprocess;
/// let source = Source::new(Dataset::sample()?, &Preprocess::default())?;
/// let x = source.train(&[0, 17])?;
/// assert_eq!((x.nrows(), x.ncols()), (2, 784));
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Source {
    dataset: Dataset,
    fitted: Preprocessor,
    /// The set whose covariance whitens, where that is another one.
    reference: Option<CovarianceSet>,
    /// Training examples that were left out because they equal an earlier one.
    repeated: usize,
}

impl Source {
    /// Fits the preprocessing to the whole training part (and loads the set that `whiten.covariance_of` names, if any).
    ///
    /// # Errors
    /// [`Error::Data`] for an empty set, NaN or infinite features; [`Error::Setting`] for unusable settings; any
    /// error of [`Dataset::load`] for the set whose covariance is asked for.
    pub fn new(dataset: Dataset, settings: &Preprocess) -> Result<Source> {
        match settings.whiten.as_ref().filter(|w| w.covariance_of != "train") {
            Some(whiten) => {
                let reference = Dataset::load(&whiten.covariance_of)?;
                Self::with_covariance(dataset, settings, reference)
            }
            None => Self::build(dataset, settings, None),
        }
    }

    /// The same with the covariance of the training part of `reference`, whatever `whiten.covariance_of` says.
    ///
    /// # Errors
    /// As for [`Source::new`]; [`Error::Data`] where the two sets differ in dimension.
    pub fn with_covariance(dataset: Dataset, settings: &Preprocess, reference: Dataset) -> Result<Source> {
        Self::build(dataset, settings, Some(reference))
    }

    fn build(dataset: Dataset, settings: &Preprocess, reference: Option<Dataset>) -> Result<Source> {
        let convert = |set: Dataset| if settings.gray { to_gray(set) } else { Ok(set) };
        let (dataset, repeated) = convert(dataset)?.without_repeats();
        let reference = reference.map(convert).transpose()?;
        let train = |from: usize, n: usize| block(&dataset.train.features, from, n);
        let name = format!("the training part of {}", dataset.origin.name);
        let features = &dataset.train.features;
        let rows = Rows { name: &name, count: features.rows(), dim: features.dim(), block: &train };
        let fitted = match &reference {
            None => Preprocessor::fit_rows(&rows, None, settings)?,
            Some(other) => {
                let features = &other.train.features;
                let block = |from: usize, n: usize| block(features, from, n);
                let name = format!("the training part of {}", other.origin.name);
                let other = Rows { name: &name, count: features.rows(), dim: features.dim(), block: &block };
                Preprocessor::fit_rows(&rows, Some(&other), settings)?
            }
        };
        let reference = reference.map(|set| {
            let Origin { name, sha256, .. } = set.origin;
            CovarianceSet { name, sha256 }
        });
        Ok(Source { dataset, fitted, reference, repeated })
    }

    /// The set with every example replaced by its number, as one feature.
    pub(super) fn into_numbers(self) -> Dataset {
        let numbered = |part: Part| {
            let rows = part.features.rows();
            Part { features: Features::Real(Mat::from_fn(rows, 1, |i, _| i as f64)), ..part }
        };
        let Dataset { train, test, origin, .. } = self.dataset;
        Dataset { train: numbered(train), test: test.map(numbered), image_shape: None, origin }
    }

    /// The chosen training examples, prepared, one per row, in the order given.
    ///
    /// # Errors
    /// [`Error::Data`] for a row out of range, NaN or infinite features, or an example of norm 0.
    pub fn train(&self, rows: &[usize]) -> Result<Mat<f64>> {
        self.select(&self.dataset.train, "training", rows)
    }

    /// The chosen test examples, prepared with what was fitted to the training part.
    ///
    /// # Errors
    /// As for [`Source::train`], and where the set has no test part.
    pub fn test(&self, rows: &[usize]) -> Result<Mat<f64>> {
        self.select(self.test_part()?, "test", rows)
    }

    fn select(&self, part: &Part, which: &str, rows: &[usize]) -> Result<Mat<f64>> {
        let (count, set) = (part.features.rows(), &self.dataset.origin.name);
        if let Some(row) = rows.iter().find(|&&row| row >= count) {
            return Err(Error::data(format!("{set}, {which} row {row}"), format!("there are only {count} rows")));
        }
        let x = part.features.select(rows);
        self.fitted.apply_named(x, &|i| format!("{set}, {which} row {}", rows[i]))
    }

    fn test_part(&self) -> Result<&Part> {
        self.dataset.test.as_ref().ok_or_else(|| {
            let problem = "the set has no test part: ask for no test examples (--test-examples 0, in Python p_test=0), or import \
                           it with a file of test examples (ebbing data import --test FILE)";
            Error::data(&self.dataset.origin.name, problem)
        })
    }

    /// The class label of every training example.
    ///
    /// # Errors
    /// [`Error::Data`] where the targets are real numbers.
    pub fn train_classes(&self) -> Result<&[i64]> {
        self.classes(&self.dataset.train, "training")
    }

    /// The class label of every test example.
    ///
    /// # Errors
    /// [`Error::Data`] where the targets are real numbers or the set has no test part.
    pub fn test_classes(&self) -> Result<&[i64]> {
        self.classes(self.test_part()?, "test")
    }

    fn classes<'a>(&self, part: &'a Part, which: &str) -> Result<&'a [i64]> {
        match &part.targets {
            Targets::Classes(classes) => Ok(classes),
            Targets::Real(_) => Err(Error::data(
                format!("{}, {which} targets", self.dataset.origin.name),
                "they are real numbers where integer class labels are needed",
            )),
        }
    }

    /// The input dimension N0.
    pub fn dim(&self) -> usize {
        self.fitted.dim()
    }

    /// The set that is drawn from (converted to gray levels where that was asked for, repeated training examples left out).
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Data set name, source and hash, and the preprocessing with its parameters, as written into every result.
    pub fn settings(&self) -> PreparedSet {
        let Origin { name, source, sha256 } = self.dataset.origin.clone();
        let preprocess = Preparation { covariance_set: self.reference.clone(), ..self.fitted.describe() };
        PreparedSet { dataset: name, preprocess, repeated_examples_left_out: self.repeated, sha256, source }
    }
}

/// A data set and how its examples are prepared, as written into results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreparedSet {
    /// Its name.
    pub dataset: String,
    /// How examples are prepared.
    pub preprocess: Preparation,
    /// Training examples that were left out because they equal an earlier one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeated_examples_left_out: usize,
    /// The hash of its values.
    pub sha256: String,
    /// Where it came from, in words.
    pub source: String,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Rows `from .. from + n` of a set.
fn block(features: &Features, from: usize, n: usize) -> Mat<f64> {
    match features {
        Features::Bytes { .. } => features.select(&(from..from + n).collect::<Vec<_>>()),
        Features::Real(m) => m.subrows(from, n).to_owned(),
    }
}

/// Gray levels of color images, luma `Y = 0.299 R + 0.587 G + 0.114 B` (ITU-R BT.601): converts images of shape height × width × 3 to luma; leaves every other set as it is.
///
/// Bytes stay bytes (rounded to nearest); the origin, hash included, remains that of the color set.
///
/// # Errors
/// [`Error::Data`] where the image shape does not match the number of features.
pub fn to_gray(mut dataset: Dataset) -> Result<Dataset> {
    let (height, width) = match dataset.image_shape.as_deref() {
        Some(&[height, width, 3]) => (height, width),
        _ => return Ok(dataset),
    };
    for part in [Some(&mut dataset.train), dataset.test.as_mut()].into_iter().flatten() {
        if part.features.dim() != 3 * height * width {
            let problem = format!("{} features are no {height} x {width} x 3 image", part.features.dim());
            return Err(Error::data(&dataset.origin.name, problem));
        }
        to_luma(part);
    }
    dataset.image_shape = Some(vec![height, width]);
    Ok(dataset)
}

fn to_luma(part: &mut Part) {
    part.features = match &part.features {
        Features::Bytes { pixels, dim } => {
            let luma = |p: &[u8]| (299 * u32::from(p[0]) + 587 * u32::from(p[1]) + 114 * u32::from(p[2]) + 500) / 1000;
            let pixels = pixels.chunks_exact(3).map(|p| luma(p) as u8).collect();
            Features::Bytes { pixels, dim: dim / 3 }
        }
        Features::Real(m) => Features::Real(Mat::from_fn(m.nrows(), m.ncols() / 3, |i, j| {
            0.299 * m[(i, 3 * j)] + 0.587 * m[(i, 3 * j + 1)] + 0.114 * m[(i, 3 * j + 2)]
        })),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Center;

    #[test]
    fn chosen_rows_are_prepared_like_the_whole_set() {
        let source = Source::new(Dataset::sample().unwrap(), &Preprocess::default()).unwrap();
        let (some, all) = (source.train(&[5, 3999, 5]).unwrap(), source.train(&(0..4000).collect::<Vec<_>>()).unwrap());
        for (i, row) in [5, 3999, 5].into_iter().enumerate() {
            let norm2: f64 = (0..784).map(|j| some[(i, j)] * some[(i, j)]).sum();
            // 784 squares and one square root: rounding only.
            assert!((norm2 - 784.0).abs() < 1e-10);
            for j in 0..784 {
                // Products of other shapes may sum in another order: 784 terms whose sum of magnitudes is about 1e4 here.
                assert!((some[(i, j)] - all[(row, j)]).abs() < 1e-10);
            }
        }
        assert_eq!(source.test(&[7]).unwrap().ncols(), source.dim());
        assert_eq!((source.train_classes().unwrap().len(), source.test_classes().unwrap().len()), (4000, 1000));
        assert_eq!(source.settings().preprocess.steps.whiten.unwrap().ridge, 1e-7);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                Source::new(Dataset::sample().unwrap(), &Preprocess::default()).unwrap().train(&[1, 2, 3]).unwrap()
            })
        };
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn whitening_with_another_set_uses_its_covariance_and_records_it() {
        let sample = Dataset::sample().unwrap();
        let test = sample.test.clone().unwrap();
        let other = Dataset { train: test, ..sample.clone() };
        let own = Source::new(sample.clone(), &Preprocess::default()).unwrap();
        let with = Source::with_covariance(sample.clone(), &Preprocess::default(), other).unwrap();
        assert_eq!(with.settings().preprocess.covariance_set.unwrap().name, "mnist-sample");
        assert_ne!(own.train(&[0]).unwrap(), with.train(&[0]).unwrap());
        let same = Source::with_covariance(sample.clone(), &Preprocess::default(), sample).unwrap();
        assert_eq!(own.train(&[0]).unwrap(), same.train(&[0]).unwrap());
        let named = |name: &str| {
            let whiten = Some(crate::data::Whiten { covariance_of: name.into(), ..Default::default() });
            Source::new(Dataset::sample().unwrap(), &Preprocess { whiten, ..Preprocess::default() })
        };
        assert_eq!(own.train(&[0]).unwrap(), named("mnist-sample").unwrap().train(&[0]).unwrap());
        assert!(named("no-such-set").unwrap_err().to_string().contains("data set is no-such-set; known are"));
    }

    #[test]
    fn rows_out_of_range_missing_parts_and_blank_images_are_named() {
        let mut sample = Dataset::sample().unwrap();
        if let Features::Bytes { pixels, .. } = &mut sample.train.features {
            pixels[784 * 17..784 * 18].fill(9);
        }
        sample.test = None;
        let settings = Preprocess { center: Center::Image, whiten: None, ..Preprocess::default() };
        let source = Source::new(sample, &settings).unwrap();
        let message = |r: Result<Mat<f64>>| r.unwrap_err().to_string();
        assert!(message(source.train(&[4000])).contains("mnist-sample, training row 4000: there are only 4000 rows"));
        assert!(message(source.train(&[3, 17])).starts_with("mnist-sample, training row 17: is zero after centering"));
        assert!(message(source.test(&[0])).contains("no test part"));
        assert!(source.test_classes().is_err());
    }
}
