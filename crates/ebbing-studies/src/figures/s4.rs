//! Figure S4: what is left of the first of many tasks after descent with and without penalties, beside the theory.

use super::common::{random_features, relu};
use super::drawn::Drawn;
use super::loads::column;
use super::minima::seeds;
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::cell::{Cell, Row};
use crate::claim::Claim;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::study::{Column, Study, Work};
use ebbing::data::Sources;
use ebbing::nets::{self, Fisher, Heads, Indexing, Learner, LossScale, TrainSettings};
use ebbing::plan::{Cost, forgetting_cost, train_cost};
use ebbing::stats::Estimate;
use ebbing::tasks::{Permuted, Protocol};
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{Recipe, SingleHead, Task, Trainer};
use ebbing_report::{Figure, Line, Markers, Panel};
use serde::{Deserialize, Serialize};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S4",
    panels: "a, b",
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
    /// A task counts as learned below this mean squared error.
    threshold: f64,
    /// Relative change of loss and distance over `patience` steps at which a penalised task ends.
    tolerance: f64,
    /// See `tolerance`.
    patience: usize,
    /// A task ends here at the latest.
    max_steps: usize,
}

impl Training {
    /// The settings of one run.
    fn settings(&self, learner: Learner, heads: Heads, depth: usize, width: usize, seed: u64) -> TrainSettings {
        TrainSettings {
            learner,
            heads,
            architecture: relu(depth),
            width,
            sigma0: self.sigma0,
            loss: self.loss,
            threshold: self.threshold,
            tolerance: self.tolerance,
            patience: self.patience,
            max_steps: self.max_steps,
            seed,
            ..TrainSettings::default()
        }
    }
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
}

const NAMES: [&str; 4] = ["gd", "l2", "ewc0", "ewc1"];
const SHOWN: [&str; 4] = ["gradient descent", "L2", "online EWC, γ = 0", "online EWC, γ = 1"];

impl Learners {
    /// The paper has 15 tasks of P = 2000 (its width is not stated) and 100 seeds: with N = 1000 more than 30,000 core-hours. The
    /// larger of the two scales is what two cores do in hours.
    fn at(scale: Scale, images: Images) -> Learners {
        let data = images.name("mnist");
        let (tasks, p, p_test, width, max_steps, seeds) = match (scale, images.few()) {
            (Scale::Paper, false) => (8, 600, 600, 500, 20_000, [5, 5]),
            (Scale::Quick, false) => (6, 200, 300, 200, 2500, [3, 3]),
            (_, true) => (4, 200, 300, 200, 1500, [2, 2]),
        };
        let (kappa, sigma0, loss, threshold) = (0.1, 1.0, LossScale::Sum, 1e-3);
        let training = Training { kappa, sigma0, loss, threshold, tolerance: 1e-3, patience: 200, max_steps };
        let (fisher, indexing, depth) = (Fisher::Rms, Indexing::Past, 9);
        Learners { data: data.into(), scale, tasks, p, p_test, depth, width, training, fisher, indexing, seeds }
    }

    /// The learners by name.
    fn learners(&self) -> [(&'static str, Learner); 4] {
        let (kappa, fisher, indexing) = (self.training.kappa, self.fisher, self.indexing);
        let ewc = |gamma| Learner::Ewc { kappa, gamma, fisher, indexing };
        let rules = [Learner::Gd, Learner::L2 { kappa }, ewc(0.0), ewc(1.0)];
        std::array::from_fn(|k| (NAMES[k], rules[k]))
    }

    fn tasks(&self, seed: u64) -> Drawn {
        let (tasks, p, p_test) = (self.tasks, self.p, self.p_test);
        let protocol = Protocol::Permuted(Permuted { tasks, p, p_test, ratio: 1.0, ..Permuted::default() });
        Drawn { data: self.data.clone(), protocol, between: 0, seed }
    }

    /// Mean and standard error after task t of a learner, or of the theory.
    fn after(&self, frame: &Frame, who: &str, t: usize, column: &str) -> Result<Estimate> {
        frame.only("learner", who)?.only("t", t)?.mean(column)
    }

    fn curve(&self, frame: &Frame, who: &str, column: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
        let points = (1..=self.tasks).map(|t| self.after(frame, who, t, column)).collect::<Result<Vec<_>>>()?;
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
                .with("mse", report.mse)
                .with("learned", usize::from(report.mse < self.settings.threshold))
                .with("converged", usize::from(report.converged))
                .with("steps", report.steps)
        };
        Ok((0..trained.reports.len()).map(row).collect())
    }

