//! Networks trained by descent on two tasks at a load: what figures S6, S7 and S8 have in common.

use super::common::relu;
use super::drawn::{ByRatio, Drawn};
use super::loads::{column, ratio_cell};
use crate::cell::{Cell, Row};
use crate::error::Result;
use crate::figures::{Images, Scale};
use crate::frame::Frame;
use crate::study::{Column, Study, Work};
use ebbing::data::Sources;
use ebbing::nets::{Heads, Learner, LossScale, TrainSettings, Trained};
use ebbing::plan::{Cost, gram_train_cost};
use ebbing::theory::alpha_c::{CurveFeature, alpha_c_from_curve};
use ebbing::{Error, Recipe, Task, Trainer};
use serde::{Deserialize, Serialize};

/// How any network of these figures is trained.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Training {
    /// Strength of the pull to the weights after the task before.
    pub kappa: f64,
    /// Standard deviation of the initial weights.
    pub sigma0: f64,
    /// The loss that κ is measured against.
    pub loss: LossScale,
    /// A task counts as learned below this mean squared error.
    pub threshold: f64,
    /// Relative change of loss and distance over `patience` steps at which a penalised task ends.
    pub tolerance: f64,
    /// See `tolerance`.
    pub patience: usize,
    /// A task ends here at the latest.
    pub max_steps: usize,
}

impl Training {
    /// The settings of one run.
    pub fn settings(&self, learner: Learner, heads: Heads, depth: usize, width: usize, seed: u64) -> TrainSettings {
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

/// The tasks and the training of every cell of a study.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Descent {
    /// The data set that tasks are drawn from.
    pub data: String,
    /// Training examples per task.
    pub p: usize,
    /// Test examples per task.
    pub p_test: usize,
    /// The seed of the pair of tasks; the cells' seeds are those of the initial weights.
    pub task_seed: u64,
    /// Heavy-ball momentum.
    pub momentum: f64,
    /// The rest.
    #[serde(flatten)]
    pub training: Training,
}

impl Descent {
    /// The paper's κ = 0.1 and σ0 = 1 on MNIST, P = 600; `quick` has P = 200. The loss is summed over examples: then κ = 0.1
    /// leaves a mean squared error of about 1e-3. Momentum reaches the nearest solution in a tenth of the steps.
    pub fn at(scale: Scale, images: Images) -> Descent {
        Descent {
            data: images.name("mnist").into(),
            p: if scale == Scale::Quick { 200 } else { 600 },
            p_test: if images.few() { 200 } else { 400 },
            task_seed: 1,
            momentum: 0.9,
            training: Training {
                kappa: 0.1,
                sigma0: 1.0,
                loss: LossScale::Sum,
                threshold: 1e-3,
                tolerance: 1e-5,
                patience: 1000,
                max_steps: match (scale, images.few()) {
                    (Scale::Paper, _) => 100_000,
                    (Scale::Quick, false) => 12_000,
                    (Scale::Quick, true) => 4000,
                },
            },
        }
    }

    /// Two tasks at a ratio, with datasets between them.
    pub fn tasks(&self, kind: ByRatio, ratio: f64, between: usize) -> Drawn {
        let protocol = kind.protocol(ratio, self.p, self.p_test);
        Drawn { data: self.data.clone(), protocol, between, seed: self.task_seed }
    }

    /// Networks of a depth at a load.
    pub fn nets(&self, tasks: Drawn, heads: Heads, depth: usize, alpha: f64, seed: u64) -> ByDescent {
        let learner = Learner::L2 { kappa: self.training.kappa };
        let settings = self.training.settings(learner, heads, depth, width(self.p, alpha), seed);
        let settings = TrainSettings { momentum: self.momentum, ..settings };
        ByDescent { tasks, settings }
    }

