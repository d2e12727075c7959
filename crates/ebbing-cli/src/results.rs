//! The files of a result: a set that is replaced completely or not at all.
//!
//! 1. All files are written to the hidden folder [`NEW`], beside those that they replace.
//! 2. One rename, to [`READY`], says that the set is complete.
//! 3. Each file is renamed into place, which needs no space; the file it replaces is kept in [`OLD`]. If a rename fails, all are
//!    undone. If the process is killed, the next run in the folder continues from here.
//!
//! A set has a list of its files with their checksums. Files that the last run of the same command wrote and this one does not
//! write are removed, unless somebody has changed them since; nothing else in the folder is touched.

use ebbing::data::{file_sha256, sync_folder_of, write_atomic};
use ebbing::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A set that is being written.
const NEW: &str = ".ebbing-new";
/// A complete set that is being moved into place.
const READY: &str = ".ebbing-ready";
/// The files that it replaces.
const OLD: &str = ".ebbing-old";
/// Prefix of the names of lists.
const LIST: &str = ".ebbing-list-";

/// The list of a set.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Listed {
    /// SHA-256 of each file.
    files: BTreeMap<String, String>,
}

/// Writes the files of a command's result into a folder: `write` fills the folder that it is passed.
///
/// # Errors
/// Errors of `write` and of the operating system; the folder is then unchanged.
pub fn save(folder: &Path, command: &str, write: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let [new, ready] = [NEW, READY].map(|name| folder.join(name));
    super::files::make_folder(&new)?;
    let written = write(&new).map_err(|error| in_its_place(error, folder)).and_then(|()| {
        list(&new, &format!("{LIST}{command}"))?;
        fs::rename(&new, &ready).map_err(|e| Error::io(folder, e))?;
        sync_folder_of(&ready)?;
        Ok(put_in_place(folder)?)
    });
    if written.is_err() {
        [new, ready].iter().for_each(|hidden| drop(fs::remove_dir_all(hidden)));
    }
    written
}

/// Moves a set into place that a killed run had completed, and removes an incomplete one.
///
/// # Errors
/// Errors of the operating system.
pub fn recover(folder: &Path) -> Result<()> {
    put_in_place(folder)?;
    [NEW, OLD].iter().for_each(|hidden| drop(fs::remove_dir_all(folder.join(hidden))));
    Ok(())
}

/// Writes the list of the files in `new`.
fn list(new: &Path, name: &str) -> Result<()> {
    let mut set = Listed::default();
    for file in names(new)? {
        let sum = file_sha256(new.join(&file))?;
        set.files.insert(file, sum);
    }
    let text = serde_json::to_vec_pretty(&set).map_err(|e| Error::data(name, e.to_string()))?;
    write_atomic(&new.join(name), &text)
}

/// The names of a folder's entries, in order.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).map_err(|e| Error::io(folder, e))?;
    let mut names: Vec<String> = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Moves the complete set, if there is one, to where it belongs.
fn put_in_place(folder: &Path) -> Result<()> {
    let [ready, old] = [READY, OLD].map(|name| folder.join(name));
    if !ready.is_dir() {
        return Ok(());
    }
    let moves = moves(folder)?;
    super::files::make_folder(&old)?;
    let mut done: Vec<&(PathBuf, PathBuf)> = Vec::new();
    for one in &moves {
        if let Err(error) = fs::rename(&one.0, &one.1) {
            // Each file had room at its old place; if a rename fails here, it is still in the hidden folder.
            done.iter().rev().for_each(|(from, to)| drop(fs::rename(to, from)));
            let _ = fs::remove_dir(&old);
            return Err(Error::io(if one.1.starts_with(&old) { &one.0 } else { &one.1 }, error));
        }
        done.push(one);
    }
    sync_folder_of(&ready)?;
    // Everything is in place: leftovers do not matter, and the next run removes them at the latest.
    [ready, old].iter().for_each(|hidden| drop(fs::remove_dir_all(hidden)));
    Ok(())
}

/// The renames that are still missing to move the complete set into place, the list last.
fn moves(folder: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
    let [ready, old] = [READY, OLD].map(|name| folder.join(name));
    let (lists, files): (Vec<String>, Vec<String>) = names(&ready)?.into_iter().partition(|n| n.starts_with(LIST));
    let mut moves = Vec::new();
    let mut away = |name: &str| -> Result<()> {
        let path = folder.join(name);
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_dir() => Err(Error::io(path, ErrorKind::IsADirectory.into())),
            Ok(_) => {
                moves.push((path, old.join(name)));
                Ok(())
            }
            Err(_) => Ok(()),
        }
    };
    for list in &lists {
        let text = fs::read(ready.join(list)).map_err(|e| Error::io(ready.join(list), e))?;
        let set: Listed = serde_json::from_slice(&text).map_err(|e| Error::data(list, e.to_string()))?;
        // The list of the previous set, which is removed last; if it cannot be read, its files stay.
        let before = fs::read(folder.join(list)).ok().and_then(|text| serde_json::from_slice::<Listed>(&text).ok());
        let ours = |file: &str, sum: &str| file_sha256(folder.join(file)).is_ok_and(|found| found == sum);
        let removed = before.unwrap_or_default().files.into_iter();
        removed
            .filter(|(file, sum)| !set.files.contains_key(file) && ours(file, sum))
            .try_for_each(|(name, _)| away(&name))?;
    }
    for name in files.iter().chain(&lists) {
        away(name)?;
    }
    moves.extend(files.iter().chain(&lists).map(|name| (ready.join(name), folder.join(name))));
    Ok(moves)
}

