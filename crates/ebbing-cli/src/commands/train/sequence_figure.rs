//! Forgetting of the first task over a sequence: every learner, and the theory.

use super::runs::{self, Run, RunEnd};
use super::{Args, Told, cells, loss_words, reports};
use crate::console::Console;
use crate::output::write_json;
use ebbing::Context;
use ebbing::data::Sources;
use ebbing::nets::{Heads, Learner, TaskReport, Trained};
use ebbing::stats::{mean_curve, mean_with_error};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{SingleHead, TaskSequence};
use ebbing_show::{Figure, Line, Markers, Panel, Spread, Table, significant, typeset};
use ebbing_studies::show::{counted, prepared};
use serde_json::{Value, json};

/// A curve over the tasks with its standard error where there are several seeds.
struct LossCurve {
    name: String,
    mean: Vec<f64>,
    error: Vec<f64>,
}

impl LossCurve {
    fn of(name: &str, runs: &[Vec<f64>]) -> ebbing::Result<LossCurve> {
        let points = mean_curve(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        Ok(LossCurve {
            name: name.into(),
            mean: points.iter().map(|p| p.value).collect(),
            error: points.iter().map(|p| p.error()).collect(),
        })
    }
}

/// A learner's runs that went through, and the sentences of those that did not.
struct Group {
    learner: Learner,
    done: Vec<Trained>,
    diverged: Vec<String>,
}

impl Group {
    /// How each task of each run was learned.
    fn reports(&self) -> Vec<&TaskReport> {
        self.done.iter().flat_map(|t| &t.reports).collect()
    }
}

impl Args {
    /// Trains every learner on every seed's sequence.
    pub(super) fn over_tasks(&self, console: &Console) -> anyhow::Result<()> {
        let (recipe, sources) = (self.job.task_keys().recipe()?, Sources::new());
        let numbers: Vec<u64> = (0..self.job.seeds as u64).map(|k| recipe.seed.wrapping_add(k)).collect();
        let draw = |&seed: &u64| recipe.draw(&sources, seed);
        let sequences = numbers.iter().map(draw).collect::<ebbing::Result<Vec<_>>>()?;
        let learners = self.job.rules();
        let mut jobs = Vec::new();
        for learner in &learners {
            for (sequence, &seed) in sequences.iter().zip(&numbers) {
                let settings = self.job.settings(*learner, seed)?;
                let name = format!("{}-seed{seed}", learner.name().replace(['(', ')', ','], "_"));
                jobs.push(Run { name, tasks: sequence.tasks.clone(), settings });
            }
        }
        let mut outcomes = runs::all(&jobs, self.output.out.as_deref(), console)?.into_iter();
        let mut groups = Vec::new();
        for learner in learners {
            let mut group = Group { learner, done: vec![], diverged: vec![] };
            for outcome in outcomes.by_ref().take(numbers.len()) {
                match outcome {
                    RunEnd::Done(trained) => group.done.push(*trained),
                    RunEnd::Diverged(sentence) => group.diverged.push(sentence),
                }
            }
            groups.push(group);
        }
        let theory = self.theory(&sequences, &console.context())?;
        self.show_tasks(console, recipe.seed, &sequences[0], &groups, theory.as_ref())
    }

    /// The single-head theory's loss of task 1 after each task, over seeds.
    fn theory(&self, sequences: &[TaskSequence], context: &Context) -> anyhow::Result<Option<LossCurve>> {
        let settings = self.job.settings(Learner::Gd, 0)?;
        if settings.heads == Heads::Multi {
            return Ok(None);
        }
        let settings = SingleHeadSettings { architecture: settings.architecture, ..SingleHeadSettings::default() };
        let mut curves = Vec::new();
        for sequence in sequences {
            let forgetting = SingleHead::new(sequence, &settings, context)?.forgetting()?;
            curves.push(forgetting.iter().map(|row| row[0]).collect());
        }
        Ok(Some(LossCurve::of("theory, random features", &curves)?))
    }

