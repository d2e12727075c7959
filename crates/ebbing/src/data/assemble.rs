//! Puts arrays together into a data set, and refuses what no study could use.

use super::array::Array;
use super::dataset::digest;
use super::{Dataset, Features, Origin, Part, Targets};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use std::path::{Path, PathBuf};

/// Examples and their targets, each with the file it came from.
pub(super) fn part((path, features): (PathBuf, Array), (target_path, targets): (PathBuf, Array)) -> Result<Part> {
    let features = features.into_features(&path, "the examples")?;
    let targets = targets.into_targets(&target_path, "the labels")?;
    checked(Part { features, targets }, &path, &target_path)
}

/// A part with as many targets as examples, and no image that is all zero.
pub(super) fn checked(part: Part, path: &Path, target_path: &Path) -> Result<Part> {
    check(&part, path, target_path).map(|()| part)
}

fn check(part: &Part, path: &Path, target_path: &Path) -> Result<()> {
    let (rows, found) = (part.features.rows(), part.targets.rows());
    if found != rows {
        let expected = format!("{} holds {rows} examples, and each needs one", path.display());
        return Err(Error::file(target_path, "the number of labels", found, expected));
    }
    if let Features::Bytes { pixels, dim } = &part.features
        && let Some(row) = pixels.chunks_exact(*dim).position(|image| image.iter().all(|&p| p == 0))
    {
        let expected = "an image of norm 0 has no direction: remove it and its label";
        return Err(Error::file(path, format!("image {row}"), "all zero", expected));
    }
    Ok(())
}

impl Dataset {
    /// A set from parts already in memory, with its hash; `source` says in words where they came from.
    ///
    /// # Errors
    /// [`Error::File`] for unequal numbers of examples and targets or an image that is all zero; [`Error::Data`] where
    /// the parts or the image shape do not fit together, a value is not finite, or there is a single class.
    pub fn new(
        name: &str,
        source: &str,
        train: Part,
        test: Option<Part>,
        image_shape: Option<Vec<usize>>,
    ) -> Result<Dataset> {
        for (part, which) in [(Some(&train), "training"), (test.as_ref(), "test")] {
            let Some(part) = part else { continue };
            let what = format!("{name} ({source}), {which}");
            if part.features.rows() == 0 || part.features.dim() == 0 {
                return Err(Error::data(what, "there are no examples or no features"));
            }
            let matrices = [as_real(&part.features), as_real_target(&part.targets)];
            if let Some((row, value)) = matrices.into_iter().flatten().find_map(first_not_finite) {
                let problem = format!("holds {value}; every value must be finite");
                return Err(Error::data(format!("{what} row {row}"), problem));
            }
            check(part, Path::new(source), Path::new(source))?;
        }
        dataset(name, source, train, test, image_shape)
    }
}

fn as_real(features: &Features) -> Option<&Mat<f64>> {
    if let Features::Real(m) = features { Some(m) } else { None }
}

fn as_real_target(targets: &Targets) -> Option<&Mat<f64>> {
    if let Targets::Real(m) = targets { Some(m) } else { None }
}

fn first_not_finite(m: &Mat<f64>) -> Option<(usize, f64)> {
    let rows = (0..m.nrows()).flat_map(|i| (0..m.ncols()).map(move |j| (i, j)));
    rows.map(|(i, j)| (i, m[(i, j)])).find(|(_, value)| !value.is_finite())
}

/// A data set with its hash; the two parts must fit together and the training part hold more than one class.
pub(super) fn dataset(
    name: &str,
    source: &str,
    train: Part,
    test: Option<Part>,
    image_shape: Option<Vec<usize>>,
) -> Result<Dataset> {
    let bad = |problem: String| Error::data(format!("{name} ({source})"), problem);
    if let Some(test) = &test {
        let (dim, found) = (train.features.dim(), test.features.dim());
        if dim != found {
            let problem = format!("test examples have {found} features where the training examples have {dim}");
            return Err(bad(problem));
        }
        match (&train.targets, &test.targets) {
            (Targets::Classes(_), Targets::Classes(_)) => {}
            (Targets::Real(a), Targets::Real(b)) if a.ncols() == b.ncols() => {}
            _ => return Err(bad("test targets are not of the same kind and width as training targets".into())),
        }
    }
    if let Targets::Classes(classes) = &train.targets
        && classes.iter().all(|c| *c == classes[0])
    {
        let problem = format!("every training label is {}; at least two classes are needed", classes[0]);
        return Err(bad(problem));
    }
    let pixels = image_shape.iter().flatten().try_fold(1usize, |n, &length| n.checked_mul(length));
    if image_shape.is_some() && pixels != Some(train.features.dim()) {
        return Err(bad(format!("{} features are no image of shape {image_shape:?}", train.features.dim())));
    }
    let sha256 = digest(&train, test.as_ref());
    let origin = Origin { name: name.into(), source: source.into(), sha256 };
    Ok(Dataset { train, test, image_shape, origin })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(x: Mat<f64>, classes: Vec<i64>) -> Part {
        Part { features: Features::Real(x), targets: Targets::Classes(classes) }
    }

    #[test]
    fn parts_in_memory_are_checked_like_files() {
        let x = Mat::from_fn(2, 4, |i, j| (i + j) as f64);
        let make = |x: Mat<f64>, classes, shape| Dataset::new("mine", "notebook", part(x, classes), None, shape);
        assert_eq!(make(x.clone(), vec![0, 1], Some(vec![2, 2])).unwrap().origin.sha256.len(), 64);
        let message = |result: Result<Dataset>| result.unwrap_err().to_string();
        let mut bad = x.clone();
        bad[(1, 2)] = f64::NAN;
        assert_eq!(
            message(make(bad, vec![0, 1], None)),
            "mine (notebook), training row 1: holds NaN; every value must be finite"
        );
        assert!(message(make(x.clone(), vec![0, 1, 1], None)).contains("the number of labels is 3"));
        assert!(message(make(x.clone(), vec![5, 5], None)).contains("every training label is 5"));
        assert!(message(make(x.clone(), vec![0, 1], Some(vec![3, 3]))).contains("4 features are no image"));
        assert!(message(make(Mat::zeros(0, 4), vec![], None)).contains("there are no examples"));
    }
}
