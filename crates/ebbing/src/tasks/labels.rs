//! What targets mean, at every door: classes become ±1 or one-hot columns, real numbers stay as they are.

use super::{PoolRow, Present, Provenance, Task, TaskSequence, TestSet};
use crate::data::{Array, Values};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// More classes than this are taken for real targets that were stored as integers.
const MOST_CLASSES: usize = 1000;
/// Lists of more classes than this are shortened in messages.
const LISTED: usize = 6;

/// A class by the number or the name that its label is; numbers come before names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Class {
    /// An integer or boolean label.
    Number(i64),
    /// A string label.
    Name(String),
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Class::Number(number) => number.fmt(f),
            Class::Name(name) => name.fmt(f),
        }
    }
}

/// The targets of one set of examples as they were given.
#[derive(Debug, Clone, PartialEq)]
pub enum RawTargets {
    /// One label per example: integers, booleans or strings.
    Classes(Vec<Class>),
    /// Real targets, one row per example; integers in several columns too.
    Real(Mat<f64>),
}

impl From<&Array> for RawTargets {
    fn from(array: &Array) -> Self {
        let numbers = |labels: &mut dyn Iterator<Item = i64>| RawTargets::Classes(labels.map(Class::Number).collect());
        match &array.values {
            Values::Texts(v) => RawTargets::Classes(v.iter().cloned().map(Class::Name).collect()),
            Values::Bytes(v) if array.columns() == 1 => numbers(&mut v.iter().map(|&b| i64::from(b))),
            Values::Integers(v) if array.columns() == 1 => numbers(&mut v.iter().copied()),
            _ => RawTargets::Real(array.to_mat()),
        }
    }
}

/// Labels 0, 1, … (whole numbers too that are stored as floats) as classes by their names.
///
/// # Errors
/// [`Error::Data`] for a label that has no name.
pub(super) fn by_name(targets: RawTargets, names: &[String], place: &str) -> Result<RawTargets> {
    let classes = match targets.as_classes() {
        Some(classes) => classes,
        None => return Ok(targets),
    };
    let named = |class: Class| match class {
        Class::Number(n) => match usize::try_from(n).ok().and_then(|n| names.get(n)) {
            Some(name) => Ok(Class::Name(name.clone())),
            None => {
                let problem = format!("label {n} has no name: there are names of classes 0 to {}", names.len() - 1);
                Err(Error::data(place, problem))
            }
        },
        name => Ok(name),
    };
    Ok(RawTargets::Classes(classes.into_iter().map(named).collect::<Result<_>>()?))
}

impl RawTargets {
    /// Labels; those of a single column of whole numbers too, stored as floats.
    pub(super) fn as_classes(&self) -> Option<Vec<Class>> {
        match self {
            RawTargets::Classes(classes) => Some(classes.clone()),
            RawTargets::Real(y) => whole_classes(y.as_ref()),
        }
    }

    fn classes(&self) -> Option<&[Class]> {
        match self {
            RawTargets::Classes(classes) => Some(classes),
            RawTargets::Real(_) => None,
        }
    }
}

/// A single column of whole numbers as classes.
pub(super) fn whole_classes(y: MatRef<'_, f64>) -> Option<Vec<Class>> {
    let exact = |v: f64| v.fract() == 0.0 && v.abs() < 2f64.powi(53);
    let class = |i: usize| exact(y[(i, 0)]).then(|| Class::Number(y[(i, 0)] as i64));
    if y.ncols() == 1 { (0..y.nrows()).map(class).collect() } else { None }
}

/// A task whose targets have not become target columns yet.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTask {
    /// Its name in tables.
    pub name: String,
    /// What messages call its targets ("tasks.npz, y_2"); those of its held-out examples have `_test` behind it.
    pub place: String,
    /// Training inputs, one per row.
    pub x: Mat<f64>,
    /// Training targets.
    pub y: RawTargets,
    /// Which pool input each training row is said to be: believed where all tasks say so, and equal rows are equal inputs.
    pub rows: Option<Vec<PoolRow>>,
    /// Held-out inputs and targets.
    pub test: Option<(Mat<f64>, RawTargets)>,
    /// Outputs of the model before it learns the first task.
    pub present: Option<Present>,
}

