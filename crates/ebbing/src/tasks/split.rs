//! Split tasks: every task holds classes that no other task has.

use super::draw::{ByClass, Drawn, Images, SourcePart, drawn_sequence, images_of, plain_tasks, shares};
use super::{Draws, Protocol, TaskSequence};
use crate::data::Source;
use crate::error::{Error, Result, at_least, refuse};
use crate::linalg::Mat;
use crate::rng::Stream;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How groups of classes become targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Labels {
    /// One column: +1 for the first of two groups, −1 for the second.
    #[default]
    Sign,
    /// One column per group of a task (the same columns for every task): 1 in the example's own, else 0.
    OneHot,
    /// One column per group of the whole sequence: 1 in the example's own, else 0.
    OneHotAll,
}

/// Split tasks: disjoint groups of classes per task, labeled by group.
///
/// A task's examples are shared equally among its groups, and a group's among its classes (where that does not divide,
/// earlier ones have one more). Random assignments use only classes with enough images.
///
/// | name | default | range |
/// |---|---|---|
/// | `tasks` | 5 | 1 … classes ÷ (`groups`·`classes_per_group`) |
/// | `p` | 600 | at least one per class of a task, at most what the images of a class allow |
/// | `p_test` | 200 | likewise, or 0: no test sets |
/// | `groups` | 2 | ≥ 2; exactly 2 with `labels = "sign"` |
/// | `classes_per_group` | 1 | ≥ 1 |
/// | `labels` | `"sign"` | `"sign"`, `"one-hot"`, `"one-hot-all"` |
/// | `assignment` | random | `[task][group] = [classes …]`, disjoint; overrides `tasks`, `groups`, `classes_per_group` |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Split {
    /// How many tasks.
    pub tasks: usize,
    /// Training examples per task.
    pub p: usize,
    /// Test examples per task.
    pub p_test: usize,
    /// How many groups of classes a task distinguishes.
    pub groups: usize,
    /// Classes in each group.
    pub classes_per_group: usize,
    /// What the targets are.
    pub labels: Labels,
    /// The classes of each group of each task, if not drawn at random.
    pub assignment: Option<Vec<Vec<Vec<i64>>>>,
}

impl Default for Split {
    fn default() -> Self {
        Split { tasks: 5, p: 600, p_test: 200, groups: 2, classes_per_group: 1, labels: Labels::Sign, assignment: None }
    }
}

impl Split {
    /// Draws a sequence.
    ///
    /// # Errors
    /// [`Error::Setting`] with the feasible range for a setting outside it, too few classes or too few images in a class;
    /// [`Error::Data`] where the source has no class labels or a drawn image cannot be prepared.
    pub fn generate(&self, source: &Source, seed: u64) -> Result<TaskSequence> {
        let train = SourcePart::Train.by_class(source)?;
        let test = if self.p_test > 0 { SourcePart::Test.by_class(source)? } else { ByClass::new() };
        let assignment = match &self.assignment {
            Some(given) => {
                self.check_assignment(given, &train)?;
                given.clone()
            }
            None => self.draw_assignment(&train, &test, seed)?,
        };
        let columns = match self.labels {
            Labels::Sign => 1,
            Labels::OneHot => assignment[0].len(),
            Labels::OneHotAll => assignment.iter().map(Vec::len).sum(),
        };
        let train = self.part(source, SourcePart::Train, &train, &assignment, columns, seed)?;
        let test = self.part(source, SourcePart::Test, &test, &assignment, columns, seed)?;
        let mut tasks = plain_tasks(train, test);
        if self.labels == Labels::OneHotAll {
            tasks.iter_mut().zip(&assignment).for_each(|(task, groups)| task.name = classes_of(groups));
        }
        let drawn = Draws::Split { assignment };
        Ok(drawn_sequence(tasks, source, Protocol::Split(self.clone()), seed, drawn))
    }

    /// A random assignment of the classes that have enough images.
    fn draw_assignment(&self, train: &ByClass, test: &ByClass, seed: u64) -> Result<Vec<Vec<Vec<i64>>>> {
        at_least("tasks", self.tasks, 1)?;
        at_least("groups", self.groups, 2)?;
        at_least("classes_per_group", self.classes_per_group, 1)?;
        self.check_groups(self.groups)?;
        let per_task = self.groups.saturating_mul(self.classes_per_group);
        self.check_sizes(per_task)?;
        let (most, most_test) = (self.p.div_ceil(per_task), self.p_test.div_ceil(per_task));
        let has = |images: &ByClass, class: i64, needed: usize| images_of(images, class).len() >= needed;
        let enough = |class: &&i64| has(train, **class, most) && has(test, **class, most_test);
        let usable: Vec<i64> = train.keys().filter(enough).copied().collect();
        if per_task.checked_mul(self.tasks).is_none_or(|needed| needed > usable.len()) {
            let (Split { p, p_test, .. }, have, all) = (self, usable.len(), train.len());
            let tasks = have / per_task;
            let expected = format!(
                "{have} of {all} classes have the {most} training and {most_test} test images that p = {p} and p_test = \
                 {p_test} ask of a class, enough for at most {tasks} tasks of {per_task} classes"
            );
            return Err(Error::setting("tasks", self.tasks, expected));
        }
        let drawn = Stream::new(seed, "split: assignment", 0).choose(usable.len(), per_task * self.tasks);
        let classes: Vec<i64> = drawn.into_iter().map(|i| usable[i]).collect();
        let groups = |task: &[i64]| task.chunks(self.classes_per_group).map(<[i64]>::to_vec).collect();
        Ok(classes.chunks(per_task).map(groups).collect())
    }

