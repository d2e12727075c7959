//! Two tasks with several outputs each at β = ∞: one pencil, then O(P m³) a Newton step for the factors at every load.
//!
//! With `G = K_21K_11^{-1}K_12`, `B = K_21K_11^{-1}Y_1` (P × m_1) and `V = U11^{-1}U12`, the covariance and the mean of what task 1 predicts
//! are `K⁰⊗U0 − G⊗VᵀU11V` and `B V`. In the basis of the pencil (ΔK, K¹) that is the [`Problem`] with `θ = Vᵀ`, `g = B`,
//! `S_i = −G_ii U11` and `C = −U11`.

use super::limit::LimitDirections;
use super::maps::Maps;
use super::one_task::{Products, without_labels};
use super::prediction::OutputPrediction;
use super::problem::{Covariance, Problem};
use super::span::Span;
use super::steps::{alone, within};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, matmul, on_one_thread, par_map};
use crate::stats::number::chosen;
use crate::tasks::Task;
use crate::theory::multi_head::settings::{MultiHeadSettings, ReadoutPrior, check_several, checked_load};
use crate::theory::multi_head::solve::EquationResidual;
use crate::theory::multi_head::two_tasks::{Power, TwoTasks};

/// From this λ on, directions start where the limit λ → ∞ puts them.
const LARGE: f64 = 1e3;

/// Two tasks with several outputs each, at one λ (finite or ∞) and β = ∞.
///
/// ```
/// use ebbing::Task;
/// use ebbing::linalg::Mat;
/// use ebbing::rng::Stream;
/// use ebbing::theory::multi_head::{MultiHeadSettings, TwoTaskOutputs};
/// let mut stream = Stream::new(1, "example", 0);
/// let mut task = |outputs: usize| {
///     let x = Mat::from_fn(20, 30, |_, _| stream.normal());
///     Task::new(x, Mat::from_fn(20, outputs, |i, a| if i % outputs == a { 1.0 } else { 0.0 }))
/// };
/// let tasks = [task(3), task(2)];
/// let settings = MultiHeadSettings { lambda: 10.0, ..Default::default() };
/// let two = TwoTaskOutputs::new(&tasks, &settings, &ebbing::Context::default())?;
/// let point = two.point(0.5)?;
/// assert_eq!((point.u12.nrows(), point.u12.ncols()), (3, 2));
/// assert!(point.residuals.iter().all(|r| r.residual < 1e-10));
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TwoTaskOutputs {
    /// Kernels and their decomposition, which know no labels.
    pub(super) pair: TwoTasks,
    pub(super) tasks: [Task; 2],
    pub(super) spans: [Span; 2],
    /// `Vᵀ Y_2` and `Vᵀ B`, in the directions that have labels.
    pub(super) y: Mat<f64>,
    pub(super) b: Mat<f64>,
    /// `L^{-1} Y_1`, `K_11 = L Lᵀ`.
    pub(super) half_labels: Mat<f64>,
    pub(super) first: Products,
    pub(super) readout: ReadoutPrior,
}

/// The factors of two tasks with several outputs at one load.
#[derive(Debug, Clone)]
pub struct TwoTaskOutputsPoint {
    /// The load α = P_2/N.
    pub alpha: f64,
    /// The width N.
    pub width: f64,
    /// The penalty λ, possibly ∞.
    pub lambda: f64,
    /// `U1(1,1) = A_1ᵀA_1/N`.
    pub u11: Mat<f64>,
    /// `U1(1,2) = A_1ᵀA_2/N`, m_1 × m_2.
    pub u12: Mat<f64>,
    /// `U1(2,2)`: at λ = ∞ what stands in front of its leading power of λ, `λ^exponent`.
    pub u22: Mat<f64>,
    /// `U0(2,2)`, in units of `λ^exponent`.
    pub u0: Mat<f64>,
    /// `U1(2,2) − U0(2,2)`; at λ = ∞ its limit.
    pub d: Mat<f64>,
    /// 0, or ½ at λ = ∞ where a direction overfits.
    pub exponent: f64,
    /// `ρ_a` of every direction of head 2 that has labels, ascending: the eigenvalues of (U0, D), over λ at λ = ∞.
    pub rho: Vec<f64>,
    /// The regime of every such direction, at λ = ∞.
    pub directions: Option<LimitDirections>,
    /// The scaled residual of every equation.
    pub residuals: Vec<EquationResidual>,
    /// What predictions need, in the directions that have labels.
    pub(super) maps: Maps,
}