impl RawTask {
    /// The task with the target columns of a rule.
    pub fn into_task(self, rule: &TargetRule) -> Task {
        let test = self.test.map(|(x, y)| TestSet { x, y: rule.apply(&y) });
        Task { name: self.name, y: rule.apply(&self.y), x: self.x, rows: self.rows, test, present: self.present }
    }
}

impl TaskSequence {
    /// A checked sequence of tasks whose targets may be classes, by one [`TargetRule`] for all of them.
    ///
    /// # Errors
    /// Those of [`TargetRule::of`] and [`TaskSequence::new`].
    pub fn of_raw(tasks: Vec<RawTask>, mut settings: Provenance) -> Result<TaskSequence> {
        let rule = TargetRule::of(&tasks)?;
        if rule != TargetRule::AsGiven {
            settings.targets = Some(rule.clone());
        }
        let mut sequence =
            TaskSequence { tasks: tasks.into_iter().map(|task| task.into_task(&rule)).collect(), settings };
        if !sequence.rows_agree() {
            sequence.tasks.iter_mut().for_each(|task| task.rows = None);
        }
        sequence.checked()
    }
}

/// How targets become target columns: one rule for files, arrays in memory and every command.
///
/// Integers, booleans and strings in a single column are classes, and one rule holds for all tasks of a sequence: labels out
/// of −1, 0 and 1 that include −1 stay as they are; two classes become −1 (the smaller) and +1; more become one-hot columns,
/// one per class of the whole sequence in increasing order. Floating-point targets, and integers in several columns, stay as
/// they are. Where every task has a readout of its own, it has the columns of its own classes, and two classes are −1 and +1
/// ([`own_readouts`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetRule {
    /// Used as they are.
    AsGiven,
    /// The smaller class is −1, the larger +1.
    Signs([Class; 2]),
    /// One column per class.
    OneHot(Vec<Class>),
}

impl TargetRule {
    /// The rule for these tasks; held-out targets may bring no new class.
    ///
    /// # Errors
    /// [`Error::Data`] where some are classes and others real, there is only one class or more than 1000, or a test label is
    /// not among the training labels.
    pub fn of(tasks: &[RawTask]) -> Result<TargetRule> {
        let train: Vec<_> = tasks.iter().map(|task| (task.place.clone(), &task.y)).collect();
        let held_out = |task: &RawTask| format!("{}_test", task.place);
        let tested = tasks.iter().filter_map(|task| Some((held_out(task), &task.test.as_ref()?.1)));
        Self::of_targets(&train, &tested.collect::<Vec<_>>())
    }

    /// The same for targets alone, each with its name in messages.
    ///
    /// # Errors
    /// As for [`TargetRule::of`].
    pub fn of_targets(train: &[(String, &RawTargets)], test: &[(String, &RawTargets)]) -> Result<TargetRule> {
        let all = || train.iter().chain(test);
        let Some((name, _)) = all().find(|(_, given)| given.classes().is_some()) else {
            return Ok(TargetRule::AsGiven);
        };
        let found = |all: &mut dyn Iterator<Item = &(String, &RawTargets)>| -> BTreeSet<Class> {
            all.filter_map(|(_, given)| given.classes()).flatten().cloned().collect()
        };
        if is_signs(&found(&mut all())) {
            return Ok(TargetRule::AsGiven);
        }
        if let Some((other, _)) = all().find(|(_, given)| given.classes().is_none()) {
            let problem = format!("it holds integer classes where {other} holds real targets; store all in one way");
            return Err(Error::data(name, problem));
        }
        let known = found(&mut train.iter());
        for (name, given) in test {
            if let Some(new) = given.classes().unwrap_or_default().iter().find(|class| !known.contains(class)) {
                return Err(Error::data(name, format!("class {new} occurs in no training set")));
            }
        }
        let sorted: Vec<Class> = known.into_iter().collect();
        match &sorted[..] {
            [only] => Err(Error::data(name, format!("every label is {only}; at least two classes are needed"))),
            [a, b] => Ok(TargetRule::Signs([a.clone(), b.clone()])),
            _ if sorted.len() > MOST_CLASSES => {
                let problem = format!("{} classes are too many; store real targets as floats", sorted.len());
                Err(Error::data(name, problem))
            }
            _ => Ok(TargetRule::OneHot(sorted)),
        }
    }

