//! Advice as a figure, a table, a page and a report.

use super::charts;
use crate::error::Result;
use crate::figure::{Figure, Legend, Line, Markers, Panel};
use crate::shown::{Part, Show, Shown};
use crate::style::significant;
use crate::table::Table;
use crate::text::{escape_markup, typeset};
use ebbing::plan::size;
use ebbing::request::AdviseAnswer;
use ebbing::stats::number::{between, per_cent, within};
use ebbing::theory::advise::{Advice, Method, MethodKind, Methods, Remedy, RemedyKind};
use serde_json::{Value, json};

impl Show for AdviseAnswer {
    fn shown(&self) -> Result<Shown> {
        let advice = &self.advice;
        let sentences: Vec<String> = advice.sentences().iter().map(|s| typeset(s)).collect();
        let notes = vec![advice.assumes().to_string()];
        let (first, rest) = sentences.split_at(sentences.len().min(1));
        let words = |all: &[String]| all.iter().cloned().map(Part::Words).collect::<Vec<_>>();
        let mut shown = Shown { page: words(first), ..Shown::default() };
        if let Some(methods) = &advice.methods {
            shown.page.push(methods_table(methods, false).into());
            shown.page.push(Part::Words(rest.join(" ")));
            shown.page.extend(left_out(methods).map(Part::Words));
            shown.tables.push(methods_table(methods, true).into());
            shown = shown.file("methods", methods_table(methods, true));
            let finding = first.first().map_or("", String::as_str);
            let joint = methods.row(MethodKind::Joint).map(|row| row.accuracy);
            let figure = charts::methods(&charts::of_methods(methods), methods.chance, joint, finding);
            for (name, figure) in [("methods", figure), ("keep", charts::keep(&methods.keep, methods.chance))] {
                if let Some(figure) = figure {
                    shown = shown.figure(name, figure);
                    shown.front += 1;
                }
            }
        }
        if !advice.remedies.iter().all(|row| advice.methods.is_some() && row.kind == RemedyKind::Nothing) {
            let theory = advice.theory_sentences().iter().map(|s| typeset(s)).collect::<Vec<_>>();
            let own = if advice.methods.is_some() { &theory } else { rest };
            shown
                .page
                .push(table(advice, "Remedies in theory, the least training-loss forgetting F first", false).into());
            shown.page.extend(words(own));
            let out = advice.remedies.iter().filter(|r| !r.applies);
            let refused =
                out.map(|r| format!("{} does not apply: {}.", r.remedy, r.why.as_deref().unwrap_or_default()));
            shown.page.extend(refused.map(|sentence| Part::Words(typeset(&sentence))));
            shown.page.extend(words(&notes));
            let remedies = table(advice, "Remedies in theory, the least training-loss forgetting F first", true);
            shown.tables.push(remedies.clone().into());
            shown = shown.file("remedies", remedies).figure("remedies", figure(advice));
        }
        let title = match &advice.methods {
            Some(methods) => title(methods),
            None => "What to do against forgetting".into(),
        };
        let heading = typeset(&self.heading);
        Ok(Shown { title, heading, sentences, notes, ..shown }
            .next(&[("report with figures", "ebbing advise --out DIR"), ("more", "ebbing advise --help")]))
    }

    fn json(&self) -> Value {
        let advice = &self.advice;
        json!({
            "advice": advice,
            "answer": advice.sentences(),
            "theory": advice.theory_sentences(),
            "assumes": advice.assumes(),
        })
    }
}

/// What is done, as a title.
fn title(methods: &Methods) -> String {
    match methods.recommended.map(|k| &methods.rows[k]) {
        Some(row) => escape_markup(&format!("{}: {}", row.method, per_cent(row.accuracy))),
        None => "No gain that we can be sure of".into(),
    }
}

/// The methods that were left out, in one line.
fn left_out(methods: &Methods) -> Option<String> {
    let all = methods.left_out.join("; ");
    (!all.is_empty()).then(|| typeset(&format!("Left out: {all}.")))
}

