//! `ebbing study run` and `ebbing study submit`: a study's file becomes a folder of results.

use super::running::{Wanted, check_folder, part, print_bill, stated};
use super::slurm::Submission;
use crate::console::Console;
use crate::failure::Refused;
use ebbing_show::{Screen, escape_markup};
use ebbing_studies::{Share, SlurmArgs, Store, Study, StudyFile};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Studies of more cells than this are computed only when they are meant.
const MANY: usize = 10_000;

/// Compute the cells of a study that are not there yet
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing study run depths.toml --dry-run          cells, core-hours, memory
  ebbing study run depths.toml --out DIR          again to go on where it stopped
  ebbing study run depths.toml --shard 2/8        an eighth of it, for any scheduler")]
pub struct Args {
    #[command(flatten)]
    source: StudySource,
    #[command(flatten)]
    wanted: Wanted,
    /// Only print cells, core-hours and memory
    #[arg(long)]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Submit the cells of a study that are not there yet to a cluster
///
/// Writes an array of jobs and one that collects when they have ended, and submits both. Submitting again submits only
/// what is missing or failed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  ebbing study submit --slurm depths.toml --partition short --time 1:00:00
  ebbing study submit --slurm depths.toml --option=--account=mine --write-only
  ebbing study status depths
The study's file may have the options in a table:
  [slurm]
  partition = \"short\"
  time = \"1:00:00\"
  memory = \"4G\"
  cells_per_task = 10
  options = [\"--account=mine\"]")]
pub struct SubmitArgs {
    #[command(flatten)]
    source: StudySource,
    /// To Slurm, with sbatch
    #[arg(long, required = true)]
    slurm: bool,
    #[command(flatten)]
    options: SlurmArgs,
}

/// The study and its folder.
#[derive(Debug, Clone, clap::Args)]
struct StudySource {
    /// The study: FILE.toml
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder for results [default: the study's name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go ahead with more than 10 000 cells
    #[arg(long)]
    yes: bool,
}

impl StudySource {
    /// The checked study and its file.
    fn study(&self) -> anyhow::Result<(StudyFile, Study)> {
        let file = StudyFile::read(&self.file)?;
        if file.count() > MANY && !self.yes {
            let sentence = format!(
                "{}: the grid has {} cells; more than {MANY} are computed only with --yes",
                self.file.display(),
                file.count()
            );
            return Err(Refused(sentence).into());
        }
        let study = file.study()?;
        Ok((file, study))
    }

    /// The folder of results, with a copy of the study's file in it.
    fn store(&self, file: &StudyFile, study: &Study) -> anyhow::Result<Store> {
        let folder = self.folder(study);
        check_folder(&folder)?;
        let store = Store::create(&folder, study)?;
        let copy = folder.join("study.toml");
        let text = &file.text;
        if std::fs::read_to_string(&copy).is_ok_and(|there| there == *text) {
            return Ok(store);
        }
        ebbing::data::write_atomic(&copy, text.as_bytes())?;
        Ok(store)
    }

    fn folder(&self, study: &Study) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from(&study.name))
    }
}

impl Args {
    /// Computes, collects and prints.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let share = self.wanted.share()?;
        let (file, study) = self.source.study()?;
        if self.dry_run {
            return self.print_cost(console, &study, &share);
        }
        let store = self.source.store(&file, &study)?;
        let outcome = part(console, &study, &store, &share)?;
        let heading = format!(
            "Study {}: {} cells computed, {} were there, {} in all",
            escape_markup(&study.name),
            outcome.computed,
            outcome.found,
            store.count()
        );
        let mut answer = json!({
            "study": study.name, "cells": store.count(), "computed": outcome.computed, "found": outcome.found,
            "trouble": outcome.trouble(),
        });
        let screen = Screen::new(&heading);
        let folder = store.folder().display().to_string();
        let trouble = outcome.trouble().map(|sentence| anyhow::anyhow!(sentence));
        let screen = if share == Share::All {
            let frame = match (store.frame(trouble.is_some()), trouble.is_some()) {
                // Nothing at all was computed: why is what there is to say.
                (Err(_), true) => return trouble.map_or(Ok(()), Err),
                (frame, _) => frame?,
            };
            let [csv, parquet] = store.collect(&frame, &study.name)?;
            answer["rows"] = json!(frame.len());
            answer["files"] = json!([csv.display().to_string(), parquet.display().to_string()]);
            screen
                .next("result", &format!("{} and {}", csv.display(), parquet.display()))
                .next("more", &format!("ebbing study plot {folder} --x COLUMN --y COLUMN"))
        } else {
            screen.next("more", &format!("ebbing study status {folder}, then ebbing study collect {folder}"))
        };
        if self.json {
            console.print_json(&answer)?
        } else {
            console.print(&screen.render_for_stdout())?
        }
        trouble.map_or(Ok(()), Err)
    }

    /// Cells, core-hours and memory of what is not there yet.
    fn print_cost(&self, console: &Console, study: &Study, share: &Share) -> anyhow::Result<()> {
        let chosen = share.of(study.cells.len())?;
        let mut bills = vec![("all cells".to_string(), stated(chosen.iter().map(|&k| &study.cells[k]))?)];
        let folder = self.source.folder(study);
        if folder.join("study.json").exists() {
            let store = Store::preview(&folder, study)?;
            let missing = store.status()?.to_do();
            let missing = missing.iter().filter(|k| chosen.contains(k)).map(|&k| &study.cells[k]);
            bills.push(("not there yet".into(), stated(missing)?));
        }
        print_bill(console, &format!("Study {}, nothing computed", study.name), &bills, self.json)
    }
}

impl SubmitArgs {
    /// Writes the scripts and submits them.
    pub fn run(self, console: &Console) -> anyhow::Result<()> {
        let (file, study) = self.source.study()?;
        let store = self.source.store(&file, &study)?;
        let folder = absolute(store.folder())?;
        let words = |rest: &[&str]| rest.iter().map(|w| w.to_string()).collect::<Vec<String>>();
        let (copy, out) = (folder.join("study.toml").display().to_string(), folder.display().to_string());
        let job = Submission {
            name: study.name.clone(),
            compute: words(&["study", "run", &copy, "--out", &out, "--yes"]),
            collect: words(&["study", "collect", &out]),
            options: self.options.over(&file.slurm)?,
        };
        job.submit(console, &study, &store)
    }
}

/// A path that holds in any folder.
pub fn absolute(path: &Path) -> ebbing::Result<PathBuf> {
    std::path::absolute(path).map_err(|e| ebbing::Error::io(path, e))
}
