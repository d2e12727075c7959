//! What 200 loads of two tasks cost beside what they cannot avoid: kernels, one pencil, the products for H; in one run.
//!
//! Then what several outputs per head cost beside one: ten classes, 100 loads, and the same in two numbers per factor.
//!
//! `cargo bench -p ebbing-benches --bench multi_head [-- EXAMPLES]` (default 2000; half of it for several outputs)

mod timing;

use ebbing::Context;
use ebbing::kernels::{Activation, Architecture, KernelKind, WeightPrior};
use ebbing::linalg::{Cholesky, Mat, MatRef, Pencil, matmul};
use ebbing::rng::Stream;
use ebbing::tasks::TestSet;
use ebbing::theory::multi_head::{Classes, MultiHeadSettings, Power, TwoTaskOutputs, TwoTasks};
use ebbing::{Kernel, Result, Task};
use std::hint::black_box;
use timing::timed;

const FEATURES: usize = 784;
const TESTS: usize = 500;
const LOADS: usize = 200;
const ARCHITECTURE: Architecture = Architecture { activation: Activation::Relu, depth: 1 };

/// The largest resident memory so far in MB, if the system reports it.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

fn rows(count: usize, stream: &mut Stream) -> Mat<f64> {
    Mat::from_fn(count, FEATURES, |_, _| stream.normal())
}

fn signs(count: usize, stream: &mut Stream) -> Mat<f64> {
    Mat::from_fn(count, 1, |_, _| if stream.chance(0.5) { 1.0 } else { -1.0 })
}

/// Two tasks of which half the features agree.
fn tasks(size: usize) -> Vec<Task> {
    let mut stream = Stream::new(1, "multi-head bench", 0);
    let (first, labels) = (rows(size, &mut stream), signs(size, &mut stream));
    let fresh = rows(size, &mut stream);
    let second = Mat::from_fn(size, FEATURES, |i, j| if j % 2 == 0 { first[(i, j)] } else { fresh[(i, j)] });
    [first, second]
        .into_iter()
        .map(|x| {
            let test = TestSet { x: rows(TESTS, &mut stream), y: signs(TESTS, &mut stream) };
            Task { name: String::new(), x, y: labels.clone(), rows: None, test: Some(test), present: None }
        })
        .collect()
}

fn values(y: &Mat<f64>) -> Vec<f64> {
    (0..y.nrows()).map(|i| y[(i, 0)]).collect()
}

/// `F_21` and `G_22` at all loads.
fn sweep(tasks: &[Task], lambda: f64, loads: &[f64]) -> Result<(Vec<Power>, Vec<Power>)> {
    let two = TwoTasks::new(tasks, &MultiHeadSettings { lambda, ..MultiHeadSettings::default() }, &Context::default())?;
    let points = two.points(loads)?;
    let forgetting = two.losses(&two.maps(1, tasks[0].x.as_ref(), &values(&tasks[0].y))?, &points);
    let mut second = Vec::new();
    if let Some(test) = &tasks[1].test {
        let losses = two.losses(&two.maps(2, test.x.as_ref(), &values(&test.y))?, &points);
        let alone = two.alone(2, &points)?;
        second = losses
            .iter()
            .zip(alone)
            .map(|(l, alone)| Power { coefficient: l.coefficient / alone, exponent: l.exponent })
            .collect();
    }
    Ok((forgetting, second))
}

/// Seconds of every part that no implementation can avoid.
struct Floor {
    kernels: [f64; 2],
    pencil: [f64; 2],
    products: [f64; 2],
}

