//! The three regimes by trained networks: two tasks, a readout each, at several loads α = P/N.

use super::runs::{self, Run, RunEnd};
use super::{Args, Told, loss_words, reports};
use crate::console::Console;
use crate::output::write_json;
use ebbing::data::Sources;
use ebbing::nets::{Heads, MeanInterference, Solver, TaskReport};
use ebbing::stats::Estimate;
use ebbing::theory::multi_head::{MultiHeadSettings, Power, Regime, TwoTasks};
use ebbing::theory::phase::PhasePoint;
use ebbing::{Error, TaskSequence};
use ebbing_show::{Figure, Markers, Panel, Spread, Table, escape_markup, json_number, significant, typeset};
use ebbing_studies::draw::{self, LoadCurve};
use ebbing_studies::show::{counted, prepared};
use serde_json::{Value, json};

/// What was measured at one load.
struct MeasuredLoad {
    alpha: f64,
    width: usize,
    /// Means and standard errors over seeds; none where no run went through.
    f21: Option<(f64, f64)>,
    g22: Option<(f64, f64)>,
    newest: f64,
    learned: usize,
    runs: usize,
    /// How the second task's training ended: settled, or out of steps.
    settled: usize,
    /// Mean number of steps on the second task.
    steps: f64,
    /// How each task of each run that went through was learned, and task 2 alone.
    reports: Vec<TaskReport>,
    /// The sentences of runs that diverged: these enter no average.
    diverged: Vec<String>,
    regime: Regime,
}

impl MeasuredLoad {
    fn reports(&self) -> Vec<&TaskReport> {
        self.reports.iter().collect()
    }
}

impl Args {
    /// Trains two tasks with a readout each at every load, and task 2 alone for comparison.
    pub(super) fn over_loads(&self, console: &Console) -> anyhow::Result<()> {
        let [learner] = self.job.rules()[..] else {
            return Err(Error::setting("--learners", "several", "must be one learner (l2) with --loads").into());
        };
        let base = self.job.settings(learner, 0)?;
        if base.heads != Heads::Multi {
            return Err(Error::setting("--heads", "single", "must be multi with --loads").into());
        }
        let recipe = self.job.task_keys().recipe()?;
        let sequence = recipe.draw(&Sources::new(), recipe.seed)?;
        check_two(&sequence)?;
        let p = sequence.tasks[1].x.nrows();
        let widths = self.job.widths(p)?;
        let mut jobs = Vec::new();
        for &width in &widths {
            for k in 0..self.job.seeds as u64 {
                let mut settings = self.job.settings(learner, recipe.seed.wrapping_add(k))?;
                settings.width = width;
                let name = format!("width{width}-seed{}", settings.seed);
                let alone = vec![sequence.tasks[1].clone()];
                jobs.push(Run { name: format!("{name}-alone"), tasks: alone, settings: settings.clone() });
                jobs.push(Run { name, tasks: sequence.tasks.clone(), settings });
            }
        }
        let outcomes = runs::all(&jobs, self.output.out.as_deref(), console)?;
        let theory = TwoTasks::new(
            &sequence.tasks,
            &MultiHeadSettings { sigma2: base.sigma0.powi(2), ..Default::default() },
            &console.context(),
        )?;
        let critical = theory.critical_load()?;
        let mut points = Vec::new();
        for (k, &width) in widths.iter().enumerate() {
            let outcomes = &outcomes[2 * k * self.job.seeds..2 * (k + 1) * self.job.seeds];
            let alpha = p as f64 / width as f64;
            points.push(point(alpha, width, outcomes, critical.regime(alpha).0)?);
        }
        self.show_loads(console, recipe.seed, &sequence, &points, &theory, critical.alpha_c)
    }

