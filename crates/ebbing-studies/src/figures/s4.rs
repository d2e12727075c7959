//! Figure S4: what is left of the first of many tasks after learning with and without penalties, beside the theory.

use super::common::{random_features, relu};
use super::drawn::Drawn;
use super::loads::{column, largest};
use super::minima::seeds;
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::cell::{Cell, Row};
use crate::claim::Claim;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::study::{Column, Study, Work};
use ebbing::data::Sources;
use ebbing::nets::{self, Fisher, Heads, Indexing, Learner, LossScale, Solver, TrainSettings};
use ebbing::plan::{Cost, forgetting_cost, levenberg_cost, train_cost};
use ebbing::stats::Estimate;
use ebbing::tasks::{Permuted, Protocol};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Recipe, SingleHead, Task, Trainer};
use ebbing_report::{Figure, Line, Markers, Panel};
use serde::{Deserialize, Serialize};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S4",
    panels: "a, b, c",
    shows: "Accuracy on the first task after each of many, for four learners and the theory",
    needs: Needs::Training,
    bound: None,
    figure: |scale, images| Box::new(Learners::at(scale, images)),
};

/// How networks are trained.
#[derive(Debug, Clone, Serialize)]
struct Training {
    /// Strength of the pull to the weights after the task before.
    kappa: f64,
    /// Standard deviation of the initial weights.
    sigma0: f64,
    /// The loss that κ is measured against.
    loss: LossScale,
    /// Tasks without a penalty end below this mean squared error.
    threshold: f64,
    /// L2: the share of the first gradient that is left at the minimum.
    gradient_tolerance: f64,
    /// EWC: heavy-ball momentum (ten times as fast as without, at the same minimum).
    momentum: f64,
    /// EWC: steps on a task. Weights without Fisher information are not held, and their valleys have no end in thousands of steps.
    ewc_steps: usize,
}

impl Training {
    /// The settings of one run: descent without a penalty, the minimum itself with the plain one, descent with momentum where
    /// the penalty differs from weight to weight. The first task has none, and is learned by descent as in the paper.
    fn settings(&self, learner: Learner, depth: usize, width: usize, seed: u64) -> TrainSettings {
        let settings = TrainSettings {
            learner,
            heads: Heads::Single,
            architecture: relu(depth),
            width,
            sigma0: self.sigma0,
            loss: self.loss,
            threshold: self.threshold,
            seed,
            ..TrainSettings::default()
        };
        match learner {
            Learner::Gd => settings,
            Learner::L2 { .. } => TrainSettings {
                solver: Solver::Levenberg,
                first_solver: Some(Solver::Descent),
                gradient_tolerance: self.gradient_tolerance,
                max_steps: 2000,
                momentum: self.momentum,
                ..settings
            },
            Learner::Ewc { .. } => TrainSettings { momentum: self.momentum, max_steps: self.ewc_steps, ..settings },
        }
    }
}

/// Small networks that tell what the large ones depend on.
#[derive(Debug, Clone, Serialize)]
struct Small {
    p: usize,
    p_test: usize,
    /// Widths of L2.
    widths: Vec<usize>,
    /// The width of EWC, γ = 1 …
    width: usize,
    /// … with this many steps on a task.
    steps: Vec<usize>,
    seeds: u64,
}

/// Learners × seeds, and the theory on as many sequences of its own.
#[derive(Serialize)]
struct Learners {
    data: String,
    scale: Scale,
    tasks: usize,
    p: usize,
    p_test: usize,
    depth: usize,
    width: usize,
    #[serde(flatten)]
    training: Training,
    fisher: Fisher,
    indexing: Indexing,
    /// Of networks and of the theory.
    seeds: [u64; 2],
    small: Small,
}

const NAMES: [&str; 4] = ["gd", "l2", "ewc0", "ewc1"];
const SHOWN: [&str; 4] = ["gradient descent", "L2", "online EWC, γ = 0", "online EWC, γ = 1"];

