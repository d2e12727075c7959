//! Inputs that a task holds more than once, where nothing is left over for noise (β = ∞):
//!
//! ```math
//! K = G\,K'\,G^{\mathsf T}, \qquad K^{+} = A^{\mathsf T} K'^{-1} A, \qquad A\,G = 1
//! ```
//!
//! with K′ the kernel of the different inputs, `G_ig = 1` where row i is input g, and A the average over the rows of an input. It is
//! the limit β → ∞ of `(K + 1/β)^{-1}` on what can be learned: a row that occurs w times at temperature 1/β is one row at 1/(wβ), and
//! equal inputs with different targets are learned as their average. What cannot be learned, the differences within an input, stays
//! in the losses, which are of every row with its own target.

use super::kernels::Points;
use crate::linalg::{Mat, MatRef};
use crate::tasks::number_inputs;
use std::collections::HashMap;

/// Which rows of a task are the same input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Repeats {
    /// Rows before these, each an input of its own (those that all tasks share).
    before: usize,
    /// The input that each row is, by first appearance.
    of: Vec<usize>,
    /// The first row of every input.
    first: Vec<usize>,
    /// How many rows are each input.
    count: Vec<f64>,
}

impl Repeats {
    /// Of a set of points; none where they all differ.
    pub fn of(points: Points<'_>) -> Option<Repeats> {
        let numbers = match points {
            Points::Inputs(x) => number_inputs(&[x]).pop().unwrap_or_default(),
            Points::Rows(rows) => rows.to_vec(),
        };
        let mut place: HashMap<usize, usize> = HashMap::new();
        let mut repeats = Repeats { before: 0, of: vec![], first: vec![], count: vec![] };
        for (row, number) in numbers.into_iter().enumerate() {
            let next = repeats.first.len();
            let input = *place.entry(number).or_insert(next);
            if input == next {
                repeats.first.push(row);
                repeats.count.push(0.0);
            }
            repeats.of.push(input);
            repeats.count[input] += 1.0;
        }
        (repeats.first.len() < repeats.of.len()).then_some(repeats)
    }

    /// The same below so many rows that are inputs of their own.
    pub fn below(self, before: usize) -> Repeats {
        Repeats { before, ..self }
    }

    /// The rows and columns of a kernel among these rows that are different inputs.
    pub fn distinct(&self, k: MatRef<'_, f64>) -> Mat<f64> {
        Mat::from_fn(self.first.len(), self.first.len(), |i, j| k[(self.first[i], self.first[j])])
    }

    /// The rows of a matrix that are different inputs.
    pub fn distinct_rows(&self, k: MatRef<'_, f64>) -> Mat<f64> {
        Mat::from_fn(self.first.len(), k.ncols(), |i, j| k[(self.first[i], j)])
    }

    /// `A B`, of rows with those before them where B has these too.
    pub fn average(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        let before = b.nrows() - self.of.len();
        let mut mean: Mat<f64> = Mat::zeros(before + self.first.len(), b.ncols());
        for j in 0..b.ncols() {
            for i in 0..before {
                mean[(i, j)] = b[(i, j)];
            }
            for (row, &input) in self.of.iter().enumerate() {
                mean[(before + input, j)] += b[(before + row, j)];
            }
            for (input, count) in self.count.iter().enumerate().filter(|(_, count)| **count > 1.0) {
                mean[(before + input, j)] /= count;
            }
        }
        mean
    }

    /// `Aᵀ U`: what an input has learned, in equal parts at its rows.
    pub fn divided(&self, u: MatRef<'_, f64>) -> Mat<f64> {
        self.at_rows(u, |input| 1.0 / self.count[input])
    }

    /// `G U`: what an input has, at every row of it.
    pub fn repeated(&self, u: MatRef<'_, f64>) -> Mat<f64> {
        self.at_rows(u, |_| 1.0)
    }

    fn at_rows(&self, u: MatRef<'_, f64>, factor: impl Fn(usize) -> f64) -> Mat<f64> {
        let n = self.before;
        Mat::from_fn(n + self.of.len(), u.ncols(), |i, j| match i.checked_sub(n) {
            Some(row) => factor(self.of[row]) * u[(n + self.of[row], j)],
            None => u[(i, j)],
        })
    }
}
