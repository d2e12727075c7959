//! Advice as a figure, a table, a page and a report.

use crate::error::Result;
use crate::figure::{Figure, Legend, Line, Markers, Panel};
use crate::shown::{Part, Show, Shown};
use crate::style::significant;
use crate::table::Table;
use crate::text::{escape_markup, typeset};
use ebbing::request::AdviseAnswer;
use ebbing::stats::number::within;
use ebbing::theory::advise::{Advice, Remedy, RemedyKind};
use serde_json::{Value, json};

impl Show for AdviseAnswer {
    fn shown(&self) -> Result<Shown> {
        let advice = &self.advice;
        let sentences: Vec<String> = advice.sentences().iter().map(|s| typeset(s)).collect();
        let out = advice.remedies.iter().filter(|r| !r.applies);
        let refused = out.map(|r| format!("{} does not apply: {}.", r.remedy, r.why.as_deref().unwrap_or_default()));
        let notes = vec![advice.assumes().to_string()];
        let (first, rest) = sentences.split_at(sentences.len().min(1));
        let words = |all: &[String]| all.iter().cloned().map(Part::Words).collect::<Vec<_>>();
        let mut page = words(first);
        page.push(table(advice, "Remedies, the least forgetting F first", false).into());
        page.extend(words(rest));
        page.extend(refused.map(|sentence| Part::Words(typeset(&sentence))));
        page.extend(words(&notes));
        let remedies = table(advice, "Remedies, the least forgetting first", true);
        let tables = vec![remedies.clone().into()];
        let (title, heading) = ("What to do against forgetting".into(), typeset(&self.heading));
        Ok(Shown { title, heading, sentences, notes, page, tables, ..Shown::default() }
            .figure("remedies", figure(advice))
            .file("remedies", remedies)
            .next(&[("report with a figure", "ebbing advise --out DIR"), ("more", "ebbing advise --help")]))
    }

    fn json(&self) -> Value {
        let advice = &self.advice;
        json!({ "advice": advice, "answer": advice.sentences(), "assumes": advice.assumes() })
    }
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
