//! Flags made from the fields of a request: parser, help, completions and manual follow from the declarations.

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use ebbing::request::{Door, Field, Fields, Kind, Value};
use std::ffi::OsStr;

/// The flags of a request.
#[derive(Debug, Clone, Default)]
pub struct Flags<R>(pub R);

impl<R: Fields> Args for Flags<R> {
    fn augment_args(command: Command) -> Command {
        R::fields().iter().fold(command, |command, field| command.arg(flag::<R>(field)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<R: Fields> FromArgMatches for Flags<R> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Flags(R::default());
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let typed = |field: &&Field| matches.value_source(field.key) == Some(ValueSource::CommandLine);
        R::fields().iter().filter(typed).try_for_each(|field| {
            let value = match field.kind {
                Kind::Switch => Value::Switch(true),
                _ => one_of(matches.get_many(field.key).into_iter().flatten().cloned().collect()),
            };
            self.0.set(field.key, &value).map_err(refused)
        })
    }
}

/// One value, or all of several.
fn one_of(mut values: Vec<Value>) -> Value {
    if values.len() == 1 { values.swap_remove(0) } else { Value::List(values) }
}

fn refused(error: ebbing::Error) -> clap::Error {
    clap::Error::raw(ErrorKind::ValueValidation, Door::Program.say(error))
}

/// The flag of a field.
fn flag<R: Fields>(field: &'static Field) -> Arg {
    let usual = field.usual.map_or(String::new(), |usual| format!(" [default: {usual}]"));
    let arg = Arg::new(field.key).help(format!("{}{usual}", field.help)).help_heading(field.group);
    let arg = if field.positional { arg } else { arg.long(field.key.replace('_', "-")).short(field.short) };
    if field.kind == Kind::Switch {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg
        .value_name(field.value.map_or_else(|| field.key.to_uppercase(), String::from))
        .value_parser(OfField { field, check: |key, value| R::default().set(key, value) });
    let arg = match &field.default {
        Some(Value::List(all)) if all.is_empty() => arg,
        Some(default) => arg.default_value(default.to_string()),
        None => arg,
    };
    match field.kind {
        Kind::List(_) if field.several => arg.num_args(1..).action(ArgAction::Append),
        Kind::List(_) => arg.value_delimiter(',').action(ArgAction::Append),
        _ => arg,
    }
}

/// Reads a value of a field, and knows its words for help and completion.
#[derive(Clone)]
struct OfField {
    field: &'static Field,
    check: fn(&str, &Value) -> ebbing::Result<()>,
}

impl TypedValueParser for OfField {
    type Value = Value;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, typed: &OsStr) -> Result<Value, clap::Error> {
        let path =
            matches!(&self.field.kind, Kind::Path) || matches!(&self.field.kind, Kind::List(of) if **of == Kind::Path);
        let value = match typed.to_str() {
            Some(word) if !path => Value::Word(word.into()),
            _ => Value::Path(typed.into()),
        };
        (self.check)(self.field.key, &value).map_err(|error| refused(error).with_cmd(command))?;
        Ok(value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let words = self.field.kind.words();
        let value = |(word, help): &(&'static str, &'static str)| PossibleValue::new(*word).help(*help);
        (!words.is_empty()).then(|| Box::new(words.iter().map(value)) as Box<_>)
    }
}
