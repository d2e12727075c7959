//! A linear head on d features, in d × d: what learning a task does to the weights W.
//!
//! ```math
//! W \to W + (C + \rho)^{-1} X^{\mathsf T}(Y - X W)/d = (1 - H) W + V, \qquad C = X^{\mathsf T}X/d, \quad
//! H = (C+\rho)^{-1} C, \quad V = (C+\rho)^{-1} X^{\mathsf T}Y/d
//! ```
//!
//! with `ρ = 1/β`; at ρ = 0 the pseudo-inverse. It is the theory of the kernel `x·x'/d`: `(C+ρ)^{-1}Xᵀ = Xᵀ(XXᵀ/d+ρ)^{-1}`, so that a
//! task is inverted among its features where it has more examples than those, and among its examples otherwise. The nonzero
//! eigenvalues of C and of `XXᵀ/d` are the same, and so is the rank at one threshold.

use super::factor::{Factor, digits, one_norm};
use crate::error::{Error, Result};
use crate::linalg::{Mat, MatRef, dot, lower_gram_into, matmul, symmetric_copy};

/// How much larger than its estimate a condition number may be, with a wide margin.
const MARGIN: f64 = 10.0;

/// `(C + ρ)^{-1}` of one task's features, or its pseudo-inverse.
#[derive(Debug)]
pub(crate) struct FeatureInverse<'a> {
    x: MatRef<'a, f64>,
    /// `C`, or `XXᵀ/d` where there are no more examples than features.
    matrix: Mat<f64>,
    /// Of that and ρ.
    factor: Factor,
    ridge: f64,
    /// Condition number of what is inverted.
    pub condition: f64,
    /// Its correct decimal digits.
    pub digits: f64,
}

impl<'a> FeatureInverse<'a> {
    /// Inverts; at ρ = 0 eigenvalues below `tolerance` of the largest count as zero.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] where ρ is lost in rounding; [`Error::LostAccuracy`] where fewer than four digits are left.
    pub fn new(x: MatRef<'a, f64>, ridge: f64, tolerance: f64, name: &str) -> Result<Self> {
        let by_features = x.nrows() > x.ncols();
        let matrix = gram(if by_features { x.transpose() } else { x }, x.ncols());
        let none: Mat<f64> = Mat::zeros(matrix.nrows(), 0);
        let norm = one_norm(none.submatrix(0, 0, 0, 0), none.as_ref(), matrix.as_ref()) + ridge;
        let title = format!("the kernel of {name}");
        let pseudo = || Factor::pseudo(matrix.as_ref(), tolerance, &title);
        let factor = match Factor::plain(matrix.as_ref(), ridge, &title) {
            // A kernel of more examples than features is singular: its rank is that of C at the threshold.
            Ok(factor) if ridge == 0.0 && by_features => {
                let all = MARGIN * tolerance * factor.condition(matrix.nrows(), norm) < 1.0;
                if all { factor } else { pseudo()? }
            }
            Err(Error::NotPositiveDefinite { .. }) if ridge == 0.0 => pseudo()?,
            other => other?,
        };
        let condition = factor.condition(matrix.nrows(), norm);
        let digits = digits(condition, name)?;
        Ok(FeatureInverse { x, matrix, factor, ridge, condition, digits })
    }

    fn by_features(&self) -> bool {
        self.x.nrows() > self.x.ncols()
    }

    /// Whether the kernel of the examples is singular.
    pub fn is_pseudo(&self) -> bool {
        self.ridge == 0.0 && (self.by_features() || matches!(self.factor, Factor::Pseudo(_)))
    }

    /// Directions of feature space that are inverted.
    pub fn rank(&self) -> usize {
        self.factor.rank()
    }

    /// `(C + ρ)^{-1} Xᵀ R/d`: what is learned of a rest R.
    pub fn learn(&self, rest: MatRef<'_, f64>) -> Mat<f64> {
        let d = self.x.ncols() as f64;
        on_columns(rest, d as usize, |rest| {
            let mut w = if self.by_features() {
                self.factor.solve(matmul(self.x.transpose(), rest).as_ref())
            } else {
                matmul(self.x.transpose(), self.factor.solve(rest).as_ref())
            };
            divide(&mut w, d);
            w
        })
    }

    /// `(XXᵀ/d + ρ)^{-1} R`, one row per example, at ρ > 0: among features it is `(R − X (C + ρ)^{-1} XᵀR/d)/ρ`.
    pub fn solve(&self, rest: MatRef<'_, f64>) -> Mat<f64> {
        if !self.by_features() {
            return self.factor.solve(rest);
        }
        let mut found = rest - matmul(self.x, self.learn(rest).as_ref());
        divide(&mut found, self.ridge);
        found
    }

