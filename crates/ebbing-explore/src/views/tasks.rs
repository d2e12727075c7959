//! The tasks: drawn from a data set, made by a recipe, or the user's own; what they hold, and what they look like.

use super::{App, Asked, Result};
use crate::files::{Content, OwnFile};
use crate::state::{State, is_drawn};
use ebbing::data::{KnownSet, Places, Sources};
use ebbing::plan::{size, time};
use ebbing::tasks::{Recipe, TaskOrigin, check_sequence};
use ebbing::{Task, TaskSequence};
use ebbing_studies::Job;
use serde_json::{Value, json};
use std::sync::Arc;

/// Examples of each task that are shown.
const SHOWN: usize = 8;

/// The tasks before they are put in order.
#[derive(Debug)]
pub struct Drawn {
    /// The tasks.
    pub sequence: TaskSequence,
    /// The seed of everything that was drawn.
    pub seed: u64,
    /// What they depend on.
    pub key: String,
}

/// The tasks of a state.
///
/// # Errors
/// What the library says.
pub fn drawn(app: &App, state: &State, hear: &mut dyn FnMut(&str)) -> Result<Arc<Drawn>> {
    let key = format!("tasks {}", state.tasks_key()?);
    app.cache.or_make(&key, || {
        hear("tasks");
        let recipe = state.recipe()?;
        let sequence = match &state.file {
            Some(OwnFile { content: Content::Tasks(own), .. }) => prepared(own, &recipe)?,
            _ => {
                let mut job = state.job.clone();
                job.tasks.order.clear();
                if state.file.is_none() {
                    Job::from(job).check_memory()?;
                }
                recipe.draw(&*sources(app, &recipe)?, recipe.seed)?
            }
        };
        let bytes = bytes(&sequence);
        Ok((Drawn { sequence, seed: recipe.seed, key: key.clone() }, bytes))
    })
}

/// A file's own tasks, with the steps that are asked for.
fn prepared(own: &TaskSequence, recipe: &Recipe) -> Result<TaskSequence> {
    let sequence = match &recipe.preprocess {
        Some(settings) => own.preprocessed(settings)?,
        None => own.clone(),
    };
    recipe.post.apply(sequence, recipe.seed)
}

/// The data set that a recipe draws from, loaded once.
fn sources(app: &App, recipe: &Recipe) -> Result<Arc<Sources>> {
    let (data, images) = match &recipe.origin {
        TaskOrigin::Drawn { data, .. } => (data.as_str(), KnownSet::named(data)),
        TaskOrigin::Own(_) => ("", None),
    };
    let numbers = images.map_or(5_000 * 784, |set| (set.train + set.test) * set.image_shape.iter().product::<usize>());
    let key = format!("data {data} {:?}", recipe.preprocess);
    app.cache.or_make(&key, || Ok((Sources::new(), numbers * size_of::<f64>())))
}

/// Bytes that a sequence takes.
pub fn bytes(sequence: &TaskSequence) -> usize {
    let of = |task: &Task| {
        let held = task.test.as_ref().map_or(0, |test| test.x.nrows() * (test.x.ncols() + test.y.ncols()));
        task.x.nrows() * (task.x.ncols() + task.y.ncols()) + held
    };
    sequence.tasks.iter().map(of).sum::<usize>() * size_of::<f64>()
}

/// Whether everything heavy is there.
pub fn ready(app: &App, state: &State) -> bool {
    state.tasks_key().is_ok_and(|key| app.cache.has(&format!("tasks {key}")))
}

/// Where tasks can come from.
pub fn origins(app: &App) -> Value {
    let sets = Places::from_env().list();
    let here = sets.iter().filter(|set| set.available);
    let sets: Vec<Value> = here.map(|set| json!({ "name": set.name, "title": set.title })).collect();
    json!({ "data": sets, "files": app.files.names() })
}

/// The view.
///
/// # Errors
/// What the library says.
pub fn view(asked: &mut Asked<'_>) -> Result<Value> {
    let drawn = drawn(asked.app, asked.state, asked.hear)?;
    let key = format!("view {}", drawn.key);
    let told = asked.app.cache.or_make(&key, || {
        (asked.hear)("what the tasks hold");
        let told = told(asked.state, &drawn)?;
        let bytes = told.to_string().len();
        Ok((told, bytes))
    })?;
    Ok((*told).clone())
}

fn told(state: &State, drawn: &Drawn) -> Result<Value> {
    let sequence = &drawn.sequence;
    let check = check_sequence(sequence);
    let context = state.recipe()?.post.context.map_or(0, |step| step.dim);
    let tasks: Vec<Value> = sequence
        .tasks
        .iter()
        .zip(&check.tasks)
        .map(|(task, summary)| json!({ "summary": summary, "images": images(task, context) }))
        .collect();
    let costs: Vec<Value> = check
        .computations
        .iter()
        .map(|c| match &c.refused {
            Some(why) => json!({ "command": c.command, "refused": why }),
            None => {
                json!({ "command": c.command, "what": c.what, "time": time(c.seconds), "memory": size(c.cost.bytes) })
            }
        })
        .collect();
    Ok(json!({
        "heading": state.job.heading_of(sequence, &state.origin())?,
        "tasks": tasks,
        "drawn": is_drawn(&state.recipe()?),
        "distinct": check.distinct,
        "shared": check.shared,
        "computations": costs,
        "notes": check.notes,
        "warnings": check.warnings,
        "problems": check.problems,
    }))
}

/// A few examples as grey images, as the task sees them; none where inputs are no square images.
fn images(task: &Task, context: usize) -> Value {
    let pixels = task.x.ncols().saturating_sub(context);
    let side = (pixels as f64).sqrt().round() as usize;
    if side < 4 || side * side != pixels || side > 128 {
        return Value::Null;
    }
    let one = |row: usize| {
        let values: Vec<f64> = (0..pixels).map(|j| task.x[(row, j)]).collect();
        let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
        let grey = |v: &f64| (255.0 * (v - low) / (high - low).max(f64::MIN_POSITIVE)).round() as u8;
        let hex: String = values.iter().map(|v| format!("{:02x}", grey(v))).collect();
        let target: Vec<f64> = (0..task.y.ncols()).map(|j| task.y[(row, j)]).collect();
        json!({ "pixels": hex, "target": target })
    };
    json!({ "side": side, "examples": (0..SHOWN.min(task.x.nrows())).map(one).collect::<Vec<_>>() })
}
