//! Figure S4: what is left of the first of many tasks after learning with and without penalties, beside the theory.

mod claims;
mod draw;
mod work;

use super::common::{random_features, relu};
use super::drawn::Drawn;
use super::loads::column;
use super::minima::seeds;
use super::{Entry, Images, Needs, Reproduction, Scale, at_most};
use crate::claim::Claim;
use ebbing::nets::{Fisher, Heads, Indexing, Learner, LossScale, Solver, TrainSettings};
use ebbing::stats::Estimate;
use ebbing::tasks::{Permuted, Protocol};
use ebbing_show::Figure;
use ebbing_studies::{Cell, Column, Frame, Result, Study};
use serde::Serialize;
use work::{Theory, Trained};

/// The line of the list.
pub(super) const ENTRY: Entry = Entry {
    id: "S4",
    panels: "a, b, c",
    shows: "Accuracy on the first task after each of many, for four learners and the theory",
    needs: Needs::Training,
    kin: None,
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
    /// EWC, and the first task of L2: heavy-ball momentum (ten times as fast as without, at the same minimum) …
    momentum: f64,
    /// … at this share of the automatic rate. At the whole one momentum overshoots where curvature grows: a first task in five ended ten
    /// times as far away (0.18 instead of 0.017 of its weights), and four tasks later its network had forgotten it.
    eta_factor: f64,
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
                eta_factor: self.eta_factor,
                ..settings
            },
            Learner::Ewc { .. } => TrainSettings {
                momentum: self.momentum,
                eta_factor: self.eta_factor,
                max_steps: self.ewc_steps,
                ..settings
            },
        }
    }
}

/// Small networks that show what the large ones depend on.
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
        let (gradient_tolerance, momentum, eta_factor) = (1e-4, 0.9, 0.5);
        let training = Training { kappa, sigma0, loss, threshold, gradient_tolerance, momentum, eta_factor, ewc_steps };
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
}
const COLUMNS: [Column; 15] = [
    column("part", "learners: the figure; width, steps, small theory: small networks that tell what it depends on"),
    column("learner", "rule that changes the weights, or the theory"),
    column("width", "units per hidden layer"),
    column("ewc_steps", "most steps of EWC on a task"),
    column("t", "tasks learned"),
    column("train_accuracy", "share of right signs on the training data of task 1"),
    column("test_accuracy", "share of right signs on the test data of task 1"),
    column("current_train_accuracy", "share of right signs on the training data of the newest task"),
    column("current_accuracy", "share of right signs on the test data of the newest task"),
    column("train_loss", "training loss of task 1, over |Y|²"),
    column("mse", "mean squared training error of the newest task"),
    column("learned", "1 where that is below the threshold"),
    column("converged", "1 where training ended at the threshold, at the minimum, or where nothing changed any more"),
    column("diverged", "1 where training diverged"),
    column("steps", "steps on the newest task"),
];
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
        draw::draw(self, frame)
    }

    fn claims(&self, frame: &Frame) -> Result<Vec<Claim>> {
        claims::claims(self, frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::figures::testing;
    use ebbing_studies::{Row, Value};

    #[test]
    fn the_larger_scale_is_one_for_two_cores() {
        let study = Learners::at(Scale::Paper, Images::Paper);
        assert_eq!((study.tasks, study.p, study.width, study.depth), (8, 600, 500, 9));
        assert_eq!(study.study().unwrap().cells.len(), 4 * 5 + 5 + 5 * (1 + 3 + 3));
    }

    /// Seeds that differ far more from each other than learners do.
    #[test]
    fn learners_are_compared_seed_by_seed() {
        let study = Learners::at(Scale::Quick, Images::Embedded);
        let row = |who: &str, seed: u64, accuracy: f64| {
            let rows = vec![Row::new().with("t", study.tasks).with("train_accuracy", accuracy)];
            (Cell::new(seed).with("learner", who), rows)
        };
        let cells = [
            row("gd", 1, 0.3),
            row("gd", 2, 0.8),
            row("l2", 1, 0.5),
            row("l2", 2, 0.9),
            row("l2", 3, 0.1),
            row("ewc1", 1, 0.3),
        ];
        let frame = Frame::collect(cells.iter().map(|(cell, rows)| (cell, rows.as_slice())));
        let lead = |good: &str, poor: &str| study.lead(&frame, (good, poor), "train_accuracy").unwrap();
        // Gaps of 0.2 and 0.1: mean 0.15, standard error 0.05. The third seed has no partner.
        assert!((lead("l2", "gd") - 3.0).abs() < 1e-12);
        assert!((lead("gd", "l2") + 3.0).abs() < 1e-12);
        // One seed has no error, unless there is no gap.
        assert!(lead("l2", "ewc1").is_nan() && lead("gd", "ewc1") == 0.0);
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
        assert_eq!(claims.len(), 8);
        let ended = |claims: &[Claim]| claims.iter().find(|c| c.statement.contains("ended")).unwrap().value;
        assert_eq!(ended(&claims), 1.0);
        let none = frame.replaced("converged", vec![Value::Number(0.0); frame.len()]).unwrap();
        assert_eq!(ended(&study.claims(&none).unwrap()), 0.0);
        let wrong = frame.replaced("train_accuracy", vec![Value::Number(0.5); frame.len()]).unwrap();
        assert!(study.claims(&wrong).unwrap().iter().any(|c| c.panel == "S4a" && c.verdict == Verdict::Fail));
        // A learner that did not learn its newest task.
        let learners = frame.texts("learner").unwrap();
        let poor = learners.iter().map(|who| Value::Number(if who == "l2" { 0.5 } else { 1.0 })).collect();
        let claims = study.claims(&frame.replaced("current_train_accuracy", poor).unwrap()).unwrap();
        let newest = claims.iter().find(|c| c.statement.starts_with("train: accuracy on the newest")).unwrap();
        assert_eq!((newest.value, newest.verdict), (0.5, Verdict::Fail));
    }
}
