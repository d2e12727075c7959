//! CIFAR-10 and CIFAR-100 in their binary form: per record one label byte (two for CIFAR-100) and 3 × 32 × 32 pixels.

use super::{Dataset, Features, Part, Targets, assemble, file, tar};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

const SIDE: usize = 32;
const PLANE: usize = SIDE * SIDE;
const PIXELS: usize = 3 * PLANE;

/// Which of the two sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cifar {
    /// Ten classes.
    Ten,
    /// A hundred (fine) classes; the coarse label is checked and dropped.
    Hundred,
}

impl Cifar {
    /// Training files and test files, as the standard archive names them.
    fn files(self) -> (&'static [&'static str], &'static str) {
        match self {
            Cifar::Ten => (
                &["data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"],
                "test_batch.bin",
            ),
            Cifar::Hundred => (&["train.bin"], "test.bin"),
        }
    }

    /// The largest value of each label byte of a record.
    fn labels(self) -> &'static [(&'static str, u8)] {
        match self {
            Cifar::Ten => &[("label", 9)],
            Cifar::Hundred => &[("coarse label", 19), ("fine label", 99)],
        }
    }

    /// The set that the names of the files in a folder or archive belong to.
    pub(super) fn of_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<Cifar> {
        let names: Vec<_> = names.collect();
        [Cifar::Ten, Cifar::Hundred].into_iter().find(|set| names.contains(&set.files().1))
    }

    /// The files of the set, in a folder.
    pub(super) fn files_in(self, folder: &Path) -> Vec<PathBuf> {
        let (train, test) = self.files();
        train.iter().chain([&test]).map(|name| folder.join(name)).collect()
    }

    /// The files that a folder lacks.
    pub(super) fn missing(self, folder: &Path) -> Vec<PathBuf> {
        self.files_in(folder).into_iter().filter(|path| !path.is_file()).collect()
    }
}

/// Reads the records of one binary file.
///
/// # Errors
/// [`Error::File`] where the length is no multiple of the record's, or a label is out of range.
pub fn parse_cifar(bytes: &[u8], set: Cifar, path: &Path) -> Result<Part> {
    let labels = set.labels();
    let record = labels.len() + PIXELS;
    if bytes.is_empty() || !bytes.len().is_multiple_of(record) {
        let expected = format!("expected a multiple of {record}, the size of a record");
        return Err(Error::file(path, "the length", format!("{} bytes", bytes.len()), expected));
    }
    let mut pixels = Vec::with_capacity(bytes.len() / record * PIXELS);
    let mut classes = Vec::with_capacity(bytes.len() / record);
    for (row, record) in bytes.chunks_exact(record).enumerate() {
        let (label_bytes, image) = record.split_at(labels.len());
        for ((name, largest), label) in labels.iter().zip(label_bytes) {
            if label > largest {
                let expected = format!("must be at most {largest}");
                return Err(Error::file(path, format!("the {name} of record {row}"), label, expected));
            }
        }
        // The file holds a red, a green and a blue plane; pixels here keep their colors together.
        (0..PLANE).for_each(|p| pixels.extend([image[p], image[PLANE + p], image[2 * PLANE + p]]));
        classes.extend(label_bytes.last().map(|&c| i64::from(c)));
    }
    Ok(Part { features: Features::Bytes { pixels, dim: PIXELS }, targets: Targets::Classes(classes) })
}

/// Reads a whole set from a folder with its binary files, or from the standard `.tar.gz` archive.
///
/// # Errors
/// [`Error::Io`] where a file cannot be read; [`Error::File`] where one is missing from the archive or damaged.
pub(super) fn read_set(path: &Path, set: Cifar, name: &str, source: &str) -> Result<Dataset> {
    let (train, test) = set.files();
    let (train, test) = if path.is_dir() {
        let read = |name: &str| parse_cifar(&file::read(&path.join(name))?, set, &path.join(name));
        (train.iter().map(|name| read(name)).collect::<Result<Vec<_>>>()?, read(test)?)
    } else {
        let archive = file::read(path)?;
        let files = tar::files(&archive, path)?;
        let read = |name: &str| {
            let member = files.iter().find(|(full, _)| full.rsplit('/').next() == Some(name));
            let missing = || Error::file(path, format!("{name} in the archive"), "missing", "give the binary version");
            parse_cifar(&archive[member.ok_or_else(missing)?.1.clone()], set, &path.join(name))
        };
        (train.iter().map(|name| read(name)).collect::<Result<Vec<_>>>()?, read(test)?)
    };
    let train = assemble::checked(join(train), path, path)?;
    let test = assemble::checked(test, path, path)?;
    assemble::dataset(name, source, train, Some(test), Some(vec![SIDE, SIDE, 3]))
}

/// The set that a standard archive holds, recognized by the names in it.
pub(super) fn set_of_archive(path: &Path) -> Result<Cifar> {
    let archive = file::read(path)?;
    let files = tar::files(&archive, path)?;
    let names = files.iter().filter_map(|(full, _)| full.rsplit('/').next());
    let unknown =
        || Error::file(path, "the archive", "without test_batch.bin or test.bin", "give CIFAR's binary version");
    Cifar::of_names(names).ok_or_else(unknown)
}

/// Parts one after another.
fn join(parts: Vec<Part>) -> Part {
    let (mut pixels, mut classes) = (vec![], vec![]);
    for part in parts {
        if let (Features::Bytes { pixels: p, .. }, Targets::Classes(c)) = (part.features, part.targets) {
            pixels.extend(p);
            classes.extend(c);
        }
    }
    Part { features: Features::Bytes { pixels, dim: PIXELS }, targets: Targets::Classes(classes) }
}
