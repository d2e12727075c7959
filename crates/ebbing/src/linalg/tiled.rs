//! `A ≈ L Lᵀ` in single precision, the lower half in square tiles: half of the memory of a matrix of half the size, for
//! kernels of which nothing larger fits.
//!
//! ```math
//! L_{jj}L_{jj}^{\mathsf T} = A_{jj} - \sum_{k<j} L_{jk}L_{jk}^{\mathsf T}, \qquad
//! L_{ij} = \Bigl(A_{ij} - \sum_{k<j} L_{ik}L_{jk}^{\mathsf T}\Bigr)L_{jj}^{-\mathsf T}
//! ```
//!
//! What is factored is `D A D` with powers of two D that bring its diagonal into [1, 4): single precision ends at 3e38 and
//! 1e-38, where kernels do not. Such a scaling changes no digit; solves undo it.
//!
//! One block column after another: a column of A is needed only while its own column of L is made, so that finished
//! columns can be saved and a run can resume after the last of them. Solves read the tiles in single and compute in
//! double precision: `(L Lᵀ)^{-1}` is then linear to rounding, as an iteration that uses it to precondition assumes.
//!
//! If a pivot is not positive in single precision, a multiple of the identity is added to that diagonal block and the
//! ones after it. The factor is then that of a nearby matrix; [`TiledCholesky::shift`] returns the multiple.

use super::single::matmul_f32;
use super::threads::{alone, on_one_thread};
use super::{Mat, MatMut, MatRef, SPLITS};
use crate::error::{Error, Result};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, Par, Spec};
use rayon::prelude::*;
use std::sync::Arc;

/// Rows of a tile, at most: tiles for all threads, and of few enough bytes.
const LARGEST_TILE: usize = 1920;
/// Tiles are cut in multiples of the kernels' own.
const TILE_UNIT: usize = 240;
/// Random probes of the trace of a product of inverses: of γ with P examples the standard error is about `(γ/(16 P))^{1/2}`.
pub(crate) const PROBES: usize = 32;
/// Columns of a tile that are turned into double precision at a time: with 2000 rows, they stay in the cache.
const STRIP: usize = 96;
/// The first shift that is tried, relative to the largest entry on the diagonal; each next one is ten times as large.
const FIRST_SHIFT: f64 = 1e-6;
/// Shifts that are tried: the last one is as large as that entry.
const SHIFTS: usize = 7;

/// The tiles of a block column, from the diagonal down; shared, so that they can be written while others are made.
pub(crate) type Column = Arc<Vec<Mat<f32>>>;

/// The lower half of a factor in tiles.
#[derive(Debug, Clone)]
pub(crate) struct TiledCholesky {
    size: usize,
    block: usize,
    /// `columns[j][i − j]` is tile ij of `D L`.
    columns: Vec<Column>,
    shift: f64,
    /// D.
    scale: Vec<f64>,
}

impl TiledCholesky {
    /// Rows of a tile of matrices of at most so many rows.
    pub fn tile_rows(largest: usize) -> usize {
        largest.div_ceil(8).next_multiple_of(TILE_UNIT).min(LARGEST_TILE)
    }

    /// Bytes of the tiles of a factor of so many rows.
    pub fn bytes(rows: f64, tile: f64) -> f64 {
        2.0 * rows * (rows + tile)
    }

    /// A factor in tiles of `block`, of which no column is there yet, of a matrix with this diagonal.
    ///
    /// # Errors
    /// [`Error::Data`] for a diagonal that is not positive and finite.
    pub fn begin(diagonal: &[f64], block: usize) -> Result<TiledCholesky> {
        let scale = diagonal.iter().enumerate().map(|(i, &d)| power_of_two(i, d)).collect::<Result<Vec<f64>>>()?;
        Ok(TiledCholesky { size: diagonal.len(), block, columns: vec![], shift: 0.0, scale })
    }

    /// The number of rows.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The number of block columns in all.
    pub fn blocks(&self) -> usize {
        self.size.div_ceil(self.block)
    }

    /// The number of block columns that are there.
    pub fn done(&self) -> usize {
        self.columns.len()
    }

    /// What was added to the diagonal of `D A D` where pivots were not positive.
    pub fn shift(&self) -> f64 {
        self.shift
    }

    /// The tiles of block column j, from the diagonal down.
    pub fn column(&self, j: usize) -> Column {
        self.columns[j].clone()
    }

