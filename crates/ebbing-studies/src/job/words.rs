//! How settings are written: words for choices, lists with commas, grids of loads. One form for flags and for study files.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ebbing::Error;
use ebbing::stats::log_grid;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use std::str::FromStr;

/// The words of the theory's modes.
pub(super) const MODES: &[(&str, &str)] = &[
    ("rf", "Random features, strong penalty: the paper's main single-head theory"),
    ("ntk", "All weights learn, strong penalty"),
    ("lazy", "All weights learn by plain gradient descent in small steps"),
    ("gibbs", "All weights learn at the penalty given by --lambda"),
];

/// The words of nonlinearities.
pub(super) const ACTIVATIONS: &[(&str, &str)] = &[
    ("relu", "max(0, z)"),
    ("linear", "z"),
    ("erf", "erf(z)"),
    ("gelu", "z Φ(z), Φ the normal distribution function"),
];

/// A flag's parser for a number: one that is too large is not taken for infinity, which has its own word.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| "must be a number".to_string())?;
    match value {
        x if x.is_nan() => Err("must be a number".into()),
        x if x.is_infinite() && !text.to_lowercase().contains("inf") => {
            Err("is too large; write inf for infinity".into())
        }
        x => Ok(x),
    }
}

/// A flag's parser for a choice that files write as a word.
pub(super) fn choice<T>(known: &'static [(&str, &str)]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    let named = known.iter().map(|(name, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(named).try_map(|word| serde_json::from_value::<T>(word.into()))
}

/// What flags say where none is given.
pub(super) fn defaults<T: clap::Args>() -> T {
    let command = T::augment_args(clap::Command::new("ebbing").no_binary_name(true));
    let none = command.get_matches_from(Vec::<String>::new());
    // No flag is required, so that reading none of them cannot fail.
    T::from_arg_matches(&none).unwrap_or_else(|error| error.exit())
}

/// A list, or a word with commas.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written<T> {
    One(T),
    List(Vec<T>),
    Word(String),
}

/// Reads a list that a file may also give as one value or as a word with commas, as flags do.
///
/// # Errors
/// Where an entry is none.
pub(super) fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + FromStr,
{
    match Written::deserialize(deserializer)? {
        Written::One(one) => Ok(vec![one]),
        Written::List(list) => Ok(list),
        Written::Word(words) => {
            let read = |word: &str| word.trim().parse().map_err(|_| D::Error::custom(format!("{word} is no entry")));
            words.split(',').map(read).collect()
        }
    }
}

/// Loads α = P/N: `from:to:count`, evenly in ln α, or a list with commas. 1 itself, where the theory has a boundary, is left
/// out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Loads(String);

impl std::fmt::Display for Loads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Loads {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Loads(text.into()))
    }
}

impl<'de> Deserialize<'de> for Loads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let joined = |list: Vec<f64>| list.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        Ok(Loads(match Written::deserialize(deserializer)? {
            Written::One(one) => joined(vec![one]),
            Written::List(list) => joined(list),
            Written::Word(word) => word,
        }))
    }
}

impl Loads {
    /// The loads, ascending.
    ///
    /// # Errors
    /// [`Error::Setting`] for text that is no grid.
    pub fn grid(&self) -> ebbing::Result<Vec<f64>> {
        let text = &self.0;
        let expected = "must be from:to:count with 0 < from < to and count of at least 2, or a list of positive loads";
        let wrong = || Error::setting("--alpha", text, expected);
        let number = |word: &str| word.trim().parse::<f64>().map_err(|_| wrong());
        let loads: Vec<f64> = match text.split(':').collect::<Vec<_>>()[..] {
            [from, to, count] => {
                let (from, to) = (number(from)?, number(to)?);
                let count: usize = count.trim().parse().map_err(|_| wrong())?;
                if !(from > 0.0 && to > from && to.is_finite() && (2..=100_000).contains(&count)) {
                    return Err(wrong());
                }
                log_grid(from, to, count)
            }
            [list] => list.split(',').map(number).collect::<ebbing::Result<_>>()?,
            _ => return Err(wrong()),
        };
        if loads.iter().any(|a| !(a.is_finite() && *a > 0.0)) {
            return Err(wrong());
        }
        let mut kept: Vec<f64> = loads.into_iter().filter(|a| (a - 1.0).abs() > 1e-9).collect();
        kept.sort_by(f64::total_cmp);
        kept.dedup();
        if kept.is_empty() {
            let expected = "holds only 1, the boundary itself, where the theory has no value";
            return Err(Error::setting("--alpha", text, expected));
        }
        Ok(kept)
    }
}

