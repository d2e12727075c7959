//! The recipe file: a data set, its preprocessing and a protocol, or users' own tasks, in TOML.

use super::{ByClass, Interpolated, PostSteps, Protocol, TaskSequence, TasksFile, WithContext};
use crate::data::{Dataset, KnownSet, Order, Preprocess, Sources, Whiten};
use crate::error::{Error, Result};
use crate::plan::Sizes;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where the tasks of a recipe come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskOrigin {
    /// Drawn from a data set by a protocol.
    Drawn {
        /// The name of a data set, or (with a `/`) the path of one.
        data: String,
        /// How tasks are drawn.
        protocol: Protocol,
    },
    /// Users' own: a file or a folder of files.
    Own(TasksFile),
}

/// What makes a task sequence: the content of a recipe file, in TOML.
///
/// ```toml
/// seed = 7                    # default 0
/// order = [2, 1, 3]           # optional: the tasks in another order, by number
/// data = "mnist"              # default "mnist-sample"; with a "/": a file or folder, relative to this file
/// # or: tasks = "own.npz"     # instead of data and [protocol]
/// # classes_per_task = 10     # with tasks: one set of examples becomes tasks of so many classes
///
/// [preprocess]                # default: the paper's; of own tasks only the steps that are here
/// order = "standard"          # or "authors": scaled before whitening too, without a ridge
/// center = "image"
/// whiten = true
///
/// [protocol]
/// kind = "permuted"           # permuted, split, partial-split, target-distractor
/// ratio = 0.15                # and any field of that protocol
///
/// [interpolate]               # optional: Interpolated
/// steps = 1
///
/// [context]                   # optional: WithContext
/// dim = 100
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recipe {
    /// Where the tasks come from.
    pub origin: TaskOrigin,
    /// How inputs are prepared; `None` leaves own tasks as they are.
    pub preprocess: Option<Preprocess>,
    /// What is done to the sequence afterwards.
    pub post: PostSteps,
    /// The seed of everything that is drawn.
    pub seed: u64,
}

/// The file's tables and keys.
#[derive(Deserialize)]
struct Keys {
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    order: Vec<usize>,
    data: Option<String>,
    tasks: Option<PathBuf>,
    classes_per_task: Option<usize>,
    preprocess: Option<Preprocess>,
    protocol: Option<Protocol>,
    interpolate: Option<Interpolated>,
    context: Option<WithContext>,
}

impl Recipe {
    /// Reads a recipe; paths in it are relative to its folder.
    ///
    /// # Errors
    /// [`Error::Io`] where it cannot be read; [`Error::File`] for TOML that is not well formed, unknown keys (with the nearest
    /// known one), values of a wrong type, and a recipe that does not say where tasks come from.
    pub fn read(path: impl AsRef<Path>) -> Result<Recipe> {
        Self::read_all(path.as_ref()).map_err(|problems| first_of(problems, path.as_ref()))
    }

