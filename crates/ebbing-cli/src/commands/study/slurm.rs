//! Slurm: an array of jobs that compute what is missing, and a job that collects when they have ended.

use crate::commands::study::running::stated;
use crate::console::Console;
use crate::failure::Refused;
use ebbing::Error;
use ebbing::data::write_atomic;
use ebbing::request::quoted;
use ebbing_show::{Screen, escape_markup};
use ebbing_studies::{Bill, SlurmOptions, Store, Study};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// As many array tasks as any Slurm takes by default.
const MOST_TASKS: usize = 1000;
/// Cells are put together until a task takes about this long: starting one costs seconds.
const LEAST_SECONDS: f64 = 600.0;

/// What the jobs run.
pub struct Submission {
    /// The name of the jobs.
    pub name: String,
    /// The program's words before `--cells LIST`.
    pub compute: Vec<String>,
    /// The program's words that collect.
    pub collect: Vec<String>,
    /// Options, and whether only to write.
    pub options: (SlurmOptions, bool),
}

impl Submission {
    /// Writes the scripts for what is missing, and submits them unless asked not to.
    ///
    /// # Errors
    /// Where earlier jobs are still in the queue, a script cannot be written, or sbatch refuses.
    pub fn submit(&self, console: &Console, study: &Study, store: &Store) -> anyhow::Result<()> {
        let folder = super::run::absolute(store.folder())?;
        refuse_queued(&folder)?;
        let missing = store.status()?.to_do();
        let heading = format!("Study {}: {} of {} cells are missing", self.name, missing.len(), store.count());
        let mut screen = Screen::new(&escape_markup(&heading));
        if missing.is_empty() {
            screen = screen.next("more", &format!("{} {}", crate::cli::name(), self.collect.join(" ")));
            return console.print(&screen.render_for_stdout());
        }
        let bill = stated(missing.iter().map(|&k| &study.cells[k]))?;
        let groups = self.groups(&missing, &bill);
        let (place, array, collect) = self.write(&folder, &groups, &bill)?;
        screen = screen.paragraph(&escape_markup(&format!(
            "{} array tasks of up to {} cells; about {} core-hours on a machine like this one.",
            groups.len(),
            groups[0].len(),
            ebbing_show::significant(bill.core_seconds / 3600.0)
        )));
        if self.options.1 {
            let array = quoted(&array.display().to_string());
            screen = screen
                .next("submit", &format!("job=$(sbatch --parsable {array})"))
                .next("then", &format!("sbatch --dependency=afterany:$job {}", quoted(&collect.display().to_string())));
        } else {
            let first = sbatch(&[&array.display().to_string()])?;
            let after = format!("--dependency=afterany:{first}");
            let second = sbatch(&[&after, &collect.display().to_string()])?;
            let jobs = json!({ "array": first, "collect": second });
            write_atomic(&place.join("jobs.json"), format!("{jobs}\n").as_bytes())?;
            screen = screen.paragraph(&format!("Submitted as job {first}; job {second} collects when it has ended."));
        }
        screen = screen.next("more", &format!("ebbing study status {}", store.folder().display()));
        console.print(&screen.render_for_stdout())
    }

    /// The cells of each array task.
    fn groups(&self, missing: &[usize], bill: &Bill) -> Vec<Vec<usize>> {
        let mean = (bill.core_seconds / bill.cells.max(1) as f64).max(1e-3);
        let about = (LEAST_SECONDS / mean).ceil() as usize;
        let size = self.options.0.cells_per_task.unwrap_or(about).max(missing.len().div_ceil(MOST_TASKS));
        missing.chunks(size.clamp(1, missing.len())).map(<[usize]>::to_vec).collect()
    }

