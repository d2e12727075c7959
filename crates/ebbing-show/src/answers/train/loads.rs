//! The three regimes by trained networks: two tasks, a readout each, at several loads α = P/N.

use super::{largest_gradient, loss_words, minima, objectives, overshot};
use crate::answers::{bars, prepared};
use crate::error::Result;
use crate::figure::{Figure, Markers, Panel};
use crate::files::json_number;
use crate::loads::{self, LoadCurve};
use crate::shown::{Show, Shown, counted};
use crate::style::significant;
use crate::table::{Rows, Table};
use crate::text::{escape_markup, typeset};
use ebbing::nets::{Solver, TaskReport};
use ebbing::request::{MeasuredLoad, TrainedLoads};
use ebbing::stats::Estimate;
use ebbing::theory::multi_head::Power;
use ebbing::theory::phase::PhasePoint;
use serde_json::{Value, json};

impl Show for TrainedLoads {
    fn shown(&self) -> Result<Shown> {
        let rule = typeset(&self.settings.learner.name());
        let heading = format!(
            "{}{} learned by {rule}, {}, {}; exact critical load {}",
            self.sequence.described(),
            prepared(&self.sequence, true),
            loss_words(self.settings.loss),
            counted(seeds(self), "seed"),
            significant(self.critical)
        );
        let (table, in_files) = tables(self);
        Ok(super::page(&heading, sentences(self, &rule), table, "train-loads", in_files)
            .figure("train-loads", figure(self)))
    }

    fn json(&self) -> Value {
        let pair = |v: Option<(f64, f64)>| v.map_or(Value::Null, |(mean, se)| json!({ "mean": mean, "se": se }));
        let point = |q: &MeasuredLoad| {
            let reports: Vec<&TaskReport> = q.reports.iter().collect();
            json!({
                "alpha": q.alpha, "width": q.width, "regime": q.regime, "f21": pair(q.f21), "g22": pair(q.g22),
                "newest_training_error": json_number(q.newest), "learned": q.learned, "runs": q.runs,
                "settled": q.settled, "steps": json_number(q.steps), "diverged": q.diverged,
                "overshot": q.reports.iter().filter(|r| r.overshot).count(),
                "gradient": largest_gradient(&reports).map_or(Value::Null, json_number),
                "objectives": objectives(&reports),
            })
        };
        let points: Vec<Value> = self.points.iter().map(point).collect();
        json!({ "exact_critical_load": json_number(self.critical), "points": points })
    }
}

/// How many seeds there were.
fn seeds(answer: &TrainedLoads) -> usize {
    answer.points.first().map_or(1, |q| q.runs)
}

fn estimate((value, error): (f64, f64)) -> Estimate {
    Estimate { value, standard_error: Some(error) }
}

/// The table of the page, and the one that files hold.
fn tables(answer: &TrainedLoads) -> (Table, Table) {
    let several = seeds(answer) > 1;
    let title = "F_{21}: loss of task 1 after task 2; G_{22}: test loss of task 2 over learning it alone";
    let common = || {
        Table::of(title, &answer.points)
            .number("load P/N", |q| q.alpha)
            .integer("width", |q| q.width)
            .estimate("F_{21}", several, |q| q.f21.map(estimate))
            .estimate("G_{22}", several, |q| q.g22.map(estimate))
            .number("task 2's MSE", |q| q.newest)
            .meaning("mean squared training error of task 2")
    };
    let regime = |head: &str, table: Rows<'_, MeasuredLoad>| table.text(head, |q| q.regime.to_string()).done();
    let in_files = common()
        .integer("learned", |q| q.learned)
        .meaning("runs that learned task 2")
        .integer("runs", |q| q.runs)
        .integer("settled", |q| q.settled)
        .number("steps", |q| q.steps);
    let shown = common().text("learned", |q| format!("{}/{}", q.learned, q.runs));
    (regime("regime (theory)", shown), regime("regime", in_files))
}

