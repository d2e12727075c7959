//! Puts arrays together into a data set, and refuses what no study could use.

use super::array::Array;
use super::{Dataset, Features, Part, Provenance, Targets, digest};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Examples and their targets, each with the file it came from.
pub(super) fn part((path, features): (PathBuf, Array), (target_path, targets): (PathBuf, Array)) -> Result<Part> {
    let features = features.into_features(&path, "the examples")?;
    let targets = targets.into_targets(&target_path, "the labels")?;
    checked(Part { features, targets }, &path, &target_path)
}

/// A part with as many targets as examples, and no image that is all zero.
pub(super) fn checked(part: Part, path: &Path, target_path: &Path) -> Result<Part> {
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
    Ok(part)
}

/// A data set with its hash; the two parts must fit together and the training part hold more than one class.
pub(super) fn dataset(
    name: &str,
    source: &str,
    train: Part,
    test: Option<Part>,
    image_shape: Option<Vec<usize>>,
) -> Result<Dataset> {
    if let Some(test) = &test {
        let (dim, found) = (train.features.dim(), test.features.dim());
        if dim != found {
            let problem = format!("test examples have {found} features where the training examples have {dim}");
            return Err(Error::data(name, problem));
        }
        match (&train.targets, &test.targets) {
            (Targets::Classes(_), Targets::Classes(_)) => {}
            (Targets::Real(a), Targets::Real(b)) if a.ncols() == b.ncols() => {}
            _ => return Err(Error::data(name, "test targets are not of the same kind and width as training targets")),
        }
    }
    if let Targets::Classes(classes) = &train.targets
        && classes.iter().all(|c| *c == classes[0])
    {
        let problem = format!("every training label is {}; at least two classes are needed", classes[0]);
        return Err(Error::data(name, problem));
    }
    let sha256 = digest::digest(&train, test.as_ref());
    let provenance = Provenance { name: name.into(), source: source.into(), sha256 };
    Ok(Dataset { train, test, image_shape, provenance })
}
