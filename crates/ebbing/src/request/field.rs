//! Fields: what a request can ask for, each declared once with its key, type, default, range, unit and one sentence of help.
//! Flags, keys of files, addresses, signatures and error sentences are made from these declarations.

use super::door::Door;
use super::words::{Choice, number};
use crate::error::{Error, Result};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// A value on its way into a field, however it was written.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// True or false.
    Switch(bool),
    /// A whole number, at least 0.
    Whole(u64),
    /// A number; infinity is one.
    Number(f64),
    /// A word, or anything as it was typed.
    Word(String),
    /// A file or folder, whose name may be no text.
    Path(PathBuf),
    /// Several values.
    List(Vec<Value>),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Switch(yes) => yes.fmt(f),
            Value::Whole(n) => n.fmt(f),
            Value::Number(x) => x.fmt(f),
            Value::Word(word) => word.fmt(f),
            Value::Path(path) => path.display().fmt(f),
            Value::List(all) => all.iter().map(Value::to_string).collect::<Vec<_>>().join(",").fmt(f),
        }
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Value {
        Value::Word(word.into())
    }
}

impl From<&Json> for Value {
    fn from(json: &Json) -> Value {
        match json {
            Json::Bool(yes) => Value::Switch(*yes),
            Json::Number(n) => n.as_u64().map_or(Value::Number(n.as_f64().unwrap_or(f64::NAN)), Value::Whole),
            Json::String(word) => Value::Word(word.clone()),
            Json::Array(all) => Value::List(all.iter().map(Value::from).collect()),
            other => Value::Word(other.to_string()),
        }
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Json {
        match value {
            Value::Switch(yes) => json!(yes),
            Value::Whole(n) => json!(n),
            Value::Number(x) if x.is_finite() => json!(x),
            Value::List(all) => all.iter().map(Json::from).collect(),
            other => json!(other.to_string()),
        }
    }
}

/// What values a field takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// True or false; as a flag, given or not.
    Switch,
    /// A whole number, at least 0.
    Count,
    /// A number.
    Number,
    /// One of these words, each with what it means.
    Word(&'static [(&'static str, &'static str)]),
    /// Any text.
    Text,
    /// A file or folder.
    Path,
    /// Several of one kind, in files and flags with commas between them.
    List(Box<Kind>),
}

impl Kind {
    /// The words of a choice, or of a list of choices.
    pub fn words(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Kind::Word(words) => words,
            Kind::List(of) => of.words(),
            _ => &[],
        }
    }

    /// Its name.
    pub fn name(&self) -> String {
        match self {
            Kind::Switch => "switch".into(),
            Kind::Count => "count".into(),
            Kind::Number => "number".into(),
            Kind::Word(_) => "word".into(),
            Kind::Text => "text".into(),
            Kind::Path => "path".into(),
            Kind::List(of) => format!("list of {}", of.name()),
        }
    }
}

/// Numbers that a field takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// Whether the least is left out.
    pub open: bool,
    /// The largest.
    pub high: f64,
    /// Whether infinity is one of them.
    pub infinite: bool,
    /// Whether their squares are in the range too: of deviations, which become variances.
    pub squared: bool,
}

impl Range {
    /// Above 0 and finite.
    pub const POSITIVE: Range = Range { low: 0.0, open: true, high: f64::INFINITY, infinite: false, squared: false };
    /// At least 0 and finite.
    pub const AT_LEAST_0: Range = Range { open: false, ..Range::POSITIVE };
    /// At least 1 and finite.
    pub const AT_LEAST_1: Range = Range { low: 1.0, ..Range::AT_LEAST_0 };
    /// A standard deviation above 0.
    pub const DEVIATION: Range = Range { squared: true, ..Range::POSITIVE };
    /// A standard deviation, or 0.
    pub const DEVIATION_OR_0: Range = Range { squared: true, ..Range::AT_LEAST_0 };
    /// Above 0, or infinite.
    pub const POSITIVE_OR_INF: Range = Range { infinite: true, ..Range::POSITIVE };
    /// At least 0, or infinite.
    pub const AT_LEAST_0_OR_INF: Range = Range { infinite: true, ..Range::AT_LEAST_0 };

