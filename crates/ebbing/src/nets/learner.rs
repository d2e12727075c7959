//! Which rule changes the weights (paper, Eqs. 180–186), and when a task counts as learned.

use crate::error::{Error, Result, at_least, not_negative, positive, refuse, within};
use crate::kernels::{Activation, Architecture};
use crate::nets::posterior::Heads;
use serde::{Deserialize, Serialize};

/// How the squared gradients that weigh EWC's penalty are taken and scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fisher {
    /// `g_i² / ((1/n) sqrt(Σ g⁴))`, g the gradient of the whole loss, n parameters: the paper's Eq. 184 as printed,
    /// of rms √n.
    Paper,
    /// `g_i² / sqrt((1/n) Σ g⁴)`: the same with rms 1.
    #[default]
    Rms,
    /// `(1/P) Σ_μ g_{μ,i}²`, g_μ the gradient of one example's loss.
    Empirical,
    /// `(1/P) Σ_μ |∂f(x_μ)/∂θ_i|²`: exact for a Gaussian likelihood of unit variance.
    Exact,
}

/// Which tasks' Fishers enter the penalty of task t.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Indexing {
    /// `F̄_t = γ F̄_{t−1} + F_{t−1}`: Fishers taken at Θ_s on D_s, s < t.
    #[default]
    Past,
    /// `F̄_t = γ F̄_{t−1} + F_t`, `F_1 = 0`, the paper's Eq. 183 as printed: the current task's own (at its start), the
    /// first task's dropped.
    Printed,
}

/// The rule that changes the weights.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "rule", deny_unknown_fields)]
pub enum Learner {
    /// Gradient descent on the loss of the current task (paper, Eq. 180).
    #[default]
    Gd,
    /// Gradient descent on the loss plus `κ/2 |Θ − Θ_{t−1}|²` (Eqs. 181, 185).
    L2 {
        /// The strength κ.
        kappa: f64,
    },
    /// Gradient descent on the loss plus `κ/2 Σ F̄_i (Θ − Θ_{t−1})_i²`, online EWC (Eqs. 182–184).
    Ewc {
        /// The strength κ.
        kappa: f64,
        /// The decay γ of older tasks' Fishers.
        gamma: f64,
        /// How Fishers are taken.
        fisher: Fisher,
        /// Which tasks' Fishers enter.
        indexing: Indexing,
    },
}

impl Learner {
    /// The strength κ of the penalty, 0 for plain descent.
    pub fn kappa(&self) -> f64 {
        match *self {
            Learner::Gd => 0.0,
            Learner::L2 { kappa } | Learner::Ewc { kappa, .. } => kappa,
        }
    }

    /// What tables and files call it.
    pub fn name(&self) -> String {
        match self {
            Learner::Gd => "gd".into(),
            Learner::L2 { kappa } => format!("l2(kappa={kappa})"),
            Learner::Ewc { kappa, gamma, fisher, indexing } => {
                format!("ewc(kappa={kappa},gamma={gamma},{},{})", crate::word_of(fisher), crate::word_of(indexing))
            }
        }
    }
}

/// How the weights of a task are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// Gradient descent, step by step, until a stopping rule holds.
    #[default]
    Descent,
    /// Levenberg–Marquardt, to the minimum of loss and penalty; without a penalty, to an interpolating solution near the
    /// start. Full batches, plain and L2 learners only.
    Levenberg,
}

/// How the loss is scaled before its gradient is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossScale {
    /// `½ Σ_μ |f(x_μ) − y_μ|²`.
    #[default]
    Sum,
    /// `½ (1/P) Σ_μ |f(x_μ) − y_μ|²`.
    Mean,
}

/// How penalty and loss share a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PenaltyStep {
    /// `θ ← (θ − ηg + ηκF θ_prev)/(1 + ηκF)`: stable for any κF.
    #[default]
    Implicit,
    /// `θ ← θ − ηg − ηκF(θ − θ_prev)`: refused where η times the loss's curvature plus ηκF exceeds 2 for any weight.
    Explicit,
}

