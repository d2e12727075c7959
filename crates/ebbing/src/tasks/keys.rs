//! Names that are not known, and the known name that was probably meant.

use crate::error::Error;
use serde::Serialize;
use std::path::Path;

/// The refusal of an unknown `key` in a file, with the nearest known one; `what` says what the key is.
pub fn unknown_key(path: &Path, what: &str, key: &str, known: &[String]) -> Error {
    let expected = match nearest(key, known) {
        Some(near) => format!("the nearest known one is `{near}` (known are {})", known.join(", ")),
        None => "nothing is expected here".into(),
    };
    Error::file(path, what, format!("`{key}`, which is unknown"), expected)
}

/// The known word with the smallest edit distance (the first of several).
pub(super) fn nearest<'a>(word: &str, known: &'a [String]) -> Option<&'a str> {
    known.iter().min_by_key(|other| distance(word, other)).map(String::as_str)
}

/// The names of the fields of a settings struct.
pub(super) fn fields(settings: &impl Serialize) -> Vec<String> {
    match serde_json::to_value(settings) {
        Ok(serde_json::Value::Object(map)) => map.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    }
}

/// Levenshtein's edit distance: single-character insertions, deletions and replacements.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let replace = last[j] + usize::from(ca != *cb);
            next.push(replace.min(last[j + 1] + 1).min(next[j] + 1));
        }
        last = next;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_nearest_names() {
        for (a, b, d) in [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("ratoi", "ratio", 2), ("p", "p", 0)] {
            assert_eq!(distance(a, b), d, "{a} {b}");
            assert_eq!(distance(b, a), d, "{b} {a}");
        }
        let known: Vec<String> = ["tasks", "p", "p_test", "ratio"].map(String::from).to_vec();
        assert_eq!(nearest("ratoi", &known), Some("ratio"));
        assert_eq!(nearest("ptest", &known), Some("p_test"));
        assert_eq!(nearest("x", &[]), None);
    }
}
