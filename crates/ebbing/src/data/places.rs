//! Where copies of data sets may lie: `EBBING_DATA`, the XDG data directory, Debian's, torchvision's and Keras's folders.

use super::cifar::Cifar;
use super::known::{KNOWN_SETS, KnownSet};
use super::stored::StoredSet;
use super::{Dataset, file_sha256};
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Folders that are searched for data sets, in this order.
///
/// | place | folder |
/// |---|---|
/// | `EBBING_DATA` | the folders that this variable lists |
/// | data directory | `$XDG_DATA_HOME/ebbing`, or `~/.local/share/ebbing`; downloads and imports go here |
/// | Debian | `/usr/share/datasets` (package dataset-fashion-mnist) |
/// | torchvision | `./data` and `~/data`, in torchvision's layout (`MNIST/raw`, …) |
/// | Keras | `$KERAS_HOME/datasets`, or `~/.keras/datasets` |
///
/// A folder is searched for sub-folders named after the set (`mnist`, `fashion-mnist`, …) or as torchvision names them,
/// that hold the standard files, plain or gzipped; for `<set>-train-images-idx3-ubyte.gz` and its three companions; for
/// the standard archives of CIFAR (binary version) and EMNIST; and for `<set>.npz`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// What each place is called, and its folder.
    pub folders: Vec<(String, PathBuf)>,
    /// The folder for downloads and imports, where the user has one.
    pub data_dir: Option<PathBuf>,
}

/// A copy of a set that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetCopy {
    /// The name of the set.
    pub name: String,
    /// What the place is called.
    pub place: String,
    /// The files.
    pub files: Vec<PathBuf>,
    pub(super) copy: StoredSet,
}

/// What is known of one set on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The name.
    pub name: String,
    /// A description.
    pub title: String,
    /// The copy that would be loaded; `None` for the embedded sample, which needs none, and for sets that are not here.
    pub found: Option<SetCopy>,
    /// Whether the set can be loaded.
    pub available: bool,
    /// Incomplete copies and the like.
    pub notes: Vec<String>,
}

impl Places {
    /// The places of this user and machine.
    pub fn from_env() -> Places {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// The places that follow from given environment variables.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Places {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let home = set("HOME").map(PathBuf::from);
        let under_home = |folder: &str| home.as_ref().map(|home| home.join(folder));
        // The XDG specification: a relative path is invalid and to be ignored.
        let xdg = set("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let data_dir = xdg.or_else(|| under_home(".local/share")).map(|path| path.join("ebbing"));
        let keras = set("KERAS_HOME").map(PathBuf::from).or_else(|| under_home(".keras"));
        let listed = set("EBBING_DATA").map(|list| std::env::split_paths(&list).collect::<Vec<_>>());
        let mut folders: Vec<(String, PathBuf)> = vec![];
        let mut add = |place: &str, folder: Option<PathBuf>| folders.extend(folder.map(|f| (place.to_string(), f)));
        listed.into_iter().flatten().for_each(|folder| add("EBBING_DATA", Some(folder)));
        add("data directory", data_dir.clone());
        add("Debian", Some("/usr/share/datasets".into()));
        add("torchvision", Some("data".into()));
        add("torchvision", under_home("data"));
        add("Keras", keras.map(|path| path.join("datasets")));
        Places { folders, data_dir }
    }

    /// The folder for the standard files of a set, where the user has a data directory.
    pub fn folder_of(&self, set: &KnownSet) -> Option<PathBuf> {
        self.data_dir.as_ref().map(|folder| folder.join(set.name))
    }

    /// The first copy of a set, by its name or alias; sets that were imported go by the name they were given.
    ///
    /// # Errors
    /// [`Error::Setting`] for a name with other characters than letters, digits, `.`, `_` and `-`.
    pub fn find(&self, name: &str) -> Result<Option<SetCopy>> {
        Ok(self.search(checked_name(name)?).0)
    }

    /// A copy of a set, and notes on what was found but cannot be used.
    fn search(&self, name: &str) -> (Option<SetCopy>, Vec<String>) {
        let mut notes = vec![];
        let set = KnownSet::named(name);
        for (place, folder) in self.folders.iter().filter(|(_, folder)| folder.is_dir()) {
            let known = set.and_then(|set| search_folder(set, folder, &mut notes));
            let names = set.map_or(vec![name], |set| names_of(set).collect());
            let npz = || names.iter().map(|name| folder.join(format!("{name}.npz"))).find(|path| path.is_file());
            if let Some(copy) = known.or_else(|| npz().map(StoredSet::Npz)) {
                let name = set.map_or(name, |set| set.name).to_string();
                return (Some(SetCopy { name, place: place.clone(), files: copy.files(), copy }), notes);
            }
        }
        (None, notes)
    }

    /// Loads a set by name: `mnist-sample` is embedded, others are searched for.
    ///
    /// # Errors
    /// [`Error::Setting`] where no such set is found; any error of reading a damaged copy.
    pub fn load(&self, name: &str) -> Result<Dataset> {
        if name == "mnist-sample" {
            return Dataset::sample();
        }
        let (found, notes) = self.search(checked_name(name)?);
        let found = found.ok_or_else(|| {
            let mut expected = match KnownSet::named(name) {
                Some(set) => format!("no copy was found: run `ebbing data get {}` or set EBBING_DATA", set.name),
                None => format!("known are {} and what was imported", KnownSet::names()),
            };
            notes.iter().for_each(|note| expected += &format!("; {note}"));
            Error::setting("data set", name, expected)
        })?;
        found.load()
    }

    /// Every known set and every imported one, and whether it is here.
    pub fn list(&self) -> Vec<Status> {
        let status = |name: &str, title: &str| {
            let (found, notes) = self.search(name);
            Status { name: name.into(), title: title.into(), available: found.is_some(), found, notes }
        };
        let sample = status("mnist-sample", "MNIST sample: 4000 + 1000 images, embedded");
        let mut all = vec![Status { found: None, available: true, ..sample }];
        all.extend(KNOWN_SETS.iter().map(|set| status(set.name, set.title)));
        all.extend(self.imported().iter().map(|name| status(name, "imported")));
        all
    }

    /// Names of `.npz` files in the data directory that are no known sets.
    fn imported(&self) -> Vec<String> {
        let entries = self.data_dir.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".npz").map(str::to_string));
        let mut names: Vec<_> = names.filter(|n| KnownSet::named(n).is_none() && checked_name(n).is_ok()).collect();
        names.sort();
        names
    }
}