    /// A grid without cells; `settings` are those besides the training's, `own` the columns besides those of all.
    pub fn study(&self, name: &str, scale: Scale, mut settings: serde_json::Value, own: &[Column]) -> Study {
        settings["descent"] = serde_json::json!(self);
        settings["scale"] = serde_json::json!(scale);
        let columns = COLUMNS.iter().chain(own).copied().collect();
        Study { name: name.into(), settings, data: vec![self.data.clone()], columns, ..Study::default() }
    }

    /// What the captions say of the training.
    pub fn caption(&self) -> String {
        let Training { kappa, sigma0, max_steps, threshold, .. } = self.training;
        let loss = match self.training.loss {
            LossScale::Sum => "sum",
            LossScale::Mean => "mean",
        };
        format!(
            "Networks trained by full-batch descent on {}, P = {}, κ = {kappa} against the {loss} of squared errors, σ_0 = {sigma0}, \
             momentum {}, at most {max_steps} steps per task; learned means a mean squared error below {threshold}.",
            self.data, self.p, self.momentum
        )
    }
}

/// Networks trained on all tasks and, from the same initial weights, on the last one alone.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ByDescent {
    pub tasks: Drawn,
    pub settings: TrainSettings,
}

impl Work for ByDescent {
    fn recipe(&self) -> Option<Recipe> {
        Some(self.tasks.recipe())
    }

    fn rows(&self, sources: &Sources) -> Result<Vec<Row>> {
        let (tasks, settings) = (self.tasks.sequence(sources)?.tasks, &self.settings);
        let last = tasks.len() - 1;
        let (all, alone) = (learn(&tasks, settings)?, learn(&tasks[last..], settings)?);
        let row = Row::new().with("width", settings.width);
        let (Some(all), Some(alone)) = (all, alone) else { return Ok(vec![row.with("diverged", 1usize)]) };
        let (found, report) = (all.interference(&alone), &all.reports[last]);
        Ok(vec![
            row.with("diverged", 0usize)
                .with("f21", found.f21)
                .with("g21", found.g21.unwrap_or(f64::NAN))
                .with("g22", found.g22.unwrap_or(f64::NAN))
                .with("mse", report.mse)
                .with("learned", usize::from(report.mse < settings.threshold))
                .with("steps", report.steps)
                .with("moved", report.moved),
        ])
    }

    /// The first task and the last one alone take a few hundred steps, each of the others as many as are allowed.
    fn cost(&self) -> Cost {
        let sizes = self.tasks.sizes();
        let mut steps = vec![self.settings.max_steps; sizes.train.len()];
        steps[0] = 400;
        gram_train_cost(&sizes, self.settings.width, self.settings.architecture.depth, &steps)
    }
}

/// The width N = P/α.
pub(super) fn width(p: usize, alpha: f64) -> usize {
    ((p as f64 / alpha).round() as usize).max(1)
}

