//! The file of a study: the command, its settings, the grid and the seeds, in TOML; and the grid of jobs that it asks for.

use crate::cell::{Cell, Value};
use crate::rows::{Job, columns, field_value};
use crate::slurm::SlurmOptions;
use crate::study::Study;
use ebbing::data::{Sources, file_sha256};
use ebbing::plan::Sizes;
use ebbing::request::{Door, Request};
use ebbing::tasks::{dim_of, unknown_key};
use ebbing::{Error, Recipe, Result};
use serde_json::json;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// More points on one axis than anybody means.
const MOST_POINTS: i64 = 1_000_000;

/// What a study's file says.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyFile {
    /// Its name; the file's own where it gives none.
    pub name: String,
    /// The command.
    pub command: String,
    /// Settings that all cells share.
    pub constants: BTreeMap<String, Value>,
    /// Settings that vary, each with its values.
    pub grid: BTreeMap<String, Vec<Value>>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// How it runs on a cluster.
    pub slurm: SlurmOptions,
    /// The text, with the name in it.
    pub text: String,
    /// The file, for messages.
    path: PathBuf,
    /// Whether the name was added to the text.
    named_here: bool,
}

impl StudyFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read; [`Error::File`] for TOML that is not well formed, unknown keys (with the
    /// nearest known one) and values that are no settings.
    pub fn read(path: &Path) -> Result<StudyFile> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        let table: toml::Table = toml::from_str(&text).map_err(|e| at_line(path, &text, &e))?;
        Reader { path, table }.read(text)
    }

    /// The number of cells.
    pub fn count(&self) -> usize {
        self.grid.values().fold(self.seeds.len(), |n, values| n.saturating_mul(values.len()))
    }

    /// The study, every job of it checked as it would be before it is computed, against the data that it draws from.
    ///
    /// # Errors
    /// The first setting that a job refuses, with the file and the line; what is wrong with a task file that it names.
    pub fn study(&self) -> Result<Study> {
        let mut known = KnownTasks::default();
        let mut cells = vec![Cell::new(0)];
        for (key, values) in &self.grid {
            cells = cells.iter().flat_map(|c| values.iter().map(|v| c.clone().with(key, v.clone()))).collect();
        }
        let seeded = |cell: Cell| self.seeds.iter().map(move |&seed| Cell { seed, ..cell.clone() });
        let mut study = Study {
            name: self.name.clone(),
            settings: json!({ "command": self.command, "settings": self.constants, "files": self.files()? }),
            data: self.data(),
            columns: columns(&self.command),
            ..Study::default()
        };
        for cell in cells.into_iter().flat_map(seeded) {
            let job = self.job(&cell, &mut known)?;
            study.push(cell, job);
        }
        Ok(study)
    }

    fn job(&self, cell: &Cell, known: &mut KnownTasks) -> Result<Job> {
        let checked = self.request(cell).and_then(|request| {
            request.check()?;
            request.check_seed()?;
            let sizes = request.part_of(known.sizes(&request)?);
            request.check_sizes(&sizes).map(|()| Job { request, sizes })
        });
        checked.map_err(|error| {
            let error = Door::File.say(error);
            let place = match &error {
                Error::Setting { name, .. } => self.line_of(name).map(|n| format!(", line {n}")),
                _ => None,
            };
            let varied: Vec<String> = cell.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let at = if varied.is_empty() { String::new() } else { format!(" at {}", varied.join(", ")) };
            let file = format!("{}{}{at}", self.path.display(), place.unwrap_or_default());
            Error::data(file, error.to_string())
        })
    }

    /// The request of a cell.
    fn request(&self, cell: &Cell) -> Result<Request> {
        let mut request = Request::of(&self.command)?;
        for (key, value) in self.constants.iter().chain(&cell.settings) {
            request.set(key, &field_value(value))?;
        }
        request.set("seed", &ebbing::request::Value::Whole(cell.seed))?;
        Ok(request)
    }

    /// The line of the file (from 1) that sets a key of [settings] or [grid]; flags are written with dashes.
    fn line_of(&self, key: &str) -> Option<usize> {
        let plain = |word: &str| word.trim_start_matches('-').replace('-', "_");
        let sets = |line: &str| line.split_once('=').is_some_and(|(left, _)| plain(left.trim()) == plain(key));
        // The copy that is kept has the name before the rest where the file gives none.
        let added = usize::from(self.named_here);
        self.text.lines().position(sets).map(|n| n + 1 - added)
    }

    /// The values of a setting, constant or not.
    fn named(&self, key: &str) -> Vec<&Value> {
        let constant = self.constants.get(key).into_iter();
        constant.chain(self.grid.get(key).into_iter().flatten()).collect()
    }

    fn data(&self) -> Vec<String> {
        let names: Vec<String> = self.named("data").into_iter().map(Value::to_string).collect();
        let own = !self.named("tasks").is_empty() || !self.named("features").is_empty();
        if names.is_empty() && !own { vec!["mnist-sample".into()] } else { names }
    }

    /// SHA-256 of the task files that the study names.
    fn files(&self) -> Result<BTreeMap<String, String>> {
        let mut files = BTreeMap::new();
        for value in self.named("tasks").into_iter().chain(self.named("features")) {
            for part in value.to_string().split(',') {
                hash(Path::new(part), &mut files)?;
            }
        }
        Ok(files)
    }
}

