//! What a Gram matrix costs beside the bare product of the same shape: 2000 × 2000, N0 = 784, f64, in one run.
//!
//! `cargo bench -p ebbing-benches --bench kernels`

mod timing;

use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Mat, matmul};
use ebbing::rng::Stream;
use ebbing::{Kernel, Result};
use std::hint::black_box;
use timing::timed;

const ROWS: usize = 2000;
const FEATURES: usize = 784;
const ROUNDS: usize = 15;

/// Gaussian rows with a common direction of random strength and sign, so that cosines fill all of (−1, 1).
fn inputs(index: u64) -> Mat<f64> {
    let mut stream = Stream::new(1, "kernel bench", index);
    let strength: Vec<f64> = (0..ROWS).map(|_| 4.0 * stream.normal()).collect();
    Mat::from_fn(ROWS, FEATURES, |i, k| stream.normal() + if k % 2 == 0 { strength[i] } else { -strength[i] })
}

fn main() -> Result<()> {
    let (x, x2) = (inputs(0), inputs(1));
    let kernel = |activation, kind, depth, lambda, t, s| {
        Kernel::new(kind, Architecture { activation, depth }, WeightPrior::new(lambda, 1.0)?, t, s)
    };
    let relu = |kind, depth, lambda, t, s| kernel(Activation::Relu, kind, depth, lambda, t, s);
    let single = [
        ("NNGP, depth 1", relu(KernelKind::Nngp, 1, 1.0, 1, 1)?),
        ("NNGP, depth 10", relu(KernelKind::Nngp, 10, 1.0, 1, 1)?),
        ("K~(3,2), lambda 1e3, depth 1", relu(KernelKind::KTilde, 1, 1e3, 3, 2)?),
        ("K~(3,2), lambda 1e3, depth 10", relu(KernelKind::KTilde, 10, 1e3, 3, 2)?),
        ("NTK, depth 10", relu(KernelKind::Ntk, 10, 1.0, 1, 1)?),
    ];
    let several = [&single[1].1, &single[3].1, &single[4].1];
    let mut works: Vec<(String, Box<dyn Fn()>)> = vec![(
        "bare product".into(),
        Box::new(|| {
            black_box(matmul(x.as_ref(), x2.as_ref().transpose()));
        }),
    )];
    for (name, kernel) in &single {
        // Checked here once, so that the timed calls cannot fail; it also makes the table, which is timed below.
        kernel.gram(x.as_ref(), x2.as_ref())?;
        works.push((
            (*name).into(),
            Box::new(|| {
                black_box(kernel.gram(x.as_ref(), x2.as_ref()).is_ok());
            }),
        ));
    }
    works.push((
        "three of depth 10 at once".into(),
        Box::new(|| {
            black_box(Kernel::gram_many(&several, x.as_ref(), x2.as_ref()).is_ok());
        }),
    ));
    works.push((
        "NNGP, depth 10, symmetric".into(),
        Box::new(|| {
            black_box(single[1].1.gram_symmetric(x.as_ref()).is_ok());
        }),
    ));

    let mut best = vec![[f64::INFINITY; 2]; works.len()];
    for _ in 0..ROUNDS {
        for (best, (_, work)) in best.iter_mut().zip(&works) {
            let ((), now) = timed(work);
            *best = [best[0].min(now[0]), best[1].min(now[1])];
        }
    }
    println!("{ROWS} x {ROWS}, N0 = {FEATURES}, best of {ROUNDS}");
    println!("{:32} {:>8} {:>8} {:>14} {:>14}", "", "ms", "cpu ms", "/ product", "cpu / product");
    for ((name, _), [wall, cpu]) in works.iter().zip(&best) {
        let (ratio, cpu_ratio) = (wall / best[0][0], cpu / best[0][1]);
        println!("{name:32} {:8.2} {:8.2} {ratio:14.3} {cpu_ratio:14.3}", 1e3 * wall, 1e3 * cpu);
    }
    for (name, deep, shallow) in [("NNGP", 2, 1), ("K~", 4, 3)] {
        let ratio = |k: usize| best[deep][k] / best[shallow][k];
        println!("{name}: depth 10 / depth 1 {:.3}, cpu {:.3}", ratio(0), ratio(1));
    }
    // A matrix just large enough for a table costs little besides making it.
    let few = x.as_ref().subrows(0, 48);
    for (name, depth, kind) in [
        ("NNGP, depth 1", 1, KernelKind::Nngp),
        ("NNGP, depth 10", 10, KernelKind::Nngp),
        ("K~(3,2), lambda 1e3, depth 10", 10, KernelKind::KTilde),
        ("K~(3,2), lambda 1e3, depth 50", 50, KernelKind::KTilde),
    ] {
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let ((), now) = timed(|| {
                black_box(relu(kind, depth, 1e3, 3, 2).and_then(|k| k.gram(few, few)).is_ok());
            });
            best = best.min(now[0]);
        }
        println!("making the table of {name}: {:.2} ms", 1e3 * best);
    }
    Ok(())
}
