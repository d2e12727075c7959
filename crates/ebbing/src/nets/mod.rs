//! Networks of finite width: trained by gradient descent, or sampled from the posterior.

mod checkpoint;
mod descent;
mod fisher;
mod gram;
mod interference;
mod learner;
mod mlp;
mod pass;
mod posterior;
mod tangent;
#[cfg(test)]
mod tests;
mod train;
mod update;
mod watch;

pub use descent::Progress;
pub use interference::{Interference, MeanInterference};
pub use learner::{Fisher, Indexing, Learner, LossScale, PenaltyStep, TrainSettings};
pub use mlp::Mlp;
pub use posterior::{Convergence, Heads, PosteriorSettings, SampledPosterior, convergence, sample_posterior};
pub use train::{TaskReport, Trained, Trainer};
pub use watch::Stop;
