//! How a study runs under Slurm: the options of its file and the flags that go over them.

use ebbing::tasks::unknown_key;
use ebbing::{Error, Result};
use std::path::Path;

/// How a study runs under Slurm.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SlurmOptions {
    /// The partition.
    pub partition: Option<String>,
    /// The time limit of a task.
    pub time: Option<String>,
    /// The memory of a task.
    pub memory: Option<String>,
    /// Cells of a task, one after another.
    pub cells_per_task: Option<usize>,
    /// More options of sbatch.
    pub options: Vec<String>,
}

/// The flags that go over the file's table.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Slurm")]
pub struct SlurmArgs {
    /// Partition
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Time limit of a task, as sbatch takes it
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Memory of a task, as sbatch takes it [default: estimated]
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Cells of a task, one after another [default: about ten minutes' worth]
    #[arg(long, value_name = "N")]
    cells_per_task: Option<usize>,
    /// Another option of sbatch, several times for several: --option=--account=mine
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    options: Vec<String>,
    /// Write the scripts, but submit nothing
    #[arg(long)]
    write_only: bool,
}

impl SlurmOptions {
    /// The table `[slurm]` of a study's file.
    pub(crate) fn read(path: &Path, table: &toml::Table) -> Result<SlurmOptions> {
        let known = ["partition", "time", "memory", "cells_per_task", "options"].map(String::from);
        if let Some(key) = table.keys().find(|key| !known.contains(&key.replace('-', "_"))) {
            return Err(unknown_key(path, "a key of [slurm]", key, &known));
        }
        let get = |key: &str| table.get(key).or_else(|| table.get(&key.replace('_', "-")));
        let wrong = |key: &str, expected: &str| {
            let value = get(key).map_or(String::new(), |v| v.to_string());
            Error::file(path, format!("slurm.{key}"), value.trim(), expected)
        };
        let word = |key: &str| match get(key) {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(text.clone())),
            Some(toml::Value::Integer(n)) => Ok(Some(n.to_string())),
            Some(_) => Err(wrong(key, "must be a word, as sbatch takes it")),
        };
        let cells_per_task = match get("cells_per_task") {
            None => None,
            Some(toml::Value::Integer(n)) if *n > 0 => Some(*n as usize),
            Some(_) => return Err(wrong("cells_per_task", "must be a whole number, at least 1")),
        };
        let options = match get("options") {
            None => Some(Vec::new()),
            Some(toml::Value::Array(list)) => list.iter().map(|v| v.as_str().map(String::from)).collect(),
            Some(_) => None,
        };
        let options = options.ok_or_else(|| wrong("options", "must be a list of words, as [\"--account=mine\"]"))?;
        let read = SlurmOptions {
            partition: word("partition")?,
            time: word("time")?,
            memory: word("memory")?,
            cells_per_task,
            options,
        };
        read.check().map(|()| read)
    }

    /// Refuses what would break a line of the script.
    fn check(&self) -> Result<()> {
        let words = [&self.partition, &self.time, &self.memory].into_iter().flatten().chain(&self.options);
        for word in words {
            if word.is_empty() || word.chars().any(|c| c.is_control()) {
                return Err(Error::setting("an option of sbatch", format!("{word:?}"), "must be one line"));
            }
        }
        match self.options.iter().find(|option| !option.starts_with('-')) {
            Some(bad) => Err(Error::setting("--option", bad, "must begin with '-', as --account=mine")),
            None => Ok(()),
        }
    }
}

impl SlurmArgs {
    /// The file's options with these flags over them, and whether only to write.
    ///
    /// # Errors
    /// [`Error::Setting`] for options that sbatch cannot take.
    pub fn over(&self, file: &SlurmOptions) -> Result<(SlurmOptions, bool)> {
        if self.cells_per_task == Some(0) {
            return Err(Error::setting("--cells-per-task", 0, "must be at least 1"));
        }
        let both = SlurmOptions {
            partition: self.partition.clone().or_else(|| file.partition.clone()),
            time: self.time.clone().or_else(|| file.time.clone()),
            memory: self.memory.clone().or_else(|| file.memory.clone()),
            cells_per_task: self.cells_per_task.or(file.cells_per_task),
            options: file.options.iter().chain(&self.options).cloned().collect(),
        };
        both.check().map(|()| (both, self.write_only))
    }
}
