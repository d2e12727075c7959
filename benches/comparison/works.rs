//! What is compared: works with their inputs, peers and targets.

use super::side::Fallible;
use super::steps::Shape;
use ebbing::data::{Array, Preprocess, Values};
use ebbing::linalg::Mat;
use ebbing::rng::Stream;
use ebbing::tasks::Permuted;
use ebbing::{Dataset, Source, TaskSequence};
use serde_json::{Value, json};

const FEATURES: usize = 784;

/// Somebody else's program for the same work: the name of its virtual environment, of its script, and for the table.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    pub environment: &'static str,
    pub script: &'static str,
    pub title: &'static str,
}

const NEURAL_TANGENTS: Peer =
    Peer { environment: "neural-tangents", script: "tangents_peer", title: "neural-tangents" };
const SCIPY: Peer = Peer { environment: "scipy", script: "scipy_theory", title: "NumPy + SciPy" };
const PYTORCH: Peer = Peer { environment: "pytorch", script: "torch_step", title: "PyTorch" };

#[derive(Debug, Clone, Copy)]
pub enum Work {
    Kernel { kind: &'static str, p: usize, depth: usize },
    Forgetting { tasks: usize, p: usize, depth: usize },
    OrderParameters { tasks: usize, p: usize, depth: usize },
    TwoTasks { p: usize, loads: usize },
    Regression { p: usize, depth: usize },
    Step { shape: Shape, steps: usize },
}

/// A row of the table.
pub struct Row {
    pub name: &'static str,
    /// What the figure calls it.
    pub label: &'static str,
    pub work: Work,
    pub peer: Peer,
    /// How many times as fast it must be.
    pub target: f64,
    /// What share of the peer's memory it may take.
    pub memory_target: Option<f64>,
}

/// All rows; the short form has smaller sizes, to which targets do not apply.
pub fn rows(short: bool) -> Vec<Row> {
    let pick = |long: usize, small: usize| if short { small } else { long };
    let kernel = |kind, depth| Work::Kernel { kind, p: pick(2000, 500), depth };
    let (tasks, depth) = (pick(10, 4), 10);
    let step = |long, small, steps| Work::Step { shape: Shape(if short { small } else { long }), steps };
    let row = |name, label, work, peer, target| Row { name, label, work, peer, target, memory_target: None };
    vec![
        row("nngp-10", "NNGP, depth 10", kernel("nngp", 10), NEURAL_TANGENTS, 5.0),
        row("ntk-10", "NTK, depth 10", kernel("ntk", 10), NEURAL_TANGENTS, 5.0),
        row("nngp-1", "NNGP, depth 1", kernel("nngp", 1), NEURAL_TANGENTS, 1.5),
        row("ntk-1", "NTK, depth 1", kernel("ntk", 1), NEURAL_TANGENTS, 1.5),
        row("forgetting", "forgetting", Work::Forgetting { tasks, p: pick(2000, 300), depth }, SCIPY, 4.0),
        row("order", "order parameters", Work::OrderParameters { tasks, p: pick(1000, 200), depth }, SCIPY, 3.0),
        row("two-tasks", "two heads", Work::TwoTasks { p: pick(1000, 100), loads: pick(100, 10) }, SCIPY, 100.0),
        row("step-small", "step, 1 layer", step([600, FEATURES, 400, 1], [200, FEATURES, 100, 1], 150), PYTORCH, 2.0),
        row("step-middle", "step, 2 layers", step([2000, FEATURES, 1000, 2], [300, 100, 150, 2], 8), PYTORCH, 0.85),
        row("step-large", "step, 9 layers", step([2000, FEATURES, 2000, 9], [300, 100, 300, 9], 1), PYTORCH, 0.85),
        Row {
            memory_target: Some(0.7),
            ..row(
                "regression",
                "regression",
                Work::Regression { p: pick(8000, 1000), depth: 3 },
                Peer { title: "neural-tangents + SciPy", ..NEURAL_TANGENTS },
                1.2,
            )
        },
    ]
}

impl Work {
    /// What the table calls it.
    pub fn description(&self) -> String {
        match self {
            Work::Kernel { kind, p, depth } => {
                format!("{} {p} × {p}, N0 = {FEATURES}, depth {depth}, f64", kind.to_uppercase())
            }
            Work::Forgetting { tasks, p, depth } => {
                format!("single-head forgetting matrix, {tasks} permuted tasks, P = {p}, depth {depth}")
            }
            Work::OrderParameters { tasks, p, depth } => {
                format!("order parameters of all pairs of {tasks} tasks, P = {p}, depth {depth}")
            }
            Work::TwoTasks { p, loads } => format!("two-task multi-head, P = {p}, {loads} loads, λ = 1e4"),
            Work::Regression { p, depth } => {
                format!("kernel regression P = {p}, N0 = {FEATURES}, depth {depth} (kernel and solve)")
            }
            Work::Step { shape, .. } => format!("full-batch descent step, {shape}, f32"),
        }
    }

