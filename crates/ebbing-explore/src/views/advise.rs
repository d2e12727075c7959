//! What each remedy against forgetting would do, with replay as a curve.

use super::tasks::drawn;
use super::{App, Asked, Result, said};
use crate::state::State;
use ebbing::Context;
use ebbing::answer::AdviseResult;
use ebbing::theory::advise::Advice;
use ebbing_show::Show;
use ebbing_studies::Job;
use ebbing_studies::job::{AdviseJob, heading_for};
use serde_json::{Value, json};
use std::sync::Arc;

fn key(state: &State, tasks: &str, count: usize) -> String {
    let AdviseJob {
        tasks: _,
        ref depth,
        ref activation,
        ref mode,
        ref sigma,
        ref bias,
        ref beta,
        ref replay_budget,
        ..
    } = state.advise();
    let theory = format!("{depth} {activation:?} {mode:?} {sigma} {bias} {beta} {replay_budget:?}");
    format!("advice {tasks} {theory} {:?} {:?} {:?}", state.keep_below, state.budget, state.order(count))
}

/// Whether everything heavy is there.
pub fn ready(app: &App, state: &State) -> bool {
    let Ok(tasks) = state.tasks_key().map(|key| format!("tasks {key}")) else { return false };
    let drawn = app.cache.get::<super::tasks::Drawn>(&tasks);
    drawn.is_some_and(|drawn| app.cache.has(&key(state, &tasks, drawn.sequence.tasks.len())))
}

/// The advice for a state.
///
/// # Errors
/// What the library says.
pub fn told(app: &App, state: &State, context: &Context) -> Result<Arc<AdviseResult>> {
    let job = state.advise();
    let settings = job.settings()?;
    if state.file.is_none() {
        Job::from(job.clone()).check()?;
    }
    let drawn = drawn(app, state, context)?;
    let order = state.order(drawn.sequence.tasks.len());
    app.cache.or_make(context, &key(state, &drawn.key, order.len()), || {
        let sequence = drawn.sequence.ordered(&order)?;
        let advice = Advice::of(std::slice::from_ref(&sequence), &settings, context)?;
        let mut forecast = job.forecast();
        forecast.tasks.seed = Some(drawn.seed);
        let heading = heading_for(&advice, &forecast.heading_of(&sequence, &state.origin())?);
        let bytes = 1024 * (advice.remedies.len() + advice.replay.len());
        Ok((AdviseResult { heading, advice, settings, seed: drawn.seed, tasks: sequence.settings }, bytes))
    })
}

/// The view.
///
/// # Errors
/// What the library says.
pub fn view(asked: &Asked<'_>) -> Result<Value> {
    let told = told(asked.app, asked.state, asked.context)?;
    let shown = told.shown().map_err(said)?;
    let sentences = told.advice.sentences();
    let finding = sentences.first().cloned().unwrap_or_default();
    Ok(json!({
        "figures": asked.figures(&shown.figures, &|_| finding.clone())?,
        "heading": told.heading,
        "sentences": super::typeset_all(&sentences),
        "assumes": told.advice.assumes(),
        "advice": told.advice,
    }))
}