    fn cost(&self) -> Cost {
        // About 2500 steps per task.
        let (sizes, settings) = (self.tasks.sizes(), &self.settings);
        train_cost(&sizes, settings.width, settings.architecture.depth, None, &vec![2500; sizes.train.len()])
    }
}

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
        };
        Ok((0..train.len()).map(row).collect())
    }

    fn cost(&self) -> Cost {
        forgetting_cost(&self.tasks.sizes())
    }
}

const COLUMNS: [Column; 10] = [
    column("learner", "rule that changes the weights, or the theory"),
    column("t", "tasks learned"),
    column("train_accuracy", "share of right signs on the training data of task 1"),
    column("test_accuracy", "share of right signs on the test data of task 1"),
    column("current_accuracy", "share of right signs on the test data of the newest task"),
    column("mse", "mean squared training error of the newest task"),
    column("learned", "1 where that is below the threshold"),
    column("converged", "1 where training ended at the threshold or, with a penalty, where nothing changed any more"),
    column("diverged", "1 where training diverged"),
    column("steps", "steps on the newest task"),
];

impl Learners {
    /// The claim that training ended where it was meant to. A penalty leaves an error of its own: there the standard is that nothing
    /// changes any more.
    fn ended(&self, frame: &Frame) -> Result<Claim> {
        let runs = frame.having("diverged", |_| true)?;
        let (mut least, mut shown) = (f64::INFINITY, Vec::new());
        for who in NAMES {
            let runs = runs.only("learner", who)?;
            let ended = runs.numbers("converged")?.iter().filter(|l| **l == 1.0).count() as f64 / runs.len() as f64;
            let mse = runs.having("mse", |m| !m.is_nan())?.mean("mse")?.value;
            shown.push(format!("{who} {ended:.2} (mean squared error {mse:.1e})"));
            least = least.min(ended);
        }
        let statement = "least share of newest tasks that ended below the threshold, or with a penalty settled";
        let claim = Claim::new("S4", statement, least, "= 1", least == 1.0).note(shown.join(", "));
        Ok(claim.if_failing(&format!("the others were ended after {} steps", self.training.max_steps)))
    }
}

impl Reproduction for Learners {
    fn limit_seeds(&mut self, most: usize) {
        at_most(&mut self.seeds[0], most);
        at_most(&mut self.seeds[1], most);
    }

    fn study(&self) -> Result<Study> {
        let mut grid = Study {
            name: "figure-S4".into(),
            settings: serde_json::json!(self),
            data: vec![self.data.clone()],
            columns: COLUMNS.to_vec(),
            ..Study::default()
        };
        for (name, learner) in self.learners() {
            for seed in seeds(self.seeds[0]) {
                let settings = self.training.settings(learner, Heads::Single, self.depth, self.width, seed);
                grid.push(Cell::new(seed).with("learner", name), Trained { tasks: self.tasks(seed), settings });
            }
        }
        for seed in seeds(self.seeds[1]) {
            let settings = random_features(self.depth);
            grid.push(Cell::new(seed).with("learner", "theory"), Theory { tasks: self.tasks(seed), settings });
        }
        Ok(grid)
    }

