//! Users' own tasks: the file that the program was started with, and files dropped on the page. The page refers to them by name;
//! an unknown name is refused and never becomes a path.

use ebbing::data::{Array, parse_npz};
use ebbing::tasks::{Recipe, TaskOrigin};
use ebbing::{Error, Result, TaskSequence};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The largest file that the page takes.
pub const LARGEST: usize = 256 << 20;
/// How many files are kept, the newest; the file that the program was started with is always kept.
const KEPT: usize = 4;

/// The content of a file.
#[derive(Debug, Clone)]
pub enum Content {
    /// Tasks.
    Tasks(Arc<TaskSequence>),
    /// A recipe that draws tasks.
    Recipe(Box<Recipe>),
}

impl Content {
    /// How many classes there are, where it is one set of several and no sequence of tasks yet.
    pub fn classes_of_one_set(&self) -> Option<usize> {
        match self {
            Content::Tasks(tasks) => tasks.classes_of_one_set(),
            Content::Recipe(_) => None,
        }
    }
}

/// A file by its name.
#[derive(Debug, Clone)]
pub struct OwnFile {
    /// Its name on the page.
    pub name: String,
    /// How to name it to the program in a shell.
    pub path: String,
    /// A hash of its content, so that another file with the same name counts as another file.
    pub hash: String,
    /// Its content.
    pub content: Content,
}

/// The files that the page can use.
#[derive(Debug, Default)]
pub struct Files {
    given: Option<OwnFile>,
    dropped: Mutex<Vec<OwnFile>>,
}

impl Files {
    /// With the file that the program was started with.
    ///
    /// # Errors
    /// What the library says of it.
    pub fn starting_with(path: Option<&Path>) -> Result<Files> {
        let Some(path) = path else { return Ok(Files::default()) };
        let content = if path.extension().is_some_and(|ending| ending == "toml") {
            Content::Recipe(Box::new(Recipe::read(path)?))
        } else {
            Content::Tasks(Arc::new(TaskSequence::load(path).map_err(|error| of_file(path, error))?))
        };
        let name = path.file_name().map_or_else(|| "tasks".into(), |name| name.to_string_lossy().into_owned());
        let hash = hash(path.as_os_str().as_encoded_bytes());
        Ok(Files {
            given: Some(OwnFile { name, path: path.display().to_string(), hash, content }),
            dropped: Mutex::default(),
        })
    }

    fn dropped(&self) -> MutexGuard<'_, Vec<OwnFile>> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files that the page can use, the one given at the start first.
    pub fn all(&self) -> Vec<OwnFile> {
        self.given.iter().chain(&*self.dropped()).cloned().collect()
    }

    /// The file with a name.
    ///
    /// # Errors
    /// [`Error::Setting`] for an unknown name.
    pub fn named(&self, name: &str) -> Result<OwnFile> {
        let known = self.dropped().iter().rev().chain(&self.given).find(|file| file.name == name).cloned();
        known.ok_or_else(|| {
            let expected = "this file is not here (any more): drop it on the page again, or start with --tasks FILE";
            Error::setting("tasks", name, expected)
        })
    }

    /// Adds a file that was dropped on the page: its name, and how many classes it has where it is one set of several.
    ///
    /// # Errors
    /// Errors of the library's readers, with the file's name as the user knows it.
    pub fn take(&self, name: &str, bytes: &[u8]) -> Result<(String, Option<usize>)> {
        let name = plain_name(name);
        let content = read(&name, bytes)?;
        let classes = content.classes_of_one_set();
        let file = OwnFile { path: name.clone(), hash: hash(bytes), name: name.clone(), content };
        let mut dropped = self.dropped();
        dropped.retain(|old| old.name != name);
        dropped.push(file);
        if dropped.len() > KEPT {
            dropped.remove(0);
        }
        Ok((name, classes))
    }
}

/// An error of tasks with the name of their file.
fn of_file(path: &Path, error: Error) -> Error {
    let (file, said) = (path.display().to_string(), error.to_string());
    if said.contains(&file) { error } else { Error::data(file, said) }
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The last part of a name, without what has a meaning in addresses, shells or paths.
fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let plain: String = last.chars().take(80).map(kept).collect();
    if plain.trim_matches('.').is_empty() { "tasks.npz".into() } else { plain }
}

