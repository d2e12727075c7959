//! `C ← beta·C + alpha·A B` in single precision, for training networks.
//!
//! A product can touch its result while that is in the cache: before anything is added to it, and when it is complete.
//! The result is cut into the same tiles whatever the number of threads, and every entry is summed in the same order.
//!
//! Why not faer's products: whole gradient steps take longer with them, on two threads of an AVX2 machine that was busy with
//! other work. Both took turns within one training run; P examples, width N, L hidden layers, N0 = 784.
//!
//! | P | N | L | faer's time over ours, by medians |
//! |---|---|---|---|
//! | 600 | 400 | 1 | 1.07 to 1.23 (seven runs; of processor time, 1.17 to 1.21 in six) |
//! | 2000 | 1000 | 2 | 1.29, 1.35 (of processor time, 1.39) |
//! | 2000 | 2000 | 9 | 1.32 |
//!
//! `cargo test --release -p ebbing --lib -- --ignored --nocapture steps_beside_faer` measures it.

#[cfg(target_arch = "x86_64")]
mod kernel;
#[cfg(target_arch = "x86_64")]
mod pack;
#[cfg(target_arch = "x86_64")]
mod tiles;

use super::threads;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Work on the entries of a piece of column `j` that starts at row `i`, called as `(i, j, entries)`.
pub(crate) type Touch<'a> = &'a (dyn Fn(usize, usize, &mut [f32]) + Sync);

/// A [`Touch`] that does nothing.
pub(crate) const LEAVE: Touch<'static> = &|_, _, _| ();

/// Below this many multiplications or entries, waking another thread costs more than it saves.
const WORTH: (usize, usize) = (1 << 20, 1 << 15);

/// Whether a test wants every product from faer.
#[cfg(test)]
static FROM_FAER: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// `C ← beta·C + alpha·A B`, with beta 0 or 1.
pub(crate) fn matmul_f32(c: MatMut<'_, f32>, beta: f32, alpha: f32, a: MatRef<'_, f32>, b: MatRef<'_, f32>) {
    matmul_f32_with(c, beta, alpha, a, b, LEAVE, LEAVE);
}

/// `C ← after(beta·before(C) + alpha·A B)`, with beta 0 or 1. Columns of C must be contiguous.
///
/// # Panics
/// If dimensions differ.
pub(crate) fn matmul_f32_with(
    c: MatMut<'_, f32>,
    beta: f32,
    alpha: f32,
    a: MatRef<'_, f32>,
    b: MatRef<'_, f32>,
    before: Touch<'_>,
    after: Touch<'_>,
) {
    assert!(c.nrows() == a.nrows() && c.ncols() == b.ncols() && a.ncols() == b.nrows(), "sizes of a product");
    assert!(beta == 0.0 || beta == 1.0, "beta is 0 or 1");
    let (m, n, k) = (c.nrows(), c.ncols(), a.ncols());
    if m == 0 || n == 0 || crate::stop::requested() {
        return;
    }
    let parallel = m * n * k >= WORTH.0 && !threads::alone();
    #[cfg(test)]
    if FROM_FAER.load(std::sync::atomic::Ordering::Relaxed) {
        return by_faer(c, beta, alpha, a, b, before, after, parallel);
    }
    #[cfg(target_arch = "x86_64")]
    if m > 1 && n > 1 && k > 0 && kernel::available() {
        return tiles::multiply(c, beta == 1.0, alpha, a, b, before, after, parallel);
    }
    by_faer(c, beta, alpha, a, b, before, after, parallel);
}