fn floor(tasks: &[Task], lambda: f64) -> Result<Floor> {
    let prior = WeightPrior::new(lambda, 1.0)?;
    let k1 = |t, s| Kernel::new(KernelKind::K1, ARCHITECTURE, prior, t, s);
    let (same, cross, alone, delta) =
        (k1(2, 2)?, k1(2, 1)?, k1(1, 1)?, Kernel::new(KernelKind::DeltaK, ARCHITECTURE, prior, 2, 2)?);
    let (x1, x2) = (tasks[0].x.as_ref(), tasks[1].x.as_ref());
    let test = tasks[1].test.as_ref().map_or(x2, |t| t.x.as_ref());
    let (grams, kernels) = timed(|| -> Result<_> {
        let own = Kernel::gram_many_symmetric(&[&same, &delta], x2)?;
        let train = Kernel::gram_many(&[&same, &delta], x1, x2)?;
        let tested = Kernel::gram_many(&[&same, &delta], test, x2)?;
        let first = alone.gram_symmetric(x1)?;
        black_box((alone.gram_symmetric(x2)?, alone.gram(test, x2)?));
        Ok((own, train, tested, first, cross.gram(x2, x1)?, cross.gram(x1, x1)?, cross.gram(test, x1)?))
    });
    let (own, train, tested, first, between, early, late) = grams?;
    let (pencil, pencil_time) = timed(|| Pencil::factor(own[1].as_ref(), own[0].as_ref(), "kernel"));
    let v = pencil?.vectors;
    drop(own);
    let factor = Cholesky::factor(first.as_ref(), "kernel")?;
    let ((), products) = timed(|| {
        let c = matmul(between.transpose(), v.as_ref());
        let j = factor.solve(c.as_ref());
        black_box(matmul(c.transpose(), j.as_ref()));
        let form = |a: &Mat<f64>, b: &Mat<f64>| {
            black_box(matmul(a.transpose(), b.as_ref()));
        };
        let rows = |k: &[Mat<f64>], k21: MatRef<'_, f64>| {
            black_box(matmul(k21, j.as_ref()));
            (matmul(k[0].as_ref(), v.as_ref()), matmul(k[1].as_ref(), v.as_ref()))
        };
        let (_, d) = rows(&train, early.as_ref());
        form(&d, &d);
        let (q, d) = rows(&tested, late.as_ref());
        form(&d, &d);
        form(&q, &d);
        form(&q, &q);
    });
    Ok(Floor { kernels, pencil: pencil_time, products })
}

/// Factors at 100 loads for ten classes, and for one output, decomposition included.
fn several(size: usize) -> Result<()> {
    const CLASSES: usize = 10;
    let one = tasks(size);
    let many: Vec<Task> = one
        .iter()
        .map(|task| {
            Task::new(task.x.clone(), Mat::from_fn(size, CLASSES, |i, a| f64::from(u8::from(i % CLASSES == a))))
        })
        .collect();
    let loads: Vec<f64> = (0..100).map(|i| 0.1 * 100f64.powf(f64::from(i) / 99.0)).collect();
    println!("P = {size}, {} loads: factors of {CLASSES} outputs beside one, processor time", loads.len());
    for lambda in [f64::INFINITY, 1e4, 10.0] {
        let settings = MultiHeadSettings { lambda, ..MultiHeadSettings::default() };
        let context = Context::default();
        let (single, base) = timed(|| TwoTasks::new(&one, &settings, &context)?.points(&loads));
        black_box(single?.len());
        let (all, time) = timed(|| TwoTaskOutputs::new(&many, &settings, &context)?.points(&loads));
        black_box(all?.len());
        print!("lambda = {lambda}: one {:.2} s, ten {:.2} s, ratio {:.1}", base[1], time[1], time[1] / base[1]);
        if lambda.is_finite() {
            let (alike, time) = timed(|| {
                let two = TwoTaskOutputs::new(&many, &settings, &context)?;
                two.alike(Classes::Shared)?.points(&loads)
            });
            black_box(alike?.len());
            print!("; alike {:.2} s, ratio {:.2}", time[1], time[1] / base[1]);
        }
        println!();
    }
    Ok(())
}

fn main() -> Result<()> {
    let size = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(2000);
    let tasks = tasks(size);
    // From 0.1 to 10, without 1 itself.
    let loads: Vec<f64> = (0..LOADS).map(|i| 0.1 * 100f64.powf(i as f64 / (LOADS - 1) as f64)).collect();
    println!(
        "P = {size}, N0 = {FEATURES}, {LOADS} loads, {TESTS} test points; seconds by the clock (of processor time)"
    );
    let show = |[wall, cpu]: [f64; 2]| format!("{wall:7.2} ({cpu:7.2})");
    for lambda in [f64::INFINITY, 1e4] {
        let (result, total) = timed(|| sweep(&tasks, lambda, &loads));
        let (forgetting, second) = result?;
        black_box((&forgetting, &second));
        let floor = floor(&tasks, lambda)?;
        let sum: [f64; 2] = std::array::from_fn(|k| floor.kernels[k] + floor.pencil[k] + floor.products[k]);
        println!("lambda = {lambda}: F_21 and G_22     {}", show(total));
        println!("  kernels                  {}", show(floor.kernels));
        println!("  one pencil               {}", show(floor.pencil));
        println!("  products for H           {}", show(floor.products));
        println!("  ratio to their sum       {:7.2} ({:7.2})", total[0] / sum[0], total[1] / sum[1]);
        let two =
            TwoTasks::new(&tasks, &MultiHeadSettings { lambda, ..MultiHeadSettings::default() }, &Context::default())?;
        let (points, time) = timed(|| two.points(&loads));
        black_box(points?.len());
        println!("  {LOADS} loads' factors alone {}", show(time));
    }
    several(size / 2)?;
    if let Some(peak) = peak_megabytes() {
        println!("largest resident memory {peak:.0} MB");
    }
    Ok(())
}
