//! Two of the tasks with separate heads, against the load: decomposed once per penalty, then any width at once.

use super::data::{Drawn, drawn};
use super::{App, Asked, Result};
use crate::state::State;
use ebbing::Context;
use ebbing::request::{Answer, Fields, PhasePlace, PhaseRequest, Representation, TaskFields};
use ebbing::tasks::own_readouts;
use ebbing::theory::multi_head::TwoTasks;
use ebbing::theory::phase::{LossMaps, PhaseCurve};
use ebbing::{Error, Task, TaskSequence};
use ebbing_show::{Show, Shown};
use serde_json::{Value, json};
use std::sync::Arc;

/// Two tasks at one penalty.
#[derive(Debug)]
struct Pair {
    two: TwoTasks,
    maps: LossMaps,
}

fn pair_key(tasks: &str, state: &State, lambda: f64) -> Result<String> {
    Ok(format!("pair {tasks} {:?} {:?} {lambda}", state.phase.pair, state.phase_request()?.theory()?))
}

fn curve_key(tasks: &str, state: &State, lambda: f64) -> Result<String> {
    Ok(format!("curve {}", pair_key(tasks, state, lambda)?))
}

fn point_key(tasks: &str, state: &State, lambda: f64) -> Result<String> {
    Ok(format!("point {} {:?}", pair_key(tasks, state, lambda)?, state.phase.width))
}

/// Whether everything heavy is cached: the decomposition at λ → ∞, and at the penalty asked about either that or what it gave.
pub fn ready(app: &App, state: &State) -> bool {
    let known = || -> Result<bool> {
        let (tasks, lambda) = (format!("tasks {}", state.tasks_key()?), state.phase_lambda());
        let has = |key: Result<String>| Ok(app.cache.has(&key?));
        let curve = has(pair_key(&tasks, state, lambda))? || has(curve_key(&tasks, state, lambda))?;
        Ok(has(pair_key(&tasks, state, f64::INFINITY))? && curve)
    };
    known().unwrap_or(false)
}

/// The chosen pair at a penalty.
fn pair(app: &App, state: &State, lambda: f64, context: &Context) -> Result<Arc<Pair>> {
    let drawn = drawn(app, state, context)?;
    app.cache.or_make(context, &pair_key(&drawn.key, state, lambda)?, || {
        let tasks = chosen(state, &drawn.sequence.tasks)?;
        let mut settings = state.phase_request()?.theory()?;
        settings.lambda = lambda;
        context.say(&format!("kernels and pencil at λ = {lambda}"), 0.0)?;
        let two = TwoTasks::new(&tasks, &settings, context)?;
        context.say(&format!("losses at λ = {lambda}"), 0.0)?;
        let maps = two.loss_maps()?;
        let bytes = two.bytes() + maps.bytes();
        Ok((Pair { two, maps }, bytes))
    })
}

fn chosen(state: &State, tasks: &[Task]) -> Result<Vec<Task>> {
    let pair = &state.phase.pair;
    let chosen: Option<Vec<Task>> = pair.iter().map(|t| tasks.get(t - 1).cloned()).collect();
    chosen.ok_or_else(|| {
        let pair: Vec<String> = pair.iter().map(usize::to_string).collect();
        let expected = format!("must be two different tasks from 1 to {}", tasks.len());
        Error::setting("phase.pair", pair.join(","), expected)
    })
}

