//! The three regimes by trained networks: two tasks, a readout each, at several loads α = P/N.

use super::{Args, Told, loss_words, reports};
use crate::console::Console;
use crate::output::write_json;
use ebbing::nets::{Solver, TaskReport};
use ebbing::request::{MeasuredLoad, TrainedLoads};
use ebbing::theory::multi_head::Power;
use ebbing::theory::phase::PhasePoint;
use ebbing_show::{Figure, Markers, Panel, Spread, Table, escape_markup, json_number, significant, typeset};
use ebbing_studies::draw::{self, LoadCurve};
use ebbing_studies::show::{counted, prepared};
use serde_json::{Value, json};

impl Args {
    /// Writes and prints what networks do at every load.
    pub(super) fn over_loads(&self, console: &Console, trained: &TrainedLoads) -> anyhow::Result<()> {
        let TrainedLoads { seed, settings, sequence, points, critical, .. } = trained;
        let (critical, seeds) = (*critical, self.request.0.seeds);
        let name = typeset(&settings.learner.name());
        let metadata = self.output.metadata("train", Some(*seed), &sequence.settings, settings)?;
        let found = |value: Option<f64>| value.map_or(Value::Null, json_number);
        let pair = |v: Option<(f64, f64)>| v.map_or(Value::Null, |(m, e)| json!({ "mean": m, "se": e }));
        let result = json!({
            "metadata": metadata,
            "exact_critical_load": json_number(critical),
            "points": points.iter().map(|q| json!({
                "alpha": q.alpha, "width": q.width, "regime": q.regime, "f21": pair(q.f21), "g22": pair(q.g22),
                "newest_training_error": json_number(q.newest), "learned": q.learned, "runs": q.runs, "settled": q.settled,
                "steps": json_number(q.steps), "diverged": q.diverged,
                "overshot": q.reports.iter().filter(|r| r.overshot).count(),
                "gradient": found(reports::largest_gradient(&of_load(q))),
                "objectives": reports::objectives(&of_load(q)),
            })).collect::<Vec<_>>(),
        });
        let texts = |get: &dyn Fn(&MeasuredLoad) -> String| points.iter().map(get).collect::<Vec<String>>();
        let whole = |get: fn(&MeasuredLoad) -> usize| points.iter().map(|q| get(q) as i64).collect::<Vec<i64>>();
        let number = |get: fn(&MeasuredLoad) -> f64| points.iter().map(get).collect::<Vec<f64>>();
        let measured = |table: Table, head: &str, get: fn(&MeasuredLoad) -> Option<(f64, f64)>| {
            let (mean, error): (Vec<f64>, Vec<f64>) =
                points.iter().map(|q| get(q).unwrap_or((f64::NAN, f64::NAN))).unzip();
            match seeds > 1 {
                true => table.estimate(head, &mean, Spread::StandardError, &error),
                false => table.number(head, &mean),
            }
        };
        let title = "F_{21}: loss of task 1 after task 2; G_{22}: test loss of task 2 over learning it alone";
        let table = Table::new(title).number("load P/N", &number(|q| q.alpha)).integer("width", &whole(|q| q.width));
        let table = measured(measured(table, "F_{21}", |q| q.f21), "G_{22}", |q| q.g22)
            .number("task 2's MSE", &number(|q| q.newest))
            .meaning("mean squared training error of task 2");
        let regimes = texts(&|q| q.regime.to_string());
        let in_files = table.clone().integer("learned", &whole(|q| q.learned)).meaning("runs that learned task 2");
        let in_files = in_files.integer("runs", &whole(|q| q.runs)).integer("settled", &whole(|q| q.settled));
        let in_files = in_files.number("steps", &number(|q| q.steps)).text("regime", &regimes);
        let learned = texts(&|q| format!("{}/{}", q.learned, q.runs));
        let table = table.text("learned", &learned).text("regime (theory)", &regimes);
        let heading = format!(
            "{}{} learned by {}, {}, {}; exact critical load {}",
            sequence.described(),
            prepared(sequence, true),
            name,
            loss_words(settings.loss),
            counted(seeds, "seed"),
            significant(critical)
        );
        let (settled, runs) = points.iter().fold((0, 0), |(s, r), q| (s + q.settled, r + q.runs));
        let ended = match settings.solver {
            Solver::Descent => format!(
                "Task 2 ended because loss and distance to the weights before stopped changing in {settled} of {runs} runs, \
                 and after --max-steps in the others."
            ),
            Solver::Levenberg => format!("Task 2 ended at its minimum in {settled} of {runs} runs."),
        };
        let mut sentences = vec![outcome(points, critical), ended];
        let all: Vec<&TaskReport> = points.iter().flat_map(of_load).collect();
        sentences.extend(reports::minima(&all).map(|said| format!("Task 2 alone included, {said}")));
        sentences.extend(reports::overshot(&name, &all, settings));
        let learned: usize = points.iter().map(|q| q.learned).sum();
        if learned < runs {
            let share = if learned == 0 { "No run".to_string() } else { format!("Only {learned} of {runs} runs") };
            let read = "what the others remember of task 1 says nothing about forgetting";
            sentences.push(format!("{share} learned task 2 to the threshold: {read}."));
        }
        let diverged = points.iter().flat_map(|q| &q.diverged);
        sentences.extend(diverged.map(|sentence| escape_markup(&format!("Left out: {sentence}."))));
        let told = Told { heading, table, in_files, sentences };
        self.output.save("train", |folder| {
            told.write(folder, "train-loads", figure(trained, seeds), &metadata)?;
            write_json(&folder.join("train-loads.json"), &result)
        })?;
        if self.output.json {
            return console.print_json(&result);
        }
        console.print(&told.screen(&self.output)?)
    }
}

