//! Trial

use super::*;
use crate::kernels::Architecture;
use crate::nets::*;
use crate::rng::Stream;
use crate::tasks::Task;

#[test]
fn trial() {
    let get = |name: &str, or: f64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(or);
    let (p, n, depth, kappa) =
        (get("P", 200.0) as usize, get("N", 100.0) as usize, get("L", 1.0) as usize, get("K", 0.1));
    let mut s = Stream::new(1, "trial", 0);
    let t: Vec<f64> = (0..784).map(|_| s.normal()).collect();
    let x1 = Mat::from_fn(p, 784, |_, _| s.normal());
    let x2 = Mat::from_fn(p, 784, |i, j| (x1[(i, j)] + 0.5 * s.normal()) / 1.25f64.sqrt());
    let label = |x: &Mat<f64>| Mat::from_fn(p, 1, |i, _| (0..784).map(|j| x[(i, j)] * t[j]).sum::<f64>().signum());
    let tasks = [Task::new(x1.clone(), label(&x1)), Task::new(x2.clone(), label(&x2))];
    let settings = TrainSettings {
        solver: Solver::Levenberg,
        learner: Learner::L2 { kappa },
        heads: Heads::Multi,
        width: n,
        architecture: Architecture {
            activation: if get("E", 0.0) == 1.0 { Activation::Erf } else { Activation::Relu },
            depth,
        },
        max_steps: get("S", 1000.0) as usize,
        ..Default::default()
    };
    let mut trainer = Trainer::new(&tasks, &settings).unwrap();
    for _ in 0..2 {
        let start = std::time::Instant::now();
        let mut calls = 0;
        trainer
            .learn_next(&mut |at| {
                calls += 1;
                if calls % 10 == 1 {
                    println!(
                        "{} mse {:.3e} g {:.3e} {:.2}s",
                        at.step,
                        at.mse,
                        at.gradient.unwrap(),
                        start.elapsed().as_secs_f64()
                    );
                }
                true
            })
            .unwrap();
        println!("{:?} {:.2} s", trainer.trained().reports.last().unwrap(), start.elapsed().as_secs_f64());
        let a = trainer.net().readouts().last().unwrap();
        println!("a {}", (0..n).map(|i| f64::from(a[(i, 0)]).powi(2)).sum::<f64>() / n as f64);
        println!("{:?}", trainer.trained().train_loss);
    }
}
