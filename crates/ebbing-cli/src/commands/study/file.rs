//! The file of a study: the command, its settings, the grid and the seeds, in TOML.

use super::knobs::Kind;
use super::slurm::SlurmOptions;
use ebbing::tasks::unknown_key;
use ebbing::{Error, Result};
use ebbing_studies::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// More points on one axis than anybody means.
const MOST_POINTS: i64 = 1_000_000;

/// What a study's file says.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyFile {
    /// Its name; the file's own where it gives none.
    pub name: String,
    /// The command.
    pub kind: Kind,
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
}

struct Reader<'a> {
    path: &'a Path,
    table: toml::Table,
}

impl Reader<'_> {
    fn read(&self, text: String) -> Result<StudyFile> {
        self.known("a key of the study", &self.table, &["command", "name", "seeds", "settings", "grid", "slurm"])?;
        let kind = match self.table.get("command") {
            Some(toml::Value::String(name)) => Kind::named(name)
                .ok_or_else(|| unknown_key(self.path, "command", name, &Kind::NAMES.map(String::from)))?,
            Some(other) => return Err(self.wrong("command", other, "must be one of forecast, phase, train, sample")),
            None => return Err(self.wrong("command", "missing", "must be one of forecast, phase, train, sample")),
        };
        let stem = self.path.file_stem().map_or("study".into(), |stem| stem.to_string_lossy().into_owned());
        let (name, text) = match self.table.get("name") {
            None => (stem.clone(), format!("name = {}\n{text}", toml::Value::String(stem))),
            Some(toml::Value::String(name)) if plain(name) => (name.clone(), text),
            Some(other) => return Err(self.wrong("name", other, "must be letters, digits, '.', '_' and '-'")),
        };
        let (settings, grid) = (self.subtable("settings")?, self.subtable("grid")?);
        let knobs = kind.knobs();
        let knobs: Vec<&str> = knobs.iter().map(String::as_str).collect();
        self.known("a key of [settings]", &settings, &knobs)?;
        self.known("a key of [grid]", &grid, &knobs)?;
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
        Ok(StudyFile { name, kind, constants, grid: axes, seeds: self.seeds()?, slurm, text })
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
        let mut seen = std::collections::BTreeSet::new();
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
    let at = |k: i64| match name.as_str() {
        _ if k == 0 => Some(from),
        _ if k == count - 1 => Some(to),
        "linspace" => Some(from + (to - from) * (k as f64 / last)),
        "logspace" if from > 0.0 && to > 0.0 => Some(from * (to / from).powf(k as f64 / last)),
        _ => None,
    };
    let known = name == "linspace" || (name == "logspace" && from > 0.0 && to > 0.0);
    (0..count).map(|k| at(k).filter(|_| known).map(Value::Number)).collect()
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
