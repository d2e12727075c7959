//! The forecast in the terminal and its sentences.

use super::Told;
use super::tables;
use crate::output::Output;
use ebbing::Forecast;
use ebbing::metrics::ContinualMetrics;
use ebbing::stats::CurveShape;
use ebbing::theory::forecast::Averaged;
use ebbing_report::{Matrix, Screen, Spread, escape_markup, significant, with_error};

/// What the forecast assumes.
pub const ASSUMES: &str = "Assumes a wide fully connected network, squared loss, training to the end, and an L2 penalty to the last \
                           solution; what a network of finite width does, `ebbing train` shows.";

/// Everything the forecast tells, on one page.
///
/// # Errors
/// Where a table is not sound.
pub fn page(told: &Told, output: &Output) -> ebbing_report::Result<String> {
    let outlook = &told.outlook;
    let mut screen = Screen::new(&escape_markup(&told.heading));
    if !outlook.pairs.is_empty() {
        screen = screen.table(&tables::shown_pairs(outlook, "Order parameters"))?;
    }
    for (name, layer) in &told.layers {
        screen = screen.table(&tables::shown_pairs(layer, &format!("Order parameters of {}", escape_markup(name))))?;
    }
    let title = "Forecast forgetting F, loss on training data (0: remembered, 1: as bad as answering 0)";
    screen = screen.matrix(&shown(title, &outlook.forgetting))?;
    if !outlook.depths.is_empty() {
        screen = screen.table(&tables::depths(outlook))?;
    }
    for sentence in sentences(told) {
        screen = screen.paragraph(&escape_markup(&sentence));
    }
    screen = screen.paragraph(ASSUMES);
    screen = match &output.out {
        Some(folder) => screen.next("report", &folder.join("report.html").display().to_string()),
        None => screen
            .next("report with figures", "ebbing forecast --out DIR")
            .next("more", "ebbing forecast --help, ebbing phase, ebbing train"),
    };
    Ok(screen.render_for_stdout())
}

/// A task matrix; before a task is learned there is nothing to forget.
pub fn matrix(name: &str, values: &Averaged) -> Matrix {
    let matrix = Matrix::tasks(name, &values.mean).only(|t, s| s <= t);
    match &values.standard_error {
        Some(errors) => matrix.errors(Spread::StandardError, errors),
        None => matrix,
    }
}

/// The same to look at: the loss of a task just learned is zero up to the square of rounding, and shown so.
pub fn shown(name: &str, values: &Averaged) -> Matrix {
    let clean = |rows: &Vec<Vec<f64>>| {
        let zero = |v: &f64| if v.abs() < 1e-20 { 0.0 } else { *v };
        rows.iter().map(|row| row.iter().map(zero).collect()).collect::<Vec<Vec<f64>>>()
    };
    let standard_error = values.standard_error.as_ref().map(clean);
    matrix(name, &Averaged { mean: clean(&values.mean), standard_error })
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
        all.push(order_sentence(order));
    }
    all.extend(outlook.notes.iter().map(|note| format!("Note: {note}.")));
    all
}

fn order_sentence(order: &ebbing::theory::task_order::TaskOrder) -> String {
    if order.gain <= 0.0 {
        return format!(
            "The given order is the best of {} tried (mean final forgetting {}).",
            order.tried,
            significant(order.given)
        );
    }
    let names: Vec<String> = order.order.iter().map(ToString::to_string).collect();
    format!(
        "The best order found is {}: mean final forgetting {} instead of {} ({:.1} % less; {} orders tried).",
        names.join(" "),
        significant(order.forgetting),
        significant(order.given),
        100.0 * order.gain / order.given,
        order.tried
    )
}

/// The fit of the forgetting curve as the end of a sentence.
fn fit(outlook: &Forecast) -> String {
    let Some(fit) = &outlook.fit else { return String::new() };
    match (fit.shape, fit.f_max, fit.tau) {
        (CurveShape::Saturating, Some(f_max), Some(tau)) => {
            let show =
                |u: ebbing::stats::Estimate| u.standard_error.map_or(significant(u.value), |e| with_error(u.value, e));
            let r2 = fit.r2.map_or(String::new(), |r2| format!(", R² {}", significant(r2)));
            format!(", rising as F_max(1 − e^(−(t−1)/τ)) with F_max {} and τ {} tasks{r2}", show(f_max), show(tau))
        }
        (shape, ..) => format!(" (no saturating exponential fits: the curve is {shape:?})").to_lowercase(),
    }
}

/// Accuracy metrics in one sentence.
fn accuracy(m: &ContinualMetrics) -> String {
    let all = [
        ("average accuracy", Some(m.average_accuracy)),
        ("learning accuracy", Some(m.learning_accuracy)),
        ("backward transfer", m.backward_transfer),
        ("forward transfer", m.forward_transfer),
        ("forgetting", m.forgetting),
        ("intransigence", m.intransigence),
    ];
    let parts: Vec<String> =
        all.into_iter().filter_map(|(name, v)| v.map(|v| format!("{name} {}", significant(v)))).collect();
    format!("On test data after the last task ({} convention): {}.", m.convention.name(), parts.join(", "))
}
