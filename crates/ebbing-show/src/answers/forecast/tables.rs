//! The tables of a forecast, for the terminal, the report and files.

use crate::answers::names_of;
use crate::table::{Rows, Spread, Table};
use ebbing::Forecast;
use ebbing::stats::Estimate;
use ebbing::stats::number::chosen as chosen_number;
use ebbing::theory::forecast::{PairForecast, SweepForecast};
use ebbing::theory::order_parameters::{OrderParameters, PairOrderParameters};

/// The order parameters that tables show, with what they mean.
const PARAMETERS: [(&str, fn(&OrderParameters) -> f64, &str); 10] = [
    ("γ_{feature}", |p| p.gamma_feature, "overlap of all features"),
    ("γ_{RF}", |p| p.gamma_rf, "how much the second task drives features that the first uses"),
    ("γ_{rule}", |p| p.gamma_rule, "how far the rules agree on them"),
    ("conflict", |p| p.conflict, "gamma_RF - gamma_rule"),
    (
        "F_{pair}",
        |p| p.f21,
        "forgetting of the first task after the second, these two learned alone, by the theory of the forecast",
    ),
    ("γ_{sim}", |p| p.gamma_sim, "similarity of tasks with readouts of their own"),
    ("cos", |p| p.cos, "cosine of the two readouts"),
    ("proj", |p| p.proj, "part of the first readout within the features of the second task"),
    ("F_{pair}(λ = 0)", |p| p.f21_at_lambda_zero, "the same without penalty"),
    ("ΔF_{pair}", |p| p.delta_f21, "what the penalty changes"),
];

/// How many of them fit the terminal.
const SHOWN: usize = 6;

/// Order parameters of consecutive pairs, or of all pairs in the order learned if tasks are few.
pub(super) fn shown_pairs(forecast: &Forecast, title: &str) -> Table {
    let (pairs, which) = chosen(forecast);
    let names = names_of(&forecast.tasks);
    let table = Table::of(&format!("{title}, {which}"), &pairs).text("pair", |p| arrow(p, &names));
    columns(table, &pairs, SHOWN)
}

/// Everything about all ordered pairs, for files.
pub(super) fn all_pairs(forecast: &Forecast) -> Table {
    resampled(values(forecast), forecast)
}

/// The order parameters of all ordered pairs.
pub(super) fn values(forecast: &Forecast) -> Table {
    let pairs: Vec<&PairForecast> = forecast.pairs.iter().collect();
    let table = Table::of("Order parameters of all ordered pairs", &pairs)
        .integer("first", |p| p.first)
        .meaning("the task learned first")
        .integer("second", |p| p.second)
        .meaning("the task learned second");
    columns(table, &pairs, PARAMETERS.len())
}

/// Where intervals or a null were asked for: their columns beside every order parameter, as files hold them.
///
/// They are of the first seed: where other columns are means over several, its own values stand beside them.
fn resampled(mut table: Table, forecast: &Forecast) -> Table {
    let several = forecast.seeds > 1;
    let of = if several { "first seed " } else { "" };
    for (name, get, _) in PARAMETERS {
        let mut value =
            several.then(|| forecast.pairs.iter().map(|pair| get(&pair.detail.values)).collect::<Vec<f64>>());
        for (ending, meaning, part) in PARTS {
            let values: Option<Vec<f64>> = forecast.pairs.iter().map(|pair| part(&pair.detail).map(get)).collect();
            if let Some(values) = values.filter(|v| !v.is_empty()) {
                if let Some(value) = value.take() {
                    table = table.number(&format!("{of}{name}"), &value).meaning("value of the first seed");
                }
                table = table.number(&format!("{of}{name} {ending}"), &values).meaning(meaning);
            }
        }
    }
    table
}

/// A part of what resampling shows of a pair: its ending in files, what it is, and where it is found.
type Part = (&'static str, &'static str, fn(&PairOrderParameters) -> Option<&OrderParameters>);

const PARTS: [Part; 5] = [
    ("low", "lower end of the interval over the choice of examples", |p| p.interval.as_ref().map(|i| &i.low)),
    ("high", "upper end of the interval over the choice of examples", |p| p.interval.as_ref().map(|i| &i.high)),
    ("null_mean", "mean with shuffled targets", |p| p.null.as_ref().map(|n| &n.mean)),
    ("null_sd", "standard deviation with shuffled targets", |p| p.null.as_ref().map(|n| &n.deviation)),
    ("p", "two-sided p-value against shuffled targets", |p| p.null.as_ref().map(|n| &n.p_value)),
];

