//! Networks of finite width: trained by gradient descent, or sampled from the posterior.
//!
//! ```math
//! x^{l+1} = \phi\bigl(W^l x^l/\sqrt{\dim x^l}\bigr), \qquad f(x) = a\cdot x^L/\sqrt N
//! ```
//!
//! These are the networks of the paper's Eqs. 1, 10 and 12. They learn in two ways:
//!
//! | Item | What it is | Equations |
//! |---|---|---|
//! | [`Trainer`], [`TrainSettings`] | gradient descent on a sequence of tasks | 180–186 |
//! | [`Solver`], [`Minimum`] | descent, or Levenberg–Marquardt to the minimum of loss and penalty itself | |
//! | [`Learner`] | plain descent, an L2 penalty on the change of weights, or online EWC | 180, 181, 182 |
//! | [`Fisher`], [`Indexing`] | how EWC weighs weights, as printed and corrected | 183, 184 |
//! | [`Trained`], [`TaskReport`] | what was measured after every task, and whether each task was learned at all | 3 |
//! | [`sample_posterior`], [`PosteriorSettings`] | Hamiltonian Monte Carlo on the Gibbs posterior itself, task after task | 2, 34–38, 109–113 |
//! | [`SampledPosterior`], [`convergence`] | its averages with standard errors, and whether the chains agree | 154–157 |
//! | [`Mlp`] | the network | 1, 10, 12 |
//!
//! Training is in single precision, sampling in double. [`Trainer::save`] and [`Trainer::resume`] put a run to disk
//! and take it up again.
//!
//! ```
//! use ebbing::nets::{TrainSettings, Trainer};
//! use ebbing::{Task, linalg::Mat, rng::Stream};
//! let mut stream = Stream::new(1, "example", 0);
//! let mut task = || {
//!     let x = Mat::from_fn(10, 20, |_, _| stream.normal());
//!     Task::new(x, Mat::from_fn(10, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 }))
//! };
//! let tasks = [task(), task()];
//! let mut trainer = Trainer::new(&tasks, &TrainSettings { width: 100, ..TrainSettings::default() }, &ebbing::Context::default())?;
//! while trainer.done() < trainer.tasks() {
//!     trainer.learn_next(&mut |_| true)?;
//! }
//! assert!(trainer.trained().reports.iter().all(|report| report.learned));
//! # Ok::<(), ebbing::Error>(())
//! ```

mod activations;
mod checkpoint;
mod descent;
mod fisher;
mod gram;
mod interference;
mod learner;
mod levenberg;
mod mlp;
mod posterior;
mod tangent;
#[cfg(test)]
mod tests;
mod train;
mod update;
mod watch;

pub use descent::Progress;
pub use interference::{Interference, MeanInterference};
pub use learner::{Fisher, Indexing, Learner, LossScale, PenaltyStep, Solver, TrainSettings};
pub use levenberg::Minimum;
pub use mlp::Mlp;
pub use posterior::{
    Convergence, Heads, PosteriorSettings, SampledOutputs, SampledPosterior, convergence, sample_outputs,
    sample_posterior,
};
pub use train::{TaskReport, Trained, Trainer};
pub use watch::Stop;
