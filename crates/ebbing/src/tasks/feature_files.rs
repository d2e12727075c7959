//! Features in `.npy` files that need not fit into memory: which file holds what, and the targets of every row.

use super::by_class::{Labeled, name};
use super::labels::{RawTargets, TargetRule};
use super::load::{beside, npy_name};
use super::slots::{Slot, slot_of};
use super::{ByClass, Class, Draws, FileRecord, Provenance, Seeded};
use crate::data::{Array, OpenFile, RowReader, Values, parse_npy};
use crate::error::{Error, Result};
use crate::linalg::Mat;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The features of some tasks, or of one set of examples, each in an `.npy` file beside that of its targets.
#[derive(Debug)]
pub struct FeatureFiles {
    parts: Vec<Part>,
    /// What targets become.
    rule: TargetRule,
    columns: usize,
    settings: Provenance,
}

/// One task or set.
#[derive(Debug)]
struct Part {
    name: String,
    x: PathBuf,
    rows: usize,
    features: usize,
    y: RowTargets,
    test: Option<(Mat<f64>, RowTargets)>,
}

/// The targets of rows.
#[derive(Debug, Clone)]
enum RowTargets {
    /// The class of every row, by its place among `classes`.
    Classes { classes: Vec<Class>, of: Vec<u32> },
    /// Numbers.
    Real(Mat<f64>),
}

/// Rows of a file that belong to one task.
#[derive(Debug)]
pub struct StreamedTask {
    /// Its name.
    pub name: String,
    /// Its file of features.
    pub path: PathBuf,
    /// The classes that are its own, by their places among all; none for every row of the file.
    pub classes: Option<Vec<usize>>,
    /// Held-out examples and their targets.
    pub test: Option<(Mat<f64>, Mat<f64>)>,
    part: usize,
}

impl FeatureFiles {
    /// The files of a path that names one `.npy` file, or a folder of nothing but these; none for other paths. Targets and held-out
    /// examples are read, features of training examples are not.
    ///
    /// # Errors
    /// What is wrong with a file, or with how the files fit together.
    pub fn of(path: &Path) -> Result<Option<FeatureFiles>> {
        let files = match path.is_dir() {
            true => {
                let entries = std::fs::read_dir(path).map_err(|e| Error::io(path, e))?;
                let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
                files.retain(|file| file.extension().is_some());
                files.sort();
                files
            }
            false => beside(path),
        };
        let named: Option<Vec<(Option<usize>, Slot, PathBuf)>> = files
            .into_iter()
            .map(|file| npy_name(&file).and_then(|(_, name)| slot_of(&name)).map(|(number, slot)| (number, slot, file)))
            .collect();
        let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok(None) };
        let mut by_task: BTreeMap<Option<usize>, BTreeMap<Slot, PathBuf>> = BTreeMap::new();
        let mut settings = Provenance::default();
        for (number, slot, file) in named {
            let record = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            settings.files.push(FileRecord { file: record, sha256: None });
            by_task.entry(number).or_default().insert(slot, file);
        }
        let single = by_task.len() == 1;
        let mut parts = vec![];
        for (t, (_, mut files)) in by_task.into_iter().enumerate() {
            // What else there may be is for the reader of whole files to say.
            let (Some(x), Some(y)) = (files.remove(&Slot::X), files.remove(&Slot::Y)) else { return Ok(None) };
            if files.keys().any(|slot| !matches!(slot, Slot::XTest | Slot::YTest)) {
                return Ok(None);
            }
            let reader = RowReader::open(&x)?;
            let test = match (files.remove(&Slot::XTest), files.remove(&Slot::YTest)) {
                (Some(x), Some(y)) => Some((array(&x)?.to_mat(), RowTargets::of(&array(&y)?))),
                (None, None) => None,
                _ => return Ok(None),
            };
            let name = if single { "task 1".into() } else { format!("task {}", t + 1) };
            let y = RowTargets::of(&array(&y)?);
            if y.rows() != reader.rows() {
                let problem =
                    format!("{} inputs but {} targets; each input needs one row of targets", reader.rows(), y.rows());
                return Err(Error::data(&name, problem));
            }
            parts.push(Part { name, x, rows: reader.rows(), features: reader.columns(), y, test });
        }
        let rule = rule(&parts)?;
        let columns = match &rule {
            TargetRule::OneHot(classes) => classes.len(),
            TargetRule::Signs(_) => 1,
            TargetRule::AsGiven => parts[0].y.columns(),
        };
        settings.targets = Some(rule.clone());
        Ok(Some(FeatureFiles { parts, rule, columns, settings }))
    }

    /// Bytes that all training features take in double precision.
    pub fn bytes(&self) -> f64 {
        self.parts.iter().map(|part| 8.0 * part.rows as f64 * part.features as f64).sum()
    }

    /// Training examples of all files.
    pub fn examples(&self) -> usize {
        self.parts.iter().map(|part| part.rows).sum()
    }

    /// The number of features, and of target columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.parts[0].features, self.columns)
    }

    /// Which rows each task has: all of its file, or those of its classes where one set is divided; and what made them.
    ///
    /// # Errors
    /// As [`ByClass::apply`].
    pub fn tasks(&self, by_class: Option<ByClass>, seed: u64) -> Result<(Vec<StreamedTask>, Provenance)> {
        let mut settings = self.settings.clone();
        let Some(step) = by_class else {
            let task = |(part, own): (usize, &Part)| StreamedTask {
                name: own.name.clone(),
                path: own.x.clone(),
                classes: None,
                test: own.test.as_ref().map(|(x, y)| (x.clone(), self.columns_of(y))),
                part,
            };
            return Ok((self.parts.iter().enumerate().map(task).collect(), settings));
        };
        let ([whole], TargetRule::OneHot(classes)) = (&self.parts[..], &self.rule) else {
            let problem = "tasks are made by class of one set of examples of three classes or more";
            return Err(Error::data("classes_per_task", problem));
        };
        let groups = step.groups(classes.len(), seed)?;
        let task = |(t, group): (usize, &Vec<usize>)| {
            let test = whole.test.as_ref().and_then(|(x, y)| {
                let places = self.places(y);
                let rows: Vec<usize> =
                    (0..y.rows()).filter(|&i| places(i).is_some_and(|c| group.contains(&c))).collect();
                let target = |i: usize, c: usize| f64::from(u8::from(places(rows[i]) == Some(c)));
                let y = Mat::from_fn(rows.len(), self.columns, target);
                (!rows.is_empty()).then(|| (Mat::from_fn(rows.len(), x.ncols(), |i, j| x[(rows[i], j)]), y))
            });
            StreamedTask {
                name: name(t, group, classes),
                path: whole.x.clone(),
                classes: Some(group.clone()),
                test,
                part: 0,
            }
        };
        settings.drawn = Some(Draws::ByClass { classes: Labeled::named(&groups, classes) });
        settings.by_class = Some(Seeded { step, seed });
        Ok((groups.iter().enumerate().map(task).collect(), settings))
    }

    /// The class of every row of a task's file, by its place among the columns; none where targets are no classes of one column each.
    pub fn classes<'a>(&'a self, task: &StreamedTask) -> Option<impl Fn(usize) -> Option<usize> + 'a> {
        let y = &self.parts[task.part].y;
        matches!(self.rule, TargetRule::OneHot(_)).then(|| self.places(y))
    }

    /// The target columns of some rows of a task's file.
    pub fn targets(&self, task: &StreamedTask, rows: std::ops::Range<usize>) -> Mat<f64> {
        match &self.parts[task.part].y {
            RowTargets::Real(y) => y.as_ref().subrows(rows.start, rows.len()).to_owned(),
            RowTargets::Classes { classes, of } => {
                let some = RowTargets::Classes { classes: classes.clone(), of: of[rows].to_vec() };
                self.columns_of(&some)
            }
        }
    }

    fn places<'a>(&'a self, y: &'a RowTargets) -> impl Fn(usize) -> Option<usize> + 'a {
        let known = if let TargetRule::OneHot(classes) = &self.rule { &classes[..] } else { &[] };
        let column: Vec<Option<usize>> = match y {
            RowTargets::Classes { classes, .. } => {
                classes.iter().map(|class| known.binary_search(class).ok()).collect()
            }
            RowTargets::Real(_) => vec![],
        };
        move |i| match y {
            RowTargets::Classes { of, .. } => column[of[i] as usize],
            RowTargets::Real(_) => None,
        }
    }

    fn columns_of(&self, y: &RowTargets) -> Mat<f64> {
        match y {
            RowTargets::Real(y) => y.clone(),
            RowTargets::Classes { classes, of } => {
                self.rule.apply(&RawTargets::Classes(of.iter().map(|&c| classes[c as usize].clone()).collect()))
            }
        }
    }
}