    /// `H = (C + ρ)^{-1} C`; none where it is 1.
    fn hat(&self) -> Option<Mat<f64>> {
        let d = self.x.ncols();
        if !self.by_features() {
            let mut hat = matmul(self.x.transpose(), self.factor.solve(self.x).as_ref());
            divide(&mut hat, d as f64);
            return Some(hat);
        }
        if let Factor::Pseudo(inverse) = &self.factor {
            return Some(inverse.project(Mat::<f64>::identity(d, d).as_ref()));
        }
        if self.ridge == 0.0 {
            return None;
        }
        // `1 − ρ(C+ρ)^{-1}` is the same, and right to rounding where C is the larger of the two.
        let mean = (0..d).map(|i| self.matrix[(i, i)]).sum::<f64>() / d as f64;
        if self.ridge > mean {
            return Some(self.factor.solve(self.matrix.as_ref()));
        }
        let mut hat = self.factor.solve(Mat::<f64>::identity(d, d).as_ref());
        for j in 0..d {
            hat.col_as_slice_mut(j).iter_mut().for_each(|v| *v *= -self.ridge);
            hat[(j, j)] += 1.0;
        }
        Some(hat)
    }
}

/// Everything about one task that does not need its rows.
#[derive(Debug)]
pub(crate) struct FeatureTask {
    /// `C = XᵀX/d`.
    pub c: Mat<f64>,
    /// `H = (C + ρ)^{-1} C`; none where it is 1.
    hat: Option<Mat<f64>>,
    /// `V = (C + ρ)^{-1} XᵀY/d`: the weights of a network that learned this task alone.
    pub alone: Mat<f64>,
    /// `Xᵀ(Y − XV)/d`.
    slope: Mat<f64>,
    /// `|Y − XV|²`.
    pub left: f64,
    /// ρ, 0 for a pseudo-inverse.
    pub ridge: f64,
    pub rank: usize,
    pub pseudo: bool,
    pub digits: f64,
}

impl FeatureTask {
    /// # Errors
    /// As for [`FeatureInverse::new`].
    pub fn new(x: MatRef<'_, f64>, y: &Mat<f64>, ridge: f64, tolerance: f64, name: &str) -> Result<Self> {
        let inverse = FeatureInverse::new(x, ridge, tolerance, name)?;
        let alone = inverse.learn(y.as_ref());
        let rest = y - outputs(x, alone.as_ref());
        let mut slope = on_columns(rest.as_ref(), x.ncols(), |rest| matmul(x.transpose(), rest));
        divide(&mut slope, x.ncols() as f64);
        Ok(FeatureTask {
            hat: inverse.hat(),
            alone,
            slope,
            left: rest.squared_norm_l2(),
            ridge,
            rank: inverse.rank(),
            pseudo: inverse.is_pseudo(),
            digits: inverse.digits,
            c: if inverse.by_features() { inverse.matrix } else { gram(x.transpose(), x.ncols()) },
        })
    }

    /// `H W`.
    pub fn project(&self, w: &Mat<f64>) -> Mat<f64> {
        self.hat.as_ref().map_or_else(|| w.clone(), |hat| outputs(hat.as_ref(), w.as_ref()))
    }

    /// `H W` of several weights.
    pub fn project_all(&self, all: &[&Mat<f64>]) -> Vec<Mat<f64>> {
        match &self.hat {
            Some(hat) => products(hat.as_ref(), all),
            None => all.iter().map(|w| (*w).clone()).collect(),
        }
    }

    /// `Tr(H H')`.
    pub fn overlap(&self, other: &FeatureTask) -> f64 {
        match (&self.hat, &other.hat) {
            (Some(one), Some(two)) => inner(one, two),
            (Some(one), None) | (None, Some(one)) => (0..one.ncols()).map(|i| one[(i, i)]).sum(),
            (None, None) => self.c.nrows() as f64,
        }
    }

    /// `|X W − Y|²` from `W − V` and `C(W − V)`.
    pub fn squared_error(&self, change: &Mat<f64>, moved: &Mat<f64>) -> f64 {
        let d = self.c.nrows() as f64;
        self.left + d * (inner(change, moved) - 2.0 * inner(change, &self.slope))
    }

    /// `XᵀY/d = C V + Xᵀ(Y − XV)/d`.
    pub fn target_sums(&self) -> Mat<f64> {
        matmul(self.c.as_ref(), self.alone.as_ref()) + &self.slope
    }
}

/// `X W`, of which columns that are zero in W cost nothing.
pub(crate) fn outputs(x: MatRef<'_, f64>, w: MatRef<'_, f64>) -> Mat<f64> {
    on_columns(w, x.nrows(), |w| matmul(x, w))
}

