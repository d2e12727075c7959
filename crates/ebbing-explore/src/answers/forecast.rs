//! The forecast of the tasks in the order that the page shows.

use super::data::{Drawn, SHOWN, drawn, images_of};
use super::{App, Asked, Result, said};
use crate::state::State;
use ebbing::request::ForecastAnswer;
use ebbing::theory::advise::KeepCurve;
use ebbing::theory::closed_heads::ClosedHeads;
use ebbing::theory::examples::{ExamplesAtRisk, TaskRisks};
use ebbing::theory::forecast::{ForecastOrders, ForecastSettings};
use ebbing::{Context, Forecast, TaskSequence};
use ebbing_show::Show;
use serde_json::{Value, json};
use std::sync::Arc;

fn orders_key(tasks: &str, settings: &ForecastSettings) -> String {
    format!("orders {tasks} {settings:?}")
}

/// `first`: without what [`ForecastOrders::complete`] adds.
fn key(tasks: &str, settings: &ForecastSettings, order: &[usize], first: bool) -> String {
    format!("forecast {first} {tasks} {settings:?} {order:?}")
}

/// Whether all orders are forecast from kernels that are made once: where those fit well into what is kept.
fn of_orders(app: &App, drawn: &Drawn, settings: &ForecastSettings) -> bool {
    ForecastOrders::serves(settings)
        && 2.0 * ForecastOrders::bytes_of(&drawn.sequence.sizes()) < app.cache.bound() as f64
}

/// Whether everything heavy is cached.
pub fn ready(app: &App, state: &State, first: bool) -> bool {
    let known = || -> Result<bool> {
        let (tasks, mut settings) = (format!("tasks {}", state.tasks_key()?), state.forecast.settings()?);
        let Some(drawn) = app.cache.get::<Drawn>(&tasks) else { return Ok(false) };
        settings.examples |=
            !first && settings.computes_theory(&drawn.sequence.sizes()) && drawn.sequence.learns_classes();
        let order = state.order(drawn.sequence.tasks.len());
        let has = |first| app.cache.has(&key(&tasks, &settings, &order, first));
        Ok(has(false) || first && (has(true) || app.cache.has(&orders_key(&tasks, &settings))))
    };
    known().unwrap_or(false)
}

/// The forecast of a state, and whether it is all of it; `first`: what is there soonest is enough.
///
/// # Errors
/// Errors of the library.
pub fn answer(app: &App, state: &State, first: bool, context: &Context) -> Result<(Arc<ForecastAnswer>, bool)> {
    let drawn = drawn(app, state, context)?;
    let (settings, order) = (state.forecast.settings()?, state.order(drawn.sequence.tasks.len()));
    let whole = key(&drawn.key, &settings, &order, false);
    if let Some(known) = app.cache.get(&whole) {
        return Ok((known, true));
    }
    let shared = of_orders(app, &drawn, &settings);
    let first = first && shared;
    let key = if first { key(&drawn.key, &settings, &order, true) } else { whole };
    let found = app.cache.or_make(context, &key, || {
        let forecast = match (shared, first) {
            (true, true) => orders(app, &drawn, &settings, context)?.forecast(&order)?,
            (true, false) => orders(app, &drawn, &settings, context)?.complete(&drawn.sequence, &order, context)?,
            (false, _) => Forecast::of(&[drawn.sequence.ordered(&order)?], &settings, context)?,
        };
        // The examples stay with the tasks: only the numbers of an order are stored.
        let first = TaskSequence { tasks: Vec::new(), settings: drawn.sequence.ordered_settings(&order)? };
        let heading = format!("Forecast for {}", state.forecast.heading_of(&drawn.sequence, &state.origin())?);
        let bytes = 4096 + forecast.pairs.len() * 1024;
        Ok((
            ForecastAnswer {
                heading,
                forecast,
                settings: settings.clone(),
                seed: drawn.seed,
                first,
                layers: Vec::new(),
            },
            bytes,
        ))
    })?;
    Ok((found, !first))
}

