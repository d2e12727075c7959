//! How fields are written where users meet them: as flags, as keys of files, in an address, as arguments of Python.

use super::field::{Field, Fields, Value};
use super::{AdviseRequest, CheckRequest, ForecastRequest, PhaseRequest, SampleRequest, TaskFields, TrainRequest};
use crate::error::Error;

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The program: `--max-p`.
    Program,
    /// A file: `max_p`.
    File,
    /// The address of the page: `max-p`.
    Page,
    /// Python: `max_p`, and `lam`, since `lambda` is a word of the language.
    Python,
}

impl Door {
    /// A key as it is written here.
    pub fn name(self, key: &str) -> String {
        match self {
            Door::Program => format!("--{}", key.replace('_', "-")),
            Door::File => key.replace('-', "_"),
            Door::Page => key.replace('_', "-"),
            Door::Python if key == "lambda" => "lam".into(),
            Door::Python => key.replace('-', "_"),
        }
    }

    /// A sentence with its flags as they are written here.
    pub fn words(self, text: &str) -> String {
        let mut said = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("--") {
            let (before, from) = rest.split_at(at);
            let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let end = from[2..].find(|c| !word(c)).map_or(from.len(), |n| n + 2);
            let flag = from[2..end].trim_end_matches('-');
            let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '-');
            said += before;
            said += &if begins && flag.starts_with(|c: char| c.is_ascii_lowercase()) {
                self.name(flag)
            } else {
                format!("--{flag}")
            };
            rest = &from[2 + flag.len()..];
        }
        said + rest
    }

    /// An error with the field that the user knows in the place of the library's setting.
    pub fn say(self, error: Error) -> Error {
        match error {
            Error::Setting { name, value, expected } => {
                let name = match (name.strip_prefix("--"), setting(&name)) {
                    (Some(flag), _) => self.name(flag),
                    (None, Some(field)) => self.name(field.key),
                    (None, None) => name,
                };
                Error::setting(name, value, self.words(&expected))
            }
            other => other,
        }
    }
}

/// The field that sets what the library calls `name`.
fn setting(name: &str) -> Option<&'static Field> {
    let all = [
        ForecastRequest::fields(),
        AdviseRequest::fields(),
        PhaseRequest::fields(),
        TrainRequest::fields(),
        SampleRequest::fields(),
        CheckRequest::fields(),
    ];
    let find = |is: &dyn Fn(&&&Field) -> bool| all.iter().flat_map(|fields| fields.iter()).find(|field| is(&field));
    find(&|field| field.sets.contains(&name)).or_else(|| find(&|field| field.key == name))
}

/// An argument as it can be typed again in a shell.
pub fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_string()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

/// The line that computes a request in a shell: every field that is not at its default.
pub(super) fn command_line(command: &str, request: &impl Fields) -> String {
    let mut words = vec!["ebbing".to_string(), command.to_string()];
    for (field, value) in request.given() {
        words.extend((!field.positional).then(|| field.flag()));
        match value {
            Value::Switch(_) => {}
            Value::List(all) if field.several => words.extend(all.iter().map(|one| quoted(&one.to_string()))),
            value => words.push(quoted(&value.to_string())),
        }
    }
    words.join(" ")
}

/// The lines of Python that compute a request: every field that is not at its default, those of the tasks where they are drawn.
pub(super) fn python<R: Fields>(command: &str, request: &R) -> String {
    let mut calls = [vec![], vec!["tasks".to_string()]];
    // Tasks that a command draws in a way of its own.
    let usual = R::field("protocol").and_then(|field| field.usual);
    let drawn = |key: &str| request.get(key).is_none();
    if usual != TaskFields::field("protocol").and_then(|field| field.usual) && drawn("protocol") && drawn("tasks") {
        calls[0].extend(usual.map(|usual| format!("protocol={}", literal(&usual.into()))));
    }
    for (field, value) in request.given() {
        let argument = format!("{}={}", Door::Python.name(field.key), literal(&value));
        // The search for an order is no part of drawing tasks.
        let of_tasks = TaskFields::field(field.key).is_some() && !(field.key == "order" && value == "best".into());
        calls[usize::from(!of_tasks)].push(argument);
    }
    let [drawn, asked] = calls.map(|arguments| arguments.join(", "));
    format!("import ebbing\n\ntasks = ebbing.tasks.draw({drawn})\nanswer = ebbing.{command}({asked})\nprint(answer)")
}

/// A value as Python writes it.
fn literal(value: &Value) -> String {
    match value {
        Value::Switch(yes) => if *yes { "True" } else { "False" }.into(),
        Value::Number(x) if !x.is_finite() => format!("float(\"{x}\")"),
        Value::Word(_) | Value::Path(_) => serde_json::Value::from(value.to_string()).to_string(),
        Value::List(all) => format!("[{}]", all.iter().map(literal).collect::<Vec<_>>().join(", ")),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn sentences_have_the_words_of_their_door() {
        let error = || Error::setting("resamples", 5, "needs --max-p, or a dash -- as here");
        let said = |door: Door| door.say(error()).to_string();
        assert_eq!(said(Door::Program), "--bootstrap is 5; needs --max-p, or a dash -- as here");
        assert_eq!(said(Door::File), "bootstrap is 5; needs max_p, or a dash -- as here");
        assert_eq!(said(Door::Page), "bootstrap is 5; needs max-p, or a dash -- as here");
        let lambda = Door::Python.say(Error::setting("lambda", -1, "must be at least 0")).to_string();
        assert_eq!(lambda, "lam is -1; must be at least 0");
    }

    #[test]
    fn a_request_is_a_line_that_reads_as_the_same_request() {
        let mut request = ForecastRequest::default();
        for (key, value) in [("seed", "3"), ("order", "2,1"), ("mode", "gibbs"), ("lambda", "10"), ("theory", "true")] {
            request.set(key, &value.into()).unwrap();
        }
        let line = request.command_line("forecast");
        assert_eq!(line, "ebbing forecast --order 2,1 --seed 3 --theory --mode gibbs --lambda 10");
        let python = request.python("forecast");
        assert!(python.contains("ebbing.tasks.draw(protocol=\"class-incremental\", order=[2, 1], seed=3)"), "{python}");
        assert!(python.contains("ebbing.forecast(tasks, theory=True, mode=\"gibbs\", lam=10)"), "{python}");
        request = ForecastRequest::default();
        request.set("order", &"best".into()).unwrap();
        assert!(request.python("forecast").contains("ebbing.forecast(tasks, order=\"best\")"));
        request = ForecastRequest::default();
        request.set("features", &"a b.npz,c.npz".into()).unwrap();
        assert_eq!(request.command_line("forecast"), "ebbing forecast --features 'a b.npz' c.npz");
    }
}
