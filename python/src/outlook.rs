//! Forecasts, advice, fits of forgetting curves, and metrics of accuracies.

use crate::arrays::{Matrix, RawTask, owned, sequence_with};
use crate::errors::python;
use crate::request::asked;
use crate::run::run;
use crate::show::{Shown, in_python};
use crate::values::{object, settings};
use ebbing::metrics::{ContinualMetrics, TaskAccuracies};
use ebbing::request::{AdviseAnswer, AdviseRequest, ForecastAnswer, ForecastRequest};
use ebbing::stats::{ForgettingFit, VarianceExplained};
use ebbing::tasks::{Provenance, parts_of};
use ebbing::theory::advise::Advice;
use ebbing::theory::forecast::assumes;
use ebbing::{Forecast, TaskSequence};
use pyo3::prelude::*;

/// What a page is called, and the settings (JSON) that made it.
type About = (String, String);

/// The forecast of one sequence per seed: its tasks, and what made them as JSON. With `max_p` at most so many examples of every
/// task are used, other ones for every seed.
#[pyfunction]
pub fn forecast<'py>(
    py: Python<'py>,
    sequences: Vec<(Vec<RawTask<'py>>, String)>,
    fields_json: &str,
    features: bool,
    page: About,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let request: ForecastRequest = asked(fields_json)?;
    let asked = request.settings_of(features).map_err(python)?;
    let sequences = drawn(&sequences)?;
    let steps = asked.parts(sequences.len(), sequences.first().map_or(0, |s| s.tasks.len())) as f64;
    let progress = progress.map(|listener| (listener, steps));
    let answer = run(py, progress, move |context| {
        let sequences = match request.max_p {
            Some(p) => parts_of(&sequences, p)?,
            None => sequences,
        };
        let forecast = Forecast::of(&sequences, &asked, context)?;
        context.say("done", 1.0)?;
        // The examples are Python's own.
        let first = TaskSequence { tasks: vec![], settings: Provenance::default() };
        Ok(ForecastAnswer { heading: String::new(), forecast, settings: asked, seed: 0, first, layers: vec![] })
    })?;
    let forecast = &answer.forecast;
    let found = object(py, forecast)?;
    if let (Some(worst), Ok(entry)) = (&forecast.worst, found.get_item("worst")) {
        entry.set_item("words", worst.words())?;
    }
    found.set_item("answer", forecast.sentences().iter().map(|s| in_python(s)).collect::<Vec<_>>())?;
    found.set_item("assumes", assumes(answer.settings.features))?;
    found.set_item("page", Shown::of_answer(&answer, &page.0, &page.1)?)?;
    Ok(found)
}

/// The sequences, one per seed.
fn drawn(sequences: &[(Vec<RawTask<'_>>, String)]) -> PyResult<Vec<TaskSequence>> {
    let given = |(tasks, made): &(Vec<RawTask<'_>>, String)| -> PyResult<TaskSequence> {
        sequence_with(tasks, settings(made)?).map_err(python)
    };
    sequences.iter().map(given).collect()
}

/// What each remedy against forgetting would do, over one sequence per seed.
#[pyfunction]
pub fn advise<'py>(
    py: Python<'py>,
    sequences: Vec<(Vec<RawTask<'py>>, String)>,
    fields_json: &str,
    features: bool,
    page: About,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let request: AdviseRequest = asked(fields_json)?;
    let asked = request.settings_of(features).map_err(python)?;
    let sequences = drawn(&sequences)?;
    let progress = progress.map(|listener| (listener, if asked.quick { 2.0 } else { 9.0 }));
    let answer = run(py, progress, move |context| {
        let advice = Advice::of(&sequences, &asked, context)?;
        context.say("done", 1.0)?;
        let tasks = Provenance::default();
        Ok(AdviseAnswer { heading: String::new(), advice, settings: asked, seed: 0, tasks })
    })?;
    let found = object(py, &answer.advice)?;
    found.set_item("answer", answer.advice.sentences().iter().map(|s| in_python(s)).collect::<Vec<_>>())?;
    found.set_item("assumes", answer.advice.assumes())?;
    found.set_item("page", Shown::of_answer(&answer, &page.0, &page.1)?)?;
    Ok(found)
}

/// `F_t = F_max (1 − e^{−(t−1)/τ})` fitted to a curve, or to what of it rises.
#[pyfunction]
pub fn fit_forgetting<'py>(
    py: Python<'py>,
    times: Vec<f64>,
    values: Vec<f64>,
    rising: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let fit = if rising { ForgettingFit::rising } else { ForgettingFit::new };
    object(py, &fit(&times, &values).map_err(python)?)
}

/// How much of the variance of y each column of x explains.
#[pyfunction]
pub fn variance_explained<'py>(py: Python<'py>, x: Matrix<'py>, y: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
    object(py, &VarianceExplained::new(owned(&x).as_ref(), &y).map_err(python)?)
}

/// Continual-learning metrics of accuracies by a named convention.
#[pyfunction]
pub fn metrics<'py>(
    py: Python<'py>,
    after: Vec<Vec<f64>>,
    convention: &str,
    untrained: Option<Vec<f64>>,
    reference: Option<Vec<f64>>,
    test_sizes: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyAny>> {
    let accuracies = TaskAccuracies { after, untrained, reference, test_sizes };
    let result = convention.parse().and_then(|convention| ContinualMetrics::new(&accuracies, convention));
    object(py, &result.map_err(python)?)
}
