//! Gram matrices: one matrix product, then one univariate function per entry while a tile is in cache.

use super::kernel::Kernel;
use super::layers::Angle;
use super::profile::Profile;
use super::rows::Rows;
use super::simd;
use super::table::NEAREST;
use crate::linalg::{Mat, MatMut, MatRef, column_slice, column_slice_mut, matmul_block, upper_block};
use crate::stop;
use rayon::prelude::*;

/// Rows and columns of a tile: its product, cosines and values stay in the second-level cache, and a matrix of moderate
/// size still has tiles for several threads. The partition, and with it every bit of the result, depends on the shape and the
/// processor alone. Multiples of 24 leave the product no narrow strips, which its inner loop of 12 × 4 entries is slow on.
fn tile_size(rows: usize, columns: usize) -> usize {
    rows.max(columns).div_ceil(4).next_multiple_of(24).clamp(72, largest_tile())
}

/// Processors with AVX-512 have a second-level cache of 1 MB or more, and copy operands less often in larger tiles: 2000 × 2000
/// entries of 784 terms took 6 % less processor time than with tiles of 240.
fn largest_tile() -> usize {
    #[cfg(target_arch = "x86_64")]
    if super::roots::available() {
        return 336;
    }
    240
}

/// An entry of a tile whose angle is so close to 0 or π that its rounded cosine does not determine it.
struct Near {
    i: usize,
    j: usize,
    angle: Angle,
}

/// A tile of every kernel's matrix.
struct Tile<'a> {
    /// Its first row and column.
    i: usize,
    j: usize,
    out: Vec<MatMut<'a, f64>>,
    /// The mirror images below the diagonal of symmetric matrices.
    mirror: Vec<MatMut<'a, f64>>,
}

/// `K_ij = k(x_i, x'_j)` of each kernel.
pub(super) fn rectangular(kernels: &[&Kernel], x: &Rows<'_>, x2: &Rows<'_>) -> Vec<Mat<f64>> {
    let size = tile_size(x.len(), x2.len());
    let mut results: Vec<_> = kernels.iter().map(|_| Mat::zeros(x.len(), x2.len())).collect();
    let mut tiles: Vec<Tile<'_>> = vec![];
    for result in &mut results {
        for (n, (i, j, out)) in cut(result, size).into_iter().enumerate() {
            if n == tiles.len() {
                tiles.push(Tile { i, j, out: vec![], mirror: vec![] });
            }
            tiles[n].out.push(out);
        }
    }
    fill(kernels, x, x2, size, tiles, false);
    results
}

/// `K_ij = k(x_i, x_j)` of each kernel: tiles on and above the diagonal, then their mirror images.
pub(super) fn symmetric(kernels: &[&Kernel], x: &Rows<'_>) -> Vec<Mat<f64>> {
    let size = tile_size(x.len(), x.len());
    let mut results: Vec<_> = kernels.iter().map(|_| Mat::zeros(x.len(), x.len())).collect();
    let mut tiles: Vec<Tile<'_>> = vec![];
    for j in (0..x.len()).step_by(size) {
        for i in (0..=j).step_by(size) {
            tiles.push(Tile { i, j, out: vec![], mirror: vec![] });
        }
    }
    for result in &mut results {
        for (i, j, out) in cut(result, size) {
            let (low, high) = (i.min(j) / size, i.max(j) / size);
            let tile = &mut tiles[high * (high + 1) / 2 + low];
            if i > j { &mut tile.mirror } else { &mut tile.out }.push(out);
        }
    }
    fill(kernels, x, x, size, tiles, true);
    for result in &mut results {
        mirror_diagonal_tiles(result, size);
    }
    results
}

/// The tiles of a matrix with their first rows and columns.
fn cut(m: &mut Mat<f64>, size: usize) -> Vec<(usize, usize, MatMut<'_, f64>)> {
    let mut tiles = vec![];
    let mut right = m.as_mut();
    let mut j = 0;
    while right.ncols() > 0 {
        let width = right.ncols().min(size);
        let (mut column, rest) = right.split_at_col_mut(width);
        right = rest;
        let mut i = 0;
        while column.nrows() > 0 {
            let height = column.nrows().min(size);
            let (tile, below) = column.split_at_row_mut(height);
            column = below;
            tiles.push((i, j, tile));
            i += size;
        }
        j += size;
    }
    tiles
}