/// Settings of one training run.
///
/// | name | default | range |
/// |---|---|---|
/// | `width` | 400 | ≥ 1 |
/// | `sigma0` | 1 | > 0 |
/// | `eta` | none: from the tangent kernel | > 0 |
/// | `threshold` | 1e-3 | > 0 |
/// | `tolerance`, `patience` | 1e-3, 200 | > 0 |
/// | `max_steps` | 20000 | ≥ 1 |
/// | `batch` | none: all examples | 1 … P |
/// | `momentum` | 0 | 0 ≤ m < 1 |
/// | `solver` | descent | |
/// | `first_solver` | none: `solver` | |
/// | `gradient_tolerance` | 1e-6 | > 0 |
/// | `readout_scales` | 1 | each > 0 |
/// | `readout_penalty` | 0 | ≥ 0 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainSettings {
    /// The learning rule.
    pub learner: Learner,
    /// One readout, or one for each task (then only hidden weights are penalized).
    pub heads: Heads,
    /// Hidden layers and nonlinearity.
    pub architecture: Architecture,
    /// The width N of every hidden layer.
    pub width: usize,
    /// Standard deviation of the initial weights.
    pub sigma0: f64,
    /// The loss whose gradient is followed.
    pub loss: LossScale,
    /// The learning rate; none: from the largest eigenvalue of the network's tangent kernel, adapted on the way.
    pub eta: Option<f64>,
    /// The rate from the tangent kernel is multiplied by this (½ checks that results do not depend on it).
    pub eta_factor: f64,
    /// How the penalty is stepped.
    pub penalty_step: PenaltyStep,
    /// An unpenalized task ends when its mean squared error is below this.
    pub threshold: f64,
    /// A penalized task ends when loss and distance to the previous weights change by less than this, relatively (a loss
    /// below the threshold counts as the threshold) …
    pub tolerance: f64,
    /// … over this many steps.
    pub patience: usize,
    /// The largest number of steps on one task.
    pub max_steps: usize,
    /// Examples per step; none: all.
    pub batch: Option<usize>,
    /// Heavy-ball momentum.
    pub momentum: f64,
    /// Only readouts are trained (the random-feature limit).
    pub readout_only: bool,
    /// How the weights of a task are found.
    pub solver: Solver,
    /// How the weights of the first task are found, which has no penalty; none: as those of the others. Descent goes less far
    /// in deep networks than Levenberg's few long steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_solver: Option<Solver>,
    /// Levenberg: a task ends when the norm of the objective's gradient is below this share of what it was at the start.
    pub gradient_tolerance: f64,
    /// Levenberg: penalized tasks are learned from their initial readout times each of these, and the lowest objective is kept.
    pub readout_scales: Vec<f64>,
    /// Levenberg: the strength ρ of a penalty `ρ/2 |a|²` on the readout of penalized tasks, a pull to 0 as in the posterior
    /// that the theory describes (there ρ = 1/(βσ²) beside κ = λ/β).
    pub readout_penalty: f64,
    /// The seed.
    pub seed: u64,
}

impl Default for TrainSettings {
    fn default() -> Self {
        TrainSettings {
            learner: Learner::default(),
            heads: Heads::Single,
            architecture: Architecture { activation: Activation::Relu, depth: 1 },
            width: 400,
            sigma0: 1.0,
            loss: LossScale::Sum,
            eta: None,
            eta_factor: 1.0,
            penalty_step: PenaltyStep::Implicit,
            threshold: 1e-3,
            tolerance: 1e-3,
            patience: 200,
            max_steps: 20_000,
            batch: None,
            momentum: 0.0,
            readout_only: false,
            solver: Solver::Descent,
            first_solver: None,
            gradient_tolerance: 1e-6,
            readout_scales: vec![1.0],
            readout_penalty: 0.0,
            seed: 0,
        }
    }
}

impl TrainSettings {
    /// Checks every range.
    ///
    /// # Errors
    /// [`Error::Setting`] naming the first setting out of range.
    pub fn check(&self) -> Result<()> {
        let above_zero = [
            ("sigma0", self.sigma0),
            ("eta", self.eta.unwrap_or(1.0)),
            ("eta_factor", self.eta_factor),
            ("threshold", self.threshold),
            ("tolerance", self.tolerance),
            ("gradient_tolerance", self.gradient_tolerance),
        ];
        for (name, value) in above_zero {
            positive(name, value)?;
        }
        self.architecture.check()?;
        for (name, value) in [
            ("width", self.width),
            ("patience", self.patience),
            ("max_steps", self.max_steps),
            ("batch", self.batch.unwrap_or(1)),
        ] {
            at_least(name, value, 1)?;
        }
        refuse(!(0.0..1.0).contains(&self.momentum), "momentum", self.momentum, "must lie in [0, 1)")?;
        not_negative("kappa", self.learner.kappa())?;
        if let Learner::Ewc { gamma, .. } = self.learner {
            within("gamma", gamma, 0.0, 1.0)?;
        }
        self.check_solver()
    }

    /// The solver of task t, counted from 0.
    pub(crate) fn solver_of(&self, t: usize) -> Solver {
        if t == 0 { self.first_solver.unwrap_or(self.solver) } else { self.solver }
    }

    /// Refuses settings that the solver does not know.
    fn check_solver(&self) -> Result<()> {
        if let Some(bad) = self.readout_scales.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            return Err(Error::setting("readout_scales", bad, "every scale must be positive and finite"));
        }
        refuse(self.readout_scales.is_empty(), "readout_scales", "empty", "must name at least one scale")?;
        not_negative("readout_penalty", self.readout_penalty)?;
        if self.solver == Solver::Descent {
            refuse(self.readout_penalty != 0.0, "readout_penalty", "given", "needs the solver levenberg")?;
            return refuse(self.readout_scales != [1.0], "readout_scales", "given", "needs the solver levenberg");
        }
        let weighted = matches!(self.learner, Learner::Ewc { .. });
        let expected = "must be descent for EWC, whose penalty differs from weight to weight";
        refuse(weighted, "solver", "levenberg", expected)?;
        if self.solver_of(0) == Solver::Descent {
            return Ok(());
        }
        let given = [
            ("batch", self.batch.is_some()),
            ("momentum", self.momentum != 0.0),
            ("eta", self.eta.is_some()),
            ("the explicit penalty step", self.penalty_step == PenaltyStep::Explicit),
        ];
        given.into_iter().try_for_each(|(name, given)| refuse(given, name, "given", "needs the solver descent"))
    }
}