impl Learners {
    /// The paper has 15 tasks of P = 2000 (its width is not stated) and 100 seeds: with N = 1000 more than 30,000 core-hours. The
    /// larger of the two scales is what two cores do in hours.
    fn at(scale: Scale, images: Images) -> Learners {
        let data = images.name("mnist");
        let (tasks, p, p_test, width, ewc_steps, seeds) = match (scale, images.few()) {
            (Scale::Paper, false) => (8, 600, 600, 500, 1000, [5, 5]),
            (Scale::Quick, false) => (6, 200, 300, 200, 1000, [3, 3]),
            (_, true) => (4, 200, 300, 200, 500, [2, 2]),
        };
        let (kappa, sigma0, loss, threshold) = (0.1, 1.0, LossScale::Sum, 1e-3);
        let (gradient_tolerance, momentum) = (1e-4, 0.9);
        let training = Training { kappa, sigma0, loss, threshold, gradient_tolerance, momentum, ewc_steps };
        let small = Small {
            p: 100,
            p_test: 200,
            widths: if images.few() { vec![100, 200] } else { vec![100, 200, 400] },
            width: 100,
            steps: vec![ewc_steps, 2 * ewc_steps, 4 * ewc_steps],
            seeds: seeds[0],
        };
        let (fisher, indexing, depth) = (Fisher::Rms, Indexing::Past, 9);
        Learners { data: data.into(), scale, tasks, p, p_test, depth, width, training, fisher, indexing, seeds, small }
    }

    /// The learners by name.
    fn learners(&self) -> [(&'static str, Learner); 4] {
        let rules = [Learner::Gd, Learner::L2 { kappa: self.training.kappa }, self.ewc(0.0), self.ewc(1.0)];
        std::array::from_fn(|k| (NAMES[k], rules[k]))
    }

    fn ewc(&self, gamma: f64) -> Learner {
        Learner::Ewc { kappa: self.training.kappa, gamma, fisher: self.fisher, indexing: self.indexing }
    }

    fn tasks(&self, p: usize, p_test: usize, seed: u64) -> Drawn {
        let protocol = Protocol::Permuted(Permuted { tasks: self.tasks, p, p_test, ratio: 1.0, ..Permuted::default() });
        Drawn { data: self.data.clone(), protocol, between: 0, seed }
    }

    /// Mean and standard error after task t of a learner, or of the theory.
    fn after(&self, part: &Frame, who: &str, t: usize, column: &str) -> Result<Estimate> {
        part.only("learner", who)?.only("t", t)?.mean(column)
    }

    /// The same after the last task of small networks, one for each value of a key.
    fn small(&self, frame: &Frame, part: &str, key: &str, values: &[usize], column: &str) -> Result<Vec<Estimate>> {
        let runs = frame.only("part", part)?.only("t", self.tasks)?;
        values.iter().map(|value| runs.only(key, *value)?.mean(column)).collect()
    }

    /// The theory of the small networks' tasks.
    fn small_theory(&self, frame: &Frame, column: &str) -> Result<f64> {
        Ok(self.after(&frame.only("part", "small theory")?, "theory", self.tasks, column)?.value)
    }

    fn curve(&self, part: &Frame, who: &str, column: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
        let points = (1..=self.tasks).map(|t| self.after(part, who, t, column)).collect::<Result<Vec<_>>>()?;
        let t = (1..=self.tasks).map(|t| t as f64).collect();
        let errors = points.iter().map(|p| p.standard_error.unwrap_or(0.0)).collect();
        Ok((t, points.iter().map(|p| p.value).collect(), errors))
    }
}

/// A network trained on one task after the other.
#[derive(Debug, Serialize, Deserialize)]
struct Trained {
    tasks: Drawn,
    settings: TrainSettings,
}

impl Work for Trained {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let Some(trained) = learn(&self.tasks.sequence(sources)?.tasks, &self.settings)? else {
            return Ok(vec![Row::new().with("diverged", 1usize)]);
        };
        let known = |a: Option<f64>| a.unwrap_or(f64::NAN);
        let row = |t: usize| {
            let report = &trained.reports[t];
            Row::new()
                .with("diverged", 0usize)
                .with("t", t + 1)
                .with("train_accuracy", known(trained.train_accuracy[t][0]))
                .with("test_accuracy", known(trained.test_accuracy[t][0]))
                .with("current_accuracy", known(trained.test_accuracy[t][t]))
                .with("train_loss", trained.train_loss[t][0])
                .with("mse", report.mse)
                .with("learned", usize::from(report.mse < self.settings.threshold))
                .with("converged", usize::from(report.converged))
                .with("steps", report.steps)
        };
        Ok((0..trained.reports.len()).map(row).collect())
    }

