//! Features of any number of examples, in one pass over them:
//!
//! ```math
//! C = X^{\mathsf T}X, \quad B = X^{\mathsf T}Y, \quad \lvert XW - Y\rvert^2 = \operatorname{Tr} W^{\mathsf T}CW - 2\operatorname{Tr}W^{\mathsf T}B + \lvert Y\rvert^2
//! ```
//!
//! are all that a linear head on d features knows of its training examples ([`FeatureSums`]). Sums of blocks of rows add up, so that a
//! file beyond memory, or parts of it on many machines, are read once, with d² + dK numbers beside a block. What has the same sums
//! learns the same: with `C = QΛQᵀ`, the d rows `Λ^{1/2}Qᵀ` with targets `Λ^{-1/2}QᵀB`, and one row of zeros with what is left of
//! `|Y|²`, are a task ([`FeatureSums::task`]) for which every theory of features gives what it gives for all examples: weights, losses,
//! order parameters, orders. Only the accuracy on training examples is not known from sums; held-out examples are kept as they are.

use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, SymmetricEigen, lower_gram_into, matmul, matmul_into, symmetric_copy};
use crate::stop;
use crate::tasks::Task;

/// What a linear head on d features knows of training examples with K target columns.
///
/// ```
/// use ebbing::linalg::Mat;
/// use ebbing::theory::streams::{BlockTargets, FeatureSums};
/// let x = Mat::from_fn(6, 2, |i, j| ((i + 1) * (j + 2)) as f64 % 5.0);
/// let y = Mat::from_fn(6, 1, |i, _| if i % 2 == 0 { 1.0 } else { -1.0 });
/// let mut sums = FeatureSums::new(2, 1);
/// sums.add(x.as_ref(), BlockTargets::Real(y.as_ref()))?;
/// assert_eq!((sums.examples(), sums.task("all")?.x.ncols()), (6, 2));
/// # Ok::<(), ebbing::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureSums {
    examples: u64,
    /// The lower half of `XᵀX`.
    gram: Mat<f64>,
    /// `XᵀY`.
    cross: Mat<f64>,
    /// `|Y|²`.
    squares: f64,
}