/// Computes every tile, in parallel; leaves the rest undone if a stop is requested.
fn fill(kernels: &[&Kernel], x: &Rows<'_>, x2: &Rows<'_>, size: usize, tiles: Vec<Tile<'_>>, symmetric: bool) {
    let profiles: Vec<_> = kernels.iter().map(|k| Profile::new(k, x, x2)).collect();
    let scratch = || Mat::<f64>::zeros(size.min(x.len()), size.min(x2.len()));
    tiles.into_par_iter().for_each_init(scratch, |scratch, mut tile| {
        if stop::requested() {
            return;
        }
        let (h, w) = (size.min(x.len() - tile.i), size.min(x2.len() - tile.j));
        let mut cos = scratch.as_mut().submatrix_mut(0, 0, h, w);
        let (a, b) = (x.matrix.subrows(tile.i, h), x2.matrix.subrows(tile.j, w));
        // Of a tile on the diagonal of a symmetric matrix the upper half is enough.
        let half = symmetric && tile.i == tile.j;
        if half {
            upper_block(cos.as_mut(), a, b.transpose());
        } else {
            matmul_block(cos.as_mut(), a, b.transpose());
        }
        let rows = |j: usize| if half { j + 1 } else { h };
        let near = cosines(cos.as_mut(), rows, x, tile.i, x2, tile.j);
        for (k, profile) in profiles.iter().enumerate() {
            let out = &mut tile.out[k];
            for j in (0..w).take_while(|_| !stop::requested()) {
                let column = &mut column_slice_mut(out.as_mut(), j)[..rows(j)];
                profile.apply(&column_slice(cos.as_ref(), j)[..rows(j)], x, tile.i, x2, tile.j + j, column);
            }
            for entry in &near {
                let (v, v2) = (x.v[tile.i + entry.i], x2.v[tile.j + entry.j]);
                out[(entry.i, entry.j)] = kernels[k].value(entry.angle, v, v2);
            }
            if let Some(mirror) = tile.mirror.get_mut(k) {
                transpose(out.as_ref(), mirror.as_mut());
            }
        }
    });
}

/// Turns a tile of dot products, the first `rows(j)` of each column, into cosines; returns the entries that are nearly ±1, with their
/// accurate angles.
fn cosines(
    mut dots: MatMut<'_, f64>,
    rows: impl Fn(usize) -> usize,
    x: &Rows<'_>,
    i0: usize,
    x2: &Rows<'_>,
    j0: usize,
) -> Vec<Near> {
    let w = dots.ncols();
    let mut places = vec![];
    for j in 0..w {
        let h = rows(j);
        let column = &mut column_slice_mut(dots.as_mut(), j)[..h];
        if simd::cosines(column, &x.inverse[i0..i0 + h], x2.inverse[j0 + j]) {
            places.extend((0..h).filter(|&i| column[i].abs() > 1.0 - NEAREST).map(|i| (i, j, column[i].signum())));
        }
    }
    // Σ_k (x̂_k ∓ x̂'_k)², one feature after another, so that memory is read in order.
    let mut sums = vec![0.0; places.len()];
    let features = if places.is_empty() { 0 } else { x.matrix.ncols() };
    for k in 0..features {
        let (a, b) = (column_slice(x.matrix, k), column_slice(x2.matrix, k));
        for (sum, &(i, j, sign)) in sums.iter_mut().zip(&places) {
            let d = a[i0 + i] * x.inverse[i0 + i] - sign * (b[j0 + j] * x2.inverse[j0 + j]);
            *sum += d * d;
        }
    }
    places.iter().zip(sums).map(|(&(i, j, sign), sum)| Near { i, j, angle: Angle::near(0.5 * sum, sign) }).collect()
}

