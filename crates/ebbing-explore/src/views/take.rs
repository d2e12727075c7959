//! Export: figures, tables, the report, and the lines that compute the same numbers elsewhere.

use super::{App, Result, advise, forecast, phase, said};
use crate::state::State;
use ebbing::request::{Fields, TaskFields};
use ebbing::{Context, Error};
use ebbing_show::{Metadata, Show, Shown, to_csv};

use serde_json::{Value, json};

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
fn shown(command: &str, app: &App, state: &State, context: &Context) -> Result<(Shown, Metadata)> {
    let [line, _] = lines(command, state)?;
    match command {
        "forecast" => {
            let answer = forecast::answer(app, state, context)?;
            let metadata = Metadata::of(&line, command, Some(answer.seed), &answer.first.settings, &answer.settings)
                .map_err(said)?;
            Ok((answer.shown().map_err(said)?, metadata))
        }
        "phase" => {
            let answer = phase::answer(app, state, context)?;
            let (tasks, theory) = (&answer.place.settings, answer.request.theory()?);
            let metadata = Metadata::of(&line, command, Some(answer.seed), tasks, &theory).map_err(said)?;
            Ok((answer.place.shown().map_err(said)?, metadata))
        }
        _ => {
            let answer = advise::answer(app, state, context)?;
            let metadata =
                Metadata::of(&line, command, Some(answer.seed), &answer.tasks, &answer.settings).map_err(said)?;
            Ok((answer.shown().map_err(said)?, metadata))
        }
    }
}

/// Makes a file by its name: `report.html`, `NAME.svg`, `NAME.png` or `NAME.csv`.
///
/// # Errors
/// Errors of the library; [`Error::Setting`] for a name that is none.
pub fn file(command: &str, name: &str, app: &App, state: &State, context: &Context) -> Result<Taken> {
    let (shown, metadata) = shown(command, app, state, context)?;
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let figure = || shown.figures.iter().find(|(known, _)| *known == stem).map(|(_, figure)| figure);
    let table = || shown.files.iter().find(|(known, _)| known == stem).map(|(_, table)| table);
    let made = match (ending, figure(), table()) {
        ("html", ..) if stem == "report" => Some(("text/html", shown.report(&metadata).map_err(said)?.into_bytes())),
        ("svg", Some(figure), _) => {
            Some(("image/svg+xml", figure.clone().metadata(&metadata).to_svg().map_err(said)?.into_bytes()))
        }
        ("png", Some(figure), _) => Some(("image/png", figure.clone().metadata(&metadata).to_png().map_err(said)?)),
        ("csv", _, Some(table)) => Some(("text/csv", to_csv(table, &metadata).map_err(said)?)),
        _ => None,
    };
    let (kind, bytes) =
        made.ok_or_else(|| Error::setting("the file", name, format!("{command} makes no such file")))?;
    Ok(Taken { name: format!("{command}-{name}"), kind, bytes })
}

/// The lines that compute the same numbers, and the names of all files.
///
/// # Errors
/// Errors of the library.
pub fn view(app: &App, state: &State, context: &Context) -> Result<Value> {
    let mut commands = vec![];
    // If advice is refused there is nothing of it to export.
    let serves =
        |command: &str| command != "advise" || state.advise_request().and_then(|r| r.settings()?.checked()).is_ok();
    for command in COMMANDS.into_iter().filter(|command| serves(command)) {
        // A forecast's files depend on its result; those of the others are known in advance.
        let files = match command {
            "forecast" => {
                let Shown { figures, files, .. } = shown(command, app, state, context)?.0;
                let figures: Vec<&str> = figures.iter().map(|(name, _)| *name).collect();
                let tables: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
                names(&figures, &tables)
            }
            "phase" if state.phase_request()?.representation => {
                names(&["phase"], &["phase-curves", "phase-representation"])
            }
            "phase" => names(&["phase"], &["phase-curves"]),
            _ => names(&["remedies"], &["remedies"]),
        };
        let [line, python] = lines(command, state)?;
        commands.push(json!({ "command": command, "line": line, "python": python, "files": files }));
    }
    Ok(json!({ "commands": commands }))
}

fn names(figures: &[&str], tables: &[&str]) -> Vec<String> {
    let figures = figures.iter().flat_map(|name| [format!("{name}.svg"), format!("{name}.png")]);
    let tables = tables.iter().map(|name| format!("{name}.csv"));
    std::iter::once("report.html".to_string()).chain(figures).chain(tables).collect()
}

/// The lines of a shell and of Python that compute what a view shows.
fn lines(command: &str, state: &State) -> Result<[String; 2]> {
    fn of<R: Fields>(
        command: &str,
        mut request: R,
        tasks: impl Fn(&mut R) -> &mut TaskFields,
        state: &State,
    ) -> [String; 2] {
        if let Some(file) = &state.file {
            tasks(&mut request).tasks = Some(file.path.clone().into());
        }
        [request.command_line(command), request.python(command)]
    }
    Ok(match command {
        "phase" => {
            let mut request = state.phase_request()?;
            request.pair = request.pair.iter().map(|t| state.as_read(*t)).collect();
            of(command, request, |r| &mut r.tasks, state)
        }
        "advise" => of(command, state.advise_request()?, |r| &mut r.tasks, state),
        _ => of(command, state.forecast.clone(), |r| &mut r.tasks, state),
    })
}
