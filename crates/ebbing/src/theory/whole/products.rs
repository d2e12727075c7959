//! Products with kernels that are made tile by tile, used and dropped.

use super::Whole;
use super::solver::System;
use crate::error::Result;
use crate::linalg::{Mat, MatRef, matmul_into};
use crate::plan::pass_operations;
use crate::theory::blocks::kernels::{Points, Which};

/// A kernel and what it is multiplied with.
pub(super) type Factors<'m> = (Which, MatRef<'m, f64>);

/// Points `first .. first + count`.
pub(super) fn part(x: Points<'_>, first: usize, count: usize) -> Points<'_> {
    match x {
        Points::Inputs(x) => Points::Inputs(x.subrows(first, count)),
        Points::Rows(rows) => Points::Rows(&rows[first..first + count]),
    }
}

/// Starts and lengths of the parts that `size` rows are cut into.
pub(super) fn cut(size: usize, block: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> + Clone {
    (0..size.div_ceil(block)).map(move |k| (k * block, block.min(size - k * block)))
}

impl Whole<'_> {
    /// `(K + ridge) X` for the kernel of a task with itself: tiles on and below the diagonal, each for both halves.
    pub(super) fn apply(&mut self, system: System, x: MatRef<'_, f64>) -> Result<Mat<f64>> {
        self.pass(system, x, &mut |_, _| ())
    }

    /// The same, and `‖K + ridge‖₁`.
    pub(super) fn apply_with_norm(&mut self, system: System, x: MatRef<'_, f64>) -> Result<(Mat<f64>, f64)> {
        let mut sums = vec![0.0; x.nrows()];
        let product = self.pass(system, x, &mut |(i, j), tile| add_sums(&mut sums, (i, j), tile))?;
        Ok((product, system.ridge + sums.into_iter().fold(0.0, f64::max)))
    }

    /// `(K + ridge) X`; `look` sees every tile on and below the diagonal, with its first row and column.
    pub(super) fn pass(
        &mut self,
        system: System,
        x: MatRef<'_, f64>,
        look: &mut dyn FnMut((usize, usize), &Mat<f64>),
    ) -> Result<Mat<f64>> {
        let points = self.points(system.task);
        let mut out = Mat::from_fn(x.nrows(), x.ncols(), |i, j| system.ridge * x[(i, j)]);
        for (j, width) in cut(points.len(), self.block) {
            for (i, height) in cut(points.len(), self.block).filter(|(i, _)| *i >= j) {
                let (rows, columns) = (part(points, i, height), part(points, j, width));
                let tile = match i == j {
                    true => self.kernels.symmetric(system.which, columns)?,
                    false => self.kernels.block(system.which, rows, columns)?,
                };
                look((i, j), &tile);
                let tile = tile.as_ref();
                matmul_into(out.as_mut().subrows_mut(i, height), 1.0, 1.0, tile, x.subrows(j, width));
                if i != j {
                    matmul_into(out.as_mut().subrows_mut(j, width), 1.0, 1.0, tile.transpose(), x.subrows(i, height));
                }
                let both = pass_operations(height as f64, width as f64, self.dim(), 0.0);
                self.work.did(if i == j { 0.5 * both } else { both })?;
            }
        }
        Ok(out)
    }

    /// `K V` of every pair in `forward`, and `Kᵀ W` of every pair in `backward`, for kernels between two sets of points: each
    /// tile of their product is made once.
    pub(super) fn across(
        &mut self,
        (rows, columns): (Points<'_>, Points<'_>),
        forward: &[Factors<'_>],
        backward: &[Factors<'_>],
    ) -> Result<(Vec<Mat<f64>>, Vec<Mat<f64>>)> {
        let mut which: Vec<Which> = vec![];
        for (kernel, _) in forward.iter().chain(backward) {
            if !which.contains(kernel) {
                which.push(*kernel);
            }
        }
        let mut ahead: Vec<Mat<f64>> = forward.iter().map(|(_, v)| Mat::zeros(rows.len(), v.ncols())).collect();
        let mut back: Vec<Mat<f64>> = backward.iter().map(|(_, w)| Mat::zeros(columns.len(), w.ncols())).collect();
        let wide: usize = forward.iter().chain(backward).map(|(_, v)| v.ncols()).sum();
        for (j, width) in cut(columns.len(), self.block) {
            for (i, height) in cut(rows.len(), self.block) {
                let tiles = self.kernels.blocks(&which, part(rows, i, height), part(columns, j, width))?;
                let tile = |kernel: &Which| which.iter().position(|w| w == kernel).map(|at| tiles[at].as_ref());
                for ((kernel, v), out) in forward.iter().zip(&mut ahead) {
                    if let Some(tile) = tile(kernel) {
                        matmul_into(out.as_mut().subrows_mut(i, height), 1.0, 1.0, tile, v.subrows(j, width));
                    }
                }
                for ((kernel, w), out) in backward.iter().zip(&mut back) {
                    if let Some(tile) = tile(kernel) {
                        let out = out.as_mut().subrows_mut(j, width);
                        matmul_into(out, 1.0, 1.0, tile.transpose(), w.subrows(i, height));
                    }
                }
                self.work.did(pass_operations(height as f64, width as f64, self.dim(), wide as f64))?;
            }
        }
        Ok((ahead, back))
    }
}

/// Adds the absolute values of a tile and, off the diagonal, of its mirror image to the sums of their columns.
pub(super) fn add_sums(sums: &mut [f64], (i, j): (usize, usize), tile: &Mat<f64>) {
    for column in 0..tile.ncols() {
        let entries = tile.col_as_slice(column);
        sums[j + column] += entries.iter().map(|k| k.abs()).sum::<f64>();
        if i != j {
            sums[i..].iter_mut().zip(entries).for_each(|(sum, k)| *sum += k.abs());
        }
    }
}

/// Matrices side by side.
pub(super) fn beside(parts: &[MatRef<'_, f64>]) -> Mat<f64> {
    let rows = parts.first().map_or(0, |m| m.nrows());
    let mut all = Mat::zeros(rows, parts.iter().map(|m| m.ncols()).sum());
    let mut first = 0;
    for m in parts {
        all.as_mut().subcols_mut(first, m.ncols()).copy_from(m);
        first += m.ncols();
    }
    all
}

/// Columns `first .. first + count` by themselves.
pub(super) fn columns(m: &Mat<f64>, first: usize, count: usize) -> Mat<f64> {
    m.as_ref().subcols(first, count).to_owned()
}
