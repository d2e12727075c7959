//! One task under a penalty that pulls to random initial weights, P = 600, N = 300, N0 = 784, κ = 0.1: how long the solver takes
//! to a relative gradient of 1e-6, and how far above its minimum descent is after as much time and, with one hidden layer, after
//! ten times as much. The readout is free; with two hidden layers, whose valley then has no end, it is also pulled to 0 with a
//! strength of 1e-4, which descent does not know. One run each, a quarter of an hour in all.
//!
//! `cargo bench -p ebbing-benches --bench levenberg [-- DIR]`. With DIR each problem is written there as JSON, for
//! `paper/peers/torch_lbfgs.py`, which holds PyTorch's L-BFGS against the same objective.

mod timing;

use ebbing::Context;
use ebbing::kernels::{Activation, Architecture};
use ebbing::linalg::Mat;
use ebbing::nets::{Heads, Learner, Mlp, Solver, TrainSettings};
use ebbing::rng::Stream;
use ebbing::{Error, Result, Task, Trainer};
use std::path::{Path, PathBuf};
use timing::timed;

const ROWS: usize = 600;
const WIDTH: usize = 300;
const FEATURES: usize = 784;
const KAPPA: f64 = 0.1;

/// Hidden layers, the pull of the readout to 0, and the most steps.
#[derive(Clone, Copy)]
struct Case {
    depth: usize,
    readout_penalty: f64,
    max_steps: usize,
}

const CASES: [Case; 3] = [
    Case { depth: 1, readout_penalty: 0.0, max_steps: 1000 },
    Case { depth: 2, readout_penalty: 0.0, max_steps: 400 },
    Case { depth: 2, readout_penalty: 1e-4, max_steps: 1000 },
];

fn settings(Case { depth, readout_penalty, max_steps }: Case) -> TrainSettings {
    TrainSettings {
        learner: Learner::L2 { kappa: KAPPA },
        heads: Heads::Multi,
        architecture: Architecture { activation: Activation::Relu, depth },
        width: WIDTH,
        solver: Solver::Levenberg,
        max_steps,
        readout_penalty,
        ..TrainSettings::default()
    }
}

/// Gaussian inputs with the signs of one direction as labels; before it a task whose targets are the initial outputs, which
/// every solver leaves as it is: only later tasks are penalized.
fn tasks(case: Case) -> Result<[Task; 2]> {
    let mut stream = Stream::new(1, "levenberg bench", 0);
    let rule: Vec<f64> = (0..FEATURES).map(|_| stream.normal()).collect();
    let x = Mat::from_fn(ROWS, FEATURES, |_, _| stream.normal());
    let y = Mat::from_fn(ROWS, 1, |i, _| (0..FEATURES).map(|j| x[(i, j)] * rule[j]).sum::<f64>().signum());
    let task = Task::new(x, y);
    let single = Mat::from_fn(ROWS, FEATURES, |i, j| task.x[(i, j)] as f32);
    let fresh = Trainer::new(std::slice::from_ref(&task), &settings(case), &Context::default())?;
    let outputs = fresh.net().output(single.as_ref(), 0);
    let still = Task::new(task.x.clone(), Mat::from_fn(ROWS, 1, |i, _| f64::from(outputs[(i, 0)])));
    Ok([still, task])
}

/// `½ Σ r² + κ/2 |W − W_0|²`.
fn objective(net: &Mlp, start: &Mlp, mse: f64) -> f64 {
    let mut distance = 0.0;
    for (a, b) in net.hidden().iter().zip(start.hidden()) {
        for j in 0..a.ncols() {
            distance += (0..a.nrows()).map(|i| f64::from(a[(i, j)] - b[(i, j)]).powi(2)).sum::<f64>();
        }
    }
    0.5 * (mse * ROWS as f64 + KAPPA * distance)
}

/// The second task alone: its data, the weights it starts from and its new readout, as nested lists.
fn write(path: &Path, task: &Task, start: &Mlp, readout_penalty: f64) -> Result<()> {
    let rows = |m: &Mat<f64>| -> Vec<Vec<f64>> {
        (0..m.nrows()).map(|i| (0..m.ncols()).map(|j| m[(i, j)]).collect()).collect()
    };
    let single = |w: &Mat<f32>| Mat::from_fn(w.nrows(), w.ncols(), |i, j| f64::from(w[(i, j)]));
    let layers: Vec<_> = start.hidden().iter().map(|w| rows(&single(w))).collect();
    let mut stream = Stream::new(0, "initial readout", 1);
    let readout: Vec<f64> = (0..WIDTH).map(|_| f64::from(stream.normal() as f32)).collect();
    let problem = serde_json::json!({
        "x": rows(&task.x), "y": rows(&task.y), "layers": layers, "readout": readout, "kappa": KAPPA,
        "readout_penalty": readout_penalty,
    });
    std::fs::write(path, problem.to_string()).map_err(|e| Error::io(path, e))
}

/// Descent on the second task for so many steps: its objective, and its seconds.
fn descend(tasks: &[Task], case: Case, max_steps: usize) -> Result<(f64, f64)> {
    let (solver, tolerance, threshold) = (Solver::Descent, 1e-12, 1e-9);
    let settings = TrainSettings { solver, tolerance, threshold, max_steps, momentum: 0.9, ..settings(case) };
    let mut trainer = Trainer::new(tasks, &settings, &Context::default())?;
    trainer.learn_next(&mut |_| true)?;
    let start = trainer.net().clone();
    let (done, [seconds, _]) = timed(|| trainer.learn_next(&mut |_| true));
    done?;
    Ok((objective(trainer.net(), &start, trainer.trained().reports[1].mse), seconds))
}

fn main() -> Result<()> {
    let folder = std::env::args().skip(1).find(|a| !a.starts_with('-')).map(PathBuf::from);
    for case in CASES {
        let Case { depth, readout_penalty, .. } = case;
        let tasks = tasks(case)?;
        let mut trainer = Trainer::new(&tasks, &settings(case), &Context::default())?;
        trainer.learn_next(&mut |_| true)?;
        if let Some(folder) = &folder {
            let held = if readout_penalty > 0.0 { "-held" } else { "" };
            let path = folder.join(format!("levenberg-{depth}{held}.json"));
            write(&path, &tasks[1], trainer.net(), readout_penalty)?;
        }
        let (done, [seconds, processor]) = timed(|| trainer.learn_next(&mut |_| true));
        done?;
        let report = &trainer.trained().reports[1];
        let (lowest, gradient) = report.minimum.map_or((f64::NAN, f64::NAN), |m| (m.objective, m.gradient));
        println!(
            "L = {depth}, readout pulled by {readout_penalty}: levenberg {} steps, {seconds:.1} s ({processor:.1} s of processor \
             time), converged: {}, gradient {gradient:.1e}, objective {lowest:.6}",
            report.steps, report.converged
        );
        if readout_penalty > 0.0 {
            continue;
        }
        let (_, trial) = descend(&tasks, case, 100)?;
        let spans: &[f64] = if depth == 1 { &[1.0, 10.0] } else { &[1.0] };
        for times in spans {
            let steps = (100.0 * times * seconds / trial).ceil() as usize;
            let (objective, seconds) = descend(&tasks, case, steps)?;
            let above = objective / lowest - 1.0;
            println!("L = {depth}: descent {steps} steps, {seconds:.1} s, objective {objective:.6}, {above:.1e} above");
        }
    }
    Ok(())
}