    fn show_tasks(
        &self,
        console: &Console,
        seed: u64,
        sequence: &TaskSequence,
        groups: &[Group],
        theory: Option<&LossCurve>,
    ) -> anyhow::Result<()> {
        let shown = self.job.settings(groups[0].learner, seed)?;
        let metadata = self.output.metadata("train", Some(seed), &sequence.settings, &shown)?;
        let mut losses = Vec::new();
        for group in groups.iter().filter(|g| !g.done.is_empty()) {
            let first = |t: &Trained| t.train_loss.iter().map(|row| row[0]).collect::<Vec<_>>();
            losses.push(LossCurve::of(&group.learner.name(), &group.done.iter().map(first).collect::<Vec<_>>())?);
        }
        let result = json!({
            "metadata": metadata,
            "orientation": "[t][s]: after task t + 1, on task s + 1",
            "learners": groups.iter().map(|g| json!({
                "learner": g.learner, "runs": g.done, "diverged": g.diverged,
            })).collect::<Vec<Value>>(),
            "theory": theory.map(|c| json!({ "name": c.name, "loss_of_task_1": c.mean, "se": c.error })),
        });
        let heading = format!(
            "Training on {}{}: depth {}, width {}, {}, {}",
            sequence.described(),
            prepared(sequence, shown.heads == Heads::Multi),
            shown.architecture.depth,
            shown.width,
            loss_words(shown.loss),
            counted(self.job.seeds, "seed")
        );
        let (table, mut sentences) = self.table(groups, &losses, theory)?;
        sentences.insert(0, outcome(&losses, theory));
        let runs: Vec<(String, &[Trained])> = groups.iter().map(|g| (g.learner.name(), &g.done[..])).collect();
        let told = Told { heading, table, in_files: cells::table(&runs, self.job.seeds)?, sentences };
        self.output.save("train", |folder| {
            told.write(folder, "train", figure(groups, &losses, theory, self.job.seeds)?, &metadata)?;
            write_json(&folder.join("train.json"), &result)
        })?;
        if self.output.json {
            return console.print_json(&result);
        }
        console.print(&told.screen(&self.output)?)
    }