/// Tasks that cells have in common are looked at once.
#[derive(Default)]
struct KnownTasks {
    sources: Sources,
    sizes: BTreeMap<String, Sizes>,
    dims: RefCell<BTreeMap<String, usize>>,
}

impl KnownTasks {
    /// The sizes of the tasks of a request; refuses data sets and files that do not suffice for them.
    fn sizes(&mut self, request: &Request) -> Result<Sizes> {
        let recipe = request.recipe()?;
        // Tasks by class differ in size from seed to seed.
        let by_class = recipe.as_ref().is_some_and(|recipe| recipe.post.by_class.is_some());
        let seed = recipe.as_ref().filter(|_| by_class).map(|recipe| recipe.seed);
        let made = recipe.as_ref().map(|recipe| (&recipe.origin, &recipe.post));
        let key = json!([made, seed, request.features(), request.classes_of_features()]).to_string();
        if let Some(sizes) = self.sizes.get(&key) {
            return Ok(sizes.clone());
        }
        let sizes = match recipe {
            Some(recipe) if recipe.varies() => {
                recipe.check(&self.sources, recipe.seed)?;
                recipe.sizes_with(&|data| self.dim(data))?
            }
            Some(recipe) => own_sizes(&recipe, &self.sources)?,
            None => request.feature_sizes()?,
        };
        self.sizes.insert(key, sizes.clone());
        Ok(sizes)
    }

    /// The input dimension of a data set.
    fn dim(&self, data: &str) -> Result<usize> {
        if let Some(dim) = self.dims.borrow().get(data) {
            return Ok(*dim);
        }
        let dim = dim_of(data)?;
        self.dims.borrow_mut().insert(data.into(), dim);
        Ok(dim)
    }
}

/// The sizes of own tasks with what is done to them afterwards.
fn own_sizes(recipe: &Recipe, sources: &Sources) -> Result<Sizes> {
    Ok(Recipe { preprocess: None, ..recipe.clone() }.draw(sources, recipe.seed)?.sizes())
}

/// The checksums of a file, or of the files in a folder.
fn hash(path: &Path, files: &mut BTreeMap<String, String>) -> Result<()> {
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

struct Reader<'a> {
    path: &'a Path,
    table: toml::Table,
}

