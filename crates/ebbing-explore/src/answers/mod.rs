//! What the page is answered with: the request and the answer of every other door, what is heavy cached by what it depends on.

pub mod advise;
pub mod data;
pub mod forecast;
pub mod phase;
pub mod take;

use crate::cache::Cache;
use crate::desk::Desk;
use crate::files::Files;
use crate::state::State;
use ebbing::Context;
use ebbing_show::{Metadata, Shown, html_text, plain_text};
use serde_json::{Value, json};

/// Errors: the library's sentences.
pub type Result<T> = ebbing::Result<T>;

/// What can be asked: the commands of the program, and what the tasks hold.
pub const QUESTIONS: [&str; 4] = ["forecast", "advise", "phase", "data"];

/// Everything that requests share.
#[derive(Debug)]
pub struct App {
    /// The cached results.
    pub cache: Cache,
    /// Users' own tasks.
    pub files: Files,
    /// The requests that wait.
    pub desk: Desk,
}

/// One request: the state of the page, and what it runs within.
pub struct Asked<'a> {
    /// What requests share.
    pub app: &'a App,
    /// The state of the page.
    pub state: &'a State,
    /// Whether what is there first is enough.
    pub first: bool,
    /// What it runs within.
    pub context: &'a Context,
}

/// The answer to one of [`QUESTIONS`].
///
/// # Errors
/// Errors of the library.
pub fn answer(question: &str, asked: &Asked<'_>) -> Result<Value> {
    match question {
        "advise" => advise::view(asked),
        "phase" => phase::view(asked),
        "data" => data::view(asked),
        _ => forecast::view(asked),
    }
}

/// Whether everything heavy of an answer is cached.
pub fn ready(question: &str, first: bool, app: &App, state: &State) -> bool {
    match question {
        "advise" => advise::ready(app, state),
        "phase" => phase::ready(app, state),
        "data" => data::ready(app, state),
        _ => forecast::ready(app, state, first),
    }
}

/// An answer as `--json` prints it, how it is shown, and the lines that compute the same elsewhere.
fn page(answer: Value, shown: &Shown, command: &str, state: &State) -> Result<Value> {
    let figures = shown.figures.iter().map(|(name, figure)| {
        let finding = plain_text(figure.finding_markup());
        json!({ "name": name, "finding": finding, "caption": figure.caption_html() })
    });
    let [line, python] = take::lines(command, state)?;
    Ok(json!({
        "answer": answer,
        "heading": plain_text(&shown.heading),
        "sentences": html(&shown.sentences),
        "notes": html(&shown.notes),
        "figures": figures.collect::<Vec<_>>(),
        "tables": shown.tables_html().map_err(said)?,
        "files": take::names(shown),
        "command": line,
        "python": python,
    }))
}

/// Sentences (markup) as HTML.
fn html(all: &[String]) -> Vec<String> {
    all.iter().map(|sentence| html_text(sentence)).collect()
}

/// Plain sentences as HTML, their symbols typeset.
fn typeset(all: &[String]) -> Vec<String> {
    all.iter().map(|sentence| html_text(&ebbing_show::typeset(sentence))).collect()
}

/// What the report refuses, as the library would say it.
fn said(error: ebbing_show::Error) -> ebbing::Error {
    ebbing::Error::data("a figure or table", error.to_string())
}

/// How an answer is shown, with the metadata of its files.
type WithMetadata = (Shown, Metadata);
