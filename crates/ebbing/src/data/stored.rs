//! A copy of a data set on disk, in any of the forms that are read, and how it becomes a [`Dataset`].

use super::array::Array;
use super::cifar::{self, Cifar};
use super::csv::{CsvOptions, class_names, read_csv};
use super::file::{self, OpenFile};
use super::zip::Zip;
use super::{Dataset, Part, assemble, idx, npy};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// The files that make up a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StoredSet {
    /// IDX or npy files: examples and labels, for training and perhaps for testing.
    Arrays { train: [PathBuf; 2], test: Option<[PathBuf; 2]> },
    /// EMNIST's archive of gzipped IDX files.
    EmnistZip(PathBuf),
    /// A folder of CIFAR's binary files, or the archive of it.
    Cifar(PathBuf, Cifar),
    /// Arrays `x_train`, `y_train`, `x_test`, `y_test`, or `x` and `y`.
    Npz(PathBuf),
    /// Lines of numbers.
    Csv { train: PathBuf, test: Option<PathBuf>, options: CsvOptions },
}

impl StoredSet {
    /// The files, for messages and hashes.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            StoredSet::Arrays { train, test } => train.iter().chain(test.iter().flatten()).cloned().collect(),
            StoredSet::EmnistZip(path) | StoredSet::Npz(path) => vec![path.clone()],
            StoredSet::Cifar(path, set) if path.is_dir() => set.files_in(path),
            StoredSet::Cifar(path, _) => vec![path.clone()],
            StoredSet::Csv { train, test, .. } => [Some(train), test.as_ref()].into_iter().flatten().cloned().collect(),
        }
    }

    /// Reads and checks the whole set.
    pub fn read(&self, name: &str, source: &str) -> Result<Dataset> {
        match self {
            StoredSet::Arrays { train, test } => {
                let pair = |[x, y]: &[PathBuf; 2]| part((x.clone(), read_array(x)?), (y.clone(), read_array(y)?));
                let (train, shape) = pair(train)?;
                let test = test.as_ref().map(pair).transpose()?.map(|(part, _)| part);
                assemble::dataset(name, source, train, test, shape)
            }
            StoredSet::EmnistZip(path) => read_emnist(path, name, source),
            StoredSet::Cifar(path, set) => cifar::read_set(path, *set, name, source),
            StoredSet::Npz(path) => read_arrays(npy::read_npz(path)?, path, name, source),
            StoredSet::Csv { train, test, options } => {
                let options = CsvOptions { classes: class_names(train, options)?, ..options.clone() };
                let part = |path: &PathBuf| assemble::checked(read_csv(path, &options)?, path, path);
                let names = options.classes.iter().enumerate().map(|(k, name)| format!("{k} {name}"));
                let source = match options.classes.is_empty() {
                    true => source.to_string(),
                    false => format!("{source}; classes {}", names.collect::<Vec<_>>().join(", ")),
                };
                assemble::dataset(name, &source, part(train)?, test.as_ref().map(part).transpose()?, None)
            }
        }
    }
}

/// An array from an IDX or an npy file, whichever it is.
fn read_array(path: &Path) -> Result<Array> {
    let bytes = file::read(path)?;
    if bytes.starts_with(b"\x93NUMPY") { npy::parse_npy(bytes, path, "the array") } else { idx::parse_idx(bytes, path) }
}

/// A part, and the shape of its images where its examples are images.
fn part(x: (PathBuf, Array), y: (PathBuf, Array)) -> Result<(Part, Option<Vec<usize>>)> {
    let shape = image_shape(&x.1.shape);
    Ok((assemble::part(x, y)?, shape))
}

/// Height, width and colors, from the shape of an array of images (colors last; a single color axis may come first).
fn image_shape(shape: &[usize]) -> Option<Vec<usize>> {
    match *shape {
        [_, height, width] | [_, height, width, 1] | [_, 1, height, width] => Some(vec![height, width]),
        [_, height, width, 3] => Some(vec![height, width, 3]),
        _ => None,
    }
}