impl Reader<'_> {
    fn read(&self, text: String) -> Result<StudyFile> {
        self.known("a key of the study", &self.table, &["command", "name", "seeds", "settings", "grid", "slurm"])?;
        let expected = format!("must be one of {}", Request::COMMANDS.join(", "));
        let command = match self.table.get("command") {
            Some(toml::Value::String(name)) if Request::COMMANDS.contains(&name.as_str()) => name.clone(),
            Some(toml::Value::String(name)) => {
                return Err(unknown_key(self.path, "command", name, &Request::COMMANDS.map(String::from)));
            }
            Some(other) => return Err(self.wrong("command", other, &expected)),
            None => return Err(self.wrong("command", "missing", &expected)),
        };
        let stem = self.path.file_stem().map_or("study".into(), |stem| stem.to_string_lossy().into_owned());
        let (name, text) = match self.table.get("name") {
            None => (stem.clone(), format!("name = {}\n{text}", toml::Value::String(stem))),
            Some(toml::Value::String(name)) if plain(name) => (name.clone(), text),
            Some(other) => return Err(self.wrong("name", other, "must be letters, digits, '.', '_' and '-'")),
        };
        let (settings, grid) = (self.subtable("settings")?, self.subtable("grid")?);
        let fields = Request::of(&command)?.fields();
        let keys: Vec<&str> = fields.iter().filter(|field| field.in_studies).map(|field| field.key).collect();
        self.known("a key of [settings]", &settings, &keys)?;
        self.known("a key of [grid]", &grid, &keys)?;
        let mut constants = BTreeMap::new();
        for (key, value) in &settings {
            constants.insert(key.replace('-', "_"), self.constant(key, value)?);
        }
        let mut axes = BTreeMap::new();
        for (key, value) in &grid {
            let key = key.replace('-', "_");
            if constants.contains_key(&key) {
                return Err(self.wrong(&key, "given twice", "must stand in [settings] or in [grid], not in both"));
            }
            axes.insert(key.clone(), self.axis(&key, value)?);
        }
        let slurm = SlurmOptions::read(self.path, &self.subtable("slurm")?)?;
        let (seeds, path) = (self.seeds()?, self.path.to_path_buf());
        let named_here = !self.table.contains_key("name");
        Ok(StudyFile { name, command, constants, grid: axes, seeds, slurm, text, path, named_here })
    }

    fn wrong(&self, field: &str, value: impl ToString, expected: &str) -> Error {
        Error::file(self.path, field, value.to_string().trim(), expected)
    }

    fn subtable(&self, name: &str) -> Result<toml::Table> {
        match self.table.get(name) {
            None => Ok(toml::Table::new()),
            Some(toml::Value::Table(table)) => Ok(table.clone()),
            Some(other) => Err(self.wrong(name, other, &format!("must be a table: write [{name}]"))),
        }
    }

    fn known(&self, what: &str, table: &toml::Table, known: &[&str]) -> Result<()> {
        let unknown = table.keys().find(|key| !known.contains(&key.replace('-', "_").as_str()));
        let known: Vec<String> = known.iter().map(|k| k.to_string()).collect();
        unknown.map_or(Ok(()), |key| Err(unknown_key(self.path, what, key, &known)))
    }

    /// A setting that all cells share.
    fn constant(&self, key: &str, value: &toml::Value) -> Result<Value> {
        scalar(value).ok_or_else(|| self.wrong(key, value, "must be a number, a word, true, false or a list of those"))
    }

    /// The values of a setting that varies.
    fn axis(&self, key: &str, value: &toml::Value) -> Result<Vec<Value>> {
        let expected =
            "must be a list of values, or { linspace = [from, to, count] }, or { logspace = [from, to, count] }";
        let values = match value {
            toml::Value::Array(list) => list.iter().map(scalar).collect::<Option<Vec<_>>>(),
            toml::Value::Table(table) => spaced(table),
            _ => None,
        };
        let values = values.filter(|v| !v.is_empty()).ok_or_else(|| self.wrong(key, value, expected))?;
        let mut seen = BTreeSet::new();
        match values.iter().find(|value| !seen.insert(value.to_string())) {
            Some(twice) => Err(self.wrong(key, twice, "stands twice in the list")),
            None => Ok(values),
        }
    }

    /// Seeds: a number of them (from 0), or a list.
    fn seeds(&self) -> Result<Vec<u64>> {
        let expected = "must be a number of seeds (they are then 0, 1, …), or a list of different ones";
        let Some(value) = self.table.get("seeds") else { return Ok(vec![0]) };
        let seeds = match value {
            toml::Value::Integer(n) if (1..=MOST_POINTS).contains(n) => Some((0..*n as u64).collect()),
            toml::Value::Array(list) => {
                let seed = |v: &toml::Value| v.as_integer().and_then(|n| u64::try_from(n).ok());
                list.iter().map(seed).collect::<Option<Vec<u64>>>()
            }
            _ => None,
        };
        let different = |seeds: &Vec<u64>| {
            let mut sorted = seeds.clone();
            sorted.sort_unstable();
            sorted.windows(2).all(|pair| pair[0] != pair[1]) && !sorted.is_empty()
        };
        seeds.filter(different).ok_or_else(|| self.wrong("seeds", value, expected))
    }
}