fn rule(parts: &[Part]) -> Result<TargetRule> {
    let distinct = |y: &RowTargets| match y {
        RowTargets::Classes { classes, .. } => RawTargets::Classes(classes.clone()),
        RowTargets::Real(_) => RawTargets::Real(Mat::zeros(0, 1)),
    };
    let train: Vec<(String, RawTargets)> = parts.iter().map(|part| (part.name.clone(), distinct(&part.y))).collect();
    let tested = |part: &Part| part.test.as_ref().map(|(_, y)| (format!("{}, test set", part.name), distinct(y)));
    let test: Vec<(String, RawTargets)> = parts.iter().filter_map(tested).collect();
    TargetRule::of_targets(
        &train.iter().map(|(name, y)| (name.clone(), y)).collect::<Vec<_>>(),
        &test.iter().map(|(name, y)| (name.clone(), y)).collect::<Vec<_>>(),
    )
}

impl RowTargets {
    fn of(array: &Array) -> RowTargets {
        let numbered = |labels: &mut dyn Iterator<Item = i64>| {
            let labels: Vec<i64> = labels.collect();
            let mut distinct = labels.clone();
            distinct.sort_unstable();
            distinct.dedup();
            let place = |label: &i64| distinct.binary_search(label).unwrap_or(0) as u32;
            let of = labels.iter().map(place).collect();
            RowTargets::Classes { classes: distinct.into_iter().map(Class::Number).collect(), of }
        };
        match &array.values {
            Values::Bytes(v) if array.columns() == 1 => numbered(&mut v.iter().map(|&b| i64::from(b))),
            Values::Integers(v) if array.columns() == 1 => numbered(&mut v.iter().copied()),
            Values::Texts(v) => {
                let mut distinct: Vec<&String> = v.iter().collect();
                distinct.sort_unstable();
                distinct.dedup();
                let of = v.iter().map(|text| distinct.binary_search(&text).unwrap_or(0) as u32).collect();
                RowTargets::Classes { classes: distinct.into_iter().cloned().map(Class::Name).collect(), of }
            }
            _ => RowTargets::Real(array.to_mat()),
        }
    }

    fn rows(&self) -> usize {
        match self {
            RowTargets::Classes { of, .. } => of.len(),
            RowTargets::Real(y) => y.nrows(),
        }
    }

    fn columns(&self) -> usize {
        if let RowTargets::Real(y) = self { y.ncols() } else { 1 }
    }
}

/// A file that is read whole.
fn array(path: &Path) -> Result<Array> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    parse_npy(OpenFile::open(path)?.bytes()?, path, &format!("array {name}"))
}