    fn draw(&self, frame: &Frame) -> Result<Vec<(String, Figure)>> {
        let mut panels = Vec::new();
        for (column, name) in
            [("train_accuracy", "train accuracy on task 1"), ("test_accuracy", "test accuracy on task 1")]
        {
            let mut panel = Panel::new().x("tasks learned, *t*").y(name).integer_x();
            let (t, y, _) = self.curve(frame, "theory", column)?;
            panel = panel.line(Line::new("theory", &t, &y).category(6));
            for (k, (who, label)) in NAMES.iter().zip(SHOWN).enumerate() {
                let (mut t, y, e) = self.curve(frame, who, column)?;
                // Side by side, so that bars do not hide each other.
                t.iter_mut().for_each(|t| *t += 0.09 * (k as f64 - 0.5 * (NAMES.len() - 1) as f64));
                panel = panel.markers(Markers::new(label, &t, &y).errors(&e).category(k));
            }
            panels.push(panel);
        }
        let loss = format!("{:?}", self.training.loss).to_lowercase();
        let caption = format!(
            "Accuracy on task 1 after t permuted tasks (ratio 1, {}), L = {}, N = {}, P = {}, κ = {} against the {loss} of \
             squared errors, σ_0 = {}, the learning rate as large as is stable; Fisher with unit rms, of past tasks. Means and standard errors over {} seeds of \
             sequence and initial weights (theory, mean map with random features: {} sequences).",
            self.data,
            self.depth,
            self.width,
            self.p,
            self.training.kappa,
            self.training.sigma0,
            self.seeds[0],
            self.seeds[1]
        );
        Ok(vec![("figure-S4".into(), Figure::grid(panels, 2).caption(&caption))])
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        let last = self.tasks;
        for (panel, column, what) in [("S4a", "train_accuracy", "train"), ("S4b", "test_accuracy", "test")] {
            let at = |who: &str| self.after(frame, who, last, column);
            let (mut least, mut shown) = (f64::INFINITY, Vec::new());
            for who in NAMES.iter().copied().chain(["theory"]) {
                let here = at(who)?;
                shown.push(format!("{who} {:.3} ± {:.3}", here.value, here.standard_error.unwrap_or(0.0)));
            }
            for good in ["l2", "ewc1"] {
                for poor in ["gd", "ewc0"] {
                    let (a, b) = (at(good)?, at(poor)?);
                    let error = a.standard_error.unwrap_or(0.0).hypot(b.standard_error.unwrap_or(0.0));
                    least = least.min((a.value - b.value) / error);
                }
            }
            let reason = format!(
                "{}. Where it fails: at P = {} and N = {} tasks keep apart in the weights even without a penalty, and {} seeds \
                 leave wide errors",
                shown.join(", "),
                self.p,
                self.width,
                self.seeds[0]
            );
            let statement = format!("{what}: L2 and EWC γ = 1 above GD and EWC γ = 0, least gap in standard errors");
            claims.push(Claim::above(panel, &statement, least, 2.0).note(reason));
            let theory = at("theory")?.value;
            let gap = (theory - at("l2")?.value).abs().min((theory - at("ewc1")?.value).abs());
            let reason = format!(
                "where it fails: the theory is of λ → ∞ and N → ∞; here κ = {} and N = {}, and networks learn features",
                self.training.kappa, self.width
            );
            let statement = format!("{what}: theory to the nearer of L2 and EWC γ = 1");
            claims.push(Claim::below(panel, &statement, gap, 0.05).note(reason));
        }
        let current = |who: &str| Ok(frame.only("learner", who)?.mean("current_accuracy")?.value);
        let current = NAMES.iter().map(|who| current(who)).collect::<Result<Vec<f64>>>()?;
        let spread = current.iter().fold(f64::MIN, |a, b| a.max(*b)) - current.iter().fold(f64::MAX, |a, b| a.min(*b));
        let shown: Vec<String> = NAMES.iter().zip(&current).map(|(who, a)| format!("{who} {a:.3}")).collect();
        let statement = "test accuracy on the newest task: spread over learners";
        claims.push(Claim::below("S4", statement, spread, 0.02).note(shown.join(", ")));
        claims.push(self.ended(frame)?);
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_scale_is_one_for_two_cores() {
        let study = Learners::at(Scale::Paper, Images::Paper);
        assert_eq!((study.tasks, study.p, study.width, study.depth), (8, 600, 500, 9));
        assert_eq!(study.study().unwrap().cells.len(), 4 * 5 + 5);
    }
}
