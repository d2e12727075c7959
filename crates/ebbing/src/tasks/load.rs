//! Users' own sequences: one `.npz` file, a folder of them, or a recipe.

use super::labels::{RawTargets, RawTask, TargetRule, by_name};
use super::recipe::{Recipe, unknown_key};
use super::slots::{KNOWN, Slot, check_shape, slot_name, slot_of, turned, upright};
use super::{FileRecord, Present, Provenance, TaskSequence};
use crate::data::{Array, CsvOptions, OpenFile, Values, csv_arrays, npz_arrays, parse_mat, parse_npy, write_npz};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use crate::plan::Sizes;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A sequence as far as it could be read, and everything that is wrong with it.
pub(super) struct Loaded {
    pub kind: &'static str,
    pub sequence: Option<TaskSequence>,
    pub problems: Vec<Error>,
}

impl TaskSequence {
    /// Loads a sequence from an `.npz` file, a MATLAB file of the same arrays, `.npy` files, a CSV file of one task, a folder of
    /// such files, or a recipe (`.toml`, see [`Recipe`]).
    ///
    /// An `.npz` file holds `x_1, y_1, x_2, y_2, …` (or counts from 0) and optionally `x_1_test, y_1_test, …`; a single task
    /// may leave the number out (`x, y, x_test, y_test`) and has its arrays under any of their usual names (`x_train`, `X`, `features`,
    /// `test_labels`, …); `class_names` are the names of labels 0, 1, …. Such a set is made into tasks by its classes
    /// ([`ByClass`](super::ByClass)). Arrays may also be `.npy` files of those names, in a folder or beside the one that is named
    /// (`cats_x.npy`, `cats_y.npy`). A CSV file holds one example per line, with its label in one column.
    /// Beside features, `f_1, f_1_test, …` are the outputs of their model before it learns the first task, shaped as the
    /// targets ([`Present`](super::Present)); where each output has features of its own, an `x` has one row for each output of
    /// each example ([`Task::x`](super::Task::x)). The first axis of an `x` counts examples, all others are flattened into
    /// features; a `y` has one number or one row per example. See [`TargetRule`] for what labels become. Tasks may differ in
    /// size, not in features or target columns. In a folder every `*.npz`, `*.mat` or `*.csv` file holds one or more tasks; files follow each
    /// other by name, numbers in names compared as numbers (`task_2` before `task_10`), and other files are ignored.
    /// Inputs are used as stored (see [`TaskSequence::preprocessed`]); equal rows are recognized as the same input.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::File`] for files that cannot be read or hold other arrays; [`Error::Data`] for tasks that
    /// do not fit together. Only the first problem is reported; [`check_tasks`](super::check_tasks) reports all.
    pub fn load(path: impl AsRef<Path>) -> Result<TaskSequence> {
        let path = path.as_ref();
        let loaded = read(path);
        match (loaded.problems.into_iter().next(), loaded.sequence) {
            (None, Some(sequence)) => Ok(sequence),
            (Some(problem), _) => Err(problem),
            (None, None) => Err(Error::data(path.display().to_string(), "it holds no tasks")),
        }
    }

    /// Writes `x_1, y_1, x_1_test, y_1_test, f_1, f_1_test, x_2, …` as an uncompressed `.npz` file of float64 arrays, completely or not at
    /// all; [`TaskSequence::load`] reads it back bit for bit (names and settings are not kept).
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) for an unusable sequence; [`Error::Io`](crate::Error::Io) where the file cannot be
    /// written.
    pub fn save_npz(&self, path: impl AsRef<Path>) -> Result<()> {
        self.validate()?;
        let from = |m: &Mat<f64>| Array::from_mat(m.as_ref());
        let mut arrays = Vec::new();
        for (t, task) in (1..).zip(&self.tasks) {
            arrays.push((format!("x_{t}"), from(&task.x)));
            arrays.push((format!("y_{t}"), from(&task.y)));
            if let Some(test) = &task.test {
                arrays.push((format!("x_{t}_test"), from(&test.x)));
                arrays.push((format!("y_{t}_test"), from(&test.y)));
            }
            if let Some(present) = &task.present {
                arrays.push((format!("f_{t}"), from(&present.train)));
                arrays.extend(present.test.iter().map(|f| (format!("f_{t}_test"), from(f))));
            }
        }
        let named: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (name.as_str(), array)).collect();
        write_npz(path, &named)
    }
}

