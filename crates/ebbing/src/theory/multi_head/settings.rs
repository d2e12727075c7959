//! Settings of the multi-head theory, and the checks that make them usable.

use crate::error::{Error, Result, positive, refuse};
use crate::kernels::{Activation, Architecture, WeightPrior};
use crate::linalg::MatRef;
use crate::tasks::{Task, TestSet};
use serde::{Deserialize, Serialize};

/// What the multi-head theory needs to know besides the tasks.
///
/// | name | default | range |
/// |---|---|---|
/// | `lambda` | ∞ | ≥ 0, ∞ included |
/// | `sigma2` | 1 | > 0 |
/// | `beta` | ∞ | > 0, ∞ included |
/// | `readout_sigma2` | `sigma2` | > 0 |
/// | `readout_norm` | none | > 0; only at β = ∞ |
/// | `alpha` or `width` | none | > 0; exactly one of them |
/// | `activation` | ReLU | ReLU, linear, erf, GELU |
/// | `depth` | 1 | 1: more hidden layers are outside the theory |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MultiHeadSettings {
    /// The strength λ of the penalty that ties the hidden weights to those after the previous task.
    #[serde(with = "crate::serde_infinity")]
    pub lambda: f64,
    /// The prior variance σ² of a weight.
    pub sigma2: f64,
    /// The inverse temperature β; ∞ interpolates the training data. λ = ∞ is the limit at this β: at a finite one hidden weights
    /// learn nothing beside 1/β.
    #[serde(with = "crate::serde_infinity")]
    pub beta: f64,
    /// The prior variance `σ_a²` of readouts, where it is not that of the other weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readout_sigma2: Option<f64>,
    /// A bound on the norm `‖a_t‖²/N` of every readout: where it would be longer, it has the prior that gives it this norm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readout_norm: Option<f64>,
    /// The load α = P_T/N of the newest task.
    pub alpha: Option<f64>,
    /// The number N of hidden units, any positive real number.
    pub width: Option<f64>,
    /// The nonlinearity.
    pub activation: Activation,
    /// The number of hidden layers.
    pub depth: usize,
}

impl Default for MultiHeadSettings {
    fn default() -> Self {
        MultiHeadSettings {
            lambda: f64::INFINITY,
            sigma2: 1.0,
            beta: f64::INFINITY,
            readout_sigma2: None,
            readout_norm: None,
            alpha: None,
            width: None,
            activation: Activation::Relu,
            depth: 1,
        }
    }
}

impl MultiHeadSettings {
    /// The prior of the hidden weights.
    pub(super) fn prior(&self) -> Result<WeightPrior> {
        WeightPrior::new(self.lambda, self.sigma2)
    }

    /// The prior of the readouts.
    pub(super) fn readout(&self) -> Result<ReadoutPrior> {
        let sigma2 = self.readout_sigma2.unwrap_or(self.sigma2);
        self.readout_sigma2.map_or(Ok(()), |s| positive("readout_sigma2", s))?;
        let bound = self.readout_norm.unwrap_or(f64::INFINITY);
        self.readout_norm.map_or(Ok(()), |c| positive("readout_norm", c))?;
        if bound.is_finite() && self.ridge()? != 0.0 {
            let reason = "it is found for beta = inf; use readout_sigma2, or leave beta out";
            return Err(Error::outside(format!("a bound on readouts at beta = {}", self.beta), reason));
        }
        Ok(ReadoutPrior { sigma2, bound })
    }

    /// The architecture, which must have one hidden layer.
    pub(super) fn architecture(&self) -> Result<Architecture> {
        match self.depth {
            1 => Ok(Architecture { activation: self.activation, depth: 1 }),
            0 => Err(Error::setting("depth", 0, "must be 1 for the multi-head theory")),
            depth => Err(Error::outside(
                format!("a multi-head network of {depth} hidden layers"),
                "its renormalization factors are derived for one hidden layer; use depth 1",
            )),
        }
    }

    /// The term `β^{-1}` that temperature adds to every training diagonal block.
    pub(super) fn ridge(&self) -> Result<f64> {
        let expected = "must be positive (inf: training data is interpolated)";
        refuse(self.beta.is_nan() || self.beta <= 0.0, "beta", self.beta, expected).map(|()| 1.0 / self.beta)
    }

    /// The width N, given directly or as `P_T/α`.
    pub(in crate::theory) fn network_width(&self, newest_size: usize) -> Result<f64> {
        match (self.alpha, self.width) {
            (Some(alpha), None) => Ok(newest_size as f64 / checked_load(alpha)?),
            (None, Some(width)) => positive("width", width).map(|()| width),
            (Some(alpha), Some(width)) => {
                let expected =
                    format!("is given together with alpha = {alpha}; give one of them, since alpha = P/width");
                Err(Error::setting("width", width, expected))
            }
            (None, None) => Err(Error::setting("alpha", "missing", "give alpha or width, exactly one of them")),
        }
    }