    /// The target columns of targets that the rule was made for.
    pub fn apply(&self, given: &RawTargets) -> Mat<f64> {
        let labels = match given {
            RawTargets::Real(m) => return m.clone(),
            RawTargets::Classes(labels) => labels,
        };
        match self {
            TargetRule::AsGiven => Mat::from_fn(labels.len(), 1, |i, _| match &labels[i] {
                Class::Number(number) => *number as f64,
                // A rule that leaves labels as they are is not made for names.
                Class::Name(_) => f64::NAN,
            }),
            TargetRule::Signs([_, larger]) => {
                Mat::from_fn(labels.len(), 1, |i, _| if labels[i] == *larger { 1.0 } else { -1.0 })
            }
            TargetRule::OneHot(classes) => {
                Mat::from_fn(labels.len(), classes.len(), |i, j| f64::from(u8::from(labels[i] == classes[j])))
            }
        }
    }

    /// [`TargetRule::words`] where every task has a readout of its own: see [`own_readouts`].
    fn own_words(&self, tasks: &[Task]) -> Option<String> {
        match self {
            TargetRule::OneHot(classes) => {
                let own = own_readouts(tasks);
                let columns = |m: usize| own.iter().all(|task| task.y.ncols() == m);
                match own {
                    Cow::Owned(_) if columns(1) => Some("in each task the smaller class is -1, the larger +1".into()),
                    Cow::Owned(_) if !columns(classes.len()) => Some(
                        "each task has a target column for each of its own classes (two classes: -1 and +1)".into(),
                    ),
                    _ => self.words(),
                }
            }
            other => other.words(),
        }
    }

    /// What was done, as part of a sentence; nothing where targets were used as they are.
    pub fn words(&self) -> Option<String> {
        match self {
            TargetRule::AsGiven => None,
            TargetRule::Signs([smaller, larger]) => Some(format!("classes {smaller} and {larger} are -1 and +1")),
            TargetRule::OneHot(classes) => {
                let n = classes.len();
                let name = |some: &[Class]| some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let list = match n > LISTED {
                    true => format!("{}, …, {}", name(&classes[..2]), classes[n - 1]),
                    false => name(classes),
                };
                Some(format!("{n} classes ({list}), one target column each"))
            }
        }
    }
}

/// Whether labels are out of −1, 0 and 1 and include −1.
fn is_signs(classes: &BTreeSet<Class>) -> bool {
    let small = |class: &Class| matches!(class, Class::Number(-1..=1));
    classes.contains(&Class::Number(-1)) && classes.iter().all(small)
}

impl TaskSequence {
    /// What was done to the labels of its tasks, where they were classes: the words of its [`TargetRule`].
    pub fn target_words(&self) -> Option<String> {
        self.settings.target_rule().words()
    }

    /// What a reader should know about its targets: what classes became, or that real targets look like classes.
    pub fn target_notes(&self) -> Vec<String> {
        let whole = whole_targets(&self.tasks.iter().map(|task| task.y.as_ref()).collect::<Vec<_>>());
        self.target_words().into_iter().chain(whole).collect()
    }
}

/// What was done to inputs and targets, as part of a sentence: how inputs were prepared, and what classes became, with a readout for
/// all or (`readout_each`) one for each task, or that real targets look like classes.
pub fn prepared_words(settings: &Provenance, tasks: &[Task], readout_each: bool) -> String {
    let rule = settings.target_rule();
    let words = if readout_each { rule.own_words(tasks) } else { rule.words() };
    let targets = words.or_else(|| whole_targets(&tasks.iter().map(|task| task.y.as_ref()).collect::<Vec<_>>()));
    format!("{}{}", settings.preparation_words(), targets.map_or(String::new(), |words| format!("; {words}")))
}

