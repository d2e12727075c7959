//! The forecast in the terminal: tables that fit 80 columns, and sentences.

use super::Told;
use crate::output::Output;
use crate::text::wrap;
use ebbing::{Averaged, ContinualMetrics, CurveShape, Outlook};
use ebbing_report::{Matrix, Table, significant, with_error};

/// Everything the forecast tells, on one page.
pub fn page(told: &Told, output: &Output) -> String {
    let outlook = &told.outlook;
    let mut text = wrap(&told.heading, "", "  ");
    text += &pairs(outlook);
    for (name, layer) in &told.layers {
        text += &format!("\nLayer {name}\n{}", pairs(layer));
    }
    text += "\nForecast forgetting F, loss on training data (1: as bad as answering 0)\n\n";
    text += &matrix("F", &outlook.forgetting);
    text += "\n";
    for sentence in sentences(told) {
        text += &wrap(&sentence, "", "  ");
    }
    text += &depths(outlook);
    text += "\nAssumes a wide fully connected network, squared loss, training to the end, and an L2\n\
             penalty to the last solution; what a finite network does, `ebbing train` shows.\n";
    if let Some(folder) = &output.out {
        text += &format!("report: {}\n", folder.join("report.html").display());
    } else {
        text += "more: ebbing forecast --out DIR (report with figures), ebbing phase, --help\n";
    }
    text
}

/// Order parameters of consecutive pairs, or of all if they are few.
fn pairs(outlook: &Outlook) -> String {
    if outlook.pairs.is_empty() {
        return String::new();
    }
    let few = outlook.tasks.len() <= 4;
    let shown = outlook.pairs.iter().filter(|p| if few { p.first < p.second } else { p.second == p.first + 1 });
    let mut table = Table::new(&["pair", "γ_feature", "γ_RF", "γ_rule", "conflict", "F21", "γ_sim"]);
    for pair in shown {
        let e = pair.standard_error.unwrap_or_default();
        let v = &pair.values;
        let cell = |value: f64, error: f64| {
            if pair.standard_error.is_some() { with_error(value, error) } else { significant(value) }
        };
        table.row(&[
            &format!("{}→{}", pair.first, pair.second),
            &cell(v.gamma_feature, e.gamma_feature),
            &cell(v.gamma_rf, e.gamma_rf),
            &cell(v.gamma_rule, e.gamma_rule),
            &cell(v.conflict, e.conflict),
            &cell(v.f21, e.f21),
            &cell(v.gamma_sim, e.gamma_sim),
        ]);
    }
    let which = if few { "all pairs in the order learned" } else { "consecutive pairs" };
    format!("\nOrder parameters of {which}\n\n{}", table.render())
}

/// A task matrix; before a task is learned there is nothing to forget.
fn matrix(name: &str, values: &Averaged) -> String {
    let mut matrix = Matrix::tasks(name, &values.mean).only(|t, s| s <= t);
    if let Some(errors) = &values.standard_error {
        matrix = matrix.errors(errors);
    }
    Table::matrix(&matrix).render()
}

/// What the numbers say.
pub fn sentences(told: &Told) -> Vec<String> {
    let outlook = &told.outlook;
    let mut all = Vec::new();
    if let Some(worst) = &outlook.worst {
        all.push(format!(
            "Tasks {} and {} conflict most (conflict {}): {}.",
            worst.first,
            worst.second,
            significant(worst.conflict),
            worst.reading.words()
        ));
    }
    let last = outlook.forgetting.mean.len() - 1;
    if last > 0 {
        let value = outlook.forgetting.mean[last][0];
        let error = outlook.forgetting.standard_error.as_ref().map(|e| e[last][0]);
        let value = error.map_or(significant(value), |e| with_error(value, e));
        all.push(format!("Forecast forgetting of task 1 after {} tasks is {value}{}.", last + 1, fit(outlook)));
    }
    if let (Some(free), Some(delta)) = (outlook.f21_at_lambda_zero, outlook.delta_f21) {
        let change = if delta < 0.0 { "spares" } else { "adds" };
        all.push(format!(
            "Without the penalty F21 would be {}; the penalty {change} {}.",
            significant(free),
            significant(delta.abs())
        ));
    }
    if let Some(metrics) = outlook.test.as_ref().and_then(|t| t.metrics.as_ref()) {
        all.push(accuracy(metrics));
    }
    if let Some(order) = &outlook.order {
        let names: Vec<String> = order.order.iter().map(ToString::to_string).collect();
        let gain = if order.given > 0.0 { 100.0 * order.gain / order.given } else { 0.0 };
        all.push(if order.gain > 0.0 {
            format!(
                "The best order found is {}: mean final forgetting {} instead of {} ({gain:.1} % less, {} orders tried).",
                names.join(" "),
                significant(order.forgetting),
                significant(order.given),
                order.tried
            )
        } else {
            format!("The given order is the best of {} tried (mean final forgetting {}).", order.tried, significant(order.given))
        });
    }
    all.extend(outlook.notes.iter().map(|note| format!("Note: {note}.")));
    all
}

/// The fit of the forgetting curve as the end of a sentence.
fn fit(outlook: &Outlook) -> String {
    let Some(fit) = &outlook.fit else { return String::new() };
    match (fit.shape, fit.f_max, fit.tau) {
        (CurveShape::Exponential, Some(f_max), Some(tau)) => {
            let show = |u: ebbing::Uncertain| u.standard_error.map_or(significant(u.value), |e| with_error(u.value, e));
            let r2 = fit.r2.map_or(String::new(), |r2| format!(", R² {}", significant(r2)));
            format!(", rising as F_max(1 − e^(−(t−1)/τ)) with F_max {} and τ {} tasks{r2}", show(f_max), show(tau))
        }
        (shape, ..) => format!(" (the curve is {shape:?}, not a saturating exponential)").to_lowercase(),
    }
}

/// Accuracy metrics in one sentence.
fn accuracy(m: &ContinualMetrics) -> String {
    let mut parts = vec![format!("average accuracy {}", significant(m.average_accuracy))];
    let more = [
        ("learning accuracy", Some(m.learning_accuracy)),
        ("backward transfer", m.backward_transfer),
        ("forward transfer", m.forward_transfer),
        ("forgetting", m.forgetting),
        ("intransigence", m.intransigence),
    ];
    parts.extend(more.into_iter().filter_map(|(name, v)| v.map(|v| format!("{name} {}", significant(v)))));
    format!("On test data after the last task ({} convention): {}.", m.convention.name(), parts.join(", "))
}

/// What depth would change.
fn depths(outlook: &Outlook) -> String {
    if outlook.depths.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["depth", "γ_RF", "γ_rule", "conflict", "F21", "final F", "τ (tasks)"]);
    for d in &outlook.depths {
        let tau = d.fit.as_ref().and_then(|f| f.tau).map_or("-".into(), |t| significant(t.value));
        let last = d.standard_error.map_or(significant(d.final_forgetting), |e| with_error(d.final_forgetting, e));
        table.row(&[
            &d.depth.to_string(),
            &significant(d.order_parameters.gamma_rf),
            &significant(d.order_parameters.gamma_rule),
            &significant(d.order_parameters.conflict),
            &significant(d.f21),
            &last,
            &tau,
        ]);
    }
    format!(
        "\nWhat depth would change (order parameters over consecutive pairs, final F: mean\nforgetting of earlier tasks after the last)\n\n{}",
        table.render()
    )
}
