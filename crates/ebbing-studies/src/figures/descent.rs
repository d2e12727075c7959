//! Networks trained by descent on two tasks at a load: what figures S6, S7 and S8 have in common.

use crate::cell::{Cell, Row};
use crate::error::Result;
use crate::figures::Scale;
use crate::frame::Frame;
use ebbing::data::Sources;
use crate::study::Column;
use ebbing::data::Preprocess;
use ebbing::kernels::{Activation, Architecture};
use ebbing::nets::{Heads, Learner, LossScale, TrainSettings, Trained};
use ebbing::plan::Cost;
use ebbing::tasks::{Interpolated, PartialSplit, Permuted};
use ebbing::theory::alpha_c::{CurveFeature, alpha_c_from_curve};
use ebbing::{Error, Task, TaskSequence, Trainer};
use serde::Serialize;

/// How networks are trained, the same for every cell of a study.
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
    /// Strength of the pull to the weights after the task before.
    pub kappa: f64,
    /// Standard deviation of the initial weights.
    pub sigma0: f64,
    /// The loss that κ is measured against.
    pub loss: LossScale,
    /// Heavy-ball momentum.
    pub momentum: f64,
    /// A task counts as learned below this mean squared error.
    pub threshold: f64,
    /// Relative change of loss and distance over `patience` steps at which a penalised task ends.
    pub tolerance: f64,
    /// See `tolerance`.
    pub patience: usize,
    /// A task ends here at the latest.
    pub max_steps: usize,
}

impl Descent {
    /// The paper's κ = 0.1 and σ0 = 1 on MNIST, P = 600; `quick` has P = 200. The loss is summed over examples: then κ = 0.1
    /// leaves a mean squared error of about 1e-3. Momentum reaches the nearest solution in a tenth of the steps.
    pub fn at(scale: Scale, embedded: bool) -> Descent {
        let (data, p) = match (embedded, scale) {
            (true, Scale::Quick) => ("mnist-sample", 200),
            (true, Scale::Paper) => ("mnist-sample", 600),
            (false, Scale::Quick) => ("mnist", 200),
            (false, Scale::Paper) => ("mnist", 600),
        };
        Descent {
            data: data.into(),
            p,
            p_test: if embedded { 200 } else { 400 },
            task_seed: 1,
            kappa: 0.1,
            sigma0: 1.0,
            loss: LossScale::Sum,
            momentum: 0.9,
            threshold: 1e-3,
            tolerance: 1e-5,
            patience: 1000,
            max_steps: match (scale, embedded) {
                (Scale::Paper, _) => 100_000,
                (Scale::Quick, false) => 12_000,
                (Scale::Quick, true) => 4000,
            },
        }
    }

    /// Two tasks: `permuted` images with the first task unpermuted, or the partial `split` of two pairs of digits.
    pub fn pair(&self, protocol: &str, ratio: f64, sources: &Sources) -> Result<TaskSequence> {
        let source = sources.get(&self.data, &Preprocess::default())?;
        let (p, p_test) = (self.p, self.p_test);
        let sequence = match protocol {
            "permuted" => {
                let permuted = Permuted { tasks: 2, p, p_test, ratio, permute_first: false, ..Permuted::default() };
                permuted.generate(&source, self.task_seed)?
            }
            "split" => {
                PartialSplit { split: ratio, p, p_test, ..PartialSplit::default() }.generate(&source, self.task_seed)?
            }
            other => return Err(Error::setting("protocol", other, "must be permuted or split").into()),
        };
        Ok(sequence)
    }

    /// The same with `steps` datasets between them.
    pub fn path(&self, protocol: &str, ratio: f64, steps: usize, sources: &Sources) -> Result<TaskSequence> {
        let pair = self.pair(protocol, ratio, sources)?;
        Ok(if steps == 0 { pair } else { Interpolated { steps }.apply(&pair, self.task_seed)? })
    }

    /// The settings of one run.
    pub fn settings(&self, heads: Heads, depth: usize, alpha: f64, seed: u64) -> TrainSettings {
        TrainSettings {
            learner: Learner::L2 { kappa: self.kappa },
            heads,
            architecture: Architecture { activation: Activation::Relu, depth },
            width: width(self.p, alpha),
            sigma0: self.sigma0,
            loss: self.loss,
            momentum: self.momentum,
            threshold: self.threshold,
            tolerance: self.tolerance,
            patience: self.patience,
            max_steps: self.max_steps,
            seed,
            ..TrainSettings::default()
        }
    }