fn read(name: &str, bytes: &[u8]) -> Result<Content> {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_lowercase();
    match ending.as_str() {
        "toml" => recipe(name, bytes),
        "mat" => stored(name, "mat", bytes),
        "npz" => {
            // The reader in memory refuses it before anything is written to disk; the loader reads files.
            let _: Vec<(String, Array)> = parse_npz(bytes, Path::new(name))?;
            stored(name, "npz", bytes)
        }
        "csv" | "tsv" => stored(name, &ending, bytes),
        other => {
            let expected = "the page takes .npz, .mat and .csv files of tasks or features, and .toml recipes";
            Err(Error::file(name, "the ending", format!(".{other}"), expected))
        }
    }
}

/// A recipe that draws tasks from a data set by name; a recipe that names a file on this machine is refused.
fn recipe(name: &str, bytes: &[u8]) -> Result<Content> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| Error::file(name, "the text", "not UTF-8", "a recipe is TOML"))?;
    let recipe = Recipe::parse(text, name)?;
    let path = match &recipe.origin {
        TaskOrigin::Own(file) => Some(file.path().display().to_string()),
        TaskOrigin::Drawn { data, .. } if data.contains(['/', '\\']) => Some(data.clone()),
        TaskOrigin::Drawn { .. } => None,
    };
    match path {
        Some(path) => {
            let expected = "the page opens no files: name a data set, or drop the tasks themselves";
            Err(Error::file(name, "a path", path, expected))
        }
        None => Ok(Content::Recipe(Box::new(recipe))),
    }
}

/// Tasks read by the library's loader from a temporary file.
fn stored(name: &str, ending: &str, bytes: &[u8]) -> Result<Content> {
    let failed = |e: std::io::Error| Error::io(name, e);
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join(format!("tasks.{ending}"));
    std::fs::write(&path, bytes).map_err(failed)?;
    match TaskSequence::load(&path) {
        Ok(mut sequence) => {
            sequence.settings.files.iter_mut().for_each(|record| record.file = name.into());
            Ok(Content::Tasks(Arc::new(sequence)))
        }
        // The error names the file as the user knows it.
        Err(error) => {
            let said = error.to_string().replace(&path.display().to_string(), name);
            let problem = said.strip_prefix(&format!("{name}: ")).unwrap_or(&said).to_string();
            Err(Error::data(name, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebbing::Task;
    use ebbing::linalg::Mat;

    fn npz() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.npz");
        let task = |shift: usize| {
            let x = Mat::from_fn(8, 5, |i, j| ((i * (j + shift)) % 7) as f64 + 0.1 * i as f64 + 1.0);
            Task::new(x, Mat::from_fn(8, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 }))
        };
        TaskSequence::new(vec![task(1), task(2)]).unwrap().save_npz(&path).unwrap();
        std::fs::read(&path).unwrap()
    }

    #[test]
    fn files_are_known_by_name_and_bounded() {
        let files = Files::default();
        let bytes = npz();
        let names = || files.all().iter().map(|file| file.name.clone()).collect::<Vec<_>>();
        assert_eq!(files.take("../../etc/my tasks.npz", &bytes).unwrap(), ("my_tasks.npz".into(), None));
        let Content::Tasks(tasks) = files.named("my_tasks.npz").unwrap().content else { panic!("tasks") };
        assert_eq!((tasks.tasks.len(), tasks.settings.files[0].file.as_str()), (2, "my_tasks.npz"));
        (0..10).for_each(|k| drop(files.take(&format!("{k}.npz"), &bytes).unwrap()));
        assert_eq!(names(), ["6.npz", "7.npz", "8.npz", "9.npz"]);
        let gone = files.named("my_tasks.npz").unwrap_err().to_string();
        assert!(gone.contains("drop it on the page again"), "{gone}");
        assert!(files.named("/etc/passwd").is_err());
    }

    #[test]
    fn bad_files_are_refused_by_the_name_that_the_user_knows() {
        let files = Files::default();
        let refused = |name: &str, bytes: &[u8]| files.take(name, bytes).unwrap_err().to_string();
        for (name, bytes, words) in [
            ("cut.npz", &npz()[..100], "cut.npz"),
            ("no.npz", b"no archive", "no.npz"),
            ("picture.jpg", b"", "the page takes .npz"),
            ("empty.csv", b"", "empty.csv"),
            ("r.toml", b"tasks = \"/etc/passwd\"", "the page opens no files"),
            ("r.toml", b"data = \"/etc/passwd\"\n[protocol]\nkind = \"permuted\"", "the page opens no files"),
            ("r.toml", b"dta = \"mnist\"", "r.toml"),
            ("r.toml", b"\xff\xfe", "UTF-8"),
        ] {
            let said = refused(name, bytes);
            assert!(said.contains(words) && !said.contains("/tmp"), "{said}");
        }
        assert!(files.all().is_empty());
        assert_eq!(plain_name("..\\..\\"), "tasks.npz");
    }
}