/// Where networks forget most and where they learn the second task worst (markup).
fn outcome(points: &[MeasuredLoad], critical: f64) -> String {
    let largest = |get: fn(&MeasuredLoad) -> Option<(f64, f64)>| {
        let all = points.iter().filter_map(|q| get(q).map(|(mean, _)| (q.alpha, mean)));
        all.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let tell = |name: &str, (alpha, value): (f64, f64)| {
        format!("{name} is largest, {}, at load {}", significant(value), significant(alpha))
    };
    let parts = [largest(|q| q.f21).map(|at| tell("F_{21}", at)), largest(|q| q.g22).map(|at| tell("G_{22}", at))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "No run went through.".into(),
        false => format!("{}; the exact critical load is {}.", parts.join("; "), significant(critical)),
    }
}

/// How each task at one load was learned.
fn of_load(point: &MeasuredLoad) -> Vec<&TaskReport> {
    point.reports.iter().collect()
}

/// F21 and G22 against the load: markers for networks, lines for the theory at λ → ∞, tints for the regimes.
fn figure(trained: &TrainedLoads, seeds: usize) -> Figure {
    let TrainedLoads { points, curve, critical, .. } = trained;
    let high = points.iter().map(|q| q.alpha).fold(0.0, f64::max) * 1.05;
    let with_theory = |panel: Panel, get: fn(&PhasePoint) -> Option<Power>| {
        let panel = draw::tints(panel, (0.0, high), *critical);
        LoadCurve::new("theory, λ → ∞", 0, &curve.points, get).lines(panel)
    };
    let measured = |get: fn(&MeasuredLoad) -> Option<(f64, f64)>| {
        let some: Vec<(f64, f64, f64)> = points.iter().filter_map(|q| get(q).map(|(m, e)| (q.alpha, m, e))).collect();
        let x: Vec<f64> = some.iter().map(|s| s.0).collect();
        let y: Vec<f64> = some.iter().map(|s| s.1).collect();
        let e: Vec<f64> = some.iter().map(|s| s.2).collect();
        let markers = Markers::new("networks", &x, &y).category(1);
        if seeds > 1 { markers.errors(&e) } else { markers }
    };
    let panel = |name: &str| Panel::new().x("load α = P/N").y(name).x_range(0.0, high);
    let left = with_theory(panel("forgetting F_{21}"), |p| Some(p.f21)).markers(measured(|q| q.f21));
    let right = with_theory(panel("normalized test loss G_{22}").log_y(), |p| p.g22).markers(measured(|q| q.g22));
    let bars = if seeds > 1 {
        format!(" Bars: standard errors over {seeds} seeds of the initial weights.")
    } else {
        String::new()
    };
    let how = match trained.settings.solver {
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
