//! `K_GP` and `K_NTK` between sets of inputs in single precision, for what is said of trained networks: a product of unit vectors,
//! and a tabulated function of each entry while a tile is in the cache.
//!
//! Entries are right to a few `10^{-7}` of `√(k(x,x) k(x',x'))`. The tangent kernel has a kink at the angles 0 and π, where a
//! rounded cosine leaves `10^{-4}`: entries close to them are computed in double precision.

mod simd;
mod table;

use super::KernelKind;
use super::kernel::Kernel;
use super::layers::Angle;
use super::rows;
use crate::error::Result;
use crate::linalg::{Mat, MatMut, MatRef, column_f32, column_f32_mut, matmul_block_f32};
use crate::stop;
use rayon::prelude::*;
use table::Table;

/// `1 − |cos|` below which an entry of a tangent kernel is computed in double precision.
const CLOSE: f32 = 1.0 / 1024.0;

/// Rows and columns of a tile, from the shape alone.
fn tile_size(rows: usize, columns: usize) -> usize {
    rows.max(columns).div_ceil(4).next_multiple_of(48).clamp(96, 384)
}

/// Inputs of unit length, one per row.
#[derive(Debug, Clone)]
pub(crate) struct SingleRows {
    unit: Mat<f32>,
    /// `|x|/√N0`.
    root: Vec<f32>,
}

impl SingleRows {
    /// The rows of `x`; `what` names them in error messages. Norms beyond single precision end as infinite or 0.
    ///
    /// # Errors
    /// [`Error::Data`](crate::Error::Data) that names a row without a usable norm.
    pub fn new(x: MatRef<'_, f64>, what: &str) -> Result<SingleRows> {
        let mut squares = vec![0.0; x.nrows()];
        for k in 0..x.ncols() {
            squares.iter_mut().zip(x.col(k).iter()).for_each(|(sum, a)| *sum += a * a);
        }
        for (i, &square) in squares.iter().enumerate() {
            rows::check(square, false, || format!("{what}, row {}", i + 1))?;
        }
        let inverse: Vec<f64> = squares.iter().map(|&s| rows::inverse(s)).collect();
        let mut unit = Mat::<f32>::zeros(x.nrows(), x.ncols());
        for k in 0..x.ncols() {
            let entries = unit.col_as_slice_mut(k).iter_mut().zip(x.col(k).iter()).zip(&inverse);
            entries.for_each(|((to, from), inverse)| *to = (from * inverse) as f32);
        }
        let root = squares.iter().map(|s| (s / x.ncols() as f64).sqrt() as f32).collect();
        Ok(SingleRows { unit, root })
    }

    pub fn len(&self) -> usize {
        self.root.len()
    }
}

/// A kernel prepared for single precision.
#[derive(Debug, Clone)]
pub(crate) struct SingleKernel {
    kernel: Kernel,
    scale: f64,
    table: Table,
}

impl SingleKernel {
    /// A multiple of a kernel; none of kernels that are not norms times a function of the angle alone, or of too steep a one.
    pub fn new(kernel: &Kernel, scale: f64) -> Option<SingleKernel> {
        if !kernel.is_homogeneous() || !matches!(kernel.kind(), KernelKind::Nngp | KernelKind::Ntk) {
            return None;
        }
        let table = Table::build(|angle| scale * kernel.value(angle, 1.0, 1.0))?;
        Some(SingleKernel { kernel: kernel.clone(), scale, table })
    }

    /// Whether close pairs are computed in double precision.
    fn has_kink(&self) -> bool {
        self.kernel.kind() == KernelKind::Ntk
    }

    /// The share of pairs of some of these rows that would be computed in double precision.
    pub fn share_close(&self, rows: &[&SingleRows]) -> f64 {
        /// Rows that are looked at.
        const SOME: usize = 256;
        if !self.has_kink() {
            return 0.0;
        }
        let all: Vec<(usize, usize)> = (0..rows.len()).flat_map(|s| (0..rows[s].len()).map(move |i| (s, i))).collect();
        let step = all.len().div_ceil(SOME).max(1);
        let some: Vec<&(usize, usize)> = all.iter().step_by(step).collect();
        let x = Mat::from_fn(some.len(), rows[0].unit.ncols(), |i, k| rows[some[i].0].unit[(some[i].1, k)]);
        let mut cos = Mat::<f32>::zeros(some.len(), some.len());
        matmul_block_f32(cos.as_mut(), x.as_ref(), x.transpose());
        let close = (0..some.len()).map(|j| (0..j).filter(|&i| cos[(i, j)].abs() > 1.0 - CLOSE).count()).sum::<usize>();
        close as f64 / (some.len() * (some.len() - 1) / 2).max(1) as f64
    }