/// A file or folder of own tasks, read when it is first needed and once for both its sizes and its tasks; copies of this
/// value share what was read.
#[derive(Clone)]
pub struct TasksFile {
    path: PathBuf,
    known: Arc<Mutex<(Option<Sizes>, Option<TaskSequence>)>>,
}

impl TasksFile {
    /// The tasks of a path, which is not read yet.
    pub fn new(path: impl Into<PathBuf>) -> TasksFile {
        TasksFile { path: path.into(), known: Arc::default() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The sizes of its tasks, which wait here for [`TasksFile::take`].
    ///
    /// # Errors
    /// As [`TaskSequence::load`].
    pub fn sizes(&self) -> Result<Sizes> {
        let mut known = self.known();
        if known.0.is_none() {
            let tasks = TaskSequence::load(&self.path)?;
            *known = (Some(tasks.sizes()), Some(tasks));
        }
        Ok(known.0.clone().unwrap_or_default())
    }

    /// Its tasks, handed over so that they stand in memory once: who wants them a second time has them read again.
    ///
    /// # Errors
    /// As [`TaskSequence::load`].
    pub fn take(&self) -> Result<TaskSequence> {
        let mut known = self.known();
        if let Some(tasks) = known.1.take() {
            return Ok(tasks);
        }
        let tasks = TaskSequence::load(&self.path)?;
        known.0 = Some(tasks.sizes());
        Ok(tasks)
    }

    /// Its tasks, which wait here for [`TasksFile::take`] all the same.
    ///
    /// # Errors
    /// As [`TaskSequence::load`].
    pub fn copy(&self) -> Result<TaskSequence> {
        let tasks = self.take()?;
        self.known().1 = Some(tasks.clone());
        Ok(tasks)
    }

    /// What its tasks are looked at for; they wait here for [`TasksFile::take`].
    ///
    /// # Errors
    /// As [`TaskSequence::load`], and what the look says.
    pub fn with<T>(&self, look: impl FnOnce(&TaskSequence) -> Result<T>) -> Result<T> {
        let tasks = self.take()?;
        let seen = look(&tasks);
        self.known().1 = Some(tasks);
        seen
    }

    fn known(&self) -> MutexGuard<'_, (Option<Sizes>, Option<TaskSequence>)> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for TasksFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.fmt(f)
    }
}

impl PartialEq for TasksFile {
    fn eq(&self, other: &TasksFile) -> bool {
        self.path == other.path
    }
}

impl Serialize for TasksFile {
    fn serialize<S: Serializer>(&self, into: S) -> std::result::Result<S::Ok, S::Error> {
        self.path.serialize(into)
    }
}

/// Reads what a path holds, collecting problems.
pub(super) fn read(path: &Path) -> Loaded {
    if path.is_dir() {
        return folder(path);
    }
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => recipe(path),
        Some("npz") | None => tasks("npz file", &[path.to_path_buf()], Vec::new()),
        Some("npy") => tasks("npy files", &beside(path), Vec::new()),
        Some("csv" | "tsv") => tasks("csv file", &[path.to_path_buf()], Vec::new()),
        Some(mat) if mat.eq_ignore_ascii_case("mat") => tasks("mat file", &[path.to_path_buf()], Vec::new()),
        Some(other) if path.exists() => {
            let expected = "tasks are read from an .npz, .npy, .mat or .csv file, a folder of them, or a .toml recipe";
            let problem = Error::file(path, "the ending", format!(".{other}"), expected);
            Loaded { kind: "unknown", sequence: None, problems: vec![problem] }
        }
        Some(_) => tasks("npz file", &[path.to_path_buf()], Vec::new()),
    }
}