    /// Takes a finished block column back in.
    pub fn restore(&mut self, column: Vec<Mat<f32>>, shift: f64) {
        self.columns.push(Arc::new(column));
        self.shift = self.shift.max(shift);
    }

    /// A tile of A as the factor takes it, its first row and column those of A given; `ridge` goes onto a diagonal one.
    pub fn tile(&self, (row, column): (usize, usize), a: &Mat<f64>, ridge: f64) -> Mat<f32> {
        let mut tile = Mat::<f32>::zeros(a.nrows(), a.ncols());
        let rows = &self.scale[row..row + a.nrows()];
        for (j, own) in self.scale[column..column + a.ncols()].iter().enumerate() {
            let entries = tile.col_as_slice_mut(j).iter_mut().zip(a.col_as_slice(j)).zip(rows);
            entries.for_each(|((to, from), other)| *to = (from * own * other) as f32);
            if ridge > 0.0 {
                tile[(j, j)] = ((a[(j, j)] + ridge) * own * own) as f32;
            }
        }
        tile
    }

    /// Makes the next block column of L from its [`tile`](Self::tile)s, from the diagonal down.
    ///
    /// # Errors
    /// [`Error::Data`] for a matrix that no shift of the size of its diagonal makes positive definite.
    pub fn extend(&mut self, mut column: Vec<Mat<f32>>) -> Result<()> {
        let j = self.columns.len();
        let largest = (0..column[0].nrows()).map(|i| f64::from(column[0][(i, i)])).fold(0.0, f64::max);
        let update = |(below, tile): (usize, &mut Mat<f32>)| {
            for k in 0..j {
                let (a, b) = (&self.columns[k][j + below - k], &self.columns[k][j - k]);
                matmul_f32(tile.as_mut(), 1.0, -1.0, a.as_ref(), b.transpose());
            }
        };
        each_tile(&mut column, &update);
        let (top, below) = column.split_at_mut(1);
        self.shift = factor_diagonal(&mut top[0], self.shift, largest)?;
        let l = top[0].as_ref();
        let solve = |(_, tile): (usize, &mut Mat<f32>)| {
            if crate::stop::requested() {
                return;
            }
            solve_lower_triangular_in_place(l, tile.as_mut().transpose_mut(), par());
        };
        each_tile(below, &solve);
        crate::stop::check()?;
        self.columns.push(Arc::new(column));
        Ok(())
    }

    /// `B ← L^{-1} B`.
    pub fn half_solve(&self, mut b: MatMut<'_, f64>) {
        self.scale_rows(b.as_mut(), |d| d);
        for (j, column) in self.columns.iter().enumerate().take_while(|_| !crate::stop::requested()) {
            let (_, rest) = b.as_mut().split_at_row_mut(j * self.block);
            let (mut own, below) = rest.split_at_row_mut(column[0].nrows());
            let l = double(&column[0]);
            solve_lower_triangular_in_place(l.as_ref(), own.as_mut(), Par::rayon(SPLITS));
            let own = own.as_ref();
            below.par_row_chunks_mut(self.block).enumerate().for_each_init(
                || self.strip(),
                |strip, (i, mut part)| {
                    strips(&column[1 + i], strip, |first, l| {
                        matmul(part.as_mut(), Accum::Add, l, own.subrows(first, l.ncols()), -1.0, Par::Seq);
                    });
                },
            );
        }
    }

    /// `B ← L^{-T} B`.
    pub fn half_solve_transposed(&self, mut b: MatMut<'_, f64>) {
        for i in (0..self.done()).rev().take_while(|_| !crate::stop::requested()) {
            let (above, rest) = b.as_mut().split_at_row_mut(i * self.block);
            let diagonal = &self.columns[i][0];
            let mut own = rest.split_at_row_mut(diagonal.nrows()).0;
            let l = double(diagonal);
            solve_upper_triangular_in_place(l.transpose(), own.as_mut(), Par::rayon(SPLITS));
            let own = own.as_ref();
            above.par_row_chunks_mut(self.block).enumerate().for_each_init(
                || self.strip(),
                |strip, (j, mut part)| {
                    strips(&self.columns[j][i - j], strip, |first, l| {
                        let to = part.as_mut().subrows_mut(first, l.ncols());
                        matmul(to, Accum::Add, l.transpose(), own, -1.0, Par::Seq);
                    });
                },
            );
        }
        self.scale_rows(b, |d| d);
    }

