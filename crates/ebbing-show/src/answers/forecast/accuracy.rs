//! What trained networks can be expected to classify correctly, task by task: bars in text for the terminal, lines for the report.

use crate::answers::names_of;
use crate::figure::{Figure, Line, Markers, Panel};
use crate::table::Table;
use crate::text::escape_markup;
use ebbing::Forecast;
use ebbing::theory::forecast::TrainedForecast;

/// Tasks that the terminal lists one by one; of more, those that lose most.
const LISTED: usize = 10;
/// Characters of a bar from 0 to 100 %.
const BAR: f64 = 20.0;

/// The name of a task: its own, or its number.
fn name(forecast: &Forecast, s: usize) -> String {
    let own = names_of(&forecast.tasks).map(|names| names[s].clone());
    own.unwrap_or_else(|| format!("task {}", s + 1))
}

/// A name of at most so many characters.
fn short(name: &str, most: usize) -> String {
    match name.chars().count() {
        n if n <= most => name.to_string(),
        _ => name.chars().take(most - 1).chain(std::iter::once('…')).collect(),
    }
}

/// What is left of a task as full blocks, and what it lost as light ones.
fn bar(learned: f64, last: f64) -> String {
    let blocks = |share: f64| (BAR * share).round().clamp(0.0, BAR) as usize;
    let (left, lost) = (blocks(last), blocks(learned).saturating_sub(blocks(last)));
    format!("{}{}{}", "█".repeat(left), "░".repeat(lost), "·".repeat(BAR as usize - left - lost))
}

/// Accuracy of every task when it was learned and at the end, with a bar; of many tasks those that lose most.
pub(super) fn table(forecast: &Forecast, trained: &TrainedForecast) -> Table {
    let (after, count) = (&trained.accuracy.mean, forecast.tasks.len());
    let (learned, last) = (|s: usize| after[s][s], |s: usize| after[count - 1][s]);
    let mut listed: Vec<usize> = (0..count).collect();
    if count > LISTED {
        listed.sort_by(|&a, &b| trained.lost_of(b).total_cmp(&trained.lost_of(a)).then(a.cmp(&b)));
        listed.truncate(LISTED - 2);
        listed.sort_unstable();
    }
    let others: Vec<usize> = (0..count).filter(|s| !listed.contains(s)).collect();
    let mean = |of: &dyn Fn(usize) -> f64, all: &[usize]| all.iter().map(|&s| of(s)).sum::<f64>() / all.len() as f64;
    let row = |name: String, learned: f64, last: f64| (name, learned, last);
    let mut rows: Vec<(String, f64, f64)> =
        listed.iter().map(|&s| row(escape_markup(&short(&name(forecast, s), 30)), learned(s), last(s))).collect();
    if !others.is_empty() {
        rows.push(row(format!("{} others, mean", others.len()), mean(&learned, &others), mean(&last, &others)));
    }
    let whole = |share: f64| format!("{:.0}", (100.0 * share).round() + 0.0);
    Table::of("Test accuracy in %: when learned and at the end", &rows)
        .text("", |(name, ..)| name.clone())
        .text("learned", |(_, learned, _)| whole(*learned))
        .text("end", |(.., last)| whole(*last))
        .text("0 % to 100 %", |(_, learned, last)| bar(*learned, *last))
        .done()
}

/// The accuracies for files, one row per time and task.
pub(super) fn rows(forecast: &Forecast, trained: &TrainedForecast) -> Table {
    let count = forecast.tasks.len();
    let cells: Vec<(usize, usize)> = (0..count).flat_map(|t| (0..=t).map(move |s| (t, s))).collect();
    let accuracy = &trained.accuracy;
    let errors = accuracy.standard_error.as_ref();
    Table::of("Accuracies of trained networks", &cells)
        .integer("after task", |(t, _)| t + 1)
        .integer("on task", |(_, s)| s + 1)
        .text("name", |(_, s)| escape_markup(&name(forecast, *s)))
        .number("accuracy", |(t, s)| accuracy.mean[*t][*s])
        .meaning("share of test examples classified correctly, by the theory that came closest to trained networks")
        .when(errors.is_some(), |table| table.number("standard_error", |(t, s)| errors.map_or(f64::NAN, |e| e[*t][*s])))
        .done()
}

/// How the accuracy of every task falls while others are learned.
pub(super) fn figure(forecast: &Forecast, trained: &TrainedForecast) -> Figure {
    let (after, count) = (&trained.accuracy.mean, forecast.tasks.len());
    let worst = (0..count).max_by(|&a, &b| trained.lost_of(a).total_cmp(&trained.lost_of(b)).then(b.cmp(&a)));
    let series = |s: usize| {
        let times: Vec<f64> = (s..count).map(|t| (t + 1) as f64).collect();
        let values: Vec<f64> = (s..count).map(|t| 100.0 * after[t][s]).collect();
        (times, values)
    };
    let last = count as f64;
    let panel = Panel::new()
        .x("tasks learned")
        .y("test accuracy (%)")
        .integer_x()
        .x_range(0.6, last + 0.6)
        .y_range(0.0, 100.0)
        .aspect(0.3)
        .horizontal("", 100.0 * trained.chance)
        .tag(0.75, 100.0 * trained.chance, &format!("guessing {:.0} %", 100.0 * trained.chance));
    // The others first, so that the task that loses most lies on top.
    let order = (0..count).filter(|s| Some(*s) != worst).chain(worst);
    let panel = order.fold(panel, |panel, s| {
        let (color, (times, values)) = (if Some(s) == worst { 1 } else { 0 }, series(s));
        let named = count <= 10 || Some(s) == worst;
        let panel = panel
            .line(Line::new("", &times, &values).category(color))
            .markers(Markers::new("", &times[times.len() - 1..], &values[values.len() - 1..]).category(color));
        if named {
            // Below what stands at the top.
            let beside = if values[0] > 88.0 { -8.0 } else { 8.0 };
            panel.text(times[0] - 0.2, values[0] + beside, &escape_markup(&short(&name(forecast, s), 16)))
        } else {
            panel
        }
    });
    let finding = worst.map_or(String::new(), |s| {
        format!(
            "{} loses most: {:.0} % when it is learned, {:.0} % at the end.",
            name(forecast, s),
            100.0 * after[s][s],
            100.0 * after[count - 1][s]
        )
    });
    Figure::wide(panel).title("How much each task loses").finding(&finding).caption(
        "Forecast test accuracy of trained networks after each task. Every line begins where its task is learned; the task that loses \
         most is dashed.",
    )
}