/// Learns all tasks; `None` where training diverged.
pub(super) fn learn(tasks: &[Task], settings: &TrainSettings) -> Result<Option<Trained>> {
    let mut trainer = Trainer::new(tasks, settings)?;
    while trainer.done() < trainer.tasks() {
        match trainer.learn_next(&mut |_| true) {
            Ok(()) => {}
            Err(Error::Diverged { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(trainer.trained().clone()))
}

/// Mean over seeds of a column against the load.
pub(super) fn against_load(frame: &Frame, column: &str) -> Result<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let (mut alphas, mut means, mut errors) = (vec![], vec![], vec![]);
    for alpha in frame.levels("alpha")? {
        let mean = frame.only("alpha", alpha)?.having(column, |v| !v.is_nan())?;
        if !mean.is_empty() {
            let mean = mean.mean(column)?;
            alphas.push(alpha);
            means.push(mean.value);
            errors.push(mean.standard_error.unwrap_or(0.0));
        }
    }
    Ok((alphas, means, errors))
}

/// The load where the mean G_22 last falls through the middle of its range over α > 1; NaN where it does not.
pub(super) fn critical_by_descent(frame: &Frame) -> Result<f64> {
    let (alphas, g22, _) = against_load(frame, "g22")?;
    if alphas.len() < 3 {
        return Ok(f64::NAN);
    }
    Ok(alpha_c_from_curve(&alphas, &g22, CurveFeature::MidHeight)?.map_or(f64::NAN, |found| found.alpha_c))
}

/// The share of runs whose newest task was learned; runs that diverged count as not learned.
pub(super) fn learned(frame: &Frame) -> Result<f64> {
    let learned = frame.numbers("learned")?.iter().filter(|l| **l == 1.0).count();
    let runs = frame.numbers("diverged")?.iter().filter(|d| !d.is_nan()).count();
    Ok(learned as f64 / runs as f64)
}

/// Seeds 1 … n.
pub(super) fn seeds(n: u64) -> impl Iterator<Item = u64> + Clone {
    1..=n
}

/// The benchmarks, each at its ratios.
pub(super) fn pairs(ratios: &[Vec<f64>; 2]) -> impl Iterator<Item = (ByRatio, f64)> {
    ByRatio::BOTH.into_iter().zip(ratios).flat_map(|(kind, ratios)| ratios.iter().map(move |&ratio| (kind, ratio)))
}

/// A cell of a pair of tasks.
pub(super) fn pair_cell(what: &str, (kind, ratio): (ByRatio, f64), seed: u64) -> Cell {
    ratio_cell(kind, ratio, seed).with("kind", what)
}

/// What the columns of runs are.
pub(super) const COLUMNS: &[Column] = &[
    column("protocol", "how the two tasks are made"),
    column("ratio", "share of pixels permuted, or split ratio"),
    column("alpha", "load P/N"),
    column("depth", "hidden layers"),
    column("seed", "seed of the initial weights"),
    column("width", "units per hidden layer"),
    column("f21", "training loss of task 1 after the last, over |Y|²"),
    column("g21", "test loss of task 1 after the last over that after task 1"),
    column("g22", "test loss of the last task over that of learning it alone"),
    column("mse", "mean squared training error of the newest task"),
    column("learned", "1 where that is below the threshold"),
    column("diverged", "1 where training diverged"),
    column("steps", "steps on the newest task"),
    column("moved", "relative distance of hidden weights from those before the newest task"),
    column("alpha_c", "exact critical load of the theory"),
    column("alpha_c_gamma_sim", "γ_sim^-2"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A run small enough for a test: every column of the row is there and finite.
    #[test]
    fn a_small_pair_is_learned_and_measured() {
        let mut descent = Descent { p: 30, p_test: 20, ..Descent::at(Scale::Quick, Images::Embedded) };
        descent.training.max_steps = 400;
        let sources = Sources::new();
        for kind in ByRatio::BOTH {
            let nets = descent.nets(descent.tasks(kind, 0.5, 1), Heads::Multi, 1, 1.5, 3);
            assert_eq!(nets.tasks.sizes().train, [30; 3]);
            for (name, value) in &nets.rows(&sources).unwrap()[0].0 {
                assert!(value.number().is_some_and(f64::is_finite), "{name} is {value}");
            }
        }
    }

    #[test]
    fn the_critical_load_is_where_g22_falls() {
        let row = |alpha: f64, g22: f64| (Cell::new(1).with("alpha", alpha), vec![Row::new().with("g22", g22)]);
        let rows: Vec<_> = [(0.5, 1.0), (1.5, 3.0), (2.0, 3.0), (4.0, 1.0), (8.0, 1.0)].map(|(a, g)| row(a, g)).into();
        let frame = Frame::collect(rows.iter().map(|(cell, rows)| (cell, rows.as_slice())));
        // Halfway between ln 2 and ln 4.
        assert!((critical_by_descent(&frame).unwrap() - 8f64.sqrt()).abs() < 1e-12);
        let rising = frame.having("alpha", |a| a < 3.0).unwrap();
        assert!(critical_by_descent(&rising).unwrap().is_nan());
    }
}