/// Intervals, null and p-values, one row per pair and order parameter; none where none were asked for.
pub(super) fn intervals(forecast: &Forecast, pairs: &[&PairForecast]) -> Option<Table> {
    let first = &pairs.first()?.detail;
    let mut title = Vec::new();
    if let Some(interval) = &first.interval {
        let share = chosen_number(100.0 * interval.confidence);
        title.push(format!("{share} % intervals, a tenth of the examples left out {} times", interval.samples));
    }
    if let Some(null) = &first.null {
        title.push(format!("null and two-sided p from {} shuffles of the targets", null.samples));
    }
    if title.is_empty() {
        return None;
    }
    let of = if forecast.seeds > 1 { " (first seed)" } else { "" };
    let rows: Vec<(&PairForecast, usize)> = pairs.iter().flat_map(|pair| (0..SHOWN).map(move |k| (*pair, k))).collect();
    let names = names_of(&forecast.tasks);
    let part = |at: usize, (pair, k): &(&PairForecast, usize)| PARTS[at].2(&pair.detail).map(PARAMETERS[*k].1);
    let mut table = Table::of(&format!("{}{of}", title.join("; ")), &rows)
        .text("pair", |(pair, k)| if *k == 0 { arrow(pair, &names) } else { String::new() })
        .text("", |(_, k)| PARAMETERS[*k].0)
        .key("parameter")
        .number("value", |(pair, k)| PARAMETERS[*k].1(&pair.detail.values))
        .when(first.interval.is_some(), |table| table.number("from", |r| part(0, r)).number("to", |r| part(1, r)))
        .done();
    if first.null.is_some() {
        let column = |at: usize| rows.iter().map(|r| part(at, r).unwrap_or(f64::NAN)).collect::<Vec<f64>>();
        table = table.estimate("null", &column(2), Spread::StandardDeviation, &column(3)).number("p", &column(4));
    }
    Some(table)
}

/// A pair by its tasks, in the order learned.
pub(super) fn name_of(pair: &PairForecast) -> String {
    format!("{}→{}", pair.first, pair.second)
}

/// The same by the names of the tasks, where they have some.
fn arrow(pair: &PairForecast, names: &Option<Vec<String>>) -> String {
    names
        .as_ref()
        .map_or_else(|| name_of(pair), |names| format!("{} → {}", names[pair.first - 1], names[pair.second - 1]))
}

/// The pairs that the terminal shows: consecutive ones, or all in the order learned if tasks are few; and which these are.
pub(super) fn chosen(forecast: &Forecast) -> (Vec<&PairForecast>, &'static str) {
    let few = forecast.tasks.len() <= 4;
    let wanted = |p: &&PairForecast| if few { p.first < p.second } else { p.second == p.first + 1 };
    let which = if few { "pairs in the order learned" } else { "consecutive pairs" };
    (forecast.pairs.iter().filter(wanted).collect(), which)
}

fn columns(mut table: Rows<'_, &PairForecast>, pairs: &[&PairForecast], count: usize) -> Table {
    let several = pairs.iter().any(|p| p.standard_error.is_some());
    for (name, get, meaning) in &PARAMETERS[..count] {
        let mean =
            |p: &&PairForecast| Estimate { value: get(&p.values), standard_error: p.standard_error.as_ref().map(get) };
        table = table.estimate(name, several, mean).meaning(meaning);
    }
    table.done()
}