    /// The load α, given directly or as `P_T/N`.
    pub(in crate::theory) fn load(&self, newest_size: usize) -> Result<f64> {
        let width = self.network_width(newest_size)?;
        Ok(self.alpha.unwrap_or(newest_size as f64 / width))
    }
}

/// `σ_a²` of every readout, less where its norm `u1(t,t)` would exceed the bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ReadoutPrior {
    pub sigma2: f64,
    /// ∞ for none.
    pub bound: f64,
}

/// The held-out data of a task (from 1).
pub(super) fn held_out(tasks: &[Task], task: usize) -> Result<&TestSet> {
    tasks[task - 1]
        .test
        .as_ref()
        .ok_or_else(|| Error::data(task_name(tasks, task - 1), "has no test set, which generalization needs"))
}

/// α > 0 and finite.
pub(super) fn checked_load(alpha: f64) -> Result<f64> {
    let expected = "must be positive and finite: it is the number of examples per hidden unit";
    refuse(!(alpha.is_finite() && alpha > 0.0), "alpha", alpha, expected).map(|()| alpha)
}

/// Refuses tasks that the theory of one output per head does not cover or that cannot be a task.
pub(super) fn check_tasks(tasks: &[Task]) -> Result<()> {
    crate::tasks::inputs_only(tasks)?;
    for (i, task) in tasks.iter().enumerate() {
        if task.y.ncols() != 1 {
            return Err(Error::outside(
                format!("{} with {} target columns", task_name(tasks, i), task.y.ncols()),
                "this part of the multi-head theory is for one target column; choose one column, or two classes as ±1",
            ));
        }
    }
    check_several(tasks)
}

/// Refuses what cannot be a task, with any number of target columns.
pub(super) fn check_several(tasks: &[Task]) -> Result<()> {
    let Some(first) = tasks.first() else {
        return Err(Error::data("task sequence", "is empty; the multi-head theory needs at least one task"));
    };
    crate::tasks::inputs_only(tasks)?;
    for (i, task) in tasks.iter().enumerate() {
        let name = task_name(tasks, i);
        if task.x.nrows() < 2 {
            let problem = format!("has {} training example(s); at least 2 are needed", task.x.nrows());
            return Err(Error::data(name, problem));
        }
        check_set(&name, "training", task.x.as_ref(), task.y.as_ref(), first.x.ncols())?;
        if let Some(test) = &task.test {
            if test.y.ncols() != task.y.ncols() || test.x.nrows() == 0 {
                let shape = format!("{} × {}", test.y.nrows(), test.y.ncols());
                let columns = match task.y.ncols() {
                    1 => "one column".to_string(),
                    m => format!("{m} columns"),
                };
                let problem = format!("test targets are {shape}; expected {columns} and at least one row");
                return Err(Error::data(name, problem));
            }
            check_set(&name, "test", test.x.as_ref(), test.y.as_ref(), first.x.ncols())?;
        }
        for y in [Some(&task.y), task.test.as_ref().map(|test| &test.y)].into_iter().flatten() {
            crate::tasks::some_target(&name, y.as_ref())?;
        }
    }
    crate::kernels::check_inputs(tasks, false)
}

/// "task 2 (permuted)".
pub(super) fn task_name(tasks: &[Task], i: usize) -> String {
    tasks[i].label(i)
}

/// The labels of a task as a vector.
pub(super) fn labels(task: &Task) -> Vec<f64> {
    (0..task.y.nrows()).map(|i| task.y[(i, 0)]).collect()
}

/// Shapes and finite entries.
fn check_set(name: &str, part: &str, x: MatRef<'_, f64>, y: MatRef<'_, f64>, inputs: usize) -> Result<()> {
    if x.ncols() != inputs {
        let problem = format!("its {part} inputs have {} features and those of task 1 {inputs}", x.ncols());
        return Err(Error::data(name, problem));
    }
    if x.nrows() != y.nrows() {
        let problem = format!("has {} {part} inputs and {} {part} targets", x.nrows(), y.nrows());
        return Err(Error::data(name, problem));
    }
    for (what, m) in [("input", x), ("target", y)] {
        if let Some((i, j)) = crate::linalg::not_finite(m) {
            let (row, column, value) = (i + 1, j + 1, m[(i, j)]);
            let problem = format!("{part} {what} in row {row}, column {column} is {value}; it must be finite");
            return Err(Error::data(name, problem));
        }
    }
    Ok(())
}
