//! Inputs, one per row, with the norms that turn their dot products into cosines.

use crate::error::{Error, Result};
use crate::linalg::{MatRef, column_slice};
use crate::tasks::Task;
use rayon::prelude::*;

/// How many rows one thread computes the norms of at a time.
const CHUNK: usize = 256;

/// Rows of a matrix with contiguous columns.
pub(super) struct Rows<'a> {
    pub matrix: MatRef<'a, f64>,
    /// `|x|²/N0`.
    pub v: Vec<f64>,
    /// `|x|/√N0`.
    pub root: Vec<f64>,
    /// `1/|x|`; 0 of a row that is 0, whose cosines are 0.
    pub inverse: Vec<f64>,
    /// 1 for every row: what replaces `root` where a kernel does not scale with the norm.
    pub ones: Vec<f64>,
}

impl<'a> Rows<'a> {
    /// Norms of the rows of `matrix`. `what` names the set in error messages; `biased`: whether a row may be 0.
    pub fn new(matrix: MatRef<'a, f64>, biased: bool, what: &str) -> Result<Self> {
        let squares = squares(matrix);
        for (i, &square) in squares.iter().enumerate() {
            check(square, biased, || format!("{what}, row {}", i + 1))?;
        }
        let size = matrix.ncols() as f64;
        Ok(Rows {
            matrix,
            v: squares.iter().map(|s| s / size).collect(),
            root: squares.iter().map(|s| (s / size).sqrt()).collect(),
            inverse: squares.iter().map(|&s| inverse(s)).collect(),
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

/// `|x|²` of every row.
fn squares(matrix: MatRef<'_, f64>) -> Vec<f64> {
    let mut squares = vec![0.0; matrix.nrows()];
    squares.par_chunks_mut(CHUNK).enumerate().for_each(|(n, sums)| {
        let part = matrix.subrows(n * CHUNK, sums.len());
        for k in 0..part.ncols() {
            for (sum, a) in sums.iter_mut().zip(column_slice(part, k)) {
                *sum += a * a;
            }
        }
    });
    squares
}

/// `1/|x|` from `|x|²`, 0 for 0.
pub(super) fn inverse(square: f64) -> f64 {
    if square == 0.0 { 0.0 } else { 1.0 / square.sqrt() }
}

/// Refuses a squared norm that gives no cosine; with a bias an input may be 0.
pub(super) fn check(square: f64, biased: bool, what: impl Fn() -> String) -> Result<()> {
    // Dot products of two such rows neither overflow nor lose digits to underflow.
    if square > 1e-280 && square < 1e280 || biased && square == 0.0 {
        return Ok(());
    }
    let problem = match square {
        0.0 => "it is zero, or too small to have a norm, which a network without a bias cannot distinguish from other inputs by its angle: drop it, or give a bias".to_string(),
        _ => format!("its norm is {}; a kernel needs numbers that are finite and a norm in 1e-140 … 1e140", square.sqrt()),
    };
    Err(Error::data(what(), problem))
}

/// Refuses inputs that a kernel would refuse, naming the task and the row in it (from 1).
///
/// # Errors
/// [`Error::Data`].
pub(crate) fn check_inputs(tasks: &[Task], biased: bool) -> Result<()> {
    for (t, task) in tasks.iter().enumerate() {
        for (set, x) in [("", Some(&task.x)), ("test ", task.test.as_ref().map(|test| &test.x))] {
            // The columns of a matrix of its own are contiguous.
            for (i, square) in x.into_iter().flat_map(|x| squares(x.as_ref())).enumerate() {
                check(square, biased, || format!("{}, {set}row {}", task.label(t), i + 1))?;
            }
        }
    }
    Ok(())
}