    fn holds(&self, x: f64) -> bool {
        let low = if self.open { x > self.low } else { x >= self.low };
        low && x <= self.high && (x.is_finite() || self.infinite)
    }
}

/// One thing that a request can ask for.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name: the key in files; the flag is the same with dashes.
    pub key: &'static str,
    /// What it does, in one sentence.
    pub help: String,
    /// What values it takes.
    pub kind: Kind,
    /// Its value where none is given; none where what happens then depends on other fields.
    pub default: Option<Value>,
    /// What happens where none is given, in words, where there is no `default`.
    pub usual: Option<&'static str>,
    /// What its numbers may be.
    pub range: Option<Range>,
    /// What its numbers count.
    pub unit: Option<&'static str>,
    /// What the help calls its value.
    pub value: Option<&'static str>,
    /// Its flag of one letter.
    pub short: Option<char>,
    /// The heading that it stands under.
    pub group: Option<&'static str>,
    /// Fields that it cannot be used with.
    pub without: &'static [&'static str],
    /// A field that it needs beside it.
    pub needs: Option<&'static str>,
    /// The field, and the words of it, that it belongs to.
    pub belongs: Option<(&'static str, &'static [&'static str])>,
    /// What the library calls the settings that it becomes, where that is another word.
    pub sets: &'static [&'static str],
    /// Whether the cells of a study may differ in it; a study makes the others itself.
    pub in_studies: bool,
    /// Whether a flag takes several values without commas between them.
    pub several: bool,
    /// Whether the program takes it without the name of a flag.
    pub positional: bool,
    /// What happens to fields of this group where none is given, in other words.
    but: Vec<(&'static str, &'static str)>,
}

impl Field {
    /// A field with its doc comment as its help.
    pub(super) fn new(key: &'static str, help: &[&str]) -> Field {
        let help: Vec<&str> = help.iter().map(|line| line.trim()).collect();
        Field {
            key,
            help: help.join(" "),
            kind: Kind::Switch,
            default: None,
            usual: None,
            range: None,
            unit: None,
            value: None,
            short: None,
            group: None,
            without: &[],
            needs: None,
            belongs: None,
            sets: &[],
            in_studies: true,
            several: false,
            positional: false,
            but: Vec::new(),
        }
    }

    pub(super) fn usual(mut self, words: &'static str) -> Field {
        self.usual = Some(words);
        self
    }

    pub(super) fn but(mut self, key: &'static str, usual: &'static str) -> Field {
        self.but.push((key, usual));
        self
    }

    pub(super) fn range(mut self, range: Range) -> Field {
        self.range = Some(range);
        self
    }

    pub(super) fn unit(mut self, unit: &'static str) -> Field {
        self.unit = Some(unit);
        self
    }

    pub(super) fn value(mut self, name: &'static str) -> Field {
        self.value = Some(name);
        self
    }

    pub(super) fn short(mut self, letter: char) -> Field {
        self.short = Some(letter);
        self
    }