    /// `(L Lᵀ)^{-1} B`.
    pub fn solve(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let mut x = b.to_owned();
        self.half_solve(x.as_mut());
        self.half_solve_transposed(x.as_mut());
        x
    }

    /// `L B`.
    pub fn multiply(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let mut out = Mat::zeros(self.size, b.ncols());
        out.par_row_chunks_mut(self.block).enumerate().for_each_init(
            || self.strip(),
            |strip, (i, mut part)| {
                for j in (0..=i).take_while(|_| !crate::stop::requested()) {
                    strips(&self.columns[j][i - j], strip, |first, l| {
                        let from = b.subrows(j * self.block + first, l.ncols());
                        matmul(part.as_mut(), Accum::Add, l, from, 1.0, Par::Seq);
                    });
                }
            },
        );
        self.scale_rows(out.as_mut(), |d| 1.0 / d);
        out
    }

    /// Multiplies every row by what `of` makes of its entry of D.
    fn scale_rows(&self, mut b: MatMut<'_, f64>, of: impl Fn(f64) -> f64) {
        for column in b.as_mut().col_iter_mut() {
            column.iter_mut().zip(&self.scale).for_each(|(b, d)| *b *= of(*d));
        }
    }

    fn strip(&self) -> Mat<f64> {
        Mat::zeros(self.block.min(self.size), STRIP)
    }
}

/// faer's parallelism, the same parts at any number of threads.
fn par() -> Par {
    if alone() { Par::Seq } else { Par::rayon(SPLITS) }
}

/// Works on every tile, in parallel with one thread each if there are enough tiles to keep all threads busy.
fn each_tile(tiles: &mut [Mat<f32>], work: &(dyn Fn((usize, &mut Mat<f32>)) + Sync)) {
    const PER_THREAD: usize = 4;
    if tiles.len() >= PER_THREAD * rayon::current_num_threads() {
        tiles.par_iter_mut().enumerate().with_max_len(1).for_each(|tile| on_one_thread(|| work(tile)));
    } else {
        tiles.iter_mut().enumerate().for_each(work);
    }
}

/// The power of two by whose square a diagonal entry comes into [1, 4).
fn power_of_two(row: usize, entry: f64) -> Result<f64> {
    let sound = entry > 0.0 && entry.is_finite(); // false for a NaN too
    if !sound {
        let problem = format!("entry ({row}, {row}) is {entry}; it must be positive and finite");
        return Err(Error::data("a matrix to be factored", problem));
    }
    Ok(2f64.powi(-((0.5 * entry.log2()).floor() as i32)))
}

/// Overwrites a diagonal block by its factor, with what must be added to its diagonal, at least `shift`; returns that.
fn factor_diagonal(tile: &mut Mat<f32>, mut shift: f64, largest: f64) -> Result<f64> {
    let n = tile.nrows();
    let whole = tile.clone();
    let params = Spec::default();
    for _ in 0..=SHIFTS {
        tile.copy_from(&whole);
        (0..n).for_each(|i| tile[(i, i)] += shift as f32);
        let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f32>(n, par(), params));
        let stack = MemStack::new(&mut memory);
        let outcome = cholesky_in_place(tile.as_mut(), Default::default(), par(), stack, params);
        if outcome.is_ok() && (0..n).all(|i| tile[(i, i)] > 0.0 && tile[(i, i)].is_finite()) {
            for j in 1..n {
                tile.col_as_slice_mut(j)[..j].fill(0.0);
            }
            return Ok(shift);
        }
        shift = if shift == 0.0 { FIRST_SHIFT * largest } else { 10.0 * shift };
    }
    let problem = "it is not finite, or far from positive definite; a kernel of finite inputs is neither";
    Err(Error::data("a matrix to be factored", problem))
}

/// A tile in double precision.
fn double(tile: &Mat<f32>) -> Mat<f64> {
    Mat::from_fn(tile.nrows(), tile.ncols(), |i, j| f64::from(tile[(i, j)]))
}