/// The same by faer, for vectors, which are bound by memory, and for other processors.
fn by_faer(
    mut c: MatMut<'_, f32>,
    beta: f32,
    alpha: f32,
    a: MatRef<'_, f32>,
    b: MatRef<'_, f32>,
    before: Touch<'_>,
    after: Touch<'_>,
    parallel: bool,
) {
    let n = c.ncols();
    let columns = if c.nrows() > 1 && n > 1 { n.div_ceil(super::SPLITS).max(32) } else { n };
    let work = |(index, mut c): (usize, MatMut<'_, f32>)| {
        let (start, width) = (index * columns, c.ncols());
        if beta == 1.0 {
            (0..width).for_each(|j| before(0, start + j, column_f32_mut(c.as_mut(), j)));
        }
        let accum = if beta == 0.0 { Accum::Replace } else { Accum::Add };
        faer::linalg::matmul::matmul(c.as_mut(), accum, a, b.subcols(start, width), alpha, Par::Seq);
        (0..width).for_each(|j| after(0, start + j, column_f32_mut(c.as_mut(), j)));
    };
    if parallel && columns < n {
        c.par_col_chunks_mut(columns).enumerate().for_each(work);
    } else {
        for start in (0..n).step_by(columns) {
            work((start / columns, c.as_mut().subcols_mut(start, columns.min(n - start))));
        }
    }
}

/// Column `j` of a matrix that stores columns contiguously.
pub(crate) fn column_f32<'a>(m: MatRef<'a, f32>, j: usize) -> &'a [f32] {
    m.col(j).try_as_col_major().expect("columns of an owned matrix are contiguous").as_slice()
}

/// Column `j` of a matrix that stores columns contiguously, to be written.
pub(crate) fn column_f32_mut<'a>(m: MatMut<'a, f32>, j: usize) -> &'a mut [f32] {
    m.col_mut(j).try_as_col_major_mut().expect("columns of an owned matrix are contiguous").as_slice_mut()
}