/// The same tasks with one label in place of all, for what depends on inputs alone.
pub(super) fn unlabeled(tasks: &[Task]) -> Vec<Task> {
    let ones = |task: &Task| Mat::from_fn(task.x.nrows(), 1, |_, _| 1.0);
    tasks.iter().map(|task| Task { y: ones(task), test: None, ..task.clone() }).collect()
}

impl TwoTaskOutputsPoint {
    /// The mean over outputs of `<|a|²>/N` for the readouts of head 2, as a power of λ.
    pub fn norm(&self) -> Power {
        let m = self.u22.nrows();
        let mean = (0..m).map(|a| self.u22[(a, a)]).sum::<f64>() / m as f64;
        Power { coefficient: mean, exponent: self.exponent }
    }
}

impl TwoTaskOutputs {
    /// Decomposes the kernels of two tasks; `alpha` and `width` of the settings are not read.
    ///
    /// # Errors
    /// As for [`TwoTasks::new`], for any number of target columns.
    pub fn new(tasks: &[Task], settings: &MultiHeadSettings, context: &Context) -> Result<Self> {
        if tasks.len() != 2 {
            return Err(Error::data("task sequence", format!("has {} tasks; expected two", tasks.len())));
        }
        check_several(tasks)?;
        let pair = TwoTasks::new(&unlabeled(tasks), settings, context)?;
        context.run(|| Self::of(pair, tasks, settings))
    }

    /// From kernels that know no labels.
    pub(super) fn of(pair: TwoTasks, tasks: &[Task], settings: &MultiHeadSettings) -> Result<Self> {
        let spans = [Span::of(&tasks[0].y)?, Span::of(&tasks[1].y)?];
        let [y1, y2] = [0, 1].map(|t: usize| spans[t].reduced(tasks[t].y.as_ref()));
        let half_labels = pair.first.half_solve(y1.as_ref());
        let first = Products {
            matrix: super::frame::symmetric(matmul(half_labels.transpose(), half_labels.as_ref()).as_ref()),
            size: y1.nrows(),
            silent: spans[0].silent.ncols(),
        };
        Ok(TwoTaskOutputs {
            y: matmul(pair.basis.vectors.transpose(), y2.as_ref()),
            b: matmul(pair.half.transpose(), half_labels.as_ref()),
            readout: settings.readout()?,
            tasks: [tasks[0].clone(), tasks[1].clone()],
            pair,
            spans,
            half_labels,
            first,
        })
    }

    /// The two tasks.
    pub fn tasks(&self) -> &[Task; 2] {
        &self.tasks
    }

    /// The penalty λ.
    pub fn lambda(&self) -> f64 {
        self.pair.lambda()
    }

    /// The number of training examples of the two tasks.
    pub fn sizes(&self) -> [usize; 2] {
        self.pair.sizes()
    }

    /// The number of outputs of the two heads.
    pub fn outputs(&self) -> [usize; 2] {
        [self.tasks[0].y.ncols(), self.tasks[1].y.ncols()]
    }

    /// The decimal digits that the worse conditioned kernel leaves, at least 4.
    pub fn digits(&self) -> f64 {
        self.pair.digits()
    }