fn recipe(path: &Path) -> Loaded {
    let made = Recipe::read_all(path).and_then(|recipe| recipe.sequence().map_err(|e| vec![e.in_file(path)]));
    let (sequence, problems) = match made {
        Ok(sequence) => (Some(sequence), Vec::new()),
        Err(problems) => (None, problems),
    };
    Loaded { kind: "recipe", sequence, problems }
}

fn folder(path: &Path) -> Loaded {
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) => return Loaded { kind: "folder", sequence: None, problems: vec![Error::io(path, e)] },
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| {
        file.extension().is_some_and(|ending| ["npz", "npy", "csv", "tsv", "mat"].iter().any(|known| ending == *known))
    });
    files.sort_by_cached_key(|file| natural(&file.file_name().unwrap_or_default().to_string_lossy()));
    let mut problems = Vec::new();
    if files.is_empty() {
        problems.push(Error::file(path, "the number of .npz, .npy, .mat and .csv files", 0, "expected at least one"));
    }
    tasks("folder", &files, problems)
}

/// A name cut into words and numbers, so that 2 sorts before 10.
fn natural(name: &str) -> Vec<(String, u128)> {
    let mut parts: Vec<(String, u128)> = vec![(String::new(), 0)];
    let mut digits = String::new();
    for c in name.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        if !digits.is_empty() {
            // Numbers beyond 128 bits sort last.
            parts.push((String::new(), digits.parse().unwrap_or(u128::MAX)));
            digits.clear();
        }
        if let Some((word, 0)) = parts.last_mut() {
            word.push(c);
        } else {
            parts.push((c.to_string(), 0));
        }
    }
    if !digits.is_empty() {
        parts.push((String::new(), digits.parse().unwrap_or(u128::MAX)));
    }
    parts
}

/// The arrays of one task.
#[derive(Default)]
struct TaskArrays {
    name: String,
    /// What messages call the file and task.
    place: String,
    arrays: BTreeMap<Slot, Array>,
    /// The names of the classes that labels 0, 1, … stand for, where the file has them.
    names: Option<Vec<String>>,
}

/// The `.npy` files that hold the arrays of one set, of which one is named: those beside it whose names begin alike.
pub(super) fn beside(path: &Path) -> Vec<PathBuf> {
    let own = [path.to_path_buf()];
    let Some((prefix, _)) = npy_name(path) else { return own.to_vec() };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return own.to_vec() };
    let alike = |file: &PathBuf| npy_name(file).is_some_and(|(other, _)| other == prefix);
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| path.with_file_name(entry.file_name())).collect();
    files.retain(alike);
    files.sort();
    if files.is_empty() { own.to_vec() } else { files }
}

/// What the name of an `.npy` file begins with, and the array that the rest of it names: `cats_x_test.npy` is `cats` and `x_test`.
pub(super) fn npy_name(path: &Path) -> Option<(String, String)> {
    let stem = path.file_stem()?.to_str().filter(|_| is_npy(path))?;
    let starts = std::iter::once(0).chain(stem.match_indices(['_', '-', '.']).map(|(i, _)| i + 1));
    let (start, name) = starts.map(|i| (i, &stem[i..])).find(|(_, name)| slot_of(name).is_some())?;
    Some((stem[..start].to_string(), name.to_string()))
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "npy")
}