    /// The arrays that both sides read.
    pub fn inputs(&self) -> Fallible<Vec<(String, Array)>> {
        let named = |arrays: Vec<(String, Mat<f64>)>| -> Vec<(String, Array)> {
            arrays.into_iter().map(|(name, m)| (name, Array::from_mat(m.as_ref()))).collect()
        };
        Ok(match *self {
            Work::Kernel { p, .. } => named(vec![("x".into(), spread_inputs(p))]),
            Work::Forgetting { tasks, p, .. } | Work::OrderParameters { tasks, p, .. } => {
                named(numbered(permuted(Permuted { tasks, p, p_test: 0, ..Default::default() })?, 0))
            }
            Work::TwoTasks { p, loads } => {
                // A task and the same images with 15 % of their pixels permuted; loads from 0.1 to 10.
                let tasks = permuted(Permuted {
                    tasks: 2,
                    p,
                    p_test: 0,
                    ratio: 0.15,
                    permute_first: false,
                    ..Default::default()
                })?;
                let at = |i: usize| 0.1 * 100f64.powf(i as f64 / (loads - 1) as f64);
                let mut arrays = named(numbered(tasks, 1));
                let alphas = Values::Real((0..loads).map(at).collect());
                arrays.push(("alphas".into(), Array { shape: vec![loads], values: alphas }));
                arrays
            }
            Work::Regression { p, .. } => {
                let mut stream = Stream::new(1, "regression bench", 0);
                let mut draw = |rows| Mat::from_fn(rows, FEATURES, |_, _| stream.normal());
                let (x, test) = (draw(p), draw(100));
                let y = Mat::from_fn(p, 1, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 });
                named(vec![("x".into(), x), ("y".into(), y), ("x_test".into(), test)])
            }
            Work::Step { .. } => vec![],
        })
    }

    /// The request, without the file for results.
    pub fn request(&self, inputs: &str) -> Value {
        match *self {
            Work::Kernel { kind, depth, .. } => json!({"work": kind, "inputs": inputs, "depth": depth}),
            Work::Forgetting { depth, .. } => json!({"work": "forgetting", "inputs": inputs, "depth": depth}),
            Work::OrderParameters { depth, .. } => {
                json!({"work": "order_parameters", "inputs": inputs, "depth": depth})
            }
            Work::TwoTasks { .. } => json!({"work": "two_tasks", "inputs": inputs, "lambda": 1e4, "sigma2": 1.0}),
            Work::Regression { depth, .. } => json!({"work": "regression", "inputs": inputs, "depth": depth}),
            Work::Step { shape, steps } => shape.requests(steps).0,
        }
    }
}

/// Gaussian rows with a common direction of random strength and sign, so that cosines fill all of (−1, 1).
fn spread_inputs(rows: usize) -> Mat<f64> {
    let mut stream = Stream::new(1, "kernel bench", 0);
    let strength: Vec<f64> = (0..rows).map(|_| 4.0 * stream.normal()).collect();
    Mat::from_fn(rows, FEATURES, |i, k| stream.normal() + if k % 2 == 0 { strength[i] } else { -strength[i] })
}

/// Permuted tasks from the embedded images.
fn permuted(protocol: Permuted) -> Fallible<TaskSequence> {
    Ok(protocol.generate(&Source::new(Dataset::sample()?, &Preprocess::default())?, 1)?)
}

/// `x0, y0, x1 …`, from the given number on.
fn numbered(sequence: TaskSequence, first: usize) -> Vec<(String, Mat<f64>)> {
    let tasks = sequence.tasks.into_iter().enumerate();
    tasks.flat_map(|(t, task)| [(format!("x{}", t + first), task.x), (format!("y{}", t + first), task.y)]).collect()
}