/// A setting as cells hold it; lists become words with commas, as flags take them.
fn scalar(value: &toml::Value) -> Option<Value> {
    match value {
        toml::Value::Integer(n) => Some(Value::Integer(*n)),
        toml::Value::Float(x) => Some(Value::Number(*x)),
        toml::Value::String(text) => Some(Value::Text(text.clone())),
        toml::Value::Boolean(yes) => Some(Value::Text(yes.to_string())),
        toml::Value::Array(list) => {
            let words = list.iter().map(|v| if v.is_array() { None } else { scalar(v) });
            let words: Vec<String> = words.map(|v| v.map(|v| v.to_string())).collect::<Option<_>>()?;
            Some(Value::Text(words.join(",")))
        }
        toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}

/// `{ linspace = [from, to, count] }` and `{ logspace = … }`; both ends are included.
fn spaced(table: &toml::Table) -> Option<Vec<Value>> {
    let (name, toml::Value::Array(list)) = table.iter().next().filter(|_| table.len() == 1)? else { return None };
    let number = |v: &toml::Value| v.as_float().or_else(|| v.as_integer().map(|n| n as f64));
    let [from, to, count] = list.as_slice() else { return None };
    let (from, to, count) = (number(from)?, number(to)?, count.as_integer()?);
    if !(from.is_finite() && to.is_finite() && (2..=MOST_POINTS).contains(&count)) {
        return None;
    }
    let last = (count - 1) as f64;
    let mut grid: Vec<f64> = match name.as_str() {
        "linspace" => (0..count).map(|k| from + (to - from) * (k as f64 / last)).collect(),
        "logspace" if from > 0.0 && to > 0.0 => ebbing::stats::log_grid(from, to, count as usize),
        _ => return None,
    };
    // Not a last bit beside it.
    *grid.last_mut()? = to;
    Some(grid.into_iter().map(Value::Number).collect())
}

/// Names become file names.
fn plain(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty() && !name.starts_with('.') && name.chars().all(fits)
}

/// TOML that is not well formed, with its line.
fn at_line(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    Error::file(path, format!("line {line}"), "no TOML", error.message().replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<StudyFile> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("depths.toml");
        std::fs::write(&path, text).unwrap();
        StudyFile::read(&path)
    }

    #[test]
    fn a_file_becomes_a_grid() {
        let file = read(
            "command = \"forecast\"\nseeds = 3\n[settings]\nlength = 2\nfirst-unpermuted = true\n\
             [grid]\nratio = [0.1, 1]\ndepth = { linspace = [1, 3, 3] }\nlambda = { logspace = [1e-2, 1e2, 3] }\n",
        )
        .unwrap();
        assert_eq!((file.name.as_str(), file.seeds.as_slice()), ("depths", &[0, 1, 2][..]));
        assert_eq!(file.constants["first_unpermuted"], Value::Text("true".into()));
        assert_eq!(file.grid["ratio"], [Value::Number(0.1), Value::Integer(1)]);
        assert_eq!(file.grid["depth"], [1.0, 2.0, 3.0].map(Value::Number));
        // 1e-2·√(1e4) is 1 to rounding; the ends are exact.
        assert!((file.grid["lambda"][1].number().unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(file.grid["lambda"][2], Value::Number(100.0));
        // The copy in the folder keeps the name.
        assert!(file.text.starts_with("name = \"depths\"\ncommand"));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        for (text, words) in [
            ("comand = \"phase\"", vec!["`comand`", "`command`"]),
            ("seeds = 2", vec!["command is missing"]),
            ("command = \"forcast\"", vec!["`forcast`", "`forecast`"]),
            ("command = \"train\"\n[settings]\nwidht = 3", vec!["[settings]", "`widht`", "`width`"]),
            ("command = \"train\"\n[grid]\nloads = [1.0]", vec!["[grid]", "`loads`"]),
            ("command = \"train\"\n[grid]\nseed = [1]", vec!["`seed`"]),
            ("command = \"train\"\n[grid]\nwidth = 3", vec!["width is 3", "must be a list of values"]),
            ("command = \"train\"\n[grid]\nwidth = { linspce = [1, 2, 3] }", vec!["linspace"]),
            ("command = \"train\"\n[grid]\nwidth = [1, 1]", vec!["twice"]),
            ("command = \"train\"\n[settings]\nwidth = 3\n[grid]\nwidth = [3]", vec!["not in both"]),
            ("command = \"train\"\nseeds = [1, 1]", vec!["seeds"]),
            ("command = \"train\"\nseeds = 0", vec!["seeds is 0"]),
            ("command = \"train\"\nname = \"a/b\"", vec!["name", "letters"]),
            ("command = \"train\"\n[slurm]\npartion = \"x\"", vec!["`partion`", "`partition`"]),
            ("command = \"train\"\n[grid\n", vec!["line 2", "no TOML"]),
        ] {
            let said = read(text).unwrap_err().to_string();
            assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
        }
    }
}
