//! Advice as a figure, a table and a report.

use super::{Shown, bibtex};
use ebbing::request::AdviseAnswer;
use ebbing::theory::advise::{Advice, Remedy, RemedyKind};
use ebbing_show::{
    Figure, Legend, Line, Markers, Metadata, Panel, Report, Result, Table, escape_markup, significant, typeset,
};

/// Everything that advice tells.
///
/// # Errors
/// Where a table is not sound.
pub fn shown(told: &AdviseAnswer, metadata: &Metadata) -> Result<Shown> {
    let figure = figure(&told.advice).metadata(metadata);
    let remedies = table(&told.advice, "Remedies, the least forgetting first", true);
    let sentences: Vec<String> = told.advice.sentences().iter().map(|s| typeset(s)).collect();
    let report = Report::telling("What to do against forgetting", &sentences)
        .about(&typeset(&told.heading))
        .note(told.advice.assumes())
        .figure(&figure)
        .table(&remedies)
        .metadata(metadata)
        .bibtex(&bibtex());
    Ok(Shown { figures: vec![("remedies", figure)], tables: vec![("remedies".into(), remedies)], report })
}

/// The remedies; `all` adds what files hold beyond the terminal's columns.
pub fn table(advice: &Advice, title: &str, all: bool) -> Table {
    let rows: Vec<&Remedy> = advice.remedies.iter().filter(|r| all || r.applies).collect();
    let column = |get: fn(&Remedy) -> Option<f64>| {
        let zero = |v: f64| if v.abs() < 1e-12 { 0.0 } else { v };
        rows.iter().map(|r| get(r).map_or(f64::NAN, zero)).collect::<Vec<f64>>()
    };
    let text = |get: fn(&Remedy) -> &str| rows.iter().map(|r| escape_markup(get(r))).collect::<Vec<String>>();
    let mut table = Table::new(title)
        .text("remedy", &text(|r| &r.remedy))
        .number("F", &column(|r| r.forgetting))
        .key("forgetting")
        .meaning("mean loss of earlier tasks after the last, on training data");
    if all && advice.draws > 1 {
        table = table.number("standard_error", &column(|r| r.standard_error));
    }
    table = table
        .number("gain", &column(|r| r.gain))
        .meaning("forgetting spared against doing nothing")
        .number(if advice.held_out { "test acc." } else { "train acc." }, &column(|r| r.accuracy))
        .key("accuracy")
        .meaning(if advice.held_out {
            "test accuracy, average over all tasks after the last"
        } else {
            "training accuracy (there are no test data), average over all tasks after the last"
        })
        .number("transfer", &column(|r| r.backward_transfer))
        .key("backward_transfer")
        .meaning("backward transfer of accuracy: below 0 earlier tasks are forgotten")
        .number("cost", &column(|r| r.cost))
        .meaning("work of training relative to doing nothing");
    if all {
        let applies: Vec<String> = rows.iter().map(|r| r.applies.to_string()).collect();
        table = table
            .text("needs", &text(|r| &r.needs))
            .text("applies", &applies)
            .text("why", &text(|r| r.why.as_deref().unwrap_or_default()));
    }
    table
}

/// Forgetting against cost, replay as a curve.
pub fn figure(advice: &Advice) -> Figure {
    let nothing = advice.remedies.iter().find(|r| r.kind == RemedyKind::Nothing).and_then(|r| r.forgetting);
    let (x, y): (Vec<f64>, Vec<f64>) = advice.replay.iter().map(|p| (p.cost, p.forgetting)).unzip();
    let (x, y) = match nothing {
        Some(f) => ([vec![1.0], x].concat(), [vec![f], y].concat()),
        None => (x, y),
    };
    let shown: Vec<(usize, &Remedy, f64, f64)> = (advice.remedies.iter().enumerate())
        .filter_map(|(k, r)| Some((k + 1, r, r.cost?, r.forgetting?)))
        .map(|(k, r, cost, f)| (k, r, cost, if f < 1e-12 { 0.0 } else { f }))
        .collect();
    // Of all points, those of the curve too.
    let reach = |of_remedies: fn(&(usize, &Remedy, f64, f64)) -> f64, curve: &[f64]| {
        shown.iter().map(of_remedies).chain(curve.iter().copied()).fold(0.0, f64::max)
    };
    let (high, right) = (reach(|p| p.3, &y).max(advice.target), 1.4 * reach(|p| p.2, &x).max(2.0));
    let mut panel = Panel::new()
        .x("work of training, doing nothing = 1")
        .y("mean final forgetting, loss on training data")
        .log_x()
        .x_range(0.5, right)
        // A little below zero, so that what forgets nothing stands clear of the axis.
        .y_range(-0.06 * high, 1.12 * high)
        .legend(Legend::Right)
        .horizontal(&format!("asked for, {}", significant(advice.target)), advice.target)
        .line(Line::new("replay, more and more examples", &x, &y).category(0));
    for (k, r, cost, f) in &shown {
        let name = format!("{k} {}", escape_markup(&r.remedy));
        panel = panel.markers(Markers::new(&name, &[*cost], &[*f]).category(group_of(r)));
    }
    // Numbers of points that lie together stand together.
    let mut tags: Vec<(f64, f64, String)> = vec![];
    for (k, _, cost, f) in &shown {
        let near = |t: &&mut (f64, f64, String)| (t.0 / cost).ln().abs() < 0.08 && (t.1 - f).abs() < 0.05 * high;
        match tags.iter_mut().find(near) {
            Some(tag) => tag.2 += &format!(", {k}"),
            None => tags.push((*cost, *f, k.to_string())),
        }
    }
    for (cost, f, tag) in tags {
        panel = panel.tag(cost, f, &tag);
    }
    let finding = advice.sentences().first().map(|answer| typeset(answer)).unwrap_or_default();
    Figure::wide(panel).title("What each remedy would do").finding(&finding).caption(
        "Mean forgetting of earlier tasks after the last (loss on their training data) against the work of training, for every \
         remedy at its best setting, the best first. Colors tell what a remedy needs: examples that are kept, the task known at \
         test time, another way of learning, another network or order. The curve is replay with more and more random examples \
         kept. The numbers beside points are those of the legend.",
    )
}

/// Remedies that are drawn alike: examples kept; task known at test time; penalty, way of learning; network, order; nothing;
/// bound.
fn group_of(remedy: &Remedy) -> usize {
    match remedy.kind {
        _ if remedy.task_known => 1,
        RemedyKind::Replay | RemedyKind::Combination => 0,
        RemedyKind::Penalty | RemedyKind::LayerPenalty | RemedyKind::Regime => 2,
        RemedyKind::Nothing => 4,
        RemedyKind::Joint => 5,
        _ => 3,
    }
}
