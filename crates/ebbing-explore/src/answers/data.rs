//! The tasks: drawn from a data set, from a recipe, or the user's own; what is in them, and what they look like.

use super::{App, Asked, Result};
use crate::files::{Content, OwnFile};
use crate::state::State;
use ebbing::Context;
use ebbing::data::{Features, Part, Places, Preprocess, Source, Sources, Targets};
use ebbing::linalg::Mat;
use ebbing::plan::{size, time};
use ebbing::request::{CheckRequest, Door, Request};
use ebbing::tasks::{ByClass, Recipe, TaskCheck, TaskOrigin};
use ebbing::{Error, Task, TaskSequence};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many examples of each task are shown.
pub const SHOWN: usize = 8;

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
/// Errors of the library.
pub fn drawn(app: &App, state: &State, context: &Context) -> Result<Arc<Drawn>> {
    let key = format!("tasks {}", state.tasks_key()?);
    app.cache.or_make(context, &key, || {
        context.say("tasks", 0.0)?;
        let (sequence, seed) = match &state.file {
            Some(own) if state.of_features() => (features(own, state)?, state.forecast.tasks.seed()),
            own => {
                let recipe = state.recipe()?;
                let sequence = match own {
                    Some(OwnFile { content: Content::Tasks(own), .. }) => prepared(own, &recipe)?,
                    _ => {
                        if own.is_none() {
                            let sizes = state.forecast.part_of(recipe.sizes()?);
                            Request::from(state.forecast.clone()).check_memory(&sizes, context)?;
                        }
                        recipe.draw(&*sources(app, &recipe, context)?, recipe.seed)?
                    }
                };
                (sequence, recipe.seed)
            }
        };
        if let (Some(problem), Some(file)) = (sequence.one_set(), &state.file) {
            return Err(Error::data(&file.name, Door::Page.words(&problem)));
        }
        let bytes = bytes(&sequence);
        Ok((Drawn { sequence, seed, key: key.clone() }, bytes))
    })
}

/// The features of a file, as tasks.
fn features(file: &OwnFile, state: &State) -> Result<TaskSequence> {
    let Content::Tasks(own) = &file.content else {
        return Err(Error::setting("features", &file.name, "must be a file of features, not a recipe"));
    };
    match state.forecast.tasks.classes_per_task {
        Some(classes_per_task) => ByClass { classes_per_task }.apply((**own).clone(), state.forecast.tasks.seed()),
        None => Ok((**own).clone()),
    }
}

/// The tasks of a file, with the requested steps.
fn prepared(own: &TaskSequence, recipe: &Recipe) -> Result<TaskSequence> {
    let sequence = match &recipe.preprocess {
        Some(settings) => own.preprocessed(settings)?,
        None => own.clone(),
    };
    recipe.post.apply(sequence, recipe.seed)
}

/// The data set that a recipe draws from, loaded once.
fn sources(app: &App, recipe: &Recipe, context: &Context) -> Result<Arc<Sources>> {
    let TaskOrigin::Drawn { data, .. } = &recipe.origin else { return Ok(Arc::new(Sources::new())) };
    let prepared = recipe.preprocess.clone().unwrap_or_else(Preprocess::none);
    app.cache.or_make(context, &format!("data {data} {prepared:?}"), || {
        let sources = Sources::new();
        let bytes = bytes_of_source(&*sources.get(data, &prepared)?);
        Ok((sources, bytes))
    })
}

/// Bytes of a data set and what was fitted to it.
fn bytes_of_source(source: &Source) -> usize {
    let numbers = |m: &Mat<f64>| m.nrows() * m.ncols() * size_of::<f64>();
    let of = |part: &Part| {
        let features = match &part.features {
            Features::Bytes { pixels, .. } => pixels.len(),
            Features::Real(values) => numbers(values),
        };
        features
            + match &part.targets {
                Targets::Classes(classes) => size_of_val(&classes[..]),
                Targets::Real(values) => numbers(values),
            }
    };
    let set = source.dataset();
    // Whitening is a matrix.
    let fitted = source.dim() * source.dim() * size_of::<f64>();
    of(&set.train) + set.test.as_ref().map_or(0, of) + fitted
}

/// Bytes that a sequence takes.
pub fn bytes(sequence: &TaskSequence) -> usize {
    let of = |task: &Task| {
        let held = task.test.as_ref().map_or(0, |test| test.x.nrows() * (test.x.ncols() + test.y.ncols()));
        task.x.nrows() * (task.x.ncols() + task.y.ncols()) + held
    };
    sequence.tasks.iter().map(of).sum::<usize>() * size_of::<f64>()
}

