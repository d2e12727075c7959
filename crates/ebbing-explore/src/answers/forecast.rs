//! The forecast of the tasks in the order that the page shows.

use super::data::{Drawn, drawn};
use super::{App, Asked, Result, said};
use crate::state::State;
use ebbing::request::ForecastAnswer;
use ebbing::theory::advise::KeepCurve;
use ebbing::theory::closed_heads::ClosedHeads;
use ebbing::theory::forecast::{ForecastOrders, ForecastSettings};
use ebbing::theory::task_order::{OrderSearchSettings, best_order};
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
        let (tasks, settings) = (format!("tasks {}", state.tasks_key()?), state.forecast.settings()?);
        let Some(drawn) = app.cache.get::<Drawn>(&tasks) else { return Ok(false) };
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

/// The best order that a search from the current one finds.
///
/// # Errors
/// Errors of the library.
pub fn best(asked: &Asked<'_>) -> Result<Value> {
    let drawn = drawn(asked.app, asked.state, asked.context)?;
    let order = asked.state.order(drawn.sequence.tasks.len());
    let search = OrderSearchSettings { theory: asked.state.forecast.settings()?.theory, ..Default::default() };
    let key = format!("best order {} {search:?} {order:?}", drawn.key);
    let found = asked.app.cache.or_make(asked.context, &key, || {
        let sequence = drawn.sequence.ordered(&order)?;
        let inputs =
            if asked.state.of_features() { ebbing::theory::Inputs::Features(&sequence) } else { (&sequence).into() };
        let found = best_order(inputs, &search, asked.context)?;
        Ok((found.order.iter().map(|place| order[place - 1]).collect::<Vec<_>>(), 0))
    })?;
    Ok(json!({ "order": *found }))
}

/// The answer, and what it says question by question.
///
/// # Errors
/// Errors of the library.
pub fn view(asked: &Asked<'_>) -> Result<Value> {
    let (answer, whole) = answer(asked.app, asked.state, asked.first, asked.context)?;
    let forecast = &answer.forecast;
    let shown = answer.shown().map_err(said)?;
    let mut page = super::page(&*answer, &shown, "forecast", asked.state)?;
    let count = forecast.tasks.len();
    let one = |sentence: Option<String>| super::typeset(&sentence.into_iter().collect::<Vec<_>>());
    page["order"] = json!(asked.state.order(count));
    page["came"] = json!(asked.state.came(count));
    page["whole"] = json!(whole);
    page["said"] = json!({
        "expectation": super::typeset(&forecast.expectation()),
        "keep": one(forecast.keep.as_ref().and_then(KeepCurve::sentence)),
        "heads": one(forecast.heads.as_ref().and_then(ClosedHeads::sentence)),
        "clash": one(forecast.clash()),
        "theory": super::typeset(&forecast.theory_sentences()),
    });
    Ok(page)
}
