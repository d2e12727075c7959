//! Two of the tasks with separate heads, against the load: decomposed once per penalty, then any width at once.

use super::tasks::{Drawn, drawn};
use super::{App, Asked, Result};
use crate::state::State;
use ebbing::Context;
use ebbing::request::{PhasePlace, PhaseRequest, Representation};
use ebbing::theory::multi_head::{Power, TwoTasks};
use ebbing::theory::phase::{LossMaps, PhaseCurve, PhasePoint};
use ebbing::{Error, Task};
use ebbing_show::phase::DEFINED;
use ebbing_show::{Show, html_text, plain_text, significant};
use serde_json::{Value, json};
use std::sync::Arc;

/// Two tasks at one penalty.
#[derive(Debug)]
struct Pair {
    two: TwoTasks,
    maps: LossMaps,
}

/// A phase diagram of a pair, and its place at the width asked about.
#[derive(Debug)]
pub struct Located {
    /// The pair in the diagram.
    pub place: PhasePlace,
    /// The result at the chosen width and penalty.
    pub point: Option<PhasePoint>,
    /// The request.
    pub request: PhaseRequest,
    /// The seed of everything that was drawn.
    pub seed: u64,
    /// How many tasks there are.
    pub tasks: usize,
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
        let answer = || -> Result<bool> {
            let point = state.phase.width.is_none() || has(point_key(&tasks, state, lambda))?;
            Ok(point && has(curve_key(&tasks, state, lambda))?)
        };
        Ok(has(pair_key(&tasks, state, f64::INFINITY))? && (has(pair_key(&tasks, state, lambda))? || answer()?))
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
pub fn answer(app: &App, state: &State, context: &Context) -> Result<Located> {
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
    let point = |lambda: f64, alpha: f64, context: &Context| {
        app.cache.or_make(context, &point_key(&drawn.key, state, lambda)?, || {
            let own = pair(app, state, lambda, context)?;
            Ok((own.two.curve_from(&own.maps, &[alpha])?, 1024))
        })
    };
    let (shown, everywhere) = (curve(lambda, context)?, curve(f64::INFINITY, context)?);
    let with_own = |alpha: f64| {
        let own = point(f64::INFINITY, alpha, context)?;
        let points = own.points.iter().chain(&everywhere.points).cloned().collect();
        Ok(PhaseCurve { points, ..(*own).clone() })
    };
    let (tasks, curves) = (chosen(state, &drawn.sequence.tasks)?, vec![(*shown).clone()]);
    let made = (drawn.sequence.settings.clone(), &tasks[..]);
    let mut place = PhasePlace::of((&limit.two, &limit.maps), request.width, with_own, curves, made, request.sigma)?;
    if request.representation {
        place.representation = (*hidden_layer(app, state, &drawn, context)?).clone();
    }
    let own = place.location.as_ref().map(|l| point(lambda, l.alpha, context)).transpose()?;
    let point = own.and_then(|curve| curve.points.first().cloned());
    Ok(Located { place, point, request, seed: drawn.seed, tasks: drawn.sequence.tasks.len() })
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

/// The view.
///
/// # Errors
/// Errors of the library.
pub fn view(asked: &Asked<'_>) -> Result<Value> {
    let mut answer = answer(asked.app, asked.state, asked.context)?;
    // The page does not search for the best penalty, so it does not say that test sets would allow it.
    answer.place.tested = true;
    let place = &answer.place;
    let shown = place.shown().map_err(super::said)?;
    // The last sentence says what the losses are: the page has it elsewhere.
    let sentences = &shown.sentences[..shown.sentences.len() - 1];
    let point = answer.point.as_ref().map(|p| numbers(p, asked.state.phase_lambda()));
    Ok(json!({
        "figures": asked.figures(&shown.figures, &|_| finding(&answer))?,
        "heading": plain_text(&shown.heading),
        "sentences": sentences.iter().map(|s| html_text(s)).collect::<Vec<_>>(),
        "defined": plain_text(DEFINED),
        "sizes": place.sizes,
        "critical_load": place.critical,
        "location": place.location,
        "regime": place.location.as_ref().map(|l| l.regime.to_string()),
        "point": point,
        "tasks": answer.tasks,
        "representation": place.representation,
    }))
}

/// Numbers at the chosen width, and the power of λ with which they grow, if they do.
fn numbers(point: &PhasePoint, lambda: f64) -> Value {
    let power = |p: Power| {
        let value = if lambda.is_finite() { p.at(lambda) } else { p.limit() };
        json!({
            "value": if value.is_finite() { json!(value) } else { json!("inf") },
            "coefficient": if p.coefficient.is_finite() { json!(p.coefficient) } else { json!("inf") },
            "exponent": p.exponent,
        })
    };
    json!({
        "alpha": point.factors.alpha,
        "f21": power(point.f21),
        "g21": point.g21.map(power),
        "g22": point.g22.map(power),
        "u22": power(point.factors.u22),
    })
}

/// What the figure shows, in one sentence.
fn finding(answer: &Located) -> String {
    let critical = &answer.place.critical;
    let boundary = if critical.alpha_c.is_finite() {
        format!("networks overfit task 2 between loads 1 and {}", significant(critical.alpha_c))
    } else {
        "networks overfit task 2 at every load above 1".to_string()
    };
    match &answer.place.location {
        Some(l) => format!(
            "A network of {} units (load {}) is in the regime of {}; as λ grows, {boundary}.",
            l.width,
            significant(l.alpha),
            l.regime
        ),
        None => format!("As λ grows, {boundary}."),
    }
}