/// The diagram of a state.
///
/// # Errors
/// Errors of the library.
fn answer(app: &App, state: &State, context: &Context) -> Result<PhasePlace> {
    let drawn = drawn(app, state, context)?;
    let (request, lambda) = (state.phase_request()?, state.phase_lambda());
    let alphas = request.alpha.grid()?;
    let limit = pair(app, state, f64::INFINITY, context)?;
    // Cached apart from the decomposition: the results of many penalties take hardly any memory.
    let curve = |lambda: f64, context: &Context| {
        app.cache.or_make(context, &curve_key(&drawn.key, state, lambda)?, || {
            let own = pair(app, state, lambda, context)?;
            context.say("curves against the load", 0.0)?;
            Ok((own.two.curve_from(&own.maps, &alphas)?, alphas.len() * 1024))
        })
    };
    let (shown, everywhere) = (curve(lambda, context)?, curve(f64::INFINITY, context)?);
    let with_own = |alpha: f64| {
        let own = app.cache.or_make(context, &point_key(&drawn.key, state, f64::INFINITY)?, || {
            Ok((limit.two.curve_from(&limit.maps, &[alpha])?, 1024))
        })?;
        let points = own.points.iter().chain(&everywhere.points).cloned().collect();
        Ok(PhaseCurve { points, ..(*own).clone() })
    };
    let (tasks, curves) = (chosen(state, &drawn.sequence.tasks)?, vec![(*shown).clone()]);
    let made = (drawn.sequence.settings.clone(), &tasks[..]);
    let mut place = PhasePlace::of((&limit.two, &limit.maps), request.width, with_own, curves, made, request.sigma)?;
    if request.representation {
        place.representation = (*hidden_layer(app, state, &drawn, context)?).clone();
    }
    Ok(place)
}

/// What the chosen pair does to the hidden layer.
fn hidden_layer(app: &App, state: &State, drawn: &Drawn, context: &Context) -> Result<Arc<Vec<Representation>>> {
    let lambda = state.phase_lambda();
    app.cache.or_make(context, &format!("hidden {}", point_key(&drawn.key, state, lambda)?), || {
        let own = pair(app, state, lambda, context)?;
        context.say("the hidden layer", 0.0)?;
        let answer = state.phase_request()?.representations_of(&own.two, &chosen(state, &drawn.sequence.tasks)?)?;
        let bytes = answer.len() * 256;
        Ok((answer, bytes))
    })
}

/// How the answer is shown, and as JSON: of two tasks with one output each from what is cached, otherwise of the request itself.
///
/// # Errors
/// Errors of the library.
pub fn shown(app: &App, state: &State, context: &Context) -> Result<(Shown, Value)> {
    let drawn = drawn(app, state, context)?;
    let both = |answer: &dyn Show| Ok((answer.shown().map_err(super::said)?, answer.json()));
    if own_readouts(&chosen(state, &drawn.sequence.tasks)?).iter().any(|task| task.y.ncols() != 1) {
        return both(&*several(app, state, &drawn, context)?);
    }
    let mut place = answer(app, state, context)?;
    // The page does not search for the best penalty, so it does not say that test sets would allow it.
    place.tested = true;
    both(&place)
}

/// The answer.
///
/// # Errors
/// Errors of the library.
pub fn view(asked: &Asked<'_>) -> Result<Value> {
    let drawn = drawn(asked.app, asked.state, asked.context)?;
    let (shown, json) = shown(asked.app, asked.state, asked.context)?;
    let mut page = super::page(json, &shown, "phase", asked.state)?;
    let pair = chosen(asked.state, &drawn.sequence.tasks)?;
    page["sizes"] = json!(pair.iter().map(|task| task.y.nrows()).collect::<Vec<_>>());
    page["tasks"] = json!(drawn.sequence.tasks.len());
    Ok(page)
}

/// Two tasks with several outputs each.
fn several(app: &App, state: &State, drawn: &Drawn, context: &Context) -> Result<Arc<Answer>> {
    let request = state.phase_request()?;
    app.cache.or_make(context, &format!("several {} {}", drawn.key, request.command_line("phase")), || {
        let sequence =
            TaskSequence { tasks: chosen(state, &drawn.sequence.tasks)?, settings: drawn.sequence.settings.clone() };
        let alone = PhaseRequest { pair: vec![], tasks: TaskFields::default(), ..request.clone() };
        Ok((Answer::Phase(alone.run_on(sequence, context)?), 1 << 16))
    })
}
