//! Tasks of K classes each, out of one set of examples: which classes a task has is drawn.

use super::draw::gather;
use super::labels::{one_hot, whole_classes};
use super::{Class, Draws, Seeded, TargetRule, Task, TaskSequence, TestSet};
use crate::error::{Error, Result, at_least};
use crate::linalg::{Mat, MatRef};
use crate::plan::Sizes;
use crate::rng::Stream;
use serde::{Deserialize, Serialize};

/// Class-incremental tasks out of one set of examples with labels: classes are dealt to tasks at random, every example of a class
/// goes with it, and one head has a column for every class. The last task has fewer classes where the number does not divide.
///
/// | name | range |
/// |---|---|
/// | `classes_per_task` | 1 … half of the classes, so that there are two tasks at least |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByClass {
    /// How many classes a task has.
    pub classes_per_task: usize,
}

/// The classes of a set of examples.
pub(super) struct Labeled {
    /// In increasing order.
    classes: Vec<Class>,
    /// The class of every training and of every held-out example, by its place among them.
    train: Vec<usize>,
    test: Option<Vec<usize>>,
    /// What labels become.
    rule: TargetRule,
}

impl ByClass {
    /// Divides the one task of a sequence.
    ///
    /// # Errors
    /// [`Error::Setting`] where there are too few classes, or tasks already; [`Error::Data`] where targets name no classes.
    pub fn apply(&self, sequence: TaskSequence, seed: u64) -> Result<TaskSequence> {
        let labeled = Labeled::of(&sequence)?;
        let groups = self.groups(labeled.classes.len(), seed)?;
        let mut settings = sequence.settings;
        let Some(whole) = sequence.tasks.into_iter().next() else { return Err(no_set(0)) };
        let columns = |y: &Mat<f64>, of: &[usize]| match &labeled.rule {
            // One column of ±1 and columns of classes stay as they were read.
            TargetRule::OneHot(classes) if y.ncols() == 1 => {
                Mat::from_fn(of.len(), classes.len(), |i, j| f64::from(u8::from(of[i] == j)))
            }
            _ => y.clone(),
        };
        let y = columns(&whole.y, &labeled.train);
        let test = whole.test.as_ref().zip(labeled.test.as_ref()).map(|(test, of)| (&test.x, columns(&test.y, of), of));
        let task = |(t, group): (usize, &Vec<usize>)| {
            let rows = rows_of_classes(&labeled.train, group);
            let test = test.as_ref().and_then(|(x, y, of)| {
                let rows = rows_of_classes(of, group);
                (!rows.is_empty()).then(|| TestSet { x: gather(x.as_ref(), &rows), y: gather(y.as_ref(), &rows) })
            });
            Task {
                name: name(t, group, &labeled.classes),
                x: gather(whole.x.as_ref(), &rows),
                y: gather(y.as_ref(), &rows),
                rows: whole.rows.as_ref().map(|known| rows.iter().map(|&i| known[i]).collect()),
                test,
                present: None,
            }
        };
        let tasks = groups.iter().enumerate().map(task).collect();
        settings.drawn = Some(Draws::ByClass { classes: Labeled::named(&groups, &labeled.classes) });
        settings.by_class = Some(Seeded { step: *self, seed });
        settings.targets = Some(labeled.rule);
        TaskSequence { tasks, settings }.checked()
    }

    /// The sizes of the tasks, of which nothing but labels is looked at.
    ///
    /// # Errors
    /// As [`ByClass::apply`].
    pub fn sizes(&self, sequence: &TaskSequence, seed: u64) -> Result<Sizes> {
        let labeled = Labeled::of(sequence)?;
        let groups = self.groups(labeled.classes.len(), seed)?;
        let count = |of: &[usize]| groups.iter().map(|group| rows_of_classes(of, group).len()).collect();
        let test = labeled.test.as_ref().map_or_else(|| vec![0; groups.len()], |of| count(of));
        let columns = match &labeled.rule {
            TargetRule::OneHot(classes) => classes.len(),
            _ => sequence.columns(),
        };
        Ok(Sizes { train: count(&labeled.train), test, columns, distinct: None, ..sequence.sizes() })
    }

    /// Which classes each task has: all of them in random order, so many at a time.
    pub(super) fn groups(&self, classes: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
        at_least("classes_per_task", self.classes_per_task, 1)?;
        if self.classes_per_task >= classes {
            let most = classes.div_ceil(2);
            let expected =
                format!("there are {classes} classes: it must be at most {}, so that there are two tasks", most.max(1));
            return Err(Error::setting("classes_per_task", self.classes_per_task, expected));
        }
        let mut order: Vec<usize> = (0..classes).collect();
        Stream::new(seed, "classes of tasks", 0).shuffle(&mut order);
        let sorted = |group: &[usize]| {
            let mut group = group.to_vec();
            group.sort_unstable();
            group
        };
        Ok(order.chunks(self.classes_per_task).map(sorted).collect())
    }
}

