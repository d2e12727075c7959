//! What each remedy against forgetting would do.

use super::data::drawn;
use super::{App, Asked, Result, said};
use crate::state::State;
use ebbing::Context;
use ebbing::request::{AdviseAnswer, Fields, heading_for};
use ebbing::theory::advise::Advice;
use ebbing_show::Show;
use serde_json::Value;
use std::sync::Arc;

fn key(state: &State, tasks: &str, count: usize) -> Result<String> {
    let request = state.advise_request()?;
    Ok(format!("advice {tasks} {} {:?}", request.command_line("advise"), state.order(count)))
}

/// Whether everything heavy is cached.
pub fn ready(app: &App, state: &State) -> bool {
    let Ok(tasks) = state.tasks_key().map(|key| format!("tasks {key}")) else { return false };
    let drawn = app.cache.get::<super::data::Drawn>(&tasks);
    let key = drawn.and_then(|drawn| key(state, &tasks, drawn.sequence.tasks.len()).ok());
    key.is_some_and(|key| app.cache.has(&key))
}

/// The advice for a state.
///
/// # Errors
/// Errors of the library.
pub fn answer(app: &App, state: &State, context: &Context) -> Result<Arc<AdviseAnswer>> {
    let request = state.advise_request()?;
    // The page shows the remedies of the theory beside the methods.
    let settings = ebbing::theory::advise::AdviseSettings { complete: true, ..request.settings()? };
    settings.checked()?;
    let drawn = drawn(app, state, context)?;
    let order = state.order(drawn.sequence.tasks.len());
    app.cache.or_make(context, &key(state, &drawn.key, order.len())?, || {
        let sequence = drawn.sequence.ordered(&order)?;
        let advice = Advice::of(std::slice::from_ref(&sequence), &settings, context)?;
        let mut forecast = request.forecast();
        forecast.tasks.seed = Some(drawn.seed);
        let heading = heading_for(&advice, &forecast.heading_of(&sequence, &state.origin())?);
        let bytes = 1024 * (advice.remedies.len() + advice.replay.len());
        Ok((AdviseAnswer { heading, advice, settings, seed: drawn.seed, tasks: sequence.settings }, bytes))
    })
}

/// The answer.
///
/// # Errors
/// Errors of the library.
pub fn view(asked: &Asked<'_>) -> Result<Value> {
    let answer = answer(asked.app, asked.state, asked.context)?;
    super::page(answer.json(), &answer.shown().map_err(said)?, "advise", asked.state)
}