    pub(super) fn without(mut self, keys: &'static [&'static str]) -> Field {
        self.without = keys;
        self
    }

    pub(super) fn needs(mut self, key: &'static str) -> Field {
        self.needs = Some(key);
        self
    }

    pub(super) fn belongs(mut self, key: &'static str, words: &'static [&'static str]) -> Field {
        self.belongs = Some((key, words));
        self
    }

    pub(super) fn sets(mut self, names: &'static [&'static str]) -> Field {
        self.sets = names;
        self
    }

    /// A study makes it itself, from its seeds and its grid.
    pub(super) fn not_in_studies(mut self) -> Field {
        self.in_studies = false;
        self
    }

    pub(super) fn positional(mut self) -> Field {
        self.positional = true;
        self
    }

    pub(super) fn several(mut self) -> Field {
        self.several = true;
        self
    }

    /// Other words, or fewer of them, than those of the type.
    pub(super) fn words(mut self, words: &'static [(&'static str, &'static str)]) -> Field {
        self.kind = Kind::Word(words);
        self
    }

    /// The flag, with which sentences of the library name the field.
    pub fn flag(&self) -> String {
        if self.positional { self.key.to_uppercase() } else { format!("--{}", self.key.replace('_', "-")) }
    }

    /// Refuses a word that is none of its words.
    fn check_words(&self, value: &Value) -> Result<()> {
        let words = self.kind.words();
        let other = |value: &&Value| words.iter().all(|(word, _)| value.to_string() != *word);
        match entries(value).iter().find(other).filter(|_| !words.is_empty()) {
            Some(bad) => Err(self.refused(bad, expected_word(words, &bad.to_string()))),
            None => Ok(()),
        }
    }

    /// Refuses a number out of its range.
    fn check_range(&self, value: &Value) -> Result<()> {
        let Some(range) = self.range else { return Ok(()) };
        for value in entries(value) {
            let number = match value {
                Value::Whole(n) => *n as f64,
                Value::Number(x) => *x,
                _ => continue,
            };
            if !range.holds(number) {
                return Err(self.refused(value, self.expected(range)));
            }
            if range.squared && !range.holds(number * number) {
                return Err(self.refused(value, format!("its square {}", self.expected(range))));
            }
        }
        Ok(())
    }

    /// What a number must be.
    fn expected(&self, range: Range) -> String {
        let list = matches!(self.kind, Kind::List(_));
        let mut text = if list { "every one must be ".to_string() } else { "must be ".to_string() };
        let counts = matches!(&self.kind, Kind::Count);
        match (range.open, self.unit) {
            (true, _) => text += "positive",
            (false, Some(unit)) => text += &format!("a number of {unit}, at least {}", range.low),
            (false, None) => text += &format!("at least {}", range.low),
        }
        match range {
            _ if range.high.is_finite() => text += &format!(" and at most {}", range.high),
            _ if range.infinite => text += " (inf is allowed)",
            _ if counts || self.unit.is_some() => {}
            _ => text += " and finite",
        }
        text
    }

    /// The refusal of a value of this field.
    pub(super) fn refused(&self, value: &Value, expected: impl Into<String>) -> Error {
        match value {
            Value::Switch(true) => Error::setting(self.flag(), "given", expected),
            value => Error::setting(self.flag(), value, expected),
        }
    }

    /// Its help in a few words: up to the first comma, colon, semicolon or bracket. Where the help says what the field is beside each
    /// word of the field that it belongs to ("Permuted: …; partial split: …"), what it is beside `word`.
    pub fn label(&self, word: Option<&str>) -> String {
        let beside = |part: &&str| {
            part.split_once(": ").is_some_and(|(head, _)| Some(head.to_lowercase().replace(' ', "-").as_str()) == word)
        };
        let own = self.help.split("; ").find(beside).and_then(|part| part.split_once(": ")).map(|(_, rest)| rest);
        let text = own.unwrap_or(&self.help);
        let ends = |c: char| matches!(c, ',' | ';' | '(' | '[') || c == ':' && self.belongs.is_none();
        let short = text.find(ends).map_or(text, |end| &text[..end]).trim();
        let mut letters = short.chars();
        letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
    }

    /// What happens beside `word` of the field that it belongs to, where none is given: of several, that of its place.
    fn usual_beside(&self, place: usize) -> Option<&'static str> {
        self.usual.map(|all| all.split(", ").nth(place).unwrap_or(all))
    }

    /// Everything about it as JSON, in the words of a door.
    pub fn describe(&self, door: Door) -> Json {
        let words = self.kind.words().iter().map(|(word, meaning)| json!([word, door.words(meaning)]));
        let beside = self.belongs.map(|(key, words)| {
            let each = words.iter().enumerate().map(|(place, word)| {
                let of = json!({ "label": door.words(&self.label(Some(word))), "usual": self.usual_beside(place) });
                (word.to_string(), of)
            });
            json!({ "name": door.name(key), "words": each.collect::<serde_json::Map<_, _>>() })
        });
        json!({
            "key": self.key,
            "name": door.name(self.key),
            "label": door.words(&self.label(None)),
            "help": door.words(&self.help),
            "kind": self.kind.name(),
            "words": words.collect::<Vec<_>>(),
            "default": self.default.as_ref().map(Json::from),
            "usual": self.usual.map(|words| door.words(words)),
            "range": self.range.map(|range| self.expected(range)),
            "low": self.range.map(|range| range.low),
            "high": self.range.map(|range| range.high).filter(|high| high.is_finite()),
            "group": self.group,
            "belongs": beside,
        })
    }
}

