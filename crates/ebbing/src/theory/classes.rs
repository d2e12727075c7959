//! Which class every row of targets names, and what that class is called.

use crate::error::{Error, Result};
use crate::linalg::{MatRef, not_finite};
use crate::metrics::names_classes;
use crate::tasks::{Provenance, TargetRule};

/// The number of classes that targets of so many columns can name: two of one column (−1 and +1), else one of each column.
pub(crate) fn class_count(columns: usize) -> usize {
    if columns == 1 { 2 } else { columns }
}

/// The class of every row, from 0: of one column 0 where it is negative and 1 where it is positive, of several the column of the
/// single largest entry. A zero, and rows without a single largest entry, name none.
///
/// # Errors
/// [`Error::Data`] where targets are real numbers, not finite, or name no class at all; `what` names them.
pub(crate) fn classes_of(y: MatRef<'_, f64>, what: &str) -> Result<Vec<Option<usize>>> {
    if let Some((i, j)) = not_finite(y) {
        let problem = format!("target row {}, column {} is {}; every value must be finite", i + 1, j + 1, y[(i, j)]);
        return Err(Error::data(what, problem));
    }
    if !(0..y.ncols()).all(|j| names_classes(y, j)) {
        let problem = "its targets are real numbers; classes are needed: ±1 in one column, or one column per class";
        return Err(Error::data(what, problem));
    }
    let of: Vec<Option<usize>> = (0..y.nrows()).map(|i| class_of(y, i)).collect();
    if of.iter().all(Option::is_none) {
        return Err(Error::data(what, "no row names a class; labels other than zero are needed"));
    }
    Ok(of)
}

fn class_of(y: MatRef<'_, f64>, i: usize) -> Option<usize> {
    if y.ncols() == 1 {
        return (y[(i, 0)] != 0.0).then(|| usize::from(y[(i, 0)] > 0.0));
    }
    let top = (0..y.ncols()).map(|j| y[(i, j)]).fold(f64::NEG_INFINITY, f64::max);
    let mut best = (0..y.ncols()).filter(|&j| y[(i, j)] == top);
    best.next().filter(|_| best.next().is_none())
}

/// What each class is called: the label that its column stands for where that is known, otherwise its sign or its column from 1.
pub(crate) fn class_names(settings: &Provenance, columns: usize) -> Vec<String> {
    match settings.target_rule() {
        TargetRule::Signs(two) if columns == 1 => two.iter().map(ToString::to_string).collect(),
        TargetRule::OneHot(all) if columns == all.len() => all.iter().map(ToString::to_string).collect(),
        _ if columns == 1 => vec!["-1".into(), "+1".into()],
        _ => (1..=columns).map(|j| format!("column {j}")).collect(),
    }
}

/// The classes that occur, ascending.
pub(crate) fn occurring(of: &[Option<usize>], count: usize) -> Vec<usize> {
    let mut seen = vec![false; count];
    of.iter().flatten().for_each(|&class| seen[class] = true);
    (0..count).filter(|&class| seen[class]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Mat;
    use crate::tasks::Class;

    fn column(values: &[f64]) -> Mat<f64> {
        Mat::from_fn(values.len(), 1, |i, _| values[i])
    }

    #[test]
    fn signs_and_columns_name_classes() {
        let signs = classes_of(column(&[-2.0, 0.0, 2.0]).as_ref(), "task 1").unwrap();
        assert_eq!(signs, [Some(0), None, Some(1)]);
        let hot = Mat::from_fn(3, 3, |i, j| f64::from(u8::from(i < 2 && j == 2 - i)));
        assert_eq!(classes_of(hot.as_ref(), "task 1").unwrap(), [Some(2), Some(1), None]);
        assert_eq!(occurring(&[Some(2), None, Some(0), Some(2)], 4), [0, 2]);
        assert_eq!((class_count(1), class_count(7)), (2, 7));
    }

    #[test]
    fn what_names_no_class_is_refused_in_one_sentence() {
        let said = |y: Mat<f64>| classes_of(y.as_ref(), "task 2").unwrap_err().to_string();
        assert!(said(column(&[0.1, 0.7, -1.3])).contains("real numbers"));
        assert!(said(column(&[0.0, 0.0])).contains("no row names a class"));
        assert!(said(column(&[1.0, f64::NAN])).contains("row 2"));
    }

    #[test]
    fn classes_keep_the_names_of_their_labels() {
        let rule = |targets| Provenance { targets: Some(targets), ..Provenance::default() };
        let (cat, dog) = (Class::Name("cat".into()), Class::Name("dog".into()));
        assert_eq!(class_names(&rule(TargetRule::Signs([cat.clone(), dog.clone()])), 1), ["cat", "dog"]);
        assert_eq!(class_names(&rule(TargetRule::OneHot(vec![cat, dog, Class::Number(3)])), 3), ["cat", "dog", "3"]);
        assert_eq!(class_names(&Provenance::default(), 1), ["-1", "+1"]);
        assert_eq!(class_names(&Provenance::default(), 2), ["column 1", "column 2"]);
    }
}
