//! What the single-head forecast costs beside the products and Cholesky factors that it cannot avoid: ten tasks of 2000
//! examples, N0 = 784, depth 10, mode `rf`, the full forgetting matrix; and what known sharing of inputs saves.
//!
//! `cargo bench -p ebbing-benches --bench single_head`

mod timing;

use ebbing::Context;
use ebbing::kernels::{Activation, Architecture};
use ebbing::linalg::{Cholesky, Mat, matmul};
use ebbing::rng::Stream;
use ebbing::theory::single_head::SingleHeadSettings;
use ebbing::theory::task_order::{OrderSearchSettings, best_order};
use ebbing::{Result, SingleHead, Task, TaskSequence};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Par};
use std::hint::black_box;
use timing::timed;

const TASKS: usize = 10;
const ROWS: usize = 2000;
const FEATURES: usize = 784;
const ROUNDS: usize = 3;

/// Tasks of Gaussian inputs of norm √N0 and targets ±1, of which the first `shared` inputs are the same in all.
fn tasks(count: usize, rows: usize, shared: usize) -> TaskSequence {
    let mut stream = Stream::new(1, "single-head bench", shared as u64);
    let mut inputs = |n: usize| {
        let mut x = Mat::from_fn(n, FEATURES, |_, _| stream.normal());
        for i in 0..n {
            let scale = (FEATURES as f64).sqrt() / x.row(i).norm_l2();
            (0..FEATURES).for_each(|j| x[(i, j)] *= scale);
        }
        x
    };
    let common = inputs(shared);
    let tasks = (0..count).map(|t| {
        let own = inputs(rows - shared);
        let x = Mat::from_fn(rows, FEATURES, |i, j| if i < shared { common[(i, j)] } else { own[(i - shared, j)] });
        let mut labels = Stream::new(1, "labels", t as u64);
        let y = Mat::from_fn(rows, 1, |_, _| if labels.chance(0.5) { 1.0 } else { -1.0 });
        Task { name: String::new(), x, y, rows: None, test: None, present: None }
    });
    TaskSequence { tasks: tasks.collect(), settings: Default::default() }
}

fn forecast(sequence: &TaskSequence, share: bool) -> Result<Vec<Vec<f64>>> {
    let architecture = Architecture { activation: Activation::Relu, depth: 10 };
    SingleHead::new(sequence, &SingleHeadSettings { architecture, share, ..Default::default() }, &Context::default())?
        .forgetting()
}

/// Products of all pairs of tasks (of a task with itself: one half), and one Cholesky factor per task.
fn unavoidable(sequence: &TaskSequence, kernel: &Mat<f64>) {
    for (t, task) in sequence.tasks.iter().enumerate() {
        for other in &sequence.tasks[..t] {
            black_box(matmul(task.x.as_ref(), other.x.transpose()));
        }
        let mut own = Mat::<f64>::zeros(ROWS, ROWS);
        triangular::matmul(
            own.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Replace,
            task.x.as_ref(),
            BlockStructure::Rectangular,
            task.x.transpose(),
            BlockStructure::Rectangular,
            1.0,
            Par::rayon(8),
        );
        black_box(own);
        black_box(Cholesky::factor(kernel.as_ref(), "kernel").is_ok());
    }
}

/// Peak resident memory in megabytes, if the system reports it.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}

fn main() -> Result<()> {
    let sequence = tasks(TASKS, ROWS, 0);
    forecast(&sequence, true)?;
    println!("{TASKS} tasks, P = {ROWS}, N0 = {FEATURES}, depth 10, rf: peak resident memory {:.0} MB", peak());
    let x = &sequence.tasks[0].x;
    let mut kernel = matmul(x.as_ref(), x.transpose());
    (0..ROWS).for_each(|i| kernel[(i, i)] += FEATURES as f64);
    let sharing = tasks(TASKS, ROWS, ROWS * 4 / 5);
    let works: [(&str, &dyn Fn()); 4] = [
        ("bare products and Cholesky factors", &|| unavoidable(&sequence, &kernel)),
        ("forgetting matrix", &|| drop(black_box(forecast(&sequence, true)))),
        ("80 % of inputs shared, not known", &|| drop(black_box(forecast(&sharing, false)))),
        ("80 % of inputs shared, known", &|| drop(black_box(forecast(&sharing, true)))),
    ];
    let mut best = [[f64::INFINITY; 2]; 4];
    for _ in 0..ROUNDS {
        for (best, (_, work)) in best.iter_mut().zip(&works) {
            let ((), now) = timed(work);
            *best = [best[0].min(now[0]), best[1].min(now[1])];
        }
    }
    println!("{:38} {:>8} {:>8}   best of {ROUNDS}", "", "s", "cpu s");
    for ((name, _), [wall, cpu]) in works.iter().zip(&best) {
        println!("{name:38} {wall:8.2} {cpu:8.2}");
    }
    let ratio = |a: usize, b: usize| [best[a][0] / best[b][0], best[a][1] / best[b][1]];
    let ([wall, cpu], [gain, cpu_gain]) = (ratio(1, 0), ratio(2, 3));
    println!("forgetting matrix / what it cannot avoid: {wall:.2} (cpu {cpu:.2}); at most 1.5 wanted");
    println!("shared inputs known: {gain:.2} times faster (cpu {cpu_gain:.2}); at least 2 wanted");
    let seven = tasks(7, 1000, 0);
    let ((), search) =
        timed(|| drop(black_box(best_order(&seven, &OrderSearchSettings::default(), &Context::default()))));
    println!("best of all 5040 orders of 7 tasks, P = 1000: {:.2} s (cpu {:.2} s)", search[0], search[1]);
    Ok(())
}