    /// `K_ij = k(x_i, x'_j)`.
    pub fn gram(&self, x: &SingleRows, x2: &SingleRows) -> Mat<f32> {
        let size = tile_size(x.len(), x2.len());
        let mut k = Mat::<f32>::zeros(x.len(), x2.len());
        let tiles: Vec<Tile<'_>> = cut(&mut k, size).into_iter().map(|(i, j, out)| Tile { i, j, out }).collect();
        self.fill((x, x2), size, tiles);
        k
    }

    /// `K_ij = k(x_i, x_j)`: tiles on and above the diagonal, and then below it their mirror images.
    pub fn gram_symmetric(&self, x: &SingleRows) -> Mat<f32> {
        let size = tile_size(x.len(), x.len());
        let mut k = Mat::<f32>::zeros(x.len(), x.len());
        let upper = cut(&mut k, size).into_iter().filter(|(i, j, _)| i <= j);
        let tiles: Vec<Tile<'_>> = upper.map(|(i, j, out)| Tile { i, j, out }).collect();
        self.fill((x, x), size, tiles);
        mirror(&mut k);
        k
    }

    fn fill(&self, (x, x2): (&SingleRows, &SingleRows), size: usize, tiles: Vec<Tile<'_>>) {
        let scratch = || Mat::<f32>::zeros(size.min(x.len()), size.min(x2.len()));
        tiles.into_par_iter().with_max_len(1).for_each_init(scratch, |scratch, mut tile| {
            if stop::requested() {
                return;
            }
            let (h, w) = (tile.out.nrows(), tile.out.ncols());
            let mut cos = scratch.as_mut().submatrix_mut(0, 0, h, w);
            let (a, b) = (x.unit.as_ref().subrows(tile.i, h), x2.unit.as_ref().subrows(tile.j, w));
            matmul_block_f32(cos.as_mut(), a, b.transpose());
            for j in 0..w {
                let (cos, out) = (column_f32(cos.as_ref(), j), column_f32_mut(tile.out.as_mut(), j));
                let (rows, q) = (&x.root[tile.i..tile.i + h], x2.root[tile.j + j]);
                simd::apply(&self.table, cos, rows, q, out);
                if self.has_kink() && cos.iter().any(|c| c.abs() > 1.0 - CLOSE) {
                    self.close((x, x2), (tile.i, tile.j + j), cos, out);
                }
            }
        });
    }

    /// The entries of a column at which a kink is close.
    fn close(&self, (x, x2): (&SingleRows, &SingleRows), (i0, j): (usize, usize), cos: &[f32], out: &mut [f32]) {
        for (i, (c, out)) in cos.iter().zip(out).enumerate().filter(|(_, (c, _))| c.abs() > 1.0 - CLOSE) {
            let sign = f64::from(c.signum());
            let (mut distance, mut norms) = (0.0, [0.0; 2]);
            for k in 0..x.unit.ncols() {
                let (a, b) = (f64::from(x.unit[(i0 + i, k)]), f64::from(x2.unit[(j, k)]));
                distance += (a - sign * b) * (a - sign * b);
                norms[0] += a * a;
                norms[1] += b * b;
            }
            // Unit vectors that were rounded are not of unit length.
            let (n, n2) = (norms[0].sqrt(), norms[1].sqrt());
            let distance = (distance - (n - n2) * (n - n2)).max(0.0) / (n * n2);
            let value = self.scale * self.kernel.value(Angle::near(0.5 * distance, sign), 1.0, 1.0);
            *out = (f64::from(x.root[i0 + i]) * f64::from(x2.root[j]) * value) as f32;
        }
    }
}

/// A tile, and its first row and column.
struct Tile<'a> {
    i: usize,
    j: usize,
    out: MatMut<'a, f32>,
}