/// Calls `work` with every strip of a tile's columns in double precision, and the first of these columns.
fn strips(tile: &Mat<f32>, scratch: &mut Mat<f64>, mut work: impl FnMut(usize, MatRef<'_, f64>)) {
    for first in (0..tile.ncols()).step_by(STRIP) {
        let width = STRIP.min(tile.ncols() - first);
        for j in 0..width {
            let (from, to) = (tile.col_as_slice(first + j), scratch.col_as_slice_mut(j));
            to.iter_mut().zip(from).for_each(|(to, from)| *to = f64::from(*from));
        }
        work(first, scratch.submatrix(0, 0, tile.nrows(), width));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Cholesky, matmul as product};
    use crate::rng::Stream;

    /// `G Gᵀ/n + floor·I` for Gaussian G, whose smallest eigenvalue is about `floor`.
    fn matrix(n: usize, floor: f64) -> Mat<f64> {
        let mut stream = Stream::new(3, "tiled test", n as u64);
        let g = Mat::from_fn(n, n, |_, _| stream.normal() / (n as f64).sqrt());
        let mut a = product(g.as_ref(), g.transpose());
        (0..n).for_each(|i| a[(i, i)] += floor);
        a
    }

    fn factored(a: &Mat<f64>, block: usize) -> TiledCholesky {
        let n = a.nrows();
        let mut factor = begin(a, block);
        for j in (0..n).step_by(block) {
            let width = block.min(n - j);
            let part = |i: usize| a.submatrix(i, j, block.min(n - i), width).to_owned();
            let tiles = (j..n).step_by(block).map(|i| factor.tile((i, j), &part(i), 0.0)).collect();
            factor.extend(tiles).unwrap();
        }
        factor
    }

    fn begin(a: &Mat<f64>, block: usize) -> TiledCholesky {
        TiledCholesky::begin(&(0..a.nrows()).map(|i| a[(i, i)]).collect::<Vec<_>>(), block).unwrap()
    }

    #[test]
    fn tiles_fit_the_kernels_tiles() {
        assert_eq!([1, 500, 4000, 10_000, 60_000].map(TiledCholesky::tile_rows), [240, 240, 720, 1440, 1920]);
    }

    #[test]
    fn factors_solve_at_sizes_that_tiles_do_not_divide() {
        for (n, block) in [(1, 4), (5, 5), (7, 3), (97, 16), (203, 64), (300, 299)] {
            let a = matrix(n, 0.5);
            let (factor, exact) = (factored(&a, block), Cholesky::factor(a.as_ref(), "a").unwrap());
            assert_eq!((factor.done(), factor.shift()), (n.div_ceil(block), 0.0));
            let b = Mat::from_fn(n, 3, |i, j| ((i * 7 + j * 3) % 11) as f64 - 5.0);
            // Single precision keeps 6e-8 of entries of size 4, n of them in a row, over eigenvalues of 0.5 at least.
            let tolerance = 6e-8 * 4.0 * (n as f64).sqrt() * 10.0 / 0.5 * b.norm_l2();
            let difference = |x: Mat<f64>, y: Mat<f64>| (x - y).norm_l2();
            assert!(difference(factor.solve(b.as_ref()), exact.solve(b.as_ref())) < tolerance, "{n} {block}");
            let l = factor.multiply(b.as_ref());
            assert!(difference(l.clone(), exact.l() * &b) < tolerance, "{n} {block}");
            // What the factor itself says agrees in double precision.
            let mut back = l;
            factor.half_solve(back.as_mut());
            assert!(difference(back, b.clone()) < 1e-11 * b.norm_l2(), "{n} {block}");
            let mut halves = b.clone();
            factor.half_solve(halves.as_mut());
            factor.half_solve_transposed(halves.as_mut());
            assert_eq!(halves, factor.solve(b.as_ref()), "{n} {block}");
        }
    }

    /// Powers of two change exponents alone: every digit is that of the matrix of ordinary size, also where that size is beyond
    /// single precision or differs from row to row.
    #[test]
    fn any_size_of_entries_gives_the_same_digits() {
        let a = matrix(97, 0.1);
        let b = Mat::from_fn(97, 2, |i, j| ((i * 7 + j * 3) % 11) as f64 - 5.0);
        let solved = factored(&a, 16).solve(b.as_ref());
        let multiplied = factored(&a, 16).multiply(b.as_ref());
        let sizes: [fn(usize) -> i32; 4] = [|_| 0, |_| 150, |_| -150, |i| 7 * (i as i32 % 41) - 140];
        for size in sizes {
            let d = |i: usize| 2f64.powi(size(i));
            let other = Mat::from_fn(97, 97, |i, j| d(i) * a[(i, j)] * d(j));
            let factor = factored(&other, 16);
            assert_eq!(factor.shift(), 0.0);
            let x = factor.solve(Mat::from_fn(97, 2, |i, j| d(i) * b[(i, j)]).as_ref());
            assert_eq!(Mat::from_fn(97, 2, |i, j| d(i) * x[(i, j)]), solved);
            let product = factor.multiply(b.as_ref());
            assert_eq!(Mat::from_fn(97, 2, |i, j| product[(i, j)] / d(i)), multiplied);
        }
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let said = TiledCholesky::begin(&[1.0, wrong], 2).unwrap_err().to_string();
            assert!(said.contains("(1, 1)"), "{said}");
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let a = matrix(230, 0.1);
        let b = Mat::from_fn(230, 2, |i, j| (i + j) as f64);
        let run = || {
            let factor = factored(&a, 48);
            (factor.solve(b.as_ref()), factor.multiply(b.as_ref()))
        };
        let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        let one = pool(1).install(run);
        for threads in [2, 3, 7] {
            assert_eq!(pool(threads).install(run), one);
        }
    }

    #[test]
    fn a_matrix_with_a_negative_pivot_gets_a_shift_that_is_reported() {
        let mut a = matrix(60, 0.1);
        for j in 0..60 {
            // Row and column 41 are those of 40, but for a diagonal that is too small by 1e-4.
            let row = a[(40, j)];
            a[(41, j)] = row;
            a[(j, 41)] = row;
        }
        a[(41, 41)] = a[(40, 40)] - 1e-4;
        let factor = factored(&a, 16);
        // The eigenvalue is −5e-5; shifts are tried in steps of ten from 1e-6 of a diagonal of about 1.
        assert!(factor.shift() >= 5e-5 && factor.shift() < 5e-3, "{}", factor.shift());
        let again = factored(&a, 16);
        let mut taken_up = begin(&a, 16);
        (0..4).for_each(|j| taken_up.restore((*again.column(j)).clone(), again.shift()));
        let b = Mat::from_fn(60, 1, |i, _| i as f64);
        assert_eq!(taken_up.solve(b.as_ref()), factor.solve(b.as_ref()));
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        let column = vec![Mat::from_fn(3, 3, |i, _| if i == 1 { f32::NAN } else { 1.0 })];
        let error = TiledCholesky::begin(&[1.0; 3], 3).unwrap().extend(column).unwrap_err();
        assert!(error.to_string().contains("not finite"), "{error}");
        // An infinite pivot made the first shift infinite, and every next one no larger than the pivot.
        let column = vec![Mat::from_fn(3, 3, |_, _| f32::INFINITY)];
        assert!(TiledCholesky::begin(&[1.0; 3], 3).unwrap().extend(column).is_err());
    }

    /// Prints operations per second of a factor beside those of its products.
    #[test]
    #[ignore = "a measurement of some seconds"]
    fn speed() {
        let (n, block) = (9600, 1920);
        let tile = |i: usize, j: usize| {
            Mat::from_fn(block, block, |r, c| if i == j && r == c { 2.0 } else { 1e-6 * ((r * c) % 7) as f32 })
        };
        let (a, mut c) = (tile(1, 0), tile(0, 0));
        let start = std::time::Instant::now();
        (0..5).for_each(|_| matmul_f32(c.as_mut(), 1.0, -1.0, a.as_ref(), a.transpose()));
        println!("products {:.1} GFLOP/s", 5.0 * 2e-9 * (block as f64).powi(3) / start.elapsed().as_secs_f64());
        let mut factor = TiledCholesky::begin(&vec![1.0; n], block).unwrap();
        let mut seconds = 0.0;
        for j in 0..5 {
            let column = (j..5).map(|i| tile(i, j)).collect();
            let start = std::time::Instant::now();
            factor.extend(column).unwrap();
            seconds += start.elapsed().as_secs_f64();
        }
        println!("factor {:.1} GFLOP/s", 1e-9 * (n as f64).powi(3) / 3.0 / seconds);
        let b = Mat::from_fn(n, 40, |i, j| (i + j) as f64);
        let start = std::time::Instant::now();
        factor.solve(b.as_ref());
        println!("solve {:.1} GFLOP/s", 2e-9 * 40.0 * (n as f64).powi(2) / start.elapsed().as_secs_f64());
    }
}