impl Labeled {
    /// The classes of every task.
    pub(super) fn named(groups: &[Vec<usize>], classes: &[Class]) -> Vec<Vec<Class>> {
        let named = |group: &Vec<usize>| group.iter().map(|&c| classes[c].clone()).collect();
        groups.iter().map(named).collect()
    }

    fn of(sequence: &TaskSequence) -> Result<Labeled> {
        let [whole] = &sequence.tasks[..] else { return Err(no_set(sequence.tasks.len())) };
        if whole.present.is_some() || whole.rows_per_example() > 1 {
            let problem = "it has outputs of a model, or features of each output, which make no tasks by class";
            return Err(Error::data(whole.label(0), problem));
        }
        let test = whole.test.as_ref().map(|test| test.y.as_ref());
        let sets: Vec<MatRef<'_, f64>> = std::iter::once(whole.y.as_ref()).chain(test).collect();
        let rule = sequence.settings.target_rule();
        let (classes, mut of, rule) = match rule {
            TargetRule::OneHot(classes) => {
                let of = sets.iter().map(|y| one_hot(*y)).collect::<Option<Vec<_>>>();
                (classes.clone(), of, TargetRule::OneHot(classes))
            }
            TargetRule::Signs(pair) => {
                let of = |y: &MatRef<'_, f64>| (0..y.nrows()).map(|i| usize::from(y[(i, 0)] > 0.0)).collect();
                (pair.to_vec(), Some(sets.iter().map(of).collect()), TargetRule::Signs(pair))
            }
            TargetRule::AsGiven => as_given(&sets),
        };
        let Some(train) = of.as_mut().filter(|of| !of.is_empty()).map(|of| of.remove(0)) else {
            let problem = "its targets name no classes (whole numbers, text, or columns of 0 and a single 1), by which tasks could be made";
            return Err(Error::data(whole.label(0), problem));
        };
        let test = of.and_then(|mut rest| rest.pop());
        let known = |c: &usize| train.contains(c);
        if let Some(new) = test.iter().flatten().find(|c| !known(c)) {
            let problem = format!("class {} occurs in no training set", classes[*new]);
            return Err(Error::data(format!("{}, test set", whole.label(0)), problem));
        }
        Ok(Labeled { classes, train, test, rule })
    }
}