/// Calls `work` with the number and the entries of every column, in parallel where there is much of it.
pub(crate) fn for_columns(m: &mut Mat<f32>, work: impl Fn(usize, &mut [f32]) + Sync) {
    if m.nrows() * m.ncols() < WORTH.1 || threads::alone() {
        return (0..m.ncols()).for_each(|j| work(j, column_f32_mut(m.as_mut(), j)));
    }
    let columns = m.ncols().div_ceil(super::SPLITS);
    m.par_col_chunks_mut(columns).enumerate().for_each(|(index, mut part)| {
        (0..part.ncols()).for_each(|j| work(index * columns + j, column_f32_mut(part.as_mut(), j)));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn draw(rows: usize, cols: usize, stream: &mut Stream) -> Mat<f32> {
        Mat::from_fn(rows, cols, |_, _| stream.normal() as f32)
    }

    /// Every shape of edge and every way the operands can lie in memory, against sums in double precision.
    #[test]
    fn products_of_all_shapes_and_layouts() {
        let mut s = Stream::new(1, "single products", 0);
        for (m, n, k) in
            [(1, 1, 1), (2, 2, 1), (16, 6, 8), (17, 7, 9), (5, 3, 300), (40, 1, 30), (1, 40, 30), (200, 400, 2100)]
        {
            for layout in 0..4 {
                let turned = [layout & 1 == 1, layout & 2 == 2];
                let a = if turned[0] { draw(k, m, &mut s) } else { draw(m, k, &mut s) };
                let b = if turned[1] { draw(n, k, &mut s) } else { draw(k, n, &mut s) };
                let a = if turned[0] { a.transpose() } else { a.as_ref() };
                let b = if turned[1] { b.transpose() } else { b.as_ref() };
                let start = draw(m, n, &mut s);
                let mut c = [start.clone(), start.clone(), start.clone()];
                matmul_f32(c[0].as_mut(), 0.0, 0.5, a, b);
                let halve: Touch<'_> = &|_, _, c| c.iter_mut().for_each(|c| *c *= 0.5);
                let add: Touch<'_> = &|i, j, c| (0..c.len()).for_each(|q| c[q] += start[(i + q, j)]);
                matmul_f32_with(c[1].as_mut(), 1.0, 0.5, a, b, halve, add);
                by_faer(c[2].as_mut(), 1.0, 0.5, a, b, halve, add, true);
                for (i, j) in [(0, 0), (m - 1, n - 1), (m / 2, n - 1), (m - 1, n / 2), (m / 3, n / 3)] {
                    let terms = |q: usize| 0.5 * f64::from(a[(i, q)]) * f64::from(b[(q, j)]);
                    let want: f64 = (0..k).map(terms).sum();
                    let size: f64 = (0..k).map(|q| terms(q).abs()).sum();
                    // Half a unit in the last place for each of k sums, which add up like a random walk, and for the touches.
                    let start = 1.5 * f64::from(start[(i, j)]);
                    let tolerance = 6e-8 * (size + 2.0 * start.abs()) * (2.0 + (k as f64).sqrt().min(8.0));
                    assert!((f64::from(c[0][(i, j)]) - want).abs() < tolerance, "{m} {n} {k} {layout} ({i}, {j})");
                    let want = want + start;
                    for c in &c[1..] {
                        assert!((f64::from(c[(i, j)]) - want).abs() < tolerance, "{m} {n} {k} {layout} ({i}, {j})");
                    }
                }
            }
        }
    }

    /// The number of threads leaves the bits of products and of work on columns alone.
    #[test]
    fn bits_do_not_depend_on_threads() {
        let mut s = Stream::new(2, "single products", 0);
        let (a, b) = (draw(150, 700, &mut s), draw(700, 130, &mut s));
        let run = || {
            let mut c = Mat::zeros(150, 130);
            matmul_f32(c.as_mut(), 0.0, 1.3, a.as_ref(), b.as_ref());
            let mut a = a.clone();
            for_columns(&mut a, |j, a| a.iter_mut().for_each(|a| *a = *a * j as f32 + 0.1));
            (c, a)
        };
        let one = crate::linalg::on_one_thread(run);
        for threads in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(run), one);
        }
    }

    /// Prints how many times as fast whole gradient steps are as with faer's products, on the benchmark's three networks:
    /// both in turns within one training run, 20 stretches each.
    #[test]
    #[ignore = "a measurement of some minutes"]
    fn steps_beside_faer() {
        use crate::nets::TrainSettings;
        use std::{sync::atomic::Ordering::Relaxed, time::Instant};
        for [p, n0, width, depth] in [[600, 784, 400, 1], [2000, 784, 1000, 2], [2000, 784, 2000, 9]] {
            let mut s = Stream::new(1, "step bench", 0);
            let mut normal = |cols| Mat::from_fn(p, cols, |_, _| s.normal());
            let task = crate::Task {
                name: "bench".into(),
                x: normal(n0),
                y: normal(1),
                rows: None,
                test: None,
                present: None,
            };
            let architecture = crate::kernels::Architecture { activation: crate::kernels::Activation::Relu, depth };
            let (eta, max_steps) = (Some(1e-7), usize::MAX);
            let settings =
                TrainSettings { architecture, width, eta, max_steps, threshold: 1e-30, ..Default::default() };
            let (mut seconds, mut last) = ([vec![], vec![]], (0, Instant::now()));
            let ended =
                crate::Trainer::new(&[task], &settings, &crate::Context::default()).unwrap().learn_next(&mut |at| {
                    let (faer, (step, since)) = (FROM_FAER.load(Relaxed), last);
                    // The first steps warm caches up.
                    if step > 2 {
                        seconds[usize::from(faer)].push(since.elapsed().as_secs_f64() / (at.step - step) as f64);
                    }
                    FROM_FAER.store(!faer, Relaxed);
                    last = (at.step, Instant::now());
                    seconds.iter().any(|side| side.len() < 20)
                });
            FROM_FAER.store(false, Relaxed);
            assert!(matches!(ended, Err(crate::Error::Stopped)), "{ended:?}");
            seconds.iter_mut().for_each(|side| side.sort_by(f64::total_cmp));
            let [best, median] = [|side: &Vec<f64>| side[0], |side: &Vec<f64>| side[side.len() / 2]]
                .map(|of| of(&seconds[1]) / of(&seconds[0]));
            println!("P = {p}, N = {width}, L = {depth}: {median:.2} by medians, {best:.2} by the best");
        }
    }
}
