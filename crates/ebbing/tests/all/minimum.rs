//! Wide networks at the minimum that the solver finds, against the theory of infinite width.

use ebbing::Context;
use ebbing::kernels::{Activation, Architecture, Kernel, KernelKind, WeightPrior};
use ebbing::linalg::{Cholesky, Mat, matmul};
use ebbing::nets::{Heads, Learner, Solver, TrainSettings};
use ebbing::rng::Stream;
use ebbing::stats::mean_with_error;
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::{SingleHead, Task, TaskSequence, Trainer};

const P: usize = 8;
const DIM: usize = 10;

fn tasks() -> Vec<Task> {
    let mut stream = Stream::new(3, "wide networks", 0);
    let mut draw = |columns| Mat::from_fn(P, columns, |_, _| stream.normal());
    (0..2).map(|_| Task::new(draw(DIM), draw(1))).collect()
}

fn settings(width: usize, seed: u64) -> TrainSettings {
    let (learner, heads, solver) = (Learner::Gd, Heads::Single, Solver::Levenberg);
    TrainSettings { learner, heads, solver, width, seed, ..TrainSettings::default() }
}

/// Random features: forgetting of the first task is that of the mode `rf`.
#[test]
fn wide_random_features_forget_as_the_theory_says() {
    let tasks = tasks();
    let sequence = TaskSequence { tasks: tasks.clone(), settings: Default::default() };
    let want =
        SingleHead::new(&sequence, &SingleHeadSettings::default(), &Context::default()).unwrap().forgetting().unwrap()
            [1][0];
    let forgotten = |seed| {
        // Small weights: the initial outputs, which the theory's mean has not, are of order σ0² = 1e-6.
        let settings = TrainSettings { readout_only: true, sigma0: 1e-3, ..settings(6000, seed) };
        let mut trainer = Trainer::new(&tasks, &settings, &Context::default()).unwrap();
        while trainer.done() < 2 {
            trainer.learn_next(&mut |_| true).unwrap();
        }
        trainer.trained().train_loss[1][0]
    };
    let found = mean_with_error(&(0..8).map(forgotten).collect::<Vec<_>>()).unwrap();
    // Four standard errors over networks, and the order 1/N of the bias times a condition number of order 100.
    let allowed = 4.0 * found.error() + 0.02 * want;
    assert!((found.value - want).abs() < allowed, "{} ± {} against {want}", found.value, found.error());
}

/// All weights: what a task changes is `Θ(x,X)Θ(X,X)⁻¹(Y − f(X))`, Θ the tangent kernel of infinite width.
#[test]
fn wide_networks_move_along_the_tangent_kernel() {
    let tasks = tasks();
    let mut trainer = Trainer::new(&tasks, &settings(20_000, 1), &Context::default()).unwrap();
    trainer.learn_next(&mut |_| true).unwrap();
    let single = |x: &Mat<f64>| Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)] as f32);
    let output = |trainer: &Trainer, t: usize| trainer.net().output(single(&tasks[t].x).as_ref(), 0);
    let before = [output(&trainer, 0), output(&trainer, 1)];
    trainer.learn_next(&mut |_| true).unwrap();
    let after = output(&trainer, 0);
    let architecture = Architecture { activation: Activation::Relu, depth: 1 };
    let prior = WeightPrior::new(f64::INFINITY, 1.0).unwrap();
    let kernel = Kernel::new(KernelKind::Ntk, architecture, prior, 1, 1).unwrap();
    let gram = |s: usize, t: usize| kernel.gram(tasks[s].x.as_ref(), tasks[t].x.as_ref()).unwrap();
    let miss = Mat::from_fn(P, 1, |i, _| tasks[1].y[(i, 0)] - f64::from(before[1][(i, 0)]));
    let solved = Cholesky::factor(gram(1, 1).as_ref(), "the tangent kernel").unwrap().solve(miss.as_ref());
    let change = matmul(gram(0, 1).as_ref(), solved.as_ref());
    let (mut off, mut size) = (0.0, 0.0);
    for i in 0..P {
        let got = f64::from(after[(i, 0)]) - f64::from(before[0][(i, 0)]);
        off += (got - change[(i, 0)]).powi(2);
        size += change[(i, 0)].powi(2);
    }
    // The tangent kernel of N units fluctuates by 1/√N = 0.7 %, times the condition number of 8 examples, about 10.
    assert!((off / size).sqrt() < 0.1, "{}", (off / size).sqrt());
}