/// Classes of targets that no rule was made for: one-hot columns, or a column of whole numbers.
#[allow(clippy::type_complexity)]
fn as_given(sets: &[MatRef<'_, f64>]) -> (Vec<Class>, Option<Vec<Vec<usize>>>, TargetRule) {
    if let Some(of) = sets.iter().map(|y| one_hot(*y)).collect::<Option<Vec<_>>>() {
        let classes: Vec<Class> = (0..sets[0].ncols()).map(|j| Class::Number(j as i64)).collect();
        return (classes.clone(), Some(of), TargetRule::OneHot(classes));
    }
    let Some(all) = sets.iter().map(|y| whole_classes(*y)).collect::<Option<Vec<_>>>() else {
        return (vec![], None, TargetRule::AsGiven);
    };
    let mut classes: Vec<Class> = all.iter().flatten().cloned().collect();
    classes.sort();
    classes.dedup();
    let place = |class: &Class| classes.binary_search(class).unwrap_or(0);
    let of = all.iter().map(|labels| labels.iter().map(place).collect()).collect();
    let rule = if classes.len() > 2 { TargetRule::OneHot(classes.clone()) } else { TargetRule::AsGiven };
    (classes, Some(of), rule)
}

/// The rows of some classes, in their order.
fn rows_of_classes(of: &[usize], group: &[usize]) -> Vec<usize> {
    (0..of.len()).filter(|&i| group.binary_search(&of[i]).is_ok()).collect()
}

/// One or two classes are the name of their task.
pub(super) fn name(t: usize, group: &[usize], classes: &[Class]) -> String {
    match group {
        [one] => classes[*one].to_string(),
        [one, two] => format!("{} and {}", classes[*one], classes[*two]),
        _ => format!("task {}", t + 1),
    }
}

fn no_set(tasks: usize) -> Error {
    let expected =
        format!("tasks are made by class of one set of examples, and there are {tasks} tasks already: leave it out");
    Error::data("classes_per_task", expected)
}

impl TaskSequence {
    /// How many classes one set of examples has, where they are several and it is no sequence of tasks yet.
    pub fn classes_of_one_set(&self) -> Option<usize> {
        Labeled::of(self).ok().map(|labeled| labeled.classes.len()).filter(|n| *n > 2)
    }

    /// What to do with one set of several classes, which is no sequence of tasks yet.
    pub fn one_set(&self) -> Option<String> {
        let n = self.classes_of_one_set()?;
        let k = (2..n).find(|k| n.is_multiple_of(*k) && n / k <= 10).unwrap_or(n.div_ceil(2));
        let tasks = n.div_ceil(k);
        Some(format!(
            "it is one set of examples of {n} classes and no sequence of tasks: say how many classes a task has, such as \
             --classes-per-task {k} ({tasks} tasks)"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::{Provenance, RawTargets, RawTask};

    fn set(labels: &[i64], test: &[i64]) -> TaskSequence {
        let x = |n: usize, from: usize| Mat::from_fn(n, 3, |i, j| (from + i * 3 + j) as f64);
        let y = |all: &[i64]| RawTargets::Classes(all.iter().copied().map(Class::Number).collect());
        let test = (!test.is_empty()).then(|| (x(test.len(), 1000), y(test)));
        let (name, place) = (String::new(), "y".into());
        let task = RawTask { name, place, x: x(labels.len(), 0), y: y(labels), rows: None, test, present: None };
        TaskSequence::of_raw(vec![task], Provenance::default()).unwrap()
    }

    #[test]
    fn every_example_goes_with_its_class() {
        let (labels, test) = ([7, -3, 7, 40, 5, 5, -3, 40, 9, 7], [9, 7, -3, 40]);
        let whole = set(&labels, &test);
        let made = ByClass { classes_per_task: 2 }.apply(whole.clone(), 4).unwrap();
        assert_eq!(made.tasks.len(), 3);
        let Some(Draws::ByClass { classes }) = &made.settings.drawn else { panic!("{:?}", made.settings) };
        assert_eq!(classes.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
        let mut seen = 0;
        for (task, classes) in made.tasks.iter().zip(classes) {
            assert_eq!(task.y.ncols(), 5);
            for i in 0..task.x.nrows() {
                let row = (task.x[(i, 0)] / 3.0) as usize;
                let column = [-3, 5, 7, 9, 40].iter().position(|c| *c == labels[row]).unwrap();
                assert!(classes.contains(&Class::Number(labels[row])) && task.y[(i, column)] == 1.0);
                seen += 1;
            }
            let tested = test.iter().filter(|c| classes.contains(&Class::Number(**c))).count();
            assert_eq!(task.test.as_ref().map_or(0, |test| test.x.nrows()), tested);
        }
        assert_eq!(seen, 10);
        let sizes = ByClass { classes_per_task: 2 }.sizes(&whole, 4).unwrap();
        assert_eq!((sizes.train, sizes.test, sizes.columns), (made.sizes().train, made.sizes().test, 5));
        assert_eq!(ByClass { classes_per_task: 2 }.apply(whole.clone(), 4).unwrap(), made);
        let drawn = |seed| ByClass { classes_per_task: 2 }.apply(whole.clone(), seed).unwrap().settings.drawn;
        assert!((0..5).any(|seed| drawn(seed) != made.settings.drawn));
    }

    #[test]
    fn classes_may_be_floats_columns_or_two() {
        let whole = set(&[0, 1, 2, 0, 1, 2], &[]);
        let floats = Task { y: Mat::from_fn(6, 1, |i, _| (i % 3) as f64), ..whole.tasks[0].clone() };
        let columns = TaskSequence::new(vec![Task { ..whole.tasks[0].clone() }]).unwrap();
        let split = |s: TaskSequence| ByClass { classes_per_task: 1 }.apply(s, 0).unwrap();
        let of_floats = split(TaskSequence::new(vec![floats]).unwrap());
        for made in [&of_floats, &split(columns), &split(whole)] {
            assert_eq!(
                made.tasks.iter().map(|task| &task.y).collect::<Vec<_>>(),
                of_floats.tasks.iter().map(|task| &task.y).collect::<Vec<_>>()
            );
        }
        let two = split(set(&[4, 9, 9], &[]));
        assert_eq!((two.columns(), two.tasks.len()), (1, 2));
        assert!(two.tasks.iter().all(|task| task.y[(0, 0)].abs() == 1.0));
    }

    #[test]
    fn what_makes_no_tasks_is_refused() {
        let whole = set(&[0, 1, 2, 0], &[]);
        let said = |k, s: &TaskSequence| ByClass { classes_per_task: k }.apply(s.clone(), 0).unwrap_err().to_string();
        assert!(said(0, &whole).contains("at least 1"));
        assert!(said(3, &whole).contains("there are 3 classes: it must be at most 2"), "{}", said(3, &whole));
        let tasks = ByClass { classes_per_task: 1 }.apply(whole.clone(), 0).unwrap();
        assert!(said(1, &tasks).contains("there are 3 tasks already"));
        let real = Task { y: Mat::from_fn(4, 1, |i, _| i as f64 + 0.5), ..whole.tasks[0].clone() };
        assert!(said(1, &TaskSequence::new(vec![real]).unwrap()).contains("name no classes"));
        assert!(whole.one_set().unwrap().ends_with("--classes-per-task 2 (2 tasks)"));
        assert_eq!(tasks.one_set(), None);
    }
}
