//! What can be taken along: figures, tables, the report, and the lines that compute the same numbers elsewhere.

use super::{App, Result, advise, forecast, phase, said};
use crate::files::{Content, OwnFile};
use crate::state::State;
use ebbing::Context;
use ebbing::Error;
use ebbing::data::Preprocess;
use ebbing::tasks::{Protocol, TaskOrigin};
use ebbing_show::{Metadata, Show, Shown, quoted, to_csv};
use ebbing_studies::job::ForecastJob;
use serde_json::{Value, json};

/// Commands whose results can be taken along.
pub const COMMANDS: [&str; 3] = ["forecast", "phase", "advise"];

/// A file to be saved.
#[derive(Debug)]
pub struct Taken {
    /// What it is called.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Everything that a command's result is shown as, with what its files carry.
fn shown(command: &str, app: &App, state: &State, context: &Context) -> Result<(Shown, Metadata)> {
    let line = command_line(command, state);
    match command {
        "forecast" => {
            let told = forecast::told(app, state, context)?;
            let metadata =
                Metadata::of(&line, command, Some(told.seed), &told.first.settings, &told.settings).map_err(said)?;
            Ok((told.shown().map_err(said)?, metadata))
        }
        "phase" => {
            let told = phase::told(app, state, context)?;
            let (tasks, theory) = (&told.place.settings, told.job.theory()?);
            let metadata = Metadata::of(&line, command, Some(told.seed), tasks, &theory).map_err(said)?;
            Ok((told.place.shown().map_err(said)?, metadata))
        }
        _ => {
            let told = advise::told(app, state, context)?;
            let metadata = Metadata::of(&line, command, Some(told.seed), &told.tasks, &told.settings).map_err(said)?;
            Ok((told.shown().map_err(said)?, metadata))
        }
    }
}

/// Makes a file by its name: `report.html`, `NAME.svg`, `NAME.png` or `NAME.csv`.
///
/// # Errors
/// What the library says; [`Error::Setting`] for a name that is none.
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
/// What the library says.
pub fn view(app: &App, state: &State, context: &Context) -> Result<Value> {
    let mut commands = vec![];
    // Where advice is refused there is nothing of it to be taken along.
    let serves = |command: &str| command != "advise" || state.advise().settings().is_ok_and(|s| s.checked().is_ok());
    for command in COMMANDS.into_iter().filter(|command| serves(command)) {
        // A forecast's files depend on what it finds; those of the others are known before anybody asks for them.
        let files = match command {
            "forecast" => {
                let Shown { figures, files, .. } = shown(command, app, state, context)?.0;
                let figures: Vec<&str> = figures.iter().map(|(name, _)| *name).collect();
                let tables: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
                names(&figures, &tables)
            }
            "phase" if state.phase().representation => names(&["phase"], &["phase-curves", "phase-representation"]),
            "phase" => names(&["phase"], &["phase-curves"]),
            _ => names(&["remedies"], &["remedies"]),
        };
        commands.push(json!({
            "command": command, "line": command_line(command, state), "python": python(command, state)?, "files": files,
        }));
    }
    Ok(json!({ "commands": commands }))
}

fn names(figures: &[&str], tables: &[&str]) -> Vec<String> {
    let figures = figures.iter().flat_map(|name| [format!("{name}.svg"), format!("{name}.png")]);
    let tables = tables.iter().map(|name| format!("{name}.csv"));
    std::iter::once("report.html".to_string()).chain(figures).chain(tables).collect()
}

/// The command that computes what a view shows.
pub fn command_line(command: &str, state: &State) -> String {
    let mut words = vec!["ebbing".to_string(), command.to_string()];
    let mut push = |key: &str, value: &str| {
        words.push(format!("--{key}"));
        words.extend((!State::is_switch(key)).then(|| quoted(value)));
    };
    for (key, value) in state.given() {
        let here = match (command, key) {
            ("phase", "order") => false,
            ("phase", key) if State::is_of_theory(key) => ["activation", "sigma"].contains(&key),
            ("advise", "lambda" | "replay" | "depths" | "lambdas" | "widths") => false,
            (_, key) if State::is_switch(key) => value == "true",
            _ => true,
        };
        match &state.file {
            Some(file) if key == "tasks" => push(key, &file.path),
            _ if here => push(key, value),
            _ => {}
        }
    }
    let mut more = |key: &str, value: Option<String>| value.iter().for_each(|value| push(key, value));
    match command {
        "phase" => {
            more("pair", Some(state.pair.map(|t| state.as_read(t).to_string()).join(",")));
            more("lambda", state.phase_lambda.is_finite().then(|| state.phase_lambda.to_string()));
            more("width", state.width.map(|n| n.to_string()));
            more("representation", state.phase().representation.then(String::new));
        }
        "advise" => {
            more("keep-forgetting-below", state.keep_below.map(|f| f.to_string()));
            more("budget", state.budget.map(|m| m.to_string()));
        }
        _ => {}
    }
    words.join(" ")
}

/// The Python lines that compute the same numbers.
fn python(command: &str, state: &State) -> Result<String> {
    let recipe = state.recipe()?;
    let mut lines = vec!["import ebbing".to_string(), String::new()];
    match (&state.file, &recipe.preprocess) {
        (Some(OwnFile { content: Content::Tasks(_), path, .. }), Some(asked)) => lines.extend(prepared(path, asked)?),
        _ => lines.push(format!("tasks = {}", python_tasks(state)?)),
    }
    if !matches!(&state.file, Some(OwnFile { content: Content::Recipe(_), .. })) {
        let steps = recipe.post.interpolate.as_ref().map(|step| step.steps);
        lines.extend(
            steps.map(|s| format!("tasks = ebbing.tasks.interpolated(tasks, steps={s}, seed={})", recipe.seed)),
        );
        let dim = recipe.post.context.as_ref().map(|step| step.dim);
        lines.extend(dim.map(|d| format!("tasks = ebbing.tasks.with_context(tasks, dim={d}, seed={})", recipe.seed)));
    }
    let order = &state.job.tasks.order;
    if !order.is_empty() && command != "phase" {
        let places: Vec<String> = order.iter().map(|t| (state.as_read(*t) - 1).to_string()).collect();
        lines.push(format!("tasks = [tasks[t] for t in ({},)]", places.join(", ")));
    }
    lines.push(match command {
        "phase" => python_phase(state),
        "advise" => {
            let below = state.keep_below.map_or(String::new(), |f| format!(", keep_forgetting_below={f}"));
            let budget = state.budget.map_or(String::new(), |m| format!(", budget={m}"));
            format!("told = ebbing.advise(tasks{}{below}{budget})\nprint(told)", python_theory(&state.job, false))
        }
        _ => format!("told = ebbing.forecast(tasks{})\nprint(told.forgetting)", python_theory(&state.job, true)),
    });
    Ok(lines.join("\n"))
}

/// Own tasks whose inputs are prepared: a recipe says how.
fn prepared(path: &str, asked: &Preprocess) -> Result<[String; 3]> {
    let failed = |e: serde_json::Error| Error::data("the preparation of inputs", e.to_string());
    let keys = toml_value(&serde_json::to_value(asked).map_err(failed)?);
    Ok([
        "with open(\"prepared.toml\", \"w\") as recipe:".to_string(),
        format!("    recipe.write({})", json!(format!("tasks = {}\npreprocess = {keys}\n", json!(path)))),
        "tasks = ebbing.tasks.load(\"prepared.toml\")".to_string(),
    ])
}

/// A value as TOML writes it in one line.
fn toml_value(value: &Value) -> String {
    match value {
        Value::Object(keys) => {
            let given = keys.iter().filter(|(_, value)| !value.is_null());
            let pairs: Vec<String> = given.map(|(key, value)| format!("{key} = {}", toml_value(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

/// The numbers at the width asked about, or the boundary of the regimes.
fn python_phase(state: &State) -> String {
    let [i, j] = state.pair.map(|t| state.as_read(t) - 1);
    let settings = keyword("sigma", state.job.sigma, 1.0) + &named("activation", &state.job.activation, "relu");
    let Some(width) = state.width else {
        let first = format!("first, second = tasks[{i}], tasks[{j}]");
        let call = format!("told = ebbing.critical_load(first.x, first.y, second.x, second.y{settings})");
        return format!("{first}\n{call}\nprint(told)");
    };
    let lambda = keyword("lam", state.phase_lambda, f64::INFINITY);
    let call = format!("told = ebbing.MultiHead([tasks[{i}], tasks[{j}]], width={width}{lambda}{settings})");
    let mut lines = vec![call, "print(told.regime, told.forgetting()[1, 0], told.u1[1, 1])".to_string()];
    lines.push("print(told.generalization()[1])  # needs test examples".to_string());
    if state.phase().representation {
        lines.push(format!("hidden = told.hidden_kernel(tasks[{i}].x, learned=True)"));
    }
    lines.join("\n")
}

fn keyword(name: &str, value: f64, default: f64) -> String {
    if value == default { String::new() } else { format!(", {name}={}", number(value)) }
}

fn named(name: &str, value: &impl serde::Serialize, default: &str) -> String {
    let value = word(value);
    if value == default { String::new() } else { format!(", {name}=\"{value}\"") }
}

fn listed(name: &str, values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|value| number(*value)).collect();
    if values.is_empty() { String::new() } else { format!(", {name}=[{}]", values.join(", ")) }
}

/// A number as Python reads it.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { "float(\"inf\")".to_string() }
}

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default()
}

fn python_theory(job: &ForecastJob, whole: bool) -> String {
    let mut out = String::new();
    if job.depth != 1 {
        out += &format!(", depth={}", job.depth);
    }
    out += &named("activation", &job.activation, "relu");
    out += &named("mode", &job.mode, "rf");
    out += &keyword("sigma", job.sigma, 1.0);
    out += &keyword("bias", job.bias, 0.0);
    out += &keyword("beta", job.beta, f64::INFINITY);
    if whole {
        out += &keyword("lam", job.lambda, f64::INFINITY);
        if job.replay.replay > 0 {
            out += &format!(", replay={}, replay_budget=\"{}\"", job.replay.replay, word(&job.replay.replay_budget));
        }
        let depths: Vec<f64> = job.depths.iter().map(|depth| *depth as f64).collect();
        for (name, values) in [("depths", &depths), ("lambdas", &job.lambdas), ("widths", &job.widths)] {
            out += &listed(name, values);
        }
    }
    out
}

/// The Python call that makes the tasks.
fn python_tasks(state: &State) -> Result<String> {
    if let Some(file) = &state.file {
        return Ok(format!("ebbing.tasks.load({})", json!(file.path)));
    }
    let recipe = state.recipe()?;
    let TaskOrigin::Drawn { data, protocol } = &recipe.origin else {
        return Err(Error::data("the tasks", "they are neither drawn nor a file"));
    };
    let (name, settings) = match protocol {
        Protocol::Permuted(p) => (
            "permuted",
            format!(
                "tasks={}, p={}, p_test={}, ratio={}, permute_first={}, fresh_images={}",
                p.tasks,
                p.p,
                p.p_test,
                p.ratio,
                truth(p.permute_first),
                truth(p.fresh_images)
            ),
        ),
        Protocol::Split(p) => (
            "split",
            format!(
                "tasks={}, p={}, p_test={}, classes_per_group={}, labels=\"{}\"",
                p.tasks,
                p.p,
                p.p_test,
                p.classes_per_group,
                word(&p.labels)
            ),
        ),
        Protocol::PartialSplit(p) => ("partial_split", format!("split={}, p={}, p_test={}", p.split, p.p, p.p_test)),
        Protocol::TargetDistractor(p) => {
            let tested = p.p_test.map_or(String::new(), |p| format!(", p_test={p}"));
            let rho = format!("rho_target={}, rho_shared={}, rho_flip={}", p.rho_target, p.rho_shared, p.rho_flip);
            ("target_distractor", format!("tasks={}, p={}, {rho}{tested}", p.tasks, p.p))
        }
    };
    let data = python_data(data, &recipe.preprocess.clone().unwrap_or_default());
    Ok(format!("ebbing.tasks.{name}({data}, {settings}, seed={})", recipe.seed))
}

/// The data set, with its preparation where that is not the usual one.
fn python_data(data: &str, prepared: &Preprocess) -> String {
    let sample = data == "mnist-sample";
    if *prepared == Preprocess::default() {
        return if sample { "None".to_string() } else { json!(data).to_string() };
    }
    let name = if sample { "sample(".to_string() } else { format!("load({}, ", json!(data)) };
    let ridge = prepared.whiten.as_ref().map_or(String::new(), |whiten| format!(", ridge={}", whiten.ridge));
    let (center, whiten) = (word(&prepared.center), truth(prepared.whiten.is_some()));
    let normalize = truth(prepared.normalize);
    format!("ebbing.data.{name}center=\"{center}\", whiten={whiten}{ridge}, normalize={normalize})")
}

fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