    /// A recipe in memory; `path` is what messages call it, and its folder what paths in it are relative to. No file is touched.
    ///
    /// # Errors
    /// As [`Recipe::read`], but for the file.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Recipe> {
        Self::parse_all(text, path.as_ref()).map_err(|problems| first_of(problems, path.as_ref()))
    }

    /// [`Recipe::read`] with all problems.
    pub(super) fn read_all(path: &Path) -> std::result::Result<Recipe, Vec<Error>> {
        let text = std::fs::read_to_string(path).map_err(|e| vec![Error::io(path, e)])?;
        Self::parse_all(&text, path)
    }

    fn parse_all(text: &str, path: &Path) -> std::result::Result<Recipe, Vec<Error>> {
        let table: toml::Table = toml::from_str(text).map_err(|e| vec![at_line(path, text, &e)])?;
        let problems = check_keys(path, &table);
        if !problems.is_empty() {
            return Err(problems);
        }
        let keys: Keys = toml::from_str(text).map_err(|e| vec![at_line(path, text, &e)])?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let refuse = |value: &str, expected: &str| Err(vec![Error::file(path, "the recipe", value, expected)]);
        let origin = match (keys.tasks, keys.data, keys.protocol) {
            (Some(own), None, None) => TaskOrigin::Own(TasksFile::new(folder.join(own))),
            (Some(_), ..) => return refuse("ambiguous", "give either `tasks` or `data` and [protocol], not both"),
            (None, _, None) => return refuse("incomplete", "give a [protocol] table with a `kind`, or `tasks`"),
            (None, data, Some(protocol)) => {
                let data = data.unwrap_or_else(|| "mnist-sample".into());
                let data = if data.contains('/') { folder.join(data).display().to_string() } else { data };
                TaskOrigin::Drawn { data, protocol }
            }
        };
        if matches!(&origin, TaskOrigin::Own(own) if own.path().extension().is_some_and(|ending| ending == "toml")) {
            return refuse("a chain", "`tasks` must name an .npz file or a folder of them");
        }
        let preprocess = match origin {
            TaskOrigin::Own(_) => own_preprocess(&table).map_err(|e| vec![at_line(path, text, &e)])?,
            TaskOrigin::Drawn { .. } => Some(keys.preprocess.unwrap_or_default()),
        };
        let by_class = keys.classes_per_task.map(|classes_per_task| ByClass { classes_per_task });
        if by_class.is_some() && matches!(origin, TaskOrigin::Drawn { .. }) {
            return refuse("ambiguous", "`classes_per_task` goes with `tasks`; a protocol has keys of its own");
        }
        let post = PostSteps { by_class, interpolate: keys.interpolate, context: keys.context, order: keys.order };
        Ok(Recipe { origin, preprocess, post, seed: keys.seed })
    }

    /// Tasks drawn from a data set, prepared as in the paper, with seed 0.
    pub fn drawn(data: impl Into<String>, protocol: Protocol) -> Recipe {
        let origin = TaskOrigin::Drawn { data: data.into(), protocol };
        Recipe { origin, preprocess: Some(Preprocess::default()), post: PostSteps::default(), seed: 0 }
    }

    /// Makes the sequence of a `seed`, from data sets that are loaded once for all who share `sources`.
    ///
    /// # Errors
    /// What the data set, the protocol, the own tasks' file, the preprocessing or a later step says.
    pub fn draw(&self, sources: &Sources, seed: u64) -> Result<TaskSequence> {
        self.draw_from(self.own()?, sources, seed)
    }

    /// The tasks of the file that it names, before anything is done with them; none where tasks are drawn.
    ///
    /// # Errors
    /// As for [`TaskSequence::load`].
    pub fn own(&self) -> Result<Option<TaskSequence>> {
        match &self.origin {
            TaskOrigin::Own(file) => file.take().map(Some),
            TaskOrigin::Drawn { .. } => Ok(None),
        }
    }

    /// [`Recipe::draw`] with own tasks that are there already, as [`Recipe::own`] reads them.
    ///
    /// # Errors
    /// As for [`Recipe::draw`].
    pub fn draw_from(&self, own: Option<TaskSequence>, sources: &Sources, seed: u64) -> Result<TaskSequence> {
        let sequence = match (&self.origin, own) {
            (TaskOrigin::Drawn { data, protocol }, _) => {
                protocol.generate(&*sources.get(data, &self.prepared())?, seed)?
            }
            (TaskOrigin::Own(file), own) => {
                let own = own.map_or_else(|| file.take(), Ok)?;
                match &self.preprocess {
                    Some(settings) => own.preprocessed(settings)?,
                    None => own,
                }
            }
        };
        self.post.apply(sequence, seed)
    }

    fn prepared(&self) -> Preprocess {
        self.preprocess.clone().unwrap_or_else(Preprocess::none)
    }

    /// Refuses what [`Recipe::draw`] would refuse for want of examples or classes. Nothing is prepared, and of every example
    /// only its number is drawn, so that this takes milliseconds once the data set is read.
    ///
    /// # Errors
    /// As [`Recipe::draw`], but for what the preparation of inputs says.
    pub fn check(&self, sources: &Sources, seed: u64) -> Result<()> {
        match &self.origin {
            TaskOrigin::Own(file) if self.post == PostSteps::default() => file.sizes().map(|_| ()),
            TaskOrigin::Own(file) => {
                match (&self.post.by_class, self.post.interpolate.is_none() && self.post.order.is_empty()) {
                    (Some(step), true) => file.with(|whole| step.sizes(whole, seed)).map(|_| ()),
                    _ => self.post.apply(file.copy()?, seed).map(|_| ()),
                }
            }
            TaskOrigin::Drawn { data, protocol } => {
                let source = sources.numbers(data, &self.prepared())?;
                self.post.apply(protocol.generate(&source, seed)?, seed).map(|_| ())
            }
        }
    }

    /// Makes the sequence of the recipe's own seed.
    ///
    /// # Errors
    /// As [`Recipe::draw`].
    pub fn sequence(&self) -> Result<TaskSequence> {
        self.draw(&Sources::new(), self.seed)
    }

    /// Whether another seed gives another sequence.
    pub fn varies(&self) -> bool {
        matches!(self.origin, TaskOrigin::Drawn { .. }) || self.post.by_class.is_some()
    }

    /// The sizes of a sequence, for estimates: nothing is drawn, and no known data set is read.
    ///
    /// # Errors
    /// What the own tasks' file or a data set of another name says.
    pub fn sizes(&self) -> Result<Sizes> {
        self.sizes_with(&dim_of)
    }

    /// [`Recipe::sizes`] with the input dimension of a data set as the caller knows it, for many recipes of one set.
    ///
    /// # Errors
    /// As for [`Recipe::sizes`].
    pub fn sizes_with(&self, dim_of: &dyn Fn(&str) -> Result<usize>) -> Result<Sizes> {
        let mut sizes = match &self.origin {
            TaskOrigin::Own(file) => match &self.post.by_class {
                Some(step) => file.with(|whole| step.sizes(whole, self.seed))?,
                None => file.sizes()?,
            },
            TaskOrigin::Drawn { data, protocol } => protocol.sizes(dim_of(data)?)?,
        };
        let (steps, context) = (self.post.interpolate.as_ref(), self.post.context.as_ref());
        if let (Some(step), Some(&p), Some(&p_test)) = (steps, sizes.train.first(), sizes.test.first()) {
            step.check()?;
            sizes.train.resize(sizes.train.len() + step.steps, p);
            sizes.test.resize(sizes.test.len() + step.steps, p_test);
        }
        sizes.dim = sizes.dim.saturating_add(context.map_or(0, |step| step.dim));
        Ok(sizes)
    }
}

