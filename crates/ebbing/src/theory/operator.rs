//! ```math
//! u_t = (\tilde K_{tt} + \beta^{-1})^{-1}\Bigl(Y_t - \sum_{s<t}\tilde K_{ts}\,u_s\Bigr)
//! ```
//!
//! The recursion over tasks (paper, Eqs. 27, 28), once for every way in which kernels are stored.
//!
//! | Operator | Kernels |
//! |---|---|
//! | `single_head::forward` | in memory, each block made once: `K̃_ts` depends on s alone |
//! | `single_head::single` | the same in single precision, at a temperature |
//! | `single_head::system` | in memory, each block made where it is needed: `K̃_ts` depends on both times; or all of them kept |
//! | `single_head::first_task` | several kernels at once, from one product |
//! | `single_head::feature_space` | of features, in d × d |
//! | `task_order::engine` | in memory, all of them kept: many networks that learn their tasks in different orders |
//! | `whole` | in tiles that are made when they are needed, factors on disk |
//! | the Python package's `ebbing.dask` | in row panels on the workers of a cluster |

use crate::error::Result;
use crate::stop;
use crate::theory::blocks::factor::digits;

/// The kernels of a sequence of tasks, and a network that learns them one after another.
pub trait Operator {
    /// Outputs at the inputs of one task, or what is learned of it.
    type Vector;

    /// The number of tasks.
    fn tasks(&self) -> usize;

    /// `Y_t − Σ_{s<t} K̃_ts u_s`: what the tasks before t (from 0) leave of it.
    ///
    /// # Errors
    /// Of the operator.
    fn rest(&mut self, t: usize) -> Result<Self::Vector>;

    /// `(K̃_tt + β^{-1})^{-1} R`.
    ///
    /// # Errors
    /// Of the operator.
    fn solve(&mut self, t: usize, rest: Self::Vector) -> Result<Self::Vector>;

    /// Adds `K̃_·t u_t` to the network wherever it is looked at.
    ///
    /// # Errors
    /// Of the operator.
    fn carry(&mut self, t: usize, dual: Self::Vector) -> Result<()>;
}

/// Learns the tasks one after another.
///
/// # Errors
/// Of the operator; [`Error::Stopped`](crate::Error::Stopped) where the work is asked to end.
pub fn learn(operator: &mut impl Operator) -> Result<()> {
    for t in 0..operator.tasks() {
        stop::check()?;
        let rest = operator.rest(t)?;
        let dual = operator.solve(t, rest)?;
        operator.carry(t, dual)?;
    }
    Ok(())
}

/// How well the kernels of the tasks were inverted.
#[derive(Debug, Clone)]
pub(crate) struct Inverses {
    /// Condition number of each task's kernel.
    pub conditions: Vec<f64>,
    /// Directions of each task's kernel that were inverted.
    pub ranks: Vec<usize>,
    /// The estimated number of correct digits.
    pub digits: f64,
}

impl Default for Inverses {
    fn default() -> Self {
        Inverses { conditions: vec![], ranks: vec![], digits: f64::INFINITY }
    }
}

impl Inverses {
    /// Notes the inverse of the next task's kernel.
    ///
    /// # Errors
    /// [`LostAccuracy`](crate::Error::LostAccuracy) where fewer than four digits are left.
    pub fn note(&mut self, name: &str, condition: f64, rank: usize) -> Result<()> {
        self.digits = self.digits.min(digits(condition, name)?);
        self.conditions.push(condition);
        self.ranks.push(rank);
        Ok(())
    }
}