/// What the numbers say, and what to know of the runs.
fn sentences(answer: &TrainedLoads, rule: &str) -> Vec<String> {
    let points = &answer.points;
    let sum = |get: fn(&MeasuredLoad) -> usize| points.iter().map(get).sum::<usize>();
    let (settled, runs, learned) = (sum(|q| q.settled), sum(|q| q.runs), sum(|q| q.learned));
    let ended = match answer.settings.solver {
        Solver::Descent => format!(
            "Task 2 ended because loss and distance to the weights before stopped changing in {settled} of {runs} runs, \
             and after --max-steps in the others."
        ),
        Solver::Levenberg => format!("Task 2 ended at its minimum in {settled} of {runs} runs."),
    };
    let mut all = vec![outcome(answer), ended];
    let reports: Vec<&TaskReport> = points.iter().flat_map(|q| &q.reports).collect();
    all.extend(minima(&reports).map(|said| format!("Task 2 alone included, {said}")));
    all.extend(overshot(rule, &reports, &answer.settings));
    if learned < runs {
        let share = if learned == 0 { "No run".to_string() } else { format!("Only {learned} of {runs} runs") };
        let read = "what the others remember of task 1 says nothing about forgetting";
        all.push(format!("{share} learned task 2 to the threshold: {read}."));
    }
    let diverged = points.iter().flat_map(|q| &q.diverged);
    all.extend(diverged.map(|sentence| escape_markup(&format!("Left out: {sentence}."))));
    all
}

/// Where networks forget most and where they learn the second task worst (markup).
fn outcome(answer: &TrainedLoads) -> String {
    let largest = |name: &str, get: fn(&MeasuredLoad) -> Option<(f64, f64)>| {
        let all = answer.points.iter().filter_map(|q| get(q).map(|(mean, _)| (q.alpha, mean)));
        let (alpha, value) = all.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!("{name} is largest, {}, at load {}", significant(value), significant(alpha)))
    };
    let parts = [largest("F_{21}", |q| q.f21), largest("G_{22}", |q| q.g22)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "No run went through.".into(),
        false => format!("{}; the exact critical load is {}.", parts.join("; "), significant(answer.critical)),
    }
}

/// F21 and G22 against the load: markers for networks, lines for the theory at λ → ∞, tints for the regimes.
fn figure(answer: &TrainedLoads) -> Figure {
    let points = &answer.points;
    let high = points.iter().map(|q| q.alpha).fold(0.0, f64::max) * 1.05;
    let panel = |name: &str| Panel::new().x("load α = P/N").y(name).x_range(0.0, high);
    let drawn =
        |panel: Panel, theory: fn(&PhasePoint) -> Option<Power>, get: fn(&MeasuredLoad) -> Option<(f64, f64)>| {
            let panel = loads::tints(panel, (0.0, high), answer.critical);
            let panel = LoadCurve::new("theory, λ → ∞", 0, &answer.curve.points, theory).lines(panel);
            let some = points.iter().filter_map(|q| Some((q.alpha, get(q)?)));
            let (x, known): (Vec<f64>, Vec<(f64, f64)>) = some.unzip();
            let (y, errors): (Vec<f64>, Vec<f64>) = known.into_iter().unzip();
            let markers = Markers::new("networks", &x, &y).category(1);
            panel.markers(if seeds(answer) > 1 { markers.errors(&errors) } else { markers })
        };
    let left = drawn(panel("forgetting F_{21}"), |p| Some(p.f21), |q| q.f21);
    let right = drawn(panel("normalized test loss G_{22}").log_y(), |p| p.g22, |q| q.g22);
    let bars = bars(seeds(answer)).replace("seeds.", "seeds of the initial weights.");
    let how = match answer.settings.solver {
        Solver::Descent => "trained by descent",
        Solver::Levenberg => "at the minimum of loss and penalty",
    };
    let worst = points.iter().map(|q| q.newest).fold(0.0, f64::max);
    Figure::grid(vec![left, right], 2).title("Trained networks in the three regimes").caption(&format!(
        "Forgetting of task 1 and normalized test loss of task 2 for networks {how} (markers) and for the \
         theory at λ → ∞ (lines), which has no finite G_{{22}} in the overfitting regime: it grows as λ^{{1/2}} there. \
         Mean squared training error of task 2: at most {}.{bars}",
        significant(worst)
    ))
}