/// The entries of a list, or the one value.
fn entries(value: &Value) -> &[Value] {
    match value {
        Value::List(all) => all,
        one => std::slice::from_ref(one),
    }
}

/// "must be rf, ntk or lazy", and the word that was probably meant.
fn expected_word(words: &[(&str, &str)], given: &str) -> String {
    let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let listed = match all.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => all.concat(),
    };
    let near = all.iter().map(|word| (strsim::levenshtein(word, given), *word)).min();
    match near.filter(|(steps, word)| *steps <= word.len() / 3) {
        Some((_, word)) => format!("must be {listed}; did you mean {word}?"),
        None => format!("must be {listed}"),
    }
}

/// A type that a field has.
pub(super) trait FieldType: Sized {
    /// What values it takes.
    fn kind() -> Kind;
    /// The value that was written, or what would be right.
    fn read(value: &Value) -> std::result::Result<Self, String>;
    /// The value as doors write it; none where nothing is set.
    fn write(&self) -> Option<Value>;
}

impl FieldType for bool {
    fn kind() -> Kind {
        Kind::Switch
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        match value.to_string().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("must be true or false".into()),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Switch(*self))
    }
}

macro_rules! counts {
    ($($type:ty),+) => {$(
        impl FieldType for $type {
            fn kind() -> Kind {
                Kind::Count
            }

            fn read(value: &Value) -> std::result::Result<Self, String> {
                let whole = match value {
                    Value::Whole(n) => <$type>::try_from(*n).ok(),
                    Value::Number(x) if x.fract() == 0.0 && (0.0..9e15).contains(x) => Some(*x as $type),
                    Value::Word(word) => word.trim().parse().ok(),
                    _ => None,
                };
                whole.ok_or_else(|| "must be a whole number, at least 0".into())
            }

            fn write(&self) -> Option<Value> {
                Some(Value::Whole(*self as u64))
            }
        }
    )+};
}
counts!(usize, u64);

impl FieldType for f64 {
    fn kind() -> Kind {
        Kind::Number
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        match value {
            Value::Whole(n) => Ok(*n as f64),
            Value::Number(x) if !x.is_nan() => Ok(*x),
            Value::Word(word) => number(word),
            _ => Err("must be a number".into()),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Number(*self))
    }
}

impl FieldType for String {
    fn kind() -> Kind {
        Kind::Text
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        Ok(value.to_string())
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Word(self.clone()))
    }
}

impl FieldType for PathBuf {
    fn kind() -> Kind {
        Kind::Path
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        Ok(match value {
            Value::Path(path) => path.clone(),
            other => other.to_string().into(),
        })
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Path(self.clone()))
    }
}

