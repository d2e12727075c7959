//! From keys and values, as study files hold them, to a typed request.

use super::{AdviseJob, ForecastJob, Job, PhaseJob, SampleJob, TrainJob};
use crate::cell::Value;
use ebbing::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Keys that a study makes itself: from its seeds, its folder and its grid.
const OF_THE_STUDY: [&str; 13] = [
    "seed",
    "seeds",
    "depths",
    "lambdas",
    "widths",
    "no_order",
    "convention",
    "sweep",
    "values",
    "curves",
    "loads",
    "pairs",
    "representation",
];

/// The keys of a command that a study may set.
pub(super) fn of(command: &str) -> Vec<String> {
    let fields = match command {
        "forecast" => fields(&ForecastJob::default()),
        "phase" => fields(&PhaseJob::default()),
        "train" => fields(&TrainJob::default()),
        "sample" => fields(&SampleJob::default()),
        "advise" => fields(&AdviseJob::default()),
        _ => Vec::new(),
    };
    // The width of `phase` places one width in the diagram; a study has loads instead.
    let hidden = |key: &String| OF_THE_STUDY.contains(&key.as_str()) || (command == "phase" && key == "width");
    fields.into_iter().filter(|key| !hidden(key)).collect()
}

fn fields(settings: &impl Serialize) -> Vec<String> {
    match serde_json::to_value(settings) {
        Ok(Json::Object(map)) => map.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    }
}

/// The request of a command with its settings.
pub(super) fn read(command: &str, settings: &BTreeMap<&str, &Value>) -> ebbing::Result<Job> {
    let map: Map<String, Json> = settings.iter().map(|(key, value)| (key.to_string(), json(value))).collect();
    Ok(match command {
        "forecast" => Job::Forecast(Box::new(typed::<ForecastJob>(map)?)),
        "phase" => Job::Phase(Box::new(typed::<PhaseJob>(map)?)),
        "train" => Job::Train(Box::new(typed::<TrainJob>(map)?)),
        "sample" => Job::Sample(Box::new(typed::<SampleJob>(map)?)),
        "advise" => Job::Advise(Box::new(typed::<AdviseJob>(map)?)),
        other => return Err(Error::setting("command", other, format!("must be one of {}", Job::COMMANDS.join(", ")))),
    })
}

/// A value as typed settings read it: a number that is whole may count something, however it was written.
fn json(value: &Value) -> Json {
    match value {
        Value::Integer(n) => json!(n),
        Value::Number(x) if x.fract() == 0.0 && x.abs() < 9e15 => json!(*x as i64),
        Value::Number(x) if x.is_finite() => json!(x),
        Value::Text(text) if text == "true" || text == "false" => json!(text == "true"),
        other => json!(other.to_string()),
    }
}

fn typed<T: DeserializeOwned>(map: Map<String, Json>) -> ebbing::Result<T> {
    let whole = serde_json::from_value(Json::Object(map.clone()));
    whole.map_err(|error| {
        // Every key has a default, so that the one at fault fails by itself too.
        let fails = |(key, value): &(&String, &Json)| {
            serde_json::from_value::<T>(Json::Object(Map::from_iter([(key.to_string(), (*value).clone())]))).is_err()
        };
        match map.iter().find(fails) {
            Some((key, Json::String(word))) => Error::setting(key, word, expected(&error.to_string())),
            Some((key, value)) => Error::setting(key, value, expected(&error.to_string())),
            None => Error::data("the settings", error.to_string()),
        }
    })
}

/// What would be right, in the words of users.
fn expected(message: &str) -> String {
    let kinds = [
        ("expected usize", "must be a whole number, at least 0"),
        ("expected u64", "must be a whole number, at least 0"),
        ("expected f64", "must be a number"),
        ("expected a boolean", "must be true or false"),
        ("untagged enum", "must be a list of numbers"),
    ];
    let known = kinds.iter().find(|(said, _)| message.contains(said)).map(|(_, words)| words.to_string());
    known.unwrap_or_else(|| match message.split_once("expected ") {
        Some((_, rest)) => format!("must be {}", rest.trim_start_matches("one of ").replace('`', "")),
        None => message.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(command: &str, settings: &[(&str, Value)]) -> ebbing::Result<Job> {
        read(command, &settings.iter().map(|(key, value)| (*key, value)).collect())
    }

    #[test]
    fn settings_become_a_typed_request() {
        let settings = [
            ("depth", Value::Number(3.0)),
            ("mode", "gibbs".into()),
            ("lambda", Value::Number(f64::INFINITY)),
            ("ratio", Value::Integer(1)),
            ("variance", "true".into()),
        ];
        let Job::Forecast(made) = job("forecast", &settings).unwrap() else { panic!("it is a forecast") };
        let expected = ForecastJob { depth: 3, variance: true, ..ForecastJob::default() };
        assert_eq!((made.depth, made.variance, made.tasks.ratio), (expected.depth, true, Some(1.0)));
        assert!(made.lambda.is_infinite());
    }

    #[test]
    fn the_key_at_fault_is_named() {
        for (command, key, value, words) in [
            ("train", "width", Value::from("wide"), "width is wide; must be a whole number, at least 0"),
            ("train", "width", Value::from(1.5), "width is 1.5; must be a whole number, at least 0"),
            ("train", "kappa", Value::from("much"), "kappa is much; must be a number"),
            ("forecast", "variance", Value::from("maybe"), "variance is maybe; must be true or false"),
            ("forecast", "mode", Value::from("hard"), "mode is hard; must be rf, ntk, lazy, gibbs"),
        ] {
            let said = job(command, &[("examples", Value::Integer(40)), (key, value)]).unwrap_err().to_string();
            assert_eq!(said, words);
        }
    }

    #[test]
    fn a_study_does_not_set_what_it_makes_itself() {
        for command in Job::COMMANDS {
            let keys = of(command);
            assert!(keys.contains(&"ratio".into()) && keys.contains(&"whiten_ridge".into()), "{keys:?}");
            assert!(!keys.contains(&"seed".into()) && !keys.contains(&"seeds".into()), "{keys:?}");
        }
        assert!(of("train").contains(&"width".into()) && !of("phase").contains(&"width".into()));
    }
}