    /// The eigenvalues of the pencil (ΔK_22, K¹_22), ascending; of (Δ̂, K_GP) at λ = ∞.
    pub fn pencil_values(&self) -> &[f64] {
        &self.pair.basis.values
    }

    /// The problem of task 2 at one width, given U11 along the directions that have labels.
    pub(super) fn problem(&self, width: f64, u11: &Mat<f64>) -> Problem {
        Problem {
            s: self.pair.basis.values.clone(),
            y: self.y.clone(),
            g: self.b.clone(),
            covariance: Covariance::Scaled {
                scale: self.pair.g_diagonal.iter().map(|g| -g).collect(),
                shape: u11.clone(),
            },
            unit: Mat::from_fn(u11.nrows(), u11.nrows(), |i, j| -u11[(i, j)]),
            width,
            sigma2: self.readout.sigma2,
            near: None,
        }
    }

    /// The factors at load α.
    ///
    /// # Errors
    /// [`Error::Setting`] for α ≤ 0, and for α = 1 at λ = ∞; [`Error::NotConverged`] where the equations are not solved.
    pub fn point(&self, alpha: f64) -> Result<TwoTaskOutputsPoint> {
        crate::stop::check()?;
        let alpha = checked_load(alpha)?;
        if self.lambda().is_infinite() {
            return self.limit_point(alpha);
        }
        let width = self.y.nrows() as f64 / alpha;
        let first = self.first.factor(width, self.readout)?;
        let mut problem = self.problem(width, &first.u);
        if self.lambda() >= LARGE {
            problem.near = self.start_beyond(&problem);
        }
        let what =
            format!("the renormalization factors of two tasks at alpha = {alpha}, lambda = {}", chosen(self.lambda()));
        let silent = self.spans[1].silent.ncols();
        let (solution, sigma2) = on_one_thread(|| within(&problem, self.readout.bound, silent, &what))?;
        let u21 = matmul(solution.theta.as_ref(), first.u.as_ref());
        let [theta, z, x] = solution.residuals;
        let residuals = [(1, "U1(1,1)", first.residual), (2, "U1(2,1)", theta), (2, "U0(2,2)", z), (2, "U1(2,2)", x)];
        let frame = &solution.frame;
        let (d, u0) = (frame.d(), frame.u0());
        let [one, two] = &self.spans;
        let free = without_labels(sigma2, alpha);
        Ok(TwoTaskOutputsPoint {
            alpha,
            width,
            lambda: self.lambda(),
            u11: one.own(first.u.as_ref(), first.silent),
            u12: one.expanded(u21.transpose(), two),
            u22: two.own((&d + &u0).as_ref(), free),
            u0: two.own(u0.as_ref(), 0.0),
            d: two.own(d.as_ref(), free),
            exponent: 0.0,
            rho: frame.rho.clone(),
            directions: None,
            residuals: residuals
                .into_iter()
                .map(|(step, unknown, residual)| EquationResidual { step, unknown: unknown.into(), residual })
                .collect(),
            maps: Maps::finite(&first.u, &solution.theta, frame, (first.silent, free)),
        })
    }

    /// The factors at every load.
    ///
    /// # Errors
    /// As for [`TwoTaskOutputs::point`].
    pub fn points(&self, alphas: &[f64]) -> Result<Vec<TwoTaskOutputsPoint>> {
        // Collected before it is searched for errors, so that the first one is reported at any number of threads.
        par_map(alphas, |&alpha| self.point(alpha)).into_iter().collect()
    }

    /// A network that learned task `head` alone at a point's width, on any inputs.
    ///
    /// # Errors
    /// [`Error::Data`] for inputs that do not fit; [`Error::NotPositiveDefinite`] for a singular kernel.
    pub fn alone(&self, head: usize, width: f64, x: MatRef<'_, f64>) -> Result<OutputPrediction> {
        super::maps::check_head(head)?;
        alone(&self.tasks, head, x, self.pair.architecture, self.pair.prior, (0.0, width, self.readout))
    }
}