/// `B = Aᵀ`, a cache line of B at a time.
fn transpose(a: MatRef<'_, f64>, mut b: MatMut<'_, f64>) {
    const LINE: usize = 8;
    let whole = a.ncols() - a.ncols() % LINE;
    for block in (0..whole).step_by(LINE) {
        let columns: [&[f64]; LINE] = std::array::from_fn(|k| column_slice(a, block + k));
        for i in 0..a.nrows() {
            let line: [f64; LINE] = std::array::from_fn(|k| columns[k][i]);
            column_slice_mut(b.as_mut(), i)[block..block + LINE].copy_from_slice(&line);
        }
    }
    for j in whole..a.ncols() {
        for (i, v) in column_slice(a, j).iter().enumerate() {
            b[(j, i)] = *v;
        }
    }
}

/// Copies the upper half of each tile on the diagonal to its lower half.
fn mirror_diagonal_tiles(m: &mut Mat<f64>, size: usize) {
    for j in 0..m.ncols() {
        for i in j + 1..m.nrows().min((j / size + 1) * size) {
            m[(i, j)] = m[(j, i)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Activation, Architecture, KernelKind, WeightPrior};
    use crate::rng::Stream;

    fn inputs(rows: usize, features: usize, index: u64) -> Mat<f64> {
        let mut stream = Stream::new(11, "gram test", index);
        Mat::from_fn(rows, features, |_, _| stream.normal())
    }

    fn kernel(activation: Activation, kind: KernelKind, depth: usize, lambda: f64, t: usize, s: usize) -> Kernel {
        let prior = WeightPrior::new(lambda, 1.3).unwrap();
        Kernel::new(kind, Architecture { activation, depth }, prior, t, s).unwrap()
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let (x, x2) = (inputs(301, 40, 0), inputs(190, 40, 1));
        let tilde = kernel(Activation::Relu, KernelKind::KTilde, 3, 10.0, 3, 2);
        let erf = kernel(Activation::Erf, KernelKind::Nngp, 2, 1.0, 1, 1);
        let compute = || {
            let mut all = Kernel::gram_many(&[&tilde, &erf], x.as_ref(), x2.as_ref()).unwrap();
            all.extend(Kernel::gram_many_symmetric(&[&tilde, &erf], x.as_ref()).unwrap());
            all
        };
        let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        let one = pool(1).install(compute);
        for threads in [2, 5] {
            for (a, b) in one.iter().zip(pool(threads).install(compute)) {
                assert!(a.col_iter().zip(b.col_iter()).all(|(a, b)| a.iter().zip(b.iter()).all(|(a, b)| a == b)));
            }
        }
    }

    #[test]
    fn symmetric_matrices_are_symmetric_to_the_bit_and_equal_rectangular_ones() {
        for n in [1, 2, 63, 64, 65, 257, 300] {
            let x = inputs(n, 7, n as u64);
            for activation in [Activation::Relu, Activation::Erf] {
                let k = kernel(activation, KernelKind::KTilde, 2, 5.0, 2, 2);
                let (half, full) = (k.gram_symmetric(x.as_ref()).unwrap(), k.gram(x.as_ref(), x.as_ref()).unwrap());
                let diagonal = k.diagonal(x.as_ref()).unwrap();
                for j in 0..n {
                    assert_eq!(half[(j, j)], diagonal[j]);
                    assert_eq!(full[(j, j)], diagonal[j]);
                    for i in 0..n {
                        assert_eq!(half[(i, j)], half[(j, i)]);
                        // Rounding of the cosine, magnified by the slope of K̃ (below 10 here).
                        let scale = (diagonal[i] * diagonal[j]).sqrt();
                        assert!((half[(i, j)] - full[(i, j)]).abs() <= 1e-14 * scale);
                    }
                }
            }
        }
    }

    #[test]
    fn rows_far_apart_in_memory_order_do_not_matter() {
        let x = inputs(70, 12, 0);
        let turned = x.transpose().to_owned();
        let k = kernel(Activation::Relu, KernelKind::Ntk, 2, 1.0, 1, 1);
        let (a, b) = (k.gram_symmetric(x.as_ref()).unwrap(), k.gram_symmetric(turned.transpose()).unwrap());
        assert_eq!(a, b);
    }
}
