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

/// The known word with the smallest edit distance (Levenshtein's; the first of several).
pub(super) fn nearest<'a>(word: &str, known: &'a [String]) -> Option<&'a str> {
    known.iter().min_by_key(|other| strsim::levenshtein(word, other)).map(String::as_str)
}

/// The names of the fields of a settings struct.
pub(super) fn fields(settings: &impl Serialize) -> Vec<String> {
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
