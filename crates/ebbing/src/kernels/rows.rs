//! Inputs, one per row, with the norms that turn their dot products into cosines.

use crate::error::{Error, Result};
use crate::linalg::{MatRef, column_slice};
use rayon::prelude::*;

/// Rows whose norms are taken by one thread at a time.
const CHUNK: usize = 256;

/// Rows of a matrix with contiguous columns.
pub(super) struct Rows<'a> {
    pub matrix: MatRef<'a, f64>,
    /// `|x|²/N0`.
    pub v: Vec<f64>,
    /// `|x|/√N0`.
    pub root: Vec<f64>,
    /// `1/|x|`.
    pub inverse: Vec<f64>,
    /// 1 for every row: what replaces `root` where a kernel does not scale with the norm.
    pub ones: Vec<f64>,
}

impl<'a> Rows<'a> {
    /// Norms of the rows of `matrix`. `what` names the set in error messages.
    pub fn new(matrix: MatRef<'a, f64>, what: &str) -> Result<Self> {
        let mut squares = vec![0.0; matrix.nrows()];
        squares.par_chunks_mut(CHUNK).enumerate().for_each(|(n, sums)| {
            let part = matrix.subrows(n * CHUNK, sums.len());
            for k in 0..part.ncols() {
                for (sum, a) in sums.iter_mut().zip(column_slice(part, k)) {
                    *sum += a * a;
                }
            }
        });
        for (i, &square) in squares.iter().enumerate() {
            check(square, || format!("{what}, row {i}"))?;
        }
        let size = matrix.ncols() as f64;
        Ok(Rows {
            matrix,
            v: squares.iter().map(|s| s / size).collect(),
            root: squares.iter().map(|s| (s / size).sqrt()).collect(),
            inverse: squares.iter().map(|s| 1.0 / s.sqrt()).collect(),
            ones: vec![1.0; squares.len()],
        })
    }

    pub fn len(&self) -> usize {
        self.v.len()
    }

    /// `|x|²/N0` where all rows have the same up to rounding.
    pub fn common_norm(&self) -> Option<f64> {
        let (low, high) = self.v.iter().fold((f64::INFINITY, 0f64), |(l, h), &v| (l.min(v), h.max(v)));
        (high - low <= 1e-14 * high).then_some(0.5 * (low + high))
    }
}

/// Refuses a squared norm with which no cosine can be formed.
pub(super) fn check(square: f64, what: impl Fn() -> String) -> Result<()> {
    // Dot products of two such rows neither overflow nor lose digits to underflow.
    if square > 1e-280 && square < 1e280 {
        return Ok(());
    }
    let norm = square.sqrt();
    let problem = format!("its norm is {norm}; a kernel needs numbers that are finite and a norm in 1e-140 … 1e140");
    Err(Error::data(what(), problem))
}
