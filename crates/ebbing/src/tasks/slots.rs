//! Which array of a file is what: `x_1, y_1, x_1_test, …` of numbered tasks, or one set of examples under any of its usual names.

use crate::data::Array;
use crate::error::{Error, Result};
use std::path::Path;

/// Which array of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    X,
    Y,
    XTest,
    YTest,
    F,
    FTest,
    /// The names of the classes that labels 0, 1, … stand for.
    Names,
}

/// The letter of every array of a task, and whether `_test` stands behind it.
const SLOTS: [(&str, bool, Slot); 6] = [
    ("x", false, Slot::X),
    ("y", false, Slot::Y),
    ("x", true, Slot::XTest),
    ("y", true, Slot::YTest),
    ("f", false, Slot::F),
    ("f", true, Slot::FTest),
];

/// What inputs are called.
const INPUTS: [&str; 12] = [
    "x",
    "features",
    "feature",
    "feats",
    "inputs",
    "input",
    "data",
    "embeddings",
    "embedding",
    "emb",
    "images",
    "image",
];
/// What targets are called.
const TARGETS: [&str; 7] = ["y", "labels", "label", "targets", "target", "classes", "class"];
/// What the part to learn from is called.
const TRAIN: [&str; 2] = ["train", "training"];
/// What held-out examples are called.
const TEST: [&str; 6] = ["test", "testing", "val", "valid", "validation", "dev"];

/// The names that messages list.
pub(super) const KNOWN: [&str; 12] =
    ["x_1", "y_1", "x_1_test", "y_1_test", "f_1", "f_1_test", "x", "y", "x_test", "y_test", "f", "f_test"];

/// Task number, where one is given, and slot of an array name.
pub(super) fn slot_of(name: &str) -> Option<(Option<usize>, Slot)> {
    numbered(name).or_else(|| usual(name).map(|slot| (None, slot)))
}

/// `x`, `y_test`, `x_3`, `f_3_test`.
fn numbered(name: &str) -> Option<(Option<usize>, Slot)> {
    let (rest, test) = name.strip_suffix("_test").map_or((name, false), |rest| (rest, true));
    let (letter, number) = rest.split_once('_').map_or((rest, None), |(letter, number)| (letter, Some(number)));
    let number = match number {
        None => None,
        // Leading zeros would let two names mean one array.
        Some(digits) => Some(digits.parse::<usize>().ok().filter(|n| n.to_string() == digits)?),
    };
    let (.., slot) = SLOTS.into_iter().find(|(known, of_test, _)| (letter, test) == (*known, *of_test))?;
    Some((number, slot))
}

/// `X_train`, `train_features`, `testLabels`, `class_names`: a word for what it is, and at most one for the part.
fn usual(name: &str) -> Option<Slot> {
    let words = words_of(name)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["names"] | ["class" | "classes" | "label" | "labels" | "target", "names"] = words[..] {
        return Some(Slot::Names);
    }
    let (what, test) = match words[..] {
        [one] => (one, false),
        [what, part] | [part, what] if TRAIN.contains(&part) => (what, false),
        [what, part] | [part, what] if TEST.contains(&part) => (what, true),
        _ => return None,
    };
    match (INPUTS.contains(&what), TARGETS.contains(&what), test) {
        (true, _, false) => Some(Slot::X),
        (true, _, true) => Some(Slot::XTest),
        (_, true, false) => Some(Slot::Y),
        (_, true, true) => Some(Slot::YTest),
        _ => None,
    }
}

/// The words of a name in small letters: `X_train`, `xTrain` and `Xtrain` are `x` and `train`; none for a name with an empty one.
fn words_of(name: &str) -> Option<Vec<String>> {
    let mut words = vec![];
    for part in name.split(['_', '-', '.', ' ']) {
        let mut start = 0;
        let letters: Vec<(usize, char)> = part.char_indices().collect();
        for pair in letters.windows(2) {
            if pair[0].1.is_lowercase() && pair[1].1.is_uppercase() {
                words.push(part[start..pair[1].0].to_lowercase());
                start = pair[1].0;
            }
        }
        words.push(part[start..].to_lowercase());
    }
    if words.iter().any(String::is_empty) {
        return None;
    }
    if let [one] = &words[..] {
        let parts = TRAIN.iter().chain(&TEST);
        let mut glued = parts.filter_map(|part| {
            let before = one.strip_prefix(part).map(|rest| (rest, part));
            before
                .or_else(|| one.strip_suffix(part).map(|rest| (rest, part)))
                .filter(|(rest, _)| ["x", "y"].contains(rest))
        });
        if let Some((what, part)) = glued.next_back() {
            return Some(vec![what.to_string(), part.to_string()]);
        }
    }
    Some(words)
}