/// Sequences out of files of arrays; `.npy` files, which hold one each, are read as one file of them all.
fn tasks(kind: &'static str, files: &[PathBuf], mut problems: Vec<Error>) -> Loaded {
    let (mut raw, mut records, mut single) = (Vec::new(), Vec::new(), Vec::new());
    let mut place = None;
    for path in files {
        let mut sha256 = None;
        let read = OpenFile::open(path).and_then(|mut file| {
            let arrays = arrays(&mut file, path);
            sha256 = file.sha256().ok();
            arrays
        });
        match read {
            Ok(arrays) if is_npy(path) => {
                place.get_or_insert_with(|| if kind == "folder" { path.with_file_name("") } else { path.clone() });
                single.extend(arrays);
            }
            Ok(arrays) => raw.extend(sort_arrays(path, arrays, &mut problems)),
            Err(e) => problems.push(e),
        }
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        records.push(FileRecord { file, sha256 });
    }
    if let Some(place) = place {
        raw.extend(sort_arrays(&place, single, &mut problems));
    }
    if ["npz file", "npy files", "mat file"].contains(&kind) {
        raw.iter_mut().enumerate().for_each(|(t, task)| task.name = format!("task {}", t + 1));
    }
    raw.retain(|task| task.arrays.contains_key(&Slot::X) && task.arrays.contains_key(&Slot::Y));
    let sequence = (!raw.is_empty()).then(|| assemble(raw, records, &mut problems));
    Loaded { kind, sequence, problems }
}

/// The arrays of an `.npz` file, or `x` and `y` of a CSV file: one example per line, its label as [`CsvOptions`] says.
fn arrays(file: &mut OpenFile, path: &Path) -> Result<Vec<(String, Array)>> {
    let csv = |bytes: Vec<u8>, delimiter| csv_arrays(&bytes, path, &CsvOptions { delimiter, ..CsvOptions::default() });
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("csv") => csv(file.bytes()?, b','),
        Some("tsv") => csv(file.bytes()?, b'\t'),
        Some(mat) if mat.eq_ignore_ascii_case("mat") => {
            Ok(parse_mat(&file.bytes()?, path)?.into_iter().map(upright).collect())
        }
        Some("npy") => {
            let name = npy_name(path)
                .map_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), |(_, name)| name);
            let array = parse_npy(file.bytes()?, path, &format!("array {name}"))?;
            Ok(vec![(name, array)])
        }
        _ => npz_arrays(file.stream(), path),
    }
}

/// The tasks of one file, in order, each with the arrays it needs.
fn sort_arrays(file: &Path, arrays: Vec<(String, Array)>, problems: &mut Vec<Error>) -> Vec<TaskArrays> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut found: BTreeMap<Option<usize>, TaskArrays> = BTreeMap::new();
    let mut called: BTreeMap<(Option<usize>, Slot), String> = BTreeMap::new();
    let mut names = None;
    for (name, array) in arrays {
        let Some((number, slot)) = slot_of(&name) else {
            if let Some(right) = turned(&name) {
                problems.push(Error::file(file, "an array name", name, format!("held-out arrays are called {right}")));
                continue;
            }
            problems.push(unknown_key(file, "an array name", &name, &KNOWN.map(String::from)));
            continue;
        };
        if let Some(other) = called.get(&(number, slot)) {
            let expected = format!("{other} holds the same: keep one of the two");
            problems.push(Error::file(file, "an array name", name, expected));
            continue;
        }
        if let Err(e) = check_shape(file, &name, slot, &array) {
            problems.push(e);
        }
        called.insert((number, slot), name);
        match (slot, array.values) {
            (Slot::Names, Values::Texts(texts)) => names = Some(texts),
            (Slot::Names, _) => {
                problems.push(Error::file(file, "the type of class_names", "numbers", "names of classes are text"));
            }
            (_, values) => {
                found.entry(number).or_default().arrays.insert(slot, Array { shape: array.shape, values });
            }
        }
    }
    check_numbers(file, &found, problems);
    let several = found.len() > 1;
    for (number, task) in &mut found {
        task.name = match number.filter(|_| several) {
            Some(number) => format!("{stem} {number}"),
            None => stem.clone(),
        };
        let targets = called.get(&(*number, Slot::Y)).cloned().unwrap_or_else(|| slot_name(*number, Slot::Y));
        task.place = format!("{}, {targets}", file.display());
        task.names = names.clone();
    }
    found.into_values().collect()
}

