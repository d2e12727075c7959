//! The single-head theory against reference numbers, against its own sample-path form, and in its limits.

mod bad_input;
mod definition;
mod limits;
mod sources;

use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Cholesky, Mat, MatRef, matmul};
use ebbing::rng::Stream;
use ebbing::tasks::TestSet;
use ebbing::theory::single_head::{Mode, SingleHeadSettings};
use ebbing::theory::{Inputs, KernelTable, KernelTask};
use ebbing::{Error, Kernel, SingleHead, Task, TaskSequence};
use serde_json::Value;

fn relu(depth: usize) -> Architecture {
    Architecture { activation: Activation::Relu, depth }
}

fn settings(mode: Mode, lambda: f64) -> SingleHeadSettings {
    SingleHeadSettings { mode, lambda, ..Default::default() }
}

fn sequence(tasks: Vec<Task>) -> TaskSequence {
    TaskSequence { tasks, settings: Value::Null }
}

fn task(x: Mat<f64>, y: Mat<f64>) -> Task {
    Task { name: String::new(), x, y, rows: None, test: None }
}

/// Tasks of Gaussian inputs and targets with the given sizes.
fn random_tasks(sizes: &[usize], dim: usize, columns: usize, seed: u64) -> TaskSequence {
    let mut stream = Stream::new(seed, "test tasks", 0);
    let mut gauss = |rows: usize, columns: usize| Mat::from_fn(rows, columns, |_, _| stream.normal());
    sequence(sizes.iter().map(|&p| task(gauss(p, dim), gauss(p, columns))).collect())
}

fn matrix(value: &Value) -> Mat<f64> {
    let rows: Vec<Vec<f64>> = match value[0].as_array() {
        Some(_) => serde_json::from_value(value.clone()).unwrap(),
        None => serde_json::from_value::<Vec<f64>>(value.clone()).unwrap().into_iter().map(|v| vec![v]).collect(),
    };
    Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

fn reference(name: &str) -> Value {
    let path = format!("{}/../../tests/reference/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn distance(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    (a - b).norm_max()
}

/// `got` within 1e-8 relative of `want`; values that are zero in exact arithmetic are compared absolutely.
fn assert_close(got: f64, want: f64, what: &str) {
    let tolerance = if want.abs() < 1e-20 { 1e-20 } else { 1e-8 * want.abs() };
    assert!((got - want).abs() <= tolerance, "{what}: {got:e} for {want:e}");
}

const ALL_MODES: [(Mode, f64); 4] =
    [(Mode::Rf, f64::INFINITY), (Mode::Ntk, f64::INFINITY), (Mode::Gibbs, 3.0), (Mode::Gibbs, f64::INFINITY)];

#[test]
fn reference_numbers() {
    for case in reference("single_head").as_array().unwrap() {
        let tasks = case["tasks"].as_array().unwrap();
        let tasks = sequence(tasks.iter().map(|t| task(matrix(&t["x"]), matrix(&t["y"]))).collect());
        let query = matrix(&case["query"]);
        for result in case["results"].as_array().unwrap() {
            let settings = SingleHeadSettings {
                mode: serde_json::from_value(result["mode"].clone()).unwrap(),
                lambda: result["lambda"].as_f64().unwrap_or(f64::INFINITY),
                sigma2: result["sigma2"].as_f64().unwrap(),
                architecture: relu(case["depth"].as_u64().unwrap() as usize),
                ..Default::default()
            };
            let network = SingleHead::new(&tasks, &settings).unwrap();
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
                for (got, want) in variance.iter().zip(want.as_array().unwrap()) {
                    assert_close(*got, want.as_f64().unwrap(), "variance");
                }
            }
        }
    }
}