/// The name that is meant by one with its number at the end, as `x_test_1`.
pub(super) fn turned(name: &str) -> Option<String> {
    let (letter, number) = name.split_once("_test_")?;
    let right = format!("{letter}_{number}_test");
    numbered(&right).map(|_| right)
}

/// The plain name of a slot.
pub(super) fn slot_name(number: Option<usize>, slot: Slot) -> String {
    let number = number.map_or(String::new(), |number| format!("_{number}"));
    let named = SLOTS.into_iter().find(|(.., known)| *known == slot);
    named.map_or("class_names".into(), |(letter, test, _)| {
        format!("{letter}{number}{}", if test { "_test" } else { "" })
    })
}

/// Inputs need two axes or more, targets one or two.
pub(super) fn check_shape(file: &Path, name: &str, slot: Slot, array: &Array) -> Result<()> {
    let axes = array.shape.len();
    let (fits, expected) = match slot {
        Slot::X | Slot::XTest => (axes >= 2, "inputs need two axes or more: examples first, then features"),
        Slot::Names => (axes == 1, "names of classes need one axis"),
        _ => ((1..=2).contains(&axes), "targets need one axis (examples) or two (examples, columns)"),
    };
    if matches!(slot, Slot::X | Slot::XTest) {
        array.require_numbers(file, &format!("array {name}"))?;
    }
    if fits { Ok(()) } else { Err(Error::file(file, format!("the number of axes of array {name}"), axes, expected)) }
}

/// An array of a MATLAB file, which knows no vectors: a row or a column of targets is one.
pub(super) fn upright((name, mut array): (String, Array)) -> (String, Array) {
    let vector = !matches!(slot_of(&name), None | Some((_, Slot::X | Slot::XTest)));
    if vector && array.shape.len() == 2 && array.shape.contains(&1) {
        array.shape = vec![array.values.len()];
    }
    (name, array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_names_are_taken_by_the_letter() {
        assert_eq!(slot_of("x_12_test"), Some((Some(12), Slot::XTest)));
        assert_eq!(slot_of("x_0"), Some((Some(0), Slot::X)));
        assert_eq!(slot_of("y"), Some((None, Slot::Y)));
        for bad in ["x_01", "x_", "z_1", "x_1_tset", "x_-1", "", "x_1_2", "f_train", "xy", "test", "x_train_test"] {
            assert_eq!(slot_of(bad), None, "{bad}");
        }
        assert_eq!(turned("x_test_3").as_deref(), Some("x_3_test"));
        for bad in ["z_test_1", "x_test_a", "x_tset_1"] {
            assert_eq!(turned(bad), None, "{bad}");
        }
    }

    #[test]
    fn usual_names_of_one_set_are_known() {
        use Slot::{Names, X, XTest, Y, YTest};
        for (name, slot) in [
            ("X", X),
            ("x_train", X),
            ("X_train", X),
            ("Xtrain", X),
            ("trainX", X),
            ("features", X),
            ("train_features", X),
            ("embeddings", X),
            ("data", X),
            ("labels", Y),
            ("target", Y),
            ("y_train", Y),
            ("YTrain", Y),
            ("train_labels", Y),
            ("ytr_ain", Y),
            ("X_test", XTest),
            ("xtest", XTest),
            ("test_features", XTest),
            ("x_val", XTest),
            ("validation_labels", YTest),
            ("testLabels", YTest),
            ("class_names", Names),
            ("label_names", Names),
        ] {
            let found = slot_of(name);
            match name {
                "ytr_ain" => assert_eq!(found, None),
                _ => assert_eq!(found, Some((None, slot)), "{name}"),
            }
        }
    }
}
