//! The single-head theory against reference numbers, against its own sample-path form, and in its limits.

mod bad_input;
mod definition;
mod limits;
mod present;
mod repeats;
mod replay;
mod sources;

use crate::support::*;
use ebbing::Context;
use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Cholesky, Mat, MatRef, matmul};
use ebbing::rng::Stream;
use ebbing::theory::single_head::{Mode, Replay, Selection, SingleHeadSettings};
use ebbing::theory::{Inputs, KernelTable, KernelTask};
use ebbing::{Error, Kernel, SingleHead, Task, TaskSequence};

fn settings(mode: Mode, lambda: f64) -> SingleHeadSettings {
    SingleHeadSettings { mode, lambda, ..Default::default() }
}

/// Tasks of Gaussian inputs and targets with the given sizes.
fn random_tasks(sizes: &[usize], dim: usize, columns: usize, seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "test tasks", 0);
    sequence(sizes.iter().map(|&p| Task::new(gauss(&mut stream, p, dim), gauss(&mut stream, p, columns))).collect())
}

fn distance(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    (a - b).norm_max()
}

/// `got` within 1e-8 relative of `want`; values that are zero in exact arithmetic are compared absolutely.
#[track_caller]
fn assert_close(got: f64, want: f64, what: &str) {
    within(got, want, if want.abs() < 1e-20 { 1e-20 } else { 1e-8 * want.abs() }, what);
}

const ALL_MODES: [(Mode, f64); 5] = [
    (Mode::Rf, f64::INFINITY),
    (Mode::Ntk, f64::INFINITY),
    (Mode::Lazy, f64::INFINITY),
    (Mode::Gibbs, 3.0),
    (Mode::Gibbs, f64::INFINITY),
];

#[test]
fn reference_numbers() {
    for case in array(&reference("single_head")) {
        let tasks = sequence(tasks(&case["tasks"]));
        let query = matrix(&case["query"]);
        for result in array(&case["results"]) {
            let settings = SingleHeadSettings {
                mode: serde_json::from_value(result["mode"].clone()).unwrap(),
                lambda: result["lambda"].as_f64().unwrap_or(f64::INFINITY),
                sigma2: number(&result["sigma2"]),
                architecture: relu(whole(&case["depth"])),
                ..Default::default()
            };
            let network = SingleHead::new(&tasks, &settings, &Context::default()).unwrap();
            let (mean, forgetting) = (matrix(&result["mean"]), matrix(&result["forgetting"]));
            let (means, f) = (network.means(&query).unwrap(), network.forgetting().unwrap());
            for t in 0..3 {
                for i in 0..query.nrows() {
                    assert_close(means[t][(i, 0)], mean[(t, i)], "mean");
                }
                for s in 0..3 {
                    assert_close(f[t][s], forgetting[(t, s)], "forgetting");
                }
                assert_eq!(means[t], network.mean(&query, t + 1).unwrap());
            }
            if let Some(want) = result.get("variance_after_last") {
                let variance = network.variance(&query, 3).unwrap();
                for (got, want) in variance.iter().zip(vector(want)) {
                    assert_close(*got, want, "variance");
                }
            }
        }
    }
}