impl<T: Choice> FieldType for T {
    fn kind() -> Kind {
        Kind::Word(T::WORDS)
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        let word = value.to_string();
        T::of(&word).ok_or_else(|| expected_word(T::WORDS, &word))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Word(self.word()))
    }
}

impl<T: FieldType> FieldType for Option<T> {
    fn kind() -> Kind {
        T::kind()
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        T::read(value).map(Some)
    }

    fn write(&self) -> Option<Value> {
        self.as_ref().and_then(T::write)
    }
}

impl<T: FieldType> FieldType for Vec<T> {
    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()))
    }

    fn read(value: &Value) -> std::result::Result<Self, String> {
        match value {
            Value::List(all) => all.iter().map(T::read).collect(),
            Value::Word(words) => words.split(',').map(|word| T::read(&word.trim().into())).collect(),
            one => Ok(vec![T::read(one)?]),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::List(self.iter().filter_map(T::write).collect()))
    }
}

/// A member of a request: one field, or a group of them that several requests share.
pub(super) trait Member {
    /// The fields, with the values here as defaults; `own` is what the request says of it.
    fn declare(&self, own: Field) -> Vec<Field>;
    /// Sets the field of a key, where it is here; the refusal says what would be right.
    fn put(&mut self, own: &str, key: &str, value: &Value) -> Option<std::result::Result<(), String>>;
    /// The value of the field of a key, where it is here.
    fn take(&self, own: &str, key: &str) -> Option<Option<Value>>;
}

impl<T: FieldType> Member for T {
    fn declare(&self, own: Field) -> Vec<Field> {
        let kind = if own.kind == Kind::Switch { T::kind() } else { own.kind.clone() };
        vec![Field { kind, default: self.write(), ..own }]
    }

    fn put(&mut self, own: &str, key: &str, value: &Value) -> Option<std::result::Result<(), String>> {
        (own == key).then(|| T::read(value).map(|read| *self = read))
    }

    fn take(&self, own: &str, key: &str) -> Option<Option<Value>> {
        (own == key).then(|| self.write())
    }
}

/// What has fields: a request, or a group of fields that several requests share.
#[allow(private_bounds, reason = "the fields of a request are declared here and nowhere else")]
pub trait Fields: Member + Clone + Default + PartialEq + 'static {
    /// All fields, in the order in which they are shown.
    fn fields() -> &'static [Field];

    /// The field of a key, with dashes or underscores.
    fn field(key: &str) -> Option<&'static Field> {
        let key = key.replace('-', "_");
        Self::fields().iter().find(|field| field.key == key)
    }

    /// Sets a field.
    ///
    /// # Errors
    /// [`Error::Setting`] for a key that is none, with the nearest one, and for a value that is none of its field, with what
    /// would be right.
    fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        let Some(field) = Self::field(key) else {
            let keys: Vec<&str> = Self::fields().iter().map(|field| field.key).collect();
            let near = keys.iter().min_by_key(|known| strsim::levenshtein(known, key)).copied().unwrap_or_default();
            return Err(Error::setting("the key", key, format!("is unknown; the nearest known one is `{near}`")));
        };
        let done = self.put("", field.key, value).unwrap_or(Ok(()));
        done.map_err(|expected| field.refused(value, expected))?;
        field.check_words(&self.get(field.key).unwrap_or(value.clone()))
    }

    /// The value of a field; none where nothing is set.
    fn get(&self, key: &str) -> Option<Value> {
        self.take("", key).flatten()
    }

    /// The fields whose values are not the defaults.
    fn given(&self) -> impl Iterator<Item = (&'static Field, Value)> {
        Self::fields().iter().filter_map(|field| {
            let value = self.get(field.key)?;
            (field.default.as_ref() != Some(&value)).then_some((field, value))
        })
    }

    /// The line that computes it in a shell.
    fn command_line(&self, command: &str) -> String {
        super::door::command_line(command, self)
    }

    /// The lines that compute it in Python.
    fn python(&self, command: &str) -> String {
        super::door::python(command, self)
    }

    /// Refuses values out of their ranges, and fields that do not go together.
    ///
    /// # Errors
    /// [`Error::Setting`] for the first of them.
    fn check_fields(&self) -> Result<()> {
        self.check_fields_where(|_| None)
    }

    /// The same where another field than that of a key says its word.
    ///
    /// # Errors
    /// As for [`Fields::check_fields`].
    fn check_fields_where(&self, word: impl Fn(&str) -> Option<String>) -> Result<()> {
        Self::fields()
            .iter()
            .try_for_each(|field| self.get(field.key).map_or(Ok(()), |value| field.check_range(&value)))?;
        let flag = |key: &str| Self::field(key).map_or(String::new(), Field::flag);
        let is_given = |key: &str| self.given().any(|(field, _)| field.key == key);
        for (field, value) in self.given() {
            if let Some(other) = field.without.iter().find(|key| is_given(key)) {
                return Err(field.refused(&value, format!("cannot be used with {}", flag(other))));
            }
            if let Some(needed) = field.needs.filter(|key| !is_given(key)) {
                return Err(field.refused(&value, format!("needs {} beside it", flag(needed))));
            }
            let Some((key, words)) = field.belongs else { continue };
            let usual = || Self::field(key).and_then(|field| field.usual).map(Value::from);
            let written = || self.get(key).or_else(usual).map(|value| value.to_string());
            let now = word(key).or_else(written).unwrap_or_default();
            if !words.contains(&now.as_str()) {
                return Err(field.refused(&value, format!("belongs to {} {}", flag(key), words.join(" or "))));
            }
        }
        Ok(())
    }
}