/// The targets of a block of rows.
#[derive(Debug, Clone, Copy)]
pub enum BlockTargets<'a> {
    /// One row of target columns for each.
    Real(MatRef<'a, f64>),
    /// The column that is 1 for each, all others being 0.
    Classes(&'a [usize]),
}

impl FeatureSums {
    /// Of no examples yet, with d features and K target columns.
    pub fn new(d: usize, columns: usize) -> FeatureSums {
        FeatureSums { examples: 0, gram: Mat::zeros(d, d), cross: Mat::zeros(d, columns), squares: 0.0 }
    }

    /// Sums that were made elsewhere: `XᵀX` (of which the lower half is read), `XᵀY` and `|Y|²` of so many examples.
    ///
    /// # Errors
    /// [`Error::Data`] for shapes that do not fit together, numbers that are not finite, and a negative `|Y|²`.
    pub fn of(examples: u64, gram: Mat<f64>, cross: Mat<f64>, squares: f64) -> Result<FeatureSums> {
        let d = gram.nrows();
        let shapes = gram.ncols() == d && cross.nrows() == d && d > 0 && cross.ncols() > 0;
        let finite = |m: &Mat<f64>| (0..m.ncols()).all(|j| m.col(j).iter().all(|v| v.is_finite()));
        if !(shapes && finite(&gram) && finite(&cross) && squares >= 0.0 && squares.is_finite()) {
            let (rows, columns) = (cross.nrows(), cross.ncols());
            let problem = format!(
                "XᵀX is {d} × {}, XᵀY {rows} × {columns} and |Y|² {squares}; they must be finite, d × d, d × K and at least 0",
                gram.ncols()
            );
            return Err(Error::data("the sums of features", problem));
        }
        Ok(FeatureSums { examples, gram, cross, squares })
    }

    /// Adds a block of examples, one per row.
    ///
    /// # Errors
    /// [`Error::Data`] for rows of another length, targets of another number, and a class beyond the columns; [`Error::Stopped`].
    pub fn add(&mut self, x: MatRef<'_, f64>, y: BlockTargets<'_>) -> Result<()> {
        stop::check()?;
        let (d, columns) = (self.gram.nrows(), self.cross.ncols());
        let (rows, fits) = match y {
            BlockTargets::Real(y) => (y.nrows(), y.ncols() == columns),
            BlockTargets::Classes(of) => (of.len(), of.iter().all(|&c| c < columns)),
        };
        if x.ncols() != d || rows != x.nrows() || !fits {
            let found = format!("{} rows of {} features and {rows} of targets", x.nrows(), x.ncols());
            return Err(Error::data(
                "a block of features",
                format!("{found}; {d} features and {columns} columns are needed"),
            ));
        }
        lower_gram_into(self.gram.as_mut(), 1.0, 1.0, x.transpose());
        match y {
            BlockTargets::Real(y) => {
                matmul_into(self.cross.as_mut(), 1.0, 1.0, x.transpose(), y);
                self.squares += (0..columns).flat_map(|j| y.col(j).iter()).map(|v| v * v).sum::<f64>();
            }
            BlockTargets::Classes(of) => {
                for (i, &class) in of.iter().enumerate() {
                    let sum = self.cross.col_as_slice_mut(class);
                    sum.iter_mut().zip(x.row(i).iter()).for_each(|(sum, v)| *sum += v);
                }
                self.squares += of.len() as f64;
            }
        }
        self.examples += rows as u64;
        stop::check()
    }

    /// The sums of both: blocks of one part, then those of another.
    ///
    /// # Errors
    /// [`Error::Data`] for other numbers of features or columns.
    pub fn merge(&mut self, other: &FeatureSums) -> Result<()> {
        let shape = |s: &FeatureSums| (s.gram.nrows(), s.cross.ncols());
        if shape(self) != shape(other) {
            let (mine, theirs) = (shape(self), shape(other));
            let problem =
                format!("{} features and {} columns where others have {} and {}", theirs.0, theirs.1, mine.0, mine.1);
            return Err(Error::data("the sums of features", problem));
        }
        self.gram += &other.gram;
        self.cross += &other.cross;
        self.squares += other.squares;
        self.examples += other.examples;
        Ok(())
    }

    /// How many examples were added.
    pub fn examples(&self) -> u64 {
        self.examples
    }

    /// A task of at most d + 1 examples with the same sums, which a linear head learns and forgets as all of them.
    ///
    /// # Errors
    /// [`Error::Data`] where there are no examples; what the eigenvalues of `XᵀX` say.
    pub fn task(&self, name: &str) -> Result<Task> {
        if self.examples == 0 {
            return Err(Error::data(name, "it holds no example; at least one is needed"));
        }
        let (d, columns) = (self.gram.nrows(), self.cross.ncols());
        let whole = symmetric_copy(self.gram.as_ref());
        let eigen = SymmetricEigen::factor(whole.as_ref(), &format!("XᵀX of {name}"))?;
        let largest = eigen.values.iter().copied().fold(0.0, f64::max);
        // Below this an eigenvalue is the rounding of the others, and so is what B has in its direction.
        let least = d as f64 * f64::EPSILON * largest;
        let live: Vec<usize> = (0..d).filter(|&i| eigen.values[i] > least).collect();
        // As many examples as there were, where they were fewer than features: at a temperature that is their rank.
        let rows = (d + 1).min(usize::try_from(self.examples).unwrap_or(usize::MAX)).max(live.len());
        let seen = matmul(eigen.vectors.transpose(), self.cross.as_ref());
        let mut x = Mat::zeros(rows, d);
        let mut y = Mat::zeros(rows, columns);
        for (row, &i) in live.iter().enumerate() {
            let root = eigen.values[i].sqrt();
            (0..d).for_each(|j| x[(row, j)] = root * eigen.vectors[(j, i)]);
            (0..columns).for_each(|c| y[(row, c)] = seen[(i, c)] / root);
        }
        // All of what is left may stand in one column: only its size is ever asked for.
        if rows > live.len() {
            y[(rows - 1, 0)] = (self.squares - y.squared_norm_l2()).max(0.0).sqrt();
        }
        Ok(Task::new(x, y).named(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::TaskSequence;
    use crate::theory::blocks::feature_space::shapes::tasks;
    use crate::theory::forecast::{Forecast, ForecastSettings};
    use crate::theory::single_head::SingleHeadSettings;

    /// The sums of a sequence's tasks, in blocks of so many rows.
    fn summed(sequence: &TaskSequence, rows: usize) -> TaskSequence {
        let one = |task: &Task| {
            let (d, columns) = (task.x.ncols(), task.y.ncols());
            let (mut sums, mut second) = (FeatureSums::new(d, columns), FeatureSums::new(d, columns));
            let mut first = 0;
            while first < task.x.nrows() {
                let n = rows.min(task.x.nrows() - first);
                let (x, y) = (task.x.as_ref().subrows(first, n), task.y.as_ref().subrows(first, n));
                let into = if first < task.x.nrows() / 2 { &mut sums } else { &mut second };
                let classes: Vec<usize> = (0..n).filter_map(|i| (0..columns).find(|&c| y[(i, c)] == 1.0)).collect();
                let one_hot = columns > 1 && classes.len() == n;
                into.add(x, if one_hot { BlockTargets::Classes(&classes) } else { BlockTargets::Real(y) }).unwrap();
                first += n;
            }
            sums.merge(&second).unwrap();
            assert_eq!(sums.examples(), task.x.nrows() as u64);
            Task { test: task.test.clone(), ..sums.task("").unwrap() }
        };
        TaskSequence::new(sequence.tasks.iter().map(one).collect()).unwrap()
    }

    #[test]
    fn sums_learn_and_forget_as_all_examples() {
        // More examples than features, fewer, and features of lower rank.
        for (sizes, dims, columns) in
            [(vec![60, 90, 75], (20, 20), 1), (vec![50, 12, 44], (20, 20), 5), (vec![60, 45, 50], (20, 9), 4)]
        {
            let sequence = tasks(&sizes, dims, columns, 3);
            for beta in [f64::INFINITY, 20.0, 0.4] {
                let theory = SingleHeadSettings { beta, ..Default::default() };
                let settings = ForecastSettings { theory, features: true, order: true, ..Default::default() };
                let of = |s: &TaskSequence| {
                    Forecast::of(std::slice::from_ref(s), &settings, &crate::Context::default()).unwrap()
                };
                let (known, found) = (of(&sequence), of(&summed(&sequence, 7)));
                // Rounding of the sums times their condition number below 1e4; losses are differences of |Y|².
                let close = |a: f64, b: f64, what: &str| {
                    assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{what} {sizes:?} {beta}: {a} {b}")
                };
                let all = |m: &[Vec<f64>]| m.iter().flatten().copied().collect::<Vec<f64>>();
                let same = |a: &[Vec<f64>], b: &[Vec<f64>], what: &str| {
                    all(a).into_iter().zip(all(b)).for_each(|(a, b)| close(a, b, what));
                };
                same(&found.forgetting.as_ref().unwrap().mean, &known.forgetting.as_ref().unwrap().mean, "F");
                let (a, b) = (found.test.as_ref().unwrap(), known.test.as_ref().unwrap());
                same(&a.loss.mean, &b.loss.mean, "test loss");
                assert_eq!(a.accuracy, b.accuracy);
                for (a, b) in found.pairs.iter().zip(&known.pairs) {
                    close(a.values.gamma_feature, b.values.gamma_feature, "γ_feature");
                    close(a.values.gamma_rf, b.values.gamma_rf, "γ_RF");
                    close(a.values.gamma_rule, b.values.gamma_rule, "γ_rule");
                    close(a.values.gamma_sim, b.values.gamma_sim, "γ_sim");
                    close(a.values.f21, b.values.f21, "F_pair");
                }
                close(found.order.unwrap().worst, known.order.unwrap().worst, "the worst order");
            }
        }
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let mut sums = FeatureSums::new(3, 2);
        let x: Mat<f64> = Mat::zeros(4, 3);
        assert!(sums.task("t").unwrap_err().to_string().contains("no example"));
        assert!(sums.add(x.as_ref(), BlockTargets::Classes(&[0, 1, 2, 0])).is_err());
        assert!(sums.add(x.as_ref(), BlockTargets::Classes(&[0, 1])).is_err());
        assert!(sums.merge(&FeatureSums::new(3, 1)).unwrap_err().to_string().contains("3 features and 1 columns"));
        assert!(FeatureSums::of(4, Mat::zeros(3, 3), Mat::zeros(2, 1), 1.0).is_err());
        assert!(FeatureSums::of(4, Mat::zeros(3, 3), Mat::zeros(3, 1), -1.0).is_err());
    }
}
