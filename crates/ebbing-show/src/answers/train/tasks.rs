//! Forgetting of the first task over a sequence: every learner, and the theory.

use super::{loss_words, minima, overshot};
use crate::answers::{bars, prepared};
use crate::error::Result;
use crate::figure::{Figure, Line, Markers, Panel};
use crate::shown::{Show, Shown, counted};
use crate::style::significant;
use crate::table::Table;
use crate::text::{escape_markup, typeset};
use ebbing::nets::{Heads, Learner, TaskReport, Trained};
use ebbing::request::{LearnerRuns, LossCurve, TrainedTasks};
use ebbing::stats::{Estimate, mean_with_error};
use serde_json::{Value, json};

/// How many seeds there were.
fn seeds(answer: &TrainedTasks) -> usize {
    answer.learners.first().map_or(1, |group| group.done.len() + group.diverged.len())
}

impl Show for TrainedTasks {
    fn shown(&self) -> Result<Shown> {
        let (settings, losses) = (&self.settings, &self.losses);
        let heading = format!(
            "Training on {}{}: depth {}, width {}, {}, {}",
            self.sequence.described(),
            prepared(&self.sequence, settings.heads == Heads::Multi),
            settings.architecture.depth,
            settings.width,
            loss_words(settings.loss),
            counted(seeds(self), "seed")
        );
        let ends: Vec<String> = losses.iter().chain(&self.theory).map(end).collect();
        let tasks = losses.iter().chain(&self.theory).map(|curve| curve.mean.len()).max().unwrap_or_default();
        let mut sentences = vec![format!("After {tasks} tasks the loss of task 1 is {}.", ends.join(", "))];
        sentences.extend(self.learners.iter().filter_map(unlearned));
        for group in &self.learners {
            sentences.extend(overshot(&group.learner.name(), &group.reports(), settings).map(|s| typeset(&s)));
        }
        sentences.extend(
            minima(&self.learners.iter().flat_map(LearnerRuns::reports).collect::<Vec<_>>()).map(|s| typeset(&s)),
        );
        let diverged = self.learners.iter().flat_map(|group| &group.diverged);
        sentences.extend(diverged.map(|sentence| typeset(&format!("Left out: {sentence}."))));
        let table = table(self)?;
        Ok(super::page(&heading, sentences, table, "train", cells(self)?).figure("train", figure(self)?))
    }

    fn json(&self) -> Value {
        let of = |g: &LearnerRuns| json!({ "learner": g.learner, "runs": g.done, "diverged": g.diverged });
        let theory = |c: &LossCurve| json!({ "name": c.name, "loss_of_task_1": c.mean, "se": c.error });
        json!({
            "orientation": "[t][s]: after task t + 1, on task s + 1",
            "learners": self.learners.iter().map(of).collect::<Vec<Value>>(),
            "theory": self.theory.as_ref().map(theory),
        })
    }
}

/// The loss of task 1 in the end (markup).
fn end(curve: &LossCurve) -> String {
    format!("{} with {}", significant(curve.mean.last().copied().unwrap_or(f64::NAN)), typeset(&curve.name))
}

/// One row per learner, and one for the theory.
fn table(answer: &TrainedTasks) -> Result<Table> {
    let trained = || answer.learners.iter().filter(|group| !group.done.is_empty()).map(Some);
    let mut rows = Vec::new();
    for (curve, group) in answer.losses.iter().chain(&answer.theory).zip(trained().chain([None])) {
        let [newest, learned, steps] = match group {
            None => ["-", "-", "-"].map(String::from),
            Some(group) => {
                let reports = group.reports();
                let ends: Vec<f64> = group.done.iter().filter_map(|t| t.reports.last()).map(|r| r.mse).collect();
                let learned = reports.iter().filter(|r| r.learned).count();
                let steps = reports.iter().map(|r| r.steps).sum::<usize>() / reports.len();
                let newest = significant(mean_with_error(&ends)?.value);
                [newest, format!("{learned}/{}", reports.len()), steps.to_string()]
            }
        };
        let value = curve.mean.last().copied().unwrap_or(f64::NAN);
        let last = Estimate { value, standard_error: curve.error.last().copied() };
        rows.push((typeset(&curve.name), last, newest, learned, steps));
    }
    Ok(Table::of("Loss of task 1 after the last task, Σ(f − y)²/|Y|² on its training data", &rows)
        .text("learner", |r| r.0.clone())
        .estimate("loss of task 1", seeds(answer) > 1, |r| r.1)
        .text("newest task's MSE", |r| r.2.clone())
        .text("learned", |r| r.3.clone())
        .text("steps per task", |r| r.4.clone())
        .done())
}

/// What to know of a learner that did not learn: not forgetting means nothing then.
fn unlearned(group: &LearnerRuns) -> Option<String> {
    let reports = group.reports();
    let (learned, all) = (reports.iter().filter(|r| r.learned).count(), reports.len());
    let name = typeset(&group.learner.name());
    match all - learned {
        0 => None,
        n if n == all => {
            Some(format!("{name} learned none of its {all} tasks: its losses say nothing about forgetting."))
        }
        n => Some(format!(
            "{name} did not learn {n} of its {all} tasks to the threshold: read its losses with that in mind.{}",
            way_out(group)
        )),
    }
}

