//! The tables of a forecast, for the terminal, the report and files.

use ebbing::Forecast;
use ebbing::stats::number::chosen as chosen_number;
use ebbing::theory::forecast::{PairForecast, SweepForecast};
use ebbing::theory::order_parameters::{OrderParameters, PairOrderParameters};
use ebbing_show::{Spread, Table, significant};

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
pub fn shown_pairs(forecast: &Forecast, title: &str) -> Table {
    let (pairs, which) = chosen(forecast);
    let names: Vec<String> = pairs.iter().map(|p| name_of(p)).collect();
    columns(Table::new(&format!("{title}, {which}")).text("pair", &names), &pairs, SHOWN)
}

/// Everything about all ordered pairs, for files.
pub fn all_pairs(forecast: &Forecast) -> Table {
    resampled(values(forecast), forecast)
}

/// The order parameters of all ordered pairs.
pub fn values(forecast: &Forecast) -> Table {
    let pairs: Vec<&PairForecast> = forecast.pairs.iter().collect();
    let table = Table::new("Order parameters of all ordered pairs")
        .integer("first", &pairs.iter().map(|p| p.first as i64).collect::<Vec<_>>())
        .meaning("the task learned first")
        .integer("second", &pairs.iter().map(|p| p.second as i64).collect::<Vec<_>>())
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

/// A part of what resampling tells of a pair: its ending in files, what it is, and where it is found.
type Part = (&'static str, &'static str, fn(&PairOrderParameters) -> Option<&OrderParameters>);

const PARTS: [Part; 5] = [
    ("low", "lower end of the interval over the choice of examples", |p| p.interval.as_ref().map(|i| &i.low)),
    ("high", "upper end of the interval over the choice of examples", |p| p.interval.as_ref().map(|i| &i.high)),
    ("null_mean", "mean with shuffled targets", |p| p.null.as_ref().map(|n| &n.mean)),
    ("null_sd", "standard deviation with shuffled targets", |p| p.null.as_ref().map(|n| &n.deviation)),
    ("p", "two-sided p-value against shuffled targets", |p| p.null.as_ref().map(|n| &n.p_value)),
];

/// Intervals, null and p-values, one row per pair and order parameter; none where none were asked for.
pub fn intervals(forecast: &Forecast, pairs: &[&PairForecast]) -> Option<Table> {
    let first = &pairs.first()?.detail;
    let mut title = Vec::new();
    if let Some(interval) = &first.interval {
        let share = significant(100.0 * interval.confidence);
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
    let column = |get: &dyn Fn(&PairForecast, usize) -> f64| rows.iter().map(|(p, k)| get(p, *k)).collect::<Vec<f64>>();
    let part = |at: usize| {
        let (_, _, get) = PARTS[at];
        column(&|p, k| get(&p.detail).map_or(f64::NAN, PARAMETERS[k].1))
    };
    let names = |(pair, k): &(&PairForecast, usize)| {
        if *k == 0 { name_of(pair) } else { String::new() }
    };
    let mut table = Table::new(&format!("{}{of}", title.join("; ")))
        .text("pair", &rows.iter().map(names).collect::<Vec<_>>())
        .text("", &rows.iter().map(|(_, k)| PARAMETERS[*k].0).collect::<Vec<_>>())
        .key("parameter")
        .number("value", &column(&|p, k| PARAMETERS[k].1(&p.detail.values)));
    if first.interval.is_some() {
        table = table.number("from", &part(0)).number("to", &part(1));
    }
    if first.null.is_some() {
        table = table.estimate("null", &part(2), Spread::StandardDeviation, &part(3)).number("p", &part(4));
    }
    Some(table)
}

/// A pair by its tasks, in the order learned.
pub(super) fn name_of(pair: &PairForecast) -> String {
    format!("{}→{}", pair.first, pair.second)
}

/// The pairs that the terminal shows: consecutive ones, or all in the order learned if tasks are few; and which these are.
pub fn chosen(forecast: &Forecast) -> (Vec<&PairForecast>, &'static str) {
    let few = forecast.tasks.len() <= 4;
    let wanted = |p: &&PairForecast| if few { p.first < p.second } else { p.second == p.first + 1 };
    let which = if few { "pairs in the order learned" } else { "consecutive pairs" };
    (forecast.pairs.iter().filter(wanted).collect(), which)
}

fn columns(mut table: Table, pairs: &[&PairForecast], count: usize) -> Table {
    let several = pairs.iter().any(|p| p.standard_error.is_some());
    for (name, get, meaning) in &PARAMETERS[..count] {
        let values: Vec<f64> = pairs.iter().map(|p| get(&p.values)).collect();
        table = if several {
            let errors: Vec<f64> = pairs.iter().map(|p| p.standard_error.as_ref().map_or(f64::NAN, get)).collect();
            table.estimate(name, &values, Spread::StandardError, &errors)
        } else {
            table.number(name, &values)
        };
        table = table.meaning(meaning);
    }
    table
}

/// Accuracy on every task when it was learned and after the last, among all classes and among the task's own; training accuracy
/// where there are no test data, and nothing where targets name no classes.
pub fn accuracies(forecast: &Forecast) -> Option<Table> {
    let test = forecast.test.as_ref();
    let all = test.map_or(forecast.train_accuracy.as_ref(), |test| test.accuracy.as_ref())?;
    let own = test.and_then(|test| test.task_accuracy.as_ref());
    let of = if test.is_some() { "Test accuracy" } else { "Training accuracy (there are no test data)" };
    let among = if own.is_some() { ", among all classes and among the task's own" } else { "" };
    let last = all.mean.len() - 1;
    let mut table = Table::new(&format!("{of} when a task was learned and after the last{among}"))
        .integer("task", &(1..=all.mean.len() as i64).collect::<Vec<_>>());
    for (accuracy, which) in [(Some(all), if own.is_some() { "all, " } else { "" }), (own, "own, ")] {
        let Some(accuracy) = accuracy else { continue };
        for (head, at) in [("learned", None), ("last", Some(last))] {
            let pick = |m: &[Vec<f64>]| (0..=last).map(|s| m[at.unwrap_or(s)][s]).collect::<Vec<f64>>();
            let (head, values) = (format!("{which}{head}"), pick(&accuracy.mean));
            table = match &accuracy.standard_error {
                Some(errors) => table.estimate(&head, &values, Spread::StandardError, &pick(errors)),
                None => table.number(&head, &values),
            };
        }
    }
    Some(table)
}

/// What depth would change.
pub fn depths(forecast: &Forecast) -> Table {
    let column = |get: fn(&ebbing::theory::forecast::DepthForecast) -> f64| {
        forecast.depths.iter().map(get).collect::<Vec<f64>>()
    };
    let errors = column(|d| d.standard_error.unwrap_or(f64::NAN));
    let last = column(|d| d.final_forgetting);
    let table = Table::new("What depth would change: order parameters over consecutive pairs; F_{21}, the loss of task 1 after task 2; mean final forgetting")
        .integer("depth", &forecast.depths.iter().map(|d| d.depth as i64).collect::<Vec<_>>())
        .number("γ_{RF}", &column(|d| d.order_parameters.gamma_rf))
        .number("γ_{rule}", &column(|d| d.order_parameters.gamma_rule))
        .number("conflict", &column(|d| d.order_parameters.conflict))
        .number("F_{21}", &column(|d| d.f21));
    let table = if forecast.seeds > 1 {
        table.estimate("final F", &last, Spread::StandardError, &errors)
    } else {
        table.number("final F", &last)
    };
    table
        .meaning("mean forgetting of all earlier tasks after the last")
        .number("τ", &column(|d| d.fit.as_ref().and_then(|f| f.tau).map_or(f64::NAN, |t| t.value)))
        .unit("tasks")
}

/// What penalties, and widths with a readout per task, would change: each by the name of its file, where asked for.
pub fn sweeps(forecast: &Forecast) -> Vec<(&'static str, Table)> {
    let titles = [
        ("lambdas", &forecast.lambdas, "What the penalty λ would change, where all weights learn (mode gibbs)"),
        ("widths", &forecast.widths, "A readout per task at other widths N"),
    ];
    let asked =
        titles.into_iter().filter_map(|(name, points, title)| Some((name, points, title, points.first()?.beta)));
    // Penalties are compared at one temperature.
    let at = |beta: f64| if beta.is_finite() { format!(", at β = {}", chosen_number(beta)) } else { String::new() };
    asked.map(|(name, points, title, beta)| (name, sweep(&format!("{title}{}", at(beta)), points, forecast))).collect()
}

fn sweep(title: &str, points: &[SweepForecast], forecast: &Forecast) -> Table {
    let several = forecast.seeds > 1;
    let column = |get: fn(&SweepForecast) -> Option<f64>| {
        points.iter().map(|point| get(point).unwrap_or(f64::NAN)).collect::<Vec<f64>>()
    };
    let estimate = |table: Table, name: &str, values: &[f64], errors: &[f64]| match several {
        true => table.estimate(name, values, Spread::StandardError, errors),
        false => table.number(name, values),
    };
    let mut table = Table::new(title);
    if points.iter().any(|point| point.width.is_some()) {
        table = table.number("N", &column(|p| p.width)).meaning("hidden units");
    }
    table = table.number("λ", &column(|p| Some(p.lambda))).meaning("penalty on the change of the weights");
    table = estimate(table, "final F", &column(|p| p.final_forgetting), &column(|p| p.standard_error))
        .meaning("mean forgetting of all earlier tasks after the last");
    if points.iter().any(|point| point.accuracy.is_some()) {
        let head = if forecast.test.is_some() { "test accuracy" } else { "training accuracy" };
        table = estimate(table, head, &column(|p| p.accuracy), &column(|p| p.accuracy_error))
            .key("accuracy")
            .meaning(&format!("{head}, average over all tasks after the last"));
        table = table
            .number("transfer", &column(|p| p.backward_transfer))
            .key("backward_transfer")
            .meaning("what earlier tasks gain in accuracy, or (below 0) forget");
    }
    match points.iter().any(|point| point.why.is_some()) {
        true => {
            table.text("", &points.iter().map(|p| p.why.clone().unwrap_or_default()).collect::<Vec<_>>()).key("why")
        }
        false => table,
    }
}