/// Adds what a group says of all its fields.
pub(super) fn grouped(mut fields: Vec<Field>, group: &[&'static str], own: &Field) -> Vec<Field> {
    for field in &mut fields {
        field.group = field.group.or(group.first().copied());
        if let Some((_, usual)) = own.but.iter().find(|(key, _)| *key == field.key) {
            field.usual = Some(usual);
        }
    }
    fields
}

/// A struct of fields: `/// help`, `key: type = default, attribute(…), …;`. A member whose type is such a struct is a group.
macro_rules! fields {
    ($(#[$about:meta])* pub struct $name:ident $(in $group:literal)? {
        $($(#[doc = $help:literal])+ $field:ident: $type:ty = $default:expr $(, $attribute:ident($($argument:expr),*))*;)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[doc = $help])+ pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default),+ }
            }
        }

        impl $crate::request::field::Member for $name {
            fn declare(&self, own: $crate::request::field::Field) -> Vec<$crate::request::field::Field> {
                use $crate::request::field::{Field, Member, grouped};
                let mut all = Vec::new();
                $(
                    let field = Field::new(stringify!($field), &[$($help),+])$(.$attribute($($argument),*))*;
                    all.extend(Member::declare(&self.$field, field));
                )+
                grouped(all, &[$($group)?], &own)
            }

            fn put(
                &mut self,
                _: &str,
                key: &str,
                value: &$crate::request::field::Value,
            ) -> Option<std::result::Result<(), String>> {
                use $crate::request::field::Member;
                None$(.or_else(|| Member::put(&mut self.$field, stringify!($field), key, value)))+
            }

            fn take(&self, _: &str, key: &str) -> Option<Option<$crate::request::field::Value>> {
                use $crate::request::field::Member;
                None$(.or_else(|| Member::take(&self.$field, stringify!($field), key)))+
            }
        }

        impl $crate::request::field::Fields for $name {
            fn fields() -> &'static [$crate::request::field::Field] {
                use $crate::request::field::{Field, Member};
                static ALL: std::sync::LazyLock<Vec<Field>> =
                    std::sync::LazyLock::new(|| $name::default().declare(Field::new("", &[])));
                &ALL
            }
        }
    };
}
pub(super) use fields;