/// Tasks are numbered from 1 (or from 0) without gaps, or a single one not at all, and arrays come in pairs.
fn check_numbers(file: &Path, found: &BTreeMap<Option<usize>, TaskArrays>, problems: &mut Vec<Error>) {
    let numbered: Vec<usize> = found.keys().copied().flatten().collect();
    let first = usize::from(numbered.first() != Some(&0));
    if found.contains_key(&None) && found.len() > 1 {
        let expected = "number all arrays (x_1, …) or, for a single task, none";
        problems.push(Error::file(file, "an array name", "without a number beside numbered ones", expected));
    } else if let Some((missing, next)) = (first..).zip(&numbered).find(|(expected, number)| expected != *number) {
        let expected = format!("tasks are numbered from {first} without a gap: x_{missing} is missing");
        problems.push(Error::file(file, "an array name", format!("x_{next} or y_{next}"), expected));
    }
    use Slot::{F, FTest, X, XTest, Y, YTest};
    for (number, task) in found {
        for (slot, needs) in [(X, Y), (Y, X), (XTest, YTest), (YTest, XTest), (XTest, X), (F, Y), (FTest, F)] {
            if task.arrays.contains_key(&slot) && !task.arrays.contains_key(&needs) {
                let expected = format!("it needs {} beside it", slot_name(*number, needs));
                let field = format!("array {}", slot_name(*number, slot));
                problems.push(Error::file(file, field, "alone", expected));
            }
        }
    }
}

/// Turns arrays into checked tasks; adds what is wrong to `problems`.
fn assemble(raw: Vec<TaskArrays>, files: Vec<FileRecord>, problems: &mut Vec<Error>) -> TaskSequence {
    let mut given = vec![];
    for mut task in raw {
        let mut take = |slot| task.arrays.remove(&slot);
        let (x, test_x) = (take(Slot::X), take(Slot::XTest));
        let (y, test_y) = (take(Slot::Y), take(Slot::YTest));
        let (f, test_f) = (take(Slot::F), take(Slot::FTest));
        let (Some(x), Some(y)) = (x, y) else { continue };
        let mut targets = |y: Array, place: &str| {
            let plain = RawTargets::from(&y);
            match &task.names {
                Some(names) => by_name(plain, names, place).unwrap_or_else(|e| {
                    problems.push(e);
                    RawTargets::from(&y)
                }),
                None => plain,
            }
        };
        let y = targets(y, &task.place);
        let test = test_x.zip(test_y).map(|(x, y)| (x.to_mat(), targets(y, &format!("{}_test", task.place))));
        let present = f.map(|f| Present { train: f.to_mat(), test: test_f.map(|f| f.to_mat()) });
        given.push(RawTask { name: task.name, place: task.place, x: x.to_mat(), y, rows: None, test, present });
    }
    let rule = TargetRule::of(&given).unwrap_or_else(|e| {
        problems.push(e);
        TargetRule::AsGiven
    });
    let tasks = given.into_iter().map(|task| task.into_task(&rule)).collect();
    let settings = Provenance { files, targets: Some(rule), ..Provenance::default() };
    let mut sequence = TaskSequence { tasks, settings };
    problems.extend(sequence.problems());
    sequence.identify();
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_follow_each_other_by_their_numbers() {
        let mut names =
            ["task_10.npz", "task_2.npz", "a.npz", "task_2b.npz", "99999999999999999999999999999999999999999.npz"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names[1..], ["a.npz", "task_2.npz", "task_2b.npz", "task_10.npz"]);
    }
}
