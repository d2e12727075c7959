//! Two tasks given by kernels of one's own: factors, regimes and critical loads without any inputs.

use super::limit::DirectionLoads;
use super::pair::{TwoTaskOutputs, TwoTaskOutputsPoint, unlabeled};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::kernels::{Architecture, WeightPrior};
use crate::linalg::{Mat, MatRef, not_finite};
use crate::tasks::{Task, some_target};
use crate::theory::multi_head::settings::MultiHeadSettings;
use crate::theory::multi_head::two_tasks::TwoTasks;

/// The kernels of two tasks, and their targets with a column per output.
#[derive(Debug, Clone, Copy)]
pub struct KernelsOfTwo<'a> {
    /// `K¹_11(X_1, X_1)`.
    pub first: MatRef<'a, f64>,
    /// `K¹_21(X_2, X_1)`.
    pub cross: MatRef<'a, f64>,
    /// `K¹_22(X_2, X_2)`.
    pub second: MatRef<'a, f64>,
    /// `ΔK_22(X_2, X_2)` at finite λ, `Δ̂ = lim λΔK_22` at λ = ∞.
    pub change: MatRef<'a, f64>,
    /// `Y_1`.
    pub first_targets: MatRef<'a, f64>,
    /// `Y_2`.
    pub second_targets: MatRef<'a, f64>,
}

/// Two tasks that are known by their kernels alone, with any numbers of outputs, at β = ∞.
///
/// ```
/// use ebbing::linalg::Mat;
/// use ebbing::rng::Stream;
/// use ebbing::theory::multi_head::{KernelsOfTwo, MultiHeadSettings, TwoKernelTasks};
/// let mut stream = Stream::new(1, "example", 0);
/// let mut features = || Mat::from_fn(8, 20, |_, _| stream.normal());
/// let (a, b, c) = (features(), features(), features());
/// let gram = |x: &Mat<f64>, y: &Mat<f64>| x * y.transpose();
/// let (first, cross, second, change) = (gram(&a, &a), gram(&b, &a), gram(&b, &b), gram(&c, &c));
/// let targets = Mat::from_fn(8, 2, |i, j| if i % 2 == j { 1.0 } else { 0.0 });
/// let kernels = KernelsOfTwo {
///     first: first.as_ref(),
///     cross: cross.as_ref(),
///     second: second.as_ref(),
///     change: change.as_ref(),
///     first_targets: targets.as_ref(),
///     second_targets: targets.as_ref(),
/// };
/// // λ = ∞ by default: one critical load per output of the second head.
/// let tasks = TwoKernelTasks::new(kernels, &MultiHeadSettings::default(), &ebbing::Context::default())?;
/// assert_eq!(tasks.critical_loads()?.alpha_c.len(), 2);
/// assert_eq!(tasks.point(0.5)?.u12.nrows(), 2);
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TwoKernelTasks {
    two: TwoTaskOutputs,
}

impl TwoKernelTasks {
    /// Decomposes the kernels. Of the settings, λ, σ² and what concerns readouts is read.
    ///
    /// # Errors
    /// [`Error::Data`] for kernels or targets that do not fit together or are not finite, [`Error::OutsideTheory`] for a finite β,
    /// [`Error::NotPositiveDefinite`] or [`Error::LostAccuracy`] for a singular kernel.
    pub fn new(kernels: KernelsOfTwo<'_>, settings: &MultiHeadSettings, context: &Context) -> Result<Self> {
        let KernelsOfTwo { first, cross, second, change, first_targets, second_targets } = kernels;
        let (p1, p2) = (first.nrows(), second.nrows());
        let shapes = [
            ("K11", first, p1, p1),
            ("K21", cross, p2, p1),
            ("K22", second, p2, p2),
            ("Delta K22", change, p2, p2),
            ("the targets of task 1", first_targets, p1, first_targets.ncols().max(1)),
            ("the targets of task 2", second_targets, p2, second_targets.ncols().max(1)),
        ];
        for (name, matrix, rows, columns) in shapes {
            if (matrix.nrows(), matrix.ncols()) != (rows, columns) || rows < 2 {
                let (r, c) = (matrix.nrows(), matrix.ncols());
                let problem = format!("is {r} × {c}; expected {rows} × {columns}, for two examples at least");
                return Err(Error::data(name, problem));
            }
            if let Some((i, j)) = not_finite(matrix) {
                let problem = format!("row {}, column {} is {}; it must be finite", i + 1, j + 1, matrix[(i, j)]);
                return Err(Error::data(name, problem));
            }
        }
        let ridge = settings.ridge()?;
        if ridge != 0.0 {
            let reason = "three matrices have no common basis; leave beta out";
            return Err(Error::outside(format!("kernels of two tasks at beta = {}", settings.beta), reason));
        }
        // No function of the result reads inputs.
        let tasks = [first_targets, second_targets].map(|y| Task::new(Mat::zeros(y.nrows(), 0), y.to_owned()));
        for (t, task) in tasks.iter().enumerate() {
            some_target(&task.label(t), task.y.as_ref())?;
        }
        let prior = WeightPrior::new(settings.lambda, settings.sigma2)?;
        let architecture = Architecture { activation: settings.activation, depth: 1 };
        context.run(|| {
            let pair = TwoTasks::of_kernels(
                &unlabeled(&tasks),
                (prior, architecture, settings.readout()?),
                || Ok(first.to_owned()),
                || Ok((second.to_owned(), change.to_owned())),
                || Ok(cross.to_owned()),
            )?;
            Ok(TwoKernelTasks { two: TwoTaskOutputs::of(pair, &tasks, settings)? })
        })
    }

    /// The eigenvalues of the pencil (ΔK_22, K¹_22), ascending.
    pub fn pencil_values(&self) -> &[f64] {
        self.two.pencil_values()
    }

    /// The factors at load α.
    ///
    /// # Errors
    /// As for [`TwoTaskOutputs::point`].
    pub fn point(&self, alpha: f64) -> Result<TwoTaskOutputsPoint> {
        self.two.point(alpha)
    }

    /// The factors at every load.
    ///
    /// # Errors
    /// As for [`TwoTaskOutputs::point`].
    pub fn points(&self, alphas: &[f64]) -> Result<Vec<TwoTaskOutputsPoint>> {
        self.two.points(alphas)
    }

    /// The critical loads of the directions of head 2 at λ = ∞.
    ///
    /// # Errors
    /// As for [`TwoTaskOutputs::critical_loads`].
    pub fn critical_loads(&self) -> Result<DirectionLoads> {
        self.two.critical_loads()
    }
}
