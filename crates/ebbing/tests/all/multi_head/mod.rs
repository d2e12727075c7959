//! The multi-head theory, question by question.

mod any;
mod bad_input;
mod classes;
mod critical_load;
mod curves;
mod limits;
mod readouts;
mod reference;
mod symmetries;

use crate::support::*;
use ebbing::Context;
use ebbing::kernels::{Activation, KernelKind, WeightPrior};
use ebbing::linalg::{Cholesky, Mat};
use ebbing::rng::Stream;
use ebbing::theory::alpha_c::{CurveFeature, alpha_c_from_curve};
use ebbing::theory::best_lambda::best_lambda;
use ebbing::theory::multi_head::{MultiHeadSettings, Regime, TwoTaskPoint, TwoTasks, centered_alignment};
use ebbing::theory::order_parameters::OrderParameterSettings;
use ebbing::theory::phase::{SequenceCurve, normalized_labels, phase_curves, sequence_curve};
use ebbing::{Error, Kernel, MultiHead, Task};

/// A task whose inputs and labels are those of `task` with noise of the given strength and flipped labels.
fn variant(task: &Task, noise: f64, flips: f64, stream: &mut Stream) -> Task {
    let (rest, x) = ((1.0 - noise * noise).sqrt(), &task.x);
    let x = Mat::from_fn(x.nrows(), x.ncols(), |i, j| rest * x[(i, j)] + noise * stream.normal());
    let y = Mat::from_fn(task.y.nrows(), 1, |i, _| if stream.chance(flips) { -task.y[(i, 0)] } else { task.y[(i, 0)] });
    Task::new(x, y)
}

/// The task with noisy copies of its training inputs and their labels held out.
fn with_test(task: Task, size: usize, stream: &mut Stream) -> Task {
    let rows: Vec<usize> = (0..size).map(|_| stream.below(task.x.nrows())).collect();
    let x = Mat::from_fn(size, task.x.ncols(), |i, j| task.x[(rows[i], j)] + 0.3 * stream.normal());
    let y = Mat::from_fn(size, 1, |i, _| task.y[(rows[i], 0)]);
    task.with_test(x, y)
}

/// Two related tasks with held-out data.
fn pair(size: usize, inputs: usize, seed: u64) -> Vec<Task> {
    let mut stream = Stream::new(seed, "multi-head test", 0);
    let first = random_task(&mut stream, size, inputs);
    let second = variant(&first, 0.5, 0.1, &mut stream);
    vec![with_test(first, 15, &mut stream), with_test(second, 12, &mut stream)]
}

/// Keeps the first examples only.
fn shorten(task: &mut Task, size: usize) {
    task.x = task.x.subrows(0, size).to_owned();
    task.y = task.y.subrows(0, size).to_owned();
}

fn at(lambda: f64, alpha: f64) -> MultiHeadSettings {
    MultiHeadSettings { lambda, alpha: Some(alpha), ..MultiHeadSettings::default() }
}

/// Two tasks at λ = ∞.
fn limit(tasks: &[Task]) -> TwoTasks {
    TwoTasks::new(tasks, &MultiHeadSettings::default(), &Context::default()).unwrap()
}