    /// The table, and what to know beside it.
    fn table(
        &self,
        groups: &[Group],
        losses: &[LossCurve],
        theory: Option<&LossCurve>,
    ) -> anyhow::Result<(Table, Vec<String>)> {
        let mut names: Vec<String> = losses.iter().map(|c| typeset(&c.name)).collect();
        let last = |c: &LossCurve| (c.mean[c.mean.len() - 1], c.error[c.error.len() - 1]);
        let mut loss: Vec<(f64, f64)> = losses.iter().map(last).collect();
        let (mut newest, mut learned, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for group in groups.iter().filter(|g| !g.done.is_empty()) {
            let reports = group.reports();
            let ends: Vec<f64> = group.done.iter().filter_map(|t| t.reports.last()).map(|r| r.mse).collect();
            newest.push(significant(mean_with_error(&ends)?.value));
            learned.push(format!("{}/{}", reports.iter().filter(|r| r.learned).count(), reports.len()));
            steps.push((reports.iter().map(|r| r.steps).sum::<usize>() / reports.len()).to_string());
        }
        if let Some(theory) = theory {
            names.push(theory.name.clone());
            loss.push(last(theory));
            [&mut newest, &mut learned, &mut steps].into_iter().for_each(|column| column.push("-".into()));
        }
        let (mean, error): (Vec<f64>, Vec<f64>) = loss.into_iter().unzip();
        let mut table = Table::new("Loss of task 1 after the last task, Σ(f − y)²/|Y|² on its training data");
        table = table.text("learner", &names);
        table = if self.job.seeds > 1 {
            table.estimate("loss of task 1", &mean, Spread::StandardError, &error)
        } else {
            table.number("loss of task 1", &mean)
        };
        let table = table.text("newest task's MSE", &newest).text("learned", &learned).text("steps per task", &steps);
        let mut sentences: Vec<String> = groups.iter().filter_map(unlearned).collect();
        for group in groups {
            let settings = self.job.settings(group.learner, 0)?;
            sentences.extend(reports::overshot(&group.learner.name(), &group.reports(), &settings));
        }
        sentences.extend(reports::minima(&groups.iter().flat_map(Group::reports).collect::<Vec<_>>()));
        sentences.extend(groups.iter().flat_map(|g| &g.diverged).map(|sentence| format!("Left out: {sentence}.")));
        Ok((table, sentences.iter().map(|sentence| typeset(sentence)).collect()))
    }
}

/// The loss of task 1 in the end, of every learner and of the theory (markup).
fn outcome(losses: &[LossCurve], theory: Option<&LossCurve>) -> String {
    let end = |curve: &LossCurve| {
        let last = curve.mean.last().copied().unwrap_or(f64::NAN);
        format!("{} with {}", significant(last), typeset(&curve.name))
    };
    let ends: Vec<String> = losses.iter().chain(theory).map(end).collect();
    let tasks = losses.iter().chain(theory).map(|curve| curve.mean.len()).max().unwrap_or_default();
    format!("After {tasks} tasks the loss of task 1 is {}.", ends.join(", "))
}

/// What to know of a learner that did not learn: not forgetting means nothing then.
fn unlearned(group: &Group) -> Option<String> {
    let reports = group.reports();
    let (learned, all, name) = (reports.iter().filter(|r| r.learned).count(), reports.len(), group.learner.name());
    match all - learned {
        0 => None,
        n if n == all => {
            Some(format!("{name} learned none of its {all} tasks: its losses say nothing about forgetting."))
        }
        n => Some(format!(
            "{name} did not learn {n} of its {all} tasks to the threshold: read its losses with that in mind."
        )),
    }
}

/// Loss and accuracy of task 1 after each task: markers for networks, a line for the theory.
fn figure(groups: &[Group], losses: &[LossCurve], theory: Option<&LossCurve>, seeds: usize) -> anyhow::Result<Figure> {
    let times = |n: usize| (1..=n).map(|t| t as f64).collect::<Vec<_>>();
    let mut loss = Panel::new().x("tasks learned, t").y("loss of task 1, F_{t1}").integer_x();
    if let Some(theory) = theory {
        loss = loss.line(Line::new(&typeset(&theory.name), &times(theory.mean.len()), &theory.mean).category(0));
    }
    for (k, curve) in losses.iter().enumerate() {
        let markers = Markers::new(&typeset(&curve.name), &times(curve.mean.len()), &curve.mean).category(k + 1);
        loss = loss.markers(if seeds > 1 { markers.errors(&curve.error) } else { markers });
    }
    let mut panels = vec![loss];
    type Pick = fn(&Trained) -> Option<Vec<f64>>;
    let picks: [(&str, Pick); 2] = [
        ("training accuracy on task 1", |t| t.train_accuracy.iter().map(|row| row[0]).collect()),
        ("test accuracy on task 1", |t| t.test_accuracy.iter().map(|row| row[0]).collect()),
    ];
    for (name, pick) in picks {
        let mut panel = Panel::new().x("tasks learned, t").y(name).integer_x();
        let mut any = false;
        for (k, group) in groups.iter().enumerate() {
            let Some(runs) = group.done.iter().map(pick).collect::<Option<Vec<_>>>().filter(|r| !r.is_empty()) else {
                continue;
            };
            let curve = LossCurve::of(&group.learner.name(), &runs)?;
            let markers = Markers::new(&typeset(&curve.name), &times(curve.mean.len()), &curve.mean).category(k + 1);
            panel = panel.markers(if seeds > 1 { markers.errors(&curve.error) } else { markers });
            any = true;
        }
        if any {
            panels.push(panel);
        }
    }
    let bars = if seeds > 1 { format!(" Bars: standard errors over {seeds} seeds.") } else { String::new() };
    let columns = panels.len();
    let newest = groups.iter().flat_map(|g| &g.done).flat_map(|t| &t.reports).map(|r| r.mse).fold(0.0, f64::max);
    let learned = format!(" Mean squared training error of a task just learned: at most {}.", significant(newest));
    Ok(Figure::grid(panels, columns).title("What is left of the first task").caption(&format!(
        "What is left of the first task as later ones are learned: trained networks (markers) and the theory of wide \
         random-feature networks (line).{learned}{bars}"
    )))
}
