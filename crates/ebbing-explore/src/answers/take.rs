//! What is taken along: tables, the report, and the lines that compute the same numbers elsewhere.

use super::data::drawn;
use super::{App, Result, WithMetadata, advise, forecast, phase, said};
use crate::state::State;
use ebbing::request::Fields;
use ebbing::{Context, Error};
use ebbing_show::{Metadata, Show, Shown, to_csv};
use std::path::PathBuf;

/// Commands whose results can be exported.
pub const COMMANDS: [&str; 3] = ["forecast", "phase", "advise"];

/// A file to save.
#[derive(Debug)]
pub struct Taken {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// How a command's result is shown, with the metadata of its files.
fn shown(command: &str, app: &App, state: &State, context: &Context) -> Result<WithMetadata> {
    let [line, _] = lines(command, state)?;
    match command {
        "forecast" => {
            // The files that the page lists are those of all of the answer.
            let state = &forecast::with_examples(app, state, context)?;
            let (answer, _) = forecast::answer(app, state, false, context)?;
            let metadata = Metadata::of(&line, command, Some(answer.seed), &answer.first.settings, &answer.settings)
                .map_err(said)?;
            Ok((answer.shown().map_err(said)?, metadata))
        }
        "phase" => {
            let (drawn, theory) = (drawn(app, state, context)?, state.phase_request()?.theory()?);
            let tasks = &drawn.sequence.settings;
            let metadata = Metadata::of(&line, command, Some(drawn.seed), tasks, &theory).map_err(said)?;
            Ok((phase::shown(app, state, context)?.0, metadata))
        }
        _ => {
            let answer = advise::answer(app, state, context)?;
            let metadata =
                Metadata::of(&line, command, Some(answer.seed), &answer.tasks, &answer.settings).map_err(said)?;
            Ok((answer.shown().map_err(said)?, metadata))
        }
    }
}

/// Makes a file by its name: `report.html` or `NAME.csv`.
///
/// # Errors
/// Errors of the library; [`Error::Setting`] for a name that is none.
pub fn file(command: &str, name: &str, app: &App, state: &State, context: &Context) -> Result<Taken> {
    let (shown, metadata) = shown(command, app, state, context)?;
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let table = || shown.files.iter().find(|(known, _)| known == stem).map(|(_, table)| table);
    let made = match (ending, table()) {
        ("html", _) if stem == "report" => Some(("text/html", shown.report(&metadata).map_err(said)?.into_bytes())),
        ("csv", Some(table)) => Some(("text/csv", to_csv(table, &metadata).map_err(said)?)),
        _ => None,
    };
    let (kind, bytes) =
        made.ok_or_else(|| Error::setting("the file", name, format!("{command} makes no such file")))?;
    Ok(Taken { name: format!("{command}-{name}"), kind, bytes })
}

/// The names of the files of an answer.
pub fn names(shown: &Shown) -> Vec<String> {
    let tables = shown.files.iter().map(|(name, _)| format!("{name}.csv"));
    std::iter::once("report.html".to_string()).chain(tables).collect()
}

/// The lines of a shell and of Python that compute what the page shows.
///
/// # Errors
/// Errors of the library.
pub fn lines(command: &str, state: &State) -> Result<[String; 2]> {
    fn of<R: Fields>(command: &str, request: &R) -> [String; 2] {
        [request.command_line(command), request.python(command)]
    }
    let path = || state.file.as_ref().map(|file| PathBuf::from(&file.path));
    let (tasks, features) = if state.of_features() { (None, path()) } else { (path(), None) };
    Ok(match command {
        "phase" => {
            let mut request = state.phase_request()?;
            request.pair = request.pair.iter().map(|t| state.as_read(*t)).collect();
            request.tasks.tasks = tasks;
            of(command, &request)
        }
        "advise" => {
            let mut request = state.advise_request()?;
            (request.tasks.tasks, request.features) = (tasks, features);
            of(command, &request)
        }
        _ => {
            let mut request = state.forecast.clone();
            (request.tasks.tasks, request.features) = (tasks, features.into_iter().collect());
            of(command, &request)
        }
    })
}
