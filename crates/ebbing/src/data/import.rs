//! Imports files into the data directory: recognizes their format, checks them, and keeps one `.npz` copy.

use super::array::{Array, Values};
use super::cifar::{self, Cifar};
use super::csv::CsvOptions;
use super::places::{Places, checked_name};
use super::stored::StoredSet;
use super::{Dataset, Features, Part, Targets, npy};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// What the files are, where their paths alone do not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportOptions {
    /// The name of the set; default: the file's name without its endings.
    pub name: Option<String>,
    /// The labels that belong to an IDX or npy file of examples; by default, for IDX, the file of the standard name
    /// beside it.
    pub labels: Option<PathBuf>,
    /// Test examples: another CSV, IDX or npy file; by default, for IDX, the file of the standard name beside it.
    pub test: Option<PathBuf>,
    /// Their labels.
    pub test_labels: Option<PathBuf>,
    /// How CSV files are read.
    pub csv: CsvOptions,
}

impl Dataset {
    /// Reads a set from your own files and checks it.
    ///
    /// `path` may be an `.npz` file with `x_train, y_train, x_test, y_test` (or `x, y`), a CSV file, an IDX or npy file
    /// of examples, a folder of standard IDX files, a folder or archive of CIFAR's binary files, or EMNIST's archive.
    ///
    /// # Errors
    /// [`Error::File`] where the files are of no such kind, are damaged, or hold what cannot be used (NaN, labels of
    /// another number, images that are all zero); [`Error::Data`] where parts do not fit together or there is one class.
    pub fn open(path: impl AsRef<Path>, options: &ImportOptions) -> Result<Dataset> {
        let path = path.as_ref();
        let stem = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = stem.split('.').next().unwrap_or_default().to_string();
        let name = options.name.clone().unwrap_or(stem);
        let copy = copy_at(path, options)?;
        let files: Vec<_> = copy.files().iter().map(|file| file.display().to_string()).collect();
        copy.read(checked_name(&name)?, &files.join(", "))
    }
}

impl Places {
    /// Keeps a set as `<name>.npz` in the data directory, from where it loads by name; returns that file's path.
    ///
    /// # Errors
    /// [`Error::Setting`] where there is no data directory or the name is taken and `replace` is false; [`Error::Io`]
    /// where it cannot be written.
    pub fn store(&self, dataset: &Dataset, replace: bool) -> Result<PathBuf> {
        let name = checked_name(&dataset.origin.name)?;
        let expected = "no HOME or XDG_DATA_HOME says where: set one of them";
        let folder = self.data_dir.as_ref().ok_or_else(|| Error::setting("data directory", "unknown", expected))?;
        let path = folder.join(format!("{name}.npz"));
        if name == "mnist-sample" || (path.exists() && !replace) {
            return Err(Error::setting("data set", name, "that name is taken: choose another one"));
        }
        let mut arrays = vec![];
        let shape = dataset.image_shape.as_deref();
        for (part, x, y) in [(Some(&dataset.train), "x_train", "y_train"), (dataset.test.as_ref(), "x_test", "y_test")]
        {
            let Some(Part { features, targets }) = part else { continue };
            arrays.push((x, features_array(features, shape)));
            arrays.push((y, targets_array(targets)));
        }
        let arrays: Vec<_> = arrays.iter().map(|(name, array)| (*name, array)).collect();
        npy::write_npz(&path, &arrays)?;
        Ok(path)
    }

    /// [`Dataset::open`] and [`Places::store`]: the checked set, and where its copy lies.
    ///
    /// # Errors
    /// Those of the two.
    pub fn import(&self, path: impl AsRef<Path>, options: &ImportOptions, replace: bool) -> Result<(Dataset, PathBuf)> {
        let dataset = Dataset::open(path, options)?;
        let stored = self.store(&dataset, replace)?;
        Ok((dataset, stored))
    }
}

