//! Infinity in files is the word "inf", since JSON has no number for it; `null` is read as infinity too.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Word(String),
    Nothing(()),
}

/// Writes a number, or "inf".
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if *value == f64::INFINITY { serializer.serialize_str("inf") } else { serializer.serialize_f64(*value) }
}

/// Reads a number, "inf" or null.
///
/// # Errors
/// For any other word.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match Written::deserialize(deserializer)? {
        Written::Number(value) => Ok(value),
        Written::Nothing(()) => Ok(f64::INFINITY),
        Written::Word(word) if word == "inf" => Ok(f64::INFINITY),
        Written::Word(word) => Err(D::Error::custom(format!("\"{word}\" is neither a number nor \"inf\""))),
    }
}

/// The same for lists.
pub mod list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// One number of a list.
    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Number(#[serde(with = "super")] f64);

    /// Writes numbers, or "inf".
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|&value| Number(value)))
    }

    /// Reads numbers, "inf" or null.
    ///
    /// # Errors
    /// For any other word.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        Ok(Vec::<Number>::deserialize(deserializer)?.into_iter().map(|Number(value)| value).collect())
    }
}