/// Whether everything heavy is cached.
pub fn ready(app: &App, state: &State) -> bool {
    state.tasks_key().is_ok_and(|key| app.cache.has(&format!("tasks {key}")))
}

/// The possible sources of tasks.
pub fn origins(app: &App) -> Value {
    let sets = Places::from_env().list();
    let here = sets.iter().filter(|set| set.available);
    let sets: Vec<Value> = here.map(|set| json!({ "name": set.name, "title": set.title })).collect();
    let files = app.files.all();
    let files = files.iter().map(|file| json!({ "name": file.name, "classes": file.content.classes_of_one_set() }));
    json!({ "data": sets, "files": files.collect::<Vec<_>>() })
}

/// What the tasks hold: the answer of `ebbing check`, and what they look like.
///
/// # Errors
/// Errors of the library.
pub fn view(asked: &Asked<'_>) -> Result<Value> {
    let drawn = drawn(asked.app, asked.state, asked.context)?;
    let key = format!("view {}", drawn.key);
    let answer = asked.app.cache.or_make(asked.context, &key, || {
        asked.context.say("what the tasks hold", 0.0)?;
        let check = CheckRequest::of_sequence(&drawn.sequence, asked.state.of_features(), asked.context);
        let context = asked.state.forecast.tasks.context.unwrap_or(0);
        let costs = check.computations.iter().map(|c| {
            json!({ "command": c.command, "what": c.what, "refused": c.refused, "time": time(c.seconds), "memory": size(c.cost.bytes) })
        });
        let answer = json!({
            "heading": asked.state.forecast.heading_of(&drawn.sequence, &asked.state.origin())?,
            "answer": { "check": check },
            "images": drawn.sequence.tasks.iter().map(|task| images(task, context)).collect::<Vec<_>>(),
            "common": common_inputs(&check),
            "costs": costs.collect::<Vec<_>>(),
        });
        let bytes = answer.to_string().len();
        Ok((answer, bytes))
    })?;
    Ok((*answer).clone())
}

/// How many inputs the tasks share, in one sentence; none if they share none.
fn common_inputs(check: &TaskCheck) -> Option<String> {
    let total: usize = check.tasks.iter().map(|task| task.p).sum();
    let shared = check.shared.iter().enumerate().flat_map(|(t, row)| &row[..t]);
    let pairs = match shared.filter(|n| **n > 0).count() {
        0 => return None,
        1 => "1 pair of tasks shares some".to_string(),
        n => format!("{n} pairs of tasks share some"),
    };
    Some(format!("{} different inputs among {total} examples: {pairs}.", check.distinct))
}

/// The first examples of a task as gray images.
fn images(task: &Task, context: usize) -> Value {
    let rows: Vec<usize> = (0..SHOWN.min(task.x.nrows())).collect();
    images_of(&task.x, context, &rows)
}

/// Rows of inputs as gray images, as the task sees them; none if they are not square images.
pub fn images_of(x: &Mat<f64>, context: usize, rows: &[usize]) -> Value {
    let pixels = x.ncols().saturating_sub(context);
    let side = (pixels as f64).sqrt().round() as usize;
    if side < 4 || side * side != pixels || side > 128 {
        return Value::Null;
    }
    let one = |&row: &usize| {
        let values: Vec<f64> = (0..pixels).map(|j| x[(row, j)]).collect();
        let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
        let gray = |v: &f64| (255.0 * (v - low) / (high - low).max(f64::MIN_POSITIVE)).round() as u8;
        let hex: String = values.iter().map(|v| format!("{:02x}", gray(v))).collect();
        json!({ "side": side, "pixels": hex })
    };
    rows.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebbing::Dataset;
    use ebbing::data::Origin;

    #[test]
    fn a_data_set_counts_as_large_as_it_is() {
        let sample = Source::new(Dataset::sample().unwrap(), &Preprocess::none()).unwrap();
        let [images, classes, fitted] = [5000 * 784, 5000 * 8, 784 * 784 * 8];
        assert_eq!(bytes_of_source(&sample), images + classes + fitted);
        let features = Features::Real(Mat::from_fn(10, 3, |i, j| (3 * i + j) as f64));
        let train = Part { features, targets: Targets::Real(Mat::zeros(10, 2)) };
        let origin = Origin { name: "own".into(), source: String::new(), sha256: String::new() };
        let own = Dataset { train, test: None, image_shape: None, origin };
        let own = Source::new(own, &Preprocess::none()).unwrap();
        assert_eq!(bytes_of_source(&own), 8 * (10 * (3 + 2) + 3 * 3));
    }
}