/// The steps of preparation that a recipe of own tasks asks for, and no others.
fn own_preprocess(table: &toml::Table) -> std::result::Result<Option<Preprocess>, toml::de::Error> {
    let Some(asked) = table.get("preprocess").and_then(toml::Value::as_table) else { return Ok(None) };
    let none = Preprocess::none();
    let asks = |key: &str| asked.contains_key(key);
    let given: Preprocess = asked.clone().try_into()?;
    if given.order == Order::Authors {
        // Its name says all of its steps.
        return Ok(Some(given));
    }
    Ok(Some(Preprocess {
        gray: given.gray && asks("gray"),
        center: if asks("center") { given.center } else { none.center },
        whiten: given.whiten.filter(|_| asks("whiten")),
        normalize: given.normalize && asks("normalize"),
        order: given.order,
    }))
}

/// The input dimension of a data set; known sets are not read.
///
/// # Errors
/// What a set of another name says when it is loaded.
pub fn dim_of(data: &str) -> Result<usize> {
    match KnownSet::named(data) {
        // Color images become gray ones.
        Some(set) => Ok(set.image_shape.iter().take(2).product()),
        None if data == "mnist-sample" => Ok(28 * 28),
        None => Ok(Dataset::load(data)?.train.features.dim()),
    }
}

