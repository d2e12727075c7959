//! A user's grid as a study: a command at every point of the grid, once per seed.

use super::file::StudyFile;
use super::knobs::InCells;
use ebbing::Error;
use ebbing::data::file_sha256;
use ebbing::plan::Cost;
use ebbing_studies::{Cell, Column, Result, Row, Sources, Study, Value};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A user's own grid.
pub struct UserStudy {
    file: StudyFile,
    switches: Vec<String>,
    /// The study's file, for messages.
    path: PathBuf,
    /// SHA-256 of the task files it names.
    files: BTreeMap<String, String>,
}

impl UserStudy {
    /// The study of a file; nothing is computed, and no data set read.
    ///
    /// # Errors
    /// What is wrong with the file, or with a task file that it names.
    pub fn new(path: &Path, file: StudyFile) -> ebbing::Result<UserStudy> {
        let mut files = BTreeMap::new();
        for value in named(&file, "tasks").into_iter().chain(named(&file, "features")) {
            for part in value.to_string().split(',') {
                hash(Path::new(part), &mut files)?;
            }
        }
        let switches = file.kind.switches();
        Ok(UserStudy { file, switches, path: path.into(), files })
    }

    /// What the file says.
    pub fn file(&self) -> &StudyFile {
        &self.file
    }

    /// The number of cells.
    pub fn count(&self) -> usize {
        self.file.grid.values().fold(self.file.seeds.len(), |n, values| n.saturating_mul(values.len()))
    }

    /// Refuses settings that a command would refuse, in any cell, before anything is computed.
    ///
    /// # Errors
    /// The first refusal.
    pub fn check(&self) -> Result<()> {
        self.cells()?.iter().try_for_each(|cell| self.command(cell).map(|_| ()))
    }

    fn command(&self, cell: &Cell) -> Result<Box<dyn InCells>> {
        let constants = self.file.constants.iter().map(|(key, value)| (key.as_str(), value));
        let own = cell.settings.iter().map(|(key, value)| (key.as_str(), value));
        let settings: BTreeMap<&str, &Value> = constants.chain(own).collect();
        let command = self.file.kind.at(&self.switches, &settings, cell.seed);
        command.map_err(|sentence| {
            let varied: Vec<String> = cell.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let at = if varied.is_empty() { String::new() } else { format!(" at {}", varied.join(", ")) };
            Error::data(format!("{}{at}", self.path.display()), sentence).into()
        })
    }
}

/// The values of a setting, constant or not.
fn named<'a>(file: &'a StudyFile, key: &str) -> Vec<&'a Value> {
    let constant = file.constants.get(key).into_iter();
    constant.chain(file.grid.get(key).into_iter().flatten()).collect()
}

/// The checksums of a file, or of the files in a folder.
fn hash(path: &Path, files: &mut BTreeMap<String, String>) -> ebbing::Result<()> {
    let mut paths = vec![path.to_path_buf()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|e| Error::io(path, e))?;
        paths = entries.flatten().map(|entry| entry.path()).filter(|p| p.is_file()).collect();
    }
    for path in paths {
        files.insert(path.display().to_string(), file_sha256(&path)?);
    }
    Ok(())
}

impl Study for UserStudy {
    fn name(&self) -> String {
        self.file.name.clone()
    }

    fn settings(&self) -> serde_json::Value {
        let settings: Map<String, serde_json::Value> =
            self.file.constants.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        json!({ "command": self.file.kind.name(), "settings": settings, "files": self.files })
    }

    fn data(&self) -> Vec<String> {
        let given = named(&self.file, "data");
        let names: Vec<String> = given.into_iter().map(Value::to_string).collect();
        let own = !named(&self.file, "tasks").is_empty() || !named(&self.file, "features").is_empty();
        if names.is_empty() && !own { vec!["mnist-sample".into()] } else { names }
    }

    fn cells(&self) -> Result<Vec<Cell>> {
        let mut cells = vec![Cell::new(0)];
        for (key, values) in &self.file.grid {
            cells = cells.iter().flat_map(|c| values.iter().map(|v| c.clone().with(key, v.clone()))).collect();
        }
        let seeded = |cell: &Cell| {
            let cell = cell.clone();
            self.file.seeds.iter().map(move |&seed| Cell { seed, ..cell.clone() })
        };
        Ok(cells.iter().flat_map(seeded).collect())
    }

    fn compute(&self, cell: &Cell, sources: &Sources) -> Result<Vec<Row>> {
        self.command(cell)?.rows(sources)
    }

    fn cost(&self, cell: &Cell) -> Cost {
        // Cells are checked before costs are asked for; what cannot be told counts as nothing.
        self.command(cell).ok().and_then(|command| command.cost().ok()).unwrap_or_default()
    }

    fn columns(&self) -> Vec<Column> {
        self.file.kind.columns()
    }
}