/// `A W` of several weights, side by side.
pub(crate) fn products(a: MatRef<'_, f64>, all: &[&Mat<f64>]) -> Vec<Mat<f64>> {
    let Some(first) = all.first() else { return vec![] };
    let k = first.ncols();
    let mut together = Mat::zeros(a.ncols(), k * all.len());
    for c in 0..together.ncols() {
        together.col_as_slice_mut(c).copy_from_slice(all[c / k].col_as_slice(c % k));
    }
    let product = outputs(a, together.as_ref());
    (0..all.len()).map(|n| product.as_ref().subcols(n * k, k).to_owned()).collect()
}

/// `Σ a_ij b_ij`.
pub(crate) fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (0..a.ncols()).map(|j| dot(a.col_as_slice(j), b.col_as_slice(j))).sum()
}

/// A linear map with so many rows, on the columns that are not all zero: classes that nothing was said of yet.
pub(crate) fn on_columns(m: MatRef<'_, f64>, rows: usize, map: impl Fn(MatRef<'_, f64>) -> Mat<f64>) -> Mat<f64> {
    let live: Vec<usize> = (0..m.ncols()).filter(|&j| m.col(j).iter().any(|v| *v != 0.0)).collect();
    if live.len() == m.ncols() {
        return map(m);
    }
    let mapped = map(Mat::from_fn(m.nrows(), live.len(), |i, c| m[(i, live[c])]).as_ref());
    let mut all = Mat::zeros(rows, m.ncols());
    for (c, &j) in live.iter().enumerate() {
        all.col_as_slice_mut(j).copy_from_slice(mapped.col_as_slice(c));
    }
    all
}

/// `A Aᵀ/d`.
fn gram(a: MatRef<'_, f64>, d: usize) -> Mat<f64> {
    let mut lower = Mat::zeros(a.nrows(), a.nrows());
    lower_gram_into(lower.as_mut(), 0.0, 1.0 / d as f64, a);
    symmetric_copy(lower.as_ref())
}

fn divide(m: &mut Mat<f64>, by: f64) {
    for j in 0..m.ncols() {
        m.col_as_slice_mut(j).iter_mut().for_each(|v| *v /= by);
    }
}

/// Tasks of every shape that the two forms must agree on.
#[cfg(test)]
pub(crate) mod shapes {
    use crate::linalg::{Mat, matmul};
    use crate::rng::Stream;
    use crate::tasks::{Task, TaskSequence};

    /// Feature vectors of `rank` dimensions in d, with ±1 in one column or classes of `columns`, some of them of one task alone.
    pub fn tasks(sizes: &[usize], (d, rank): (usize, usize), columns: usize, seed: u64) -> TaskSequence {
        let mut stream = Stream::new(seed, "feature space tests", 0);
        let mix = Mat::from_fn(rank, d, |i, j| {
            let noise = stream.normal() / (rank as f64).sqrt();
            if rank == d && i == j { 1.0 + noise } else { noise }
        });
        let mut points = |p: usize, t: usize| {
            let x = matmul(Mat::from_fn(p, rank, |_, _| stream.normal()).as_ref(), mix.as_ref());
            // Two equal rows, as real data have them.
            let x = Mat::from_fn(p, d, |i, j| x[(if i == 1 { 0 } else { i }, j)]);
            let class = |i: usize| (i.max(1) + usize::from(stream.chance(0.5)) + t) % columns.max(2);
            let classes: Vec<usize> = (0..p).map(class).collect();
            let y = Mat::from_fn(p, columns, |i, j| match columns {
                1 => 2.0 * classes[i] as f64 - 1.0,
                _ => f64::from(u8::from(classes[i] == j)),
            });
            (x, y)
        };
        let mut task = |t: usize, p: usize| {
            let ((x, y), (x_test, y_test)) = (points(p, t), points(p / 2 + 3, t));
            Task::new(x, y).with_test(x_test, y_test)
        };
        let tasks = sizes.iter().enumerate().map(|(t, &p)| task(t, p)).collect();
        TaskSequence::new(tasks).unwrap()
    }

    /// P above and below d, unequal tasks, features of full rank and not, one column and several.
    pub fn all() -> Vec<TaskSequence> {
        vec![
            tasks(&[60, 90, 75], (20, 20), 1, 1),
            tasks(&[50, 12, 44, 30], (20, 20), 5, 2),
            tasks(&[60, 45, 50], (20, 9), 4, 3),
            tasks(&[80, 15, 70], (24, 18), 1, 4),
            tasks(&[200, 150], (16, 16), 3, 5),
        ]
    }

    /// Agreement to rounding times condition numbers below 1e5.
    pub fn close(name: &str, a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-10 * b.abs().max(1e-2), "{name}: {a} {b}");
    }
}