fn features_array(features: &Features, image_shape: Option<&[usize]>) -> Array {
    let mut shape = vec![features.rows()];
    match image_shape {
        Some(image) => shape.extend(image),
        None => shape.push(features.dim()),
    }
    let values = match features {
        Features::Bytes { pixels, .. } => Values::Bytes(pixels.clone()),
        Features::Real(m) => Array::from_mat(m.as_ref()).values,
    };
    Array { shape, values }
}

fn targets_array(targets: &Targets) -> Array {
    match targets {
        Targets::Classes(classes) => Array { shape: vec![classes.len()], values: Values::Integers(classes.clone()) },
        Targets::Real(m) => Array::from_mat(m.as_ref()),
    }
}

/// What kind of copy lies at a path.
fn copy_at(path: &Path, options: &ImportOptions) -> Result<StoredSet> {
    if path.is_dir() {
        return copy_in_folder(path, options);
    }
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let is = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end) || name.ends_with(&format!("{end}.gz")));
    if is(&[".npz"]) {
        Ok(StoredSet::Npz(path.into()))
    } else if is(&[".zip"]) {
        Ok(StoredSet::EmnistZip(path.into()))
    } else if is(&[".csv", ".tsv", ".txt"]) {
        let mut csv = options.csv.clone();
        if is(&[".tsv"]) {
            csv.delimiter = b'\t';
        }
        Ok(StoredSet::Csv { train: path.into(), test: options.test.clone(), options: csv })
    } else if is(&[".tar", ".tgz"]) {
        Ok(StoredSet::Cifar(path.into(), cifar::set_of_archive(path)?))
    } else if is(&[".npy", "-ubyte", ".idx"]) {
        copy_of_arrays(path, options)
    } else {
        let expected = "known endings are .npz, .csv, .tsv, .npy, -ubyte (IDX), .tar.gz (CIFAR) and .zip (EMNIST)";
        Err(Error::file(path, "the kind of file", "unknown", expected))
    }
}

fn copy_in_folder(path: &Path, options: &ImportOptions) -> Result<StoredSet> {
    let entries = std::fs::read_dir(path).map_err(|e| Error::io(path, e))?;
    let mut names: Vec<_> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    if let Some(set) = Cifar::of_names(names.iter().map(String::as_str)) {
        return Ok(StoredSet::Cifar(path.into(), set));
    }
    let train = |name: &&String| name.trim_end_matches(".gz").ends_with("train-images-idx3-ubyte");
    match names.iter().find(train) {
        Some(name) => copy_of_arrays(&path.join(name), options),
        None => {
            let expected = "expected train-images-idx3-ubyte and its companions, or CIFAR's binary files";
            Err(Error::file(path, "the folder", "without a known data set", expected))
        }
    }
}

/// Examples in one file, labels in another: given, or the companions of standard IDX names.
fn copy_of_arrays(path: &Path, options: &ImportOptions) -> Result<StoredSet> {
    let labels = options.labels.clone().or_else(|| companion(path, "images-idx3", "labels-idx1"));
    let labels =
        labels.ok_or_else(|| Error::file(path, "the file with its labels", "not found", "name it as an option"))?;
    let test = options.test.clone().or_else(|| ["t10k", "test"].iter().find_map(|part| companion(path, "train", part)));
    let test_labels =
        |test: &PathBuf| options.test_labels.clone().or_else(|| companion(test, "images-idx3", "labels-idx1"));
    let test = match test {
        Some(test) => {
            let missing = || Error::file(&test, "the file with its labels", "not found", "name it as an option");
            Some([test.clone(), test_labels(&test).ok_or_else(missing)?])
        }
        None => None,
    };
    Ok(StoredSet::Arrays { train: [path.into(), labels], test })
}

/// A file beside this one whose name has another word in it, plain or gzipped.
fn companion(path: &Path, word: &str, other: &str) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let plain = name.contains(word).then(|| name.replace(word, other))?;
    let plain = plain.trim_end_matches(".gz");
    [path.with_file_name(plain), path.with_file_name(format!("{plain}.gz"))].into_iter().find(|p| p.is_file())
}