/// The methods; `all` adds what files hold beyond the terminal's columns.
fn methods_table(methods: &Methods, all: bool) -> Table {
    let whole = |share: f64| format!("{:.0}", (100.0 * share).round() + 0.0);
    let mark = |row: &Method| if row.task_known { "*" } else { "" };
    let name = move |row: &Method| escape_markup(&format!("{}{}", row.method, mark(row)));
    let known = methods.rows.iter().any(|row| row.task_known);
    let title = if known { "Accuracy at the end in % (* the task must be known)" } else { "Accuracy at the end in %" };
    let table = Table::of(&escape_markup(title), &methods.rows).text("method", name);
    let table = match all {
        false => table
            .text("end", move |row: &Method| whole(row.accuracy))
            .text("range", |row| row.accuracy_interval.map_or(String::new(), between)),
        true => table
            .number("accuracy", |row: &Method| row.accuracy)
            .meaning("mean accuracy over all tasks after the last")
            .number("low", |row| row.accuracy_interval.map(|range| range[0]))
            .meaning("eight in ten measured networks lay above this and below high")
            .number("high", |row| row.accuracy_interval.map(|range| range[1]))
            .number("lost", |row| row.lost)
            .meaning("mean loss of accuracy over all tasks but the last")
            .number("gain", |row| row.accuracy_gain)
            .meaning("final accuracy gained over fine-tuning")
            .number("error", |row| row.forecast_error)
            .meaning("what such gains are off by on average"),
    };
    table
        .text("kept", |row| if row.bytes == 0 { String::new() } else { size(row.bytes as f64) })
        .meaning("kept between tasks beside the network")
        .text("supported by", |row| row.support.words())
        .meaning(
            "networks that forecasts were held against, with their mean error in points; exact: computed on these data",
        )
        .when(all, |table| {
            table
                .text("needs", |row| escape_markup(&row.needs))
                .text("task_known", |row| row.task_known.to_string())
                .text("sure", |row| row.sure.to_string())
                .meaning("whether the gain is more than such forecasts are off by")
        })
        .done()
}

/// The remedies; `all` adds what files hold beyond the terminal's columns.
fn table(advice: &Advice, title: &str, all: bool) -> Table {
    let rows: Vec<&Remedy> = advice.remedies.iter().filter(|r| all || r.applies).collect();
    let zero = |value: Option<f64>| value.map(|v| within(v, 1e-12));
    let (head, meaning) = match advice.held_out {
        true => ("test acc.", "test accuracy, average over all tasks after the last"),
        false => ("train acc.", "training accuracy (there are no test data), average over all tasks after the last"),
    };
    Table::of(title, &rows)
        .text("remedy", |r| escape_markup(&r.remedy))
        .number("F", |r| zero(r.forgetting))
        .key("forgetting")
        .meaning("mean loss of earlier tasks after the last, on training data")
        .when(all && advice.draws > 1, |table| table.number("standard_error", |r| zero(r.standard_error)))
        .number("gain", |r| zero(r.gain))
        .meaning("forgetting spared against doing nothing")
        .number(head, |r| zero(r.accuracy))
        .key("accuracy")
        .meaning(meaning)
        .number("transfer", |r| zero(r.backward_transfer))
        .key("backward_transfer")
        .meaning("backward transfer of accuracy: below 0 earlier tasks are forgotten")
        .number("cost", |r| zero(r.cost))
        .meaning("work of training relative to doing nothing")
        .when(all, |table| {
            table
                .text("needs", |r| escape_markup(&r.needs))
                .text("applies", |r| r.applies.to_string())
                .text("why", |r| escape_markup(r.why.as_deref().unwrap_or_default()))
        })
        .done()
}

/// Forgetting against cost, replay as a curve.
fn figure(advice: &Advice) -> Figure {
    let nothing = advice.remedies.iter().find(|r| r.kind == RemedyKind::Nothing).and_then(|r| r.forgetting);
    let (x, y): (Vec<f64>, Vec<f64>) = advice.replay.iter().map(|p| (p.cost, p.forgetting)).unzip();
    let (x, y) = match nothing {
        Some(f) => ([vec![1.0], x].concat(), [vec![f], y].concat()),
        None => (x, y),
    };
    let shown: Vec<(usize, &Remedy, f64, f64)> = (advice.remedies.iter().enumerate())
        .filter_map(|(k, r)| Some((k + 1, r, r.cost?, r.forgetting?)))
        .map(|(k, r, cost, f)| (k, r, cost, within(f, 1e-12)))
        .collect();
    // Of all points, those of the curve too.
    let reach = |of_remedies: fn(&(usize, &Remedy, f64, f64)) -> f64, curve: &[f64]| {
        shown.iter().map(of_remedies).chain(curve.iter().copied()).fold(0.0, f64::max)
    };
    let (high, right) = (reach(|p| p.3, &y).max(advice.target.unwrap_or(0.0)), 1.4 * reach(|p| p.2, &x).max(2.0));
    let mut panel = Panel::new()
        .x("work of training, doing nothing = 1")
        .y("mean final forgetting, loss on training data")
        .log_x()
        .x_range(0.5, right)
        // A little below zero, so that what forgets nothing stands clear of the axis.
        .y_range(-0.06 * high, 1.12 * high)
        .legend(Legend::Right)
        .line(Line::new("replay, more and more examples", &x, &y).category(0));
    if let Some(target) = advice.target {
        panel = panel.horizontal(&format!("asked for, {}", significant(target)), target);
    }
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
    Figure::wide(panel).title("What each remedy would do").caption(
        "Mean forgetting of earlier tasks after the last (loss on their training data) against the work of training, for every \
         remedy at its best setting, the best first. Colors show what a remedy needs: examples that are kept, the task known at \
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