/// What to know of real targets that are all whole numbers, and so look like classes stored as floats.
pub fn whole_targets(targets: &[MatRef<'_, f64>]) -> Option<String> {
    let single = targets.iter().all(|y| y.ncols() == 1);
    let values = || targets.iter().flat_map(|y| (0..y.nrows()).map(|i| y[(i, 0)]));
    if !single || values().any(|v| v.fract() != 0.0) || values().all(|v| v == 1.0) {
        return None;
    }
    let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let signs = low == -1.0 && high <= 1.0;
    (!signs && low.is_finite()).then(|| {
        format!(
            "targets are whole numbers from {low} to {high} stored as floats and are taken as real targets; if they are \
             class labels, give them as integers"
        )
    })
}

/// Targets for a readout per task: where every task's targets are one-hot, each task has the columns of its own classes alone, and two
/// classes are one column of −1 (the smaller) and +1. All other targets stay as they are.
///
/// ```
/// use ebbing::linalg::Mat;
/// use ebbing::{Task, tasks::own_readouts};
/// // Five classes in all: 0 and 1 in the first task, 2, 3 and 4 in the second.
/// let task = |first: usize, count: usize| {
///     Task::new(Mat::zeros(count, 6), Mat::from_fn(count, 5, |i, j| f64::from(u8::from(j == first + i))))
/// };
/// let tasks = [task(0, 2), task(2, 3)];
/// let own = own_readouts(&tasks);
/// assert_eq!((own[0].y.ncols(), own[0].y[(0, 0)], own[0].y[(1, 0)]), (1, -1.0, 1.0));
/// assert_eq!((own[1].y.ncols(), own[1].y[(2, 2)]), (3, 1.0));
/// ```
pub fn own_readouts(tasks: &[Task]) -> Cow<'_, [Task]> {
    match tasks.iter().map(own_readout).collect::<Option<Vec<Task>>>() {
        Some(own) if !own.is_empty() => Cow::Owned(own),
        _ => Cow::Borrowed(tasks),
    }
}

/// The same for one task; `None` where it is not one of classes, or a held-out example has another class.
fn own_readout(task: &Task) -> Option<Task> {
    let used = one_hot(task.y.as_ref())?;
    let own: Vec<usize> = used.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let columns = |hot: &[usize]| match own[..] {
        [_, larger] => Mat::from_fn(hot.len(), 1, |i, _| if hot[i] == larger { 1.0 } else { -1.0 }),
        _ => Mat::from_fn(hot.len(), own.len(), |i, j| f64::from(u8::from(hot[i] == own[j]))),
    };
    if own.len() < 2 {
        return None;
    }
    let test = match &task.test {
        Some(test) => {
            let hot = one_hot(test.y.as_ref()).filter(|hot| hot.iter().all(|j| own.contains(j)))?;
            Some(TestSet { x: test.x.clone(), y: columns(&hot) })
        }
        None => None,
    };
    Some(Task { y: columns(&used), test, ..task.clone() })
}

/// Whether all tasks have the same classes, in the same columns; so do tasks whose targets are no classes.
pub(crate) fn same_classes(tasks: &[Task]) -> bool {
    let classes = |task: &Task| one_hot(task.y.as_ref()).map(|hot| hot.into_iter().collect::<BTreeSet<_>>());
    tasks.windows(2).all(|two| classes(&two[0]) == classes(&two[1]))
}