/// Settings of the library and the flags that set them.
const FLAGS: [(&str, &str); 25] = [
    ("tasks", "--length"),
    ("order", "--order"),
    ("p", "--examples"),
    ("p_test", "--test-examples"),
    ("split", "--ratio"),
    ("steps", "--intermediate"),
    ("resamples", "--bootstrap"),
    ("sigma2", "--sigma"),
    ("bias2", "--bias"),
    ("depths", "--depths"),
    ("lambdas", "--lambdas"),
    ("widths", "--widths"),
    ("dim", "--context"),
    ("whiten.ridge", "--whiten-ridge"),
    ("rho_target", "--rho-target"),
    ("rho_shared", "--rho-shared"),
    ("rho_flip", "--rho-flip"),
    ("ratio", "--ratio"),
    ("classes_per_group", "--classes-per-group"),
    ("max_steps", "--max-steps"),
    ("eta_factor", "--eta-factor"),
    ("width", "--width"),
    ("budget", "--budget"),
    ("max_p", "--max-p"),
    ("keep_forgetting_below", "--keep-forgetting-below"),
];

/// The flag that sets what the library calls `setting`; the same word where there is no other.
pub fn flag_of(setting: &str) -> &str {
    FLAGS.iter().find(|(name, _)| *name == setting).map_or(setting, |(_, flag)| flag)
}

/// σ > 0 and finite.
pub(super) fn checked_sigma(sigma: f64) -> ebbing::Result<f64> {
    if sigma.is_finite() && sigma > 0.0 {
        return Ok(sigma);
    }
    Err(Error::setting("--sigma", sigma, "must be positive and finite"))
}

/// `σ_b²` of biases with a deviation ≥ 0; features have no layers for them.
pub(super) fn bias2(bias: f64, features: bool) -> ebbing::Result<f64> {
    match bias {
        b if !(b.is_finite() && b >= 0.0) => Err(Error::setting("--bias", b, "must be at least 0 and finite")),
        b if features && b > 0.0 => {
            Err(Error::setting("--bias", b, "must be 0 with --features: there is no network to have biases"))
        }
        b => Ok(b.powi(2)),
    }
}

/// `σ_a²` of readouts with a deviation of their own.
pub(super) fn readout_sigma2(sigma: Option<f64>) -> ebbing::Result<Option<f64>> {
    match sigma {
        Some(sigma) if !(sigma.is_finite() && sigma > 0.0) => {
            Err(Error::setting("--sigma-readout", sigma, "must be positive and finite"))
        }
        sigma => Ok(sigma.map(|sigma| sigma.powi(2))),
    }
}

/// At least one seed, and not more than anybody averages over.
pub(super) fn checked_seeds(seeds: usize) -> ebbing::Result<usize> {
    const MOST: usize = 100_000;
    if (1..=MOST).contains(&seeds) {
        return Ok(seeds);
    }
    Err(Error::setting("--seeds", seeds, format!("must be at least 1 and at most {MOST}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers() {
        assert_eq!(
            ["-0.5", "1e3", "inf", "-inf"].map(|t| number(t).unwrap()),
            [-0.5, 1e3, f64::INFINITY, f64::NEG_INFINITY]
        );
        assert!(["1e400", "-1e400", "nan", "", "1,5", "0x10"].iter().all(|text| number(text).is_err()));
    }

    #[test]
    fn grids_are_read() {
        let grid = |text: &str| text.parse::<Loads>().unwrap().grid();
        assert_eq!(grid("0.5,2,2").unwrap(), [0.5, 2.0]);
        let three = grid("0.1:10:3").unwrap();
        assert_eq!(three.len(), 2, "1 itself is left out: {three:?}");
        for bad in ["", "a", "0:1:5", "2:1:5", "1:2", "1:2:1", "-1", "1", "nan", "0.1:inf:4"] {
            let message = grid(bad).unwrap_err().to_string();
            assert!(message.starts_with("--alpha is"), "{message}");
        }
    }

    #[test]
    fn files_may_write_lists_and_grids_as_they_like() {
        let loads = |json: &str| serde_json::from_str::<Loads>(json).unwrap().to_string();
        assert_eq!([loads("[0.5, 2]"), loads("3"), loads("\"0.1:2:5\"")], ["0.5,2", "3", "0.1:2:5"]);
        #[derive(Deserialize)]
        struct Lists {
            #[serde(deserialize_with = "list")]
            depths: Vec<usize>,
        }
        for json in ["[1, 3]", "\"1,3\""] {
            assert_eq!(serde_json::from_str::<Lists>(&format!("{{\"depths\": {json}}}")).unwrap().depths, [1, 3]);
        }
        assert!(serde_json::from_str::<Lists>("{\"depths\": \"1,x\"}").is_err());
    }
}