/// Accuracy on every task when it was learned and after the last, among all classes and among the task's own; training accuracy
/// where there are no test data, and nothing where targets name no classes.
pub(super) fn accuracies(forecast: &Forecast) -> Option<Table> {
    let test = forecast.test.as_ref();
    let all = test.map_or(forecast.train_accuracy.as_ref(), |test| test.accuracy.as_ref())?;
    let own = test.and_then(|test| test.task_accuracy.as_ref());
    let of = if test.is_some() { "Test accuracy" } else { "Training accuracy (there are no test data)" };
    let among = if own.is_some() { ", among all classes and among the task's own" } else { "" };
    let last = all.mean.len() - 1;
    let tasks: Vec<usize> = (0..=last).collect();
    let title = format!("{of} when a task was learned and after the last{among}");
    let mut table = Table::of(&title, &tasks).integer("task", |s| s + 1);
    for (accuracy, which) in [(Some(all), if own.is_some() { "all, " } else { "" }), (own, "own, ")] {
        let Some(accuracy) = accuracy else { continue };
        for (head, at) in [("learned", None), ("last", Some(last))] {
            let pick = |m: &[Vec<f64>], s: usize| m[at.unwrap_or(s)][s];
            table = table.estimate(&format!("{which}{head}"), accuracy.standard_error.is_some(), |&s| Estimate {
                value: pick(&accuracy.mean, s),
                standard_error: accuracy.standard_error.as_ref().map(|errors| pick(errors, s)),
            });
        }
    }
    Some(table.done())
}

/// What other depths, penalties, and widths with a readout per task, would change: each by the name of its file, where asked for.
pub(super) fn sweeps(forecast: &Forecast) -> Vec<(&'static str, Table)> {
    let mut all = Vec::new();
    if !forecast.depths.is_empty() {
        all.push(("depths", depths(forecast)));
    }
    for (name, points, title) in [
        ("lambdas", &forecast.lambdas, "What the penalty λ would change, where all weights learn (mode gibbs)"),
        ("widths", &forecast.widths, "A readout per task at other widths N"),
    ] {
        let Some(first) = points.first() else { continue };
        // Penalties are compared at one temperature.
        let at =
            if first.beta.is_finite() { format!(", at β = {}", chosen_number(first.beta)) } else { String::new() };
        all.push((name, sweep(&format!("{title}{at}"), points, forecast)));
    }
    all
}

/// The mean forgetting of all earlier tasks after the last, with its standard error over seeds.
fn final_forgetting<'a, T>(
    table: Rows<'a, T>,
    forecast: &Forecast,
    get: impl Fn(&T) -> Option<f64>,
    error: impl Fn(&T) -> Option<f64>,
) -> Rows<'a, T> {
    let mean = |row: &T| Some(Estimate { value: get(row)?, standard_error: error(row) });
    table.estimate("final F", forecast.seeds > 1, mean).meaning("mean forgetting of all earlier tasks after the last")
}

fn depths(forecast: &Forecast) -> Table {
    let title = "What depth would change: order parameters over consecutive pairs; F_{21}, the loss of task 1 after task 2; \
                 mean final forgetting";
    let table = Table::of(title, &forecast.depths)
        .integer("depth", |d| d.depth)
        .number("γ_{RF}", |d| d.order_parameters.gamma_rf)
        .number("γ_{rule}", |d| d.order_parameters.gamma_rule)
        .number("conflict", |d| d.order_parameters.conflict)
        .number("F_{21}", |d| d.f21);
    final_forgetting(table, forecast, |d| Some(d.final_forgetting), |d| d.standard_error)
        .number("τ", |d| d.fit.as_ref().and_then(|f| f.tau).map(|tau| tau.value))
        .unit("tasks")
        .done()
}

fn sweep(title: &str, points: &[SweepForecast], forecast: &Forecast) -> Table {
    let any = |get: fn(&SweepForecast) -> bool| points.iter().any(get);
    let accuracy = |p: &SweepForecast| Some(Estimate { value: p.accuracy?, standard_error: p.accuracy_error });
    let head = if forecast.test.is_some() { "test accuracy" } else { "training accuracy" };
    let table = Table::of(title, points)
        .when(any(|p| p.width.is_some()), |table| table.chosen("N", |p| p.width).meaning("hidden units"))
        .chosen("λ", |p| p.lambda)
        .meaning("penalty on the change of the weights");
    final_forgetting(table, forecast, |p| p.final_forgetting, |p| p.standard_error)
        .when(any(|p| p.accuracy.is_some()), |table| {
            table
                .estimate(head, forecast.seeds > 1, accuracy)
                .key("accuracy")
                .meaning(&format!("{head}, average over all tasks after the last"))
                .number("transfer", |p| p.backward_transfer)
                .key("backward_transfer")
                .meaning("what earlier tasks gain in accuracy, or (below 0) forget")
        })
        .when(any(|p| p.why.is_some()), |table| table.text("", |p| p.why.clone().unwrap_or_default()).key("why"))
        .done()
}