    fn show_loads(
        &self,
        console: &Console,
        seed: u64,
        sequence: &TaskSequence,
        points: &[MeasuredLoad],
        theory: &TwoTasks,
        critical: f64,
    ) -> anyhow::Result<()> {
        let settings = self.job.settings(self.job.rules()[0], seed)?;
        let metadata = self.output.metadata("train", Some(seed), &sequence.settings, &settings)?;
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
                "gradient": found(reports::largest_gradient(&q.reports())),
                "objectives": reports::objectives(&q.reports()),
            })).collect::<Vec<_>>(),
        });
        let texts = |get: &dyn Fn(&MeasuredLoad) -> String| points.iter().map(get).collect::<Vec<String>>();
        let whole = |get: fn(&MeasuredLoad) -> usize| points.iter().map(|q| get(q) as i64).collect::<Vec<i64>>();
        let number = |get: fn(&MeasuredLoad) -> f64| points.iter().map(get).collect::<Vec<f64>>();
        let measured = |table: Table, head: &str, get: fn(&MeasuredLoad) -> Option<(f64, f64)>| {
            let (mean, error): (Vec<f64>, Vec<f64>) =
                points.iter().map(|q| get(q).unwrap_or((f64::NAN, f64::NAN))).unzip();
            match self.job.seeds > 1 {
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
            typeset(&self.job.rules()[0].name()),
            loss_words(settings.loss),
            counted(self.job.seeds, "seed"),
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
        let all: Vec<&TaskReport> = points.iter().flat_map(MeasuredLoad::reports).collect();
        sentences.extend(reports::minima(&all).map(|said| format!("Task 2 alone included, {said}")));
        sentences.extend(reports::overshot(&typeset(&self.job.rules()[0].name()), &all, &settings));
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
            let drawn = figure(points, theory, critical, self.job.seeds, settings.solver)?;
            told.write(folder, "train-loads", drawn, &metadata)?;
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

fn check_two(sequence: &TaskSequence) -> ebbing::Result<()> {
    if sequence.tasks.len() != 2 {
        return Err(Error::setting("--length", sequence.tasks.len(), "must be 2 with --loads"));
    }
    if sequence.tasks[1].test.is_none() {
        return Err(Error::data("task 2", "has no test set; --loads compares its test loss with learning it alone"));
    }
    Ok(())
}

/// Averages the runs of one load; `outcomes` holds, per seed, the run alone and the run of both tasks.
fn point(alpha: f64, width: usize, outcomes: &[RunEnd], regime: Regime) -> ebbing::Result<MeasuredLoad> {
    let (mut runs, mut diverged) = (vec![], vec![]);
    for pair in outcomes.chunks(2) {
        match pair {
            [RunEnd::Done(alone), RunEnd::Done(both)] => runs.push((both.as_ref(), alone.as_ref())),
            _ => diverged.extend(pair.iter().filter_map(RunEnd::sentence).map(String::from)),
        }
    }
    let mean = MeanInterference::of(&runs)?;
    let with_error = |e: Estimate| (e.value, e.error());
    Ok(MeasuredLoad {
        alpha,
        width,
        f21: mean.f21.map(with_error),
        g22: mean.g22.map(with_error),
        newest: mean.mse,
        learned: mean.learned,
        runs: outcomes.len() / 2,
        settled: mean.settled,
        steps: mean.steps,
        reports: runs.iter().flat_map(|(both, alone)| both.reports.iter().chain(&alone.reports)).cloned().collect(),
        diverged,
        regime,
    })
}

/// F21 and G22 against the load: markers for networks, lines for the theory at λ → ∞, tints for the regimes.
fn figure(
    points: &[MeasuredLoad],
    theory: &TwoTasks,
    critical: f64,
    seeds: usize,
    solver: Solver,
) -> anyhow::Result<Figure> {
    let first = points.iter().map(|q| q.alpha).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|q| q.alpha).fold(0.0, f64::max) * 1.05;
    let mut alphas = ebbing::stats::log_grid(0.5 * first.min(0.2), high, 121);
    // The theory has no value at α = 1 itself.
    alphas.retain(|a| (a - 1.0).abs() > 1e-3);
    let curve = theory.curve(&alphas)?;
    let with_theory = |panel: Panel, get: fn(&PhasePoint) -> Option<Power>| {
        let panel = draw::tints(panel, (0.0, high), critical);
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
    let how = match solver {
        Solver::Descent => "trained by descent",
        Solver::Levenberg => "at the minimum of loss and penalty",
    };
    let worst = points.iter().map(|q| q.newest).fold(0.0, f64::max);
    Ok(Figure::grid(vec![left, right], 2).title("Trained networks in the three regimes").caption(&format!(
        "Forgetting of task 1 and normalized test loss of task 2 for networks {how} (markers) and for the \
         theory at λ → ∞ (lines), which has no finite G_{{22}} in the overfitting regime: it grows as λ^{{1/2}} there. \
         Mean squared training error of task 2: at most {}.{bars}",
        significant(worst)
    )))
}