    fn cost(&self) -> Cost {
        let (sizes, settings) = (self.tasks.sizes(), &self.settings);
        let (tasks, depth) = (sizes.train.len(), settings.architecture.depth);
        match settings.learner {
            Learner::L2 { .. } => levenberg_cost(&sizes, settings.width, depth, &vec![STEPS.1; tasks]),
            Learner::Gd => train_cost(&sizes, settings.width, depth, None, &vec![STEPS.0; tasks]),
            Learner::Ewc { .. } => train_cost(&sizes, settings.width, depth, None, &vec![settings.max_steps; tasks]),
        }
    }
}

/// Steps that a task takes about: of descent without a penalty, and to the minimum with one.
const STEPS: (usize, usize) = (600, 200);

/// Learns all tasks; `None` where training diverged.
fn learn(tasks: &[Task], settings: &TrainSettings) -> Result<Option<nets::Trained>> {
    let mut trainer = Trainer::new(tasks, settings)?;
    while trainer.done() < trainer.tasks() {
        match trainer.learn_next(&mut |_| true) {
            Ok(()) => {}
            Err(ebbing::Error::Diverged { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(trainer.trained().clone()))
}

/// The theory of the same.
#[derive(Debug, Serialize, Deserialize)]
struct Theory {
    tasks: Drawn,
    settings: SingleHeadSettings,
}

impl Work for Theory {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let forecast = SingleHead::new(&self.tasks.sequence(sources)?, &self.settings)?.forecast()?;
        let loss = &forecast.forgetting;
        let (train, test) = (forecast.train_accuracy, forecast.test.and_then(|test| test.accuracy));
        let (Some(train), Some(test)) = (train, test) else {
            return Err(Error::data("the permuted sequence", "has targets without a sign"));
        };
        let row = |t: usize| {
            Row::new()
                .with("t", t + 1)
                .with("train_accuracy", train[t][0])
                .with("test_accuracy", test[t][0])
                .with("current_accuracy", test[t][t])
                .with("train_loss", loss[t][0])
        };
        Ok((0..train.len()).map(row).collect())
    }

    fn cost(&self) -> Cost {
        forgetting_cost(&self.tasks.sizes())
    }
}

const COLUMNS: [Column; 14] = [
    column("part", "learners: the figure; width, steps, small theory: small networks that tell what it depends on"),
    column("learner", "rule that changes the weights, or the theory"),
    column("width", "units per hidden layer"),
    column("ewc_steps", "most steps of EWC on a task"),
    column("t", "tasks learned"),
    column("train_accuracy", "share of right signs on the training data of task 1"),
    column("test_accuracy", "share of right signs on the test data of task 1"),
    column("current_accuracy", "share of right signs on the test data of the newest task"),
    column("train_loss", "training loss of task 1, over |Y|²"),
    column("mse", "mean squared training error of the newest task"),
    column("learned", "1 where that is below the threshold"),
    column("converged", "1 where training ended at the threshold, at the minimum, or where nothing changed any more"),
    column("diverged", "1 where training diverged"),
    column("steps", "steps on the newest task"),
];

impl Learners {
    /// The claim that training ended where it was meant to: below the threshold without a penalty, at the minimum with the plain
    /// one. EWC leaves weights without Fisher information free, and is ended after a number of steps: what more would do is told.
    fn ended(&self, frame: &Frame, part: &Frame) -> Result<Claim> {
        let (mut least, mut shown) = (f64::INFINITY, Vec::new());
        for who in NAMES {
            let runs = part.only("learner", who)?;
            let ended = runs.numbers("converged")?.iter().filter(|l| **l == 1.0).count() as f64 / runs.len() as f64;
            let mse = runs.having("mse", |m| !m.is_nan())?.mean("mse")?.value;
            shown.push(format!("{who} {ended:.2} (mean squared error {mse:.1e})"));
            if !who.starts_with("ewc") {
                least = least.min(ended);
            }
        }
        let longer = |column| self.small(frame, "steps", "ewc_steps", &self.small.steps, column);
        let (train, test) = (longer("train_accuracy")?, longer("test_accuracy")?);
        let each = self.small.steps.iter().zip(train.iter().zip(&test));
        let each: Vec<String> =
            each.map(|(steps, (train, test))| format!("{steps}: {:.3}, {:.3}", train.value, test.value)).collect();
        let note = format!(
            "{}; EWC is ended after {} steps with momentum {}; train and test accuracy on task 1 of small networks (P = {}, \
             N = {}) with γ = 1 by steps: {}",
            shown.join(", "),
            self.training.ewc_steps,
            self.training.momentum,
            self.small.p,
            self.small.width,
            each.join("; ")
        );
        let statement = "least share of newest tasks that ended below the threshold (GD) or at the minimum (L2)";
        Ok(Claim::new("S4", statement, least, "= 1", least == 1.0).note(note))
    }

    /// The claim that networks come to the theory as they widen, P fixed.
    fn widened(&self, frame: &Frame) -> Result<Claim> {
        let theory = self.small_theory(frame, "train_accuracy")?;
        let found = self.small(frame, "width", "width", &self.small.widths, "train_accuracy")?;
        let loss = self.small(frame, "width", "width", &self.small.widths, "train_loss")?;
        let each = self.small.widths.iter().zip(found.iter().zip(&loss));
        let each: Vec<String> =
            each.map(|(n, (accuracy, loss))| format!("N = {n}: {:.3} ({:.2})", accuracy.value, loss.value)).collect();
        let gap = found.last().map_or(f64::NAN, |widest| (widest.value - theory).abs());
        let statement = format!(
            "train, P = {}: theory to L2 at N = {}",
            self.small.p,
            self.small.widths.last().copied().unwrap_or_default()
        );
        Ok(Claim::below("S4c", &statement, gap, 0.05).note(format!(
            "accuracy on task 1 after {} tasks (and its loss): {}; theory {theory:.3} ({:.2})",
            self.tasks,
            each.join(", "),
            self.small_theory(frame, "train_loss")?
        )))
    }
}

impl Reproduction for Learners {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds[0], most);
        at_most(&mut self.seeds[1], most);
        at_most(&mut self.small.seeds, most);
    }

    fn study(&self) -> Result<Study> {
        let mut grid = Study {
            name: "figure-S4".into(),
            settings: serde_json::json!(self),
            data: vec![self.data.clone()],
            columns: COLUMNS.to_vec(),
            ..Study::default()
        };
        let theory = |tasks| Theory { tasks, settings: random_features(self.depth) };
        let cell = |part: &str, learner: &str, seed| Cell::new(seed).with("part", part).with("learner", learner);
        for (name, learner) in self.learners() {
            for seed in seeds(self.seeds[0]) {
                let settings = self.training.settings(learner, self.depth, self.width, seed);
                let tasks = self.tasks(self.p, self.p_test, seed);
                grid.push(cell("learners", name, seed).with("width", self.width), Trained { tasks, settings });
            }
        }
        for seed in seeds(self.seeds[1]) {
            grid.push(cell("learners", "theory", seed), theory(self.tasks(self.p, self.p_test, seed)));
        }
        for seed in seeds(self.small.seeds) {
            let tasks = || self.tasks(self.small.p, self.small.p_test, seed);
            grid.push(cell("small theory", "theory", seed), theory(tasks()));
            for &width in &self.small.widths {
                let l2 = Learner::L2 { kappa: self.training.kappa };
                let settings = self.training.settings(l2, self.depth, width, seed);
                grid.push(cell("width", "l2", seed).with("width", width), Trained { tasks: tasks(), settings });
            }
            for &steps in &self.small.steps {
                let training = Training { ewc_steps: steps, ..self.training.clone() };
                let settings = training.settings(self.ewc(1.0), self.depth, self.small.width, seed);
                grid.push(cell("steps", "ewc1", seed).with("ewc_steps", steps), Trained { tasks: tasks(), settings });
            }
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let (part, mut panels) = (frame.only("part", "learners")?, Vec::new());
        for (column, name) in
            [("train_accuracy", "train accuracy on task 1"), ("test_accuracy", "test accuracy on task 1")]
        {
            let mut panel = Panel::new().x("tasks learned, *t*").y(name).integer_x();
            let (t, y, _) = self.curve(&part, "theory", column)?;
            panel = panel.line(Line::new("theory", &t, &y).category(6));
            for (k, (who, label)) in NAMES.iter().zip(SHOWN).enumerate() {
                let (mut t, y, e) = self.curve(&part, who, column)?;
                // Side by side, so that bars do not hide each other.
                t.iter_mut().for_each(|t| *t += 0.09 * (k as f64 - 0.5 * (NAMES.len() - 1) as f64));
                panel = panel.markers(Markers::new(label, &t, &y).errors(&e).category(k));
            }
            panels.push(panel);
        }
        let widths: Vec<f64> = self.small.widths.iter().map(|n| *n as f64).collect();
        let mut panel = Panel::new().x("width *N*").y("accuracy on task 1").log_x();
        for (column, name, k) in [("train_accuracy", "train", 1), ("test_accuracy", "test", 2)] {
            let found = self.small(frame, "width", "width", &self.small.widths, column)?;
            let (y, e): (Vec<f64>, Vec<f64>) = found.iter().map(|f| (f.value, f.standard_error.unwrap_or(0.0))).unzip();
            let theory = vec![self.small_theory(frame, column)?; widths.len()];
            panel = panel.line(Line::new(&format!("theory, {name}"), &widths, &theory).category(k));
            panel = panel.markers(Markers::new(&format!("L2, {name}"), &widths, &y).errors(&e).category(k));
        }
        panels.push(panel);
        let loss = format!("{:?}", self.training.loss).to_lowercase();
        let caption = format!(
            "Accuracy on task 1 after t permuted tasks (ratio 1, {}), L = {}, N = {}, P = {}, κ = {} against the {loss} of \
             squared errors, σ_0 = {}; L2 at its minimum, EWC after {} steps with momentum, Fisher with unit rms, of past tasks. \
             Means and standard errors over {} seeds of sequence and initial weights (theory, mean map with random features: {} \
             sequences). Right: the same after the last of {} tasks of P = {} against the width.",
            self.data,
            self.depth,
            self.width,
            self.p,
            self.training.kappa,
            self.training.sigma0,
            self.training.ewc_steps,
            self.seeds[0],
            self.seeds[1],
            self.tasks,
            self.small.p
        );
        Ok(vec![("figure-S4".into(), Figure::grid(panels, 3).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let (part, mut claims, last) = (frame.only("part", "learners")?, Vec::new(), self.tasks);
        for (panel, column, what) in [("S4a", "train_accuracy", "train"), ("S4b", "test_accuracy", "test")] {
            let at = |who: &str| self.after(&part, who, last, column);
            let (mut gaps, mut shown) = (Vec::new(), Vec::new());
            for who in NAMES.iter().copied().chain(["theory"]) {
                let here = at(who)?;
                shown.push(format!("{who} {:.3} ± {:.3}", here.value, here.standard_error.unwrap_or(0.0)));
            }
            for good in ["l2", "ewc1"] {
                for poor in ["gd", "ewc0"] {
                    let (a, b) = (at(good)?, at(poor)?);
                    let error = a.standard_error.unwrap_or(0.0).hypot(b.standard_error.unwrap_or(0.0));
                    let gap = a.value - b.value;
                    // No gap is none, also where all seeds agree.
                    gaps.push(if gap == 0.0 { 0.0 } else { gap / error });
                }
            }
            let statement = format!("{what}: L2 and EWC γ = 1 above GD and EWC γ = 0, least gap in standard errors");
            let least = -largest(gaps.iter().map(|gap| -gap));
            claims.push(Claim::above(panel, &statement, least, 2.0).note(shown.join(", ")));
            let theory = at("theory")?.value;
            let gap = (theory - at("l2")?.value).abs().min((theory - at("ewc1")?.value).abs());
            let statement = format!("{what}: theory to the nearer of L2 and EWC γ = 1");
            claims.push(Claim::below(panel, &statement, gap, 0.05).note(format!(
                "the theory is of N → ∞ at fixed P; here P/N = {:.1}: S4c shows what the width does",
                self.p as f64 / self.width as f64
            )));
        }
        let current = |who: &str| Ok(part.only("learner", who)?.mean("current_accuracy")?.value);
        let current = NAMES.iter().map(|who| current(who)).collect::<Result<Vec<f64>>>()?;
        let spread = current.iter().fold(f64::MIN, |a, b| a.max(*b)) - current.iter().fold(f64::MAX, |a, b| a.min(*b));
        let shown: Vec<String> = NAMES.iter().zip(&current).map(|(who, a)| format!("{who} {a:.3}")).collect();
        let statement = "test accuracy on the newest task: spread over learners";
        claims.push(Claim::below("S4", statement, spread, 0.02).note(shown.join(", ")));
        claims.push(self.ended(frame, &part)?);
        claims.push(self.widened(frame)?);
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Value;
    use crate::claim::Verdict;
    use crate::figures::testing;

    #[test]
    fn the_larger_scale_is_one_for_two_cores() {
        let study = Learners::at(Scale::Paper, Images::Paper);
        assert_eq!((study.tasks, study.p, study.width, study.depth), (8, 600, 500, 9));
        assert_eq!(study.study().unwrap().cells.len(), 4 * 5 + 5 + 5 * (1 + 3 + 3));
    }
    #[test]
    fn runs_through_and_claims_can_fail() {
        let mut study = Learners::at(Scale::Quick, Images::Embedded);
        (study.tasks, study.p, study.p_test, study.depth, study.width) = (2, 16, 12, 2, 24);
        (study.training.ewc_steps, study.small.widths, study.small.steps) = (40, vec![16, 40], vec![20, 40]);
        (study.small.p, study.small.p_test, study.small.width) = (12, 12, 16);
        study.limit_seeds(2);
        let frame = testing::run(&study);
        assert_eq!(testing::svg_panels(&study, &frame), 3);
        let claims = study.claims(&frame).unwrap();
        assert_eq!(claims.len(), 7);
        let ended = |claims: &[Claim]| claims.iter().find(|c| c.statement.contains("ended")).unwrap().value;
        assert_eq!(ended(&claims), 1.0);
        let none = frame.replaced("converged", vec![Value::Number(0.0); frame.len()]);
        assert_eq!(ended(&study.claims(&none).unwrap()), 0.0);
        let wrong = frame.replaced("train_accuracy", vec![Value::Number(0.5); frame.len()]);
        assert!(study.claims(&wrong).unwrap().iter().any(|c| c.panel == "S4a" && c.verdict == Verdict::Fail));
    }
}