/// An error that names the file's final path instead of the hidden one.
fn in_its_place(error: anyhow::Error, folder: &Path) -> anyhow::Error {
    let library = match error.downcast::<ebbing_show::Error>() {
        Ok(ebbing_show::Error::Library(error)) => anyhow::Error::new(error),
        Ok(other) => other.into(),
        Err(error) => error,
    };
    match library.downcast::<Error>() {
        Ok(Error::Io { path, source }) => {
            let own = path.strip_prefix(folder.join(NEW)).map(|name| folder.join(name));
            Error::io(own.unwrap_or(path), source).into()
        }
        Ok(other) => other.into(),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a set of files, each with this content.
    fn set(folder: &Path, command: &str, names: &[&str], content: &str) -> anyhow::Result<()> {
        let write = |new: &Path| {
            names.iter().try_for_each(|name| write_atomic(&new.join(name), content.as_bytes())).map_err(Into::into)
        };
        save(folder, command, write)
    }

    /// Every file with its content, but for lists.
    fn found(folder: &Path) -> Vec<(String, String)> {
        let read = |name: String| fs::read_to_string(folder.join(&name)).map(|text| (name, text)).ok();
        names(folder).unwrap().into_iter().filter(|name| !name.starts_with(LIST)).filter_map(read).collect()
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
    }

    #[test]
    fn a_set_replaces_the_one_before_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("notes.txt"), "own").unwrap();
        set(folder, "forecast", &["a.csv", "b.csv", "c.csv", "report.html"], "old").unwrap();
        set(folder, "phase", &["phase.csv", "report.html"], "other").unwrap();
        fs::write(folder.join("c.csv"), "changed by hand").unwrap();
        set(folder, "forecast", &["a.csv"], "new").unwrap();
        // b.csv is gone; c.csv is the user's by now, and report.html that of another command.
        let left = [("a.csv", "new"), ("c.csv", "changed by hand"), ("notes.txt", "own"), ("phase.csv", "other")];
        assert_eq!(found(folder), pairs(&[&left[..], &[("report.html", "other")]].concat()));
        assert!([NEW, READY, OLD].iter().all(|hidden| !folder.join(hidden).exists()));
    }

    #[test]
    fn a_set_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        set(folder, "forecast", &["a.csv", "b.csv"], "old").unwrap();
        let before = found(folder);
        // A user's folder stands where the last file should go.
        fs::create_dir_all(folder.join("z.csv/kept")).unwrap();
        let error = set(folder, "forecast", &["a.csv", "z.csv"], "new").unwrap_err().to_string();
        assert!(error.contains("z.csv"), "{error}");
        assert!(folder.join("z.csv/kept").is_dir());
        assert_eq!(found(folder), before);
        // The disk is full while the second file is written: the message has its own name.
        let error = save(folder, "forecast", |new| {
            write_atomic(&new.join("a.csv"), b"new")?;
            Err(Error::io(new.join("b.csv"), ErrorKind::StorageFull.into()).into())
        });
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with(&folder.join("b.csv").display().to_string()), "{error}");
        assert_eq!(found(folder), before);
        // A rename fails after others were done.
        fs::create_dir_all(folder.join(OLD).join("b.csv")).unwrap();
        assert!(set(folder, "forecast", &["a.csv", "b.csv"], "new").is_err());
        assert_eq!(found(folder), before);
        assert!([NEW, READY].iter().all(|hidden| !folder.join(hidden).exists()));
    }

    #[test]
    fn what_a_killed_run_left_is_finished_or_removed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        set(folder, "forecast", &["a.csv", "b.csv", "c.csv"], "old").unwrap();
        let before = found(folder);
        // Killed while it wrote.
        fs::create_dir(folder.join(NEW)).unwrap();
        fs::write(folder.join(NEW).join("a.csv"), "half").unwrap();
        recover(folder).unwrap();
        assert_eq!(found(folder), before);
        // Killed after each of the renames in turn.
        for killed in 0.. {
            set(folder, "forecast", &["a.csv", "b.csv", "c.csv"], "old").unwrap();
            let [new, ready] = [NEW, READY].map(|name| folder.join(name));
            fs::create_dir(&new).unwrap();
            ["a.csv", "d.csv"].iter().for_each(|name| fs::write(new.join(name), "new").unwrap());
            list(&new, &format!("{LIST}forecast")).unwrap();
            fs::rename(&new, &ready).unwrap();
            fs::create_dir(folder.join(OLD)).unwrap();
            let moves = moves(folder).unwrap();
            moves.iter().take(killed).for_each(|(from, to)| fs::rename(from, to).unwrap());
            recover(folder).unwrap();
            assert_eq!(found(folder), pairs(&[("a.csv", "new"), ("d.csv", "new")]), "after {killed} renames");
            assert!([NEW, READY, OLD].iter().all(|hidden| !folder.join(hidden).exists()));
            if killed == moves.len() {
                break;
            }
        }
    }
}