/// The set in the arrays of an `.npz` file.
fn read_arrays(mut arrays: Vec<(String, Array)>, path: &Path, name: &str, source: &str) -> Result<Dataset> {
    let names: Vec<_> = arrays.iter().map(|(name, _)| name.clone()).collect();
    let mut take = |wanted: &[&str]| {
        let at = arrays.iter().position(|(name, _)| wanted.contains(&name.to_lowercase().as_str()))?;
        Some((path.to_path_buf(), arrays.swap_remove(at).1))
    };
    let train = (take(&["x_train", "x"]), take(&["y_train", "y"]));
    let test = (take(&["x_test"]), take(&["y_test"]));
    let ((Some(x), Some(y)), (Some(_), Some(_)) | (None, None)) = (train, (&test.0, &test.1)) else {
        let expected = "expected x_train and y_train (or x and y), and optionally both x_test and y_test";
        return Err(Error::file(path, "the list of arrays", names.join(", "), expected));
    };
    let (train, shape) = part(x, y)?;
    let test = match test {
        (Some(x), Some(y)) => Some(assemble::part(x, y)?),
        _ => None,
    };
    assemble::dataset(name, source, train, test, shape)
}

/// The byclass files in EMNIST's archive.
fn read_emnist(path: &Path, name: &str, source: &str) -> Result<Dataset> {
    let mut file = OpenFile::open(path)?;
    let mut zip = Zip::open(file.stream(), path)?;
    let mut read = |which: &str| {
        let wanted = format!("emnist-byclass-{which}-ubyte.gz");
        let member = zip.names.iter().position(|name| name.rsplit('/').next() == Some(&wanted));
        let missing = || Error::file(path, wanted.clone(), "missing", "give EMNIST's gzip.zip");
        let packed = zip.read(member.ok_or_else(missing)?)?;
        let inner = path.join(&wanted);
        let bytes = file::gunzip(&packed[..], &inner, file::MAX_DECODED)?;
        Ok((inner.clone(), idx::parse_idx(bytes, &inner)?))
    };
    let (train, shape) = part(read("train-images-idx3")?, read("train-labels-idx1")?)?;
    let (test, _) = part(read("test-images-idx3")?, read("test-labels-idx1")?)?;
    assemble::dataset(name, source, train, Some(test), shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Targets, tar, zip};
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(vec![], Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn emnist_is_read_straight_from_its_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gzip.zip");
        let images = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2][..], &[1, 2, 3, 4]].concat();
        let labels = [0, 0, 8, 1, 0, 0, 0, 2, 61, 0];
        let names = ["train-images-idx3", "train-labels-idx1", "test-images-idx3", "test-labels-idx1"];
        let member = |name: &str| {
            (
                format!("gzip/emnist-byclass-{name}-ubyte.gz"),
                gzip(if name.contains("images") { &images } else { &labels }),
            )
        };
        let mut members: Vec<_> = names.iter().map(|name| member(name)).collect();
        members.push(("gzip/emnist-letters-mapping.txt".into(), b"1 65".to_vec()));
        std::fs::write(&path, zip::store(&members, &path).unwrap()).unwrap();
        let set = StoredSet::EmnistZip(path.clone()).read("emnist", "test").unwrap();
        assert_eq!((set.image_shape, set.train.targets), (Some(vec![1, 2]), Targets::Classes(vec![61, 0])));
        members.remove(2);
        std::fs::write(&path, zip::store(&members, &path).unwrap()).unwrap();
        let text = StoredSet::EmnistZip(path).read("emnist", "test").unwrap_err().to_string();
        assert!(text.contains("emnist-byclass-test-images-idx3-ubyte.gz is missing"), "{text}");
    }

    #[test]
    fn cifar_is_read_straight_from_its_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cifar-100-binary.tar.gz");
        let record = |coarse: u8, fine: u8| [vec![coarse, fine], vec![fine + 1; 3072]].concat();
        let (train, test) = ([record(0, 1), record(1, 2)].concat(), record(1, 2));
        let files =
            [("cifar-100-binary/train.bin", &train[..]), ("cifar-100-binary/test.bin", &test), ("x.txt", b"names")];
        std::fs::write(&path, gzip(&tar::tests::archive(&files))).unwrap();
        assert_eq!(cifar::set_of_archive(&path).unwrap(), Cifar::Hundred);
        let set = StoredSet::Cifar(path.clone(), Cifar::Hundred).read("cifar100", "test").unwrap();
        assert_eq!(set.train.targets, Targets::Classes(vec![1, 2]));
        assert_eq!(set.test.unwrap().features.rows(), 1);
        let text = StoredSet::Cifar(path, Cifar::Ten).read("cifar10", "test").unwrap_err().to_string();
        assert!(text.contains("data_batch_1.bin in the archive is missing; give the binary version"), "{text}");
    }
}