    /// Trains on the path and, with the same initial weights, on its last task alone.
    pub fn run(&self, path: &TaskSequence, settings: &TrainSettings) -> Result<Row> {
        let last = path.tasks.len() - 1;
        let (both, alone) = (learn(&path.tasks, settings)?, learn(&path.tasks[last..], settings)?);
        let row = Row::new().with("width", settings.width);
        let (Some(both), Some(alone)) = (both, alone) else { return Ok(row.with("diverged", 1usize)) };
        let test = |trained: &Trained, t: usize, s: usize| trained.test_loss[t][s].unwrap_or(f64::NAN);
        let report = &both.reports[last];
        Ok(row
            .with("diverged", 0usize)
            .with("f21", both.train_loss[last][0])
            .with("g21", test(&both, last, 0) / test(&both, 0, 0))
            .with("g22", test(&both, last, last) / test(&alone, 0, 0))
            .with("mse", report.mse)
            .with("learned", usize::from(report.mse < self.threshold))
            .with("steps", report.steps)
            .with("moved", report.moved))
    }

    /// Steps of a full batch, forward and backward: the first task and the last one alone take a few hundred, each of the
    /// others as many as are allowed.
    pub fn cost(&self, tasks: usize, depth: usize, alpha: f64) -> Cost {
        let (p, n) = (self.p as f64, width(self.p, alpha) as f64);
        // Single precision is twice as fast as the double precision that costs are counted in.
        let step = 0.5 * (4.0 * p * p * n + 6.0 * p * n * n * (depth - 1) as f64);
        Cost {
            flops: step * (400.0 + (self.max_steps * (tasks - 1)) as f64),
            bytes: 8.0 * p * (p + 784.0 + 8.0 * n) * tasks as f64,
        }
    }

    /// What the captions say of the training.
    pub fn caption(&self) -> String {
        let loss = match self.loss {
            LossScale::Sum => "sum",
            LossScale::Mean => "mean",
        };
        format!(
            "Networks trained by full-batch descent on {}, P = {}, κ = {} against the {loss} of squared errors, σ_0 = {}, \
             momentum {}, at most {} steps per task; learned means a mean squared error below {}.",
            self.data, self.p, self.kappa, self.sigma0, self.momentum, self.max_steps, self.threshold
        )
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

/// A cell of a pair of tasks.
pub(super) fn pair_cell(kind: &str, protocol: &str, ratio: f64, seed: u64) -> Cell {
    Cell::new(seed).with("kind", kind).with("protocol", protocol).with("ratio", ratio)
}

/// What the columns of runs are.
pub(super) const COLUMNS: &[Column] = &[
    Column { name: "protocol", unit: "", meaning: "how the two tasks are made" },
    Column { name: "ratio", unit: "", meaning: "share of pixels permuted, or split ratio" },
    Column { name: "alpha", unit: "", meaning: "load P/N" },
    Column { name: "depth", unit: "", meaning: "hidden layers" },
    Column { name: "seed", unit: "", meaning: "seed of the initial weights" },
    Column { name: "width", unit: "", meaning: "units per hidden layer" },
    Column { name: "f21", unit: "", meaning: "training loss of task 1 after the last, over |Y|²" },
    Column { name: "g21", unit: "", meaning: "test loss of task 1 after the last over that after task 1" },
    Column { name: "g22", unit: "", meaning: "test loss of the last task over that of learning it alone" },
    Column { name: "mse", unit: "", meaning: "mean squared training error of the newest task" },
    Column { name: "learned", unit: "", meaning: "1 where that is below the threshold" },
    Column { name: "diverged", unit: "", meaning: "1 where training diverged" },
    Column { name: "steps", unit: "", meaning: "steps on the newest task" },
    Column {
        name: "moved",
        unit: "",
        meaning: "relative distance of hidden weights from those before the newest task",
    },
    Column { name: "alpha_c", unit: "", meaning: "exact critical load of the theory" },
    Column { name: "from_gamma_sim", unit: "", meaning: "γ_sim^-2" },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A run small enough for a test: every column of the row is there and finite.
    #[test]
    fn a_small_pair_is_learned_and_measured() {
        let descent = Descent { p: 30, p_test: 20, max_steps: 400, ..Descent::at(Scale::Quick, true) };
        let sources = Sources::new();
        for protocol in ["permuted", "split"] {
            let path = descent.path(protocol, 0.5, 1, &sources).unwrap();
            assert_eq!(path.tasks.len(), 3);
            let row = descent.run(&path, &descent.settings(Heads::Multi, 1, 1.5, 3)).unwrap();
            for (name, value) in &row.0 {
                assert!(value.number().is_some_and(f64::is_finite), "{name} is {value}");
            }
        }
        assert!(descent.pair("mixed", 0.5, &sources).is_err());
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