impl SetCopy {
    /// Reads and checks the set. Its origin names the files, and how they differ from the official set.
    ///
    /// # Errors
    /// Any error of reading the files.
    pub fn load(&self) -> Result<Dataset> {
        let folder = self.files.first().and_then(|file| file.parent()).unwrap_or(Path::new(""));
        let names: Vec<_> =
            self.files.iter().filter_map(|file| file.file_name()).map(|n| n.to_string_lossy()).collect();
        let source = format!("{}: {} ({})", folder.display(), names.join(", "), self.place);
        let mut dataset = self.copy.read(&self.name, &source)?;
        if let Some(set) = KnownSet::named(&self.name) {
            let notes = set.differences(&dataset).into_iter().chain([set.image_note.to_string()]);
            notes.filter(|note| !note.is_empty()).for_each(|note| dataset.origin.source += &format!("; {note}"));
        }
        Ok(dataset)
    }
}

impl Dataset {
    /// Loads a set by name from the usual [`Places`]: `mnist-sample`, `mnist`, `fashion-mnist`, `emnist`, `cifar10`,
    /// `cifar100`, or the name of an imported set.
    ///
    /// # Errors
    /// [`Error::Setting`] where no such set is found; any error of reading a damaged copy.
    pub fn load(name: &str) -> Result<Dataset> {
        Places::from_env().load(name)
    }
}

/// Names become file names: nothing else than letters, digits and `._-` is let through.
pub(super) fn checked_name(name: &str) -> Result<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(Error::setting("data set", name, "a name has letters, digits, '.', '_' and '-', and no '.' first"));
    }
    Ok(name)
}

fn names_of(set: &KnownSet) -> impl Iterator<Item = &'static str> {
    std::iter::once(set.name).chain(set.aliases.iter().copied())
}

/// A usable copy of a set in one folder.
fn search_folder(set: &KnownSet, folder: &Path, notes: &mut Vec<String>) -> Option<StoredSet> {
    let torch: &[&str] = match set.name {
        "mnist" => &["MNIST/raw", "MNIST"],
        "fashion-mnist" => &["FashionMNIST/raw", "FashionMNIST"],
        "emnist" => &["EMNIST/raw", "EMNIST", "emnist/gzip"],
        "cifar10" => &[""],
        _ => &["", "cifar-100"],
    };
    let folders: Vec<PathBuf> = names_of(set).chain(torch.iter().copied()).map(|sub| folder.join(sub)).collect();
    let cifar = match set.name {
        "cifar10" => Some((Cifar::Ten, "cifar-10")),
        "cifar100" => Some((Cifar::Hundred, "cifar-100")),
        _ => None,
    };
    if let Some((cifar, stem)) = cifar {
        return search_cifar(cifar, stem, &folders, notes).or_else(|| flat(set, folder, notes));
    }
    let (train, test) =
        if set.name == "emnist" { ("emnist-byclass-train", "emnist-byclass-test") } else { ("train", "t10k") };
    for sub in folders.iter().filter(|sub| sub.is_dir()) {
        let archive = sub.join("gzip.zip");
        let zip = || (set.name == "emnist" && archive.is_file()).then_some(StoredSet::EmnistZip(archive));
        if let Some(copy) = four(sub, train, test, notes).or_else(zip) {
            return Some(copy);
        }
    }
    flat(set, folder, notes)
}