/// The problem that is reported.
fn first_of(problems: Vec<Error>, path: &Path) -> Error {
    let first = problems.into_iter().next();
    first.unwrap_or_else(|| Error::data(path.display().to_string(), "it is no recipe"))
}

/// A TOML error with the line it is in.
fn at_line(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let start = error.span().map_or(0, |span| span.start).min(text.len());
    let before = text.get(..start).unwrap_or("");
    let line = before.matches('\n').count();
    let content = text.lines().nth(line).unwrap_or("").trim();
    Error::file(path, format!("line {}", line + 1), format!("`{content}`"), error.message().replace('\n', ", "))
}

/// Every unknown key in a recipe's tables.
fn check_keys(path: &Path, table: &toml::Table) -> Vec<Error> {
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let mut problems = Vec::new();
    for name in ["preprocess", "protocol", "interpolate", "context"] {
        if let Some(other) = table.get(name).filter(|value| !value.is_table()) {
            let expected = format!("must be a table: write [{name}]");
            problems.push(Error::file(path, name, other.to_string().trim(), expected));
        }
    }
    let mut check = |place: &str, table: &toml::Table, known: &[String]| {
        let unknown = table.keys().filter(|key| !known.contains(key));
        problems.extend(unknown.map(|key| unknown_key(path, place, key, known)));
    };
    check(
        "a key",
        table,
        &owned(&[
            "seed",
            "order",
            "data",
            "tasks",
            "classes_per_task",
            "preprocess",
            "protocol",
            "interpolate",
            "context",
        ]),
    );
    let sub = |name: &str| table.get(name).and_then(toml::Value::as_table);
    if let Some(preprocess) = sub("preprocess") {
        check("a key of [preprocess]", preprocess, &fields(&Preprocess::default()));
        if let Some(whiten) = preprocess.get("whiten").and_then(toml::Value::as_table) {
            check("a key of [preprocess.whiten]", whiten, &fields(&Whiten::default()));
        }
    }
    for (name, known) in
        [("interpolate", fields(&Interpolated::default())), ("context", fields(&WithContext::default()))]
    {
        sub(name).into_iter().for_each(|table| check(&format!("a key of [{name}]"), table, &known));
    }
    if let Some(protocol) = sub("protocol") {
        let kind = protocol.get("kind").and_then(toml::Value::as_str);
        match (kind, kind.and_then(Protocol::named)) {
            (_, Some(named)) => check("a key of [protocol]", protocol, &fields(&named)),
            (Some(kind), None) => problems.push(unknown_key(path, "protocol.kind", kind, &owned(&Protocol::KINDS))),
            (None, None) => {
                let expected = format!("give one of {}", Protocol::KINDS.join(", "));
                problems.push(Error::file(path, "protocol.kind", "missing", expected));
            }
        }
    }
    problems
}

/// The refusal of an unknown `key` in a file, with the nearest known one; `what` says what the key is.
pub fn unknown_key(path: &Path, what: &str, key: &str, known: &[String]) -> Error {
    let expected = match nearest(key, known) {
        Some(near) => format!("the nearest known one is `{near}` (known are {})", known.join(", ")),
        None => "nothing is expected here".into(),
    };
    Error::file(path, what, format!("`{key}`, which is unknown"), expected)
}

/// The known word with the smallest edit distance (Levenshtein's; the first of several).
fn nearest<'a>(word: &str, known: &'a [String]) -> Option<&'a str> {
    known.iter().min_by_key(|other| strsim::levenshtein(word, other)).map(String::as_str)
}

/// The names of the fields of a settings struct.
fn fields(settings: &impl Serialize) -> Vec<String> {
    match serde_json::to_value(settings) {
        Ok(serde_json::Value::Object(map)) => map.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names() {
        let known: Vec<String> = ["tasks", "p", "p_test", "ratio"].map(String::from).to_vec();
        assert_eq!(nearest("ratoi", &known), Some("ratio"));
        assert_eq!(nearest("ptest", &known), Some("p_test"));
        assert_eq!(nearest("x", &[]), None);
    }
}