/// The column that is 1 in every row, where all others are 0 and there are several.
pub(super) fn one_hot(y: MatRef<'_, f64>) -> Option<Vec<usize>> {
    if y.ncols() < 2 {
        return None;
    }
    let hot = |i: usize| {
        let ones: Vec<usize> = (0..y.ncols()).filter(|&j| y[(i, j)] == 1.0).collect();
        let zeros = (0..y.ncols()).filter(|&j| y[(i, j)] == 0.0).count();
        (ones.len() == 1 && zeros + 1 == y.ncols()).then(|| ones[0])
    };
    (0..y.nrows()).map(hot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> RawTargets {
        RawTargets::Classes(words.iter().map(|w| Class::Name(w.to_string())).collect())
    }

    fn numbers(labels: &[i64]) -> RawTargets {
        RawTargets::Classes(labels.iter().copied().map(Class::Number).collect())
    }

    fn rule(train: &[&RawTargets]) -> Result<TargetRule> {
        TargetRule::of_targets(&train.iter().map(|given| ("y".to_string(), *given)).collect::<Vec<_>>(), &[])
    }

    #[test]
    fn strings_are_classes_in_alphabetical_order() {
        let (a, b) = (names(&["dog", "cat"]), names(&["cat", "cat"]));
        let found = rule(&[&a, &b]).unwrap();
        assert_eq!(found.words().unwrap(), "classes cat and dog are -1 and +1");
        let y = found.apply(&a);
        assert_eq!((y[(0, 0)], y[(1, 0)]), (1.0, -1.0));
        let more = rule(&[&a, &names(&["ape"])]).unwrap();
        assert_eq!(more.words().unwrap(), "3 classes (ape, cat, dog), one target column each");
        assert_eq!(serde_json::to_value(&more).unwrap(), serde_json::json!({ "one-hot": ["ape", "cat", "dog"] }));
        let read: Provenance = serde_json::from_value(serde_json::json!({ "targets": more, "data": "mine" })).unwrap();
        assert_eq!((read.target_rule(), read.data), (more, None));
    }

    #[test]
    fn integer_signs_go_with_real_targets_and_other_classes_do_not() {
        let real = RawTargets::Real(Mat::from_fn(2, 1, |i, _| i as f64 - 0.5));
        assert_eq!(rule(&[&numbers(&[1, -1]), &real]).unwrap(), TargetRule::AsGiven);
        assert!(rule(&[&numbers(&[1, 0]), &real]).is_err());
        assert_eq!(rule(&[&numbers(&(0..10).collect::<Vec<_>>())]).unwrap().words().unwrap(), {
            "10 classes (0, 1, …, 9), one target column each"
        });
    }

    #[test]
    fn whole_real_targets_have_a_note_and_signs_have_none() {
        let note_on = |y: &[f64]| whole_targets(&[Mat::from_fn(y.len(), 1, |i, _| y[i]).as_ref()]);
        let note = note_on(&[0.0, 1.0, 7.0]).unwrap();
        assert!(note.starts_with("targets are whole numbers from 0 to 7 stored as floats"), "{note}");
        for silent in [&[1.0, -1.0][..], &[-1.0, 0.0, 1.0], &[0.5, 1.0], &[1.0, 1.0]] {
            assert_eq!(note_on(silent), None, "{silent:?}");
        }
        assert!(note_on(&[0.0, 1.0]).is_some());
    }

    #[test]
    fn a_readout_per_task_has_its_own_classes_and_signs_for_two() {
        let task = |hot: &[usize]| {
            Task::new(Mat::zeros(hot.len(), 1), Mat::from_fn(hot.len(), 4, |i, j| f64::from(u8::from(hot[i] == j))))
        };
        let three = [task(&[0, 1]), task(&[1, 3, 2])];
        let own = own_readouts(&three);
        assert_eq!((own[0].y.ncols(), own[1].y.ncols(), own[1].y[(1, 2)], own[1].y[(2, 1)]), (1, 3, 1.0, 1.0));
        assert!(!same_classes(&three) && same_classes(&[task(&[0, 1]), task(&[1, 0, 1])]));
        let two = [task(&[1, 0, 1]), task(&[1, 3])];
        let own = own_readouts(&two);
        assert_eq!((own[0].y.ncols(), own[0].y[(0, 0)], own[0].y[(1, 0)], own[1].y[(0, 0)]), (1, 1.0, -1.0, -1.0));
        // A held-out example of another class has no side.
        let with = |hot: usize| task(&[0, 1]).with_test(Mat::zeros(1, 1), task(&[hot]).y);
        assert_eq!(own_readouts(&[with(1)])[0].test.as_ref().unwrap().y[(0, 0)], 1.0);
        assert_eq!(own_readouts(&[with(2)])[0].y.ncols(), 4);
        let real = [Task::new(Mat::zeros(2, 1), Mat::from_fn(2, 2, |i, j| (i + j) as f64 * 0.5))];
        assert!(matches!(own_readouts(&real), Cow::Borrowed(_)));
    }
}