    /// Refuses an assignment with empty, unknown or repeated parts.
    fn check_assignment(&self, given: &[Vec<Vec<i64>>], known: &ByClass) -> Result<()> {
        let refuse = |value: String, expected: String| Err(Error::setting("assignment", value, expected));
        if given.is_empty() {
            return refuse("empty".into(), "must list at least one task".into());
        }
        let mut seen = BTreeMap::new();
        for (t, task) in given.iter().enumerate() {
            if task.len() < 2 || task.len() != given[0].len() {
                let expected = "every task must list the same number of groups, at least 2";
                return refuse(format!("{} groups in task {}", task.len(), t + 1), expected.into());
            }
            self.check_groups(task.len())?;
            self.check_sizes(task.iter().map(Vec::len).sum())?;
            for class in task.iter().flatten() {
                if !known.contains_key(class) {
                    let classes: Vec<_> = known.keys().collect();
                    return refuse(format!("{class} in task {}", t + 1), format!("the classes are {classes:?}"));
                }
                if let Some(first) = seen.insert(*class, t + 1) {
                    let value = format!("class {class} in task {} after task {first}", t + 1);
                    return refuse(value, "a class may occur only once".into());
                }
            }
            if task.iter().any(Vec::is_empty) {
                return refuse(format!("an empty group in task {}", t + 1), "a group needs a class".into());
            }
        }
        Ok(())
    }

    /// Labels ±1 separate two groups, no more.
    fn check_groups(&self, groups: usize) -> Result<()> {
        let bad = self.labels == Labels::Sign && groups != 2;
        refuse(bad, "groups", groups, "must be 2 with labels = \"sign\"; more need \"one-hot\"")
    }

    /// Every class of a task needs an example.
    fn check_sizes(&self, classes: usize) -> Result<()> {
        at_least("p", self.p, classes)?;
        let bad = self.p_test > 0 && self.p_test < classes;
        refuse(bad, "p_test", self.p_test, format!("must be 0 or at least {classes}"))
    }

    /// Numbers, inputs and targets of every task.
    fn part(
        &self,
        source: &Source,
        part: SourcePart,
        by_class: &ByClass,
        assignment: &[Vec<Vec<i64>>],
        columns: usize,
        seed: u64,
    ) -> Result<Vec<Drawn>> {
        let p = if part == SourcePart::Train { self.p } else { self.p_test };
        if p == 0 {
            return Ok(vec![Drawn::none(source.dim(), columns); assignment.len()]);
        }
        check_images(part, p, by_class, assignment)?;
        let mut drawn = Vec::new();
        for (t, groups) in assignment.iter().enumerate() {
            let mut task: Vec<(usize, usize)> = Vec::with_capacity(p);
            for (g, (group, share)) in groups.iter().zip(shares(p, groups.len())).enumerate() {
                for (class, quota) in group.iter().zip(shares(share, group.len())) {
                    let images = images_of(by_class, *class);
                    task.extend(choose_class(part, *class, images, quota, seed).into_iter().map(|i| (i, g)));
                }
            }
            Stream::new(seed, &format!("split: {} order", part.name()), t as u64).shuffle(&mut task);
            drawn.push(task);
        }
        let images = Images::prepare(source, part, drawn.iter().flatten().map(|(i, _)| i))?;
        let finish = |(t, task): (usize, Vec<(usize, usize)>)| {
            let (numbers, groups): (Vec<usize>, Vec<usize>) = task.into_iter().unzip();
            let first = if self.labels == Labels::OneHotAll { t * assignment[0].len() } else { 0 };
            let target = |i: usize, j: usize| match self.labels {
                Labels::Sign => 1.0 - 2.0 * groups[i] as f64,
                _ => f64::from(u8::from(groups[i] + first == j)),
            };
            let y = Mat::from_fn(numbers.len(), columns, target);
            Drawn { x: images.select(&numbers), y, numbers }
        };
        Ok(drawn.into_iter().enumerate().map(finish).collect())
    }
}

/// The classes of a task as its name: "3 and 7".
fn classes_of(groups: &[Vec<i64>]) -> String {
    /// Of more, the first ones and their number.
    const NAMED: usize = 4;
    let all: Vec<String> = groups.iter().flatten().map(i64::to_string).collect();
    match &all[..] {
        [others @ .., last] if !others.is_empty() && all.len() <= NAMED => format!("{} and {last}", others.join(", ")),
        [only] => only.clone(),
        _ => format!("{}, … ({} classes)", all[..NAMED.min(all.len()) - 1].join(", "), all.len()),
    }
}

/// Refuses `p` examples per task where a class has too few images for its share.
fn check_images(part: SourcePart, p: usize, by_class: &ByClass, assignment: &[Vec<Vec<i64>>]) -> Result<()> {
    let shares = assignment.iter().flat_map(|groups| {
        groups.iter().flat_map(|group| group.iter().map(|class| (class, groups.len() * group.len())))
    });
    let limits = shares.map(|(class, share)| {
        let images = images_of(by_class, *class).len();
        (images * share, images, *class)
    });
    match limits.min() {
        Some((most, images, class)) if p > most => {
            let expected = format!("class {class} has {images} {} images, enough for at most {most}", part.name());
            Err(Error::setting(part.setting(), p, expected))
        }
        _ => Ok(()),
    }
}

/// `quota` images of a class (at most all), in random order; those of a smaller quota come first.
pub(super) fn choose_class(part: SourcePart, class: i64, images: &[usize], quota: usize, seed: u64) -> Vec<usize> {
    let purpose = format!("class {class}: {} images", part.name());
    let drawn = Stream::new(seed, &purpose, 0).choose(images.len(), quota.min(images.len()));
    drawn.into_iter().map(|i| images[i]).collect()
}