/// What may help tasks that were not learned: what ended by itself is no matter of steps.
fn way_out(group: &LearnerRuns) -> String {
    let missed: Vec<&TaskReport> = group.reports().into_iter().filter(|r| !r.learned).collect();
    let ended = missed.iter().filter(|r| r.converged).count();
    let smaller =
        if group.learner == Learner::Gd { "a larger --width" } else { "a smaller --kappa or a larger --width" };
    let minimum = format!(" They ended by themselves, {smaller} may leave less error.");
    match ended {
        0 => " More --max-steps may help.".into(),
        n if n == missed.len() => minimum,
        n => format!(
            " {n} of them ended by themselves, where {smaller} may leave less error; the others may need more --max-steps."
        ),
    }
}

/// A quantity of a run, after task t on task s.
type Quantity = (&'static str, &'static str, fn(&Trained, usize, usize) -> Option<f64>);

const QUANTITIES: [Quantity; 4] = [
    ("train_loss", "training loss of the task over the norm of its targets", |r, t, s| Some(r.train_loss[t][s])),
    ("test_loss", "test loss of the task over the norm of its targets", |r, t, s| r.test_loss[t][s]),
    ("train_accuracy", "share of training examples classified correctly", |r, t, s| r.train_accuracy[t][s]),
    ("test_accuracy", "share of test examples classified correctly", |r, t, s| r.test_accuracy[t][s]),
];

/// What networks do on every task after every task, as files hold it: one row per learner and pair of tasks, means over the runs.
fn cells(answer: &TrainedTasks) -> Result<Table> {
    let mut rows: Vec<(&LearnerRuns, usize, usize)> = Vec::new();
    for group in answer.learners.iter().filter(|group| !group.done.is_empty()) {
        // A task is looked at once it was learned.
        let learned = |t: usize| (0..=t).map(move |s| (group, t, s));
        rows.extend((0..group.done[0].train_loss.len()).flat_map(learned));
    }
    let mut table = Table::of("Every task after every task", &rows)
        .text("learner", |r| escape_markup(&r.0.learner.name()))
        .integer("t", |r| r.1 + 1)
        .meaning("tasks learned")
        .integer("s", |r| r.2 + 1)
        .meaning("the task that is looked at, from 1");
    for (name, meaning, get) in QUANTITIES {
        let mean = |(group, t, s): &(&LearnerRuns, usize, usize)| {
            let values: Option<Vec<f64>> = group.done.iter().map(|run| get(run, *t, *s)).collect();
            values.map(|values| Estimate::over(&values))
        };
        table = table.when(rows.iter().any(|row| mean(row).is_some()), |table| {
            table.estimate(&escape_markup(name), seeds(answer) > 1, mean).meaning(meaning)
        });
    }
    Ok(table.done())
}

/// Loss and accuracy of task 1 after each task: markers for networks, a line for the theory.
fn figure(answer: &TrainedTasks) -> Result<Figure> {
    let times = |curve: &LossCurve| (1..=curve.mean.len()).map(|t| t as f64).collect::<Vec<f64>>();
    let marked = |panel: Panel, k: usize, curve: &LossCurve| {
        let markers = Markers::new(&typeset(&curve.name), &times(curve), &curve.mean).category(k + 1);
        panel.markers(if seeds(answer) > 1 { markers.errors(&curve.error) } else { markers })
    };
    let panel = |name: &str| Panel::new().x("tasks learned, t").y(name).integer_x();
    let mut loss = panel("loss of task 1, F_{t1}");
    if let Some(curve) = &answer.theory {
        loss = loss.line(Line::new(&typeset(&curve.name), &times(curve), &curve.mean).category(0));
    }
    let mut panels = vec![answer.losses.iter().enumerate().fold(loss, |panel, (k, curve)| marked(panel, k, curve))];
    type Pick = fn(&Trained) -> Option<Vec<f64>>;
    let picks: [(&str, Pick); 2] = [
        ("training accuracy on task 1", |t| t.train_accuracy.iter().map(|row| row[0]).collect()),
        ("test accuracy on task 1", |t| t.test_accuracy.iter().map(|row| row[0]).collect()),
    ];
    for (name, pick) in picks {
        let mut drawn = None;
        for (k, group) in answer.learners.iter().enumerate() {
            let runs: Option<Vec<Vec<f64>>> = group.done.iter().map(pick).collect();
            if let Some(runs) = runs.filter(|runs| !runs.is_empty()) {
                let curve = LossCurve::of(&group.learner.name(), &runs)?;
                drawn = Some(marked(drawn.unwrap_or_else(|| panel(name)), k, &curve));
            }
        }
        panels.extend(drawn);
    }
    let columns = panels.len();
    let runs = answer.learners.iter().flat_map(|g| &g.done);
    let newest = runs.flat_map(|t| &t.reports).map(|r| r.mse).fold(0.0, f64::max);
    Ok(Figure::grid(panels, columns).title("What is left of the first task").caption(&format!(
        "What is left of the first task as later ones are learned: trained networks (markers) and the theory of wide \
         random-feature networks (line). Mean squared training error of a task just learned: at most {}.{}",
        significant(newest),
        bars(seeds(answer))
    )))
}
