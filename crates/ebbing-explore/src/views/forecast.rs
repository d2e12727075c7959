//! The forecast of the tasks in the order that the page shows.

use super::tasks::{Drawn, drawn};
use super::{App, Asked, Result, said};
use crate::state::State;
use ebbing::Context;
use ebbing::request::ForecastAnswer;
use ebbing::theory::forecast::{ForecastOrders, ForecastSettings, assumes};
use ebbing::theory::task_order::{OrderSearchSettings, best_order};
use ebbing::{Forecast, TaskSequence};
use ebbing_show::{Show, significant};
use serde_json::{Value, json};
use std::sync::Arc;

/// The settings; the best order is searched for on request.
fn settings(state: &State) -> Result<ForecastSettings> {
    state.forecast.settings()
}

fn orders_key(tasks: &str, settings: &ForecastSettings) -> String {
    format!("orders {tasks} {settings:?}")
}

fn key(tasks: &str, settings: &ForecastSettings, order: &[usize]) -> String {
    format!("forecast {tasks} {settings:?} {order:?}")
}

/// Whether everything heavy is cached.
pub fn ready(app: &App, state: &State) -> bool {
    let known = || -> Result<bool> {
        let (tasks, settings) = (format!("tasks {}", state.tasks_key()?), settings(state)?);
        let count = app.cache.get::<Drawn>(&tasks).map_or(0, |drawn| drawn.sequence.tasks.len());
        let made = app.cache.has(&orders_key(&tasks, &settings));
        Ok(count > 0 && (made || app.cache.has(&key(&tasks, &settings, &state.order(count)))))
    };
    known().unwrap_or(false)
}

/// The forecast of a state.
///
/// # Errors
/// Errors of the library.
pub fn answer(app: &App, state: &State, context: &Context) -> Result<Arc<ForecastAnswer>> {
    let drawn = drawn(app, state, context)?;
    let (settings, order) = (settings(state)?, state.order(drawn.sequence.tasks.len()));
    app.cache.or_make(context, &key(&drawn.key, &settings, &order), || {
        let forecast = if ForecastOrders::serves(&settings) {
            orders(app, &drawn, &settings, context)?.forecast(&order)?
        } else {
            Forecast::of(&[drawn.sequence.ordered(&order)?], &settings, context)?
        };
        // The examples stay with the tasks: only the numbers of an order are stored.
        let first = TaskSequence { tasks: Vec::new(), settings: drawn.sequence.ordered_settings(&order)? };
        let heading = format!("Forecast for {}", state.forecast.heading_of(&drawn.sequence, &state.origin())?);
        let bytes = 4096 + forecast.pairs.len() * 1024;
        Ok((ForecastAnswer { heading, forecast, settings, seed: drawn.seed, first, layers: Vec::new() }, bytes))
    })
}

/// Kernels, factors and order parameters that all orders share.
fn orders(app: &App, drawn: &Drawn, settings: &ForecastSettings, context: &Context) -> Result<Arc<ForecastOrders>> {
    app.cache.or_make(context, &orders_key(&drawn.key, settings), || {
        let orders = ForecastOrders::new(&drawn.sequence, settings, context)?;
        let bytes = orders.bytes();
        Ok((orders, bytes))
    })
}

/// The best order that a search from the current one finds, if it does not come with every forecast.
///
/// # Errors
/// Errors of the library.
pub fn best(asked: &Asked<'_>) -> Result<Value> {
    let drawn = drawn(asked.app, asked.state, asked.context)?;
    let order = asked.state.order(drawn.sequence.tasks.len());
    let search = OrderSearchSettings { theory: asked.state.forecast.settings()?.theory, ..Default::default() };
    let key = format!("best order {} {search:?} {order:?}", drawn.key);
    let found = asked.app.cache.or_make(asked.context, &key, || {
        let found = best_order(&drawn.sequence.ordered(&order)?, &search, asked.context)?;
        Ok((found.order.iter().map(|place| order[place - 1]).collect::<Vec<_>>(), 0))
    })?;
    Ok(json!({ "order": *found }))
}

/// The view.
///
/// # Errors
/// Errors of the library.
pub fn view(asked: &Asked<'_>) -> Result<Value> {
    let answer = answer(asked.app, asked.state, asked.context)?;
    let forecast = &answer.forecast;
    let shown = answer.shown().map_err(said)?;
    let figures = asked.figures(&shown.figures, &|name| finding(name, forecast))?;
    let count = forecast.tasks.len();
    let (order, came) = (asked.state.order(count), asked.state.came(count));
    let best = forecast.order.as_ref().map(|best| best.order.iter().map(|place| order[place - 1]).collect::<Vec<_>>());
    Ok(json!({
        "heading": answer.heading,
        "order": order,
        "came": came,
        "best": best,
        "sentences": super::typeset_all(&forecast.sentences()),
        "assumes": assumes(false),
        "forecast": forecast,
        "figures": figures,
    }))
}

/// What a figure shows, in one sentence.
fn finding(name: &str, forecast: &Forecast) -> String {
    if name == "accuracy" {
        return forecast.expectation().join(" ");
    }
    let Some(forgetting) = &forecast.forgetting else { return String::new() };
    let last = forgetting.mean.len() - 1;
    let row = &forgetting.mean[last];
    match (name, &forecast.worst, &forecast.test) {
        ("order_parameters", Some(worst), _) => format!(
            "Of all pairs in the order learned, tasks {} and {} conflict most ({}): {}.",
            worst.first,
            worst.second,
            significant(worst.conflict),
            worst.words()
        ),
        ("test", _, Some(test)) => {
            let average = |rows: &[Vec<f64>]| rows[last].iter().sum::<f64>() / (last + 1) as f64;
            match &test.accuracy {
                Some(accuracy) => {
                    let answer = significant(average(&accuracy.mean));
                    format!("After the last task test accuracy is {answer}, averaged over all tasks.")
                }
                None => {
                    format!("After the last task test loss is {} on average.", significant(average(&test.loss.mean)))
                }
            }
        }
        _ if last == 0 => format!("One task, learned to a loss of {}.", significant(row[0])),
        _ => {
            let mean = row[..last].iter().sum::<f64>() / last as f64;
            format!(
                "Forecast forgetting of task 1 after {} tasks is {}; of all earlier tasks, {} on average.",
                last + 1,
                significant(row[0]),
                significant(mean)
            )
        }
    }
}