/// The tiles of a matrix with their first rows and columns.
fn cut(m: &mut Mat<f32>, size: usize) -> Vec<(usize, usize, MatMut<'_, f32>)> {
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

/// Copies what is above the diagonal below it, a square at a time.
fn mirror(m: &mut Mat<f32>) {
    const BLOCK: usize = 64;
    let n = m.nrows();
    for first in (0..n).step_by(BLOCK) {
        // Columns `first …` below the diagonal are rows `first …` right of it, which later columns hold.
        let (own, later) = m.as_mut().split_at_col_mut((first + BLOCK).min(n));
        let (later, width) = (later.as_ref(), (first + BLOCK).min(n) - first);
        let mut own = own.subcols_mut(first, width);
        for j in 0..width {
            for i in j + 1..width {
                own[(first + i, j)] = own[(first + j, i)];
            }
        }
        own.subrows_mut(first + width, n - first - width).par_row_chunks_mut(BLOCK).enumerate().for_each(
            |(chunk, mut below)| {
                let from = later.subcols(chunk * BLOCK, below.nrows());
                for i in 0..below.nrows() {
                    let row = &column_f32(from, i)[first..first + width];
                    for (j, v) in row.iter().enumerate() {
                        below[(i, j)] = *v;
                    }
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Activation, Architecture, WeightPrior};
    use crate::rng::Stream;

    fn kernel(kind: KernelKind, depth: usize) -> Kernel {
        let architecture = Architecture { activation: Activation::Relu, depth };
        Kernel::new(kind, architecture, WeightPrior::new(f64::INFINITY, 1.0).unwrap(), 1, 1).unwrap()
    }

    /// Rows of different norms, among them equal, nearly equal and opposite ones.
    fn inputs(rows: usize, features: usize) -> Mat<f64> {
        let mut stream = Stream::new(3, "single kernels", rows as u64);
        let mut x = Mat::from_fn(rows, features, |i, _| stream.normal() * (1.0 + i as f64 / rows as f64));
        for k in 0..features {
            let noise = 1e-3 * stream.normal();
            for (i, from, factor, noise) in
                [(1, 0, 1.0, 0.0), (2, 0, 1.0, noise), (3, 0, -0.5, 0.0), (4, 0, -2.0, noise)]
            {
                x[(i, k)] = factor * x[(from, k)] + noise;
            }
        }
        x
    }

    #[test]
    fn they_are_those_of_double_precision() {
        for (n, n2, features) in [(60, 33, 20), (500, 401, 100)] {
            let (x, x2) = (inputs(n, features), inputs(n2, features));
            let (rows, rows2) = (SingleRows::new(x.as_ref(), "x").unwrap(), SingleRows::new(x2.as_ref(), "x").unwrap());
            for (kind, depth) in
                [(KernelKind::Nngp, 1), (KernelKind::Nngp, 5), (KernelKind::Ntk, 1), (KernelKind::Ntk, 4)]
            {
                let kernel = kernel(kind, depth);
                let single = SingleKernel::new(&kernel, 1.0).unwrap();
                let (between, own) = (single.gram(&rows, &rows2), single.gram_symmetric(&rows));
                let (between64, own64) =
                    (kernel.gram(x.as_ref(), x2.as_ref()).unwrap(), kernel.gram_symmetric(x.as_ref()).unwrap());
                let diagonals = [&x, &x2].map(|x| kernel.diagonal(x.as_ref()).unwrap());
                // Rounding of unit vectors and of cosines, and of the tangent kernel's root at an angle not quite 0.
                let bound = if kind == KernelKind::Ntk { 2e-5 * depth as f64 } else { 1e-6 };
                for j in 0..n2 {
                    for i in 0..n {
                        let scale = (diagonals[0][i] * diagonals[1][j]).sqrt();
                        let gap = (f64::from(between[(i, j)]) - between64[(i, j)]).abs() / scale;
                        assert!(gap <= bound, "{kind:?} {depth} {i} {j}: {gap:e}");
                    }
                }
                for j in 0..n {
                    for i in 0..n {
                        assert_eq!(own[(i, j)], own[(j, i)]);
                        let scale = (diagonals[0][i] * diagonals[0][j]).sqrt();
                        let gap = (f64::from(own[(i, j)]) - own64[(i, j)]).abs() / scale;
                        assert!(gap <= bound, "{kind:?} {depth} {i} {j}: {gap:e}");
                    }
                }
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let [x, x2] = [301, 190].map(|n| SingleRows::new(inputs(n, 40).as_ref(), "x").unwrap());
        let single = SingleKernel::new(&kernel(KernelKind::Ntk, 2), 1.0).unwrap();
        let compute = || (single.gram(&x, &x2), single.gram_symmetric(&x));
        let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        assert_eq!(pool(1).install(compute), pool(3).install(compute));
    }

    #[test]
    fn kernels_that_need_more_than_an_angle_are_refused() {
        let prior = WeightPrior::new(f64::INFINITY, 1.0).unwrap();
        let erf = Architecture { activation: Activation::Erf, depth: 1 };
        assert!(SingleKernel::new(&Kernel::new(KernelKind::Nngp, erf, prior, 1, 1).unwrap(), 1.0).is_none());
        let relu = Architecture { activation: Activation::Relu, depth: 1 };
        let biased = prior.with_bias(0.5).unwrap();
        assert!(SingleKernel::new(&Kernel::new(KernelKind::Nngp, relu, biased, 1, 1).unwrap(), 1.0).is_none());
    }
}
