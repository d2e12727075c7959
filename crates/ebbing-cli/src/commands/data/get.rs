//! `ebbing data get NAME`: fetches the standard files of a data set, checks them, and puts them where they are found.

use super::{describe, to_json};
use crate::console::Console;
use crate::fetch::{Patience, Request, fetch};
use crate::files;
use anyhow::{Context, bail};
use ebbing::Error;
use ebbing::data::{KNOWN_SETS, KnownFile, KnownSet, Places, Verification};
use ebbing::plan::size;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Fetch a data set from its public mirrors
#[derive(clap::Args)]
#[command(after_help = "\
Files are checked against published checksums and appear whole or not at all. A
download that was interrupted goes on where it stopped.

Examples:
  ebbing data get mnist
  ebbing data get cifar10 --mirror https://data.example.org/cifar/")]
pub struct Args {
    /// mnist, fashion-mnist, emnist, cifar10 or cifar100
    name: String,
    /// Fetch from here instead: the address of the folder with the standard files
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    /// The mirror has packed the files anew: check what they decode to, not their
    /// published checksums
    #[arg(long, requires = "mirror")]
    repacked: bool,
    /// Fetch even if there is a copy
    #[arg(long)]
    force: bool,
    /// Seconds to wait for a connection
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    connect_timeout: f64,
    /// Seconds to wait for the next bytes
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    read_timeout: f64,
    /// How often to try each mirror
    #[arg(long, value_name = "N", default_value_t = 5)]
    tries: u32,
    /// Seconds to pause after the first failed try; doubles with each
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pause: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Fetches the set unless it is here.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let set = self.set()?;
        let patience = self.patience()?;
        let mirrors = self.mirrors(set)?;
        let places = Places::from_env();
        if !self.force
            && let Some(found) = places.find(set.name)?
        {
            console.remark(&format!("{} is here already ({}); --force fetches it anew", set.name, found.place));
            return self.report(&places.verify(set.name)?, console);
        }
        let folder = places.folder_of(set).ok_or_else(|| {
            Error::setting("the data directory", "unknown", "set HOME or XDG_DATA_HOME to say where files go")
        })?;
        let staging = staging_of(&folder);
        let staged = staging.join(set.name);
        files::make_folder(&staged)?;
        for file in set.files {
            self.fetch_file(file, &mirrors, &staged, &patience, console).with_context(|| set.name.to_string())?;
        }
        let mut verified = check(set, &staging)?;
        place(&staged, &folder, set)?;
        // What is left of the staging folder is empty; if it cannot be removed it does no harm.
        let _ = std::fs::remove_dir_all(&staging);
        verified.found.place = "data directory".into();
        for file in &mut verified.files {
            file.path = folder.join(file.path.file_name().unwrap_or_default());
        }
        self.report(&verified, console)
    }

    fn set(&self) -> ebbing::Result<&'static KnownSet> {
        KnownSet::named(&self.name).ok_or_else(|| {
            let names: Vec<&str> = KNOWN_SETS.iter().map(|set| set.name).collect();
            Error::setting("data set", &self.name, format!("sets that can be fetched are {}", names.join(", ")))
        })
    }

    /// The flags about waiting, checked.
    fn patience(&self) -> ebbing::Result<Patience> {
        let seconds = |name: &str, value: f64| {
            let expected = "must be a number of seconds from 0.001 to 86400";
            let duration = Duration::try_from_secs_f64(value).ok().filter(|_| (0.001..=86400.0).contains(&value));
            duration.ok_or_else(|| Error::setting(name, value, expected))
        };
        if !(1..=100).contains(&self.tries) {
            return Err(Error::setting("--tries", self.tries, "must lie in 1 … 100"));
        }
        Ok(Patience {
            connect: seconds("--connect-timeout", self.connect_timeout)?,
            read: seconds("--read-timeout", self.read_timeout)?,
            tries: self.tries,
            pause: seconds("--pause", self.pause)?,
        })
    }

    /// Addresses of folders, each with a slash at its end.
    fn mirrors(&self, set: &KnownSet) -> ebbing::Result<Vec<String>> {
        let Some(mirror) = &self.mirror else {
            return Ok(set.mirrors.iter().map(|m| m.to_string()).collect());
        };
        if !mirror.starts_with("http://") && !mirror.starts_with("https://") {
            return Err(Error::setting("--mirror", mirror, "must begin with https:// or http://"));
        }
        Ok(vec![format!("{}/", mirror.trim_end_matches('/'))])
    }

    /// One file into the staging folder, unless an earlier run has put it there.
    fn fetch_file(
        &self,
        file: &KnownFile,
        mirrors: &[String],
        folder: &Path,
        patience: &Patience,
        console: &Console,
    ) -> anyhow::Result<()> {
        let target = folder.join(file.name);
        let accept = |path: &Path| if self.repacked { Ok(()) } else { file.check(path) };
        if target.exists() && accept(&target).is_ok() {
            return Ok(());
        }
        let urls: Vec<String> = mirrors.iter().map(|mirror| format!("{mirror}{}", file.name)).collect();
        // Another compressor may pack less tightly, but hardly by a factor of four.
        let most_bytes = if self.repacked { 4 * file.bytes + (1 << 20) } else { file.bytes };
        console.remark(&format!("fetching {} ({})", urls[0], size(file.bytes as f64)));
        fetch(&Request { urls: &urls, target: &target, most_bytes, accept: &accept }, patience, console)
    }

    fn report(&self, verified: &Verification, console: &Console) -> anyhow::Result<()> {
        if self.json { console.print_json(&to_json(verified)) } else { console.print(&describe(verified)) }
    }
}

/// Reads the fetched set; one that is not the official set is thrown away.
fn check(set: &KnownSet, staging: &Path) -> anyhow::Result<Verification> {
    let staged = Places { folders: vec![("download".into(), staging.to_path_buf())], data_dir: None };
    let why = match staged.verify(set.name) {
        Ok(verified) if verified.differences.is_empty() => return Ok(verified),
        Ok(verified) => verified.differences.join("; "),
        Err(error) => error.to_string(),
    };
    std::fs::remove_dir_all(staging).map_err(|e| Error::io(staging, e))?;
    bail!("{}: what was fetched is not the official set and is thrown away: {why}", set.name)
}

/// Moves the fetched files to where they are found: the folder in one step, or file by file if there is one already.
fn place(staged: &Path, folder: &Path, set: &KnownSet) -> ebbing::Result<()> {
    if folder.exists() {
        return set.files.iter().try_for_each(|file| files::rename(&staged.join(file.name), &folder.join(file.name)));
    }
    // A run that was killed may have left a temporary file among them.
    let entries = std::fs::read_dir(staged).map_err(|e| Error::io(staged, e))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if !set.files.iter().any(|file| path.ends_with(file.name)) {
            std::fs::remove_file(&path).map_err(|e| Error::io(&path, e))?;
        }
    }
    files::rename(staged, folder)
}

/// Where files wait until the set is complete: beside its folder, so that moving them is a rename.
fn staging_of(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!(".{name}.download"))
}