/// Kernels, factors and order parameters that all orders share.
fn orders(app: &App, drawn: &Drawn, settings: &ForecastSettings, context: &Context) -> Result<Arc<ForecastOrders>> {
    app.cache.or_make(context, &orders_key(&drawn.key, settings), || {
        let orders = ForecastOrders::new(&drawn.sequence, settings, context)?;
        let bytes = orders.bytes();
        Ok((orders, bytes))
    })
}

/// With the fate of every example where targets name classes and that costs little: what is shown of all of a forecast.
///
/// # Errors
/// Errors of the library.
pub fn with_examples(app: &App, state: &State, context: &Context) -> Result<State> {
    let drawn = drawn(app, state, context)?;
    let mut state = state.clone();
    let little = state.forecast.settings()?.computes_theory(&drawn.sequence.sizes());
    state.forecast.at_risk |= little && drawn.sequence.learns_classes();
    Ok(state)
}

/// The examples at most risk as images, task by task; none where inputs are no images.
fn images(drawn: &Drawn, order: &[usize], examples: &ExamplesAtRisk, context: usize) -> Value {
    let of = |(task, risks): (&usize, &TaskRisks)| {
        let (task, test) = (&drawn.sequence.tasks[task - 1], risks.test.as_ref());
        let (x, set) = match (&task.test, test) {
            (Some(test), Some(set)) => (&test.x, set),
            _ => (&task.x, &risks.train),
        };
        let rows: Vec<usize> = set.most_at_risk.iter().take(SHOWN).map(|example| example.row).collect();
        images_of(x, context, &rows)
    };
    order.iter().zip(&examples.tasks).map(of).collect()
}

/// The answer, and what it says question by question.
///
/// # Errors
/// Errors of the library.
pub fn view(asked: &Asked<'_>) -> Result<Value> {
    let Asked { app, state, context, .. } = asked;
    let state = &if asked.first { (*state).clone() } else { with_examples(app, state, context)? };
    let (answer, whole) = answer(asked.app, state, asked.first, asked.context)?;
    let forecast = &answer.forecast;
    let shown = answer.shown().map_err(said)?;
    let mut page = super::page(answer.json(), &shown, "forecast", state)?;
    // The page lists the examples at most risk and counts the others by class.
    let sets = page.pointer_mut("/answer/forecast/examples/tasks").and_then(Value::as_array_mut);
    let sets = sets.into_iter().flatten();
    for set in sets.flat_map(|task| task.as_object_mut()).flat_map(|task| task.values_mut()) {
        if let Some(set) = set.as_object_mut() {
            set.retain(|key, _| !["class", "output", "margin_own", "margin", "chance", "fate"].contains(&&**key));
        }
    }
    let count = forecast.tasks.len();
    let one = |sentence: Option<String>| super::typeset(&sentence.into_iter().collect::<Vec<_>>());
    page["order"] = json!(state.order(count));
    page["came"] = json!(state.came(count));
    page["whole"] = json!(whole);
    if let Some(examples) = &forecast.examples {
        let drawn = drawn(asked.app, state, asked.context)?;
        page["at_risk"] = images(&drawn, &state.order(count), examples, state.forecast.tasks.context.unwrap_or(0));
    }
    page["said"] = json!({
        "expectation": super::typeset(&forecast.expectation()),
        "keep": one(forecast.keep.as_ref().and_then(KeepCurve::sentence)),
        "heads": one(forecast.heads.as_ref().and_then(ClosedHeads::sentence)),
        "clash": one(forecast.clash()),
        "examples": super::typeset(&forecast.examples.as_ref().map(ExamplesAtRisk::sentences).unwrap_or_default()),
        "theory": super::typeset(&forecast.theory_sentences()),
    });
    Ok(page)
}