/// `<set>-train-images-idx3-ubyte.gz` and its companions, directly in a folder.
fn flat(set: &KnownSet, folder: &Path, notes: &mut Vec<String>) -> Option<StoredSet> {
    names_of(set).find_map(|name| four(folder, &format!("{name}-train"), &format!("{name}-test"), notes))
}

/// Four IDX files, each plain or gzipped; where only some are there, a note says which are missing.
fn four(folder: &Path, train: &str, test: &str, notes: &mut Vec<String>) -> Option<StoredSet> {
    let kinds = ["images-idx3-ubyte", "labels-idx1-ubyte"];
    let names = [train, test].map(|part| kinds.map(|kind| format!("{part}-{kind}")));
    let file = |name: &String| [folder.join(name), folder.join(format!("{name}.gz"))].into_iter().find(|p| p.is_file());
    let found = names.each_ref().map(|pair| pair.each_ref().map(file));
    let both = names.iter().flatten().zip(found.iter().flatten());
    let missing: Vec<&str> = both.filter(|(_, file)| file.is_none()).map(|(name, _)| name.as_str()).collect();
    if !missing.is_empty() && missing.len() < 4 {
        notes.push(format!("{} lacks {}", folder.display(), missing.join(", ")));
    }
    match found {
        [[Some(a), Some(b)], [Some(c), Some(d)]] => Some(StoredSet::Arrays { train: [a, b], test: Some([c, d]) }),
        _ => None,
    }
}

/// CIFAR's binary files in a folder, or the archive of them; pickles are only noted.
fn search_cifar(set: Cifar, stem: &str, folders: &[PathBuf], notes: &mut Vec<String>) -> Option<StoredSet> {
    let unpacked = if set == Cifar::Ten { "cifar-10-batches-bin" } else { "cifar-100-binary" };
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for bin in [folder.join(unpacked), folder.clone()] {
            let missing = set.missing(&bin);
            if missing.is_empty() {
                return Some(StoredSet::Cifar(bin, set));
            }
            if bin.ends_with(unpacked) && bin.is_dir() {
                notes.push(format!("{} is missing", missing[0].display()));
            }
        }
        let archive = folder.join(format!("{stem}-binary.tar.gz"));
        if archive.is_file() {
            return Some(StoredSet::Cifar(archive, set));
        }
        let pickles = ["batches-py", "python"].map(|end| folder.join(format!("{stem}-{end}")));
        if let Some(pickles) = pickles.iter().find(|path| path.is_dir()) {
            let folder = pickles.display();
            notes.push(format!("{folder} holds Python pickles, which are not read: the binary version is needed"));
        }
    }
    None
}

/// One file of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCheck {
    /// The file.
    pub path: PathBuf,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// Where that very checksum is published, if it is: a repacked copy has another one.
    pub published: Option<&'static str>,
}

/// What a check of a copy found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The copy.
    pub found: SetCopy,
    /// Its files.
    pub files: Vec<FileCheck>,
    /// SHA-256 over the decoded examples and labels.
    pub sha256: String,
    /// Training and test examples.
    pub rows: (usize, usize),
    /// How it differs from the official set in size, shape or classes; empty if it does not, or if there is none.
    pub differences: Vec<String>,
}

impl Places {
    /// Reads the copy of a set that would be loaded, and checks it in every way there is.
    ///
    /// # Errors
    /// [`Error::Setting`] where there is no copy; any error of reading a damaged copy.
    pub fn verify(&self, name: &str) -> Result<Verification> {
        let missing = || Error::setting("data set", name, "no copy was found");
        let found = self.find(name)?.ok_or_else(missing)?;
        let dataset = found.load()?;
        let set = KnownSet::named(&found.name);
        let known = set.iter().flat_map(|set| set.files.iter().chain(set.other_files)).collect::<Vec<_>>();
        let check = |path: &PathBuf| {
            let sha256 = file_sha256(path)?;
            let published = known.iter().find(|file| file.sha256 == sha256).map(|file| file.checksum_source);
            Ok(FileCheck { path: path.clone(), sha256, published })
        };
        Ok(Verification {
            files: found.files.iter().map(check).collect::<Result<_>>()?,
            rows: (dataset.train.features.rows(), dataset.test.as_ref().map_or(0, |test| test.features.rows())),
            differences: set.map_or(vec![], |set| set.differences(&dataset)),
            sha256: dataset.origin.sha256,
            found,
        })
    }
}