    /// Writes groups and scripts into the next free folder: returns it and the two scripts.
    fn write(&self, folder: &Path, groups: &[Vec<usize>], bill: &Bill) -> anyhow::Result<(PathBuf, PathBuf, PathBuf)> {
        let place = (1..).map(|k| folder.join("slurm").join(format!("{k:03}"))).find(|place| !place.exists());
        let place = place.ok_or_else(|| Refused("there is no free folder for scripts".into()))?;
        crate::files::make_folder(&place)?;
        let line = |group: &Vec<usize>| group.iter().map(|k| (k + 1).to_string()).collect::<Vec<_>>().join(",") + "\n";
        let list = place.join("cells.txt");
        write_atomic(&list, groups.iter().map(line).collect::<String>().as_bytes())?;
        let program = std::env::current_exe().map_err(|e| Error::io("the program itself", e))?;
        let program = quoted(&program.display().to_string());
        let words = |words: &[String]| words.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" ");
        let list = quoted(&list.display().to_string());
        // Twice the estimate and room for the data sets.
        let memory = format!("{}M", (2.0 * bill.bytes / 1e6 + 1000.0).ceil());
        let memory = self.options.0.memory.clone().unwrap_or(memory);
        let array = self.script(
            &place,
            "array-%a",
            &[format!("--array=1-{}", groups.len()), format!("--mem={memory}")],
            &format!(
                "exec {program} --threads 1 {} --cells \"$(sed -n \"${{SLURM_ARRAY_TASK_ID}}p\" {list})\"",
                words(&self.compute)
            ),
        )?;
        let collect = self.script(
            &place,
            "collect",
            &[format!("--mem={memory}")],
            &format!("exec {program} {}", words(&self.collect)),
        )?;
        let paths = (place.join("array.sh"), place.join("collect.sh"));
        write_atomic(&paths.0, array.as_bytes())?;
        write_atomic(&paths.1, collect.as_bytes())?;
        Ok((place, paths.0, paths.1))
    }

    fn script(&self, place: &Path, log: &str, options: &[String], run: &str) -> anyhow::Result<String> {
        let here = std::env::current_dir().map_err(|e| Error::io(".", e))?;
        let mut text = String::from("#!/bin/sh\n");
        let mut option = |word: &str| text += &format!("#SBATCH {word}\n");
        option(&format!("--job-name=ebbing-{}", self.name));
        option(&format!("--chdir=\"{}\"", here.display()));
        option(&format!("--output=\"{}\"", place.join(format!("{log}.log")).display()));
        option("--cpus-per-task=1");
        options.iter().for_each(|word| option(word));
        let chosen = [("partition", &self.options.0.partition), ("time", &self.options.0.time)];
        for (name, value) in chosen {
            value.iter().for_each(|value| option(&format!("--{name}={value}")));
        }
        self.options.0.options.iter().for_each(|word| option(word));
        Ok(text + run + "\n")
    }
}

/// Refuses to submit while jobs of an earlier submission wait or run: their cells are missing, but on their way.
fn refuse_queued(folder: &Path) -> anyhow::Result<()> {
    let Ok(entries) = std::fs::read_dir(folder.join("slurm")) else { return Ok(()) };
    for entry in entries.flatten() {
        let Ok(text) = std::fs::read_to_string(entry.path().join("jobs.json")) else { continue };
        let jobs: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let Some(job) = jobs["array"].as_str() else { continue };
        // A job that squeue no longer knows has ended.
        let known = Command::new("squeue").args(["--noheader", "--jobs", job]).output();
        if known.is_ok_and(|output| output.status.success() && !output.stdout.trim_ascii().is_empty()) {
            let sentence = format!(
                "{}: job {job} is still in the queue; wait until it has ended, or end it with `scancel {job}`",
                folder.display()
            );
            return Err(Refused(sentence).into());
        }
    }
    Ok(())
}

/// Submits a script and returns the job's number.
fn sbatch(words: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("sbatch").arg("--parsable").args(words).output();
    let output = output.map_err(|e| {
        Refused(format!("sbatch does not start ({e}); the scripts are written: submit them by hand, or use --shard"))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
        return Err(Refused(format!("sbatch refused: {said}")).into());
    }
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    // With several clusters it is `number;cluster`.
    Ok(answer.trim().split(';').next().unwrap_or_default().to_string())
}
